"""The runner, with small agents that answer, raise, refuse, hang or die."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_agents import (
    answer,
    answer_late,
    answer_oddly,
    answer_slowly,
    misbehave,
    open_badly,
    open_folder,
    open_nothing,
    open_or_die,
    spend,
    tell_world,
)

from helpers.agents import runs, workers
from helpers.agents.runs import Stopped, list_tasks, run_agents, sample_events
from helpers.agents.stops import Watch, describe_stop
from helpers.agents.workers import redact, run_in_processes, run_in_threads
from helpers.store import ACCIDENTS, open_store, read_runs

HERE = Path(__file__).parent
CATEGORIES = pytest.mark.parametrize("category", ["scripted", "baseline"])
"""A baseline's answers of a day and source come as one."""
MODES = pytest.mark.parametrize("mode", ["process", "thread"])


def make_events(n, **columns):
    days = [f"2016-10-{10 + i % 3}T00:00:00+08:00" for i in range(n)]
    ids, levels = [f"e{i:03}" for i in range(n)], [1 + i % 4 for i in range(n)]
    table = {"event_id": ids, "as_of": days, "source_id": [f"s{i % 2}" for i in range(n)], "level": levels}
    return pd.DataFrame(table | columns)


def run(agents, events, path, opener=open_nothing, category="scripted", **options):
    agents = {name: {"forecast": forecast, "category": category} for name, forecast in agents.items()}
    return run_agents(agents, events, opener, path, **{"window": "T", "progress": False} | options)


def read_all(path, timings=False):
    return {table: read_runs(path, table, timings=timings) for table in ("runs", "replies", "predictions", "traces")}


@MODES
def test_every_agent_answers_every_event_and_all_of_it_is_stored(tmp_path, mode):
    path = tmp_path / "l.sqlite"
    ids = run({"fast": answer, "slow": answer_slowly}, make_events(6), path, mode=mode)
    tables = read_all(path)
    assert [len(table) for table in tables.values()] == [2, 12, 12, 24]
    one = tables["predictions"].query("run_id == @ids['fast'] and event_id == 'e003'").iloc[0]
    assert (one.value, one.distribution, one.as_of) == ("1.5", '{"0.5":1.5}', "2016-10-10T00:00:00+08:00")
    assert list(tables["traces"].page_ids[:2].fillna("")) == ['["p0"]', ""]
    assert set(tables["runs"].status) == {"complete"}
    assert ids["fast"].startswith("fast-T-")


@CATEGORIES
def test_killed_at_three_moments_a_run_loses_and_repeats_nothing(tmp_path, monkeypatch, category):
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
    events, agents = make_events(60), {"a": answer_slowly, "b": answer}
    run(agents, events, tmp_path / "whole.sqlite", workers=1, category=category)
    whole, path = read_all(tmp_path / "whole.sqlite"), tmp_path / "killed.sqlite"
    agents_there = "{'a': answer_slowly, 'b': answer}"
    call = f"run({agents_there}, make_events(60), {str(path)!r}, open_folder, {category!r}, workers=2)"
    code = f"from test_runs import *\n{call}"
    before = pd.DataFrame()
    for moment in sorted(np.random.default_rng(7).integers(5, 70, 3)):
        child = subprocess.Popen([sys.executable, "-c", code], cwd=HERE)
        wait_until(lambda n=moment: count_replies(path) >= n)
        child.kill()
        assert child.wait() == -signal.SIGKILL
        kept = read_all(path, timings=True)
        assert before.empty or kept["replies"].merge(before).shape == before.shape, "an answer was lost or asked again"
        before = kept["replies"]
        assert moment <= len(before) < 120
        assert len(kept["predictions"]) == len(before) == kept["traces"].groupby(["run_id", "event_id"]).ngroups
        assert set(kept["runs"].status) == {"partial"}
    wait_until(lambda: not any(is_alive(file) for file in tmp_path.glob("opened_*")))
    run(agents, events, path, workers=1, category=category)
    for table, rows in read_all(path).items():
        pd.testing.assert_frame_equal(rows, whole[table])
    assert read_runs(path, "replies", timings=True).merge(before).shape == before.shape


def count_replies(path):
    with closing(open_store(path)) as ledger:
        return ledger.execute("SELECT count(*) FROM replies").fetchone()[0]


def is_alive(file):
    try:
        return "Z" not in Path(f"/proc/{file.name.split('_')[1]}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False


def wait_until(check, seconds=20):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@CATEGORIES
def test_what_goes_wrong_with_one_question_is_stored_and_the_rest_go_on(tmp_path, category):
    kinds = ["raise", "die", "refuse", "exit", "misspell", "hang", "hang hard", "", "", ""]
    started = time.monotonic()
    options = {"deadline_s": 1, "secrets": ["sk-secret"], "category": category}
    run({"a": misbehave}, make_events(10, task=kinds), tmp_path / "l.sqlite", **options)
    assert time.monotonic() - started < 40  # a hang lasts 60
    replies = read_runs(tmp_path / "l.sqlite", "replies").set_index("event_id")
    assert list(replies.status) == [
        "error",
        "error",
        "refusal",
        "error",
        "error",
        "timeout",
        "timeout",
        "ok",
        "ok",
        "ok",
    ]
    assert list(replies.reason[:7]) == [
        "ValueError: no <path> for key <secret> in e000",
        "the worker process died (exit code -9)",
        "refused",
        "SystemExit: 3",
        "ValueError: the predictions table has no column 'valeu'",
        "no answer within 1 s",
        "no answer within 1 s",
    ]
    predictions = read_runs(tmp_path / "l.sqlite", "predictions").set_index("event_id")
    assert list(predictions.value.notna()) == [False] * 7 + [True] * 3
    assert read_runs(tmp_path / "l.sqlite", "traces").event_id.nunique() == 10


@pytest.mark.parametrize(("mode", "kind"), [("process", "hang"), ("process", "hang hard"), ("thread", "hang")])
def test_a_hanging_question_ends_within_a_second_of_its_deadline(mode, kind):
    events = make_events(3, task=["", kind, ""], as_of="2016-10-10T00:00:00+08:00", source_id="s")
    tasks = [(("r", "a"), event) for event in events.to_dict("records")]
    if mode == "process":
        rows = run_in_processes([tasks], {"a": misbehave}, open_nothing, deadline_s=1, workers=1)
    else:
        rows = run_in_threads(tasks, {"a": misbehave}, open_nothing, deadline_s=1, workers=1)
    arrived = [(reply["event_id"], reply["status"], time.monotonic()) for ((reply, _, _),) in rows]
    assert [row[:2] for row in arrived] == [("e000", "ok"), ("e001", "timeout"), ("e002", "ok")]
    assert 0.9 < arrived[1][2] - arrived[0][2] < 2


def test_in_threads_many_wait_at_once_and_a_failure_stays_alone(tmp_path):
    kinds = ["raise", "exit", "hang", "refuse", *[""] * 36]
    started = time.monotonic()
    run({"a": misbehave}, make_events(40, task=kinds), tmp_path / "l.sqlite", mode="thread", workers=20, deadline_s=0.5)
    assert time.monotonic() - started < 5  # a hang lasts 60
    replies = read_runs(tmp_path / "l.sqlite", "replies")
    assert list(replies.status) == ["error", "error", "timeout", "refusal", *["ok"] * 36]


def test_the_questions_of_agents_that_cost_nothing_come_as_one():
    events = make_events(3, as_of="2016-10-10T00:00:00+08:00", source_id="s").to_dict("records")
    tasks = [((name, name), event) for name in ("a", "b", "c") for event in events]
    forecasts = dict.fromkeys("abc", answer)
    rows = list(run_in_processes([tasks], forecasts, open_nothing, deadline_s=20, workers=1, cheap={"a", "c"}))
    assert [len(batch) for batch in rows] == [6, 1, 1, 1]
    assert [prediction["agent_id"] for _, prediction, _ in rows[0]] == list("aaaccc")


def test_a_late_answer_of_a_thread_is_dropped():
    tasks = [(("r", "a"), event) for event in make_events(4, task=["late", "", "", ""]).to_dict("records")]
    rows = list(run_in_threads(tasks, {"a": answer_late}, open_nothing, deadline_s=0.4, workers=1))
    assert [reply["status"] for ((reply, _, _),) in rows] == ["timeout", "ok", "ok", "ok"]


def test_a_process_that_dies_before_it_takes_a_question_is_started_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
    tasks = [(("r", "a"), event) for event in make_events(3, task=["", "die", ""]).to_dict("records")]
    rows = list(run_in_processes([tasks], {"a": misbehave}, open_or_die, deadline_s=20, workers=1))
    assert sorted((reply["event_id"], reply["status"]) for ((reply, _, _),) in rows) == [
        ("e000", "ok"),
        ("e001", "error"),
        ("e002", "ok"),
    ]
    assert len(list(tmp_path.glob("start_*"))) == 6


def test_a_world_that_worker_processes_cannot_import_ends_the_run_with_a_sentence(tmp_path):
    code = f"""
from test_runs import *
def open_local():
    return None
if __name__ == "__main__":
    run({{"a": answer}}, make_events(2), {str(tmp_path / "l.sqlite")!r}, open_local, workers=1, mode="process")
"""
    ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True, timeout=60)
    assert (
        "RuntimeError: worker processes do not start; agents and opener must be functions of a module" in ended.stderr
    )
    assert read_runs(tmp_path / "l.sqlite", "replies").empty


@MODES
def test_a_finished_run_asks_nothing_again_refusals_and_timeouts_neither(tmp_path, mode, monkeypatch):
    events = make_events(4, task=["refuse", "hang", "", ""])
    ids = run({"a": misbehave}, events, tmp_path / "l.sqlite", mode=mode, deadline_s=1)
    before = read_all(tmp_path / "l.sqlite", timings=True)
    assert run({"a": misbehave}, events, tmp_path / "l.sqlite", open_badly, mode="process") == ids
    for table, rows in read_all(tmp_path / "l.sqlite", timings=True).items():
        pd.testing.assert_frame_equal(rows, before[table])


LINE = {"is_down": True, "n_asked": 0}
"""What stands between an agent and its model in the tests of accidents."""


def call(event, world):
    LINE["n_asked"] += 1
    if LINE["is_down"] and event["task"] != "fine":
        raise ConnectionError("connection refused")
    if event["task"] == "dear":
        return {"status": "over_budget", "reason": "not asked: the ceiling is 1", "prediction": {"value": None}}
    return answer(event, world)


def test_what_met_an_accident_is_asked_again_and_nothing_else(tmp_path):
    events, path = make_events(6, task=["fine", "", "", "fine", "", "fine"]), tmp_path / "l.sqlite"
    LINE.update(is_down=True, n_asked=0)
    ids = run({"a": call}, events, path, mode="thread")
    first = read_all(path)
    assert (LINE["n_asked"], first["runs"]["status"].iloc[0]) == (6, "partial")
    assert first["replies"]["status"].value_counts().to_dict() == {"ok": 3, "error": 3}
    LINE.update(is_down=False, n_asked=0)
    assert run({"a": call}, events, path, mode="thread") == ids
    tables = read_all(path)
    assert (LINE["n_asked"], tables["runs"]["status"].iloc[0]) == (3, "complete")
    assert [len(tables[name]) for name in ("replies", "predictions", "traces")] == [6, 6, 12]
    assert set(tables["replies"]["status"]) == {"ok"}


def test_timeouts_are_asked_again_on_demand(tmp_path):
    events, path = make_events(2, task=["hang", ""]), tmp_path / "l.sqlite"
    run({"a": misbehave}, events, path, mode="thread", deadline_s=0.3)
    assert read_all(path)["replies"]["status"].tolist() == ["timeout", "ok"]
    options = {"mode": "thread", "drawn_from": events, "again": (*ACCIDENTS, "timeout")}
    run({"a": misbehave}, events.assign(task=""), path, **options)
    assert read_all(path)["replies"]["status"].tolist() == ["ok", "ok"]


@pytest.mark.parametrize(("tasks", "n_stored", "reason"), [
    (["fine"] * 3 + [""] * 27, 9, "5 accidents in a row, the last: ConnectionError: connection refused"),
    (["fine"] * 3 + ["dear"] * 27, 3, "not asked: the ceiling is 1"),
])  # fmt: skip
def test_a_run_stops_for_accidents_in_a_row_and_at_the_ceiling(tmp_path, tasks, n_stored, reason):
    events, path = make_events(30, task=tasks).assign(as_of="2016-10-10T00:00:00+08:00", source_id="s"), tmp_path / "l"
    LINE.update(is_down="dear" not in tasks, n_asked=0)
    with pytest.raises(Stopped, match=reason) as stopped:
        run({"a": call}, events, path, mode="thread", workers=2, max_accidents=5)
    replies = read_all(path)["replies"]
    assert set(replies["run_id"]) == set(stopped.value.run_ids.values())
    assert len(replies) in (n_stored - 1, n_stored) and LINE["n_asked"] < 12, "what was under way came to its end"
    assert "over_budget" not in set(replies["status"]), "not asked is no reply"


def interrupt(event, world):
    """The question "ctrl-c" interrupts its own run, "again" does it a second time while the others are at work."""
    if event["task"] in ("ctrl-c", "sigterm", "again"):
        time.sleep(0.3 if event["task"] == "again" else 0.1)
        os.kill(os.getpid(), signal.SIGTERM if event["task"] == "sigterm" else signal.SIGINT)
    time.sleep(8 if event["task"] == "slow" else 0.3)
    return answer(event, world)


@pytest.mark.parametrize(("task", "words"), [("ctrl-c", "stopped by Ctrl-C"), ("sigterm", "stopped by SIGTERM")])
def test_at_ctrl_c_what_is_under_way_is_stored_and_nothing_else_is_asked(tmp_path, task, words, capfd):
    events, path = make_events(12, task=[task, *[""] * 11], source_id="s"), tmp_path / "l"
    events["as_of"] = "2016-10-10T00:00:00+08:00"
    with pytest.raises(Stopped, match=words) as stopped:
        run({"a": interrupt}, events, path, mode="thread", workers=4, deadline_s=60)
    assert stopped.value.cause == "signal"
    again = "a second Ctrl-C" if task == "ctrl-c" else "a second signal"
    told = f"4 questions are under way and will be stored as they end, in 59 s at most; {again} stops at once"
    assert told in capfd.readouterr().err.replace("60 s", "59 s")
    assert list(read_runs(path, "replies").status) == ["ok"] * 4
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run({"a": interrupt}, events.assign(task=""), path, mode="thread", workers=4, drawn_from=events, deadline_s=60)
    assert list(read_runs(path, "replies").status) == ["ok"] * 12


def test_ctrl_c_does_not_promise_what_a_hanging_server_breaks():
    watch, now = Watch(), time.monotonic()
    watch.seconds, watch.under_way = [0.6, 1.2], {0: ((), now + 1770, now - 30), 1: ((), now + 1799, now - 1)}
    told = describe_stop(watch, signal.SIGINT)
    assert "(one has waited 30 s, where earlier ones took 1 s at most: its server may hang), in 1799 s at most" in told
    assert "likely" not in told
    del watch.under_way[0]
    assert "stored as it ends, most likely within 1 s, in 1799 s at most" in describe_stop(watch, signal.SIGINT)


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    started = time.monotonic()
    events = make_events(8, task=["ctrl-c", "again", *["slow"] * 6], source_id="s", as_of="2016-10-10T00:00:00+08:00")
    with pytest.raises(KeyboardInterrupt):
        run({"a": interrupt}, events, tmp_path / "l", mode="thread", workers=4)
    assert time.monotonic() - started < 6, "it does not wait for the slow ones"


def test_the_first_question_goes_alone_and_is_an_ordinary_one(tmp_path):
    events, path = make_events(6, task=""), tmp_path / "l.sqlite"
    LINE.update(is_down=True, n_asked=0)
    with pytest.raises(Stopped, match="connection refused") as stopped:
        run({"a": call}, events, path, mode="thread", workers=4, tries_first=True)
    assert (stopped.value.cause, LINE["n_asked"]) == ("first", 1)
    assert read_runs(path, "replies").empty, "nothing counts as missing because of a server that is not there"
    LINE.update(is_down=False, n_asked=0)
    run({"a": call}, events, path, mode="thread", workers=4, tries_first=True)
    assert LINE["n_asked"] == 6, "none is asked twice"
    assert list(read_runs(path, "replies").status) == ["ok"] * 6


def test_while_the_first_reply_takes_its_time_that_is_said_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "WAITING_S", (0.1, 0.2))
    events, left = make_events(4, task=["hang", "", "", ""], as_of="2016-10-10T00:00:00+08:00", source_id="s"), []
    options = {"mode": "thread", "deadline_s": 0.6, "tries_first": True, "remind": left.append}
    with pytest.raises(Stopped, match="no answer within 0.6 s"):
        run({"a": misbehave}, events, tmp_path / "l", **options)
    assert left == pytest.approx([0.5, 0.3, 0.1], abs=0.05)
    monkeypatch.setattr(workers, "WAITING_S", (0.1, 60))
    run({"a": interrupt}, events.assign(task=""), tmp_path / "m", **options | {"deadline_s": 9})
    assert len(left) == 4, "of the 0.3 s that the first takes it is said once, of the others nothing"


def test_what_a_killed_worker_left_is_asked_again(tmp_path):
    events, path = make_events(3, task=["", "die", ""]), tmp_path / "l.sqlite"
    run({"a": misbehave}, events, path, workers=1)
    assert list(read_runs(path, "replies").status) == ["ok", "error", "ok"]
    run({"a": misbehave}, events.assign(task=""), path, workers=1, drawn_from=events)
    assert list(read_runs(path, "replies").status) == ["ok"] * 3
    assert len(read_runs(path, "traces")) == 6


def repeat(event, world):
    return {"prediction": {"value": event.get("sample", 0)}}


def test_repeats_are_asked_each_once_and_more_of_them_are_the_same_run(tmp_path):
    events, path = make_events(3), tmp_path / "l.sqlite"
    first = run({"a": repeat}, events, path, mode="thread")
    assert list(read_runs(path, "runs").status) == ["complete"]
    for n in (3, 2):
        assert run({"a": repeat}, events, path, mode="thread", samples=range(n)) == first
        rows = read_runs(path, "predictions")
        assert list(zip(rows.event_id, rows["sample"], rows.value, strict=True)) == [
            (f"e{i:03}", k, str(k)) for i in range(3) for k in range(3)
        ]


CTRL_C = """
if __name__ == "__main__":
    from small_agents import *
    from test_runs import *
    try:
        run({"a": answer_slowly}, make_events(600), "PATH", open_slowly, "baseline")
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.parametrize("moment", [0.0, 0.2, None])
def test_ctrl_c_to_a_whole_terminal_leaves_no_trace_of_the_worker_processes(tmp_path, moment):
    """SIGINT goes to the parent and its workers, while they import (0 s, 0.2 s) or when they are at work (None)."""
    code, environment = tmp_path / "go.py", os.environ | {"TEST_FOLDER": str(tmp_path)}
    code.write_text(CTRL_C.replace("PATH", str(tmp_path / "l.sqlite")))
    environment["PYTHONPATH"] = f"{HERE}:{environment.get('PYTHONPATH', '')}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, code], cwd=HERE, env=environment, start_new_session=True, **pipes)
    wait_until((tmp_path / "l.sqlite").exists if moment is not None else lambda: any(tmp_path.glob("opened_*")))
    time.sleep(moment or 0.2)
    os.killpg(child.pid, signal.SIGINT)
    assert child.communicate(timeout=30) == ("stopped\n", "")


STOPPED = """
if __name__ == "__main__":
    from helpers.agents.workers import run_in_processes
    from test_runs import answer, make_events, open_nothing
    rows = make_events(10).to_dict("records")
    arrivals = run_in_processes([[(("r", "a"), row)] for row in rows], {"a": answer}, open_nothing, 20, workers=5)
    next(arrivals)
    arrivals.close()  # as what could not be stored does
"""


def test_a_run_that_ends_while_worker_processes_start_leaves_no_trace_of_them(tmp_path):
    (tmp_path / "stopped.py").write_text(STOPPED)
    late = "import os, sys, time\n'spawn_main' in str(sys.orig_argv) and time.sleep(os.getpid() % 5 * 0.3)"
    (tmp_path / "sitecustomize.py").write_text(late)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path, str(Path(__file__).parent)])}
    command = [sys.executable, tmp_path / "stopped.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_run_id_follows_the_agent_the_events_and_the_code(tmp_path, monkeypatch):
    agents, events = {"a": {"forecast": answer, "params": {"n": 7}, "seed": 1}}, make_events(2)

    def identify(agents=agents, events=events):
        options = {"window": "T", "mode": "thread"}
        return run_agents(agents, events, open_nothing, tmp_path / "l.sqlite", **options)["a"]

    changed = {"a": agents["a"] | {"params": {"n": 8}}}
    other = {"a": agents["a"] | {"condition": "no_tools"}}
    ids = [identify(), identify(agents=changed), identify(agents=other)]
    ids += [identify(events=events.assign(level=4)), identify(events=events[:1])]
    with monkeypatch.context() as patch:
        patch.setattr(runs, "hash_agent", lambda *_: "c1")
        ids.append(identify())
    assert len(set(ids)) == 6
    assert identify(events=events[::-1]) == ids[0]
    assert sorted(set(ids)) == list(read_runs(tmp_path / "l.sqlite", "runs").run_id)


@MODES
def test_the_world_is_opened_once_a_worker_and_closed(tmp_path, monkeypatch, mode):
    monkeypatch.setenv("TEST_FOLDER", str(tmp_path))
    run({"a": tell_world}, make_events(12), tmp_path / "l.sqlite", open_folder, mode=mode)
    opened, closed = (sorted(f.name[6:] for f in tmp_path.glob(f"{word}_*")) for word in ("opened", "closed"))
    assert opened == closed
    assert len(opened) == (2 if mode == "process" else 1)
    assert set(read_runs(tmp_path / "l.sqlite", "predictions").value) == {f'"{tmp_path.name}"'}


@MODES
def test_a_world_that_does_not_open_stops_the_run_and_is_no_agents_error(tmp_path, mode):
    with pytest.raises(Exception, match="the world did not open: OSError: the replay web is down"):
        run({"a": answer}, make_events(2), tmp_path / "l.sqlite", open_badly, mode=mode, workers=1)
    assert read_runs(tmp_path / "l.sqlite", "replies").empty
    run({"a": answer}, make_events(2), tmp_path / "l.sqlite", mode=mode, workers=1)
    assert len(read_runs(tmp_path / "l.sqlite", "replies")) == 2


def test_a_larger_sample_continues_the_run_of_the_whole(tmp_path):
    events, path = make_events(8), tmp_path / "l.sqlite"
    first = run({"a": answer}, events[:3], path, drawn_from=events, mode="thread")
    before = read_runs(path, "replies", timings=True)
    assert list(read_runs(path, "runs").status) == ["partial"]
    assert run({"a": answer}, events[:6], path, drawn_from=events, mode="thread") == first
    assert len(read_runs(path, "replies", timings=True).merge(before)) == 3
    assert run({"a": answer}, events, path, mode="thread") == first
    assert list(read_runs(path, "runs").status) == ["complete"]


def test_tokens_and_cost_are_summed_and_shown(tmp_path, capsys):
    run({"a": spend}, make_events(4), tmp_path / "l.sqlite", mode="thread", progress=True)
    one = read_runs(tmp_path / "l.sqlite", "runs").iloc[0]
    assert (one.n_tokens, one.cost_usd, one.status) == (480, 1.0, "complete")
    assert "4/4" in (bar := capsys.readouterr().err)
    assert "1.00 USD" in bar
    run({"b": spend}, make_events(4), tmp_path / "l.sqlite", mode="thread", progress=None)
    assert capsys.readouterr().err == "", "silent where standard error is no terminal"


def test_questions_come_by_day_then_source_then_agent():
    groups = list_tasks([("r1", "a"), ("r2", "b")], make_events(12), {"r1": {("e000", 0)}, "r2": set()})
    order = [
        (task[1]["as_of"], task[1]["source_id"], task[0][1], task[1]["event_id"]) for group in groups for task in group
    ]
    assert order == sorted(order)
    assert len(order) == 23
    assert all(len({(task[1]["as_of"], task[1]["source_id"]) for task in group}) == 1 for group in groups)


def test_a_sample_is_stable_shared_by_levels_and_part_of_a_larger_one():
    events = make_events(200)
    small, large = sample_events(events, 20), sample_events(events, 40)
    assert set(small.event_id) < set(large.event_id)
    assert list(small.level.value_counts()) == [5, 5, 5, 5]
    assert list(small.event_id) == list(sample_events(events.sample(frac=1, random_state=1), 20).event_id.sort_values())
    assert set(small.event_id) != set(sample_events(events, 20, seed=1).event_id)
    assert len(sample_events(events, 1000)) == 200
    with pytest.raises(ValueError, match="must be positive"):
        sample_events(events, 0)


def test_agents_that_cannot_be_run_are_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(TypeError, match="'a' must be a function of a module"):
        run({"a": lambda event, world: answer(event, world)}, make_events(2), tmp_path / "l.sqlite", mode="process")
    with pytest.raises(ValueError, match="no column 'temperature'; put it into params"):
        run_agents({"a": {"forecast": answer, "temperature": 1}}, make_events(2), open_nothing, tmp_path / "l.sqlite",
                   window="T")  # fmt: skip
    with pytest.raises(ValueError, match="not 'fork'"):
        run({"a": answer}, make_events(2), tmp_path / "l.sqlite", mode="fork")


def test_redaction_covers_encoded_keys():
    assert redact("a+b/c== and a%2Bb%2Fc%3D%3D", ["a+b/c=="]) == "<secret> and <secret>"


def test_a_resumed_run_of_other_code_asks_anew_and_is_kept_apart(tmp_path, monkeypatch):
    path, asked = tmp_path / "l.sqlite", []

    def note(event, world):
        asked.append(event["event_id"])
        return {"prediction": {"value": len(asked)}}

    first = run({"a": note}, make_events(2), path, mode="thread", workers=1)["a"]
    monkeypatch.setattr(runs, "hash_agent", lambda *_: "other")
    second = run({"a": note}, make_events(2), path, mode="thread", workers=1)["a"]
    assert second != first and len(asked) == 4, "nothing of the first run answers for the second"
    assert [set(read_runs(path, "predictions", [run_id]).value) for run_id in (first, second)] == [
        {"1", "2"},
        {"3", "4"},
    ]
    table = read_runs(path, "runs").set_index("run_id")
    assert table.code_version[second] == "other" != table.code_version[first]


@MODES
def test_what_no_table_holds_is_cleaned_and_stops_no_run(tmp_path, mode):
    path = tmp_path / "ledger.sqlite"
    agents = {"odd": {"forecast": answer_oddly}, "plain": {"forecast": answer}}
    run_agents(agents, make_events(4), open_nothing, path, window="T", mode=mode)
    replies = read_runs(path, "replies")
    assert list(replies["status"]) == ["ok"] * 8
    odd = replies[replies["run_id"].str.startswith("odd")].reset_index()
    assert (odd["reply"][0], odd["finish_reason"][0], odd["reason"][1]) == ("It is ?.", "?", "half ?")
    assert odd.loc[:1, ["n_input_tokens", "n_output_tokens"]].isna().to_numpy().tolist() == [
        [True, True],
        [False, True],
    ]
    assert odd["cost_usd"][0] == 0.25 and pd.isna(odd["cost_usd"][1])
    steps = read_runs(path, "traces")
    assert set(steps["content"].dropna()) == {"a?b", "ok"} and steps["cost_usd"].isna().all()
    assert set(read_runs(path, "predictions")["value"]) >= {'"?"'}
