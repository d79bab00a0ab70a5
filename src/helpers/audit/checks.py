"""The checks of the ledger: a kind is a name, and a function of what a claim's references name.

A check gets its operands as groups: a list of numbers and texts for each reference, in the claim's order. A kind of
`VALUES` recomputes the published value; one of `JUDGEMENTS` says itself whether the claim holds. To add a kind, write
a function and put it in one of the two. Kinds for shares look for whole counts: a printed percentage of n things must
be k/n for a whole k.
"""

import itertools
import math
import operator
from itertools import chain
from statistics import fmean

import pandas as pd

from helpers.stats.grim import list_sizes
from helpers.stats.missing import derive_growth


def run_check(kind, published, groups, tolerance=0.0):
    """Return what a kind of check recomputes, and whether the claim holds (None: there is nothing to compare).

    `published` is a number, a text or None; `groups` a list of lists; `tolerance` is absolute. Raises ValueError for
    an unknown kind.

    >>> run_check("sum", 25, [[8, 7], [8], [2]])
    (25.0, True)
    >>> run_check("feasible", 31.18, [[31.18], [97]], 0.005)[1]  # neither 30 nor 31 of 97
    False
    """
    if kind in JUDGEMENTS:
        return JUDGEMENTS[kind](published, groups, tolerance)
    if kind not in VALUES:
        raise ValueError(f"no check {kind!r}; there are {', '.join([*VALUES, *JUDGEMENTS])}")
    recomputed = VALUES[kind](groups)
    known = published is not None and recomputed is not None
    return recomputed, match_values(published, recomputed, tolerance) if known else None


def match_values(published, value, tolerance=0.0):
    """Return whether two values agree: texts when equal, numbers when no further apart than the tolerance.

    >>> match_values(35.8, 35.816, 0.05), match_values("Figure 1", "Figure 2")
    (True, False)
    """
    if isinstance(published, str) or isinstance(value, str):
        return published == value
    return abs(published - value) <= tolerance + 1e-9


def _flatten(groups):
    return list(chain.from_iterable(groups))


def _change(before, after):
    """Relative change from the first to the second, in percent."""
    return 100 * (after / before - 1)


def _count_above(groups):
    """How many values of all groups but the last are at least the last group's only value."""
    (bar,) = groups[-1]
    return sum(value >= bar for value in _flatten(groups[:-1]))


def _name_largest(groups):
    """Name, of the first group, that stands beside the largest value of the second; None when one is blank."""
    names, values = groups
    return names[values.index(max(values))] if len(names) == len(values) else None


def _count_days(first, last):
    """Days from the first date to the second, both given as YYYY-MM-DD, the last day left out."""
    return (pd.Timestamp(last) - pd.Timestamp(first)).days


def _compute_rate(total, first, last, days):
    """Events in a number of days, from how many there are from the first date up to the second, that one left out."""
    return total / _count_days(first, last) * days


def _weigh(groups):
    """Mean in percent of shares (first group) weighted by numbers (second), in one order; None when one is blank."""
    shares, sizes = groups
    if len(shares) != len(sizes):
        return None
    return 100 * sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)


def _take_all(compute):
    """Turn a function of values into one of groups, which takes the values of all of them."""
    return lambda groups: compute(*_flatten(groups))


VALUES = {
    "sum": lambda groups: math.fsum(_flatten(groups)),
    "mean": lambda groups: fmean(_flatten(groups)),
    "mean_difference": lambda groups: fmean(groups[0]) - fmean(groups[1]),
    "mean_change": lambda groups: _change(fmean(groups[0]), fmean(groups[1])),
    "count_above": _count_above,
    "share": lambda groups: 100 * sum(groups[0]) / sum(groups[-1]),
    "weighted": _weigh,
    "largest": _name_largest,
    "product": lambda groups: math.prod(_flatten(groups)),
    "count": lambda groups: len(_flatten(groups)),
    "distinct": lambda groups: len(set(_flatten(groups))),
    "words": _take_all(lambda text: len(text.split("|"))),
    "difference": _take_all(lambda first, *rest: first - sum(rest)),
    "multiply_and_add": _take_all(lambda a, b, c: a * b + c),
    "ratio": _take_all(operator.truediv),
    "change": _take_all(_change),
    "mixture": _take_all(lambda share, a, b: share / 100 * a + (1 - share / 100) * b),
    # of a set of options: the numbers of hits, of named and of right ones
    "f1": _take_all(lambda hits, named, right: 2 * hits / (named + right)),
    # the percentage nearest the first value that whole events out of one of the sizes can give
    "feasible": _take_all(
        lambda percent, *sizes: min(
            (100 * round(percent / 100 * size) / size for size in sizes), key=lambda value: abs(value - percent)
        )
    ),
    # the first value's place among all, 1 the highest; equal values share the better place
    "rank": _take_all(lambda first, *rest: 1 + sum(value > first for value in rest)),
    # percent that a mean's standard deviation grows when a share is missing: drawn with, and without, replacement
    "std_growth_with": _take_all(lambda percent: 100 * derive_growth(1, 1 - percent / 100)),
    "std_growth_without": _take_all(
        lambda percent, drawn, pool: 100 * derive_growth(drawn, drawn * (1 - percent / 100), pool)
    ),
    "days": _take_all(_count_days),
    "rate": _take_all(_compute_rate),
}
"""Kind -> function of the operands (a list of values for each reference) that recomputes the published value."""


def _compare_same(published, groups, tolerance):
    """All places print what `published` prints."""
    other = [value for value in _flatten(groups) if not match_values(published, value, tolerance)]
    return (other or _flatten(groups))[0], not other


def _compare_nearest(published, groups, tolerance):
    """One of the operands, each a reading of the same rule, is the published value; shown is the nearest."""
    nearest = min(_flatten(groups), key=lambda value: abs(value - published))
    return nearest, match_values(published, nearest, tolerance)


def _compare_names(relate):
    """Turn a relation of sets into a check of the published names, separated by `|`, against those of all places."""

    def compare(published, groups, tolerance):
        others = "|".join(_flatten(groups))
        return others, relate(set(published.split("|")), set(others.split("|")))

    return compare


def _compare_readings(published, groups, tolerance):
    """Two places read alike: the sum of the operands, or the set of their names, is what `published` says."""
    others = _flatten(groups)
    if published is None:
        return None, None
    if isinstance(published, str):
        return JUDGEMENTS["same_set"](published, groups, tolerance)
    return math.fsum(others), match_values(published, math.fsum(others), tolerance)


def _compare_first_gap(published, groups, tolerance):
    """The gap between the first two groups' means, without its sign, is above that between each later two."""
    first, *rest = _list_gaps(groups)
    return f"{first:.4g} against {max(rest):.4g}", first > max(rest)


def _fall(values):
    """The values, and whether they fall strictly from first to last."""
    return " > ".join(f"{value:.4g}" for value in values), all(a > b for a, b in itertools.pairwise(values))


def _list_gaps(groups):
    """The gaps between the means of each two groups, without their signs."""
    means = [fmean(group) for group in groups]
    return [abs(a - b) for a, b in zip(means[::2], means[1::2], strict=True)]


def _compare_dates(published, groups, tolerance):
    """The dates, YYYY-MM-DD or YYYY-MM, come one after the other."""
    dates = [pd.Timestamp(day) for day in _flatten(groups)]
    shown = ", ".join(str(day.date()) for day in dates)
    return shown, all(a < b for a, b in itertools.pairwise(dates))


def _compare_highest(published, groups, tolerance):
    """The first group's smallest value is above every other value."""
    rest = max(_flatten(groups[1:]))
    return f"{min(groups[0]):.6g} against {rest:.6g}", min(groups[0]) > rest


def _compare_within(published, groups, tolerance):
    """The published value (or every value of the first group, when none is given) lies between the last two."""
    values = _flatten(groups[:-2]) if published is None else [published]
    low, high = groups[-2][0], groups[-1][0]
    return f"{low:g} to {high:g}", all(low - tolerance <= value <= high + tolerance for value in values)


def _compare_rate(published, groups, tolerance):
    """Events a day lie between the last two operands; the others are those of `rate`."""
    rate = _compute_rate(*_flatten(groups[:-2]), 1)
    return rate, groups[-2][0] <= rate <= groups[-1][0]


def _compare_bar(published, groups, tolerance):
    """Events of daily and weekly templates between two dates, on so many bars, stay below the axis's next tick."""
    daily, weekly, first, last, n_bars = _flatten(groups)
    days = _count_days(first, last)
    height = (daily * days + weekly * (days // 7)) / n_bars
    return height, height < published + tolerance


def _compare_balance(published, groups, tolerance):
    """The first operand equals the sum of the others; a text counts the names in it."""
    first, *rest = ([len(v.split("|")) if isinstance(v, str) else v for v in group] for group in groups)
    return f"{sum(first):g} against {sum(_flatten(rest)):g}", abs(sum(first) - sum(_flatten(rest))) <= tolerance


def _compare_size(published, groups, tolerance):
    """One size, no larger than the last value, fits every percentage to within the tolerance."""
    percents = _flatten(groups[:-1])
    sizes, fit = list_sizes(percents, groups[-1][0], tolerance)
    return f"{sizes[0]} fits {fit} of {len(percents)}", fit == len(percents)


def _compare_partition(published, groups, tolerance):
    """Sizes that fit most of each group's percentages can add up to the published total.

    Shown is the possible total nearest to it.
    """
    totals = {0}
    for percents in groups:
        sizes, _ = list_sizes(percents, published, tolerance)
        totals = {total + size for total in totals for size in sizes}
    nearest = min(totals, key=lambda total: (abs(total - published), total))
    return nearest, nearest == published


def _compare_pooled(published, groups, tolerance):
    """A percentage of a total lies between what its parts give when all is wrong, or all right, outside them.

    Operands: a percentage and a size for each part, then the total. Of several sizes the one counts that the
    percentage fits best.
    """
    *parts, total = groups
    total, right, held = sum(total), 0, 0
    for (percent,), sizes in zip(parts[::2], parts[1::2], strict=True):
        size = min(sizes, key=lambda size: abs(100 * round(percent / 100 * size) / size - percent))
        right, held = right + round(percent / 100 * size), held + size
    low, high = 100 * right / total, 100 * (right + total - held) / total
    return f"{low:.4g} to {high:.4g}", low - tolerance <= published <= high + tolerance


def _compare_rest(published, groups, tolerance):
    """A part's mean is below the mean of the rest: the total's mean and size, the part's mean and size."""
    mean, size, part, part_size = _flatten(groups)
    rest = (mean * size - part * part_size) / (size - part_size)
    return f"{part:.4g} against {rest:.4g}", part < rest


def _compare_binned(published, groups, tolerance):
    """A mean lies between what bins allow; operands: how many in a bin, its lowest and highest value, for each bin."""
    flat = _flatten(groups)
    counts, lows, highs = flat[::3], flat[1::3], flat[2::3]
    low, high = (sum(n * end for n, end in zip(counts, ends, strict=True)) / sum(counts) for ends in (lows, highs))
    return f"{low:.4g} to {high:.4g}", low - tolerance <= published <= high + tolerance


JUDGEMENTS = {
    "same": _compare_same,
    "nearest": _compare_nearest,
    "same_set": _compare_names(operator.eq),
    "subset": _compare_names(operator.le),
    "disjoint": _compare_names(set.isdisjoint),
    "readings": _compare_readings,
    "order": lambda published, groups, tol: _fall([fmean(group) for group in groups]),
    "gaps_fall": lambda published, groups, tol: _fall(_list_gaps(groups)),
    "first_gap": _compare_first_gap,
    "dates_rise": _compare_dates,
    "highest": _compare_highest,
    "within": _compare_within,
    # the largest operand is at least, at most, the published value
    "at_least": lambda published, groups, tol: (most := max(_flatten(groups)), most >= published - tol),
    "at_most": lambda published, groups, tol: (most := max(_flatten(groups)), most <= published + tol),
    # the published total is enough for the product of the operands: so many each for so many things
    "total_at_least": lambda total, groups, tol: (least := math.prod(_flatten(groups)), total >= least - tol),
    "rate_within": _compare_rate,
    "bar_at_most": _compare_bar,
    "balance": _compare_balance,
    "one_size": _compare_size,
    "partition": _compare_partition,
    "pooled": _compare_pooled,
    "rest_above": _compare_rest,
    "binned_mean": _compare_binned,
}
"""Kind -> function of published value, operands and tolerance that returns what was found, and whether it holds."""
