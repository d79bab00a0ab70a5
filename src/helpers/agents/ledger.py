"""The run ledger: one SQLite file that keeps runs, replies, predictions and traces as they come.

Write-ahead log and `synchronous=FULL`: what was stored survives a kill at any moment. The keys are those of
`store.TABLES`, so nothing is stored twice; the rows of one question go in together or not at all, so no prediction is
without its trace.
"""

import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import pandas as pd
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from helpers.columns import REPLY_STATUSES
from helpers.store import TABLES, list_columns

LEDGER = "data/runs/ledger.sqlite"
"""Where the live ledger is, under the repository or `DAYBEFORE_OUT`; ignored by git."""

KEPT = ("runs", "replies", "predictions", "traces")
"""The tables that a ledger holds."""

ACCIDENTS = ("error", "over_budget")
"""Statuses of a reply that is none: something broke on the way, or the question was not asked. A run asks it again."""

DOUBTFUL = ("timeout", "unreadable")
"""Statuses of replies that may have been paid but hold nothing: asked again when that is said (RETRY=1) only."""

STRIKES = ("error", "unreadable")
"""Statuses of which so many in a row tell that an agent's server is gone, or its key."""

FIRST_FAILURES = (*DOUBTFUL, "error", "unsupported")
"""Statuses of a first question that tell of a wrong setting, or a server that is gone."""

WAIT_S = 30
"""Seconds that a process waits for its turn at a ledger."""

TIMINGS = ("started_at", "duration_s", "model_s")
"""Columns that differ from one execution to the next; they never enter a file that is compared."""


def write_create_sql(name):
    """Return the SQL that makes one of the store's tables; columns have no type, so values come back as stored.

    >>> write_create_sql("acquisitions")
    'CREATE TABLE IF NOT EXISTS acquisitions (event_id NOT NULL, attempted_at NOT NULL, status, page_id, reason, \
PRIMARY KEY (event_id, attempted_at))'
    """
    key, rest = TABLES[name]
    columns = [f"{column} NOT NULL" for column in key] + rest.split() + [f"PRIMARY KEY ({', '.join(key)})"]
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)})"


def open_ledger(path):
    """Open a ledger, making its file and tables when absent; returns a `sqlite3.Connection`.

    A column that `store.TABLES` has gained since the file was made is added. Several processes may open it and write
    at once: each waits up to WAIT_S for its turn. Raises ValueError for a file that is no ledger, or a damaged one,
    before anything is asked; it is left as it is.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # SQLite does not wait, whatever its timeout, where two connections switch a new file to the write-ahead log
    patient = Retrying(
        retry=retry_if_exception(is_locked), wait=wait_random(0.01, 0.1), stop=stop_after_delay(WAIT_S), reraise=True
    )
    with name_problem(path):
        return patient(connect_ledger, path)


@contextmanager
def name_problem(path):
    """Raise, for what SQLite says of a ledger while the block runs, ValueError that names the file and says what to do.

    A ledger that others hold for too long, or a row that its table does not take, is not of this kind.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        name = Path(path).name
        if is_locked(error) or isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        if "is full" in str(error) or "disk I/O" in str(error) or "unable to open" in str(error):
            said = f"{name} takes no more rows ({error}); make room on the disk and run again"
            raise ValueError(f"{said}: what was stored is kept") from None
        raise ValueError(f"{name} cannot be read ({error}); move it away, and the next run makes a new one") from None


def is_locked(error):
    """Say whether SQLite refused because another connection was at work."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def connect_ledger(path):
    """Return a connection to a ledger that has all its tables and columns."""
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    try:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(" ".join(found.split()))
        if any(list_absent(connection, name) for name in KEPT):
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                for name in KEPT:
                    connection.execute(write_create_sql(name))
                    for column in list_absent(connection, name):
                        connection.execute(f"ALTER TABLE {name} ADD COLUMN {column}")
    except BaseException:
        connection.close()
        raise
    return connection


def list_absent(connection, name):
    """Return the columns of one of the store's tables that a ledger does not have yet."""
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
    return [column for column in list_columns(name) if column not in present]


def insert_row(connection, name, row):
    """Insert one row (a dict) unless its key is there already; returns whether it was inserted."""
    blanks = ", ".join("?" * len(row))
    sql = f"INSERT INTO {name} ({', '.join(row)}) VALUES ({blanks}) ON CONFLICT DO NOTHING"
    return connection.execute(sql, list(row.values())).rowcount == 1


def save_questions(connection, batch, again=ACCIDENTS):
    """Store questions' rows, (reply, prediction, trace) each, in one transaction; returns how many are new.

    A question whose reply is there already is left as it is, unless that reply's status is one of `again`.
    """
    n_new = 0
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for reply, prediction, trace in batch:
            is_new = insert_row(connection, "replies", reply)
            if not is_new and drop_question(connection, reply, again):
                is_new = insert_row(connection, "replies", reply)
            if is_new:
                n_new += 1
                insert_row(connection, "predictions", prediction)
                for step in trace:
                    insert_row(connection, "traces", step)
    return n_new


def drop_question(connection, reply, again):
    """Take out a question's rows when the status of its stored reply is one of `again`; returns whether it was."""
    key = [reply[column] for column in ("run_id", "event_id", "sample")]
    where = "WHERE run_id = ? AND event_id = ? AND sample = ?"
    sql = f"DELETE FROM replies {where} AND status IN ({', '.join('?' * len(again))})"
    is_out = connection.execute(sql, [*key, *again]).rowcount == 1
    if is_out:
        for table in ("predictions", "traces"):
            connection.execute(f"DELETE FROM {table} {where}", key)
    return is_out


def save_run(connection, run):
    """Store a run's row (a dict) when it is new."""
    with connection:
        insert_row(connection, "runs", run)


def close_run(connection, run_id, n_questions):
    """Set a run's tokens, cost (US dollars) and status: 'complete' with `n_questions` replies, else 'partial'.

    Accidents are no replies.
    """
    sql = f"""
        UPDATE runs SET (status, n_tokens, cost_usd) = (
            SELECT iif(sum(status NOT IN {ACCIDENTS}) >= :n, 'complete', 'partial'),
                   sum(coalesce(n_input_tokens, 0) + coalesce(n_output_tokens, 0)), round(sum(cost_usd), 9)
            FROM replies WHERE run_id = :run)
        WHERE run_id = :run"""
    with connection:
        connection.execute(sql, {"run": run_id, "n": n_questions})


def list_done(connection, run_id, again=ACCIDENTS):
    """Return the (event_id, sample) that a run has a reply for, as a set; one whose status is among `again` is none."""
    sql = f"SELECT event_id, sample FROM replies WHERE run_id = ? AND status NOT IN ({', '.join('?' * len(again))})"
    return set(connection.execute(sql, [run_id, *again]))


def count_stored(path, run_ids, statuses=REPLY_STATUSES):
    """Return how many replies of some statuses a ledger holds of some runs."""
    given = list(run_ids), list(statuses)
    marks = [", ".join("?" * len(values)) for values in given]
    sql = f"SELECT count(*) FROM replies WHERE run_id IN ({marks[0]}) AND status IN ({marks[1]})"
    with name_problem(path), closing(open_ledger(path)) as connection:
        return connection.execute(sql, sum(given, [])).fetchone()[0]


def sum_costs(connection, run_ids):
    """Return what some runs have cost so far, in US dollars."""
    marks = ", ".join("?" * len(run_ids))
    sql = f"SELECT coalesce(sum(cost_usd), 0) FROM replies WHERE run_id IN ({marks})"
    return connection.execute(sql, list(run_ids)).fetchone()[0]


def read_runs(path, table, run_ids=None, timings=False):
    """Return one of a ledger's tables (runs, replies, predictions, traces) as a DataFrame sorted by its key.

    `run_ids` keeps only those runs, None keeps all. The columns of TIMINGS come only with
    `timings=True`: without them two executions of one run give equal tables. Raises KeyError for another table,
    FileNotFoundError for an absent file and LookupError for a run that is not in the ledger.
    """
    if table not in KEPT:
        raise KeyError(f"the ledger has no table {table!r}; it holds {', '.join(KEPT)}")
    if not Path(path).exists():
        raise FileNotFoundError(f"no ledger at {Path(path).name}; `make run AGENT=last_value` makes one")
    columns = [c for c in list_columns(table) if timings or c not in TIMINGS]
    with name_problem(path), closing(open_ledger(path)) as connection:
        known = {row[0] for row in connection.execute("SELECT run_id FROM runs")}
        wanted = sorted(known if run_ids is None else set(run_ids))
        if set(wanted) - known:
            raise LookupError(
                f"no run {sorted(set(wanted) - known)[0]!r} in the ledger; read_runs(path, 'runs') lists them"
            )
        marks, key = ", ".join("?" * len(wanted)), ", ".join(TABLES[table][0])
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE run_id IN ({marks}) ORDER BY {key}"
        return pd.DataFrame(connection.execute(sql, wanted).fetchall(), columns=columns)
