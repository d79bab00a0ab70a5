"""The rule builder: each kind of change, the lagged test on known truths, and the edges it
allows."""

import numpy as np
import pandas as pd
import pytest
from planted_world import CHAIN, draw_question
from statsmodels.tsa.stattools import grangercausalitytests

from helpers import files
from studies.worldreasoner.hindsight.graphs import check_form, check_graph
from studies.worldreasoner.hindsight.graphs_by_rule import (
    build_graph,
    build_hindsight,
    find_changes,
    judge_lags,
    word_answer,
)


def make_values(**series):
    days = pd.date_range("2026-01-01", periods=len(next(iter(series.values()))))
    return pd.DataFrame(series, days).astype(float)


@pytest.mark.parametrize(
    ("peaks", "records"),
    [
        ({70: 2, 71: 3, 72: 4, 80: 4}, [70]),  # once a run; as high as the record is not higher
        ({59: 9}, []),  # 59 days before it are too few
    ],
)
def test_a_record_lies_beyond_sixty_days_and_counts_once_a_run(peaks, records):
    values = np.tile([0.0, 1.0], 50)
    values[list(peaks)] = list(peaks.values())
    changes = find_changes(make_values(a=values))
    assert [change["row"] for change in changes if change["rule"] == "record"] == records


def test_the_lagged_test_is_statsmodels_test():
    x, y = np.random.default_rng(3).normal(size=(2, 80)).cumsum(axis=1)
    table = judge_lags(make_values(x=x, y=y), [("x", "y")])
    oracle = grangercausalitytests(np.diff([y, x], axis=1).T, [3])
    assert table["p"][0] == pytest.approx(oracle[3][0]["ssr_ftest"][1], rel=1e-9)


def test_planted_causes_are_found_and_what_pushes_nothing_is_not():
    rng = np.random.default_rng(1)
    tests = pd.concat(draw_question(f"q{at}", rng)["tests"] for at in range(8))
    place = {name: at for at, name in enumerate(CHAIN)}
    ahead = tests["effect"].map(place) - tests["cause"].map(place)
    assert tests.loc[ahead == 1, "is_causal"].all()
    assert tests.loc[~(ahead >= 1), "is_causal"].mean() < 0.05


@pytest.mark.parametrize(
    ("strength", "is_causal", "x_up", "y_up", "gap", "relations"),
    [
        (0.5, True, True, True, 1, ["Causes"]),
        (0.5, True, False, False, 1, ["Causes"]),
        (-0.5, True, True, False, 1, ["Inhibits"]),
        (0.5, True, True, False, 1, ["Correlates"]),  # the directions do not fit
        (0.5, False, True, True, 1, ["Correlates"]),
        (0.5, True, True, True, 3, ["Causes"]),
        (0.5, True, True, True, 4, []),
        (0.5, True, True, True, 0, []),  # of the same day none is first
    ],
)
def test_an_edge_is_causal_only_where_test_and_directions_say_so(
    strength, is_causal, x_up, y_up, gap, relations
):
    """Two series that cross 3, x first, and a test as given."""
    places = np.arange(9)
    x = np.where((places >= 2) == x_up, 5, 1)
    y = np.where((places >= 2 + gap) == y_up, 5, 1)
    test = {"cause": "x", "effect": "y", "p_holm": 0.01}
    test |= {"strength": strength, "is_causal": is_causal}
    outcome = {"series": "y", "title": "y above 3", "day": pd.Timestamp("2026-01-10")}
    outcome["opens_at"] = pd.Timestamp("2026-01-01")
    bars = {"x": [3], "y": [3]}
    graph = build_graph("q", make_values(x=x, y=y), pd.DataFrame([test]), outcome, bars)
    last = check_form(graph)["outcome_id"]
    assert [one["relation"] for one in graph["edges"] if one["effect"] != last] == relations


def test_a_graph_that_misses_a_threshold_is_built_again_with_causes_of_causes_and_earlier_changes():
    events = files.read_table("events", "L").query("source_id == 'dengue_weeks'")
    answers = files.read_table("answers", "L").set_index("event_id")["value"]
    rounds = set()
    for row in events[:8].to_dict("records"):
        graph, check, _ = build_hindsight(row, word_answer(row, answers[row["event_id"]]))
        assert check == check_graph(graph)
        is_early = min(node["occurred_at"] for node in graph["nodes"]) < row["opens_at"][:10]
        rounds.add((check["is_valid"], is_early))
        series = {one["node_id"]: one["title"].rpartition(": ")[0][:-6] for one in graph["nodes"]}
        reached = {series[edge["effect"]] for edge in graph["edges"]}
        reached.discard(series[graph["outcome_id"]])
        assert (len(reached) > 1) == check["is_valid"], "causes of causes come in later rounds"
    assert rounds == {(True, False), (True, True), (False, False)}, "second, third, first round"
