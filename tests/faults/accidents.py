"""Accidents of a paid run, played through the real command against a mock provider on loopback, each on its own ledger.

Of each: requests, what the provider billed, what was stored, what the same command asked afterwards, and whether a
question was lost, paid twice or left without a word. Nothing of the user's is touched: each accident has a folder of
links to the checkout, with an agents.toml and a ledger of its own.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from mock_provider import CONTENT, FAULTS, Server

from helpers.store import ROOT

N, AT_ONCE = 12, 8
"""Questions of an accident, and how many are asked at once."""

PRICES = {"input": 10, "output": 100}
"""US dollars a million tokens; a reply of the mock provider, 50 tokens in and 8 out, is 0.0013 USD."""

USD = (50 * PRICES["input"] + 8 * PRICES["output"]) / 1e6


class Stage:
    """A provider, a checkout of links and a ledger for one accident; `fault(n, prompt)` names what meets a request."""

    def __init__(self, folder, latency_s=0.0):
        self.folder, self.fault, self.reply = Path(folder), lambda n, prompt: None, {"content": CONTENT}
        self.server = Server(latency_s=latency_s, patience=40, answer=self.answer)
        self.billed, self.lock = Counter(), threading.Lock()
        (self.folder / "data").mkdir(parents=True)
        for base, names in (
            (ROOT, ("src", "tests", "Makefile", "figures")),
            (ROOT / "data", os.listdir(ROOT / "data")),
        ):
            for name in set(names) - {"agents.toml", "runs"}:
                (self.folder / base.relative_to(ROOT) / name).symlink_to(base / name)
        self.write()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write(self, extra="", **changes):
        """Write agents.toml: a baseline and the agent `mine`."""
        mine = {"category": "base_model", "framework": "prompt", "method": "zero_shot", "model": "openai/mock-1"}
        mine |= {"api_base": self.server.address, "usd_per_million": PRICES, "options": {"max_tokens": 20}} | changes
        lines = [f"{key} = {to_toml(value)}" for key, value in mine.items() if value is not None]
        base = '[last_value]\ncategory = "baseline"\nframework = "statistics"\nmethod = "last_value"\n'
        (self.folder / "data/agents.toml").write_text("\n".join([base, "[mine]", *lines, extra]))

    def answer(self, asked):
        """Return the reply or the fault's name of one request; what is answered is billed, delivered or not."""
        prompt = json.dumps(asked["messages"])
        with self.lock:
            fault = self.fault(sum(self.billed.values()), prompt)
            self.billed[prompt] += fault not in FAULTS or fault == "malformed"
        return fault or (self.reply(asked) if callable(self.reply) else self.reply)

    def mend(self):
        """End what goes wrong at the provider."""
        self.fault = lambda n, prompt: None

    @property
    def n_asked(self):
        return len(self.server.asked)

    def start(self, *arguments, agent="mine", limit=N, deadline=60, **environment):
        """Start the command in a session of its own, as a terminal would."""
        command = [sys.executable, "-m", "daybefore", "run", f"--agent={agent}", f"--at-once={AT_ONCE}"]
        command += [f"--deadline={deadline}", *[f"--limit={limit}"] * bool(limit), *arguments]
        own = {"DAYBEFORE_ROOT": str(self.folder), "DAYBEFORE_OUT": str(self.folder / "out")}
        own |= {"PYTHONPATH": str(ROOT / "src"), "TQDM_DISABLE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "DAYBEFORE", "OPENAI"))}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, env=kept | own | environment, cwd=self.folder, start_new_session=True, **pipes)

    def run(self, *arguments, **options):
        """Run the command to its end; returns (exit code, all it printed)."""
        process = self.start(*arguments, **options)
        said = process.communicate(timeout=280)[0]
        return process.returncode, said

    def interrupt(self, *signals, after, whole=True):
        """Run the command, send it signals once so many requests have come; returns (code, text, questions open)."""
        process, end = self.start(), time.monotonic() + 120
        while self.n_asked < after and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        n_open = self.n_asked - sum(self.billed.values())
        for number in signals:
            (os.killpg if whole else os.kill)(process.pid, number)
            time.sleep(0.3)
        said = process.communicate(timeout=120)[0]
        return process.returncode, said, n_open

    def count(self):
        """Return the agent's stored replies by status."""
        path = self.folder / "out/data/runs/store.sqlite"
        if not path.exists():
            return {}
        with closing(sqlite3.connect(path)) as ledger:
            sql = "SELECT status, count(*) FROM replies WHERE run_id LIKE 'mine-A-%' GROUP BY 1 ORDER BY 1"
            return dict(ledger.execute(sql).fetchall())


def to_toml(value):
    """Return a value as TOML writes it inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {to_toml(cell)}" for key, cell in value.items()) + " }"
    return json.dumps(value)


def judge(stage, first, again, words, *, code, n_answered=N, n_open=0):
    """Return an accident's row from its (code, text) before and after; `first_*` were noted by `note`.

    lost: questions without a stored answer at the end, of `n_answered`; twice: replies billed again, beyond those that
    were under way (`n_open`) when the run was killed; silent: the first run did not say `words`, or ended with another
    code, or showed a trace of Python's.
    """
    said = first["said"]
    twice = sum(n - 1 for n in stage.billed.values() if n > 1)
    silent = not re.search(words, said) or first["code"] != code or "Traceback" in said + again["said"]
    return {
        "requests": first["requests"],
        "USD": round(first["billed"] * USD, 4),
        "stored": ", ".join(f"{n} {status}" for status, n in first["stored"].items()) or "0",
        "rerun": again["requests"] - first["requests"],
        "stored then": ", ".join(f"{n} {status}" for status, n in again["stored"].items()) or "0",
        "lost": max(0, n_answered - again["stored"].get("ok", 0)),
        "twice": max(0, twice - n_open),
        "under way": n_open,
        "silent": silent,
        "all said": said,
        "said": next((line for line in said.splitlines() if re.search(words, line)), said[-300:]),
    }


def note(stage, code, said):
    """Return what stands after a run."""
    return {
        "code": code, "said": said, "requests": stage.n_asked, "billed": sum(stage.billed.values()),
        "stored": stage.count(),
    }  # fmt: skip


def play(stage, words, *, code, first=(), again=(), between=None, options=None, later=None, **expected):
    """Run, change something, run again; returns the accident's row."""
    one = note(stage, *stage.run(*first, **(options or {})))
    if between:
        between()
    two = note(stage, *stage.run(*again, **(later or {})))
    return judge(stage, one, two, words, code=code, **expected)


def fail_after(stage, n, fault):
    """Let every request meet a fault once so many were answered; returns a function that ends it."""
    stage.fault = lambda billed, prompt: fault if billed >= n else None
    return stage.mend


# --- the accidents ---------------------------------------------------------------------------------------------------


def reach_ceiling(stage):
    row = play(stage, "has reached its ceiling.*CEILING=0.04", code=3, first=["--ceiling=0.02"], again=["--ceiling=5"])
    return row | {"silent": row["silent"] or row["USD"] > 0.02}


def refuse_connections(stage):
    stage.write(api_base="http://127.0.0.1:9/v1")
    words = "did not answer the first question.*(refused|[Cc]onnect)"
    return play(stage, words, code=1, between=stage.write)


def drop_midway(stage):
    return play(stage, "mine, 8 error: ", code=0, between=fail_after(stage, 4, "drop"))


def say_429(stage):
    return play(stage, "mine, 8 error: .*429", code=0, between=fail_after(stage, 4, "429"))


def spend_quota(stage):
    words = "mine was stopped: the provider's quota or credit is spent"
    return play(stage, words, code=3, between=fail_after(stage, 4, "no credit"))


def mistake_address(stage):
    return play(stage, "not found .404.*api_base", code=1, between=fail_after(stage, 0, "404"))


def stop_after_ten(stage):
    mend = fail_after(stage, 4, "401")
    options = {"limit": 24}
    return play(stage, "10 accidents in a row", code=3, between=mend, options=options, later=options, n_answered=24)


def time_out_and_retry(stage):
    chosen = []

    def hang(billed, prompt):
        if prompt not in chosen and 2 <= billed and len(chosen) < 3:
            chosen.append(prompt)
        return "hang" if prompt in chosen else None

    stage.fault = hang
    late = {"deadline": 10}
    return play(stage, "mine, 3 timeout: ", code=0, options=late, later=late, again=["--retry"], between=stage.mend)


def say_garbage(stage):
    stage.reply = {"content": "It could go either way, one would think of 12 or B."}
    stage.fault = lambda billed, prompt: "malformed" if billed in (3, 6) else None
    row = play(stage, "mine, 10 unparsable: no ", code=0, n_answered=N - 2)
    return row | {"silent": row["silent"] or row["rerun"] != 0 or "not JSON" not in row["all said"]}


def serve_with_key(stage):
    stage.write(api_key_env="MINE_KEY")
    options = {"MINE_KEY": "sk-canary-7"}
    row = play(stage, "mine ", code=0, options=options, later=options)
    kept = any(b"canary" in file.read_bytes() for file in (stage.folder / "out").rglob("*") if file.is_file())
    return row | {"silent": row["silent"] or set(stage.server.keys) != {"Bearer sk-canary-7"} or kept}


def ask_many(stage):
    return play(stage, r"say how many \(LIMIT=20\), or YES=1", code=1, options={"limit": None})


def press_ctrl_c(stage, *signals, words="stopped by Ctrl-C.*the same command", whole=True):
    *first, _ = stage.interrupt(*(signals or [signal.SIGINT]), after=1 + AT_ONCE, whole=whole)
    one = note(stage, *first)
    row = judge(stage, one, note(stage, *stage.run()), words, code=130)
    return row | {"silent": row["silent"] or one["stored"] != {"ok": 1 + AT_ONCE}}


def tell_open(stage, first, words, code, n_open):
    """Run again after a cut; returns the row. It must say how many requests were under way, and may have been paid."""
    row = judge(stage, first, again := note(stage, *stage.run()), words, code=code, n_open=n_open)
    told = re.search(r"(\d+) requests? (?:was|were) under way.* may have been paid, [\d.]+ USD", again["said"])
    return row | {"silent": row["silent"] or not told or not n_open <= int(told[1]) <= AT_ONCE}


def send_sigterm(stage):
    return press_ctrl_c(stage, signal.SIGTERM, words="stopped by SIGTERM.*the same command", whole=False)


def press_ctrl_c_twice(stage):
    code, said, n_open = stage.interrupt(signal.SIGINT, signal.SIGINT, after=1 + AT_ONCE)
    return tell_open(stage, note(stage, code, said), "a second Ctrl-C stops at once", 130, n_open)


def kill_midway(stage):
    """Kill an agent of four requests a question in the midst of many."""
    turns = [json.dumps({"thought": "", "action": "search", "input": word}) for word in ("oil", "rain")]
    turns += [json.dumps({"thought": "", "action": "answer", "input": ""}), CONTENT]
    stage.write(method="react")
    stage.reply = lambda asked: {"content": turns[len(asked["messages"]) // 2]}
    code, said, n_open = stage.interrupt(signal.SIGKILL, after=20)
    return tell_open(stage, note(stage, code, said), "", -9, n_open)


ACCIDENTS = {
    "ceiling, 8 at once": (reach_ceiling, 0.3),
    "connection refused, then back": (refuse_connections, 0),
    "connections dropped midway": (drop_midway, 0),
    "429 midway, then back": (say_429, 0),
    "429 midway: the quota is spent": (spend_quota, 0.2),
    "404 at the first question": (mistake_address, 0),
    "401 midway: ten in a row": (stop_after_ten, 0),
    "timeouts, RETRY=1": (time_out_and_retry, 0),
    "no box, no JSON": (say_garbage, 0),
    "api_key_env": (serve_with_key, 0),
    "all 1,000 without a LIMIT": (ask_many, 0),
    "Ctrl-C": (press_ctrl_c, 2),
    "SIGTERM": (send_sigterm, 2),
    "Ctrl-C twice": (press_ctrl_c_twice, 2),
    "kill -9, four requests a question": (kill_midway, 0.5),
}
"""Accident -> what plays it, and the seconds that the provider takes for a reply."""


def play_accident(name):
    """Return the row of one accident, played in a folder that is removed afterwards."""
    function, latency_s = ACCIDENTS[name]
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder) / "kit", latency_s)
        try:
            return {"accident": name} | function(stage)
        finally:
            stage.server.shutdown()
            stage.server.server_close()


def is_bad(row):
    """Say whether an accident cost an answer or money, or went unsaid."""
    return bool(row["lost"] or row["twice"] or row["silent"])
