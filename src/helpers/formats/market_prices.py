"""Prices of prediction markets' questions, from JSON as their public APIs give it: question_id, day, price.

- Polymarket: the CLOB API's /prices-history of the first outcome's token (history: t, p).
- Manifold: /v0/bets (createdTime, probAfter; contractId and, of a question of several answers, answerId).
- Kalshi: candlesticks of one market (candlesticks: end_period_ts, price.close_dollars) or of several (markets:
  market_ticker, candlesticks), and trades (trades: ticker, created_time, yes_price_dollars).

Those of Metaculus stand in the file of its questions (`markets`).
"""

from pathlib import Path

import pandas as pd

from helpers.events.moments import number_days
from helpers.formats.market_fields import list_rows, load
from helpers.store import parse_json

CENTS = 100


def read_prices(path, events):
    """Return the prices of questions (`markets.read_markets`) from a file of Polymarket, Manifold or Kalshi.

    Columns question_id, day, price (of the first option). A candle without a trade, and a bet on another answer than
    the first, have no price and are left out, as are prices of other questions. Raises ValueError that names file,
    place and field, or says that the file's prices, which name no question, are of one, and the events are more.
    """
    path = Path(path)
    rows = pd.DataFrame(list_prices(path, load(path)), columns=["question_id", "option_id", "moment", "price"])
    is_named = rows["question_id"].notna()
    if not is_named.all() and len(events) != 1:
        raise ValueError(f"{path.name} has prices of one question, but there are {len(events)} questions")
    if len(rows) and is_named.all() and not rows["question_id"].isin(events["event_id"]).any():
        raise ValueError(f"{path.name} has prices of {rows['question_id'].iloc[0]}, and of none of the questions")
    parts = []
    for event in events.to_dict("records"):
        option_id = (parse_json(event.get("metadata")) or {}).get("option_id", "")
        own = rows[(rows["question_id"] == event["event_id"]) | ~is_named]
        own = own[(own["option_id"] == option_id) & own["price"].notna()]
        parts.append(tabulate(event["event_id"], own[["moment", "price"]], path.name))
    return pd.concat(parts, ignore_index=True)


def list_prices(path, given):
    """Return what a file holds as (question_id or None, option_id, moment, price or None)."""
    if isinstance(given, list):
        return [read_bet(one) for one in list_rows(path, {"bets": given}, "bets")]
    given = given if isinstance(given, dict) else {}
    if "history" in given:
        return [(None, "", one.moment("t", "s"), one.number("p")) for one in list_rows(path, given, "history")]
    if "candlesticks" in given:
        return [(None, "", *read_candle(one)) for one in list_rows(path, given, "candlesticks")]
    if "trades" in given:
        return [
            (f"kalshi-{one.text('ticker')}", "", one.moment("created_time"), read_dollars(one, "yes_price"))
            for one in list_rows(path, given, "trades")
        ]
    if "markets" in given:
        return [
            (f"kalshi-{market.text('market_ticker')}", "", *read_candle(one))
            for market in list_rows(path, given, "markets")
            for one in list_rows(market, {"candlesticks": []} | market.given, "candlesticks")
        ]
    raise ValueError(f"{path.name}: there is no history, no candlesticks, no trades and no list of bets")


def read_bet(bet):
    """Return a bet of Manifold as `list_prices` has it."""
    market = bet.text("contractId", "")
    name = f"manifold-{market}" if market else None
    return name, bet.text("answerId", ""), bet.moment("createdTime", "ms"), bet.number("probAfter")


def tabulate(question_id, rows, name):
    """Return (day, price) pairs as price rows, ordered. Raises ValueError for a price that is no probability."""
    table = pd.DataFrame(rows, columns=["moment", "price"]).sort_values("moment", kind="stable", ignore_index=True)
    wrong = table[~table["price"].between(0, 1)]
    if len(wrong):
        raise ValueError(f"{name}: a price of {wrong['price'].iloc[0]:g} is none between 0 and 1")
    day = number_days(table["moment"]).astype(float)
    return pd.DataFrame({"question_id": question_id, "day": day, "price": table["price"].astype(float)})


def read_candle(candle):
    """Return (moment, last price) of a Kalshi candle, None where nobody traded."""
    return candle.moment("end_period_ts", "s"), read_dollars(candle.inner("price"), "close")


def read_dollars(given, field):
    """Return a price of Kalshi in dollars, None for none (older files count in cents).

    >>> from helpers.formats.market_fields import Fields
    >>> [read_dollars(Fields("", one), "close") for one in ({"close_dollars": "0.25"}, {"close": 30}, {"close": None})]
    [0.25, 0.3, None]
    """
    if given.given.get(f"{field}_dollars") is not None or field not in given.given:
        return given.number(f"{field}_dollars", None)
    cents = given.number(field, None)
    return None if cents is None else cents / CENTS
