"""Trials of solvers: what a sample holds, what a resumed run does, what the recordings of one limit
say of a lower."""

import itertools
import json

import pandas as pd
import pytest
from builders import needs_sandbox

from studies.proof_of_time.evidence import write_evidence
from studies.proof_of_time.instances import Instance
from studies.proof_of_time.trials import (
    Cell,
    keep_whole,
    list_cells,
    run_trial,
    run_trials,
    sample_instances,
)

FINAL = r"Final answer: \boxed{B}"
ROWS = pd.DataFrame({"day": ["2024-12-30", "2024-12-31"], "score": [41.0, 48.5]})


def make_instance(folder=None, **changes):
    entry = (
        [write_evidence(folder, "a.csv", ROWS, as_of="2024-12-31", dates="day")] if folder else []
    )
    fields = {
        "id": "b-1",
        "family": "frontier",
        "task": "frontier_bucket",
        "variant": "plain",
        "prompt": "Where?",
    }
    fields |= {
        "choices": {"A": "low", "B": "high"},
        "target": "B",
        "cutoff": "2025-01-01",
        "manifest": entry,
    }
    return Instance(**fields | {"metadata": {"source": "b", "criteria": "what it shows"}} | changes)


def test_samples_nest_and_take_tasks_and_sources_by_turns():
    kinds = itertools.product(("bucket", "full_order"), "xyz", range(4))
    made = [
        make_instance(
            id=f"{task}-{source}-{at}", task=task, metadata={"source": source, "criteria": "x"}
        )
        for task, source, at in kinds
    ]
    made.append(make_instance(id="pair", variant="pairwise"))
    first, second = (sample_instances(made, n) for n in (6, 12))
    assert first == second[:6] and len(sample_instances(made, 99)) == 24
    table = pd.DataFrame([(one.task, one.metadata["source"]) for one in first])
    assert not table.duplicated().any() and table[0].value_counts().to_dict() == {
        "bucket": 3,
        "full_order": 3,
    }


def turn(script, action="bash"):
    return {"content": json.dumps({"thought": "t", "action": action, "input": script})}


END = [turn("", "answer"), {"content": FINAL}]


def test_a_run_at_the_highest_limit_holds_the_lower_ones(reach, provider, tmp_path):
    needs_sandbox()
    instance = make_instance(tmp_path)
    work = [turn(f"echo {at} >> log; tail -1 /evidence/a.csv; wc -l < log") for at in range(7)]
    provider.answer = lambda asked: [*work, *END][len(provider.asked) - 1]
    client, cells = reach(is_local=True), list_cells(["agentic"])
    table = run_trials(client, [instance], tmp_path, cells, {"agentic": 1})
    assert len(provider.asked) == 9 and table["limit"].tolist() == [50, 30, 15]
    assert table["status"].tolist() == ["ok", "ok", "message_limit"]
    assert table["answer"].fillna("").tolist() == ["B", "B", ""]
    prompt = provider.asked[0]["messages"][1]["content"]
    assert "/evidence/a.csv: 2 lines; columns day,score" in prompt
    again = run_trials(reach(False, is_local=True), [instance], tmp_path, cells, {"agentic": 1})
    pd.testing.assert_frame_equal(again, table)


def test_a_run_that_was_broken_off_goes_on_in_a_sandbox_that_did_the_same(
    reach, provider, tmp_path
):
    needs_sandbox()
    instance = make_instance(tmp_path)
    replies = [turn("echo once >> log"), turn("cat log"), turn("cat log; echo over"), *END]
    provider.answer = lambda asked: replies[
        sum(one["role"] == "assistant" for one in asked["messages"])
    ]
    cell, client = Cell("agentic", 50), reach(is_local=True)
    run_trial(client, instance, tmp_path, cell)
    rows = client.door.recordings.rows
    tools = [key for key, row in rows.items() if row["request"]["model"] == "sandbox"]
    assert [rows[key]["step"]["content"].split()[0] for key in tools] == ["(it", "once", "once"]
    del rows[tools[-1]]
    run_trial(client, instance, tmp_path, cell)
    assert rows[tools[-1]]["step"]["content"] == "once\nover"


def test_a_solver_counts_where_all_its_replies_are_recorded_and_without_any_a_sentence_says_what_to_do():
    rows = [
        ("a", "agentic", "ok"),
        ("a", "agentic", "missing"),
        ("b", "structured", "ok"),
        ("b", "structured", "no"),
    ]
    made = pd.DataFrame(rows, columns=["solver", "method", "status"])
    assert keep_whole(made)["solver"].tolist() == ["b", "b"]
    with pytest.raises(
        LookupError,
        match=r"^no solver of agentic is recorded whole \(1 of 2 trials are\): make study",
    ):
        keep_whole(made[made["solver"] == "a"])
