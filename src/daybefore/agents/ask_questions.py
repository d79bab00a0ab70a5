"""Ask agents about events within a deadline a question; everything an agent does ends as rows for
the store.

An answer, a refusal, an exception, a hang: each is a reply with its status. `Watch` says when a run
is to stop and why.
"""

import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial

from daybefore.limits import start
from daybefore.models.costs import USAGE
from daybefore.models.failures import NO_CREDIT, fail
from daybefore.models.secrets import hide_secrets, list_secrets, redact
from daybefore.store import FIRST_FAILURES, STRIKES
from helpers.files import clean_value, dump_json, hash_text
from helpers.tables import REPLY_STATUSES, list_columns

BATCH = 50
"""Answers of baselines that are stored at once."""


def describe_error(error, secrets=()):
    """Return an exception's type, message and notes in a form that may be stored."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
    return redact(f"{type(error).__name__}: {error}".removesuffix(": ") + notes, secrets)


def to_cell(value, column=""):
    """Return a value as the store keeps it: containers as JSON, numpy's numbers as plain ones, NaN
    as None.

    In columns of counts, seconds and US dollars stand numbers of 0 or more alone.

    >>> to_cell([1, 2]), to_cell(float("nan")), to_cell(0.5), to_cell(-3, "n_input_tokens")
    ('[1,2]', None, 0.5, None)
    """
    value = clean_value(value)
    if column.startswith("n_") or column.endswith(("_s", "_usd")):
        return value if isinstance(value, int | float) and value >= 0 else None
    if isinstance(value, list | dict):
        return dump_json(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


def check_columns(table, row):
    """Return a row whose columns all belong to a table. Raises ValueError naming the first that
    does not."""
    if unknown := [column for column in row if column not in list_columns(table)]:
        raise ValueError(f"the {table} table has no column {unknown[0]!r}")
    return row


def make_rows(run, event, outcome, duration_s=None):
    """Return a question's rows, (reply, prediction, trace), as dicts; `run` is (run_id, agent_id).

    `event` is its row; one of its repeats says which by `sample`, from 1. An agent that gives no
    trace gets one step, how it ended. Raises ValueError for an unknown status or column.
    """
    key = {"run_id": run[0], "event_id": event["event_id"], "sample": event.get("sample", 0)}
    end = {"status": outcome.get("status", "ok"), "reason": to_cell(outcome.get("reason"))}
    if end["status"] not in REPLY_STATUSES:
        raise ValueError(
            f"unknown status {end['status']!r}; use one of {', '.join(REPLY_STATUSES)}"
        )
    given = outcome["prediction"]
    text = to_cell(outcome["reply"]) if "reply" in outcome else dump_json(clean_value(given))
    used = {column: to_cell(outcome.get(column), column) for column in (*USAGE, "finish_reason")}
    reply = key | end | {"reply": text, "duration_s": duration_s} | used
    digest = None if text is None else hash_text(text, 12)  # digits do not compress
    prediction = key | {"agent_id": run[1], "as_of": event["as_of"], "reply_sha256": digest} | end
    prediction |= {column: to_cell(value) for column, value in given.items()}
    prediction["value"] = dump_json(clean_value(given.get("value")))
    steps = outcome.get("trace") or [{"actor": run[1], "step_type": "end", "error": end["reason"]}]
    trace = [
        key | {"step": i} | {c: to_cell(value, c) for c, value in step.items()}
        for i, step in enumerate(steps)
    ]
    return (
        reply,
        check_columns("predictions", prediction),
        [check_columns("traces", step) for step in trace],
    )


def ask_agent(forecast, run, event, world, secrets):
    """Return the rows of a question, asked, with `secrets` hidden. An exception is status 'error'
    with its reason."""
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    clock = time.perf_counter()
    try:
        rows = make_rows(run, event, hide_secrets(forecast(dict(event), world), secrets))
    except (
        Exception,
        SystemExit,
    ) as error:  # whatever one question raises must not stop the others
        rows = make_rows(run, event, fail("error", describe_error(error, secrets)))
    rows[0].update(started_at=started_at, duration_s=round(time.perf_counter() - clock, 6))
    return rows


def ask_all(tasks, agents, world, watch, deadline_s, workers):
    """Yield the rows of tasks, ((run_id, agent_id), event), in lists: of baselines BATCH, of others
    what has come.

    Baselines answer in turn, the others in threads. Past the deadline a question is a timeout, its
    late answer is dropped and another starts in its place. `watch` says how many of `workers`, a
    number or a `Pace`, may be at work, none once the run is stopped; those under way come to their
    ends.
    """
    secrets = list_secrets(os.environ)
    under_way = watch.under_way
    plain = []
    others = deque()

    def answer(run, event):
        return ask_agent(agents[run[1]]["forecast"], run, event, world, secrets)

    for run, event in tasks:
        (plain if agents[run[1]].get("category") == "baseline" else others).append((run, event))
    for at in range(0, len(plain), BATCH):
        if not watch.cause:
            yield [answer(*task) for task in plain[at : at + BATCH]]
    while True:
        while others and len(under_way) < watch.allow(workers):
            task = others.popleft()
            under_way[start(partial(answer, *task))] = task, time.monotonic() + deadline_s
        if not under_way:
            return
        oldest = next(iter(under_way))  # all have the same deadline, so it ends first
        come = wait(
            under_way, max(0, under_way[oldest][1] - time.monotonic()), FIRST_COMPLETED
        ).done
        rows = []
        for future in [future for future in under_way if future in come] or [oldest]:
            (run, event), _ = under_way.pop(future)
            late = fail("timeout", f"no answer within {deadline_s:g} s")
            rows.append(
                future.result() if come else make_rows(run, event, late, duration_s=deadline_s)
            )
        yield rows


# --- when a run stops -------------------------------------------------------------------------------


@contextmanager
def handle_stops(handler=signal.default_int_handler):
    """Have SIGINT and SIGTERM handled while the block runs, by default as Ctrl-C is, also where
    they were ignored."""
    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, handler))
        yield


class Stopped(RuntimeError):
    """A run was stopped before its last question; `cause` is "first", "accidents", "ceiling",
    "credit" or "signal"."""

    def __init__(self, cause, reason, run_ids):
        super().__init__(reason)
        self.cause = cause
        self.run_ids = run_ids


class Watch:
    """Looks at what arrives, and says when a run is to stop and why. `under_way` holds the
    questions being asked."""

    def __init__(self, max_accidents=None, tries_first=False):
        self.max_accidents = max_accidents
        self.is_trying = tries_first
        self.n_in_row = 0
        self.cause = None
        self.reason = None
        self.under_way = {}

    def stop(self, cause, reason):
        """Stop the run; the first cause is kept."""
        if self.cause is None:
            self.cause = cause
            self.reason = reason

    def allow(self, workers):
        """Return how many questions may be under way: none once stopped, one until the first has
        its reply."""
        if self.cause:
            return 0
        return 1 if self.is_trying else getattr(workers, "limit", workers)

    def judge(self, reply):
        """Count a reply, stop the run where it is due, and say whether the reply is to be stored.

        What a ceiling or a spent quota kept from being asked is none, nor a first question that
        could not be asked.
        """
        status = reply["status"]
        reason = reply["reason"]
        self.n_in_row = self.n_in_row + 1 if status in STRIKES else 0
        if status == "over_budget":
            spent = "first" if self.is_trying else "credit"
            self.stop(spent if (reason or "").startswith(NO_CREDIT) else "ceiling", reason)
            return False
        if self.is_trying and status in FIRST_FAILURES:
            self.stop(
                "first",
                reason
                + "; the same command asks it, and may pay it, again" * (status == "timeout"),
            )
            return (
                status == "unreadable"
            )  # which may have been paid, and is not asked again by itself
        self.is_trying = False
        if self.max_accidents and self.n_in_row >= self.max_accidents:
            self.stop("accidents", f"{self.n_in_row} accidents in a row, the last: {reason}")
        return True


@contextmanager
def stop_on_signal(watch):
    """Stop a run at the first SIGINT (Ctrl-C) or SIGTERM, raise KeyboardInterrupt at the second; in
    the main thread.

    A line on standard error says what is under way and what a second one costs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        if watch.cause == "signal":
            raise KeyboardInterrupt
        limits = [limit for _, limit in watch.under_way.values()]
        seconds = max(0, max(limits, default=0) - time.monotonic())
        is_c = number == signal.SIGINT
        told = f"stopping: no further question is asked; those under way ({len(limits)}) will be stored as they end, "
        told += f"in {seconds:.0f} s at most; a second {'Ctrl-C' if is_c else 'signal'} stops at once, and what has "
        told += "not been answered by then is asked, and may be paid, again"
        os.write(2, f"\n{told}\n".encode())  # print is not safe here: it may be at work itself
        watch.stop("signal", f"stopped by {'Ctrl-C' if is_c else 'SIGTERM'}")

    with handle_stops(stop):
        yield
