"""ForecastBench's market questions as long events: wording, price path and outcome, as its public
files have them.

A question set (`<date>-llm.json`) was written ten days before its forecast_due_date, so its words
know nothing of what came after; a price history (csv) has a row a change (resolved 1: the value is
the outcome, 0: the price). A question runs from its first price to its resolution, and Early, Mid
and Late are cut from that span (WorldReasoner 5.3).
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import create_model

from daybefore.formats.futurex_questions import word_prompt
from daybefore.questions.levels import assign_level
from daybefore.questions.life_moments import number_days, place_moments
from daybefore.questions.long_questions import MAX_DAYS, MIN_DAYS
from helpers.files import dump_json
from helpers.input_faults import check_object, parse_text, read_text
from helpers.tables import allow, check_table

VENUES = ("infer", "kalshi", "manifold", "metaculus", "polymarket")
"""Sources of a question set that are prediction markets; the others are series."""
RULES = ("market_info_resolution_criteria", "background", "resolution_criteria")
"""Where a set may say how a question is decided, the first that says something counts."""
OPTIONS = {"A": "Yes", "B": "No"}
MISSING = 0.5
"""The probability that ForecastBench gives to what was not forecast."""
Words, Ids = allow(str, "a text"), allow(str | list, "a text or a list")
QuestionSet = create_model(
    "QuestionSet", forecast_due_date=(Words, ...), questions=(list[dict], ...)
)
Question = create_model(
    "Question", **dict.fromkeys(("id", "source", "question", *RULES), (Words, ...))
)
ResolutionSet = create_model(
    "ResolutionSet", forecast_due_date=(Words, ...), resolutions=(list[dict], ...)
)
ROW = dict.fromkeys(("source", "resolution_date", "resolved", "resolved_to"), (Any, ...))
Resolution = create_model("Resolution", id=(Ids, ...), **ROW)
"""What the files must hold; what else they hold may be of any form."""


def build_markets(path):
    """Return (events, answers, prices) of resolved yes/no markets that ran MIN_DAYS to MAX_DAYS.

    `path` is a price history (csv): question_set, id, source, snapshot_date, value, resolved,
    resolution_date. Events hold no text (`word_events` adds it) and no `as_of`; `cluster_id` is the
    market, which may stand in several question sets. `prices` has question_id, day (days since
    1970) and price.
    """
    paths = pd.read_csv(path, dtype={"id": str})
    paths = paths.assign(
        question_id=paths["question_set"] + "-" + paths["source"] + "-" + paths["id"]
    )
    live = paths[paths["resolved"] == 0].sort_values("snapshot_date", kind="stable")
    known = (
        paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])].groupby("question_id").last()
    )
    known = known.join(
        live.groupby("question_id")["snapshot_date"].first().rename("opened"), how="inner"
    )
    span = (pd.to_datetime(known["resolution_date"]) - pd.to_datetime(known["opened"])).dt.days
    known = known[span.between(MIN_DAYS, MAX_DAYS)].reset_index()
    events = pd.DataFrame(
        {
            "event_id": known["question_id"],
            "paper": "worldreasoner",
            "window": "M",
            "cluster_id": known["source"] + "-" + known["id"],
            "source_id": known["source"],
            "kind": "single",
            "options": dump_json(OPTIONS),
            "opens_at": known["opened"] + "T00:00:00+00:00",
            "resolves_at": known["resolution_date"] + "T00:00:00+00:00",
            "level": assign_level("single", 2, ""),
            "provenance": "ForecastBench",
            "is_synthetic": False,
            "metadata": dump_json({"question_type": "yes_no"}),
        }
    )
    values = known["value"].map({1: dump_json("A"), 0: dump_json("B")})
    answers = pd.DataFrame(
        {"event_id": known["question_id"], "value": values, "status": "ok", "method": "market"}
    )
    prices = live[["question_id"]].assign(
        day=number_days(live["snapshot_date"]), price=live["value"]
    )
    return (
        events,
        answers,
        prices[prices["question_id"].isin(events["event_id"])].reset_index(drop=True),
    )


def read_questions(path):
    """Return the market questions of a set: {question_id: (question, how it is decided)}, marks of
    HTML taken out."""
    given = parse_text(read_text(path), Path(path).name)
    rows = [row for row in open_set(given, Path(path).name) if row["source"] in VENUES]
    key = given["forecast_due_date"]
    return {
        f"{key}-{row['source']}-{row['id']}": (clean(row["question"]), find_rules(row))
        for row in rows
    }


def open_set(given, name):
    """Return the questions of a set, those of two questions (sets before October 2025: ids are
    lists) left out.

    Raises Problems that name the set, the question and the field.
    """
    rows = check_object(name, given, QuestionSet)["questions"]
    places = {
        f"{name}, question {at}": row
        for at, row in enumerate(rows, 1)
        if not isinstance(row.get("id"), list)
    }
    return [check_object(place, row, Question) for place, row in places.items()]


def find_rules(row):
    """Return how a market's question is decided: its own text, else the background, else a sentence
    with its page."""
    rules = [text for text in (clean(row[name]) for name in RULES) if text and text != "N/A"]
    return rules[0] if rules else ""


# --- a round: a set's rows to ask, the submission, the resolutions ----------------------------------


def list_rows(given, name):
    """Return a set's questions as rows of a file of questions (`live.week_questions`), a row a date
    of resolution.

    An id is <due date>-<source>-<id>, of a series with -<date> after it. A market has its price of
    the freeze date; of a series the value of that day stands with the rules. Raises Problems as
    `open_set`.
    """
    made, due = [], given["forecast_due_date"]
    for row in open_set(given, name):
        key = f"{row['source']}-{row['id']}"
        about = {
            "venue": row["source"],
            "cluster": key,
            "kind": "single",
            "options": OPTIONS,
            "url": row.get("url"),
        }
        about |= {"id": f"{due}-{key}", "question_set": given.get("question_set") or name}
        if row["source"] in VENUES:
            about |= {
                "prompt": word_prompt(clean(row["question"]), OPTIONS),
                "criteria": find_rules(row),
            }
            about |= {"price": read_price(row.get("freeze_datetime_value"))}
            made.append(about | {"end_time": row.get("market_info_close_datetime")})
            continue
        value, told = (
            str(row.get(f"freeze_datetime_{part}")) for part in ("value", "value_explanation")
        )
        frozen = f"On {str(row.get('freeze_datetime'))[:10]}: {value}. {told}"
        rules = f"{row['resolution_criteria']} {row['background']} {frozen}"
        for day in map(str, days if isinstance(days := row.get("resolution_dates"), list) else ()):
            question, criteria = (
                clean(text).replace("{resolution_date}", day).replace("{forecast_due_date}", due)
                for text in (row["question"], rules)
            )
            more = {"prompt": word_prompt(question, OPTIONS), "criteria": criteria, "end_time": day}
            made.append(about | more | {"id": f"{due}-{key}-{day}"})
    return [
        {field: cell for field, cell in one.items() if cell not in (None, "", "N/A")}
        for one in made
    ]


def read_price(cell):
    """Return a price, a number or its text, None for what is none.

    >>> read_price("0.25"), read_price(0.3), read_price("N/A"), read_price(None)
    (0.25, 0.3, None, None)
    """
    price = pd.to_numeric(cell, errors="coerce") if isinstance(cell, str | int | float) else None
    return float(price) if price is not None and 0 <= price <= 1 else None


def list_resolutions(given, name):
    """Return what a resolution set settles as rows of id (as `list_rows`) and answer, A for yes and
    B for no.

    Raises Problems that name the set, the resolution and the field.
    """
    made = []
    for at, row in enumerate(check_object(name, given, ResolutionSet)["resolutions"], 1):
        check_object(f"{name}, resolution {at}", row, Resolution)
        if row["resolved"] and row["resolved_to"] in (0, 1) and isinstance(row["id"], str):
            date = "" if row["source"] in VENUES else f"-{row['resolution_date']}"
            key = f"{given['forecast_due_date']}-{row['source']}-{row['id']}{date}"
            made.append({"id": key, "answer": "A" if row["resolved_to"] else "B"})
    return made


def find_chance(letter, value, probability, distribution):
    """Return the probability that a prediction gives to one of two options: by option, else by that
    of its answer.

    An answer without a probability is sure of itself; None without an answer.

    >>> find_chance("B", "A", 0.9, None), find_chance("A", "A", None, None)
    (0.1, 1.0)
    """
    if (distribution or {}).get(letter) is not None:
        return distribution[letter]
    if value is None:
        return None
    sure = 1 if probability is None else probability
    return round(float(sure if value == letter else 1 - sure), 9)


def build_submission(organization, model, question_set, forecasts, address=None):
    """Return a submission: `forecasts` are (id, source, probability of yes, date or None of a
    market, reasoning).

    What has no probability gets 0.5, as ForecastBench itself gives it. The maker is read from the
    model's `address` (None: its name): "openrouter/google/gemini-3-pro" is google's. Where it names
    none it is `organization`.
    """
    maker = (address or model).rpartition("/")[0].rpartition("/")[2] or organization
    names = ("id", "source", "forecast", "resolution_date", "reasoning")
    made = [dict(zip(names, row, strict=True)) for row in forecasts]
    made = [
        row | {"forecast": MISSING if row["forecast"] is None else round(row["forecast"], 6)}
        for row in made
    ]
    about = {"organization": organization, "model": model, "model_organization": maker}
    return about | {"question_set": question_set, "forecasts": made}


def clean(text):
    """Return a text without marks of HTML, its spaces single.

    >>> clean("The <b>index</b>&nbsp;falls <a href='x'>here</a>")
    'The index falls here'
    """
    return " ".join(unescape(re.sub(r"<[^<>]*>", " ", text)).split())


def word_events(events, questions):
    """Return the events that have a wording, each with it, asked at the midpoint
    (`life_moments.place_moments`).

    `questions` are of `read_questions`. What has none is left out.
    """
    worded = events[events["event_id"].isin(questions)]
    prompts = [word_prompt(questions[event_id][0], OPTIONS) for event_id in worded["event_id"]]
    rules = [questions[event_id][1] for event_id in worded["event_id"]]
    return check_table(
        "events", place_moments(worded.assign(prompt=prompts, resolution_criteria=rules))
    )
