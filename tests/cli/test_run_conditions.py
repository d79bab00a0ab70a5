"""WorldReasoner's conditions and scores of a reader's own run: by the mock provider, as a user
would."""

import json
import re
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from builders import make_entry

from daybefore.commands import compare
from daybefore.commands.main import carry_out
from daybefore.scoring.run_scores import find_run, list_runs, load_twice
from daybefore.store import read_runs
from helpers.files import STORE, locate_output, read_table
from studies.worldreasoner.conditions import NAMES
from studies.worldreasoner.hindsight.card_reviews import keep_review

RISE = {
    "title": "the index reaches its highest",
    "date": "2023-02-10",
    "direction": "Positive",
    "magnitude": 0.8,
}
SAID = {"events": [RISE | {"confidence": 0.7}], "edges": [], "rationale": "So."}
WAYS = "zero_shot graph search_prompt search_graph search_graph search_graph".split()
METHODS = dict(zip(NAMES, WAYS, strict=True))


def guess(said):
    """An answer of the kind that a prompt asks for."""
    return "A" if re.search(r"^A\. ", said, re.M) else "2024-03-01" if "month" in said else "12"


def answer(asked):
    """A model's reply: a graph where one is asked for, with the first passage as source, else the
    answer alone."""
    said = asked["messages"][-1]["content"]
    value = guess(said)
    if "response_format" not in asked:
        return {"content": rf"\boxed{{{value}}}"}
    told = {"sources": [1] if "[1]" in said else [], "answer": value, "probability": 0.8}
    return {"content": json.dumps(SAID | told)}


@pytest.fixture
def ask(provider, monkeypatch, out):
    """A function that puts an agent to six questions of window L and returns {agent:
    results.json}."""
    provider.answer = answer

    def run_mine(*arguments, **changes):
        entry = make_entry(provider, **changes)
        monkeypatch.setattr(
            "daybefore.commands.run_service.load_entries", lambda **_: {"mine": entry}
        )
        asked = ["--set", "L", "--limit", "6", "--agent", "mine"]
        return carry_out(["run", *asked, *arguments])["agents"]

    return run_mine


def take(found, metric, group="all"):
    return {
        row["name"]: row
        for row in found["scores"]
        if (row["metric"], row["group"]) == (metric, group)
    }


@pytest.mark.parametrize(
    ("name", "condition", "axes"),
    [
        ("VANILLA", NAMES[0], ""),
        ("causal", NAMES[1], "recall"),
        ("search", NAMES[2], "srcp_accessed"),
        ("search-graph", NAMES[3], "recall srcp_accessed srcp_cited"),
        ("near", NAMES[4], "recall srcp_accessed srcp_cited"),
        ("real-time", NAMES[5], "recall"),
    ],
)
def test_each_of_the_six_conditions_is_a_run_of_its_own_with_its_own_scores(
    name, condition, axes, ask, provider, tmp_path, capsys
):
    mine = ask("--condition", name, knowledge_cutoff_date="2024-06-30")["mine"]
    shown, about, is_open = capsys.readouterr().out, mine["worldreasoner"], condition == "Real-Time"
    assert about["condition"] == condition and f"mine: {condition}" in shown
    run = read_runs(tmp_path / STORE, "runs", [mine["run_id"]]).iloc[0]
    assert json.loads(run["params"])["method"] == METHODS[condition]
    known = ("srcp_cited", "srcp_accessed", "recall")
    assert {name for name in known if take(mine, f"worldreasoner_{name}")} == set(axes.split())
    for text in (shown, mine["note"], mine["condition"] or ""):
        assert ("no forecast" in text) == is_open
    assert about["is_forecast"] == (" walk" in shown) == (not is_open), "no baseline looks it up"
    events = read_table("events", "L")
    rows = read_runs(tmp_path / STORE, "predictions", [mine["run_id"]]).merge(events, on="event_id")
    gap = (pd.to_datetime(rows["resolves_at"]) - pd.to_datetime(rows["as_of_x"])).dt.days
    least, most = {"Real-Time": (-99, -1), "Near-Resolution": (0, 2)}.get(condition, (3, 999))
    assert gap.between(least, most).all() and len(gap) == len(provider.asked) == 6
    n_kept = (rows["opens_at"] >= "2024-06-30").sum()
    cutoff = {"date": "2024-06-30", "is_filtered": True, "n": 6, "n_kept": n_kept}
    assert about["cutoff"] == cutoff and 0 < n_kept < 6
    assert f"mine: {n_kept} of 6 questions opened on or after its cutoff 2024-06-30" in shown
    assert take(mine, "worldreasoner_accuracy", "kept")["2024-06-30"]["n"] == n_kept


def test_a_condition_asked_again_asks_nothing_and_a_plain_run_is_another(ask, provider, capsys):
    vanilla = partial(ask, "--condition", "Vanilla", knowledge_cutoff_date="2024-06-30")
    first, again = vanilla()["mine"], vanilla()["mine"]
    assert first["run_id"] == again["run_id"] and len(provider.asked) == 6, "nothing is asked twice"
    plain = ask()["mine"]
    assert plain["run_id"] != first["run_id"] and plain["worldreasoner"]["condition"] == "Vanilla"
    assert "mine: unfiltered (no knowledge_cutoff_date)" in capsys.readouterr().out
    assert plain["condition"] is None and len(provider.asked) == 6, "recorded replies serve again"


def test_of_no_graph_recall_is_0_and_a_question_without_a_reply_is_counted(ask, provider):
    n_asked = iter(range(20))
    provider.answer = lambda asked: "401" if next(n_asked) == 3 else {"content": "Hard to tell."}
    mine = ask("--condition", "causal", "--at-once", "1")["mine"]
    recall, accuracy = (take(mine, f"worldreasoner_{name}")[""] for name in ("recall", "accuracy"))
    assert recall["mean"] == 0 and 0 < recall["n"] <= recall["n_asked"] == 6
    assert not take(mine, "worldreasoner_recall_graphs")
    assert (accuracy["n"], accuracy["coverage"]) == (6, 0)
    assert sum(row["n"] for row in mine["missing"]) == 6


def test_a_comparison_shows_what_right_and_wrong_forecasts_rest_on(ask, provider):
    ask("--condition", "causal")
    board = Path(compare.main(["mine", "walk"], "L")["files"][1]).read_text()
    part = board.split("WorldReasoner: right and wrong forecasts (Tables 4, 10)")[1]
    assert "| agent | metric | right | wrong | gap (95%) | n |" in part and "| mine | " in part
    assert "| walk | " not in part, "a rule submits no graph"


def test_questions_are_asked_a_second_time_after_their_end(ask, provider):
    first, later = ask()["mine"], ask("--days-after", "7")["mine"]
    assert later["condition"] == "asked 7 days after the resolution"
    assert len(provider.asked) == 12, "both times are asked"
    asked = read_runs(locate_output(STORE), "predictions")
    asked = asked.merge(read_table("events", "L"), on="event_id")
    ends, moments = (pd.to_datetime(asked[name], utc=True) for name in ("resolves_at", "as_of_x"))
    is_later = asked["run_id"] == later["run_id"]
    assert set((moments - ends)[is_later]) == {pd.Timedelta(days=7)}
    assert (moments < ends)[~is_later].all(), "no baseline is asked what it could look up"
    tables, lacking = load_twice(["mine", "absent"], "L", 7)
    assert lacking == {"absent": "absent was not asked on long yet: make run AGENT=absent SET=long"}
    assert [len(table) for table in tables] == [6, 6]
    with pytest.raises(ValueError, match='mine was not asked a second time: .*"--days-after 3"'):
        load_twice(["mine"], "L", 3)
    forecast = find_run(list_runs("L"), "mine", "L")[0]
    assert forecast.run_id == first["run_id"], "a board takes the forecast"


def add(*events):
    return {"action": "add_event", "input": "", "events": list(events)}


TURNS = [
    {"action": "search", "input": "planetary index", "events": []},
    add(RISE | {"confidence": 0.7}),
    add(RISE | {"confidence": 0.7, "title": ">> 10 February 2023"}),
    add({"title": "no day"}),
    {"action": "answer", "input": "", "events": []},
]
EDGE = {"cause": 1, "effect": 0, "relation": "Causes", "strength": 0.9, "confidence": 0.9}


def go_by_turns(asked, endless=None):
    """A model that takes `TURNS` one after the other, then commits itself, with the second page as
    a source.

    With an `endless` turn it takes that, also as a step, as often as it is asked.
    """
    form = asked.get("response_format", {}).get("json_schema", {}).get("name")
    if form == "turn" or endless and form == "step":
        n = sum(message["role"] == "assistant" for message in asked["messages"])
        return {"content": json.dumps({"thought": "hm"} | (endless or TURNS[n]))}
    if not form:
        return answer(asked)
    value = guess("\n".join(message["content"] for message in asked["messages"]))
    told = {"edges": [EDGE], "rationale": "So.", "sources": [2], "probability": 0.8}
    return {"content": json.dumps(told | {"answer": value})}


def test_an_agent_that_works_by_turns_adds_its_events_so_in_the_steps_of_the_condition(
    ask, provider, tmp_path, capsys
):
    provider.answer = go_by_turns
    mine = ask("--condition", "search graph", "--limit", "2", method="react")["mine"]
    assert len(provider.asked) == 2 * (len(TURNS) + 1)
    assert mine["worldreasoner"]["condition"] == "Search-Enabled Graph"
    assert "submitted events left out: 2 as its title names no change" in capsys.readouterr().out
    told = provider.asked[-1]["messages"][-1]["content"]
    assert "1. 2023-02-10: the index reaches its highest" in told
    assert take(mine, "worldreasoner_srcp_cited")[""]["n"] == 2
    traces = read_runs(tmp_path / STORE, "traces", [mine["run_id"]])
    assert traces["error"].dropna().str.contains("is a required property").sum() == 2
    for name, n_steps, turn in (("causal", 25, 1), ("search", 15, 0)):
        del provider.asked[:]
        provider.answer = partial(go_by_turns, endless=TURNS[turn])
        ask("--condition", name, "--limit", "1", method="react")
        assert len(provider.asked) == n_steps + 1, "asked for its answer where it does not end"


def make_graph(question_id, *titles):
    """A hindsight graph of weighty events, as a file of them has it."""
    nodes = [
        {"node_id": f"e{at}", "title": title, "occurred_at": RISE["date"], "source_ids": ["a"]}
        for at, title in enumerate(titles, 1)
    ]
    weight = {"direction": "Positive", "magnitude": 0.5, "confidence": 0.5}
    impacts = [weight | {"node_id": node["node_id"]} for node in nodes]
    told = {"outcome_id": None, "nodes": nodes, "edges": [], "impacts": impacts}
    return {"question_id": question_id} | told


WRONG = [
    (["--condition", "vanila"], {}, r"no condition is called 'vanila'; did you mean Vanilla\? There are Vanilla"),
    (["--condition", "near", "--set", "A"], {}, "--condition Near-Resolution needs reference events, which long"),
    (["--condition", "vanilla"], {"method": "function"}, "mine is a Python function, which may search, and Vanilla"),
    (["--days-after", "7", "--horizon", "Near"], {}, "--days-after is a moment of its own; leave --horizon out"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "changes", "sentence"), WRONG)
def test_what_cannot_be_asked_so_is_one_sentence_before_anything_is_asked(
    ask, provider, arguments, changes, sentence
):
    with pytest.raises(SystemExit, match=f"^daybefore run: {sentence}"):
        ask(*arguments, **changes)
    assert not provider.asked


def test_a_file_of_hindsight_graphs_is_the_reference_and_a_rejected_card_leaves_it(
    ask, provider, tmp_path, capsys
):
    path = tmp_path / "graphs.json"
    graphs = partial(ask, "--condition", "causal", "--references", str(path))
    ask("--condition", "causal")
    named = read_runs(tmp_path / STORE, "predictions")["event_id"].unique()[:2]
    made = [make_graph(name, RISE["title"], "quiet weeks go on") for name in named]
    path.write_text(json.dumps(made))
    mine = graphs()["mine"]
    recall = take(mine, "worldreasoner_recall")[""]
    assert (recall["mean"], recall["n"], mine["worldreasoner"]["n_references"]) == (0.5, 2, 2)
    assert "against 2 hindsight graphs of a file, 0 of them valid" in capsys.readouterr().out
    keep_review(tmp_path / "reviews.sqlite", "ada", named[0], "e2", "Noise", "bears on nothing")
    recall = take(graphs()["mine"], "worldreasoner_recall")[""]
    assert recall["mean"] == 0.75, "of the first question one key event is left"
    path.write_text(json.dumps([make_graph("elsewhere", RISE["title"])]))
    with pytest.raises(SystemExit, match="has a graph of none of the questions asked"):
        graphs()
    assert len(provider.asked) == 6
