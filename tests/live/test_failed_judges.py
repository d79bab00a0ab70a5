"""A judge that gives no verdict: the column is blank there, and in every mean that it would stand
in."""

import json

import pandas as pd
import pytest

from daybefore.live.settle import judge, tabulate
from daybefore.models.judges import Verdict
from studies.liveagentbench.runs import STATES, ask_with_text

EVENT = {"event_id": "cup", "prompt": "Who wins?", "kind": "text"}
GIVEN, TRUTH = json.dumps("Eastport Rowers"), json.dumps("The Rowers of Eastport")


def fail(status):
    return lambda prompt, schema, repeat=0: Verdict(status, reason="it broke")


@pytest.mark.parametrize(
    "status", ["error", "unparsable", "missing", "timeout", "refusal", "over_budget"]
)
def test_a_judge_that_fails_gives_no_score(status):
    unjudged = []
    score = judge(fail(status), EVENT, GIVEN, TRUTH, 0.0, unjudged=unjudged)
    assert score != score and unjudged[0].reason == "it broke"


def test_a_blank_verdict_leaves_its_levels_mean_and_the_overall_one_blank():
    events = pd.DataFrame({"event_id": list("abc"), "level": [1, 3, 3]})
    rows = events.assign(
        score_imputed=[1.0, 0.0, 1.0], judged=[1.0, float("nan"), 1.0], is_missing=False
    )
    table = tabulate(rows, events).set_index("level")
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
    monkeypatch.setattr("studies.liveagentbench.runs.extract_text", lambda paths: "text")
    event = {"prompt": "What?", "event_id": "t", "capabilities": '["text_file"]'}
    assert ask_with_text(fail(status), event, ["a.csv"])[0] == kept
    assert "failed" not in STATES.values()
