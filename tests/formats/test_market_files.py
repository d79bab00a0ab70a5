"""Questions of four markets, in the form of their APIs and written for these tests; what is wrong is named."""

import pytest

from daybefore.formats.markets import list_markets, list_prices
from helpers.faults import open_type

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


ROWS = {"polymarket": POLY, "manifold": MANIFOLD, "kalshi": KALSHI}


def read_event(venue, **changes):
    (found,), out = list_markets([ROWS[venue] | changes], venue)
    assert not out
    return found


@pytest.mark.parametrize(
    ("venue", "changes", "event_id", "answer", "prompt"),
    [
        ("polymarket", {}, "polymarket-0xabc", '"B"', "Will it rain?"),
        ("manifold", {}, "manifold-m1", '"A"', "Will it snow?"),
        ("kalshi", {"result": "no"}, "kalshi-KXRAIN-26FEB01-B2", '"B"', "How much rain will fall? (2 mm or more)"),
    ],
)
def test_a_question_of_each_market_becomes_an_event_with_its_answer(venue, changes, event_id, answer, prompt):
    event, found, *_ = read_event(venue, **changes)
    assert (event["event_id"], found and found["value"]) == (event_id, answer)
    assert event["prompt"] == f"{prompt}\nA. Yes\nB. No" and event["opens_at"] == "2026-01-01T08:00:00+08:00"
    rules = {"polymarket": "By the gauge.", "kalshi": "By the gauge."}
    assert event["resolution_criteria"] == rules.get(venue)
    if venue == "polymarket":
        assert event["resolves_at"] == "2026-01-20T20:00:00+08:00", "when it was closed, not when planned"


LOST = dict.fromkeys(("yes_bid_dollars", "yes_ask_dollars", "last_price_dollars"), "0.0000")
OPEN = {"slug": "rain", "outcomePrices": '["0.3", "0.7"]', "closed": False}


@pytest.mark.parametrize(
    ("venue", "changes", "price"),
    [
        ("polymarket", OPEN, 0.3),
        ("manifold", {}, None),
        ("kalshi", {}, 0.32),
        ("kalshi", LOST, None),
        ("kalshi", LOST | {"last_price_dollars": "0.4"}, 0.4),
    ],
)
def test_the_price_is_of_the_first_option_and_none_where_the_market_shows_none(venue, changes, price):
    assert read_event(venue, **changes).price == (price and pytest.approx(price))


@pytest.mark.parametrize(
    ("venue", "changes", "reason"),
    [
        ("polymarket", {"closedTime": "2025-12-31T00:00:00Z"}, "it was settled before it opened"),
        ("polymarket", {"outcomePrices": '["1", "1"]'}, "its last prices are [1.0, 1.0], of which one winner has 1"),
        ("polymarket", {"outcomes": '[["Yes"]]'}, "field outcomes: '[[\"Yes\"]]' is not a list of texts"),
        ("polymarket", {"outcomePrices": f"[{'9' * 400}, 0]"}, "field outcomePrices: "),
        ("polymarket", {"endDate": []}, "field endDate: [] is not a moment"),
        ("manifold", {"createdTime": 1767225600}, "field createdTime: 1767225600 is not a moment of 2000 to 2100"),
        ("manifold", {"createdTime": 10**400}, "field createdTime: 1000"),
        ("manifold", {"outcomeType": "NUMERIC"}, "it is NUMERIC, and only"),
        ("manifold", {"resolution": "MKT"}, "it was resolved as MKT"),
        ("kalshi", {"market_type": "scalar"}, "it is scalar, and only"),
        ("kalshi", {"yes_bid_dollars": "1.5"}, "field yes_bid_dollars: '1.5' is not a number from 0 to 1"),
    ],
)
def test_one_row_that_cannot_be_read_leaves_the_others(venue, changes, reason):
    found, ((_, said),) = list_markets([ROWS[venue], ROWS[venue] | changes], venue)
    assert len(found) == 1 and said.startswith(reason)


def test_of_thousands_of_questions_each_types_validator_is_built_once():
    read_event("polymarket")
    n_built = open_type.cache_info().misses
    found, _ = list_markets([POLY | {"conditionId": f"0x{n}"} for n in range(50)], "polymarket")
    assert len(found) == 50 and open_type.cache_info().misses == n_built, "else 4,000 questions take minutes"


def make_candle(at, price, bid, ask):
    """Return a candlestick of Kalshi: what was paid last (None: nothing), and what is bid and asked."""
    ends = {"price": price, "yes_bid": bid, "yes_ask": ask}
    return {"end_period_ts": at} | {name: {"close_dollars": cell} for name, cell in ends.items()}


PRICES = [(1767225600, 0.3), (1767312000, 0.4)]
CANDLES = [make_candle(1767225600, "0.3", None, None), make_candle(1767268800, None, None, None)]
CANDLES += [make_candle(1767312000, None, "0.3", "0.5"), make_candle(1767398400, None, None, "0.5")]
HISTORIES = {
    "polymarket": {"history": [{"t": 1767312000, "p": 0.4}, {"t": 1767225600, "p": "0.3"}]},
    "manifold": [{"createdTime": 1000 * at, "probAfter": price} for at, price in PRICES],
    "kalshi": {"candlesticks": CANDLES},
}


@pytest.mark.parametrize("venue", HISTORIES)
def test_prices_of_each_market_are_of_the_first_option_the_oldest_first(venue):
    table = list_prices(HISTORIES[venue], venue)
    assert table.to_numpy().tolist() == [[20454.0, 0.3], [20455.0, 0.4]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"error": "no"}, "polymarket: its answer has no list of prices"),
        ({"history": [{"t": 1767312000, "p": 1.4}]}, "polymarket: a price is not a number from 0 to 1"),
        ({"history": [{"t": 10**400, "p": 0.4}]}, "polymarket: its prices cannot be read"),
    ],
)
def test_prices_of_another_form_are_named(given, said):
    with pytest.raises(ValueError, match=said):
        list_prices(given, "polymarket")
