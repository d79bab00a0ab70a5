"""Questions of four markets, in the form of their APIs and written for these tests; what is wrong is named."""

import pytest

from helpers.faults import open_type
from helpers.formats.markets import list_markets, list_prices

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


KALSHI = {
    "ticker": "KXRAIN-26FEB01-B2",
    "event_ticker": "KXRAIN-26FEB01",
    "market_type": "binary",
    "title": "How much rain will fall?",
    "yes_sub_title": "2 mm or more",
    "rules_primary": "By the gauge.",
    "rules_secondary": "",
    "open_time": "2026-01-01T00:00:00Z",
    "close_time": "2026-02-01T00:00:00Z",
    "status": "active",
    "result": "",
    "yes_bid_dollars": "0.3000",
    "yes_ask_dollars": "0.3400",
    "last_price_dollars": "0.2900",
}
METACULUS = {
    "id": 77,
    "title": "Will the river freeze?",
    "nr_forecasters": 12,
    "question": {
        "type": "binary",
        "open_time": "2026-01-01T00:00:00Z",
        "scheduled_close_time": "2026-02-01T00:00:00Z",
        "resolution_criteria": "From bank to bank.",
        "resolution": None,
        "aggregations": {"recency_weighted": {"history": [], "latest": {"centers": [0.2]}}},
    },
}


def read_events(*rows):
    found, out = list_markets(list(rows), "here")
    assert not out
    return found


def test_a_question_of_each_market_becomes_an_event_with_its_answer():
    found = read_events(POLY, MANIFOLD, SEVERAL, KALSHI | {"result": "no"}, METACULUS)
    events = [one.event for one in found]
    wanted = "polymarket-0xabc manifold-m1 manifold-m2 kalshi-KXRAIN-26FEB01-B2 metaculus-77".split()
    assert [event["event_id"] for event in events] == wanted
    assert [one.answer and one.answer["value"] for one in found] == ['"B"', '"A"', '"B"', '"B"', None]
    assert events[0]["prompt"] == "Will it rain?\nA. Yes\nB. No"
    assert events[2]["prompt"] == "Will it snow?\nA. the x one\nB. the y one\nC. the z one"
    assert events[3]["prompt"] == "How much rain will fall? (2 mm or more)\nA. Yes\nB. No"
    assert events[0]["resolves_at"] == "2026-01-20T20:00:00+08:00", "when it was closed, not when planned"
    assert events[1]["opens_at"] == "2026-01-01T08:00:00+08:00"
    assert [event["resolution_criteria"] for event in events[3:]] == ["By the gauge.", "From bank to bank."]


def test_the_price_is_of_the_first_option_and_none_where_the_market_shows_none():
    rows = [POLY | {"slug": "rain", "outcomePrices": '["0.3", "0.7"]', "closed": False}, MANIFOLD, KALSHI, METACULUS]
    assert [one.price for one in read_events(*rows)] == pytest.approx([0.3, None, 0.32, 0.2])
    assert read_events(rows[0])[0].url == "https://polymarket.com/market/rain"
    untraded = KALSHI | dict.fromkeys(("yes_bid_dollars", "yes_ask_dollars", "last_price_dollars"), "0.0000")
    hidden = METACULUS | {"question": METACULUS["question"] | {"aggregations": {"recency_weighted": {"latest": None}}}}
    assert [one.price for one in read_events(untraded, untraded | {"last_price_dollars": "0.4"}, hidden)] == [
        None,
        0.4,
        None,
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (POLY | {"closedTime": "2025-12-31T00:00:00Z"}, "it was settled before it opened"),
        (POLY | {"outcomePrices": '["1", "1"]'}, "its last prices are [1.0, 1.0], of which one winner has 1"),
        (POLY | {"outcomes": '[["Yes"], ["No"]]'}, 'field outcomes: \'[["Yes"], ["No"]]\' is not a list of texts'),
        (POLY | {"outcomePrices": '["1"]'}, "its last prices are [1.0]"),
        (POLY | {"outcomePrices": f"[{'9' * 400}, 0]"}, "field outcomePrices: "),
        (POLY | {"endDate": "now"}, "field endDate: 'now' is not a moment"),
        (POLY | {"endDate": []}, "field endDate: [] is not a moment"),
        (MANIFOLD | {"createdTime": 1767225600}, "field createdTime: 1767225600 is not a moment of 2000 to 2100"),
        (MANIFOLD | {"outcomeType": "NUMERIC"}, "it is NUMERIC, and only BINARY"),
        (KALSHI | {"market_type": "scalar"}, "it is scalar, and only binary ones"),
        (KALSHI | {"yes_bid_dollars": "1.5"}, "field yes_bid_dollars: '1.5' is not a number from 0 to 1"),
        (KALSHI | {"result": "void"}, "it was resolved as void"),
        (METACULUS | {"question": None}, "it is a group, or a note, and only posts"),
        (METACULUS | {"question": METACULUS["question"] | {"resolution": "annulled"}}, "it was resolved as annulled"),
        (METACULUS | {"question": METACULUS["question"] | {"open_time": 7}}, "field open_time: 7 is not a moment"),
        (SEVERAL | {"resolution": "MKT", "resolutions": {"x": 50, "y": 50}}, "it was resolved as MKT, to 2"),
    ],
)
def test_one_row_that_cannot_be_read_leaves_the_others(row, reason):
    found, ((_, said),) = list_markets([POLY | {"conditionId": "0xother"}, row], "here")
    assert [one.event["event_id"] for one in found] == ["polymarket-0xother"] and said.startswith(reason)


def test_of_thousands_of_questions_each_types_validator_is_built_once():
    read_events(POLY)
    n_built = open_type.cache_info().misses
    assert len(read_events(*(POLY | {"conditionId": f"0x{n}"} for n in range(50)))) == 50
    assert open_type.cache_info().misses == n_built, "else 4,000 questions take minutes"


def test_prices_of_each_market_are_of_the_first_option():
    poly, one, several, kalshi, metaculus = (
        found.event for found in read_events(POLY, MANIFOLD, SEVERAL, KALSHI, METACULUS)
    )
    history = {"history": [{"t": 1767312000, "p": 0.4}, {"t": 1767225600, "p": "0.3"}]}
    table = list_prices(history, "clob", poly)
    assert table.to_numpy().tolist() == [["polymarket-0xabc", 20454.0, 0.3], ["polymarket-0xabc", 20455.0, 0.4]]
    made = [("m1", None, 0.1), ("m2", "x", 0.2), ("m2", "y", 0.3), ("m9", None, 0.4)]
    names = ("contractId", "answerId", "probAfter")
    bets = [dict(zip(names, row, strict=True)) | {"createdTime": 1767225600000} for row in made]
    assert list_prices(bets, "bets", one)["price"].tolist() == [0.1]
    assert list_prices(bets, "bets", several)["price"].tolist() == [0.2]
    candles = [
        {"end_period_ts": 1767225600, "price": {"close_dollars": None}, "yes_bid": {"close_dollars": "0.1"}},
        {"end_period_ts": 1767312000, "price": {"close_dollars": None}}
        | {"yes_bid": {"close_dollars": "0.1"}, "yes_ask": {"close_dollars": "0.3"}},
        {"end_period_ts": 1767398400, "price": {"close_dollars": "0.5"}},
    ]
    assert list_prices({"candlesticks": candles}, "kalshi", kalshi)["price"].tolist() == pytest.approx([0.2, 0.5])
    made = {"history": [{"start_time": 1767225600.5, "end_time": None, "centers": [0.6]}]}
    post = METACULUS | {"question": METACULUS["question"] | {"aggregations": {"recency_weighted": made}}}
    assert list_prices(post, "metaculus", metaculus)["price"].tolist() == [0.6]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"error": "no"}, "clob: wanted is a list of bets, or an object with a history"),
        ("gone", "clob: wanted is a list of bets"),
        ([{"createdTime": 3}], "clob, price 1: field createdTime"),
        ({"history": [{"t": 1767312000, "p": 1.4}]}, "clob, price 1: field p: 1.4 is not a number from 0 to 1"),
        ({"history": [{"t": 10**400, "p": 0.4}]}, "clob, price 1: field t: 1000"),
        ({"history": [7]}, "clob, price 1: wanted is an object"),
    ],
)
def test_prices_of_another_form_are_named(given, said):
    with pytest.raises(ValueError, match=said):
        list_prices(given, "clob", read_events(POLY)[0].event)
