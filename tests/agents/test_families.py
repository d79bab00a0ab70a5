"""FutureX's families of agents, each asked once through litellm's client of its provider, in that provider's form."""

import json
import re
import tomllib

import pandas as pd
import pytest
from builders import KEY, make_event, scan
from mock_provider import CONTENT, Server, write_body
from serving import run_server

from daybefore.agents.asked import SEES_TODAY
from daybefore.agents.registry import check_agent, check_entry, connect_agent
from daybefore.agents.runs import describe_run, sees_today
from daybefore.models.llm import open_door
from helpers.files import ROOT, dump_json
from helpers.tables import list_columns
from studies.worldreasoner.asking import Plan, take_condition

PAGES = [{"url": "https://a.example/1", "title": "A"}, {"url": "https://b.example/2", "title": "B"}]
QUERIES = ["polls in Ohio", "rain in Oslo"]
CITED = ["https://a.example/1 A", "https://b.example/2 B"]


def reply_of_openai(asked):
    """A chat completion whose text cites pages; it counts no searches."""
    marks = [{"type": "url_citation", "url_citation": page | {"start_index": 0, "end_index": 1}} for page in PAGES]
    return write_body(annotations=marks)


def reply_of_anthropic(asked):
    """A message with two searches made by the server and two blocks that cite their results."""
    content = []
    for number, query in enumerate(QUERIES):
        found = [{"type": "web_search_result", "encrypted_content": "x", "page_age": None} | page for page in PAGES]
        call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": query}}
        content += [call, {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": found}]
    mark = {"type": "web_search_result_location", "cited_text": "It rained.", "encrypted_index": "x"}
    content += [{"type": "text", "text": f"{page['title']}. ", "citations": [mark | page]} for page in PAGES]
    usage = {"input_tokens": 5000, "output_tokens": 80, "server_tool_use": {"web_search_requests": 2}}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"], "stop_reason": "end_turn"}
    return dump_json(head | {"content": [*content, {"type": "text", "text": CONTENT}], "usage": usage}).encode()


def reply_of_gemini(asked):
    """A candidate with grounding: queries, chunks of the web, and which words rest on which."""
    chunks = [{"web": {"uri": page["url"], "title": page["title"]}} for page in PAGES]
    rests = [{"segment": {"startIndex": 0, "endIndex": 4, "text": "I"}, "groundingChunkIndices": [0]}]
    grounding = {"webSearchQueries": QUERIES, "groundingChunks": chunks, "groundingSupports": rests}
    parts = {"role": "model", "parts": [{"text": CONTENT}]}
    candidate = {"content": parts, "finishReason": "STOP", "index": 0, "groundingMetadata": grounding}
    usage = {"promptTokenCount": 5000, "candidatesTokenCount": 80, "totalTokenCount": 5080}
    return dump_json({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}).encode()


def reply_of_perplexity(asked):
    """A chat completion with numbered pages beside its text, and its queries counted."""
    usage = {"prompt_tokens": 50, "completion_tokens": 800, "total_tokens": 850, "num_search_queries": 18}
    usage |= {"citation_tokens": 20000, "reasoning_tokens": 70000, "cost": {"total_cost": 0.3465}}
    body = json.loads(write_body(f"<think>hm</think>{CONTENT} [1]", usage=usage))
    return dump_json(body | {"citations": [page["url"] for page in PAGES], "search_results": PAGES}).encode()


SONAR, GEMINI = {"model": "perplexity/sonar"}, {"model": "gemini/gemini-2.5-flash"}
DEEP = {"method": "deep_research"}
TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
FAMILIES = {
    "openai": ({"model": "openai/gpt-4o-search-preview", "options": {"web_search_options": {}}}, reply_of_openai),
    "anthropic": ({"model": "anthropic/claude-sonnet-4-5", "options": {"tools": [TOOL]}}, reply_of_anthropic),
    "gemini": (GEMINI | {"options": {"tools": [{"googleSearch": {}}]}}, reply_of_gemini),
    "perplexity": (SONAR | {"options": {"web_search_options": {"search_context_size": "low"}}}, reply_of_perplexity),
    "openai deep": (DEEP | {"model": "openai/o4-mini-deep-research"}, None),
    "gemini deep": (DEEP | {"model": "gemini/deep-research-preview-04-2026"}, None),
    "perplexity deep": (DEEP | {"model": "perplexity/sonar-deep-research"}, reply_of_perplexity),
    "perplexity jobs": (DEEP | {"model": "perplexity/preset/deep-research"}, None),
}
# searches, thinking tokens and dollars as litellm prices them; Perplexity tells its own price
TOLD = {
    "openai": (0, 2, 47 * 2.5e-6 + 3 * 1.25e-6 + 8 * 10e-6 + 0.025),
    "anthropic": (2, 0, 5000 * 3e-6 + 80 * 15e-6 + 2 * 0.01),
    "gemini": (2, None, 5000 * 0.3e-6 + 80 * 2.5e-6 + 0.035),
    "perplexity": (18, 70000, 0.3465),
    "openai deep": (2, 600, 0.0149),
    "gemini deep": (3, 600, 5000 * 2e-6 + 800 * 12e-6 + 0.035),
    "perplexity deep": (18, 70000, 0.3465),
    "perplexity jobs": (2, None, 0.3465),
}


@pytest.fixture
def put(provider, tmp_path, monkeypatch):
    """A function that puts a family's agent to an event; returns its outcome."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))

    def run(name, live=True):
        entry, provider.answer = check_agent("mine", FAMILIES[name][0]), FAMILIES[name][1]
        is_openai = "openai" in name or "perplexity" in name and FAMILIES[name][1]
        connection = {"api_base": provider.address.removesuffix("" if is_openai else "/v1"), "api_key": KEY}
        door = open_door("mock", live=live, connection=connection, environment={}, deadline_s=60, wait_s=0.05)
        try:
            event = make_event(prompt="This is Perplexity's?" if name == "perplexity jobs" else "This?")
            return connect_agent(entry, door)["forecast"](event, None)
        finally:
            door.recordings.close()

    return run


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_asked_once_its_searches_are_counted_and_its_pages_named(put, provider, tmp_path, name):
    outcome = put(name)
    assert outcome.get("status", "ok") == "ok" and outcome["prediction"]["value"] == "B", outcome
    assert len(provider.asked) == 1 and provider.keys[0].endswith(KEY) and scan(tmp_path) == []
    n_searches, n_think_tokens, cost = TOLD[name]
    searches = [step for step in outcome["trace"] if step.get("tool") == "search"]
    queries = [step["arguments"]["query"] for step in searches if step["arguments"]]
    assert len(searches) == n_searches and queries == ([] if n_searches in (0, 18) else QUERIES)
    cited = next(step["content"] for step in outcome["trace"] if step.get("tool") == "cite").splitlines()
    assert set(cited) == set(CITED[: 1 if name in ("openai deep", "gemini deep") else 2])
    assert outcome["prediction"]["source_ids"] == [line.split()[0] for line in cited]
    model = next(step for step in outcome["trace"] if step["step_type"] == "model")
    assert model["n_think_tokens"] == n_think_tokens
    assert outcome["cost_usd"] == pytest.approx(cost)
    assert all(set(step) <= set(list_columns("traces")) for step in outcome["trace"])
    assert put(name, live=False) == outcome and len(provider.asked) == 1


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "perplexity", "gemini deep"])
def test_no_providers_client_carries_the_key_to_another_server(put, provider, monkeypatch, name):
    with run_server(other := Server()):  # which would answer
        provider.elsewhere = other.address
        monkeypatch.setitem(FAMILIES, name, (FAMILIES[name][0], lambda asked: "redirect"))
        assert "the server redirects (307)" in put(name)["reason"]
    assert other.asked == [] and provider.keys[0].endswith(KEY)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_that_sees_the_web_of_today_says_so_in_its_run(name):
    entry = check_agent("mine", FAMILIES[name][0])
    agent = connect_agent(entry, None)
    assert (
        describe_run("mine", agent, pd.DataFrame([make_event()]), window="A", deadline_s=1)["condition"] == SEES_TODAY
    )
    assert check_entry(entry | {"api_base": "http://127.0.0.1:9"}, {}) is None
    with pytest.raises(ValueError, match="as it is today, so no condition as of a moment holds"):
        take_condition("mine", entry, Plan("Search-Enabled", "search_prompt", {}))


def test_each_table_of_the_page_is_an_agent_that_could_be_asked():
    page = (ROOT / "docs/own-model.md").read_text(encoding="utf-8").partition("## FutureX's families")[2]
    rows = re.findall(r"^\| (.+?) \| (`model = .+) \|$", page.partition("\nKeys:")[0], re.MULTILINE)
    keys = dict.fromkeys(re.findall(r"`(\w+_API_KEY)`", page), "sk-none")
    with pytest.MonkeyPatch.context() as patch:
        for name in keys:
            patch.setenv(name, "sk-none")
        categories = []
        for family, cell in rows:
            entry = check_agent(family, tomllib.loads("\n".join(re.findall("`(.+?)`", cell.partition("<br>or ")[0]))))
            assert check_entry(entry, keys) is None, family
            categories.append(entry["category"])
            is_todays = "provider's search" in family or "closed" in family
            assert sees_today(entry | {"params": entry}) == is_todays, family
    assert len(rows) == 11 and len(set(categories)) == 4
