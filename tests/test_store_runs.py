import subprocess
import sys
import time

import pytest

from helpers.store import SCHEMA, close_run, insert_row, list_done, open_store, read_runs, save_questions


def save(ledger, run_id, i, **reply):
    key = {"run_id": run_id, "event_id": f"e{i:03}", "sample": 0}
    insert_row(ledger, "runs", {"run_id": run_id, "agent_id": "a"})
    prediction, trace = key | {"value": "1.5"}, [key | {"step": 0}, key | {"step": 1}]
    reply = key | {"status": "ok", "started_at": "now", "duration_s": 0.1} | reply
    return save_questions(ledger, [(reply, prediction, trace)])


OPENER = """
import sys, time
from helpers.store import open_store, insert_row
folder, name, start = sys.argv[1:]
time.sleep(max(0, float(start) - time.time()))
for i in range(12):
    time.sleep(max(0, float(start) + 0.05 * i - time.time()))
    insert_row(open_store(f"{folder}/{i}.sqlite"), "runs", {"run_id": name, "agent_id": "a"})
    insert_row(open_store(f"{folder}/old.sqlite"), "runs", {"run_id": f"{name}-{i}", "agent_id": "a"})
"""


def test_four_processes_open_a_new_ledger_and_an_old_one_at_once(tmp_path):
    open_store(tmp_path / "old.sqlite").close()
    command = [sys.executable, "-c", OPENER, str(tmp_path)]
    openers = [subprocess.Popen([*command, f"r{i}", str(time.time() + 3)]) for i in range(4)]
    assert [opener.wait(timeout=300) for opener in openers] == [0] * 4
    assert all(len(read_runs(tmp_path / f"{i}.sqlite", "runs")) == 4 for i in range(12))
    assert len(read_runs(tmp_path / "old.sqlite", "runs")) == 48


def test_a_file_that_is_no_ledger_is_named_and_left_as_it_is(tmp_path):
    (tmp_path / "l.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(ValueError, match="l.sqlite cannot be read .*; move it away"):
        open_store(tmp_path / "l.sqlite")
    assert (tmp_path / "l.sqlite").read_bytes() == b"something else" * 1000


def test_a_question_is_stored_once_and_keeps_its_first_answer(tmp_path):
    ledger = open_store(tmp_path / "l.sqlite")
    assert save(ledger, "r", 1, reply="first")
    assert not save(ledger, "r", 1, reply="second")
    assert list(read_runs(tmp_path / "l.sqlite", "replies").reply) == ["first"]
    assert list_done(ledger, "r") == {("e001", 0)}


def test_questions_stored_together_are_all_there_or_none(tmp_path):
    ledger = open_store(tmp_path / "l.sqlite")
    keys = [{"run_id": "r", "event_id": f"e{i}", "sample": 0} for i in range(3)]
    with pytest.raises(Exception, match="NOT NULL"):
        save_questions(ledger, [(key, key, [key | {"step": None if i == 2 else 0}]) for i, key in enumerate(keys)])
    assert not list_done(ledger, "r")
    assert save_questions(ledger, [(key, key, []) for key in keys[:2]]) == 2
    assert save_questions(ledger, [(key, key, []) for key in keys]) == 1


def test_every_write_is_synchronised_with_the_disk(tmp_path):
    ledger = open_store(tmp_path / "l.sqlite")
    settings = [
        ledger.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "busy_timeout")
    ]
    assert settings == ["wal", 2, 30_000]


def test_a_run_is_complete_when_every_question_has_a_reply_and_sums_its_tokens_and_cost(tmp_path):
    ledger = open_store(tmp_path / "l.sqlite")
    for i in range(3):
        save(ledger, "r", i, n_input_tokens=10, n_output_tokens=5, cost_usd=0.1)
        close_run(ledger, "r", 3)
        run = read_runs(tmp_path / "l.sqlite", "runs").iloc[0]
        assert (run.status, run.n_tokens) == ("complete" if i == 2 else "partial", 15 * (i + 1))
    assert run.cost_usd == 0.3


def test_columns_that_the_contract_has_gained_are_added_to_an_older_ledger(tmp_path):
    ledger = open_store(tmp_path / "l.sqlite")
    ledger.execute("DROP TABLE traces")
    ledger.execute(next(sql for sql in SCHEMA if " traces " in sql).replace(" tool,", ""))
    ledger.close()
    key = {"run_id": "r", "event_id": "e", "sample": 0}
    save_questions(open_store(tmp_path / "l.sqlite"), [(key, key, [key | {"step": 0, "tool": "fetch"}])])
