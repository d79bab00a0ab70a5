"""Twenty seeded changes of the code, each of which some test must notice: `make mutations`, or as a program [SEED].

A change is one operator or one number of a function: < for <=, + for -, and for or, 3 for 2. Each is made in a copy of
the kit and the tests of its room are run there until the first fails; one that none notices is a test that is missing.
Without a change the same tests pass in the copy, which is tried as well. Prints a table; leaves with 1 where a change
survived, or the unchanged copy did not.
"""

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.store import ROOT

SEED, LIMIT_S = 15, 300
PAIRS = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)]
PAIRS += [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)]
SWAPS = dict(PAIRS) | {new: old for old, new in PAIRS}
ASKING = "tests/models/test_llm.py -k ceiling|cost|price|tokens|bound|spent|room"
PLACES = [
    # file under src/helpers, how many changes, in which functions (all: ""), tests of its room
    ("outcomes/scores.py", 3, "", "tests/scoring/test_scores.py"),
    ("events/tiers.py", 2, "", "tests/questions tests/slice/test_slice.py -k tier|level|volatil"),
    ("web/session.py", 2, "fetch _follow _read check_address read_memento", "tests/web/test_session.py"),
    ("replies/numbers.py", 1, "", "tests/replies"),
    ("replies/options.py", 1, "", "tests/replies"),
    ("replies/boxes.py", 1, "", "tests/replies"),
    ("outcomes/matching.py", 1, "", "tests/scoring/test_matching.py"),
    ("stats/regression.py", 2, "", "tests/stats/test_regression.py"),
    ("stats/intervals.py", 2, "summarize_clustered _test_means", "tests/stats/test_intervals.py"),
    ("stats/pairs.py", 1, "", "tests/stats/test_pairs.py tests/test_compare.py"),
    ("models/costs.py", 2, "bound_cost reserve settle read_count charge", ASKING),
    ("web/sources.py", 1, "compute_published_at", "tests/web/test_sources.py tests/web/test_replay.py"),
    ("web/replay.py", 1, "render answer", "tests/web/test_replay.py"),
]


def list_changes(text, functions=""):
    """Return [(line, start, end, new)] of all changes that can be made in some functions of a source text.

    >>> list_changes("def f(a):\\n    return a < 3")
    [(2, 21, 26, '(a <= 3)'), (2, 25, 26, '4')]
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and (not functions or function.name in functions.split()):
            for node in walk_code(function.body):
                new = change_node(node)
                if new is not None:
                    start, end = (
                        starts[node.lineno - 1] + node.col_offset,
                        starts[node.end_lineno - 1] + node.end_col_offset,
                    )
                    found.append((node.lineno, start, end, new))
    return sorted(set(found))


def walk_code(nodes):
    """Yield the expressions of some statements, but for texts, what is raised, and functions within."""
    for node in nodes:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Assert):
            continue
        yield node
        yield from walk_code(ast.iter_child_nodes(node))


def change_node(node):
    """Return a changed expression as text, None for one that is left alone."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS and not is_tolerance(node.comparators[0]):
        changed = ast.Compare(node.left, [SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        changed = ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        changed = ast.BoolOp(SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        changed = node.operand
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        changed = ast.Constant(node.value + 1)
    else:
        return None
    text = ast.unparse(changed)
    return text if isinstance(node, ast.Constant) else f"({text})"


def is_tolerance(node):
    """Say whether a limit only allows for rounding: whether it itself is within shows in nothing.

    >>> is_tolerance(ast.Constant(1e-12)), is_tolerance(ast.Constant(0)), is_tolerance(ast.Constant(0.05))
    (True, False, False)
    """
    return isinstance(node, ast.Constant) and type(node.value) is float and 0 < node.value <= 1e-9


def choose_changes(seed=SEED):
    """Return [(file, line, start, end, new, tests)], seeded, as many of each place as PLACES says, and first none.

    Where none is made, the files that the same tests are for stand together.
    """
    files = {tests: [file for file, _, _, its in PLACES if its == tests] for _, _, _, tests in PLACES}
    chosen = [(" ".join(names), 0, 0, 0, "", tests) for tests, names in files.items()]
    for file, n, functions, tests in PLACES:
        changes = list_changes((ROOT / "src/helpers" / file).read_text(encoding="utf-8"), functions)
        rng = random.Random(f"{seed} {file}")
        chosen += [(file, *change, tests) for change in sorted(rng.sample(changes, n))]
    return chosen


def try_change(change):
    """Make a change in a copy of the kit and run the tests; returns its row: file, line, change, killed by, seconds."""
    file, line, start, end, new, tests = change
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder)
        for room in ("src", "tests", "data", ".ci"):  # with what is compiled: only the changed file is compiled anew
            shutil.copytree(ROOT / room, kit / room, ignore=shutil.ignore_patterns("*.sqlite*"))
        shutil.copy2(ROOT / "pyproject.toml", kit)
        old = ""
        if line:
            path = kit / "src/helpers" / file
            text = path.read_text(encoding="utf-8")
            path.write_text(text[:start] + new + text[end:], encoding="utf-8")
            old = text[start:end]
        killed_by = run_tests(kit, file.split(), tests)
    told = f"{old} -> {new}" if len(old) < 60 else f"... -> {new}"
    return file, line, " ".join(told.split()), killed_by, round(time.monotonic() - begun)


def run_tests(kit, files, tests):
    """Run a room's tests in a copy; returns the first that fails, "the time limit" or, where all pass, None."""
    paths, _, words = tests.partition(" -k ")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command += [*(f"src/helpers/{file}" for file in files), *paths.split()]
    command += ["-k", " or ".join([*words.split("|"), *(Path(file).stem for file in files)])] * bool(words)
    environment = os.environ | {"PYTHONPATH": str(kit / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        pipes = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False}
        done = subprocess.run(command, cwd=kit, env=environment, **pipes)
    except subprocess.TimeoutExpired:
        return "the time limit"
    if done.returncode == 0:
        return None
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return (
        failed[0].replace("src/helpers/", "") if failed else f"pytest left with {done.returncode}: {done.stdout[-300:]}"
    )


def main(seed=SEED):
    """Try the changes, two at a time, and print the table; returns 1 where one survived."""
    begun, n_alive, n_killed, n_broken = time.monotonic(), 0, 0, 0
    print("| file | line | change | killed by | seconds |\n|---|---|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        for file, line, told, killed_by, seconds in pool.map(try_change, choose_changes(seed)):
            if line:
                n_alive, n_killed = n_alive + (killed_by is None), n_killed + (killed_by is not None)
                shown = told.replace("|", "\\|")
                print(f"| {file} | {line} | `{shown}` | {killed_by or '**nothing**'} | {seconds} |", flush=True)
            elif killed_by:
                n_broken += 1
                print(f"| {file} | | none | {killed_by}: **its tests fail without a change** | {seconds} |", flush=True)
    print(f"{n_killed} of {n_killed + n_alive} killed, in {time.monotonic() - begun:.0f} s")
    return int(n_alive + n_broken > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
