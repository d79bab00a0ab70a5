"""Reasons: planted claims are caught, what a page shows in another format is not."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.futurex.reasons import (
    REASONS,
    apply_rule,
    find_unheld,
    list_unheld,
    measure_evidence,
    measure_shares,
    read_shown,
    show_evidence,
    write_case,
)
from helpers.store import ROOT

QUESTION = "Question: Will Brent crude cost 50.14 US dollars a barrel or more on 12 October 2016, within nine days?"
PAGE = (
    "Oil prices (http://oil.replay/spot), published 2016-10-07:\n"
    "On 6 October 2016, Brent crude oil was priced at 1,234.50 US dollars. "
    "Ann Lee of New York sold 13.13 million barrels.\n"
    "\nOther page (http://other.replay/x), published 2016-10-06:\nBrent 77.7; 2016-10-05: 3,000"
)
EVENT = {
    "event_id": "e1",
    "prompt": "Will Brent cost more?\nA. Yes\nB. No",
    "options": '{"A":"Yes","B":"No"}',
    "entity_id": "Brent",
    "variables": '{"entity":"Brent","date":"2016-10-12"}',
    "resolution_criteria": "What Oil prices (http://oil.replay/spot) shows for 12 October 2016.",
}
EVENTS = pd.DataFrame([EVENT])


def build_trace(*steps, page=PAGE, event_id="e1"):
    """A trace: the prompt, then pairs of (what the agent writes, what it is shown), then its final answer."""
    rows = [{"step_type": "prompt", "content": QUESTION}]
    for wrote, tool, shown, error in steps:
        rows.append({"step_type": "model", "content": wrote})
        if tool:
            rows.append({"step_type": "tool", "tool": tool, "content": shown, "error": error})
    rows += [{"step_type": kind, "content": "Final answer: \\boxed{A}"} for kind in ("model", "answer")]
    columns = ["run_id", "event_id", "step", "actor", "step_type", "tool", "content", "error"]
    return pd.DataFrame(
        [{"run_id": "r", "event_id": event_id, "step": at} | row for at, row in enumerate(rows)]
    ).reindex(columns=columns)


def say(**arguments):
    return json.dumps({"name": "x", "arguments": arguments})


LOOK = (say(query="Brent price"), "search", PAGE, None)


@pytest.mark.parametrize(
    "text",
    [
        "Brent cost 1234.50 dollars",
        "Brent cost 1,234.5 dollars",
        "Brent cost about 1234 or 1235 dollars",
        "it was asked for 2016-10-12, shown for 6 October 2016",
        "October 6, 2016; Oct 6; 6th of October; October 2016; 2016",
        "13.13 million, that is 13,130,000 barrels",
        "within 9 days it reaches 50.14",
        "1. Look it up.\n2. Compare.",
        "Ann Lee sold barrels in New York. Compare Ann Lee. It was Ann Lee's sale.",
        "the value is 50.1",
        "what was shown on 6 October 20",
        "a price of 123",
    ],
)
def test_what_was_shown_in_another_format_is_held(text):
    assert find_unheld(text, read_shown(QUESTION + "\n" + PAGE), ["Brent"]) == []


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Brent cost 1,236 dollars", "number", "1,236"),
        ("Brent cost 1234.6 dollars", "number", "1234.6"),
        ("the index is 77.71 now", "number", "77.71"),
        ("14.13 million barrels were sold", "number", "14.13"),
        ("it costs 50.50.", "number", "50.50"),
        ("on 13 October 2016 it fell", "date", "13 October 2016"),
        ("on 12 October 2015 it fell", "date", "12 October 2015"),
        ("in November 2016 it fell", "date", "November 2016"),
        ("it was Ann Poe who sold", "name", "Ann Poe"),
        ("the price in Napoli fell", "name", "Napoli"),
        ("he sold 12 of 1239 barrels", "number", "1239"),
    ],
)
def test_a_planted_claim_is_caught(text, kind, found):
    assert find_unheld(text, read_shown(QUESTION + "\n" + PAGE), ["Napoli"]) == [(kind, found)]


def test_a_claim_counts_only_against_what_was_shown_before_it():
    early = build_trace((say(thought="it costs 1234.5"), "search", PAGE, None))
    late = build_trace(LOOK, (say(answer="it costs 1234.5"), None, None, None))
    assert list_unheld(early)["text"].tolist() == ["1234.5"] and list_unheld(late).empty


def test_an_agents_own_words_do_not_hold_its_claims():
    report = (say(task="the price"), "search_agent", "The price is 123.", None)
    told = build_trace(
        (say(answer="The price is 123."), None, None, None), report, (say(answer="It is 123."), None, None, None)
    )
    assert list_unheld(told)["text"].tolist() == ["123", "123"], "a report of its search agent shows nothing"
    address = "http://made.up/777"
    failed = build_trace(
        (say(address=address), "open", f"{address} cannot be opened", "outside"), (say(answer="777"), "", "", "")
    )
    assert list_unheld(failed)[["kind", "text"]].to_numpy().tolist() == [["address", address], ["number", "777"]]


def test_a_step_by_step_agents_input_is_read_by_its_action():
    steps = [
        json.dumps({"thought": "", "action": action, "input": "http://made.up/x"}) for action in ("open", "search")
    ]
    assert list_unheld(build_trace((steps[0], None, None, None)))["kind"].tolist() == ["address"]
    assert list_unheld(build_trace((steps[1], None, None, None))).empty, "written down, not opened"


@pytest.mark.parametrize(
    ("page", "evidence"),
    [
        (PAGE, "values"),
        (PAGE.replace("Brent crude oil was priced", "Dubai crude oil was priced"), "page only"),
        (
            PAGE.replace(
                "On 6 October 2016, Brent crude oil was priced at 1,234.50 US dollars.", "About Brent, a price."
            ),
            "page only",
        ),
        ("Oil prices (http://oil.replay/spot), published 2016-10-07:\nBrent: 2016-10-12: to be played", "page only"),
        (PAGE.replace("http://oil.replay/spot", "http://oil.replay/old"), "nothing"),
    ],
)
def test_evidence_is_a_dated_value_of_what_is_asked_on_its_own_page(page, evidence):
    assert show_evidence(build_trace((say(query="q"), "search", page, None)), EVENT) == evidence


def test_the_rule_gives_one_reason_a_trace():
    traces = [
        build_trace(LOOK),
        build_trace((say(query="q"), "search", "Nothing was found.", None), event_id="e2"),
        build_trace(LOOK, (say(answer="It is 999."), None, None, None), event_id="e3"),
        build_trace(LOOK, event_id="e4").query("step_type != 'answer'"),
    ]
    events = pd.concat([EVENTS.assign(event_id=f"e{at}") for at in range(1, 5)])
    table = apply_rule(pd.concat(traces), events, {"r": "ann"})
    assert table["event_id"].tolist() == ["e1", "e2", "e3"], "a question without an answer is left out"
    assert table["rule"].tolist() == ["exhaustive evidence", "insufficient data", "hallucination"]
    assert table["unheld"].iloc[2] == "999"


def test_a_case_shows_the_settling_page_first_and_not_the_outcome():
    trace = build_trace(LOOK, (say(answer="It will rise."), None, None, None))
    case = write_case(trace, EVENT | {"answer": "SECRET"}, n_shown=40)
    assert "Pages: On 6 October 2016, Brent crude oil was p" in case and "It will rise." in case
    assert "Answer: Yes" in case and "SECRET" not in case and "77.7" not in case


def test_shares_add_up_and_hold_the_planted_ones():
    table = pd.DataFrame({"agent_id": "a", "is_right": [True] * 40 + [False] * 10})
    table["event_id"] = [f"e{at}" for at in range(50)]
    table["rule"] = [REASONS[0]] * 30 + [REASONS[1]] * 10 + [REASONS[3]] * 10
    clusters = pd.Series([f"s{at % 20}" for at in range(50)], table["event_id"])
    shares = measure_shares(table, ["agent_id", "is_right"], clusters).set_index(["is_right", "reason"])
    right = shares.loc[True]
    assert right["share"].tolist() == [0.75, 0.25, 0, 0] and right["n_clusters"].eq(20).all()
    assert right.loc[REASONS[0], "low"] < 0.75 < right.loc[REASONS[0], "high"] <= 1
    few = measure_shares(table, ["agent_id", "is_right"], clusters.str.replace(r"\d", "", regex=True))
    assert few["low"].isna().all(), "with fewer than ten clusters it cannot be told"


def measure_planted(rng, shown, control, n=240):
    """Synthetic forecasts: an agent's and a control's chance of being right, (with values shown, without)."""
    events = [f"e{at}" for at in range(n)]
    has = rng.random(n) < 0.5
    right = {name: rng.random(n) < np.where(has, *chances) for name, chances in (("a", shown), ("c", control))}
    table = pd.DataFrame({"event_id": events, "agent_id": "a", "evidence": np.where(has, "values", "nothing")})
    clusters = pd.Series([f"s{at % 24}" for at in range(n)], events)
    found = measure_evidence(table.assign(is_right=right["a"]), pd.Series(right["c"], events), clusters)
    return found.set_index("of")


def test_what_evidence_brings_is_the_difference_to_an_agent_that_saw_none():
    rng = np.random.default_rng(0)
    helped = measure_planted(rng, (0.8, 0.3), (0.5, 0.5))
    assert helped.loc["agent minus control", "low"] > 0 and helped.loc["agent", "n_clusters"] == 24
    easy = [measure_planted(rng, (0.8, 0.3), (0.8, 0.3)) for _ in range(200)]  # easy events have pages, and no more
    assert all(found.loc["agent", "low"] > 0 for found in easy)
    assert np.mean([found.loc["agent minus control", "p"] < 0.05 for found in easy]) < 0.09
    hurt = measure_planted(rng, (0.4, 0.5), (0.9, 0.4))
    assert hurt.loc["agent minus control", "high"] < 0


def test_the_labels_are_a_language_model_s_one_a_trace():
    labels = pd.read_csv(ROOT / "data/labels/reasons.csv")
    assert len(labels) >= 50 and labels["label"].isin(REASONS).all() and set(labels["label_by"]) == {"language model"}
    assert not labels.duplicated(["event_id", "agent_id"]).any()
