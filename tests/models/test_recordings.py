"""What a kill leaves of requests that were under way: a line that stands before each, and what the next run reads."""

import json

import pytest

from helpers.models.costs import describe_cut
from helpers.models.llm import LlmError, ask, open_door
from helpers.models.recordings import JOURNAL, Recordings, read_rows

MODEL, PRICES = "openai/mock-1", (1e-5, 1e-4)


@pytest.fixture
def reach(provider, tmp_path, monkeypatch):
    """A function that opens a live door to the mock provider."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return lambda **settings: open_door(
        "mock", live=True, connection={"api_base": provider.address}, deadline_s=10, n_requests=1, **settings
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
    assert describe_cut(door).startswith(
        "1 request was under way when an earlier run was cut short: they may have been"
    )
    with pytest.raises(LlmError, match=r"0.9 of 0.9001 USD are spent, of which 0.9 at most"):
        ask(door, MODEL, say("one"), max_tokens=20)
    assert not provider.asked
