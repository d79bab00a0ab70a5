"""Questions on companies' next quarter, with the analysts' consensus beside (FutureX 5.1).

A file is a list of objects (json) or a csv with FutureX's columns: id, prompt, end_time (the day of
the release), level, ground_truth, Std, `additional values`. The last is read as the consensus. Of
the 50 public rows all ask for revenue, and Std is the distance of ground_truth from `additional
values` plus one per cent of ground_truth: so a number is scored by the analysts' own error, and
their forecast never earns 0.
"""

import json
import re
from pathlib import Path

import pandas as pd

from daybefore.formats.futurex_questions import choose_start
from daybefore.questions.levels import assign_level
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json, hash_text
from helpers.input_faults import (
    check_sheet,
    describe_problem,
    parse_text,
    raise_all,
    read_sheet,
    read_text,
)
from helpers.tables import check_table

NEEDS = ("id", "prompt", "end_time")
AMOUNTS = TRUTH, SPREAD, CONSENSUS = ["ground_truth", "Std", "additional values"]
SOURCE_ID = "futurex_earnings"
UNITS = {"eps": "US dollars a share", "revenue": "US dollars"}
QUOTED = re.compile(r"event to be predicted:\s*[\"“](.*?)[\"”]\s*(?:\n|$)", re.DOTALL)
EPS = re.compile(r"\bEPS\b|earnings per share|earnings a share", re.IGNORECASE)
COMPANY = re.compile(
    r"(?:what will be|what will)\s+(.+?)(?:'s|’s|s')?\s+(?:revenue|EPS|earnings)", re.IGNORECASE
)


def read_earnings(path):
    """Return a file's rows as dicts of text, numbers as float where there are any.

    Raises Problems with file, row, column and reason; nothing of a file with a fault is taken.
    """
    path = Path(path)
    checks = {"filled": NEEDS, "key": ["id"]}
    if path.suffix == ".csv":
        table = read_sheet(path, NEEDS, **checks)
    else:
        rows = parse_text(read_text(path), path.name)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError(
                f"{path.name}: wanted is a list of questions, each an object with {', '.join(NEEDS)}"
            )
        table = pd.DataFrame(rows, dtype=object).fillna("").map(lambda cell: str(cell).strip())
        raise_all(check_sheet(path.name, table, NEEDS, **checks))
    table = table.reindex(columns=[*NEEDS, "level", *AMOUNTS], fill_value="")
    amounts = table[AMOUNTS].map(read_amount)
    is_wrong = amounts.isna() & table[AMOUNTS].ne("")
    is_wrong.insert(0, "end_time", ~table["end_time"].str.match(r"\d{4}-\d\d-\d\d"))
    wanted = dict.fromkeys(AMOUNTS, "number") | {"end_time": "day such as 2025-07-24"}
    raise_all(
        describe_problem(
            path.name, row, column, f"{table.loc[row, column]!r} is no {wanted[column]}"
        )
        for (row, column), is_so in is_wrong.stack().items()
        if is_so
    )
    return table.assign(**amounts.astype(object).where(amounts.notna(), None)).to_dict("records")


def read_amount(cell):
    """Return a cell as a number, None for a blank one and for what is none.

    >>> read_amount("10020000000.0000"), read_amount(""), read_amount("plenty"), read_amount("inf")
    (10020000000.0, None, None, None)
    """
    try:
        number = float(str(cell).strip().replace(",", ""))
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def build_events(rows):
    """Return (events, answers, consensus) of some rows, each question asked a week before its day
    (3.4.1).

    `consensus` has event_id, item (the company), metric (revenue, eps), consensus and actual, both
    in the unit of the question; blank where a row has none. Answers are of the rows whose
    ground_truth is known.
    """
    events, answers, beside = [], [], []
    for row in rows:
        found = QUOTED.search(row["prompt"])
        question = " ".join((found[1] if found else row["prompt"]).split())
        metric = "eps" if EPS.search(question) else "revenue"
        named = COMPANY.search(question)
        company = named[1] if named else row["id"]
        end = pd.Timestamp(row["end_time"][:10], tz=ZONE)
        event_id = f"earnings-{row['id']}"
        events.append(
            {
                "event_id": event_id,
                "paper": "futurex",
                "window": "E",
                "cluster_id": f"company-{hash_text(company.casefold(), 8)}",
                "source_id": SOURCE_ID,
                "prompt": question,
                "kind": "number",
                "unit": UNITS[metric],
                "as_of": choose_start(end, None),
                "resolves_at": stamp_moment(end),
                "level": int(float(row["level"]))
                if row["level"]
                else assign_level("number", 0, "low"),
                "resolution_criteria": f"The figure that the company itself reports; due on {row['end_time']}.",
                "provenance": "FutureX",
                "is_synthetic": False,
                "metadata": dump_json({"metric": metric}),
            }
        )
        if row[TRUTH] is not None:
            rule = None if row[SPREAD] is None else "file"
            answer = {
                "event_id": event_id,
                "value": json.dumps(row[TRUTH]),
                "status": "ok",
                "method": SOURCE_ID,
            }
            answers.append(answer | {"spread": row[SPREAD], "spread_rule": rule})
        facts = {"event_id": event_id, "item": company, "metric": metric}
        beside.append(facts | {"consensus": row[CONSENSUS], "actual": row[TRUTH]})
    answers = pd.DataFrame(
        answers, columns=["event_id", "value", "status", "method", "spread", "spread_rule"]
    )
    return (
        check_table("events", pd.DataFrame(events)),
        check_table("answers", answers),
        pd.DataFrame(beside),
    )
