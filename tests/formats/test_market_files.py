"""Questions of two markets: small files in the form of their APIs, written for these tests; what is wrong is named."""

import json

import pandas as pd
import pytest

from helpers.formats.markets import read_markets, read_prices

POLY = {
    "id": "12",
    "conditionId": "0xabc",
    "question": "Will it  rain?",
    "description": "By the gauge.",
    "outcomes": '["Yes", "No"]',
    "outcomePrices": '["0", "1"]',
    "startDate": "2026-01-01T00:00:00Z",
    "endDate": "2026-02-01T00:00:00Z",
    "closedTime": "2026-01-20 12:00:00+00",
    "closed": True,
}
MANIFOLD = {
    "id": "m1",
    "question": "Will it snow?",
    "outcomeType": "BINARY",
    "createdTime": 1767225600000,
    "closeTime": 1769904000000,
    "isResolved": True,
    "resolution": "YES",
    "resolutionTime": 1768000000000,
}
ANSWERS = [{"id": name, "text": f"the {name}  one", "probability": 0.5} for name in "xyz"]
SEVERAL = MANIFOLD | {"id": "m2", "outcomeType": "MULTIPLE_CHOICE", "answers": ANSWERS, "resolution": "y"}


def write(folder, given, name="a.json"):
    path = folder / name
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(given).encode())
    return path


def test_a_question_of_each_market_becomes_an_event_with_its_answer(tmp_path):
    events, answers, out = read_markets(write(tmp_path, [POLY, MANIFOLD, SEVERAL]))
    assert events["event_id"].tolist() == ["polymarket-0xabc", "manifold-m1", "manifold-m2"] and out.empty
    assert answers["value"].tolist() == ['"B"', '"A"', '"B"']
    assert events["prompt"][0] == "Will it rain?\nA. Yes\nB. No"
    assert events["prompt"][2] == "Will it snow?\nA. the x one\nB. the y one\nC. the z one"
    assert events["resolves_at"][0] == "2026-01-20T20:00:00+08:00", "when it was closed, not when planned"
    assert events["opens_at"][1] == "2026-01-01T08:00:00+08:00"


def test_questions_of_one_event_share_their_luck_and_open_ones_have_no_answer(tmp_path):
    given = [POLY | {"conditionId": name, "closed": False, "events": [{"id": "77"}]} for name in "ab"] + [POLY]
    events, answers, _ = read_markets(write(tmp_path, given))
    assert events["cluster_id"].tolist() == ["polymarket-event-77", "polymarket-event-77", "polymarket-0xabc"]
    assert answers["event_id"].tolist() == ["polymarket-0xabc"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (POLY | {"closedTime": "2025-12-31T00:00:00Z"}, "it was settled before it opened"),
        (POLY | {"outcomePrices": '["1", "1"]'}, "its last prices are [1.0, 1.0], of which one winner has 1"),
        (POLY | {"outcomes": '[["Yes"], ["No"]]'}, 'field outcomes: \'[["Yes"], ["No"]]\' is not a list of texts'),
        (POLY | {"endDate": "now"}, "field endDate: 'now' is not a moment"),
        (MANIFOLD | {"createdTime": 1767225600}, "field createdTime: 1767225600 is not a moment of 2000 to 2100"),
        (MANIFOLD | {"outcomeType": "NUMERIC"}, "it is NUMERIC, and only BINARY"),
        (SEVERAL | {"resolution": "MKT", "resolutions": {"x": 50, "y": 50}}, "it was resolved as MKT, to 2"),
    ],
)
def test_one_row_that_cannot_be_read_leaves_the_others(tmp_path, row, reason):
    events, _, out = read_markets(write(tmp_path, [POLY | {"conditionId": "0xother"}, row]))
    assert events["event_id"].tolist() == ["polymarket-0xother"] and out["reason"].tolist()[0].startswith(reason)


def test_prices_of_each_market_are_of_the_first_option(tmp_path):
    events = read_markets(write(tmp_path, [POLY, MANIFOLD, SEVERAL]))[0]
    history = {"history": [{"t": 1767312000, "p": 0.4}, {"t": 1767225600, "p": "0.3"}]}
    table = read_prices(write(tmp_path, history), events[:1])
    assert table.to_numpy().tolist() == [["polymarket-0xabc", 20454.0, 0.3], ["polymarket-0xabc", 20455.0, 0.4]]
    made = [("m1", None, 0.1), ("m2", "x", 0.2), ("m2", "y", 0.3), ("m9", None, 0.4)]
    names = ("contractId", "answerId", "probAfter")
    bets = [dict(zip(names, row, strict=True)) | {"createdTime": 1767225600000} for row in made]
    assert read_prices(write(tmp_path, bets), events)["price"].tolist() == [0.1, 0.2]
    for given, match in (
        (history, "history of the one question"),
        ([{"createdTime": 3}], "field createdTime"),
    ):
        with pytest.raises(ValueError, match=match):
            read_prices(write(tmp_path, given), pd.DataFrame(events))
