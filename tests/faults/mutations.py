"""Twenty seeded changes of the code, each of which some test must notice: `python -m
faults.mutations [SEED]`.

A change is one operator or one number of a function: < for <=, + for -, and for or, 3 for 2. Each
is made in a copy of the kit, where its file's examples and the tests of its room run until the
first fails; so do they in a copy without a change, where all must pass. Prints a table; leaves with
1 where a change survived, or the unchanged copy did not.
"""

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.files import ROOT

SEED, LIMIT_S = 15, 300
PAIRS = [
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
]
PAIRS += [(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or)]
SWAPS = dict(PAIRS) | {new: old for old, new in PAIRS}
PLACES = """
helpers/scores.py 3 * tests/scoring/test_scores.py
daybefore/questions/levels.py 2 * tests/events
daybefore/web/session.py 2 * tests/web/test_session.py tests/web/test_replay.py
daybefore/replies/numbers.py 1 * tests/replies
daybefore/replies/options.py 1 * tests/replies
helpers/boxes.py 1 * tests/replies
helpers/matching.py 1 * tests/scoring/test_matching.py
studies/futurex/factors.py 2 * tests/futurex/test_factors.py
helpers/means.py 2 summarize_clustered,summarize_jackknife tests/stats/test_means.py
helpers/paired.py 1 * tests/stats/test_means.py
daybefore/models/costs.py 2 * tests/models
daybefore/web/sources.py 1 compute_published_at tests/web/test_sources.py tests/web/test_replay.py
daybefore/web/replay.py 1 render,answer tests/web/test_replay.py
"""
"""A line a file under src: how many changes, in which functions (all: *), tests of its room."""


def list_changes(text, functions=""):
    """Return the places of a source text where some functions can be changed, as `name_place` names
    them."""
    found = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and (
            not functions or function.name in functions.split()
        ):
            found |= set(map(name_place, walk_code(function.body)))
    return sorted(found)


def name_place(node):
    """Return (line, column, where it ends, kind) of a node."""
    parts = ("lineno", "col_offset", "end_lineno", "end_col_offset")
    return *(getattr(node, part, 0) for part in parts), type(node).__name__


def walk_code(nodes):
    """Yield the nodes that can be changed, but for texts, what is raised, rounding's limits and
    functions within."""
    for node in nodes:
        if not isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Assert):
            limit = (
                getattr(node.comparators[0], "value", None)
                if isinstance(node, ast.Compare)
                else None
            )
            operator = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
            is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            if (
                is_number
                or type(operator) in SWAPS
                and not (isinstance(limit, float) and limit <= 1e-9)
            ):
                yield node
            yield from walk_code(ast.iter_child_nodes(node))


def make_change(text, place):
    """Return (a source text with one place changed, the changed expression)."""
    tree = ast.parse(text)
    (node,) = (one for one in ast.walk(tree) if name_place(one) == place)
    if isinstance(node, ast.Constant):
        node.value += 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    else:
        node.op = SWAPS[type(node.op)]()
    return ast.unparse(tree), ast.unparse(node)


def try_change(file, tests, place=None):
    """Make a change in a copy of the kit and run the tests; return (the change, pytest's line on
    the first failure)."""
    with tempfile.TemporaryDirectory() as folder:
        kit, changed = Path(folder), "none"
        for room in ("src", "tests", "tools", "data", ".ci"):
            shutil.copytree(ROOT / room, kit / room, ignore=shutil.ignore_patterns("*.sqlite*"))
        shutil.copy2(ROOT / "pyproject.toml", kit)
        if place:
            path = kit / "src" / file
            text, changed = make_change(path.read_text(encoding="utf-8"), place)
            path.write_text(text, encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--no-header",
            "--tb=no",
        ]
        surroundings = os.environ | {
            "PYTHONPATH": f"{kit}/src:{kit}/tests:{kit}/tools",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        pipes = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False}
        try:
            done = subprocess.run(
                [*command, f"src/{file}", *tests.split()], cwd=kit, env=surroundings, **pipes
            )
        except subprocess.TimeoutExpired:
            return changed, "the time limit"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return changed, (failed or [f"pytest left with {done.returncode}"])[
        0
    ] if done.returncode else None


def main(seed=SEED):
    """Try the changes, two at a time, and print the table; returns 1 where one survived."""
    rows = [line.split(maxsplit=3) for line in PLACES.strip().splitlines()]
    tries = [(file, tests, None) for file, _, _, tests in rows]
    for file, n, functions, tests in rows:
        places = list_changes(
            (ROOT / "src" / file).read_text(encoding="utf-8"),
            functions.replace(",", " ").strip("*"),
        )
        tries += [
            (file, tests, place)
            for place in sorted(random.Random(f"{seed} {file}").sample(places, int(n)))
        ]
    n_wrong = 0
    print("| file | line | change | killed by |\n|---|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        for (file, _, place), (changed, killed_by) in zip(
            tries, pool.map(lambda one: try_change(*one), tries), strict=True
        ):
            n_wrong += bool(place) != bool(killed_by)
            told = killed_by or ("**nothing**" if place else "")
            print(
                f"| {file} | {place[0] if place else ''} | `{changed.replace('|', '')[:60]}` | {told} |",
                flush=True,
            )
    print(f"{n_wrong} of {len(tries)} went wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
