"""What the tables may hold: one wrong cell of each sort is named by table, row, column, value and what is allowed."""

import pandas as pd
import pytest

from helpers.columns import NAMES, RULES, find_rule
from helpers.store import ROOT, TABLES, check_table, list_columns

WRONG = (
    ("predictions", "status", "banana", "one of ok, timeout"),
    ("predictions", "probability", 7, "a number from 0 to 1"),
    ("predictions", "probability", float("inf"), "a number from 0 to 1"),
    ("predictions", "probability", "likely", "a number from 0 to 1"),
    ("predictions", "distribution", '{"A": 0.5', "JSON text of an object"),
    ("predictions", "distribution", "[0.5]", "JSON text of an object"),
    ("predictions", "value", "Oslo", "JSON text"),
    ("predictions", "value", '"A" or "B"', "JSON text"),
    ("predictions", "value", ["A"], "JSON text"),
    ("predictions", "source_ids", '{"p1": 1}', "JSON text of a list"),
    ("predictions", "as_of", "2016-10-10T00:00:00", "a moment with its zone"),
    ("predictions", "as_of", "2016-13-10T00:00:00+08:00", "a moment with its zone"),
    ("predictions", "sample", 0.5, "a whole number of 0 or more"),
    ("replies", "status", "unparsable", "one of ok, timeout"),
    ("replies", "duration_s", -1, "a number of 0 or more"),
    ("replies", "cost_usd", -0.01, "a number of 0 or more"),
    ("replies", "n_input_tokens", -3, "a whole number of 0 or more"),
    ("events", "level", 9, "one of 1, 2, 3, 4"),
    ("events", "kind", "essay", "one of single, multi, ranking"),
    ("events", "k", 0, "a whole number of 1 or more"),
    ("events", "site_type", "blog", "one of prediction_market"),
    ("events", "is_synthetic", "perhaps", "one of True, False"),
    ("runs", "category", "oracle", "one of baseline"),
    ("runs", "knowledge_cutoff_date", "2024", "a date such as"),
    ("runs", "knowledge_cutoff_date", "2024-02-30", "a date such as"),
    ("answers", "status", "timeout", "one of ok, crawl_error"),
    ("answers", "spread", -2.0, "a number of 0 or more"),
    ("scores", "score_imputed", 1.5, "a number from 0 to 1"),
    ("evidence", "role", "quoted", "one of opened, found"),
    ("traces", "page_ids", "p1", "JSON text of a list"),
)


def make_rows(name, column, *cells):
    """Return a table of as many rows as cells, its key filled in."""
    given = {part: list(range(len(cells))) for part in TABLES[name][0]}
    return pd.DataFrame(given | {column: pd.Series(list(cells), dtype=object)})


@pytest.mark.parametrize(("name", "column", "cell", "allowed"), WRONG)
def test_a_wrong_cell_is_named_with_what_is_allowed(name, column, cell, allowed):
    if column not in TABLES[name][0]:
        check_table(name, make_rows(name, column, None, ""))
    with pytest.raises(ValueError) as problem:
        check_table(name, make_rows(name, column, cell))
    start = f"{name}, row 1, column {column}: {cell!r} is not {allowed}"
    assert str(problem.value).startswith(start)


def test_rows_are_counted_with_the_blank_ones():
    with pytest.raises(ValueError, match="predictions, row 4, column status: 'banana'"):
        check_table("predictions", make_rows("predictions", "status", "ok", None, "", "banana"))


def test_what_the_tables_hold_today_is_allowed():
    cells = {"as_of": ["2016-10-10T00:00:00+08:00", "2016-10-10T00:00:00.250+00:00"], "value": ['"A"', 12.5]}
    cells |= {"status": ["ok", "unparsable"], "probability": [0, 1.0], "distribution": ['{"A":0.5}', None]}
    for column, pair in cells.items():
        assert len(check_table("predictions", make_rows("predictions", column, *pair))) == 2


def test_every_rule_is_some_columns():
    columns = {(name, column) for name in TABLES for column in list_columns(name)}
    named = {column for _, column in columns} | {f"{name}.{column}" for name, column in columns}
    assert set(RULES) - named == set()
    used = {id(find_rule(name, column)) for name, column in columns}
    assert {part for part, rule in NAMES.items() if id(rule) not in used} == set()


@pytest.mark.parametrize("path", sorted((ROOT / "data/tables").rglob("*.csv.gz")), ids=lambda path: path.parent.name)
def test_every_table_of_the_kit_passes(path):
    table = pd.read_csv(path, low_memory=False)
    assert len(check_table(path.name.split(".")[0], table)) == len(table) > 0
