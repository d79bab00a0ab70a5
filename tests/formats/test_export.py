"""A run in others' forms: each file is read back by its own reader, or held to what its schema
requires."""

import pandas as pd
import pytest
from builders import store_run

from daybefore.formats import export
from daybefore.scoring.runs import find_run, list_local, list_recorded
from helpers.files import STORE, read_table


@pytest.fixture(scope="module")
def found():
    run = find_run(list_recorded("A"), "qwen_zero_shot", "A")[0]
    return export.gather_run(run, read_table("events", "A"), read_table("answers", "A"))


def test_a_data_set_is_read_back_row_by_row(found, tmp_path):
    path, card = export.write_dataset(found, tmp_path)
    table = pd.read_parquet(path)
    assert len(table) == len(found.rows) and table["score"].mean() == pytest.approx(
        found.rows["score"].mean()
    )
    text = card.read_text()
    assert text.startswith("---\nlicense: other\n") and "2016-10-10 to 2016-10-24" in text


def test_words_that_are_not_ours_are_left_out(found, monkeypatch):
    monkeypatch.setattr(
        export, "find_set", lambda window: found.question_set._replace(keeps_words=True)
    )
    run = find_run(list_recorded("A"), "random", "A")[0]
    rows = export.gather_run(run, read_table("events", "A"), read_table("answers", "A")).rows
    assert set(rows["prompt"]) == {export.WITHHELD}


def test_inspects_own_reader_takes_a_log(found, tmp_path):
    log = pytest.importorskip(
        "inspect_ai.log", reason="inspect-ai is an extra: pip install daybefore[export]"
    )
    (path,) = export.write_inspect(found, tmp_path)
    read = log.read_eval_log(str(path))
    assert read.status == "success" and len(read.samples) == len(found.rows)
    assert read.results.scores[0].metrics["mean"].value == pytest.approx(found.rows["score"].mean())


def test_a_run_of_ones_own_brings_its_tokens_and_moments(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    events, answers = read_table("events", "A").head(2), read_table("answers", "A")
    reply = {
        "reply": "It is B.",
        "started_at": "2026-11-25T10:00:00.000+00:00",
        "duration_s": 2.5,
        "n_input_tokens": 10,
    }
    said = {
        row["event_id"]: {"value": '"B"', "as_of": row["as_of"]}
        for row in events.to_dict("records")
    }
    store_run(tmp_path / STORE, "mine-A-01", said, reply)
    rows = export.gather_run(find_run(list_local(), "mine", "A")[0], events, answers).rows
    assert rows["n_input_tokens"].tolist() == [10, 10] and rows["duration_s"].tolist() == [2.5, 2.5]
    assert rows["started_at"].notna().all() and set(rows["reply"]) == {"It is B."}
