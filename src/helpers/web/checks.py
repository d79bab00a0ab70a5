"""What may stand in a source's file (data/sources/*.toml), and what is wrong with one: file and field."""

import re
from string import Formatter
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import AfterValidator, Field, StringConstraints

from helpers.faults import find_faults, name_field, suggest
from helpers.question_sets import WINDOWS
from helpers.tables import SITE_TYPES, Count, Positive, Text, Truth, allow, form, one_of, some

ASKS = ("value", "change", "threshold", "band", "leader", "risers", "above", "top", "rank", "outcome")
FORMS = ("table", "ranking", "prose", "json", "market")
BLANKS = ("date", "entity", "hour", "k", "rank", "reference", "threshold")
"""What a template's text may leave blank, in braces."""
EXTRACTS = {
    "table": ("selector", "layout"),
    "css": ("issue", "date", "item", "name", "value", "variable"),
    "json": ("rows", "date", "entity", "values"),
    "regex": ("pattern",),
    "market": (),
}
"""Kind of an extraction rule -> the fields it cannot do without."""
CLOCK = r"^([01]\d|2[0-3]):[0-5]\d$"


def are_clocks(value):
    """Return a time such as 09:00, or a list of them. Raises ValueError for anything else."""
    if not value or not all(re.fullmatch(CLOCK, one) for one in (value if isinstance(value, list) else [value])):
        raise ValueError
    return value


Clock = allow(Annotated[str, StringConstraints(pattern=CLOCK)], "a time such as 09:00")
Clocks = allow(Annotated[Any, AfterValidator(are_clocks)], "a time such as 09:00, or a list")
Free = allow(str, "a text")
Id = allow(Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")], "1 to 64 small letters, digits and _")
Address = allow(
    Annotated[str, StringConstraints(pattern=r"^http://[a-z0-9-]+\.replay/\S*$")],
    "a web address of the replay world, such as http://ferries.replay/",
)
Layout = one_of("long", "wide")


PUBLICATION = form(
    "timezone", timezone=Text, lag_days=Count, hour=Clock, settled_at=Clock, lag_minutes=Count, period_minutes=Count
)
ASKING = dict(id=Id, ask=one_of(*ASKS), variable=Text, text=Text, hour=Clocks, by=one_of("gain", "value"))
ASKING |= dict(n_options=Count, k=Positive, ranks=some(Positive), order=one_of("asc", "desc"), only=list[Text])
ASKING |= dict(bands=allow(Annotated[int, Field(ge=2)], "a whole number of 2 or more"), absent=one_of("out"))
TEMPLATE = form("id", "period", "ask", "variable", "text", period=one_of("daily", "weekly"), **ASKING)
QUESTION = form("id", "source", "ask", "variable", "text", "per_day", source=Id, per_day=Positive, **ASKING)
PARTS = dict.fromkeys((part for parts in EXTRACTS.values() for part in parts), Text) | dict(variable=Text, entity=Text)
PARTS |= dict(kind=one_of(*EXTRACTS), layout=Layout, columns=dict[str, Text], values=dict[str, Text])
LIVE = form(
    *("address", "body", "terms"),
    address=allow(Annotated[str, StringConstraints(pattern=r"^https://[a-z0-9.-]+/\S*$")], "an https address"),
    body=one_of("json", "csv", "page"),
    date=allow(str | list[str], "a column, or those of year, month, day"),
    day=one_of("yesterday"),
    codes=dict[str, Text],
    values=dict[Id, Text],
    per_day=dict[Id, Annotated[str, StringConstraints(pattern=r"^(count|(mean|max|min|sum|last) \S+)$")]],
    header=list[Text],
    skip=Count,
    **dict.fromkeys(("wide", "zipped"), Truth),
    **dict.fromkeys(("rows", "date_form", "entity", "keyed", "sep", "comment", "terms"), Text),
)
"""How a source of the open web is fetched and read (`live.records`)."""
SOURCE = form(
    *("name", "site_type", "domain", "subdomain", "update_frequency", "form", "publication", "entities", "variables"),
    **dict.fromkeys(("name", "domain", "subdomain"), Text),
    **dict.fromkeys(("id", "rows"), Id),
    address=Address,
    site_type=one_of(*SITE_TYPES),
    update_frequency=one_of("hourly", "daily", "weekdays", "weekly", "monthly"),
    directly_visible=Truth,
    windows=some(one_of(*WINDOWS, "C")),
    contamination_group=one_of("widely_known", "obscure"),
    licence=one_of("commit", "load-only"),
    form=one_of(*FORMS),
    history=Positive,
    note=Free,
    publication=PUBLICATION,
    entities=form("label", label=Text, only=list[Text]),
    variables=dict[Id, form("label", "unit", "decimals", label=Text, unit=Free, decimals=Count)],
    page=form(layout=Layout, sentence=Text, fixtures_days=Count, questions=list[QUESTION]),
    extract=form(**PARTS),
    templates=list[TEMPLATE],
    live=LIVE,
)
"""What a source's file holds."""


def check_source(name, entry):
    """Return what is wrong with a source's file, a sentence each: file, field, and what may stand there.

    Only a file of the right form is held to what its parts say of each other.
    """
    found = find_faults(entry, SOURCE) or [*check_publication(entry), *check_page(entry), *check_asking(entry)]
    return [f"{name}{', ' * bool(place)}{name_field(place)}: {words}" for place, words in found]


def check_publication(entry):
    """Yield (place, words) on when values are published: by days and an hour, or by minutes, in a known time zone."""
    rule, place = entry["publication"], ("publication",)
    if ("lag_minutes" in rule) == ("lag_days" in rule or "hour" in rule):
        yield place, "it needs lag_days and hour (dated values), or lag_minutes alone (values with a time)"
    elif "lag_minutes" not in rule and len({"lag_days", "hour"} & set(rule)) < 2:
        yield place, f"{'hour' if 'lag_days' in rule else 'lag_days'} is missing"
    if rule.get("lag_minutes", 60) < rule.get("period_minutes", 60):
        words = "a value's period has not ended then; for a reading at that moment add period_minutes = 0"
        yield (*place, "lag_minutes"), words
    if rule.get("lag_days") == 0 and rule.get("hour", "") < rule.get("settled_at", "24:00"):
        yield (*place, "hour"), "the day has not ended then; add settled_at, the time by which its values stand"
    if rule.get("lag_days", 31) < 31 and entry["update_frequency"] == "monthly":
        yield (*place, "lag_days"), "a month, dated by its first day, has not ended then; write 31 or more"
    if (zone := rule["timezone"]) not in available_timezones():
        yield (*place, "timezone"), f"{zone!r} is no time zone{suggest(zone, available_timezones())}"


def check_page(entry):
    """Yield (place, words) on what form, variables, sentence and extraction rule say of each other."""
    form, names, rule, page = entry["form"], list(entry["variables"]), entry.get("extract", {}), entry.get("page", {})
    if form != "market" and not names:
        yield ("variables",), "there is no variable; a source needs one"
    if (form == "ranking" or page.get("layout") == "wide") and len(names) != 1:
        yield ("variables",), f"a ranking and a wide table show one variable, not {len(names)}"
    if form == "prose":
        yield from check_blanks(("page", "sentence"), page.get("sentence"), ("date", "entity", *names))
        if "pattern" not in rule:
            yield ("form",), "a prose page needs an [extract] rule with kind regex and a pattern"
    if form == "market" and not page.get("questions"):
        yield ("page",), "a market needs questions"
    if rule:
        yield from check_rule(rule, names)


def check_rule(rule, names):
    """Yield (place, words) on an extraction rule: its parts, its pattern, and the variables it reads."""
    if (kind := rule.get("kind")) is None:
        yield ("extract",), f"kind is missing; it is one of {', '.join(EXTRACTS)}"
        return
    more = ("entity", "columns") if rule.get("layout") == "long" else ("variable",)
    needs = (*EXTRACTS[kind], *(more if kind == "table" else ()))
    yield from ((("extract",), f"{part} is missing; a {kind} rule needs it") for part in needs if part not in rule)
    try:
        groups = set(re.compile(rule.get("pattern", "(?P<date>)")).groupindex)
    except re.error as error:
        yield ("extract", "pattern"), f"it is no regular expression: {error}"
        return
    read = [*rule.get("columns", ()), *rule.get("values", ()), *([rule["variable"]] if "variable" in rule else [])]
    told = [(("extract",), "", name) for name in read]
    told += [(("extract", "pattern"), "the group ", name) for name in sorted(groups - {"date", "entity"})]
    for place, what, name in told:
        if name not in names:
            yield place, f"{what}{name} is no variable{suggest(name, names)}"
    if "date" not in groups:
        yield ("extract", "pattern"), "it has no group date: (?P<date>...)"


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
            yield (
                place,
                "hour is missing: values have a time of day" if is_timed else "hour: values have no time of day",
            )
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
