"""What the door costs: python tests/bench_llm.py [--profile] (not a test).

Puts an agent that asks a mock provider to 1,000 events, 50 at once, at 1 s and at 0.1 s latency, every reply recorded
and every reply and trace in the ledger; prints seconds against the ideal and CPU a call. At 1 s at most 1.2 times the
ideal 20 s is wanted, at 0.1 s 6 s on two cores. With --beside PYTHON, an interpreter that has inspect-ai and openai
installed (no dependency of ours), the same questions are put through inspect-ai after each. With --profile it says
where the time of 200 calls goes, one after the other.
"""

import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from helpers.agents.runs import run_agents
from helpers.models.llm import ask, open_door
from helpers.models.recordings import Recordings
from helpers.models.transport import load_litellm
from helpers.store import read_runs

MODEL = "openai/mock-1"


def make_events(tasks):
    """Return an events table, one event a task."""
    ids = [f"e{i:04}" for i in range(len(tasks))]
    return pd.DataFrame({"event_id": ids, "task": tasks, "as_of": "2016-10-10T00:00:00+08:00", "source_id": "s"})


@contextmanager
def start_provider(latency_s):
    """Run the mock provider in a process of its own; yields its address."""
    command = [sys.executable, Path(__file__).with_name("mock_provider.py"), str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def run_bench(folder, n, latency_s, workers):
    """Ask `n` questions; returns seconds, CPU seconds of this process, and how many replies and recordings are stored.

    The import of litellm and one question come before the clock starts.
    """
    load_litellm()
    kept = os.environ.get("DAYBEFORE_OUT")
    os.environ["DAYBEFORE_OUT"] = str(folder)
    try:
        with start_provider(latency_s) as address:
            door = open_door("bench", live=True, connection={"api_base": address})
            ask(door, MODEL, [{"role": "user", "content": "first"}])
            seconds, cpu_s, stored = time_run(door, Path(folder) / "ledger.sqlite", n, workers)
            door.recordings.close()
            stored = min(stored, len(Recordings("bench").rows) - 1)
    finally:
        os.environ.pop("DAYBEFORE_OUT")
        if kept is not None:
            os.environ["DAYBEFORE_OUT"] = kept
    return seconds, cpu_s, stored


def time_run(door, path, n, workers):
    """Put one agent to `n` events; returns seconds, CPU seconds, and how many replies have a trace in the ledger."""

    def forecast(event, world):
        row = ask(door, MODEL, [{"role": "user", "content": f"{event['event_id']}: " + "what will it be? " * 60}])
        trace = [{"step_type": "answer", "content": row["content"], "n_output_tokens": row["n_output_tokens"]}]
        return {"reply": row["content"], "prediction": {"value": "B"}, "trace": trace}

    started, cpu = time.perf_counter(), time.process_time()
    options = {"window": "T", "workers": workers}
    run_agents({"mock": {"forecast": forecast}}, make_events(["ask"] * n), lambda: None, path, **options)
    spent = time.perf_counter() - started, time.process_time() - cpu
    replies, traces = (read_runs(path, table) for table in ("replies", "traces"))
    return *spent, int(replies.loc[replies["status"] == "ok", "event_id"].isin(traces["event_id"]).sum())


INSPECT = """
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate
address, n, workers, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
asked = [Sample(input=f"e{i:04}: " + "what will it be? " * 60, target="B", id=i) for i in range(n)]
task = Task(dataset=asked, solver=generate(), scorer=includes())
clock, cpu = time.perf_counter(), time.process_time()
log = eval(task, model="openai/mock-1", model_base_url=address, model_args={"responses_api": False},
           max_connections=workers, max_samples=workers, display="none", log_dir=folder)[0]
print(time.perf_counter() - clock, time.process_time() - cpu, len(log.samples))
"""
"""The same bench by inspect-ai, its imports before the clock starts."""


def run_beside(python, n, latency_s, workers):
    """Put `n` questions through inspect-ai, as another interpreter has it; returns what `run_bench` does."""
    environment = os.environ | {"OPENAI_API_KEY": "none"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder, start_provider(latency_s) as address:
        command = [python, "-c", INSPECT, address, str(n), str(workers), folder]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout
    seconds, cpu_s, n_stored = said.split()[-3:]
    return float(seconds), float(cpu_s), int(n_stored)


def profile_calls(n=200):
    """Print where the time of `n` calls goes, one after the other, by the library's part that it is spent in."""
    load_litellm()
    with tempfile.TemporaryDirectory() as folder, start_provider(0) as address:
        os.environ["DAYBEFORE_OUT"] = folder
        door = open_door("profile", live=True, connection={"api_base": address})
        ask(door, MODEL, [{"role": "user", "content": "first"}])
        litellm = load_litellm()
        profile = cProfile.Profile()
        profile.enable()
        for i in range(n):
            messages = [{"role": "user", "content": f"question {i}"}]
            litellm.completion(MODEL, messages, timeout=30.0, max_retries=0, api_key="none", api_base=address)
        profile.disable()
        os.environ.pop("DAYBEFORE_OUT")
    stats = pstats.Stats(profile)
    whole, own = stats.total_tt, {}
    for (file, _, _), (_, _, seconds, _, _) in stats.stats.items():
        part = file.split("site-packages/")[-1].split("/")[0] if "site-packages" in file else "Python itself"
        own[part] = own.get(part, 0) + seconds
    print(f"{n} calls under the profiler, {1000 * whole / n:.1f} ms each; time in the functions of:")
    for part, seconds in sorted(own.items(), key=lambda item: -item[1])[:8]:
        print(f"  {part:15} {seconds / whole:.0%}")
    print("and, with all they call:")
    for name in ("wrapper", "completion", "make_sync_openai_chat_completion_request", "handle_request",
                 "update_response_metadata", "function_setup", "get_optional_params"):  # fmt: skip
        found = [entry for key, entry in stats.stats.items() if key[2] == name]
        print(f"  {name:42} {max((entry[3] for entry in found), default=0) / whole:.0%}")


def main(arguments):
    """Print the durations."""
    if "--profile" in arguments:
        return profile_calls()
    n, workers = 1000, 50
    for latency_s in (1.0, 0.1):
        with tempfile.TemporaryDirectory() as folder:
            show("ours", n, workers, latency_s, run_bench(folder, n, latency_s, workers))
        if "--beside" in arguments:
            python = arguments[arguments.index("--beside") + 1]
            show("inspect-ai", n, workers, latency_s, run_beside(python, n, latency_s, workers))


def show(name, n, workers, latency_s, measured):
    """Print one line of the bench."""
    ideal, (seconds, cpu_s, n_stored) = n / workers * latency_s, measured
    print(
        f"{name}: {n} questions, {workers} at once, {latency_s:g} s latency: {seconds:.1f} s, {seconds / ideal:.2f} "
        f"times the ideal {ideal:g} s; CPU a call {1000 * cpu_s / n:.1f} ms; stored {n_stored}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
