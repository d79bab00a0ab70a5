"""Volatility and the four levels (FutureX 3.3; definitions.md 1.4 states what the paper leaves
open)."""

import numpy as np

from daybefore.questions.question_types import order_entities
from helpers.papers import get_constant

N_VALUES = get_constant("futurex", "volatility_values")
MIN_VALUES = get_constant("futurex", "volatility_min_values")
"""Published values that volatility looks back on, and the fewest that give one."""
VOLATILITY_CUT = get_constant("futurex", "volatility_cut_number")
"""Numbers above this are highly volatile; rankings are cut at the event set's median."""
LEVEL_1_BELOW = get_constant("futurex", "level1_below_options")
"""A single choice with fewer options is of level 1."""


def measure_number_volatility(values):
    """Return std (ddof=1) over mean absolute value of the last seven published values; None with
    fewer than three.

    >>> measure_number_volatility([10.0, 11.0, 9.0]), measure_number_volatility([0.0, 0.0, 0.0])
    (0.1, 0.0)
    """
    values = np.asarray(values, dtype=float)[-N_VALUES:]
    if len(values) < MIN_VALUES:
        return None
    scale = np.abs(values).mean()
    return float(values.std(ddof=1) / scale) if scale else 0.0


def measure_ranking_volatility(history, k, rank=None, order="desc"):
    """Return 1 - mean overlap of the top k between consecutive snapshots of the last seven, 0
    (frozen) to 1.

    With `rank` the one entity at that place is compared instead. None with fewer than three
    snapshots.

    >>> import pandas as pd
    >>> measure_ranking_volatility(pd.DataFrame({"a": [3, 3, 1], "b": [2, 2, 2], "c": [1, 1, 3]}), k=2)
    0.25
    """
    if len(history) < MIN_VALUES:
        return None
    names = list(history.columns)
    rows = history.to_numpy()[-N_VALUES:].tolist()
    snapshots = [{name: v for name, v in zip(names, row, strict=True) if v == v} for row in rows]
    orders = [order_entities(snapshot, order) for snapshot in snapshots]
    tops = [set(o[:k]) if rank is None else set(o[rank - 1 : rank]) for o in orders]
    size = k if rank is None else 1
    return float(1 - np.mean([len(a & b) / size for a, b in zip(tops, tops[1:], strict=False)]))


def classify_volatility(events):
    """Return "low" or "high" for each open-ended event, blank for option events, and the cut for
    rankings.

    Numbers are cut at `VOLATILITY_CUT`, rankings at the median of the event set's rankings.
    """
    rankings = events.loc[events["kind"] == "ranking", "volatility"]
    median = float(rankings.median()) if len(rankings) else float("nan")
    cut = np.where(events["kind"] == "number", VOLATILITY_CUT, median)
    label = np.where(events["volatility"] > cut, "high", "low")
    return np.where(events["kind"].isin(["number", "ranking"]), label, ""), median


def assign_level(kind, n_options, volatility_class):
    """Return the level 1-4: few options and one right answer; any other options; open-ended low;
    open-ended high.

    >>> [assign_level("single", 3, ""), assign_level("single", 4, ""), assign_level("multi", 3, "")]
    [1, 2, 2]
    >>> [assign_level("number", 0, "low"), assign_level("ranking", 0, "high")]
    [3, 4]
    """
    if kind == "single" and n_options < LEVEL_1_BELOW:
        return 1
    if kind in ("single", "multi"):
        return 2
    if volatility_class not in ("low", "high"):
        raise ValueError(
            f"an open-ended event needs a volatility class low or high, not {volatility_class!r}"
        )
    return 3 if volatility_class == "low" else 4
