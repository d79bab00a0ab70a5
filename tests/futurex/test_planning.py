"""Judges of plans are rated against labels, and planted effects on scores are found as often as due."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from helpers.faults import Problems
from helpers.futurex.plan_effects import FACTORS, build_rows, fit_plans
from helpers.futurex.plans import (
    RUBRICS,
    apply_rules,
    judge_by_rules,
    judge_plans,
    list_plans,
    rate_judges,
    read_labels,
)
from helpers.models.judges import Verdict, anonymise
from helpers.stats.agreement import READINGS

TOLD = {"n_tool_calls": 0.1, "manager_think_length": -0.1}


def make_consult(reply):
    """Return a judge that always replies the same, and the list of what it was asked."""
    asked = []

    def consult(prompt, schema, repeat=0, is_continued=False):
        asked.append((prompt, schema, repeat, is_continued))
        return reply

    return consult, asked


def make_plans(*texts):
    """Return a table of plans (synthetic)."""
    rows = [(f"p{at}", "own", f"e{at}", "Will it rain?", text) for at, text in enumerate(texts)]
    return pd.DataFrame(rows, columns=["plan_id", "planner", "event_id", "question", "plan"])


PLAN = "Look up levels at ELWIS and the DWD forecast.\n1. Read ELWIS for 3 March 2016.\n2. Ask forums.\n" + (
    "3. There is a risk of storms."
)


def test_names_of_planners_are_hidden_in_a_plan_whatever_their_case():
    text = "As QWEN, I, Qwen2.5-Coder 1.5B, beat gpt-4.1; qwentin does not, gpt-4.1-mini neither"
    hidden = anonymise(text, [["qwen", "Qwen2.5-Coder 1.5B"], ["GPT-4.1"]])
    assert hidden == "As model-1, I, model-1, beat model-2; qwentin does not, gpt-4.1-mini neither"
    assert anonymise(text, []) == text


def test_plans_are_in_the_order_of_the_events_and_do_not_name_their_planner():
    trials = [("e1", "own", "As Qwen I look."), ("e2", "own", "I look."), ("e2", "none", None), ("e2", "small", " x ")]
    trials = pd.DataFrame(trials, columns=["event_id", "arm", "plan"])
    events = pd.DataFrame({"event_id": ["e2", "e1"], "prompt": ["Will gpt-9 win?\nA. Yes", "Will it rain?\nA. Yes"]})
    plans = list_plans(trials, events, ["openai/gpt-9"])
    assert plans["event_id"].tolist() == ["e2", "e2", "e1"] and set(plans["planner"][:2]) == {"own", "small"}
    assert plans["question"].tolist() == ["Will model-2 win?"] * 2 + ["Will it rain?"]
    assert plans["plan"][2] == "As model-1 I look." and set(plans["plan"][:2]) == {"I look.", "x"}
    assert plans["plan_id"].is_unique and plans["plan_id"].str.fullmatch("[0-9a-f]{8}").all()


def test_judgements_are_a_row_a_reading_and_criterion_and_only_a_plans_first_call_reads_it_anew():
    consult, asked = make_consult(Verdict("ok", {"reason": "r", "score": 4}))
    table = judge_plans(make_plans("a", "b"), consult, "j", READINGS)
    assert len(table) == 2 * 3 * 3 and table["score"].eq(4).all()
    assert [call[2] for call in asked] == [0, 0, 0, 0, 0, 0, 1, 1, 1] * 2
    assert [call[3] for call in asked] == [False, *[True] * 8] * 2
    assert len(judge_plans(make_plans("a"), consult, "j")) == 3, "the paper's judge reads a plan once"


def test_the_rule_judge_counts_what_it_says_and_clips():
    scores = judge_by_rules("How high is the Rhine?", PLAN)  # 3 steps, 2 risks, 1 date; 2 sources, 1 unvetted
    assert scores == {"comprehensiveness": 6, "source_reliability": 3, "plan_actionability": 3}
    early = judge_by_rules("How high?", PLAN + "\n4. Final answer: B.")
    assert early["plan_actionability"] == 0
    many = judge_by_rules("?", "1. a " + " ".join(f"in Source{letter}," for letter in "ABCDEFGH"))
    assert many["source_reliability"] == 10
    assert judge_by_rules("?", "1. Ask Twitter and Reddit.")["source_reliability"] == 0


def test_the_rules_judge_every_plan_in_the_form_of_the_other_judges():
    plans = make_plans(PLAN, "1. Ask Twitter.")
    table = apply_rules(plans)
    consult, _ = make_consult(Verdict("ok", {"reason": "r", "score": 4}))
    assert set(table.columns) == set(judge_plans(plans, consult, "j").columns) and len(table) == 6
    held = table[table["target_id"] == "p0"].set_index("rubric")["score"].to_dict()
    assert held == judge_by_rules("Will it rain?", PLAN)


def write_labels(folder, rows):
    """Write a reader's labels where the kit looks for them."""
    (folder / "data/planning").mkdir(parents=True, exist_ok=True)
    make_plans("a", 'b\n"c"')[["plan_id", "question", "plan"]].to_csv(folder / "data/planning/plans.csv", index=False)
    table = pd.DataFrame(rows, columns=["plan_id", "criterion", "score", "label_by"])
    table.to_csv(folder / "data/planning/labels.csv", index=False)


def judge_made_up(judge, scores, reading=READINGS[0]):
    """Return judgements of plans p0, p1, ... with these scores on every criterion (synthetic)."""
    rows = [
        ("plan", f"p{at}", judge, reading, rubric, "ok", float(score), None)
        for at, score in enumerate(scores)
        for rubric in RUBRICS
    ]
    columns = "target_type target_id judge reading rubric status score reason".split()
    return pd.DataFrame(rows, columns=columns)


def test_labels_are_read_with_who_read_and_none_are_no_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    write_labels(tmp_path, [("p1", name, 7, "language model") for name in RUBRICS])
    labels, reader = read_labels(make_plans("a", 'b\n"c"'))
    assert labels.loc["p1"].tolist() == [7.0] * 3 and reader == "language model"
    other, nobody = read_labels(make_plans("a", "another planner's text"))
    assert other.empty and list(other.columns) == list(RUBRICS) and nobody == "nobody"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("p1", "comprehensiveness", 11, "person"), "row 2, column score: '11' is none of 0, 1"),
        (("p1", "style", 5, "person"), "column criterion: 'style' is none of"),
        (("p1", "comprehensiveness", 5, "me"), "column label_by: 'me' is none of person, program, language model"),
        (("", "comprehensiveness", 5, "person"), "column plan_id: the cell is blank"),
    ],
)
def test_a_wrong_label_is_told_with_its_row_and_column(row, problem, tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    write_labels(tmp_path, [row])
    with pytest.raises(Problems, match=re.escape(problem)):
        read_labels(make_plans("a"))


def test_a_judge_is_fit_unfit_or_neither_by_its_readings_on_a_readers_labels():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 11, 40)
    labels = pd.DataFrame({name: truth.astype(float) for name in RUBRICS}, index=[f"p{at}" for at in range(40)])
    near = np.clip(truth + rng.integers(-1, 2, 40), 0, 10)
    good = pd.concat([judge_made_up("good", near, reading) for reading in READINGS])
    once, blind = judge_made_up("once", near), judge_made_up("blind", [10] * 40)
    rules = judge_made_up("rules", near)
    rated = rate_judges(pd.concat([good, once, blind, rules]), labels, rng, 300, is_fresh=True)
    verdict = rated.groupby("judge")["verdict"].unique().map(list).to_dict()
    assert verdict == {"good": ["fit"], "once": ["cannot tell"], "blind": ["unfit"], "rules": ["fit"]}
    assert rated["n"].max() == 40 and len(rated) == 3 * (3 + 3 + 3 + 1)
    told = rate_judges(good, labels, rng, 300, is_fresh=False)
    assert told["verdict"].eq("cannot tell").all(), "labels by who wrote the rules show no judge fit"
    none = rate_judges(good, labels[:0], rng, 300, is_fresh=True)
    assert none["verdict"].eq("cannot tell").all() and none["n"].eq(0).all()


def make_rows(rng, n_events, effects, sd, *, n_planners=1):
    """Return rows whose scores follow known effects (synthetic): every planner on every event, each its own cluster."""
    event, planner = (part.ravel() for part in np.indices((n_events, n_planners)))
    x = rng.normal(size=(len(event), len(FACTORS)))
    score = 0.5 + x @ [effects.get(name, 0.0) for name in FACTORS] + sd * rng.normal(size=len(x))
    names = {"event_id": [f"e{at}" for at in event], "planner": [f"a{at}" for at in planner]}
    rows = pd.DataFrame(x, columns=list(FACTORS)).assign(**names, score=score)
    return rows.assign(cluster=rows["event_id"])


def test_rows_join_a_trials_work_its_plans_scores_and_its_own():
    trials = [("e1", "own", 1, 20, 300), ("e1", "small", 1, 10, 700), ("e2", "own", 1, 30, 400)]
    trials = pd.DataFrame(trials, columns=["event_id", "arm", "n_calls", "n_query_tokens", "n_plan_tokens"])
    plans = make_plans("a", "b", "c").assign(event_id=["e1", "e1", "e2"], planner=["own", "small", "own"])
    judged = pd.DataFrame({name: [3.0, 4.0, 5.0] for name in RUBRICS}, index=["p0", "p1", "p2"])
    matrix = pd.DataFrame({"own": [1.0, 0.0], "small": [0.5, np.nan]}, index=["e1", "e2"])
    rows = build_rows(trials, plans, judged, matrix, pd.Series({"e1": "s", "e2": "s"}))
    assert rows["score"].tolist() == [1.0, 0.5, 0.0] and rows["cluster"].eq("s").all()
    assert rows["manager_think_length"].tolist() == [300, 700, 400]
    assert rows["search_think_length"].tolist() == [20, 10, 30]
    assert rows["plan_actionability"].tolist() == [3, 4, 5] and rows["n_tool_calls"].eq(1).all()


def test_the_fit_is_that_of_statsmodels():
    rows = make_rows(np.random.default_rng(5), 40, TOLD, 0.3, n_planners=3)
    table, facts = fit_plans(rows)
    scaled = rows.assign(**{name: stats.zscore(rows[name], ddof=1) for name in FACTORS})
    clusters = {"groups": pd.factorize(rows["event_id"])[0]}
    reference = smf.ols("score ~ " + " + ".join(FACTORS), scaled).fit(cov_type="cluster", cov_kwds=clusters, use_t=True)
    assert np.allclose(table["effect"], reference.params[list(FACTORS)])
    assert np.allclose(table["se"], reference.bse[list(FACTORS)])
    assert np.allclose(table["p"], reference.pvalues[list(FACTORS)])
    assert np.allclose(table[["low", "high"]], reference.conf_int().loc[list(FACTORS)])
    assert facts["r2"] == pytest.approx(reference.rsquared) and facts["n"] == 120 and facts["n_events"] == 40


def test_a_factor_that_does_not_vary_is_blank_and_the_others_are_fitted_without_it():
    rows = make_rows(np.random.default_rng(5), 40, TOLD, 0.3).assign(n_tool_calls=1.0)
    table = fit_plans(rows)[0].set_index("factor")["effect"]
    assert np.isnan(table["n_tool_calls"]) and table.notna().sum() == 5
    same = fit_plans(rows.assign(n_tool_calls=rows["comprehensiveness"]))
    assert same[0]["effect"].isna().all() and np.isnan(same[1]["r2"]), "two factors that are one cannot be separated"
    assert fit_plans(rows.head(6))[0]["effect"].isna().all(), "too few plans"


def test_below_ten_clusters_there_is_an_effect_and_no_interval():
    rows = make_rows(np.random.default_rng(5), 40, TOLD, 0.3)
    rows["cluster"] = [f"s{at % 9}" for at in range(40)]
    table, facts = fit_plans(rows)
    assert facts["n_clusters"] == 9 and table["effect"].notna().all()
    assert table[["se", "p", "low", "high", "mde"]].isna().all(axis=None) and table["stars"].eq("").all()


def test_planted_effects_are_covered_as_often_as_said():
    rng = np.random.default_rng(7)
    told = pd.concat([fit_plans(make_rows(rng, 200, TOLD, 0.3))[0] for _ in range(120)])
    truth = told["factor"].map(TOLD).fillna(0.0)
    held = (told["low"] <= truth) & (truth <= told["high"])
    assert held.groupby(told["factor"]).mean().between(0.89, 0.99).all()
    assert 0.92 <= held.mean() <= 0.98, "720 intervals: standard error 0.01"
    assert (told.loc[truth != 0, "p"] < 0.05).mean() > 0.9 and (told.loc[truth == 0, "p"] < 0.05).mean() < 0.08
