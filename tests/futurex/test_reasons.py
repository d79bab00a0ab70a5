"""Reasons: planted claims are caught, what a page shows in another format is not."""

import json

import pandas as pd
import pytest

from studies.futurex.reasons import (
    REASONS,
    apply_rule,
    find_unsupported,
    list_unheld,
    measure_shares,
    read_shown,
    show_evidence,
)

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


def build_trace(*steps):
    """A trace: the prompt, then pairs of (what the agent writes, what it is shown), then its final
    answer."""
    rows = [{"step_type": "prompt", "content": QUESTION}]
    for wrote, tool, shown, error in steps:
        rows.append({"step_type": "model", "content": wrote})
        if tool:
            rows.append({"step_type": "tool", "tool": tool, "content": shown, "error": error})
    rows += [
        {"step_type": kind, "content": "Final answer: \\boxed{A}"} for kind in ("model", "answer")
    ]
    columns = ["step", "actor", "step_type", "tool", "content", "error"]
    return [dict.fromkeys(columns) | {"step": at} | row for at, row in enumerate(rows)]


def say(**arguments):
    return json.dumps({"name": "x", "arguments": arguments})


@pytest.mark.parametrize(
    "text",
    [
        "Brent cost 1234.50 dollars",
        "Brent cost about 1234 or 1235 dollars",
        "it was asked for 2016-10-12, shown for 6 October 2016",
        "October 6, 2016; Oct 6; 6th of October; October 2016; 2016",
        "13.13 million, that is 13,130,000 barrels",
        "Ann Lee sold barrels in New York. Compare Ann Lee. It was Ann Lee's sale.",
        "a price of 123",
    ],
)
def test_what_was_shown_in_another_format_is_held(text):
    assert find_unsupported(text, read_shown(QUESTION + "\n" + PAGE), ["Brent"]) == []


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("Brent cost 1,236 dollars", "number", "1,236"),
        ("the index is 77.71 now", "number", "77.71"),
        ("on 13 October 2016 it fell", "date", "13 October 2016"),
        ("it was Ann Poe who sold", "name", "Ann Poe"),
        ("the price in Napoli fell", "name", "Napoli"),
        ("he sold 12 of 1239 barrels", "number", "1239"),
    ],
)
def test_a_planted_claim_is_caught(text, kind, found):
    assert find_unsupported(text, read_shown(QUESTION + "\n" + PAGE), ["Napoli"]) == [(kind, found)]


def test_an_agents_own_words_do_not_hold_its_claims():
    report = (say(task="the price"), "search_agent", "The price is 123.", None)
    claims = [(say(answer=f"{what} is 123."), None, None, None) for what in ("The price", "It")]
    told = build_trace(claims[0], report, claims[1])
    assert [text for _, text in list_unheld(told)] == ["123", "123"], (
        "a report of its search agent shows nothing"
    )
    address = "http://made.up/777"
    opened = (say(address=address), "open", f"{address} cannot be opened", "outside")
    failed = build_trace(opened, (say(answer="777"), "", "", ""))
    assert list_unheld(failed) == [("address", address), ("number", "777")]


@pytest.mark.parametrize(
    ("old", "new", "evidence"),
    [
        ("", "", "values"),
        ("Brent crude oil was priced", "Dubai crude oil was priced", "page only"),
        ("was priced at 1,234.50 US dollars", "was traded", "page only"),
        ("On 6 October 2016, Brent crude oil", "2016-10-12: to be played; it", "page only"),
        ("http://oil.replay/spot", "http://oil.replay/old", "nothing"),
    ],
)
def test_evidence_is_a_dated_value_of_what_is_asked_on_its_own_page(old, new, evidence):
    trace = build_trace((say(query="q"), "search", PAGE.replace(old, new, 1), None))
    assert show_evidence(trace, EVENT) == evidence


def test_shares_add_up_and_hold_the_planted_ones():
    table = pd.DataFrame({"agent_id": "a", "is_right": [True] * 40 + [False] * 10})
    table["event_id"] = [f"e{at}" for at in range(50)]
    table["rule"] = [REASONS[0]] * 30 + [REASONS[1]] * 10 + [REASONS[3]] * 10
    clusters = pd.Series([f"s{at % 20}" for at in range(50)], table["event_id"])
    by = ["agent_id", "is_right"]
    right = measure_shares(table, by, clusters).query("is_right").set_index("reason")
    assert right["share"].tolist() == [0.75, 0.25, 0, 0] and right["n_clusters"].eq(20).all()
    assert right.loc[REASONS[0], "low"] < 0.75 < right.loc[REASONS[0], "high"] <= 1
    few = measure_shares(table, by, clusters.str[:1])
    assert few["low"].isna().all(), "with fewer than ten clusters it cannot be told"


def test_a_trace_of_an_event_that_was_left_out_has_no_reason():
    traces = pd.concat(
        [pd.DataFrame(build_trace()).assign(run_id="r", event_id=name) for name in ("e1", "e2")]
    )
    found = apply_rule(traces, pd.DataFrame([EVENT]), {"r": "mine"})
    assert found[["event_id", "agent_id", "rule"]].values.tolist() == [["e1", "mine", REASONS[1]]]
