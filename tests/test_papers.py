"""The papers' numbers have one home, data/papers: each has its place, and is read by what computes
with it."""

import ast
import json
import re
from functools import cache

import pytest

from helpers import papers
from helpers.files import ROOT

MODULES = [
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "tools/public").glob("*.py"),
    ROOT / "tools/taskset.py",
]
BY_REFERENCE = ("papers.py", "ledger.py")
"""Where a constant's name is no literal: the reader itself and the ledger."""

COMMON = (0.001, 1e-10, 0.55, 0.75, 1.5)
"""Values of a paper that stand in code for other reasons, too: bounds of rounding, BM25's usual
constants, a shade."""


def read_code(path):
    """Return the code of a module or of a notebook's cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def find_reads(text):
    """Return pairs of paper and name that a source text reads by `get_constant`; a paper may be the
    module's KEY."""
    key = re.search(r'^KEY = "(\w+)"$', text, re.MULTILINE)
    calls = re.findall(r'get_constant\(\s*(?:"(\w+)"|KEY),\s*"(\w+)"\s*\)', text)
    return [(paper or key[1], name) for paper, name in calls]


@pytest.fixture(scope="module")
def code():
    return {path: read_code(path) for path in [*MODULES, *(ROOT / "notebooks").glob("*.ipynb")]}


@pytest.fixture(scope="module")
def reads(code):
    return {path: find_reads(text) for path, text in code.items()}


@pytest.mark.parametrize("key", papers.list_papers())
def test_each_constant_is_read_by_the_code_and_each_that_is_read_is_there(key, reads):
    paper = papers.load_paper(key)
    read = {name for pairs in reads.values() for one, name in pairs if one == key}
    assert read == {*paper["constants"], *paper["assumed"]}, (
        "read it where it is computed with, or make it a decision"
    )


def test_constants_are_named_by_literals(code, reads):
    calls = {
        path: text.count("get_constant(")
        for path, text in code.items()
        if path.name not in BY_REFERENCE
    }
    assert not [path.name for path, n in calls.items() if n != len(reads[path])]


@pytest.mark.parametrize("key", papers.list_papers())
def test_every_constant_has_a_section_and_every_assumption_a_reason(key):
    table = papers.list_constants(key)
    assert (
        table["name"].is_unique
        and table["value"].notna().all()
        and (table["section"].str.len() > 0).all()
    )
    assumed = table[table["status"] != "printed"]
    assert len(assumed) and (assumed["reason"].str.len() > 10).all()


@pytest.mark.parametrize("key", papers.list_papers())
def test_every_printed_cell_has_its_place(key):
    for table in papers.list_published(key):
        frame = papers.load_published(key, table, dtype=str)
        assert frame["section"].notna().all(), table


def is_rare(number):
    """Say whether a number is told from those that stand in code for other reasons: 0.97, 374,
    0.005, 20000, not 7."""
    digits = f"{abs(number):e}".split("e")[0].rstrip("0").replace(".", "")
    return number != 0 and (
        len(digits) > 1 and (number > 100 or number % 1) or number < 0.01 or number >= 10_000
    )


@cache
def list_values():
    """Return {numbers: paper and name} of the constants that a value alone gives away, minutes in
    seconds too."""
    values = {}
    for key in papers.list_papers():
        for row in papers.list_constants(key).query("status != 'decided'").itertuples():
            numbers = tuple(row.value) if isinstance(row.value, list) else (row.value,)
            if not all(type(number) in (int, float) for number in numbers):
                continue
            seconds = tuple(60 * number for number in numbers if row.name.endswith("_minutes"))
            for given in (numbers, seconds):
                is_told = len(given) == 1 and is_rare(given[0]) and given[0] not in COMMON
                if is_told or len(given) > 2:
                    values[given] = f"{key} {row.name}"
    return values


def find_typed(text):
    """Return a sentence for each number, or list of numbers, of a module's code that is a paper's
    constant."""
    values, found = list_values(), []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Set):
            continue
        parts = getattr(node, "elts", [node])
        numbers = tuple(part.value for part in parts if isinstance(part, ast.Constant))
        if numbers in values and not any(isinstance(number, bool) for number in numbers):
            found.append(f"line {node.lineno}: {ast.unparse(node)} is {values[numbers]}")
    return found


def test_no_constant_of_a_paper_is_typed(code):
    typed = {
        path.name: find_typed(text) for path, text in code.items() if ROOT / "src" in path.parents
    }
    assert {name: found for name, found in typed.items() if found} == {}


@pytest.mark.parametrize(
    "line", ["hours = (14, 16, 18, 20)", "def draw(a=0.005): pass", "DEADLINE_S = 1800"]
)
def test_a_typed_constant_is_found(line):
    assert len(find_typed(line)) == 1
