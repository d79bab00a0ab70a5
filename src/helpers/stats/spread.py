"""How far agents differ in where they are strong, beyond what means that differ by chance alone have (FutureX 4.3)."""

import math

import numpy as np
import pandas as pd
from scipy import optimize, stats

from helpers.scoring.scores import build_matrix
from helpers.stats.means import MIN_CLUSTERS


def measure_interaction(rows, rng, by="domain", n_draws=2000):
    """Return how far agents differ in where they are strong: sd, low, high, p, n, n_clusters.

    The statistic is the sum of squares between domains of each agent's score less the mean agent's on the same event;
    `sd` is its root mean square less chance, which is what comes when the domains are permuted over the sources (column
    cluster). The interval is that of a noncentral chi-square scaled to the permutations. Only events that all agents
    predicted count; blank with fewer than two agents or domains, or ten sources.
    """
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique())).dropna()
    known = rows.drop_duplicates("event_id").set_index("event_id").reindex(matrix.index)
    codes, names = pd.factorize(known.groupby("cluster")[by].first().sort_index(), sort=True)
    found = {"n": len(matrix), "n_clusters": len(codes)}
    if matrix.shape[1] < 2 or len(names) < 2 or len(codes) < MIN_CLUSTERS:
        return dict.fromkeys(("sd", "low", "high", "p"), math.nan) | found
    off = matrix.sub(matrix.mean(axis=1), axis=0)
    off = (off - off.mean()).groupby(known["cluster"]).sum().sort_index().to_numpy()
    sizes = known.groupby("cluster").size().sort_index().to_numpy()

    def add_squares(codes):
        member = np.eye(len(names))[codes]
        return float((((member.T @ off) ** 2).sum(axis=1) / (member.T @ sizes)).sum())

    seen, drawn = add_squares(codes), np.array([add_squares(rng.permutation(codes)) for _ in range(n_draws)])
    scale, free = drawn.var() / (2 * drawn.mean()), 2 * drawn.mean() ** 2 / drawn.var()
    ends = [_find_noncentrality(seen / scale, free, share) * scale for share in (0.975, 0.025)]
    sd, low, high = (math.sqrt(max(0.0, value) / matrix.size) for value in (seen - drawn.mean(), *ends))
    p = (1 + int((drawn >= seen * (1 - 1e-9)).sum())) / (1 + n_draws)
    return {"sd": sd, "low": low, "high": high, "p": p} | found


def _find_noncentrality(value, free, share):
    """The noncentrality of a chi-square of which this share lies below a value; 0 where there is none."""
    if stats.chi2.cdf(value, free) <= share:
        return 0.0
    return optimize.brentq(lambda x: stats.ncx2.cdf(value, free, x) - share, 1e-9, 10 * value + 100)
