"""Prices of prediction markets' questions, from JSON as their public APIs give it: question_id, day, price.

- Polymarket: the CLOB API's /prices-history of the first outcome's token (history: t, p).
- Manifold: /v0/bets (createdTime, probAfter; contractId and, of a question of several answers, answerId).
- Kalshi: candlesticks of one market (candlesticks: end_period_ts, price.close_dollars) or of several (markets:
  market_ticker, candlesticks), and trades (trades: ticker, created_time, yes_price_dollars).

Those of Metaculus stand in the file of its questions (`markets`).
"""

from pathlib import Path

import pandas as pd

from helpers.formats.lines import parse_text, read_text
from helpers.formats.markets import Iso, Milliseconds, Objects, Seconds, Unread, Words, tabulate, take
from helpers.store import parse_json
from helpers.tables import Number, Share


def read_prices(path, events):
    """Return the prices of questions (`markets.read_markets`) from a file of Polymarket, Manifold or Kalshi.

    Columns question_id, day, price (of the first option). A candle without a trade, and a bet on another answer than
    the first, have no price and are left out, as are prices of other questions. Raises ValueError that names file,
    place and field, or says that the file's prices, which name no question, are of one, and the events are more.
    """
    path = Path(path)
    rows = pd.DataFrame(list_prices(path), columns=["question_id", "option_id", "moment", "price"])
    names, is_named = events["event_id"], rows["question_id"].notna()
    if not is_named.all() and len(events) != 1:
        raise ValueError(f"{path.name} has prices of one question, but there are {len(events)} questions")
    if len(rows) and is_named.all() and not rows["question_id"].isin(names).any():
        raise ValueError(f"{path.name} has prices of {rows['question_id'].iloc[0]}, and of none of the questions")
    rows["question_id"] = rows["question_id"].where(is_named, names.iloc[0] if len(names) else None)
    about = events.get("metadata", pd.Series(None, events.index, dtype=object))
    first = dict(zip(names, [(parse_json(cell) or {}).get("option_id", "") for cell in about], strict=True))
    is_first = rows["option_id"] == rows["question_id"].map(first)
    return tabulate(rows.loc[is_first & rows["price"].notna(), ["question_id", "moment", "price"]], list(names))


def list_prices(path):
    """Return what a file holds as (question_id or None, option_id, moment, price or None)."""
    given = parse_text(read_text(path), path.name)
    given = {"bets": given} if isinstance(given, list) else given if isinstance(given, dict) else {}
    for field, read in READERS.items():
        if field in given:
            rows = []
            for at, one in enumerate(take(given, field, Objects, []), 1):
                try:
                    rows += read(one)
                except Unread as reason:
                    raise ValueError(f"{path.name}, {field} {at}: {reason}") from None
            return rows
    raise ValueError(f"{path.name}: there is no history, no candlesticks, no trades and no list of bets")


def read_bet(bet):
    """Return a bet of Manifold as a list of one row of `list_prices`."""
    market, at = take(bet, "contractId", Words, None), take(bet, "createdTime", Milliseconds)
    return [(market and f"manifold-{market}", take(bet, "answerId", Words, ""), at, take(bet, "probAfter", Share))]


def read_candle(candle, name=None):
    """Return a candle of Kalshi as a list of one row: its last price, None where nobody traded."""
    return [(name, "", take(candle, "end_period_ts", Seconds), read_dollars(take(candle, "price", dict), "close"))]


def read_candles(market):
    """Return the candles of one market of several of Kalshi as rows."""
    name = f"kalshi-{take(market, 'market_ticker', Words)}"
    return [row for one in take(market, "candlesticks", Objects, []) for row in read_candle(one, name)]


def read_trade(trade):
    """Return a trade of Kalshi as a list of one row."""
    at = take(trade, "created_time", Iso)
    return [(f"kalshi-{take(trade, 'ticker', Words)}", "", at, read_dollars(trade, "yes_price"))]


def read_dollars(given, field):
    """Return a price of Kalshi in dollars, None for none (older files count in cents).

    >>> [read_dollars(one, "close") for one in ({"close_dollars": "0.25"}, {"close": 30}, {"close": None})]
    [0.25, 0.3, None]
    """
    dollars, cents = take(given, f"{field}_dollars", Share, None), take(given, field, Number, None)
    return dollars if dollars is not None or cents is None else take({field: cents / 100}, field, Share)


READERS = {
    "history": lambda one: [(None, "", take(one, "t", Seconds), take(one, "p", Share))],  # Polymarket
    "bets": read_bet,
    "candlesticks": read_candle,
    "trades": read_trade,
    "markets": read_candles,
}
"""Field of a file -> what reads one of its rows; Manifold's bets are a list without a field."""
