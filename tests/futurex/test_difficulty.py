"""The overall score and its rules, and the finding on difficulty (FutureX 4.1, 4.2)."""

import pytest
from builders import make_scores

from studies.futurex import difficulty


def test_overall_weighs_levels_and_an_agent_that_lacks_one_has_none():
    full = {1: [1.0] * 25, 2: [0.8] * 25, 3: [0.5] * 25, 4: [0.2] * 25}
    lacking = full | {4: [None] * 25}
    never_asked = {level: full[level] for level in (1, 2)}
    too_few = full | {3: [0.5] * 24}
    agents = {"a": full, "b": lacking, "c": never_asked, "d": too_few}
    table = difficulty.combine_overall(*make_scores(agents)).set_index("agent_id")
    row = table.iloc[0]
    assert row["overall"] == pytest.approx(0.1 * 1.0 + 0.2 * 0.8 + 0.3 * 0.5 + 0.4 * 0.2)  # 0.49
    assert row["n"] == 100 and row["coverage"] == 1
    assert table["overall_note"].to_dict() == {
        "a": "",
        "b": "no overall: nothing predicted in level 4",
        "c": "no overall: nothing predicted in level 3",
        "d": "no overall: 24 events in level 3, fewer than 25",
    }
    assert table.loc[list("bcd"), ["overall", "low"]].isna().all(axis=None)


def make_levels(*means):
    """Thirty events a level, half a tenth above and half a tenth below the mean."""
    return {
        level: [mean - 0.1, mean + 0.1] * 15
        for level, mean in zip((1, 2, 3, 4), means, strict=True)
    }


def test_falls_are_above_chance_and_one_that_guessing_shares_is_none():
    base, search = make_levels(0.8, 0.7, 0.3, 0.1), make_levels(0.7, 0.6, 0.5, 0.4)
    flat = make_scores({"base": base, "search": search, "random": make_levels(*[0.2] * 4)})
    table = difficulty.test_level_drops(*flat, ["base", "search"])
    assert table["verdict"].tolist() == ["holds"] * 6 + ["inconclusive"]
    # mean of both, its three steps; 0.75 - 0.2; 0.65 - 0.45; random
    assert table["estimate"].tolist() == pytest.approx([0.375, 0.1, 0.25, 0.15, 0.55, 0.2, 0])
    assert table["n"].tolist() == [120, 60, 60, 60, 120, 120, 120]
    falling = {"last": make_levels(0.9, 0.7, 0.4, 0.3), "random": make_levels(0.7, 0.5, 0.2, 0.1)}
    table = difficulty.test_level_drops(*make_scores(falling), ["last"]).tail(2)
    assert table["estimate"].tolist() == pytest.approx([0, 0.45])
    assert table["verdict"].tolist() == ["inconclusive", "holds"]
