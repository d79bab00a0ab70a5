"""What a model says becomes a submission's words, and a true answer is read as the question's kind
has it."""

import pandas as pd
import pytest
from weeks import KINDS, make_week

from daybefore.live.settle_week import read_answers, read_truth
from daybefore.live.week_questions import Batch, build_events, check_rows, read_rows
from daybefore.live.week_submission import (
    find_deadline,
    list_late,
    open_round,
    revise,
    write_prediction,
)
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import parse_json

NOW = pd.Timestamp("2026-03-04T10:00:00+08:00")
ROWS, SAID, EXPECTED = make_week("a", n=len(KINDS))
BATCH = Batch(
    check_rows(ROWS, "week"), "futurex-ai/Futurex-Online", "c" * 40, "", is_challenge=True
)
EVENTS = build_events(BATCH, NOW.isoformat()).to_dict("records")


def read_own(path):
    return read_answers(path.name, pd.DataFrame(EVENTS), read_rows(path, path.name))


@pytest.mark.parametrize("n", range(len(KINDS)), ids=list(KINDS))
def test_every_form_is_read_and_written_as_its_prompt_wants(n):
    event, (prediction, answer, _) = EVENTS[n], EXPECTED[EVENTS[n]["event_id"]]
    value = parse_prediction(
        SAID[f"a{n:03}"], event["kind"], parse_json(event["options"]), event["unit"]
    )
    assert write_prediction(value, event) == prediction
    truth, why = read_truth(answer, event)
    assert truth is not None and not why


def test_a_number_without_a_deviation_has_no_spread_made_up_for_it(tmp_path):
    numbers = [event for event in EVENTS if event["kind"] == "number"]
    lines = [f"{event['event_id']},{200 + n},{'4' if n else ''}" for n, event in enumerate(numbers)]
    (tmp_path / "answers.csv").write_text("id,answer,spread\n" + "\n".join(lines) + "\n")
    answers = read_own(tmp_path / "answers.csv")
    assert answers["spread"].fillna(-1).tolist() == [-1.0, *[4.0] * (len(numbers) - 1)]


def test_answers_that_cannot_be_read_are_refused_by_row(tmp_path):
    event = next(event for event in EVENTS if event["kind"] == "number")
    (tmp_path / "answers.csv").write_text(f"id,answer\nother,1\n{event['event_id']},plenty\n")
    with pytest.raises(ValueError, match="answers.csv, row 2, answer: 'plenty' is no number"):
        read_own(tmp_path / "answers.csv")
    (tmp_path / "answers.csv").write_text("id,answer\nother,1\n")
    with pytest.raises(ValueError, match="has no answer to any of the"):
        read_own(tmp_path / "answers.csv")


def test_the_deadline_is_the_wednesday_before_the_first_end():
    assert find_deadline(BATCH) == pd.Timestamp(
        "2026-03-05T00:00:00+08:00"
    )  # the questions end on Sunday the 8th
    named = BATCH._replace(message="Events for 2026-03-11-To-2026-03-17 are ready")
    assert find_deadline(named) == pd.Timestamp("2026-03-12T00:00:00+08:00")
    assert find_deadline(BATCH._replace(is_challenge=False)) is None
    assert list_late(BATCH, NOW) == [] and len(list_late(BATCH, NOW + pd.Timedelta(days=5))) == len(
        KINDS
    )


def test_a_round_lasts_a_day_or_until_it_is_complete():
    state = {"rounds": []}
    first = open_round(state, NOW)
    assert (
        open_round(state, NOW + pd.Timedelta(days=2)) is first
    )  # it was stopped: it goes on as of its own moment
    first["is_complete"] = True
    assert open_round(state, NOW + pd.Timedelta(hours=13)) is first
    assert open_round(state, NOW + pd.Timedelta(hours=14)) is not first


@pytest.mark.parametrize(
    ("prediction", "confidence", "pages", "stands"),
    [
        ("B", 0.7, [], "B"),
        ("B", 0.69, [], "A"),
        ("B", None, ["p2"], "B"),
        ("B", 0.5, ["p1"], "A"),
        ("", 0.9, ["p2"], "A"),
    ],
)
def test_only_a_material_change_revises(prediction, confidence, pages, stands):
    old = {
        "prediction": "A",
        "probability": 0.6,
        "pages": ["p1"],
        "as_of": "2026-03-03T10:00:00+08:00",
    }
    new = {
        "prediction": prediction,
        "probability": confidence,
        "pages": pages,
        "as_of": NOW.isoformat(),
    }
    assert revise(old, new)[0]["prediction"] == stands
