"""Open deep research: a manager and search agent, through the door, against a provider on loopback."""

import json
import time
from functools import partial

import pytest

from helpers.agents.prompts import fill_prompt
from helpers.agents.registry import connect_agent, load_entries
from helpers.agents.research import N_LOOK_UPS
from helpers.agents.workers import make_rows

ENTRY = load_entries()["qwen_research"]
NATIVE = ENTRY | {"model": "openai/mock-1"}
PLAN = json.dumps({"facts_given": "a", "facts_to_look_up": "b", "facts_to_derive": "c", "plan": ["look", "weigh"]})
FINAL = "Final answer: \\boxed{B}"
LAST = "Commit yourself now"


@pytest.fixture(scope="module")
def event(collected):
    events = collected[0]
    return events[(events["kind"] == "single") & events["options"].str.contains('"C"')].iloc[0].to_dict()


@pytest.fixture
def research(world, event, knock, provider):
    """A function that puts an agent to the event: its outcome, and what the provider was asked.

    `say(said, tools)` gives the provider's reply to a request whose last message is `said`.
    """

    def run(say, entry=NATIVE, live=True):
        provider.answer = lambda asked: say(asked["messages"], [t["function"]["name"] for t in asked.get("tools", [])])
        n_before = len(provider.asked)
        outcome = connect_agent(entry, knock(live, deadline_s=30))["forecast"](event, world())
        return outcome, provider.asked[n_before:]

    return run


def call(name, **arguments):
    """A reply that calls a tool in the provider's way, with an id that is never the same."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    made = {"id": f"call_{time.monotonic_ns()}", "type": "function", "function": function}
    return {"content": None, "tool_calls": [made]}


def reply(messages, tools, *, queries=("crude oil spot price", "oil-brent bulletins"), n_delegations=2):
    """Reply as a model that does all as planned; it tells the two agents apart by what they are offered."""
    said = messages[-1]["content"]
    n_before = sum(message["role"] == "assistant" for message in messages)
    if LAST in said:
        return {"content": FINAL}
    if not tools:
        return {"content": PLAN} if n_before == 0 else {"content": "It was 47.82 on 10 October."}
    if "search_agent" in tools:
        return (
            call("search_agent", task=f"Find it {n_before}")
            if n_before <= n_delegations
            else call("final_answer", answer="It will rise.")
        )
    return call("search", query=queries[n_before])


def list_steps(outcome, *columns):
    return [tuple(step.get(column) for column in columns) for step in outcome["trace"]]


# --- the whole flow --------------------------------------------------------------------------------------------------


def test_the_manager_plans_delegates_and_answers(research, event):
    outcome, asked = research(reply)
    assert (outcome["prediction"]["value"], outcome["reply"]) == ("B", FINAL)
    look_up = [("model", "search", None), ("tool", "search", "search")]
    delegation = [("model", "manager", None), *look_up * N_LOOK_UPS, ("model", "search", None)]
    delegation += [("tool", "manager", "search_agent")]
    assert list_steps(outcome, "step_type", "actor", "tool") == [
        ("prompt", None, None),
        ("model", "manager", None),
        ("plan", "manager", None),
        *delegation * 2,
        ("model", "manager", None),
        ("model", "manager", None),
        ("answer", None, None),
    ]
    plan = next(step for step in outcome["trace"] if step["step_type"] == "plan")
    assert (plan["content"], plan["error"]) == (PLAN, None)
    delegated = [step for step in outcome["trace"] if step.get("tool") == "search_agent"]
    assert [step["arguments"] for step in delegated] == [{"task": "Find it 1"}, {"task": "Find it 2"}]
    assert {step["content"] for step in delegated} == {"It was 47.82 on 10 October."}
    pages = [step["page_ids"] for step in outcome["trace"] if step.get("tool") == "search"]
    assert pages[0] and outcome["prediction"]["source_ids"] == sorted({page for found in pages for page in found})
    assert len(asked) == len([step for step in outcome["trace"] if step["step_type"] == "model"])
    make_rows(("run", "agent"), event, outcome)  # raises for a column that the traces table lacks


# --- what models and providers do wrong ------------------------------------------------------------------------------


def test_a_call_that_cannot_be_made_is_told_to_the_model_and_the_question_goes_on(research):
    def say(messages, tools):
        said, n_before = messages[-1]["content"], sum(message["role"] == "assistant" for message in messages)
        if "search_agent" in tools and n_before == 1:
            return call("browse", url="x")
        if "search_agent" in tools and n_before == 2:
            assert "Unknown tool browse" in said
            return call("search_agent", question="x")
        if "search_agent" in tools:
            assert "Argument question is not in the tool's input schema" in said
            return {"content": '{"name": "search_agent", "arguments": {"task"'}
        return reply(messages, tools)

    outcome, asked = research(say)
    assert outcome["prediction"]["value"] == "B"
    wrong = [step for step in outcome["trace"] if step["step_type"] == "tool"]
    assert [(step.get("tool"), step["error"]) for step in wrong] == [
        ("browse", "not a call"),
        ("search_agent", "not a call"),
        (None, "not a call"),
    ]
    assert "Error while parsing tool call" in asked[-1]["messages"][-1]["content"], "the last was told as well"


# --- a manager with a planner, a researcher and an analyst -----------------------------------------------------------

ORCHESTRA = NATIVE | {"method": "orchestra", "max_lookups": 1}
TEAM = {"planner": "You plan", "researcher": "You look things up", "analyst": "You weigh"}
"""How the prompt of each of the manager's agents begins."""


def say_in_team(messages, tools, *, n_calls=3):
    """Reply as a manager that calls each of its team in turn, and as the team."""
    n_before = sum(message["role"] == "assistant" for message in messages)
    if LAST in messages[-1]["content"]:
        return {"content": FINAL}
    if "planner" in tools:
        name = list(TEAM)[n_before % 3]
        return call(name, task=f"{name}'s task") if n_before < n_calls else call("final_answer", answer="It will rise.")
    if tools:
        return call("search", query="crude oil spot price")
    role = next(
        name for name, word in zip(TEAM, ("plan", "look", "weigh"), strict=True) if f"You {word}" in str(messages)
    )
    return {"content": f"report of the {role}"}


def test_a_manager_sends_out_its_team_and_each_knows_what_it_should(research, event):
    outcome, asked = research(say_in_team, entry=ORCHESTRA)
    assert (outcome["prediction"]["value"], outcome["reply"]) == ("B", FINAL)
    steps = list_steps(outcome, "actor", "tool", "content")
    assert [step[:2] for step in steps if step[1]] == [
        *[("manager", "planner"), ("researcher", "search"), ("manager", "researcher"), ("manager", "analyst")]
    ]
    assert [step[2] for step in steps if step[1] in TEAM] == [f"report of the {name}" for name in TEAM]
    assert outcome["prediction"]["source_ids"], "the pages that the researcher saw"
    told = {
        name: request["messages"]
        for request in asked
        for name, begins in TEAM.items()
        if request["messages"][0]["content"].startswith(begins)
    }
    assert [fill_prompt(event) in told[name][1]["content"] for name in TEAM] == [True, False, True]
    assert "report of the researcher" in told["analyst"][1]["content"]
    assert "report of" not in told["planner"][1]["content"] and "tools" not in asked[1]
    assert told["researcher"][1]["content"] == "New task:\nresearcher's task"
    assert len(asked) == len([step for step in outcome["trace"] if step["step_type"] == "model"]) == 9
    make_rows(("run", "agent"), event, outcome)
    assert research(say_in_team, entry=ORCHESTRA, live=False) == (outcome, [])


@pytest.mark.parametrize(("limits", "n_calls", "n_looks"), [({"max_steps": 4}, 4, 1), ({"max_lookups": 3}, 6, 6)])
def test_a_team_keeps_to_the_limits_of_its_entry(research, limits, n_calls, n_looks):
    outcome, asked = research(partial(say_in_team, n_calls=99), entry=ORCHESTRA | limits | {"max_tokens": 500})
    tools = [step["tool"] for step in outcome["trace"] if step["step_type"] == "tool"]
    assert (sum(name in TEAM for name in tools), tools.count("search")) == (n_calls, n_looks)
    assert outcome["prediction"]["value"] == "B" and {request["max_tokens"] for request in asked} == {500}
