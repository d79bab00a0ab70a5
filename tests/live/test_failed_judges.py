"""A judge that gives no verdict: the column is blank there, and in every mean that it would stand
in."""

import json

import pytest

from daybefore.live.settle_week import read_answers, settle
from daybefore.live.week_questions import Batch, build_events, check_rows
from daybefore.live.week_submission import ABOUT
from daybefore.models.judges import Verdict
from studies.liveagentbench.task_runs import STATES, ask_with_text

NOW = "2026-03-04T10:00:00+08:00"


def fail(status):
    return lambda prompt, schema, repeat=0: Verdict(status, reason="it broke")


@pytest.mark.parametrize("status", ["error", "unparsable", "over_budget"])
def test_where_a_judge_fails_no_score_stands_nor_a_mean_over_it(status):
    rows = [{"id": key, "prompt": "Who?", "kind": "text", "level": 3} for key in ("a", "b")]
    rows.append({"id": "c", "prompt": "Rain?", "options": ["Yes", "No"], "level": 1})
    events = build_events(Batch(check_rows(rows, "mine"), "mine", "0" * 40), NOW)
    given = {"a": "Eastport", "b": "Hull", "c": "A"}
    about = dict.fromkeys(ABOUT) | {"status": "ok", "as_of": NOW}
    standing = {key: about | {"value": json.dumps(value)} for key, value in given.items()}
    state = {"agent": "mine", "source": "mine", "rounds": [{"as_of": NOW}], "standing": standing}
    told = [("a", "The Rowers of Eastport"), ("b", "Hull"), ("c", "Yes")]
    answers = read_answers("mine", events, [{"id": key, "answer": one} for key, one in told])
    scores, table = settle(state, events, answers, fail(status))
    judged = scores.set_index("event_id")["judged"]
    assert judged.isna().to_dict() == {"a": True, "b": False, "c": False}
    assert [verdict.reason for verdict in scores.attrs["unjudged"]] == ["it broke"]
    table = table.set_index("level")
    assert table["judged"].isna().to_dict() == {"1": False, "3": True, "overall": True}
    assert not table["mean"].isna().any()


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        ("error", "missing"),
        ("timeout", "missing"),
        ("over_budget", "missing"),
        ("refusal", "ok"),
        ("lacking", "lacking"),
    ],
)
def test_an_accident_of_a_request_is_no_answer_of_a_task(status, kept, monkeypatch):
    monkeypatch.setattr("studies.liveagentbench.task_runs.extract_text", lambda paths: "text")
    event = {"prompt": "What?", "event_id": "t", "capabilities": '["text_file"]'}
    assert ask_with_text(fail(status), event, ["a.csv"])[0] == kept
    assert "failed" not in STATES.values()
