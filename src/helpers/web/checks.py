"""What the parts of a source's file (data/sources/*.toml) say of each other, each fault as (place, words)."""

import re
from functools import cache
from string import Formatter
from zoneinfo import available_timezones

from helpers.faults import suggest

list_zones = cache(available_timezones)  # it looks through folders of the disk
BLANKS = ("date", "entity", "hour", "k", "rank", "reference", "threshold")
"""What a template's text may leave blank, in braces."""


def check_publication(entry):
    """Yield (place, words) on when values are published: by days and an hour, or by minutes, in a known time zone."""
    rule, place = entry["publication"], ("publication",)
    if {"lag_minutes", "lag_days", "hour"} & set(rule) not in ({"lag_minutes"}, {"lag_days", "hour"}):
        yield place, "it needs lag_days and hour (dated values), or lag_minutes alone (values with a time)"
    if rule.get("lag_minutes", 60) < rule.get("period_minutes", 60):
        words = "a value's period has not ended then; for a reading at that moment add period_minutes = 0"
        yield (*place, "lag_minutes"), words
    if rule.get("lag_days") == 0 and rule.get("hour", "") < rule.get("settled_at", "24:00"):
        yield (*place, "hour"), "the day has not ended then; add settled_at, the time by which its values stand"
    if rule.get("lag_days", 31) < 31 and entry["update_frequency"] == "monthly":
        yield (*place, "lag_days"), "a month, dated by its first day, has not ended then; write 31 or more"
    if (zone := rule["timezone"]) not in list_zones():
        yield (*place, "timezone"), f"{zone!r} is no time zone{suggest(zone, list_zones())}"


def check_page(entry):
    """Yield (place, words) on what form, variables, sentence and pattern say of each other.

    What else a rule of extraction says shows when a page is read by it (`make source`).
    """
    names, page, pattern = list(entry["variables"]), entry.get("page", {}), entry.get("extract", {}).get("pattern")
    if entry["form"] != "market" and not names:
        yield ("variables",), "there is no variable; a source needs one"
    if (entry["form"] == "ranking" or page.get("layout") == "wide") and len(names) != 1:
        yield ("variables",), f"a ranking and a wide table show one variable, not {len(names)}"
    if entry["form"] != "prose":
        return
    yield from check_blanks(("page", "sentence"), page.get("sentence"), ("date", "entity", *names))
    if pattern is None:
        yield ("form",), "a prose page needs an [extract] rule with kind regex and a pattern"
        return
    try:
        groups = set(re.compile(pattern).groupindex)
    except re.error as error:
        yield ("extract", "pattern"), f"it is no regular expression: {error}"
        return
    if "date" not in groups:
        yield ("extract", "pattern"), "it has no group date: (?P<date>...)"
    for name in sorted(groups - {"date", "entity", *names}):
        yield ("extract", "pattern"), f"the group {name} is no variable{suggest(name, names)}"


def check_asking(entry):
    """Yield (place, words) on templates: their variable, hour, the blanks of their text, an id that stands twice."""
    names, seen, is_timed = list(entry["variables"]), set(), "lag_minutes" in entry["publication"]
    for at, template in enumerate(entry.get("templates", ())):
        place, word = ("templates", at), template["variable"]
        if template["id"] in seen:
            yield (*place, "id"), f"{template['id']!r} is taken by another template"
        seen.add(template["id"])
        if word not in names:
            yield (*place, "variable"), f"{word!r} is none of {', '.join(names)}{suggest(word, names)}"
        if ("hour" in template) != is_timed:
            yield place, f"hour {'is missing: values have a' if is_timed else 'is given: values have no'} time of day"
        yield from check_blanks((*place, "text"), template["text"], BLANKS)
    for at, question in enumerate(entry.get("page", {}).get("questions", ())):
        yield from check_blanks(("page", "questions", at, "text"), question["text"], BLANKS)


def check_blanks(place, text, known):
    """Yield (place, words) on a text whose braces hold what is not known, or are none."""
    try:
        blanks = [name for _, name, *_ in Formatter().parse(text or "") if name is not None]
    except ValueError as error:
        yield place, f"its braces are wrong: {error}"
        return
    if not text:
        yield place[:-1], f"{place[-1]} is missing"
    for name in blanks:
        if name not in known:
            yield place, f"{{{name}}} is unknown{suggest(name, known) or '; there are ' + ', '.join(known)}"
