"""Recording an arm: what is recorded is not asked again, an interrupted arm goes on, wrong settings
are told."""

import json
import os
import signal
import time

import ask_again
import pytest
from builders import ENTRY

from daybefore.agents.recorded_runs import read_run, select_events
from daybefore.commands import record
from daybefore.commands.main import carry_out, main
from daybefore.models.recordings import PACKED, Recordings
from helpers.files import read_table

ARM = {"agent": "mock", "window": "A", "n": 3, "kinds": ["number"], "about": "to try it"}


@pytest.fixture
def recorder(provider, monkeypatch, out):
    """The mock provider as the model of an arm; everything is written under a folder of the
    test."""
    monkeypatch.setenv("MOCK_KEY", "sk-canary+7/Zq==9f3a")
    entry = ENTRY | {"api_base": provider.address, "api_key_env": "MOCK_KEY"}
    monkeypatch.setattr(record, "load_entries", lambda wanted=(): {"mock": entry})
    monkeypatch.setattr(
        record, "load_recorded_runs", lambda: {"mock-A": ARM, "small-A": ARM | {"n": 1}}
    )
    provider.answer = lambda asked: {"content": r"\boxed{5}"}
    return provider


def test_an_arm_is_recorded_once_with_its_facts(recorder, tmp_path, capsys):
    carry_out(["record", "--arm", "mock-A"])
    assert capsys.readouterr().out.endswith("mock-A: 3 events recorded\n")
    facts, chosen = read_run("mock-A"), select_events(ARM, read_table("events", "A"))
    assert set(facts["seconds"]) == set(chosen["event_id"])
    told = {"arm": "mock-A", "model": "openai/mock-1", "n_events": 3, "n_ok": 3, "server": None}
    assert {name: facts[name] for name in told} == told and len(facts["events_sha256"]) == 64
    written = (tmp_path / "data/runs/mock-A" / PACKED).read_bytes()
    carry_out(["record", "--arm", "mock-A"])
    assert len(recorder.asked) == 3, "a finished arm costs nothing"
    assert (tmp_path / "data/runs/mock-A" / PACKED).read_bytes() == written
    assert "sk-canary" not in json.dumps(facts) + json.dumps(Recordings("mock-A").rows)


def test_an_arm_that_sigterm_ends_is_packed_before_it_ends(recorder, monkeypatch):
    ask, left = record.ask_event, iter([1, 1])

    def ask_or_end(*given):
        if next(left, None):
            return ask(*given)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    monkeypatch.setattr(record, "ask_event", ask_or_end)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit, match="^130$"):
            main(["record", "--arm", "mock-A"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert read_run("mock-A")["n_recordings"] == 2, "run.json and the packed file are there"


def test_an_arm_that_is_none_is_one_sentence(recorder):
    with pytest.raises(
        SystemExit, match="daybefore record: no arm is called 'nope'; there are mock-A, small-A"
    ):
        carry_out(["record", "--arm", "nope"])


def test_asking_again_compares_replies_and_changes_no_recording(recorder, monkeypatch, capsys):
    monkeypatch.setattr(ask_again, "load_entries", record.load_entries)
    monkeypatch.setattr(ask_again, "load_recorded_runs", record.load_recorded_runs)
    with pytest.raises(
        SystemExit,
        match="^ask_again: nothing is recorded of mock-A; `make record ARM=mock-A` records",
    ):
        ask_again.main(2, "mock-A")
    carry_out(["record", "--arm", "mock-A"])
    rows = Recordings("mock-A").rows
    recorder.answer = lambda asked: {"content": r"\boxed{6}"}
    ask_again.main("2", "mock-A")
    out = capsys.readouterr().out
    assert (
        "mock-A: 0 of 2 replies are the recorded ones" in out
        and r"recorded '\\boxed{5}', now '\\boxed{6}'" in out
    )
    assert Recordings("mock-A").rows == rows
    recorder.answer = lambda asked: "401"
    with pytest.raises(
        SystemExit, match=r"^ask_again: mock-A: request \w+ failed now \(error\): .*API key"
    ):
        ask_again.main(2, "mock-A")
    assert not Recordings("again").under_way, "what is asked again is no run that a kill cut short"
