"""Matching: against a plain reference with loops and dictionaries; key events and recall by
hand."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.hindsight.matching import (
    Rules,
    match_events,
    pick_key_events,
    score_recall,
    split_words,
)


def weigh(words, docs, n_words):
    """BM25 (k1 1.5, b 0.75, each word once) of a document of so many words that has these, among
    all documents."""
    mean, n_with = sum(map(len, docs)) / len(docs), Counter(word for doc in docs for word in doc)
    length = 1.5 * (1 - 0.75 + 0.75 * n_words / mean) if mean else 1
    odds = [(len(docs) - n_with[word] + 0.5) / (n_with[word] + 0.5) for word in sorted(words)]
    return sum(math.log(1 + one) * 2.5 / (1 + length) for one in odds)


def refer_f1(one, two, is_multiset):
    one, two = (Counter(words if is_multiset else set(words)) for words in (one, two))
    total = sum(one.values()) + sum(two.values())
    return 2 * sum((one & two).values()) / total if total else 0.0


def refer_matches(seen, said, rules):
    """{(hindsight, forecast): (similarity, is_kept)} of one question and run, rows as
    dictionaries."""
    words = [split_words(row["text"]) for row in seen], [split_words(row["text"]) for row in said]
    one, two = [[set(event) for event in side] for side in words]
    passed = []
    for h, event in enumerate(seen):
        as_query = [weigh(one[h] & doc, two, len(doc)) for doc in two]
        best = sorted(range(len(said)), key=lambda f: -round(as_query[f], 12))[: rules.n_candidates]
        for f in best if not event["is_outcome"] else ():
            if rules.scale == "self":  # over the event's score on itself, idf of all
                top = weigh(one[h] & two[f], one + two, len(two[f]))
                own = weigh(one[h], one + two, len(one[h]))
            else:
                scores = [weigh(two[f] & doc, one, len(doc)) for doc in one]
                top, own = scores[h], max(scores)
            bm25 = min(1.0, top / own) if own > 0 else 0.0
            like = 0.6 * bm25 + 0.4 * refer_f1(words[0][h], words[1][f], rules.is_multiset)
            gap = abs(event["day"] - said[f]["day"])
            if like >= rules.threshold - 1e-12 and (rules.days is None or gap <= rules.days):
                ids = event["node_id"], said[f]["node_id"]
                passed.append((-round(like, 12), gap if gap == gap else math.inf, *ids, like))
    found, used = {}, set()
    for _, _, h, f, like in sorted(passed):
        is_kept = used.isdisjoint({("h", h), ("f", f)})
        found[h, f] = like, is_kept
        used |= {("h", h), ("f", f)} if is_kept else set()
    return found


def draw_world(rng):
    """Hindsight and forecasts of short texts that often meet, some empty, some undated; a question
    has no hindsight."""
    letters = [f"word{at}" for at in range(25)] + ["the", "of", "Éclair-x9"]

    def draw(n, **about):
        texts = [" ".join(rng.choice(letters, rng.integers(0, 9))) for _ in range(n)]
        days = np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 20, n))
        table = pd.DataFrame({"node_id": [f"n{at:02}" for at in range(n)], "text": texts} | about)
        return table.assign(day=days, is_outcome=table.index == n - 1)

    seen = [draw(rng.integers(1, 9), question_id=q) for q in "abc"]
    said = [draw(rng.integers(1, 12), question_id=q, run_id=r) for q in "abcd" for r in "rst"]
    return pd.concat(seen), pd.concat(said).sample(frac=1, random_state=1)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(scale="self"),
        Rules(is_multiset=True),
        Rules(days=None, n_candidates=None, threshold=0.2),
        Rules(scale="self", is_multiset=True, n_candidates=2, days=3, threshold=0.1),
    ],
)
def test_all_at_once_is_the_same_as_one_pair_at_a_time(rules):
    n = 0
    for seed in range(3):
        seen, said = draw_world(np.random.default_rng(seed))
        said = said.sort_values("node_id", kind="stable")
        keys = ["run_id", "question_id", "hindsight_id", "forecast_id"]
        found = match_events(seen, said, rules).set_index(keys)[["similarity", "is_kept"]]
        wanted = {}
        for (run, question), part in said.groupby(["run_id", "question_id"]):
            own = seen[seen["question_id"] == question].to_dict("records")
            matches = refer_matches(own, part.to_dict("records"), rules) if own else {}
            wanted |= {(run, question, *pair): match for pair, match in matches.items()}
        assert set(found.index) == set(wanted)
        for key, match in wanted.items():
            assert found.loc[key].tolist() == pytest.approx(match, abs=1e-12)
        n += len(wanted)
    assert n > 10, "the worlds meet often enough to compare"


def make_events(*rows, **about):
    """(text, day) pairs as a table of events n0, n1, ..."""
    about = {"question_id": "q", "is_outcome": False} | about
    table = pd.DataFrame(rows, columns=["text", "day"]).astype({"day": float})
    return table.assign(node_id=[f"n{at}" for at in range(len(rows))], **about)


@pytest.mark.parametrize(("least", "n"), [(0.92, 1), (0.9201, 0)])
def test_the_threshold_is_inclusive(least, n):
    seen, said = make_events(("oil prices", 3)), make_events(("oil prices rise", 3), run_id="r")
    assert len(match_events(seen, said, Rules(threshold=least))) == n


@pytest.mark.parametrize(
    ("impacts", "keys"),
    [
        ([0.1, 0.9, np.nan, 0.5, 0.3, 0.2, 0.4], ["n1", "n3", "n6", "n4", "n5"]),
        ([np.nan, 0.2], ["n1"]),  # fewer are fewer
        ([np.nan], []),
    ],
)
def test_key_events_are_the_five_of_largest_impact_that_have_a_record(impacts, keys):
    table = make_events(*[("", 0.0)] * len(impacts), impact=impacts)
    assert pick_key_events(table)["node_id"].tolist() == keys


def test_recall_counts_key_events_one_to_one_with_the_bound_beside():
    seen = make_events(("oil prices fall", 3), ("oil prices jump", 3), ("bank fails", 3))
    keys = pick_key_events(seen.assign(impact=[0.5, 0.4, 0.3]))
    said = make_events(("oil prices", 3), ("nothing else", 3), run_id="r")
    runs = pd.DataFrame({"run_id": ["r", "none"], "question_id": "q", "has_graph": [True, False]})
    table = score_recall(keys, match_events(seen, said), runs).set_index("run_id")
    assert table.loc["r", ["recall", "bound"]].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert np.isnan(table.loc["none", "recall"])
