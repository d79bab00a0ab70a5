"""The registry of agents: each wrong entry is told in one sentence, and an entry becomes an agent."""

import json
import tomllib

import pytest
from builders import make_event

from helpers.agents import registry
from helpers.agents.arms import load_arms
from helpers.agents.registry import (
    PROMPTED,
    check_entry,
    connect_agent,
    is_prompted,
    load_agents,
    load_entries,
    read_prices,
)
from helpers.cli import source
from helpers.models.files import MODELS
from helpers.prompts import hash_prompts
from helpers.store import ROOT
from helpers.tables import list_columns

ENTRY = {"category": "base_model", "framework": "prompt", "method": "zero_shot", "model": "openai/mock-1"}


def write_entries(path, **entries):
    """Write a registry of flat tables and return its path."""
    lines = []
    for agent_id, entry in entries.items():
        lines += [f"[{agent_id}]", *(f"{key} = {value!r}" for key, value in entry.items() if value is not None)]
    path.write_text("\n".join(lines))
    return path


WRONG = {
    "category": ({"category": "oracle"}, "agents.toml, mine: category must be one of baseline, base_model"),
    "method": ({"method": "guess"}, "agents.toml, mine: method must be one of .*zero_shot, search_prompt, graph"),
    "no model": ({"model": None}, "agents.toml, mine: the method zero_shot needs a model"),
    "blank model": ({"model": ""}, "agents.toml, mine: the method zero_shot needs a model"),
    "model here": (
        {"model": "local/llama"},
        "mine: there is no model 'local/llama'; there are local/qwen, local/smoll",
    ),
    "framework": ({"framework": 3}, "agents.toml, mine: framework must be given, as text"),
    "a key itself": ({"api_key": "sk-1"}, "agents.toml, mine: unknown key 'api_key'; there are about, agent, api_base"),
    "typing error": ({"modell": "x"}, "agents.toml, mine: unknown key 'modell'"),
    "options": ({"options": "hot"}, "agents.toml, mine: options must be a table"),
}


@pytest.mark.parametrize("name", ["../../../../evil/x", "..", ".hidden", "a/b", "a b", "é", "x" * 65, "", "a\nb"])
def test_a_name_that_would_be_another_path_is_refused_where_it_enters(tmp_path, name):
    entry = '{ category = "base_model", framework = "prompt", method = "zero_shot", model = "openai/mock-1" }'
    (tmp_path / "agents.toml").write_text(f"{json.dumps(name)} = {entry}")
    with pytest.raises(ValueError, match="^agents.toml, agent .*: a name is 1 to 64 letters"):
        load_entries(tmp_path / "agents.toml", wanted=[name])
    assert load_entries(tmp_path / "agents.toml") == {}
    (tmp_path / "arms.toml").write_text(f'{json.dumps(name)} = {{ agent = "qwen_zero_shot", window = "A" }}')
    with pytest.raises(ValueError, match="^arms.toml, arm .*: a name is 1 to 64 letters"):
        load_arms(tmp_path / "arms.toml")
    with pytest.raises(ValueError, match="^source .*: a name is 1 to 64 letters|^say which source"):
        source.choose_source(name, "A")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_entry_is_told_with_agent_and_reason(tmp_path, name):
    change, sentence = WRONG[name]
    path = write_entries(tmp_path / "agents.toml", good=ENTRY, mine=ENTRY | change)
    with pytest.raises(ValueError, match=sentence):
        load_entries(path, wanted=["mine"])
    assert load_entries(path, wanted=["good"]) == {"good": ENTRY}, "a broken entry does not stop the others"


def test_an_option_of_the_door_and_a_stray_line_are_told(tmp_path):
    path = tmp_path / "agents.toml"
    write_entries(path, mine=ENTRY)
    path.write_text(path.read_text() + '\noptions = { api_key = "sk-1" }\n')
    with pytest.raises(ValueError, match="mine: the option 'api_key' is set by the door"):
        load_entries(path, wanted=["mine"])
    path.write_text('model = "x"\n')
    with pytest.raises(ValueError, match="agents.toml, model: an agent is a table"):
        load_entries(path)
    path.write_text("[mine\n")
    with pytest.raises(ValueError, match="agents.toml: .*line 1"):
        load_entries(path)


def test_every_registered_entry_is_whole():
    entries = load_entries()
    assert {"last_value", "qwen_zero_shot", "qwen_react"} <= set(entries)
    assert set(load_agents()) == {name for name, entry in entries.items() if not is_prompted(entry)}
    for entry in entries.values():
        assert entry["about"] and entry["framework"]


def test_the_example_in_the_file_is_an_entry_that_loads(tmp_path):
    text = (ROOT / "data/agents.toml").read_text(encoding="utf-8")
    lines = text[text.index("# [o4_deep_research]") :].split("\n\n")[0].splitlines()
    path = tmp_path / "agents.toml"
    path.write_text("\n".join(line.removeprefix("# ") for line in lines))
    entry = load_entries(path)["o4_deep_research"]
    assert (entry["category"], entry["method"]) == ("closed_deep_research", "deep_research")
    assert "o4_deep_research" not in tomllib.loads(text), "in the file it is only a comment"


def test_every_method_has_its_prompts():
    assert {"zero_shot", "search_prompt", "react", "tool_search", "research", "deep_research"} <= set(PROMPTED)
    for answer, prompts in PROMPTED.values():
        assert callable(answer) and len(hash_prompts(prompts)) == 16


def test_an_entry_becomes_an_agent_that_asks_through_the_door(reach, provider):
    client = reach()
    entry = ENTRY | {"options": {"temperature": 0.3}, "model_family": "Mock", "knowledge_cutoff_date": "2024-06-01"}
    agent = connect_agent(entry, client.door)
    assert set(agent) - {"forecast"} <= set(list_columns("runs"))
    assert (agent["model"], agent["model_digest"], agent["model_family"]) == ("openai/mock-1", None, "Mock")
    assert agent["params"] == {"method": "zero_shot", "options": {"temperature": 0.3}}
    assert (agent["knowledge_cutoff_date"], agent["seed"]) == ("2024-06-01", None)
    assert connect_agent(ENTRY | {"options": {"seed": 5}}, client.door)["seed"] == 5
    assert agent["forecast"](make_event(), None)["prediction"]["value"] == "B"
    assert (provider.asked[0]["model"], provider.asked[0]["temperature"]) == ("mock-1", 0.3)
    assert agent["prompt_sha256"] != connect_agent(entry | {"method": "react"}, client.door)["prompt_sha256"]


def test_a_local_entry_has_the_files_digest_and_is_held_to_grammars(reach, provider):
    client = reach()
    agent = connect_agent(ENTRY | {"model": "local/smollm2"}, client.door)
    assert (agent["model"], agent["model_digest"]) == ("local/smollm2", MODELS["smollm2"]["sha256"])
    assert agent["seed"] == 0, "the local server's"
    agent["forecast"](make_event(), None)
    assert provider.asked[0]["model"] == "smollm2-135m-instruct-q4_1" and provider.asked[0]["grammar"]


def test_what_is_missing_to_ask_an_entrys_model_is_said_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert check_entry({"model": "local/qwen"}) is None
    entry = ENTRY | {"api_key_env": "MINE"}
    assert check_entry(entry, {"MINE": "sk-1"}) is None
    assert check_entry(entry, {}) == "no key: set MINE, which api_key_env names, in the environment"
    assert check_entry(ENTRY, {}) == "no key for openai: set OPENAI_API_KEY in the environment"
    assert check_entry(ENTRY | {"api_base": "http://127.0.0.1:9/v1"}, {}) is None, "one's own server may want no key"


@pytest.mark.parametrize("prices", [3, {"input": 1}, {"input": -1, "output": 2}, {"input": float("nan"), "output": 2}])
def test_a_price_is_two_numbers(tmp_path, prices):
    with pytest.raises(ValueError, match="usd_per_million must hold both prices"):
        read_prices(ENTRY | {"usd_per_million": prices})
    assert read_prices(ENTRY) is None


def test_an_entrys_model_without_a_provider_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "no provider is known for the model 'gpt-nonsense'" in check_entry(ENTRY | {"model": "gpt-nonsense"}, {})


def test_prompted_agents_are_no_baselines():
    assert not set(load_agents()) & {name for name, entry in load_entries().items() if is_prompted(entry)}
    assert registry.get_local_name({"method": "last_value"}) is None


def test_a_model_alone_is_an_agent(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text("""
        [mine]
        model = "openai/mine"
        api_base = "http://127.0.0.1:1/v1"
        [other]
        model = "openai/x"
        method = "react"
    """)
    entries = registry.load_entries(path, wanted=["mine", "other"])
    assert (entries["mine"]["method"], entries["mine"]["category"]) == ("zero_shot", "base_model")
    assert (entries["other"]["category"], entries["other"]["framework"]) == ("think_search", "react")
