import pytest

from helpers.scoring.runs import load_scores
from helpers.store import read_table


def test_scores_of_a_set_are_the_committed_ones_and_own_agents_stand_beside_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    _, runs, predictions, scores = load_scores("october-2016")
    kept = read_table("scores", "A")
    both = kept.merge(scores, on=["agent_id", "event_id", "sample", "metric"], how="left", suffixes=("", "_now"))
    assert both["score"].to_numpy() == pytest.approx(both["score_now"].to_numpy(), nan_ok=True)
    assert set(runs["agent_id"]) == set(predictions["agent_id"]) == set(scores["agent_id"])


def test_a_name_that_is_none_gets_the_nearest():
    with pytest.raises(ValueError, match=r"'qwen_zero_shto'; did you mean qwen_zero_shot\?"):
        load_scores("october-2016", "qwen_zero_shto")
    with pytest.raises(ValueError, match="futurex-past is built from public files"):
        load_scores("futurex-past")
