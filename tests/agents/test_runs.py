"""The runner, with small agents that answer, raise, refuse, hang or die, and what a run is named
by."""

import os
import shutil
import signal
import sys
import time

import pandas as pd
import pytest
from builders import fork, wait_until

from daybefore import prompts
from daybefore.agents import run_loop
from daybefore.agents.registry import PROMPTED, connect_agent, load_agents
from daybefore.agents.run_loop import Stopped, describe_run, run_agents, sample_events
from daybefore.store import count_stored, read_runs
from helpers.tables import list_columns


def answer(event, world):
    n = int(event["event_id"][1:])
    trace = [
        {"actor": "manager", "step_type": "fetch", "page_ids": [f"p{n}"]},
        {"step_type": "answer", "content": "ok"},
    ]
    return {
        "prediction": {"value": n / 2, "distribution": {"0.5": n / 2}, "probability": 0.5},
        "trace": trace,
    }


def answer_slowly(event, world):
    time.sleep(0.02)
    return answer(event, world)


def misbehave(event, world):
    kind = event["task"]
    if kind == "raise":
        raise ValueError(f"no /home/me/.cache/file for key sk-secret in {event['event_id']}")
    if kind == "hang":
        time.sleep(60)
    if kind == "exit":
        sys.exit(3)
    if kind == "refuse":
        return {
            "reply": "I would rather not.",
            "status": "refusal",
            "reason": "refused",
            "prediction": {"value": None},
        }
    if kind == "leak":
        return {"prediction": {"value": 1, "reason": "sk-secret"}, "reply": "my key is sk-secret"}
    if kind == "misspell":
        return {"prediction": {"valeu": 1.0}}
    return answer(event, world)


def make_events(n, **columns):
    days = [f"2016-10-{10 + i % 3}T00:00:00+08:00" for i in range(n)]
    ids = [f"e{i:03}" for i in range(n)]
    levels = [1 + i % 4 for i in range(n)]
    table = {
        "event_id": ids,
        "as_of": days,
        "source_id": [f"s{i % 2}" for i in range(n)],
        "level": levels,
    }
    return pd.DataFrame(table | columns)


def run(agents, events, path, opener=dict, category="scripted", **options):
    agents = {
        name: {"forecast": forecast, "category": category} for name, forecast in agents.items()
    }
    return run_agents(agents, events, opener, path, **{"window": "T", "progress": False} | options)


def read_all(path, timings=False):
    return {
        table: read_runs(path, table, timings=timings)
        for table in ("runs", "replies", "predictions", "traces")
    }


@pytest.mark.parametrize("category", ["scripted", "baseline"])  # which is stored by batches
def test_a_killed_run_loses_and_repeats_nothing(tmp_path, category):
    events = make_events(60)
    agents = {"a": answer_slowly, "b": answer}
    ids = run(agents, events, tmp_path / "whole.sqlite", category=category)
    whole = read_all(tmp_path / "whole.sqlite")
    path = tmp_path / "killed.sqlite"
    before = pd.DataFrame()
    for moment in (7, 61):
        child = fork(lambda: run(agents, events, path, category=category))
        assert wait_until(lambda n=moment: count_stored(path, ids.values()) >= n)
        child.kill()
        child.join()
        kept = read_all(path, timings=True)
        assert before.empty or len(kept["replies"].merge(before)) == len(before), "lost or repeated"
        before = kept["replies"]
        assert moment <= len(before) == len(kept["predictions"]) < 120
        assert kept["traces"].groupby(["run_id", "event_id"]).ngroups == len(before)
        assert set(kept["runs"].status) == {"partial"}
    run(agents, events, path, category=category)
    for table, rows in read_all(path).items():
        pd.testing.assert_frame_equal(rows, whole[table])
    assert len(read_runs(path, "replies", timings=True).merge(before)) == len(before)


def test_what_goes_wrong_with_one_question_is_stored_without_a_key_and_the_rest_go_on(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setenv("MY_API_KEY", "sk-secret")
    wanted = {
        "raise": ("error", "ValueError: no <path> for key <secret> in e000"),
        "refuse": ("refusal", "refused"),
        "exit": ("error", "SystemExit: 3"),
        "misspell": ("error", "ValueError: the predictions table has no column 'valeu'"),
        "hang": ("timeout", "no answer within 0.3 s"),
        "leak": ("ok", ""),
        "": ("ok", ""),
    }
    run({"a": misbehave}, make_events(7, task=[*wanted]), tmp_path / "l.sqlite", deadline_s=0.3)
    tables = read_all(tmp_path / "l.sqlite")
    replies = tables["replies"].fillna("")
    assert list(zip(replies.status, replies.reason, strict=True)) == list(wanted.values())
    assert list(tables["predictions"].value.notna()) == [False] * 5 + [True] * 2
    assert tables["traces"].event_id.nunique() == 7
    assert not any(b"sk-secret" in path.read_bytes() for path in tmp_path.iterdir())
    assert "sk-secret" not in "".join(capfd.readouterr())


def open_badly():
    raise OSError("the replay web is down")


LINE = {"is_down": True, "n_asked": 0}
"""What stands between an agent and its model in the tests of accidents."""


def call(event, world):
    LINE["n_asked"] += 1
    if LINE["is_down"] and event["task"] == "":
        raise ConnectionError("connection refused")
    if event["task"] == "dear":
        return {
            "status": "over_budget",
            "reason": "not asked: the ceiling is 1",
            "prediction": {"value": None},
        }
    return misbehave(event, world)


def test_what_met_an_accident_is_asked_again_and_nothing_else(tmp_path):
    """Not even a refusal, or what timed out."""
    tasks = ["fine", "", "", "refuse", "", "hang"]
    path = tmp_path / "l.sqlite"
    events = make_events(6, task=tasks)
    LINE.update(is_down=True, n_asked=0)
    ids = run({"a": call}, events, path, deadline_s=0.3)
    first = read_all(path)
    assert (LINE["n_asked"], first["runs"]["status"].iloc[0]) == (6, "partial")
    ends = ["ok", "error", "error", "refusal", "error", "timeout"]
    assert list(first["replies"]["status"]) == ends
    LINE.update(is_down=False, n_asked=0)
    assert run({"a": call}, events, path) == ids
    tables = read_all(path, timings=True)
    assert (LINE["n_asked"], tables["runs"]["status"].iloc[0]) == (3, "complete")
    assert [len(tables[name]) for name in ("replies", "predictions")] == [6, 6]
    assert list(tables["replies"]["status"]) == ["ok"] * 3 + ["refusal", "ok", "timeout"]
    assert run({"a": call}, events, path, open_badly) == ids, "a finished run opens no world"
    for table, rows in read_all(path, timings=True).items():
        pd.testing.assert_frame_equal(rows, tables[table])


@pytest.mark.parametrize(("tasks", "n_stored", "reason"), [
    (["fine"] * 3 + [""] * 27, 9, "5 accidents in a row, the last: ConnectionError: connection refused"),
    (["fine"] * 3 + ["dear"] * 27, 3, "not asked: the ceiling is 1"),
])  # fmt: skip
def test_a_run_stops_for_accidents_in_a_row_and_at_the_ceiling(tmp_path, tasks, n_stored, reason):
    events = make_events(30, task=tasks).assign(as_of="2016-10-10T00:00:00+08:00", source_id="s")
    path = tmp_path / "l"
    LINE.update(is_down="dear" not in tasks, n_asked=0)
    with pytest.raises(Stopped, match=reason) as stopped:
        run({"a": call}, events, path, workers=2, max_accidents=5)
    replies = read_all(path)["replies"]
    assert set(replies["run_id"]) == set(stopped.value.run_ids.values())
    assert len(replies) in (n_stored - 1, n_stored) and LINE["n_asked"] < 12, (
        "what was under way came to its end"
    )
    assert "over_budget" not in set(replies["status"]), "not asked is no reply"


def interrupt(event, world):
    """The question "ctrl-c" interrupts its own run, "again" does it a second time while the others
    are at work."""
    if event["task"] in ("ctrl-c", "sigterm", "again"):
        time.sleep(0.3 if event["task"] == "again" else 0.1)
        os.kill(os.getpid(), signal.SIGTERM if event["task"] == "sigterm" else signal.SIGINT)
    time.sleep(8 if event["task"] == "slow" else 0.3)
    return answer(event, world)


@pytest.mark.parametrize(
    ("task", "words"), [("ctrl-c", "stopped by Ctrl-C"), ("sigterm", "stopped by SIGTERM")]
)
def test_at_ctrl_c_what_is_under_way_is_stored_and_nothing_else_is_asked(
    tmp_path, task, words, capfd
):
    events = make_events(12, task=[task, *[""] * 11], source_id="s")
    path = tmp_path / "l"
    events["as_of"] = "2016-10-10T00:00:00+08:00"
    with pytest.raises(Stopped, match=words) as stopped:
        run({"a": interrupt}, events, path, workers=4, deadline_s=60)
    assert stopped.value.cause == "signal"
    again = "a second Ctrl-C" if task == "ctrl-c" else "a second signal"
    told = f"those under way (4) will be stored as they end, in 59 s at most; {again} stops at once"
    assert told in capfd.readouterr().err.replace("60 s", "59 s")
    assert list(read_runs(path, "replies").status) == ["ok"] * 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run({"a": interrupt}, events.assign(task=""), path, workers=4, drawn_from=events, deadline_s=60)
    assert list(read_runs(path, "replies").status) == ["ok"] * 12


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    started = time.monotonic()
    events = make_events(
        8, task=["ctrl-c", "again", *["slow"] * 6], source_id="s", as_of="2016-10-10T00:00:00+08:00"
    )
    with pytest.raises(KeyboardInterrupt):
        run({"a": interrupt}, events, tmp_path / "l", workers=4)
    assert time.monotonic() - started < 6, "it does not wait for the slow ones"


def test_the_first_question_goes_alone_and_is_an_ordinary_one(tmp_path):
    events = make_events(6, task="")
    path = tmp_path / "l.sqlite"
    LINE.update(is_down=True, n_asked=0)
    with pytest.raises(Stopped, match="connection refused") as stopped:
        run({"a": call}, events, path, workers=4, tries_first=True)
    assert (stopped.value.cause, LINE["n_asked"]) == ("first", 1)
    assert read_runs(path, "replies").empty, (
        "nothing counts as missing because of a server that is not there"
    )
    LINE.update(is_down=False, n_asked=0)
    run({"a": call}, events, path, workers=4, tries_first=True)
    assert LINE["n_asked"] == 6, "none is asked twice"
    assert list(read_runs(path, "replies").status) == ["ok"] * 6


def test_repeats_and_larger_samples_are_asked_once_and_are_the_same_run(tmp_path):
    agents = {"a": lambda event, world: {"prediction": {"value": event.get("sample", 0)}}}
    events = make_events(8)
    path = tmp_path / "l.sqlite"
    first = run(agents, events[:3], path, drawn_from=events)
    before = read_runs(path, "replies", timings=True)
    assert list(read_runs(path, "runs").status) == ["partial"]
    assert run(agents, events[:6], path, drawn_from=events) == first == run(agents, events, path)
    assert list(read_runs(path, "runs").status) == ["complete"]
    for n in (3, 2):
        assert run(agents, events, path, samples=range(n)) == first
        rows = read_runs(path, "predictions")
        found = list(zip(rows.event_id, rows["sample"], rows.value, strict=True))
        assert found == [(name, k, str(k)) for name in events.event_id for k in range(3)]
    assert len(read_runs(path, "replies", timings=True).merge(before)) == 3


def test_the_run_id_follows_the_agent_the_events_and_the_code(monkeypatch):
    def name(events, **changes):
        agent = {"forecast": answer, "params": {"n": 7}, "seed": 1} | changes
        return describe_run("a", agent, events, window="T", deadline_s=1)["run_id"]

    events = make_events(2)
    ids = [name(events), name(events, params={"n": 8}), name(events, condition="no_tools")]
    ids += [name(events.assign(level=4)), name(events[:1])]
    assert name(events[::-1]) == ids[0]
    monkeypatch.setattr(run_loop, "hash_own", lambda *_: "c1")
    assert len({*ids, name(events)}) == 6


def test_a_sample_is_stable_shared_by_levels_and_part_of_a_larger_one():
    events = make_events(200)
    small, large = (set(sample_events(events, n).event_id) for n in (20, 40))
    assert small < large
    assert list(sample_events(events, 20).level.value_counts()) == [5, 5, 5, 5]
    assert small == set(sample_events(events.sample(frac=1, random_state=1), 20).event_id)
    assert small != set(sample_events(events, 20, seed=1).event_id)
    assert len(sample_events(events, 1000)) == 200
    with pytest.raises(ValueError, match="must be positive"):
        sample_events(events, 0)


ENTRY = {"category": "base_model", "framework": "prompt", "model": "local/qwen"}
EVENTS = pd.DataFrame([dict.fromkeys(list_columns("events"), "x")])


def name_all():
    """Return the run's id of every method's agent."""
    agents = load_agents() | {
        method: connect_agent(ENTRY | {"method": method}, None) for method in PROMPTED
    }
    named = {
        name: describe_run(name, agent, EVENTS, window="T", deadline_s=1)
        for name, agent in agents.items()
    }
    return {name: row["run_id"] for name, row in named.items()}


def test_a_methods_version_and_a_prompt_rename_the_runs_that_use_them(tmp_path, monkeypatch):
    def list_renamed():
        prompts.read_prompt.cache_clear()
        return {name for name, run_id in name_all().items() if run_id != before[name]}

    before = name_all()
    monkeypatch.setitem(run_loop.METHOD_VERSIONS, "react", 2)
    assert list_renamed() == {"react"}
    shutil.copytree(prompts.FOLDER, tmp_path / "prompts")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path / "prompts")
    (tmp_path / "prompts/research_manager.md").write_text("Think.\n")
    assert list_renamed() == {"react", "research"}
    prompts.read_prompt.cache_clear()
