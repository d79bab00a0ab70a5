"""FutureX's families of agents, each asked once through litellm's client of its provider, in that
provider's form."""

import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from builders import KEY, make_event, scan
from mock_provider import Server
from serving import run_server

from daybefore.agents.registry import check_agent, check_entry, connect_agent
from daybefore.agents.run_loop import describe_run
from daybefore.agents.when_asked import SEES_TODAY
from daybefore.models.client import open_door
from helpers.files import ROOT
from helpers.tables import list_columns

EVENTS = pd.DataFrame([make_event()])
QUERIES = ["polls in Ohio", "rain in Oslo"]
CITED = ["https://a.example/1 A", "https://b.example/2 B"]
TOLD = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))
FAMILIES = TOLD["families"]
"""Agents of a family: their entry, whose reply they get (none: a job's), and what is counted of it.
Dollars are as litellm prices them; Perplexity tells its own price."""


@pytest.fixture
def put(provider, out):
    """A function that puts a family's agent to an event; returns its outcome."""

    def run(name, live=True, redirects=False):
        family = FAMILIES[name]
        provider.answer = None
        if family["reply"]:
            provider.answer = lambda asked: json.dumps(TOLD["replies"][family["reply"]]).encode()
        if redirects:
            provider.answer = lambda asked: "redirect"
        entry = check_agent("mine", family["entry"])
        is_openai = "openai" in name or family["reply"] == "perplexity"
        connection = {
            "api_base": provider.address.removesuffix("" if is_openai else "/v1"),
            "api_key": KEY,
        }
        door = open_door(
            "mock", live=live, connection=connection, environment={}, deadline_s=60, wait_s=0.05
        )
        try:
            event = make_event(
                prompt="This is Perplexity's?" if name == "perplexity jobs" else "This?"
            )
            return connect_agent(entry, door)["forecast"](event, None)
        finally:
            door.recordings.close()

    return run


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_asked_once_its_searches_are_counted_and_its_pages_named(
    put, provider, tmp_path, name
):
    outcome = put(name)
    assert outcome.get("status", "ok") == "ok" and outcome["prediction"]["value"] == "B", outcome
    assert len(provider.asked) == 1 and provider.keys[0].endswith(KEY) and scan(tmp_path) == []
    family = FAMILIES[name]
    n_searches = FAMILIES[name]["n_searches"]
    searches = [step for step in outcome["trace"] if step.get("tool") == "search"]
    queries = [step["arguments"]["query"] for step in searches if step["arguments"]]
    assert len(searches) == n_searches and queries == ([] if n_searches in (0, 18) else QUERIES)
    cited = next(
        step["content"] for step in outcome["trace"] if step.get("tool") == "cite"
    ).splitlines()
    assert set(cited) == set(CITED[: 1 if name in ("openai deep", "gemini deep") else 2])
    assert outcome["prediction"]["source_ids"] == [line.split()[0] for line in cited]
    model = next(step for step in outcome["trace"] if step["step_type"] == "model")
    assert model["n_think_tokens"] == family["n_think_tokens"]
    assert outcome["cost_usd"] == pytest.approx(family["cost_usd"])
    assert all(set(step) <= set(list_columns("traces")) for step in outcome["trace"])
    assert put(name, live=False) == outcome and len(provider.asked) == 1


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "perplexity", "gemini deep"])
def test_no_providers_client_carries_the_key_to_another_server(put, provider, name):
    with run_server(other := Server()):  # which would answer
        provider.elsewhere = other.address
        assert "the server redirects (307)" in put(name, redirects=True)["reason"]
    assert other.asked == [] and provider.keys[0].endswith(KEY)


def test_each_table_of_the_page_is_an_agent_that_could_be_asked():
    page = (
        (ROOT / "docs/own-model.md")
        .read_text(encoding="utf-8")
        .partition("## FutureX's families")[2]
    )
    rows = re.findall(r"^\| (.+?) \| (`model = .+) \|$", page.partition("\nKeys:")[0], re.MULTILINE)
    keys = dict.fromkeys(re.findall(r"`(\w+_API_KEY)`", page), "sk-none")
    with pytest.MonkeyPatch.context() as patch:
        for name in keys:
            patch.setenv(name, "sk-none")
        categories = []
        for family, cell in rows:
            entry = check_agent(
                family,
                tomllib.loads("\n".join(re.findall("`(.+?)`", cell.partition("<br>or ")[0]))),
            )
            assert check_entry(entry, keys) is None, family
            categories.append(entry["category"])
            run = describe_run("mine", connect_agent(entry, None), EVENTS, window="A", deadline_s=1)
            is_todays = "provider's search" in family or "closed" in family
            assert run.get("condition") == (SEES_TODAY if is_todays else None), family
    assert len(rows) == 11 and len(set(categories)) == 4
