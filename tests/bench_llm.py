"""What the client costs: python tests/bench_llm.py (not a test).

Puts an agent that asks a mock provider to 1,000 events, 50 at once, at 1 s and at 0.1 s latency, every reply recorded
and every reply and trace in the store; prints seconds against the ideal and CPU a call. At 1 s at most 1.2 times the
ideal 20 s is wanted, at 0.1 s 6 s on two cores.
"""

import os
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


def main():
    """Print the durations."""
    n, workers = 1000, 50
    for latency_s in (1.0, 0.1):
        with tempfile.TemporaryDirectory() as folder:
            seconds, cpu_s, n_stored = run_bench(folder, n, latency_s, workers)
        ideal = n / workers * latency_s
        print(
            f"{n} questions, {workers} at once, {latency_s:g} s latency: {seconds:.1f} s, {seconds / ideal:.2f} times "
            f"the ideal {ideal:g} s; CPU a call {1000 * cpu_s / n:.1f} ms; stored {n_stored}"
        )


if __name__ == "__main__":
    main()
