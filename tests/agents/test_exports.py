"""What is committed of runs: the ledger's tables under names that a changed code leaves alone."""

import pandas as pd
import pytest

from helpers.agents import runs
from helpers.agents.exports import export_runs
from helpers.agents.runs import run_agents
from helpers.store import list_columns

EVENTS = pd.DataFrame(
    [dict.fromkeys(list_columns("events")) | {"event_id": f"e{i}", "as_of": "2016-10-10"} for i in range(2)]
)


def answer(event, world):
    step = {"actor": "a", "step_type": "model", "duration_s": 2.5, "page_ids": ["p1"]}
    return {"prediction": {"value": 1.0}, "trace": [step, step]}


AGENTS = {"model": {"forecast": answer, "seed": 0}, "plain": {"forecast": answer}}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that puts agents to the events under some code: {agent_id: run_id}."""

    def run(code, agents=AGENTS):
        monkeypatch.setattr(runs, "hash_agent", lambda forecast: code)
        options = {"window": "T", "mode": "thread", "progress": False}
        return run_agents(agents, EVENTS, lambda: None, tmp_path / "l.sqlite", **options)

    return run


def test_another_code_changes_the_table_of_runs_and_no_other(ask, tmp_path):
    first, second = (ask(code) for code in ("one", "two"))
    before, after = (export_runs(tmp_path / "l.sqlite", ids.values()) for ids in (first, second))
    for name in ("replies", "predictions", "traces"):
        assert set(before[name]["run_id"]) == {"model-T", "plain-T"} and len(before[name]) >= 4
        pd.testing.assert_frame_equal(before[name], after[name])
    assert list(after["runs"]["ledger_run_id"]) == sorted(second.values())
    changed = ["code_version", "ledger_run_id"]
    pd.testing.assert_frame_equal(before["runs"].drop(columns=changed), after["runs"].drop(columns=changed))
    assert not set(before["runs"]["code_version"]) & set(after["runs"]["code_version"])


def test_runs_are_told_apart_by_condition_and_if_need_be_by_digest(ask, tmp_path):
    late = {"plain": AGENTS["plain"] | {"condition": "asked 7 days after"}}
    ids = [*ask("one").values(), *ask("one", late).values(), ask("two")["plain"]]
    tables = export_runs(tmp_path / "l.sqlite", ids)
    names = {"model-T", "plain-T-asked_7_days_after", ids[1], ids[3]}
    owners = tables.pop("evidence")["owner_id"]
    assert list(owners) == [f"{name}|{event}|0" for name in sorted(names) for event in ("e0", "e1")]
    assert all(set(table["run_id"]) == names for table in tables.values())
    for name, table in tables.items():
        assert list(table["run_id"]) == sorted(table["run_id"]), name


def test_seeds_stay_whole_and_times_stay_out_but_where_asked_for(ask, tmp_path):
    ids = ask("one").values()
    tables = export_runs(tmp_path / "l.sqlite", ids, timed=["traces"])
    assert tables["runs"]["seed"].to_csv(index=False, header=False).split() == ["0", '""']
    assert set(tables["traces"]["duration_s"]) == {2.5} and "duration_s" not in tables["replies"]
    assert "duration_s" not in export_runs(tmp_path / "l.sqlite", ids)["traces"]
