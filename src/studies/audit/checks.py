"""The checks of the ledger: a kind is a name, and a function of what a claim's references name.

A check gets its operands as groups: a list of numbers and texts for each reference, in the claim's
order. A kind of `VALUES` recomputes the published value, and may stand in a reference within
others; one of `JUDGEMENTS` says itself whether the claim holds. Arithmetic of one claim is written
as references, not as a kind. Kinds for shares look for whole counts: a printed percentage of n
things must be k/n for a whole k.
"""

import math
import operator
from itertools import chain, pairwise
from statistics import fmean

import pandas as pd

from studies.audit.grim import list_sizes


def run_check(kind, published, groups, tolerance=0.0):
    """Return what a kind of check recomputes, and whether the claim holds (None: there is nothing
    to compare).

    `published` is a number, a text or None; `groups` a list of lists; `tolerance` is absolute.
    Raises ValueError for an unknown kind.

    >>> run_check("sum", 25, [[8, 7], [8], [2]])
    (25.0, True)
    >>> run_check("feasible", 31.18, [[31.18], [97]], 0.005)[1]  # neither 30 nor 31 of 97
    False
    """
    if kind in JUDGEMENTS:
        found = judge_values(kind, published, _flatten(groups), tolerance)
        return found or judge_groups(kind, published, groups, tolerance)
    if kind not in VALUES:
        raise ValueError(f"no check {kind!r}; there are {', '.join([*VALUES, *JUDGEMENTS])}")
    recomputed = VALUES[kind](groups)
    known = published is not None and recomputed is not None
    return recomputed, match_values(published, recomputed, tolerance) if known else None


def match_values(published, value, tolerance=0.0):
    """Return whether two values agree: texts when equal, numbers when no further apart than the
    tolerance.

    >>> match_values(35.8, 35.816, 0.05), match_values("Figure 1", "Figure 2")
    (True, False)
    """
    if isinstance(published, str) or isinstance(value, str):
        return published == value
    return abs(published - value) <= tolerance + 1e-9


def _flatten(groups):
    return list(chain.from_iterable(groups))


# --- what is recomputed -----------------------------------------------------------------------------


def _take_all(compute):
    """Turn a function of values into one of groups, which takes the values of all of them."""
    return lambda groups: compute(*_flatten(groups))


def _find_feasible(percent, *sizes):
    """The percentage nearest the first value that whole events out of one of the sizes can give."""
    return min(
        (100 * round(percent / 100 * size) / size for size in sizes),
        key=lambda value: abs(value - percent),
    )


def _take_pairs(compute):
    """Turn a function of two lists in one order into one of two groups; None when a cell of one is
    blank."""
    return lambda groups: compute(*groups) if len(groups[0]) == len(groups[1]) else None


VALUES = {
    "sum": lambda groups: math.fsum(_flatten(groups)),
    "mean": lambda groups: fmean(_flatten(groups)),
    "product": lambda groups: math.prod(_flatten(groups)),
    "count": lambda groups: len(_flatten(groups)),
    "distinct": lambda groups: len(set(_flatten(groups))),
    # how many values of all groups but the last are at least the last group's only value
    "count_above": lambda groups: sum(value >= groups[-1][0] for value in _flatten(groups[:-1])),
    "share": lambda groups: 100 * sum(groups[0]) / sum(groups[-1]),
    # the mean in percent of shares (first group) weighted by numbers (second)
    "weighted": _take_pairs(
        lambda shares, sizes: 100 * sum(map(operator.mul, shares, sizes)) / sum(sizes)
    ),
    # the name, of the first group, that stands beside the largest value of the second
    "largest": _take_pairs(lambda names, values: names[values.index(max(values))]),
    "words": _take_all(lambda text: len(text.split("|"))),
    "difference": _take_all(lambda first, *rest: first - sum(rest)),
    "ratio": _take_all(operator.truediv),
    # in percent, from the first to the second
    "change": _take_all(lambda before, after: 100 * (after / before - 1)),
    "feasible": _take_all(_find_feasible),
    # the first value's place among all, 1 the highest; equal values share the better place
    "rank": _take_all(lambda first, *rest: 1 + sum(value > first for value in rest)),
    # from the first date to the second, YYYY-MM-DD, the last day left out
    "days": _take_all(lambda first, last: (pd.Timestamp(last) - pd.Timestamp(first)).days),
}
"""Kind -> function of the operands (a list of values for each reference) that recomputes the
published value."""


# --- what is judged ---------------------------------------------------------------------------------


RELATIONS = {"same_set": operator.eq, "subset": operator.le, "disjoint": set.isdisjoint}
JUDGEMENTS = (
    *RELATIONS,
    "same",
    "nearest",
    "readings",
    "dates_rise",
    "at_least",
    "at_most",
    "order",
    "gaps_fall",
)
JUDGEMENTS += ("first_gap", "highest", "within", "balance", "one_size", "partition", "pooled")
"""Kinds that say themselves whether a claim holds (`judge_values`, `judge_groups`)."""


def judge_values(kind, published, values, tolerance):
    """Return what a kind of JUDGEMENTS finds in its operands' values, and whether the claim holds.

    Returns None for a kind that looks at the operands one by one (`judge_groups`).
    """
    match kind:
        case "same":  # all places print what `published` prints
            other = [value for value in values if not match_values(published, value, tolerance)]
            return (other or values)[0], not other
        case (
            "nearest"
        ):  # one of the operands, each a reading of the same rule, is the published value
            nearest = min(values, key=lambda value: abs(value - published))
            return nearest, match_values(published, nearest, tolerance)
        case (
            "same_set" | "subset" | "disjoint"
        ):  # the published names, separated by |, against those of all places
            others = "|".join(values)
            return others, RELATIONS[kind](set(published.split("|")), set(others.split("|")))
        case "readings":  # two places read alike: the sum of the operands, or the set of their names, is `published`
            if published is None:
                return None, None
            return run_check(
                "same_set" if isinstance(published, str) else "sum", published, [values], tolerance
            )
        case "dates_rise":  # YYYY-MM-DD or YYYY-MM, one after the other
            dates = [pd.Timestamp(day) for day in values]
            return ", ".join(str(day.date()) for day in dates), all(
                a < b for a, b in pairwise(dates)
            )
        case "at_least":  # the largest operand is at least the published value
            return max(values), max(values) >= published - tolerance
        case "at_most":
            return max(values), max(values) <= published + tolerance


def judge_groups(kind, published, groups, tolerance):
    """Return what a kind of JUDGEMENTS finds in its operands, one by one, and whether the claim
    holds."""
    first, *rest = groups
    match kind:
        case "order":  # the means fall from the first operand to the last
            return _fall([fmean(group) for group in groups])
        case "gaps_fall":
            return _fall(_list_gaps(groups))
        case "first_gap":  # it is above each later one
            gap, *others = _list_gaps(groups)
            return f"{gap:.4g} against {max(others):.4g}", gap > max(others)
        case "highest":  # the first operand's smallest value is above every other value
            others = max(_flatten(rest))
            return f"{min(first):.6g} against {others:.6g}", min(first) > others
        case (
            "within"
        ):  # the published value, or all operands but the last two, lie between these two
            values, (low, *_), (high, *_) = _flatten(groups[:-2]) or [published], *groups[-2:]
            return f"{low:.4g} to {high:.4g}", all(
                low - tolerance <= value <= high + tolerance for value in values
            )
        case (
            "balance"
        ):  # the first operand equals the sum of the others; a text counts the names in it
            one, *others = (
                sum(len(v.split("|")) if isinstance(v, str) else v for v in group)
                for group in groups
            )
            return f"{one:g} against {sum(others):g}", abs(one - sum(others)) <= tolerance
        case (
            "one_size"
        ):  # one size, no larger than the last value, fits every percentage to within the tolerance
            percents = _flatten(groups[:-1])
            sizes, fit = list_sizes(percents, groups[-1][0], tolerance)
            return f"{sizes[0]} fits {fit} of {len(percents)}", fit == len(percents)
        case (
            "partition"
        ):  # sizes that fit most of each operand's percentages can add up to the published total
            totals = {0}
            for percents in groups:
                sizes = list_sizes(percents, published, tolerance)[0]
                totals = {total + size for total in totals for size in sizes}
            nearest = min(totals, key=lambda total: (abs(total - published), total))
            return nearest, nearest == published
        case "pooled":
            low, high = _bound_pooled(groups)
            return f"{low:.4g} to {high:.4g}", low - tolerance <= published <= high + tolerance


def _fall(values):
    """The values, and whether they fall strictly from first to last."""
    return " > ".join(f"{value:.4g}" for value in values), all(a > b for a, b in pairwise(values))


def _list_gaps(groups):
    """The gaps between the means of each two groups, without their signs."""
    means = [fmean(group) for group in groups]
    return [abs(a - b) for a, b in zip(means[::2], means[1::2], strict=True)]


def _bound_pooled(groups):
    """The least and the most that a percentage of a total can be: all is wrong, or all right,
    outside the parts.

    Operands: a percentage and a size for each part, then the total. Of several sizes the one counts
    that the percentage fits best.
    """
    *parts, whole = groups
    total = sum(whole)
    right = 0
    held = 0
    for (percent,), sizes in zip(parts[::2], parts[1::2], strict=True):
        size = min(sizes, key=lambda size: abs(_find_feasible(percent, size) - percent))
        right = right + round(percent / 100 * size)
        held = held + size
    return 100 * right / total, 100 * (right + total - held) / total
