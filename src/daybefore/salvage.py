"""A damaged store is put together again: from the copy of the last run's end, and what can still be
read of it.

`keep_copy` makes the copy. `recover_store` leaves the damaged file beside the new one.
"""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from daybefore.store import CHECKED, KEPT, open_store

COPY = ".kept"
"""What the name of a store's copy ends with."""

STORED = ("requests", "batches", *KEPT)
"""A store's tables."""


def keep_copy(path) -> Path:
    """Copy a whole store beside itself, in place of the last copy; returns where.

    Readers and writers go on meanwhile. Raises sqlite3.Error or OSError where it cannot be made.
    """
    path = Path(path)
    beside = path.with_name(f"{path.name}{COPY}.partial")
    beside.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as store, closing(sqlite3.connect(beside)) as copy:
        store.backup(copy)
    return beside.replace(path.with_name(path.name + COPY))


def recover_store(path) -> dict:
    """Make a damaged store anew and return {table: rows it holds now}, and `damaged`: the old
    file's name.

    Rows are those of the copy, then those that can be read of the damaged file, which hold where
    both have one. Raises FileNotFoundError without a store or a copy.
    """
    path = Path(path)
    copy = path.with_name(path.name + COPY)
    if not path.exists() and not copy.exists():
        raise FileNotFoundError(f"there is no {path.name} and no {copy.name} to recover")
    fresh = path.with_name(f"{path.name}.fresh")
    fresh.unlink(missing_ok=True)
    with closing(open_store(fresh)) as store:
        store.execute("BEGIN")
        for source in (copy, path):
            if source.exists():
                take_rows(store, source)
        store.execute("COMMIT")
        counts = {
            name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in STORED
        }
        store.execute("PRAGMA journal_mode=DELETE")  # all of it is in the one file that is moved
    CHECKED.discard(fresh)
    CHECKED.discard(path)
    number = 1
    while path.with_name(f"{path.name}.damaged-{number}").exists():
        number += 1
    damaged = path.with_name(f"{path.name}.damaged-{number}")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(damaged.with_name(damaged.name + ending))
    fresh.replace(path)
    return counts | {"damaged": damaged.name}


def take_rows(store, source):
    """Write what can be read of a file's rows to a store; those that it does not take are left
    out."""
    for name in STORED:
        known = [row[1] for row in store.execute(f"PRAGMA table_info({name})")]
        with closing(sqlite3.connect(source)) as old:
            for row in read_rows(old, name):
                columns = [column for column in known if column in row]
                sql = f"INSERT OR REPLACE INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
                with suppress(sqlite3.Error, ValueError):
                    json.loads(
                        row.get("recording") or "null"
                    )  # a page may be readable and hold nonsense
                    store.execute(sql, [row[column] for column in columns])


def read_rows(old, name):
    """Yield the rows of a table that can be read, as dicts; what is damaged is stepped over.

    A step doubles until a row is found behind the damage; from there it is read backwards, too.
    """
    last = 0
    step = 1
    good = 0
    while step < 2**40:
        try:
            found = read_next(old, name, "rowid > ? ORDER BY rowid", last)
        except (sqlite3.Error, UnicodeDecodeError):
            last = last + step
            step = 2 * step
            continue
        if step > 1:
            with suppress(sqlite3.Error, UnicodeDecodeError):
                before = read_next(old, name, "rowid <= ? ORDER BY rowid DESC", last)
                while before and before["at"] > good:
                    yield before
                    before = read_next(old, name, "rowid < ? ORDER BY rowid DESC", before["at"])
        if found is None:
            return
        last = found["at"]
        step = 1
        good = found["at"]
        yield found


def read_next(old, name, where, at):
    """Return a table's first row by a condition on its place, as a dict; None where there is
    none."""
    cursor = old.execute(
        f"SELECT rowid AS at, * FROM {name} NOT INDEXED WHERE {where} LIMIT 1", [at]
    )
    row = cursor.fetchone()
    return row and dict(zip([about[0] for about in cursor.description], row, strict=True))
