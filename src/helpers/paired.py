"""From Python, in two calls: score predictions of your own, and compare two agents on the events
that both predicted.

Differences are paired by event. Outcomes of one source are correlated, so intervals and tests are
by source, and by event where there is no source (`means.summarize_clustered`).

>>> events = pd.DataFrame({"event_id": ["e1", "e2"], "kind": ["single", "number"]})
>>> answers = pd.DataFrame({"event_id": ["e1", "e2"], "value": ['"Yes"', 10.0], "spread": [None, 2.0]})
>>> rows = [("e1", "ann", '"Yes"'), ("e1", "bob", '"No"'), ("e2", "ann", 11.0), ("e2", "bob", 10.0)]
>>> scores = score(events, answers, pd.DataFrame(rows, columns=["event_id", "agent_id", "value"]))
>>> compare(scores, "ann", "bob").iloc[0][["mean_a", "mean_b", "difference"]].astype(float).tolist()
[0.875, 0.5, 0.375]
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from helpers.means import find_clusters, summarize_clustered
from helpers.scores import HEADLINE, build_matrix, score_predictions

ALPHA = 0.05
"""A difference counts as seen when its p is below it."""
POWER = 0.8
"""With this chance a study finds a real difference, at p below `ALPHA`."""
BETTER = ("a is better", "b is better")
COLUMNS = "group a b mean_a mean_b difference low high p low_by_event high_by_event mde n n_clusters".split()
COLUMNS += ["n_only_a", "n_only_b", "verdict"]


def judge_interval(low: float, high: float, bound: float = 0.0) -> str:
    """Say whether an interval lies above a bound (holds), below it (fails), or neither
    (inconclusive)."""
    return "holds" if low > bound else "fails" if high < bound else "inconclusive"


def judge_test(estimate: float, p: float) -> str:
    """Say what a two-sided test says of a statement that holds above 0: holds, fails or
    inconclusive.

    >>> judge_test(0.2, 0.01), judge_test(-0.2, 0.01), judge_test(0.2, 0.3), judge_test(0.2, math.nan)
    ('holds', 'fails', 'inconclusive', 'inconclusive')
    """
    return "inconclusive" if not p < ALPHA else "holds" if estimate > 0 else "fails"


def judge_family(
    table: pd.DataFrame, value: str = "difference", above: str = "holds", below: str = "fails"
) -> pd.DataFrame:
    """Return tests (p, of `value` being 0) with p_holm over all rows and the verdict by it, in
    these words."""
    table = table.assign(p_holm=correct_holm(table["p"]))
    words = {"holds": above, "fails": below}
    said = [judge_test(*row) for row in zip(table[value], table["p_holm"], strict=True)]
    return table.assign(verdict=[words.get(verdict, verdict) for verdict in said])


def correct_holm(p: pd.Series, n_planned: int = 0) -> pd.Series:
    """Return p-values corrected for their number by Holm's rule (a Series; blanks stay, and are not
    counted).

    Where more tests were planned than could be made, `n_planned` count, those not made as if theirs
    were the largest.

    >>> correct_holm(pd.Series([0.01, None, 0.04])).tolist(), correct_holm(pd.Series([0.01, 0.04]), 8).tolist()
    ([0.02, nan, 0.04], [0.08, 0.28])
    """
    tested = p.astype(float).dropna().sort_values()
    raw = tested.to_numpy() * (max(len(tested), n_planned) - np.arange(len(tested)))
    return pd.Series(np.minimum(np.maximum.accumulate(raw), 1.0), tested.index).reindex(p.index)


def sign_flip_test(differences: pd.Series, clusters: pd.Series | None = None) -> float:
    """Return the exact two-sided p of paired differences whose sign is chance (a Series; blanks are
    left out).

    Whole clusters are flipped (each row is its own by default). Blank without differences, or with
    more than 16 clusters.
    """
    known = differences.dropna()
    sums = (
        known.groupby(known.index if clusters is None else clusters.reindex(known.index))
        .sum()
        .to_numpy()
    )
    if not 0 < len(sums) <= 16:
        return math.nan
    signs = 1 - 2 * (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1)
    return float((np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean())


def score(events: pd.DataFrame, answers: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the scores table (FutureX 3.4.3) of predictions, with the events' level and cluster
    beside them.

    Needs event_id and kind in events (options too, for probabilities), event_id and value (spread,
    for numbers) in answers, and event_id, agent_id and value in predictions; cells are JSON. A run
    is an agent's name where no run_id is given. Raises ValueError when a needed column is absent,
    or an event is unknown.
    """
    needs = {
        "events": (events, ("event_id", "kind")),
        "answers": (answers, ("event_id", "value")),
        "predictions": (predictions, ("event_id", "agent_id", "value")),
    }
    for name, (table, columns) in needs.items():
        for column in columns:
            if column not in table.columns:
                raise ValueError(f"{name} has no column {column!r}; it needs {', '.join(columns)}")
    answers = fill_blanks(answers, status=np.where(answers["value"].isna(), "none", "ok"))
    scores = score_predictions(fill_predictions(predictions), answers, events)
    clusters = find_clusters(events)[0].to_numpy()
    told = events[["event_id"]].assign(event_level=events.get("level"), event_cluster=clusters)
    return scores.merge(told, on="event_id", how="left", validate="many_to_one")


def fill_blanks(table: pd.DataFrame, **defaults: Any) -> pd.DataFrame:
    """Return a table whose absent columns and blank cells hold these values, one for all rows or
    one a row."""
    for name, values in defaults.items():
        given = table.get(name, pd.Series(None, table.index)).astype(object)
        table = table.assign(**{name: given.where(given.notna(), values)})
    return table


def fill_predictions(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return predictions with defaults for what may be left out: run_id the agent's name, sample 0,
    status."""
    known = np.where(predictions["value"].isna(), "missing", "ok")
    table = fill_blanks(predictions, run_id=predictions["agent_id"], sample=0, status=known)
    return table.assign(sample=pd.to_numeric(table["sample"]).astype(int))


def compare(scores: pd.DataFrame, a: str, b: str) -> pd.DataFrame:
    """Return the paired difference between two agents, a minus b: a row for all events, and one a
    level.

    Each event counts once: a's mean score on it (over samples and runs) minus b's. The 95% interval
    and p are by the events' cluster, an interval by event beside them; `mde`: minimum detectable
    effect; `n_only_a`, `n_only_b`: events that the other lacks. The verdict is "a is better", "b is
    better" or "inconclusive". Raises LookupError for an unknown agent.
    """
    names = sorted(scores["agent_id"].dropna().unique())
    for name in (a, b):
        if name not in names:
            raise LookupError(f"no scores of an agent {name!r}; there are {', '.join(names)}")
    if a == b:
        raise ValueError(f"both agents are {a!r}; name two")
    rows = scores[scores["metric"].isin(HEADLINE.values()) & scores["is_scored"].astype(bool)]
    groups = [
        ("all", rows),
        *((f"level {int(level)}", part) for level, part in rows.groupby("event_level", sort=True)),
    ]
    table = [{"group": name, "a": a, "b": b} | pair_agents(part, a, b) for name, part in groups]
    return pd.DataFrame(table, columns=COLUMNS)


def pair_agents(rows: pd.DataFrame, a: str, b: str) -> dict:
    """Return means, difference, intervals, counts and verdict of two agents on one group of scored
    rows."""
    part = rows[rows["agent_id"].isin([a, b])]
    matrix = build_matrix(part, [a, b])
    there = matrix.notna()
    counts = {
        f"n_only_{side}": int((there[name] & ~there[other]).sum())
        for side, name, other in (("a", a, b), ("b", b, a))
    }
    known = part.drop_duplicates("event_id").set_index("event_id")
    pair = compare_pairs(matrix, known.get("event_cluster")).iloc[0]
    means = matrix.dropna().mean()
    return (
        counts
        | {"mean_a": means[a], "mean_b": means[b], "verdict": judge_pair(pair)}
        | pair.to_dict()
    )


def judge_pair(pair: Any, p: str = "p") -> str:
    """Say who of a row of `compare_pairs` is better, by its p (or by another column, p_holm)."""
    verdict = judge_test(pair["difference"], pair[p])
    return dict(zip(("holds", "fails"), BETTER, strict=True)).get(verdict, verdict)


def compute_mde(error: ArrayLike, n_clusters: ArrayLike) -> np.ndarray:
    """Return the minimum detectable effect: what a t test with this error finds with `POWER`; NaN
    if nothing varies."""
    free = np.maximum(np.asarray(n_clusters) - 1, 1)
    return (stats.t.ppf(1 - ALPHA / 2, free) + stats.t.ppf(POWER, free)) * np.where(
        error == 0, np.nan, error
    )


def list_pairs(names: Sequence) -> list[tuple]:
    """Return all pairs of some names, each with those after it: [(name, [others])]."""
    return [(name, names[at + 1 :]) for at, name in enumerate(names[:-1])]


def compare_pairs(
    matrix: pd.DataFrame, clusters: pd.Series | None = None, pairs: Iterable[tuple] | None = None
) -> pd.DataFrame:
    """Return the paired differences between agents, the columns of a matrix of scores by event: a
    row a pair.

    `pairs` lists (agent, [others]), by default every two. Columns: agent_a, agent_b, n (events that
    both predicted), n_clusters, difference (a - b), sd (over events), low, high and p by cluster
    (`clusters`, by default each event its own), p_holm (over these pairs), mde (`compute_mde`),
    low_by_event, high_by_event. Raises ValueError for one agent.
    """
    if matrix.shape[1] < 2:
        raise ValueError(
            f"a comparison needs two agents; there is only {', '.join(map(str, matrix.columns))}"
        )
    parts = []
    for name, others in list_pairs(list(matrix.columns)) if pairs is None else pairs:
        differences = matrix[others].rsub(matrix[name], axis=0)
        found = summarize_clustered(differences, clusters)
        plain = summarize_clustered(differences)
        part = found.rename(columns={"mean": "difference"}).rename_axis("agent_b").reset_index()
        mde = np.where(part["p"].notna(), compute_mde(part["se"], part["n_clusters"]), np.nan)
        ends = {f"{end}_by_event": plain[end].to_numpy() for end in ("low", "high")}
        parts.append(part.assign(agent_a=name, sd=differences.std().to_numpy(), mde=mde, **ends))
    table = pd.concat(parts, ignore_index=True)
    table["p_holm"] = correct_holm(table["p"])
    columns = "agent_a agent_b n n_clusters difference sd low high p p_holm mde low_by_event high_by_event"
    return table[columns.split()]
