"""Graphs: the form, the thresholds with their reasons, self-correction, depth, and the authors'
cards."""

import pytest

from studies.worldreasoner.hindsight.graphs import (
    check_form,
    check_graph,
    correct_edges,
    tabulate_nodes,
)

EDGE = {"relation": "Causes", "strength": 0.5, "confidence": 0.8}
IMPACT = {"node_id": "n0", "direction": "Positive", "magnitude": 0.5, "confidence": 0.8}


def make_graph(n_nodes=10, n_articles=20, chain=3, **changes):
    """A valid graph: a chain of `chain` edges into the outcome, other nodes beside it."""
    sources = [f"s{at}" for at in range(n_articles)]
    nodes = [
        {"node_id": f"n{at}", "title": f"Event {at}", "occurred_at": f"2026-01-{at + 1:02}"}
        for at in range(n_nodes)
    ]
    nodes = [node | {"source_ids": sources[at::n_nodes]} for at, node in enumerate(nodes)]
    edges = [EDGE | {"cause": f"n{at}", "effect": f"n{at + 1}"} for at in range(chain)]
    graph = {
        "question_id": "q",
        "outcome_id": f"n{chain}",
        "nodes": nodes,
        "edges": edges,
        "impacts": [IMPACT],
    }
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
    nodes = [make_graph()["nodes"][0] | {"node_id": f"n{at}"} for at in range(3000)]
    ends = [(at, at + step) for step in (1, 2) for at in range(3000 - step)]
    edges = [EDGE | {"cause": f"n{one}", "effect": f"n{two}"} for one, two in ends]
    assert check_graph(make_graph(outcome_id="n2999", nodes=nodes, edges=edges))["depth"] == 2999


def test_weak_and_unsure_edges_are_taken_out_before_anything_counts():
    graph = make_graph(chain=4)
    graph["edges"][0] |= {
        "strength": -0.3,
        "confidence": 0.6,
    }  # at the thresholds; a negative strength is one
    assert check_graph(graph)["n_edges"] == 4
    graph["edges"][0] |= {"strength": -0.29}
    graph["edges"][3] |= {"confidence": 0.59}
    row = check_graph(graph)
    assert (row["n_edges"], row["reasons"]) == (2, "depth")
    assert len(correct_edges(graph)["nodes"]) == 10


def test_a_circle_and_a_cause_after_its_effect_are_named():
    graph, back = make_graph(), EDGE | {"cause": "n3", "effect": "n1"}
    row = check_graph(graph | {"edges": [*graph["edges"], back]})
    assert row["reasons"] == "circle order depth" and row["depth"] == 0
    weak = back | {"strength": 0.1}
    assert check_graph(graph | {"edges": [*graph["edges"], weak]})["is_valid"], (
        "a circle of edges that count"
    )
    for day, reasons in (
        ("2026-01-01", ""),
        (None, "order"),
    ):  # on the same day is in order, undated is not
        graph["nodes"][1]["occurred_at"] = day
        assert check_graph(graph)["reasons"] == reasons


@pytest.mark.parametrize(
    ("change", "named"), [({"colour": 1}, "colour"), ({"outcome_id": "n99"}, "n99")]
)
def test_what_is_not_of_the_form_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        check_form(make_graph(**change))


def test_of_several_impacts_the_largest_counts():
    more = IMPACT | {"direction": "Negative", "magnitude": 0.9, "confidence": 0.5}
    mixed = {"node_id": "n1", "direction": "Mixed", "magnitude": 0.9, "confidence": 1.0}
    table = tabulate_nodes([make_graph(impacts=[IMPACT, more, mixed])]).set_index("node_id")
    assert table.loc["n0", ["sign", "impact"]].tolist() == [-1.0, 0.45]
    assert table.loc["n1", ["sign", "impact"]].tolist() == [0.0, 0.9], "mixed has no sign"
    assert table["impact"].notna().sum() == 2 and table["is_outcome"].sum() == 1
