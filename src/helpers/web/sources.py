"""The source registry: which sites exist, what they publish, when, and how it is read (FutureX 3.2.1).

One file a source in data/sources/*.toml, made to be edited by a person; data/replay/<source_id>.csv holds its rows.
"""

import tomllib
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from helpers.faults import raise_all
from helpers.store import ROOT
from helpers.web.checks import check_source


@dataclass(frozen=True)
class Source:
    """One site of the registry, as its toml states it."""

    id: str
    name: str
    address: str
    site_type: str
    domain: str
    subdomain: str
    update_frequency: str
    directly_visible: bool
    windows: tuple
    contamination_group: str
    licence: str
    form: str
    history: int
    publication: dict
    entities: dict
    variables: dict
    extract: dict
    page: dict = field(default_factory=dict)
    templates: tuple = ()
    note: str = ""
    rows: str = ""
    live: dict = field(default_factory=dict)

    @property
    def is_hourly(self):
        """Whether rows carry a time of day."""
        return "lag_minutes" in self.publication


def load_sources(folder=ROOT / "data/sources", *, local=False):
    """Read the registry: {source_id: Source}, sorted by id; with `local`, load-only sources that were built too.

    Raises Problems, sentences each with file and field.
    """
    sources, found, taken = {}, [], {}
    for path in sorted(folder.glob("*.toml")):
        source, wrong = parse_source(path)
        found += wrong
        if source is None:
            continue
        ids = [source.id, *(template["id"] for template in source.templates)]
        found += [f"{path.name}: the id {name!r} is taken by {taken[name]}" for name in ids if name in taken]
        taken |= dict.fromkeys(ids, path.name)
        if source.licence == "commit" or (local and locate_rows(source).exists()):
            sources[source.id] = source
    raise_all(found)
    return sources


def parse_source(path):
    """Read and check one source file; returns (Source, []) or (None, what is wrong with it, a sentence each)."""
    try:
        return parse_text(path.name, path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        return None, [f"{path.name}: the file is not UTF-8 ({error.reason}); save it so"]


@lru_cache(maxsize=1024)
def parse_text(name, text):
    """Parse and check the text of one source file, as `parse_source` does; a process that reads it again need not."""
    try:
        entry = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, [f"{name}: not valid toml: {error}"]
    source_id = name.removesuffix(".toml")
    if wrong := check_source(name, {"id": source_id} | entry):
        return None, wrong
    entry = fill_defaults(source_id) | entry
    source = Source(**entry | {key: tuple(entry[key]) for key in ("templates", "windows")})
    if not source.extract:
        source = replace(source, page=source.page or {"layout": "long"}, extract=derive_extract(source))
    return source, []


def fill_defaults(source_id):
    """Return what a source file may leave out: window A, an address made of the id, rows that may be given."""
    return {
        "id": source_id,
        "address": f"http://{source_id.replace('_', '-')}.replay/",
        "directly_visible": True,
        "windows": ["A"],
        "contamination_group": "obscure",
        "licence": "commit",
        "history": 28,
        "templates": [],
        "extract": {},
    }


def derive_extract(source):
    """Return the rule that reads a page of the form's own layout; prose has one of its own (`check_page`)."""
    names = list(source.variables)
    label = source.entities["label"]
    if source.form == "json":
        rule = {"kind": "json", "rows": "observations", "date": "date", "entity": label.replace(" ", "_")}
        return rule | {"values": {name: name for name in names}}
    if source.form == "ranking":
        rule = {"issue": "section.issue", "date": "time", "item": "li", "name": ".name", "value": ".value"}
        return rule | {"kind": "css", "variable": names[0]}
    if source.form == "market":
        return {"kind": "market"}
    rule = {"kind": "table", "selector": "table.data", "layout": source.page.get("layout", "long")}
    columns = {name: head_column(variable) for name, variable in source.variables.items()}
    return rule | {"variable": names[0], "entity": label.capitalize(), "columns": columns}


def head_column(variable):
    """Return a variable's column heading on a page: label and unit."""
    return f"{variable['label']} ({variable['unit']})" if variable["unit"] else variable["label"]


def locate_rows(source):
    """Return the path of a source's rows; `rows` in the toml names another source's file."""
    folder = ROOT / ("data/replay" if source.licence == "commit" else "data/replay/local")
    return folder / f"{source.rows or source.id}.csv"


def read_rows(source):
    """Read a source's rows with `published_at` (UTC), sorted by it, then by occurrence and entity."""
    rows = pd.read_csv(
        locate_rows(source), dtype={"occurred_at": str, "entity": str}, keep_default_na=False, na_values=[""]
    )
    rows["published_at"] = compute_published_at(source.publication, rows["occurred_at"])
    if "known_at" in rows:
        known = pd.to_datetime(rows.pop("known_at"), utc=True).dt.as_unit("s")
        rows["published_at"] = known.fillna(rows["published_at"])
    return rows.sort_values(["published_at", "occurred_at", "entity"], kind="stable", ignore_index=True)


def compute_published_at(publication, occurred_at):
    """Return when values for local dates or times become public, as UTC moments.

    A dated value appears `lag_days` after its date at `hour` local time, a timed one `lag_minutes` after its time.
    Where a local clock repeats an hour, the later reading is taken, so that nothing is early. What a value is for has
    ended by then (`checks.check_publication`): a day, or `settled_at` on it; `period_minutes` (an hour) after a time.

    >>> rule = {"lag_days": 1, "hour": "09:00", "timezone": "Europe/Berlin"}
    >>> str(compute_published_at(rule, pd.Series(["2016-10-09"]))[0])
    '2016-10-10 07:00:00+00:00'
    """
    moment = pd.to_datetime(occurred_at, format="ISO8601")
    if "lag_minutes" not in publication:
        hour, minute = publication["hour"].split(":")
        moment = (
            moment + pd.DateOffset(days=publication["lag_days"]) + pd.Timedelta(hours=int(hour), minutes=int(minute))
        )
    moment = moment.dt.tz_localize(
        publication["timezone"], ambiguous=np.zeros(len(moment), dtype=bool), nonexistent="shift_forward"
    ).dt.tz_convert("UTC")
    return (moment + pd.Timedelta(minutes=publication.get("lag_minutes", 0))).dt.as_unit("s")
