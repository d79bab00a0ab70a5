"""Many machines: what is left to ask is cut into shards, and each goes to a worker of submitit
(Slurm) or of Dask.

A worker asks its shard by `run_agents` into a store of its own, below data/runs/shards/<run_id> on
a disk that all machines see. A shard whose worker was killed goes out again and continues in its
store, so a kill costs the requests that were open. In the end the stores are merged into the one.
Keys do not travel: a worker has its own environment.
"""

import fcntl
import math
import os
import shutil
import signal
import time
from collections import Counter
from contextlib import ExitStack, closing
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from daybefore.agents.ask_questions import Stopped, Watch, describe_error, stop_on_signal
from daybefore.agents.python_functions import load_function, make_agent
from daybefore.agents.registry import PROMPTED, connect_agent, read_prices
from daybefore.agents.run_loop import describe_run, run_agents
from daybefore.models.client import count_spent, open_door
from daybefore.models.failures import fail
from daybefore.models.local_server import open_model
from daybefore.models.recordings import claim_folder, leave_folder
from daybefore.models.secrets import list_secrets
from daybefore.questions.open_sets import open_window
from daybefore.store import ACCIDENTS, KEPT, close_run, name_problem, open_store
from helpers.files import write_under
from helpers.tables import list_columns

N_TRIES, WAIT_S, POLL_S = 3, 60, 0.2
"""How often a shard goes out at most; seconds that a scheduler's first worker is waited for;
between two looks."""

ALIVE = "alive"
"""A file in a run's folder that the process which hands out holds locked, so that its machine's
workers see its end."""


def ask_shard(run_id, agent_id, entry, condition, events, world, ask, left, path, ceiling_usd):
    """Ask what is `left` (event_id, sample) of a run's `events`, into the store at `path`.

    `world` are `open_window`'s options, `ask` those of `run_agents`; the ceiling counts what the
    run has cost so far. Returns why it was stopped, (cause, reason), or (None, None). Raises
    ValueError where this machine sees another disk or runs other code.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(
            f"this machine sees no {path}; DAYBEFORE_OUT must be a folder on a disk that all machines see"
        )
    with ExitStack() as stack:
        stack.enter_context(write_under(path.parents[5]))
        stack.callback(leave_folder, claim_folder(path.parent))
        about = {"condition": condition} if condition else {}
        agent, stop = (
            open_asked(agent_id, entry, ask, path, ceiling_usd, stack) | about,
            path.with_name("stop"),
        )
        agent |= {"forecast": partial(heed_stop, agent["forecast"], stop)}
        how = {name: ask[name] for name in ("window", "deadline_s")}
        if (here := describe_run(agent_id, agent, events, **how)["run_id"]) != run_id:
            raise ValueError(
                f"the run is {run_id}, and {here} by this machine's code: use one commit everywhere"
            )
        opener = stack.enter_context(open_window(ask["window"], **world))
        how = ask | {"drawn_from": events, "progress": False, "tries_first": True}
        try:
            for sample, rows in left.groupby("sample"):
                asked = events[events["event_id"].isin(rows["event_id"])]
                run_agents({agent_id: agent}, asked, opener, path, samples=(int(sample),), **how)
        except Stopped as stopped:
            return "signal" if stop.exists() else stopped.cause, str(stopped)
        return None, None


def open_asked(agent_id, entry, ask, path, ceiling_usd, stack):
    """Return a shard's agent; its requests are recorded in the shard's store, under its ceiling."""
    if entry["method"] not in PROMPTED:
        return make_agent(
            load_function(entry["agent"]), category=entry["category"], framework=entry["framework"]
        )
    settings = {
        "deadline_s": ask["deadline_s"],
        "prices": read_prices(entry),
        "ceiling_usd": ceiling_usd,
    }
    settings |= {
        "rereads": set(ask["again"]) > set(ACCIDENTS),
        "connection": open_model(entry, stack),
    }
    door = open_door(f"{agent_id}-{ask['window']}", live=True, store=path, **settings)
    stack.callback(door.recordings.close)
    return connect_agent(entry, door)


def heed_stop(forecast, stop, event, world):
    """Ask an agent, unless the file `stop` says that the run was stopped, or the process that
    handed out is gone."""
    if stop.exists():
        return fail("over_budget", "the run was stopped")
    if is_deserted(stop.parents[1]):
        return fail("over_budget", "the process that handed out the questions has ended")
    return forecast(event, world)


def hold_alive(folder: Path, stack: ExitStack):
    """Hold a lock in a run's folder until the stack closes or this process ends, however it
    ends."""
    file = stack.enter_context(open(folder / ALIVE, "wb"))
    fcntl.flock(file, fcntl.LOCK_EX)


def is_deserted(folder: Path) -> bool:
    """Say whether the process that holds the lock in a run's folder is gone; False where none was
    to hold it."""
    try:
        with open(folder / ALIVE, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # there is no such file, or it is held
        return False
    return True


def take_in(ledger_path, again=ACCIDENTS):
    """Merge all shards' stores that lie beside a store, those of an earlier command too.

    Raises RuntimeError where a worker still asks, ValueError for one that cannot be read.
    """
    for path in sorted((Path(ledger_path).parent / "shards").glob("*/*/shard-*.sqlite")):
        claim = claim_folder(path.parent)
        try:
            with name_problem(path):
                merge_store(ledger_path, path, again)
        finally:
            leave_folder(claim)
        shutil.rmtree(path.parent)


def merge_store(ledger_path, path, again=ACCIDENTS):
    """Merge a shard's runs, replies, predictions, traces and requests into a store; the requests
    are moved.

    A reply that is final in the store stays. Doing it again after a kill in its midst stores
    nothing twice.
    """
    key, marks = "(run_id, event_id, sample)", ", ".join("?" * len(again))
    both = f"SELECT {key[1:-1]} FROM main.replies WHERE status IN ({marks}) INTERSECT SELECT {key[1:-1]} FROM s.replies"
    with closing(open_store(ledger_path)) as ledger:
        ledger.execute("ATTACH ? AS s", [str(path)])
        with ledger:
            ledger.execute("BEGIN IMMEDIATE")
            for name in (
                "predictions",
                "traces",
                "replies",
            ):  # replies last: they tell what gives way
                ledger.execute(f"DELETE FROM main.{name} WHERE {key} IN ({both})", again)
            for name in KEPT:
                columns = ", ".join(list_columns(name))
                ledger.execute(
                    f"INSERT OR IGNORE INTO main.{name} ({columns}) SELECT {columns} FROM s.{name}"
                )
            columns = "run, key, bound_usd, recording"
            ledger.execute(
                f"INSERT INTO main.requests ({columns}) SELECT {columns} FROM s.requests ORDER BY id"
            )
            ledger.execute("DELETE FROM s.requests")
            for (run_id,) in ledger.execute("SELECT run_id FROM s.runs").fetchall():
                close_run(
                    ledger, run_id, math.inf
                )  # tokens and cost; who hands out says when it is complete


def cut_shards(left, folder, n_shards, door):
    """Return what differs in at most `n_shards` shards: their questions, by turns, their stores,
    and their ceilings.

    What a ceiling leaves is shared.
    """
    shards, n_shards, ceiling = [], min(n_shards, len(left)), None
    if door and door.ceiling_usd is not None:
        ceiling = door.spent_usd + (door.ceiling_usd - door.spent_usd) / n_shards
    for number in range(n_shards):
        path = folder.resolve() / str(number) / f"shard-{number}.sqlite"
        open_store(path).close()
        shards.append(
            {"left": left.iloc[number::n_shards], "path": str(path), "ceiling_usd": ceiling}
        )
    return shards


def open_executor(kind, scheduler, folder, n_shards, minutes, stack):
    """Return `submit`, which calls a function in a worker and returns a job with done(), result()
    and cancel().

    `kind` is local or slurm (submitit), or dask; a job of Slurm may take so many `minutes`. It ends
    with the stack. Raises OSError where no scheduler or worker is there.
    """
    if not find_spec(package := "distributed" if kind == "dask" else "submitit"):
        raise ValueError(f"--executor {kind} needs {package}: pip install 'daybefore[machines]'")
    if kind == "dask":
        from distributed import Client, LocalCluster  # here, as below: seconds to import

        local = {
            "n_workers": n_shards,
            "threads_per_worker": 1,
            "memory_limit": 0,
            "dashboard_address": None,
        }
        client = stack.enter_context(
            Client(scheduler or stack.enter_context(LocalCluster(**local)))
        )
        client.wait_for_workers(1, timeout=WAIT_S)
        return partial(client.submit, pure=False)
    import submitit

    executor = submitit.AutoExecutor(folder, cluster=kind)
    executor.update_parameters(timeout_min=minutes, name="daybefore")
    return executor.submit


def hand_out(plan, left, path, door=None, *, executor, scheduler=None, n_shards=4, tell=print):
    """Have workers ask the questions `left` (columns event_id, sample) of a run, and merge what
    comes into its store.

    `plan` is what `ask_shard` takes of all shards, `path` the store, `door` the agent's, which then
    knows what was recorded. Raises Stopped at a signal, and where a shard met accidents or lost its
    worker N_TRIES times.
    """
    folder = path.parent / "shards" / plan["run_id"]
    watch, n_lost, secrets = Watch(), Counter(), list_secrets(os.environ)
    shards = cut_shards(left[["event_id", "sample"]], folder, n_shards, door)
    minutes = 10 + int(
        len(shards[0]["left"]) * plan["ask"]["deadline_s"] / plan["ask"]["workers"] / 60
    )
    tell(f"{plan['agent_id']}: {len(left)} questions in {len(shards)} shards by {executor}")
    with ExitStack() as stack:
        before = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # a Ctrl-C is for this process, not for its workers
        stack.callback(signal.signal, signal.SIGINT, before)
        (folder / ALIVE).unlink(missing_ok=True)
        if executor == "local":  # locks do not reach other machines
            hold_alive(folder, stack)
        submit = open_executor(executor, scheduler, folder / "jobs", len(shards), minutes, stack)
        jobs = {number: submit(ask_shard, **plan, **shard) for number, shard in enumerate(shards)}
        stack.callback(lambda: [job.cancel() for job in jobs.values()])
        stack.enter_context(stop_on_signal(watch))
        while jobs:
            for number in [number for number, job in jobs.items() if job.done()]:
                try:
                    cause, reason = jobs.pop(number).result()
                except (
                    Exception
                ) as error:  # a worker that was killed, or whatever its machine raised
                    told, n_lost[number] = (
                        describe_error(error, secrets).splitlines()[-1],
                        n_lost[number] + 1,
                    )
                    cause, reason = (
                        "accidents",
                        f"it lost its worker, try {n_lost[number]} of {N_TRIES}: {told}",
                    )
                    if n_lost[number] < N_TRIES and watch.cause != "signal":
                        cause, jobs[number] = None, submit(ask_shard, **plan, **shards[number])
                tell(
                    f"{plan['agent_id']}: shard {number + 1} of {len(shards)}: {reason or 'it has ended'}"
                )
                if cause not in (None, "ceiling"):
                    watch.stop(cause, reason)
            for number in jobs if watch.cause == "signal" else ():
                Path(shards[number]["path"]).with_name("stop").touch()
            time.sleep(POLL_S)
    take_in(path, plan["ask"]["again"])
    shutil.rmtree(folder)
    if door:
        door.recordings.read()
        count_spent(door)
    if watch.cause:
        raise Stopped(watch.cause, watch.reason, {plan["agent_id"]: plan["run_id"]})
