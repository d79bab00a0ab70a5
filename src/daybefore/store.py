"""The SQLite store of runs: what was asked, what came back, what it cost; and how a damaged one is put
together again, from the copy of the last run's end (`keep_copy`) and what can still be read of it."""

import contextlib
import json
import os
import sqlite3
import time
from pathlib import Path

import pandas as pd

from helpers.tables import OPTIONAL, REPLY_STATUSES, TABLES, list_columns

KEPT = ("runs", "replies", "predictions", "traces")
"""The tables of `TABLES` that the store holds, with their keys."""

SCHEMA = [
    "CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, run NOT NULL, key NOT NULL, bound_usd, recording)",
    "CREATE INDEX IF NOT EXISTS requests_run ON requests (run)",
    "CREATE TABLE IF NOT EXISTS batches (tag PRIMARY KEY, run NOT NULL, batch_id, n, bound_usd)",
    *(
        f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(f'{column} NOT NULL' for column in key)}, "
        f"{', '.join(rest.split())}, PRIMARY KEY ({', '.join(key)}))"
        for name in KEPT
        for key, rest in [TABLES[name]]
    ),
]
"""The SQL that makes the tables; columns have no type, so values come back as stored.

`requests` is what was asked of models (`models.recordings`): a row stands there before its request
goes out; `batches` are those under way at a provider (`models.batches`), each there before it is
submitted.
"""

ACCIDENTS = ("error", "over_budget")
"""Statuses of a reply that is none: something broke on the way, or the question was not asked. A
run asks it again."""

DOUBTFUL = ("timeout", "unreadable")
"""Statuses of replies that may have been paid but hold nothing: asked again when that is said
(RETRY=1) only."""

STRIKES = ("error", "unreadable")
"""Statuses of which so many in a row tell that an agent's server is gone, or its key."""

FIRST_FAILURES = (*DOUBTFUL, "error", "unsupported")
"""Statuses of a first question that tell of a wrong setting, or a server that is gone."""

WAIT_S = 30
"""Seconds that a process waits for its turn at the store."""

TIMINGS = ("started_at", "duration_s", "model_s")
"""Columns that differ from one execution to the next; they never enter a file that is compared."""


@contextlib.contextmanager
def name_problem(path):
    """Raise, for what SQLite says of a store while the block runs, ValueError that names the file
    and says what to do.

    A store that others hold for too long, or a row that its table does not take, is not of this
    kind.
    """
    try:
        yield
    except (
        sqlite3.DatabaseError,
        UnicodeDecodeError,
    ) as error:  # also where damage stands in SQLite's own words
        name = Path(path).name
        if "locked" in str(error) or isinstance(
            error, sqlite3.IntegrityError | sqlite3.ProgrammingError
        ):
            raise
        if "readonly" in str(error) or is_forbidden(path):
            way = "let this user write it and its folder, or set DAYBEFORE_OUT to a folder that can be written"
            raise ValueError(f"{name} may not be read or written here ({error}): {way}") from None
        if any(words in str(error) for words in ("is full", "disk I/O", "unable to open")):
            said = f"{name} takes no more rows ({error}); make room on the disk and run again"
            raise ValueError(f"{said}: what was stored is kept") from None
        way = f"`daybefore recover {path}` puts together what can be read of it and the last run's copy"
        raise ValueError(
            f"{name} cannot be read ({error}); it is left as it is, and {way}"
        ) from None


def is_forbidden(path) -> bool:
    """Say whether a store's file or folder may not be read and written by this user."""
    path = Path(path)
    return not os.access(path if path.exists() else path.parent, os.R_OK | os.W_OK)


def open_store(path):
    """Open a store, making its file and tables when absent; returns a `sqlite3.Connection`.

    A column that `TABLES` has gained since is added. Several processes may open it and write at
    once: each waits up to WAIT_S for its turn. Raises ValueError for a file that is no store, or a
    damaged one; it is left as it is.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + WAIT_S
    while True:  # SQLite does not wait, whatever its timeout, where two connections switch a new file to the log
        try:
            with name_problem(path):
                return connect_store(path)
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


CHECKED = set()
"""Stores that this process has found whole: reading all of a large one takes seconds, and once is
enough."""


def connect_store(path):
    """Return a connection to a store that has all its tables and columns."""
    connection = sqlite3.connect(
        path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        if (
            path not in CHECKED
            and (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok"
        ):
            raise sqlite3.DatabaseError(" ".join(found.split()))
        CHECKED.add(path)
        for statement in SCHEMA:
            connection.execute(statement)
        for name in KEPT:
            present = {column for _, column, *_ in connection.execute(f"PRAGMA table_info({name})")}
            for column in {*list_columns(name), *OPTIONAL.get(name, ())} - present:
                with contextlib.suppress(sqlite3.OperationalError):  # another process has added it
                    connection.execute(f"ALTER TABLE {name} ADD COLUMN {column}")
    except BaseException:
        connection.close()
        raise
    return connection


def insert_row(connection, name, row):
    """Insert one row (a dict) unless its key is there already; returns whether it was inserted."""
    sql = f"INSERT INTO {name} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))}) ON CONFLICT DO NOTHING"
    return connection.execute(sql, list(row.values())).rowcount == 1


def save_questions(connection, batch, again=ACCIDENTS):
    """Store questions' rows, (reply, prediction, trace) each, in one transaction; returns how many
    are new.

    A question whose reply is there already is left as it is, unless that reply's status is one of
    `again`: then its rows give way to the new ones.
    """
    n_new = 0
    where = "WHERE run_id = ? AND event_id = ? AND sample = ?"
    drop = f"DELETE FROM replies {where} AND status IN ({', '.join('?' * len(again))})"
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for reply, prediction, trace in batch:
            is_new = insert_row(connection, "replies", reply)
            key = [reply[c] for c in TABLES["replies"][0]]
            if not is_new and connection.execute(drop, [*key, *again]).rowcount:
                for table in ("predictions", "traces"):
                    connection.execute(f"DELETE FROM {table} {where}", key)
                is_new = insert_row(connection, "replies", reply)
            if is_new:
                n_new += 1
                insert_row(connection, "predictions", prediction)
                for step in trace:
                    insert_row(connection, "traces", step)
    return n_new


def close_run(connection, run_id, n_questions):
    """Set a run's tokens, cost (US dollars) and status: 'complete' with `n_questions` replies, else
    'partial'.

    Accidents are no replies.
    """
    sql = f"""
        UPDATE runs SET (status, n_tokens, cost_usd) = (
            SELECT iif(sum(status NOT IN {ACCIDENTS}) >= :n, 'complete', 'partial'),
                   sum(coalesce(n_input_tokens, 0) + coalesce(n_output_tokens, 0)), round(sum(cost_usd), 9)
            FROM replies WHERE run_id = :run)
        WHERE run_id = :run"""
    connection.execute(sql, {"run": run_id, "n": n_questions})


def list_done(connection, run_id, again=ACCIDENTS):
    """Return the (event_id, sample) that a run has a reply for, as a set; one whose status is among
    `again` is none."""
    sql = f"SELECT event_id, sample FROM replies WHERE run_id = ? AND status NOT IN ({', '.join('?' * len(again))})"
    return set(connection.execute(sql, [run_id, *again]))


def count_stored(path, run_ids, statuses=REPLY_STATUSES):
    """Return how many replies of some statuses a store holds of some runs."""
    given = list(run_ids), list(statuses)
    marks = [", ".join("?" * len(values)) for values in given]
    sql = f"SELECT count(*) FROM replies WHERE run_id IN ({marks[0]}) AND status IN ({marks[1]})"
    with name_problem(path), contextlib.closing(open_store(path)) as connection:
        return connection.execute(sql, sum(given, [])).fetchone()[0]


def sum_costs(connection, run_ids):
    """Return what some runs have cost so far, in US dollars."""
    sql = f"SELECT coalesce(sum(cost_usd), 0) FROM replies WHERE run_id IN ({', '.join('?' * len(run_ids))})"
    return connection.execute(sql, list(run_ids)).fetchone()[0]


def read_runs(path, table, run_ids=None, timings=False):
    """Return one of a store's tables (runs, replies, predictions, traces) as a DataFrame sorted by
    its key.

    `run_ids` keeps only those runs, None keeps all. The columns of TIMINGS come only with
    `timings=True`: without them two executions of one run give equal tables. Raises
    FileNotFoundError for an absent file, LookupError for a run that is not in the store.
    """
    if not Path(path).exists():
        raise FileNotFoundError(
            f"no {Path(path).name} there; `make run AGENT=last_value` makes one"
        )
    columns = [c for c in list_columns(table) if timings or c not in TIMINGS]
    with name_problem(path), contextlib.closing(open_store(path)) as connection:
        known = {row[0] for row in connection.execute("SELECT run_id FROM runs")}
        wanted = sorted(known if run_ids is None else set(run_ids))
        if absent := sorted(set(wanted) - known):
            raise LookupError(
                f"no run {absent[0]!r} in the store; read_runs(path, 'runs') lists them"
            )
        marks = ", ".join("?" * len(wanted))
        key = ", ".join(TABLES[table][0])
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE run_id IN ({marks}) ORDER BY {key}"
        return pd.DataFrame(connection.execute(sql, wanted).fetchall(), columns=columns)


# --- a damaged store, put together again ------------------------------------------------------------

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
    with (
        contextlib.closing(sqlite3.connect(path)) as store,
        contextlib.closing(sqlite3.connect(beside)) as copy,
    ):
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
    with contextlib.closing(open_store(fresh)) as store:
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
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).replace(damaged.with_name(damaged.name + ending))
    fresh.replace(path)
    return counts | {"damaged": damaged.name}


def take_rows(store, source):
    """Write what can be read of a file's rows to a store; those that it does not take are left
    out."""
    for name in STORED:
        known = [row[1] for row in store.execute(f"PRAGMA table_info({name})")]
        with contextlib.closing(sqlite3.connect(source)) as old:
            for row in read_rows(old, name):
                columns = [column for column in known if column in row]
                sql = f"INSERT OR REPLACE INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
                with contextlib.suppress(sqlite3.Error, ValueError):
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
    sql = f"SELECT rowid AS at, * FROM {name} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT 1"
    at = 1
    n_lost = 0
    while n_lost < MOST_LOST:
        try:
            cursor = old.execute(sql, [at])
            found = cursor.fetchone()
            is_read = found is None or found[0] >= at
        except (sqlite3.Error, UnicodeDecodeError):
            is_read = False
        if not is_read:
            at += 1
            n_lost += 1
            continue
        if found is None:
            return
        at = found[0] + 1
        n_lost = 0
        yield dict(zip([about[0] for about in cursor.description], found, strict=True))
