"""Worlds with a planted truth: verdicts err as seldom as is due, and are reached where they are
true.

Sources share luck, so that events of one source are correlated. An error is a verdict against what
is planted, or any where nothing is.
"""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from helpers.agreement import measure_judge
from helpers.files import read_table
from helpers.means import summarize_clustered
from helpers.paired import judge_test, sign_flip_test
from studies.futurex import difficulty
from studies.futurex.reasons import measure_evidence
from studies.futurex.run_pairs import compare_moments

N_WORLDS = 2000
SIGNS = {"holds": 1, "fails": -1, "inconclusive": 0}
WINDOW = read_table("events", "A")
LEVEL = WINDOW.set_index("event_id")["level"].astype(int)
BY_LEVEL = [(weight, LEVEL.index[LEVEL == at]) for at, weight in difficulty.FALL.items()]
DESIGNS = {
    "10 sources": (np.repeat(np.arange(10), 8), None),
    "window A, by level": (pd.factorize(WINDOW["source_id"])[0], BY_LEVEL),
}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def draw_luck(rng, source, n):
    """Differences of mean 0, a column a world: luck shared by source, and noise."""
    return rng.normal(0, 0.2, (source.max() + 1, n))[source] + rng.normal(0, 0.3, (len(source), n))


def draw_hits(rng, source, n):
    """Differences of two agents' 0 and 1, each by a chance that a source shares."""
    chance = rng.beta(1.5, 1.5, (2, source.max() + 1, n))
    first, second = (rng.random((len(source), n)) < part[source] for part in chance)
    return first.astype(float) - second


@pytest.mark.parametrize("draw", [draw_luck, draw_hits])
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_by_source_hold_the_truth_and_those_by_event_do_not(rng, design, draw):
    source, strata = DESIGNS[design]
    names = WINDOW["event_id"] if strata else pd.RangeIndex(len(source))
    worlds = pd.DataFrame(draw(rng, source, N_WORLDS), names)

    def hold_truth(clusters):
        found = summarize_clustered(worlds, clusters, strata)
        return ((found["low"] <= 0) & (found["high"] >= 0)).mean()

    assert 0.93 <= hold_truth(pd.Series(source, names)) <= 0.97 and hold_truth(None) < 0.8


def count_errors(said, truth):
    """Check that verdicts reach what is planted in half of the worlds, and err as seldom as is
    due."""
    wrong = {"holds": "fails", "fails": "holds"}.get(truth)
    n_wrong = sum(one == wrong if wrong else one != truth for one in said)
    assert proportion_confint(n_wrong, len(said), method="wilson")[0] <= (0.025 if wrong else 0.05)
    assert sum(one == truth for one in said) >= 0.5 * len(said)


@pytest.mark.parametrize("truth", SIGNS)
def test_verdicts_err_as_seldom_as_is_due(rng, truth):
    source = np.repeat(np.arange(49), 8)
    worlds = pd.DataFrame(0.1 * SIGNS[truth] + draw_luck(rng, source, N_WORLDS))
    found = summarize_clustered(worlds, pd.Series(source))
    count_errors([judge_test(row.mean, row.p) for row in found.itertuples(index=False)], truth)
    weeks = 6.0 * SIGNS[truth] + rng.normal(0, 4, (1000, 7))
    count_errors(
        [judge_test(week.mean(), sign_flip_test(pd.Series(week))) for week in weeks], truth
    )


@pytest.mark.parametrize(
    ("truth", "agreement"), [("fit", 0.85), ("unfit", 0.0), ("inconclusive", 0.4)]
)
def test_a_judge_is_told_to_be_what_it_is(rng, truth, agreement):
    words = {"fit": "holds", "unfit": "fails", "inconclusive": "inconclusive"}
    said = []
    for _ in range(150):
        right = rng.random(60) < 0.5
        flags = np.where(rng.random(60) < agreement, right, rng.random(60) < 0.5)
        row = measure_judge(flags.tolist(), right, rng, 300, is_rule=True, is_fresh=True)
        said.append(words[row["verdict"]])
    count_errors(said, words[truth])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_study_says_which_way_a_planted_difference_goes(rng, sign):
    events = pd.DataFrame({"event_id": [f"e{at}" for at in range(200)], "agent_id": "a"})
    events = events.assign(kind="single", level=1, source_id=np.repeat(np.arange(25), 8))
    source = events.set_index("event_id")["source_id"]
    before, after, control = draw_luck(rng, source.to_numpy(), 3).T
    rows = events[["event_id", "agent_id"]].assign(metric="accuracy", is_scored=True)
    moments = [
        rows.assign(score=marks, score_imputed=marks) for marks in (before, after + 0.4 * sign)
    ]
    (row,) = compare_moments(*moments, events).to_dict("records")
    assert row["verdict"] == {1: "holds", -1: "fails"}[sign]
    has = rng.random(200) < 0.5
    table = events.assign(evidence=np.where(has, "values", ""), is_right=after + 0.4 * sign * has)
    gap = measure_evidence(table, pd.Series(control, source.index), source).set_index("of")
    assert gap.loc["agent minus control", "low" if sign > 0 else "high"] * sign > 0
