"""`make figures` stopped by Ctrl-C or killed, in a small kit (tests/test_make.py)."""

import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from faults.table import judge
from test_make import HERE, has_environment, make_figures, make_kit, read_results, start_make

SEED = 15


def list_session(pid):
    """Return the processes of a session that are alive."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if fields[3] == str(pid) and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found


def end_left(pid, seconds=2):
    """Return the processes of a session that are still alive after some seconds, and end them."""
    end = time.monotonic() + seconds
    while (left := list_session(pid)) and time.monotonic() < end:
        time.sleep(0.1)
    for one in left:
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    return left


def signal_make(kit, number, wait_s):
    """Return a make of everything to which a signal came while it ran: sooner, where the machine is
    now quicker."""
    for _ in range(5):
        shutil.rmtree(kit / ".make")
        process = start_make(kit, "figures", HERE)
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        if process.returncode != 0:
            break
        wait_s /= 2
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
    return process


def stop_make(number, n, folder):
    """Stop make by a signal to all its processes at seeded moments; what stood there stands; then
    let it end. Raises RuntimeError where it does not end well by itself."""
    kit, rng, faults = make_kit(Path(folder) / "kit"), random.Random(SEED), {}
    begun = time.monotonic()
    status, _, said = make_figures(kit)
    seconds = time.monotonic() - begun
    if status or not has_environment():
        raise RuntimeError(f"`make figures` must end well here by itself: {said[-800:]}")
    drawn = read_results(kit)
    for i in range(n):
        process = signal_make(kit, number, rng.uniform(0.05, 0.7) * seconds)
        begun = time.monotonic()
        said = "".join(process.communicate(timeout=60))
        ended, left = time.monotonic() - begun, end_left(process.pid)
        is_told = number == signal.SIGINT
        faults |= {
            f"{i}: it was over before": process.returncode == 0,
            f"{i}: took {ended:.0f} s": ended > 15,
            f"{i}: {left} left": is_told and bool(left),
            f"{i}: files differ": read_results(kit) != drawn,
            f"{i}: {said[-300:]}": is_told and "Traceback" in said,
        }
    status, _, said = make_figures(kit)
    faults[f"does not go on: {said[-500:]}"] = status != 0
    return judge(n, faults | {"results differ": read_results(kit) != drawn})


WHOLE = "what stood there stands, no process is left, then make ends with the bytes of an undisturbed one"
PLAYS = {
    "Ctrl-C in make figures": (WHOLE, partial(stop_make, signal.SIGINT, 4)),
    "kill -9 of make figures": (WHOLE, partial(stop_make, signal.SIGKILL, 3)),
}
