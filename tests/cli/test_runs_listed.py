"""`daybefore runs` and `daybefore rm`."""

from contextlib import closing

import click
import pytest
from builders import store_run

from daybefore.commands import list_runs, rm
from daybefore.store import open_store, read_runs
from helpers.files import STORE, read_table


@pytest.fixture
def store(out):
    ids = list(read_table("events", "A")["event_id"].head(3))
    for name in ("mine", "other"):
        store_run(
            out / STORE,
            f"{name}-A-01234567",
            {event: {"value": "1"} for event in ids},
            agent_id=name,
        )
    with closing(open_store(out / STORE)) as opened:
        opened.execute(
            "INSERT INTO requests (run, key, recording) VALUES ('mine-A-01234567', 'k', 'paid')"
        )
    return out / STORE


def test_runs_are_listed_with_what_they_hold_a_line_each(store, capsys):
    long = "an-agent-with-a-name-that-is-longer-than-most-terminals-are-wide-A-01234567"
    store_run(store, long, {"e1": {}}, agent_id="an-agent")
    found = [(row["run"], row["set"], row["asked"]) for row in list_runs.main()["runs"]]
    expected = [(f"{name}-A-01234567", "october-2016", 3) for name in ("mine", "other")]
    assert {run: n for run, _, n in found} == {run: n for run, _, n in expected} | {long: 1}
    (line,) = [line for line in capsys.readouterr().out.splitlines() if long in line]
    assert line.split() == ["-", "0", "1", "0.000", found[0][1], long]
    assert list_runs.main("L") == {"runs": []}


def test_a_removed_run_is_gone_and_its_paid_replies_are_in_the_archive(
    store, tmp_path, monkeypatch
):
    monkeypatch.setattr(click, "confirm", lambda text, abort: None)
    assert rm.main("mine-A-01234567")["rows"]["replies"] == 3
    assert [row["run"] for row in list_runs.main()["runs"]] == ["other-A-01234567"]
    archive = tmp_path / rm.ARCHIVE
    assert len(read_runs(archive, "replies", ["mine-A-01234567"])) == 3
    with closing(open_store(archive)) as opened:
        assert opened.execute("SELECT run, key, recording FROM requests").fetchall() == [
            ("mine-A-01234567", "k", "paid")
        ]
    with closing(open_store(store)) as opened:
        assert opened.execute("SELECT count(*) FROM requests").fetchone() == (0,)


def test_a_run_is_removed_only_when_that_is_confirmed_and_named_whole(store, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: "n")
    monkeypatch.setattr(click.termui, "visible_prompt_func", lambda *_: "n")
    with pytest.raises(click.Abort):
        rm.main("mine-A-01234567")
    with pytest.raises(ValueError, match="no run here is called 'mine'"):
        rm.main("mine", yes=True)
    assert len(read_runs(store, "replies", ["mine-A-01234567"])) == 3
