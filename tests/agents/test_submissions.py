"""Agents that submit a causal graph beside the answer, and probabilities that are asked for in words."""

import json

import pandas as pd
import pytest
from builders import AS_OF, make_event, match, reply_with
from test_searching import World

from helpers.agents.exports import list_evidence
from helpers.agents.prompted import constrain_answer, keep_values, read_reply
from helpers.agents.registry import PROMPTED, connect_agent
from helpers.agents.submissions import (
    N_EVENTS,
    N_LOCAL,
    SCHEMA,
    ask_for_graph,
    ask_for_graph_with_pages,
    fill_submission,
    forecast_with_graph,
    hold_submission,
    hold_turn,
)
from helpers.models.recordings import Recordings
from helpers.prompts import read_prompt
from helpers.store import dump_json, parse_json
from helpers.tables import list_columns

EVENTS = [
    {"title": "OPEC cuts", "date": "2016-10-11", "direction": "Positive", "magnitude": 0.8, "confidence": 0.7},
    {"title": "Stocks fall", "date": "2016-10-12", "direction": "Mixed", "magnitude": 1.0, "confidence": 0.5},
]
EDGES = [{"cause": 1, "effect": 2, "relation": "Causes", "strength": 0.6, "confidence": 0.7}]
SAID = {"events": EVENTS, "edges": EDGES, "rationale": "Less oil, dearer oil."}
SAID |= {"sources": [2, 2, 9], "answer": "A", "probability": 0.7}


def write(**changes):
    return json.dumps(SAID | changes, separators=(",", ":"))


def submit(reach, provider, *contents, ask=ask_for_graph, event=None, world=None, **client):
    provider.answer = reply_with(*contents)
    return forecast_with_graph(ask, reach(**client), event or make_event(), world or World())


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_the_question_alone_is_asked_for_a_submission_under_the_schema(reach, provider):
    world = World()
    outcome = submit(reach, provider, write(), world=world)
    (asked,) = provider.asked
    assert world.asked == [] and asked["messages"][0]["content"] == fill_submission(make_event(), N_EVENTS)
    assert asked["response_format"]["json_schema"] == {"name": "submission", "schema": SCHEMA, "strict": True}
    assert [step["step_type"] for step in outcome["trace"]] == ["prompt", "model", "answer"]
    assert all(set(step) <= set(list_columns("traces")) for step in outcome["trace"])
    assert set(outcome["prediction"]) <= {*list_columns("predictions")}


def test_passages_are_numbered_before_the_question_and_its_search_is_as_of_its_day(reach, provider):
    world = World()
    outcome = submit(reach, provider, write(), ask=ask_for_graph_with_pages, world=world)
    assert world.asked == [("search", make_event()["prompt"], AS_OF)]
    said = provider.asked[0]["messages"][0]["content"]
    assert said.index("[1] Oil (") < said.index("[2] Rain (") < said.index("Say {as_of}.") < said.index("Question:")
    assert outcome["prediction"]["source_ids"] == ["p1", "p2"]


def test_of_an_event_that_keeps_values_alone_the_graphs_facts_are_kept(reach, provider):
    client = reach()
    provider.answer = reply_with(write())
    forecast_with_graph(ask_for_graph, client, make_event() | {"keeps": "values"}, World())
    (row,) = client.door.recordings.rows.values()
    kept = parse_json(row["content"])
    assert [one["magnitude"] for one in kept["events"]] == [0.8, 1.0] and kept["edges"] == EDGES
    assert "OPEC" not in dump_json(row) and "dearer" not in dump_json(row)


# --- what a local model may write ------------------------------------------------------------------------------------


def allows(event, n_found=0, **changes):
    class Local:
        is_local = True

    return match(hold_submission(Local, event, n_found)["grammar"], write(sources=[], **changes))


def test_a_local_model_is_held_to_a_grammar_of_few_events_and_the_kinds_answers(reach, provider):
    assert allows(make_event()) and not allows(make_event(), answer="C") and not allows(make_event(), events=EVENTS[:1])
    assert not allows(make_event(), events=EVENTS * 2) and allows(make_event(), edges=EDGES * 2)
    assert allows(make_event("number", None), answer="-1.5") and allows(make_event("date", None), answer="2016-10-01")
    assert not allows(make_event("number", None), answer="A") and not allows(make_event(), probability=2)
    assert not allows(make_event(), rationale='a "quote"') and not allows(make_event(), rationale="x" * 91)
    submit(reach, provider, write(), is_local=True)
    (asked,) = provider.asked
    assert "response_format" not in asked and f"2 to {N_LOCAL} things" in asked["messages"][0]["content"]


def test_a_local_models_turns_are_held_to_a_grammar_and_its_rest_has_no_events(reach, provider):
    class Local:
        is_local = True

    turn = {"thought": "So.", "action": "add_event", "input": "", "events": EVENTS[:1]}
    look = turn | {"action": "search", "input": "oil", "events": []}
    for searches in (True, False):
        grammar = hold_turn(Local, searches)["grammar"]
        allowed = [match(grammar, json.dumps(one, separators=(",", ":"))) for one in (turn, look)]
        assert allowed == [True, searches]
    rest = json.dumps({name: SAID[name] for name in SAID if name != "events"} | {"sources": [3]}, separators=(",", ":"))
    grammar = hold_submission(Local, make_event(), 3, has_events=False)["grammar"]
    assert match(grammar, rest) and not match(grammar, write(sources=[3]))


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_the_prediction_has_value_probability_rationale_and_the_graphs_digest(reach, provider):
    prediction = submit(reach, provider, write())["prediction"]
    assert (prediction["value"], prediction["probability"]) == ("A", 0.7)
    assert prediction["rationale"] == "Less oil, dearer oil." and len(prediction["graph_id"]) == 16
    same = submit(reach, provider, write(rationale="Other words."), run_id="same")["prediction"]["graph_id"]
    other = submit(reach, provider, write(edges=[]), run_id="other")["prediction"]["graph_id"]
    assert same == prediction["graph_id"] != other


def test_sources_that_are_named_become_pages_that_are_cited(reach, provider):
    outcome = submit(reach, provider, write(), ask=ask_for_graph_with_pages)
    assert parse_json(outcome["reply"])["sources"] == ["p2"], "twice is once, and 9 is none"
    key = {"run_id": "r", "event_id": "e", "sample": 0}
    traces = pd.DataFrame(
        [key | {"step": n, "tool": None, "page_ids": None} | s for n, s in enumerate(outcome["trace"])]
    )
    traces["page_ids"] = [json.dumps(cell) if isinstance(cell, list) else None for cell in traces["page_ids"]]
    table = list_evidence(traces, pd.DataFrame([key | {"reply": outcome["reply"]}]))
    assert table.set_index("page_id")["is_cited"].to_dict() == {"p1": False, "p2": True}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("I say A.", "'events' is a required property"),
        (write(probability=70, answer="?"), "probability: 70 is greater than the maximum of 1"),
        (write(events=[EVENTS[0] | {"direction": "Up"}], answer="?"), "events[0].direction: 'Up' is not one of"),
        ("", "'events' is a required property"),
    ],
)
def test_a_reply_of_another_form_is_missing_with_the_place(reach, provider, content, reason):
    prediction = submit(reach, provider, content)["prediction"]
    assert (prediction["value"], prediction["status"]) == (None, "unparsable") and reason in prediction["reason"]
    assert "graph_id" not in prediction


def test_the_same_replies_replay_byte_for_byte_of_a_public_question_from_its_facts(reach, provider, tmp_path):
    for window in ("L", "P"):
        event = make_event(window=window)
        live = submit(reach, provider, write(), ask=ask_for_graph_with_pages, event=event, run_id=window)
        again = forecast_with_graph(ask_for_graph_with_pages, reach(live=False, run_id=window), event, World())
        assert again == live and live["prediction"]["value"] == "A" and live["prediction"]["probability"] == 0.7
    stored = dump_json([*Recordings("P").rows.values()])
    assert not any(word in stored for word in ("OPEC", "dearer", "Oslo", "price of oil")) and "2016-10-11" in stored


def test_half_a_character_in_a_submission_is_a_reply_that_is_final(reach, provider):
    outcome = submit(reach, provider, write().replace("OPEC cuts", r"OPEC \ud83d cuts"))
    assert outcome["prediction"]["value"] == "A" and outcome["prediction"]["graph_id"]


ENTRY = {"category": "base_model", "framework": "prompt", "model": "openai/mock-1", "probabilities": True}
LINE, FINAL = "Probabilities: A=0.2; B=0.8", r"Final answer: \boxed{B}"
PAIRS = [{"of": "A", "is": 0.2}, {"of": "B", "is": 0.8}]


@pytest.mark.parametrize("method", [name for name in PROMPTED if name != "deep_research"])
def test_every_method_asks_and_reads_probabilities_by_option(method, reach, provider):
    done = '{"name": "final_answer", "arguments": {"answer": "done"}}'
    said = dict.fromkeys(("react", "graph_turns", "search_graph_turns"), ["{}"])
    said |= {"research": ["{}", done], "orchestra": [done]}
    answer = json.dumps(SAID | {"answer": "B", "distribution": PAIRS}) if "graph" in method else f"{LINE}\n{FINAL}"
    provider.answer = reply_with(*said.get(method, []), answer)
    agent = connect_agent(ENTRY | {"method": method}, reach().door)
    prediction = agent["forecast"](make_event(), World())["prediction"]
    assert (prediction["value"], prediction["distribution"]) == ("B", {"A": 0.2, "B": 0.8})
    assert prediction["probability"] == 0.8
    asked = dump_json(provider.asked[-1]["messages"])
    wanted = "submission_probabilities" if "graph" in method else "probabilities_single"
    assert dump_json(read_prompt(wanted).strip())[1:-1] in asked
    plain = connect_agent(ENTRY | {"method": method, "probabilities": False}, agent["forecast"].args[1].door)
    assert (plain["prompt_sha256"], plain["params"]) != (agent["prompt_sha256"], agent["params"])
    assert "probabilities" not in plain["params"], "agents that are not asked keep their runs"


def test_a_local_models_grammar_holds_the_line_and_its_reply_is_read(reach):
    client = reach(is_local=True)
    for kind, options, reply in (
        ("single", '{"A":"Yes","B":"No"}', f"{LINE}\n{FINAL}"),
        ("number", None, "Quantiles: 0.05=-1; 0.25=2; 0.5=3; 0.75=4; 0.95=8\nFinal answer: \\boxed{3}"),
    ):
        event = make_event(kind, options) | {"probabilities": True}
        assert match(constrain_answer(client, event)["grammar"], reply)
        assert read_reply(event, {"content": reply, "logprobs": None})["distribution"]
    event = make_event() | {"probabilities": True}
    submission = json.dumps(SAID | {"sources": [], "distribution": PAIRS}, separators=(",", ":"))
    assert match(hold_submission(client, event, 0)["grammar"], submission)


def test_of_a_public_question_the_line_is_kept_and_no_word(reach, provider):
    event = make_event("single", probabilities=True)
    request = {"model": "m", "messages": [], "sample": 0, "options": {}}
    row = {"key": "1f", "status": "ok", "content": f"Since it rains.\n{LINE}\n{FINAL}", "request": request}
    kept = keep_values(event, row)
    assert "rains" not in dump_json(kept) and kept["read"] == read_reply(event, row)
