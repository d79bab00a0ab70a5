"""Solvers against a mock provider over real HTTP, their tools in a real sandbox."""

import hashlib
import json

import pytest
from builders import call_tools, make_event, needs_sandbox, reply_with

from daybefore.agents.box import Limits
from daybefore.models.recordings import has_news
from helpers.tables import list_columns
from studies.proof_of_time import solvers
from studies.proof_of_time.solvers import LOOK_GRAMMAR, TURN_GRAMMAR, Evidence, solve

FINAL = r"Final answer: \boxed{A}"
SCORES = b"paper,citations\nA,12\nB,7\n"


@pytest.fixture
def evidence(tmp_path):
    (tmp_path / "scores.csv").write_bytes(SCORES)
    listed = [{"path": "scores.csv", "sha256": hashlib.sha256(SCORES).hexdigest()}]
    return Evidence(listed, str(tmp_path), Limits(seconds=10, memory_mb=192))


def list_tools(outcome):
    return [step for step in outcome["trace"] if step["step_type"] == "tool"]


def read_count(outcome):
    (step,) = (step for step in outcome["trace"] if step["step_type"] == "count")
    return json.loads(step["content"])


def test_it_works_at_the_desk_until_it_answers_and_replays_without_a_sandbox(
    reach, provider, evidence, monkeypatch
):
    needs_sandbox()
    provider.answer = reply_with(
        call_tools(
            bash={"script": "sort -t, -k2 -nr /evidence/scores.csv | head -1 > best; cat best"}
        ),
        call_tools(python={"program": "print(open('best').read()[0] * 2)"}),
        call_tools(editor={"command": "view", "path": "best"}),
        {"content": FINAL},
    )
    client = reach()
    outcome = solve(client, make_event(), evidence, method="agentic")
    assert outcome["prediction"]["value"] == "A" and outcome["reply"] == FINAL
    assert [step["content"] for step in list_tools(outcome)] == ["A,12", "AA", "     1 A,12\n"]
    assert all(
        step["sandbox_backend"].startswith(("bubblewrap", "docker")) for step in list_tools(outcome)
    )
    assert all(set(step) <= set(list_columns("traces")) for step in outcome["trace"])
    told = {"limit": 50, "count": "messages", "status": "ok", "n_messages": 9, "n_turns": 4}
    assert read_count(outcome) == told
    sent = provider.asked[-1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user"] + 3 * ["assistant", "tool"]
    monkeypatch.setattr(solvers, "open_sandbox", None)
    assert solve(reach(False), make_event(), evidence, method="agentic") == outcome
    assert len(provider.asked) == 4


@pytest.mark.parametrize(("limit", "n_messages", "n_turns"), [(30, 30, 14), (15, 15, 7)])
def test_an_agent_that_never_answers_ends_at_its_limit(
    reach, provider, evidence, limit, n_messages, n_turns
):
    needs_sandbox()
    provider.answer = lambda asked: call_tools(bash={"script": "echo on"})
    outcome = solve(reach(), make_event(), evidence, method="structured", limit=limit)
    assert outcome["status"] == "message_limit" and outcome["prediction"] == {"value": None}
    assert f"the limit of {limit} messages" in outcome["reason"] == outcome["trace"][-1]["error"]
    told = {"limit": limit, "count": "messages", "status": "message_limit"}
    assert read_count(outcome) == told | {"n_messages": n_messages, "n_turns": n_turns}


@pytest.mark.parametrize("is_local", [False, True])
def test_of_an_instance_whose_words_may_not_be_passed_on_calls_stay_in_the_store(
    reach, provider, evidence, is_local
):
    needs_sandbox()
    script, final = "cat /evidence/scores.csv", {"content": f"The abstract persuades: {FINAL}"}
    look = {"thought": "", "action": "bash", "input": script}
    turns = [json.dumps(look), json.dumps(look | {"action": "answer", "input": ""})]
    provider.answer = reply_with(
        *(turns if is_local else [call_tools(bash={"script": script}) | {"content": "prose"}]),
        final,
    )
    client, event = reach(is_local=is_local), make_event() | {"keeps": "values"}
    outcome = solve(client, event, evidence, method="agentic")
    assert outcome["prediction"]["value"] == "A" and len(list_tools(outcome)) == 1
    rows = client.door.recordings.rows.values()
    told = json.dumps([row for row in rows if row["request"]["model"] != "sandbox"])
    assert script in told and not [
        word for word in ("messages", "abstract", "prose", event["prompt"]) if word in told
    ]
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
    needs_sandbox()
    look = {"thought": "look", "action": "bash", "input": "echo on >> log; wc -l < log"}
    turns = [look, look, look | {"action": "answer", "input": ""}]
    provider.answer = reply_with(*map(json.dumps, turns[: len(shown) + 1]), FINAL)
    outcome = solve(reach(is_local=True), make_event(), evidence, method=method)
    assert [step["content"] for step in list_tools(outcome)] == shown and outcome["prediction"][
        "value"
    ] == "A"
    asked = provider.asked[: len(shown) + 1]
    assert [one["grammar"] for one in asked] == grammars[: len(asked)] and len(
        provider.asked
    ) == len(asked) + 1
    assert "`action`" in asked[0]["messages"][0]["content"], "it is told how a turn is written"
    assert '"answer' in TURN_GRAMMAR.replace("\\", "") and "answer" not in LOOK_GRAMMAR
