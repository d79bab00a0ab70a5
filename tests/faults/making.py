"""`make figures` stopped by Ctrl-C or killed, in a copy of the kit with two quick notebooks."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from faults.table import judge

from helpers.files import ROOT

SEED, NOTEBOOKS = 15, ("30_spdg", "31_liveagentbench")


DRAWN = tempfile.TemporaryDirectory()
"""Where the kit stands of which everything is drawn."""


def start_make(kit):
    """Start `make figures` in a session of its own, as a terminal would."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "DAYBEFORE", "MFLAGS"))
    }
    command = ["make", "--no-print-directory", "figures", f"VENV={Path(sys.prefix).resolve()}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=kit, env=kept, start_new_session=True, **pipes)


def read_results(kit):
    """Return {path: bytes} of all that make may change."""
    paths = [
        path
        for room in ("notebooks", "data", "figures")
        for path in (kit / room).rglob("*")
        if path.is_file()
    ]
    return {path.relative_to(kit): path.read_bytes() for path in sorted(paths)}


def draw_quietly():
    """Return a copy of the kit of which `make figures` has drawn everything, and the seconds that
    this takes again.

    The first play of a run draws it for all; as nothing has changed, drawing again gives the same
    bytes. Raises RuntimeError where the environment is another lock's: make would set it up anew,
    for the copy.
    """
    kit, told = Path(DRAWN.name) / "kit", Path(DRAWN.name) / "seconds"
    if told.exists():
        return kit, float(told.read_text())
    if (Path(sys.prefix) / ".ready").read_bytes() != (ROOT / "requirements.lock").read_bytes():
        raise RuntimeError(
            "the environment is not that of requirements.lock; `make figures` sets it up"
        )
    for room in ("src", "data", "figures", ".ci"):
        shutil.copytree(
            ROOT / room, kit / room, ignore=shutil.ignore_patterns("__pycache__", "*.sqlite*")
        )
    for file in (
        "Makefile",
        "requirements.lock",
        *(f"notebooks/{name}.ipynb" for name in NOTEBOOKS),
    ):
        (kit / file).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / file, kit / file)
    for _ in range(2):
        shutil.rmtree(kit / ".make", ignore_errors=True)
        process, begun = start_make(kit), time.monotonic()
        said = process.communicate()[0]
        if process.returncode:
            raise RuntimeError(f"make figures does not end well by itself: {said[-800:]}")
    told.write_text(str(time.monotonic() - begun))
    return kit, float(told.read_text())


def list_session(pid):
    """Return the processes of a session that are alive."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            found += [int(stat.parent.name)] if fields[3] == str(pid) and fields[0] != "Z" else []
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
        process = start_make(kit)
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
    let it end."""
    drawn_kit, seconds = draw_quietly()
    kit, rng, faults = shutil.copytree(drawn_kit, Path(folder) / "kit"), random.Random(SEED), {}
    drawn = read_results(kit)
    for i in range(n):
        process = signal_make(kit, number, rng.uniform(0.05, 0.7) * seconds)
        begun = time.monotonic()
        said = process.communicate(timeout=60)[0]
        ended, left = time.monotonic() - begun, end_left(process.pid)
        faults |= {
            f"{i}: it was over before": process.returncode == 0,
            f"{i}: took {ended:.0f} s": ended > 15,
            f"{i}: {left} left": number == signal.SIGINT and bool(left),
            f"{i}: files differ": read_results(kit) != drawn,
            f"{i}: {said[-300:]}": number == signal.SIGINT and "Traceback" in said,
        }
    last = start_make(kit)
    said = last.communicate()[0]
    faults |= {
        f"does not go on: {said[-500:]}": last.returncode != 0,
        "results differ": read_results(kit) != drawn,
    }
    return judge(n, faults)


WHOLE = "what stood there stands, no process is left, then make ends with the bytes of an undisturbed one"
PLAYS = {
    "Ctrl-C in make figures": (WHOLE, partial(stop_make, signal.SIGINT, 4)),
    "kill -9 of make figures": (WHOLE, partial(stop_make, signal.SIGKILL, 3)),
}
