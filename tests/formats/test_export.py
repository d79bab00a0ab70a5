"""A run in others' forms: each file is read back by its own reader, or held to what its schema
requires."""

import sys

import pandas as pd
import pytest
from builders import store_run

from daybefore.commands import export as export_command
from daybefore.formats import write_exports
from daybefore.scoring.run_scores import find_run, list_local, list_recorded
from helpers.files import ROOT, STORE, read_table


def gather(every, name):
    events, answers = (read_table(table, "A") for table in ("events", "answers"))
    return write_exports.gather_run(find_run(every, name, "A")[0], events, answers)


@pytest.fixture(scope="module")
def found():
    return gather(list_recorded("A"), "qwen_zero_shot")


def test_a_data_set_is_read_back_row_by_row(found, tmp_path):
    path, card = write_exports.write_dataset(found, tmp_path)
    table = pd.read_parquet(path)
    assert table["score"].tolist() == pytest.approx(found.rows["score"].tolist(), nan_ok=True)
    text = card.read_text()
    assert text.startswith("---\nlicense: other\n") and "2016-10-10 to 2016-10-24" in text


def test_words_that_are_not_ours_are_left_out(found, monkeypatch):
    one = found.question_set._replace(keeps_words=True)
    monkeypatch.setattr(write_exports, "find_set", lambda window: one)
    assert set(gather(list_recorded("A"), "random").rows["prompt"]) == {write_exports.WITHHELD}


def test_inspects_own_reader_takes_a_log(found, tmp_path):
    extra = "inspect-ai is an extra: pip install -e '.[export]'"
    log = pytest.importorskip("inspect_ai.log", reason=extra)
    read = log.read_eval_log(str(write_exports.write_inspect(found, tmp_path)[0]))
    assert read.status == "success" and len(read.samples) == len(found.rows)
    assert read.results.scores[0].metrics["mean"].value == pytest.approx(found.rows["score"].mean())


def test_a_run_of_ones_own_brings_its_tokens_and_moments(out):
    used = {"started_at": "2026-11-25T10:00:00.000+00:00", "duration_s": 2.5, "n_input_tokens": 10}
    used |= {"reply": "It is B."}
    said = read_table("events", "A").head(2).set_index("event_id")[["as_of"]].assign(value='"B"')
    store_run(out / STORE, "mine-A-01", said.to_dict("index"), used)
    rows = gather(list_local(), "mine").rows
    assert rows[list(used)].to_dict("records") == [used, used]


def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(out, monkeypatch):
    def lack(found, folder):
        raise ModuleNotFoundError("No module named 'inspect_ai'", name="inspect_ai")

    monkeypatch.setitem(write_exports.WRITERS, "inspect", lack)
    with pytest.raises(ValueError) as told:
        export_command.main("qwen_zero_shot", "inspect")
    assert str(told.value) == (
        f"inspect needs the package inspect_ai, which is missing: {sys.executable} -m pip install -e '{ROOT}[export]'"
    )
