"""Agents that submit a causal graph beside the answer, and probabilities that are asked for in
words."""

import json
from functools import partial

import pandas as pd
import pytest
from builders import ENTRY, make_event, match, reply_with
from test_searching import OIL, World

from daybefore.agents.committed_runs import list_evidence
from daybefore.agents.graph_agents import (
    SCHEMA,
    ask_by_turns,
    ask_for_graph,
    ask_for_graph_with_pages,
    constrain_turn,
    forecast_with_graph,
    hold_submission,
)
from daybefore.agents.prompted_agents import Client, constrain_answer, keep_values, read_reply
from daybefore.agents.registry import PROMPTED, connect_agent
from daybefore.models.recordings import Recordings
from daybefore.prompts import read_prompt
from helpers.files import dump_json, parse_json

CUTS = {"title": "OPEC cuts", "date": "2016-10-11", "direction": "Positive"}
CUTS |= {"magnitude": 0.8, "confidence": 0.7}
EVENTS = [CUTS, CUTS | {"title": "Stocks fall", "direction": "Mixed"}]
EDGES = [{"cause": 1, "effect": 2, "relation": "Causes", "strength": 0.6, "confidence": 0.7}]
SAID = {"events": EVENTS, "edges": EDGES, "rationale": "Less oil, dearer oil."}
SAID |= {"sources": [2, 2, 9], "answer": "A", "probability": 0.7}
REST = {name: SAID[name] for name in SAID if name != "events"}
LOCAL = Client(None, "local/qwen", is_local=True)

dump = partial(json.dumps, separators=(",", ":"))


def submit(reach, provider, *contents, ask=ask_for_graph, event=None, world=None, **client):
    provider.answer = reply_with(*contents)
    return forecast_with_graph(ask, reach(**client), event or make_event(), world or World())


def test_a_submission_is_asked_for_under_its_schema_and_its_facts_stand_in_the_prediction(
    reach, provider
):
    made = [
        submit(reach, provider, dump(SAID | more), run_id=f"r{n}")["prediction"]
        for n, more in enumerate(({}, {"rationale": "Other words."}, {"edges": []}))
    ]
    asked = provider.asked[0]
    assert "2 to 10 things" in asked["messages"][0]["content"]
    form = {"name": "submission", "schema": SCHEMA, "strict": True}
    assert asked["response_format"]["json_schema"] == form
    found = [made[0][name] for name in ("value", "probability", "rationale")]
    assert found == ["A", 0.7, SAID["rationale"]]
    same, other, third = (one["graph_id"] for one in made)
    assert same == other != third and len(same) == 16


def test_passages_are_numbered_and_those_that_are_named_become_pages_that_are_cited(
    reach, provider
):
    outcome = submit(reach, provider, dump(SAID), ask=ask_for_graph_with_pages)
    said = provider.asked[0]["messages"][0]["content"]
    places = [said.index(words) for words in ("[1] Oil (", "[2] Rain (", "Question:")]
    assert places == sorted(places)
    assert outcome["prediction"]["source_ids"] == ["p1", "p2"]
    assert parse_json(outcome["reply"])["sources"] == ["p2"], "twice is once, and 9 is none"
    key = {"run_id": "r", "event_id": "e", "sample": 0}
    steps = [
        key | {"tool": step.get("tool"), "page_ids": dump_json(step.get("page_ids"))}
        for step in outcome["trace"]
    ]
    table = list_evidence(pd.DataFrame(steps), pd.DataFrame([key | {"reply": outcome["reply"]}]))
    assert table.set_index("page_id")["is_cited"].to_dict() == {"p1": False, "p2": True}


def test_turns_search_open_and_add_events_and_the_rest_is_asked_for_in_the_end(reach, provider):
    turn = {"thought": "", "action": "add_event", "input": "", "events": []}
    turns = [
        turn | {"action": "search", "input": "oil"},
        turn | {"action": "open", "input": OIL.url},
        turn | {"events": [CUTS, CUTS | {"direction": "Up"}]},
        turn,
        turn | {"events": EVENTS[1:]},
        turn | {"action": "answer"},
        REST | {"sources": [3]},
    ]
    outcome = submit(reach, provider, *map(dump, turns), ask=ask_by_turns)
    last = provider.asked[-1]
    seen = [message["content"] for message in last["messages"] if message["role"] == "user"]
    beginnings = ["[1] Oil (", "[3] Oil (", "Event 1 is added.\nNot added: 'Up'", "Nothing was"]
    for text, beginning in zip(seen[1:], beginnings, strict=False):
        assert text.startswith(beginning)
    assert "1. 2016-10-11: OPEC cuts\n2. 2016-10-11: Stocks fall\n" in seen[-1]
    assert "events" not in last["response_format"]["json_schema"]["schema"]["properties"]
    assert parse_json(outcome["reply"]) == SAID | {"sources": ["p1"]}
    assert outcome["prediction"]["value"] == "A"


@pytest.mark.parametrize(("content", "reason"), [
    ("I say A.", "'events' is a required property"),
    (dump(SAID | {"probability": 70, "answer": "?"}), "probability: 70 is greater than the maximum of 1"),
    (dump(SAID | {"probability": float("nan"), "answer": "?"}), "probability: None is not of type 'number'"),
    (dump(SAID | {"events": [CUTS | {"direction": "Up"}], "answer": "?"}), "events[0].direction: 'Up' is not"),
])  # fmt: skip
def test_a_reply_of_another_form_is_missing_with_the_place(reach, provider, content, reason):
    prediction = submit(reach, provider, content)["prediction"]
    assert prediction["value"] is None and prediction["status"] == "unparsable"
    assert reason in prediction["reason"] and "graph_id" not in prediction


def test_half_a_character_in_a_submission_is_a_reply_that_is_final(reach, provider):
    outcome = submit(reach, provider, dump(SAID).replace("OPEC cuts", r"OPEC \ud83d cuts"))
    assert outcome["prediction"]["value"] == "A" and outcome["prediction"]["graph_id"]


@pytest.mark.parametrize("columns", [{"window": "L"}, {"window": "P"}, {"keeps": "values"}])
def test_of_a_public_question_the_graphs_facts_are_kept_and_replay_the_same(
    reach, provider, columns
):
    event = make_event(**columns)
    live = submit(reach, provider, dump(SAID), ask=ask_for_graph_with_pages, event=event)
    again = forecast_with_graph(ask_for_graph_with_pages, reach(live=False), event, World())
    assert again == live and live["prediction"]["probability"] == 0.7
    (row,) = Recordings("mock").rows.values()
    kept = parse_json(row["content"])
    assert kept["events"][0]["magnitude"] == 0.8 and kept["edges"] == EDGES
    words = [word for word in ("OPEC", "dearer", "Oslo", "price of oil") if word in dump_json(row)]
    assert words == [] or "L" in columns.values()


# --- what a local model may write -------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "changes", "is_allowed"), [
    ("single", {}, True),
    ("single", {"answer": "C"}, False),
    ("single", {"events": EVENTS[:1]}, False),
    ("single", {"events": EVENTS * 2}, False),
    ("single", {"edges": EDGES * 2}, True),
    ("single", {"probability": 2}, False),
    ("single", {"rationale": 'a "quote"'}, False),
    ("single", {"rationale": "x" * 91}, False),
    ("number", {"answer": "-1.5"}, True),
    ("number", {"answer": "A"}, False),
    ("date", {"answer": "2016-10-01"}, True),
])  # fmt: skip
def test_a_local_model_is_held_to_a_grammar_of_few_events_and_the_kinds_answers(
    kind, changes, is_allowed
):
    grammar = hold_submission(LOCAL, make_event(kind), 0)["grammar"]
    assert match(grammar, dump(SAID | {"sources": []} | changes)) == is_allowed


def test_a_local_models_turns_are_held_to_a_grammar_and_its_rest_has_no_events(reach, provider):
    turn = {"thought": "So.", "action": "add_event", "input": "", "events": EVENTS[:1]}
    look = turn | {"action": "search", "input": "oil", "events": []}
    for searches in (True, False):
        grammar = constrain_turn(LOCAL, searches)["grammar"]
        assert [match(grammar, dump(one)) for one in (turn, look)] == [True, searches]
    grammar = hold_submission(LOCAL, make_event(), 3, has_events=False)["grammar"]
    assert [match(grammar, dump(one | {"sources": [3]})) for one in (REST, SAID)] == [True, False]
    submit(reach, provider, dump(SAID), is_local=True)
    assert "response_format" not in provider.asked[0]
    assert "2 to 3 things" in provider.asked[0]["messages"][0]["content"]


# --- probabilities in words -------------------------------------------------------------------------

LINE, FINAL = "Probabilities: A=0.2; B=0.8", r"Final answer: \boxed{B}"
PAIRS = [{"of": "A", "is": 0.2}, {"of": "B", "is": 0.8}]


@pytest.mark.parametrize("method", [name for name in PROMPTED if name != "deep_research"])
def test_every_method_asks_and_reads_probabilities_by_option(method, reach, provider):
    done = '{"name": "final_answer", "arguments": {"answer": "done"}}'
    said = dict.fromkeys(("react", "graph_turns", "search_graph_turns"), ["{}"])
    said |= {"research": ["{}", done], "orchestra": [done]}
    wanted = "probabilities_single"
    answer = f"{LINE}\n{FINAL}"
    if "graph" in method:
        wanted = "submission_probabilities"
        answer = dump(SAID | {"answer": "B", "distribution": PAIRS})
    provider.answer = reply_with(*said.get(method, []), answer)
    agent = connect_agent(ENTRY | {"method": method, "probabilities": True}, reach().door)
    prediction = agent["forecast"](make_event(), World())["prediction"]
    assert (prediction["value"], prediction["distribution"]) == ("B", {"A": 0.2, "B": 0.8})
    assert prediction["probability"] == 0.8
    asked = dump_json(provider.asked[-1]["messages"])
    assert dump_json(read_prompt(wanted).strip())[1:-1] in asked
    plain = connect_agent(ENTRY | {"method": method}, reach().door)
    assert plain["prompt_sha256"] != agent["prompt_sha256"]
    assert "probabilities" not in plain["params"], "agents that are not asked keep their runs"


def test_a_local_models_grammar_holds_the_line_and_of_a_public_question_no_word_but_it_is_kept():
    number = "Quantiles: 0.05=-1; 0.25=2; 0.5=3; 0.75=4; 0.95=8\nFinal answer: \\boxed{3}"
    asked = {"model": "m", "messages": [], "sample": 0, "options": {}}
    for kind, reply in (("single", f"{LINE}\n{FINAL}"), ("number", number)):
        event = make_event(kind, probabilities=True)
        assert match(constrain_answer(LOCAL, event)["grammar"], reply)
        row = {"key": "1f", "status": "ok", "content": f"Since it rains.\n{reply}"}
        kept = keep_values(event, row | {"request": asked})
        assert "rains" not in dump_json(kept)
        assert kept["read"] == read_reply(event, row) and kept["read"]["distribution"]
    submission = dump(SAID | {"sources": [], "distribution": PAIRS})
    assert match(hold_submission(LOCAL, make_event(probabilities=True), 0)["grammar"], submission)
