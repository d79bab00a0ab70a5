"""Settle a week that was asked: answers by id from a csv or from FutureX-Past, scored by FutureX's
rules (3.4.3).

The weekly challenge is scored as FutureX's public scorer does (`futurex_code`), a number by 5% of
the true value whatever `spread` the answers name. Questions of one's own are scored by the paper's
formulas, a number by the outcome's recent standard deviation (`spread`): without it a number is
unscored, as in a run.
"""

import ast
import json
import math

import pandas as pd

from daybefore.live.week_questions import DATASET
from daybefore.live.week_submission import build_predictions
from daybefore.models.grammars import make_schema
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import dump_json, parse_json
from helpers.input_faults import Problems
from helpers.papers import get_constant
from helpers.scores import (
    CODE_SCORER,
    PAPER_SCORER,
    score_predictions,
    select_headline,
)
from helpers.tables import LEVELS, check_table

FIELDS = ("answer", "ground_truth", "value")
"""Columns in which a file may hold its answers."""

JUDGED = {PAPER_SCORER: ("text", "list"), CODE_SCORER: ("text", "list", "ranking")}
"""Kinds of answers that a judge looks at where they did not match."""


def read_answers(place, events, rows, is_own=True):
    """Return the answers table of those events that some rows of a `place` have an answer for.

    A row has id, and answer or ground_truth, and may have spread, of a number. Raises Problems with
    row and field of what cannot be read, unless it is not one's own and is taken as far as it can
    be; ValueError where nothing fits.
    """
    kinds = {event["event_id"]: event for event in events.to_dict("records")}
    found, problems = {}, []
    for n, row in enumerate(rows, 1):
        key = str(row.get("id"))  # which a file may hold as a number
        if key not in kinds:
            continue
        event, field = kinds[key], next((name for name in FIELDS if name in row), None)
        if field is None:
            problems.append(f"{place}, row {n}: wanted is one of {', '.join(FIELDS)}")
            continue
        value, why = read_truth(row[field], event)
        cell, spread = dump_json(value), row.get("spread")
        if value is None:
            given = f"{str(row[field])[:40]!r} is no {event['kind']} ({why})"
            problems.append(f"{place}, row {n}, {field}: {given}")
        elif key in found and found[key]["value"] != cell:
            problems.append(f"{place}, row {n}, id: {key!r} stands twice, with two answers")
        else:
            has_spread = event["kind"] == "number" and isinstance(spread, int | float)
            found[key] = {
                "event_id": key,
                "value": cell,
                "status": "ok",
                "spread": float(spread) if has_spread else None,
            }
    if problems and is_own:
        raise Problems(problems)
    if not found:
        raise ValueError(
            f"{place} has no answer to any of the {len(events)} questions; look at its ids"
        )
    return check_table("answers", pd.DataFrame(found.values()))


def read_truth(cell, event):
    r"""Return (value, "") of an answer's cell as the event's kind has it, else (None, why); "['B',
    'C']" is a list.

    >>> read_truth("['B']", {"kind": "single", "options": '{"A": "x", "B": "y"}', "unit": None})
    ('B', '')
    >>> read_truth("Yes", {"kind": "single", "options": '{"A": "Yes", "B": "No"}', "unit": None})[0]
    'A'
    """
    options = parse_json(event["options"])
    if isinstance(cell, str) and cell.strip()[:1] == "[":
        try:
            cell = ast.literal_eval(cell.strip())
        except (
            ValueError,
            SyntaxError,
            TypeError,
            RecursionError,
            MemoryError,
        ):  # Python's reader raises each
            if "[" not in (options or ()):  # a label of FutureX's, the one after Z
                return None, "a list that cannot be read"
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    items = cell if isinstance(cell, list | tuple) else [cell]
    text = ("; " if event["kind"] in ("ranking", "list") and not event["options"] else ", ").join(
        map(str, items)
    )
    return parse_prediction(
        f"\\boxed{{{text}}}", event["kind"], options, event["unit"], explain=True
    )


def choose_scorer(state: dict) -> str:
    """Return the scorer of a week: the public one for the challenge's questions, the paper's for
    one's own."""
    return CODE_SCORER if state["source"] == DATASET else PAPER_SCORER


def settle(state, events, answers, consult=None, scorer=None):
    """Return (headline scores with level, kind, rule; the table by level) of a week's standing
    answers.

    The `scorer` is `choose_scorer`'s unless named, and scores all rows. A missing prediction counts
    0, as on the public board. With `consult`, a judge (`models.judges`), texts, lists and in the
    challenge also rankings that did not match are looked at by it, too: column `judged`, blank
    where it gave no verdict. Those verdicts are listed in the scores' attrs["unjudged"].
    """
    predictions, scorer = build_predictions(state), scorer or choose_scorer(state)
    rows = select_headline(score_predictions(predictions, answers, events, scorer), events)
    rows = rows.assign(rule=scorer, judged=rows["score_imputed"])
    if consult:
        texts = events.set_index("event_id")["prompt"]
        given, truths = (table.set_index("event_id")["value"] for table in (predictions, answers))
        wanted = rows["kind"].isin(JUDGED[scorer]) & ~rows["is_missing"].astype(bool)
        unjudged = []
        for at in rows.index[wanted & (rows["score_imputed"] < 1)]:
            key, kind = rows.loc[at, ["event_id", "kind"]]
            verdict = judge(consult, texts[key], kind, given[key], truths[key])
            is_known = verdict.status == "ok"
            rows.loc[at, "judged"] = float(verdict.value["same"]) if is_known else math.nan
            unjudged += [] if is_known else [verdict]
        rows.attrs["unjudged"] = unjudged
    return rows, tabulate(rows, events)


SCHEMA = make_schema(same={"type": "boolean"})
"""What a judge of a text replies."""


def judge(consult, question, kind, given, truth):
    """Return a judge's verdict on whether what was given says the same as the answer."""
    prompt = f"Question: {question}\n\nThe answer: {truth}\nGiven was: {given}\n\nDo both say the same thing?"
    if kind == "ranking":
        prompt += " Only lists of the same length with the same item at every place do."
    return consult(prompt, SCHEMA)


def read_board(path, asked_at):
    """Return (the week's name, a row a model: name, overall, 0 to 1) of a public board, best first.

    The file is FutureX's json, of which the week of the moment `asked_at` is read (the newest where
    it is not there), or a csv with modelName and overallScore (0 to 100). Raises ValueError that
    names the file.
    """
    week = path.stem
    try:
        if path.suffix == ".csv":
            table = pd.read_csv(path)
        else:
            weeks = json.loads(path.read_text("utf-8"))["weekly"]
            week = name_board(asked_at)
            week = week if week in weeks else max(weeks)
            table = pd.DataFrame(weeks[week])
        table = table.rename(columns={"modelName": "name", "overallScore": "overall"})
        table = table[["name", "overall"]].astype({"overall": float}).dropna()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        wanted = "a json or csv with modelName and overallScore"
        raise ValueError(f"{path.name} is no board: {wanted} ({problem})") from None
    table["overall"] /= 100
    return week, table.sort_values("overall", ascending=False, ignore_index=True)


def name_board(asked_at):
    """Return what FutureX's board calls the week that was asked at a moment: the number of its
    Wednesday in the month, 4 at most.

    >>> name_board("2026-03-04T10:00:00+08:00"), name_board("2026-03-31T10:00:00+08:00")
    ('2026-03-W1', '2026-04-W1')
    """
    day = pd.Timestamp(asked_at)
    day += pd.Timedelta(days=(2 - day.weekday()) % 7)
    return f"{day:%Y-%m}-W{min((day.day + 6) // 7, 4)}"


def tabulate(rows, events):
    """Return a row a level and one for FutureX's overall score: asked, settled, predicted, mean,
    judged, weight.

    The overall score weighs the levels 0.1, 0.2, 0.3, 0.4 (4.1), over those that have a settled
    question. A mean of `judged` is blank where a verdict is: it would be of other questions.
    """
    by = rows.groupby("level")
    weights = dict(zip(LEVELS, get_constant("futurex", "level_weights"), strict=True))
    counts = {"asked": events.groupby("level").size(), "settled": by.size()}
    counts["predicted"] = by.size() - by["is_missing"].sum()
    table = pd.DataFrame(counts).fillna(0).astype(int)
    for name, column in {"mean": "score_imputed", "judged": "judged"}.items():
        table[name] = by[column].agg(lambda cells: cells.mean(skipna=False))
    table["weight"] = table.index.map(weights)
    settled = table[table["settled"] > 0]
    overall = table[["asked", "settled", "predicted"]].sum().to_dict() | {"level": "overall"}
    for name in ("mean", "judged"):
        whole = (settled[name] * settled["weight"]).sum(skipna=False)
        overall[name] = whole / settled["weight"].sum()
    table = table.rename_axis("level").reset_index().astype({"level": str})
    return pd.concat([table, pd.DataFrame([overall])])
