"""Questions and prices of prediction markets, from JSON of their public APIs, as events, answers and price rows.

- Polymarket: questions of the Gamma API (/markets: a list, or one); prices of the CLOB API (/prices-history).
- Manifold: /v0/markets or /v0/market (BINARY, or MULTIPLE_CHOICE of which one answer is right); /v0/bets.
- Kalshi: the markets of /trade-api/v2/markets (binary ones); /candlesticks.
- Metaculus: the posts of /api/posts/ (of one binary question); the community's forecast in them stands as the price.

A question that lacks a field, or is of another kind, is left out and named with the reason. The start day is left to
who asks: as_of is the opening. Prices are of the first option (Yes).
"""

import json
from typing import Annotated, NamedTuple

import pandas as pd
from pydantic import AfterValidator, BeforeValidator

from helpers.calendar import open_moment, stamp_moment
from helpers.events.moments import number_days
from helpers.faults import find_faults, name_field, open_type
from helpers.formats.futurex import name_letters
from helpers.store import dump_json
from helpers.tables import Finite, Number, Share, Truth, allow

SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
YEARS = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie beyond."""


class Unread(ValueError):
    """Why a question cannot become an event."""


def moment_in(unit=None):
    """Return the type of a moment (UTC): ISO text, or with `unit` a number of seconds (s) or milliseconds (ms)."""

    def read(value):
        at = open_moment(str(value)) if unit is None else pd.Timestamp(float(value), unit=unit)
        if not YEARS[0] <= at.year <= YEARS[1]:
            raise ValueError
        return at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")

    form = {None: "ISO text", "s": "seconds", "ms": "milliseconds"}[unit]
    return allow(Annotated[object, AfterValidator(read)], f"a moment of {YEARS[0]} to {YEARS[1]} ({form})")


def join_spaces(text):
    """Return a text, its spaces single. Raises ValueError for one without words."""
    if not (words := text.split()):
        raise ValueError
    return " ".join(words)


def open_list(value):
    """Return a list, also one that is written as JSON in a text (Polymarket)."""
    return json.loads(value) if isinstance(value, str) else value


Words = allow(Annotated[str, AfterValidator(join_spaces)], "a text")
Iso, Seconds, Milliseconds = moment_in(), moment_in("s"), moment_in("ms")
Texts = allow(Annotated[list[Words], BeforeValidator(open_list)], "a list of texts")
Numbers = allow(Annotated[list[Finite], BeforeValidator(open_list)], "a list of numbers")
Shares = allow(Annotated[list[Share], BeforeValidator(open_list)], "a list of numbers from 0 to 1")
Weights = allow(dict[str, Number], "numbers by name")
Object, Objects = allow(dict, "an object"), allow(list[dict], "a list of objects")
OUTCOMES = {"yes": "Yes", "no": "No"}
"""How Kalshi and Metaculus write the outcome of a yes/no question."""


def take(given, field, kind, default=...):
    """Return a field of an object of JSON, held to a type; without `default` it must be there and filled.

    Raises Unread that names the field, what it holds and what is wanted.
    """
    value = given.get(field)
    if value is None or value == "":
        if default is ...:
            raise Unread(f"field {field} is missing")
        return default
    for place, words in find_faults(value, kind):
        raise Unread(f"field {field}{name_field(place)}: {words}")
    return open_type(kind).validate_python(value)


class Market(NamedTuple):
    """A question of a market: event and answer (rows of the tables, as dicts; None while it is open), price, address.

    The price is of the first option, None where the market shows none.
    """

    event: dict
    answer: dict | None
    price: float | None
    url: str


def list_markets(given, name):
    """Return ([Market], [(id, why it was left out)]) of a list of questions that came from `name`.

    Raises ValueError for what is no list, or holds a question of no known market.
    """
    if not isinstance(given, list):
        raise ValueError(f"{name}: wanted is a list of questions, not {type(given).__name__}")
    found, out = [], []
    for at, row in enumerate(given, 1):
        marks = [mark for mark in READERS if isinstance(row, dict) and mark in row]
        if not marks:
            raise ValueError(f"{name}, question {at}: none of the fields {', '.join(READERS)}; whose is it?")
        try:
            found.append(READERS[marks[0]](row))
        except Unread as reason:
            out.append((str(row.get("id") or row.get("ticker") or at), str(reason)))
    return found, out


def read_polymarket(given):
    """Return the `Market` of a question of Polymarket."""
    names, ends = take(given, "outcomes", Texts), take(given, "endDate", Iso)
    span = take(given, "startDate", Iso), ends
    about = take(given, "question", Words), names, span, take(given, "description", Words, None)
    event, answer = build_event("polymarket", take(given, "conditionId", Words), *about), None
    if groups := take(given, "events", Objects, []):  # a question of one option each: they share their luck
        event["cluster_id"] = f"polymarket-event-{take(groups[0], 'id', str | int)}"
    if take(given, "closed", Truth):
        last = take(given, "outcomePrices", Numbers)
        won = [name for name, price in zip(names, last, strict=False) if price >= SURE]
        if len(last) != len(names) or len(won) != 1:
            raise Unread(f"its last prices are {last}, of which one winner has 1 and the others less")
        answer = settle(event, won[0], take(given, "closedTime", Iso, ends), ends)
    price = next(iter(take(given, "outcomePrices", Shares, [])), None)
    return Market(event, answer, price, f"https://polymarket.com/market/{take(given, 'slug', Words, '')}")


def read_manifold(given):
    """Return the `Market` of a question of Manifold."""
    kind, ends = take(given, "outcomeType", Words), take(given, "closeTime", Milliseconds)
    options = {"YES": "Yes", "NO": "No"}
    if kind == "MULTIPLE_CHOICE" and given.get("shouldAnswersSumToOne") is not False:
        options = {take(one, "id", Words): take(one, "text", Words) for one in take(given, "answers", Objects)}
    elif kind != "BINARY":
        raise Unread(f"it is {kind}, and only BINARY and MULTIPLE_CHOICE of one right answer are read")
    span = take(given, "createdTime", Milliseconds), ends
    about = take(given, "question", Words), list(options.values()), span, take(given, "textDescription", Words, None)
    event, answer = build_event("manifold", take(given, "id", Words), *about), None
    if kind != "BINARY":
        event["metadata"] = dump_json({"question_type": "", "option_id": next(iter(options))})
    if take(given, "isResolved", Truth):
        end, weights = take(given, "resolution", Words), take(given, "resolutions", Weights, {})
        won = [end] if end in options else [name for name, weight in weights.items() if weight > 0]
        if len(won) != 1 or won[0] not in options:
            raise Unread(f"it was resolved as {end}, to {len(won)} of its options")
        answer = settle(event, options[won[0]], take(given, "resolutionTime", Milliseconds), ends)
    return Market(event, answer, take(given, "probability", Share, None), take(given, "url", Words, ""))


def read_kalshi(given):
    """Return the `Market` of Kalshi; those of one event share their luck. Its price lies between bid and ask, else it
    is what was paid last.
    """
    if (kind := take(given, "market_type", Words)) != "binary":
        raise Unread(f"it is {kind}, and only binary ones are read")
    question, side = take(given, "title", Words), take(given, "yes_sub_title", Words, "")
    question += f" ({side})" * (side.casefold() not in question.casefold())
    rules = " ".join(take(given, name, Words, "") for name in ("rules_primary", "rules_secondary")).strip()
    span, group = (take(given, "open_time", Iso), take(given, "close_time", Iso)), take(given, "event_ticker", Words)
    event = build_event("kalshi", take(given, "ticker", Words), question, list(OUTCOMES.values()), span, rules or None)
    event["cluster_id"] = f"kalshi-{group}"
    answer = settle_outcome(
        event, take(given, "result", Words, ""), take(given, "settlement_ts", Iso, span[1]), span[1]
    )
    bid, ask, last = (take(given, f"{name}_dollars", Share, 0) for name in ("yes_bid", "yes_ask", "last_price"))
    price = (bid + ask) / 2 if bid > 0 and 0 < ask < 1 else last or None
    return Market(event, answer, price, f"https://kalshi.com/markets/{group.partition('-')[0].lower()}")


def read_metaculus(given):
    """Return the `Market` of a post of Metaculus, its price the community's forecast; None while that is hidden."""
    about = take(given, "question", Object, {})
    if (kind := take(about, "type", Words, "a group, or a note")) != "binary":
        raise Unread(f"it is {kind}, and only posts of one binary question are read")
    rules = " ".join(take(about, name, Words, "") for name in ("resolution_criteria", "fine_print")).strip()
    span, key = (take(about, "open_time", Iso), take(about, "scheduled_close_time", Iso)), take(given, "id", int)
    event = build_event("metaculus", key, take(given, "title", Words), list(OUTCOMES.values()), span, rules or None)
    at = take(about, "actual_resolve_time", Iso, span[1])
    answer = settle_outcome(event, take(about, "resolution", Words, ""), at, span[1])
    centers = take(take(find_forecasts(given), "latest", Object, {}), "centers", Shares, [])
    return Market(event, answer, next(iter(centers), None), f"https://www.metaculus.com/questions/{key}")


READERS = {
    "conditionId": read_polymarket,
    "outcomeType": read_manifold,
    "event_ticker": read_kalshi,
    "nr_forecasters": read_metaculus,
}
"""Field by which a market's question is known -> what reads it."""


def find_forecasts(given):
    """Return the community's forecasts of a post of Metaculus: an object of history and latest."""
    made = take(take(given, "question", Object), "aggregations", Object, {})
    return take(made, "recency_weighted", Object, {})


def build_event(venue, market_id, question, names, span, rules):
    """Return a row of the events table; `span` is (opening, end), `rules` how it is settled."""
    letters = name_letters(len(names))
    if not len(set(names)) == len(names) == len(letters) >= 2:
        raise Unread("its options are fewer than two, too many, or two of them read the same")
    if span[0] >= span[1]:
        raise Unread("it ends before it opens")
    options = dict(zip(letters, names, strict=True))
    return {
        "event_id": f"{venue}-{market_id}",
        "paper": "worldreasoner",
        "cluster_id": f"{venue}-{market_id}",
        "source_id": venue,
        "prompt": "\n".join([question, *(f"{letter}. {name}" for letter, name in options.items())]),
        "kind": "single",
        "options": json.dumps(options, ensure_ascii=False),
        "opens_at": stamp_moment(span[0]),
        "as_of": stamp_moment(span[0]),
        "resolves_at": stamp_moment(span[1]),
        "resolution_criteria": rules,
        "provenance": venue,
        "is_synthetic": False,
        "metadata": dump_json({"question_type": "yes_no" if names == ["Yes", "No"] else ""}),
    }


def settle_outcome(event, outcome, at, planned):
    """Return the answer (`settle`) of a yes/no question by its outcome's word, None where there is none yet."""
    if outcome and outcome not in OUTCOMES:
        raise Unread(f"it was resolved as {outcome}")
    return settle(event, OUTCOMES[outcome], at, planned) if outcome else None


def settle(event, name, at, planned):
    """Return a row of the answers table for the option of this name, and write in the event when it was settled.

    That is at the latest as planned. Raises Unread where it is not after the opening.
    """
    event["resolves_at"] = stamp_moment(min(at, planned))
    if pd.Timestamp(event["resolves_at"]) <= pd.Timestamp(event["opens_at"]):
        raise Unread("it was settled before it opened")
    letters = {text: letter for letter, text in json.loads(event["options"]).items()}
    about = {"event_id": event["event_id"], "status": "ok", "method": event["source_id"]}
    return about | {"value": dump_json(letters[name])}


# --- prices ----------------------------------------------------------------------------------------------------------


def list_prices(given, name, event):
    """Return the prices of a question's first option in what `name` answers, oldest first: question_id, day, price.

    `event` is the question's row of the events table, a dict; `day` counts from 1970, with its fraction. Bets on
    another question or answer are left out. Raises ValueError that says where, and which field.
    """
    history, read = (given, read_bet) if isinstance(given, list) else find_history(given)
    if not isinstance(history, list):
        raise ValueError(f"{name}: wanted is a list of bets, or an object with a history, candlesticks or forecasts")
    own, rows = (event["event_id"], json.loads(event["metadata"] or "{}").get("option_id", "")), []
    for at, one in enumerate(history, 1):
        try:
            if not isinstance(one, dict):
                raise Unread("wanted is an object")
            rows.append(read(one))
        except Unread as reason:
            raise ValueError(f"{name}, price {at}: {reason}") from None
    rows = sorted((row for row in rows if row[1] is not None and row[2] in (own, None)), key=lambda row: row[0])
    made = [(event["event_id"], number_days(moment), price) for moment, price, _ in rows]
    return pd.DataFrame(made, columns=["question_id", "day", "price"]).astype({"day": float, "price": float})


def find_history(given):
    """Return (the list of prices in an object of one question, what reads each): Kalshi, Metaculus, Polymarket."""
    if not isinstance(given, dict):
        return None, None
    if "candlesticks" in given:
        return given["candlesticks"], read_candle
    if "nr_forecasters" in given:
        return take(find_forecasts(given), "history", Objects, []), read_forecast
    return given.get("history"), lambda one: (take(one, "t", Seconds), take(one, "p", Share), None)


def read_bet(one):
    """Return (moment, price, (question, option)) of a bet of Manifold."""
    moment, price = take(one, "createdTime", Milliseconds), take(one, "probAfter", Share)
    return moment, price, (f"manifold-{take(one, 'contractId', Words)}", take(one, "answerId", Words, ""))


def read_candle(one):
    """Return the same of a candlestick of Kalshi: what was paid last, else between bid and ask; None without either."""
    price, *ends = (
        take(take(one, part, Object, {}), "close_dollars", Share, None) for part in ("price", "yes_bid", "yes_ask")
    )
    if price is None and None not in ends:
        price = sum(ends) / 2
    return take(one, "end_period_ts", Seconds), price, None


def read_forecast(one):
    """Return the same of the community's forecast from a moment on."""
    return take(one, "start_time", Seconds), next(iter(take(one, "centers", Shares, [])), None), None
