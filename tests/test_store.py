"""Files and the store: same rows, same bytes; columns in the dictionary; one answer a question,
whoever opens it."""

import re
import types
from functools import partial
from multiprocessing import get_context

import pandas as pd
import pytest
from builders import fork

from daybefore.store import (
    SCHEMA,
    close_run,
    insert_row,
    list_done,
    name_problem,
    open_store,
    read_runs,
    save_questions,
)
from helpers import files, folders
from helpers.files import ROOT, locate_output, read_table, write_table
from helpers.tables import TABLES, check_table, list_columns

FIRST, SECOND = "2016-10-17T14:00:00+08:00", "2016-10-18T14:00:00+08:00"


def make_acquisitions(*moments):
    return pd.DataFrame({"event_id": "e1", "attempted_at": moments, "status": "ok"})


def test_every_column_stands_in_the_data_dictionary():
    text = (ROOT / "data/README.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", text, flags=re.M)
    named = {name.strip() for cell in cells for name in cell.split(",")}
    assert {column for name in TABLES for column in list_columns(name)} - named == set()


def test_a_table_reads_as_written_and_twice_the_same_bytes_and_a_repeated_key_is_named(out):
    table = make_acquisitions(FIRST, SECOND)
    first = write_table("acquisitions", table, "T").read_bytes()
    assert write_table("acquisitions", table, "T").read_bytes() == first
    assert list(read_table("acquisitions", "T")["attempted_at"]) == [FIRST, SECOND]
    assert locate_output("x.txt").parent == out
    with pytest.raises(ValueError, match="repeat a key.*2016-10-17"):
        check_table("acquisitions", make_acquisitions(FIRST, FIRST))


# --- the store --------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "l.sqlite"


def save(store, i, **reply):
    """Store question `i` of run "r"; returns how many are new."""
    key = {"run_id": "r", "event_id": f"e{i}", "sample": 0}
    insert_row(store, "runs", {"run_id": "r", "agent_id": "a"})
    reply = key | {"status": "ok", "started_at": "now", "duration_s": 0.1} | reply
    return save_questions(
        store, [(reply, key | {"value": "1.5"}, [key | {"step": 0}, key | {"step": 1}])]
    )


def test_four_processes_open_a_new_store_and_an_old_one_at_once(tmp_path):
    open_store(tmp_path / "old.sqlite").close()
    together = get_context("fork").Barrier(4)

    def open_all(name):
        for i in range(12):
            together.wait(60)
            for store, run_id in ((f"{i}.sqlite", name), ("old.sqlite", f"{name}-{i}")):
                insert_row(
                    open_store(tmp_path / store), "runs", {"run_id": run_id, "agent_id": "a"}
                )

    openers = [fork(partial(open_all, f"r{n}")) for n in range(4)]
    for opener in openers:
        opener.join(120)
    assert [opener.exitcode for opener in openers] == [0] * 4
    assert all(len(read_runs(tmp_path / f"{i}.sqlite", "runs")) == 4 for i in range(12))
    assert len(read_runs(tmp_path / "old.sqlite", "runs")) == 48


def test_a_file_that_is_no_store_is_named_and_left_as_it_is(path):
    path.write_bytes(b"something else" * 1000)
    with pytest.raises(ValueError, match="l.sqlite cannot be read .*.*`daybefore recover"):
        open_store(path)
    assert path.read_bytes() == b"something else" * 1000
    with (
        pytest.raises(ValueError, match="^l.sqlite cannot be read .*.*`daybefore recover"),
        name_problem(path),
    ):
        b"\x91".decode()  # damage in SQLite's own words


def test_every_write_is_synchronised_with_the_disk(path):
    names, store = ("journal_mode", "synchronous", "busy_timeout"), open_store(path)
    assert [store.execute(f"PRAGMA {name}").fetchone()[0] for name in names] == ["wal", 2, 30_000]


def test_a_question_is_stored_once_and_keeps_its_first_answer(path):
    store = open_store(path)
    assert save(store, 1, reply="first") == 1 and save(store, 1, reply="second") == 0
    assert list(read_runs(path, "replies").reply) == ["first"]
    assert list_done(store, "r") == {("e1", 0)}


def test_questions_stored_together_are_all_there_or_none(path):
    store, keys = (
        open_store(path),
        [{"run_id": "r", "event_id": f"e{i}", "sample": 0} for i in range(3)],
    )
    with pytest.raises(Exception, match="NOT NULL"):
        save_questions(
            store,
            [(key, key, [key | {"step": None if i == 2 else 0}]) for i, key in enumerate(keys)],
        )
    assert not list_done(store, "r")
    assert save_questions(store, [(key, key, []) for key in keys[:2]]) == 2
    assert save_questions(store, [(key, key, []) for key in keys]) == 1


def test_a_run_is_complete_when_every_question_has_a_reply_and_sums_its_tokens_and_cost(path):
    store = open_store(path)
    for i in range(3):
        save(store, i, n_input_tokens=10, n_output_tokens=5, cost_usd=0.1)
        close_run(store, "r", 3)
        run = read_runs(path, "runs").iloc[0]
        assert (run.status, run.n_tokens) == ("complete" if i == 2 else "partial", 15 * (i + 1))
    assert run.cost_usd == 0.3


def test_columns_that_the_contract_has_gained_are_added_to_an_older_store(path):
    store = open_store(path)
    store.execute("DROP TABLE traces")
    store.execute(next(sql for sql in SCHEMA if " traces " in sql).replace(" tool,", ""))
    store.close()
    key = {"run_id": "r", "event_id": "e", "sample": 0}
    save_questions(open_store(path), [(key, key, [key | {"step": 0, "tool": "fetch"}])])


def test_a_notebook_with_other_parameters_by_hand_writes_below_results(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.delenv("DAYBEFORE_OUT", raising=False)
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(folders, "ROOT", tmp_path)
    cells = ['agents: str = ""\nseed: int = 7', '# Parameters\nagents = "my agent"\n']
    shell = types.SimpleNamespace(user_ns={"In": cells})
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    own = files.locate_output("figures/futurex_fig8.png")
    assert own.is_relative_to(tmp_path / "results/notebooks") and "agents-my_agent" in str(own)
    assert files.locate_output("data/tables/A/x.csv").is_relative_to(tmp_path / "results/notebooks")
    assert files.locate_output(files.STORE) == tmp_path / files.STORE, (
        "what is asked is kept where it is looked for"
    )
    own.write_text("mine")
    assert files.locate_input("figures/futurex_fig8.png") == own
    said = capsys.readouterr().out
    assert (
        said.count("\n") == 1
        and "agents set by hand: figures and tables go to results/notebooks/" in said
    )
    cells[1] = '# Parameters\nagents = ""\n'
    assert files.locate_output("figures/futurex_fig8.png") == tmp_path / "figures/futurex_fig8.png"
