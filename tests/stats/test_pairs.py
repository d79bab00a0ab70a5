"""Scoring and comparing from Python: defaults, pairs, intervals that hold what they promise (synthetic data)."""

import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from helpers.stats.paired import compare, compare_pairs, compute_mde, score

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


def test_events_that_only_one_predicted_are_left_out_and_counted():
    nan = math.nan
    scores = make_scores({"a": [1.0, 1.0, nan, 0.0, 0.5], "b": [0.0, nan, 1.0, 0.0, nan]})
    row = compare(scores, "a", "b").iloc[0]
    assert (row["n"], row["n_only_a"], row["n_only_b"]) == (2, 2, 1)
    assert row["mean_a"] == 0.5 and row["mean_b"] == 0.0


def make_shared(rng, gap, n_sources=30, luck=0.3, n_worlds=400):
    """Scores of an agent "a" and of others that lag `gap` behind it, each in a world of its own, and events' sources.

    How far one lags is the luck that a source's two to nine events share; so events are not independent of each other.
    """
    source = np.repeat(np.arange(n_sources), rng.integers(2, 10, n_sources))
    shape = len(source), n_worlds
    gaps = gap + rng.normal(0, luck, (n_sources, n_worlds))[source] + rng.normal(0, 0.2, shape)
    base = rng.random(len(source))
    return pd.DataFrame(base[:, None] - gaps).assign(a=base), pd.Series(source)


def compare_worlds(rng, gap):
    matrix, sources = make_shared(rng, gap)
    return compare_pairs(matrix, sources, [("a", list(matrix.columns[:-1]))])


def test_intervals_by_source_cover_where_a_source_shares_its_luck_and_those_by_event_do_not():
    rows = compare_worlds(np.random.default_rng(21), gap=0.1)
    assert 0.93 <= rows["low"].le(0.1).mul(rows["high"].ge(0.1)).mean() <= 0.97
    assert rows["low_by_event"].le(0.1).mul(rows["high_by_event"].ge(0.1)).mean() < 0.8


def test_compare_takes_the_sources_that_the_events_name():
    n = 24
    events = pd.DataFrame({"event_id": [f"e{i:02}" for i in range(n)], "kind": "text", "level": 1})
    answers = events[["event_id"]].assign(value='"x"')
    named = {"a": ['"x"', '"x"', '"y"'] * 8, "b": ['"y"'] * n}
    rows = [(e, agent, v) for agent, values in named.items() for e, v in zip(events["event_id"], values, strict=True)]
    predictions = pd.DataFrame(rows, columns=["event_id", "agent_id", "value"])
    plain = compare(score(events, answers, predictions), "a", "b").iloc[0]
    sourced = compare(score(events.assign(source_id=[f"s{i // 2}" for i in range(n)]), answers, predictions), "a", "b")
    assert (plain["n_clusters"], sourced.iloc[0]["n_clusters"]) == (n, n / 2)
    assert plain["low"] == plain["low_by_event"] == pytest.approx(sourced.iloc[0]["low_by_event"])
    assert sourced.iloc[0]["low"] != pytest.approx(plain["low"], abs=1e-3)
    few = compare(score(events.assign(source_id=["s1", "s2"] * 12), answers, predictions), "a", "b").iloc[0]
    assert math.isnan(few["low"]) and few["verdict"] == "cannot tell" and few["low_by_event"] > 0


def test_the_difference_that_could_be_seen_is_statsmodels():
    for n in (12, 30, 200):
        exact = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
        assert compute_mde(1 / math.sqrt(n), n) == pytest.approx(exact, rel=0.02)
