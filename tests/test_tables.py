"""What the tables and settings may hold: a wrong cell of each sort is named by table, row, column,
value and wanted."""

import gzip
import json

import pandas as pd
import pytest
from builders import hold_memory, read_cases

from helpers import input_faults, tables
from helpers.files import ROOT
from helpers.input_faults import Problems, check_object, read_lines
from helpers.tables import TABLES, check_table

WRONG = read_cases(__file__, "wrong_cells") + [
    {"table": "predictions", "column": "value", "cell": "[" * 100_000, "wanted": "not JSON text"}
]


def make_rows(name, column, *cells):
    """Return a table of as many rows as cells, its key filled in."""
    given = {part: list(range(len(cells))) for part in TABLES[name][0]}
    return pd.DataFrame(given | {column: pd.Series(list(cells), dtype=object)})


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["column"])
def test_a_wrong_cell_is_named_with_what_is_wanted(case):
    name, column, cell, wanted = case.values()
    if column not in TABLES[name][0]:
        check_table(name, make_rows(name, column, None, ""))
    with pytest.raises(ValueError) as problem:
        check_table(name, make_rows(name, column, cell))
    told = str(problem.value)
    assert (
        told.startswith(f"{name}, row 1, column {column}: {repr(cell)[:40]}")
        and f" is {wanted}" in told
    )
    assert len(told) < 250 and ("rankign" not in told or told.endswith("; did you mean ranking?"))


@pytest.mark.parametrize(
    "path", sorted((ROOT / "data/tables").rglob("*.csv.gz")), ids=lambda path: path.parent.name
)
def test_every_table_of_the_kit_passes(path):
    table = pd.read_csv(path, low_memory=False)
    assert len(check_table(path.name.split(".")[0], table)) == len(table) > 0


@pytest.mark.parametrize(
    "case", read_cases(__file__, "wrong_entries"), ids=lambda case: case["said"]
)
def test_a_wrong_entry_is_named_with_its_field(case):
    with pytest.raises(Problems) as problem:
        check_object("agents.toml, mine", case["entry"], getattr(tables, case["kind"]))
    assert case["said"] in str(problem.value)


def test_a_line_of_json_ends_where_the_file_ends_it(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '\ufeff{"a": "one\u2028two"}\r\n\n{"n": ' + "9" * 5000 + "}\n", encoding="utf-8", newline=""
    )
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
    monkeypatch.setattr(input_faults, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n" + line))
    with pytest.raises(ValueError, match="jsonl") as problem:
        list(read_lines(tmp_path / "a.jsonl.gz"))
    assert str(problem.value).startswith(said)


def test_a_packed_file_is_unpacked_no_further_than_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(input_faults, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b" " * (30 << 20)))
    with hold_memory(10 << 20), pytest.raises(ValueError, match="larger than 1 MB"):
        list(read_lines(tmp_path / "a.jsonl.gz"))
