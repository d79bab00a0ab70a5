"""Questions and prices of prediction markets, from JSON of their public APIs, as events, answers and price rows.

- Polymarket: questions of the Gamma API (/markets: a list, or one); prices of the CLOB API (/prices-history).
- Manifold: /v0/markets or /v0/market (BINARY, or MULTIPLE_CHOICE of which one answer is right); /v0/bets.

A question that lacks a field, or is of another kind, is left out and named with the reason. The start day is left to
who asks: as_of is the opening. Prices are of the first option (Yes).
"""

import json
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import AfterValidator, BeforeValidator

from helpers.calendar import stamp_moment
from helpers.events.moments import number_days
from helpers.faults import find_faults, name_field, open_type, parse_text, read_text
from helpers.formats.futurex import name_letters
from helpers.store import dump_json, parse_json
from helpers.tables import Finite, Number, Share, Truth, allow, check_table

SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
YEARS = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie beyond."""


class Unread(ValueError):
    """Why a question cannot become an event."""


def moment_in(unit=None):
    """Return the type of a moment (UTC): ISO text, or with `unit` a number of seconds (s) or milliseconds (ms)."""

    def read(value):
        if unit is None and not value[:4].isdigit():  # not the words now and today, which read the clock
            raise ValueError
        at = pd.Timestamp(value if unit is None else float(value), unit=unit)
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
Weights = allow(dict[str, Number], "numbers by name")
Objects = allow(list[dict], "a list of objects")


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


def read_markets(path):
    """Return (events, answers, left out) of a file of questions; left out is a table of id and reason.

    Raises ValueError, naming the file, for one that holds no question of the two markets, or one twice.
    """
    path, events, answers, out = Path(path), [], [], []
    given = parse_text(read_text(path), path.name)
    for at, row in enumerate(given if isinstance(given, list) else [given], 1):
        marks = [mark for mark in READERS if isinstance(row, dict) and mark in row]
        if not marks:
            raise ValueError(f"{path.name}, question {at}: none of the fields {', '.join(READERS)}; whose is it?")
        try:
            event, answer = READERS[marks[0]](row)
        except Unread as reason:
            out.append({"id": str(row.get("id", at)), "reason": str(reason)})
            continue
        events.append(event)
        answers += [answer] if answer else []
    names = [event["event_id"] for event in events]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path.name}: {twice[0]} is there twice")
    tables = [(name, pd.DataFrame(rows)) for name, rows in (("events", events), ("answers", answers))]
    tables = [check_table(name, table) if len(table) else table for name, table in tables]
    return *tables, pd.DataFrame(out, columns=["id", "reason"])


def read_polymarket(given):
    """Return (event, answer or None) of a question of Polymarket."""
    names, ends = take(given, "outcomes", Texts), take(given, "endDate", Iso)
    span = take(given, "startDate", Iso), ends
    about = take(given, "question", Words), names, span, take(given, "description", Words, None)
    event = build_event("polymarket", take(given, "conditionId", Words), *about)
    if groups := take(given, "events", Objects, []):  # a question of one option each: they share their luck
        event["cluster_id"] = f"polymarket-event-{take(groups[0], 'id', str | int)}"
    if not take(given, "closed", Truth):
        return event, None
    last = take(given, "outcomePrices", Numbers)
    won = [name for name, price in zip(names, last, strict=False) if price >= SURE]
    if len(last) != len(names) or len(won) != 1:
        raise Unread(f"its last prices are {last}, of which one winner has 1 and the others less")
    end_event(event, take(given, "closedTime", Iso, ends), ends)
    return event, build_answer(event, won[0])


def read_manifold(given):
    """Return (event, answer or None) of a question of Manifold."""
    kind, ends = take(given, "outcomeType", Words), take(given, "closeTime", Milliseconds)
    options = {"YES": "Yes", "NO": "No"}
    if kind == "MULTIPLE_CHOICE" and given.get("shouldAnswersSumToOne") is not False:
        options = {take(one, "id", Words): take(one, "text", Words) for one in take(given, "answers", Objects)}
    elif kind != "BINARY":
        raise Unread(f"it is {kind}, and only BINARY and MULTIPLE_CHOICE of one right answer are read")
    span = take(given, "createdTime", Milliseconds), ends
    about = take(given, "question", Words), list(options.values()), span, take(given, "textDescription", Words, None)
    event = build_event("manifold", take(given, "id", Words), *about)
    if kind != "BINARY":
        event["metadata"] = dump_json({"question_type": "", "option_id": next(iter(options))})
    if not take(given, "isResolved", Truth):
        return event, None
    end, weights = take(given, "resolution", Words), take(given, "resolutions", Weights, {})
    won = [end] if end in options else [name for name, weight in weights.items() if weight > 0]
    if len(won) != 1 or won[0] not in options:
        raise Unread(f"it was resolved as {end}, to {len(won)} of its options")
    end_event(event, take(given, "resolutionTime", Milliseconds), ends)
    return event, build_answer(event, options[won[0]])


READERS = {"conditionId": read_polymarket, "outcomeType": read_manifold}
"""Field by which a market's question is known -> what reads it."""


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


def end_event(event, at, planned):
    """Write when an event was settled, at the latest as planned. Raises Unread where that is not after the opening."""
    event["resolves_at"] = stamp_moment(min(at, planned))
    if pd.Timestamp(event["resolves_at"]) <= pd.Timestamp(event["opens_at"]):
        raise Unread("it was settled before it opened")


def build_answer(event, name):
    """Return a row of the answers table for the option of this name."""
    letters = {text: letter for letter, text in json.loads(event["options"]).items()}
    about = {"event_id": event["event_id"], "status": "ok", "method": event["source_id"]}
    return about | {"value": dump_json(letters[name])}


def read_prices(path, events):
    """Return the prices of questions from a file of Polymarket (of one question) or Manifold: question_id, day, price.

    `day` counts from 1970, with its fraction. Prices of other questions, and bets on another answer than the first, are
    left out. Raises ValueError that names file, place and field.
    """
    path = Path(path)
    given, rows = parse_text(read_text(path), path.name), []
    history = given.get("history") if isinstance(given, dict) else given
    if not isinstance(history, list) or (isinstance(given, dict) and len(events) != 1):
        raise ValueError(f"{path.name}: wanted is a list of bets, or the history of the one question")
    for at, one in enumerate(history, 1):
        try:
            if isinstance(given, dict):
                rows.append((events["event_id"].iloc[0], "", take(one, "t", Seconds), take(one, "p", Share)))
            else:
                row = take(one, "answerId", Words, ""), take(one, "createdTime", Milliseconds)
                rows.append((f"manifold-{take(one, 'contractId', Words)}", *row, take(one, "probAfter", Share)))
        except Unread as reason:
            raise ValueError(f"{path.name}, price {at}: {reason}") from None
    table = pd.DataFrame(rows, columns=["question_id", "option_id", "moment", "price"])
    options = [(parse_json(cell) or {}).get("option_id", "") for cell in events["metadata"]]
    table = table[table["option_id"] == table["question_id"].map(dict(zip(events["event_id"], options, strict=True)))]
    table = table.sort_values(["question_id", "moment"], kind="stable", ignore_index=True)
    day = number_days(table["moment"]).astype(float) if len(table) else []
    return pd.DataFrame({"question_id": table["question_id"], "day": day, "price": table["price"].astype(float)})
