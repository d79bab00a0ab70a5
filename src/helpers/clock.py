"""The benchmark's clock (FutureX 3.2.4), and the dates that English texts name."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd

from helpers.papers import get_constant

OFFSET = get_constant("futurex", "utc_offset_hours")
ZONE = f"Etc/GMT{-OFFSET:+d}"
"""The benchmark's clock, UTC+8 (FutureX 3.2.4); names of this family count hours behind UTC."""


@lru_cache(maxsize=10_000)
def stamp_moment(moment: Any) -> str:
    """Write a moment in the tables' form: ISO, UTC+8.

    >>> stamp_moment("2016-10-09T16:00:00Z")
    '2016-10-10T00:00:00+08:00'
    """
    return pd.Timestamp(moment).tz_convert(ZONE).isoformat(timespec="seconds")


def open_moment(text: str) -> pd.Timestamp:
    """Return a day or moment that a text names as a `pandas.Timestamp`.

    Raises ValueError for a text that names no year: `now`, `today` and 12:30 would read the clock.
    """
    if not re.search(r"[0-9]{4}", str(text)):
        raise ValueError(f"{text!r} names no year")
    return pd.Timestamp(text)


MONTHS = (
    "january february march april may june july august september october november december".split()
)
MONTH = "|".join(
    rf"{name[:3]}(?:{name[3:]})?" if name != "may" else name for name in MONTHS
).replace("sep(", "sept?(")
MONTH = rf"\b(?:{MONTH})\b\.?"
"""Pattern of a month's name in whole or short (October, Oct., Sept), to be used without regard to
case."""

_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{4})(?!-[0-9]{2}-[0-9])"
DATES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})(?:T[0-9]{2}:[0-9]{2}(?::[0-9.]+)?)?(?!\d)",
        rf"\b{_DAY}(?:\s+of)?[\s-]+(?P<month>{MONTH})(?:,?[\s-]+{_YEAR})?(?!\w)",
        rf"(?P<month>{MONTH})\s+{_DAY}(?![0-9])(?:,?\s+{_YEAR})?(?!\w)",
        rf"(?P<month>{MONTH}),?\s+{_YEAR}(?!\w)",
    )
]


class NamedDate(NamedTuple):
    """A date that stands in text[start:end]; the year or the day may be left out (None), and need
    not exist."""

    year: int | None
    month: int
    day: int | None
    start: int
    end: int


def find_dates(text: str) -> list[NamedDate]:
    """Return the dates that a text names, in its order: 2016-10-12, 12th of October 2016, Oct 12,
    October 2016.

    >>> [date[:3] for date in find_dates("From 2016-10-05 to October 9th, 2016, later than in Sept. 2015 or on 3 May")]
    [(2016, 10, 5), (2016, 10, 9), (2015, 9, None), (None, 5, 3)]
    """
    found = []
    taken = bytearray(len(text))
    for match in (match for form in DATES for match in form.finditer(text)):
        start, end = match.span()
        if not any(taken[start:end]):
            taken[start:end] = b"\1" * (end - start)
            part: dict[str, Any] = {"year": None, "day": None} | match.groupdict()
            year, day = (int(part[name]) if part[name] else None for name in ("year", "day"))
            found.append(NamedDate(year, number_month(part["month"]), day, start, end))
    return sorted(found, key=lambda date: date.start)


def blank_dates(text: str) -> str:
    """Return a text with spaces in place of each date that it names, so that all else stays at its
    place."""
    for date in find_dates(text):
        text = text[: date.start] + " " * (date.end - date.start) + text[date.end :]
    return text


def number_month(text: str) -> int:
    """Return the number of a month given by its name, in whole or short, or by digits."""
    return (
        int(text)
        if text.isdigit()
        else 1 + [name[:3] for name in MONTHS].index(text[:3].casefold())
    )
