"""Graphs: the form, the thresholds with their reasons, self-correction, depth."""

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
        {"node_id": f"n{at}", "title": f"Event {at}", "occurred_at": f"2026-01-{at % 28 + 1:02}"}
        | {"source_ids": sources[at::n_nodes]}
        for at in range(n_nodes)
    ]
    edges = [EDGE | {"cause": f"n{at}", "effect": f"n{at + 1}"} for at in range(chain)]
    graph = {"question_id": "q", "outcome_id": f"n{chain}", "nodes": nodes, "edges": edges}
    return graph | {"impacts": [IMPACT]} | changes


def with_edges(*added, day="2026-01-02"):
    """A valid graph with further edges, its second event on a day."""
    graph = make_graph()
    graph["nodes"][1]["occurred_at"] = day
    return graph | {"edges": [*graph["edges"], *added]}


BACK = EDGE | {"cause": "n3", "effect": "n1"}


@pytest.mark.parametrize(
    ("graph", "reasons"),
    [
        (make_graph(), ""),
        (make_graph(n_nodes=9), "nodes"),
        (make_graph(n_articles=19), "articles"),
        (make_graph(chain=2), "depth"),
        (make_graph(chain=0), "depth edges"),
        (make_graph(outcome_id=None), "depth"),
        (with_edges(BACK), "circle order depth"),
        (with_edges(BACK | {"strength": 0.1}), ""),  # a circle of edges that count
        (with_edges(day="2026-01-01"), ""),  # on the same day is in order,
        (with_edges(day=None), "order"),  # undated is not
    ],
)
def test_what_falls_short_is_named(graph, reasons):
    row = check_graph(graph)
    assert (row["reasons"], row["is_valid"]) == (reasons, not reasons)


def test_thousands_of_events_are_checked_though_their_paths_are_beyond_counting():
    graph = make_graph(n_nodes=3000, chain=2999)
    graph["edges"] += [EDGE | {"cause": f"n{n}", "effect": f"n{n + 2}"} for n in range(2998)]
    assert check_graph(graph)["depth"] == 2999


def test_weak_and_unsure_edges_are_taken_out_before_anything_counts():
    graph = make_graph(chain=4)
    graph["edges"][0] |= {"strength": -0.3, "confidence": 0.6}  # at the thresholds
    assert check_graph(graph)["n_edges"] == 4
    graph["edges"][0] |= {"strength": -0.29}
    graph["edges"][3] |= {"confidence": 0.59}
    row = check_graph(graph)
    assert (row["n_edges"], row["reasons"]) == (2, "depth")
    assert len(correct_edges(graph)["nodes"]) == 10


@pytest.mark.parametrize(
    ("change", "named"), [({"colour": 1}, "colour"), ({"outcome_id": "n99"}, "n99")]
)
def test_what_is_not_of_the_form_is_refused(change, named):
    with pytest.raises(ValueError, match=named):
        check_form(make_graph(**change))


def test_of_several_impacts_the_largest_counts():
    more = IMPACT | {"direction": "Negative", "magnitude": 0.9, "confidence": 0.5}
    mixed = IMPACT | {"node_id": "n1", "direction": "Mixed", "confidence": 1.0}
    table = tabulate_nodes([make_graph(impacts=[IMPACT, more, mixed])]).set_index("node_id")
    assert table.loc["n0", ["sign", "impact"]].tolist() == [-1.0, 0.45]
    assert table.loc["n1", ["sign", "impact"]].tolist() == [0.0, 0.5], "mixed has no sign"
    assert table["impact"].notna().sum() == 2 and table["is_outcome"].sum() == 1
