"""Arms: samples that nest, moments that move, and replays that are what was recorded."""

import pytest

from daybefore.agents import recorded_runs
from daybefore.agents.recorded_runs import (
    list_recorded,
    load_recorded_runs,
    read_run,
    replay_recorded,
    select_events,
)
from daybefore.agents.registry import connect_agent
from daybefore.models.llm import open_door
from daybefore.models.recordings import pack_recordings
from daybefore.store import read_runs
from helpers.files import parse_json, read_table

ENTRY = {
    "category": "think_search",
    "framework": "x",
    "method": "search_prompt",
    "model": "openai/mock-1",
}
ARM = {"agent": "mock", "window": "A", "n": 2, "kinds": ["single"], "levels": [1]}


@pytest.fixture(scope="module")
def events():
    return read_table("events", "A")


def test_the_arms_of_the_repository_are_whole_and_nest(events):
    loaded = load_recorded_runs()
    chosen = {
        name: list(select_events(arm, events)["event_id"])
        for name, arm in loaded.items()
        if arm["window"] == "A"
    }
    assert len(chosen) >= 5
    for name, ids in chosen.items():
        assert len(ids) == len(set(ids)) == loaded[name]["n"]
    plain = sorted((ids for name, ids in chosen.items() if "levels" not in loaded[name]), key=len)
    for smaller, larger in zip(plain, plain[1:], strict=False):
        assert larger[: len(smaller)] == smaller
    assert set(chosen["qwen_search_prompt-A-past"]) <= set(chosen["qwen_search_prompt-A"])
    assert set(chosen["qwen_research-A"]) <= set(chosen["qwen_zero_shot-A"])


def test_a_replay_with_a_closed_door_is_what_was_recorded(
    provider, reach, monkeypatch, world, events, tmp_path
):
    monkeypatch.setattr(
        recorded_runs, "load_recorded_runs", lambda: {"mock-A": ARM, "never-A": ARM}
    )
    monkeypatch.setattr(
        recorded_runs, "load_entries", lambda wanted=(): dict.fromkeys(wanted, ENTRY)
    )  # one of the reader's own
    reach()  # sets where writes go
    provider.answer = lambda asked: {
        "content": rf"\boxed{{{'AB'[len(asked['messages'][0]['content']) % 2]}}}"
    }
    door = open_door("mock-A", live=True, connection={"api_base": provider.address}, environment={})
    agent, crawler = connect_agent(ENTRY, door), world()
    chosen = select_events(ARM, events).to_dict("records")
    made = {event["event_id"]: agent["forecast"](event, crawler) for event in chosen}
    door.recordings.close()
    pack_recordings("mock-A", {"seconds": dict.fromkeys(made, 1.0)})
    assert (
        2
        == len(provider.asked)
        == len(list_recorded("mock-A"))
        == read_run("mock-A")["n_recordings"]
    )
    path = tmp_path / "ledger.sqlite"
    ids = replay_recorded(["mock-A", "never-A"], world, path, events={"A": events})
    assert list(ids) == ["mock-A"], "an arm of which nothing is recorded is left out"
    assert len(provider.asked) == 2, "no request"
    for row in read_runs(path, "replies").to_dict("records"):
        assert (row["status"], row["reply"]) == ("ok", made[row["event_id"]]["reply"])
    for row in read_runs(path, "predictions").to_dict("records"):
        assert parse_json(row["value"]) == made[row["event_id"]]["prediction"]["value"]
        assert (
            parse_json(row["source_ids"]) == made[row["event_id"]]["prediction"]["source_ids"] != []
        )
    steps = (
        read_runs(path, "traces").groupby("event_id", sort=False)["content"].apply(list).to_dict()
    )
    assert steps == {
        event: [step.get("content") for step in outcome["trace"]] for event, outcome in made.items()
    }
    assert read_runs(path, "runs").set_index("agent_id").at["mock", "condition"] is None


def test_another_question_is_searched_for_as_of_the_same_moment(events):
    plain, swapped = (select_events(ARM | more, events) for more in ({}, {"query_of": "another"}))
    assert swapped.drop(columns="query").equals(plain)
    clusters = events.set_index("prompt")["cluster_id"]
    assert (
        swapped["query"].map(clusters[~clusters.index.duplicated()]) != swapped["cluster_id"]
    ).all()
    assert (
        select_events(ARM | {"query_of": "another", "n": 1}, events)["query"].tolist()
        == list(swapped["query"])[:1]
    )
