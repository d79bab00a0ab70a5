"""The papers' numbers have one home, data/papers: each has its place, and is read by what computes with it."""

import json
import re

import pytest

from helpers import papers
from helpers.store import ROOT

MODULES = [*(ROOT / "src/helpers").rglob("*.py"), *(ROOT / "tools/public").glob("*.py"), ROOT / "tools/taskset.py"]
BY_REFERENCE = ("papers.py", "ledger.py")
"""Where a constant's name is no literal: the reader itself and the ledger."""


def read_code(path):
    """Return the code of a module or of a notebook's cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    cells = json.loads(text)["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def find_reads(text):
    """Return pairs of paper and name that a source text reads by `get_constant`; a paper may be the module's KEY."""
    key = re.search(r'^KEY = "(\w+)"$', text, re.MULTILINE)
    calls = re.findall(r'get_constant\(\s*(?:"(\w+)"|KEY),\s*"(\w+)"\s*\)', text)
    return [(paper or key[1], name) for paper, name in calls]


@pytest.fixture(scope="module")
def reads():
    return {path: find_reads(read_code(path)) for path in [*MODULES, *(ROOT / "notebooks").glob("*.ipynb")]}


@pytest.mark.parametrize("key", papers.list_papers())
def test_each_constant_is_read_by_the_code_and_each_that_is_read_is_there(key, reads):
    paper = papers.load_paper(key)
    read = {name for pairs in reads.values() for one, name in pairs if one == key}
    assert read == {*paper["constants"], *paper["assumed"]}, "read it where it is computed with, or make it a decision"


def test_constants_are_named_by_literals(reads):
    calls = {path: read_code(path).count("get_constant(") for path in reads if path.name not in BY_REFERENCE}
    assert not [path.name for path, n in calls.items() if n != len(reads[path])]


@pytest.mark.parametrize("key", papers.list_papers())
def test_every_constant_has_a_section_and_every_assumption_a_reason(key):
    table = papers.list_constants(key)
    assert table["name"].is_unique and table["value"].notna().all() and (table["section"].str.len() > 0).all()
    assumed = table[table["status"] != "printed"]
    assert len(assumed) and (assumed["reason"].str.len() > 10).all()


@pytest.mark.parametrize("key", papers.list_papers())
def test_every_printed_cell_has_its_place(key):
    for table in papers.list_published(key):
        frame = papers.load_published(key, table, dtype=str)
        assert frame["section"].notna().all(), table
