"""Graphs that agents submit: what is left out and why, recall by hand, conditions in pairs, and nothing recorded."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.agents.arms import load_arms
from helpers.agents.registry import load_entries
from helpers.events.series_pages import open_series
from helpers.store import dump_json, read_table
from helpers.worldreasoner import submissions
from helpers.worldreasoner.conditions import name_arm
from helpers.worldreasoner.hindsight.matching import MATCHERS
from helpers.worldreasoner.submissions import (
    CONDITIONS,
    METRICS,
    PAIRS,
    READINGS,
    compare_conditions,
    read_graph,
    recall_conditions,
    recall_events,
    score_conditions,
    split_conditions,
    split_recall,
    summarize_conditions,
)

EVENT = {"event_id": "q", "prompt": "Will it rise?\nA. Yes", "resolves_at": "2026-03-10T00:00:00+08:00"}
RISE = {"title": "rates cut", "date": "2026-02-01", "direction": "Positive", "magnitude": 0.8, "confidence": 0.7}
FALL = RISE | {"title": "oil falls", "date": "2026-02-03", "direction": "Negative"}
EDGE = {"cause": 1, "effect": 2, "relation": "Causes", "strength": 0.6, "confidence": 0.7}


def write(events=(RISE, FALL), edges=(EDGE,), **changes):
    said = {"rationale": "So.", "sources": [], "answer": "A", "probability": 0.8}
    return json.dumps({"events": list(events), "edges": list(edges)} | said | changes)


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_submission_becomes_a_graph_whose_outcome_is_a_node():
    graph, left = read_graph(write(edges=[EDGE, EDGE | {"cause": 2, "effect": 0, "relation": "Prevents"}]), EVENT)
    assert left == [] and [node["node_id"] for node in graph["nodes"]] == ["outcome", "e1", "e2"]
    assert [(edge["cause"], edge["effect"]) for edge in graph["edges"]] == [("e1", "e2"), ("e2", "outcome")]
    assert [impact["direction"] for impact in graph["impacts"]] == ["Positive", "Negative"]
    assert graph["nodes"][0]["title"] == "Will it rise?" and graph["nodes"][0]["occurred_at"] == "2026-03-10"


@pytest.mark.parametrize(
    ("change", "part", "reason"),
    [
        ({"events": [RISE, FALL | {"date": "2026-02-30"}]}, "events", "its date is no day"),
        ({"events": [RISE, FALL | {"date": "2026-03-11"}]}, "events", "it is after the outcome"),
        ({"events": [RISE, FALL | {"date": "1648-10-24"}]}, "events", "its date is too early"),
        ({"events": [RISE, FALL | {"date": "0001-01-01"}]}, "events", "its date is too early"),
        ({"events": [RISE, FALL, RISE]}, "events", "it is there already"),
        ({"events": [RISE, FALL | {"direction": "Neutral"}]}, "impacts", "it is Neutral and above 0.3"),
        ({"edges": [EDGE | {"effect": 9}]}, "edges", "it does not join two events"),
        ({"edges": [EDGE | {"cause": 2, "effect": 1}]}, "edges", "the cause is after its effect"),
        ({"edges": [EDGE | {"strength": -0.2}]}, "edges", "its strength is below 0.3"),
        ({"edges": [EDGE, EDGE]}, "edges", "it is there already"),
    ],
)
def test_what_may_not_stand_is_left_out_with_its_reason(change, part, reason):
    graph, left = read_graph(write(**change), EVENT)
    assert [(row[0], row[2]) for row in left if row[0] == part] == [(part, reason)] and graph is not None


def test_a_graph_of_thousands_of_events_is_read_and_matched():
    days = pd.date_range("2016-01-01", periods=3000).strftime("%Y-%m-%d")
    events = [RISE | {"title": f"step {at} of water", "date": days[0] if at % 2 else days[at]} for at in range(3000)]
    edges = [EDGE | {"cause": at, "effect": at + 2} for at in range(1, 2999)] + [EDGE | {"cause": 3000, "effect": 2}]
    graph, left = read_graph(write(events, edges), EVENT)
    assert (len(graph["nodes"]), len(graph["edges"])) == (3001, 2998)
    assert [row[2] for row in left] == ["it would close a circle"]
    hindsight = graph | {"nodes": graph["nodes"][:30], "edges": [], "impacts": graph["impacts"][:20]}
    assert recall_events({("r", "q"): graph}, [hindsight])["bound"].tolist() == [1.0]


@pytest.mark.parametrize(
    "reply", [None, "B", "{}", write(events=[]), write(events=[RISE | {"date": "soon"}], edges=[])]
)
def test_a_reply_without_an_event_that_stands_has_no_graph(reply):
    graph, left = read_graph(reply, EVENT)
    assert graph is None and (left or reply == write(events=[]))


# --- recall ----------------------------------------------------------------------------------------------------------


def make_reference(*events):
    nodes = [{"node_id": "o", "title": "end", "occurred_at": "2026-03-10", "source_ids": []}]
    nodes += [
        {"node_id": f"h{n}", "title": title, "occurred_at": day, "source_ids": []}
        for n, (title, day) in enumerate(events)
    ]
    impacts = [
        {"node_id": node["node_id"], "direction": "Positive", "magnitude": 0.9, "confidence": 0.9} for node in nodes[1:]
    ]
    return {"question_id": "q", "outcome_id": "o", "nodes": nodes, "edges": [], "impacts": impacts}


def test_recall_is_the_share_of_key_events_that_a_graph_names_near_their_day():
    reference = make_reference(("rates cut", "2026-02-08"), ("oil falls", "2026-02-20"))
    graphs = {("r", "q"): read_graph(write(), EVENT)[0], ("s", "q"): None}
    table = recall_events(graphs, [reference]).set_index("run_id")
    assert table.loc["r", ["n_key", "recall", "bound"]].tolist() == [2, 0.5, 0.5]  # the 20th is 17 days off
    no_graph = table.loc["s", ["n_key", "recall", "bound", "recall_graphs"]].astype(float)
    assert no_graph.tolist()[:3] == [2, 0, 0] and np.isnan(no_graph["recall_graphs"])
    assert recall_events(graphs, []).empty and recall_events({}, [reference]).empty
    assert recall_events({("s", "q"): None}, [reference])["recall"].tolist() == [0.0]


# --- conditions ------------------------------------------------------------------------------------------------------


def test_the_arms_of_the_repository_are_the_papers_six_conditions():
    entries = load_entries()
    found = set()
    for arm in (arm for arm in load_arms().values() if arm["window"] == "L"):
        agent, horizon = name_arm(arm)
        found.add(CONDITIONS.get((entries.get(agent, {}).get("method"), horizon)))
    assert found - {None} == set(CONDITIONS.values()) == {name for pair in PAIRS for name in pair}


def test_without_a_recording_every_row_says_none(monkeypatch):
    empty = [pd.DataFrame(columns=["run_id", "event_id", "agent_id", "horizon", "reply"])] * 3
    monkeypatch.setattr(submissions, "replay_horizons", lambda *_: empty)
    scores, left, references = score_conditions(pd.DataFrame(columns=["event_id"]), pd.DataFrame(), "local/qwen")
    means, compared = summarize_conditions(scores), compare_conditions(scores)
    assert left.empty and references == [] and (means["n"] == 0).all() and len(means) == 6 * len(READINGS)
    assert (compared["n"] == 0).all() and set(compared["verdict"]) == {"cannot tell"}
    assert len(compared) == len(PAIRS) * len(METRICS)


def make_scores(rise, n=48):
    """Scores of two conditions on questions of 12 sources, the first `rise` more often right than the second."""
    rows = []
    for at in range(n):
        for name, right in (("Causal Simulation", (at % 4) / 4 < 0.5 + rise), ("Vanilla", (at % 4) / 4 < 0.5)):
            row = {"run_id": name, "event_id": f"q{at}", "condition": name, "cluster": f"s{at // 4}"}
            rows.append(row | {"accuracy": float(right), "brier": 0.25 - 0.1 * right})
    return pd.DataFrame(rows).reindex(columns=["run_id", "event_id", "condition", "cluster", *METRICS])


def test_a_planted_gain_is_told_in_pairs_by_source_and_none_where_there_is_none():
    gain = compare_conditions(make_scores(0.25)).set_index(["metric", "a"])
    row = gain.loc[("accuracy", "Causal Simulation")]
    assert (row["n"], row["n_clusters"], row["difference"], row["verdict"]) == (48, 12, 0.25, "a is better")
    assert gain.loc[("brier", "Causal Simulation"), "verdict"] == "a is better", "less is better"
    assert set(compare_conditions(make_scores(0.0))["verdict"]) == {"cannot tell"}
    loss = compare_conditions(make_scores(-0.25)).set_index(["metric", "a"])
    assert loss.loc[("accuracy", "Causal Simulation"), "verdict"] == "b is better"
    means = summarize_conditions(make_scores(0.25)).set_index(["condition", "metric"])
    assert means.loc[("Vanilla", "accuracy"), ["mean", "n"]].tolist() == [0.5, 48]
    assert means.loc[("Near-Resolution", "accuracy"), "n"] == 0


@pytest.mark.parametrize(("more", "is_told"), [(0.3, True), (0.0, False)])
def test_what_right_and_wrong_forecasts_rest_on_makes_the_whole_and_a_planted_gap_is_told(more, is_told):
    scores = make_scores(0.0).assign(srcp_cited=np.nan)
    scores["recall"] = [0.2 + more * right + 0.01 * (at % 5) for at, right in enumerate(scores["accuracy"])]
    found = split_conditions(scores).set_index("condition")
    row = found.loc["Vanilla"]
    assert (row["metric"], row["n"], row["n_clusters"], row["share"]) == ("recall", 48, 12, 0.5)
    assert abs(row["gap"] - more) < 0.02 and abs(row["off"]) < 1e-12 and row["seen"] < 0.05
    assert (row["low"] > 0) == is_told and row["low"] < row["gap"] < row["high"]
    few = split_conditions(scores[scores["cluster"].isin(["s0", "s1"])]).set_index("condition").loc["Vanilla"]
    assert few[["low", "high", "seen"]].isna().all() and few["n_clusters"] == 2


def test_recall_stands_by_matcher_and_condition(monkeypatch):
    events = read_table("events", "L")
    event, keys = events.iloc[0], ["run_id", "agent_id", "horizon", "event_id", "reply"]
    told = write(events=[RISE | {"date": "2022-12-20"}], edges=[])
    replies = pd.DataFrame([("r", "qwen_graph", "Mid", event["event_id"], told)], columns=keys)
    monkeypatch.setattr(submissions, "replay_horizons", lambda *_: [replies] * 3)
    reference = make_reference((RISE["title"], "2023-01-20")) | {"question_id": event["event_id"]}
    found = recall_conditions(events, "local/qwen", [reference]).set_index(["metric", "matcher"])
    assert set(found["condition"]) == {"Causal Simulation"} and len(found) == 2 * len(MATCHERS)
    means = found["mean"]["recall"]
    assert means["no date gate"] == 1 and means["printed rule, authors' reading"] == 0, "a month off"


def test_recall_is_split_at_the_moment_of_asking(monkeypatch):
    events = read_table("events", "L")
    event, keys = events.iloc[0], ["run_id", "agent_id", "horizon", "event_id", "reply", "as_of"]
    day, spans = pd.Timestamp(event["as_of"][:10]), pd.to_timedelta([-20, 0, 20], "D")
    before, same, after = (str((day + span).date()) for span in spans)
    told = write(events=[RISE | {"date": before}, FALL | {"date": before}], edges=[])
    rows = pd.DataFrame([("r", "qwen_graph", "Mid", event["event_id"], told, event["as_of"])], columns=keys)
    monkeypatch.setattr(submissions, "replay_horizons", lambda *_: [rows] * 3)
    reference = make_reference((RISE["title"], before), (FALL["title"], same), (FALL["title"], after))
    reference |= {"question_id": event["event_id"]}
    found = split_recall(events, "local/qwen", [reference], {"printed": MATCHERS["printed rule, authors' reading"]})
    found = found.set_index("part")[["n_key", "n_matched", "n_with", "recall", "n_questions"]]
    assert found.loc["before"].tolist() == [1, 1, 1, 1.0, 1] and found.loc["after"].tolist() == [2, 0, 0, 0.0, 1]
    assert split_recall(events, "local/qwen", []).empty


def test_recorded_arms_are_scored_with_their_graphs_and_their_pages(monkeypatch):
    events, answers = read_table("events", "L"), read_table("answers", "L")
    event = events[events["source_id"] == "ecb_weeks"].iloc[0]
    own, other = (open_series().observe(name, event["as_of"])[1] for name in ("ecb_weeks", "cpi_months"))
    day = event["resolves_at"][:10]
    rows = []
    for agent in ("qwen_search_graph", "qwen_search_prompt", "last_value"):
        key = {"run_id": agent, "event_id": event["event_id"], "sample": 0, "agent_id": agent, "horizon": "Mid"}
        reply = write(events=[RISE | {"date": day}, FALL], edges=[], sources=[own])
        cells = {"as_of": event["as_of"], "value": dump_json("A"), "reply": reply, "step_type": "tool", "step": 0}
        rows.append(key | cells | {"tool": "search", "page_ids": dump_json([own, other]), "content": ""})
    monkeypatch.setattr(submissions, "replay_horizons", lambda *_: [pd.DataFrame(rows)] * 3)
    scores, _, references = score_conditions(events, answers, "local/qwen")
    found = scores.set_index("condition")
    assert set(found.index) == {"Search-Enabled Graph", "Search-Enabled"}
    row = found.loc["Search-Enabled Graph"]
    assert (row["srcp_cited"], row["srcp_accessed"], row["n_events"]) == (1.0, 0.5, 1)
    assert len(references) == 1 and np.isnan(found.loc["Search-Enabled", "recall"])
    assert np.isnan(found.loc["Search-Enabled", "srcp_cited"]), "who is not asked for sources cannot cite"
    assert found.loc["Search-Enabled", "srcp_accessed"] == 0.5
