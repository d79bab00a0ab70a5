"""WorldReasoner's public questions as a set: opening, close, outcome, and three dated events of
weight or more.

The file is a fork's export of the authors' review form: questions with event cards, of which some
say what the event did to the outcome (`impact`). What it leaves open is decided here: Yes and No
are also written True and False, options are put in an order drawn by the question's id, a quantity
is a number. A question is asked at the midpoint of its life, and Early, Late and Near name other
moments (5.1, 5.3).
"""

import json

import pandas as pd

from daybefore.formats.futurex_questions import cluster_questions, name_letters, word_prompt
from daybefore.questions.fill_templates import seed_by_name
from daybefore.questions.levels import assign_level
from daybefore.questions.life_moments import number_days, place_moments
from helpers.clock import stamp_moment
from helpers.files import dump_json, parse_json
from helpers.papers import get_constant
from helpers.tables import check_table

MIN_IMPACT = get_constant("worldreasoner", "key_event_min_impact")
MIN_EVENTS = 3
"""Cards of an impact magnitude of `MIN_IMPACT` that a question must have; with fewer its key events
are few."""
SEED, SOURCE_ID = 0, "worldreasoner"
BINARY = {"Yes": "A", "True": "A", "No": "B", "False": "B"}
NEEDED = ("market_open", "market_close", "outcome", "question_type")


def list_weighty(question):
    """Return the event cards of a question whose impact has a magnitude of `MIN_IMPACT` or more."""
    return [
        card
        for card in question["events"]
        if card["impact"] and card["impact"]["magnitude"] >= MIN_IMPACT
    ]


def select_questions(questions):
    """Return the questions that say when they open, when they close and how they ended, with enough
    weighty cards."""
    return [
        row
        for row in questions
        if all(row.get(n) for n in NEEDED) and len(list_weighty(row)) >= MIN_EVENTS
    ]


def build_events(questions):
    """Return (events, answers) of window W, from questions that `select_questions` let pass, at
    their midpoints."""
    made = [build_event(row) for row in questions]
    rows = pd.DataFrame(
        {"id": [row["id"] for row in questions], "event": [row["title"] for row in questions]}
    )
    named = [name.replace("futurex-", f"{SOURCE_ID}-", 1) for name in cluster_questions(rows)]
    events = place_moments(pd.DataFrame([event for event, _ in made]).assign(cluster_id=named))
    return check_table("events", events), check_table(
        "answers", pd.DataFrame([answer for _, answer in made])
    )


def build_event(row):
    """Return a question's (event, answer) as dicts of columns of their tables; its type is binary,
    mcq or quantity."""
    name, question, kind = (
        f"{SOURCE_ID}-{row['id']}",
        " ".join(row["title"].split()),
        row["question_type"],
    )
    options, order, level = None, [], None
    if kind == "binary":
        options, value, level = (
            {"A": "Yes", "B": "No"},
            BINARY[row["outcome"]],
            assign_level("single", 2, ""),
        )
    elif kind == "mcq":
        order = [
            int(place) for place in seed_by_name(SEED, row["id"]).permutation(len(row["options"]))
        ]
        texts = [" ".join(row["options"][place].split()) for place in order]
        options = dict(zip(name_letters(len(order)), texts, strict=True))
        value = next(
            letter for letter, text in options.items() if text == " ".join(row["outcome"].split())
        )
        level = assign_level("single", len(options), "")
    else:
        value = float(row["outcome"])
    event = {
        "event_id": name,
        "paper": "worldreasoner",
        "window": "W",
        "source_id": SOURCE_ID,
        "prompt": word_prompt(question, options),
        "kind": "single" if options else "number",
        "options": json.dumps(options, ensure_ascii=False) if options else None,
        "opens_at": stamp_moment(pd.Timestamp(row["market_open"])),
        "resolves_at": stamp_moment(pd.Timestamp(row["market_close"])),
        "level": level,
        "resolution_criteria": " ".join(row["resolution_criteria"].split()),
        "provenance": "market" if row.get("polymarket_url") else "news",
        "is_synthetic": False,
        "metadata": dump_json(
            {
                "order": order,
                "question_type": "yes_no" if kind == "binary" else kind,
                "opening": "estimated" if row["market_open_estimated"] else "stated",
            }
        ),
    }
    return event, {"event_id": name, "value": dump_json(value), "status": "ok", "method": SOURCE_ID}


def read_prices(path, events):
    """Return the prices of the set's yes/no questions: question_id (an event_id), day (since 1970),
    price.

    Of several options the file follows one that it does not name, so those are left out.
    """
    table = pd.read_csv(path)
    is_yes_no = [parse_json(cell) == {"A": "Yes", "B": "No"} for cell in events["options"]]
    yes_no = events.loc[is_yes_no, "event_id"]
    table = table.assign(
        question_id=f"{SOURCE_ID}-" + table["question_id"], day=number_days(table["time_utc"])
    )
    return table.loc[
        table["question_id"].isin(yes_no), ["question_id", "day", "price"]
    ].reset_index(drop=True)
