"""Which events of hindsight a forecast's graph names: text and date together, one to one (WorldReasoner F.3, B.4).

Similarity is 0.6 BM25, turned round and scaled to [0, 1], and 0.4 token F1. Where the paper is silent the authors' code
decides (data/papers/worldreasoner.toml says on what), and what the paper allows as well is a switch of `Rules`.
All forecast events of a question are set against all its hindsight events at once, as matrices.

Scaled by its largest, BM25 is 1 for the best hindsight event of any forecast event that shares one word with one; 0.6
of it passes the threshold, so that the dates decide (notebook 22 shows how often). Over the self score the text counts.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix, issparse

from helpers.papers import get_constant

WEIGHT_BM25 = get_constant("worldreasoner", "match_bm25_weight")
WEIGHT_F1 = get_constant("worldreasoner", "match_f1_weight")
THRESHOLD = get_constant("worldreasoner", "match_threshold")
SEMANTIC_THRESHOLD = get_constant("worldreasoner", "semantic_threshold")
DAYS = get_constant("worldreasoner", "match_days")
K1, B = get_constant("worldreasoner", "bm25_k1"), get_constant("worldreasoner", "bm25_b")
N_CANDIDATES = get_constant("worldreasoner", "bm25_candidates")
MIN_LENGTH = get_constant("worldreasoner", "min_token_length")
STOP_WORDS = frozenset(word.encode() for word in get_constant("worldreasoner", "stop_words"))
N_KEYS = get_constant("worldreasoner", "n_key_events")

LETTERS = bytes(at if chr(at) in "0123456789abcdefghijklmnopqrstuvwxyz" else ord(" ") for at in range(256))
NONE = -1e9
"""Similarity of a pair that may not match."""
EVEN = 1e-12
"""Similarities this near are the same: sums in another order differ by less."""


@dataclass(frozen=True)
class Rules:
    """How events are matched; the defaults are the printed rule as the authors' code reads it.

    scale: "largest" (over the question's hindsight events) or "self" (BM25 of the hindsight event with itself).
    is_multiset: token F1 counts repeated words. days: None for no date gate. n_candidates: None lets all pairs go on.
    """

    scale: str = "largest"
    is_multiset: bool = False
    days: float | None = DAYS
    threshold: float = THRESHOLD
    n_candidates: int | None = N_CANDIDATES


PRINTED = Rules()
MATCHERS = {
    "printed rule, authors' reading": PRINTED,
    "BM25 over the self score": Rules(scale="self"),
    "repeated words count": Rules(is_multiset=True),
    "all pairs go on": Rules(n_candidates=None),
    "no date gate": Rules(days=None),
}
"""What the paper leaves open, one switch at a time."""


def split_words(text):
    """Return the words of a text that count: letters and digits in lower case, three or more, no stop words.

    >>> split_words("The Fed's cut, for 2025: 25 bps")
    ['fed', 'cut', '2025', 'bps']
    """
    return [word.decode() for word in split_text(text) if is_counted(word)]


def split_text(text):
    """Return all words of a text, as bytes."""
    return text.lower().encode("ascii", "replace").translate(LETTERS).split()


def is_counted(word):
    """Say whether a word counts."""
    return len(word) >= MIN_LENGTH and word not in STOP_WORDS


def count_words(texts):
    """Return how often each text has each word (texts x words), as a sparse matrix; words as of `split_words`.

    >>> count_words(["rain, rain", "sun and rain"]).toarray().tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    words, numbers = [split_text(text) for text in texts], defaultdict(count().__next__)  # numbers as the words come
    codes = np.fromiter(map(numbers.__getitem__, chain.from_iterable(words)), dtype=np.int64)
    counts = np.array([is_counted(word) for word in numbers], dtype=bool)
    rows, is_kept = np.repeat(np.arange(len(words)), [len(own) for own in words]), counts[codes]
    places = (rows[is_kept], (np.cumsum(counts) - 1)[codes[is_kept]])
    return coo_matrix((np.ones(is_kept.sum()), places), shape=(len(words), counts.sum())).tocsr()


def match_events(hindsight, forecasts, rules=PRINTED, features=None):
    """Return the pairs of forecast and hindsight events that match in text and date, the best first.

    `hindsight` has question_id, node_id, text, day (a number of days; NaN where undated) and is_outcome: the outcome
    counts as a document, and matches nothing. `forecasts` has run_id, question_id, node_id, text, day. `features` is a
    pair with a row a hindsight and a forecast event: their `count_words`, where these are known already, or arrays of
    meaning (embeddings); similarity is then the cosine, all pairs go on, and the threshold should be
    `SEMANTIC_THRESHOLD`. Columns run_id, question_id, hindsight_id, forecast_id, similarity, gap (days), is_kept:
    chosen one to one, the most similar first, then by smaller gap and id. The others serve the existential bound.
    """
    forecasts, hindsight = (
        part.reset_index(drop=True).sort_values(keys, kind="stable")
        for part, keys in ((forecasts, ["question_id", "run_id"]), (hindsight, ["question_id"]))
    )
    if features is None:
        counts = count_words([*hindsight["text"], *forecasts["text"]])
        features = counts[: len(hindsight)], counts[len(hindsight) :]
    else:
        features = features[0][hindsight.index.to_numpy()], features[1][forecasts.index.to_numpy()]
    is_outcome = hindsight["is_outcome"].to_numpy(bool)
    runs, run_names = pd.factorize(forecasts["run_id"])
    own = hindsight.groupby("question_id").indices  # places, not labels
    found = []
    for question, at in forecasts.groupby("question_id").indices.items():
        if question not in own:
            continue
        other, groups = own[question], pd.factorize(runs[at])[0]
        like = compare_texts(features[0][other], features[1][at], groups, rules)
        like[:, is_outcome[other]] = NONE
        gap = np.abs(forecasts["day"].to_numpy()[at][:, None] - hindsight["day"].to_numpy()[other])
        passed = like >= rules.threshold - EVEN
        if rules.days is not None:
            passed &= gap <= rules.days + EVEN  # never of an undated event
        first, second = np.nonzero(passed)
        found.append((at[first], other[second], like[passed], gap[passed]))
    rows = [np.concatenate(part) for part in zip(*found, strict=True)] if found else [np.zeros(0, int)] * 2 + [[], []]
    table = pd.DataFrame({"similarity": rows[2], "gap": rows[3]}).assign(
        run_id=np.asarray(run_names, dtype=object)[runs[rows[0]]],
        question_id=forecasts["question_id"].to_numpy()[rows[0]],
        hindsight_id=hindsight["node_id"].to_numpy()[rows[1]],
        forecast_id=forecasts["node_id"].to_numpy()[rows[0]],
    )
    return choose_pairs(table)


def compare_texts(hindsight, forecasts, groups, rules):
    """Return the similarity of each forecast event (rows) with each hindsight event of a question (columns).

    `hindsight` and `forecasts` are counts of words (`count_words`) or dense arrays, whose cosine it is then; `groups`
    is the run of each forecast event as a code from 0; events of a run stand together.
    """
    if not issparse(hindsight):
        one, two = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (hindsight, forecasts))
        return two @ one.T
    parts = (hindsight, forecasts)
    lengths = [np.diff(part.indptr).astype(float) for part in parts]  # different words, and below all words, of each
    totals = [np.asarray(part.sum(axis=1)).ravel() for part in parts]
    known = np.unique(hindsight.indices)  # a word that hindsight does not use adds to nothing but a length
    one, two = (part[:, known].toarray() for part in (hindsight, forecasts))
    shared = np.stack([np.minimum(row, one).sum(axis=1) for row in two]) if rules.is_multiset else None
    one, two = (one > 0).astype(float), (two > 0).astype(float)
    shared, sizes = (two @ one.T, lengths) if shared is None else (shared, totals)
    total = sizes[1][:, None] + sizes[0]
    f1 = np.divide(2 * shared, total, out=np.zeros_like(shared), where=total > 0)
    if rules.scale == "self":
        bm25 = _score_by_self(one, two, lengths, groups)
    else:
        weights = _find_idf(one.sum(axis=0), len(one)) * _scale_length(lengths[0], lengths[0].mean())[:, None]
        bm25 = two @ (one * weights).T
        most = bm25.max(axis=1, keepdims=True, initial=0.0)
        bm25 = np.divide(bm25, most, out=np.zeros_like(bm25), where=most > 0)
    like = WEIGHT_BM25 * bm25 + WEIGHT_F1 * f1
    if rules.n_candidates is not None:
        like[~_pick_candidates(one, two, lengths[1], groups, rules.n_candidates)] = NONE
    return like


def _find_idf(n_with, n):
    return np.log1p((n - n_with + 0.5) / (n_with + 0.5))


def _scale_length(lengths, mean):
    """BM25's factor of a word that a document of this length has once."""
    mean = np.where(mean > 0, mean, 1.0)
    return (K1 + 1) / (1 + K1 * (1 - B + B * lengths / mean))


def _sum_runs(values, groups):
    """Sums of rows by run (runs stand together)."""
    return np.add.reduceat(values, np.flatnonzero(np.diff(groups, prepend=-1)), axis=0)


def _pick_candidates(one, two, lengths, groups, n):
    """Flag, of each run, the `n` forecast events with the best BM25 score on a hindsight event as the query."""
    sizes = np.bincount(groups)
    idf = _find_idf(_sum_runs(two, groups), sizes[:, None].astype(float))[groups]
    scale = _scale_length(lengths, (_sum_runs(lengths, groups) / sizes)[groups])
    score = (two * idf) @ one.T * scale[:, None]
    if sizes.max() <= n:
        return np.ones_like(score, dtype=bool)
    places = np.arange(len(groups)) - np.concatenate([[0], np.cumsum(sizes)])[groups]
    cube = np.full((len(sizes), sizes.max(), one.shape[0]), -1.0)
    cube[groups, places] = score
    order = np.argsort(-np.round(cube, 12), axis=1, kind="stable")  # of equal scores the first
    picked = np.zeros_like(cube, dtype=bool)
    np.put_along_axis(picked, order[:, :n], True, axis=1)
    return picked[groups, places]


def _score_by_self(one, two, lengths, groups):
    """BM25 of each hindsight event as the query on a forecast event, over its score on itself; idf of both graphs."""
    sizes = np.bincount(groups)
    idf = _find_idf(_sum_runs(two, groups) + one.sum(axis=0), (sizes + len(one))[:, None].astype(float))
    mean = (_sum_runs(lengths[1], groups) + lengths[0].sum()) / (sizes + len(one))
    own = idf @ one.T * _scale_length(lengths[0], mean[:, None])  # runs x hindsight events
    score = (two * idf[groups]) @ one.T * _scale_length(lengths[1], mean[groups])[:, None]
    own = own[groups]
    return np.clip(np.divide(score, own, out=np.zeros_like(score), where=own > 0), 0, 1)


def choose_pairs(pairs):
    """Return pairs with is_kept: in each run and question one to one, by similarity, then smaller gap, then ids.

    >>> pairs = pd.DataFrame({"run_id": 0, "question_id": 0, "hindsight_id": [1, 1, 2], "forecast_id": [5, 6, 5]})
    >>> choose_pairs(pairs.assign(similarity=[0.9, 0.6, 0.8], gap=0.0))["is_kept"].tolist()
    [True, False, False]
    """
    keys, sides = ["run_id", "question_id"], ["hindsight_id", "forecast_id"]
    table = pairs.assign(rank=-pairs["similarity"].astype(float).round(12))
    table = table.sort_values(["rank", "gap", *sides, *keys], kind="stable", ignore_index=True)
    codes = [table.groupby([*keys, side], sort=False).ngroup().to_numpy() for side in sides]
    free, kept = [bytearray(b"\1" * len(table)) for _ in sides], np.zeros(len(table), dtype=bool)
    for at, (first, second) in enumerate(zip(*(code.tolist() for code in codes), strict=True)):
        if free[0][first] and free[1][second]:
            free[0][first] = free[1][second] = 0
            kept[at] = True
    return table.assign(is_kept=kept)[[*keys, *sides, "similarity", "gap", "is_kept"]]


def pick_key_events(hindsight):
    """Return the key events of each question: those of largest impact, at most N_KEYS (B.4); the outcome is none.

    `hindsight` has question_id, node_id, impact (magnitude times confidence, NaN without a record), day, is_outcome. Of
    equal impacts the earlier counts, then the id.
    """
    known = hindsight[(hindsight["impact"] >= 0) & ~hindsight["is_outcome"].astype(bool)]
    known = known.assign(rank=-known["impact"].round(12))
    order = known.sort_values(["question_id", "rank", "day", "node_id"], kind="stable", na_position="last")
    return order.groupby("question_id", sort=False).head(N_KEYS).drop(columns="rank").reset_index(drop=True)


def score_recall(keys, pairs, submissions):
    """Return key-event recall of each submission: n_key, recall (one to one), bound (any match), has_graph.

    `submissions` has run_id, question_id and has_graph. A question without key events is left out. Where no graph was
    submitted, recall is blank: what that is worth, 0 or nothing, is for its reader to say.
    """
    n_key = keys.groupby("question_id").size().rename("n_key")
    table = submissions.merge(n_key, left_on="question_id", right_index=True).reset_index(drop=True)
    hit = pairs.merge(keys[["question_id", "node_id"]].rename(columns={"node_id": "hindsight_id"}))
    by, has_graph = ["run_id", "question_id"], table["has_graph"].astype(bool)
    for name, rows in (("recall", hit[hit["is_kept"].astype(bool)]), ("bound", hit)):
        found = rows.groupby(by)["hindsight_id"].nunique().rename(name)
        table = table.merge(found, how="left", left_on=by, right_index=True)
        table[name] = (table[name].fillna(0) / table["n_key"]).where(has_graph)
    return table
