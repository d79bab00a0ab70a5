"""Graphs: the form, the thresholds with their reasons, self-correction, depth, and the authors' cards."""

import copy

import pytest

from helpers.worldreasoner.hindsight.graphs import check_form, check_graph, correct_edges, tabulate_nodes


def make_graph(n_nodes=10, n_articles=20, chain=3, **changes):
    """A valid graph: a chain of `chain` edges into the outcome, other nodes beside it."""
    ids = [f"n{at}" for at in range(n_nodes)]
    sources = [f"s{at}" for at in range(n_articles)]
    nodes = [
        {
            "node_id": name,
            "title": f"Event {at}",
            "occurred_at": f"2026-01-{at + 1:02}",
            "source_ids": sources[at::n_nodes],
        }
        for at, name in enumerate(ids)
    ]
    edges = [
        {"cause": one, "effect": two, "relation": "Causes", "strength": 0.5, "confidence": 0.8}
        for one, two in zip(ids[:chain], ids[1 : chain + 1], strict=True)
    ]
    impacts = [{"node_id": "n0", "direction": "Positive", "magnitude": 0.5, "confidence": 0.8}]
    graph = {"question_id": "q", "outcome_id": f"n{chain}", "nodes": nodes, "edges": edges, "impacts": impacts}
    return graph | changes


@pytest.mark.parametrize(
    ("graph", "reasons"),
    [
        (make_graph(n_nodes=9), "nodes"),
        (make_graph(n_articles=19), "articles"),
        (make_graph(chain=2), "depth"),
        (make_graph(chain=0), "depth edges"),
        (make_graph(outcome_id=None), "depth"),
    ],
)
def test_what_falls_short_is_named(graph, reasons):
    row = check_graph(graph)
    assert (row["reasons"], row["is_valid"]) == (reasons, False)


def test_thousands_of_events_are_checked_though_their_paths_are_beyond_counting():
    node, edge = make_graph()["nodes"][0], make_graph()["edges"][0]
    nodes = [node | {"node_id": f"n{at}"} for at in range(3000)]
    edges = [edge | {"cause": f"n{at}", "effect": f"n{at + step}"} for step in (1, 2) for at in range(3000 - step)]
    assert check_graph(make_graph(outcome_id="n2999", nodes=nodes, edges=edges))["depth"] == 2999


def test_weak_and_unsure_edges_are_taken_out_before_anything_counts():
    graph = make_graph(chain=4)
    graph["edges"][0] |= {"strength": -0.3, "confidence": 0.6}  # at the thresholds; a negative strength is one
    assert check_graph(graph)["n_edges"] == 4
    graph["edges"][0] |= {"strength": -0.29}
    graph["edges"][3] |= {"confidence": 0.59}
    row = check_graph(graph)
    assert (row["n_edges"], row["reasons"]) == (2, "depth")
    assert len(correct_edges(graph)["nodes"]) == 10


def test_a_circle_and_a_cause_after_its_effect_are_named():
    graph = make_graph()
    back = graph["edges"][0] | {"cause": "n3", "effect": "n1"}
    row = check_graph(graph | {"edges": [*graph["edges"], back]})
    assert row["reasons"] == "circle order depth" and row["depth"] == 0
    weak = back | {"strength": 0.1}
    assert check_graph(graph | {"edges": [*graph["edges"], weak]})["is_valid"], "a circle of edges that count"
    same = copy.deepcopy(graph)
    same["nodes"][1]["occurred_at"] = same["nodes"][0]["occurred_at"]
    assert check_graph(same)["is_valid"], "on the same day is in order"
    same["nodes"][1]["occurred_at"] = None
    assert check_graph(same)["reasons"] == "order", "undated is not"


@pytest.mark.parametrize("change", [{"colour": "red"}, {"nodes": "none"}, {"outcome_id": "n99"}])
def test_what_is_not_of_the_form_is_refused(change):
    with pytest.raises(ValueError, match=str(next(iter(change.values() if "outcome_id" in change else change)))):
        check_form(make_graph(**change))


def test_of_several_impacts_the_largest_counts():
    graph = make_graph()
    graph["impacts"] += [{"node_id": "n0", "direction": "Negative", "magnitude": 0.9, "confidence": 0.5}]
    graph["impacts"] += [{"node_id": "n1", "direction": "Mixed", "magnitude": 0.9, "confidence": 1.0}]
    table = tabulate_nodes([graph]).set_index("node_id")
    assert table.loc["n0", ["sign", "impact"]].tolist() == [-1.0, 0.45]
    assert table.loc["n1", ["sign", "impact"]].tolist() == [0.0, 0.9], "mixed has no sign"
    assert table["impact"].notna().sum() == 2 and table["is_outcome"].sum() == 1
