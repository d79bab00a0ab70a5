"""Accidents of a paid run, played through the real command against a mock provider on loopback,
each on its own ledger.

A question that was lost, paid twice or left without a word is bad. Each accident has a folder of
links to the checkout, with an agents.toml and a ledger of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from faults.table import judge
from mock_provider import CONTENT, FAULTS, Server
from serving import run_server

from daybefore.store import read_runs
from helpers.files import ROOT

N, AT_ONCE = 12, 8
"""Questions of an accident, and how many are asked at once."""
PRICES = {"input": 10, "output": 100}
"""US dollars a million tokens; a reply of the mock provider, 50 tokens in and 8 out, is 0.0013
USD."""
USD = (50 * PRICES["input"] + 8 * PRICES["output"]) / 1e6


class Stage:
    """A checkout of links and a ledger for one accident; `fault(billed, prompt)` names what meets a
    request."""

    def __init__(self, folder, server):
        self.folder, self.server, server.answer = folder, server, self.answer
        self.reply, self.billed, self.lock = lambda asked: CONTENT, Counter(), threading.Lock()
        (folder / "data").mkdir(parents=True)
        for room in (
            "src",
            "tests",
            "Makefile",
            "figures",
            *(f"data/{name}" for name in os.listdir(ROOT / "data")),
        ):
            if room not in ("data/agents.toml", "data/runs"):
                (folder / room).symlink_to(ROOT / room)
        self.write()

    def write(self, **changes):
        """Write agents.toml: the agent `mine`, and end what goes wrong at the provider."""
        lines = {
            "model": "openai/mock-1",
            "api_base": self.server.address,
            "max_tokens": 20,
        } | changes
        prices = f"usd_per_million = {{ input = {PRICES['input']}, output = {PRICES['output']} }}"
        text = "\n".join(
            ["[mine]", prices, *(f"{key} = {json.dumps(value)}" for key, value in lines.items())]
        )
        (self.folder / "data/agents.toml").write_text(text)
        self.fault = lambda billed, prompt: None

    def answer(self, asked):
        """Return the reply or the fault's name of one request; what is answered is billed,
        delivered or not."""
        prompt = json.dumps(asked["messages"])
        with self.lock:
            fault = self.fault(sum(self.billed.values()), prompt)
            self.billed[prompt] += fault not in FAULTS or fault == "malformed"
        return fault or {"content": self.reply(asked)}

    def run(self, *arguments, limit=N, deadline=60, signals=(), after=0, whole=True, **environment):
        """Run the command in a session of its own, as a terminal would, and signal it once so many
        requests have come.

        Returns what stands then: exit code, text, requests, USD billed, stored replies by status,
        and how many requests were open at the first signal.
        """
        command = [sys.executable, "-m", "daybefore", "run", "--agent=mine", f"--at-once={AT_ONCE}"]
        command += [f"--deadline={deadline}", f"--limit={limit}", *arguments]
        own = {"DAYBEFORE_ROOT": str(self.folder), "DAYBEFORE_OUT": str(self.folder / "out")}
        own |= {
            "PYTHONPATH": str(ROOT / "src"),
            "TQDM_DISABLE": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "DAYBEFORE", "OPENAI"))
        } | own
        pipes = {
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
            "start_new_session": True,
        }
        process = subprocess.Popen(command, env=kept | environment, cwd=self.folder, **pipes)
        end = time.monotonic() + 120
        while len(self.server.asked) < after and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        n_open = len(self.server.asked) - sum(self.billed.values())
        for number in signals:
            (os.killpg if whole else os.kill)(process.pid, number)
            time.sleep(0.3)
        said, path = process.communicate(timeout=280)[0], self.folder / "out/data/runs/store.sqlite"
        stored = (
            read_runs(path, "replies")["status"].value_counts().to_dict() if path.exists() else {}
        )
        stands = {
            "asked": len(self.server.asked),
            "usd": sum(self.billed.values()) * USD,
            "n_open": n_open,
        }
        return {"code": process.returncode, "said": said, "stored": stored} | stands

    def judge(self, first, again, words, code, n_answered=N, n_open=0, **more):
        """Return {fault: whether or how often} of the run before and after; `more` names what else
        may be wrong."""
        twice = sum(n - 1 for n in self.billed.values() if n > 1)
        return (
            more
            | {
                "lost": max(0, n_answered - again["stored"].get("ok", 0)),
                "paid twice": max(
                    0, twice - n_open
                ),  # beyond those under way when the run was killed
                f"exit code {first['code']}": first["code"] != code,
                f"not said: {first['said'][-300:]}": not re.search(words, first["said"]),
                "a trace of Python's": "Traceback" in first["said"] + again["said"],
            }
        )


def reach_ceiling(stage):
    first, again = stage.run("--ceiling=0.02"), stage.run("--ceiling=5")
    over = {"over the ceiling": first["usd"] > 0.02}
    return stage.judge(first, again, "has reached its ceiling.*CEILING=0.04", 3, **over)


def fail_midway(stage, fault, words, code=0, after=4, n=N):
    """The provider fails once so many were answered, and is mended."""
    stage.fault = lambda billed, prompt: fault if billed >= after else None
    first = stage.run(limit=n)
    stage.write()
    return stage.judge(first, stage.run(limit=n), words, code, n_answered=n)


def time_out_and_retry(stage):
    chosen = []

    def hang(billed, prompt):
        if prompt not in chosen and 2 <= billed and len(chosen) < 3:
            chosen.append(prompt)
        return "hang" if prompt in chosen else None

    stage.fault = hang
    first = stage.run(deadline=10)
    stage.write()
    return stage.judge(first, stage.run("--retry", deadline=10), "mine, 3 timeout: ", 0)


def say_garbage(stage):
    stage.reply = lambda asked: "It could go either way, one would think of 12 or B."
    stage.fault = lambda billed, prompt: "malformed" if billed in (3, 6) else None
    first, again = stage.run(), stage.run()
    more = {
        "asked again": again["asked"] - first["asked"],
        "no reason": "chat completion" not in first["said"],
    }
    return stage.judge(first, again, "mine, 10 unparsable: no ", 0, n_answered=N - 2, **more)


def serve_with_key(stage):
    stage.write(api_key_env="MINE_KEY")
    first, again = (stage.run(MINE_KEY="sk-canary-7") for _ in range(2))
    kept = [
        file
        for file in (stage.folder / "out").rglob("*")
        if file.is_file() and b"canary" in file.read_bytes()
    ]
    more = {
        "another key": set(stage.server.keys) != {"Bearer sk-canary-7"},
        "the key is kept": bool(kept),
    }
    return stage.judge(first, again, "mine ", 0, **more)


def stop_once(stage, number, words, whole):
    first = stage.run(signals=[number], after=1 + AT_ONCE, whole=whole)
    more = {"what was under way is not stored": first["stored"] != {"ok": 1 + AT_ONCE}}
    return stage.judge(first, stage.run(), f"stopped by {words}.*the same command", 130, **more)


def cut(stage, *signals, words="", code=-signal.SIGKILL, after=1 + AT_ONCE):
    """Stop a run at once: the next must say how many requests were under way, and may have been
    paid."""
    first, again = stage.run(signals=signals, after=after), stage.run()
    told = re.search(
        r"(\d+) requests? (?:was|were) under way.* may have been paid, [\d.]+ USD", again["said"]
    )
    more = {"what was open is not told": not told or not first["n_open"] <= int(told[1]) <= AT_ONCE}
    return stage.judge(first, again, words, code, n_open=first["n_open"], **more)


def kill_midway(stage):
    """Kill an agent of four requests a question in the midst of many."""
    turns = [
        json.dumps({"thought": "", "action": "search", "input": word}) for word in ("oil", "rain")
    ]
    turns += [json.dumps({"thought": "", "action": "answer", "input": ""}), CONTENT]
    stage.write(method="react")
    stage.reply = lambda asked: turns[len(asked["messages"]) // 2]
    return cut(stage, signal.SIGKILL, after=20)


def stop_twice(stage):
    return cut(stage, signal.SIGINT, signal.SIGINT, words="a second Ctrl-C stops at once", code=130)


SPENT = "mine was stopped: the provider's quota or credit is spent"
FAIL = partial(partial, fail_midway)
ACCIDENTS = {
    "ceiling, 8 at once": (reach_ceiling, 0.3),
    "connections dropped midway": (FAIL(fault="drop", words="mine, 8 error: "), 0),
    "429 midway: the quota is spent": (FAIL(fault="no credit", words=SPENT, code=3), 0.2),
    "404 at the first question": (
        FAIL(fault="404", words="not found .404.*api_base", code=1, after=0),
        0,
    ),
    "401 midway: ten in a row": (FAIL(fault="401", words="10 accidents in a row", code=3, n=24), 0),
    "timeouts, RETRY=1": (time_out_and_retry, 0),
    "no box, no JSON": (say_garbage, 0),
    "api_key_env": (serve_with_key, 0),
    "Ctrl-C": (partial(stop_once, number=signal.SIGINT, words="Ctrl-C", whole=True), 2),
    "SIGTERM": (partial(stop_once, number=signal.SIGTERM, words="SIGTERM", whole=False), 2),
    "Ctrl-C twice": (stop_twice, 2),
    "kill -9, four requests a question": (kill_midway, 0.5),
}
"""Accident -> what plays it, and the seconds that the provider takes for a reply."""


def play_accident(name):
    """Return {fault: whether or how often} of one accident, played in a folder that is removed
    afterwards."""
    function, latency_s = ACCIDENTS[name]
    with (
        tempfile.TemporaryDirectory() as folder,
        run_server(server := Server(latency_s=latency_s, patience=40)),
    ):
        return function(Stage(Path(folder) / "kit", server))


def play_accidents(folder):
    """Play all accidents, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        played = dict(zip(ACCIDENTS, pool.map(play_accident, ACCIDENTS), strict=True))
    faults = {f"{name}: {fault}": n for name, found in played.items() for fault, n in found.items()}
    return judge(len(played), faults)


PLAYS = {
    "accidents of a paid run": ("0 lost, 0 paid twice, each said in a sentence", play_accidents)
}
