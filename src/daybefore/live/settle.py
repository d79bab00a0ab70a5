"""Settle a week that was asked: answers by id from a csv or from FutureX-Past, scored by FutureX's
rules (3.4.3).

The weekly challenge is scored as FutureX's public scorer does (`futurex_code`), a number by 5% of
the true value whatever `spread` the answers name. Questions of one's own are scored by the paper's
formulas, a number by the outcome's recent standard deviation (`spread`): without it a number is
unscored, as in a run.
"""

import ast
import json

import pandas as pd

from daybefore.live.challenge import DATASET
from daybefore.live.submission import build_predictions
from daybefore.models.grammars import make_schema
from daybefore.replies.parse import parse_prediction
from helpers.faults import Problems
from helpers.files import dump_json, parse_json
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
    kinds, found, problems = (
        {event["event_id"]: event for event in events.to_dict("records")},
        {},
        [],
    )
    for n, row in enumerate(rows, 1):
        event, field = (
            kinds.get(str(row.get("id"))),
            next((name for name in FIELDS if name in row), None),
        )
        if event is None:
            continue
        key = str(row["id"])  # which a file may hold as a number
        value, why = (
            read_truth(row[field], event)
            if field
            else (None, f"wanted is one of {', '.join(FIELDS)}")
        )
        told = (
            f", {field}: {str(row[field])[:40]!r} is no {event['kind']} ({why})"
            if field
            else f": {why}"
        )
        if value is None:
            problems.append(f"{place}, row {n}{told}")
        elif key in found and found[key]["value"] != dump_json(value):
            problems.append(f"{place}, row {n}, id: {key!r} stands twice, with two answers")
        else:
            is_number, is_given = (
                event["kind"] == "number",
                isinstance(row.get("spread"), int | float),
            )
            about = {
                "event_id": key,
                "value": dump_json(value),
                "status": "ok",
                "price": row.get("price"),
            }
            about["spread"] = float(row["spread"]) if is_number and is_given else None
            found[key] = about
    if problems and is_own:
        raise Problems(problems[:20])
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
    rows["rule"] = scorer
    rows["judged"] = rows["score_imputed"]
    if consult:
        known = events.set_index("event_id", drop=False)
        given, truths = (table.set_index("event_id")["value"] for table in (predictions, answers))
        unjudged = []
        rows["judged"] = [
            judge(
                consult,
                event,
                given[event["event_id"]],
                truths[event["event_id"]],
                score,
                JUDGED[scorer],
                unjudged,
            )
            for event, score in zip(
                known.loc[rows["event_id"]].to_dict("records"), rows["score_imputed"], strict=True
            )
        ]
        rows.attrs["unjudged"] = unjudged
    return rows, tabulate(rows, events)


SCHEMA = make_schema(same={"type": "boolean"})
"""What a judge of a text replies."""


def judge(consult, event, given, truth, score, kinds=JUDGED[PAPER_SCORER], unjudged=None):
    """Return a question's score, 1 where a judge finds that what was not matched (of `kinds`) says
    the same.

    NaN where the judge gives no verdict, which is added to the list `unjudged`.
    """
    if event["kind"] not in kinds or score == 1 or parse_json(given) is None:
        return score
    prompt = f"Question: {event['prompt']}\n\nThe answer: {truth}\nGiven was: {given}\n\nDo both say the same thing?"
    if event["kind"] == "ranking":
        prompt += " Only lists of the same length with the same item at every place do."
    verdict = consult(prompt, SCHEMA)
    if verdict.status == "ok":
        return float(verdict.value["same"])
    if unjudged is not None:
        unjudged.append(verdict)
    return float("nan")


def read_board(path):
    """Return (the week's name, a row a model: name, overall, 0 to 1) of a public board, best first.

    The file is FutureX's json, of which the newest week is read, or a csv with modelName and
    overallScore (0 to 100). Raises ValueError that names the file.
    """
    try:
        week, rows = (
            path.stem,
            pd.read_csv(path) if path.suffix == ".csv" else json.loads(path.read_text("utf-8")),
        )
        if isinstance(rows, dict):
            week = max(rows["weekly"])
            rows = rows["weekly"][week]
        table = pd.DataFrame(rows).rename(columns={"modelName": "name", "overallScore": "overall"})
        table = table[["name", "overall"]].astype({"overall": float}).dropna()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        wanted = "a json or csv with modelName and overallScore"
        raise ValueError(f"{path.name} is no board: {wanted} ({problem})") from None
    table["overall"] /= 100
    return week, table.sort_values("overall", ascending=False, ignore_index=True)


def tabulate(rows, events):
    """Return a row a level and one for FutureX's overall score: asked, settled, predicted, mean,
    judged, weight.

    The overall score weighs the levels 0.1, 0.2, 0.3, 0.4 (4.1), over those that have a settled
    question.
    """
    by, weights = (
        rows.groupby("level"),
        dict(zip(LEVELS, get_constant("futurex", "level_weights"), strict=True)),
    )
    table = pd.DataFrame({"asked": events.groupby("level").size(), "settled": by.size()})
    table["predicted"] = table["settled"] - by["is_missing"].sum()
    table = table.fillna(0).astype(int)
    table[["mean", "judged"]], table["weight"] = (
        by[["score_imputed", "judged"]].mean(),
        table.index.map(weights),
    )
    shares, known = table["weight"].where(table["settled"] > 0), ["mean", "judged"]
    overall = table[["asked", "settled", "predicted"]].sum().to_dict() | {"level": "overall"}
    overall |= (table[known].mul(shares, axis=0).sum() / shares.sum()).to_dict()
    if rows["judged"].isna().any():  # a mean over the judged ones alone would be of other questions
        is_blank = rows["judged"].isna().groupby(rows["level"]).any()
        table["judged"] = table["judged"].mask(is_blank.reindex(table.index).eq(True))
        overall["judged"] = float("nan")
    return pd.concat(
        [table.rename_axis("level").reset_index().astype({"level": str}), pd.DataFrame([overall])]
    )
