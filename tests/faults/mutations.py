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
daybefore/replies/read_numbers.py 1 * tests/replies
daybefore/replies/read_options.py 1 * tests/replies
helpers/boxed_answers.py 1 * tests/replies
helpers/match_answers.py 1 * tests/scoring/test_matching.py
studies/futurex/factors.py 2 * tests/futurex/test_factors.py
helpers/means.py 2 summarize_clustered,summarize_jackknife tests/stats/test_means.py
helpers/paired.py 1 * tests/stats/test_means.py
daybefore/models/costs.py 2 * tests/models
daybefore/web/source_registry.py 1 compute_published_at tests/web/test_sources.py tests/web/test_replay.py
daybefore/web/replay.py 1 render,answer tests/web/test_replay.py
"""
"""A line a file under src: how many changes, in which functions (all: *), tests of its room."""


def list_nodes(tree, functions):
    """Return the nodes of some functions' code (all: none named) that can be changed."""
    return [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in (functions or [function.name])
        for node in walk_code(function.body)
    ]


def walk_code(nodes):
    """Yield the nodes that can be changed, but for texts, what is raised, rounding's limits and
    functions within."""
    for node in nodes:
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.FunctionDef | ast.Assert):
            continue
        operator = getattr(node, "op", None)
        limit = None
        if isinstance(node, ast.Compare):
            operator = node.ops[0]
            limit = getattr(node.comparators[0], "value", None)
        is_rounding = isinstance(limit, float) and limit <= 1e-9
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if is_number or type(operator) in SWAPS and not is_rounding:
            yield node
        yield from walk_code(ast.iter_child_nodes(node))


def make_change(text, functions, at):
    """Return (a source text with one node changed, its line and expression then)."""
    tree = ast.parse(text)
    node = list_nodes(tree, functions)[at]
    if isinstance(node, ast.Constant):
        node.value += 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    else:
        node.op = SWAPS[type(node.op)]()
    return ast.unparse(tree), f"{node.lineno} | `{ast.unparse(node).replace('|', '')[:60]}`"


def try_change(file, tests, functions, at):
    """Make a change (`at` None: none) in a copy of the kit and run the tests; return (the change,
    pytest's line on the first failure, "" without one)."""
    with tempfile.TemporaryDirectory() as folder:
        kit, told = Path(folder), " | none"
        for room in ("src", "tests", "tools", "data", ".ci"):
            shutil.copytree(ROOT / room, kit / room, ignore=shutil.ignore_patterns("*.sqlite*"))
        shutil.copy2(ROOT / "pyproject.toml", kit)
        if at is not None:
            path = kit / "src" / file
            text, told = make_change(path.read_text(encoding="utf-8"), functions, at)
            path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "--tb=no"]
        own = {
            "PYTHONPATH": f"{kit}/src:{kit}/tests:{kit}/tools",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        pipes = {"capture_output": True, "text": True, "timeout": LIMIT_S, "check": False}
        try:
            done = subprocess.run(
                [*command, f"src/{file}", *tests], cwd=kit, env=os.environ | own, **pipes
            )
        except subprocess.TimeoutExpired:
            return told, "the time limit"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failed:
        failed = [f"pytest left with {done.returncode}"]
    return told, "".join(failed[:1])


def main(seed=SEED):
    """Try the changes, two at a time, and print the table; returns 1 where one survived."""
    tries = []
    for line in PLACES.strip().splitlines():
        file, n, named, *tests = line.split()
        functions = named.split(",") if named != "*" else []
        tree = ast.parse((ROOT / "src" / file).read_text(encoding="utf-8"))
        places = range(len(list_nodes(tree, functions)))
        chosen = random.Random(f"{seed} {file}").sample(places, int(n))
        tries += [(file, tests, functions, at) for at in [None, *sorted(chosen)]]
    n_wrong = 0
    print("| file | line | change | killed by |\n|---|---|---|---|")
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda one: try_change(*one), tries)
        for (file, _, _, at), (told, killed_by) in zip(tries, done, strict=True):
            is_wrong = (at is None) == bool(killed_by)
            n_wrong += is_wrong
            print(f"| {file} | {told} | {killed_by or '**nothing**' * is_wrong} |", flush=True)
    print(f"{n_wrong} of {len(tries)} went wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
