"""Read one date from the words of an answer, whole; what could be two days, or is less than one, is
not read."""

import datetime
import re

from helpers.boxed_answers import DASHES, Unreadable
from helpers.clock import find_dates

ORDERED = re.compile(r"(?<![0-9])([0-9]{4})\s?([-/.])\s?([0-9]{1,2})\s?\2\s?([0-9]{1,2})(?![0-9])")
UNMARKED = re.compile(
    r"([0-9]{4})\s?年\s?([0-9]{1,2})\s?月\s?([0-9]{1,2})\s?[日号]|"
    r"(?<![0-9.])((?:19|20)[0-9]{2})([0-9]{2})([0-9]{2})(?![0-9.])"
)
"""Dates without a mark between year, month and day: 2016年10月12日, 20161012."""
SHORT = re.compile(r"(?<![0-9./-])([0-9]{1,2})\s?([-/.])\s?([0-9]{1,2})\s?\2\s?([0-9]{4})(?![0-9])")
CLOCK = re.compile(
    r"\bT?[0-9]{1,2}:[0-9]{2}(?::[0-9.]+)?(?:\s?[AP]M\b)?|(?:UTC|GMT)\s?[+-][0-9]{1,2}\b|[+-][0-9]{2}:[0-9]{2}\b",
    re.I,
)
BESIDE = re.compile(
    r"(?:[\s.,;:()*~≈\"']|\b(?:T|Z|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|the|of|on|date|around|"
    r"about|approximately|roughly|circa|at|midnight|noon|UTC|GMT|[CE][ES]?T|answer|prediction|forecast)\b|"
    r"(?:星期|周)[一二三四五六日天]|大?约)*",
    re.I,
)
"""What may stand beside a date and leaves it as it is."""
DATE_BOUND = re.compile(
    r"\b(?:before|after|by|until|between|from|not|later|latest|earlier|earliest|since)\b|[之以][前后]",
    re.I,
)

REMARK = re.compile(r"\s\([^()0-9]*\)[\s.]*$")
"""Words in brackets behind a date; what bounds it is looked for before they are left out."""


def read_date(text: str) -> str:
    """Return the one date that an answer states, as YYYY-MM-DD.

    Raises Unreadable for no full date, several dates, a bound, a day that does not exist, and
    05/06/2016, which may be in May or June.

    >>> read_date("Monday, October 10th, 2016"), read_date("2016年10月10日"), read_date("13/10/2016")
    ('2016-10-10', '2016-10-10', '2016-10-13')
    >>> read_date("2016/10/10 answer: nonsense")
    Traceback (most recent call last):
        ...
    helpers.boxed_answers.Unreadable: not a date: 2016/10/10 answer: nonsense
    """
    text = "".join(str(int(char)) if char.isdecimal() else char for char in text)
    text = UNMARKED.sub(
        lambda found: " {}/{}/{} ".format(*filter(None, found.groups())), DASHES.sub("-", text)
    )
    rest = text
    found: list[tuple] = []
    for date in find_dates(text):
        if date.year and date.day:
            rest = rest[: date.start] + " " * (date.end - date.start) + rest[date.end :]
            found.append(date[:3])
    found += [(year, month, day) for year, _, month, day in ORDERED.findall(rest)]
    for first, _, second, year in SHORT.findall(ORDERED.sub(" ", rest)):
        if int(first) <= 12 and int(second) <= 12 and first != second:
            raise Unreadable("ambiguous", "day or month first")
        found.append((year, first, second) if int(second) > 12 else (year, second, first))
    rest = CLOCK.sub(" ", SHORT.sub(" ", ORDERED.sub(" ", rest)))
    remark = REMARK.search(rest)
    try:
        days = {datetime.date(*map(int, parts)).isoformat() for parts in found}
    except ValueError as error:
        raise Unreadable("not a date", str(error)) from None
    if len(days) > 1:
        raise Unreadable("several dates", ", ".join(sorted(days)[:3]))
    if DATE_BOUND.search(rest) and days:
        raise Unreadable("bound", "a limit or a range is not a date")
    rest = rest[: remark.start()] if remark else rest
    label = re.match(r"[^:=]*[^\W\d_][^:=]*[:=](?=\s)", rest)
    if not days or not BESIDE.fullmatch(rest[label.end() :] if label else rest):
        raise Unreadable("not a date", text[:40])
    return days.pop()
