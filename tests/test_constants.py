"""A paper's constants have one home: each is read by the code, by its name, and none is typed where it tells itself."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from helpers import papers

ROOT = Path(__file__).parents[1]
BUILT = ("futurex", "worldreasoner", "liveagentbench", "proof_of_time")
SOURCES = sorted((ROOT / "src/helpers").rglob("*.py"))
BY_REFERENCE = ("src/helpers/audit/ledger.py", "src/helpers/papers.py")
"""Modules that are handed the name of a constant."""

COMMON = (0.001, 1e-10, 0.55, 0.75, 1.5)
"""Values of a paper that stand in code for other reasons, too: bounds of rounding, BM25's usual constants, a shade."""


def read_code():
    """Return {path: code} of the helpers and the notebooks."""
    code = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code[path] = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return {path.relative_to(ROOT).as_posix(): text for path, text in code.items()}


def list_unread(entries, code):
    """Return those of `entries` (pairs of paper and name) that no code reads."""
    return sorted(set(entries) - {read for text in code.values() for read in papers.find_reads(text)})


def is_rare(number):
    """Say whether a number is told from those that stand in code for other reasons: 0.97, 374, 0.005, 20000, not 7."""
    digits = f"{abs(number):e}".split("e")[0].rstrip("0").replace(".", "")
    return number != 0 and (len(digits) > 1 and (number > 100 or number % 1) or number < 0.01 or number >= 10_000)


@cache
def list_values():
    """Return {numbers: paper and name} of the constants that a value alone gives away; minutes in seconds, too."""
    values = {}
    for key in BUILT:
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


@pytest.fixture(scope="module")
def code():
    return read_code()


def list_entries(key, parts=("constants", "assumed")):
    return [(key, name) for part in parts for name in papers.load_paper(key)[part]]


@pytest.mark.parametrize("key", BUILT)
def test_each_constant_is_read_by_the_code(key, code):
    assert not list_unread(list_entries(key), code), "read it where it is computed with, or make it a decision"


def test_what_is_read_is_there_and_named_by_literals(code):
    known = {entry for key in papers.list_papers() for entry in list_entries(key)}
    for path, text in code.items():
        assert set(papers.find_reads(text)) <= known, path
        if path not in BY_REFERENCE:
            calls = [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            calls = [call for call in calls if re.match(r"(papers\.)?get_constant\(", call)]
            unclear = [call for call in calls if not papers.find_reads(call)]
            assert not unclear, f"{path}: name paper and constant, so that it can be found who reads it"


def test_no_constant_of_a_paper_is_typed(code):
    typed = {path: find_typed(text) for path, text in code.items() if path.startswith("src/helpers")}
    assert {path: found for path, found in typed.items() if found} == {}


@pytest.mark.parametrize("line", ["hours = (14, 16, 18, 20)", "def draw(a=0.005): pass", "DEADLINE_S = 1800"])
def test_a_typed_constant_and_one_that_nobody_reads_are_found(line, code):
    assert len(find_typed(line)) == 1
    assert list_unread([("futurex", "carry_days"), ("futurex", "carry_weeks")], code) == [("futurex", "carry_weeks")]
