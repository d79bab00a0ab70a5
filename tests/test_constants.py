"""The papers' constants have one home, data/papers: each is read by what computes with it."""

import ast
import json

import pytest

from helpers import papers
from helpers.store import ROOT

SOURCES = sorted((ROOT / "src/helpers").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BY_REFERENCE = ("src/helpers/papers.py", "src/helpers/audit/ledger.py")
"""Where a constant's name is no literal: the reader itself and the ledger."""


def read_cells(path):
    """Return the code of a notebook, cell after cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def find_reads(text):
    """Return (pairs of paper and name that a source text reads by `get_constant`, calls that name none by literals)."""
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)] if "get_constant" in text else []
    calls = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "get_constant"]
    given = [tuple(argument.value for argument in call.args if isinstance(argument, ast.Constant)) for call in calls]
    return {pair for pair in given if len(pair) == 2}, [pair for pair in given if len(pair) != 2]


@pytest.fixture(scope="module")
def reads():
    code = {path: path.read_text(encoding="utf-8") for path in SOURCES} | {path: read_cells(path) for path in NOTEBOOKS}
    return {path.relative_to(ROOT).as_posix(): find_reads(text) for path, text in code.items()}


@pytest.mark.parametrize("key", papers.list_papers())
def test_each_constant_is_read_by_the_code_and_each_that_is_read_is_there(key, reads):
    known = {name for part in ("constants", "assumed") for name in papers.load_paper(key)[part]}
    read = {name for pairs, _ in reads.values() for paper, name in pairs if paper == key}
    assert read == known, "read it where it is computed with, or make it a decision"


def test_constants_are_named_by_literals(reads):
    assert not [path for path, (_, unclear) in reads.items() if unclear and path not in BY_REFERENCE]
