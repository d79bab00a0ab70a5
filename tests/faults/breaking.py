"""Disks that fill, a clock that goes back, damaged files: a sentence that names the file, and nothing is lost."""

import datetime
import os
import random
import re
import resource
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

from builders import PRICED
from faults.lying import ask_or_fail, open_to
from mock_provider import Server
from serving import run_server

from helpers.agents import workers
from helpers.agents.runs import run_agents
from helpers.models import failures, llm
from helpers.models.failures import LlmError
from helpers.models.recordings import PACKED, read_base
from helpers.store import ROOT, open_store, read_runs, read_table

SEED = 15

# --- a full disk ------------------------------------------------------------------------------------------------------


@contextmanager
def fill_disk(folder, n_kb):
    """Give a folder so many kB of room, by a small file system, or a limit of each file where that is not allowed.

    Yields a function that makes room again.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_kb}k", "tmpfs", folder]
    is_mounted = not os.geteuid() and not subprocess.run(mount, check=False, stderr=subprocess.DEVNULL).returncode
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


def call_kit(*arguments, out, folder=ROOT):
    """Run one of the kit's commands, its writes going to a folder; returns (exit code, all it said)."""
    environment = os.environ | {"DAYBEFORE_OUT": str(out), "PYTHONPATH": str(ROOT / "src"), "TQDM_DISABLE": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=False, **pipes)
    return done.returncode, done.stdout


def judge(n, faults):
    """Return a play's (n, held, seen) from {what may be wrong: whether it is}."""
    found = [fault for fault, is_so in faults.items() if is_so]
    return n, not found, "; ".join(found) or "as it must"


def fill_recordings(folder, n=120):
    """Record replies until the disk is full, then, with room, the rest."""
    messages = [[{"role": "user", "content": f"{i} " + "x" * 2000}] for i in range(n)]
    said, texts = [], [message[0]["content"] for message in messages]
    with fill_disk(f"{folder}/data", 300) as make_room, run_server(server := Server()):
        door = open_to(server.address, live=True)
        for text in texts:
            try:
                ask_or_fail(door, text)
            except OSError as error:
                said.append(str(error))
        n_asked, n_kept = sum(server.counts.values()), n - len(said)
        make_room()
        door = open_to(server.address, live=True)
        n_read = len(door.recordings.rows)
        rows = [ask_or_fail(door, text) for text in texts]
    sentence = "data/runs takes no more recordings (No space left on device); make room and run again"
    return judge(n, {
        f"{n_kept} kept of {n}": not 0 < n_kept < n,
        "another sentence": not {re.sub(r"\(.*\)", "(No space left on device)", word) for word in said} == {sentence},
        "asked what could not be kept": n_asked > n_kept + 1,
        "lost what was kept": n_read != n_kept,
        "not all answered with room": any(row["status"] != "ok" for row in rows),
    })  # fmt: skip


RUN = ("-m", "daybefore", "run", "--agent", "last_value", "--limit", "40")


def fill_run(folder):
    """Run baselines on disks that take ever more before they are full; with room the same command goes on."""
    faults, quiet = {}, Path(folder) / "quiet"
    call_kit(*RUN, out=quiet)
    for n_kb in (40, 150, 400):
        disk = f"{folder}/disk{n_kb}"
        with fill_disk(disk, n_kb) as make_room:
            code, said = call_kit(*RUN, out=disk)
            make_room()
            again, said_again = call_kit(*RUN, out=disk)
            ledgers = [Path(base) / "data/runs/store.sqlite" for base in (quiet, disk)]
            wanted, found = (read_runs(ledger, "predictions") for ledger in ledgers)
        faults |= {
            f"{n_kb} kB: no sentence ({said[-300:]})": code != 1 or "make room" not in said or "Traceback" in said,
            f"{n_kb} kB: does not go on ({said_again[-300:]})": again != 0,
            f"{n_kb} kB: rows differ": not wanted.equals(found),
        }
    return judge(3, faults)


# --- a clock that goes back -------------------------------------------------------------------------------------------


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
    for module in (workers, llm, failures):
        module.datetime = Backwards
    events, path = read_table("events", "A").head(n), Path(folder) / "ledger.sqlite"
    hanging = set(events["event_id"].iloc[[3, 150]])

    def answer(asked):
        return "hang" if asked["messages"][-1]["content"] in hanging else {"content": "\\boxed{B}"}

    with run_server(server := Server(answer=answer, patience=10)):
        door = open_to(server.address, live=True, deadline_s=3)

        def forecast(event, world):
            try:
                row = llm.ask(door, PRICED, [{"role": "user", "content": event["event_id"]}])
            except LlmError as error:
                return failures.fail(error.status, error.reason)
            return {"reply": row["content"], "prediction": {"value": "B"}}

        options = {"window": "A", "workers": 8, "deadline_s": 5}
        begun = time.monotonic()
        run_agents({"mock": {"forecast": forecast, "category": "base_model"}}, events, dict, path, **options)
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


# --- damaged files ----------------------------------------------------------------------------------------------------


def damage(body, n):
    """Yield (how, bytes) of a file damaged in `n` seeded ways."""
    rng = random.Random(SEED)
    for _ in range(n):
        how, changed = rng.choice(("cut", "bytes changed", "zeros", "empty", "garbage", "a page")), bytearray(body)
        if how == "bytes changed":
            for _ in range(rng.choice((1, 5, 50))):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
        elif how == "zeros":
            start = rng.randrange(len(changed))
            changed[start : start + 4096] = bytes(len(changed[start : start + 4096]))
        other = {"cut": body[: rng.randrange(1, len(body))], "empty": b"", "a page": b"<html>Sign in</html>"}
        yield how, other.get(how, rng.randbytes(5000) if how == "garbage" else bytes(changed))


def try_damaged(path, body, read, words, n):
    """Read a file damaged in `n` ways; each time it is read, or a ValueError has the words, and it stays as it is."""
    faults, n_refused = {}, 0
    for i, (how, changed) in enumerate(damage(body, n)):
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
    faults["damage that nobody sees"] = n_refused < n / 3
    return judge(n, faults)


def damage_ledger(folder, n=100):
    """Go on with a run whose ledger is damaged."""
    events, path = read_table("events", "A").head(40), Path(folder) / "ledger.sqlite"
    outcome = {"reply": "x" * 500, "prediction": {"value": "B"}, "trace": [{"content": "y" * 500}]}

    def go_on():
        agents = {"a": {"forecast": lambda event, world: outcome, "category": "scripted"}}
        run_agents(agents, events, dict, path, window="A", workers=4)
        read_runs(path, "replies")

    go_on()
    with closing(open_store(path)) as ledger:
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return try_damaged(path, path.read_bytes(), go_on, r"^ledger\.sqlite cannot be read .*; move it away, and", n)


def damage_recording(folder, n=100):
    """Read the recordings of a run whose packed file is damaged."""
    body = (ROOT / "data/runs/qwen_react-A" / PACKED).read_bytes()
    path = Path(folder) / "data/runs/run" / PACKED
    path.parent.mkdir(parents=True)
    words = r"^run/requests\.jsonl\.gz.*; restore the file$"
    return try_damaged(path, body, lambda: list(read_base(folder, "run")), words, n)


ROOM = "a sentence; what stood there stands; with room, the same command goes on"
NAMED = "the file is named, what to do is said, nothing is overwritten"
PLAYS = {
    "disk full, recordings": (f"{ROOM}; nothing is asked that cannot be kept", fill_recordings),
    "disk full, a run": (ROOM, fill_run),
    "the clock goes back": ("all answered once, deadlines hold", turn_clock_back),
    "ledger damaged": (NAMED, damage_ledger),
    "recordings damaged": (NAMED, damage_recording),
}
