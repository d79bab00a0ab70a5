"""What a kill leaves of requests that were under way: a line that stands before each, and what the next run reads."""

import json

import pytest

from helpers.models import llm
from helpers.models.costs import describe_cut
from helpers.models.llm import LlmError, ask, open_door
from helpers.models.recordings import JOURNAL, Recordings, pack_recordings, read_rows

MODEL, PRICES = "openai/mock-1", (1e-5, 1e-4)


@pytest.fixture
def reach(provider, tmp_path, monkeypatch):
    """A function that opens a live door to the mock provider."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return lambda **settings: open_door(
        "mock", live=True, connection={"api_base": provider.address}, deadline_s=60, n_requests=1, **settings
    )


def say(text):
    return [{"role": "user", "content": text}]


def test_requests_that_a_kill_cut_short_are_known_until_they_are_recorded_and_counted_for_ever(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    first = Recordings("mock")
    for key in "abc":
        first.start(key, 0.5)
    first.add({"key": "a", "status": "ok"})
    with open(tmp_path / first.folder / JOURNAL, "ab") as journal:
        journal.write(b'{"key": "b", "sta')  # the kill came in the midst of a line
    second = Recordings("mock")
    assert (second.under_way, second.cut_usd, list(second.rows)) == ({"b": 0.5, "c": 0.5}, 1.0, ["a"])
    second.start("b", 0.25)
    second.add({"key": "b", "status": "ok"})
    third = Recordings("mock")
    assert (third.under_way, third.cut_usd, sorted(third.rows)) == ({"c": 0.5}, 1.0, ["a", "b"])
    assert sorted(read_rows(tmp_path / first.folder)) == ["a", "b"]


def test_what_another_folder_has_recorded_is_not_under_way(tmp_path, monkeypatch):
    for name in ("checkout", "out"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("helpers.models.recordings.ROOT", tmp_path / "checkout")
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "checkout"))
    here = Recordings("mock")
    for key in "abc":
        here.start(key, 0.5)
    here.add({"key": "b", "status": "ok"})
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    there = Recordings("mock")
    there.add({"key": "a", "status": "error"})
    there.start("b", 0.5)
    there.start("c", 0.25)
    again = Recordings("mock")
    assert (again.under_way, again.cut_usd) == ({"c": 0.25}, 1.75)


def test_packing_keeps_what_may_have_been_paid(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    first = Recordings("mock")
    first.start("a", 0.5)
    for at in range(2):
        first.start("b", 0.25)
        first.add({"key": "b", "status": "ok", "request": {}, "recorded_at": f"2026-06-0{at + 1}"})
        pack_recordings("mock")
        assert Recordings("mock").cut_usd == 0.5
        first = Recordings("mock")
    journal = tmp_path / "data/runs/mock" / JOURNAL
    assert json.loads(journal.read_text()) == {"cut_usd": 0.5}


def test_only_what_goes_out_is_noted_once_it_is_known_that_a_model_tells(reach, provider, tmp_path, monkeypatch):
    door, path = reach(prices=PRICES), tmp_path / "data/runs/mock" / JOURNAL

    def count():
        return path.read_text().count('"asked"')

    ask(door, MODEL, say("one"))
    plain, seen = llm.complete_bare, []
    monkeypatch.setattr(llm, "complete_bare", lambda *given, **named: (seen.append(count()), plain(*given, **named))[1])
    ask(door, MODEL, say("two"))
    assert (seen, count()) == ([1], 2), "while litellm prepares a request it is none yet"
    door.connection["api_base"] = "http://127.0.0.1:9/v1"
    with pytest.raises(LlmError, match="the connection failed"):
        ask(door, MODEL, say("three"))
    assert count() == 2 and len(door.recordings.rows) == 3, "nor where there is no server"
    door.connection["api_base"], door.n_requests, door.wait_s = provider.address, 3, 0.01
    ask(door, MODEL, say("recover"))
    assert count() == 3, "what is sent again is one request"


def test_no_request_goes_out_before_its_line_stands_in_the_journal(reach, provider, tmp_path):
    seen = []

    def look(asked):
        lines = (tmp_path / "data/runs/mock" / JOURNAL).read_text().splitlines()
        seen.append([set(json.loads(line)) for line in lines])
        return {"content": "B"}

    provider.answer = look
    door = reach(prices=PRICES)
    for text in ("one", "two"):
        ask(door, MODEL, say(text), max_tokens=20)
    assert [len(lines) for lines in seen] == [1, 3] and all(lines[-1] == {"asked", "cost_bound_usd"} for lines in seen)
    assert describe_cut(reach(prices=PRICES)) == ""


def test_what_may_have_been_paid_counts_under_the_ceiling(reach, provider):
    Recordings("mock").start("cut", 0.9)
    door = reach(prices=PRICES, ceiling_usd=0.9001)
    assert describe_cut(door).startswith("1 request was under way when an earlier run was cut short: it may have been")
    with pytest.raises(LlmError, match=r"0.9 of 0.9001 USD are spent, of which 0.9 at most"):
        ask(door, MODEL, say("one"), max_tokens=20)
    assert not provider.asked
