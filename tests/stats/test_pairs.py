"""Scoring and comparing from Python: defaults, pairs, intervals that hold what they promise (synthetic data)."""

import math

import pandas as pd
import pytest
from statsmodels.stats.power import TTestPower

from helpers.stats.paired import compare, compute_mde, score

EVENTS = pd.DataFrame(
    {
        "event_id": ["e1", "e2", "e3", "e4"],
        "kind": ["single", "single", "number", "number"],
        "options": ['{"A":"Yes","B":"No"}'] * 2 + [None, None],
        "level": [1, 1, 4, 4],
    }
)
ANSWERS = pd.DataFrame(
    {"event_id": ["e1", "e2", "e3", "e4"], "value": ['"A"', '"B"', "10", "20"], "spread": [None, None, 2, 4]}
)


def make_predictions(by_agent):
    """Predictions from {agent: one value an event, in order}; None is missing."""
    rows = [
        (e, agent, value)
        for agent, values in by_agent.items()
        for e, value in zip(EVENTS["event_id"], values, strict=True)
    ]
    return pd.DataFrame(rows, columns=["event_id", "agent_id", "value"])


def test_score_needs_only_three_columns_and_fills_the_rest():
    scores = score(EVENTS, ANSWERS, make_predictions({"ann": ['"A"', None, "11", "20"]}))
    headline = scores[scores["metric"].isin(["accuracy", "number"])].set_index("event_id")
    assert headline["score"].fillna(-1).tolist() == [1.0, -1.0, 0.75, 1.0]  # 1 - (1/2)**2 on e3
    assert headline["score_imputed"].tolist() == [1.0, 0.0, 0.75, 1.0]
    assert set(scores["run_id"]) == {"ann"} and set(scores["sample"]) == {0}
    assert headline["event_level"].tolist() == [1, 1, 4, 4]
    assert headline.loc["e2", "reason"] == "missing"


def test_compare_by_hand_all_and_by_level():
    scores = score(
        EVENTS, ANSWERS, make_predictions({"ann": ['"A"', '"B"', "11", "20"], "bob": ['"A"', '"A"', "10", "22"]})
    )
    table = compare(scores, "ann", "bob").set_index("group")
    assert table.index.tolist() == ["all", "level 1", "level 4"]
    assert table.loc["all", "difference"] == pytest.approx((0 + 1 - 0.25 + 0.25) / 4)
    assert table.loc["level 1", ["mean_a", "mean_b", "difference"]].tolist() == [1.0, 0.5, 0.5]
    assert table.loc["level 4", "difference"] == pytest.approx(0.0)
    assert table["n"].tolist() == [4, 2, 2] and set(table["verdict"]) == {"cannot tell"}


def test_the_difference_that_could_be_seen_is_statsmodels():
    for n in (12, 30, 200):
        exact = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
        assert compute_mde(1 / math.sqrt(n), n) == pytest.approx(exact, rel=0.02)
