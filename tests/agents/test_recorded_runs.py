"""Arms: samples that nest, moments that move, and replays that are what was recorded."""

import pytest
from builders import ENTRY

from daybefore.agents import recorded_runs
from daybefore.agents.recorded_runs import load_recorded_runs, replay_recorded, select_events
from helpers.files import read_table

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


def test_a_replay_asks_what_was_recorded_alone(monkeypatch, events):
    first = select_events(ARM, events)["event_id"].tolist()[:1]
    asked = []

    def note(agents, chosen, *_, **__):
        asked.append(chosen["event_id"].tolist())
        return dict.fromkeys(agents, "run")

    monkeypatch.setattr(recorded_runs, "load_recorded_runs", lambda: {"a-A": ARM, "b-A": ARM})
    monkeypatch.setattr(recorded_runs, "load_entries", lambda wanted: {"mock": ENTRY})
    monkeypatch.setattr(recorded_runs, "list_recorded", lambda arm: first * (arm == "a-A"))
    monkeypatch.setattr(recorded_runs, "run_agents", note)
    assert replay_recorded(["a-A", "b-A"], dict, "", events={"A": events}) == {"a-A": "run"}
    assert asked == [first]


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
