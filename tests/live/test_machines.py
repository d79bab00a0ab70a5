"""Workers give what one machine gives, though one is killed in mid-run: submitit's own processes,
and Dask's."""

import multiprocessing
import os
import signal
import time
from contextlib import closing, suppress
from threading import Thread

import pytest
from builders import ENTRY

from daybefore.agents.python_functions import load_function, make_agent
from daybefore.commands.main import carry_out
from daybefore.live.many_machines import merge_store
from daybefore.store import open_store, read_runs
from helpers.files import STORE

KEY = "sk-planted-0123456789"
TABLES = ("replies", "predictions", "traces", "runs")
N = 12

ALONE = {"category": "scripted", "framework": "Python function", "method": "function"}
FUNCTION = """
import os, pathlib, time

def answer(event, world):
    with open(pathlib.Path(__file__).with_name("asked"), "a") as log:
        log.write(f"{os.getpid()} {event['event_id']}\\n")
    time.sleep(0.2)
    return "A" if len(event["prompt"]) % 2 else "B"
"""


@pytest.fixture
def ask(monkeypatch):
    """A function that runs the agent `mine` of an entry in a folder, as the command does; returns
    its tables."""

    def run(entry, folder, *arguments):
        monkeypatch.setattr(
            "daybefore.commands.run_service.load_entries", lambda **_: {"mine": entry}
        )
        about = {name: entry[name] for name in ("category", "framework")}
        own = (
            {"mine": make_agent(load_function(entry["agent"]), **about)} if "agent" in entry else {}
        )
        monkeypatch.setattr("daybefore.commands.run_service.load_agents", lambda **_: own)
        monkeypatch.setenv("DAYBEFORE_OUT", str(folder))
        carry_out(
            ["run", "--agent", "mine", "--limit", str(N), "--yes", "--at-once", "2", *arguments]
        )
        return {name: read_runs(folder / STORE, name) for name in TABLES}

    return run


def kill_later(pick, read_asked):
    """Kill the process that `pick` names (None: not there yet) once N // 2 questions were asked."""

    def kill():
        while len(read_asked()) < N // 2 or not (pid := pick()):
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)

    Thread(target=kill, daemon=True).start()


def find_holder():
    """Return the process that holds the first shard's store open, None while there is none."""
    for at in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            held = [os.readlink(f"/proc/{at}/fd/{fd}") for fd in os.listdir(f"/proc/{at}/fd")]
            if int(at) != os.getpid() and any(name.endswith("/shard-0.sqlite") for name in held):
                return int(at)


def check_equal(many, one):
    for name in TABLES:
        assert len(one[name]) and many[name].equals(one[name]), name


def test_submitits_processes_with_one_killed(ask, tmp_path, monkeypatch, capsys):
    (tmp_path / "mine_alone.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    entry = ALONE | {"agent": "mine_alone:answer"}
    asked = tmp_path / "asked"
    asked.touch()
    kill_later(lambda: int(asked.read_text().split()[-2]), lambda: asked.read_text().splitlines())
    many = ask(entry, tmp_path / "many", "--executor", "local", "--shards", "2")
    said = capsys.readouterr().err
    assert "12 questions in 2 shards by local" in said and "it lost its worker, try 1 of 3" in said
    lines = asked.read_text().splitlines()
    assert N < len(lines) <= N + 2 and len({line.split()[1] for line in lines}) == N, (
        "what was open is asked again"
    )
    assert not list(tmp_path.glob("many/data/runs/shards/*"))
    check_equal(many, ask(entry, tmp_path / "one"))


def test_workers_whose_main_process_is_killed_ask_no_further_question(ask, tmp_path, monkeypatch):
    (tmp_path / "mine_left.py").write_text(FUNCTION.replace("0.2", "0.5"))
    monkeypatch.chdir(tmp_path)
    entry = ALONE | {"agent": "mine_left:answer"}
    asked = tmp_path / "asked"
    asked.touch()
    arguments = (entry, tmp_path / "many", "--executor", "local", "--shards", "2")
    main = multiprocessing.get_context("fork").Process(target=ask, args=arguments)
    main.start()
    while not asked.read_text():
        time.sleep(0.01)
    main.kill()
    main.join()
    time.sleep(1)  # what was under way ends
    n_asked = len(asked.read_text().splitlines())
    time.sleep(1.5)  # in which all would be asked
    assert len(asked.read_text().splitlines()) == n_asked < N
    many = ask(*arguments)
    assert (
        len({line.split()[1] for line in asked.read_text().splitlines()})
        == N
        == len(many["replies"])
    )


def test_dasks_worker_killed_in_mid_run(ask, provider, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD", "forkserver")
    multiprocessing.set_forkserver_preload(
        ["distributed", "litellm", "daybefore.live.many_machines"]
    )  # once for all workers
    provider.latency_s, provider.answer = 0.2, lambda asked: {"content": "\\boxed{A}"}
    entry = ENTRY | {
        "api_base": provider.address,
        "api_key_env": "MACHINES_KEY",
        "options": {"max_tokens": 20},
    }
    entry |= {"usd_per_million": {"input": 10, "output": 100}}
    monkeypatch.setenv("MACHINES_KEY", KEY)
    kill_later(find_holder, lambda: provider.asked)
    many = ask(entry, tmp_path / "many", "--executor", "dask", "--shards", "1", "--ceiling", "4")
    assert "12 questions in 1 shards by dask" in capsys.readouterr().err
    assert len(provider.counts) == N < sum(provider.counts.values()) <= N + 2, (
        "what was open is asked again"
    )
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    check_equal(many, ask(entry, tmp_path / "one"))


def test_a_shard_is_merged_twice_and_stored_once(tmp_path):
    for status in ("error", "ok", "ok", "timeout"):  # an accident gives way, a final reply stays
        path = tmp_path / "shards/r/0/shard-0.sqlite"
        with closing(open_store(path)) as shard:
            for name in ("replies", "predictions"):
                sql = f"INSERT OR REPLACE INTO {name} (run_id, event_id, sample, status) VALUES ('r', 'e', 0, ?)"
                shard.execute(sql, [status])
            shard.execute("INSERT OR IGNORE INTO runs (run_id) VALUES ('r')")
            shard.execute("INSERT INTO requests (run, key) VALUES ('r', 'new')")
        merge_store(tmp_path / "store.sqlite", path)
        merge_store(tmp_path / "store.sqlite", path)
    with closing(open_store(tmp_path / "store.sqlite")) as store:
        for name in ("replies", "predictions"):
            assert store.execute(f"SELECT status FROM {name}").fetchall() == [("ok",)]
        assert store.execute("SELECT count(*) FROM requests").fetchone() == (4,)
