"""What the tables and settings may hold: a wrong cell of each sort is named by table, row, column, value and wanted."""

import gzip
import json

import pandas as pd
import pytest
from builders import hold_memory

from helpers import faults
from helpers.faults import Problems, check_object, read_lines
from helpers.files import ROOT
from helpers.tables import TABLES, Agent, RecordedRun, check_table

WRONG = (
    ("predictions", "status", "banana", "none of ok, timeout"),
    ("predictions", "probability", float("inf"), "not a number from 0 to 1"),
    ("predictions", "value", '"A" or "B"', "not JSON text"),
    ("predictions", "value", "[" * 100_000, "not JSON text"),
    ("predictions", "as_of", "2016-13-10T00:00:00+08:00", "not a moment with its zone"),
    ("predictions", "sample", 0.5, "not a whole number of 0 or more"),
    ("events", "level", 9, "none of 1, 2, 3, 4"),
    ("events", "kind", "rankign", "none of single, multi, ranking, list"),
)


def make_rows(name, column, *cells):
    """Return a table of as many rows as cells, its key filled in."""
    given = {part: list(range(len(cells))) for part in TABLES[name][0]}
    return pd.DataFrame(given | {column: pd.Series(list(cells), dtype=object)})


@pytest.mark.parametrize(("name", "column", "cell", "wanted"), WRONG)
def test_a_wrong_cell_is_named_with_what_is_wanted(name, column, cell, wanted):
    if column not in TABLES[name][0]:
        check_table(name, make_rows(name, column, None, ""))
    with pytest.raises(ValueError) as problem:
        check_table(name, make_rows(name, column, cell))
    told = str(problem.value)
    assert told.startswith(f"{name}, row 1, column {column}: {repr(cell)[:40]}") and f" is {wanted}" in told
    assert len(told) < 250 and ("rankign" not in told or told.endswith("; did you mean ranking?"))


@pytest.mark.parametrize("path", sorted((ROOT / "data/tables").rglob("*.csv.gz")), ids=lambda path: path.parent.name)
def test_every_table_of_the_kit_passes(path):
    table = pd.read_csv(path, low_memory=False)
    assert len(check_table(path.name.split(".")[0], table)) == len(table) > 0


@pytest.mark.parametrize(
    ("kind", "entry", "said"),
    [
        (
            Agent,
            {"method": "x", "framework": "y", "category": "oracle"},
            "agents.toml, mine, category: 'oracle' is none",
        ),
        (Agent, {"modle": "m"}, "modle is unknown; did you mean model?"),
        (Agent, {"knowledge_cutoff_date": "summer"}, "knowledge_cutoff_date: 'summer' is not a date such as"),
        (RecordedRun, {"agent": "a", "window": "A", "levels": [5]}, "mine, levels[1]: 5 is none of 1, 2, 3, 4"),
        (RecordedRun, {"agent": "a", "window": "A", "first_date": "May"}, "first_date: 'May' is not a date such as"),
    ],
)
def test_a_wrong_entry_is_named_with_its_field(kind, entry, said):
    with pytest.raises(Problems) as problem:
        check_object("agents.toml, mine", entry, kind)
    assert said in str(problem.value)


def test_a_line_of_json_ends_where_the_file_ends_it(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"a": "one\u2028two"}\r\n\n{"n": ' + "9" * 5000 + "}\n", encoding="utf-8", newline="")
    assert list(read_lines(path)) == [
        ("a.jsonl, line 1", {"a": "one\u2028two"}),
        ("a.jsonl, line 3", {"n": float("inf")}),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "a.jsonl.gz, line 2: no JSON"),
        (b"[" * 200_000, "a.jsonl.gz, line 2 is nested too deep"),
        (json.dumps({"id": "\ud800"}).encode(), "a.jsonl.gz, line 2 holds half a character"),
        (b'{"a": 1}\n' * 500_000, "a.jsonl.gz is larger than 1 MB, unpacked; split it"),
        (b"\xff", "a.jsonl.gz cannot be read"),
    ],
)
def test_a_file_of_json_is_bounded_and_a_wrong_line_named(tmp_path, monkeypatch, line, said):
    monkeypatch.setattr(faults, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n" + line))
    with pytest.raises(ValueError, match="jsonl") as problem:
        list(read_lines(tmp_path / "a.jsonl.gz"))
    assert str(problem.value).startswith(said)


def test_a_packed_file_is_unpacked_no_further_than_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(faults, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b" " * (30 << 20)))
    with hold_memory(10 << 20), pytest.raises(ValueError, match="larger than 1 MB"):
        list(read_lines(tmp_path / "a.jsonl.gz"))
