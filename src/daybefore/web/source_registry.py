"""The source registry: which sites exist, what they publish, when, and how it is read (FutureX
3.2.1).

One file a source in data/sources/*.toml, made to be edited by a person; data/replay/<source_id>.csv
holds its rows.
"""

import tomllib
from functools import cache, lru_cache
from string import Formatter
from typing import Annotated
from zoneinfo import available_timezones

import numpy as np
import pandas as pd
from pydantic import Field, StringConstraints

from helpers.files import ROOT, locate_output
from helpers.input_faults import Problems, find_faults, name_field, raise_all, read_text, suggest
from helpers.set_names import WINDOWS
from helpers.tables import (
    SITE_TYPES,
    Count,
    Positive,
    Setting,
    Text,
    Truth,
    allow,
    form,
    one_of,
    some,
)

ASKS = (
    "value",
    "change",
    "threshold",
    "band",
    "leader",
    "risers",
    "above",
    "top",
    "rank",
    "outcome",
)
FORMS = ("table", "ranking", "prose", "json", "market")
CLOCK = r"^([01]\d|2[0-3]):[0-5]\d$"

list_zones = cache(available_timezones)  # it looks through folders of the disk

BLANKS = ("date", "entity", "hour", "k", "rank", "reference", "threshold")
"""What a template's text may leave blank, in braces."""
LIVE_SOURCES = ROOT / "data/live/sources"
"""The sources of the open web, whose rows `daybefore day` collects."""


Time = Annotated[str, StringConstraints(pattern=CLOCK)]
Clock, Clocks = (
    allow(Time, "a time such as 09:00"),
    allow(Time | some(Time), "a time such as 09:00, or a list"),
)
Free = allow(str, "a text")
Id = allow(
    Annotated[str, StringConstraints(pattern="^[a-z0-9_]{1,64}$")],
    "1 to 64 small letters, digits and _",
)
Address = Annotated[str, StringConstraints(pattern=r"^http://[a-z0-9-]+\.replay/\S*$")]
Address = allow(Address, "a web address of the replay world, such as http://ferries.replay/")
Open = allow(
    Annotated[str, StringConstraints(pattern=r"^https://[a-z0-9.-]+/\S*$")], "an https address"
)
Summary = Annotated[str, StringConstraints(pattern=r"^(count|(mean|max|min|sum|last) \S+)$")]
Layout = one_of("long", "wide")
ASKING = dict(
    id=Id, ask=one_of(*ASKS), variable=Text, text=Text, hour=Clocks, by=one_of("gain", "value")
)
ASKING |= dict(
    n_options=Count, k=Positive, ranks=some(Positive), order=one_of("asc", "desc"), only=list[Text]
)
ASKING |= dict(
    bands=allow(Annotated[int, Field(ge=2)], "a whole number of 2 or more"), absent=one_of("out")
)
TEMPLATE = form(
    "id", "period", "ask", "variable", "text", period=one_of("daily", "weekly"), **ASKING
)
QUESTION = form(
    "id", "source", "ask", "variable", "text", "per_day", source=Id, per_day=Positive, **ASKING
)
MOMENTS = dict(
    lag_days=Count, hour=Clock, settled_at=Clock, lag_minutes=Count, period_minutes=Count
)
READING = dict.fromkeys(("rows", "date_form", "entity", "keyed", "sep", "comment", "terms"), Text)
READING |= dict.fromkeys(("wide", "zipped"), Truth)
READING |= dict(address=Open, body=one_of("json", "csv", "page"), header=list[Text], skip=Count)
READING |= dict(
    date=allow(str | list[str], "a column, or those of year, month, day"), day=one_of("yesterday")
)
READING |= dict(codes=dict[str, Text], values=dict[Id, Text], per_day=dict[Id, Summary])
LIVE = form("address", "body", "terms", **READING)
"""How a source of the open web is fetched and read (`live.keep_pages`)."""


class Source(Setting):
    """One site of the registry, as its toml states it; tables in it stay dicts.

    `history`: periods that its page shows; `rows`: another source's name whose rows it shows.
    """

    id: Id
    name: Text
    address: Address
    site_type: one_of(*SITE_TYPES)
    domain: Text
    subdomain: Text
    update_frequency: one_of("hourly", "daily", "weekdays", "weekly", "monthly")
    windows: some(one_of(*WINDOWS, "C")) = ["A"]
    contamination_group: one_of("widely_known", "obscure") = "obscure"
    form: one_of(*FORMS)
    history: Positive = 28
    publication: form("timezone", timezone=Text, **MOMENTS)
    entities: form("label", label=Text, only=list[Text])
    variables: dict[Id, form("label", "unit", "decimals", label=Text, unit=Free, decimals=Count)]
    page: form(layout=Layout, sentence=Text, fixtures_days=Count, questions=list[QUESTION]) = {}
    templates: list[TEMPLATE] = []
    note: Free = ""
    rows: Id = ""
    live: LIVE = {}

    @property
    def is_hourly(self):
        """Whether rows carry a time of day."""
        return "lag_minutes" in self.publication


def load_sources(folder=ROOT / "data/sources"):
    """Read the registry: {source_id: Source}, sorted by id. Raises Problems, sentences with file
    and field."""
    sources, found, taken = {}, [], {}
    for path in sorted(folder.glob("*.toml")):
        try:
            source = parse_source(path.name, read_text(path))
        except Problems as problems:
            found += problems.found
            continue
        for name in (source.id, *(template["id"] for template in source.templates)):
            if (first := taken.setdefault(name, path.name)) != path.name:
                found.append(f"{path.name}: the id {name!r} is taken by {first}")
        sources[source.id] = source
    raise_all(found)
    return sources


@lru_cache(maxsize=1024)
def parse_source(name, text):
    """Return the Source of the text of a file, once a process. Raises Problems, sentences with file
    and field."""
    try:
        entry = name_source(name.removesuffix(".toml")) | tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Problems([f"{name}: not valid toml: {error}"]) from None
    # only a file of the right form is held to what its parts say of each other
    wrong = find_faults(entry, Source) or [
        *check_publication(entry),
        *check_page(entry),
        *check_asking(entry),
    ]
    raise_all(f"{name}{', ' * bool(place)}{name_field(place)}: {words}" for place, words in wrong)
    return Source.model_construct(**entry)


# --- what the parts of a file say of each other: yields each fault as (place, words) ---


def check_publication(entry):
    """Yield (place, words) on when values are published: by days and an hour, or by minutes, in a
    known time zone."""
    rule, place = entry["publication"], ("publication",)
    if {"lag_minutes", "lag_days", "hour"} & set(rule) not in (
        {"lag_minutes"},
        {"lag_days", "hour"},
    ):
        yield (
            place,
            "it needs lag_days and hour (dated values), or lag_minutes alone (values with a time)",
        )
    if rule.get("lag_minutes", 60) < rule.get("period_minutes", 60):
        words = "a value's period has not ended then; for a reading at that moment add period_minutes = 0"
        yield (*place, "lag_minutes"), words
    if rule.get("lag_days") == 0 and rule.get("hour", "") < rule.get("settled_at", "24:00"):
        yield (
            (*place, "hour"),
            "the day has not ended then; add settled_at, the time by which its values stand",
        )
    if rule.get("lag_days", 31) < 31 and entry["update_frequency"] == "monthly":
        yield (
            (*place, "lag_days"),
            "a month, dated by its first day, has not ended then; write 31 or more",
        )
    if (zone := rule["timezone"]) not in list_zones():
        yield (*place, "timezone"), f"{zone!r} is no time zone{suggest(zone, list_zones())}"


def check_page(entry):
    """Yield (place, words) on what form, variables and sentence say of each other."""
    names, page = list(entry["variables"]), entry.get("page", {})
    if entry["form"] != "market" and not names:
        yield ("variables",), "there is no variable; a source needs one"
    if (entry["form"] == "ranking" or page.get("layout") == "wide") and len(names) != 1:
        yield ("variables",), f"a ranking and a wide table show one variable, not {len(names)}"
    if entry["form"] != "prose":
        return
    sentence = page.get("sentence", "")
    if "{date}" not in sentence:
        yield ("page",), "a prose page needs a sentence with {date} in it"
    yield from check_blanks(("page", "sentence"), sentence, ("date", "entity", *names))


def check_asking(entry):
    """Yield (place, words) on templates: an id that stands twice, their variable, hour, the blanks
    of their text."""
    names, is_timed, ids = list(entry["variables"]), "lag_minutes" in entry["publication"], set()
    for at, template in enumerate(entry.get("templates", ())):
        place, word = ("templates", at), template["variable"]
        if template["id"] in ids:
            yield (*place, "id"), f"{template['id']!r} is taken by another template"
        ids.add(template["id"])
        if word not in names:
            yield (
                (*place, "variable"),
                f"{word!r} is none of {', '.join(names)}{suggest(word, names)}",
            )
        if ("hour" in template) != is_timed:
            yield (
                place,
                f"hour {'is missing: values have a' if is_timed else 'is given: values have no'} time of day",
            )
        yield from check_blanks((*place, "text"), template["text"], BLANKS)


def check_blanks(place, text, known):
    """Yield (place, words) on a text whose braces hold what is not known, or are none."""
    try:
        blanks = [name for _, name, *_ in Formatter().parse(text) if name is not None]
    except ValueError as error:
        yield place, f"its braces are wrong: {error}"
        return
    for name in dict.fromkeys(blanks):
        if name not in known:
            yield (
                place,
                f"{{{name}}} is unknown{suggest(name, known) or '; there are ' + ', '.join(known)}",
            )


# --- pages and rows ---


def name_source(source_id):
    """Return what a source's id makes of itself and of its address."""
    return {"id": source_id, "address": f"http://{source_id.replace('_', '-')}.replay/"}


def head_column(variable):
    """Return a variable's column heading on a page: label and unit."""
    return f"{variable['label']} ({variable['unit']})" if variable["unit"] else variable["label"]


def locate_rows(source):
    """Return where a source has its rows: `rows` names another source's file, a live source's are
    the reader's own."""
    if source.live:
        return locate_output(f"data/days/rows/{source.id}.csv")
    return ROOT / f"data/replay/{source.rows or source.id}.csv"


def load_live(window):
    """Return the live sources that have rows, {source_id: Source}, as those of a day's question set
    (its window)."""
    found = {
        name: source
        for name, source in load_sources(LIVE_SOURCES).items()
        if locate_rows(source).exists()
    }
    return {name: source.model_copy(update={"windows": [window]}) for name, source in found.items()}


def read_rows(source):
    """Read a source's rows with `published_at` (UTC), sorted by it, then by occurrence and
    entity."""
    texts = {"occurred_at": str, "entity": str}
    rows = pd.read_csv(locate_rows(source), dtype=texts, keep_default_na=False, na_values=[""])
    rows["published_at"] = compute_published_at(source.publication, rows["occurred_at"])
    if "known_at" in rows:
        known = pd.to_datetime(rows.pop("known_at"), utc=True).dt.as_unit("s")
        rows["published_at"] = known.fillna(rows["published_at"])
    return rows.sort_values(
        ["published_at", "occurred_at", "entity"], kind="stable", ignore_index=True
    )


def compute_published_at(publication, occurred_at):
    """Return when values for local dates or times become public, as UTC moments.

    A dated value appears `lag_days` after its date at `hour` local time, a timed one `lag_minutes`
    after its time. Where a local clock repeats an hour, the later reading is taken, so that nothing
    is early. What a value is for has ended by then (`check_publication`): a day, or `settled_at` on
    it; `period_minutes` (an hour) after a time.

    >>> rule = {"lag_days": 1, "hour": "09:00", "timezone": "Europe/Berlin"}
    >>> str(compute_published_at(rule, pd.Series(["2016-10-09"]))[0])
    '2016-10-10 07:00:00+00:00'
    """
    moment = pd.to_datetime(occurred_at, format="ISO8601")
    if "lag_minutes" not in publication:
        moment = (
            moment
            + pd.DateOffset(days=publication["lag_days"])
            + pd.Timedelta(f"{publication['hour']}:00")
        )
    moment = moment.dt.tz_localize(
        publication["timezone"],
        ambiguous=np.zeros(len(moment), dtype=bool),
        nonexistent="shift_forward",
    ).dt.tz_convert("UTC")
    return (moment + pd.Timedelta(minutes=publication.get("lag_minutes", 0))).dt.as_unit("s")
