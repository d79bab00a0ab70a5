"""Ask agents about events within a deadline a question: those that cost nothing in turn, all others in threads.

Everything an agent does ends as rows for the store: an answer, a refusal, an exception, a hang.
"""

import math
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from queue import Empty, SimpleQueue

from helpers.models.failures import fail
from helpers.models.secrets import hide_secrets, redact
from helpers.store import clean_value, dump_json, hash_text
from helpers.tables import REPLY_STATUSES, list_columns

USAGE = ("n_input_tokens", "n_output_tokens", "n_cached_tokens", "cost_usd", "finish_reason", "model_s")
"""What a reply may say about its cost; `model_s` are the seconds of duration_s that the model's server took."""

WAITING_S = (10, 60)
"""Seconds after which a run says that it waits for its first reply, and then between two such words."""


def describe_error(error, secrets=()):
    """Return an exception's type, message and notes in a form that may be stored.

    >>> describe_error(KeyError("rate"))
    "KeyError: 'rate'"
    """
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
    return redact(f"{type(error).__name__}: {error}".removesuffix(": ") + notes, secrets)


def to_cell(value):
    """Return a value as the ledger keeps it: containers as JSON, numpy numbers as plain ones, NaN as None.

    What no column holds is cleaned (`clean_value`); a Decimal is a number, anything else its text.

    >>> to_cell([1, 2]), to_cell(float("nan")), to_cell(0.5), to_cell(Decimal("0.1"))
    ('[1,2]', None, 0.5, 0.1)
    """
    kind = type(value)
    if value is None or kind is bool or (kind is str and value.isascii()):
        return value
    if isinstance(value, list | tuple | dict):
        return dump_json(clean_value(value))
    value = value.item() if hasattr(value, "item") else float(value) if isinstance(value, Decimal) else value
    return clean_value(value if value is None or isinstance(value, str | int | float) else str(value))


def to_amount(value):
    """Return a count, duration or cost as the ledger keeps it: a number of 0 or more, else None.

    >>> to_amount(Decimal("0.5")), to_amount("0.25"), to_amount("much"), to_amount(-3), to_amount(2**70)
    (0.5, 0.25, None, None, None)
    """
    if value is None:
        return None
    cell = to_cell(value)
    try:
        cell = float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return None
    return cell if cell is not None and not isinstance(cell, bool) and 0 <= cell < 2**63 else None


def to_cells(row):
    """Return a row (a dict) as the ledger keeps it; columns whose names say so are amounts."""
    return {column: (to_amount if is_amount(column) else to_cell)(value) for column, value in row.items()}


@cache
def is_amount(column):
    """Say whether a column's name says that it holds counts, seconds or US dollars."""
    return column.startswith("n_") or column.endswith(("_s", "_usd"))


def check_columns(table, row):
    """Return a row whose columns all belong to a table. Raises ValueError naming the first that does not."""
    known = list_columns(table)
    unknown = [column for column in row if column not in known]
    if unknown:
        raise ValueError(f"the {table} table has no column {unknown[0]!r}")
    return row


def make_rows(run, event, outcome, started_at=None, duration_s=None):
    """Return a question's rows, (reply, prediction, trace), as dicts; `run` is (run_id, agent_id).

    `event` is its row; one of its repeats says which by `sample`, from 1. An agent that gives no trace gets one step,
    how it ended. Raises ValueError for an unknown status or column.
    """
    key = {"run_id": run[0], "event_id": event["event_id"], "sample": event.get("sample", 0)}
    status, given = outcome.get("status", "ok"), dict(outcome["prediction"])
    if status not in REPLY_STATUSES:
        raise ValueError(f"unknown status {status!r}; use one of {', '.join(REPLY_STATUSES)}")
    text = to_cell(outcome["reply"] if "reply" in outcome else dump_json(clean_value(given)))
    end = {"status": status, "reason": to_cell(outcome.get("reason"))}
    timing = {"started_at": started_at, "duration_s": duration_s}
    reply = key | end | timing | {"reply": text} | to_cells({c: outcome.get(c) for c in USAGE})
    value = given.get("value")
    given["value"] = to_cell(value) if isinstance(value, list | tuple | dict) else dump_json(to_cell(value))
    origin = {
        "agent_id": run[1],
        "as_of": event["as_of"],
        "reply_sha256": None if text is None else hash_text(text, 12),  # digits do not compress
    }
    prediction = key | origin | end | {column: to_cell(v) for column, v in given.items()}
    steps = outcome.get("trace") or [{"actor": run[1], "step_type": "end", "error": end["reason"]}]
    trace = [key | {"step": i} | to_cells(step) for i, step in enumerate(steps)]
    return reply, check_columns("predictions", prediction), [check_columns("traces", step) for step in trace]


def ask_agent(forecast, run, event, world, secrets=()):
    """Ask an agent about one event; returns the question's rows. An exception is status 'error' with its reason.

    `secrets` are hidden in all that it says.
    """
    started_at, clock = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()

    def measure():
        return started_at, round(time.perf_counter() - clock, 6)

    try:
        return make_rows(run, event, hide_secrets(forecast(dict(event), world), secrets), *measure())
    except (Exception, SystemExit) as error:  # whatever one question raises must not stop the others
        return make_rows(run, event, fail("error", describe_error(error, secrets)), *measure())


class WorldError(Exception):
    """The world could not be opened."""


def enter_world(opener, stack):
    """Return what `opener` gives, entered when it is a context manager. Raises WorldError."""
    try:
        world = opener()
        return stack.enter_context(world) if hasattr(world, "__enter__") else world
    except Exception as error:
        raise WorldError(f"the world did not open: {describe_error(error)}") from error


def receive(arrivals, limit, remind=None):
    """Return what arrives first; raises Empty when nothing does before `limit`, a moment of time.monotonic().

    `remind(seconds)` is called now and then (`WAITING_S`) with the seconds that are left.
    """
    due = time.monotonic() + WAITING_S[0] if remind else math.inf
    while (now := time.monotonic()) < limit:
        with suppress(Empty):
            return arrivals.get(timeout=min(limit, due) - now)
        if time.monotonic() >= due:
            remind(limit - due)
            due += WAITING_S[1]
    return arrivals.get_nowait()


def run_in_threads(tasks, forecasts, world, watch, deadline_s, workers, secrets=()):
    """Yield the rows of each task, ((run_id, agent_id), event), as they come, with `workers` threads at once.

    A thread cannot be killed: past the deadline its question is a timeout, its late answer is dropped and another
    question starts in its place. `watch` (`stops.Watch`) says how many may be at work, none once the run is stopped;
    those under way, which it sees, come to their ends.
    """
    tasks, arrivals, under_way = deque(enumerate(tasks)), SimpleQueue(), watch.under_way

    def answer(number, run, event):
        arrivals.put((number, ask_agent(forecasts[run[1]], run, event, world, secrets)))

    while under_way or (tasks and watch.allow(workers)):
        while tasks and len(under_way) < watch.allow(workers):
            number, task = tasks.popleft()
            begun = time.monotonic()
            under_way[number] = task, begun + deadline_s, begun
            threading.Thread(target=answer, args=(number, *task), daemon=True).start()
        oldest = next(iter(under_way))  # all have the same deadline, so it ends first
        task, limit, _ = under_way[oldest]
        try:
            number, rows = receive(arrivals, limit, watch.remind if watch.is_trying else None)
        except Empty:
            del under_way[oldest]
            yield make_rows(*task, fail("timeout", f"no answer within {deadline_s:g} s"), duration_s=deadline_s)
        else:
            if under_way.pop(number, None):
                yield rows
