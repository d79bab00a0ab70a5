import pandas as pd
import pytest
from builders import store_run

from daybefore.formats import public_sets
from daybefore.scoring.runs import list_local, load_scores
from helpers.files import STORE, read_table


def test_scores_of_a_set_are_the_committed_ones_and_own_agents_stand_beside_them(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    _, runs, predictions, scores = load_scores("october-2016")
    kept = read_table("scores", "A")
    both = kept.merge(
        scores, on=["agent_id", "event_id", "sample", "metric"], how="left", suffixes=("", "_now")
    )
    assert both["score"].to_numpy() == pytest.approx(both["score_now"].to_numpy(), nan_ok=True)
    assert set(runs["agent_id"]) == set(predictions["agent_id"]) == set(scores["agent_id"])


def test_a_name_that_is_none_gets_the_nearest():
    with pytest.raises(ValueError, match=r"'qwen_zero_shto'; did you mean qwen_zero_shot\?"):
        load_scores("october-2016", "qwen_zero_shto")
    with pytest.raises(
        ValueError, match="no run on futurex-past is here; `make run SET=futurex-past"
    ):
        load_scores("futurex-past")


def test_a_public_set_has_the_local_runs_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    events = pd.DataFrame(
        {"event_id": ["x", "y"], "kind": "single", "options": '{"A":"Yes","B":"No"}', "level": 1}
    )
    answers = pd.DataFrame({"event_id": ["x", "y"], "value": ['"A"', '"B"'], "status": "ok"})
    monkeypatch.setattr(public_sets, "build_priced", lambda: (events, answers, pd.DataFrame()))
    made = {"x": {"value": '"A"'}}
    store_run(tmp_path / STORE, "mine-M-01234567", made, category="base_model")
    store_run(tmp_path / STORE, "base_rate-M-01234567", made, category="baseline")
    scored = load_scores("markets", "mine")
    assert set(scored.runs["agent_id"]) == {"mine", "base_rate"} and list(
        scored.events["event_id"]
    ) == ["x"]
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
