"""Scores of runs of one's own: means by source worked by hand, what a run has by how it was asked, cutoffs."""

import pandas as pd
import pytest

from helpers.worldreasoner.asking import Plan, plan_run
from helpers.worldreasoner.conditions import describe_runs
from helpers.worldreasoner.own_runs import keep_questions, tabulate_outcomes


def make_scored(n=12, **columns):
    """Forecasts of one agent on `n` questions, each of its own source, every second one right with 0.8."""
    rows = [{"agent_id": "mine", "event_id": f"q{at}", "cluster": f"s{at}", "type": "binary"} for at in range(n)]
    table = pd.DataFrame(rows).assign(is_missing=False, accuracy=[1.0, 0.0] * (n // 2), brier=[0.04, 0.64] * (n // 2))
    blank = ["log", "log_wide", "brier_full", "srcp_cited", "srcp_accessed", "recall", "recall_graphs", "bound"]
    return table.assign(**dict.fromkeys([*blank, "recall_valid"], float("nan")) | columns)


def test_means_have_intervals_from_ten_sources_on_and_say_what_was_asked():
    told = tabulate_outcomes(make_scored()).set_index(["metric", "group"])
    brier = told.loc[("worldreasoner_brier", "all")]
    assert (brier["mean"], brier["n"], brier["n_clusters"], brier["coverage"]) == (pytest.approx(0.34), 12, 12, 1)
    assert 0 < brier["low"] < 0.34 < brier["high"] < 1
    assert set(told.index.get_level_values("metric")) == {"worldreasoner_accuracy", "worldreasoner_brier"}
    shared = tabulate_outcomes(make_scored(18, cluster=[f"s{at // 2}" for at in range(18)])).set_index("metric")
    assert shared.loc["worldreasoner_brier", "n_clusters"] == 9 and pd.isna(shared.loc["worldreasoner_brier", "low"])
    few = tabulate_outcomes(make_scored(8)).set_index("metric").loc["worldreasoner_brier"]
    assert few["mean"] == pytest.approx(0.34) and pd.isna(few["low"])


def describe(method, plan, *, category="base_model", pages=None):
    row = {"run_id": "r", "agent_id": "mine", "model": "m", "category": category, "condition": plan.label}
    runs = pd.DataFrame([row | {"params": f'{{"method":"{method}"}}'}])
    table = describe_runs(runs, pd.DataFrame({"run_id": ["r"], "page_ids": [pages]}))
    return table.loc["r", ["horizon", "condition", "has_graph", "has_sources"]].tolist()


def test_what_a_run_has_follows_from_its_method_and_condition():
    mid, near, late = (plan_run(None, horizon, "L") for horizon in (None, "Near", "Late"))
    assert describe("zero_shot", mid) == ["Mid", "Vanilla", False, False]
    assert describe("search_graph", near) == ["Near", "Near-Resolution", True, True]
    assert describe("search_graph", late) == ["Late", None, True, True]
    assert describe("zero_shot", plan_run("vanilla", "Late", "L")) == ["Late", "Vanilla", False, False]
    assert describe("react", mid) == ["Mid", "Search-Enabled", False, True]
    assert describe("search_graph", plan_run("Real-Time", None, "L")) == ["Real-Time", "Real-Time", True, False]
    assert describe("walk", mid, category="baseline", pages='["p"]') == ["Mid", None, False, False]
    assert describe("function", mid, pages='["p"]')[3] and not describe("function", mid)[3]
    assert describe("search_prompt", Plan(None, None, {"query_of": "another"}))[1] is None


def test_a_cutoff_keeps_what_opens_on_or_after_its_first_day():
    events = pd.DataFrame({"event_id": list("abc"), "opens_at": ["2024-05-31", "2024-06-01", "2025-01-01"]})
    assert keep_questions(events, "2024-06-01")[0] == {"b", "c"}
    kept, about = keep_questions(events, None)
    assert kept == set("abc") and about == {"date": None, "is_filtered": False, "n": 3, "n_kept": 3}
