"""What is committed of runs: the ledger's tables under names that a changed code leaves alone."""

import pandas as pd
import pytest

from helpers.agents import runs
from helpers.agents.exports import export_runs, list_evidence
from helpers.agents.runs import run_agents
from helpers.store import check_held, dump_json, write_table, write_under
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
        monkeypatch.setattr(runs, "hash_own", lambda *_: code)
        options = {"window": "T", "progress": False}
        return run_agents(agents, EVENTS, lambda: None, tmp_path / "l.sqlite", **options)

    return run


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


def test_a_table_that_holds_a_text_of_news_is_not_written(tmp_path):
    pages = pd.DataFrame({"page_id": ["n1", "p1"], "title": ["the storm reaches Oslo", "Rates"]})
    with write_under(tmp_path), pytest.raises(ValueError, match="pages, row 1: title holds text of news"):
        write_table("pages", pages, "T")
    check_held("pages", pages.assign(title=["sha256:0", "Rates"]))


# --- evidence --------------------------------------------------------------------------------------------------------

KEY = {"run_id": "r-A", "event_id": "e1", "sample": 0}
PAGES = pd.DataFrame({"page_id": ["p1", "p2"], "url": ["http://oil.test/prices", "http://oil.test/prices/old"]})


def make_evidence(steps, reply=None, source_ids=None, pages=PAGES):
    """Return the evidence of one prediction, by page: role, is_accessed, is_cited. `steps`: (tool, page ids)."""
    traces = [KEY | {"step": n, "tool": tool, "page_ids": dump_json(ids)} for n, (tool, ids) in enumerate(steps)]
    columns = [*KEY, "step", "tool", "page_ids"]
    made = pd.DataFrame([KEY | {"source_ids": dump_json(source_ids)}])
    table = list_evidence(pd.DataFrame(traces, columns=columns), pd.DataFrame([KEY | {"reply": reply}]), made, pages)
    assert (table["owner_type"] == "prediction").all() and (table["owner_id"] == "r-A|e1|0").all()
    return {row.page_id: (row.role, row.is_accessed, row.is_cited) for row in table.itertuples()}


def test_a_page_has_the_closest_role_that_a_step_gave_it():
    steps = [("search", ["p1", "p2"]), ("open", ["p1"]), ("search", ["p1"]), ("answer", None)]
    assert make_evidence(steps) == {"p1": ("opened", True, False), "p2": ("found", True, False)}
    assert make_evidence([("observe", ["p1"])])["p1"][0] == "observed"


@pytest.mark.parametrize(
    ("reply", "cited"),
    [
        ("As p1 shows. Final answer: 5", {"p1"}),
        ("See http://oil.test/prices. Final answer: 5", {"p1"}),
        ("See (http://oil.test/prices/old), Final answer: 5", {"p2"}),
        ("p11 and http://oil.test/price", set()),
        (None, set()),
    ],
)
def test_what_the_reply_names_is_cited(reply, cited):
    found = make_evidence([("search", ["p1", "p2"])], reply)
    assert {page for page, (_, _, is_cited) in found.items() if is_cited} == cited
