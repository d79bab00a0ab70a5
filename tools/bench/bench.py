"""Measure the bench's rows, a process each, and write data/bench.json and docs/bench.md (`make
bench`).

Of each row the quickest of some repeats counts. With names as arguments only those rows are
measured anew.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPEATS = 2
"""Times that a row is measured, where it is not the larger of two."""

FIGURES = "make figures"
"""The row of the whole kit."""

OWN, PEERS = ".venv/bin/python tools/bench/rows.py", ".venv-bench/bin/python tools/bench/peers.py"
ROWS = [
    ("1,000 questions, 50 at once, a model of 0.1 s (ideal 2 s)", {
        "Daybefore, all stored durably": (OWN, "ask 1000 0.1", "ask 10000 0.1"),
        "litellm and a semaphore, nothing stored": (OWN, "litellm 1000 0.1", "litellm 10000 0.1"),
        "inspect-ai 0.3.285": (PEERS, "inspect 1000 0.1", None),
    }),
    ("the same, a model of 1 s (ideal 20 s)", {
        "Daybefore, all stored durably": (OWN, "ask 1000 1", None),
        "litellm and a semaphore, nothing stored": (OWN, "litellm 1000 1", None),
        "inspect-ai 0.3.285": (PEERS, "inspect 1000 1", None),
    }),
    ("look-ups between turns of 0.1 s", {
        "one question at a time": (OWN, "look_ups 200 1", None),
        "eight at once": (OWN, "look_ups 800 8", None),
    }),
    ("Monte Carlo of missing predictions: 1,000 trials, then 10,000", {
        "Daybefore, eight agents": (OWN, "missing 1000", "missing 10000"),
    }),
    ("factor regression: 31,800 rows, then 391,000", {
        "Daybefore, with every category's effect": (OWN, "regress 31800", "regress 391000"),
        "statsmodels, by formula": (PEERS, "statsmodels 31800", "statsmodels 391000"),
        "pyfixest": (PEERS, "pyfixest 31800", "pyfixest 391000"),
    }),
    ("event matching: 0.45 million pairs, then 4.5", {"Daybefore": (OWN, "match 450000", "match 4500000")}),
    ("scoring: 100,000 predictions, then a million", {"Daybefore": (OWN, "score 100000", "score 1000000")}),
    ("index and 100 queries: 5,000 passages, then 50,000", {
        "Daybefore": (OWN, "search 5000", "search 50000"),
        "bm25s": (PEERS, "bm25s 5000", "bm25s 50000"),
    }),
    ("import: 100,000 forecasts, then a million", {"Daybefore": (OWN, "load 100000", "load 1000000")}),
]  # fmt: skip


def run(program, arguments, repeats):
    """Return the quickest of some runs of a row, {wall_s, cpu_s, peak_mb, ...}. Raises RuntimeError
    where one fails."""
    found = []
    for _ in range(repeats):
        done = subprocess.run(
            [*program.split(), *arguments.split()],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=SET,
        )
        if done.returncode:
            raise RuntimeError(f"{program} {arguments}: {done.stderr[-300:]}")
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {
        name: round(value, 4) for name, value in min(found, key=lambda row: row["wall_s"]).items()
    }


SET = os.environ | {
    "PYTHONPATH": str(ROOT / "src"),
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


def make_figures():
    """Return what `make figures` takes in a clone whose environment is set up: wall_s, cpu_s, and
    the seconds of each notebook."""
    ours = ("PYTHONPATH", "MAKEFLAGS")
    bare = {name: value for name, value in os.environ.items() if name not in ours}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
        at, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["make", "figures", f"VENV={ROOT}/.venv"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=bare)
        wall_s, after = time.perf_counter() - at, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"make figures: {done.stderr[-300:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds = {name: float(took) for name, took in re.findall(r"] (\w+) ([\d.]+) s", done.stdout)}
    return {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1), "notebooks": seconds}


def write_figures(row):
    """Return the section on `make figures`: in all, then the notebooks, the longest first."""
    told = f"{row['wall_s']:.0f} seconds, {row['cpu_s']:.0f} of a processor, environment set up."
    told += " Three run at once, so a notebook's seconds hold waits."
    lines = ["", f"## {FIGURES}", "", told, "", "| notebook | seconds |", "|---|---|"]
    longest = sorted(row["notebooks"].items(), key=lambda one: -one[1])
    return [*lines, *(f"| {name} | {seconds:.1f} |" for name, seconds in longest)]


def write_goals(rows):
    """Return what the rows say of the goals, a sentence each."""
    told = []
    for name, ideal_s in (("0.1", 2), ("1", 20)):
        own, peer = (
            rows[f"{which} 1000 {name}"]["wall_s"] - ideal_s for which in ("ask", "inspect")
        )
        seconds = f"inspect-ai takes {peer:.1f} s beyond the ideal, Daybefore {own:.1f} s"
        told.append(f"A model of {name} s: {seconds}: {peer / own:.1f} times (goal 5).")
    one, eight = (rows[name]["waiting_s"] for name in ("look_ups 200 1", "look_ups 800 8"))
    seconds = f"{1000 * eight:.1f} ms at eight at once, {1000 * one:.1f} ms alone"
    return [*told, f"A look-up takes {seconds}: {eight / one:.2f} times (goal 1.5)."]


HEAD = """# Benchmarks

Written by `make bench` on one idle machine, so ratios count, not seconds.
Inputs are synthetic, but for look-ups (the replay's pages); imports are not counted.
"""


def write_page(rows):
    """Return the page: goals, then a table a section."""
    lines = [HEAD, *(f"- {told}" for told in write_goals(rows))]
    for title, members in ROWS:
        lines += ["", f"## {title[0].upper()}{title[1:]}", ""]
        lines += [
            "| | seconds | processor s | peak MB | larger: seconds | growth | command |",
            "|---" * 7 + "|",
        ]
        for label, (program, small, large) in members.items():
            row, more = rows[small], rows.get(large)
            ends = f"{more['wall_s']:.2f} | {more['wall_s'] / row['wall_s']:.1f}" if more else "|"
            cells = f"{row['wall_s']:.2f} | {row['cpu_s']:.2f} | {row['peak_mb']:.0f} | {ends}"
            lines.append(f"| {label} | {cells} | `{program} {small}` |")
    return "\n".join([*lines, *write_figures(rows[FIGURES])]) + "\n"


def main(names):
    """Measure all rows, or those named (as in "ask 1000 0.1"), and write both files."""
    plan = [one for _, members in ROWS for one in members.values()]
    known = {small.split()[0] for _, small, _ in plan} | {"figures"}
    if strange := sorted(set(names) - known):
        sys.exit(
            f"make bench: no row is called {strange[0]!r}; there are {', '.join(sorted(known))}"
        )
    path = ROOT / "data/bench.json"
    rows = json.loads(path.read_text())["rows"] if names else {}
    for program, small, large in plan:
        for arguments, repeats in ((small, REPEATS), (large, 1)):
            if arguments and (not names or arguments.split()[0] in names):
                rows[arguments] = run(program, arguments, repeats)
                print(f"{arguments}: {rows[arguments]}", flush=True)
    if not names or "figures" in names:
        rows[FIGURES] = make_figures()
    about = {"cores": os.cpu_count(), "python": sys.version.split()[0], "rows": rows}
    path.write_text(json.dumps(about, indent=1, sort_keys=True) + "\n")
    (ROOT / "docs/bench.md").write_text(write_page(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
