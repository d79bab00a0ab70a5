"""Judges of plans are rated against labels, and planted effects on scores are found as often as
due."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from helpers.agreement import READINGS
from helpers.faults import Problems
from studies.futurex.plan_scores import (
    FACTORS,
    RUBRICS,
    fit_plans,
    rate_judges,
    read_labels,
    read_research,
)


def make_plans(*texts):
    """Return a table of plans (synthetic)."""
    rows = [(f"p{at}", "own", f"e{at}", "Will it rain?", text) for at, text in enumerate(texts)]
    return pd.DataFrame(rows, columns=["plan_id", "planner", "event_id", "question", "plan"])


def judge_made_up(judge, scores, reading=READINGS[0]):
    """Return judgements of plans p0, p1, ... with these scores on every criterion (synthetic)."""
    rows = [
        (f"p{at}", judge, reading, rubric, float(score))
        for at, score in enumerate(scores)
        for rubric in RUBRICS
    ]
    return pd.DataFrame(rows, columns="plan_id judge reading rubric score".split())


def test_a_wrong_label_is_told_with_its_row_and_column(out):
    (out / "data/planning").mkdir(parents=True)
    plans, row = make_plans("a"), ("p1", "comprehensiveness", 11, "person")
    plans.to_csv(out / "data/planning/plans.csv", index=False)
    labels = pd.DataFrame([row], columns=["plan_id", "criterion", "score", "label_by"])
    labels.to_csv(out / "data/planning/labels.csv", index=False)
    with pytest.raises(Problems, match="row 2, column score: '11' is none of 0, 1"):
        read_labels(plans)


def test_a_judge_is_fit_unfit_or_neither_by_its_readings_on_a_readers_labels():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 11, 40)
    labels = pd.DataFrame(
        {name: truth.astype(float) for name in RUBRICS}, index=[f"p{at}" for at in range(40)]
    )
    near = np.clip(truth + rng.integers(-1, 2, 40), 0, 10)
    good = pd.concat([judge_made_up("good", near, reading) for reading in READINGS])
    once, blind = judge_made_up("once", near), judge_made_up("blind", [10] * 40)
    rated = rate_judges(pd.concat([good, once, blind]), labels, rng, 300, is_fresh=True)
    verdict = rated.groupby("judge")["verdict"].unique().map(list).to_dict()
    assert verdict == {
        "good": ["fit"],
        "once": ["inconclusive"],
        "blind": ["unfit"],
    }
    assert rated["n"].max() == 40 and len(rated) == 3 * (3 + 3 + 3)
    told = rate_judges(good, labels, rng, 300, is_fresh=False)
    assert told["verdict"].eq("inconclusive").all(), (
        "labels by who wrote the rules show no judge fit"
    )
    none = rate_judges(good, labels[:0], rng, 300, is_fresh=True)
    assert none["verdict"].eq("inconclusive").all() and none["n"].eq(0).all()


def test_the_fit_is_that_of_statsmodels():
    rng = np.random.default_rng(5)
    rows = pd.DataFrame(
        rng.normal(size=(120, len(FACTORS))), columns=list(FACTORS)
    )  # three plans on each of 40 events
    score = (
        0.5
        + 0.1 * rows["n_tool_calls"]
        - 0.1 * rows["manager_think_length"]
        + 0.3 * rng.normal(size=120)
    )
    rows = rows.assign(event_id=rows.index // 3, cluster=rows.index // 3, score=score)
    table, facts = fit_plans(rows)
    scaled = rows.assign(**{name: stats.zscore(rows[name], ddof=1) for name in FACTORS})
    clusters = {"groups": pd.factorize(rows["event_id"])[0]}
    reference = smf.ols("score ~ " + " + ".join(FACTORS), scaled).fit(
        cov_type="cluster", cov_kwds=clusters, use_t=True
    )
    for column, found in {
        "effect": reference.params,
        "p": reference.pvalues,
    }.items():
        assert np.allclose(table[column], found[list(FACTORS)])
    assert np.allclose(table[["low", "high"]], reference.conf_int().loc[list(FACTORS)])
    assert (
        facts["r2"] == pytest.approx(reference.rsquared)
        and facts["n"] == 120
        and facts["n_events"] == 40
    )


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
    traces = pd.DataFrame(
        rows, columns="event_id step_type actor tool content n_output_tokens".split()
    )
    made = read_research(traces.assign(agent_id="a")).set_index("event_id")
    assert made.loc[
        "e1", ["manager_think_length", "search_think_length", "n_tool_calls"]
    ].tolist() == [35, 7, 2]
    assert made.loc[
        "e2", ["manager_think_length", "search_think_length", "n_tool_calls", "plan"]
    ].tolist() == [
        9,
        0,
        0,
        "no survey",
    ]
    assert made.loc["e1", "plan"] == "facts_given: a date\n1. Search.\n2. Answer."
