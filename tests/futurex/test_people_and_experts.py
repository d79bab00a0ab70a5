"""People: the form's rules, the share of questions a person, a folder that `daybefore add` takes.
Agents beside a consensus: planted win rates and errors."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from daybefore.formats.forecast_files import read_forecasts
from helpers.notebook_forms import read_answers
from studies.futurex.people_and_experts import (
    STEP,
    compare_consensus,
    judge_forecasts,
    open_sheets,
    read_typed,
    share_questions,
)

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


def test_results_beside_a_consensus_worked_by_hand():
    rows = pd.DataFrame({"metric": "eps", "consensus": 100.0, "actual": 110.0}, range(4))
    # nearer; farther; within 1% of the consensus; equally far on the other side (no win)
    judged = judge_forecasts(rows.assign(forecast=[105.0, 95.0, 100.9, 120.0]))
    assert judged["result"].tolist() == ["win", "loss", "tie", "loss"]
    exact = judge_forecasts(
        pd.DataFrame({"metric": ["eps"] * 2, "consensus": 1.0, "actual": 0.0, "forecast": [0, 9]})
    )
    assert exact["share_error"].tolist() == [0, 0.3], "of an actual of 0 any error is the largest"


def test_a_rate_is_held_against_one_half_in_the_family_of_all_rows():
    items = pd.DataFrame({"event_id": [f"e{at}" for at in range(52)], "item": "I", "metric": "eps"})
    items = items.assign(consensus=100.0, actual=120.0)
    won = np.random.default_rng(4).random((20, 51)) < 0.5

    def forecast(agent, values):
        rows = {
            "agent_id": agent,
            "event_id": items["event_id"],
            "value": [*map(str, values), None],
        }
        return pd.DataFrame(rows)

    coins = [forecast(f"a{at}", np.where(flips, 110, 90)) for at, flips in enumerate(won)]
    table = compare_consensus(
        items, pd.concat([*coins, forecast("mute", [None] * 51).assign(value=None)])
    )
    assert table["p"].min() < 0.2 and (table["p_holm"] > 0.05).all() and len(table) == 20, (
        "the best of twenty coins is still a coin"
    )
    sure = compare_consensus(items, forecast("sure", [110] * 51)).iloc[0]
    assert sure["p_holm"] < 1e-9 and sure["n_asked"] == 52
    told = sure[["n", "n_ties", "win_rate", "mape_gap"]].tolist()
    assert told == pytest.approx([51, 0, 1, (10 - 20) / 120])
    assert compare_consensus(items.assign(consensus=0.0), coins[0]).empty
