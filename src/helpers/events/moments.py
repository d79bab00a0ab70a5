"""The points of a question's life at which it is asked: Early, Mid, Late, Near its resolution (WorldReasoner 5.3)."""

import numpy as np
import pandas as pd

from helpers.calendar import stamp_moment
from helpers.papers import get_constant
from helpers.store import dump_json, parse_json

MIDPOINT = get_constant("worldreasoner", "default_forecast_fraction")
NEAR_DAYS = get_constant("worldreasoner", "near_resolution_days")
MIN_DAYS = get_constant("worldreasoner", "min_window_days")
WINDOWS = {
    "Early": get_constant("worldreasoner", "early_window"),
    "Mid": get_constant("worldreasoner", "mid_window"),
    "Late": get_constant("worldreasoner", "late_window"),
}
"""Horizon -> first and last fraction of a question's window, as printed (5.3)."""
POINTS = dict(zip(WINDOWS, get_constant("worldreasoner", "window_points"), strict=True))
"""Horizon -> the fraction at which its forecast is made."""


def number_days(moments):
    """Return moments (UTC without an offset; a column or one) as numbers of days since 1970.

    >>> number_days(["1970-01-02", "1970-01-01T20:00:00+08:00"]).tolist(), number_days(pd.Timestamp("1970-01-03"))
    ([1.0, 0.5], 2.0)
    """
    return (pd.to_datetime(moments, utc=True, format="ISO8601") - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def place_forecast(opens_at, resolves_at, horizon="midpoint"):
    """Return the day (00:00) on which a question is forecast: midpoint, near resolution, or Early, Mid, Late (5.3).

    None where there is no such day: of a window shorter than seven days Early, Mid and Late are not asked, and one that
    opens on the day before its end has nothing near resolution. Raises LookupError for an unknown horizon.

    >>> str(place_forecast("2026-01-01", "2026-01-11")), str(place_forecast("2026-01-01", "2026-01-11", "Late"))
    ('2026-01-06 00:00:00', '2026-01-09 00:00:00')
    >>> place_forecast("2026-01-01", "2026-01-06", "Early") is None
    True
    """
    first, last = pd.Timestamp(opens_at), pd.Timestamp(resolves_at)
    if horizon == "near resolution":
        day = (last - pd.Timedelta(days=NEAR_DAYS)).normalize()
        return day if day > first else None
    if horizon != "midpoint" and horizon not in POINTS:
        raise LookupError(f"no horizon {horizon!r}; there are midpoint, near resolution, {', '.join(POINTS)}")
    if horizon in POINTS and last - first < pd.Timedelta(days=MIN_DAYS):
        return None
    return (first + POINTS.get(horizon, MIDPOINT) * (last - first)).normalize()


def place_moments(questions):
    """Return questions with the moment of each horizon (`metadata.moments`), and the default one as `as_of`.

    Mid is the midpoint; a horizon that a question does not have is left out of its moments. A question without a Mid
    (one that runs less than a week) is dropped.
    """
    rows = []
    for row in questions.to_dict("records"):
        ends = [pd.Timestamp(row[name]) for name in ("opens_at", "resolves_at")]
        days = {name: place_forecast(*ends, name) for name in WINDOWS} | {
            "Near": place_forecast(*ends, "near resolution")
        }
        moments = {name: stamp_moment(day) for name, day in days.items() if day is not None}
        if "Mid" in moments:
            metadata = parse_json(row["metadata"]) | {"moments": moments}
            rows.append(row | {"as_of": moments["Mid"], "metadata": dump_json(metadata)})
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*questions.columns, "as_of"])))


def name_horizon(opens_at, resolves_at, days):
    """Return the horizon in whose window days lie: Early, Mid, Late, or "Near" for what comes after Late's.

    >>> name_horizon("2026-01-01", "2026-01-11", ["2026-01-02", "2026-01-05", "2026-01-10", "2026-01-11"])
    ['Early', 'Mid', 'Late', 'Near']
    """
    first, last = pd.Timestamp(opens_at), pd.Timestamp(resolves_at)
    shares = (pd.to_datetime(pd.Index(days)) - first) / (last - first)
    ends = [end for _, end in WINDOWS.values()]
    return [[*WINDOWS, "Near"][at] for at in np.searchsorted(ends, shares)]
