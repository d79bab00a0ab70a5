"""Which whole counts lie behind printed percentages: sizes of columns, counts of cells.

A share of n things is k/n for a whole k, so printed percentages give away n and k. A cell is given
by a size when some whole count, rounded or cut off to the printed digits, shows as what is printed.
"""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from helpers.paired import correct_holm

UNIT = 0.01
"""The printed percentages have two decimals."""
FALL_UNIT = 0.1
"""Printed falls have one."""


def find_counts(percents, size, unit=UNIT):
    """Return the whole counts of `size` things that come nearest to percentages, and whether they
    give them.

    `unit` is that of the last printed digit.

    >>> counts, given = find_counts([16.39, 31.18], 61)
    >>> counts.tolist(), given.tolist()
    ([10, 19], [True, False])
    """
    percents = np.asarray(percents, dtype=float)
    counts = np.rint(percents / 100 * size).astype(int)
    over = (
        100 * counts / size - percents
    )  # rounded: half a unit either way; cut off: up to a unit more
    return counts, (over >= -unit / 2 - 1e-9) & (over < unit - 1e-9)


def list_sizes(percents, limit, unit=UNIT):
    """Return the sizes up to `limit` whose whole counts give most of the percentages, and how many
    they give."""
    fits = np.array(
        [find_counts(percents, size, unit)[1].sum() for size in range(1, int(limit) + 1)]
    )
    return (np.flatnonzero(fits == fits.max()) + 1).tolist(), int(fits.max())


def choose_sizes(table, columns, limit):
    """Return for each column of percentages its size: the smallest up to `limit` that gives most
    cells.

    Cells of 0 are left out. Columns column, size, n_given, n_cells, is_whole (all cells are given),
    others (the three sizes that come next, with how many each gives).
    """
    rows = []
    for column in columns:
        percents = table[column][table[column] > 0]
        given = {size: find_counts(percents, size)[1].sum() for size in range(1, limit + 1)}
        best, *rest = sorted(given, key=given.get, reverse=True)[:4]
        row = {"column": column, "size": best, "n_given": given[best], "n_cells": len(percents)}
        row["is_whole"] = row["n_given"] == row["n_cells"]
        row["others"] = "; ".join(f"{size} gives {given[size]}" for size in rest)
        rows.append(row)
    return pd.DataFrame(rows)


def count_cells(table, sizes):
    """Return every cell with the count behind it: subject, column, percent, size, count, shown
    (percent), is_given.

    `sizes` maps columns to sizes; `shown` is what the count makes in percent, to the printed
    digits.
    """
    parts = []
    for column, size in sizes.items():
        counts, given = find_counts(table[column], size)
        cells = {"column": column, "percent": table[column].astype(float), "size": size}
        cells |= {"count": counts, "shown": (100 * counts / size).round(2), "is_given": given}
        parts.append(table[["subject"]].assign(**cells))
    return pd.concat(parts, ignore_index=True)


def check_totals(cells, whole, parts, *, may_overlap=False):
    """Return by subject how many of the whole's right answers lie in none of the parts, and whether
    that can be.

    What is left over is at most the tasks that no part holds and, unless parts `may_overlap`, 0 or
    more. Columns subject, whole, parts, left_over, is_possible.
    """
    counts = cells.pivot(index="subject", columns="column", values="count")
    counts = counts.loc[cells["subject"].unique()]
    sizes = cells.groupby("column")["size"].first()
    table = pd.DataFrame({"whole": counts[whole], "parts": counts[list(parts)].sum(axis=1)})
    left = table["whole"] - table["parts"]
    spare = sizes[whole] - sizes[list(parts)].sum()
    table["left_over"] = left
    table["is_possible"] = (left <= spare) & (may_overlap | (left >= 0))
    return table.rename_axis("subject").reset_index()


def list_falls(fall, n, n_kept):
    """Return the whole counts that a printed fall in percent leaves open, with what they say: a row
    a pair of counts.

    `fall` is the percentage of all `n` minus that of the `n_kept`, in points to one decimal.
    Columns right, right_kept, right_left_out, gap (left out minus kept, points), by_chance (2.5% of
    draws with as many right go beyond this gap), p (Fisher's exact test). Raises ValueError when no
    counts give the fall.
    """
    right, kept = np.meshgrid(np.arange(n + 1), np.arange(n_kept + 1), indexing="ij")
    right, kept = (part[(right >= kept) & (right - kept <= n - n_kept)] for part in (right, kept))
    percents = (100 * right / n, 100 * kept / n_kept)
    falls = percents[0] - percents[1], percents[0].round(1) - percents[1].round(1)
    given = (abs(falls[0] - fall) <= FALL_UNIT / 2 + 1e-9) | (abs(falls[1] - fall) < FALL_UNIT / 2)
    if not given.any():
        raise ValueError(f"no whole counts of {n} and {n_kept} give a fall of {fall} points")
    table = pd.DataFrame({"right": right, "right_kept": kept, "right_left_out": right - kept})[
        given
    ]
    n_left = n - n_kept
    most = stats.hypergeom(n, table["right"], n_left).ppf(0.975)
    parts = zip(table["right_left_out"], table["right_kept"], strict=True)
    return table.assign(
        gap=100 * (table["right_left_out"] / n_left - table["right_kept"] / n_kept),
        by_chance=100 * (most / n_left - (table["right"] - most) / n_kept),
        p=[stats.fisher_exact([[a, n_left - a], [b, n_kept - b]])[1] for a, b in parts],
    ).reset_index(drop=True)


def judge_falls(falls, n, kept, known=None):
    """Return what printed falls tell of left-out cases beside kept ones: a row a fall, by name.

    `falls` and `kept` are Series by name; `known` has how many of the kept are right, where that is
    printed. Columns n_pairs (counts left open, `list_falls`), n_kept, n_left_out, gap (smallest),
    chance (largest), p (largest), p_holm.
    """
    rows = []
    for name, fall in falls.items():
        able = list_falls(fall, n, int(kept[name]))
        if name in (known or {}):
            able = able[able["right_kept"] == known[name]]
        ends = {"gap": able["gap"].min(), "chance": able["by_chance"].max(), "p": able["p"].max()}
        about = {"n_pairs": len(able), "n_kept": int(kept[name]), "n_left_out": n - int(kept[name])}
        rows.append(about | ends)
    table = pd.DataFrame(rows, falls.index)
    return table.assign(p_holm=correct_holm(table["p"]))


def bound_percent(percent, size):
    """Return the 95% Wilson interval of a printed mean in percent of so many values between 0 and
    100: (low, high).

    A mean of such values varies at most as a share does, so the interval is too wide rather than
    too narrow.
    """
    low, high = proportion_confint(percent / 100 * size, size, method="wilson")
    return 100 * float(low), 100 * float(high)


def measure_least(percents, sizes):
    """Return the smallest gap between two printed percentages that their counts show: 1.96 standard
    errors of the gap.

    As if the two were independent shares, which vary the most.
    """
    variances = [
        percent * (100 - percent) / size for percent, size in zip(percents, sizes, strict=True)
    ]
    return stats.norm.ppf(0.975) * np.sqrt(sum(variances))
