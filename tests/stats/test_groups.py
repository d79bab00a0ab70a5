"""Means by level and kind, what is missing counted apart, and their intervals (FutureX 3.4.2, 4.1)."""

import math

import numpy as np
import pytest
from builders import make_scores

from helpers.scoring.scores import select_headline
from helpers.stats.means import find_clusters, tabulate_groups


def make_rng():
    return np.random.default_rng(7)


def tabulate(scores, events, by="level"):
    """The groups of one column, by agent and group."""
    table = tabulate_groups(select_headline(scores, events), find_clusters(events)[0], [by])
    return table[table["group"] == by].set_index(["agent_id", "name"])


def test_level_mean_leaves_missing_out_and_reports_coverage_and_imputed_mean():
    row = tabulate(*make_scores({"a": {1: [1.0, 0.0, 1.0, None] * 6}})).loc["a", "1"]
    assert row["mean"] == pytest.approx(2 / 3)  # (1 + 0 + 1) / 3
    assert row["n"] == 18 and row["n_asked"] == 24 and row["coverage"] == 0.75
    assert row["mean_imputed"] == 0.5  # (1 + 0 + 1 + 0) / 4
    assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1


def test_agent_without_a_prediction_has_a_blank_mean_not_zero():
    row = tabulate(*make_scores({"a": {1: [1.0, 1.0]}, "b": {1: [None, None]}})).loc["b", "1"]
    assert math.isnan(row["mean"]) and row["n"] == 0
    assert row["coverage"] == 0 and row["mean_imputed"] == 0


def test_no_scored_event_and_an_event_without_a_level_raise():
    scores, events = make_scores({"a": {1: [1.0]}})
    with pytest.raises(ValueError, match="no scored event is left"):
        tabulate(scores.assign(is_scored=False), events)
    with pytest.raises(ValueError, match="l1_000 has no level"):
        tabulate(scores, events.assign(level=math.nan))
