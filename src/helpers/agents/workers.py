"""Ask agents about events within a deadline a question: those that cost nothing in turn, all others in threads.

Everything an agent does ends as rows for the store: an answer, a refusal, an exception, a hang. `Watch` says when a
run is to stop, and why: accidents in a row, a ceiling, a spent quota, Ctrl-C.
"""

import math
import os
import signal
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from queue import Empty, SimpleQueue

from helpers.models.failures import NO_CREDIT, fail
from helpers.models.secrets import hide_secrets, redact
from helpers.store import FIRST_FAILURES, STRIKES, clean_value, dump_json, hash_text
from helpers.tables import REPLY_STATUSES, list_columns

USAGE = ("n_input_tokens", "n_output_tokens", "n_cached_tokens", "cost_usd", "finish_reason", "model_s")
"""What a reply may say about its cost; `model_s` are the seconds of duration_s that the model's server took."""

WAITING_S = (10, 60)
"""Seconds after which a run says that it waits for its first reply, and those between two such words."""


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


def receive(arrivals, limit, remind=None, is_first=True):
    """Return what arrives first; raises Empty when nothing does before `limit`, a moment of time.monotonic().

    `remind(seconds)` is called now and then (`WAITING_S`; `is_first`: sooner) with the seconds that are left.
    """
    due = time.monotonic() + WAITING_S[not is_first] if remind else math.inf
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
    question starts in its place. `watch` (`Watch`) says how many may be at work, none once the run is stopped;
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
            number, rows = receive(arrivals, limit, watch.remind, watch.is_trying)
        except Empty:
            del under_way[oldest]
            yield make_rows(*task, fail("timeout", f"no answer within {deadline_s:g} s"), duration_s=deadline_s)
        else:
            if under_way.pop(number, None):
                yield rows


# --- when a run stops ------------------------------------------------------------------------------------------------

STOPS = (signal.SIGINT, signal.SIGTERM)
"""What a person, or who started us, stops a run with."""


class Stopped(RuntimeError):
    """A run was stopped before its last question; `cause` is "first", "accidents", "ceiling", "credit" or "signal".

    `run_ids` are as `run_agents` returns them.
    """

    def __init__(self, cause, reason, run_ids):
        super().__init__(reason)
        self.cause, self.run_ids = cause, run_ids


class Watch:
    """Looks at what arrives, and says when a run is to stop and why. `under_way` holds the questions being asked.

    `remind(seconds)`, or None, is called while a reply takes its time.
    """

    def __init__(self, max_accidents=None, tries_first=False, remind=None):
        self.max_accidents, self.is_trying, self.n_in_row = max_accidents, tries_first, 0
        self.cause, self.reason, self.under_way, self.remind, self.seconds = None, None, {}, remind, []

    def stop(self, cause, reason):
        """Stop the run; the first cause is kept."""
        if self.cause is None:
            self.cause, self.reason = cause, reason

    def allow(self, workers):
        """Return how many questions may be under way: none once stopped, one until the first has its reply."""
        return 0 if self.cause else 1 if self.is_trying else workers

    def judge(self, reply):
        """Count a reply, stop the run where it is due, and say whether the reply is to be stored.

        What a ceiling or a spent quota kept from being asked is none, nor a first question that could not be asked.
        """
        status, reason = reply["status"], reply["reason"]
        self.seconds.append(reply.get("duration_s") or 0)
        self.n_in_row = self.n_in_row + 1 if status in STRIKES else 0
        if status == "over_budget":
            is_own = not (reason or "").startswith(NO_CREDIT)
            self.stop("ceiling" if is_own else "first" if self.is_trying else "credit", reason)
            return False
        if self.is_trying and status in FIRST_FAILURES:
            self.stop("first", reason + "; the same command asks it, and may pay it, again" * (status == "timeout"))
            return status == "unreadable"  # which may have been paid, and is not asked again by itself
        self.is_trying = False
        if self.max_accidents and self.n_in_row >= self.max_accidents:
            self.stop("accidents", f"{self.n_in_row} accidents in a row, the last: {reason}")
        return True


def describe_stop(watch, number):
    """Return what a run says at its first signal: what is under way, for how long at most, what a second one does."""
    n, now = len(watch.under_way), time.monotonic()
    if not n:
        return "\nstopping\n"
    what, end = ("1 question is", "it ends") if n == 1 else (f"{n} questions are", "they end")
    longest, waited = max(watch.seconds, default=0), max(now - begun for _, _, begun in watch.under_way.values())
    usual = f", most likely within {longest:.0f} s" * bool(longest)
    if longest and waited > longest:
        usual = f" (one has waited {waited:.0f} s, where earlier took {longest:.0f} s at most: its server may hang)"
    seconds = max(0, max(limit for _, limit, _ in watch.under_way.values()) - now)
    again = "a second Ctrl-C" if number == signal.SIGINT else "a second signal"
    told = f"stopping: no further question is asked; {what} under way and will be stored as {end}{usual}, in "
    told += f"{seconds:.0f} s at most; {again} stops at once, and what has not been answered by then is asked, and may "
    return f"\n{told}be paid, again\n"


@contextmanager
def heed_signals(watch):
    """Stop a run at the first SIGINT (Ctrl-C) or SIGTERM, raise KeyboardInterrupt at the second; in the main thread.

    A line on standard error says what is under way and what a second one costs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        if watch.cause == "signal":
            raise KeyboardInterrupt
        os.write(2, describe_stop(watch, number).encode())  # print is not safe here: it may be at work itself
        watch.stop("signal", "stopped by Ctrl-C" if number == signal.SIGINT else "stopped by SIGTERM")

    before = {number: signal.signal(number, stop) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
