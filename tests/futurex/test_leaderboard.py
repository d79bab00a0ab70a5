"""Public leaderboards: worked cases on small boards, and the known facts of the real ones where
they are mirrored."""

import math

import numpy as np
import pandas as pd
import pytest
from builders import read_cases

from studies.futurex import public_leaderboard
from studies.futurex.public_leaderboard import COUNTS, SCORES
from studies.futurex.public_leaderboard_findings import state_weekly


def make_rows(*rows):
    """Rows of (week, agent, level scores, level counts) as `flatten_board` gives them."""
    table = pd.DataFrame(
        [(week, agent, "LLM") for week, agent, *_ in rows], columns=["week", "model", "framework"]
    )
    table[SCORES], table[COUNTS] = [list(zip(*rows, strict=True))[at] for at in (2, 3)]
    table[SCORES + COUNTS] = table[SCORES + COUNTS].astype(float)
    return table.assign(overall=public_leaderboard.rebuild_overall(table))


def test_the_sites_json_becomes_one_table():
    row = {"modelName": "A", "agentFramework": "LLM", "organization": "o"}
    row |= {
        "overallScore": 30,
        "numberOfEvents": 100,
        **{f"level{at}Score": 1 for at in range(1, 5)},
    }
    odd = row | {"modelName": "a ", "agentFramework": "Odd", "level1Score": None}
    weeks = {"w1": [odd | {"level_1_num_events": 3.0}]}
    table = public_leaderboard.flatten_board(
        {"overall": [row], "weekly": weeks}, {"LLM": "base_model"}
    )
    assert table[["week", "category", "agent_id"]].values.tolist() == [
        ["overall", "base_model", "a | llm"],
        ["w1", "unclassified", "a | odd"],
    ]
    assert table["n_level1"].fillna(-1).tolist() == [-1, 3] and math.isnan(table["level1"][1])


def test_overall_is_rebuilt_with_the_weights_of_the_levels_there():
    table = make_rows(
        ("w", "a", [10, 20, 30, 40], [50] * 4), ("w", "b", [None, 20, 30, 50], [9, 50, 50, 50])
    )
    assert table["overall"].tolist() == pytest.approx([30, (0.2 * 20 + 0.3 * 30 + 0.4 * 50) / 0.9])


@pytest.mark.parametrize("case", read_cases(__file__, "pooled"))
def test_weeks_are_pooled_by_their_events(case):
    scores, counts = (
        (case["scores"], [40, 150, 100, 100]) if case["scores"] else case["weeks"][0][2:]
    )
    rows = make_rows(("overall", "a", scores, counts), *case["weeks"])
    assert public_leaderboard.is_pooled(rows, rows.iloc[0], case["names"]) == case["is_pooled"]
    if case["scores"] == [27.5, 30, 10, 10] and case["is_pooled"]:
        assert public_leaderboard.select_weeks(rows, rows.iloc[0], case["names"]).loc[
            "w1", "level1"
        ] == pytest.approx(50)


def test_a_ranks_deviation_is_the_binomial_bound():
    table = make_rows(*[("overall", name, [50] * 4, [100] * 4) for name in "ab"])
    ranks = public_leaderboard.simulate_ranks(table, np.random.default_rng(0), n_draws=40_000)
    bound = 5 * math.sqrt(0.1**2 + 0.2**2 + 0.3**2 + 0.4**2)
    assert ranks["deviation"].tolist() == pytest.approx([bound, bound], rel=0.02)
    assert public_leaderboard.average_levels(table)[1].tolist() == pytest.approx([bound, bound])


@pytest.mark.parametrize("n_weeks", [7, 20])
def test_few_weeks_have_a_verdict_and_no_interval(n_weeks):
    """Whether a verdict is right is played in a thousand worlds:
    tests/stats/test_planted_truths.py."""
    row = state_weekly("x", 3, "it helps", pd.Series(3.0 + np.arange(n_weeks)))
    assert row["p"] < 0.05 and np.isnan(row["low"]) == (n_weeks < 10)
