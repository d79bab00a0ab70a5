"""Agents that look things up, and one whose provider does: a model with scripted replies, a web of
three pages."""

import json

import pytest
from builders import AS_OF, call_tools, make_event, reply_with

from daybefore.agents.prompted_agents import forecast
from daybefore.agents.search_agents import (
    N_HITS,
    SCHEMAS,
    STEP_SCHEMA,
    ask_step_by_step,
    ask_with_pages,
    ask_with_tools,
    describe_hit,
)
from daybefore.prompts import fill_final_line, fill_prompt, read_prompt
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.search import Hit

OIL = Hit(
    "p1", "http://oil.replay/prices", "Oil", "2016-10-09T23:00:00+08:00", "The price of oil was 50."
)
RAIN = Hit(
    "p2", "http://rain.replay/days", "Rain", "2016-10-08T00:00:00+08:00", "It rained. Say {as_of}."
)
FINAL = r"Final answer: \boxed{A}"


class World:
    """Finds two pages by any query and opens them by address; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def search(self, query, as_of, n):
        self.asked.append(("search", query, as_of))
        return [OIL, RAIN][:n]

    def open(self, url, as_of, about=""):
        self.asked.append(("open", url, as_of, about))
        for hit in (OIL, RAIN):
            if hit.url == url:
                return hit
        raise GatewayError("too_late", f"{url}: published later")


def take(action, words=""):
    return json.dumps({"thought": "hm", "action": action, "input": words})


def list_steps(outcome):
    return [step.get("tool") or step["step_type"] for step in outcome["trace"]]


@pytest.mark.parametrize("address", ["http://later.replay/x", "http://[half", "", "  "])
def test_a_page_that_cannot_be_opened_is_said_to_be_so_and_the_question_goes_on(
    reach, provider, world, address
):
    provider.answer = reply_with(take("open", address), take("answer"), FINAL)
    outcome = forecast(ask_step_by_step, reach(), make_event(), world())
    step = outcome["trace"][2]
    assert outcome["prediction"]["value"] == "A" and step["error"] and not step.get("page_ids")
    assert step["content"] == provider.asked[1]["messages"][-1]["content"]


def test_a_model_calls_tools_until_it_answers(reach, provider):
    provider.answer = reply_with(
        call_tools(search={"query": "oil"}, open={"address": OIL.url, "about": "x"}), FINAL
    )
    world = World()
    outcome = forecast(ask_with_tools, reach(), make_event(), world)
    assert world.asked == [("search", "oil", AS_OF), ("open", OIL.url, AS_OF, "x")]
    assert list_steps(outcome) == ["prompt", "model", "search", "open", "model", "answer"]
    assert outcome["prediction"]["value"] == "A"
    assert provider.asked[0]["tools"] == SCHEMAS and "tool_choice" not in provider.asked[0]
    said = provider.asked[1]["messages"][-2:]
    assert [(m["role"], m["tool_call_id"]) for m in said] == [
        ("tool", "call_0"),
        ("tool", "call_1"),
    ]
    assert outcome["trace"][1]["content"].startswith('search({"query": "oil"}); open(')


def test_what_a_search_finds_stands_before_the_question_as_data(reach, provider):
    event = make_event()
    world = World()
    outcome = forecast(ask_with_pages, reach(), event, world)
    assert world.asked == [("search", event["prompt"], AS_OF)]
    (message,) = provider.asked[0]["messages"]
    found = "\n\n".join(describe_hit(hit, AS_OF) for hit in (OIL, RAIN))
    before = read_prompt("found_pages").format(as_of=AS_OF, found=found)
    assert message["content"] == before + fill_prompt(event)
    assert "Say {as_of}." in message["content"], "what a page says is no blank"
    assert list_steps(outcome) == ["search", "prompt", "model", "answer"]
    assert outcome["prediction"]["source_ids"] == ["p1", "p2"]


def test_a_model_searches_opens_and_answers_in_its_own_order(reach, provider):
    steps = take("search", "oil"), take("open", OIL.url), take("answer"), FINAL
    provider.answer = reply_with(*steps)
    event = make_event()
    world = World()
    outcome = forecast(ask_step_by_step, reach(), event, world)
    assert world.asked == [("search", "oil", AS_OF), ("open", OIL.url, AS_OF, event["prompt"])]
    tools = ["prompt", "model", "search", "model", "open", "model", "model", "answer"]
    assert list_steps(outcome) == tools and outcome["reply"] == FINAL
    assert (outcome["n_input_tokens"], outcome["n_output_tokens"]) == (4 * 50, 4 * 8)
    first, *_, last = provider.asked
    assert first["response_format"]["json_schema"]["schema"] == STEP_SCHEMA
    assert "response_format" not in last
    assert [m["role"] for m in last["messages"]] == [*["user", "assistant"] * 3, "user"]
    assert last["messages"][-1]["content"] == fill_final_line(event)
    shown = [describe_hit(hit, AS_OF) for hit in (OIL, RAIN)[:N_HITS]]
    assert last["messages"][2]["content"] == "\n\n".join(shown)


@pytest.mark.parametrize("method", [ask_step_by_step, ask_with_tools])
def test_look_ups_are_as_many_as_an_entry_says(reach, provider, method):
    call = call_tools(search={"query": "oil"})
    provider.answer = lambda asked: call if "tools" in asked else {"content": take("search", "oil")}
    world = World()
    forecast(method, reach()._replace(limits={"max_lookups": 1}), make_event(), world)
    assert len(provider.asked) == 2 and len(world.asked) == 1
