"""Scores of runs of one's own: means by source worked by hand, what a run has by how it was
asked."""

import pandas as pd
import pytest

from studies.worldreasoner.conditions import Plan, describe_runs, plan_run
from studies.worldreasoner.own_runs import SHOWN, tabulate_outcomes


def make_scored(n_sources, n=12):
    """Forecasts of one agent on `n` questions of so many sources, every second one right with
    0.8."""
    rows = [{"event_id": f"q{at}", "cluster": f"s{at % n_sources}"} for at in range(n)]
    blank = dict.fromkeys(
        [name for name in SHOWN if name not in ("accuracy", "brier")], float("nan")
    )
    table = pd.DataFrame(rows).assign(agent_id="mine", type="binary", is_missing=False, **blank)
    return table.assign(accuracy=[1.0, 0.0] * (n // 2), brier=[0.04, 0.64] * (n // 2))


@pytest.mark.parametrize(("n_sources", "n"), [(12, 12), (9, 18), (8, 8)])
def test_means_have_intervals_from_ten_sources_on_and_say_what_was_asked(n_sources, n):
    told = tabulate_outcomes(make_scored(n_sources, n)).set_index(["metric", "group"])
    brier = told.loc[("worldreasoner_brier", "all")]
    found = brier["mean"], brier["n"], brier["n_clusters"], brier["coverage"]
    assert found == (pytest.approx(0.34), n, n_sources, 1)
    assert pd.isna(brier["low"]) if n_sources < 10 else 0 < brier["low"] < 0.34 < brier["high"] < 1
    assert set(told.index.get_level_values("metric")) == {
        "worldreasoner_accuracy",
        "worldreasoner_brier",
    }


MID, LATE = (plan_run(None, horizon, "L") for horizon in (None, "Late"))


@pytest.mark.parametrize(
    ("method", "plan", "pages", "expected"),
    [
        ("search_graph", LATE, None, ["Late", None, True, True]),
        ("zero_shot", plan_run("vanilla", "Late", "L"), None, ["Late", "Vanilla", False, False]),
        ("walk", MID, '["p"]', ["Mid", None, False, False]),
        ("function", MID, '["p"]', ["Mid", None, False, True]),
        ("function", MID, None, ["Mid", None, False, False]),
        (
            "search_prompt",
            Plan(None, None, {"query_of": "another"}),
            None,
            ["Mid", None, False, True],
        ),
    ],
)
def test_what_a_run_has_follows_from_its_method_and_condition(method, plan, pages, expected):
    category = "baseline" if method == "walk" else "base_model"
    row = {
        "run_id": "r",
        "agent_id": "mine",
        "model": "m",
        "category": category,
        "condition": plan.label,
    }
    runs = pd.DataFrame([row | {"params": f'{{"method":"{method}"}}'}])
    table = describe_runs(runs, pd.DataFrame({"run_id": ["r"], "page_ids": [pages]}))
    assert table.loc["r", ["horizon", "condition", "has_graph", "has_sources"]].tolist() == expected
