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

MOST_LOST = 100_000
"""Numbers of rows in a row that cannot be read, after which a table is taken to end."""

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
    """Yield the rows of a table that can be read, as dicts; what is damaged is stepped over, a row's
    number at a time, MOST_LOST of them at most. None of a file whose head cannot be read."""
    try:
        old.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError:
        return
    sql = f"SELECT rowid AS at, * FROM {name} NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT 1"
    last = 0
    n_lost = 0
    while n_lost < MOST_LOST:
        try:
            cursor = old.execute(sql, [last])
            found = cursor.fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            last += 1
            n_lost += 1
            continue
        if found is None:
            return
        last = found[0]
        n_lost = 0
        yield dict(zip([about[0] for about in cursor.description], found, strict=True))
