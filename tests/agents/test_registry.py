"""The registry of agents: each wrong entry is told in one sentence, and an entry becomes an
agent."""

import json

import pytest
import try_source
from builders import ENTRY, make_event

from daybefore.agents import registry
from daybefore.agents.recorded_runs import load_recorded_runs
from daybefore.agents.registry import (
    check_entry,
    connect_agent,
    load_entries,
    open_agent,
    open_consult,
)
from daybefore.models import local_server
from daybefore.models.grammars import make_schema
from helpers.tables import list_columns


@pytest.mark.parametrize("name", ["../../../../evil/x", ""])
def test_a_name_that_would_be_another_path_is_refused_where_it_enters(tmp_path, name):
    (tmp_path / "agents.toml").write_text(f'{json.dumps(name)} = {{ model = "openai/mock-1" }}')
    with pytest.raises(ValueError, match="^agents.toml, agent .*: a name is 1 to 64 letters"):
        load_entries(tmp_path / "agents.toml", wanted=[name])
    assert load_entries(tmp_path / "agents.toml") == {}
    (tmp_path / "arms.toml").write_text(
        f'{json.dumps(name)} = {{ agent = "qwen_zero_shot", window = "A" }}'
    )
    with pytest.raises(ValueError, match="^arms.toml, arm .*: a name is 1 to 64 letters"):
        load_recorded_runs(tmp_path / "arms.toml")
    with pytest.raises(ValueError, match="^source .*: a name is 1 to 64 letters|^say which source"):
        try_source.choose_source(name, "A")


def test_a_wrong_entry_is_told_with_agent_and_reason_and_stops_no_other(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text('[good]\nmodel = "openai/mock-1"\n[mine]\nmodel = "local/llama"\n')
    with pytest.raises(
        ValueError, match="mine: there is no model 'local/llama'; there are local/qwen, local/qwe"
    ):
        load_entries(path, wanted=["mine"])
    assert [*load_entries(path, wanted=["good"])] == ["good"]
    path.write_text('[mine]\nmodel = "x/y"\n[mine]\nmodel = "x/y"\n')
    with pytest.raises(ValueError, match=r"agents.toml: no TOML .*mine.* twice \(at line 3"):
        load_entries(path)


def test_what_is_missing_to_ask_an_entrys_model_is_said_before_anything_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    entry = ENTRY | {"api_key_env": "MINE"}
    assert check_entry(entry, {"MINE": "sk-1"}) is None
    assert check_entry(entry, {}) == "no key: set MINE, which api_key_env names, in the environment"
    assert check_entry(ENTRY, {}) == "no key for openai: set OPENAI_API_KEY in the environment"
    assert check_entry(ENTRY | {"api_base": "http://127.0.0.1:9/v1"}, {}) is None, (
        "one's own server may want no key"
    )


def test_own_agents_stand_in_a_file_of_their_own_and_count_where_they_are_named(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(registry, "OWN", tmp_path / "agents.local.toml")
    registry.OWN.write_text('[mine]\nmodel = "openai/mock"\n')
    assert (
        "mine" not in load_entries()
        and load_entries(wanted=["mine"])["mine"]["method"] == "zero_shot"
    )
    assert (
        "mine" in load_entries(own=True) and registry.find_agent("mine")["model"] == "openai/mock"
    )
    registry.OWN.write_text('[qwen_zero_shot]\nmodel = "openai/mock"\n')
    assert load_entries(wanted=["qwen_zero_shot"])["qwen_zero_shot"]["model"] == "local/qwen"
    with pytest.raises(ValueError, match="qwen_zero_shot: agents.toml has an agent of this name"):
        load_entries(own=True)


def test_an_entry_becomes_an_agent_that_asks_through_the_door(reach, provider):
    door = reach().door
    entry = ENTRY | {"options": {"temperature": 0.3}, "max_tokens": 50, "max_seconds": 5}
    agent = connect_agent(entry | {"knowledge_cutoff_date": "2024-06-01"}, door)
    assert set(agent) - {"forecast"} <= set(list_columns("runs"))
    params = {"method": "zero_shot", "options": {"temperature": 0.3}}
    assert agent["params"] == params | {"max_tokens": 50, "max_seconds": 5}
    assert (agent["model"], agent["model_digest"]) == ("openai/mock-1", None)
    assert (agent["knowledge_cutoff_date"], agent["seed"]) == ("2024-06-01", None)
    assert connect_agent(ENTRY | {"options": {"seed": 5}}, door)["seed"] == 5
    other = connect_agent(entry | {"method": "react"}, door)
    assert other["prompt_sha256"] != agent["prompt_sha256"]
    assert agent["forecast"](make_event(), None)["prediction"]["value"] == "B"
    asked = provider.asked[0]
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("mock-1", 0.3, 50)


def test_a_study_takes_an_agent_by_its_name(reach, provider, tmp_path, monkeypatch):
    reach()
    settings = f'[mine]\nmodel = "openai/mock-1"\napi_base = "{provider.address}"\noptions = {{ temperature = 0.3 }}'
    (tmp_path / "agents.toml").write_text(settings)
    entries = load_entries(tmp_path / "agents.toml")
    monkeypatch.setattr(registry, "load_entries", lambda **_: entries)
    with open_agent("mine", "mock-study", live=True) as client:
        agent = connect_agent(entries["mine"], client.door)
        assert agent["forecast"](make_event(), None)["prediction"]["value"] == "B"
    provider.answer = lambda asked: {"content": '{"score": 7}'}
    with open_consult("mine", "mock-study", live=True) as consult:
        assert consult("How good?", make_schema(score={"type": "integer"})).value == {"score": 7}
    assert provider.asked[-1]["temperature"] == 0.3, "the agent's options hold for the judge, too"
    monkeypatch.setattr(local_server, "FOLDER", tmp_path)
    for name, told, is_live in (
        ("minne", "no agent is called 'minne'; did you mean mine", False),
        ("local/qwen", "no model file .*; `make model`|needs the package", True),
    ):
        with pytest.raises(ValueError, match=told), open_agent(name, "x", live=is_live):
            pass
