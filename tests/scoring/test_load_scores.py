"""Scores of a set by its name: those that are committed, and local runs beside them."""

import pandas as pd
import pytest
from builders import store_run

from daybefore.formats import public_sets
from daybefore.scoring.run_scores import list_local, load_scores
from helpers.files import STORE, read_table


def test_scores_of_a_set_are_the_committed_ones(out):
    _, runs, predictions, scores = load_scores("october-2016")
    key = ["agent_id", "event_id", "sample", "metric"]
    both = read_table("scores", "A").merge(scores, "left", key, suffixes=("", "_now"))
    assert both["score"].tolist() == pytest.approx(both["score_now"].tolist(), nan_ok=True)
    assert set(runs["agent_id"]) == set(predictions["agent_id"]) == set(scores["agent_id"])


@pytest.mark.parametrize(
    ("question_set", "agents", "said"),
    [
        ("october-2016", "qwen_zero_shto", r"'qwen_zero_shto'; did you mean qwen_zero_shot\?"),
        ("futurex-past", "", "no run on futurex-past is here; `make run SET=futurex-past"),
    ],
)
def test_a_name_that_is_none_gets_the_nearest(question_set, agents, said):
    with pytest.raises(ValueError, match=said):
        load_scores(question_set, agents)


def test_a_public_set_has_the_local_runs_that_are_there(out, monkeypatch):
    events = pd.DataFrame({"event_id": ["x", "y"], "kind": "single", "level": 1})
    events["options"] = '{"A":"Yes","B":"No"}'
    answers = pd.DataFrame({"event_id": ["x", "y"], "value": ['"A"', '"B"'], "status": "ok"})
    monkeypatch.setattr(public_sets, "build_priced", lambda: (events, answers, pd.DataFrame()))
    for agent, category in (("mine", "base_model"), ("base_rate", "baseline")):
        made = {"x": {"value": '"A"'}}
        store_run(out / STORE, f"{agent}-M-01234567", made, category=category)
    scored = load_scores("markets", "mine")
    assert set(scored.runs["agent_id"]) == {"mine", "base_rate"}
    assert list(scored.events["event_id"]) == ["x"]
    assert scored.scores.query("metric == 'accuracy'")["score"].tolist() == [1, 1]


def test_a_set_with_runs_of_its_own_has_those_that_are_named():
    by_model = load_scores("blf", ["GPT-5.4"]).runs
    assert len(by_model) == 6 and set(by_model["model"]) == {"GPT-5.4"}
    one = load_scores("blf", "blf-gpt5-high-none-c0-t0")
    assert set(one.scores["run_id"]) == {"blf-gpt5-high-none-c0-t0"}


def test_a_window_with_a_dash_is_found_in_the_store(tmp_path):
    path = tmp_path / STORE
    store_run(path, "my-agent-my-set-01234567", {"x": {}}, agent_id="my-agent")
    assert [run.window for run in list_local(path)] == ["my-set"]
