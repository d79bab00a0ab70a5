"""The benchmark's windows, its clock and its days (FutureX 3.2.3, 3.2.4)."""

from functools import lru_cache

import pandas as pd

WINDOWS = {
    "A": ("2016-10-10", "2016-10-24"),
    "C1": ("2026-05-26", "2026-06-09"),
    "C2": ("2026-10-05", "2026-10-19"),
}
"""Benchmark windows: first and last start day, both included. A is the main season; C1 and C2 control for memory."""


ZONE = "Asia/Shanghai"
"""The benchmark's clock, UTC+8 (FutureX 3.2.4)."""


def list_days(window):
    """Return a window's start days as ISO dates.

    >>> list_days("A")[0], len(list_days("A"))
    ('2016-10-10', 15)
    """
    if window not in WINDOWS:
        raise ValueError(f"window {window!r} is unknown; there are {', '.join(WINDOWS)}")
    first, last = WINDOWS[window]
    return [str(day.date()) for day in pd.date_range(first, last)]


@lru_cache(maxsize=10_000)
def stamp_moment(moment):
    """Write a moment in the tables' form: ISO, UTC+8.

    >>> stamp_moment("2016-10-09T16:00:00Z")
    '2016-10-10T00:00:00+08:00'
    """
    return pd.Timestamp(moment).tz_convert(ZONE).isoformat(timespec="seconds")
