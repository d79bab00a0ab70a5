"""A synthetic world with planted causes: what the measures must find in it."""

import numpy as np
import pandas as pd
import pytest
from planted_world import CHAIN, draw_question, forecast_events

from helpers.worldreasoner.hindsight.graphs import tabulate_nodes
from helpers.worldreasoner.hindsight.matching import match_events, pick_key_events, score_recall

HORIZONS = ("Early", "Mid", "Late")


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(1)
    questions = [draw_question(f"q{at}", rng) for at in range(8)]
    nodes = tabulate_nodes([question["graph"] for question in questions])
    said = [
        forecast_events(question, nodes[nodes["question_id"] == question["question_id"]], horizon, agent, rng)
        for question in questions
        for agent in ("honest", "copies")
        for horizon in HORIZONS
    ]
    return questions, nodes, pd.concat(said)


def test_the_planted_causes_are_found_and_what_pushes_nothing_is_not(world):
    tests = pd.concat(question["tests"] for question in world[0])
    place = {name: at for at, name in enumerate(CHAIN)}
    ahead = tests["effect"].map(place) - tests["cause"].map(place)
    assert tests.loc[ahead == 1, "is_causal"].all()
    assert tests.loc[~(ahead >= 1), "is_causal"].mean() < 0.05


def test_recall_rises_as_evidence_is_revealed(world):
    _, nodes, said = world
    pairs = match_events(nodes, said)
    runs = said[["run_id", "question_id"]].drop_duplicates().assign(has_graph=True)
    recall = score_recall(pick_key_events(nodes), pairs, runs).groupby("run_id")["recall"].mean()
    early, mid, late = (recall[f"honest {horizon}"] for horizon in HORIZONS)
    assert early + 0.15 < mid < late and late > 0.7
    assert recall["copies Early"] > early + 0.3, "who sees what comes after has it early"
