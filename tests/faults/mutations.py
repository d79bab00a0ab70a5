"""Twenty seeded changes of the code, each of which some test must notice: `make mutations`, or as a program [SEED].

A change is one operator or one number of a function: < for <=, + for -, and for or, 3 for 2. Each is made in a copy of
the kit, where the tests of its room run until the first fails; so does a copy without a change, where all must pass.
Prints a table; leaves with 1 where a change survived, or the unchanged copy did not.
"""

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.store import ROOT

SEED, LIMIT_S = 15, 300
PAIRS = [(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)]
PAIRS += [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)]
SWAPS = dict(PAIRS) | {new: old for old, new in PAIRS}
PLACES = [
    # file under src/helpers, how many changes, in which functions (all: ""), tests of its room
    ("scoring/scores.py", 3, "", "tests/scoring/test_scores.py"),
    ("events/levels.py", 2, "", "tests/events"),
    ("web/session.py", 2, "", "tests/web/test_session.py"),
    ("replies/numbers.py", 1, "", "tests/replies"),
    ("replies/options.py", 1, "", "tests/replies"),
    ("replies/boxes.py", 1, "", "tests/replies"),
    ("scoring/matching.py", 1, "", "tests/scoring/test_matching.py"),
    ("stats/regression.py", 2, "", "tests/stats/test_regression.py"),
    ("stats/means.py", 2, "summarize_clustered summarize_jackknife", "tests/stats/test_intervals.py"),
    ("stats/paired.py", 1, "", "tests/stats/test_pairs.py"),
    ("models/costs.py", 2, "", "tests/models"),
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
    found = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and (not functions or function.name in functions.split()):
            for node in walk_code(function.body):
                new = change_node(node)
                if new is not None:
                    ends = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
                    found.add((node.lineno, *ends, new))
    return sorted(found)


def walk_code(nodes):
    """Yield the expressions of some statements, but for texts, what is raised, and functions within."""
    for node in nodes:
        if not isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Assert):
            yield node
            yield from walk_code(ast.iter_child_nodes(node))


def change_node(node):
    """Return a changed expression as text, None for one that is left alone: limits that only allow for rounding too."""
    limit = getattr(node.comparators[0], "value", None) if isinstance(node, ast.Compare) else None
    if (
        isinstance(node, ast.Compare)
        and type(node.ops[0]) in SWAPS
        and not (isinstance(limit, float) and limit <= 1e-9)
    ):
        changed = ast.Compare(node.left, [SWAPS[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        changed = ast.BinOp(node.left, SWAPS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        changed = ast.BoolOp(SWAPS[type(node.op)](), node.values)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return ast.unparse(ast.Constant(node.value + 1))
    else:
        return None
    return f"({ast.unparse(changed)})"


def try_change(file, tests, change=None):
    """Make a change in a copy of the kit and run the tests; return the first that fails, None where all pass."""
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder)
        for room in ("src", "tests", "data", ".ci"):
            shutil.copytree(ROOT / room, kit / room, ignore=shutil.ignore_patterns("*.sqlite*"))
        shutil.copy2(ROOT / "pyproject.toml", kit)
        if change:
            _, start, end, new = change
            path = kit / "src/helpers" / file
            text = path.read_text(encoding="utf-8")
            path.write_text(text[:start] + new + text[end:], encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        surroundings = os.environ | {"PYTHONPATH": f"{kit}/src:{kit}/tests", "PYTHONDONTWRITEBYTECODE": "1"}
        pipes = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False}
        try:
            done = subprocess.run([*command, *tests.split()], cwd=kit, env=surroundings, **pipes)
        except subprocess.TimeoutExpired:
            return "the time limit"
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return None if done.returncode == 0 else (failed or [f"pytest left with {done.returncode}"])[0]


def main(seed=SEED):
    """Try the changes, two at a time, and print the table; returns 1 where one survived."""
    tries = [(file, tests, None) for file, _, _, tests in PLACES]
    for file, n, functions, tests in PLACES:
        changes = list_changes((ROOT / "src/helpers" / file).read_text(encoding="utf-8"), functions)
        tries += [(file, tests, change) for change in sorted(random.Random(f"{seed} {file}").sample(changes, n))]
    n_wrong = 0
    print("| file | line | change | killed by |\n|---|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        for (file, _, change), killed_by in zip(tries, pool.map(lambda one: try_change(*one), tries), strict=True):
            n_wrong += bool(change) != bool(killed_by)
            line, told = (change[0], change[-1].replace("|", "\\|")[:60]) if change else ("", "none")
            print(f"| {file} | {line} | `{told}` | {killed_by or ('**nothing**' if change else '')} |", flush=True)
    print(f"{n_wrong} of {len(tries)} went wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
