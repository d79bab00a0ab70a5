"""Solvers against a mock provider over real HTTP, their tools in a real sandbox; trials: what a
sample holds, what a resumed run does, what the recordings of one limit say of a lower."""

import json

import pandas as pd
import pytest
from builders import call_tools, make_event, needs_sandbox, reply_with

from daybefore.agents.sandbox_parts import Limits
from daybefore.models.recordings import has_news
from helpers.tables import list_columns
from studies.proof_of_time import solvers
from studies.proof_of_time.evidence import write_evidence
from studies.proof_of_time.instances import Instance
from studies.proof_of_time.solvers import LOOK_GRAMMAR, TURN_GRAMMAR, Evidence, solve
from studies.proof_of_time.trials import (
    Cell,
    keep_whole,
    list_cells,
    run_trial,
    run_trials,
)

FINAL = r"Final answer: \boxed{A}"
ROWS = pd.DataFrame({"day": ["2024-12-30", "2024-12-31"], "score": [41.0, 48.5]})


def make_instance(manifest=(), **changes):
    about = {"source": "b", "criteria": "what it shows"}
    choices = {"A": "low", "B": "high"}
    made = Instance(
        *("b-1", "frontier", "frontier_bucket", "plain", "Where?", choices, "A", "2025-01-01"),
        list(manifest),
        about,
    )
    return made._replace(**changes)


@pytest.fixture
def instance(tmp_path):
    needs_sandbox()
    return make_instance([write_evidence(tmp_path, "a.csv", ROWS, as_of="2024-12-31", dates="day")])


@pytest.fixture
def evidence(instance, tmp_path):
    files = [{name: entry[name] for name in ("path", "sha256")} for entry in instance.manifest]
    return Evidence(files, str(tmp_path), Limits(seconds=10, memory_mb=192))


def list_tools(outcome):
    return [step for step in outcome["trace"] if step["step_type"] == "tool"]


def read_count(outcome):
    (step,) = (step for step in outcome["trace"] if step["step_type"] == "count")
    return json.loads(step["content"])


def turn(script, action="bash"):
    return json.dumps({"thought": "t", "action": action, "input": script})


END = [turn("", "answer"), FINAL]


def test_it_works_at_the_desk_until_it_answers_and_replays_without_a_sandbox(
    reach, provider, evidence, monkeypatch
):
    script = "sort -t, -k2 -nr /evidence/a.csv | head -1 > best; cat best"
    provider.answer = reply_with(
        call_tools(bash={"script": script}),
        call_tools(python={"program": "print(open('best').read()[:4] * 2)"}),
        call_tools(editor={"command": "view", "path": "best"}),
        FINAL,
    )
    outcome = solve(reach(), make_event(), evidence, method="agentic")
    assert outcome["prediction"]["value"] == "A" and outcome["reply"] == FINAL
    tools = list_tools(outcome)
    shown = ["2024-12-31,48.5", "20242024", "     1 2024-12-31,48.5\n"]
    assert [step["content"] for step in tools] == shown
    assert {step["sandbox_backend"].split()[0].rstrip(",") for step in tools} < {
        "bubblewrap",
        "docker",
    }
    assert all(set(step) <= set(list_columns("traces")) for step in outcome["trace"])
    told = {"limit": 50, "count": "messages", "status": "ok", "n_messages": 9, "n_turns": 4}
    assert read_count(outcome) == told
    sent = provider.asked[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user"] + 3 * ["assistant", "tool"]
    monkeypatch.setattr(solvers, "open_sandbox", None)
    assert solve(reach(False), make_event(), evidence, method="agentic") == outcome
    assert len(provider.asked) == 4


@pytest.mark.parametrize(("limit", "n_turns"), [(8, 3), (15, 7)])
def test_an_agent_that_never_answers_ends_at_its_limit(reach, provider, evidence, limit, n_turns):
    provider.answer = lambda asked: call_tools(bash={"script": "echo on"})
    outcome = solve(reach(), make_event(), evidence, method="structured", limit=limit)
    assert outcome["status"] == "message_limit" and outcome["prediction"] == {"value": None}
    assert f"the limit of {limit} messages" in outcome["reason"] == outcome["trace"][-1]["error"]
    told = {"limit": limit, "count": "messages", "status": "message_limit"}
    assert read_count(outcome) == told | {"n_messages": limit, "n_turns": n_turns}


@pytest.mark.parametrize("is_local", [False, True])
def test_of_an_instance_whose_words_may_not_be_passed_on_calls_stay_in_the_store(
    reach, provider, evidence, is_local
):
    script = "cat /evidence/a.csv"
    turns = [turn(script), turn("", "answer")]
    if not is_local:
        turns = [call_tools(bash={"script": script}) | {"content": "prose"}]
    provider.answer = reply_with(*turns, f"The abstract persuades: {FINAL}")
    client, event = reach(is_local=is_local), make_event() | {"keeps": "values"}
    outcome = solve(client, event, evidence, method="agentic")
    assert outcome["prediction"]["value"] == "A" and len(list_tools(outcome)) == 1
    rows = client.door.recordings.rows.values()
    told = json.dumps([row for row in rows if row["request"]["model"] != "sandbox"])
    held = [word for word in ("messages", "abstract", "prose", event["prompt"]) if word in told]
    assert script in told and not held
    assert all(row["stays"] for row in rows) and not has_news(client.door.recordings.run_id)
    assert solve(reach(False, is_local=is_local), event, evidence, method="agentic") == outcome


@pytest.mark.parametrize(
    ("method", "grammars", "shown"),
    [
        ("agentic", [TURN_GRAMMAR] * 3, ["1", "2"]),
        ("led", [LOOK_GRAMMAR, TURN_GRAMMAR, TURN_GRAMMAR], ["1"]),
    ],
)  # the paper's loop neither makes it look nor stops a call made again; one that is led looks, and makes no call twice
def test_a_local_model_takes_a_turn_at_a_time(reach, provider, evidence, method, grammars, shown):
    look = turn("echo on >> log; wc -l < log")
    turns = [look, look, turn("", "answer")][: len(shown) + 1]
    provider.answer = reply_with(*turns, FINAL)
    outcome = solve(reach(is_local=True), make_event(), evidence, method=method)
    assert [step["content"] for step in list_tools(outcome)] == shown
    assert outcome["prediction"]["value"] == "A"
    *asked, final = provider.asked
    assert [one["grammar"] for one in asked] == grammars[: len(turns)]
    assert "`action`" in asked[0]["messages"][0]["content"], "it is told how a turn is written"
    assert '"answer' in TURN_GRAMMAR.replace("\\", "") and "answer" not in LOOK_GRAMMAR


# --- trials -----------------------------------------------------------------------------------------


def test_a_run_at_the_highest_limit_holds_the_lower_ones(reach, provider, instance, tmp_path):
    work = [turn(f"echo {at} >> log; tail -1 /evidence/a.csv; wc -l < log") for at in range(7)]
    provider.answer = reply_with(*work, *END)
    cells = list_cells(["agentic"])
    given = [instance], tmp_path, cells, {"agentic": 1}
    table = run_trials(reach(is_local=True), *given)
    assert len(provider.asked) == 9 and table["limit"].tolist() == [50, 30, 15]
    assert table["status"].tolist() == ["ok", "ok", "message_limit"]
    assert table["answer"].fillna("").tolist() == ["A", "A", ""]
    prompt = provider.asked[0]["messages"][1]["content"]
    assert "/evidence/a.csv: 2 lines; columns day,score" in prompt
    pd.testing.assert_frame_equal(run_trials(reach(False, is_local=True), *given), table)


def test_a_run_that_was_broken_off_goes_on_in_a_sandbox_that_did_the_same(
    reach, provider, instance, tmp_path
):
    replies = [turn("echo once >> log"), turn("cat log"), turn("cat log; echo over"), *END]

    def answer(asked):
        at = sum(one["role"] == "assistant" for one in asked["messages"])
        return {"content": replies[at]}

    provider.answer = answer
    cell, client = Cell("agentic", 50), reach(is_local=True)
    run_trial(client, instance, tmp_path, cell)
    rows = client.door.recordings.rows
    tools = [key for key, row in rows.items() if row["request"]["model"] == "sandbox"]
    assert [rows[key]["step"]["content"].split()[0] for key in tools] == ["(it", "once", "once"]
    del rows[tools[-1]]
    run_trial(client, instance, tmp_path, cell)
    assert rows[tools[-1]]["step"]["content"] == "once\nover"


def test_a_solver_counts_where_all_its_replies_are_recorded_else_a_sentence_says_what_to_do():
    rows = [("a", "ok"), ("a", "missing"), ("b", "ok"), ("b", "no")]
    made = pd.DataFrame(rows, columns=["solver", "status"]).assign(method="agentic")
    assert keep_whole(made)["solver"].tolist() == ["b", "b"]
    said = r"^no solver of agentic is recorded whole \(1 of 2 trials are\): make study"
    with pytest.raises(LookupError, match=said):
        keep_whole(made[made["solver"] == "a"])
