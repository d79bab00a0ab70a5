"""Runs that are killed, disks that fill, a clock that goes back, damaged files: said with the file,
nothing lost."""

import datetime
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from builders import PRICED
from faults.lying import ask_or_fail, open_to, start_liar
from faults.table import FORK, judge
from mock_provider import Server
from serving import run_server

from daybefore import store
from daybefore.agents import ask_questions
from daybefore.agents.run_loop import run_agents
from daybefore.models import client, failures
from daybefore.models.failures import LlmError
from daybefore.models.recordings import PACKED, read_packed
from daybefore.store import open_store, read_runs
from helpers.files import ROOT, read_table

SEED, WORKERS, LEDGER = 15, 4, ("replies", "predictions", "traces")


def run_model(path, door, events, **options):
    """Put the model behind a door to events, several questions at once, the way that prompted
    agents do."""

    def forecast(event, world):
        try:
            row = client.ask(door, PRICED, [{"role": "user", "content": event["event_id"]}])
        except LlmError as error:
            return failures.fail(error.status, error.reason)
        trace = [
            {
                "step_type": "answer",
                "content": row["content"],
                "n_output_tokens": row["n_output_tokens"],
            }
        ]
        return {"reply": row["content"], "prediction": {"value": "B"}, "trace": trace}

    agents = {"mock": {"forecast": forecast, "category": "base_model"}}
    run_agents(agents, events, dict, path, window="A", **{"workers": WORKERS} | options)


# --- a run killed at seeded moments -----------------------------------------------------------------


def start_apart(run):
    """Start a run in a fork that leads a group of its own, so that it can be killed with all its
    processes."""

    def lead():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        run()

    process = FORK.Process(target=lead)
    process.start()
    os.setpgid(process.pid, process.pid)
    return process


def count_lost(path, n_events):
    """Return {fault: how many} of a ledger of one run: questions lost, twice, or without a
    prediction or a trace."""
    keys = ["run_id", "event_id", "sample"]
    replies, predictions, traces = (read_runs(path, name) for name in LEDGER)
    with closing(open_store(path)) as ledger:
        is_sound = ledger.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    kept = replies.set_index(keys).index
    return {
        "lost": n_events - replies.loc[replies["status"] == "ok", "event_id"].nunique(),
        "unsound": not is_sound,
        "replies twice": int(replies.duplicated(keys).sum()),
        "predictions twice": int(predictions.duplicated(keys).sum()),
        "without predictions": len(kept.difference(predictions.set_index(keys).index)),
        "without traces": len(kept.difference(traces.set_index(keys).index)),
        "runs too many": len(read_runs(path, "runs")) - 1,
    }


def kill_model(folder, n_kills=60, n_events=1000):
    """Kill a run of a model again and again, let it come to its end, and count the requests that
    came again."""
    events, path, rng = (
        read_table("events", "A").head(n_events),
        Path(folder) / "ledger.sqlite",
        random.Random(SEED),
    )
    with start_liar(latency_s=0.05) as (address, count):

        def run(path=path, events=events):
            run_model(path, open_to(address, live=True), events)

        run(Path(folder) / "first.sqlite", events.head(1))  # what forks find imported
        n_over = 0
        for _ in range(n_kills):
            process = start_apart(run)
            time.sleep(rng.uniform(0.0, 0.6))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()
            n_over += process.exitcode != -signal.SIGKILL
        n_left = n_events - len(read_runs(path, "replies"))
        last = start_apart(run)
        last.join()
        n_again = sum(count().values()) - n_events  # the first run's reply is recorded for all
    faults = count_lost(path, n_events) | {"requests too many": max(0, n_again - n_kills * WORKERS)}
    faults |= {
        "runs over before they were killed": n_over + (not n_left),
        "the last did not end": last.exitcode != 0,
    }
    return judge(n_kills, faults, n_repeated=n_again, n_left_at_last_kill=n_left)


# --- a full disk ------------------------------------------------------------------------------------


@contextmanager
def fill_disk(folder, n_kb):
    """Give a folder so many kB of room, by a small file system, or a limit of each file where that
    is not allowed.

    Yields a function that makes room again.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_kb}k", "tmpfs", folder]
    is_mounted = (
        not os.geteuid()
        and not subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode
    )
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    if not is_mounted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_kb * 1024, before[1]))

    def make_room():
        if is_mounted:
            subprocess.run(["mount", "-o", "remount,size=100m", folder], check=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        yield make_room
    finally:
        make_room()
        if is_mounted:
            subprocess.run(["umount", "-l", folder], check=True)


def fill_recordings(folder, n=120):
    """Record replies until the disk is full, then, with room, the rest."""
    said, texts = [], [f"{i} " + "x" * 2000 for i in range(n)]
    with fill_disk(f"{folder}/data", 300) as make_room, run_server(server := Server()):
        door = open_to(server.address, live=True)
        for text in texts:
            try:
                ask_or_fail(door, text)
            except OSError as error:
                said.append(re.sub(r"\(.*\)", "(No space left on device)", str(error)))
        n_asked, n_kept = sum(server.counts.values()), n - len(said)
        make_room()
        door = open_to(server.address, live=True)
        n_read = len(door.recordings.rows)
        rows = [ask_or_fail(door, text) for text in texts]
    return judge(n, {
        f"{n_kept} kept of {n}": not 0 < n_kept < n,
        "another sentence":
            set(said) != {"data/runs takes no more recordings (No space left on device); make room and run again"},
        "asked what could not be kept": n_asked > n_kept + 1,
        "lost what was kept": n_read != n_kept,
        "not all answered with room": any(row["status"] != "ok" for row in rows),
    })  # fmt: skip


def run_baseline(out):
    """Run a baseline by the command, its writes going to a folder; returns (exit code, all it
    said)."""
    environment = os.environ | {
        "DAYBEFORE_OUT": str(out),
        "PYTHONPATH": str(ROOT / "src"),
        "TQDM_DISABLE": "1",
    }
    command = [sys.executable, "-m", "daybefore", "run", "--agent", "last_value", "--limit", "40"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, **pipes)
    return done.returncode, done.stdout


def fill_run(folder):
    """Run a baseline on disks that take ever more before they are full; with room the same command
    goes on."""
    faults, quiet = {}, Path(folder) / "quiet"
    run_baseline(quiet)
    for n_kb in (40, 150, 400):
        disk = Path(folder) / f"disk{n_kb}"
        with fill_disk(str(disk), n_kb) as make_room:
            code, said = run_baseline(disk)
            make_room()
            again, said_again = run_baseline(disk)
            wanted, found = (
                read_runs(base / "data/runs/store.sqlite", "predictions") for base in (quiet, disk)
            )
        faults |= {
            f"{n_kb} kB: no sentence ({said[-300:]})": code != 1
            or "make room" not in said
            or "Traceback" in said,
            f"{n_kb} kB: does not go on ({said_again[-300:]})": again != 0,
            f"{n_kb} kB: rows differ": not wanted.equals(found),
        }
    return judge(3, faults)


# --- a clock that goes back -------------------------------------------------------------------------


class Backwards(datetime.datetime):
    """A clock that goes back by an hour whenever it is read."""

    hours = 0

    @classmethod
    def now(cls, tz=None):
        """Return a moment an hour before the last."""
        cls.hours += 1
        return datetime.datetime.now(tz) - datetime.timedelta(hours=cls.hours)


def turn_clock_back(folder, n=200):
    """Run a model while the clock goes back at each look; two questions hang."""
    real = time.time
    time.time = lambda: real() - 3600 * Backwards.hours
    for module in (ask_questions, client, failures):
        module.datetime = Backwards
    events, path = read_table("events", "A").head(n), Path(folder) / "ledger.sqlite"
    hanging = set(events["event_id"].iloc[[3, 150]])

    def answer(asked):
        return "hang" if asked["messages"][-1]["content"] in hanging else {"content": "\\boxed{B}"}

    with run_server(server := Server(answer=answer, patience=10)):
        begun = time.monotonic()
        run_model(
            path, open_to(server.address, live=True, deadline_s=3), events, workers=8, deadline_s=5
        )
        seconds, n_requests = time.monotonic() - begun, sum(server.counts.values())
    replies = read_runs(path, "replies", timings=True)
    statuses = replies.set_index("event_id")["status"]
    return judge(n, {
        "not every question has its reply": len(replies) != n,
        "another status": set(statuses[statuses != "ok"].index) != hanging or set(statuses) != {"ok", "timeout"},
        f"{n_requests} requests": n_requests != n,
        "late": seconds > 30,
        "a negative duration": bool((replies["duration_s"] < 0).any()),
        "the clock stood still": Backwards.hours < n,
    })  # fmt: skip


# --- damaged files ----------------------------------------------------------------------------------


def damage(body, rng):
    """Return (how, bytes) of a file damaged in a seeded way."""
    changed = bytearray(body)
    for _ in range(rng.choice((1, 5, 50))):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    start = rng.randrange(1, len(body))
    ways = {
        "bytes changed": bytes(changed),
        "zeros": body[:start] + bytes(len(body[start : start + 4096])) + body[start + 4096 :],
        "cut": body[:start],
        "empty": b"",
        "a page": b"<html>Sign in</html>",
        "garbage": rng.randbytes(5000),
    }
    return rng.choice(list(ways.items()))


def try_damaged(path, body, read, words, n):
    """Read a file damaged in `n` ways; each time it is read, or a ValueError has the words, and it
    stays as it is."""
    faults, n_refused, rng = {}, 0, random.Random(SEED)
    for i in range(n):
        how, changed = damage(body, rng)
        for old in path.parent.glob(f"{path.name}*"):
            old.unlink()
        path.write_bytes(changed)
        try:
            read()
        except ValueError as error:
            n_refused += 1
            faults[f"{i}, {how}: says {error!s:.80}"] = not re.search(words, str(error), re.DOTALL)
            faults[f"{i}, {how}: overwritten"] = path.read_bytes() != changed
        except Exception as error:  # whatever it is, it names no file
            faults[f"{i}, {how}: {type(error).__name__} {error!s:.80}"] = True
    path.unlink(missing_ok=True)
    return judge(n, faults | {"damage that nobody sees": n_refused < n / 3})


def damage_ledger(folder, n=100):
    """Go on with a run whose ledger is damaged."""
    events, path = read_table("events", "A").head(40), Path(folder) / "ledger.sqlite"
    outcome = {"reply": "x" * 500, "prediction": {"value": "B"}, "trace": [{"content": "y" * 500}]}

    def go_on():
        store.CHECKED.clear()  # as a new process does, which has found no ledger whole yet
        agents = {"a": {"forecast": lambda event, world: outcome, "category": "scripted"}}
        run_agents(agents, events, dict, path, window="A", workers=WORKERS)
        read_runs(path, "replies")

    go_on()
    with closing(open_store(path)) as ledger:
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return try_damaged(
        path,
        path.read_bytes(),
        go_on,
        r"^ledger\.sqlite cannot be read .*.*`daybefore recover",
        n,
    )


def damage_recording(folder, n=100):
    """Read the recordings of a run whose packed file is damaged."""
    body = (ROOT / "data/runs/qwen_react-A" / PACKED).read_bytes()
    path = Path(folder) / "data/runs/run" / PACKED
    path.parent.mkdir(parents=True)
    words = r"^run/requests\.jsonl\.gz.*; restore the file$"
    return try_damaged(path, body, lambda: list(read_packed(path)), words, n)


ROOM = "a sentence; what stood there stands; with room, the same command goes on"
NAMED = "the file is named, what to do is said, nothing is overwritten"
KILLED = "0 lost, 0 twice, 0 without a trace, at most one repeated request a worker a kill"
PLAYS = {
    "killed": {"kill -9, a model, four questions under way": (KILLED, kill_model)},
    "disk, clock, files": {
        "disk full, recordings": (f"{ROOM}; nothing is asked that cannot be kept", fill_recordings),
        "disk full, a run": (ROOM, fill_run),
        "the clock goes back": ("all answered once, deadlines hold", turn_clock_back),
        "ledger damaged": (NAMED, damage_ledger),
        "recordings damaged": (NAMED, damage_recording),
    },
}
