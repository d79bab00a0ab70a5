"""Statistics of other projects' sets on made-up rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from studies.futurex.effort import EFFORTS, measure_revisions, relate_runs
from studies.worldreasoner.other_projects import compare_prompts, measure_repeats, rank_repaired


def test_effort_is_compared_within_models_only():
    rng = np.random.default_rng(1)
    runs = pd.DataFrame({"run_id": range(24), "model": np.repeat(list("abcdefgh"), 3)})
    level = np.repeat(np.arange(8.0), 3)
    work = level + rng.normal(0, 0.1, 24)  # better models work more
    runs["skill"] = 2 * level - work  # and within a model more work goes with less skill
    row = relate_runs(runs.assign(**dict.fromkeys(EFFORTS, work)), "skill").iloc[0]
    assert row["within"] == pytest.approx(-1) and row["between"] > 0.99 and row["p"] < 0.001


def test_revisions_count_until_the_run_saw_the_answer():
    rows = pd.DataFrame({"event_id": [f"q{n}" for n in range(12)]})
    rows = rows.assign(run_id="r", model="m", answer='"Lviv"', last_at="2026-01-02")
    said = pd.DataFrame({"at": ["2026-01-01", "2026-01-02", "2026-01-03"]})
    said["distribution"] = ['{"Kyiv":0.8,"lviv":0.1}', '{"LVIV":0.4}', '{"Lviv":1.0}']
    revisions = rows[["run_id", "event_id"]].merge(said.assign(revision=range(3)), how="cross")
    row = measure_revisions(revisions, rows.assign(is_forecast=True)).set_index("model").loc["m"]
    assert row[["first", "last", "n"]].tolist() == pytest.approx([0.1, 0.4, 12])


def test_a_repair_moves_the_ranking():
    right = pd.DataFrame({"agent_id": "right", "event_id": range(40)})
    right["outcome"] = right["event_id"] % 2
    right["stated"] = right["outcome"].map({1: "yes", 0: "no"})
    right["p_yes"] = right["p_repaired"] = 0.2 + 0.6 * right["outcome"]
    flawed = right.assign(agent_id="flawed", p_yes=0.9)  # 0.9 sure of no is stored as 0.9
    flawed["p_repaired"] = 0.1 + 0.8 * flawed["outcome"]
    table = pd.concat([right, flawed], ignore_index=True)
    found = rank_repaired(table.assign(model=table["agent_id"], effort=None)).set_index("agent_id")
    assert found["rank"].to_dict() == {"flawed": 1, "right": 2}
    row = found.loc["flawed", ["rank_stored", "share_flawed_of_no", "brier"]]
    assert row.tolist() == pytest.approx([2, 1, 0.01])


def test_prompts_are_paired_and_repeats_averaged():
    said = [("direct", 0, 0.4), ("direct", 1, 0.6), ("story", 0, 0.3), ("story", 1, 0.5)]
    table = pd.DataFrame(said, columns=["variant", "sample", "p_yes"])
    table = table.merge(pd.DataFrame({"event_id": range(12)}), how="cross")
    table = table.assign(agent_id="m, " + table["variant"], run_id=table["variant"], model="m")
    table = table.assign(round="q", outcome=1, is_forecast=True)
    pair = compare_prompts(table).iloc[0]
    assert pair[["brier", "brier_base", "difference"]].tolist() == pytest.approx([0.36, 0.25, 0.11])
    repeat = measure_repeats(table).set_index("variant").loc["direct"]
    assert repeat[["brier_one", "gain"]].tolist() == pytest.approx([0.26, 0.01])
