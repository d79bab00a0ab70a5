"""The points of a question's life at which it is asked: Early, Mid, Late, Near its resolution
(WorldReasoner 5.3)."""

import numpy as np
import pandas as pd

from helpers.clock import stamp_moment
from helpers.files import dump_json, parse_json
from helpers.papers import get_constant
from helpers.tables import HORIZONS

NEAR_DAYS = get_constant("worldreasoner", "near_resolution_days")
MIN_DAYS = get_constant("worldreasoner", "min_window_days")
WINDOWS = {
    "Early": get_constant("worldreasoner", "early_window"),
    "Mid": get_constant("worldreasoner", "mid_window"),
    "Late": get_constant("worldreasoner", "late_window"),
}
"""Horizon -> first and last fraction of a question's window, as printed (5.3)."""
POINTS = dict(zip(WINDOWS, get_constant("worldreasoner", "window_points"), strict=True))
POINTS |= {"Mid": get_constant("worldreasoner", "default_forecast_fraction")}
"""Horizon -> the fraction at which its forecast is made; Mid's is the usual one (5.1)."""


def number_days(moments):
    """Return moments (UTC without an offset; a column or one) as numbers of days since 1970.

    >>> number_days(["1970-01-02", "1970-01-01T20:00:00+08:00"]).tolist(), number_days(pd.Timestamp("1970-01-03"))
    ([1.0, 0.5], 2.0)
    """
    return (
        pd.to_datetime(moments, utc=True, format="ISO8601") - pd.Timestamp(0, tz="UTC")
    ) / pd.Timedelta(days=1)


def place_forecast(opens_at, resolves_at, horizon):
    """Return the day (00:00) on which a question is forecast: Early, Mid, Late, or Near its
    resolution (5.3).

    None where there is no such day: of a window shorter than seven days Early, Mid and Late are not
    asked, and one that opens on the day before its end has nothing near resolution.

    >>> str(place_forecast("2026-01-01", "2026-01-11", "Late")), place_forecast("2026-01-01", "2026-01-06", "Early")
    ('2026-01-09 00:00:00', None)
    """
    first = pd.Timestamp(opens_at)
    last = pd.Timestamp(resolves_at)
    if horizon == "Near":
        day = (last - pd.Timedelta(days=NEAR_DAYS)).normalize()
        return day if day > first else None
    is_long = last - first >= pd.Timedelta(days=MIN_DAYS)
    return (first + POINTS[horizon] * (last - first)).normalize() if is_long else None


def place_moments(questions):
    """Return questions with the moment of each horizon (`metadata.moments`), and the default one as
    `as_of`.

    Mid is the midpoint; a horizon that a question does not have is left out of its moments. A
    question without a Mid (one that runs less than a week) is dropped.
    """
    rows = []
    for row in questions.to_dict("records"):
        ends = [pd.Timestamp(row[name]) for name in ("opens_at", "resolves_at")]
        days = {name: place_forecast(*ends, name) for name in HORIZONS}
        moments = {name: stamp_moment(day) for name, day in days.items() if day is not None}
        if "Mid" in moments:
            metadata = parse_json(row["metadata"]) | {"moments": moments}
            rows.append(row | {"as_of": moments["Mid"], "metadata": dump_json(metadata)})
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*questions.columns, "as_of"])))


def name_horizon(opens_at, resolves_at, days):
    """Return the horizon in whose window days lie: Early, Mid, Late, or "Near" for what comes after
    Late's.

    >>> name_horizon("2026-01-01", "2026-01-11", ["2026-01-02", "2026-01-05", "2026-01-10", "2026-01-11"])
    ['Early', 'Mid', 'Late', 'Near']
    """
    first = pd.Timestamp(opens_at)
    last = pd.Timestamp(resolves_at)
    shares = (pd.to_datetime(pd.Index(days)) - first) / (last - first)
    ends = [end for _, end in WINDOWS.values()]
    return [HORIZONS[at] for at in np.searchsorted(ends, shares)]
