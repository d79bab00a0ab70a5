"""What may stand in a source's file (data/sources/*.toml), and what is wrong with one: file, line and field."""

import re
from string import Formatter
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from jsonschema import Draft202012Validator

from helpers.calendar import WINDOWS
from helpers.faults import suggest
from helpers.tables import SITE_TYPES

FREQUENCIES = ("hourly", "daily", "weekdays", "weekly", "monthly")
FORMS = ("table", "ranking", "prose", "json", "market")
ASKS = ("value", "change", "threshold", "band", "leader", "risers", "above", "top", "rank", "outcome")
BLANKS = ("date", "entity", "hour", "k", "rank", "reference", "threshold")
"""What a template's text may leave blank, in braces."""
N_SHOWN = 10


def one_of(words):
    """Return the schema of a cell that holds one of some words."""
    return {"enum": list(words)}


def fields(needs=(), **known):
    """Return the schema of a table of the file: its known fields, and those that it cannot do without."""
    return {"type": "object", "properties": known, "required": list(needs), "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1, "description": "a text"}
TEXTS = {"type": "array", "items": TEXT, "description": "a list of texts"}
WHOLE = {"type": "integer", "minimum": 0, "description": "a whole number, 0 or more"}
POSITIVE = {"type": "integer", "minimum": 1, "description": "a whole number, 1 or more"}
FLAG = {"type": "boolean", "description": "true or false"}
NAME = {"type": "string", "pattern": "^[a-z0-9_]{1,64}$", "description": "1 to 64 small letters, digits and _"}
CLOCK = {"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "description": "a time such as 09:00"}
ADDRESS = {"type": "string", "pattern": r"^http://[a-z0-9-]+\.replay/\S*$"}
ADDRESS["description"] = "a web address of the replay world, such as http://ferries.replay/"
PUBLISHED = {"lag_days": WHOLE, "hour": CLOCK, "settled_at": CLOCK, "lag_minutes": WHOLE, "period_minutes": WHOLE}
LAYOUT = one_of(("long", "wide"))
VARIABLE = fields(
    ("label", "unit", "decimals"), label=TEXT, unit={"type": "string", "description": "a text"}, decimals=WHOLE
)
HOUR = {
    "anyOf": [CLOCK, {"type": "array", "items": CLOCK, "minItems": 1}],
    "description": "a time such as 09:00, or a list",
}
ASKING = {
    "id": NAME,
    "ask": one_of(ASKS),
    "variable": TEXT,
    "text": TEXT,
    "hour": HOUR,
    "by": one_of(("gain", "value")),
}
ASKING |= {"n_options": WHOLE, "k": POSITIVE, "bands": {**POSITIVE, "minimum": 2}, "order": one_of(("asc", "desc"))}
ASKING |= {"ranks": {"type": "array", "items": POSITIVE, "minItems": 1}, "absent": one_of(("out",)), "only": TEXTS}
TEMPLATE = fields(("id", "period", "ask", "variable", "text"), period=one_of(("daily", "weekly")), **ASKING)
QUESTION = fields(("id", "source", "ask", "variable", "text", "per_day"), source=NAME, per_day=POSITIVE, **ASKING)
EXTRACTS = {
    "table": ("selector", "layout"),
    "css": ("issue", "date", "item", "name", "value", "variable"),
    "json": ("rows", "date", "entity", "values"),
    "regex": ("pattern",),
    "market": (),
}
"""Kind of an extraction rule -> the fields it cannot do without."""
PARTS = dict.fromkeys((part for parts in EXTRACTS.values() for part in parts), TEXT)
PARTS |= {"kind": one_of(EXTRACTS), "layout": LAYOUT, "variable": TEXT, "entity": TEXT}
PARTS |= dict.fromkeys(("columns", "values"), {"type": "object", "additionalProperties": TEXT})
SCHEMA = fields(
    ("name", "site_type", "domain", "subdomain", "update_frequency", "form", "publication", "entities", "variables"),
    id=NAME,
    **dict.fromkeys(("name", "domain", "subdomain"), TEXT),
    address=ADDRESS,
    site_type=one_of(SITE_TYPES),
    update_frequency=one_of(FREQUENCIES),
    directly_visible=FLAG,
    windows={"type": "array", "items": one_of((*WINDOWS, "C")), "minItems": 1, "description": 'a list such as ["A"]'},
    contamination_group=one_of(("widely_known", "obscure")),
    licence=one_of(("commit", "load-only")),
    form=one_of(FORMS),
    history=POSITIVE,
    note={"type": "string"},
    rows=NAME,
    publication=fields(("timezone",), timezone=TEXT, **PUBLISHED),
    entities=fields(("label",), label=TEXT, only=TEXTS),
    variables={"type": "object", "additionalProperties": VARIABLE, "propertyNames": NAME},
    page=fields((), layout=LAYOUT, sentence=TEXT, fixtures_days=WHOLE, questions={"type": "array", "items": QUESTION}),
    extract={"type": "object", "properties": PARTS, "additionalProperties": False},
    templates={"type": "array", "items": TEMPLATE},
)
"""A source's file as a JSON schema."""
VALIDATOR = Draft202012Validator(SCHEMA)


def check_source(name, text, entry):
    """Return what is wrong with a source's file, a sentence each: file, line, field, and what may stand there.

    `entry` is the parsed `text`. Only a file of the right form is held to what its parts say of each other.
    """
    found = [(error.absolute_path, words) for error in VALIDATOR.iter_errors(entry) for words in describe_error(error)]
    found = found or list(check_publication(entry)) + list(check_page(entry)) + list(check_asking(entry))
    return [describe_field(name, text, list(place), words) for place, words in found]


def describe_error(error):
    """Yield what a schema's error says, in words: the wrong value or key, and what may stand there."""
    rule, wanted = error.validator, error.schema.get("description", "something else")
    if rule == "enum":
        words = error.validator_value
        yield f"{error.instance!r} is none of {', '.join(words)}{suggest(error.instance, words)}"
    elif rule == "required":
        yield f"{next(name for name in error.validator_value if f'{name!r}' in error.message)} is missing"
    elif rule == "additionalProperties":
        known = list(error.schema.get("properties", ()))
        for name in sorted(set(error.instance) - set(known)):
            yield f"{name} is unknown{suggest(name, known) or '; there are ' + ', '.join(known)}"
    else:
        yield f"{error.instance!r} is not {wanted}"


def check_publication(entry):
    """Yield (place, words) on when values are published: by days and an hour, or by minutes, in a known time zone."""
    rule, place = entry["publication"], ["publication"]
    if ("lag_minutes" in rule) == ("lag_days" in rule or "hour" in rule):
        yield place, "it needs lag_days and hour (dated values), or lag_minutes alone (values with a time)"
    elif "lag_minutes" not in rule and len({"lag_days", "hour"} & set(rule)) < 2:
        yield place, f"{'hour' if 'lag_days' in rule else 'lag_days'} is missing"
    if rule.get("lag_minutes", 60) < rule.get("period_minutes", 60):
        words = "a value's period has not ended then; for a reading at that moment add period_minutes = 0"
        yield [*place, "lag_minutes"], words
    if rule.get("lag_days") == 0 and rule.get("hour", "") < rule.get("settled_at", "24:00"):
        yield [*place, "hour"], "the day has not ended then; add settled_at, the time by which its values stand"
    if rule.get("lag_days", 31) < 31 and entry["update_frequency"] == "monthly":
        yield [*place, "lag_days"], "a month, dated by its first day, has not ended then; write 31 or more"
    try:
        ZoneInfo(rule["timezone"])
    except (ValueError, OSError, ZoneInfoNotFoundError):
        near = suggest(rule["timezone"], available_timezones())
        yield [*place, "timezone"], f"{rule['timezone']!r} is no time zone{near}"


def check_page(entry):
    """Yield (place, words) on what form, variables, sentence and extraction rule say of each other."""
    form, names, rule = entry["form"], list(entry["variables"]), entry.get("extract", {})
    if form != "market" and not names:
        yield ["variables"], "there is no variable; a source needs one"
    page = entry.get("page", {})
    if (form == "ranking" or page.get("layout") == "wide") and len(names) != 1:
        yield ["variables"], f"a ranking and a wide table show one variable, not {len(names)}"
    if form == "prose":
        yield from check_blanks(["page", "sentence"], page.get("sentence"), ("date", "entity", *names))
        if "pattern" not in rule:
            yield ["form"], "a prose page needs an [extract] rule with kind regex and a pattern"
    if form == "market" and not page.get("questions"):
        yield ["page"], "a market needs questions"
    if rule:
        yield from check_rule(rule, names)


def check_rule(rule, names):
    """Yield (place, words) on an extraction rule: its parts, its pattern, and the variables it reads."""
    needs = EXTRACTS.get(rule.get("kind"))
    if needs is None:
        yield ["extract"], f"kind is missing; it is one of {', '.join(EXTRACTS)}"
        return
    absent = [part for part in needs if part not in rule]
    if rule["kind"] == "table":
        absent += [
            part
            for part in ({"long": ("entity", "columns")}.get(rule.get("layout"), ("variable",)))
            if part not in rule
        ]
    yield from ((["extract"], f"{part} is missing; a {rule['kind']} rule needs it") for part in absent)
    read = [*rule.get("columns", ()), *rule.get("values", ()), *([rule["variable"]] if "variable" in rule else [])]
    yield from ((["extract"], f"{name} is no variable{suggest(name, names)}") for name in read if name not in names)
    try:
        groups = set(re.compile(rule.get("pattern", "(?P<date>)")).groupindex)
    except re.error as error:
        yield ["extract", "pattern"], f"it is no regular expression: {error}"
        return
    wrong = sorted(groups - {"date", "entity", *names})
    yield from ((["extract", "pattern"], f"the group {name} is no variable{suggest(name, names)}") for name in wrong)
    if "date" not in groups:
        yield ["extract", "pattern"], "it has no group date: (?P<date>...)"


def check_asking(entry):
    """Yield (place, words) on templates: their variable, hour, the blanks of their text, an id that stands twice."""
    names, seen = list(entry["variables"]), set()
    for at, template in enumerate(entry.get("templates", ())):
        place = ["templates", at]
        if template["id"] in seen:
            yield [*place, "id"], f"{template['id']!r} is taken by another template"
        seen.add(template["id"])
        if template["variable"] not in names:
            word = template["variable"]
            yield [*place, "variable"], f"{word!r} is none of {', '.join(names)}{suggest(word, names)}"
        if ("hour" in template) != ("lag_minutes" in entry["publication"]):
            yield (
                place,
                "hour is missing: values have a time of day"
                if "hour" not in template
                else "hour: values have no time of day",
            )
        yield from check_blanks([*place, "text"], template["text"], BLANKS)
    for at, question in enumerate(entry.get("page", {}).get("questions", ())):
        yield from check_blanks(["page", "questions", at, "text"], question["text"], BLANKS)


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


def describe_field(file, text, place, words):
    """Return one sentence on a field of a source's file.

    >>> describe_field("ferries.toml", "[entities]\\nlabel = 5", ["entities", "label"], "5 is not a text")
    'ferries.toml, line 2, entities.label: 5 is not a text'
    """
    name = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")
    return f"{file}, line {find_line(text, place)}{f', {name}' if name else ''}: {words}"


def find_line(text, place):
    """Return the line (from 1) of a toml text where a field stands, or the nearest that holds it; 1 for the whole file.

    >>> find_line('form = "json"\\n[[templates]]\\nid = "x"\\n[[templates]]\\nid = "y"', ["templates", 1, "id"])
    5
    """
    best, reached, here, counts = 1, 0, [], {}
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[+\s*([\w.\"-]+)\s*\](\])?", line):
            here = header[1].replace('"', "").split(".")
            if header[2]:
                counts[header[1]] = counts.get(header[1], -1) + 1
                here = [*here, counts[header[1]]]
            path = here
        elif key := re.match(r'\s*"?([\w-]+)"?\s*=', line):
            path = [*here, key[1]]
        else:
            continue
        depth = next(
            (n for n, (a, b) in enumerate(zip(path, place, strict=False)) if a != b), min(len(path), len(place))
        )
        if depth > reached and depth == len(path):
            best, reached = number, depth
    return best
