"""Open deep research: a manager and its agents, through the door, against a provider on
loopback."""

import json
import time
from functools import partial

import pytest
from builders import make_event
from test_searching import World

from daybefore.agents.ask_questions import make_rows
from daybefore.agents.deep_research import N_LOOK_UPS
from daybefore.agents.registry import connect_agent
from daybefore.prompts import fill_prompt

ENTRY = {"category": "open_deep_research", "framework": "x", "model": "openai/mock-1"}
PLAN = {"facts_given": "a", "facts_to_look_up": "b", "facts_to_derive": "c", "plan": ["look"]}
PLAN = json.dumps(PLAN)
FINAL, LAST = "Final answer: \\boxed{B}", "Commit yourself now"
EVENT = make_event()


@pytest.fixture
def research(knock, provider):
    """A function that puts an agent to the event: its outcome, and what the provider was asked.

    `say(messages, tools, n_before)` gives the provider's reply after so many of the agent's own.
    """

    def run(say, live=True, method="research", **settings):
        def answer(asked):
            n_before = sum(message["role"] == "assistant" for message in asked["messages"])
            tools = [tool["function"]["name"] for tool in asked.get("tools", [])]
            return say(asked["messages"], tools, n_before)

        provider.answer = answer
        n_asked = len(provider.asked)
        agent = connect_agent(ENTRY | {"method": method} | settings, knock(live, deadline_s=30))
        outcome = agent["forecast"](EVENT, World())
        make_rows(("run", "agent"), EVENT, outcome)  # raises for a column that is none
        return outcome, provider.asked[n_asked:]

    return run


def call(name, **arguments):
    """A reply that calls a tool in the provider's way, with an id that is never the same."""
    made = {"id": f"call_{time.monotonic_ns()}", "type": "function"}
    made["function"] = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [made]}


def reply(messages, tools, n_before):
    """Reply as a model that does all as planned; it tells the two agents apart by what they are
    offered."""
    if LAST in messages[-1]["content"]:
        return {"content": FINAL}
    if "search_agent" in tools:
        if n_before > N_LOOK_UPS:
            return call("final_answer", answer="It will rise.")
        return call("search_agent", task=f"Find it {n_before}")
    if tools:
        return call("search", query=("crude oil spot price", "oil-brent bulletins")[n_before])
    return {"content": PLAN if n_before == 0 else "It was 47.82 on 10 October."}


def list_steps(outcome, *columns):
    return [tuple(step.get(column) for column in columns) for step in outcome["trace"]]


def test_the_manager_plans_delegates_and_answers(research):
    outcome, asked = research(reply)
    assert (outcome["prediction"]["value"], outcome["reply"]) == ("B", FINAL)
    assert outcome["prediction"]["source_ids"] == ["p1", "p2"]
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
    steps = list_steps(outcome, "step_type", "tool", "content", "error", "arguments")
    assert steps[2][2:4] == (PLAN, None)
    assert [step[2:] for step in steps if step[1] == "search_agent"] == [
        ("It was 47.82 on 10 October.", None, {"task": f"Find it {n}"}) for n in (1, 2)
    ]
    assert len(asked) == sum(step[0] == "model" for step in steps)


def test_a_call_that_cannot_be_made_is_told_to_the_model_and_the_question_goes_on(research):
    wrong = [
        (call("browse", url="x"), "browse", "Unknown tool browse"),
        (call("search_agent", question="x"), "search_agent", "Argument question is not in the"),
        ({"content": '{"name": "search_agent"'}, None, "Error while parsing tool call"),
    ]

    def say(messages, tools, n_before):
        is_manager = "search_agent" in tools
        return wrong[n_before - 1][0] if is_manager else reply(messages, tools, n_before)

    outcome, asked = research(say)
    assert outcome["prediction"]["value"] == "B"
    tools = [step for step in outcome["trace"] if step["step_type"] == "tool"]
    assert [(step.get("tool"), step["error"]) for step in tools] == [
        (tool, "not a call") for _, tool, _ in wrong
    ]
    told = [one["content"] for one in asked[-1]["messages"] if one["role"] == "user"]
    assert all(words in text for text, (*_, words) in zip(told[2:], wrong, strict=True))


# --- a manager with a planner, a researcher and an analyst ------------------------------------------

TEAM = {"planner": "You plan", "researcher": "You look things up", "analyst": "You weigh"}
"""How the prompt of each of the manager's agents begins."""


def say_in_team(messages, tools, n_before, n_calls=3):
    """Reply as a manager that calls each of its team in turn, and as the team."""
    if LAST in messages[-1]["content"]:
        return {"content": FINAL}
    if "planner" in tools:
        if n_before >= n_calls:
            return call("final_answer", answer="It will rise.")
        name = list(TEAM)[n_before % 3]
        return call(name, task=f"{name}'s task")
    if tools:
        return call("search", query="crude oil spot price")
    (name,) = [name for name, words in TEAM.items() if words in str(messages)]
    return {"content": f"report of the {name}"}


def test_a_manager_sends_out_its_team_and_each_knows_what_it_should(research):
    settings = {"method": "orchestra", "max_lookups": 1}
    outcome, asked = research(say_in_team, **settings)
    assert (outcome["prediction"]["value"], outcome["reply"]) == ("B", FINAL)
    assert outcome["prediction"]["source_ids"], "the pages that the researcher saw"
    steps = [step for step in list_steps(outcome, "actor", "tool", "content") if step[1]]
    assert [step[1] for step in steps] == ["planner", "search", "researcher", "analyst"]
    assert [step[0] for step in steps] == ["manager", "researcher", "manager", "manager"]
    for _, name, content in steps:
        assert name == "search" or content == f"report of the {name}"
    told = {
        name: request["messages"][1]["content"]
        for request in asked
        for name, begins in TEAM.items()
        if request["messages"][0]["content"].startswith(begins)
    }
    assert [fill_prompt(EVENT) in told[name] for name in TEAM] == [True, False, True]
    assert "report of the researcher" in told["analyst"] and "report of" not in told["planner"]
    assert told["researcher"] == "New task:\nresearcher's task" and "tools" not in asked[1]
    assert research(say_in_team, live=False, **settings) == (outcome, [])


@pytest.mark.parametrize(
    ("limits", "n_calls", "n_looks"), [({"max_steps": 4}, 4, 1), ({"max_lookups": 3}, 6, 6)]
)
def test_a_team_keeps_to_the_limits_of_its_entry(research, limits, n_calls, n_looks):
    limits = {"max_lookups": 1, "max_tokens": 500} | limits
    outcome, asked = research(partial(say_in_team, n_calls=99), method="orchestra", **limits)
    tools = [step["tool"] for step in outcome["trace"] if step["step_type"] == "tool"]
    assert (sum(name in TEAM for name in tools), tools.count("search")) == (n_calls, n_looks)
    assert {request["max_tokens"] for request in asked} == {500}
