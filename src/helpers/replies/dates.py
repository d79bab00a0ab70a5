"""Read one date from the words of an answer, whole; what could be two days, or is less than one, is not read."""

import datetime
import re

from helpers.calendar import find_dates
from helpers.replies.boxes import DASHES, Unreadable

DATES = [
    re.compile(r"(?<![0-9])(?P<year>[0-9]{4})\s?([-/.])\s?(?P<month>[0-9]{1,2})\s?\2\s?(?P<day>[0-9]{1,2})(?![0-9])"),
    re.compile(r"(?P<year>[0-9]{4})\s?年\s?(?P<month>[0-9]{1,2})\s?月\s?(?P<day>[0-9]{1,2})\s?[日号]"),
    re.compile(r"(?<![0-9.])(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?![0-9.])"),
]
SHORT_DATE = re.compile(r"(?<![0-9./-])([0-9]{1,2})\s?([-/.])\s?([0-9]{1,2})\s?\2\s?([0-9]{4})(?![0-9])")
CLOCK = re.compile(
    r"\bT?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:\s?[AP]M\b)?(?:\s?(?:UTC|GMT)?\s?[+-][0-9]{1,2}(?::?[0-9]{2})?\b)?"
    r"|(?:(?:UTC|GMT)\s?[+-][0-9]{1,2}(?::?[0-9]{2})?|[+-][0-9]{2}:[0-9]{2})\b",
    re.I,
)
BESIDE = re.compile(
    r"(?:[\s.,;:()*~≈\"'日号]|\b(?:T|Z|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|the|of|on|day|date|around|about|"
    r"approximately|roughly|circa|ca|est|estimated|at|midnight|noon|UTC|GMT|[CE][ES]?T|answer|prediction|forecast)\b|"
    r"星期[一二三四五六日天]|周[一二三四五六日]|约|大约)*",
    re.I,
)
"""What may stand beside a date and leaves it as it is."""
DATE_BOUND = re.compile(r"\b(?:before|after|by|until|between|from|not|later|earlier|since)\b|之前|之后|以前|以后", re.I)


def read_date(text):
    """Return the one date that an answer states, as YYYY-MM-DD.

    Raises Unreadable for no full date, several dates, a bound, a day that does not exist, and 05/06/2016, which may
    be in May or June.

    >>> read_date("Monday, October 10th, 2016"), read_date("2016年10月10日"), read_date("13/10/2016")
    ('2016-10-10', '2016-10-10', '2016-10-13')
    """
    text = DASHES.sub("-", text)
    named = [date for date in find_dates(text) if date.year and date.day]
    rest = text
    for date in named:
        rest = rest[: date.start] + " " * (date.end - date.start) + rest[date.end :]
    found = {_build_date(*date[:3]) for date in named}
    found |= {_build_date(**match.groupdict()) for pattern in DATES for match in pattern.finditer(rest)}
    for pattern in DATES:
        rest = pattern.sub(" ", rest)
    found |= {_read_short_date(match) for match in SHORT_DATE.finditer(rest)}
    rest = CLOCK.sub(" ", SHORT_DATE.sub(" ", rest))
    if len(found) > 1:
        raise Unreadable("several dates", ", ".join(sorted(found)[:3]))
    if not found or re.search("[0-9]", rest):
        raise Unreadable("not a date", text[:40])
    if DATE_BOUND.search(rest):
        raise Unreadable("bound", "a limit or a range is not a date")
    label = re.match(r"[^:=]*[^\W\d_][^:=]*[:=](?=\s)", text)
    if not BESIDE.fullmatch(rest[label.end() :] if label else rest):
        raise Unreadable("not a date", f"more than a date: {text[:40]}")
    return found.pop()


def _build_date(year, month, day):
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError as error:
        raise Unreadable("not a date", str(error)) from None


def _read_short_date(match):
    first, _, second, year = match.groups()
    if int(first) <= 12 and int(second) <= 12 and first != second:
        raise Unreadable("ambiguous", "day or month first")
    day, month = (second, first) if int(second) > 12 else (first, second)
    return _build_date(year, month, day)
