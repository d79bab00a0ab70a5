"""Questions of four prediction markets, from JSON as their public APIs give it, as events, answers and price rows.

- Polymarket: questions of the Gamma API (/markets: a list, or one; /events with their markets).
- Manifold: /v0/markets or /v0/market (BINARY, or MULTIPLE_CHOICE of which one answer is right).
- Metaculus: /api/posts (results, or one); its community's forecasts are in the same file.
- Kalshi: /markets (markets, or market) or /events with nested markets.

Read are questions of yes and no, and those of two or more named outcomes; every other one is left out and named with
the reason, as is one that lacks a field or whose field holds something else. The start day is left to who asks: as_of
is the opening. Prices are of the first option (Yes); `market_prices` reads those that stand in files of their own.
"""

import json
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import AfterValidator, BeforeValidator

from helpers.calendar import stamp_moment
from helpers.events.moments import number_days
from helpers.faults import find_faults, name_field, open_type
from helpers.formats.futurex import name_letters
from helpers.formats.lines import parse_text, read_text
from helpers.store import dump_json
from helpers.tables import Finite, Number, Share, Truth, allow, check_table

ENDS = {"yes": "Yes", "no": "No"}
SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
YEARS = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie beyond."""


class Unread(ValueError):
    """Why a question cannot become an event."""


# --- fields ----------------------------------------------------------------------------------------------------------


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
Centers = allow(list[Share | None], "a list of numbers from 0 to 1")
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


# --- files -----------------------------------------------------------------------------------------------------------


def read_markets(path):
    """Return (events, answers, prices, left out) of a file of questions.

    `prices` has question_id, day (days since 1970 with their fraction) and price; only Metaculus has them in this file.
    Left out is a table of id and reason, of questions and of single prices. Raises ValueError, naming the file, for
    one that holds no question of the four markets, or one twice.
    """
    path, events, answers, prices, out = Path(path), [], [], [], []
    for at, given in enumerate(unwrap(path, parse_text(read_text(path), path.name))):
        venue, name = name_venue(path, at, given), str(given.get("id") or given.get("ticker") or at + 1)
        try:
            event, answer, *more = READERS[venue](given)
        except Unread as reason:
            out.append({"id": name, "reason": str(reason)})
            continue
        events.append(event)
        answers += [answer] if answer else []
        if more:
            prices += [(event["event_id"], moment, price) for moment, price in more[0]]
            out += [{"id": name, "reason": more[1]}] if more[1] else []
    out, names = pd.DataFrame(out, columns=["id", "reason"]), [event["event_id"] for event in events]
    if len(set(names)) < len(names):
        raise ValueError(f"{path.name}: {pd.Series(names)[pd.Series(names).duplicated()].iloc[0]} is there twice")
    tables = [pd.DataFrame(rows) for rows in (events, answers)]
    tables = [
        check_table(name, table) if len(table) else table
        for name, table in zip(("events", "answers"), tables, strict=True)
    ]
    return *tables, tabulate(prices, names), out


def unwrap(path, given):
    """Return the questions of a file as a list of objects: a list, one of them, or what an API puts around them."""
    for field, kind in (("results", list), ("events", list), ("event", dict), ("market", dict)):
        is_around = isinstance(given, dict) and isinstance(given.get(field), kind)
        given = given[field] if is_around and not {"conditionId", "markets"} & set(given) else given
    rows = [given] if isinstance(given, dict) else given
    if isinstance(rows, list):
        rows = [one for row in rows for one in list_inner(row)]
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise ValueError(f"{path.name}: there is no question, nor a list of questions")
    return rows


def list_inner(row):
    """Return the questions inside an event of several, each with its event; of any other row that row alone."""
    if not isinstance(row, dict) or not isinstance(row.get("markets"), list):
        return [row]
    about = {"events": [row]} if "id" in row else {}
    return [about | one if isinstance(one, dict) else one for one in row["markets"]]


def name_venue(path, at, given):
    """Return the market whose question an object is. Raises ValueError when it has no market's fields."""
    marks = {"conditionId": "polymarket", "outcomeType": "manifold", "ticker": "kalshi"}
    if found := [venue for field, venue in marks.items() if field in given]:
        return found[0]
    if isinstance(given.get("question"), dict) or {"group_of_questions", "conditional", "notebook"} & set(given):
        return "metaculus"
    raise ValueError(f"{path.name}, question {at + 1}: none of the fields {', '.join(marks)}, question; whose is it?")


def tabulate(rows, names):
    """Return (question_id, moment, price) as price rows, by question in the order of `names`, then by moment."""
    table = pd.DataFrame(rows, columns=["question_id", "moment", "price"])
    places = table["question_id"].map({name: at for at, name in enumerate(names)})
    table = table.assign(place=places).sort_values(["place", "moment"], kind="stable", ignore_index=True)
    day = number_days(table["moment"]).astype(float) if len(table) else pd.Series(dtype=float)
    return pd.DataFrame({"question_id": table["question_id"], "day": day, "price": table["price"].astype(float)})


# --- the four markets ------------------------------------------------------------------------------------------------


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
    if len(last) != len(names):
        raise Unread(f"field outcomePrices has {len(last)} prices for {len(names)} outcomes")
    won = [price >= SURE for price in last]
    if not all(0 <= price <= 1 for price in last) or sum(won) > 1:
        raise Unread(f"its last prices are {last}, of which one winner has 1 and the others less")
    if not any(won):
        raise Unread("it was closed without a winner")
    if closed := take(given, "closedTime", Iso, None):
        end_event(event, closed, ends)
    return event, build_answer(event, names[won.index(True)])


def read_manifold(given):
    """Return (event, answer or None) of a question of Manifold."""
    kind, ends = take(given, "outcomeType", Words), take(given, "closeTime", Milliseconds)
    if kind not in ("BINARY", "MULTIPLE_CHOICE"):
        raise Unread(f"it is {kind}, and only BINARY and MULTIPLE_CHOICE are read")
    options = {"YES": "Yes", "NO": "No"}
    if kind != "BINARY":
        if given.get("shouldAnswersSumToOne") is False:
            raise Unread("each of its answers is a question of yes and no of its own")
        options = {take(one, "id", Words): take(one, "text", Words) for one in take(given, "answers", Objects)}
    span = take(given, "createdTime", Milliseconds), ends
    about = take(given, "question", Words), list(options.values()), span, take(given, "textDescription", Words, None)
    event = build_event("manifold", take(given, "id", Words), *about)
    if kind != "BINARY":
        event["metadata"] = dump_json({"question_type": "", "option_id": next(iter(options))})
    if not take(given, "isResolved", Truth):
        return event, None
    end, weights = take(given, "resolution", Words), take(given, "resolutions", Weights, {})
    won = [end] if end in options else [name for name, weight in weights.items() if weight > 0]
    if len(won) > 1:
        raise Unread(f"it was resolved to {len(won)} of its options")
    if not won or won[0] not in options:
        raise Unread(f"it was resolved as {end}")
    end_event(event, take(given, "resolutionTime", Milliseconds), ends)
    return event, build_answer(event, options[won[0]])


def read_metaculus(given):
    """Return (event, answer or None, its community's (moment, price) pairs, what is said of those left out)."""
    if not (asked := take(given, "question", dict, None)):
        raise Unread("it is a group, a conditional pair or a notebook, and only single questions are read")
    kind = take(asked, "type", Words)
    if kind not in ("binary", "multiple_choice"):
        raise Unread(f"it is {kind}, and only binary and multiple_choice are read")
    names = [*ENDS.values()] if kind == "binary" else take(asked, "options", Texts)
    span = take(asked, "open_time", Iso), take(asked, "scheduled_close_time", Iso)
    about = take(given, "title", Words), names, span, take(asked, "resolution_criteria", Words, None)
    event, answer = build_event("metaculus", str(take(given, "id", int)), *about), None
    if end := take(asked, "resolution", Words, ""):
        end = ENDS.get(end.lower(), end) if kind == "binary" else end
        if end not in names:
            raise Unread(f"it was resolved as {end}")
        end_event(event, take(asked, "actual_close_time", Iso), span[1])
        answer = build_answer(event, end)
    history = take(take(take(asked, "aggregations", dict, {}), "recency_weighted", dict, {}), "history", Objects, [])
    steps = [(one, take(one, "centers", Centers, None)) for one in history]
    steps = [(one, centers) for one, centers in steps if centers is not None]  # null: nobody forecast
    known = [(take(one, "start_time", Seconds), all_[0]) for one, all_ in steps if all_ and None not in all_]
    n_blank = len(steps) - len(known)
    return event, answer, known, f"{n_blank} of its {len(steps)} prices, which lack a number" if n_blank else None


def read_kalshi(given):
    """Return (event, answer or None) of a question of Kalshi."""
    if (kind := take(given, "market_type", Words, "binary")) != "binary":
        raise Unread(f"it is {kind}, and only binary is read")
    ticker, title, option = (
        take(given, "ticker", Words),
        take(given, "title", Words),
        take(given, "yes_sub_title", Words, ""),
    )
    title += f" ({option})" if option.lower() not in title.lower() else ""  # questions of one event share their title
    span = take(given, "open_time", Iso), take(given, "close_time", Iso)
    event = build_event("kalshi", ticker, title, [*ENDS.values()], span, take(given, "rules_primary", Words, None))
    event["cluster_id"] = f"kalshi-{take(given, 'event_ticker', Words, ticker)}"
    end = take(given, "result", Words, "")
    if not end:
        return event, None
    if end not in ENDS:
        raise Unread(f"it was resolved as {end}")
    return event, build_answer(event, ENDS[end])


READERS = {"polymarket": read_polymarket, "manifold": read_manifold, "metaculus": read_metaculus, "kalshi": read_kalshi}


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
        "metadata": dump_json({"question_type": "yes_no" if names == [*ENDS.values()] else ""}),
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
