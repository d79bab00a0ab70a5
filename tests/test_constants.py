"""The papers' constants have one home, data/papers: each is read by what computes with it, none is typed."""

import ast
import json
import re
from functools import cache

import pytest

from helpers import papers
from helpers.store import ROOT

SOURCES = sorted((ROOT / "src/helpers").rglob("*.py"))
BUILDERS = [*sorted((ROOT / "tools/public").glob("*.py")), ROOT / "tools/taskset.py"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BY_REFERENCE = ("src/helpers/papers.py", "src/helpers/audit/ledger.py")
"""Where a constant's name is no literal: the reader itself and the ledger."""

COMMON = (0.001, 1e-10, 0.55, 0.75, 1.5)
"""Values of a paper that stand in code for other reasons, too: bounds of rounding, BM25's usual constants, a shade."""


def read_cells(path):
    """Return the code of a notebook, cell after cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def read_argument(argument, key):
    """Return an argument's literal, or what the module calls KEY; None for what is neither."""
    if isinstance(argument, ast.Name) and argument.id == "KEY" and key:
        return key[1]
    return argument.value if isinstance(argument, ast.Constant) else None


def find_reads(text):
    """Return (pairs of paper and name that a source text reads by `get_constant`, calls that name none by literals)."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)] if "get_constant" in text else []
    calls = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "get_constant"]
    key = re.search(r'^KEY = "(\w+)"$', text, re.MULTILINE)
    given = [tuple(read_argument(argument, key) for argument in call.args) for call in calls]
    given = [tuple(name for name in pair if name) for pair in given]
    return {pair for pair in given if len(pair) == 2}, [pair for pair in given if len(pair) != 2]


@pytest.fixture(scope="module")
def reads():
    code = {path: path.read_text(encoding="utf-8") for path in SOURCES + BUILDERS} | {
        path: read_cells(path) for path in NOTEBOOKS
    }
    return {path.relative_to(ROOT).as_posix(): find_reads(text) for path, text in code.items()}


@pytest.mark.parametrize("key", papers.list_papers())
def test_each_constant_is_read_by_the_code_and_each_that_is_read_is_there(key, reads):
    known = {name for part in ("constants", "assumed") for name in papers.load_paper(key)[part]}
    read = {name for pairs, _ in reads.values() for paper, name in pairs if paper == key}
    assert read == known, "read it where it is computed with, or make it a decision"


def test_constants_are_named_by_literals(reads):
    assert not [path for path, (_, unclear) in reads.items() if unclear and path not in BY_REFERENCE]


def is_rare(number):
    """Say whether a number is told from those that stand in code for other reasons: 0.97, 374, 0.005, 20000, not 7."""
    digits = f"{abs(number):e}".split("e")[0].rstrip("0").replace(".", "")
    return number != 0 and (len(digits) > 1 and (number > 100 or number % 1) or number < 0.01 or number >= 10_000)


@cache
def list_values():
    """Return {numbers: paper and name} of the constants that a value alone gives away; minutes in seconds, too."""
    values = {}
    for key in papers.list_papers():
        for row in papers.list_constants(key).query("status != 'decided'").itertuples():
            given = row.value if isinstance(row.value, list) else [row.value]
            if not all(type(number) in (int, float) for number in given):
                continue
            for numbers in (tuple(given), tuple(60 * number for number in given if row.name.endswith("_minutes"))):
                if len(numbers) > 2 or len(numbers) == 1 and is_rare(numbers[0]) and numbers[0] not in COMMON:
                    values[numbers] = f"{key} {row.name}"
    return values


def find_typed(text):
    """Return a sentence for each number, or list of numbers, of a module's code that is a paper's constant."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
        numbers = tuple(part.value for part in parts if isinstance(part, ast.Constant))
        if numbers in list_values() and not any(isinstance(number, bool) for number in numbers):
            found.append(f"line {node.lineno}: {ast.unparse(node)} is {list_values()[numbers]}")
    return found


def test_no_constant_of_a_paper_is_typed():
    typed = {path.name: find_typed(path.read_text(encoding="utf-8")) for path in SOURCES}
    assert {name: found for name, found in typed.items() if found} == {}


@pytest.mark.parametrize("line", ["hours = (14, 16, 18, 20)", "def draw(a=0.005): pass", "DEADLINE_S = 1800"])
def test_a_typed_constant_is_found(line):
    assert len(find_typed(line)) == 1
