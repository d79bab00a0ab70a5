"""What is committed of runs: the ledger's tables under names that a changed code leaves alone."""

import pandas as pd
import pytest

from helpers.agents import runs
from helpers.agents.exports import export_runs
from helpers.agents.runs import run_agents
from helpers.store import check_held, write_table, write_under
from helpers.tables import list_columns

EVENTS = pd.DataFrame(
    [
        dict.fromkeys(list_columns("events")) | {"event_id": f"e{i}", "as_of": "2016-10-10T00:00:00+08:00"}
        for i in range(2)
    ]
)


def answer(event, world):
    step = {"actor": "a", "step_type": "model", "duration_s": 2.5, "page_ids": ["p1"]}
    return {"prediction": {"value": 1.0}, "trace": [step, step]}


AGENTS = {"model": {"forecast": answer, "seed": 0}, "plain": {"forecast": answer}}


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that puts agents to the events under some code: {agent_id: run_id}."""

    def run(code, agents=AGENTS):
        monkeypatch.setattr(runs, "hash_agent", lambda *_: code)
        options = {"window": "T", "progress": False}
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


SECRET = "the storm reaches Oslo"


def read_news(event, world):
    """An agent that saw a page of news and quotes it wherever it can."""
    steps = [{"tool": "search", "arguments": {"query": SECRET}, "content": SECRET, "page_ids": ["n1", "p1"]}]
    steps.append({"step_type": "answer", "content": SECRET, "error": SECRET})
    prediction = {"value": 1.0, "rationale": SECRET, "reason": SECRET, "source_ids": ["n1"]}
    return {"prediction": prediction, "reply": f"http://press.replay/a: {SECRET}: 1", "reason": SECRET, "trace": steps}


@pytest.mark.parametrize("withholds", [False, True])
def test_a_run_that_saw_news_is_exported_without_a_word_of_it(ask, tmp_path, withholds):
    ids = ask("one", {"reader": {"forecast": read_news}, "plain": AGENTS["plain"]})
    pages = pd.DataFrame({"page_id": ["n1", "p1"], "url": ["http://press.replay/a", "http://b.replay/"]})
    tables = export_runs(tmp_path / "l.sqlite", ids.values(), pages=pages, withholds=withholds)
    assert all(SECRET not in table.to_csv() for table in tables.values())
    with write_under(tmp_path):
        for name in ("replies", "predictions", "traces", "evidence"):
            write_table(name, tables[name], "T")
    reader = tables["predictions"].set_index("run_id").loc["reader-T"].iloc[0]
    assert (reader["value"], reader["source_ids"], reader["rationale"][:7]) == ("1.0", '["n1"]', "sha256:")
    traces = tables["traces"].set_index("run_id")
    assert traces.loc["reader-T", "page_ids"].dropna().tolist() == ['["n1","p1"]'] * 2
    assert tables["evidence"].query("page_id == 'n1'")["is_cited"].tolist() == [True, True]
    replies = tables["replies"].set_index("run_id").loc["plain-T", "reply"]
    assert replies.str.startswith("sha256:").all() == withholds


def test_a_table_that_holds_a_text_of_news_is_not_written(ask, tmp_path):
    with write_under(tmp_path):
        pages = pd.DataFrame({"page_id": ["n1", "p1"], "title": [SECRET, "Rates"]})
        with pytest.raises(ValueError, match="pages, row 1: title holds text of news"):
            write_table("pages", pages, "T")
        write_table("pages", pages.assign(title=["sha256:0", "Rates"]), "T")
        steps = pd.DataFrame([{"run_id": "r", "event_id": "e", "sample": 0, "step": 0, "content": SECRET}])
        write_table("traces", steps.assign(page_ids='["p1"]'), "T")
        with pytest.raises(ValueError, match="traces, row 1: content holds text of news"):
            write_table("traces", steps.assign(page_ids='["p1","n2"]'), "T")
    check_held("runs", pages)
