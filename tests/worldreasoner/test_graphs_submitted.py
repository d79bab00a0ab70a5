"""Graphs that agents submit: what is left out and why, recall by hand, conditions in pairs, and
nothing recorded."""

import json

import pandas as pd
import pytest

from daybefore.questions.series_pages import open_series
from helpers.files import dump_json, read_table
from studies.worldreasoner.hindsight.graphs_by_rule import Hindsight
from studies.worldreasoner.source_precision import list_settling
from studies.worldreasoner.submissions import (
    METRICS,
    compare_conditions,
    read_graph,
    score_submissions,
)

EVENT = {
    "event_id": "q",
    "prompt": "Will it rise?\nA. Yes",
    "resolves_at": "2026-03-10T00:00:00+08:00",
}
RISE = {
    "title": "rates cut",
    "date": "2026-02-01",
    "direction": "Positive",
    "magnitude": 0.8,
    "confidence": 0.7,
}
FALL = RISE | {"title": "oil falls", "date": "2026-02-03", "direction": "Negative"}
EDGE = {"cause": 1, "effect": 2, "relation": "Causes", "strength": 0.6, "confidence": 0.7}


def write(events=(RISE, FALL), edges=(EDGE,), **changes):
    said = {"rationale": "So.", "sources": [], "answer": "A", "probability": 0.8}
    return json.dumps({"events": list(events), "edges": list(edges)} | said | changes)


def test_a_submission_becomes_a_graph_whose_outcome_is_a_node():
    graph, left = read_graph(
        write(edges=[EDGE, EDGE | {"cause": 2, "effect": 0, "relation": "Prevents"}]), EVENT
    )
    assert left == [] and [node["node_id"] for node in graph["nodes"]] == ["outcome", "e1", "e2"]
    assert [(edge["cause"], edge["effect"]) for edge in graph["edges"]] == [
        ("e1", "e2"),
        ("e2", "outcome"),
    ]
    assert [impact["direction"] for impact in graph["impacts"]] == ["Positive", "Negative"]
    assert (
        graph["nodes"][0]["title"] == "Will it rise?"
        and graph["nodes"][0]["occurred_at"] == "2026-03-10"
    )


@pytest.mark.parametrize(
    ("change", "part", "reason"),
    [
        ({"events": [RISE, FALL | {"date": "2026-02-30"}]}, "events", "its date is no day"),
        (
            {"events": [RISE, FALL | {"title": ">> oil falls"}]},
            "events",
            "its title names no change",
        ),
        ({"events": [RISE, FALL | {"date": "2026-03-11"}]}, "events", "it is after the outcome"),
        ({"events": [RISE, FALL | {"date": "0001-01-01"}]}, "events", "its date is too early"),
        ({"events": [RISE, FALL, RISE]}, "events", "it is there already"),
        (
            {"events": [RISE, FALL | {"direction": "Neutral"}]},
            "impacts",
            "it is Neutral and above 0.3",
        ),
        ({"edges": [EDGE, EDGE]}, "edges", "it is there already"),
    ],
)
def test_what_may_not_stand_is_left_out_with_its_reason(change, part, reason):
    graph, left = read_graph(write(**change), EVENT)
    assert [(row[0], row[2]) for row in left if row[0] == part] == [
        (part, reason)
    ] and graph is not None


@pytest.mark.parametrize(
    "reply", [None, "{}", write(events=[]), write(events=[RISE | {"date": "soon"}], edges=[])]
)
def test_a_reply_without_an_event_that_stands_has_no_graph(reply):
    graph, left = read_graph(reply, EVENT)
    assert graph is None and (left or reply == write(events=[]))


def make_scores(rise, n=48):
    """Scores of two conditions on questions of 12 sources, the first `rise` more often right than
    the second."""
    rows = []
    for at in range(n):
        for name, right in (
            ("Causal Simulation", (at % 4) / 4 < 0.5 + rise),
            ("Vanilla", (at % 4) / 4 < 0.5),
        ):
            row = {
                "run_id": name,
                "event_id": f"q{at}",
                "condition": name,
                "cluster": f"s{at // 4}",
            }
            rows.append(row | {"accuracy": float(right), "brier": 0.25 - 0.1 * right})
    return pd.DataFrame(rows).reindex(
        columns=["run_id", "event_id", "condition", "cluster", *METRICS]
    )


@pytest.mark.parametrize(
    ("rise", "verdict"), [(0.25, "a is better"), (0.0, "inconclusive"), (-0.25, "b is better")]
)  # of Brier scores less is better
def test_a_planted_gain_is_told_in_pairs_by_source_and_none_where_there_is_none(rise, verdict):
    rows = compare_conditions(make_scores(rise)).set_index(["a", "metric"]).loc["Causal Simulation"]
    row = rows.loc["accuracy"]
    assert (row["n"], row["n_clusters"], row["difference"], row["verdict"]) == (
        48,
        12,
        rise,
        verdict,
    )
    assert rows.loc["brier", "verdict"] == verdict and set(rows.loc[rows["n"] == 0, "verdict"]) == {
        "inconclusive"
    }


def test_a_search_is_scored_by_the_addresses_of_the_series_that_its_hindsight_graph_names():
    events, answers = read_table("events", "L"), read_table("answers", "L")
    event = events[events["source_id"] == "dengue_weeks"].iloc[0]
    own, other = (
        open_series().observe(name, event["as_of"])[1] for name in ("dengue_weeks", "cpi_months")
    )
    day, rows = event["resolves_at"][:10], []
    for condition, has_graph in (("Search-Enabled Graph", True), ("Search-Enabled", False)):
        key = {
            "run_id": condition,
            "event_id": event["event_id"],
            "sample": 0,
            "agent_id": condition,
        }
        reply = write(events=[RISE | {"date": day}, FALL], edges=[], sources=[own])
        cells = {
            "as_of": event["as_of"],
            "value": dump_json("A"),
            "reply": reply,
            "step_type": "tool",
            "step": 0,
        }
        cells |= {"condition": condition, "has_graph": has_graph, "has_sources": True}
        rows.append(
            key | cells | {"tool": "search", "page_ids": dump_json([own, other]), "content": ""}
        )
    scores, _, references = score_submissions(events, answers, *[pd.DataFrame(rows)] * 3)
    found = scores.set_index("condition")[["srcp_cited", "srcp_accessed", "recall"]]
    assert found.loc["Search-Enabled Graph"].tolist()[:2] == [1.0, 0.5] and len(references) == 1
    assert found.loc["Search-Enabled"].isna().tolist() == [True, False, True], (
        "who is not asked cannot cite"
    )
    assert found.loc["Search-Enabled", "srcp_accessed"] == 0.5
    named = {event["event_id"]: Hindsight({}, {}, ["cpi_months"])}
    assert list_settling(events, named, pd.DataFrame(rows)) == {event["event_id"]: {own, other}}
