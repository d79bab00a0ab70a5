"""Files of strangers end in one sentence or a blank, never in a traceback."""

import math
import os

import numpy as np
import pandas as pd
import pytest

from daybefore.formats.forecastbench_questions import build_submission, list_rows
from daybefore.live.own_benchmark import list_trouble
from daybefore.live.settle_week import read_board, read_truth
from daybefore.live.week_questions import clean_row, read_rows
from daybefore.web.news_articles import EVENTS_KEY, list_files, read_day
from helpers.agreement import measure_kappa
from helpers.input_faults import escape_cells, unescape_cells


@pytest.mark.parametrize("cell", ["[" + "-" * 50_000 + "1]", "[{{1}:2}]", "[" * 5000])
def test_a_list_that_python_cannot_read_is_a_sentence(cell):
    event = {"kind": "list", "options": None, "unit": None}
    assert read_truth(cell, event) == (None, "a list that cannot be read")


def test_a_deep_board_and_a_large_parquet_are_refused(tmp_path, monkeypatch):
    (tmp_path / "board.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is no board"):
        read_board(tmp_path / "board.json", "2026-03-04")
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"id": ["a"] * 4000, "prompt": ["x" * 10_000] * 4000}).to_parquet(path)
    assert len(read_rows(path, path.name)) == 4000 and path.stat().st_size < 100_000
    monkeypatch.setattr("daybefore.live.week_questions.MAX_OPEN", 10_000_000)
    with pytest.raises(ValueError, match="opens to over 10 MB"):
        read_rows(path, path.name)


@pytest.mark.parametrize("topics", ["{a: &x [b], c: *x}", "{a: 7}", "[" * 40 + "]" * 40])
def test_a_day_with_aliases_numbers_or_depth_is_refused(topics):
    with pytest.raises(ValueError, match="YAML|topic|key"):
        read_day(f"Date: 2016-10-10\n{EVENTS_KEY}: {topics}\n".encode(), "2016-10-10")


def test_a_pipe_among_articles_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(ValueError, match="no plain file"):
        list_files(tmp_path)


def test_numbers_as_ids_formulas_and_no_cases():
    for name, key in (("id", 7), ("session_id", 7), ("sample_id", 7.0), ("session", "7")):
        assert clean_row({name: key})["id"] == "7"
    assert clean_row({"session": 9, "id": 7})["id"] == "7"
    assert [clean_row({"id": key})["id"] for key in (7.5, True, math.inf)] == [7.5, True, math.inf]
    table = pd.DataFrame({"unit": ["=HYPERLINK(1)", None, "%"], "level": [1, 2, 3]})
    assert escape_cells(table)["unit"][0][0] == "'"
    assert unescape_cells(escape_cells(table)).equals(table)
    wide = pd.DataFrame({2: ["=1", "a"], "is_x": [True, False], "n": [-1.5, np.nan]})
    assert escape_cells(wide).values.tolist()[0] == ["'=1", True, -1.5]
    assert all(map(math.isnan, measure_kappa([], [], 2, np.random.default_rng(0))))
    makers = {
        name: build_submission("kit", name, "set", [])["model_organization"]
        for name in ("m", "a/m", "r/a/m")
    }
    assert makers == {"m": "kit", "a/m": "a", "r/a/m": "a"}


def test_all_sources_down_needs_a_person():
    looks = pd.DataFrame({"source_id": ["a", "b"], "kind": "down", "reason": "no answer"})
    assert list_trouble(looks)[0].startswith("none of the 2 sources could be read")


def test_rows_of_kalshi_in_a_set_are_asked():
    row = {
        "id": "KX-1",
        "source": "kalshi",
        "question": "Will it rain?",
        "resolution_criteria": "By the station.",
    }
    row |= {
        "background": "",
        "freeze_datetime": "2026-09-17T00:00:00+00:00",
        "freeze_datetime_value": "0.4",
    }
    row |= {"market_info_resolution_criteria": "By the station.", "resolution_dates": "N/A"}
    whole = {
        "forecast_due_date": "2026-09-27",
        "question_set": "2026-09-27-llm.json",
        "questions": [row],
    }
    assert len(list_rows(whole, "set.json")) == 1
