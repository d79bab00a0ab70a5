"""Statistics of other projects' sets on made-up rows whose answer is known."""

import numpy as np
import pandas as pd
import pytest

from studies.futurex.effort import measure_revisions, relate_questions, relate_runs
from studies.worldreasoner.other_projects import compare_prompts, measure_repeats, rank_repaired


def test_effort_is_compared_within_models_only():
    rng = np.random.default_rng(1)
    model = np.repeat(list("abcdefgh"), 3)
    level = np.repeat(np.arange(8.0), 3)
    effort = level + rng.normal(0, 0.1, 24)  # better models work more
    skill = level - effort  # and within a model more work goes with less skill
    runs = pd.DataFrame(
        {"run_id": range(24), "model": model, "skill": skill + level, "work": effort}
    )
    row = relate_runs(runs, "skill", ("work",)).iloc[0]
    assert row["within"] == pytest.approx(-1) and row["between"] > 0.99 and row["p"] < 0.001


def test_a_planted_slope_of_revisions_is_found_beside_runs_and_questions():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(
        [(run, question) for run in range(6) for question in range(60)],
        columns=["run_id", "event_id"],
    )
    rows["n_revisions"] = rng.integers(1, 9, len(rows)) + 3 * rows["run_id"]
    plain = rows["run_id"] * -0.2 + (rows["event_id"] % 7) * 0.1 + rng.normal(0, 0.01, len(rows))
    rows["skill_source"] = plain + 0.05 * np.log2(1 + rows["n_revisions"])
    found = relate_questions(rows)
    assert found["slope"] == pytest.approx(0.05, abs=0.005) and found["low"] < 0.05 < found["high"]


def test_revisions_count_until_the_run_saw_the_answer():
    about = {
        "run_id": "r",
        "model": "m",
        "answer": '"Lviv"',
        "last_at": "2026-01-02",
        "is_forecast": True,
    }
    rows = pd.DataFrame([about | {"event_id": f"q{n}"} for n in range(12)])
    said = [
        ("2026-01-01", '{"Kyiv":0.8,"lviv":0.1}'),
        ("2026-01-02", '{"LVIV":0.4}'),
        ("2026-01-03", '{"Lviv":1.0}'),
    ]
    revisions = pd.DataFrame(
        [
            {"run_id": "r", "event_id": f"q{n}", "revision": at, "at": day, "distribution": told}
            for n in range(12)
            for at, (day, told) in enumerate(said)
        ]
    )
    row = measure_revisions(revisions, rows).set_index("model").loc["m"]
    assert (row["first"], row["last"], row["n"]) == (pytest.approx(0.1), pytest.approx(0.4), 12)


def test_a_repair_moves_the_ranking():
    rows = []
    for n in range(40):
        outcome = n % 2
        rows.append(("right", n, outcome, 0.8 if outcome else 0.2, "yes" if outcome else "no"))
        rows.append(
            ("flawed", n, outcome, 0.9, "yes" if outcome else "no")
        )  # 0.9 sure of no is stored as 0.9
    table = pd.DataFrame(rows, columns=["agent_id", "event_id", "outcome", "p_yes", "stated"])
    table["p_repaired"] = table["p_yes"].where(
        (table["stated"] == "yes") | (table["p_yes"] <= 0.5), 1 - table["p_yes"]
    )
    found = rank_repaired(table.assign(model=table["agent_id"], effort=None)).set_index("agent_id")
    assert (
        found["rank"].to_dict() == {"flawed": 1, "right": 2} and found["rank_stored"]["flawed"] == 2
    )
    assert found.loc["flawed", "share_flawed_of_no"] == 1 and found.loc[
        "flawed", "brier"
    ] == pytest.approx(0.01)


def test_prompts_are_paired_and_repeats_averaged():
    rows = [
        {
            "agent_id": f"m, {variant}",
            "run_id": variant,
            "model": "m",
            "variant": variant,
            "round": "q",
            "sample": k,
        }
        | {"event_id": n, "p_yes": p, "outcome": 1, "is_forecast": True}
        for n in range(12)
        for variant, chances in (("direct", (0.4, 0.6)), ("story", (0.3, 0.5)))
        for k, p in enumerate(chances)
    ]
    table = pd.DataFrame(rows)
    pair = compare_prompts(table).iloc[0]
    assert (pair["brier"], pair["brier_base"]) == (pytest.approx(0.36), pytest.approx(0.25))
    assert pair["difference"] == pytest.approx(0.11)
    repeat = measure_repeats(table).set_index("variant").loc["direct"]
    assert repeat["brier_one"] == pytest.approx((0.36 + 0.16) / 2) and repeat[
        "gain"
    ] == pytest.approx(0.01)
