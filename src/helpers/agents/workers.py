"""Ask an agent about an event, many at a time, in worker processes or in threads, within a deadline a question.

Everything an agent does ends as rows for the ledger: an answer, a refusal, an exception, a hang, a process that died.
"""

import math
import multiprocessing
import signal
import threading
import time
from collections import deque
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from multiprocessing.resource_tracker import ensure_running
from multiprocessing.util import Finalize
from queue import Empty, SimpleQueue

import pebble

from helpers.models.failures import fail
from helpers.models.secrets import redact
from helpers.store import clean_value, dump_json, hash_text
from helpers.tables import REPLY_STATUSES, list_columns

USAGE = ("n_input_tokens", "n_output_tokens", "n_cached_tokens", "cost_usd", "finish_reason", "model_s")
"""What a reply may say about its cost; `model_s` are the seconds of duration_s that the model's server took."""

N_STARTS = 3
"""How often a worker that dies before it takes a question is started again."""

# pebble waits this long between SIGTERM and SIGKILL; with its 3 s a question could outlive its deadline by as much
pebble.CONSTS.term_timeout = 0.5

STOPS = (signal.SIGINT, signal.SIGTERM)
"""What a person, or who started us, stops a run with."""

WAITING_S = (10, 60)
"""Seconds after which a run says that it waits for its first reply, and then between two such words."""

CLOSE_S = 10
"""Seconds that a worker has at the end of a run to close its world."""


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
    """Ask an agent about one event; returns the question's rows. An exception is status 'error' with its reason."""
    started_at, clock = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()

    def measure():
        return started_at, round(time.perf_counter() - clock, 6)

    try:
        return make_rows(run, event, forecast(dict(event), world), *measure())
    except (Exception, SystemExit) as error:  # whatever one question raises must not stop the others
        return make_rows(run, event, fail("error", describe_error(error, secrets)), *measure())


class WorldError(Exception):
    """The world could not be opened where the agents run."""


def enter_world(opener, stack):
    """Return what `opener` gives, entered when it is a context manager. Raises WorldError."""
    try:
        world = opener()
        return stack.enter_context(world) if hasattr(world, "__enter__") else world
    except Exception as error:
        raise WorldError(f"the world did not open: {describe_error(error)}") from error


# --- worker processes ------------------------------------------------------------------------------------------------

HERE = {}
"""What a worker process holds between questions: forecasts by agent, the world or why there is none, secrets."""


def start_worker(forecasts, opener, secrets):
    """Open the world once in this worker process; it is closed when the process ends, which the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    stack = ExitStack()
    Finalize(None, close_world, args=(stack,), exitpriority=10)
    HERE.update(forecasts=forecasts, secrets=secrets, stack=stack)
    try:
        HERE["world"] = enter_world(opener, stack)
    except WorldError as error:
        HERE["problem"] = str(error)


def close_world(stack):
    """Close this worker process's world, deaf to the pool's second request to end; it is killed if this takes long."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    stack.close()


def close_here():
    """Close this worker process's world as its last task: an exit may be cut short by the pool's signal."""
    HERE["stack"].close()


def work(batch):
    """Put each task of a batch to its agent in this worker process; returns each question's rows."""
    if "problem" in HERE:
        raise WorldError(HERE["problem"])
    return [ask_agent(HERE["forecasts"][run[1]], run, event, HERE["world"], HERE["secrets"]) for run, event in batch]


@contextmanager
def hold_signals():
    """Hold Ctrl-C back in this thread and what it starts: a process that is still importing would print a trace."""
    ensure_running()  # multiprocessing's tracker, whose start would let the signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def fail_future(error, task, deadline_s):
    """Return the rows of a question that has no outcome of its own: a timeout, or its process died."""
    if isinstance(error, TimeoutError):
        return make_rows(*task, fail("timeout", f"no answer within {deadline_s:g} s"), duration_s=deadline_s)
    if isinstance(error, pebble.ProcessExpired):
        return make_rows(*task, fail("error", f"the worker process died (exit code {error.exitcode})"))
    return make_rows(*task, fail("error", describe_error(error)))


def split_group(group, cheap):
    """Return a group's tasks as batches: those of `cheap` agents (whose answers cost nothing) together, each other's.

    >>> split_group([(("r1", "a"), {}), (("r2", "b"), {}), (("r3", "c"), {})], cheap={"a", "c"})
    [[(('r1', 'a'), {}), (('r3', 'c'), {})], [(('r2', 'b'), {})]]
    """
    together = [task for task in group if task[0][1] in cheap]
    return [together] * bool(together) + [[task] for task in group if task[0][1] not in cheap]


def wait_for_starts(firsts):
    """Return once processes have begun with their first tasks: one stopped while it still imports prints a trace."""
    end = time.monotonic() + CLOSE_S
    while not all(future.running() or future.done() for future in firsts) and time.monotonic() < end:
        time.sleep(0.02)


def run_in_processes(groups, forecasts, opener, deadline_s, workers, secrets=(), cheap=()):
    """Yield lists of tasks' rows, as they come, from `workers` processes; a question past its deadline is killed.

    `groups` lists lists of tasks, a task being ((run_id, agent_id), event); a group stays in one process, whose world
    keeps the pages it has read. A group's tasks of `cheap` agents are asked, and yielded, as one; where that ends badly
    each is asked by itself. Raises WorldError when the world does not open, RuntimeError when processes do not start.
    """
    groups, arrivals = deque(split_group(group, cheap) for group in groups), SimpleQueue()
    context = multiprocessing.get_context("spawn")  # a fork would copy this process's threads' locks and open files

    def start_pool():
        return pebble.ProcessPool(1, initializer=start_worker, initargs=(forecasts, opener, secrets), context=context)

    @hold_signals()
    def feed(lane):
        if not pools[lane].active:
            pools[lane].join()
            pools[lane] = start_pool()
            firsts.pop(lane)
        for batch in groups.popleft():
            n_open[lane] += 1
            future = pools[lane].schedule(work, args=[batch], timeout=deadline_s)
            firsts.setdefault(lane, future)
            future.add_done_callback(lambda future, batch=batch: arrivals.put((lane, batch, future)))

    pools = [start_pool() for _ in range(min(workers, len(groups)))]  # a pool a process: only so a group stays together
    n_open, n_deaths, firsts = [0] * len(pools), 0, {}
    try:
        for lane in range(len(pools)):
            feed(lane)
        while any(n_open):
            lane, batch, future = arrivals.get()
            n_open[lane] -= 1
            error = future.exception()
            if isinstance(error, WorldError):
                raise error
            if not isinstance(error, BrokenProcessPool):
                if error is None:
                    yield future.result()
                elif len(batch) > 1:
                    groups.appendleft([[task] for task in batch])
                else:
                    yield [fail_future(error, batch[0], deadline_s)]
                n_deaths = 0
                if n_open[lane] <= 1 and groups:
                    feed(lane)
                continue
            groups.appendleft([batch])  # its process died before it took the question
            if n_open[lane] == 0:  # the last of that process's questions: start another
                n_deaths += 1
                if n_deaths >= N_STARTS:
                    raise RuntimeError("worker processes do not start; agents and opener must be functions of a module")
                feed(lane)
    finally:
        wait_for_starts(firsts.values())
        idle = [pool for pool, left in zip(pools, n_open, strict=True) if pool.active and not left]
        wait([pool.schedule(close_here, timeout=CLOSE_S) for pool in idle])
        for pool in pools:
            pool.stop()
        for pool in pools:
            pool.join()


# --- threads ---------------------------------------------------------------------------------------------------------


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


def run_in_threads(tasks, forecasts, opener, deadline_s, workers, secrets=(), watch=None):
    """Yield a list of each task's rows, as they come, with `workers` threads at once and one world shared by all.

    For agents that wait for a model. A thread cannot be killed: past the deadline its question is a timeout, its late
    answer is dropped and another question starts in its place. Where agents search, a question's seconds, but not its
    deadline's, begin when its day can be searched. `watch` (`runs.Watch`) says how many of the workers may be at work
    (`allow`), 0 once the run is stopped: those under way, which it sees in `under_way`, come to their ends. Raises
    WorldError when the world does not open.
    """
    tasks, arrivals = deque(enumerate(tasks)), SimpleQueue()
    limits, allow = ({}, lambda workers: workers) if watch is None else (watch.under_way, watch.allow)

    def answer(number, run, event):
        if hasattr(world, "prepare"):
            with suppress(Exception):  # whoever looks something up meets it again
                world.prepare(event["as_of"])
        arrivals.put((number, ask_agent(forecasts[run[1]], run, event, world, secrets)))

    with ExitStack() as stack:
        world = enter_world(opener, stack)
        if hasattr(world, "expect"):  # a world that makes its days ready while agents wait for their models
            world.expect(event["as_of"] for _, (_, event) in tasks)
        while limits or (tasks and allow(workers)):
            while tasks and len(limits) < allow(workers):
                number, task = tasks.popleft()
                begun = time.monotonic()
                limits[number] = task, begun + deadline_s, begun
                threading.Thread(target=answer, args=(number, *task), daemon=True).start()
            oldest = next(iter(limits))  # all have the same deadline, so it ends first
            task, limit, _ = limits[oldest]
            try:
                number, rows = receive(arrivals, limit, watch.remind if watch and watch.is_trying else None)
            except Empty:
                del limits[oldest]
                yield [fail_future(TimeoutError(), task, deadline_s)]
            else:
                if limits.pop(number, None):
                    yield [rows]
