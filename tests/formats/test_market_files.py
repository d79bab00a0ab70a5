"""Questions of four markets: small files in the form of their APIs, written for these tests; what is wrong is named."""

import json
import time

import pandas as pd
import pytest

from helpers.formats.market_prices import read_prices
from helpers.formats.markets import read_markets

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
    "probability": 0.97,
}
METACULUS = {
    "id": 7,
    "title": "Which colour?",
    "question": {
        "id": 8,
        "type": "multiple_choice",
        "options": ["red", "blue"],
        "open_time": "2026-01-01T00:00:00Z",
        "scheduled_close_time": "2026-03-01T00:00:00Z",
        "actual_close_time": "2026-02-01T00:00:00Z",
        "resolution": "blue",
        "resolution_criteria": "By eye.",
        "aggregations": {
            "recency_weighted": {
                "history": [
                    {"start_time": 1767398400.0, "end_time": None, "centers": [0.25, 0.75]},
                    {"start_time": 1767312000.0, "end_time": 1767398400.0, "centers": [0.5, 0.5]},
                ]
            }
        },
    },
}
KALSHI = {
    "ticker": "RAIN-26-T1",
    "event_ticker": "RAIN-26",
    "market_type": "binary",
    "title": "Will it hail?",
    "rules_primary": "By the ice.",
    "open_time": "2026-01-01T00:00:00Z",
    "close_time": "2026-02-01T00:00:00Z",
    "status": "finalized",
    "result": "no",
}

ANSWERS = [{"id": name, "text": f"the {name}  one", "probability": 0.5} for name in "xyz"]
SEVERAL = MANIFOLD | {"outcomeType": "MULTIPLE_CHOICE", "answers": ANSWERS, "resolution": "y"}
Q = pd.DataFrame({"event_id": ["q"]})


def add_history(history):
    return METACULUS["question"] | {"aggregations": {"recency_weighted": {"history": history}}}


def write(folder, given, name="a.json"):
    path = folder / name
    path.write_text(json.dumps(given), encoding="utf-8")
    return path


def test_a_question_of_each_market_becomes_an_event_with_its_answer(tmp_path):
    files = {
        "polymarket": [POLY],
        "manifold": MANIFOLD,
        "metaculus": {"results": [METACULUS]},
        "kalshi": {"market": KALSHI},
    }
    found = {venue: read_markets(write(tmp_path, given)) for venue, given in files.items()}
    events = {venue: parts[0].iloc[0] for venue, parts in found.items()}
    assert {venue: event["event_id"] for venue, event in events.items()} == {
        "polymarket": "polymarket-0xabc",
        "manifold": "manifold-m1",
        "metaculus": "metaculus-7",
        "kalshi": "kalshi-RAIN-26-T1",
    }
    values = {venue: json.loads(parts[1].iloc[0]["value"]) for venue, parts in found.items()}
    assert values == {"polymarket": "B", "manifold": "A", "metaculus": "B", "kalshi": "B"}
    assert events["polymarket"]["prompt"] == "Will it rain?\nA. Yes\nB. No"
    assert events["polymarket"]["resolves_at"] == "2026-01-20T20:00:00+08:00", "when it was closed, not when planned"
    assert events["metaculus"]["options"] == '{"A": "red", "B": "blue"}'
    assert events["metaculus"]["resolves_at"] == "2026-02-01T08:00:00+08:00"
    assert (
        events["kalshi"]["cluster_id"] == "kalshi-RAIN-26" and events["kalshi"]["resolution_criteria"] == "By the ice."
    )
    assert events["manifold"]["opens_at"] == "2026-01-01T08:00:00+08:00"
    prices = found["metaculus"][2]
    assert prices["price"].tolist() == [0.5, 0.25] and prices["day"].tolist() == [20455.0, 20456.0]
    assert all(parts[3].empty for parts in found.values())


def test_questions_of_one_event_share_their_luck(tmp_path):
    given = [POLY | {"conditionId": name, "events": [{"id": "77"}]} for name in "ab"] + [POLY]
    events = read_markets(write(tmp_path, given))[0]
    assert events["cluster_id"].tolist() == ["polymarket-event-77", "polymarket-event-77", "polymarket-0xabc"]


def test_an_option_is_its_words_whatever_their_spaces(tmp_path):
    told = METACULUS["question"] | {"options": ["dark  red", "blue"], "resolution": "dark  red"}
    events, answers, *_ = read_markets(write(tmp_path, METACULUS | {"question": told}))
    assert answers["value"].tolist() == ['"A"'] and "A. dark red" in events["prompt"].iloc[0]


def test_open_questions_have_no_answer_and_others_are_left_out_with_a_reason(tmp_path):
    given = [POLY | {"closed": False}, POLY | {"conditionId": "0xd", "outcomePrices": '["0.5", "0.5"]'}]
    events, answers, _, out = read_markets(write(tmp_path, given))
    assert events["event_id"].tolist() == ["polymarket-0xabc"] and answers.empty
    assert out.values.tolist() == [["12", "it was closed without a winner"]]
    for market, reason in [
        (MANIFOLD | {"resolution": "MKT"}, "it was resolved as MKT"),
        (MANIFOLD | {"outcomeType": "NUMERIC"}, "it is NUMERIC, and only BINARY and MULTIPLE_CHOICE are read"),
        (METACULUS | {"question": METACULUS["question"] | {"type": "date"}}, "it is date, and only binary"),
        (METACULUS | {"question": METACULUS["question"] | {"resolution": "annulled"}}, "it was resolved as annulled"),
        ({"id": 9, "group_of_questions": {}}, "it is a group"),
        (KALSHI | {"result": "scalar"}, "it was resolved as scalar"),
        (KALSHI | {"close_time": "2025-01-01T00:00:00Z"}, "it ends before it opens"),
    ]:
        events, _, _, out = read_markets(write(tmp_path, [market]))
        assert events.empty and out["reason"].iloc[0].startswith(reason)


def ask_inside(**changes):
    return METACULUS | {"question": METACULUS["question"] | changes}


DIGITS = "9" * 400


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (POLY | {"closedTime": "2025-12-31T00:00:00Z"}, "it was settled before it opened"),
        (POLY | {"outcomePrices": '["1", "1"]'}, "its last prices are [1.0, 1.0], of which one winner has 1"),
        (POLY | {"outcomePrices": '["1"]'}, "field outcomePrices has 1 prices for 2 outcomes"),
        (POLY | {"outcomePrices": f"[{DIGITS}, 0]"}, "field outcomePrices: '[999"),
        (POLY | {"outcomePrices": None}, "field outcomePrices is missing"),
        (POLY | {"outcomes": '[["Yes"], ["No"]]'}, 'field outcomes: \'[["Yes"], ["No"]]\' is not a list of texts'),
        (POLY | {"endDate": "soon"}, "field endDate: 'soon' is not a moment of 2000 to 2100 (ISO text)"),
        (POLY | {"endDate": "now"}, "field endDate: 'now' is not a moment"),
        (POLY | {"endDate": "NaT"}, "field endDate: 'NaT' is not a moment"),
        (POLY | {"closed": "yes"}, "field closed: 'yes' is not true or false"),
        (MANIFOLD | {"createdTime": 1767225600}, "field createdTime: 1767225600 is not a moment of 2000 to 2100"),
        (MANIFOLD | {"closeTime": 8640000000000000}, "field closeTime: 8640000000000000 is not a moment"),
        (MANIFOLD | {"closeTime": float("nan")}, "field closeTime: nan is not a moment"),
        (MANIFOLD | {"resolutions": {"a": int(DIGITS)}}, "field resolutions: {'a': inf} is not numbers by name"),
        (ask_inside(actual_close_time="2025-01-01T00:00:00Z"), "it was settled before it opened"),
        (ask_inside(open_time=None), "field open_time is missing"),
        (METACULUS | {"question": add_history("none")}, "field history: 'none' is not a list of objects"),
        ({"id": 3, "title": "Notes", "notebook": {}}, "it is a group, a conditional pair or a notebook"),
        (SEVERAL | {"resolution": "MKT", "resolutions": {"x": 50, "y": 50}}, "it was resolved to 2 of its options"),
        (SEVERAL | {"resolution": "CANCEL"}, "it was resolved as CANCEL"),
        (SEVERAL | {"shouldAnswersSumToOne": False}, "each of its answers is a question of yes and no of its own"),
        (SEVERAL | {"answers": [ANSWERS[0], ANSWERS[1] | {"text": " "}]}, "field text: ' ' is not a text"),
    ],
)
def test_one_row_that_cannot_be_read_leaves_the_others(tmp_path, row, reason):
    events, _, _, out = read_markets(write(tmp_path, [KALSHI, row]))
    assert events["event_id"].tolist() == ["kalshi-RAIN-26-T1"] and out["reason"].tolist()[0].startswith(reason)


def test_events_of_several_questions_are_opened_and_their_questions_told_apart(tmp_path):
    both = [KALSHI | {"ticker": name, "title": "Who wins?", "yes_sub_title": name} for name in ("Ann", "Bob")]
    for given in ({"events": [{"event_ticker": "RAIN-26", "markets": both}]}, {"event": {"markets": both}}):
        events = read_markets(write(tmp_path, given))[0]
        assert [prompt.split("\n")[0] for prompt in events["prompt"]] == ["Who wins? (Ann)", "Who wins? (Bob)"]
    said = KALSHI | {"yes_sub_title": "hail"}
    assert read_markets(write(tmp_path, said))[0]["prompt"].iloc[0].startswith("Will it hail?\n"), "it is said already"
    gamma = [{"id": "77", "ticker": "rain", "markets": [POLY | {"conditionId": name} for name in "ab"]}]
    assert read_markets(write(tmp_path, gamma))[0]["cluster_id"].tolist() == ["polymarket-event-77"] * 2


def test_a_step_without_a_forecast_has_no_price_and_a_byte_order_mark_is_no_text(tmp_path):
    history = METACULUS["question"]["aggregations"]["recency_weighted"]["history"]
    given = METACULUS | {"question": add_history([*history, {"start_time": 1767484800, "centers": None}])}
    path = write(tmp_path, given)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_markets(path)[2]["price"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('[{"a": 1}]', r"a\.json, question 1: none of the fields"),
        (json.dumps([KALSHI, KALSHI]), "kalshi-RAIN-26-T1 is there twice"),
        ('"text"', "there is no question"),
        ("{", r"a\.json: no JSON"),
        ("[" * 200_000, r"a\.json is nested too deep"),
        (json.dumps([KALSHI | {"ticker": "\ud800"}]), r"a\.json holds half a character"),
        ("x" * 1000, r"a\.json is larger than 0 MB, unpacked"),
    ],
)
def test_a_file_that_holds_no_questions_is_named(tmp_path, monkeypatch, text, match):
    monkeypatch.setattr("helpers.formats.lines.MAX_BYTES", 900 if text.startswith("x") else 1 << 20)
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=match):
        read_markets(path)


def test_many_questions_and_prices_take_seconds(tmp_path):
    n = 4000
    given = write(tmp_path, [KALSHI | {"ticker": f"T{at}"} for at in range(n)])
    sold = {"created_time": "2026-01-02T00:00:00Z", "yes_price": 30}
    trades = write(tmp_path, {"trades": [sold | {"ticker": f"T{at % n}"} for at in range(2 * n)]}, "b.json")
    start = time.process_time()
    events = read_markets(given)[0]
    prices = read_prices(trades, events)
    assert time.process_time() - start < 6 and len(events) == n and len(prices) == 2 * n
    assert prices["question_id"].tolist()[:3] == ["kalshi-T0", "kalshi-T0", "kalshi-T1"]


def test_prices_of_each_market(tmp_path):
    history = {"history": [{"t": 1767312000, "p": 0.4}, {"t": 1767225600, "p": "0.3"}]}
    table = read_prices(write(tmp_path, history), Q)
    assert table.values.tolist() == [["q", 20454.0, 0.3], ["q", 20455.0, 0.4]]
    bets = [
        {"createdTime": 1767225600000, "probAfter": 0.6},
        {"createdTime": 1767225600001, "probAfter": 0.9, "answerId": "a"},
    ]
    assert read_prices(write(tmp_path, bets), Q)["price"].tolist() == [0.6]
    prices = [{"close_dollars": "0.2500"}, {"close_dollars": None}, {"close": 30}]
    candles = {"candlesticks": [{"end_period_ts": 1767225600 + at, "price": price} for at, price in enumerate(prices)]}
    assert read_prices(write(tmp_path, candles), Q)["price"].tolist() == [0.25, 0.3]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"history": [{"t": 1767312000, "p": 1.5}]}, "history 1: field p: 1.5 is not a number from 0 to 1"),
        ({"history": [{"t": 1767225600000, "p": 0.5}]}, "history 1: field t: 1767225600000 is not a moment of 2000"),
        ({"candlesticks": [{"end_period_ts": 1767312000}]}, "candlesticks 1: field price is missing"),
        ({"prices": []}, "no history, no candlesticks, no trades"),
    ],
)
def test_wrong_prices_are_named(tmp_path, given, match):
    with pytest.raises(ValueError, match=match):
        read_prices(write(tmp_path, given), Q)


def test_a_price_that_lacks_a_number_is_left_out_alone_and_counted(tmp_path):
    history = METACULUS["question"]["aggregations"]["recency_weighted"]["history"]
    blank = [{"start_time": 1767484800, "centers": given} for given in ([0.5, None], [None, 0.5], [])]
    given = [KALSHI, METACULUS | {"question": add_history([*history, *blank])}]
    events, _, prices, out = read_markets(write(tmp_path, given))
    assert len(events) == 2 and prices["price"].tolist() == [0.5, 0.25]
    assert out.values.tolist() == [["7", "3 of its 5 prices, which lack a number"]]


def test_a_question_of_several_answers_of_manifold_is_read_with_its_options(tmp_path):
    for more in ({}, {"resolution": "CHOOSE_ONE", "resolutions": {"y": 100, "x": 0}}):
        events, answers, _, out = read_markets(write(tmp_path, SEVERAL | more))
        assert events["prompt"].iloc[0] == "Will it snow?\nA. the x one\nB. the y one\nC. the z one" and out.empty
        assert answers["value"].tolist() == ['"B"'] and events["kind"].tolist() == ["single"]
    bets = [
        {"contractId": market, "answerId": answer, "createdTime": 1767225600000, "probAfter": 0.1 * at}
        for at, (market, answer) in enumerate([("m1", "x"), ("m1", "y"), ("m2", "x")], 1)
    ]
    both = pd.concat([events, events.assign(event_id="manifold-m2")], ignore_index=True)
    assert read_prices(write(tmp_path, bets), both)["price"].round(1).tolist() == [0.1, 0.3], "of the first option"


def test_prices_of_several_questions_of_kalshi(tmp_path):
    events = pd.DataFrame({"event_id": ["kalshi-T1", "kalshi-T2"]})
    candle = {"end_period_ts": 1767225600, "price": {"close_dollars": "0.25"}}
    batch = {"markets": [{"market_ticker": name, "candlesticks": [candle]} for name in ("T1", "T2", "T3")]}
    assert read_prices(write(tmp_path, batch), events)["question_id"].tolist() == ["kalshi-T1", "kalshi-T2"]
    at = {"created_time": "2026-01-02T00:00:00Z"}
    trades = [at | {"ticker": "T2", "yes_price": 30}, at | {"ticker": "T1", "yes_price_dollars": "0.4100"}]
    trades += [at | {"ticker": "T1", "yes_price": None}]
    table = read_prices(write(tmp_path, {"trades": trades}), events)
    assert table.values.tolist() == [["kalshi-T1", 20455.0, 0.41], ["kalshi-T2", 20455.0, 0.3]]
    for given, match in (
        ({"candlesticks": [candle]}, "a.json has prices of one question, but there are 2 questions"),
        ({"trades": [at | {"ticker": "T9", "yes_price": 1}]}, "prices of kalshi-T9, and of none of the questions"),
        ({"trades": [{"ticker": "T1", "yes_price": 1}]}, "trades 1: field created_time is missing"),
    ):
        with pytest.raises(ValueError, match=match):
            read_prices(write(tmp_path, given), events)
