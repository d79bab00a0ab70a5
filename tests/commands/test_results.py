"""What a run shows: no score that is not due, what is missing where it stands, leads on the same events."""

import numpy as np
import pandas as pd
import pytest

from helpers.commands.results import list_missing, measure_costs, summarize_agents


def make_scores(n_a_level, **marks):
    """Scores of single events on levels 1 and 2; `marks` holds each agent's score by event, None for missing."""
    ids = [f"e{at:03}" for at in range(2 * n_a_level)]
    events = pd.DataFrame({"event_id": ids, "kind": "single", "level": [1, 2] * n_a_level})
    rows = [
        {"agent_id": agent, "event_id": event, "metric": "accuracy", "score": score, "is_scored": True}
        for agent, by_event in marks.items()
        for event, score in zip(ids, by_event, strict=True)
    ]
    scores = pd.DataFrame(rows).astype({"score": float})
    return scores.assign(score_imputed=scores["score"].fillna(0)), events


def test_an_overall_is_shown_only_where_it_is_due():
    few = summarize_agents(*make_scores(3, good=[1] * 6, rule=[0] * 6), ["rule"], np.random.default_rng(0))
    assert few["overall"].tolist() == ["-", "-"]
    assert few.loc["good", "level 1"] == "1.00 (3 of 3)"
    many = summarize_agents(*make_scores(25, good=[1] * 50, rule=[0] * 50), ["rule"], np.random.default_rng(0))
    assert many["overall"].tolist() == ["1.00 (1.00 to 1.00)", "0.00 (0.00 to 0.00)"]


def test_what_was_not_answered_is_no_part_of_a_mean_and_is_told():
    marks = [1, 1, None, None, None, None]
    table = summarize_agents(*make_scores(3, mine=marks, rule=[1, 0] * 3), ["rule"], np.random.default_rng(0))
    assert table.loc["mine", ["coverage", "level 1", "level 2"]].tolist() == [
        "33% (2 of 6)", "1.00 (1 of 3)", "1.00 (1 of 3)",
    ]  # fmt: skip


def test_the_lead_is_over_the_best_baseline_on_the_same_events():
    marks = {"mine": [1, 1, 0, None], "one": [1, 0, 0, 0], "other": [0, 0, 0, 1]}
    table = summarize_agents(*make_scores(2, **marks), ["one", "other"], np.random.default_rng(0))
    assert table.loc["mine", "best baseline"] == "one" and table.loc["mine", "lead over it"].startswith("+0.33 (")
    assert table.loc["mine", "lead over it"].endswith("n = 3)")
    assert table.loc["one", "best baseline"] == "other", "a baseline is not set beside itself"


@pytest.fixture
def ended():
    """Replies and predictions of four questions: one read, two not, one refused."""
    statuses, replies = ["ok", "unparsable", "unparsable", "refusal"], ["B", "perhaps", "x" * 200 + " 5 or 6", None]
    table = pd.DataFrame({"run_id": "r", "event_id": list("abcd"), "sample": 0, "status": statuses})
    predictions = table.assign(agent_id="mine", reason=[None, "no answer", "several numbers", "will not bet"])
    table = table.assign(status=["ok", "ok", "ok", "refusal"], reply=replies, cost_usd=0.5, duration_s=2.0)
    return table, predictions


def test_a_reply_that_cannot_be_read_counts_as_missing(ended):
    costs = measure_costs(*ended)
    assert costs.loc["mine", "missing"] == "2 unparsable, 1 refusal"
    assert costs.loc["mine", ["USD", "s a question"]].tolist() == [2.0, 2.0]


def test_each_reason_has_its_count_and_one_example(ended):
    lines = list_missing(ended[1], ended[0]).splitlines()
    assert "mine, 1 refusal: will not bet; d" in lines
    assert "mine, 1 unparsable: no answer; b: ...'perhaps'" in lines
    assert any(line.endswith("5 or 6'") and len(line) < 160 for line in lines)
