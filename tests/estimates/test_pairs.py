"""Scoring and comparing from Python: defaults, pairs, intervals that hold what they promise (synthetic data)."""

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.weightstats import DescrStatsW

from helpers.estimates.pairs import compare, score

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


def make_scores(by_agent, level=None):
    """Scores from {agent: one score an event}, made up."""
    rows = [
        {
            "agent_id": agent,
            "event_id": f"e{i:03d}",
            "run_id": agent,
            "sample": 0,
            "metric": "accuracy",
            "score": x,
            "is_scored": True,
        }
        for agent, values in by_agent.items()
        for i, x in enumerate(values)
    ]
    return pd.DataFrame(rows) if level is None else pd.DataFrame(rows).assign(event_level=level)


def test_score_needs_only_three_columns_and_fills_the_rest():
    scores = score(EVENTS, ANSWERS, make_predictions({"ann": ['"A"', None, "11", "20"]}))
    headline = scores[scores["metric"].isin(["accuracy", "number"])].set_index("event_id")
    assert headline["score"].fillna(-1).tolist() == [1.0, -1.0, 0.75, 1.0]  # 1 - (1/2)**2 on e3
    assert headline["score_imputed"].tolist() == [1.0, 0.0, 0.75, 1.0]
    assert set(scores["run_id"]) == {"ann"} and set(scores["sample"]) == {0}
    assert headline["event_level"].tolist() == [1, 1, 4, 4]
    assert headline.loc["e2", "reason"] == "missing"


def test_score_keeps_runs_and_samples_that_are_given():
    predictions = pd.concat(
        [make_predictions({"ann": ['"A"', '"A"', "1", "2"]}).assign(sample=s, run_id="r") for s in (0, 1)]
    )
    scores = score(EVENTS, ANSWERS, predictions)
    assert set(scores["run_id"]) == {"r"} and set(scores["sample"]) == {0, 1}


@pytest.mark.parametrize("table, column", [("events", "kind"), ("answers", "value"), ("predictions", "agent_id")])
def test_score_names_table_and_column_that_are_missing(table, column):
    tables = {"events": EVENTS, "answers": ANSWERS, "predictions": make_predictions({"ann": ['"A"'] * 4})}
    tables[table] = tables[table].drop(columns=column)
    with pytest.raises(ValueError, match=f"{table} has no column '{column}'"):
        score(**tables)


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


def test_interval_is_the_paired_t_interval_of_statsmodels():
    rng = np.random.default_rng(5)
    a, b = rng.random(40), rng.random(40)
    row = compare(make_scores({"a": a, "b": b}), "a", "b").iloc[0]
    assert [row["low"], row["high"]] == pytest.approx(DescrStatsW(a - b).tconfint_mean(), abs=1e-12)


def test_swapping_the_agents_turns_the_signs():
    rng = np.random.default_rng(6)
    scores = make_scores({"a": rng.random(30), "b": rng.random(30) + 0.4})
    there, back = compare(scores, "a", "b").iloc[0], compare(scores, "b", "a").iloc[0]
    assert there["difference"] == pytest.approx(-back["difference"]) and there["low"] == pytest.approx(-back["high"])
    assert (there["verdict"], back["verdict"]) == ("b is better", "a is better")


def test_events_that_only_one_predicted_are_left_out_and_counted():
    nan = math.nan
    scores = make_scores({"a": [1.0, 1.0, nan, 0.0, 0.5], "b": [0.0, nan, 1.0, 0.0, nan]})
    row = compare(scores, "a", "b").iloc[0]
    assert (row["n"], row["n_only_a"], row["n_only_b"]) == (2, 2, 1)
    assert row["mean_a"] == 0.5 and row["mean_b"] == 0.0


def test_samples_of_an_event_are_one_cluster():
    once = make_scores({"a": [1.0, 0.0, 1.0], "b": [0.0, 0.0, 0.0]})
    often = pd.concat([once.assign(sample=s) for s in range(10)])
    first, second = compare(once, "a", "b").iloc[0], compare(often, "a", "b").iloc[0]
    assert second["n"] == 3 and second["low"] == pytest.approx(first["low"])


def test_no_interval_without_two_events_or_without_variation():
    for values in ([1.0], [1.0, 1.0, 1.0]):
        row = compare(make_scores({"a": values, "b": [0.0] * len(values)}), "a", "b").iloc[0]
        assert math.isnan(row["low"]) and row["verdict"] == "cannot tell" and row["difference"] == 1.0


def test_unknown_and_equal_agents_are_refused():
    scores = make_scores({"a": [1.0], "b": [0.0]})
    with pytest.raises(LookupError, match="there are a, b"):
        compare(scores, "a", "nobody")
    with pytest.raises(ValueError, match="name two"):
        compare(scores, "a", "a")


def test_the_interval_covers_at_its_rate_where_events_are_shared():
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(40):
        hardness = rng.normal(0, 1, 30)  # shared by both agents: cancels in pairs
        scores = {"a": hardness + rng.normal(0.1, 0.3, 30), "b": hardness + rng.normal(0, 0.3, 30)}
        row = compare(make_scores(scores), "a", "b").iloc[0]
        hits += row["low"] <= 0.1 <= row["high"]
        assert row["high"] - row["low"] < 0.5  # unpaired it would be about 1
    assert hits >= 34  # 38 expected, standard error 1.4
