"""The tables' contract: keys, order, bytes; and that the dictionary in data/README.md names every column."""

import re

import pandas as pd
import pytest

from helpers.store import ROOT, locate_output, name_problem, read_table, write_table
from helpers.tables import TABLES, check_table, list_columns

FIRST, SECOND = "2016-10-17T14:00:00+08:00", "2016-10-18T14:00:00+08:00"


def make_acquisitions(*moments):
    return pd.DataFrame({"event_id": "e1", "attempted_at": moments, "status": "ok"})


def test_every_column_stands_in_the_data_dictionary():
    text = (ROOT / "data/README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", text, flags=re.M)
    named = {name.strip() for cell in cells for name in cell.split(",")}
    assert {column for name in TABLES for column in list_columns(name)} - named == set()


def test_a_repeated_key_is_named():
    with pytest.raises(ValueError, match="repeat a key.*2016-10-17"):
        check_table("acquisitions", make_acquisitions(FIRST, FIRST))


def test_damage_in_sqlites_own_words_names_the_store():
    with pytest.raises(ValueError, match="^store.sqlite cannot be read .*; move it away"), name_problem("store.sqlite"):
        b"\x91".decode()


def test_a_table_reads_as_written_and_twice_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    table = make_acquisitions(FIRST, SECOND)
    first = write_table("acquisitions", table, "T").read_bytes()
    assert write_table("acquisitions", table, "T").read_bytes() == first
    assert list(read_table("acquisitions", "T")["attempted_at"]) == [FIRST, SECOND]
    assert locate_output("x.txt").parent == tmp_path
