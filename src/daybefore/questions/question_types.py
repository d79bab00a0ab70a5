"""What an event asks, and how a published snapshot answers it: ten asks over dated series (FutureX
3.2.2, 3.3).

A snapshot is the value of one variable for each entity on the event's date. The same function gives
the true answer, from the page after the fact, and a baseline's prediction, from the values it
expects.
"""

import numpy as np
import pandas as pd

KINDS = dict.fromkeys(("change", "threshold", "band", "leader", "outcome"), "single")
KINDS |= {
    "value": "number",
    "risers": "multi",
    "above": "multi",
    "top": "ranking",
    "rank": "ranking",
}
"""Ask -> kind of event."""
NONE_LABEL = "None of these"
GAIN_DAYS = 7
"""A gain is the change in percent against the value seven days before."""


def resolve_event(variables, snapshot):
    """Return the answer that a snapshot (entity -> value on the event's date) gives, None when it
    cannot.

    single: a letter; multi: sorted letters; ranking: ordered entities; number: a float. Ties go by
    name.

    >>> terms = {"ask": "risers", "reference": {"x": 1.0, "y": 2.0}, "letters": {"x": "A", "y": "B"}}
    >>> resolve_event(terms, {"x": 1.5, "y": 2.0})
    ['A']
    """
    ask = variables["ask"]
    among = variables.get("among")
    present = {
        e: value
        for e, value in dict(snapshot).items()
        if value == value and (not among or e in among)
    }
    if KINDS[ask] == "ranking":
        ordered = order_entities(
            measure_entities(variables, present), variables.get("order", "desc")
        )
        if ask == "rank":
            return ordered[variables["rank"] - 1 : variables["rank"]] or None
        return ordered[: variables["k"]] if len(ordered) >= variables["k"] else None
    if ask == "leader":
        present = measure_entities(variables, present)
    names = [variables["entity"]] if "entity" in variables else list(variables["reference"])
    if variables.get("absent") == "out":
        names = [name for name in names if name in present]
    if not names or not set(names) <= set(present):
        return None
    values = np.array([[present[name] for name in names]], dtype=float)
    return float(values[0, 0]) if ask == "value" else resolve_draws(variables, names, values)[0]


def resolve_draws(variables, names, values):
    """Return the answers of options that many snapshots give, in the measure that the event ranks
    by.

    `values` has a row a snapshot and a column for each of `names`, none missing. An answer is a
    letter; of several right ones a sorted list, None where nothing is right and no option says so.
    """
    ask = variables["ask"]
    letters = variables["letters"]
    if ask == "leader":
        by_name = np.argsort(names, kind="stable")  # of equal values the first by name leads
        sign = 1 if variables.get("order") == "asc" else -1
        return [
            letters[names[place]] for place in by_name[(sign * values[:, by_name]).argmin(axis=1)]
        ]
    if KINDS[ask] == "multi":
        bar = variables.get("threshold")
        reference = variables["reference"]
        is_right = values > [reference[name] for name in names] if bar is None else values >= bar
        none = [letters[NONE_LABEL]] if NONE_LABEL in letters else None
        right = (
            sorted(letters[name] for name, flag in zip(names, row, strict=True) if flag)
            for row in is_right
        )
        return [found or none for found in right]
    first = values[:, 0]
    if ask == "band":
        return [
            letters[str(place)] for place in np.searchsorted(variables["cuts"], first, side="right")
        ]
    if ask == "outcome":
        return [letters[("away", "draw", "home")[sign + 1]] for sign in np.sign(first).astype(int)]
    is_yes = first > variables["reference"] if ask == "change" else first >= variables["threshold"]
    return [letters["Yes" if flag else "No"] for flag in is_yes]


def measure_entities(variables, snapshot):
    """Return the snapshot in the measure the event ranks by: the value, or the gain in percent over
    its reference.

    >>> measure_entities({"by": "gain", "reference": {"x": 2.0}}, {"x": 3.0, "z": 1.0})
    {'x': 50.0}
    """
    if variables.get("by", "value") == "value":
        return snapshot
    reference = variables["reference"]
    return {
        entity: (value / reference[entity] - 1) * 100
        for entity, value in snapshot.items()
        if entity in reference
    }


def order_entities(values, order="desc"):
    """Return entities from highest to lowest value (or lowest first for "asc"); ties by name.

    >>> order_entities({"b": 2.0, "a": 2.0, "c": 3.0})
    ['c', 'a', 'b']
    """
    sign = 1 if order == "asc" else -1
    return sorted(values, key=lambda entity: (sign * values[entity], entity))


def build_history(series, variables):
    """Return past snapshots in the measure the event ranks by: values, or gains over seven days.

    `series` has dates as index (ISO, in order), entities as columns. Gains are left out where no
    value lies seven days back.
    """
    if variables.get("by", "value") == "value":
        return series
    days = series.index.to_numpy().astype("datetime64[D]")
    values = series.to_numpy(dtype=float)
    places = np.searchsorted(days, days - GAIN_DAYS)
    back = np.where((days[places] == days - GAIN_DAYS)[:, None], values[places], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = (values / back - 1) * 100
    is_known = ~np.isnan(gains).all(axis=1)
    return pd.DataFrame(gains[is_known], index=series.index[is_known], columns=series.columns)
