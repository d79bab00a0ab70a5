"""What an event asks, and how a published snapshot answers it: ten asks over dated series (FutureX 3.2.2, 3.3).

A snapshot is the value of one variable for each entity on the event's date. The same function gives the true answer,
from the page after the fact, and a baseline's prediction, from the values it expects.
"""

import numpy as np
import pandas as pd

KINDS = {
    "value": "number",
    "change": "single",
    "threshold": "single",
    "band": "single",
    "leader": "single",
    "outcome": "single",
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
    """Return the answer that a snapshot (entity -> value on the event's date) gives, None when it cannot.

    single: a letter; multi: sorted letters; ranking: ordered entities; number: a float. Ties go by name.

    >>> terms = {"ask": "risers", "reference": {"x": 1.0, "y": 2.0}, "letters": {"x": "A", "y": "B"}}
    >>> resolve_event(terms, {"x": 1.5, "y": 2.0})
    ['A']
    """
    among = variables.get("among")
    present = {e: value for e, value in dict(snapshot).items() if value == value and (not among or e in among)}
    return RESOLVERS[variables["ask"]](variables, present)


def _resolve_number(variables, snapshot):
    value, ask = snapshot.get(variables["entity"]), variables["ask"]
    if value is None or ask == "value":
        return None if value is None else float(value)
    if ask == "band":
        key = str(sum(value >= cut for cut in variables["cuts"]))
    elif ask == "outcome":
        key = "home" if value > 0 else "away" if value < 0 else "draw"
    else:
        is_yes = value > variables["reference"] if ask == "change" else value >= variables["threshold"]
        key = "Yes" if is_yes else "No"
    return variables["letters"][key]


def _resolve_leader(variables, snapshot):
    values = measure_entities(variables, snapshot)
    entities = list(variables["reference"])
    if variables.get("absent") == "out":
        entities = [entity for entity in entities if entity in values]
    if not entities or not set(entities) <= set(values):
        return None
    return variables["letters"][order_entities({e: values[e] for e in entities}, variables.get("order", "desc"))[0]]


def _resolve_multi(variables, snapshot):
    entities = list(variables["reference"])
    if not set(entities) <= set(snapshot):
        return None
    bar = variables.get("threshold")
    right = [e for e in entities if (snapshot[e] > variables["reference"][e] if bar is None else snapshot[e] >= bar)]
    letters = variables["letters"]
    return sorted(letters[e] for e in right) or ([letters[NONE_LABEL]] if NONE_LABEL in letters else None)


def _resolve_ranking(variables, snapshot):
    values = measure_entities(variables, snapshot)
    ordered = order_entities(values, variables.get("order", "desc"))
    if variables["ask"] == "rank":
        place = variables["rank"]
        return ordered[place - 1 : place] or None
    return ordered[: variables["k"]] if len(ordered) >= variables["k"] else None


RESOLVERS = {
    **dict.fromkeys(("value", "change", "threshold", "band", "outcome"), _resolve_number),
    "leader": _resolve_leader,
    "risers": _resolve_multi,
    "above": _resolve_multi,
    "top": _resolve_ranking,
    "rank": _resolve_ranking,
}


def list_bars(variables, entities):
    """Return what values are compared with to answer: numbers for all of one row a bar, or one row by entity.

    >>> list_bars({"ask": "risers", "reference": {"x": 1.0, "y": 2.0}}, ["y", "x"])
    [[2.0, 1.0]]
    >>> list_bars({"ask": "band", "cuts": [3, 5]}, ["x"])
    [[3], [5]]
    """
    ask, reference = variables["ask"], variables.get("reference")
    if ask == "band":
        return [[cut] for cut in variables["cuts"]]
    if ask == "outcome":
        return [[0]]
    if ask == "change":
        return [[reference]]
    bar = variables.get("threshold")
    return [[reference[entity] for entity in entities]] if bar is None else [[bar]]


def measure_entities(variables, snapshot):
    """Return the snapshot in the measure the event ranks by: the value, or the gain in percent over its reference.

    >>> measure_entities({"by": "gain", "reference": {"x": 2.0}}, {"x": 3.0, "z": 1.0})
    {'x': 50.0}
    """
    if variables.get("by", "value") == "value":
        return snapshot
    reference = variables["reference"]
    return {entity: (value / reference[entity] - 1) * 100 for entity, value in snapshot.items() if entity in reference}


def order_entities(values, order="desc"):
    """Return entities from highest to lowest value (or lowest first for "asc"); ties by name.

    >>> order_entities({"b": 2.0, "a": 2.0, "c": 3.0})
    ['c', 'a', 'b']
    """
    sign = 1 if order == "asc" else -1
    return sorted(values, key=lambda entity: (sign * values[entity], entity))


def build_history(series, variables):
    """Return past snapshots in the measure the event ranks by: values, or gains over seven days.

    `series` has dates as index (ISO, in order), entities as columns. Gains are left out where no value lies seven days
    back.
    """
    if variables.get("by", "value") == "value":
        return series
    days, values = series.index.to_numpy().astype("datetime64[D]"), series.to_numpy(dtype=float)
    places = np.searchsorted(days, days - GAIN_DAYS)
    back = np.where((days[places] == days - GAIN_DAYS)[:, None], values[places], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = (values / back - 1) * 100
    is_known = ~np.isnan(gains).all(axis=1)
    return pd.DataFrame(gains[is_known], index=series.index[is_known], columns=series.columns)
