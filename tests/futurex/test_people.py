"""People: the form's rules, the share of questions a person, and a folder that `daybefore add`
takes."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from daybefore.formats.forecasts import read_forecasts
from helpers.forms import read_answers
from studies.futurex.people import STEP, open_sheets, read_typed, share_questions

START = datetime(2026, 6, 1, 9, tzinfo=UTC)
WORDS = ["rain", "http://rain.example/today", "it rained", "it may again"]


def build_event(event_id, level=1):
    options = '{"A":"Yes","B":"No"}'
    return {
        "event_id": event_id,
        "kind": "single",
        "options": options,
        "level": level,
        "prompt": "Will it rain?",
    }


def test_answers_are_read_by_their_kind():
    assert read_typed("1,234.5", {"kind": "number"}) == 1234.5
    names = read_typed("Poodle, Miniature; Terrier", {"kind": "ranking"})
    assert names == ["Poodle, Miniature", "Terrier"]


def test_every_question_goes_to_one_person_and_persons_differ_by_one():
    pool = pd.DataFrame([build_event(f"e{at:03}", level=1 + at % 4) for at in range(500)])
    shares = share_questions(pool, seed=1, n_people=40, n_questions=300)
    assert shares["event_id"].is_unique and len(shares) == 300
    assert shares.groupby("person").size().value_counts().to_dict() == {8: 20, 7: 20}
    by_level = shares.groupby(["person", "level"]).size().unstack(fill_value=0)
    assert (by_level.max() - by_level.min() <= 1).all()
    with pytest.raises(ValueError, match="no one may go without"):
        share_questions(pool, seed=1, n_people=40, n_questions=30)


def press(form, button, **values):
    for field in form.children:
        if getattr(field, "description", None) in values:
            field.value = values[field.description]
    next(child for child in form.children if getattr(child, "description", None) == button).click()
    return form.children[-1].value


def test_the_form_keeps_steps_takes_one_answer_and_its_folder_can_be_added(tmp_path):
    now = [START]
    extra = {
        "as_of": "2026-06-01T00:00:00+08:00",
        "domain": "Climate",
        "unit": None,
        "k": None,
        "resolves_at": None,
    }
    events = pd.DataFrame([build_event(f"e{at}") | extra for at in range(1, 4)])
    answers = pd.DataFrame(
        {"event_id": ["e1", "e2", "e3"], "value": ['"A"', '"B"', '"A"'], "spread": None}
    )
    form = open_sheets(events, 7, tmp_path, lambda: now[0], answers)
    assert "fill in both" in press(form, "note this step", observation="it rained")
    assert form.children[4].value == "it rained", "what was typed stays"
    for _ in range(3):
        said = press(form, "note this step", **dict(zip(STEP, WORDS, strict=True)))
    assert said == "3 steps noted"
    assert "Time: 0.0" in press(form, "submit the answer", answer="a")
    now[0] += timedelta(minutes=6)
    again = open_sheets(events, 7, tmp_path, lambda: now[0], answers)  # a browser that was closed
    assert press(again, "submit the answer", answer="a") == "The answer is taken."
    again.children[0].value = "e1"
    assert "that answer stands" in press(again, "submit the answer", answer="b")
    made = pd.read_csv(tmp_path / "predictions.csv")
    assert made[["agent_id", "value", "rationale"]].values.tolist() == [["people", '"A"', WORDS[3]]]
    steps = read_answers(tmp_path / "people.sqlite", STEP).dropna(subset="observation")
    assert steps[[*STEP]].values.tolist() == [WORDS] * 3
    assert len(read_forecasts([tmp_path]).tables["predictions"]) == 3
