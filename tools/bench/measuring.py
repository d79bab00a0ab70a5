"""What the bench's rows share: how a call is measured, the model server beside it, and synthetic
inputs."""

import json
import resource
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

WORDS = [f"word{at}" for at in range(3000)]
"""The words of synthetic texts."""


def measure(call):
    """Call a function and print its seconds, processor seconds and the process's peak memory as
    JSON."""
    at, used = time.perf_counter(), time.process_time()
    more = call()
    row = {"wall_s": time.perf_counter() - at, "cpu_s": time.process_time() - used}
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(row | (more if isinstance(more, dict) else {})))


@contextmanager
def serve(latency_s):
    """Serve a model in a process apart, which answers after so many seconds; yields its address."""
    command = [sys.executable, str(Path(__file__).with_name("server.py")), str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.kill()


def write_texts(n, n_words=12, seed=1):
    """Return `n` texts of random words, common ones more often."""
    ranks = np.random.default_rng(seed).zipf(1.3, (n, n_words)) % len(WORDS)
    return [" ".join(WORDS[rank] for rank in row) for row in ranks]


def draw_factors(n):
    """Return `n` rows of a score by 30 agents, 10 domains and 4 levels, an event for each 30
    rows."""
    rng, event = np.random.default_rng(1), np.arange(n) // 30
    rows = pd.DataFrame({"agent_id": [f"a{at % 30:02}" for at in range(n)], "event_id": event})
    rows["domain"] = [f"d{at}" for at in rng.integers(0, 10, event.max() + 1)[event]]
    rows["level"] = 1 + rng.integers(0, 4, event.max() + 1)[event]
    return rows.assign(score=rng.random(n) - rows["level"] / 10)
