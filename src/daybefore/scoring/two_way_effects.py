"""Means of agents that were asked different questions, adjusted by two-way fixed effects (question
and agent).

score = question's effect + agent's effect + rest, by least squares. This is an adjustment and no
comparison in pairs: it takes an agent's lead to be the same on every question, also on those it was
never asked. Where all answered the same questions it changes nothing.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from helpers.means import MIN_CLUSTERS, summarize_jackknife
from helpers.paired import compute_mde, correct_holm, list_pairs


class TwoWay(NamedTuple):
    """Adjusted means, an agent each, with those without each cluster (clusters x agents; NaN: not
    comparable then).

    `n` are the agent's events, `n_clusters` the clusters in which another agent has the same event.
    """

    means: pd.Series
    without: np.ndarray
    n: pd.Series
    n_clusters: pd.Series


def fit_two_way(matrix, clusters):
    """Fit scores (events x agents, NaN: not asked) by question and agent; return the `TwoWay`.

    An adjusted mean is the fitted mean score over all events that anyone was asked. `clusters` maps
    events to clusters: the error is a jackknife that leaves out one at a time (CR3), as in
    `means.summarize_clustered`. Raises ValueError where no chain of shared events joins the agents.
    """
    table = matrix.astype(float).dropna(how="all")
    there = table.notna().to_numpy(float)
    values = table.fillna(0.0).to_numpy()
    n_pieces, pieces = connected_components(there.T @ there > 0, directed=False)
    if n_pieces > 1:
        first, other = (", ".join(table.columns[is_side]) for is_side in (pieces == 0, pieces != 0))
        raise ValueError(
            f"no event joins {first} with {other}, not even through another agent, so that no adjustment can "
            f"compare them; run an agent (a baseline costs nothing) on events of both, or compare each side by itself"
        )
    codes, names = pd.factorize(clusters.reindex(table.index))
    asked = there.sum(axis=1, keepdims=True)
    totals = values.sum(axis=1, keepdims=True)
    share = there / asked
    # Scores without their question's mean, and the questions' means themselves: sums over events,
    # so over clusters too.
    gram = there[:, :, None] * (np.eye(there.shape[1]) - share[:, None, :])
    parts = [gram, values - share * totals, share, share * totals / asked]
    parts = [
        np.stack([part[codes == at].sum(axis=0) for at in range(len(names))]) for part in parts
    ]
    sums = [part.sum(axis=0) for part in parts]
    without = [
        _solve(*(total - part[at] for total, part in zip(sums, parts, strict=True)))
        for at in range(len(names))
    ]
    shared = (
        pd.DataFrame(there * (asked > 1), columns=table.columns)
        .groupby(codes)
        .max()
        .sum()
        .astype(int)
    )
    return TwoWay(
        pd.Series(_solve(*sums), table.columns), np.array(without), table.notna().sum(), shared
    )


def _solve(gram, moments, share, level):
    """Adjusted means from sums over events; NaN for agents that no chain of events joins to the
    largest group."""
    pieces = connected_components(np.abs(gram) > 1e-9, directed=False)[1]
    kept = pieces == np.bincount(pieces).argmax()
    effects = np.linalg.pinv(gram, rcond=1e-9, hermitian=True) @ moments
    if not share[kept].sum() > 1e-9:
        return np.full(len(share), np.nan)
    return np.where(
        kept, effects + (level - effects * share)[kept].sum() / share[kept].sum(), np.nan
    )


def tabulate_adjusted(fit):
    """Return adjusted means with 95% intervals by cluster: a row an agent: mean, low, high, se, p,
    n, n_clusters.

    Blank below `MIN_CLUSTERS`, and where one cluster alone joins an agent to the others.
    """
    means, n, n_clusters = (part.to_numpy() for part in (fit.means, fit.n, fit.n_clusters))
    return _summarize(means, fit.without, n, n_clusters).set_index(fit.means.index)


def compare_adjusted(fit, pairs=None):
    """Return differences of adjusted means, a row a pair, with p_holm over them; `pairs` as
    `paired.compare_pairs`.

    Columns: agent_a, agent_b, difference (a - b), low, high, se, p, p_holm, mde, n and n_clusters
    (of the two agents the fewer).
    """
    names = list(fit.means.index)
    found = [(a, b) for a, others in pairs or list_pairs(names) for b in others]
    left, right = ([names.index(name) for name in side] for side in zip(*found, strict=True))
    means, *counts = (part.to_numpy() for part in (fit.means, fit.n, fit.n_clusters))
    counts = [np.minimum(part[left], part[right]) for part in counts]
    table = _summarize(
        means[left] - means[right], fit.without[:, left] - fit.without[:, right], *counts
    )
    table = pd.DataFrame(found, columns=["agent_a", "agent_b"]).join(
        table.rename(columns={"mean": "difference"})
    )
    mde = np.where(table["p"].notna(), compute_mde(table["se"], table["n_clusters"]), np.nan)
    return table.assign(mde=mde, p_holm=correct_holm(table["p"]))


def _summarize(means, without, n, n_clusters):
    is_enough = (n_clusters >= MIN_CLUSTERS) & np.isfinite(without).all(axis=0)
    tested = summarize_jackknife(means, without, n_clusters, is_enough)
    return pd.DataFrame({"mean": means, **tested, "n": n, "n_clusters": n_clusters})
