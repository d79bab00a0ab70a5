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

START = "2026-01-01"


def make_values(**series):
    return pd.DataFrame(
        series, pd.date_range(START, periods=len(next(iter(series.values()))))
    ).astype(float)


def find_records(values):
    return [
        change["row"]
        for change in find_changes(make_values(a=values))
        if change["rule"] == "record"
    ]


def test_a_record_lies_beyond_sixty_days_and_counts_once_a_run():
    values = np.tile([0.0, 1.0], 50)
    values[70:73] = [2, 3, 4]
    values[80] = 4.0  # as high as the record, not higher
    assert find_records(values) == [70]
    early = np.tile([0.0, 1.0], 50)
    early[59] = 9
    assert find_records(early) == [], "59 days before it are too few"


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
    x = [1, 1, 5, 5, 5, 5, 5, 5, 5] if x_up else [5, 5, 1, 1, 1, 1, 1, 1, 1]
    y = np.roll(x if x_up == y_up else [6 - value for value in x], gap)
    y[:gap] = y[gap] if gap else y[:0]
    test = {
        "cause": "x",
        "effect": "y",
        "p_holm": 0.01,
        "strength": strength,
        "is_causal": is_causal,
    }
    outcome = {
        "series": "y",
        "title": "y above 3",
        "day": pd.Timestamp("2026-01-10"),
        "opens_at": pd.Timestamp(START),
    }
    graph = build_graph(
        "q", make_values(x=x, y=y), pd.DataFrame([test]), outcome, {"x": [3], "y": [3]}
    )
    ends = check_form(graph)["outcome_id"]
    assert [edge["relation"] for edge in graph["edges"] if edge["effect"] != ends] == relations


def test_a_graph_that_misses_a_threshold_is_built_again_with_causes_of_causes_and_earlier_changes():
    events = files.read_table("events", "L")
    answers = files.read_table("answers", "L").set_index("event_id")["value"]
    rounds = set()
    for row in events[events["source_id"] == "dengue_weeks"].to_dict("records"):
        graph, check, _ = build_hindsight(row, word_answer(row, answers[row["event_id"]]))
        assert check == check_graph(graph)
        is_early = min(node["occurred_at"] for node in graph["nodes"]) < row["opens_at"][:10]
        rounds.add((check["is_valid"], is_early))
        moved = {
            node["node_id"]: node["title"].rpartition(": ")[0].rpartition(" ")[0]
            for node in graph["nodes"]
        }
        reached = {moved[edge["effect"]] for edge in graph["edges"]} - {moved[graph["outcome_id"]]}
        assert (len(reached) > 1) == check["is_valid"], (
            "causes of causes in later rounds, else the first stands"
        )
    assert rounds == {(True, False), (True, True), (False, False)}, (
        "of the second round, of the third, of the first"
    )
