"""Graphs that agents submit: what is left out and why, conditions in pairs, sources of a search."""

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

EVENT = {"event_id": "q", "prompt": "Will it rise?\nA. Yes", "resolves_at": "2026-03-10T00:00"}
RISE = {"title": "rates cut", "date": "2026-02-01", "direction": "Positive"}
RISE |= {"magnitude": 0.8, "confidence": 0.7}
FALL = RISE | {"title": "oil falls", "date": "2026-02-03", "direction": "Negative"}
EDGE = {"cause": 1, "effect": 2, "relation": "Causes", "strength": 0.6, "confidence": 0.7}


def write(events=(RISE, FALL), edges=(EDGE,), **changes):
    said = {"rationale": "So.", "sources": [], "answer": "A", "probability": 0.8}
    return json.dumps({"events": list(events), "edges": list(edges)} | said | changes)


def test_a_submission_becomes_a_graph_whose_outcome_is_a_node():
    last = EDGE | {"cause": 2, "effect": 0, "relation": "Prevents"}
    graph, left = read_graph(write(edges=[EDGE, last]), EVENT)
    assert left == [] and [node["node_id"] for node in graph["nodes"]] == ["outcome", "e1", "e2"]
    ends = [(edge["cause"], edge["effect"]) for edge in graph["edges"]]
    assert ends == [("e1", "e2"), ("e2", "outcome")]
    assert [impact["direction"] for impact in graph["impacts"]] == ["Positive", "Negative"]
    outcome = graph["nodes"][0]
    assert (outcome["title"], outcome["occurred_at"]) == ("Will it rise?", "2026-03-10")


@pytest.mark.parametrize(
    ("change", "part", "reason"),
    [
        ({"date": "2026-02-30"}, "events", "its date is no day"),
        ({"title": ">> oil falls"}, "events", "its title names no change"),
        ({"date": "2026-03-11"}, "events", "it is after the outcome"),
        ({"date": "0001-01-01"}, "events", "its date is too early"),
        (RISE, "events", "it is there already"),
        ({"direction": "Neutral"}, "impacts", "it is Neutral and above 0.3"),
        ({}, "edges", "it is there already"),
    ],
)
def test_what_may_not_stand_is_left_out_with_its_reason(change, part, reason):
    graph, left = read_graph(write([RISE, FALL | change], [EDGE, EDGE]), EVENT)
    assert [row[2] for row in left if row[0] == part][:1] == [reason] and graph is not None


@pytest.mark.parametrize(
    "reply", [None, "{}", write(events=[]), write(events=[RISE | {"date": "soon"}], edges=[])]
)
def test_a_reply_without_an_event_that_stands_has_no_graph(reply):
    graph, left = read_graph(reply, EVENT)
    assert graph is None and (left or reply == write(events=[]))


@pytest.mark.parametrize(
    ("rise", "verdict"), [(0.25, "a is better"), (0.0, "inconclusive"), (-0.25, "b is better")]
)
def test_a_planted_gain_is_told_in_pairs_by_source_and_none_where_there_is_none(rise, verdict):
    """48 questions of 12 sources, on `rise` more of which a condition is right than Vanilla."""
    rows = pd.DataFrame({"at": range(48)})
    rows = rows.assign(event_id=rows["at"].map("q{}".format), cluster=rows["at"] // 4)
    parts = []
    for name, share in {"Causal Simulation": 0.5 + rise, "Vanilla": 0.5}.items():
        right = (rows["at"] % 4 / 4 < share).astype(float)
        parts.append(rows.assign(condition=name, accuracy=right, brier=0.25 - 0.1 * right))
    scores = pd.concat(parts).reindex(columns=["event_id", "condition", "cluster", *METRICS])
    found = compare_conditions(scores).set_index(["a", "metric"]).loc["Causal Simulation"]
    row = found.loc["accuracy", ["n", "n_clusters", "difference", "verdict"]].tolist()
    assert row == [48, 12, rise, verdict]
    assert found.loc["brier", "verdict"] == verdict, "of Brier scores less is better"
    assert set(found.loc[found["n"] == 0, "verdict"]) == {"inconclusive"}


def test_a_search_is_scored_by_the_addresses_of_the_series_that_its_hindsight_graph_names():
    events, answers = read_table("events", "L"), read_table("answers", "L")
    event = events[events["source_id"] == "dengue_weeks"].iloc[0]
    series = open_series()
    own, other = (series.observe(one, event["as_of"])[1] for one in ("dengue_weeks", "cpi_months"))
    reply = write([RISE | {"date": event["resolves_at"][:10]}, FALL], [], sources=[own])
    row = {"event_id": event["event_id"], "sample": 0, "as_of": event["as_of"], "reply": reply}
    row |= {"value": dump_json("A"), "step": 0, "tool": "search", "has_sources": True}
    rows = pd.DataFrame([row | {"page_ids": dump_json([own, other])}] * 2)
    rows["run_id"] = rows["agent_id"] = rows["condition"] = ["graph", "search"]
    rows["has_graph"] = [True, False]
    scores, _, references = score_submissions(events, answers, rows, rows, rows)
    found = scores.set_index("condition")[["srcp_cited", "srcp_accessed", "recall"]]
    assert found.loc["graph"].tolist()[:2] == [1.0, 0.5] and len(references) == 1
    assert found.loc["search", "srcp_accessed"] == 0.5
    assert found.loc["search"].isna().tolist() == [True, False, True], "not asked for, so not cited"
    named = {event["event_id"]: Hindsight({}, {}, ["cpi_months"])}
    assert list_settling(events, named, rows) == {event["event_id"]: {own, other}}
