"""ForecastBench's market questions as long events: wording, price path and outcome, as its public files have them.

A question set (`<date>-llm.json`) was written ten days before its forecast_due_date, so its words know nothing of what
came after; a price history (csv) has a row a change (resolved 1: the value is the outcome, 0: the price). A question
runs from its first price to its resolution, and Early, Mid and Late are cut from that span (WorldReasoner 5.3).
"""

import re
from html import unescape
from pathlib import Path

import pandas as pd

from helpers.events.horizons import MAX_DAYS, MIN_DAYS
from helpers.events.levels import assign_level
from helpers.events.moments import number_days, place_moments
from helpers.faults import parse_text, read_text
from helpers.store import dump_json, parse_json
from helpers.tables import check_table

VENUES = ("infer", "manifold", "metaculus", "polymarket")
"""Sources of a question set that are prediction markets; the others are series."""
RULES = ("market_info_resolution_criteria", "background", "resolution_criteria")
"""Where a set may say how a question is decided, the first that says something counts."""
COLUMNS = ["question_set", "id", "source", "snapshot_date", "value", "resolved", "resolution_date"]
"""Columns of a price history."""
OPTIONS = dump_json({"A": "Yes", "B": "No"})


def read_prices(path):
    """Return a price history, its ids as text. Raises ValueError that names the file and what it lacks."""
    table = pd.read_csv(path, dtype={"id": str})
    if absent := [column for column in COLUMNS if column not in table]:
        names = ", ".join(COLUMNS)
        raise ValueError(f"{Path(path).name}: column {absent[0]!r} is missing; a price history has {names}")
    return table


def build_markets(paths, days=(MIN_DAYS, MAX_DAYS)):
    """Return (events, answers, prices) of resolved yes/no markets that ran so many days after their first price.

    `paths` is a price history. Events hold no text (`word_events` adds it) and no `as_of`; `cluster_id` is the market,
    which may stand in several question sets. `prices` has question_id, day (days since 1970) and price.
    """
    paths = paths.assign(question_id=paths["question_set"] + "-" + paths["source"] + "-" + paths["id"].astype(str))
    live = paths[paths["resolved"] == 0].sort_values("snapshot_date", kind="stable")
    known = paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])].groupby("question_id").last()
    known = known.join(live.groupby("question_id")["snapshot_date"].first().rename("opened"), how="inner")
    span = (pd.to_datetime(known["resolution_date"]) - pd.to_datetime(known["opened"])).dt.days
    known = known[span.between(*days)].reset_index()
    events = pd.DataFrame(
        {
            "event_id": known["question_id"],
            "paper": "worldreasoner",
            "window": "M",
            "cluster_id": known["source"] + "-" + known["id"].astype(str),
            "source_id": known["source"],
            "kind": "single",
            "options": OPTIONS,
            "opens_at": known["opened"] + "T00:00:00+00:00",
            "resolves_at": known["resolution_date"] + "T00:00:00+00:00",
            "level": assign_level("single", 2, ""),
            "provenance": "ForecastBench",
            "is_synthetic": False,
            "metadata": dump_json({"question_type": "yes_no"}),
        }
    )
    values = known["value"].map({1: dump_json("A"), 0: dump_json("B")})
    answers = pd.DataFrame({"event_id": known["question_id"], "value": values, "status": "ok", "method": "market"})
    prices = live[["question_id"]].assign(day=number_days(live["snapshot_date"]), price=live["value"])
    return events, answers, prices[prices["question_id"].isin(events["event_id"])].reset_index(drop=True)


def read_questions(path):
    """Return the market questions of a set: {question_id: (question, how it is decided)}, marks of HTML taken out.

    How it is decided is the market's own text where the set has it, else the background, else the set's sentence that
    names the market's page. Raises ValueError that names the file, the question and the field.
    """
    given, found = parse_text(read_text(path), Path(path).name), {}
    if not isinstance(given, dict) or not {"forecast_due_date", "questions"} <= set(given):
        raise ValueError(f"{Path(path).name} is no question set of ForecastBench")
    for at, row in enumerate(given["questions"], 1):
        if row.get("source") not in VENUES:
            continue
        if wrong := [name for name in ("id", "question", *RULES) if not isinstance(row.get(name), str)]:
            raise ValueError(f"{Path(path).name}, question {at}: field {wrong[0]} is no text")
        rules = [text for text in (clean(row[name]) for name in RULES) if text and text != "N/A"]
        name = f"{given['forecast_due_date']}-{row['source']}-{row['id']}"
        found[name] = clean(row["question"]), rules[0] if rules else ""
    return found


def clean(text):
    """Return a text without marks of HTML, its spaces single.

    >>> clean("The <b>index</b>&nbsp;falls <a href='x'>here</a>")
    'The index falls here'
    """
    return " ".join(unescape(re.sub(r"<[^<>]*>", " ", text)).split())


def word_events(events, questions):
    """Return the events that have a wording, each with it, asked at the midpoint (`moments.place_moments`).

    `questions` are of `read_questions`. What has none is left out.
    """
    worded = events[events["event_id"].isin(questions)]
    lines = "\n".join(f"{letter}. {text}" for letter, text in parse_json(OPTIONS).items())
    prompts = [f"{questions[event_id][0]}\n{lines}" for event_id in worded["event_id"]]
    rules = [questions[event_id][1] for event_id in worded["event_id"]]
    return check_table("events", place_moments(worded.assign(prompt=prompts, resolution_criteria=rules)))
