"""Where files live, and the tables that stages share (`helpers.tables`) as files.

Reads look first under `DAYBEFORE_OUT` (when set) and then in the repository; writes go to
`DAYBEFORE_OUT` when set, so that tests and checks re-run every stage without touching a committed
file.
"""

import contextlib
import gzip
import hashlib
import json
import os
import sys
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.folders import ROOT, find_foreign
from helpers.tables import DIGEST, HELD, check_table

DRAWN = ("figures/", "data/tables/")
"""What notebooks write of the repository's files."""


def locate_output(relative: str | Path) -> Path:
    """Return where a file is to be written: under `DAYBEFORE_OUT` if set, else in the repository;
    makes its folder.

    What a notebook draws and tabulates by hand with parameters other than its own goes elsewhere
    (`find_foreign`).
    """
    base: str | Path | None = os.environ.get("DAYBEFORE_OUT")
    if not base and str(relative).startswith(DRAWN):
        base = find_foreign()
    path = Path(base or ROOT) / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, bytes or text (UTF-8), whole or not at all: on the disk, it takes the old one's
    place."""
    beside = path.with_name(f"{path.name}.partial")
    with open(beside, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


@contextlib.contextmanager
def write_under(folder: str | Path) -> Iterator[None]:
    """Send every write of the kit to a folder while the block runs."""
    before = os.environ.get("DAYBEFORE_OUT")
    os.environ["DAYBEFORE_OUT"] = str(Path(folder).resolve())
    try:
        yield
    finally:
        os.environ.pop("DAYBEFORE_OUT")
        os.environ.update({} if before is None else {"DAYBEFORE_OUT": before})


def locate_input(relative: str | Path) -> Path:
    """Return a file to read, from `DAYBEFORE_OUT` when it holds one, else from the repository.

    Raises FileNotFoundError that says which target makes it.
    """
    out: str | Path | None = os.environ.get("DAYBEFORE_OUT")
    if not out and str(relative).startswith(DRAWN):
        out = find_foreign()
    for base in (out, ROOT):
        if base and (Path(base) / relative).exists():
            return Path(base) / relative
    raise FileNotFoundError(f"{relative} is not there; `make figures` builds it")


def write_table(name: str, table: pd.DataFrame, window: str, room: str = "tables") -> Path:
    """Check a table and write it to data/<room>/<window>/<name>.csv.gz; same rows, same bytes.
    Returns the path.

    Raises what `check_table` and `check_held` do.
    """
    path = locate_output(f"data/{room}/{window}/{name}.csv.gz")
    check_held(name, table)
    text = check_table(name, table).to_csv(index=False, lineterminator="\n")
    with (
        open(path, "wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out,
    ):
        out.write(text.encode())
    return path


def check_held(name: str, table: pd.DataFrame) -> None:
    """Raise ValueError for a pages or traces table that holds text of a page whose text is not ours
    to store.

    >>> check_held("pages", pd.DataFrame({"page_id": ["n1"], "title": ["sha256:4e07408562be"]}))
    >>> check_held("traces", pd.DataFrame({"page_ids": ['["n1"]'], "content": ["A page says ..."]}))
    Traceback (most recent call last):
        ...
    ValueError: traces, row 1: content holds text of news; agents.exports puts digests in its place
    """
    ids, column = {"pages": ("page_id", "title"), "traces": ("page_ids", "content")}.get(
        name, (None, None)
    )
    if ids not in table or column not in table:
        return
    is_held = table[ids].astype("string").str.contains(f'^{HELD}|"{HELD}', na=False)
    is_text = ~table[column].astype("string").str.startswith(DIGEST).fillna(True).astype(bool)
    for row in (is_held & is_text).to_numpy().nonzero()[0][:1]:
        raise ValueError(
            f"{name}, row {row + 1}: {column} holds text of news; agents.exports puts digests in its place"
        )


def read_table(name: str, window: str, room: str = "tables") -> pd.DataFrame:
    """Read a stage's table as written by `write_table`; JSON columns stay text (`parse_json` opens
    them).

    Raises FileNotFoundError when it is not there, ValueError naming the file when it is damaged.
    """
    path = f"data/{room}/{window}/{name}.csv.gz"
    found = locate_input(path)
    about = found.stat()
    return read_checked(name, path, found, about.st_mtime_ns, about.st_size).copy()


@lru_cache(maxsize=16)
def read_checked(name: str, path: str, found: Path, *_: int) -> pd.DataFrame:
    """Return the table of a file, read and checked once for each of its states (time and size)."""
    try:
        table = pd.read_csv(found, low_memory=False)
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        said = str(error).strip()
        raise ValueError(
            f"{path} cannot be read ({said}); restore it, or delete it and `make figures` again"
        ) from None
    return check_table(name, table)


def parse_json(cell: Any) -> Any:
    """Open a JSON cell; a blank cell is None.

    >>> parse_json('["A"]'), parse_json(float("nan")), parse_json("")
    (['A'], None, None)
    """
    return None if cell is None or cell == "" or cell != cell else json.loads(cell)


def parse_object(text: str | None) -> dict:
    """Return the JSON object that a text holds, {} when it holds none.

    >>> parse_object('{"a": 1}'), parse_object("[1]"), parse_object("I think"), parse_object(None)
    ({'a': 1}, {}, {}, {})
    """
    text = text or ""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    value = clean_value(value) if "\\ud" in text.lower() else value
    return value if isinstance(value, dict) else {}


def clean_value(value: Any) -> Any:
    """Return a value (text, numbers, numpy's too, lists and dicts of them) as JSON and SQLite can
    hold it.

    Half a surrogate pair becomes "?", a whole number that no 64 bits hold a float, one that is not
    finite None.

    >>> clean_value({"said": "a\\ud800b", "n": [2**70, float("nan"), 3]})
    {'said': 'a?b', 'n': [1.1805916207174113e+21, None, 3]}
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {clean_value(key): clean_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, int | float) and not abs(value) < 2**63:
        return float(value) if abs(value) < sys.float_info.max else None
    return value


def dump_json(value: object) -> str | None:
    """Write a value as compact JSON with sorted keys, so equal values are equal text; None is a
    blank cell.

    >>> dump_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return (
        None
        if value is None
        else json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    )


def hash_text(text: str, length: int = 64) -> str:
    """Return the first `length` hex digits of a text's sha256.

    >>> hash_text("a", 8)
    'ca978112'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:length]


STORE = "data/runs/store.sqlite"
"""Where requests, runs, replies, predictions and traces are kept as they come, in the repository or
`DAYBEFORE_OUT`.

Write-ahead log and `synchronous=FULL`: what was stored survives a kill at any moment. Ignored by
git.
"""
