"""Runs paired by a setting, and what BLF's rows say of agents that leave questions out and keep
beliefs."""

import pandas as pd
import pytest

from helpers.sets import load_set
from studies.futurex.settings import compare_runs, name_settings, pair_runs


def test_runs_are_paired_where_one_setting_differs_alone():
    runs = pd.DataFrame(
        [
            ("a", "m", "none", True, None),
            ("b", "m", "dated", True, None),
            ("c", "m", "dated", False, None),
            ("d", "m", "dated", True, "odd"),
            ("e", "n", "dated", True, None),
        ],
        columns=["run_id", "model", "search", "keeps_beliefs", "variant"],
    )
    pairs = pair_runs(runs, "search", "none", "dated")
    assert pairs[["run_off", "run_on"]].to_numpy().tolist() == [["a", "b"]]
    assert pair_runs(runs, "search", "none", "dated", free=("keeps_beliefs",))[
        "run_on"
    ].tolist() == ["b", "c"]
    assert name_settings(runs.iloc[2], ["search", "keeps_beliefs"]) == "dated search"
    rows = [
        (run, f"q{n}", f"q{n}", 0.1 * n + 0.05 * (run == "b")) for run in "ab" for n in range(12)
    ]
    rows = pd.DataFrame(rows, columns=["run_id", "event_id", "cluster_id", "brier"])
    found = compare_runs(rows, pairs).iloc[0]
    assert found["difference"] == pytest.approx(0.05) and found["n"] == 12


@pytest.fixture(scope="module")
def wide():
    """BLF's Brier scores by question and run."""
    rows = load_set("blf").rows().query("is_forecast")
    return rows.pivot(index="event_id", columns="run_id", values="brier")


def test_what_agents_leave_out_is_easier_for_runs_that_answer_all(wide):
    runs = load_set("blf").runs.query(
        "variant.isna() and effort == 'high' and not sees_price and uses_tools"
    )
    wide = wide[runs.loc[runs["search"] == "dated", "run_id"]].dropna(how="all")
    hardness = wide.loc[:, wide.notna().all()].mean(axis=1)
    for run in ("kimi-k2.5-high-brave-c0-t1", "kimi-k2t-high-brave-c0-t1"):
        answered = wide[f"blf-{run}"].notna()
        assert hardness[~answered].mean() < 0.5 * hardness[answered].mean()


def test_the_belief_state_over_all_pairs(wide):
    changes = [wide[run] - wide[f"{run}-nobelief"] for run in wide if f"{run}-nobelief" in wide]
    assert len(changes) == 10
    assert pd.concat(changes, axis=1).mean(axis=1).mean() == pytest.approx(-0.0034, abs=5e-5)
