"""The overall score and its rules, and the finding on difficulty (FutureX 4.1, 4.2)."""

import math

import pytest
from builders import make_scores

from studies.futurex import levels


def test_overall_weighs_levels():
    scores, events = make_scores(
        {"a": {1: [1.0] * 25, 2: [0.8] * 25, 3: [0.5] * 25, 4: [0.2] * 25}}
    )
    row = levels.combine_overall(scores, events).iloc[0]
    assert row["overall"] == pytest.approx(0.1 * 1.0 + 0.2 * 0.8 + 0.3 * 0.5 + 0.4 * 0.2)  # 0.49
    assert row["overall_note"] == "" and row["n"] == 100 and row["coverage"] == 1


def test_agent_that_lacks_a_level_has_no_overall():
    full = {level: [0.5] * 25 for level in (1, 2, 3, 4)}
    lacking = {**{level: [0.9] * 25 for level in (1, 2, 3)}, 4: [None] * 25}
    never_asked = {level: [0.9] * 25 for level in (1, 2)}
    too_few = full | {3: [0.5] * 24}
    agents = {"a": full, "b": lacking, "c": never_asked, "d": too_few}
    table = levels.combine_overall(*make_scores(agents))
    table = table.set_index("agent_id")
    assert table.loc["a", "overall"] == pytest.approx(0.5)
    assert math.isnan(table.loc["b", "overall"]) and math.isnan(table.loc["b", "low"])
    assert table.loc["b", "overall_note"] == "no overall: nothing predicted in level 4"
    assert table.loc["c", "overall_note"] == "no overall: nothing predicted in level 3"
    assert table.loc["d", "overall_note"] == "no overall: 24 events in level 3, fewer than 25"
    assert table.index[0] == "a"


def make_levels(*means):
    """Thirty events a level, half a tenth above and half a tenth below the mean."""
    return {
        level: [mean - 0.1, mean + 0.1] * 15
        for level, mean in zip((1, 2, 3, 4), means, strict=True)
    }


def test_falls_are_above_chance():
    by_agent = {"base": make_levels(0.8, 0.7, 0.3, 0.1), "search": make_levels(0.7, 0.6, 0.5, 0.4)}
    chance = {"random": make_levels(0.2, 0.2, 0.2, 0.2)}
    table = levels.test_level_drops(*make_scores(by_agent | chance), list(by_agent))
    assert table["verdict"].tolist() == ["holds"] * 6 + ["inconclusive"]
    drops = [
        0.375,
        0.1,
        0.25,
        0.15,
        0.55,
        0.2,
        0,
    ]  # mean of both, its three steps; 0.75 - 0.2; 0.65 - 0.45; random
    assert table["estimate"].tolist() == pytest.approx(drops)
    assert table["n"].tolist() == [120, 60, 60, 60, 120, 120, 120]


def test_a_fall_that_guessing_shares_is_none():
    by_agent = {"last": make_levels(0.9, 0.7, 0.4, 0.3), "random": make_levels(0.7, 0.5, 0.2, 0.1)}
    table = levels.test_level_drops(*make_scores(by_agent), ["last"])
    by = table.set_index("statement")
    row = by.loc["last: levels 1-2 minus levels 3-4, above chance"]
    assert row["estimate"] == pytest.approx(0.0) and row["verdict"] == "inconclusive"
    itself = by.loc["random itself: levels 1-2 minus levels 3-4"]
    assert itself["estimate"] == pytest.approx(0.45) and itself["verdict"] == "holds"
    assert not table["statement"].str.startswith("random: ").any()
