"""ForecastBench's files as window M: markets keep to their span, words are those of the set,
moments lie inside."""

import json

import pandas as pd
import pytest

from daybefore.agents.recorded_runs import move_moments
from daybefore.formats.forecastbench_questions import build_markets, read_questions, word_events

COLUMNS = "question_set id source snapshot_date value resolved resolution_date".split()
QUESTION = {
    "id": "1",
    "source": "infer",
    "question": "Does <b>harbour 1</b>  open?",
    "background": "It is <i>invented</i>",
    "market_info_resolution_criteria": "N/A",
    "resolution_criteria": "By its page.",
}


@pytest.fixture
def paths(tmp_path):
    """A price history: one market that fits, one too short, one without an outcome, one too
    long."""
    rows = []
    for name, end, value in (
        ("1", "2025-03-02", 1),
        ("2", "2025-01-20", 0),
        ("3", "2025-03-01", 0.5),
        ("4", "2025-12-01", 0),
    ):
        days = [("2025-01-01", 0.4, 0), ("2025-01-20", 0.6, 0), (end, value, 1)]
        rows += [("s", name, "infer", *day, end) for day in days]
    pd.DataFrame(rows, columns=COLUMNS).to_csv(tmp_path / "paths.csv", index=False)
    return tmp_path / "paths.csv"


def read(folder, text):
    (folder / "a.json").write_text(text)
    return read_questions(folder / "a.json")


def test_markets_are_resolved_and_have_words_of_the_set_and_moments_in_their_span(paths, tmp_path):
    events, answers, prices = build_markets(paths)
    assert events["event_id"].tolist() == ["s-infer-1"] and answers["value"].tolist() == ['"A"']
    assert prices["price"].tolist() == [0.4, 0.6], "the outcome is no price"
    bare = QUESTION | {"id": "9", "background": ""}
    rows = [QUESTION, bare, {"id": ["x"], "source": "fred"}]
    questions = read(tmp_path, json.dumps({"forecast_due_date": "s", "questions": rows}))
    assert questions["s-infer-1"] == ("Does harbour 1 open?", "It is invented")
    assert questions["s-infer-9"][1] == "By its page." and word_events(events, {}).empty
    worded = word_events(events, questions)
    assert worded["prompt"].tolist() == ["Does harbour 1 open?\nA. Yes\nB. No"]
    moved = [move_moments(worded, name) for name in ("Early", "Late", "Near")]
    early, mid, late, near = [one["as_of"].iloc[0][:10] for one in (moved[0], worded, *moved[1:])]
    assert "2025-01-01" < early < mid == "2025-01-31" < late < near == "2025-03-01"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[]", "a.json: .* is not a table"),
        ('{"forecast_due_date": "s"}', "a.json: questions is missing"),
        ('{"forecast_due_date": 1, "questions": []}', "a.json, forecast_due_date: 1 is not a text"),
        ('{"forecast_due_date": "s", "questions": [{"id": "1"}]}', "1: source is missing"),
    ],
)
def test_other_files_are_refused_by_name_question_and_field(given, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        read(tmp_path, given)
