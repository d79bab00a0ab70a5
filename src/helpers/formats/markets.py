"""Questions of four prediction markets, from JSON as their public APIs give it, as events, answers and price rows.

- Polymarket: questions of the Gamma API (/markets: a list, or one; /events with their markets; outcomes and prices are
  JSON in text), prices of the CLOB API (/prices-history of the first outcome's token: history of t, p).
- Manifold: /v0/markets or /v0/market (outcomeType BINARY; moments in milliseconds), /v0/bets (createdTime, probAfter).
- Metaculus: /api/posts (results, or one; what is asked under `question`); its community's forecasts are in the same
  file (aggregations.recency_weighted.history: start_time, centers).
- Kalshi: /markets (markets, or market) or /events with nested markets, candlesticks (end_period_ts,
  price.close_dollars).

Read are questions of yes and no, and those of two or more named outcomes; what else there is (numbers, groups, several
answers) is left out and named with the reason, as is a question that ended without an answer, that lacks a field, or
has a moment out of bounds. The start day is left to
who asks: as_of is the opening. Prices are of the first option (Yes), in the order of their moments.
"""

import json
import math
from pathlib import Path

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.formats.futurex import name_letters
from helpers.questions.moments import number_days
from helpers.store import check_table, dump_json

ENDS = {"yes": "Yes", "no": "No"}
SURE = 0.999
"""Price from which on an outcome of a closed Polymarket question has won."""
CENTS = 100
MARKS = {"conditionId": "polymarket", "outcomeType": "manifold", "ticker": "kalshi", "question": "metaculus"}
"""A field that only one market's questions have (of Metaculus an object, of the others a text)."""


FIRST_YEAR, LAST_YEAR = 2000, 2100
"""Years of the moments that are read: seconds taken for milliseconds, and the other way round, lie beyond."""


class Unread(ValueError):
    """Why a question cannot become an event."""


def read_markets(path):
    """Return (events, answers, prices, left out) of a file of questions.

    `prices` has question_id, day (days since 1970 with their fraction) and price; only Metaculus has them in this file.
    Left out is a table of id and reason. Raises ValueError, naming file, question and field, for what is not as the API
    gives it.
    """
    path, rows = Path(path), {"events": [], "answers": [], "prices": [], "out": []}
    for at, given in enumerate(unwrap(path, load(path))):
        venue = name_venue(path, at, given)
        name = f"{path.name}, question {given.get('id', given.get('ticker', at + 1))}"
        try:
            event, answer, prices = READERS[venue](Fields(name, given))
        except Unread as reason:
            rows["out"].append({"id": str(given.get("id") or given.get("ticker") or at + 1), "reason": str(reason)})
            continue
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


def read_prices(path, question_id):
    """Return the prices of one question from a file of Polymarket, Manifold or Kalshi: question_id, day, price.

    A candle without a trade, and a bet on another answer than the question's, have no price and are left out. Raises
    ValueError that names file, place and field.
    """
    path, given = Path(path), load(path)
    if isinstance(given, dict) and "history" in given:
        rows = [(one.moment("t", "s"), one.number("p")) for one in list_rows(path, given, "history")]
    elif isinstance(given, dict) and "candlesticks" in given:
        rows = [(one.moment("end_period_ts", "s"), read_close(one)) for one in list_rows(path, given, "candlesticks")]
    elif isinstance(given, list):
        bets = list_rows(path, {"bets": given}, "bets")
        rows = [
            (one.moment("createdTime", "ms"), one.number("probAfter")) for one in bets if not one.text("answerId", "")
        ]
    else:
        raise ValueError(f"{path.name}: there is no history, no candlesticks and no list of bets")
    return tabulate(question_id, [(day, price) for day, price in rows if price is not None], path.name)


def tabulate(question_id, rows, name):
    """Return (day, price) pairs as price rows, ordered. Raises ValueError for a price that is no probability."""
    table = pd.DataFrame(rows, columns=["moment", "price"]).sort_values("moment", kind="stable", ignore_index=True)
    wrong = table[~table["price"].between(0, 1)]
    if len(wrong):
        raise ValueError(f"{name}: a price of {wrong['price'].iloc[0]:g} is none between 0 and 1")
    day = number_days(table["moment"]).astype(float)
    return pd.DataFrame({"question_id": question_id, "day": day, "price": table["price"].astype(float)})


# --- fields ----------------------------------------------------------------------------------------------------------


class Fields:
    """The fields of one object of JSON; what is absent or of another kind raises ValueError that names it."""

    def __init__(self, name, given):
        self.name, self.given = name, given

    def get(self, field, kind, what, default=...):
        """Return a field of a kind; without `default` it must be there and filled."""
        value = self.given.get(field)
        if value in (None, "") and default is not ...:
            return default
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool) or value == "":
            raise self.refuse(field, what)
        return value

    def refuse(self, field, what):
        """Return the error that a field is not what it should be; Unread where it is blank: its row is left out."""
        value = self.given.get(field)
        kind = Unread if value in (None, "") else ValueError
        return kind(f"{self.name}: field {field} is {json.dumps(value)[:60]}, not {what}")

    def text(self, field, default=...):
        """Return a text, its spaces single."""
        value = self.get(field, str, "a text", default)
        return value if value is None else " ".join(value.split())

    def flag(self, field):
        """Return true or false."""
        return self.get(field, bool, "true or false")

    def number(self, field, default=...):
        """Return a number, also one that is written as a text."""
        value = self.get(field, (int, float, str), "a number", default)
        if value is None:
            return None
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            raise ValueError(f"{self.name}: field {field} is {value!r}, not a number")
        return found

    def moment(self, field, unit=None):
        """Return a moment: ISO text, or with `unit` a number of seconds (s) or milliseconds (ms) since 1970.

        Raises Unread for one out of bounds.
        """
        value = self.number(field) if unit else self.text(field)
        try:
            at = pd.Timestamp(value, unit=unit)
            is_near = FIRST_YEAR <= at.year <= LAST_YEAR
        except (OverflowError, NotImplementedError, pd.errors.OutOfBoundsDatetime):
            at, is_near = None, False
        except ValueError:
            at = pd.NaT
        if at is pd.NaT:
            raise ValueError(f"{self.name}: field {field} is {value!r}, not a moment")
        if not is_near:
            raise Unread(f"{self.name}: field {field} is {value!r}, no moment of the years {FIRST_YEAR} to {LAST_YEAR}")
        return at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")

    def listed(self, field, kind=str, what="a list of texts"):
        """Return a list of texts, or of another kind, also one that is written as JSON in a text (Polymarket)."""
        value = self.given.get(field)
        try:
            value = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            value = None
        if not isinstance(value, list) or not value or not all(isinstance(one, kind) for one in value):
            raise self.refuse(field, what)
        return value

    def names(self, field):
        """Return a list of texts, their spaces single."""
        return [" ".join(one.split()) for one in self.listed(field)]

    def numbers(self, field):
        """Return a list of numbers, each as `number` takes it."""
        values = self.listed(field, (int, float, str), "a list of numbers")
        return [Fields(self.name, {field: one}).number(field) for one in values]

    def inner(self, field):
        """Return the fields of an object inside."""
        return Fields(f"{self.name}, {field}", self.get(field, dict, "an object"))


def load(path):
    """Return what a file of JSON holds. Raises ValueError that names it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except RecursionError:
        raise ValueError(f"{Path(path).name} is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"{Path(path).name} is no JSON ({error})") from None


def list_rows(whose, given, field):
    """Return the objects of a list as Fields, each named by its place; `whose` (a path, Fields) has a name."""
    rows = given[field]
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise ValueError(f"{whose.name}: field {field} is no list of objects")
    return [Fields(f"{whose.name}, {field} {at + 1}", one) for at, one in enumerate(rows)]


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


def read_close(candle):
    """Return the last price of a Kalshi candle in dollars, None where nobody traded (older files count in cents)."""
    price = candle.inner("price")
    if "close_dollars" in price.given:
        return price.number("close_dollars", None)
    cents = price.number("close", None)
    return None if cents is None else cents / CENTS


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
    if given.text("outcomeType") != "BINARY":
        raise Unread(f"it is {given.text('outcomeType')}, and only BINARY is read")
    ends = given.moment("closeTime", "ms")
    span = (given.moment("createdTime", "ms"), ends)
    event = build_event(given, "manifold", given.text("id"), ["Yes", "No"], span, "textDescription")
    if not given.flag("isResolved"):
        return event, None, []
    end = given.text("resolution").lower()
    if end not in ENDS:
        raise Unread(f"it was resolved as {end.upper()}")
    end_event(event, given.moment("resolutionTime", "ms"), ends)
    return event, build_answer(event, ENDS[end]), []


def read_metaculus(given):
    """Return (event, answer, prices) of a question of Metaculus; the prices are those of its community."""
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
    rows = [(one.moment("start_time", "s"), one.numbers("centers")[0]) for one in steps]
    return event, answer, tabulate(event["event_id"], rows, given.name).to_dict("records")


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
