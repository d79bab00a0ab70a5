"""A run killed at 60 seeded moments."""

import os
import random
import signal
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from builders import PRICED
from faults.lying import open_to
from faults.table import FORK
from mock_provider import Server
from serving import run_server

from helpers.agents.runs import run_agents
from helpers.models.llm import ask
from helpers.store import read_runs, read_table

SEED, WORKERS = 15, 4


def ask_model(door, event, world):
    """Answer with what the mock provider says, the way that prompted agents do: recorded, with a trace."""
    row = ask(door, PRICED, [{"role": "user", "content": event["event_id"]}])
    trace = [{"step_type": "answer", "content": row["content"], "n_output_tokens": row["n_output_tokens"]}]
    return {"reply": row["content"], "prediction": {"value": "B"}, "trace": trace}


def run_model(path, address, events):
    """Put the model to events, four questions at once."""
    door = open_to(address, live=True)

    def forecast(event, world):
        return ask_model(door, event, world)

    agents = {"mock": {"forecast": forecast, "category": "base_model"}}
    run_agents(agents, events, dict, path, window="A", workers=WORKERS)


def kill_often(run, n_kills, least_s, most_s):
    """Start a run again and again in a session of its own, and kill all of it at a seeded moment."""
    rng = random.Random(SEED)
    for _ in range(n_kills):
        process = FORK.Process(target=lead_session, args=(run,))
        process.start()
        time.sleep(rng.uniform(least_s, most_s))
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode != -signal.SIGKILL:
            raise RuntimeError(f"the run was over before it was killed (it left with {process.exitcode})")


def lead_session(run):
    """Do a run in a session of its own, that it can be killed with all its processes."""
    os.setsid()
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    run()


def finish(run):
    """Let a run come to its end. Raises RuntimeError when it does not."""
    process = FORK.Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the run that was to end the others left with {process.exitcode}")


def count_faults(path, n_events, n_runs):
    """Return {fault: how many} of a ledger: questions lost, twice, or whose prediction or trace is not there."""
    with closing(sqlite3.connect(path)) as ledger:

        def count(sql):
            return ledger.execute(sql).fetchone()[0]

        keys = "run_id, event_id, sample"
        n = count(f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM replies WHERE status = 'ok')")
        twice = {f"{table} twice": count(f"SELECT count(*) - count(DISTINCT run_id || event_id) FROM {table}")
                 for table in ("replies", "predictions")}  # fmt: skip
        without = {
            f"without a {name}": count(
                f"SELECT count(*) FROM replies WHERE ({keys}) NOT IN (SELECT {keys} FROM {table})"
            )
            for name, table in (("prediction", "predictions"), ("trace", "traces"))
        }
        runs = {"runs too many": count("SELECT count(*) FROM runs") - n_runs}
        sound = {"unsound": int(ledger.execute("PRAGMA integrity_check").fetchone()[0] != "ok")}
    return {"lost": n_runs * n_events - n} | twice | without | runs | sound


def tell_faults(faults):
    """Return (whether there are none, them in words)."""
    return not any(faults.values()), ", ".join(f"{n} {name}" for name, n in faults.items())


def kill_model(n_kills, n_events, folder):
    """Kill a run of a model, four questions under way, and count the requests that came again."""
    events, path = read_table("events", "A").head(n_events), Path(folder) / "ledger.sqlite"
    ours, theirs = FORK.Pipe()
    server = FORK.Process(target=serve_counting, args=(theirs,), daemon=True)
    server.start()
    address = ours.recv()
    run_model(Path(folder) / "first.sqlite", address, events.head(1))  # what a fork finds imported is quick
    run = partial(run_model, path, address, events)
    kill_often(run, n_kills, 0.0, 0.6)
    n_left = n_events - len(read_runs(path, "replies"))
    finish(run)
    ours.send(None)
    n_requests = ours.recv()
    n_again, allowed = n_requests - n_events, n_kills * WORKERS  # the first run's reply is recorded for all
    faults = count_faults(path, n_events, 1) | {"requests too many": max(0, n_again - allowed)}
    faults["runs over before the last kill"] = int(not n_left)
    return n_kills, *tell_faults(faults), {"n_repeated": n_again, "n_left_at_last_kill": n_left}


def serve_counting(pipe):
    """Serve a mock provider in a process of its own; tells its address, and at the end how often it was asked."""
    with run_server(server := Server(latency_s=0.05)):
        pipe.send(server.address)
        pipe.recv()
        pipe.send(sum(server.counts.values()))


NOTHING = "0 lost, 0 twice, 0 without a trace"
PLAYS = {
    "kill -9, a model, four questions under way": (
        f"{NOTHING}, at most one repeated request a worker a kill",
        partial(kill_model, 60, 1000),
    ),
}
