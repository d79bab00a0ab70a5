"""Plan scores against outcomes, on made-up boards whose answer is known; plans of a made-up copy of the paper."""

import numpy as np
import pandas as pd
import pytest

from helpers import papers
from helpers.futurex import plan_scores as planning
from helpers.futurex.boards import COUNTS, SCORES, name_agent

MODELS = papers.load_published("futurex", "table5_planning_scores")["model"].tolist()
MEANS = [26 / 3, 10, 11 / 3, 17 / 3, 11 / 3, 5]  # of Table 5, by hand


def make_board(agents, alone):
    """A synthetic pooled board of the six models: every level has the given score, and many events."""
    rows = []
    for framework, scores in zip(planning.FRAMEWORKS.values(), (agents, alone), strict=True):
        for model, score in zip(MODELS, scores, strict=True):
            row = dict.fromkeys(["overall", *SCORES], score) | dict.fromkeys(COUNTS, 400)
            rows.append({"week": "overall", "agent_id": name_agent(model, framework)} | row)
    return pd.DataFrame(rows)


def find(table, system, criterion="mean", outcome="overall"):
    rows = table.set_index(["system", "outcome", "criterion"])
    return rows.loc[(system, outcome, criterion)]


def test_pairs_are_the_printed_scores_beside_both_boards():
    pairs = planning.pair_plans(make_board(range(10, 16), range(6)))
    assert pairs.index.tolist() == MODELS
    assert pairs["plan", "mean"].tolist() == pytest.approx(MEANS)
    assert (pairs["gain", "overall"] == 10).all()
    with pytest.raises(LookupError, match="gpt4.1 [|] llm is not on"):
        planning.pair_plans(make_board(range(6), range(6)).drop(index=6))


def test_planted_plan_and_planted_model():
    """Where plans decide, agents follow them and models alone do not; where models decide, both do."""
    plan = planning.pair_plans(make_board(MEANS, [3, 4, 5, 6, 1, 2]))
    found = planning.correlate_plans(plan)
    assert find(found, "agent")["rho"] == pytest.approx(1) and find(found, "agent")["p"] == pytest.approx(
        2 / 720
    )  # the tie either way
    assert abs(find(found, "model alone")["rho"]) < 0.5
    model = planning.pair_plans(make_board(MEANS, np.array(MEANS) - 1))
    assert find(planning.correlate_plans(model), "model alone")["rho"] == pytest.approx(1)
    assert planning.compare_systems(model)[0] == 0 and planning.compare_systems(model)[3] == 1
    assert planning.compare_systems(plan)[3] < planning.compare_systems(model)[3]


def test_holm_is_over_the_twenty_of_a_system():
    found = planning.correlate_plans(planning.pair_plans(make_board(MEANS, range(6))))
    agents = found[found["system"] == "agent"]
    assert len(agents) == 20 and agents["p_holm"].min() == pytest.approx(20 * agents["p"].min())
    assert (agents["n"] == 6).all() and agents["least_rho"].between(0.8, 0.9).all()


COPY = """... {first}
Question
What will it be?
{plans}{last}
C.1 More
"""
PLAN = """{model}
1. Facts survey
1.1. Facts given in the task
• It is
asked once.
45
2. Plan
1. Look at the
board.
2. Decide.
"""


def write_copy(models):
    plans = "".join(PLAN.format(model=model) for model in models)
    return COPY.format(first=planning.FIRST, last=planning.LAST, plans=plans)


def test_plans_are_read_from_a_copy_of_the_paper():
    plans = planning.read_plans(write_copy([model.upper() for model in MODELS]))
    assert plans["model"].tolist() == MODELS and set(plans["question"]) == {"What will it be?"}
    expected = "Facts survey:\nFacts given in the task:\n• It is asked once.\nSteps:\n1. Look at the board.\n2. Decide."
    assert plans["plan"].tolist() == [expected] * 6
    assert plans["n_words"].tolist() == [len(expected.split())] * 6
    with pytest.raises(ValueError, match="no appendix of plans"):
        planning.read_plans("a text")
    with pytest.raises(ValueError, match="has 5 plans"):
        planning.read_plans(write_copy(MODELS[1:]))
