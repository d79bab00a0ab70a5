"""Public leaderboards: worked cases on small boards, and the known facts of the real ones where they are mirrored."""

import math

import numpy as np
import pandas as pd
import pytest
from builders import read_cases

from studies.futurex import board_findings as boards_findings
from studies.futurex import boards
from studies.futurex.boards import COUNTS, SCORES


def make_rows(*rows):
    """Rows of (week, agent, level scores, level counts) as `flatten_board` gives them."""
    table = pd.DataFrame([(week, agent, agent, "LLM", "x", "o") for week, agent, *_ in rows])
    table.columns = ["week", "agent_id", "model", "framework", "category", "organization"]
    table[SCORES], table[COUNTS] = [list(zip(*rows, strict=True))[at] for at in (2, 3)]
    table[SCORES + COUNTS] = table[SCORES + COUNTS].astype(float)
    overall = boards.rebuild_overall(table.assign(overall=0.0))["rebuilt"]
    return table.assign(overall=overall, n_events=table[COUNTS].sum(axis=1))


def test_the_sites_json_becomes_one_table():
    row = {"modelName": "A", "agentFramework": "LLM", "organization": "o", "overallScore": 30, "numberOfEvents": 100}
    row |= {f"level{at}Score": 10 * at for at in (1, 2, 3, 4)}
    odd = row | {"modelName": "a ", "agentFramework": "Odd", "level1Score": None, "level_1_num_events": 3.0}
    board = {"overall": [row], "weekly": {"w1": [odd]}, "monthly": {}}
    table = boards.flatten_board(board, {"LLM": "base_model"})
    assert table["week"].tolist() == ["overall", "w1"]
    assert table["category"].tolist() == ["base_model", "unclassified"]
    assert table["agent_id"].tolist() == ["a | llm", "a | odd"]
    assert math.isnan(table["n_level1"][0]) and table["n_level1"][1] == 3 and math.isnan(table["level1"][1])


def test_overall_is_rebuilt_with_the_weights_of_the_levels_there():
    table = make_rows(("w", "a", [10, 20, 30, 40], [50] * 4), ("w", "b", [None, 20, 30, 50], [9, 50, 50, 50]))
    whole = (0.2 * 20 + 0.3 * 30 + 0.4 * 50) / 0.9
    for overall, status in (([30.01, whole], ["direct", "renormalised"]), ([30.03, 33.0], ["disagrees"] * 2)):
        assert boards.rebuild_overall(table.assign(overall=overall))["status"].tolist() == status


@pytest.mark.parametrize("case", read_cases(__file__, "pooled"))
def test_weeks_are_pooled_by_their_events(case):
    cells = ([case["scores"], [40, 150, 100, 100]]) if case["scores"] else case["weeks"][0][2:]
    rows = make_rows(("overall", "a", *cells), *case["weeks"])
    found = boards.pool_weeks(rows, case["names"])
    assert found["is_pooled"].any() == case["is_pooled"]
    assert found["hidden_low"].iloc[0] == pytest.approx(50) or len(case["weeks"]) == 1 or not case["is_pooled"]


def test_a_ranks_deviation_is_the_binomial_bound():
    table = make_rows(*[("overall", name, [50] * 4, [100] * 4) for name in "ab"])
    ranks = boards.simulate_ranks(table, np.random.default_rng(0), n_draws=40_000)
    bound = 5 * math.sqrt(0.1**2 + 0.2**2 + 0.3**2 + 0.4**2)
    assert ranks["deviation"].tolist() == pytest.approx([bound, bound], rel=0.02)
    with pytest.raises(ValueError, match="lacks the score or the number of events"):
        boards.simulate_ranks(table.assign(n_level1=np.nan), np.random.default_rng(0), n_draws=10)


@pytest.mark.parametrize("n_weeks", [7, 20])
def test_few_weeks_have_a_verdict_and_no_interval(n_weeks):
    """Whether a verdict is right is played in a thousand worlds: tests/stats/test_planted_truths.py."""
    row = boards_findings.state_weekly("x", 3, "it helps", pd.Series(3.0 + np.arange(n_weeks)))
    assert row["verdict"] == "agrees" and np.isnan(row["low"]) == (n_weeks < 10)


def test_blocks_cover_the_mean_of_a_series_whose_neighbours_are_alike():
    rng, hits = np.random.default_rng(3), {1: [], 8: []}
    for _ in range(200):
        noise, values = rng.normal(size=140), [0.0]
        for step in noise:
            values.append(0.6 * values[-1] + step)  # its mean is 0
        for length, found in hits.items():
            low, high = boards_findings.bound_blocks(values[21:], length, rng, n_boot=400)
            found.append(low <= 0 <= high)
    assert np.mean(hits[1]) < 0.75 and np.mean(hits[8]) > 0.85
