"""Headline numbers of notebook 16, again in plain pandas from the committed tables."""

import pandas as pd
import pytest

from helpers.files import ROOT

HEADLINES = ("accuracy", "f1", "number", "ranking")


def test_rules_on_the_board_have_their_mean_over_the_questions_that_qwen_was_asked():
    board = pd.read_csv(ROOT / "figures/replay_board.csv").set_index("agent_id")
    made = pd.read_csv(ROOT / "data/tables/A/models/predictions.csv.gz")
    asked = made.loc[made["agent_id"] == "qwen_search_prompt", "event_id"]
    scores = pd.read_csv(ROOT / "data/tables/A/scores.csv.gz").query("is_scored")
    scores = scores[scores["event_id"].isin(asked) & scores["metric"].isin(HEADLINES)]
    means = scores.groupby("agent_id")["score"].mean()
    rules = board[board["who"] == "rule"]
    assert len(rules) == 7 and set(rules["n"]) == {298}
    assert rules["mean"].to_dict() == pytest.approx(means[rules.index].to_dict(), abs=1e-6)
