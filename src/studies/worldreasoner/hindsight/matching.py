"""Which events of hindsight a forecast's graph names: text and date together, one to one
(WorldReasoner F.3, B.4).

Similarity is 0.6 BM25, turned round and scaled to [0, 1], and 0.4 token F1. Where the paper is
silent the authors' code decides (data/papers/worldreasoner.toml says on what), and what the paper
allows as well is a switch of `Rules`. All forecast events of a question are set against all its
hindsight events at once, as matrices.

Scaled by its largest, BM25 is 1 for the best hindsight event of any forecast event that shares one
word with one; 0.6 of it passes the threshold, so that the dates decide (notebook 22 shows how
often). Over the self score the text counts.
"""

import re
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix, issparse

from helpers.papers import get_constant

WEIGHT_BM25 = get_constant("worldreasoner", "match_bm25_weight")
WEIGHT_F1 = get_constant("worldreasoner", "match_f1_weight")
THRESHOLD = get_constant("worldreasoner", "match_threshold")
SEMANTIC_THRESHOLD = get_constant("worldreasoner", "semantic_threshold")
DAYS = get_constant("worldreasoner", "match_days")
K1 = get_constant("worldreasoner", "bm25_k1")
B = get_constant("worldreasoner", "bm25_b")
N_CANDIDATES = get_constant("worldreasoner", "bm25_candidates")
MIN_LENGTH = get_constant("worldreasoner", "min_token_length")
STOP_WORDS = frozenset(get_constant("worldreasoner", "stop_words"))
N_KEYS = get_constant("worldreasoner", "n_key_events")

EVEN = 1e-12
"""Similarities this near are the same: sums in another order differ by less."""


@dataclass(frozen=True)
class Rules:
    """How events are matched; the defaults are the printed rule as the authors' code reads it.

    scale: "largest" (over the question's hindsight events) or "self" (BM25 of the hindsight event
    with itself). is_multiset: token F1 counts repeated words. days: None for no date gate.
    n_candidates: None lets all pairs go on.
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
    """Return the words of a text that count: letters and digits in lower case, three or more, no
    stop words.

    >>> split_words("The Fed's cut, for 2025: 25 bps")
    ['fed', 'cut', '2025', 'bps']
    """
    words = re.findall("[a-z0-9]+", text.lower())
    return [word for word in words if len(word) >= MIN_LENGTH and word not in STOP_WORDS]


def count_words(texts):
    """Return how often each text has each word (texts x words), as a sparse matrix; words as of
    `split_words`.

    >>> count_words(["rain, rain", "sun and rain"]).toarray().tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    words = [split_words(text) for text in texts]
    codes, known = pd.factorize(np.array(list(chain.from_iterable(words)), dtype=object))
    rows = np.repeat(np.arange(len(words)), [len(own) for own in words])
    return coo_matrix((np.ones(len(codes)), (rows, codes)), shape=(len(words), len(known))).tocsr()


def match_events(hindsight, forecasts, rules=PRINTED, features=None):
    """Return the pairs of forecast and hindsight events that match in text and date, the best
    first.

    `hindsight` has question_id, node_id, text, day (a number of days; NaN where undated) and
    is_outcome: the outcome counts as a document, and matches nothing. `forecasts` has run_id,
    question_id, node_id, text, day. `features` is a pair with a row a hindsight and a forecast
    event: their `count_words`, where these are known already, or arrays of meaning (embeddings);
    similarity is then the cosine, all pairs go on, and the threshold should be
    `SEMANTIC_THRESHOLD`. Columns run_id, question_id, hindsight_id, forecast_id, similarity, gap
    (days), is_kept: chosen one to one, the most similar first, then by smaller gap and id. The
    others serve the existential bound.
    """
    hindsight = hindsight.reset_index(drop=True)
    forecasts = forecasts.reset_index(drop=True).sort_values(
        ["question_id", "run_id"], kind="stable"
    )
    if features is None:
        counts = count_words([*hindsight["text"], *forecasts["text"].sort_index()])
        features = counts[: len(hindsight)], counts[len(hindsight) :]
    own = hindsight.groupby("question_id").indices
    parts = []
    for question, said in forecasts.groupby("question_id"):
        seen = hindsight.iloc[own.get(question, [])]
        if seen.empty:
            continue
        runs = pd.factorize(said["run_id"])[0]
        like = compare_texts(features[0][seen.index], features[1][said.index], runs, rules)
        gap = np.abs(said["day"].to_numpy(float)[:, None] - seen["day"].to_numpy(float))
        passed = (like >= rules.threshold - EVEN) & ~seen["is_outcome"].to_numpy(bool)
        if rules.days is not None:
            passed &= gap <= rules.days + EVEN  # never of an undated event
        first, second = np.nonzero(passed)
        pairs = said[["run_id", "question_id"]].iloc[first]
        pairs["hindsight_id"] = seen["node_id"].to_numpy()[second]
        pairs["forecast_id"] = said["node_id"].to_numpy()[first]
        parts.append(pairs.assign(similarity=like[passed], gap=gap[passed]))
    columns = ["run_id", "question_id", "hindsight_id", "forecast_id", "similarity", "gap"]
    return choose_pairs(pd.concat(parts) if parts else pd.DataFrame(columns=columns))


def compare_texts(hindsight, forecasts, runs, rules):
    """Return the similarity of each forecast event (rows) with each hindsight event of a question
    (columns).

    `hindsight` and `forecasts` are counts of words (`count_words`) or dense arrays, whose cosine it
    is then; `runs` is the run of each forecast event as a code from 0; events of a run stand
    together. Pairs that do not go on have minus infinity.
    """
    if not issparse(hindsight):
        one, two = (
            part / np.linalg.norm(part, axis=1, keepdims=True) for part in (hindsight, forecasts)
        )
        return two @ one.T
    lengths = [np.diff(part.indptr).astype(float) for part in (hindsight, forecasts)]
    # a word that hindsight does not use adds to nothing but a length
    known = np.unique(hindsight.indices)
    one, two = (part[:, known].toarray() for part in (hindsight, forecasts))
    if rules.is_multiset:
        shared = np.minimum(two[:, None], one).sum(axis=2)
        sizes = [np.asarray(part.sum(axis=1)).ravel() for part in (hindsight, forecasts)]
    else:
        shared = (two > 0).astype(float) @ (one > 0).T
        sizes = lengths
    f1 = _divide(2 * shared, sizes[1][:, None] + sizes[0])
    one = (one > 0).astype(float)
    two = (two > 0).astype(float)
    bm25 = np.zeros_like(f1)
    goes_on = np.ones_like(f1, dtype=bool)
    if rules.scale == "largest":
        bm25 = two @ _weigh_words(one, lengths[0]).T
        bm25 = _divide(bm25, bm25.max(axis=1, keepdims=True, initial=0.0))
    for rows in np.split(np.arange(len(two)), np.flatnonzero(np.diff(runs)) + 1):
        docs = two[rows]
        n_words = lengths[1][rows]
        if rules.scale == "self":
            weights = _weigh_words(np.vstack([one, docs]), np.concatenate([lengths[0], n_words]))
            own = weights[: len(one)].sum(axis=1)
            score = weights[len(one) :] @ one.T
            bm25[rows] = np.clip(_divide(score, np.broadcast_to(own, score.shape)), 0, 1)
        if rules.n_candidates is not None and len(rows) > rules.n_candidates:
            score = np.round(_weigh_words(docs, n_words) @ one.T, 12)
            best = np.argsort(-score, axis=0, kind="stable")  # of equal scores the first
            goes_on[rows] = np.argsort(best, axis=0) < rules.n_candidates
    return np.where(goes_on, WEIGHT_BM25 * bm25 + WEIGHT_F1 * f1, -np.inf)


def _divide(values, by):
    """Quotients, 0 where there is nothing to divide by."""
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)


def _weigh_words(docs, lengths):
    """BM25's weight of each word (columns) in each document that has it; a word counts once,
    `lengths` as given."""
    n_with = docs.sum(axis=0)
    mean = lengths.mean() or 1.0
    idf = np.log1p((len(docs) - n_with + 0.5) / (n_with + 0.5))
    return docs * (idf * ((K1 + 1) / (1 + K1 * (1 - B + B * lengths / mean)))[:, None])


def choose_pairs(pairs):
    """Return pairs with is_kept: in each run and question one to one, by similarity, then smaller
    gap, then ids.

    >>> pairs = pd.DataFrame({"run_id": 0, "question_id": 0, "hindsight_id": [1, 1, 2], "forecast_id": [5, 6, 5]})
    >>> choose_pairs(pairs.assign(similarity=[0.9, 0.6, 0.8], gap=0.0))["is_kept"].tolist()
    [True, False, False]
    """
    keys = ["run_id", "question_id"]
    sides = ["hindsight_id", "forecast_id"]
    table = pairs.assign(rank=-pairs["similarity"].astype(float).round(12))
    table = table.sort_values(["rank", "gap", *sides, *keys], kind="stable", ignore_index=True)
    taken = set()
    kept = []
    for run, question, seen, said in table[[*keys, *sides]].itertuples(index=False):
        both = {(run, question, "seen", seen), (run, question, "said", said)}
        kept.append(taken.isdisjoint(both))
        taken |= both if kept[-1] else set()
    return table.assign(is_kept=np.array(kept, dtype=bool))[
        [*keys, *sides, "similarity", "gap", "is_kept"]
    ]


def pick_key_events(hindsight):
    """Return the key events of each question: those of largest impact, at most N_KEYS (B.4); the
    outcome is none.

    `hindsight` has question_id, node_id, impact (magnitude times confidence, NaN without a record),
    day, is_outcome. Of equal impacts the earlier counts, then the id.
    """
    known = hindsight[(hindsight["impact"] >= 0) & ~hindsight["is_outcome"].astype(bool)]
    known = known.assign(rank=-known["impact"].round(12))
    order = known.sort_values(["question_id", "rank", "day", "node_id"], kind="stable")
    best = order.groupby("question_id", sort=False).head(N_KEYS)
    return best.drop(columns="rank").reset_index(drop=True)


def score_recall(keys, pairs, submissions):
    """Return key-event recall of each submission: n_key, recall (one to one), bound (any match),
    has_graph.

    `submissions` has run_id, question_id and has_graph. A question without key events is left out.
    Where no graph was submitted, recall is blank: what that is worth, 0 or nothing, is for its
    reader to say.
    """
    by = ["run_id", "question_id"]
    n_key = keys.groupby("question_id").size().rename("n_key")
    table = submissions.join(n_key, on="question_id", how="inner").reset_index(drop=True)
    hit = pairs.merge(keys[["question_id", "node_id"]].rename(columns={"node_id": "hindsight_id"}))
    for name, rows in (("recall", hit[hit["is_kept"].astype(bool)]), ("bound", hit)):
        found = rows.groupby(by)["hindsight_id"].nunique().rename(name)
        shares = table[by].join(found, on=by)[name].fillna(0) / table["n_key"]
        table[name] = shares.where(table["has_graph"].astype(bool))
    return table
