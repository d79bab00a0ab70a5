"""Judges of plans are rated against planted quality, and planted effects on scores are found as often as due."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from matplotlib.figure import Figure
from scipy import stats

from helpers.estimates.agreement import READINGS
from helpers.futurex.planning.effects import (
    FACTORS,
    build_rows,
    draw_plan_effects,
    draw_power,
    fit_plans,
    measure_power,
    simulate_plans,
)
from helpers.futurex.planning.plans import (
    RUBRICS,
    apply_rules,
    build_request,
    judge_by_rules,
    judge_plans,
    list_plans,
)
from helpers.models.judges import Verdict, anonymise

TOLD = {"n_tool_calls": 0.1, "manager_think_length": -0.1}


# --- plans and judges ------------------------------------------------------------------------------------------------


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


def test_a_request_holds_question_plan_and_criteria_in_the_order_asked_for_and_one_score():
    shown = tuple(RUBRICS)[::-1]
    prompt, schema = build_request("Will {it} rain?", "1. Look {up}.", "comprehensiveness", shown)
    assert "Will {it} rain?" in prompt and "1. Look {up}." in prompt
    places = [prompt.index(f"- {name}: {RUBRICS[name]}") for name in shown]
    assert places == sorted(places) and "one of them alone: comprehensiveness." in prompt
    assert list(schema["properties"]) == ["reason", "score"] and schema["properties"]["score"]["maximum"] == 10


def test_judgements_are_a_row_a_reading_and_criterion_and_only_a_plans_first_call_reads_it_anew():
    consult, asked = make_consult(Verdict("ok", {"reason": "r", "score": 4}))
    table = judge_plans(make_plans("a", "b"), consult, "j", READINGS)
    assert len(table) == 2 * 3 * 3 and table["score"].eq(4).all()
    assert [call[2] for call in asked] == [0, 0, 0, 0, 0, 0, 1, 1, 1] * 2
    assert [call[3] for call in asked] == [False, *[True] * 8] * 2
    assert len(judge_plans(make_plans("a"), consult, "j")) == 3, "the paper's judge reads a plan once"


def test_a_missing_verdict_has_no_score():
    missing = judge_plans(make_plans("a"), make_consult(Verdict("missing", reason="not recorded"))[0], "j")
    assert missing["score"].isna().all() and missing["status"].eq("missing").all() and len(missing) == 3


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


# --- regression ------------------------------------------------------------------------------------------------------


def test_rows_take_levels_1_and_2_and_count_a_missing_prediction_as_0():
    events = pd.DataFrame({"event_id": ["e1", "e2", "e3"], "kind": "single", "level": [1, 2, 3]})
    plans = pd.DataFrame(
        {"plan_id": ["p1", "p2", "p3"], "run_id": "r", "agent_id": "a", "event_id": ["e1", "e2", "e3"]}
    )
    wrote = {"run_id": "r", "step_type": "model", "n_output_tokens": 5, "n_context_tokens": 9}
    traces = [
        wrote | {"event_id": event, "actor": actor} for event in events["event_id"] for actor in ("manager", "search")
    ]
    traces = pd.DataFrame([*traces, {"run_id": "r", "event_id": "e1", "step_type": "tool", "tool": "search"}])
    scored = {"run_id": "r", "agent_id": "a", "metric": "accuracy", "is_scored": True}
    outcomes = [("e1", 1.0, 1.0), ("e2", np.nan, 0.0), ("e3", 1.0, 1.0)]
    outcomes = pd.DataFrame(
        [scored | dict(zip(("event_id", "score", "score_imputed"), o, strict=True)) for o in outcomes]
    )
    judged = pd.DataFrame({name: [3.0, 4.0, 5.0] for name in RUBRICS}, index=["p1", "p2", "p3"])
    rows = build_rows(plans, judged, traces, outcomes, events)
    assert rows["event_id"].tolist() == ["e1", "e2"] and rows["score"].tolist() == [1.0, 0.0]
    assert rows["n_tool_calls"].tolist() == [1, 0] and rows["manager_think_length"].tolist() == [5, 5]
    assert rows["plan_actionability"].tolist() == [3.0, 4.0]


@pytest.mark.parametrize("dummies", [(), ("agent_id",), ("agent_id", "event_id")])
def test_the_fit_is_that_of_statsmodels_with_all_dummies(dummies):
    rows = simulate_plans(np.random.default_rng(5), 40, TOLD, 0.3, n_agents=3, agent_sd=0.3, event_sd=0.3)
    rows = rows.drop(index=[0, 1, 2 * 3])  # an event with a single row, another with two
    table, facts = fit_plans(rows, dummies)
    used = rows[rows["event_id"] != "e0"] if "event_id" in dummies else rows
    scaled = used.assign(**{name: stats.zscore(used[name], ddof=1) for name in FACTORS})
    formula = "score ~ " + " + ".join([*FACTORS, *(f"C({name})" for name in dummies)])
    clusters = {"groups": pd.factorize(used["event_id"])[0]}
    reference = smf.ols(formula, scaled).fit(cov_type="cluster", cov_kwds=clusters, use_t=True)
    n, n_coefs = len(used), len(reference.params)
    assert np.allclose(table["effect"], reference.params[list(FACTORS)])
    assert facts["r2"] == pytest.approx(reference.rsquared) and facts["n_coefs"] == n_coefs and facts["n"] == n
    assert facts["r2_adjusted"] == pytest.approx(reference.rsquared_adj)
    counted = len(FACTORS) + 2 if "event_id" in dummies else n_coefs  # events' dummies lie within their clusters
    factor = np.sqrt((n - n_coefs) / (n - counted))
    assert np.allclose(table["se"], reference.bse[list(FACTORS)] * factor)
    if counted == n_coefs:
        assert np.allclose(table["p"], reference.pvalues[list(FACTORS)])
        assert np.allclose(table[["low", "high"]], reference.conf_int().loc[list(FACTORS)])


def test_one_agent_with_a_run_an_event_has_no_effects_beside_event_dummies():
    rows = simulate_plans(np.random.default_rng(5), 30, TOLD, 0.3)
    table, facts = fit_plans(rows, ("agent_id", "event_id"))
    assert not table["is_identified"].any() and table["effect"].isna().all() and np.isnan(facts["r2"])
    alone, _ = fit_plans(rows, ("agent_id",))
    assert alone["is_identified"].all() and np.allclose(alone["effect"], fit_plans(rows)[0]["effect"])


def test_constant_and_collinear_factors_are_not_identified_and_the_others_are():
    rows = simulate_plans(np.random.default_rng(5), 30, TOLD, 0.3)
    rows["search_think_length"], rows["plan_actionability"] = 0.0, 2 * rows["comprehensiveness"] + 1
    table, facts = fit_plans(rows)
    lost = {"search_think_length", "plan_actionability", "comprehensiveness"}
    assert set(table.loc[~table["is_identified"], "factor"]) == lost
    assert set(table.loc[table["effect"].isna(), "factor"]) == lost and facts["n_coefs"] == 5
    part, _ = fit_plans(rows, factors=[name for name in FACTORS if name not in lost - {"comprehensiveness"}])
    both = table.merge(part, on="factor").dropna()
    assert np.allclose(both["effect_x"], both["effect_y"]) and np.allclose(both["se_x"], both["se_y"])


def test_a_factor_that_is_the_agents_own_is_lost_to_agent_dummies():
    rows = simulate_plans(np.random.default_rng(5), 30, TOLD, 0.3, n_agents=3)
    rows["n_tool_calls"] = rows["agent_id"].map({"a0": 1.0, "a1": 2.0, "a2": 5.0})
    assert fit_plans(rows)[0]["is_identified"].all()
    table, _ = fit_plans(rows, ("agent_id",))
    assert table.loc[~table["is_identified"], "factor"].tolist() == ["n_tool_calls"]


def test_too_few_rows_or_a_constant_score_identify_nothing():
    rows = simulate_plans(np.random.default_rng(5), 7, TOLD, 0.3)
    assert not fit_plans(rows)[0]["is_identified"].any()
    rows = simulate_plans(np.random.default_rng(5), 30, TOLD, 0.3).assign(score=0.0)
    assert not fit_plans(rows)[0]["is_identified"].any()


# --- planted truth ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "dummies", "world"),
    [(200, (), {}), (100, ("agent_id", "event_id"), {"n_agents": 3, "agent_sd": 0.3, "event_sd": 0.5})],
)
def test_planted_effects_are_covered_as_often_as_said(n, dummies, world):
    told = measure_power([n], TOLD, 0.3, np.random.default_rng(7), n_sims=120, dummies=dummies, **world)
    told = told.set_index("effect")
    assert told["coverage"].between(0.90, 0.99).all(), told
    nothing = told.loc[0.0]  # four factors x 120 simulations: standard error 0.01
    assert 0.92 <= nothing["coverage"] <= 0.98 and 0.02 <= nothing["power"] <= 0.08
    assert (told.loc[[0.1, -0.1], "power"] > 0.9).all()


def test_errors_grow_when_events_move_all_their_rows_together():
    rng = np.random.default_rng(8)
    rows = simulate_plans(rng, 60, {}, 0.05, n_agents=4, event_sd=1.0)
    rows["n_tool_calls"] = rows.groupby("event_id")["n_tool_calls"].transform("first")  # the same for a whole event
    table = fit_plans(rows)[0].set_index("factor")
    plain = smf.ols(
        "score ~ " + " + ".join(FACTORS), rows.assign(n_tool_calls=stats.zscore(rows["n_tool_calls"], ddof=1))
    )
    assert table.loc["n_tool_calls", "se"] > 1.5 * plain.fit().bse["n_tool_calls"]


def test_more_events_see_more():
    told = measure_power([20, 120], TOLD, 0.45, np.random.default_rng(9), n_sims=60)
    power = told[told["effect"] == 0.1].set_index("n")["power"]
    assert power[120] > power[20] + 0.2
    assert told.groupby("n")["r2"].first()[20] > told.groupby("n")["r2"].first()[120], "few rows flatter R2"


def test_effects_that_are_not_identified_are_named_and_the_rest_drawn():
    effects = pd.DataFrame({"label": ["calls *", "trust "], "effect": [0.1, 0.2], "low": 0.0, "high": 0.3})
    ax = draw_plan_effects(effects.assign(is_identified=[True, False]), Figure().add_subplot(), "0.5")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["calls *"]
    assert ax.get_xlabel().endswith("not identified: trust")


def test_power_has_a_line_an_effect():
    power = pd.DataFrame({"n": [100, 200] * 2, "effect": [0.0, 0.0, 0.1, 0.1], "power": [0.05, 0.05, 0.4, 0.7]})
    ax = draw_power(power, Figure().add_subplot(), [100, 200])
    assert ax.get_legend_handles_labels()[1] == ["effect 0", "effect 0.1"]
    assert ax.lines[1].get_ydata().tolist() == [0.4, 0.7]
