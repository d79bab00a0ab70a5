"""Questions of prediction markets, from JSON of their public APIs, as events and answers.

- Polymarket: questions of the Gamma API (/markets: a list, or one).
- Manifold: /v0/search-markets or /v0/market (BINARY ones).
- Kalshi: the markets of /trade-api/v2/markets (binary ones).

A question that lacks a field, or is of another kind, is left out and named with the reason. The
start day is left to who asks: as_of is the opening. Prices are of the first option (Yes).
"""

import json
from typing import Annotated, NamedTuple

import pandas as pd
from pydantic import AfterValidator, Json

from daybefore.formats.futurex_questions import name_letters, word_prompt
from helpers.clock import open_moment, stamp_moment
from helpers.files import dump_json
from helpers.input_faults import find_faults, name_field, open_type
from helpers.tables import Finite, Share, Truth, allow

SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
YEARS = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie
beyond."""
FIELDS = {
    "manifold": "createdTime closeTime textDescription resolution resolutionTime",
    "kalshi": "open_time close_time rules_primary rules_secondary result settlement_ts",
}
"""Market of yes/no questions -> its fields of opening, planned end, rules (one or more), outcome,
and when that was known."""


class Unread(ValueError):
    """Why a question cannot become an event."""


class Market(NamedTuple):
    """A question of a market: event and answer (rows of the tables, as dicts; None while it is
    open), price, address.

    The price is of the first option, None where the market shows none.
    """

    event: dict
    answer: dict | None
    price: float | None
    url: str


# --- fields -----------------------------------------------------------------------------------------


def read_moment(value):
    """Return a moment (UTC) of ISO text or a number of milliseconds. Raises ValueError for one
    beyond YEARS."""
    at = open_moment(value) if isinstance(value, str) else pd.Timestamp(float(value), unit="ms")
    if not YEARS[0] <= at.year <= YEARS[1]:
        raise ValueError
    return at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")


def list_of(kind, wanted):
    """Return the type of a list, also one that is written as JSON in a text (Polymarket)."""
    return allow(list[kind] | Json[list[kind]], f"a list of {wanted}")


Words = allow(
    Annotated[str, AfterValidator(lambda text: " ".join(text.split()))], "a text", test=bool
)
Moment = allow(
    Annotated[object, AfterValidator(read_moment)], f"a moment of {YEARS[0]} to {YEARS[1]}"
)
Texts, Numbers, Shares = (
    list_of(Words, "texts"),
    list_of(Finite, "numbers"),
    list_of(Share, "numbers from 0 to 1"),
)
Objects = allow(list[dict], "a list of objects")


def take(given, field, kind, default=...):
    """Return a field of an object of JSON, held to a type; without `default` it must be there and
    filled.

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


def take_kind(given, field, wanted):
    """Hold a question's kind to the one that is read. Raises Unread for another."""
    if (kind := take(given, field, Words)) != wanted:
        raise Unread(f"it is {kind}, and only questions that are {wanted} are read")


# --- questions --------------------------------------------------------------------------------------


def list_markets(given, venue):
    """Return ([Market], [(id, why it was left out)]) of a market's list of questions. Raises
    ValueError for no list."""
    if not isinstance(given, list):
        raise ValueError(f"{venue}: wanted is a list of questions, not {type(given).__name__}")
    found, out = [], []
    for at, row in enumerate(given, 1):
        row = row if isinstance(row, dict) else {}
        try:
            found.append(READERS[venue](row))
        except Unread as reason:
            out.append((str(row.get("id") or row.get("ticker") or at), str(reason)))
    return found, out


def read_polymarket(given):
    """Return the `Market` of a question of Polymarket; questions of one event share their luck."""
    names, span = (
        take(given, "outcomes", Texts),
        (take(given, "startDate", Moment), take(given, "endDate", Moment)),
    )
    about = {"rules": take(given, "description", Words, None)}
    if take(given, "closed", Truth):
        last = take(given, "outcomePrices", Numbers)
        won = [name for name, price in zip(names, last, strict=False) if price >= SURE]
        if len(last) != len(names) or len(won) != 1:
            raise Unread(
                f"its last prices are {last}, of which one winner has 1 and the others less"
            )
        about |= {"won": won[0], "ended": take(given, "closedTime", Moment, span[1])}
    if groups := take(given, "events", Objects, []):
        about["cluster"] = f"event-{take(groups[0], 'id', str | int)}"
    about["price"] = next(iter(take(given, "outcomePrices", Shares, [])), None)
    about["url"] = f"https://polymarket.com/market/{take(given, 'slug', Words, '')}"
    key, question = (take(given, field, Words) for field in ("conditionId", "question"))
    return build_market("polymarket", key, question, names, span, **about)


def read_manifold(given):
    """Return the `Market` of a question of Manifold."""
    take_kind(given, "outcomeType", "BINARY")
    about = {"price": take(given, "probability", Share, None), "url": take(given, "url", Words, "")}
    return read_yes_no(
        "manifold", given, take(given, "id", Words), take(given, "question", Words), **about
    )


def read_kalshi(given):
    """Return the `Market` of Kalshi, its price between bid and ask, else the last; those of one
    event share luck."""
    take_kind(given, "market_type", "binary")
    question, side = take(given, "title", Words), take(given, "yes_sub_title", Words, "")
    question += f" ({side})" * (side.casefold() not in question.casefold())
    group = take(given, "event_ticker", Words)
    bid, ask, last = (
        take(given, f"{name}_dollars", Share, 0) for name in ("yes_bid", "yes_ask", "last_price")
    )
    price = (bid + ask) / 2 if bid > 0 and 0 < ask < 1 else last or None
    url = f"https://kalshi.com/markets/{group.partition('-')[0].lower()}"
    return read_yes_no(
        "kalshi", given, take(given, "ticker", Words), question, cluster=group, price=price, url=url
    )


READERS = {
    "polymarket": read_polymarket,
    "manifold": read_manifold,
    "kalshi": read_kalshi,
}
"""Market -> what reads its questions."""


def read_yes_no(venue, given, key, question, **about):
    """Return the `Market` of a yes/no question by its market's `FIELDS`; `about` is for
    `build_market`."""
    opens, closes, *rules, outcome, ended = FIELDS[venue].split()
    span = take(given, opens, Moment), take(given, closes, Moment)
    about["rules"] = " ".join(take(given, name, Words, "") for name in rules).strip() or None
    if said := take(given, outcome, Words, ""):
        if said.lower() not in ("yes", "no"):
            raise Unread(f"it was resolved as {said}")
        about |= {"won": said.capitalize(), "ended": take(given, ended, Moment, span[1])}
    return build_market(venue, key, question, ["Yes", "No"], span, **about)


def build_market(
    venue, key, question, names, span, *, rules, price, url, cluster=None, won=None, ended=None
):
    """Return the `Market` of a question: `span` is (opening, planned end), `rules` how it is
    settled.

    Of a settled one `won` is the option's name and `ended` the moment, at the latest as planned.
    Raises Unread.
    """
    letters, closes = name_letters(len(names)), min(ended or span[1], span[1])
    if not len(set(names)) == len(names) == len(letters) >= 2:
        raise Unread("its options are fewer than two, too many, or two of them read the same")
    if span[0] >= span[1]:
        raise Unread("it ends before it opens")
    if span[0] >= closes:
        raise Unread("it was settled before it opened")
    options = dict(zip(letters, names, strict=True))
    event = {
        "event_id": f"{venue}-{key}",
        "paper": "worldreasoner",
        "cluster_id": f"{venue}-{cluster or key}",
        "source_id": venue,
        "prompt": word_prompt(question, options),
        "kind": "single",
        "options": json.dumps(options, ensure_ascii=False),
        "opens_at": stamp_moment(span[0]),
        "as_of": stamp_moment(span[0]),
        "resolves_at": stamp_moment(closes),
        "resolution_criteria": rules,
        "provenance": venue,
        "is_synthetic": False,
        "metadata": dump_json({"question_type": "yes_no" if names == ["Yes", "No"] else ""}),
    }
    value = dump_json(letters[names.index(won)]) if won else None
    answer = {"event_id": event["event_id"], "status": "ok", "method": venue, "value": value}
    return Market(event, answer if won else None, price, url)
