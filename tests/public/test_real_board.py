"""Headline numbers of notebook 01, again from the committed board in plain pandas."""

import numpy as np
import pandas as pd
import pytest

from helpers.files import ROOT


def read(name):
    return pd.read_csv(ROOT / "data/public" / f"{name}.csv")


def test_smolagent_adds_nothing_to_six_backbones_and_a_search_adds_points():
    board = read("futurex_board").set_index(["model", "framework"])["overall"].unstack()
    gains = (board["Open-Deep-Research-Smolagents"] - board["LLM"]).dropna()
    pairs = read("futurex_backbones").set_index(["framework", "model"])["gain"]
    assert len(gains) == 6
    for model, gain in gains.items():
        assert pairs["Open-Deep-Research-Smolagents", model] == pytest.approx(gain)
    assert pairs["Open-Deep-Research-Smolagents", "mean of 6"] == pytest.approx(gains.mean(), abs=1e-6)
    searched = (board["Search"] - board["LLM"]).dropna()
    assert pairs["Search"].to_dict() == pytest.approx(searched.to_dict())


def test_the_bound_of_the_mean_gain_by_the_binomial_formula():
    board = read("futurex_board").set_index(["framework", "model"])
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    share = board[[f"level{n}" for n in range(1, 5)]].to_numpy() / 100
    counts = board[[f"n_level{n}" for n in range(1, 5)]].to_numpy()
    variance = pd.Series(1e4 * (share * (1 - share) / counts) @ weights**2, board.index)
    smol = variance["Open-Deep-Research-Smolagents"]
    half = 1.96 * np.sqrt((smol + variance["LLM"].reindex(smol.index)).sum()) / len(smol)
    mean = read("futurex_backbones").set_index("model").loc["mean of 6"]
    assert mean["high"] - mean["gain"] == pytest.approx(half, abs=1e-6)


def test_the_two_weeks_of_the_paper_have_the_same_first_four_agents():
    two, pooled = read("futurex_two_weeks"), read("futurex_board").sort_values("rank")
    names = ["model", "framework"]
    assert set(map(tuple, two.head(4)[names].to_numpy())) == set(map(tuple, pooled.head(4)[names].to_numpy()))
    assert two["overall"].is_monotonic_decreasing
