"""`make figures` stopped by Ctrl-C, killed, started twice at once, in a copy of the kit with two quick notebooks."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from faults.breaking import judge, read_files

from helpers.store import ROOT

SEED, NOTEBOOKS = 15, ("30_spdg", "32_table2")


def copy_kit(folder):
    """Copy what make needs into a folder, with two quick notebooks only; returns it."""
    for room in ("src", "data", "figures", ".ci"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "public", "*.sqlite*"))
    for file in ("Makefile", "requirements.lock", *(f"notebooks/{name}.ipynb" for name in NOTEBOOKS)):
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / file, folder / file)
    return folder


def start_make(kit):
    """Start `make figures` in a session of its own, as a terminal would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "DAYBEFORE", "MFLAGS"))}
    command = ["make", "--no-print-directory", "figures", f"VENV={Path(sys.prefix).resolve()}"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=kit, env=kept, start_new_session=True, **pipes)


def read_results(kit):
    """Return the bytes of all that make may change."""
    return {f"{room}/{path}": data for room in ("notebooks", "data", "figures") for path, data in
            read_files(kit / room).items()}  # fmt: skip


def draw_quietly(folder):
    """Return what `make figures` makes of a copy that nobody disturbs, and the seconds it takes."""
    kit, begun = copy_kit(Path(folder) / "quiet"), time.monotonic()
    process = start_make(kit)
    said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"make figures does not end well by itself: {said[-800:]}")
    return read_results(kit), time.monotonic() - begun


def list_session(pid):
    """Return the processes of a session that are alive."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            found += [int(stat.parent.name)] if fields[3] == str(pid) and fields[0] != "Z" else []
    return found


def stop_make(number, n, folder):
    """Stop make by a signal to all its processes at seeded moments; what stood there stands; then let it end."""
    wanted, seconds = draw_quietly(folder)
    kit, rng, faults = copy_kit(Path(folder) / "kit"), random.Random(SEED), {}
    for i in range(n):
        shutil.rmtree(kit / ".make", ignore_errors=True)
        before = read_results(kit)
        process = start_make(kit)
        time.sleep(rng.uniform(0.1, 0.8) * seconds)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        begun = time.monotonic()
        said = process.communicate(timeout=60)[0]
        ended = time.monotonic() - begun
        time.sleep(1)
        after = read_results(kit)
        faults |= {
            f"{i}: ended well": process.returncode == 0,
            f"{i}: took {ended:.0f} s": ended > 15,
            f"{i}: {list_session(process.pid)} left": number == signal.SIGINT and bool(list_session(process.pid)),
            f"{i}: files differ": {path: after.get(path) for path in before} != before,
            f"{i}: {said[-300:]}": number == signal.SIGINT and "Traceback" in said,
        }
        for pid in list_session(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    last = start_make(kit)
    said = last.communicate()[0]
    faults |= {f"does not go on: {said[-500:]}": last.returncode != 0, "results differ": read_results(kit) != wanted}
    return judge(n, faults)


def make_twice(folder):
    """Run make twice at once in one copy."""
    wanted, _ = draw_quietly(folder)
    kit = copy_kit(Path(folder) / "kit")
    both = [start_make(kit) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    return judge(2, {
        **{f"{i} failed: {said[i][-500:]}": process.returncode != 0 for i, process in enumerate(both)},
        "results differ": read_results(kit) != wanted,
    })  # fmt: skip


WHOLE = "what stood there stands, no process is left, then make ends with the bytes of an undisturbed one"
PLAYS = {
    "Ctrl-C in make figures": (WHOLE, partial(stop_make, signal.SIGINT, 4)),
    "kill -9 of make figures": (WHOLE, partial(stop_make, signal.SIGKILL, 3)),
    "make figures twice at once": ("both end well, with the bytes of one by itself", make_twice),
}
