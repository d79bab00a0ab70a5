"""Means and shares with their 95% intervals: by cluster, by event beside it, and by group.

Events of one source share sampling variation, so a mean has the interval of a jackknife over
sources, which needs no draw; a share has Wilson's. Other statistics have percentiles of resamples,
of cases or of whole clusters: a draw is the same for every column, so that differences keep what
the columns share.
"""

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers.scores import build_matrix

MIN_CLUSTERS = 10
"""With fewer sources (or fewer events, where each is its own) there is no interval: an error from
so few is a guess."""
CLUSTER_COLUMNS = {"cluster_id": "cluster", "source_id": "source"}
"""Columns of the events that say which events are correlated, the first choice first, and what they
are called.
"""
GATHERED = "futurex_live"
"""The `source_id` of questions of a week's list or of a file that name no source: they depend on
none in common."""


Strata = Iterable[tuple[float, Any]] | None
"""Weights with the labels of the rows that each is of (`summarize_clustered`)."""


def divide(top: Any, bottom: Any) -> np.ndarray:
    """Return the quotient of two arrays, NaN where the divisor is 0."""
    return np.where(bottom > 0, top, np.nan) / np.where(bottom > 0, bottom, 1)


def find_clusters(events: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return the cluster of each event, by event_id, and what that is called: cluster, source or
    event.

    The first of `CLUSTER_COLUMNS` that is there counts; where its cell is blank or `GATHERED`, an
    event is its own. A `cluster_id` that is mostly the `source_id` is called a source.
    """
    ids = events.set_index("event_id", drop=False)
    for column, name in CLUSTER_COLUMNS.items():
        if column not in ids:
            continue
        labels = ids[column].mask(ids[column] == GATHERED)
        if labels.notna().any():
            is_source = "source_id" in ids and (labels == ids["source_id"]).mean() > 0.5
            return labels.fillna(ids["event_id"]), "source" if is_source else name
    return ids["event_id"], "event"


def summarize_clustered(
    matrix: Any,
    clusters: pd.Series | None = None,
    strata: Strata = None,
    ends: tuple = (-math.inf, math.inf),
) -> pd.DataFrame:
    """Return each column's mean with its 95% interval by cluster: mean, low, high, se, p, n,
    n_clusters.

    A jackknife that leaves out one cluster of rows at a time (CR3), with Student's t of G - 1
    degrees of freedom for G clusters; p is that of the mean being 0 (where all rows are the same,
    of the exact sign-flip test). `clusters` maps a row's label to its cluster; by default each row
    is its own, and the interval is the plain t one. `strata` lists (weight, labels of rows): the
    mean is then the weighted sum of the strata's means. NaN cells are left out. Below
    `MIN_CLUSTERS` (in any stratum) low, high and p are blank; low and high also where nothing
    varies. No interval goes beyond the `ends`, the least and the most that a mean can be.

    >>> table = pd.DataFrame({"a": [0.0, 1.0] * 6})
    >>> row = summarize_clustered(table).loc["a"]
    >>> float(row["mean"]), round(float(row["high"]), 4), int(row["n_clusters"])  # 0.5 + 2.201 * 0.5222 / sqrt(12)
    (0.5, 0.8318, 12)
    """
    table = pd.DataFrame(matrix).astype(float)
    codes = pd.factorize(table.index if clusters is None else clusters.reindex(table.index))[0]
    if (codes < 0).any():
        raise ValueError(
            f"row {table.index[codes < 0][0]!r} has no cluster; fill it in, or leave the row out"
        )
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    mean: Any = 0
    without: Any = 0
    there: Any = 0
    fewest: Any = np.inf
    for weight, labels in [(1, table.index)] if strata is None else strata:
        values = np.where(table.index.isin(labels)[:, None], table, np.nan)[order]
        known = np.isfinite(values)
        sums, counts = (
            np.add.reduceat(part, starts)
            for part in (np.where(known, values, 0.0), known.astype(float))
        )
        mean = mean + weight * divide(sums.sum(axis=0), counts.sum(axis=0))
        without = without + weight * divide(sums.sum(axis=0) - sums, counts.sum(axis=0) - counts)
        there = there + counts
        fewest = np.minimum(fewest, (counts > 0).sum(axis=0))
    n_clusters = (there > 0).sum(axis=0)
    tested = summarize_jackknife(mean, without, n_clusters, fewest >= MIN_CLUSTERS)
    found = {"mean": mean, **tested, "n": there.sum(axis=0).astype(int), "n_clusters": n_clusters}
    found |= {end: np.clip(found[end], *ends) for end in ("low", "high")}
    return pd.DataFrame(found, table.columns)


def summarize_jackknife(mean: Any, without: Any, n_clusters: Any, is_enough: Any) -> dict[str, Any]:
    """Return low, high, se and p of means from what they are without each cluster (clusters x
    means)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((n_clusters - 1) / n_clusters * ((without - mean) ** 2).sum(axis=0))
        half = stats.t.ppf(0.975, n_clusters - 1) * error
        p = 2 * stats.t.sf(np.abs(mean) / error, n_clusters - 1)
    varies = error > 1e-12
    same = np.where(
        np.abs(mean) > 1e-12, 0.5 ** (n_clusters - 1.0), 1.0
    )  # the exact sign-flip test
    half = np.where(is_enough & varies, half, np.nan)
    p = np.where(is_enough, np.where(varies, p, same), np.nan)
    return {"low": mean - half, "high": mean + half, "se": error, "p": p}


def logit_interval(summary: pd.DataFrame, lowest: float, highest: float) -> pd.DataFrame:
    """Return rows of `summarize_clustered` whose low and high stay on the scale of what is
    averaged.

    The interval is that of the logit of the mean's place between `lowest` and `highest`, by the
    delta method; blank where the mean is an end.
    """
    place = (summary["mean"] - lowest) / (highest - lowest)
    inside = place.where((place > 0) & (place < 1))
    middle = np.log(inside / (1 - inside))
    half = (summary["high"] - summary["mean"]) / (highest - lowest) / (inside * (1 - inside))
    ends = {
        name: lowest + (highest - lowest) / (1 + np.exp(-(middle + sign * half)))
        for name, sign in (("low", -1), ("high", 1))
    }
    return summary.assign(**ends)


def measure_share(flags: Collection) -> dict:
    """Return a share with its 95% Wilson interval and n, blank without cases.

    >>> {key: round(value, 3) for key, value in measure_share([True, False]).items()}
    {'n': 2, 'share': 0.5, 'low': 0.095, 'high': 0.905}
    """
    n = len(flags)
    hits = int(sum(flags))
    if not n:
        return {"n": 0, "share": math.nan, "low": math.nan, "high": math.nan}
    low, high = proportion_confint(hits, n, method="wilson")
    return {"n": n, "share": hits / n, "low": max(0.0, float(low)), "high": min(1.0, float(high))}


def tabulate_groups(
    rows: pd.DataFrame,
    clusters: pd.Series,
    groups: Iterable[str] = ("level", "kind", "domain"),
    most: float = 1.0,
    least: float = 0.0,
) -> pd.DataFrame:
    """Return each agent's mean over all events and by group, with intervals by cluster and by
    event.

    `rows` are scored rows (`scores.select_headline`) with the columns named in `groups`; a score
    lies between `least` and `most`. Columns: group ("all", then those named), name, agent_id, mean,
    low, high, low_by_event, high_by_event, n (predicted), n_asked, n_clusters, coverage,
    mean_imputed (missing predictions count 0).
    """
    agents = sorted(rows["agent_id"].unique())
    parts = [("all", "", rows)]
    parts += [
        (group, str(name), part)
        for group in groups
        for name, part in rows.groupby(group, sort=True)
    ]
    tables = []
    for group, name, part in parts:
        matrix, imputed = (
            build_matrix(part, agents, column) for column in ("score", "score_imputed")
        )
        table = describe_agents(matrix, imputed, clusters, most=most, least=least)
        tables.append(table.reset_index().assign(group=group, name=name))
    return pd.concat(tables, ignore_index=True)[["group", "name", "agent_id", *AGENT_COLUMNS]]


AGENT_COLUMNS = (
    "mean low high low_by_event high_by_event n n_asked n_clusters coverage mean_imputed".split()
)
ENDS = AGENT_COLUMNS[1:5]


def describe_agents(
    matrix: pd.DataFrame,
    imputed: pd.DataFrame,
    clusters: pd.Series,
    strata: Strata = None,
    most: float = 1.0,
    least: float = 0.0,
) -> pd.DataFrame:
    """Return each agent's mean with intervals by cluster and by event: a row an agent, in
    `AGENT_COLUMNS`.

    `matrix` and `imputed` are scores by event and agent, without and with gaps filled; `strata` as
    `summarize_clustered` has them.
    """
    ends = least, most
    table = summarize_clustered(matrix, clusters, strata, ends).rename_axis("agent_id")
    plain = summarize_clustered(matrix, None, strata, ends)
    table[["low_by_event", "high_by_event"]] = plain[["low", "high"]]
    table["n_asked"] = imputed.notna().sum()
    table["coverage"] = table["n"] / table["n_asked"].where(table["n_asked"] > 0)
    parts = [(1, imputed.index)] if strata is None else strata
    table["mean_imputed"] = sum(weight * imputed.reindex(labels).mean() for weight, labels in parts)
    return table[AGENT_COLUMNS]


# --- resampling -------------------------------------------------------------------------------------


def draw_counts(n: int, rng: np.random.Generator, n_boot: int = 2000) -> np.ndarray:
    """Return how often each of `n` cases is drawn in each of `n_boot` resamples with replacement
    (n_boot x n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=n_boot)


def draw_rows(
    n: int, rng: np.random.Generator, n_boot: int = 2000, clusters: Any = None
) -> list[np.ndarray]:
    """Return bootstrap draws of `n` rows, as arrays draws x places whose draws are equally long.

    `clusters` (one a row) are drawn whole; of fewer than MIN_CLUSTERS nothing is drawn.

    >>> [rows.tolist() for rows in draw_rows(1, np.random.default_rng(0), 2)]
    [[[0], [0]]]
    >>> draw_rows(4, np.random.default_rng(0), 2, ["a", "a", "b", "b"])
    []
    """
    if clusters is None:
        return [rng.integers(n, size=(n_boot, n))] if n else []
    codes, names = pd.factorize(np.asarray(clusters))
    if len(names) < MIN_CLUSTERS:
        return []
    members = [np.flatnonzero(codes == code) for code in range(len(names))]
    by_length: dict[int, list] = {}
    for drawn in rng.integers(len(names), size=(n_boot, len(names))):
        rows = np.concatenate([members[code] for code in drawn])
        by_length.setdefault(len(rows), []).append(rows)
    return [np.array(rows) for rows in by_length.values()]


def percentile_interval(draws: np.ndarray) -> tuple[float, float]:
    """Return the 2.5th and 97.5th percentile of bootstrap draws; NaN for none."""
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        return math.nan, math.nan
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)
