"""The question sets: what each is called, on which days its questions start, and whether its words are public.

A set is known by a name that a person can say and by the short one of its window, which ids of events, folders of
tables and recorded runs carry.
"""

import re
from datetime import date, timedelta
from typing import NamedTuple


class QuestionSet(NamedTuple):
    """A question set: its names, its first and last start day (both included), and what it is for.

    Of a `is_public` set the words are not ours to pass on: of a reply to them its values are kept, and the replay web
    does not pose them.
    """

    name: str
    window: str
    first: str
    last: str
    about: str
    is_public: bool = False


SETS = (
    QuestionSet("october-2016", "A", "2016-10-10", "2016-10-24", "the main season, of the replay"),
    QuestionSet("june-2026", "C1", "2026-05-26", "2026-06-09", "a control for memory, of the replay"),
    QuestionSet("october-2026", "C2", "2026-10-05", "2026-10-19", "a control for memory, of the replay"),
    QuestionSet("long", "L", "2023-01-04", "2026-04-04", "WorldReasoner's long questions, once a quarter"),
    QuestionSet("futurex-past", "P", "2026-01-08", "2026-04-07", "FutureX's past questions", True),
    QuestionSet("markets", "M", "2025-11-24", "2026-04-25", "ForecastBench's market questions with prices", True),
    QuestionSet("worldreasoner", "W", "2024-12-29", "2026-02-24", "WorldReasoner's own, with event cards", True),
    QuestionSet("earnings", "E", "2025-06-13", "2025-09-02", "companies' revenue, analysts' consensus beside", True),
)

WINDOWS = {one.window: (one.first, one.last) for one in SETS if not one.is_public}
"""Windows that the replay web poses: first and last start day."""

PUBLIC_WINDOWS = {one.window: (one.first, one.last) for one in SETS if one.is_public}


DAY = re.compile(r"(?:day-20(\d\d)-(\d\d)-(\d\d)|d(\d\d)(\d\d)(\d\d))", re.IGNORECASE)
"""Names of the sets that `daybefore day` makes: day-2026-11-25, in ids D261125."""


def name_day(day):
    """Return the name of a day's own question set (`day`: a date).

    >>> name_day(date(2026, 11, 25)), find_set("day-2026-11-25").window
    ('day-2026-11-25', 'D261125')
    """
    return f"day-{day:%Y-%m-%d}"


def is_day(window):
    """Tell whether a window is that of a day's own set."""
    return bool(DAY.fullmatch(window))


def find_set(name):
    """Return the set of a name or a window, whatever the case. Raises ValueError with the nearest name for another.

    >>> find_set("October-2016").window, find_set("M").name
    ('A', 'markets')
    >>> find_set("markts")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: there is no question set 'markts'; did you mean markets? There are october-2016, ...
    """
    if found := DAY.fullmatch(str(name).strip()):
        year, month, day = (part for part in found.groups() if part)
        iso = f"20{year}-{month}-{day}"
        return QuestionSet(f"day-{iso}", f"D{year}{month}{day}", iso, iso, "a day of one's own benchmark")
    known = {key.casefold(): one for one in SETS for key in (one.name, one.window)}
    if (found := known.get(str(name).strip().casefold())) is not None:
        return found
    from helpers.faults import list_nearest  # here: it takes a second to import

    names = [one.name for one in SETS]
    raise ValueError(f"there is no question set {name!r}{list_nearest(str(name).casefold(), names, 'README.md')}")


def list_days(window):
    """Return a set's start days as ISO dates.

    >>> list_days("A")[0], len(list_days("october-2016"))
    ('2016-10-10', 15)
    """
    one = find_set(window)
    first, last = date.fromisoformat(one.first), date.fromisoformat(one.last)
    return [str(first + timedelta(days=n)) for n in range((last - first).days + 1)]
