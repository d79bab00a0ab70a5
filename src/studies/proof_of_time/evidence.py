"""Evidence files of instances, and the check that none of them holds what was not known before the
cutoff (3.1, A.6).

Checked are each file's day, each row's dates, and the value asked for, which may stand neither in
the prompt nor beside its item in a table: the paper's SOTA task prints it in one and mounts it in
the other (definitions.md 4.7). Dated rows of a series, which repeats itself, may hold any value.
"""

import hashlib
import re
import tarfile
import tempfile
from collections import defaultdict
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pandas as pd

from daybefore.agents.sandbox_parts import SandboxError, read_listed
from helpers.tables import MOMENT_FORM

DAY = re.compile(rf"\d{{4}}-\d\d-\d\d|{MOMENT_FORM}")
NUMBER = re.compile(r"(?<![\w.,+/-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?!\.?\d|[\w/-])")
"""A number that stands by itself: not part of a date, a version or a word."""


class LeakError(ValueError):
    """Evidence or a prompt holds what was not known before the cutoff, or does not say when it
    was."""


def to_moment(text):
    """Return a day or moment as UTC; a day without a time counts from its beginning.

    >>> to_moment("2025-01-01"), to_moment("2016-10-10T00:00:00+08:00")
    (Timestamp('2025-01-01 00:00:00+0000', tz='UTC'), Timestamp('2016-10-09 16:00:00+0000', tz='UTC'))
    """
    moment = pd.Timestamp(text)
    return moment.tz_localize("UTC") if moment.tzinfo is None else moment.tz_convert("UTC")


def write_evidence(folder, name, table, *, as_of, dates=None, late=None):
    """Write a table as an evidence file (csv) below a folder; returns its entry of a manifest.

    `as_of`: the last moment that the file knows, a day or moment; `dates`: the column with each
    row's; `late`: columns counted later, with the day (`counts_as_of_t1`).
    """
    data = table.to_csv(index=False, lineterminator="\n").encode()
    path = Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return {
        "path": name,
        "sha256": digest,
        "as_of": as_of,
        "dates": dates,
        "late": dict(late or {}),
    }


@contextmanager
def open_evidence(path):
    """Yield the folder of evidence files: a folder as it is, an archive (.tar.xz) unpacked while it
    is open."""
    if Path(path).is_dir():
        yield Path(path)
    else:
        with tempfile.TemporaryDirectory() as folder, tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
            yield Path(folder)


def read_evidence(folder, path):
    """Return an evidence file (csv) as a table of text. Raises LeakError for JSON, which is not
    checked."""
    if ".json" in path:
        raise LeakError(f"{path}: evidence is checked as csv alone; write it as csv")
    return pd.read_csv(Path(folder) / path, dtype=str, keep_default_na=False)


def check_instances(instances, folder):
    """Return how many (files, rows) were checked; raises LeakError that names the first file, row
    or prompt that leaks.

    `folder` is the evidence's. A file is read once, and its rows are dated once a cutoff. Instances
    `as_published` are left out: what their evidence knows is the authors' affair.
    """
    read = cache(lambda path: read_evidence(folder, path))
    index = cache(lambda path: index_cells(read(path)))
    check = cache(lambda path, dates, cutoff: check_dates(read(path), path, dates, cutoff))
    hold = cache(
        lambda path, sha256: len(read_listed({"path": path, "sha256": sha256}, Path(folder)))
    )
    rows = {}
    for instance in instances:
        if instance.variant == "as_published":
            continue
        check_prompt(instance)
        for entry in instance.manifest:
            path = entry["path"]
            check_file(entry, instance)
            try:
                hold(path, entry["sha256"])
            except SandboxError as error:
                raise LeakError(f"{instance.id}: {error}") from None
            rows[path] = check(path, entry["dates"], instance.cutoff)
            if not (entry["dates"] and instance.metadata.get("is_series")):
                check_values(read(path), index(path), path, instance)
    return len(rows), sum(rows.values())


def check_file(entry, instance):
    """Raise LeakError for a file of the cutoff's day or later, and for columns that were counted
    later."""
    where = f"{instance.id}: {entry['path']}"
    cutoff = instance.cutoff
    if not to_moment(entry["as_of"]) < to_moment(cutoff):
        raise LeakError(f"{where} is of {entry['as_of']}, not before the cutoff {cutoff}")
    for column, day in entry["late"].items():
        if instance.variant != "counts_as_of_t1":
            apart = "such instances are a split of their own, counts_as_of_t1"
            raise LeakError(
                f"{where}: {column} was counted on {day}, after the cutoff {cutoff}: {apart}"
            )


def check_dates(table, path, dates, cutoff):
    """Return how many rows a table has; raises LeakError for a date that is not before the cutoff,
    and for none.

    `dates` names the column with each row's date; dates that stand in other columns count too.
    """
    limit = to_moment(cutoff)
    if dates and dates not in table:
        raise LeakError(f"{path} has no column {dates!r}, by which its rows are dated")
    for column, cells in table.items():
        is_day = cells.str.fullmatch(DAY)
        if column == dates and not is_day.all():
            raise LeakError(f"{path}, line {is_day.to_numpy().argmin() + 2}: no date in {column}")
        late = pd.to_datetime(cells.where(is_day), utc=True, format="ISO8601") >= limit
        if late.any():
            at = late.to_numpy().argmax()
            raise LeakError(
                f"{path}, line {at + 2}: {column} {cells.iloc[at]} is not before the cutoff {cutoff}"
            )
    return len(table)


def index_cells(table):
    """Return {cell: positions of its rows} of a table of text, whatever its case; of a list ("A;
    B") each part too."""
    places = defaultdict(list)
    for column in table.columns:
        for at, cell in enumerate(table[column].str.casefold()):
            for part in {cell, *cell.split("; ")}:
                places[part].append(at)
    return places


def check_values(table, places, path, instance):
    """Raise LeakError for a row that holds a value asked for beside the item it is asked of."""
    for item, value in instance.metadata.get("asked", ()):
        name = str(item).casefold()
        for at in places.get(name, ()):
            if any(is_same(cell, value) for cell in table.iloc[at] if cell.casefold() != name):
                raise LeakError(
                    f"{instance.id}: {path}, line {at + 2} holds the value asked for of {item}: {value}"
                )


def check_prompt(instance):
    """Raise LeakError for a prompt, or a choice, that holds the value asked for; a number in an
    item's name is none."""
    items = instance.metadata.get("items", {})
    choices = {item: instance.choices.get(letter, "") for letter, item in items.items()}
    for item, value in instance.metadata.get("asked", ()):
        prompt = instance.prompt
        for name in items.values():
            prompt = prompt.replace(name, "") if name != value else prompt
        for where, text in (
            ("prompt", prompt),
            ("choice", choices.get(item, "").replace(item, "")),
        ):
            if tells(text, value):
                raise LeakError(
                    f"{instance.id}: the {where} holds the value asked for of {item}: {value}"
                )


def tells(text, value):
    """Say whether a text holds a value: a number by itself, a name of several words, a tier's word
    called a tier.

    >>> tells("the best so far is 53.7%, of 2025-10-02", 53.7), tells("GPT-4, by 2025-10-02", 4)
    (True, False)
    >>> tells("Its tier: best.", "Best"), tells("It won a Best Paper Award.", "Best"), tells("the best tier", "Best")
    (True, True, False)
    """
    if not isinstance(value, str):
        return any(is_same(found.group(), value) for found in NUMBER.finditer(text))
    if " " in value:
        return value.casefold() in text.casefold()
    word = re.escape(value)
    return bool(
        re.search(rf"\btier\W+(?:(?:is|was)\W+)?{word}\b|\b{word} paper award", text, re.IGNORECASE)
    )


def is_same(cell, value):
    """Say whether a cell's text is a value, as a number or as words.

    >>> is_same("53.70", 53.7), is_same("Best", "Best"), is_same("", 0), is_same("1,204", 1204)
    (True, True, False, True)
    """
    if isinstance(value, str):
        return cell.casefold() == value.casefold()
    try:
        return abs(float(cell.replace(",", "")) - value) < 1e-9
    except ValueError:
        return False
