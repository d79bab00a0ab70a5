"""Matching: a plain reference with loops and dictionaries, cases worked by hand for every rule, and its speed."""

import math
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from helpers.worldreasoner.hindsight.matching import (
    DAYS,
    MIN_IMPACT,
    PRINTED,
    SEMANTIC_THRESHOLD,
    THRESHOLD,
    Rules,
    average_recall,
    count_words,
    match_events,
    pick_key_events,
    score_recall,
    split_words,
)

# --- the reference: one pair at a time -------------------------------------------------------------------------------


def refer_bm25(query, docs):
    """BM25 (k1 1.5, b 0.75, each word once) of a query's words on documents."""
    mean = sum(map(len, docs)) / len(docs)
    n_with = Counter(word for doc in docs for word in doc)
    scores = []
    for doc in docs:
        length = 1.5 * (1 - 0.75 + 0.75 * len(doc) / mean) if mean else 1
        shared = [math.log(1 + (len(docs) - n_with[w] + 0.5) / (n_with[w] + 0.5)) for w in sorted(query & doc)]
        scores.append(sum(idf * 2.5 / (1 + length) for idf in shared))
    return scores


def refer_self(query, doc, docs):
    """BM25 of a hindsight event as the query on a forecast event, over its score on itself, idf of all of `docs`."""
    mean, n_with = sum(map(len, docs)) / len(docs), Counter(word for doc in docs for word in doc)

    def add(words, length):
        idf = [math.log(1 + (len(docs) - n_with[w] + 0.5) / (n_with[w] + 0.5)) for w in sorted(words)]
        return sum(x * 2.5 / (1 + 1.5 * (0.25 + 0.75 * length / mean)) for x in idf)

    own = add(query, len(query)) if mean else 0
    return min(1.0, add(query & doc, len(doc)) / own) if own else 0.0


def refer_f1(one, two, is_multiset):
    one, two = (Counter(words) if is_multiset else Counter(set(words)) for words in (one, two))
    shared, total = sum((one & two).values()), sum(one.values()) + sum(two.values())
    return 2 * shared / total if total else 0.0


def refer_matches(seen, said, rules):
    """{(hindsight, forecast): (similarity, is_kept)} of one question and run, rows as tuples (id, text, day, ...)."""
    words = [split_words(row["text"]) for row in seen], [split_words(row["text"]) for row in said]
    sets = [[set(event) for event in side] for side in words]
    passed = []
    for h, event in enumerate(seen):
        if event["is_outcome"]:
            continue
        first = refer_bm25(sets[0][h], sets[1])
        best = sorted(range(len(said)), key=lambda f: -round(first[f], 12))[: rules.n_candidates]
        for f, other in enumerate(said):
            if f not in best:
                continue
            if rules.scale == "self":
                bm25 = refer_self(sets[0][h], sets[1][f], sets[0] + sets[1])
            else:
                scores = refer_bm25(sets[1][f], sets[0])
                bm25 = scores[h] / max(scores) if max(scores) > 0 else 0.0
            like = 0.6 * bm25 + 0.4 * refer_f1(words[0][h], words[1][f], rules.is_multiset)
            gap = abs(event["day"] - other["day"])
            in_time = rules.days is None or (rules.is_undated_free if math.isnan(gap) else gap <= rules.days)
            if like >= rules.threshold - 1e-12 and in_time:
                passed.append(
                    (-round(like, 12), gap if gap == gap else math.inf, event["node_id"], other["node_id"], like)
                )
    found, used = {}, set()
    for _, _, h, f, like in sorted(passed):
        found[h, f] = like, not {("h", h), ("f", f)} & used
        used |= {("h", h), ("f", f)} if found[h, f][1] else set()
    return found


def draw_world(rng, n_questions=3, n_runs=3, n_words=25):
    """Hindsight and forecasts of short texts that often meet, some empty, some undated; synthetic."""
    letters = [f"word{at}" for at in range(n_words)] + ["the", "of", "Éclair-x9"]

    def draw(n, **about):
        texts = [" ".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(n)]
        days = np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 20, n))
        return pd.DataFrame({"node_id": [f"n{at:02}" for at in range(n)], "text": texts, "day": days} | about)

    seen = [draw(rng.integers(1, 9), question_id=f"q{q}") for q in range(n_questions)]
    seen = [part.assign(is_outcome=np.arange(len(part)) == len(part) - 1) for part in seen]
    runs = [(q, r) for q in range(n_questions + 1) for r in range(n_runs)]  # a question without hindsight, too
    said = [draw(rng.integers(1, 12), question_id=f"q{q}", run_id=f"r{r}") for q, r in runs]
    return pd.concat(seen), pd.concat(said).sample(frac=1, random_state=1).sort_values("node_id", kind="stable")


SWITCHES = [
    Rules(),
    Rules(scale="self"),
    Rules(is_multiset=True),
    Rules(is_undated_free=True),
    Rules(days=None, n_candidates=None, threshold=0.2),
    Rules(scale="self", is_multiset=True, n_candidates=2, days=3, threshold=0.1),
]


@pytest.mark.parametrize("rules", SWITCHES)
def test_all_at_once_is_the_same_as_one_pair_at_a_time(rules):
    n = 0
    for seed in range(6):
        seen, said = draw_world(np.random.default_rng(seed))
        table = match_events(seen, said, rules)
        found = {
            (row.run_id, row.question_id, row.hindsight_id, row.forecast_id): (row.similarity, row.is_kept)
            for row in table.itertuples()
        }
        wanted = {}
        for (run, question), part in said.groupby(["run_id", "question_id"]):
            own = seen[seen["question_id"] == question].to_dict("records")
            if own:
                matches = refer_matches(own, part.to_dict("records"), rules)
                wanted |= {(run, question, *pair): match for pair, match in matches.items()}
        assert found.keys() == wanted.keys()
        for key, (like, is_kept) in wanted.items():
            assert found[key][0] == pytest.approx(like, abs=1e-12) and found[key][1] == is_kept
        n += len(wanted)
    assert n > 15, "the worlds meet often enough to compare"


# --- by hand ---------------------------------------------------------------------------------------------------------


def make_events(*rows, **about):
    """(text, day) pairs as a table of events n0, n1, ..."""
    table = pd.DataFrame(rows, columns=["text", "day"]).astype({"day": float})
    return table.assign(node_id=[f"n{at}" for at in range(len(rows))], **({"question_id": "q"} | about))


def match(seen, said, rules=PRINTED):
    """{(hindsight, forecast): (similarity, is_kept)}, rounded."""
    seen = make_events(*seen, is_outcome=False) if isinstance(seen, list) else seen
    table = match_events(seen, make_events(*said, run_id="r"), rules)
    return {(row.hindsight_id, row.forecast_id): (round(row.similarity, 6), row.is_kept) for row in table.itertuples()}


def test_words_are_runs_of_letters_and_digits_of_three_or_more_without_stop_words():
    assert split_words("The U.S. and NATO-led talks, for 2025: a 25% cut (this one)") == [
        *("nato", "led", "talks", "2025", "cut", "one"),
    ]
    assert split_words("") == split_words("of a 12 the") == []
    assert count_words(["", "oil"]).shape == (2, 1) and count_words(["", ""]).shape == (2, 0)


def test_words_of_many_texts_at_once_are_those_of_each_alone():
    rng = np.random.default_rng(5)
    pieces = [*"abXY09 -_'", "\0", " \0 ", "\n", "the ", "oil ", "prices ", "İ", "Σ ", "é", "漢", "ſ"]
    for _ in range(300):
        texts = ["".join(rng.choice(pieces, rng.integers(0, 30))) for _ in range(rng.integers(0, 6))]
        lists = [split_words(text) for text in texts]
        columns = list(dict.fromkeys(word for words in lists for word in words))
        wanted = [[words.count(word) for word in columns] for words in lists]
        found = count_words(texts)
        assert found.shape == (len(texts), len(columns)) and found.toarray().tolist() == wanted


def test_the_similarity_of_two_of_three_words():
    # one hindsight event: BM25 is its own largest, so 0.6; token F1 2 * 2 / (2 + 3), so 0.32
    assert match([("oil prices", 3)], [("oil prices rise", 3)]) == {("n0", "n0"): (0.92, True)}


def test_bm25_is_over_the_largest_of_all_hindsight_events_even_the_outcome():
    seen = make_events(("oil prices fall", 3), ("oil prices fall below sixty", 3), is_outcome=[False, True])
    # query: oil prices fall below sixty. The outcome has all five words, the other three; idf 0.182 twice-held words,
    # 0.693 those of one; lengths 3 and 5 of mean 4: factors 2.5 / (1 + 1.5 * (0.25 + 0.75 * 3 / 4)) = 1.1299
    idf, rare = math.log(1.2), math.log(2)
    share = 3 * idf * (2.5 / 2.21875) / ((3 * idf + 2 * rare) * (2.5 / 2.78125))
    like = 0.6 * share + 0.4 * 6 / 8
    assert match(seen, [("oil prices fall below sixty", 3)]) == {("n0", "n0"): (round(like, 6), True)}
    alone = match(seen.iloc[:1], [("oil prices fall below sixty", 3)])
    assert alone == {("n0", "n0"): (round(0.6 + 0.4 * 6 / 8, 6), True)}, "without the outcome it is the largest itself"


def test_the_outcome_matches_nothing():
    seen = make_events(("oil prices fall", 3), is_outcome=True)
    assert match(seen, [("oil prices fall", 3)]) == {}


def test_the_threshold_is_inclusive():
    assert match([("oil prices", 3)], [("oil prices rise", 3)], Rules(threshold=0.92))
    assert not match([("oil prices", 3)], [("oil prices rise", 3)], Rules(threshold=0.9201))
    assert THRESHOLD == 0.45 and SEMANTIC_THRESHOLD == 0.55 and DAYS == 7


@pytest.mark.parametrize(("gap", "is_near"), [(0, True), (7, True), (-7, True), (7.01, False), (-8, False)])
def test_seven_days_are_near_and_a_moment_more_is_not(gap, is_near):
    assert bool(match([("oil prices", 30)], [("oil prices", 30 + gap)])) == is_near
    assert match([("oil prices", 30)], [("oil prices", 30 + gap)], Rules(days=None))


@pytest.mark.parametrize("days", [(None, 3), (3, None), (None, None)])
def test_an_undated_event_matches_only_where_it_is_let(days):
    seen, said = [("oil prices", days[0])], [("oil prices", days[1])]
    assert match(seen, said) == {}
    assert match(seen, said, Rules(is_undated_free=True)) == {("n0", "n0"): (1.0, True)}
    assert match(seen, said, Rules(days=None)) == {("n0", "n0"): (1.0, True)}


@pytest.mark.parametrize("text", ["", "of the", "!!"])
def test_an_event_without_words_matches_nothing(text):
    assert match([("oil prices", 3)], [(text, 3)]) == {} == match([(text, 3)], [("oil prices", 3)])
    assert match([(text, 3)], [(text, 3)]) == {} == match([(text, 3)], [(text, 3)], Rules(scale="self"))


def test_no_events_give_no_pairs():
    seen, said = make_events(("oil", 3), is_outcome=False), make_events(("oil", 3), run_id="r")
    assert len(match_events(seen, said.iloc[:0])) == 0
    assert len(match_events(seen.iloc[:0], said)) == 0
    assert len(match_events(seen, said.assign(question_id="other"))) == 0


def test_sets_and_multisets_differ_where_a_word_is_said_twice():
    seen, said = [("oil oil prices", 3)], [("oil prices", 3)]
    assert match(seen, said) == {("n0", "n0"): (1.0, True)}
    assert match(seen, said, Rules(is_multiset=True)) == {("n0", "n0"): (round(0.6 + 0.4 * 4 / 5, 6), True)}


def test_the_self_score_asks_for_all_words_of_the_hindsight_event():
    # query: oil prices; document: oil. Two documents of mean length 1.5: factors 2.5 / 2.125 and 2.5 / 2.875
    oil, prices = math.log(1 + 0.5 / 2.5), math.log(1 + 1.5 / 1.5)
    bm25 = oil * (2.5 / 2.125) / ((oil + prices) * (2.5 / 2.875))
    found = match([("oil prices", 3)], [("oil", 3)], Rules(scale="self", threshold=0.1))
    assert found == {("n0", "n0"): (round(0.6 * bm25 + 0.4 * 2 / 3, 6), True)}
    short = match([("oil prices", 3)], [("oil prices", 3), ("oil", 3)], Rules(scale="self"))
    assert short["n0", "n0"] == (1.0, True)


def test_one_shared_word_is_enough_over_the_largest_and_not_over_the_self_score():
    seen = [("central bank raises interest rates sharply", 3), ("harvest fails after drought", 3)]
    said = [("local football club sacks coach before harvest festival weekend", 3)]
    assert match(seen, said)["n1", "n0"][0] > 0.6
    assert match(seen, said, Rules(scale="self")) == {}


def test_only_the_five_best_forecast_events_of_a_hindsight_event_go_on():
    said = [("oil prices", 3)] * 6
    assert sorted(match([("oil prices", 3)], said)) == [("n0", f"n{at}") for at in range(5)]
    assert len(match([("oil prices", 3)], said, Rules(n_candidates=None))) == 6
    longer = [("oil prices fall again on fears", 3)] * 5 + [("oil prices", 3)]  # the last is the shortest, so the best
    assert ("n0", "n4") not in match([("oil prices", 3)], longer) and ("n0", "n5") in match([("oil prices", 3)], longer)


def test_the_five_best_are_of_one_run():
    said = pd.concat([make_events(*[("oil prices", 3)] * 4, run_id=run) for run in ("r1", "r2")])
    table = match_events(make_events(("oil prices", 3), is_outcome=False), said)
    assert table.groupby("run_id").size().to_dict() == {"r1": 4, "r2": 4}
    assert table[table["is_kept"]].groupby("run_id").size().to_dict() == {"r1": 1, "r2": 1}


def test_one_vague_event_scores_one_and_the_bound_says_how_many_it_could():
    seen = [("oil prices fall", 3), ("oil prices jump", 3)]
    found = match(seen, [("oil prices", 3)])
    assert [is_kept for _, is_kept in found.values()] == [True, False]
    assert found["n0", "n0"][1], "of equal similarity and gap the first id"
    assert match([(text, day + 2 * (text[-1] == "l")) for text, day in seen], [("oil prices", 3)])["n1", "n0"][1]


def test_the_more_similar_pair_takes_both_though_two_weaker_ones_would_score_more():
    seen = [("oil prices fall", 3), ("oil prices fall hard today", 3)]
    said = [("oil prices fall", 3), ("oil prices fall news", 3)]
    found = match(seen, said)
    assert found["n0", "n0"] == (1.0, True) and not found["n0", "n1"][1]


def test_meaning_is_the_cosine_and_all_pairs_go_on():
    seen, said = make_events(("x", 3), ("y", 3), is_outcome=False), make_events(("z", 3), run_id="r")
    arrays = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0]])
    table = match_events(seen, said, Rules(threshold=SEMANTIC_THRESHOLD), arrays)
    assert table[["hindsight_id", "similarity", "is_kept"]].round(9).values.tolist() == [
        ["n1", 0.8, True],
        ["n0", 0.6, False],
    ]


def test_features_follow_their_rows_whatever_the_order():
    seen, said = draw_world(np.random.default_rng(9))
    counts = count_words([*seen["text"], *said["text"]])
    given = match_events(seen, said, features=(counts[: len(seen)], counts[len(seen) :]))
    pd.testing.assert_frame_equal(given, match_events(seen, said))


# --- key events and recall -------------------------------------------------------------------------------------------


def make_keys(impacts, days=None, **about):
    n = len(impacts)
    table = pd.DataFrame({"question_id": "q", "node_id": [f"n{at}" for at in range(n)], "impact": impacts})
    return table.assign(day=days or [0.0] * n, is_outcome=False, **about)


def test_key_events_are_the_five_of_largest_impact_that_have_a_record():
    table = make_keys([0.1, 0.9, np.nan, 0.5, 0.3, 0.2, 0.4])
    assert pick_key_events(table)["node_id"].tolist() == ["n1", "n3", "n6", "n4", "n5"]
    assert pick_key_events(make_keys([np.nan, 0.2]))["node_id"].tolist() == ["n1"], "fewer are fewer"
    assert pick_key_events(make_keys([np.nan])).empty


def test_ties_go_to_the_earlier_then_the_id_and_the_undated_come_last():
    tied = make_keys([0.5, 0.25 + 0.25 + 1e-16, 0.5, 0.5], days=[np.nan, 4.0, 2.0, 2.0])
    assert pick_key_events(tied, n=3)["node_id"].tolist() == ["n2", "n3", "n1"]


def test_the_least_impact_is_a_switch_and_inclusive():
    table = make_keys([0.2, 0.19, 0.0])
    assert len(pick_key_events(table)) == 3
    assert pick_key_events(table, min_impact=MIN_IMPACT)["node_id"].tolist() == ["n0"]


def test_the_outcome_is_no_key_event():
    table = make_keys([0.9, 0.1])
    table["is_outcome"] = [True, False]
    assert pick_key_events(table)["node_id"].tolist() == ["n1"]


def test_recall_counts_key_events_one_to_one_with_the_bound_beside():
    seen = make_events(("oil prices fall", 3), ("oil prices jump", 3), ("bank fails", 3), is_outcome=False)
    keys = pick_key_events(seen.assign(impact=[0.5, 0.4, 0.3]))
    said = make_events(("oil prices", 3), ("nothing else", 3), run_id="r")
    runs = pd.DataFrame({"run_id": ["r", "none"], "question_id": "q", "has_graph": [True, False]})
    table = score_recall(keys, match_events(seen, said), runs)
    assert table["recall"].round(4).tolist()[0] == 0.3333 and table["bound"].round(4).tolist()[0] == 0.6667
    assert np.isnan(table["recall"][1])
    means = average_recall(table).set_index("no graph")["recall"]
    assert means["left out"] == pytest.approx(1 / 3) and means["zero"] == pytest.approx(1 / 6)


def test_a_graph_that_finds_nothing_scores_0_and_a_question_without_key_events_is_left_out():
    seen = make_events(("bank fails", 3), is_outcome=False).assign(impact=0.5)
    runs = pd.DataFrame({"run_id": "r", "question_id": ["q", "p"], "has_graph": True})
    nothing = match_events(seen, make_events(("rain", 3), run_id="r"))
    assert score_recall(pick_key_events(seen), nothing, runs)[["question_id", "recall"]].values.tolist() == [["q", 0.0]]


def test_a_match_with_another_questions_key_event_does_not_count():
    seen = pd.concat([make_events(("bank fails", 3), is_outcome=False, question_id=name) for name in "qp"])
    keys = pick_key_events(seen.assign(impact=[0.5, np.nan]))  # both are called n0
    said = make_events(("bank fails", 3), run_id="r", question_id="p")
    runs = pd.DataFrame({"run_id": "r", "question_id": ["q"], "has_graph": True})
    assert score_recall(keys, match_events(seen, said), runs)["recall"].tolist() == [0.0]


# --- speed -----------------------------------------------------------------------------------------------------------


def test_a_tenth_of_the_benchmarks_pairs_takes_a_tenth_of_two_seconds_with_its_words_counted():
    """35 of 345 questions x 24 hindsight events x 15 forecast events x 36 runs, from texts of 30 words to matches.

    The whole (4.5 million pairs, 194,580 texts) took 1.4 to 1.8 s of one core's time in four goes, 1.0 to 1.2 s of it
    to count the words.
    """
    rng = np.random.default_rng(0)
    words = np.array([f"w{at:04}" for at in range(4000)])

    def draw(n):
        return [" ".join(row) for row in words[rng.integers(0, 4000, 60)][(rng.zipf(1.3, (n, 30)) - 1) % 60]]

    n_questions, n_seen, n_said = 35, 24, 15 * 36
    seen = pd.DataFrame({"question_id": np.repeat(np.arange(n_questions), n_seen)}).assign(
        node_id=np.tile(np.arange(n_seen), n_questions), text=draw(n_questions * n_seen), is_outcome=False
    )
    said = pd.DataFrame({"question_id": np.repeat(np.arange(n_questions), n_said)}).assign(
        node_id=np.arange(n_questions * n_said),
        text=draw(n_questions * n_said),
        run_id=np.arange(n_questions * n_said) // 15,
    )
    seen, said = (table.assign(day=rng.integers(0, 60, len(table)).astype(float)) for table in (seen, said))
    spent = []
    for _ in range(5):
        started = time.process_time()
        table = match_events(seen, said)
        spent.append(time.process_time() - started)
    assert len(table) > 1000
    assert min(spent) < 0.2
