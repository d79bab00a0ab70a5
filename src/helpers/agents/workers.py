"""Ask agents about events within a deadline a question: those that cost nothing in turn, all others in threads.

Everything an agent does ends as rows for the store: an answer, a refusal, an exception, a hang. `Watch` says when a
run is to stop, and why.
"""

import os
import signal
import threading
import time
from collections import deque
from contextlib import contextmanager
from datetime import UTC, datetime
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
    """Return a value as the store keeps it: containers as JSON, numpy numbers as plain ones, NaN as None.

    What no column holds is cleaned (`clean_value`); anything else is its text.

    >>> to_cell([1, 2]), to_cell(float("nan")), to_cell(0.5)
    ('[1,2]', None, 0.5)
    """
    if isinstance(value, list | tuple | dict):
        return dump_json(clean_value(value))
    value = value.item() if hasattr(value, "item") else value
    return clean_value(value if value is None or isinstance(value, str | int | float) else str(value))


def to_cells(row):
    """Return a row (a dict) as the store keeps it; in columns of counts, seconds and US dollars numbers of 0 or more.

    >>> to_cells({"cost_usd": "0.25", "n_input_tokens": -3, "model_s": "much", "tool": "search"})
    {'cost_usd': 0.25, 'n_input_tokens': None, 'model_s': None, 'tool': 'search'}
    """
    cells = {}
    for column, value in row.items():
        is_amount = column.startswith("n_") or column.endswith(("_s", "_usd"))
        cells[column] = to_amount(value) if is_amount else to_cell(value)
    return cells


def to_amount(value):
    """Return a number of 0 or more, None for what is none."""
    try:
        number = value if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < 2**63 else None


def check_columns(table, row):
    """Return a row whose columns all belong to a table. Raises ValueError naming the first that does not."""
    known = list_columns(table)
    unknown = [column for column in row if column not in known]
    if unknown:
        raise ValueError(f"the {table} table has no column {unknown[0]!r}")
    return row


def make_rows(run, event, outcome, duration_s=None):
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
    reply = key | end | {"reply": text, "duration_s": duration_s} | to_cells({c: outcome.get(c) for c in USAGE})
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
    try:
        rows = make_rows(run, event, hide_secrets(forecast(dict(event), world), secrets))
    except (Exception, SystemExit) as error:  # whatever one question raises must not stop the others
        rows = make_rows(run, event, fail("error", describe_error(error, secrets)))
    rows[0].update(started_at=started_at, duration_s=round(time.perf_counter() - clock, 6))
    return rows


def run_in_threads(tasks, forecasts, world, watch, deadline_s, workers, secrets=()):
    """Yield the rows of each task, ((run_id, agent_id), event), as they come, with `workers` threads at once.

    A thread cannot be killed: past the deadline its question is a timeout, its late answer is dropped and another
    question starts in its place. `watch` (`Watch`) says how many may be at work, none once the run is stopped;
    those under way, which it sees, come to their ends.
    """
    tasks, arrivals, under_way = deque(enumerate(tasks)), SimpleQueue(), watch.under_way
    heard_at = time.monotonic()

    def answer(number, run, event):
        arrivals.put((number, ask_agent(forecasts[run[1]], run, event, world, secrets)))

    while under_way or (tasks and watch.allow(workers)):
        while tasks and len(under_way) < watch.allow(workers):
            number, task = tasks.popleft()
            under_way[number] = task, time.monotonic() + deadline_s
            threading.Thread(target=answer, args=(number, *task), daemon=True).start()
        oldest = next(iter(under_way))  # all have the same deadline, so it ends first
        task, limit = under_way[oldest]
        reminds_at = heard_at + WAITING_S[not watch.is_trying] if watch.remind else limit
        try:
            number, rows = arrivals.get(timeout=max(0, min(limit, reminds_at) - time.monotonic()))
        except Empty:
            if (left := limit - time.monotonic()) > 0:
                watch.remind(left)
            else:
                del under_way[oldest]
                yield make_rows(*task, fail("timeout", f"no answer within {deadline_s:g} s"), duration_s=deadline_s)
        else:
            if under_way.pop(number, None):
                yield rows
        heard_at = time.monotonic()


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
        self.cause, self.reason, self.under_way, self.remind = None, None, {}, remind

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
    seconds = max(0, max(limit for _, limit in watch.under_way.values()) - now)
    again = "a second Ctrl-C" if number == signal.SIGINT else "a second signal"
    told = f"stopping: no further question is asked; {what} under way and will be stored as {end}, in {seconds:.0f} s"
    told += f" at most; {again} stops at once, and what has not been answered by then is asked, and may be paid, again"
    return f"\n{told}\n"


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
