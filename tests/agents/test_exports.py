"""What is committed of runs: the store's tables under names that a changed code leaves alone, and
what they rest on."""

import json
from pathlib import Path

import pandas as pd
import pytest

from daybefore.agents import run_loop
from daybefore.agents.committed_runs import export_runs, list_evidence
from daybefore.agents.run_loop import run_agents
from helpers.files import dump_json, write_table, write_under
from helpers.tables import list_columns

EVENT = dict.fromkeys(list_columns("events")) | {"as_of": "2016-10-10T00:00:00+08:00"}
EVENTS = pd.DataFrame([EVENT | {"event_id": f"e{i}"} for i in range(2)])


def answer(event, world):
    step = {"actor": "a", "step_type": "model", "duration_s": 2.5, "page_ids": ["p1"]}
    return {"prediction": {"value": 1.0}, "trace": [step, step]}


def test_a_table_that_holds_a_text_of_news_is_not_written(tmp_path):
    pages = pd.DataFrame({"page_id": ["n1", "p1"], "title": ["the storm reaches Oslo", "Rates"]})
    with write_under(tmp_path):
        with pytest.raises(ValueError, match="pages, row 1: title holds text of news"):
            write_table("pages", pages, "T")
        write_table("pages", pages.assign(title=["sha256:0", "Rates"]), "T")


# --- evidence ---------------------------------------------------------------------------------------

KEY = {"run_id": "r-A", "event_id": "e1", "sample": 0}
PAGES = pd.DataFrame(
    {"page_id": ["p1", "p2"], "url": ["http://oil.test/prices", "http://oil.test/prices/old"]}
)


EVIDENCE = json.loads(Path(__file__).with_name("evidence.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", EVIDENCE)
def test_a_page_has_its_closest_role_and_is_cited_where_it_is_named(case):
    traces = pd.DataFrame(
        [KEY | {"tool": tool, "page_ids": dump_json(ids)} for tool, ids in case["steps"]]
    )
    made = pd.DataFrame([KEY | {"source_ids": dump_json(case["source_ids"])}])
    table = list_evidence(traces, pd.DataFrame([KEY | {"reply": case["reply"]}]), made, PAGES)
    assert (table["owner_type"] == "prediction").all() and (table["owner_id"] == "r-A|e1|0").all()
    found = table[["page_id", "role", "is_accessed", "is_cited"]].itertuples(index=False)
    assert {page_id: cells for page_id, *cells in found} == case["wanted"]


def test_runs_are_told_apart_by_condition_and_if_need_be_by_digest(tmp_path, monkeypatch):
    ids = []
    for code, condition in (("one", None), ("one", "asked 7 days after"), ("two", None)):
        monkeypatch.setattr(run_loop, "hash_own", lambda *_, code=code: code)
        agents = {"plain": {"forecast": answer, "condition": condition}}
        path = tmp_path / "l.sqlite"
        ids += run_agents(agents, EVENTS, dict, path, window="T", progress=False).values()
    tables = export_runs(path, ids)
    names = sorted(["plain-T-asked_7_days_after", ids[0], ids[2]])
    owners = [f"{name}|{event}|0" for name in names for event in ("e0", "e1")]
    assert list(tables.pop("evidence")["owner_id"]) == owners
    for table in tables.values():
        assert sorted(set(table["run_id"])) == names and table["run_id"].is_monotonic_increasing
