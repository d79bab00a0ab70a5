"""Trials of solvers: what a sample holds, what a resumed run does, what the recordings of one limit say of a lower."""

import json

import pandas as pd
import pytest
from builders import needs_sandbox

from helpers.proof_of_time.costs import (
    compare_alone,
    compare_floors,
    count_limit_hits,
    list_own_tokens,
)
from helpers.proof_of_time.evidence import write_evidence
from helpers.proof_of_time.instances import Instance
from helpers.proof_of_time.solvers import (
    Cell,
    list_answers,
    list_cells,
    run_trial,
    run_trials,
    sample_instances,
)

FINAL = r"Final answer: \boxed{B}"
ROWS = pd.DataFrame({"day": ["2024-12-30", "2024-12-31"], "score": [41.0, 48.5]})


def make_instance(folder=None, **changes):
    entry = [write_evidence(folder, "a.csv", ROWS, as_of="2024-12-31", dates="day")] if folder else []
    fields = {"id": "b-1", "family": "frontier", "task": "frontier_bucket", "variant": "plain", "prompt": "Where?"}
    fields |= {"choices": {"A": "low", "B": "high"}, "target": "B", "cutoff": "2025-01-01", "manifest": entry}
    return Instance(**fields | {"metadata": {"source": "b", "criteria": "what it shows"}} | changes)


def test_samples_nest_and_take_tasks_and_sources_by_turns():
    made = [
        make_instance(id=f"{task}-{source}-{at}", task=task, metadata={"source": source, "criteria": "x"})
        for task in ("bucket", "full_order")
        for source in "xyz"
        for at in range(4)
    ] + [make_instance(id="pair", variant="pairwise")]
    first, second = (sample_instances(made, n) for n in (6, 12))
    assert first == second[:6] and len(sample_instances(made, 99)) == 24
    table = pd.DataFrame([(one.task, one.metadata["source"]) for one in first])
    assert not table.duplicated().any() and table[0].value_counts().to_dict() == {"bucket": 3, "full_order": 3}


def turn(script):
    return {"content": json.dumps({"thought": "t", "action": "bash", "input": script})}


def test_a_run_at_the_highest_limit_holds_the_lower_ones(reach, provider, tmp_path):
    needs_sandbox()
    instance = make_instance(tmp_path)
    work = [turn(f"echo {at} >> log; tail -1 /evidence/a.csv; wc -l < log") for at in range(7)]
    replies = [*work, {"content": json.dumps({"thought": "", "action": "answer", "input": ""})}, {"content": FINAL}]
    provider.answer = lambda asked: replies[len(provider.asked) - 1]
    client = reach(is_local=True)
    cells = list_cells(["agentic"])
    table = run_trials(client, [instance], tmp_path, cells, {"agentic": 1})
    n_asked = len(provider.asked)
    assert n_asked == 9 and table["limit"].tolist() == [50, 30, 15]
    assert table["status"].tolist() == ["ok", "ok", "message_limit"]
    assert table["answer"].fillna("").tolist() == ["B", "B", ""]
    prompt = provider.asked[0]["messages"][1]["content"]
    assert "/evidence/a.csv: 2 lines; columns day,score" in prompt
    again = run_trials(reach(False, is_local=True), [instance], tmp_path, cells, {"agentic": 1})
    pd.testing.assert_frame_equal(again, table)


def test_a_run_that_was_broken_off_goes_on_in_a_sandbox_that_did_the_same(reach, provider, tmp_path):
    needs_sandbox()
    instance = make_instance(tmp_path)
    replies = [turn("echo once >> log"), turn("cat log"), turn("cat log; echo over")]
    final = [{"content": json.dumps({"thought": "", "action": "answer", "input": ""})}, {"content": FINAL}]

    def answer(asked):
        return ([*replies, *final])[sum(message["role"] == "assistant" for message in asked["messages"])]

    provider.answer = answer
    cell = Cell("agentic", 50)
    client = reach(is_local=True)
    run_trial(client, instance, tmp_path, cell)
    rows = client.door.recordings.rows
    tools = [key for key, row in rows.items() if row["request"]["model"] == "sandbox"]
    assert [rows[key]["step"]["content"].split()[0] for key in tools] == ["(it", "once", "once"]
    del rows[tools[-1]]
    run_trial(client, instance, tmp_path, cell)
    assert rows[tools[-1]]["step"]["content"] == "once\nover"


def test_recorded_seconds_count_against_the_time(reach, provider, tmp_path):
    needs_sandbox()
    instance = make_instance(tmp_path)
    provider.answer = lambda asked: turn(f"echo {len(asked['messages'])}")
    client = reach(is_local=True)
    assert run_trial(client, instance, tmp_path, Cell("agentic", 15))["status"] == "message_limit"
    for row in client.door.recordings.rows.values():
        row["duration_s"] = 250.0
    late = run_trial(client, instance, tmp_path, Cell("agentic", 15))
    assert late["status"] == "timeout" and late["n_turns"] == 2 and late["answer"] is None


def test_what_is_not_recorded_is_missing_and_stands_in_no_table(reach, provider, tmp_path):
    provider.answer = lambda asked: {"content": FINAL}
    instances = [make_instance(id="b-1"), make_instance(id="b-2", prompt="Where to?")]
    client = reach()
    cells = list_cells(["zero_shot"])
    run_trials(client, instances, tmp_path, cells, {"zero_shot": 1})
    table = run_trials(reach(False), instances, tmp_path, cells, {"zero_shot": 2})
    assert table["status"].tolist() == ["ok", "missing"]
    assert list_answers(table, cells).to_dict("records") == [{"id": "b-1", "solver": "zero-shot", "answer": "B"}]
    both = [*cells, Cell("agentic", 15)]
    assert list_answers(table, both).empty
    with pytest.raises(KeyError):
        run_trials(client, instances, tmp_path, [Cell("agentic", 15)], {})


def test_of_a_public_instance_no_text_is_kept_and_its_answer_is(reach, provider, tmp_path):
    provider.answer = lambda asked: {"content": f"the zebra. {FINAL}"}
    instance = make_instance(prompt="What of the zebra paper?", choices={"A": "zebra", "B": "other zebra"})
    cells, client = list_cells(["zero_shot"]), reach()
    run_trials(client, [instance], tmp_path, cells, {"zero_shot": 1}, is_public=True)
    assert len(client.door.recordings.rows) == 1 and "zebra" in json.dumps(provider.asked)
    assert "zebra" not in json.dumps(list(client.door.recordings.rows.values()))
    again = run_trials(reach(False), [instance], tmp_path, cells, {"zero_shot": 1}, is_public=True)
    assert again[["status", "answer"]].to_numpy().tolist() == [["ok", "B"]]
    with pytest.raises(ValueError, match="question alone"):
        run_trial(client, instance, tmp_path, Cell("agentic", 15), is_public=True)


def make_trials(solver, right, status="ok", n_tokens=100):
    method, _, limit = solver.replace("-", "_").partition(", ")
    rows = [{"id": str(at), "source": f"s{at}", "family": "ab"[at % 2], "is_right": is_right} for at, is_right in right]
    about = {"solver": solver, "method": method, "limit": float(limit or "nan"), "status": status, "seconds": 30.0}
    return pd.DataFrame(rows).assign(**about, n_input_tokens=n_tokens, n_output_tokens=n_tokens / 10)


def test_an_agent_is_held_against_the_question_alone_on_its_own_instances():
    alone = make_trials("zero-shot", [(at, at < 6) for at in range(40)])
    agent = make_trials("agentic, 50", [(at, at < 9) for at in range(12)], n_tokens=900)
    (row,) = compare_alone(pd.concat([alone, agent])).to_dict("records")
    assert (row["alone"], row["share"], row["gain"], row["n"]) == (0.5, 0.75, 0.25, 12)
    assert row["low"] < 0.25 < row["high"] and row["overhead"] == pytest.approx(9)
    assert row["p_holm"] == row["p"] and row["verdict"] == ("holds" if row["p"] < 0.05 else "cannot tell")
    parts = compare_alone(pd.concat([alone, agent]), by=("family",))
    assert parts["n"].tolist() == [6, 6] and parts[["low", "high"]].isna().all(axis=None), "below ten sources"
    assert set(parts["verdict"]) == {"cannot tell"}
    sure = make_trials("agentic, 50", [(at, True) for at in range(40)])
    twice = pd.concat([sure, sure.assign(solver="agentic, 30", limit=30.0)])
    both = compare_alone(pd.concat([alone, twice]))
    assert set(both["verdict"]) == {"holds"} and both["p_holm"].tolist() == pytest.approx([*(2 * both["p"])])
    assert compare_alone(alone).empty
    own = list_own_tokens(pd.concat([alone, agent])).set_index("model")
    assert own["per_question"].tolist() == pytest.approx([110, 990]) and own.loc["agentic", "minutes"] == 6


def test_limit_hits_are_those_of_agents_alone():
    ended = make_trials("agentic, 15", [(at, False) for at in range(3)], status="message_limit")
    table = pd.concat([make_trials("zero-shot", [(0, True)]), ended, make_trials("agentic, 15", [(9, True)])])
    (row,) = count_limit_hits(table).to_dict("records")
    assert (row["solver"], row["hits"], row["n"], row["share"]) == ("agentic, 15", 3, 4, 0.75)
    assert count_limit_hits(table.head(1)).empty
    assert count_limit_hits(make_trials("agentic, 15", [(0, True)]))["hits"].tolist() == [0], "none is a row too"
    full = make_trials("structured, 50", [(0, False)], status="context_limit")
    rows = count_limit_hits(pd.concat([table, full])).set_index(["limit_of", "solver"])
    assert rows["hits"].to_dict() == {
        ("messages", "agentic, 15"): 3,
        ("messages", "structured, 50"): 0,
        ("context", "agentic, 15"): 0,
        ("context", "structured, 50"): 1,
    }


def make_asked(n_agent):
    table = pd.concat(
        [
            make_trials(name, [(at, at < 3) for at in range(n)])
            for name, n in (("zero-shot", 12), ("agentic, 15", n_agent))
        ]
    )
    targets = {str(at): "ABB"[at % 3] for at in range(12)}
    return table.assign(task="bucket", cutoff="2025-01-01", target=table["id"].map(targets), n_choices=2)


def test_floors_are_held_against_the_question_alone_where_agents_were_asked():
    rows = compare_floors(make_asked(11)).set_index("solver")
    assert rows["gain"].to_dict() == pytest.approx({"majority": (7 - 3) / 11, "chance": 1 / 2 - 3 / 11})
    assert rows["n"].tolist() == [11, 11] and (rows["low"] < rows["gain"]).all() and (rows["gain"] < rows["high"]).all()
    parts = compare_floors(make_asked(11), by=("family",))
    assert len(parts) == 4 and parts["low"].isna().all(), "below ten sources"
    assert compare_floors(make_asked(0)).empty
