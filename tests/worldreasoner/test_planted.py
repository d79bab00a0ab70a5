"""A synthetic world with planted causes: what the measures must find in it."""

import numpy as np
import pandas as pd
import pytest

from helpers.worldreasoner.hindsight.graphs import tabulate_nodes
from helpers.worldreasoner.hindsight.matching import (
    flag_foreknown,
    match_events,
    measure_foresight,
    pick_key_events,
    score_recall,
)
from helpers.worldreasoner.hindsight.planted import (
    CHAIN,
    COPIERS,
    draw_question,
    forecast_events,
    judge_matches,
    share_matches,
)

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


def test_the_agent_that_copies_later_evidence_is_caught_and_the_honest_one_is_not(world):
    _, nodes, said = world
    pairs = match_events(nodes, said)
    flags = flag_foreknown(pairs[pairs["is_kept"]], nodes, said)
    share = flags["is_foreknown"].groupby(flags["run_id"].str.split().str[0]).agg(["mean", "size"])
    assert share.loc["copies", "mean"] > 0.9
    assert share.loc["honest", "mean"] < 0.05 and share.loc["honest", "size"] > 20
    assert (flags["day"] >= flags["as_of"]).all()


def test_who_changes_words_or_days_is_not_flagged_but_has_more_of_what_lay_ahead_than_guesses(world):
    questions, nodes, _ = world
    rng = np.random.default_rng(3)
    said = pd.concat(
        forecast_events(question, nodes[nodes["question_id"] == question["question_id"]], horizon, agent, rng)
        for question in questions
        for agent in ("honest", *COPIERS)
        for horizon in HORIZONS
    )
    pairs = match_events(nodes, said)
    flags = flag_foreknown(pairs[pairs["is_kept"]], nodes, said)
    same = flags["is_foreknown"].groupby(flags["run_id"].str.rsplit(" ", n=1).str[0]).mean()
    assert (
        same["copies"] > 0.9 > 0.7 > same["copies, 15% of words dropped"] > same["copies, 30% of words dropped"] > 0.1
    )
    assert same["copies, a day later"] == same["copies, dropped and later"] == same["honest"] == 0
    came = measure_foresight(pairs, said)
    share = came["share"].groupby(came["run_id"].str.rsplit(" ", n=1).str[0]).mean()  # moments weigh the same
    assert share.drop("honest").min() > share["honest"] + 0.02


def test_matches_of_an_honest_agent_are_mostly_of_the_events_it_tells_of(world):
    _, nodes, said = world
    honest = said[said["run_id"].str.startswith("honest")]
    pairs = match_events(nodes, honest)
    right = share_matches(judge_matches(pairs, nodes, honest), honest).mean()
    assert right["hits"] > 0.9 and right["false"] < 0.1
    shuffled = honest.assign(of_id=honest.groupby("question_id")["of_id"].shift(3))
    assert share_matches(judge_matches(pairs, nodes, shuffled), shuffled)["hits"].mean() < 0.3, "it can be low"
