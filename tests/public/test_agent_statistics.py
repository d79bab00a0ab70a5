"""Statistics of other projects' sets on made-up rows whose answer is known."""

import json

import numpy as np
import pandas as pd
import pytest
from builders import make_event
from public.market_questions import count_funnel, keep_flags

from helpers.files import dump_json
from helpers.tables import check_table
from studies.futurex.effort import measure_revisions, relate_questions, relate_runs
from studies.futurex.experts import describe_questions
from studies.futurex.scorers import compare_scorers, rank_scorers
from studies.futurex.settings import compare_runs, name_settings, pair_runs
from studies.worldreasoner.other_projects import compare_prompts, measure_repeats, rank_repaired


def test_effort_is_compared_within_models_only():
    rng = np.random.default_rng(1)
    runs = pd.DataFrame({"run_id": range(24), "model": np.repeat(list("abcdefgh"), 3)})
    level = np.repeat(np.arange(8.0), 3)
    runs["work"] = level + rng.normal(0, 0.1, 24)  # better models work more
    runs["skill"] = 2 * level - runs["work"]  # and within a model more work goes with less skill
    row = relate_runs(runs, "skill", ("work",)).iloc[0]
    assert row["within"] == pytest.approx(-1) and row["between"] > 0.99 and row["p"] < 0.001


def test_a_planted_slope_of_revisions_is_found_beside_runs_and_questions():
    rng = np.random.default_rng(2)
    runs, questions = np.divmod(np.arange(360), 60)
    rows = pd.DataFrame({"run_id": runs, "event_id": questions})
    rows["n_revisions"] = rng.integers(1, 9, 360) + 3 * runs
    plain = -0.2 * runs + 0.1 * (questions % 7) + rng.normal(0, 0.01, 360)
    rows["skill_source"] = plain + 0.05 * np.log2(1 + rows["n_revisions"])
    found = relate_questions(rows)
    assert found["slope"] == pytest.approx(0.05, abs=0.005) and found["low"] < 0.05 < found["high"]


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


def test_runs_are_paired_where_one_setting_differs_alone():
    columns = ["run_id", "model", "search", "keeps_beliefs", "variant"]
    runs = [("a", "m", "none", True, None), ("b", "m", "dated", True, None)]
    runs += [("c", "m", "dated", False, None), ("d", "m", "dated", True, "odd")]
    runs = pd.DataFrame([*runs, ("e", "n", "dated", True, None)], columns=columns)
    pairs = pair_runs(runs, "search", "none", "dated")
    assert pairs[["run_off", "run_on"]].to_numpy().tolist() == [["a", "b"]]
    free = pair_runs(runs, "search", "none", "dated", free=("keeps_beliefs",))
    assert free["run_on"].tolist() == ["b", "c"]
    assert name_settings(runs.iloc[2], ["search", "keeps_beliefs"]) == "dated search"
    rows = pd.DataFrame(
        [(run, n) for run in "ab" for n in range(12)], columns=["run_id", "event_id"]
    )
    rows["brier"] = 0.1 * rows["event_id"] + 0.05 * (rows["run_id"] == "b")
    found = compare_runs(rows.assign(cluster_id=rows["event_id"]), pairs).iloc[0]
    assert found["difference"] == pytest.approx(0.05) and found["n"] == 12


def test_agents_are_ranked_on_what_both_scorers_score():
    about = {"kind": "ranking", "level": 3, "options": None}
    events = pd.DataFrame([make_event(event_id=f"e{n}", **about) for n in range(3)])
    truth = events[["event_id"]].assign(value=dump_json(["a", "b"]), status="ok")
    said = [("near", f"e{n}", ["b", "a"]) for n in range(3)]  # 0.8 three times by the paper
    said += [("sharp", "e0", ["a", "b"]), ("sharp", "e1", ["x", "y"]), ("sharp", "e2", ["x", "y"])]
    made = pd.DataFrame(said, columns=["agent_id", "event_id", "value"])
    made = made.assign(run_id=made["agent_id"], sample=0, status="ok")
    made["value"] = made["value"].map(dump_json)
    rows = compare_scorers(made, check_table("answers", truth), events)
    table = rank_scorers(rows).set_index("agent_id")
    near = table.loc["near", ["rank_paper", "rank_code", "paper"]]
    assert near.tolist() == pytest.approx([1, 2, 0.8])
    assert table.loc["sharp", "code"] == pytest.approx(1 / 3)


def test_facts_of_earnings_worked_by_hand():
    beside = pd.DataFrame({"event_id": ["a", "b"], "item": ["A", "B"]})
    beside = beside.assign(metric=["revenue", "eps"], consensus=[90.0, 150.0], actual=100.0)
    answers = pd.DataFrame({"event_id": ["a", "b"], "spread": [20.0, 10.0]})
    facts = describe_questions(answers, beside).set_index("fact")["value"]
    assert facts["asks for revenue"] == facts["actual above the consensus"] == 0.5
    assert facts["score of the consensus"] == pytest.approx(0.75 / 2)
    assert facts["capped error of the consensus"] == pytest.approx((0.1 + 0.3) / 2)


# --- questions of real markets ----------------------------------------------------------------------


def test_the_funnel_counts_questions_that_every_judge_saw_twice():
    ids = pd.Index(["a", "b", "c", "d"], name="question_id")
    harmful = {"words": [True, False, False, True], "panel": [False, False, True, None]}
    subjective = {"words": [True, True, False, False], "panel": [False] * 4}
    views = {"harmful": harmful, "subjective": subjective}
    flags = {name: pd.DataFrame(said, ids, dtype=object) for name, said in views.items()}
    funnel = count_funnel(flags).set_index("judge")
    assert funnel.loc["words"].tolist() == [3, 2, 1] and funnel.loc["panel"].tolist() == [3, 2, 2]


@pytest.mark.parametrize(
    ("content", "left"),
    [
        ('{"harmful": "no", "subjective": "Will it rain?", "why": "rain"}', '{"harmful":"no"}'),
        ("Will it rain?", ""),
        (None, ""),
    ],
)
def test_of_a_reply_about_a_public_question_yes_and_no_alone_are_kept(content, left):
    prose = "Will it rain?"
    request = {"model": "m", "messages": [{"content": prose}], "sample": 0}
    row = {"key": "k", "status": "ok", "request": request | {"options": {"stop": prose}}}
    row |= dict.fromkeys(("reason", "reasoning"), prose) | {"duration_s": 1.5, "content": content}
    row |= {"citations": [prose], "queries": [prose], "tool_calls": [{"arguments": prose}]}
    kept = keep_flags(row | {"logprobs": [{"token": prose, "top": [[prose, 0.0]]}]})
    assert "rain" not in json.dumps(kept) and kept["content"] == left
    assert (kept["key"], kept["duration_s"], kept["request"]["model"]) == ("k", 1.5, "m")
    failed = keep_flags({"key": "k", "status": "error", "reason": prose, "request": request})
    assert "rain" not in json.dumps(failed) and failed["status"] == "error"
