"""Settle a week that was asked: answers by id from a csv or from FutureX-Past, scored by FutureX's rules (3.4.3).

A number is scored by the outcome's recent standard deviation where the answers say it (`spread`); where they do not, by
5% of the true value in its place, as FutureX does where no deviation is known.
"""

import ast
from pathlib import Path

import pandas as pd

from helpers.faults import Problems
from helpers.live.challenge import ANSWERS, clean_row, fetch_rows, read_rows
from helpers.live.submission import build_predictions
from helpers.models.grammars import make_schema
from helpers.papers import get_constant
from helpers.replies.parse import parse_prediction
from helpers.scoring.scores import score_predictions, select_headline
from helpers.store import dump_json, parse_json
from helpers.tables import LEVELS, check_table

SHARE = 0.05
"""Of a number's true value that stands in place of its standard deviation where none is known."""

PAST, VENUE = "past", "venue"
"""As the place of answers: FutureX-Past on the hub; the market, or ForecastBench, that each question is of."""

FIELDS = ("answer", "ground_truth", "value")
"""Columns in which a file may hold its answers."""

RULES = {True: "deviation given", False: f"{SHARE:.0%} of the true value"}


def read_answers(place, events, rows=()):
    """Return (answers table, where they are from) of those events that a file, or FutureX-Past, has an answer for.

    A file has id, and answer or ground_truth, and may have spread; `rows` are what the place `VENUE` has. Raises
    Problems with row and field of what cannot be read, ValueError where nothing fits.
    """
    if place == PAST:
        rows, commit, _ = fetch_rows(ANSWERS)
        source = f"{ANSWERS}@{commit[:12]}"
    elif place == VENUE:
        source = "the questions' own venue"
    else:
        path = Path(place)
        if not path.is_file():
            raise ValueError(f"there is no file {place}; give a csv of id and answer, {PAST!r} or {VENUE!r}")
        rows, source = read_rows(path, path.name), path.name
    kinds = {event["event_id"]: event for event in events.to_dict("records")}
    found, problems = {}, []
    for n, row in enumerate(map(clean_row, rows), 1):
        event, field = kinds.get(str(row.get("id"))), next((name for name in FIELDS if name in row), None)
        if event is None:
            continue
        if field is None:
            problems.append(f"{source}, row {n}: wanted is one of {', '.join(FIELDS)}")
            continue
        value, why = read_truth(row[field], event)
        if value is None:
            problems.append(f"{source}, row {n}, {field}: {str(row[field])[:40]!r} is no {event['kind']} ({why})")
            continue
        if row["id"] in found and found[row["id"]]["value"] != dump_json(value):
            problems.append(f"{source}, row {n}, id: {row['id']!r} stands twice, with two answers")
        found[row["id"]] = make_answer(row, value, event)
    if problems and place != PAST:  # what others publish is taken as far as it can be read
        raise Problems(problems[:20])
    if not found:
        raise ValueError(f"{source} has no answer to any of the {len(events)} questions; look at its ids")
    return check_table("answers", pd.DataFrame(found.values())), source


def make_answer(row, value, event):
    """Return the row of the answers table; `method` says by which rule a number is scored."""
    is_number, is_given = event["kind"] == "number", isinstance(row.get("spread"), int | float)
    spread = None if not is_number else float(row["spread"]) if is_given else SHARE * abs(value)
    made = {"event_id": row["id"], "value": dump_json(value), "status": "ok", "spread": spread}
    return made | {"method": RULES[is_given] if is_number else None, "price": row.get("price")}


def read_truth(cell, event):
    r"""Return (value, "") of an answer's cell as the event's kind has it, else (None, why); "['B', 'C']" is a list.

    >>> read_truth("['B']", {"kind": "single", "options": '{"A": "x", "B": "y"}', "unit": None})
    ('B', '')
    >>> read_truth("Yes", {"kind": "single", "options": '{"A": "Yes", "B": "No"}', "unit": None})[0]
    'A'
    """
    if isinstance(cell, str) and cell.strip()[:1] == "[":
        try:
            cell = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError):
            return None, "a list that cannot be read"
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    items = cell if isinstance(cell, list | tuple) else [cell]
    text = ("; " if event["kind"] in ("ranking", "list") and not event["options"] else ", ").join(map(str, items))
    options = parse_json(event["options"])
    return parse_prediction(f"\\boxed{{{text}}}", event["kind"], options, event["unit"], explain=True)


def settle(state, events, answers, consult=None):
    """Return (headline scores with level, kind, rule; the table by level) of a week's standing answers.

    A missing prediction counts 0. With `consult`, a judge (`models.judges`), texts and lists that did not match are
    looked at by it, too: column `judged`.
    """
    predictions = build_predictions(state, events)
    scores = score_predictions(predictions, answers, events)
    rows = select_headline(scores, events)
    rows = rows.merge(answers[["event_id", "method"]], on="event_id").rename(columns={"method": "rule"})
    given = {row["event_id"]: row["value"] for row in predictions.to_dict("records")}
    truths = dict(zip(answers["event_id"], answers["value"], strict=True))
    rows["judged"] = [
        judge(consult, events, name, given[name], truths[name], score) if consult else score
        for name, score in zip(rows["event_id"], rows["score_imputed"], strict=True)
    ]
    return rows, tabulate(rows, events)


SCHEMA = make_schema(same={"type": "boolean"})
"""What a judge of a text replies."""


def judge(consult, events, event_id, given, truth, score):
    """Return a question's score, 1 where a judge finds that a text or list that was not matched says the same."""
    event = events.set_index("event_id").loc[event_id]
    if event["kind"] not in ("text", "list") or score == 1 or parse_json(given) is None:
        return score
    prompt = f"Question: {event['prompt']}\n\nThe answer: {truth}\nGiven was: {given}\n\nDo both say the same thing?"
    verdict = consult(prompt, SCHEMA)
    return float(verdict.value["same"]) if verdict.status == "ok" else score


def tabulate(rows, events):
    """Return a row a level and one for FutureX's overall score: n_asked, n_answered, n_settled, mean, judged.

    The overall score weighs the levels 0.1, 0.2, 0.3, 0.4 (4.1), over those that have a settled question.
    """
    weights, parts = dict(zip(LEVELS, get_constant("futurex", "level_weights"), strict=True)), []
    for level in LEVELS:
        part = rows[rows["level"] == level]
        asked = int((events["level"] == level).sum())
        if asked:
            parts.append(
                {
                    "level": str(level),
                    "asked": asked,
                    "settled": len(part),
                    "predicted": int((~part["is_missing"].astype(bool)).sum()),
                }
                | {"mean": part["score_imputed"].mean(), "judged": part["judged"].mean(), "weight": weights[level]}
            )
    table = pd.DataFrame(parts)
    known = table[table["settled"] > 0]
    whole = {name: int(table[name].sum()) for name in ("asked", "settled", "predicted")}
    means = {name: (known[name] * known["weight"]).sum() / known["weight"].sum() for name in ("mean", "judged")}
    return pd.concat([table, pd.DataFrame([{"level": "overall", **whole, **means}])], ignore_index=True)
