"""A synthetic world with planted causes: what the measures must find in it."""

import numpy as np
import pandas as pd
import pytest

from helpers.worldreasoner.hindsight.graphs import check_form, tabulate_nodes
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
    PUSHES,
    draw_memory,
    draw_question,
    find_push,
    forecast_events,
    judge_edge,
    judge_matches,
    list_edges,
    list_pushes,
    name_series,
    pair_changes,
    share_matches,
    tell_articles,
)
from helpers.worldreasoner.scores import filter_pairs

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


def test_causal_edges_run_along_the_chain(world):
    for question in world[0]:
        graph = check_form(question["graph"])
        titles = {node["node_id"]: node["title"] for node in graph["nodes"]}
        causal = [edge for edge in graph["edges"] if edge["relation"] == "Causes"]
        names = [[titles[edge[end]] for end in ("cause", "effect")] for edge in causal]
        ways = {tuple(title.split(" rises")[0].split(" falls")[0] for title in pair) for pair in names}
        place = {name: at for at, name in enumerate(CHAIN)}
        assert causal and sum(place.get(one, 9) >= place.get(two, -1) for one, two in ways) <= 1


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


def test_foresight_counts_what_is_matched_one_to_one_and_lay_ahead():
    said = pd.DataFrame({"run_id": "r", "question_id": "q", "node_id": list("abc"), "day": [5.0, 9.0, np.nan]})
    pairs = pd.DataFrame({"run_id": "r", "question_id": "q", "forecast_id": list("ab"), "is_kept": [True, False]})
    found = measure_foresight(pairs, said.assign(as_of=5.0))
    assert found[["n_ahead", "n_came", "share"]].values.tolist() == [[2, 1, 0.5]], "undated events lie nowhere"


def test_contaminated_pairs_are_found():
    table = draw_memory(np.random.default_rng(2))
    questions = table.drop_duplicates("question_id")[["question_id", "opens_at"]]
    models = table.drop_duplicates("model")[["model", "cutoff"]]
    pairs = table.merge(filter_pairs(questions, models), on=["model", "question_id"])
    right = pairs.groupby(["model", "is_kept"])["is_right"].mean()
    for model in ("recalls to 2025-01", "recalls to 2025-08"):
        assert right[model, False] > 0.8 and right[model, True] < 0.65
    unknown = pairs[pairs["model"] == "says no cutoff"]
    assert unknown["is_kept"].all() and not unknown["is_filtered"].any()


def name_nodes(graph):
    return {node["node_id"]: name_series(graph, [node["node_id"]]) for node in graph["nodes"]}


def test_edges_by_rule_are_planted_directly_or_through_others_and_all_pushes_are_found(world):
    kinds, drawn, found = [], [], []
    for question in world[0]:
        edges = list_edges(question["graph"], name_nodes(question["graph"]))
        kinds += [judge_edge(edge) for edge in edges]
        drawn += pair_changes(question["graph"])
        found += [find_push(push, edges) for push in list_pushes(question["graph"])]
    shares = {name: [kind.count(name) / len(kind) for kind in (kinds, drawn)] for name in PUSHES}
    assert 0.3 < shares["directly"][0] < 0.7 and shares["through others"][0] > 0.2
    assert shares["directly"][0] > shares["directly"][1] + 0.2 and shares["not planted"][1] > 0.5
    assert len(found) > 20 and all(found)


def test_an_edge_of_several_series_counts_as_the_most_direct_and_a_push_needs_its_days():
    edge = ({"moth counts", "rainfall"}, "2026-03-01", {"ferry delays", "river level"}, "2026-03-02")
    assert judge_edge(edge) == "directly"
    assert judge_edge((edge[0], edge[1], {"ferry delays"}, edge[3])) == "through others"
    assert judge_edge(({"moth counts"}, edge[1], {"ferry delays"}, edge[3])) == "not planted"
    push = ({"rainfall"}, "2026-03-01", {"river level"}, "2026-03-02")
    assert find_push(push, [edge]) and not find_push((*push[:3], "2026-03-03"), [edge])


def test_articles_tell_of_the_series_of_their_change_and_not_of_the_outcome(world):
    graph = world[0][0]["graph"]
    articles = tell_articles(graph)
    assert len(articles) == 2 * (len(graph["nodes"]) - 1) and {
        len(name_series(graph, [a["id"]])) for a in articles
    } == {1}
    assert name_series(graph, [graph["outcome_id"]]) == set()


def test_matches_of_an_honest_agent_are_mostly_of_the_events_it_tells_of(world):
    _, nodes, said = world
    honest = said[said["run_id"].str.startswith("honest")]
    pairs = match_events(nodes, honest)
    right = share_matches(judge_matches(pairs, nodes, honest), honest).mean()
    assert right["hits"] > 0.9 and right["false"] < 0.1
    shuffled = honest.assign(of_id=honest.groupby("question_id")["of_id"].shift(3))
    assert share_matches(judge_matches(pairs, nodes, shuffled), shuffled)["hits"].mean() < 0.3, "it can be low"
