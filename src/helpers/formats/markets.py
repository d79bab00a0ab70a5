"""Questions of four prediction markets, from JSON as their public APIs give it, as events, answers and price rows.

- Polymarket: questions of the Gamma API (/markets: a list, or one; /events with their markets; outcomes and prices are
  JSON in text).
- Manifold: /v0/markets or /v0/market (outcomeType BINARY, or MULTIPLE_CHOICE with `answers` of which one is right, its
  `resolution` an answer's id; moments in milliseconds).
- Metaculus: /api/posts (results, or one; what is asked under `question`); its community's forecasts are in the same
  file (aggregations.recency_weighted.history: start_time, centers).
- Kalshi: /markets (markets, or market) or /events with nested markets.

Read are questions of yes and no, and those of two or more named outcomes; what else there is (numbers, groups, several
right answers) is left out and named with the reason, as is a question that ended without an answer, that lacks a
field, or has a moment out of bounds, and of a community's forecasts each that lacks a number. The start day is left to
who asks: as_of is the opening. Prices are of the first option (Yes), in the order of their moments; `market_prices`
reads those that stand in files of their own.
"""

import json
from pathlib import Path

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.formats.futurex import name_letters
from helpers.formats.market_fields import Fields, Unread, list_rows, load
from helpers.formats.market_prices import tabulate
from helpers.store import dump_json
from helpers.tables import check_table

ENDS = {"yes": "Yes", "no": "No"}
SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
MARKS = {"conditionId": "polymarket", "outcomeType": "manifold", "ticker": "kalshi", "question": "metaculus"}
"""A field that only one market's questions have (of Metaculus an object, of the others a text)."""


def read_markets(path):
    """Return (events, answers, prices, left out) of a file of questions.

    `prices` has question_id, day (days since 1970 with their fraction) and price; only Metaculus has them in this file.
    Left out is a table of id and reason, of questions and of single prices. Raises ValueError, naming file, question
    and field, for what is not as the API gives it.
    """
    path, rows = Path(path), {"events": [], "answers": [], "prices": [], "out": []}
    for at, given in enumerate(unwrap(path, load(path))):
        venue = name_venue(path, at, given)
        name = f"{path.name}, question {given.get('id', given.get('ticker', at + 1))}"
        about = {"id": str(given.get("id") or given.get("ticker") or at + 1)}
        try:
            event, answer, prices, *notes = READERS[venue](Fields(name, given))
        except Unread as reason:
            rows["out"].append(about | {"reason": str(reason)})
            continue
        rows["out"] += [about | {"reason": note} for note in notes]
        rows["events"].append(event)
        rows["answers"] += [answer] if answer else []
        rows["prices"] += prices
    events, answers = (pd.DataFrame(rows[part]) for part in ("events", "answers"))
    prices = pd.DataFrame(rows["prices"], columns=["question_id", "day", "price"])
    out = pd.DataFrame(rows["out"], columns=["id", "reason"])
    if events.empty:
        return events, answers, prices, out
    if events["event_id"].duplicated().any():
        raise ValueError(
            f"{path.name}: {events.loc[events['event_id'].duplicated(), 'event_id'].iloc[0]} is there twice"
        )
    return check_table("events", events), check_table("answers", answers) if len(answers) else answers, prices, out


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
    for field, venue in MARKS.items():
        if field in given and (venue != "metaculus" or isinstance(given[field], dict)):
            return venue
    if not {"group_of_questions", "conditional", "notebook"}.isdisjoint(given):
        return "metaculus"
    raise ValueError(f"{path.name}, question {at + 1}: none of the fields {', '.join(MARKS)}; whose question is it?")


# --- the four markets ------------------------------------------------------------------------------------------------


def read_polymarket(given):
    """Return (event, answer, prices) of a question of Polymarket."""
    names = given.names("outcomes")
    ends = given.moment("endDate")
    event = build_event(
        given, "polymarket", given.text("conditionId"), names, (given.moment("startDate"), ends), "description"
    )
    if given.given.get("events"):  # a question of one option each: they share their luck
        [group, *_] = list_rows(given, given.given, "events")
        event["cluster_id"] = f"polymarket-event-{group.get('id', (str, int), 'a name')}"
    if not given.flag("closed"):
        return event, None, []
    last = given.numbers("outcomePrices")
    if len(last) != len(names):
        raise ValueError(f"{given.name}: field outcomePrices has {len(last)} prices for {len(names)} outcomes")
    won = [price >= SURE for price in last]
    if not all(0 <= price <= 1 for price in last) or sum(won) > 1:
        raise Unread(f"its last prices are {last}, of which one winner has 1 and the others less")
    if not any(won):
        raise Unread("it was closed without a winner")
    if given.text("closedTime", ""):
        end_event(event, given.moment("closedTime"), ends)
    return event, build_answer(event, names[last.index(max(last))]), []


def read_manifold(given):
    """Return (event, answer, prices) of a question of Manifold."""
    kind = given.text("outcomeType")
    if kind not in ("BINARY", "MULTIPLE_CHOICE"):
        raise Unread(f"it is {kind}, and only BINARY and MULTIPLE_CHOICE are read")
    options = {end.upper(): name for end, name in ENDS.items()} if kind == "BINARY" else list_answers(given)
    ends = given.moment("closeTime", "ms")
    span = (given.moment("createdTime", "ms"), ends)
    event = build_event(given, "manifold", given.text("id"), list(options.values()), span, "textDescription")
    if kind != "BINARY":
        event["metadata"] = dump_json({"question_type": "", "option_id": next(iter(options))})
    if not given.flag("isResolved"):
        return event, None, []
    end = name_end(given, options)
    end_event(event, given.moment("resolutionTime", "ms"), ends)
    return event, build_answer(event, end), []


def list_answers(given):
    """Return the answers of a question of several as {id: words}; Unread where each is a question of its own."""
    if given.given.get("shouldAnswersSumToOne") is False:
        raise Unread("each of its answers is a question of yes and no of its own")
    given.listed("answers", dict, "a list of objects")
    return {one.text("id"): one.text("text") for one in list_rows(given, given.given, "answers")}


def name_end(given, options):
    """Return the words of the one option that a question of Manifold was resolved to (`resolutions`: weights by id)."""
    end = given.text("resolution")
    weights = given.inner("resolutions") if given.given.get("resolutions") else Fields(given.name, {})
    won = [end] if end in options else [name for name in weights.given if weights.number(name) > 0]
    if len(won) > 1:
        raise Unread(f"it was resolved to {len(won)} of its options")
    if not won or won[0] not in options:
        raise Unread(f"it was resolved as {end}")
    return options[won[0]]


def read_metaculus(given):
    """Return (event, answer, prices) of a question of Metaculus; the prices are those of its community.

    A fourth part says how many of these lack a number and are left out, where some do.
    """
    if not given.given.get("question"):
        raise Unread("it is a group, a conditional pair or a notebook, and only single questions are read")
    inner = given.inner("question")
    kind = inner.text("type")
    if kind not in ("binary", "multiple_choice"):
        raise Unread(f"it is {kind}, and only binary and multiple_choice are read")
    names = ["Yes", "No"] if kind == "binary" else inner.names("options")
    span = (inner.moment("open_time"), inner.moment("scheduled_close_time"))
    given = Fields(given.name, given.given | {"question": given.text("title")})
    event = build_event(given, "metaculus", str(given.get("id", int, "a number")), names, span, None)
    event["resolution_criteria"] = inner.text("resolution_criteria", None)
    end, answer = inner.text("resolution", ""), None
    if end:
        end = ENDS.get(end.lower(), end) if kind == "binary" else end
        if end not in names:
            raise Unread(f"it was resolved as {end}")
        end_event(event, inner.moment("actual_close_time"), span[1])
        answer = build_answer(event, end)
    steps = [one for one in list_history(inner) if one.given.get("centers") is not None]  # null: nobody forecast
    known = [one for one in steps if None not in (one.given["centers"] or [None])]
    rows = [(one.moment("start_time", "s"), one.numbers("centers")[0]) for one in known]
    n_blank = len(steps) - len(known)
    notes = [f"{n_blank} of its {len(steps)} prices, which lack a number"] if n_blank else []
    return event, answer, tabulate(event["event_id"], rows, given.name).to_dict("records"), *notes


def list_history(question):
    """Return the steps of a community's forecast as Fields, none where the file has none."""
    for field in ("aggregations", "recency_weighted"):
        if not question.given.get(field):
            return []
        question = question.inner(field)
    return list_rows(question, question.given, "history") if question.given.get("history") else []


def read_kalshi(given):
    """Return (event, answer, prices) of a question of Kalshi."""
    if given.text("market_type", "binary") != "binary":
        raise Unread(f"it is {given.text('market_type')}, and only binary is read")
    span = (given.moment("open_time"), given.moment("close_time"))
    title, option = given.text("title"), given.text("yes_sub_title", "")
    title += f" ({option})" if option.lower() not in title.lower() else ""  # questions of one event share their title
    named = Fields(given.name, given.given | {"question": title})
    event = build_event(named, "kalshi", given.text("ticker"), ["Yes", "No"], span, "rules_primary")
    event["cluster_id"] = f"kalshi-{given.text('event_ticker', given.text('ticker'))}"
    end = given.text("result", "")
    if not end:
        return event, None, []
    if end not in ENDS:
        raise Unread(f"it was resolved as {end}")
    return event, build_answer(event, ENDS[end]), []


READERS = {"polymarket": read_polymarket, "manifold": read_manifold, "metaculus": read_metaculus, "kalshi": read_kalshi}


def build_event(given, venue, market_id, names, span, rules):
    """Return a row of the events table; `span` is (opening, end), `rules` the field that says how it is settled."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise Unread("its options are fewer than two, or two of them read the same")
    if span[0] >= span[1]:
        raise Unread("it ends before it opens")
    options = dict(zip(name_letters(len(names)), names, strict=True))
    question = given.text("question")
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
        "resolution_criteria": given.text(rules, None) if rules and given.given.get(rules) else None,
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
    return {
        "event_id": event["event_id"],
        "value": dump_json(letters[name]),
        "status": "ok",
        "method": event["source_id"],
    }
