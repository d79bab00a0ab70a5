"""Judges of plans are rated against labels, and planted effects on scores are found as often as
due."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from helpers.agreement import READINGS
from helpers.input_faults import Problems
from studies.futurex.plan_scores import (
    FACTORS,
    RUBRICS,
    WORK,
    fit_plans,
    rate_judges,
    read_labels,
    read_research,
)


def test_a_wrong_label_is_told_with_its_row_and_column(out):
    (out / "data/planning").mkdir(parents=True)
    plans = pd.DataFrame({"plan_id": ["p1"], "plan": ["1. Look."]})
    plans.to_csv(out / "data/planning/plans.csv", index=False)
    row = {"plan_id": "p1", "criterion": "comprehensiveness", "score": 11, "label_by": "person"}
    pd.DataFrame([row]).to_csv(out / "data/planning/labels.csv", index=False)
    with pytest.raises(Problems, match="row 2, column score: '11' is none of 0, 1"):
        read_labels(plans)


def test_a_judge_is_fit_unfit_or_neither_by_its_readings_on_a_readers_labels():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 11, 40)
    names = [f"p{at}" for at in range(40)]
    labels = pd.DataFrame(dict.fromkeys(RUBRICS, truth.astype(float)), names)

    def judge(name, scores, *readings):
        table = pd.DataFrame({"plan_id": names, "judge": name, "score": scores}).astype(
            {"score": float}
        )
        return table.merge(pd.DataFrame({"reading": readings}), "cross").merge(
            pd.DataFrame({"rubric": list(RUBRICS)}), "cross"
        )

    near = np.clip(truth + rng.integers(-1, 2, 40), 0, 10)
    good, first = judge("good", near, *READINGS), READINGS[0]
    every = pd.concat([good, judge("once", near, first), judge("blind", [10] * 40, first)])
    rated = rate_judges(every, labels, rng, 300, is_fresh=True)
    verdict = rated.groupby("judge")["verdict"].unique().map(list).to_dict()
    assert verdict == {"good": ["fit"], "once": ["inconclusive"], "blind": ["unfit"]}
    assert rated["n"].max() == 40 and len(rated) == 3 * (3 + 3 + 3)
    told = rate_judges(good, labels, rng, 300, is_fresh=False)
    assert told["verdict"].eq("inconclusive").all(), "labels by who wrote the prompts"
    none = rate_judges(good, labels[:0], rng, 300, is_fresh=True)
    assert none["verdict"].eq("inconclusive").all() and none["n"].eq(0).all()


def test_the_fit_is_that_of_statsmodels():
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(rng.normal(size=(120, len(FACTORS))), columns=list(FACTORS))
    rows["score"] = 0.1 * rows["n_tool_calls"] + 0.3 * rng.normal(size=120)
    rows["event_id"] = rows["cluster"] = rows.index // 3
    table, facts = fit_plans(rows)
    scaled = rows.copy()
    scaled[list(FACTORS)] = stats.zscore(rows[list(FACTORS)], ddof=1)
    by_cluster = {"cov_type": "cluster", "cov_kwds": {"groups": rows["cluster"]}, "use_t": True}
    fit = smf.ols("score ~ " + " + ".join(FACTORS), scaled).fit(**by_cluster)
    wanted = fit.conf_int().set_axis(["low", "high"], axis=1)
    wanted = wanted.assign(effect=fit.params, p=fit.pvalues).loc[list(FACTORS)]
    assert np.allclose(table[wanted.columns], wanted)
    assert facts["r2"] == pytest.approx(fit.rsquared)
    assert facts["n"] == 120 and facts["n_events"] == 40


def test_what_a_research_agent_planned_and_did_is_read_from_its_trace():
    survey = '{"facts_given": "a date", "plan": ["Search.", "Answer."]}'
    rows = [
        ("e1", "model", "manager", None, survey, 30),
        ("e1", "plan", "manager", None, survey, None),
        ("e1", "model", "search", None, "{}", 7),
        ("e1", "tool", "search", "search", "found", None),
        ("e1", "tool", "search", "open", "page", None),
        ("e1", "tool", "manager", "search_agent", "report", None),
        ("e1", "model", "manager", None, "{}", 5),
        ("e2", "model", "manager", None, "no survey", 9),
        ("e2", "plan", "manager", None, "no survey", None),
    ]
    columns = "event_id step_type actor tool content n_output_tokens".split()
    made = read_research(pd.DataFrame(rows, columns=columns).assign(agent_id="a"))
    assert made[[*WORK, "plan"]].values.tolist() == [
        [2, 7, 35, "facts_given: a date\n1. Search.\n2. Answer."],
        [0, 0, 9, "no survey"],
    ]
