"""Headline numbers of notebook 16, again in plain pandas from the committed tables."""

import pandas as pd
import pytest

from helpers.files import ROOT

HEADLINES = ("accuracy", "f1", "number", "ranking")


def test_rules_on_the_board_have_their_mean_over_the_questions_that_qwen_was_asked():
    board = pd.read_csv(ROOT / "figures/replay_board.csv").set_index("agent_id")
    made = pd.read_csv(ROOT / "data/tables/A/models/predictions.csv.gz")
    asked = made.loc[made["agent_id"] == "qwen_search_prompt", "event_id"]
    scores = pd.read_csv(ROOT / "data/tables/A/scores.csv.gz")
    scores = scores[
        scores["event_id"].isin(asked) & scores["metric"].isin(HEADLINES) & scores["is_scored"]
    ]
    means = scores.groupby("agent_id")["score"].agg(["mean", "size"])
    for rule in ("last_value", "arima", "mean_of_7", "base_rate"):
        assert board.loc[rule, "mean"] == pytest.approx(means.loc[rule, "mean"], abs=1e-6)
        assert board.loc[rule, "n"] == means.loc[rule, "size"] == 298
    rules = board[board["who"] == "rule"]["mean"]
    assert (rules > board.loc["qwen_search_prompt", "mean"]).sum() == 6
    assert len(rules) == 7
    assert board.loc["qwen_search_prompt", "mean"] == pytest.approx(0.316, abs=0.0005)
