"""Agents that submit a causal graph beside the answer, and probabilities that are asked for in
words."""

import json
from functools import partial

import pandas as pd
import pytest
from builders import AS_OF, make_event, match, reply_with
from test_searching import OIL, World

from daybefore.agents.exports import list_evidence
from daybefore.agents.prompted import Client, constrain_answer, keep_values, read_reply
from daybefore.agents.registry import PROMPTED, connect_agent
from daybefore.agents.submissions import (
    SCHEMA,
    ask_by_turns,
    ask_for_graph,
    ask_for_graph_with_pages,
    constrain_turn,
    forecast_with_graph,
    hold_submission,
)
from daybefore.models.recordings import Recordings
from daybefore.prompts import read_prompt
from helpers.files import dump_json, parse_json

EVENTS = [
    {
        "title": "OPEC cuts",
        "date": "2016-10-11",
        "direction": "Positive",
        "magnitude": 0.8,
        "confidence": 0.7,
    },
    {
        "title": "Stocks fall",
        "date": "2016-10-12",
        "direction": "Mixed",
        "magnitude": 1.0,
        "confidence": 0.5,
    },
]
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
    world = World()
    outcome = submit(reach, provider, dump(SAID), world=world)
    (asked,) = provider.asked
    assert world.asked == [] and "2 to 10 things" in asked["messages"][0]["content"]
    assert asked["response_format"]["json_schema"] == {
        "name": "submission",
        "schema": SCHEMA,
        "strict": True,
    }
    prediction = outcome["prediction"]
    assert (prediction["value"], prediction["probability"], prediction["rationale"]) == (
        "A",
        0.7,
        SAID["rationale"],
    )
    same = submit(reach, provider, dump(SAID | {"rationale": "Other words."}), run_id="same")[
        "prediction"
    ]["graph_id"]
    other = submit(reach, provider, dump(SAID | {"edges": []}), run_id="other")["prediction"][
        "graph_id"
    ]
    assert same == prediction["graph_id"] != other and len(same) == 16


def test_passages_are_numbered_and_those_that_are_named_become_pages_that_are_cited(
    reach, provider
):
    world = World()
    outcome = submit(reach, provider, dump(SAID), ask=ask_for_graph_with_pages, world=world)
    assert world.asked == [("search", make_event()["prompt"], AS_OF)]
    said = provider.asked[0]["messages"][0]["content"]
    assert (
        said.index("[1] Oil (")
        < said.index("[2] Rain (")
        < said.index("Say {as_of}.")
        < said.index("Question:")
    )
    assert outcome["prediction"]["source_ids"] == ["p1", "p2"]
    assert parse_json(outcome["reply"])["sources"] == ["p2"], "twice is once, and 9 is none"
    key = {"run_id": "r", "event_id": "e", "sample": 0}
    traces = pd.DataFrame(
        [
            key | {"tool": s.get("tool"), "page_ids": dump_json(s.get("page_ids"))}
            for s in outcome["trace"]
        ]
    )
    table = list_evidence(traces, pd.DataFrame([key | {"reply": outcome["reply"]}]))
    assert table.set_index("page_id")["is_cited"].to_dict() == {"p1": False, "p2": True}


def test_turns_search_open_and_add_events_and_the_rest_is_asked_for_in_the_end(reach, provider):
    turn = {"thought": "", "action": "add_event", "input": "", "events": []}
    bad = EVENTS[0] | {"direction": "Up"}
    turns = [
        turn | {"action": "search", "input": "oil"},
        turn | {"action": "open", "input": OIL.url},
    ]
    turns += [
        turn | {"events": [EVENTS[0], bad]},
        turn,
        turn | {"events": EVENTS[1:]},
        turn | {"action": "answer"},
    ]
    outcome = submit(
        reach, provider, *map(dump, [*turns, REST | {"sources": [3]}]), ask=ask_by_turns
    )
    seen = [
        message["content"]
        for message in provider.asked[-1]["messages"]
        if message["role"] == "user"
    ]
    assert (
        seen[1].startswith("[1] Oil (")
        and "\n\n[2] Rain (" in seen[1]
        and seen[2].startswith("[3] Oil (")
    )
    assert seen[3].startswith("Event 1 is added.\nNot added: 'Up' is not one of") and seen[
        4
    ].startswith("Nothing was")
    assert "1. 2016-10-11: OPEC cuts\n2. 2016-10-12: Stocks fall\n" in seen[-1]
    assert (
        "events" not in provider.asked[-1]["response_format"]["json_schema"]["schema"]["properties"]
    )
    assert (
        parse_json(outcome["reply"]) == SAID | {"sources": ["p1"]}
        and outcome["prediction"]["value"] == "A"
    )


@pytest.mark.parametrize(("content", "reason"), [
    ("I say A.", "'events' is a required property"),
    (dump(SAID | {"probability": 70, "answer": "?"}), "probability: 70 is greater than the maximum of 1"),
    (dump(SAID | {"probability": float("nan"), "answer": "?"}), "probability: None is not of type 'number'"),
    (dump(SAID | {"events": [EVENTS[0] | {"direction": "Up"}], "answer": "?"}), "events[0].direction: 'Up' is not"),
])  # fmt: skip
def test_a_reply_of_another_form_is_missing_with_the_place(reach, provider, content, reason):
    prediction = submit(reach, provider, content)["prediction"]
    assert (prediction["value"], prediction["status"]) == (
        None,
        "unparsable",
    ) and reason in prediction["reason"]
    assert "graph_id" not in prediction


def test_half_a_character_in_a_submission_is_a_reply_that_is_final(reach, provider):
    outcome = submit(reach, provider, dump(SAID).replace("OPEC cuts", r"OPEC \ud83d cuts"))
    assert outcome["prediction"]["value"] == "A" and outcome["prediction"]["graph_id"]


def test_of_a_public_question_the_graphs_facts_are_kept_and_replay_the_same(reach, provider):
    for number, columns in enumerate(({"window": "L"}, {"window": "P"}, {"keeps": "values"})):
        event, run_id = make_event(**columns), f"r{number}"
        live = submit(
            reach, provider, dump(SAID), ask=ask_for_graph_with_pages, event=event, run_id=run_id
        )
        again = forecast_with_graph(
            ask_for_graph_with_pages, reach(live=False, run_id=run_id), event, World()
        )
        assert (
            again == live
            and live["prediction"]["value"] == "A"
            and live["prediction"]["probability"] == 0.7
        )
    for run_id in ("r1", "r2"):
        (row,) = Recordings(run_id).rows.values()
        kept, stored = parse_json(row["content"]), dump_json(row)
        assert [one["magnitude"] for one in kept["events"]] == [0.8, 1.0] and kept["edges"] == EDGES
        assert (
            not any(word in stored for word in ("OPEC", "dearer", "Oslo", "price of oil"))
            and "2016-10-11" in stored
        )


# --- what a local model may write -------------------------------------------------------------------


@pytest.mark.parametrize(("event", "changes", "is_allowed"), [
    (make_event(), {}, True),
    (make_event(), {"answer": "C"}, False),
    (make_event(), {"events": EVENTS[:1]}, False),
    (make_event(), {"events": EVENTS * 2}, False),
    (make_event(), {"edges": EDGES * 2}, True),
    (make_event(), {"probability": 2}, False),
    (make_event(), {"rationale": 'a "quote"'}, False),
    (make_event(), {"rationale": "x" * 91}, False),
    (make_event("number", None), {"answer": "-1.5"}, True),
    (make_event("number", None), {"answer": "A"}, False),
    (make_event("date", None), {"answer": "2016-10-01"}, True),
])  # fmt: skip
def test_a_local_model_is_held_to_a_grammar_of_few_events_and_the_kinds_answers(
    event, changes, is_allowed
):
    assert (
        match(hold_submission(LOCAL, event, 0)["grammar"], dump(SAID | {"sources": []} | changes))
        == is_allowed
    )


def test_a_local_models_turns_are_held_to_a_grammar_and_its_rest_has_no_events(reach, provider):
    turn = {"thought": "So.", "action": "add_event", "input": "", "events": EVENTS[:1]}
    look = turn | {"action": "search", "input": "oil", "events": []}
    for searches in (True, False):
        grammar = constrain_turn(LOCAL, searches)["grammar"]
        assert [match(grammar, dump(one)) for one in (turn, look)] == [True, searches]
    grammar = hold_submission(LOCAL, make_event(), 3, has_events=False)["grammar"]
    assert match(grammar, dump(REST | {"sources": [3]})) and not match(
        grammar, dump(SAID | {"sources": [3]})
    )
    submit(reach, provider, dump(SAID), is_local=True)
    assert (
        "response_format" not in provider.asked[0]
        and "2 to 3 things" in provider.asked[0]["messages"][0]["content"]
    )


# --- probabilities in words -------------------------------------------------------------------------

ENTRY = {"category": "base_model", "framework": "prompt", "model": "openai/mock-1"}
LINE, FINAL = "Probabilities: A=0.2; B=0.8", r"Final answer: \boxed{B}"
PAIRS = [{"of": "A", "is": 0.2}, {"of": "B", "is": 0.8}]


@pytest.mark.parametrize("method", [name for name in PROMPTED if name != "deep_research"])
def test_every_method_asks_and_reads_probabilities_by_option(method, reach, provider):
    done = '{"name": "final_answer", "arguments": {"answer": "done"}}'
    said = dict.fromkeys(("react", "graph_turns", "search_graph_turns"), ["{}"])
    said |= {"research": ["{}", done], "orchestra": [done]}
    answer = (
        dump(SAID | {"answer": "B", "distribution": PAIRS})
        if "graph" in method
        else f"{LINE}\n{FINAL}"
    )
    provider.answer = reply_with(*said.get(method, []), answer)
    door = reach().door
    agent, plain = (
        connect_agent(ENTRY | {"method": method, "probabilities": states}, door)
        for states in (True, False)
    )
    prediction = agent["forecast"](make_event(), World())["prediction"]
    assert (prediction["value"], prediction["distribution"]) == ("B", {"A": 0.2, "B": 0.8})
    assert prediction["probability"] == 0.8
    asked = dump_json(provider.asked[-1]["messages"])
    wanted = "submission_probabilities" if "graph" in method else "probabilities_single"
    assert dump_json(read_prompt(wanted).strip())[1:-1] in asked
    assert (plain["prompt_sha256"], plain["params"]) != (agent["prompt_sha256"], agent["params"])
    assert "probabilities" not in plain["params"], "agents that are not asked keep their runs"


def test_a_local_models_grammar_holds_the_line_and_of_a_public_question_no_word_but_it_is_kept():
    number = "Quantiles: 0.05=-1; 0.25=2; 0.5=3; 0.75=4; 0.95=8\nFinal answer: \\boxed{3}"
    for event, reply in ((make_event(), f"{LINE}\n{FINAL}"), (make_event("number", None), number)):
        event["probabilities"] = True
        assert match(constrain_answer(LOCAL, event)["grammar"], reply)
        row = {"key": "1f", "status": "ok", "content": f"Since it rains.\n{reply}"}
        kept = keep_values(
            event, row | {"request": {"model": "m", "messages": [], "sample": 0, "options": {}}}
        )
        assert (
            "rains" not in dump_json(kept)
            and kept["read"] == read_reply(event, row)
            and kept["read"]["distribution"]
        )
    submission = dump(SAID | {"sources": [], "distribution": PAIRS})
    assert match(hold_submission(LOCAL, make_event(probabilities=True), 0)["grammar"], submission)
