"""The rule builder: each kind of change, the lagged test on known truths, and the edges it allows."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.tsa.stattools import grangercausalitytests

from helpers import store
from helpers.worldreasoner.hindsight.builder import (
    N_RECORD,
    build_graph,
    build_hindsight,
    find_changes,
    judge_lags,
    word_answer,
)
from helpers.worldreasoner.hindsight.graphs import check_form, check_graph

START = "2026-01-01"


def make_values(**series):
    return pd.DataFrame(series, pd.date_range(START, periods=len(next(iter(series.values()))))).astype(float)


def test_a_record_lies_beyond_sixty_days_and_counts_once_a_run():
    values = np.tile([0.0, 1.0], 50)
    values[70:73] = [2, 3, 4]
    values[80] = 4.0  # as high as the record, not higher
    table = find_changes(make_values(a=values))
    records = table[table["rule"] == "record"]
    assert records["day"].tolist() == [pd.Timestamp(START) + pd.Timedelta(days=70)]
    early = np.tile([0.0, 1.0], 50)
    early[N_RECORD - 1] = 9
    assert (find_changes(make_values(a=early))["rule"] != "record").all(), "59 days before it are too few"


def test_the_lagged_test_is_statsmodels_test():
    x, y = np.random.default_rng(3).normal(size=(2, 80)).cumsum(axis=1)
    table = judge_lags(make_values(x=x, y=y), [("x", "y")])
    oracle = grangercausalitytests(np.diff([y, x], axis=1).T, [3])
    assert table["p"][0] == pytest.approx(oracle[3][0]["ssr_ftest"][1], rel=1e-9)


def build(strength, is_causal, x_up=True, y_up=True, gap=1):
    """Two series that cross 3, x first, and a test as given; returns the edges between the two changes."""
    x = [1, 1, 5, 5, 5, 5, 5, 5, 5] if x_up else [5, 5, 1, 1, 1, 1, 1, 1, 1]
    y = np.roll(x if x_up == y_up else [6 - value for value in x], gap)
    y[:gap] = y[gap] if gap else y[:0]
    test = {"cause": "x", "effect": "y", "p_holm": 0.01, "strength": strength, "is_causal": is_causal}
    outcome = {"series": "y", "title": "y above 3", "day": pd.Timestamp("2026-01-10"), "opens_at": pd.Timestamp(START)}
    graph = build_graph("q", make_values(x=x, y=y), pd.DataFrame([test]), outcome, {"x": [3], "y": [3]})
    check_form(graph)
    return graph, [edge["relation"] for edge in graph["edges"] if edge["effect"] != graph["outcome_id"]]


@pytest.mark.parametrize(
    ("given", "relations"),
    [
        (dict(strength=0.5, is_causal=True), ["Causes"]),
        (dict(strength=0.5, is_causal=True, x_up=False, y_up=False), ["Causes"]),
        (dict(strength=-0.5, is_causal=True, y_up=False), ["Inhibits"]),
        (dict(strength=0.5, is_causal=True, y_up=False), ["Correlates"]),  # the directions do not fit
        (dict(strength=0.5, is_causal=False), ["Correlates"]),
        (dict(strength=0.5, is_causal=True, gap=3), ["Causes"]),
        (dict(strength=0.5, is_causal=True, gap=4), []),
        (dict(strength=0.5, is_causal=True, gap=0), []),  # of the same day none is first
    ],
)
def test_an_edge_is_causal_only_where_test_and_directions_say_so(given, relations):
    assert build(**given)[1] == relations


# --- hindsight of the kit's own questions ----------------------------------------------------------------------------


def test_a_graph_that_misses_a_threshold_is_built_again_with_causes_of_causes_and_earlier_changes():
    events = store.read_table("events", "L")
    answers = store.read_table("answers", "L").set_index("event_id")["value"]
    dengue = events[events["source_id"] == "dengue_weeks"].to_dict("records")
    found = {row["event_id"]: build_hindsight(row, word_answer(row, answers[row["event_id"]])) for row in dengue}
    rounds = {name: (one.n_rounds, one.check["is_valid"]) for name, one in found.items()}
    assert (2, True) in rounds.values() and (3, True) in rounds.values() and (3, False) in rounds.values()
    opened = events.set_index("event_id")["opens_at"].str[:10]
    for name, one in found.items():
        days = [node["occurred_at"] for node in one.graph["nodes"]]
        assert (min(days) < opened[name]) == (rounds[name] == (3, True)), "earlier changes only in the third round"
        assert one.check == check_graph(one.graph)
        if one.check["is_valid"]:  # a way of three edges: causes of a cause were tested too, in one family
            assert set(one.tests["effect"]) > {one.series} and len(one.tests) > len(set(one.tests["cause"]))
        else:
            assert set(one.tests["effect"]) == {one.series}, "where no round passes the first stands"
