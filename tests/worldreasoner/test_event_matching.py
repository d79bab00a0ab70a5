"""Matching: a plain reference with loops and dictionaries, cases worked by hand for every rule, and
its speed."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.hindsight.matching import (
    DAYS,
    SEMANTIC_THRESHOLD,
    THRESHOLD,
    Rules,
    match_events,
    pick_key_events,
    score_recall,
    split_words,
)

# --- the reference: one pair at a time --------------------------------------------------------------


def weigh(words, docs, n_words):
    """BM25 (k1 1.5, b 0.75, each word once) of a document of so many words that has these, among
    all documents."""
    mean, n_with = sum(map(len, docs)) / len(docs), Counter(word for doc in docs for word in doc)
    length = 1.5 * (1 - 0.75 + 0.75 * n_words / mean) if mean else 1
    idf = [
        math.log(1 + (len(docs) - n_with[word] + 0.5) / (n_with[word] + 0.5))
        for word in sorted(words)
    ]
    return sum(one * 2.5 / (1 + length) for one in idf)


def refer_f1(one, two, is_multiset):
    one, two = (Counter(words) if is_multiset else Counter(set(words)) for words in (one, two))
    shared, total = sum((one & two).values()), sum(one.values()) + sum(two.values())
    return 2 * shared / total if total else 0.0


def refer_matches(seen, said, rules):
    """{(hindsight, forecast): (similarity, is_kept)} of one question and run, rows as tuples (id,
    text, day, ...)."""
    words = [split_words(row["text"]) for row in seen], [split_words(row["text"]) for row in said]
    one, two = [[set(event) for event in side] for side in words]
    passed = []
    for h, event in enumerate(seen):
        as_query = [weigh(one[h] & doc, two, len(doc)) for doc in two]
        best = sorted(range(len(said)), key=lambda f: -round(as_query[f], 12))[: rules.n_candidates]
        for f in best if not event["is_outcome"] else ():
            if rules.scale == "self":  # over the event's score on itself, idf of all
                own = weigh(one[h], one + two, len(one[h]))
                bm25 = (
                    min(1.0, weigh(one[h] & two[f], one + two, len(two[f])) / own) if own else 0.0
                )
            else:
                scores = [weigh(two[f] & doc, one, len(doc)) for doc in one]
                bm25 = scores[h] / max(scores) if max(scores) > 0 else 0.0
            like = 0.6 * bm25 + 0.4 * refer_f1(words[0][h], words[1][f], rules.is_multiset)
            gap = abs(event["day"] - said[f]["day"])
            if like >= rules.threshold - 1e-12 and (rules.days is None or gap <= rules.days):
                ids = event["node_id"], said[f]["node_id"]
                passed.append((-round(like, 12), gap if gap == gap else math.inf, *ids, like))
    found, used = {}, set()
    for _, _, h, f, like in sorted(passed):
        found[h, f] = like, not {("h", h), ("f", f)} & used
        used |= {("h", h), ("f", f)} if found[h, f][1] else set()
    return found


def draw_world(rng, n_questions=3, n_runs=3, n_words=25):
    """Hindsight and forecasts of short texts that often meet, some empty, some undated;
    synthetic."""
    letters = [f"word{at}" for at in range(n_words)] + ["the", "of", "Éclair-x9"]

    def draw(n, **about):
        texts = [" ".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(n)]
        days = np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 20, n))
        return pd.DataFrame(
            {"node_id": [f"n{at:02}" for at in range(n)], "text": texts, "day": days} | about
        )

    seen = [draw(rng.integers(1, 9), question_id=f"q{q}") for q in range(n_questions)]
    seen = [part.assign(is_outcome=np.arange(len(part)) == len(part) - 1) for part in seen]
    runs = [
        (q, r) for q in range(n_questions + 1) for r in range(n_runs)
    ]  # a question without hindsight, too
    said = [draw(rng.integers(1, 12), question_id=f"q{q}", run_id=f"r{r}") for q, r in runs]
    return pd.concat(seen), pd.concat(said).sample(frac=1, random_state=1).sort_values(
        "node_id", kind="stable"
    )


SWITCHES = [
    Rules(),
    Rules(scale="self"),
    Rules(is_multiset=True),
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
            (row.run_id, row.question_id, row.hindsight_id, row.forecast_id): (
                row.similarity,
                row.is_kept,
            )
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


# --- by hand ----------------------------------------------------------------------------------------


def make_events(*rows, **about):
    """(text, day) pairs as a table of events n0, n1, ..."""
    table = pd.DataFrame(rows, columns=["text", "day"]).astype({"day": float})
    return table.assign(
        node_id=[f"n{at}" for at in range(len(rows))], **({"question_id": "q"} | about)
    )


def test_the_threshold_is_inclusive():
    seen, said = (
        make_events(("oil prices", 3), is_outcome=False),
        make_events(("oil prices rise", 3), run_id="r"),
    )
    assert [len(match_events(seen, said, Rules(threshold=least))) for least in (0.92, 0.9201)] == [
        1,
        0,
    ]
    assert THRESHOLD == 0.45 and SEMANTIC_THRESHOLD == 0.55 and DAYS == 7


# --- key events and recall --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("impacts", "keys"),
    [
        ([0.1, 0.9, np.nan, 0.5, 0.3, 0.2, 0.4], ["n1", "n3", "n6", "n4", "n5"]),
        ([np.nan, 0.2], ["n1"]),  # fewer are fewer
        ([np.nan], []),
    ],
)
def test_key_events_are_the_five_of_largest_impact_that_have_a_record(impacts, keys):
    table = make_events(*[("", 0.0)] * len(impacts), impact=impacts, is_outcome=False)
    assert pick_key_events(table)["node_id"].tolist() == keys


def test_recall_counts_key_events_one_to_one_with_the_bound_beside():
    seen = make_events(
        ("oil prices fall", 3), ("oil prices jump", 3), ("bank fails", 3), is_outcome=False
    )
    keys = pick_key_events(seen.assign(impact=[0.5, 0.4, 0.3]))
    said = make_events(("oil prices", 3), ("nothing else", 3), run_id="r")
    runs = pd.DataFrame({"run_id": ["r", "none"], "question_id": "q", "has_graph": [True, False]})
    table = score_recall(keys, match_events(seen, said), runs)
    assert (
        table["recall"].round(4).tolist()[0] == 0.3333
        and table["bound"].round(4).tolist()[0] == 0.6667
    )
    assert np.isnan(table["recall"][1])
