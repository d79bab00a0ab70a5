"""Resampling: draws with replacement of cases or of whole clusters, and the percentile intervals they give.

A draw is the same for every column, so that differences keep what the columns share.
"""

import math

import numpy as np
import pandas as pd

from helpers.stats.means import MIN_CLUSTERS, divide


def draw_counts(n, rng, n_boot=2000):
    """Return how often each of `n` cases is drawn in each of `n_boot` resamples with replacement (n_boot x n)."""
    return rng.multinomial(n, np.full(n, 1 / n), size=n_boot)


def draw_rows(n, rng, n_boot=2000, clusters=None):
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
    members, by_length = [np.flatnonzero(codes == code) for code in range(len(names))], {}
    for drawn in rng.integers(len(names), size=(n_boot, len(names))):
        rows = np.concatenate([members[code] for code in drawn])
        by_length.setdefault(len(rows), []).append(rows)
    return [np.array(rows) for rows in by_length.values()]


def take_interval(draws):
    """Return the 2.5th and 97.5th percentile of bootstrap draws; NaN for none."""
    draws = draws[np.isfinite(draws)]
    return tuple(float(x) for x in np.percentile(draws, [2.5, 97.5])) if len(draws) else (math.nan, math.nan)


def summarize_means(table, rng, n_boot):
    """Return each column's mean with its 95% bootstrap interval, one row: name, name_low, name_high for each.

    NaN cells are left out; a draw of rows is the same for all columns. A table of one row has no interval.
    """
    values, row = table.to_numpy(dtype=float), {}
    draws, there = draw_counts(len(values), rng, n_boot), np.isfinite(values)
    means = divide(draws @ np.where(there, values, 0.0), draws @ there)
    for name, mean, drawn in zip(table, table.mean(), means.T, strict=True):
        low, high = take_interval(drawn) if len(table) > 1 else (math.nan, math.nan)
        row |= {name: float(mean), f"{name}_low": low, f"{name}_high": high}
    return row
