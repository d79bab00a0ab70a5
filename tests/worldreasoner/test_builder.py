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


def test_a_crossing_is_dated_on_the_day_behind_the_threshold():
    table = find_changes(make_values(a=[1, 1, 5, 5, 1, 1]), {"a": [3]})
    assert table.loc[table["rule"] == "crossing", ["day", "sign"]].values.tolist() == [
        [pd.Timestamp("2026-01-03"), 1.0],
        [pd.Timestamp("2026-01-05"), -1.0],
    ]
    assert (find_changes(make_values(a=[1, 1, 5, 5, 1, 1]))["rule"] != "crossing").all()
    at = find_changes(make_values(a=[1, 3, 3]), {"a": [3]})
    assert at["rule"].tolist() == ["crossing"], "at the threshold is above it"


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


def test_lagged_tests_tell_cause_from_effect_and_from_nothing():
    n_found, rng = 0, np.random.default_rng(0)
    for _ in range(20):
        x, y, z = rng.normal(size=(3, 120))
        y[1:] -= 0.8 * x[:-1]
        values = make_values(x=x.cumsum(), y=y.cumsum(), z=z.cumsum())
        pairs = [(a, b) for a in "xyz" for b in "xyz" if a != b]
        table = judge_lags(values, pairs).set_index(["cause", "effect"])
        assert table.loc[("x", "y"), "is_causal"] and table.loc[("x", "y"), "strength"] < -0.4
        assert (table["p_holm"] >= table["p"]).all()
        n_found += table["is_causal"].sum() - 1
    assert n_found <= 3, "of 20 families with five false pairs each one in twenty may slip through"


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


def test_impacts_are_those_of_the_outcomes_series_and_of_its_tested_causes():
    graph, _ = build(strength=-0.5, is_causal=True, y_up=False)
    impacts = {impact["node_id"]: impact["direction"] for impact in graph["impacts"]}
    assert impacts == {"q_0": "Negative", "q_1": "Negative"}  # x rose and pushes y down; y fell
    assert len(build(strength=0.5, is_causal=False)[0]["impacts"]) == 1
    assert graph["edges"][-1] == {
        **{"cause": "q_1", "effect": "q_outcome", "relation": "Correlates", "strength": 1.0, "confidence": 1.0}
    }


def test_changes_before_the_opening_and_from_the_end_on_are_left_out():
    values = make_values(x=[1, 5, 1, 5, 1, 5])
    tests = pd.DataFrame(columns=["cause", "effect", "p_holm", "strength", "is_causal"])
    outcome = {"series": "x", "title": "x", "day": pd.Timestamp("2026-01-05"), "opens_at": pd.Timestamp("2026-01-03")}
    graph = build_graph("q", values, tests, outcome, {"x": [3]})
    days = {node["occurred_at"] for node in graph["nodes"][:-1]}
    assert days == {"2026-01-03", "2026-01-04"}
    assert graph["nodes"][0]["source_ids"] == ["x 2026-01-03", "x 2026-01-02"]


# --- hindsight of the kit's own questions ----------------------------------------------------------------------------


def test_a_question_of_window_l_has_the_changes_of_its_series_since_its_opening():
    events = store.read_table("events", "L").set_index("event_id", drop=False)
    event = events[events["event_id"].str.contains("ecb_long_band")].iloc[0].to_dict()
    asked = store.parse_json(event["variables"])
    graph, _, tests, *_ = build_hindsight(event, "x")
    days = [node["occurred_at"] for node in graph["nodes"]]
    assert check_form(graph) and min(days) >= event["opens_at"][:10] and max(days) == asked["date"]
    own = f"{asked['entity']} Units per euro"
    assert set(tests["effect"]) == {own} and len(tests) >= 13
    named = {node["node_id"]: node["title"] for node in graph["nodes"]}
    causes = set(tests.loc[tests["is_causal"], "cause"])
    assert {named[impact["node_id"]].rsplit(" ", 2)[0] for impact in graph["impacts"]} <= {own} | causes


def test_where_several_compete_the_graph_is_of_the_one_that_the_outcome_names():
    events = store.read_table("events", "L")
    event = events[events["event_id"].str.contains("ecb_long_leader")].iloc[0].to_dict()
    for entity, letter in store.parse_json(event["variables"])["letters"].items():
        found = build_hindsight(event, store.parse_json(event["options"])[letter])
        assert found.series == f"{entity} Units per euro" and set(found.tests["effect"]) == {found.series}


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
