"""ForecastBench's files as window M: markets keep to their span, words are those of the set,
moments lie inside."""

import json

import pandas as pd
import pytest

from daybefore.agents.recorded_runs import move_moments
from daybefore.formats.forecastbench import build_markets, read_questions, word_events

COLUMNS = "question_set id source snapshot_date value resolved resolution_date".split()


def list_path(name, end, value, opened="2025-01-01"):
    rows = [(opened, 0.4, 0), ("2025-01-20", 0.6, 0), (end, value, 1)]
    return [("s", name, "infer", *row, end) for row in rows]


def make_paths(folder, *rows):
    pd.DataFrame([row for part in rows for row in part], columns=COLUMNS).to_csv(
        folder / "paths.csv", index=False
    )
    return folder / "paths.csv"


def make_question(name, **more):
    row = {
        "id": name,
        "source": "infer",
        "question": f"Does the invented harbour {name} open?",
        "background": "",
    }
    row |= {"market_info_resolution_criteria": "N/A", "resolution_criteria": "By its page."}
    return row | more


@pytest.fixture
def write_set(tmp_path):
    def write(*rows, due="s"):
        path = tmp_path / f"{due}-llm.json"
        path.write_text(json.dumps({"forecast_due_date": due, "questions": list(rows)}))
        return path

    return write


def test_markets_are_resolved_and_keep_to_their_span(tmp_path):
    paths = [
        list_path("1", "2025-03-01", 1),
        list_path("2", "2025-01-20", 0),
        list_path("3", "2025-03-01", 0.5),
    ]
    events, answers, prices = build_markets(
        make_paths(tmp_path, *paths, list_path("4", "2025-12-01", 0))
    )
    assert (
        events["event_id"].tolist() == ["s-infer-1"] and json.loads(answers["value"].iloc[0]) == "A"
    )
    assert prices["price"].tolist() == [0.4, 0.6], "the outcome is no price"


def test_words_are_those_of_the_set_and_moments_lie_in_the_span(write_set, tmp_path):
    own = make_question(
        "1", question="Does <b>harbour 1</b>  open?", background="It is <i>invented</i>"
    )
    series = {"id": ["x"], "source": "fred"}
    questions = read_questions(write_set(own, make_question("9"), series))
    assert questions["s-infer-1"] == ("Does harbour 1 open?", "It is invented")
    assert questions["s-infer-9"][1] == "By its page."
    paths = list_path("1", "2025-03-02", 1), list_path("2", "2025-03-02", 0)
    events = build_markets(make_paths(tmp_path, *paths))[0]
    worded = word_events(events, questions)
    assert worded["event_id"].tolist() == ["s-infer-1"], "a market without a wording is left out"
    assert worded["prompt"].iloc[0] == "Does harbour 1 open?\nA. Yes\nB. No"
    assert word_events(events, {}).empty
    assert worded["as_of"].iloc[0][:10] == "2025-01-31"
    asked = [move_moments(worded, name)["as_of"].iloc[0][:10] for name in ("Early", "Late", "Near")]
    assert asked == sorted(asked) and "2025-01-01" < asked[0] and asked[-1] == "2025-03-01"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[]", "a.json: .* is not a table"),
        ('{"forecast_due_date": "s"}', "a.json: questions is missing"),
        ('{"forecast_due_date": 1, "questions": []}', "a.json, forecast_due_date: 1 is not a text"),
        (
            '{"forecast_due_date": "s", "questions": [{"id": "1"}]}',
            "a.json, question 1: source is missing",
        ),
    ],
)
def test_other_files_are_refused_by_name_question_and_field(given, said, tmp_path):
    (tmp_path / "a.json").write_text(given)
    with pytest.raises(ValueError, match=said):
        read_questions(tmp_path / "a.json")
