"""Statistics of sets whose rows are not with the kit: the committed tables, and each recomputed from the raw files."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from builders import AGENTS, needs_public

from helpers.public_files import read_public
from studies.futurex.effort import measure_revisions, relate_questions, relate_runs
from studies.worldreasoner.markets import compare_prompts, measure_repeats, rank_repaired


def load(name):
    return json.loads(gzip.decompress((AGENTS / name).read_bytes()))


# --- on made-up rows -------------------------------------------------------------------------------------------------


def test_effort_is_compared_within_models_only():
    rng = np.random.default_rng(1)
    model = np.repeat(list("abcdefgh"), 3)
    level = np.repeat(np.arange(8.0), 3)
    effort = level + rng.normal(0, 0.1, 24)  # better models work more
    skill = level - effort  # and within a model more work goes with less skill
    runs = pd.DataFrame({"run_id": range(24), "model": model, "skill": skill + level, "work": effort})
    row = relate_runs(runs, "skill", ("work",)).iloc[0]
    assert row["within"] == pytest.approx(-1) and row["between"] > 0.99 and row["p"] < 0.001


def test_a_planted_slope_of_revisions_is_found_beside_runs_and_questions():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame([(run, question) for run in range(6) for question in range(60)], columns=["run_id", "event_id"])
    rows["n_revisions"] = rng.integers(1, 9, len(rows)) + 3 * rows["run_id"]
    plain = rows["run_id"] * -0.2 + (rows["event_id"] % 7) * 0.1 + rng.normal(0, 0.01, len(rows))
    rows["skill_source"] = plain + 0.05 * np.log2(1 + rows["n_revisions"])
    found = relate_questions(rows)
    assert found["slope"] == pytest.approx(0.05, abs=0.005) and found["low"] < 0.05 < found["high"]


def test_revisions_count_until_the_run_saw_the_answer():
    about = {"run_id": "r", "model": "m", "answer": '"Lviv"', "last_at": "2026-01-02", "is_forecast": True}
    rows = pd.DataFrame([about | {"event_id": f"q{n}"} for n in range(12)])
    said = [("2026-01-01", '{"Kyiv":0.8,"lviv":0.1}'), ("2026-01-02", '{"LVIV":0.4}'), ("2026-01-03", '{"Lviv":1.0}')]
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
        rows.append(("flawed", n, outcome, 0.9, "yes" if outcome else "no"))  # 0.9 sure of no is stored as 0.9
    table = pd.DataFrame(rows, columns=["agent_id", "event_id", "outcome", "p_yes", "stated"])
    table["p_repaired"] = table["p_yes"].where((table["stated"] == "yes") | (table["p_yes"] <= 0.5), 1 - table["p_yes"])
    found = rank_repaired(table.assign(model=table["agent_id"], effort=None)).set_index("agent_id")
    assert found["rank"].to_dict() == {"flawed": 1, "right": 2} and found["rank_stored"]["flawed"] == 2
    assert found.loc["flawed", "share_flawed_of_no"] == 1 and found.loc["flawed", "brier"] == pytest.approx(0.01)


def test_prompts_are_paired_and_repeats_averaged():
    rows = [
        {"agent_id": f"m, {variant}", "run_id": variant, "model": "m", "variant": variant, "round": "q", "sample": k}
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
    assert repeat["brier_one"] == pytest.approx((0.36 + 0.16) / 2) and repeat["gain"] == pytest.approx(0.01)


# --- from the raw files, by a path of its own ------------------------------------------------------------------------


@needs_public
def test_futuresims_runs_from_its_own_files():
    runs = read_public("futuresim_runs").set_index("run_id")
    days = pd.read_csv(AGENTS / "futuresim/days.csv.gz", dtype={"run_id": str})
    calls = days.groupby(["agent", "run_id"])["tool_calls"].mean()
    seen = pd.read_csv(AGENTS / "futuresim/resolutions_seen.csv.gz", dtype={"run_id": str})
    questions = set(pd.read_csv(AGENTS / "futuresim/questions.csv.gz")["title"])
    skill = seen[seen["title"].isin(questions)].drop_duplicates(["agent", "run_id", "title"])
    skill = skill.groupby(["agent", "run_id"])["brier_skill"].mean()
    assert len(runs) == len(calls) == 24
    for (agent, run), value in calls.items():
        row = runs.loc[f"futuresim-{agent}-{run}"]
        assert row["tool_calls_a_day"] == pytest.approx(value, abs=1e-5)
        if row["n_skill"]:
            assert row["skill"] == pytest.approx(skill[agent, run], abs=0.03)  # forecasts alone beside all that is seen


@needs_public
def test_timeseeks_prices_and_scores_from_its_traces():
    table = read_public("timeseek_moments").set_index(["model", "moment"])
    (path,) = (AGENTS / "timeseek_kalshi/results").glob("*gpt-5.2-xhigh_no_tools/traces.json.gz")
    rows = pd.DataFrame(json.loads(gzip.decompress(path.read_bytes())))
    outcome = rows["actual_outcome"].astype(int)
    price = (rows["market_price"] - outcome) ** 2
    assert table.loc[("GPT-5.2", "all"), "brier_price"] == pytest.approx(price.mean(), abs=1e-6)
    by = price.groupby(rows["temporal_days"]).mean()
    assert table.loc[("GPT-5.2", "close_minus_1"), "brier_price"] == pytest.approx(by["close_minus_1"], abs=1e-6)
    tools = read_public("timeseek_tools").query("model == 'all'").set_index("moment")["difference"]
    told = []
    for summary in (AGENTS / "timeseek_kalshi/results").glob("*/summary.json"):
        given = json.loads(summary.read_text("utf-8"))
        told += [row | {"tools": given["config"]["tools_enabled"]} for row in given["metrics"] if row["checkpoint"]]
    wide = pd.DataFrame(told).groupby(["model_id", "checkpoint", "tools"])["brier_score"].mean().unstack()
    plain = (wide[True] - wide[False]).groupby("checkpoint").mean()
    assert all(tools[moment] == pytest.approx(plain[moment], abs=1e-6) for moment in plain.index)


@needs_public
def test_kalshibenchs_ranking_from_its_files():
    table = read_public("kalshibench_ranks").set_index("agent_id")
    outcomes = json.loads((AGENTS / "kalshibench/recovered_outcomes.json").read_text("utf-8"))["outcomes"]
    folder = AGENTS / "kalshibench/kalshibench_v2_2025-12-17_20-54-58"
    parts = []
    for path in [*folder.glob("tier1*/*.json.gz"), *folder.glob("tier3*/*.json.gz")]:
        given = json.loads(gzip.decompress(path.read_bytes()))
        rows = pd.DataFrame(given["predictions"])
        parts.append(rows.assign(file=path.name))
    rows = pd.concat(parts)
    assert rows["file"].nunique() == 9
    once = rows[~rows.duplicated(["file", "question_id"], keep=False)]
    assert once["question_id"].nunique() == 210
    answer, chance = find_columns(once)
    once = once.assign(y=once["question_id"].map(outcomes).astype(float), p=once[chance].astype(float))
    is_no = once[answer].astype(str).str.lower() == "no"
    once["repaired"] = once["p"].where(~(is_no & (once["p"] > 0.5)), 1 - once["p"])
    by = ((once["repaired"] - once["y"]) ** 2).groupby(once["file"]).mean()
    opus = next(value for name, value in by.items() if name.startswith("claude_opus"))
    xhigh = next(value for name, value in by.items() if name.startswith("gpt_5.2_xhigh"))
    assert table.loc["Claude-Opus-4.5", "brier"] == pytest.approx(opus, abs=0.01)  # 204 of the 210
    assert table.loc["GPT-5.2-XHigh", "brier"] == pytest.approx(xhigh, abs=0.01)


def find_columns(rows):
    """Return the names of the columns that hold the answer and its probability."""
    answer = next(name for name in ("predicted_answer", "prediction", "answer") if name in rows)
    chance = next(name for name in ("confidence", "probability", "predicted_probability", "prob") if name in rows)
    return answer, chance
