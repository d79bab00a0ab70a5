"""How a run was asked: columns of the table runs, and the words of its condition that say the same
to a reader.

The columns count. Of a run that was stored before the table had them they are read from the words.
"""

import re
from typing import NamedTuple

SEES_TODAY = "sees the web of today"
"""Stands in the condition of a run whose agent's provider searches by itself: of past questions it
is no forecast."""
REAL_TIME = "Real-Time"
"""The horizon of what is asked after the resolution (WorldReasoner 5.1); it is no forecast."""
ANOTHER = "searched with another's question"
NEAR = "Near-Resolution"
"""The condition whose name says its horizon."""


class Asked(NamedTuple):
    """When a run was asked, with which query, on which web.

    `horizon` is a point of a question's life (WorldReasoner 5.3), Mid the usual one; Real-Time with
    `days_after`, days after the resolution (FutureX 4.5.1); None for a moment that is neither.
    `query_of`: "another" for a search with another event's question. `sees_today`: the provider
    searched today's web.
    """

    horizon: str | None = "Mid"
    days_after: int | None = None
    query_of: str | None = None
    sees_today: bool = False

    @property
    def moment(self) -> tuple:
        """The horizon and the days after: runs of one moment stand beside each other."""
        return self[:2]


def describe_condition(arm: dict) -> str | None:
    """Return the condition of a recorded run, or of a command's options, in words; None for the
    usual one.

    >>> describe_condition({"days_after": 1, "horizon": "Near"}), describe_condition({})
    ('asked 1 day after the resolution; asked at Near', None)
    """
    told = []
    if (days := arm.get("days_after")) is not None:
        told.append(f"asked {days} day{'s' * (days != 1)} after the resolution")
    told += [ANOTHER] * ("query_of" in arm)
    told += [f"asked at {arm['horizon']}"] if "horizon" in arm else []
    return "; ".join(told) or None


def tell_asked(arm: dict) -> dict:
    """Return the columns of the table runs that a recorded run, or a command's options, have:
    horizon, days_after ...

    >>> tell_asked({"days_after": 7})
    {'horizon': 'Real-Time', 'days_after': 7, 'query_of': None}
    """
    days_after = arm.get("days_after")
    horizon = REAL_TIME if days_after is not None else arm.get("horizon") or "Mid"
    return {"horizon": horizon, "days_after": days_after, "query_of": arm.get("query_of")}


def fill_asked(row: dict) -> Asked:
    """Return how a run was asked, from its row of the table runs: its columns, else the words of
    its condition.

    >>> fill_asked({"condition": "asked at Late; with articles press 0123"}).horizon, fill_asked({}).moment
    ('Late', ('Mid', None))
    >>> fill_asked({"condition": None, "horizon": "Near", "days_after": None}).moment
    ('Near', None)
    >>> fill_asked({"condition": "Real-Time, no forecast: asked a day after the resolution"}).moment
    ('Real-Time', 1)
    """
    text = row["condition"] if isinstance(row.get("condition"), str) else ""
    sees_today = SEES_TODAY in text
    if isinstance(row.get("horizon"), str):
        days = row.get("days_after")
        another = row["query_of"] if isinstance(row.get("query_of"), str) else None
        return Asked(
            row["horizon"], None if days is None or days != days else int(days), another, sees_today
        )
    query_of = "another" if ANOTHER in text else None
    if found := re.search(r"asked (\d+|a) days? after the resolution", text):
        return Asked(REAL_TIME, 1 if found[1] == "a" else int(found[1]), query_of, sees_today)
    if found := re.search(r"asked at (\w+)", text):
        return Asked(found[1], None, query_of, sees_today)
    if text.startswith("asked "):
        return Asked(None, None, query_of, sees_today)
    return Asked("Near" if text.startswith(NEAR) else "Mid", None, query_of, sees_today)


def name_moment(condition: str) -> str:
    """Return the part of a condition that says when it was asked, "" where it says nothing: at the
    usual moment.

    >>> name_moment("asked at Near; with articles press 01234567"), name_moment("with articles press 01234567")
    ('asked at Near', '')
    """
    return next((part for part in condition.split("; ") if part.startswith("asked ")), "")
