"""Prices of prediction markets' questions, from JSON of their public APIs (the forms stand in `formats.markets`)."""

import pandas as pd

from helpers.events.moments import number_days
from helpers.formats.markets import (
    Milliseconds,
    Object,
    Objects,
    Seconds,
    Share,
    Shares,
    Unread,
    Words,
    find_forecasts,
    take,
)
from helpers.store import parse_json


def list_prices(given, name, event):
    """Return the prices of a question's first option in what `name` answers, oldest first: question_id, day, price.

    `event` is the question's row of the events table, a dict; `day` counts from 1970, with its fraction. Bets on
    another question or answer are left out. Raises ValueError that says where, and which field.
    """
    history, read = (given, read_bet) if isinstance(given, list) else find_history(given)
    if not isinstance(history, list):
        raise ValueError(f"{name}: wanted is a list of bets, or an object with a history, candlesticks or forecasts")
    rows = []
    for at, one in enumerate(history, 1):
        try:
            if not isinstance(one, dict):
                raise Unread("wanted is an object")
            rows.append(read(one))
        except Unread as reason:
            raise ValueError(f"{name}, price {at}: {reason}") from None
    table = pd.DataFrame(rows, columns=["question_id", "option_id", "moment", "price"]).dropna(subset="price")
    if isinstance(given, list):
        option = (parse_json(event["metadata"]) or {}).get("option_id", "")
        table = table[(table["question_id"] == event["event_id"]) & (table["option_id"] == option)]
    table = table.sort_values("moment", kind="stable", ignore_index=True)
    day = number_days(table["moment"]).astype(float) if len(table) else []
    return pd.DataFrame({"question_id": event["event_id"], "day": day, "price": table["price"].astype(float)})


def find_history(given):
    """Return (the list of prices in an object of one question, what reads each): Kalshi, Metaculus, Polymarket."""
    if not isinstance(given, dict):
        return None, None
    if "candlesticks" in given:
        return given["candlesticks"], read_candle
    if "nr_forecasters" in given:
        return take(find_forecasts(given), "history", Objects, []), read_forecast
    return given.get("history"), read_point


def read_bet(one):
    """Return (question_id, option, moment, price) of a bet of Manifold."""
    option, at = take(one, "answerId", Words, ""), take(one, "createdTime", Milliseconds)
    return f"manifold-{take(one, 'contractId', Words)}", option, at, take(one, "probAfter", Share)


def read_point(one):
    """Return the same of a point of Polymarket's history."""
    return "", "", take(one, "t", Seconds), take(one, "p", Share)


def read_candle(one):
    """Return the same of a candlestick of Kalshi: what was paid last, else between bid and ask; None without either."""
    price = take(take(one, "price", Object, {}), "close_dollars", Share, None)
    if price is None:
        ends = [take(take(one, side, Object, {}), "close_dollars", Share, None) for side in ("yes_bid", "yes_ask")]
        price = None if None in ends else sum(ends) / 2
    return "", "", take(one, "end_period_ts", Seconds), price


def read_forecast(one):
    """Return the same of the community's forecast from a moment on."""
    return "", "", take(one, "start_time", Seconds), next(iter(take(one, "centers", Shares, [])), None)
