"""A week's standing answers: how each is written, when a later round revises one, the files, and
the e-mail's fields.

A folder of data/weeks holds questions.csv (the events table), week.json (rounds, standing answers,
revisions) and org-X-agent-Y-model-Z.json and .jsonl (id, prediction). A round is a day's asking; a
later one revises an answer only on a material change, as h2oai's marina does: another answer with a
confidence that is higher by 0.1, or with pages not seen before.
"""

import json
import os
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd

from daybefore.formats.forecastbench_questions import VENUES, build_submission, find_chance
from daybefore.formats.write_exports import ORGANIZATION, TASK
from daybefore.live.week_questions import read_end
from daybefore.store import read_runs
from helpers.clock import ZONE
from helpers.files import locate_output, parse_json, write_whole
from helpers.input_faults import escape_cells, unescape_cells
from helpers.tables import check_table

RECIPIENT = "FutureX-ai@outlook.com"
"""Where submissions go, as the data set's card said in December 2025."""

SUBJECT = "FutureX Challenge Submission — [{agent}][{day}]"
MATERIAL = 0.1
"""By how much more confident a later answer must be to take a standing one's place without new
evidence."""

STATE, QUESTIONS = "week.json", "questions.csv"


def write_prediction(value, event):
    r"""Return a value as the submission has it: letters, names, a number with its unit; "" for
    none.

    >>> event = {"kind": "number", "unit": "点", "options": None, "metadata": '{"writes": "value"}'}
    >>> write_prediction(112.52, event), write_prediction(None, event), write_prediction(1e7, event | {"unit": "%"})
    ('112.52 点', '', '10000000%')
    >>> event = {"kind": "multi", "options": '{"A": "x", "B": "y"}', "metadata": '{"writes": "letter"}'}
    >>> write_prediction(["A", "B"], event)
    'A, B'
    """
    if value is None:
        return ""
    if event["kind"] in ("number", "percent"):
        unit = (
            event["unit"]
            if isinstance(event["unit"], str)
            else "%"
            if event["kind"] == "percent"
            else ""
        )
        digits = format(
            Decimal(repr(float(value))).normalize(), "f"
        )  # as many as it has, and no exponent
        return f"{digits}{' ' * (unit not in ('', '%'))}{unit}"
    items = value if isinstance(value, list) else [value]
    if parse_json(event["metadata"]).get("writes") == "text":
        options = parse_json(event["options"])
        items = [options[letter] for letter in items]
    return ("; " if any(", " in item for item in items) else ", ").join(items)


# --- answers and their revision ---------------------------------------------------------------------


ABOUT = ("as_of", "status", "reason", "value", "probability", "distribution")
"""Cells of a prediction that a standing answer keeps, beside `prediction` (its words) and `pages`
(ids it saw)."""


def collect_answers(path, run_ids, events):
    """Return {event_id: answer} of the first of some runs (a majority before its samples) that has
    a prediction."""
    about = {"status": "missing", "reason": "it was not asked", "prediction": "", "pages": []}
    found = {key: dict.fromkeys(ABOUT) | about for key in events["event_id"]}
    kinds = {event["event_id"]: event for event in events.to_dict("records")}
    for run_id in run_ids:
        traces = read_runs(path, "traces", [run_id]).dropna(subset="page_ids")
        pages = traces["page_ids"].map(parse_json).groupby(traces["event_id"]).sum()
        table = read_runs(path, "predictions", [run_id]).astype(object)
        for row in table.where(table.notna(), None).to_dict("records"):
            key, value = row["event_id"], parse_json(row["value"])
            standing = found.get(key)
            if standing is None or standing["prediction"]:
                continue
            if value is not None or standing["reason"] == about["reason"]:
                seen = sorted({*pages.get(key, ()), *(parse_json(row["source_ids"]) or ())})
                made = {"prediction": write_prediction(value, kinds[key]), "pages": seen}
                found[key] = {column: row[column] for column in ABOUT} | made
    return found


def revise(standing, new):
    """Return (the answer that stands from now on, why it changed or was kept); standing is None at
    first.

    >>> old = {"prediction": "A", "probability": 0.6, "pages": ["p1"]}
    >>> revise(old, {"prediction": "B", "probability": 0.65, "pages": ["p1"]})[1]
    'kept: B is no more confident by 0.1 (0.60, now 0.65) and rests on no new page'
    >>> revise(old, {"prediction": "B", "probability": 0.7, "pages": []})[1]
    'revised: confidence 0.60, now 0.70'
    """
    if standing is None or standing.get("as_of", "") in (
        None,
        new.get("as_of"),
    ):  # none yet, or of this very round
        return new, ""
    if not new["prediction"] or new["prediction"] == standing["prediction"]:
        return standing, ""
    if not standing["prediction"]:
        return new, "revised: it had no answer"
    before, now = standing["probability"], new["probability"]
    is_known = before is not None and now is not None
    if is_known and round(now - before, 9) >= MATERIAL:
        return new, f"revised: confidence {before:.2f}, now {now:.2f}"
    if fresh := sorted(set(new["pages"]) - set(standing["pages"])):
        return (
            new,
            f"revised: {len(fresh)} new page{'s' * (len(fresh) > 1)}, {', '.join(fresh[:3])}",
        )
    told = (
        f"no more confident by {MATERIAL} ({before:.2f}, now {now:.2f})"
        if is_known
        else "of unknown confidence"
    )
    return standing, f"kept: {new['prediction']} is {told} and rests on no new page"


def revise_all(state, answers, as_of):
    """Enter a round's answers into a week's state; returns the sentences on what was revised or
    kept."""
    told = []
    for event_id, new in answers.items():
        standing = state["standing"].get(event_id)
        state["standing"][event_id], why = revise(standing, new)
        if why:
            change = {"id": event_id, "as_of": as_of, "why": why}
            change |= {"from": standing["prediction"], "to": new["prediction"]}
            state["revisions"] += [change] if change not in state["revisions"] else []
            told.append(f"{event_id} ({standing['prediction'] or 'none'}): {why}")
    return told


# --- the week's folder ------------------------------------------------------------------------------


def list_weeks(out=None):
    """Return the folders of the newest week in `out` or below it (default: data/weeks), one for
    each agent that was asked it. Raises ValueError for none."""
    base = Path(out) if out else locate_output("data/weeks")
    states = {path.parent: read_state(path.parent) for path in sorted(base.rglob(STATE))}
    if not states:
        raise ValueError(
            f"{base} holds no week that was asked ({STATE}); `daybefore week --agent NAME` makes one"
        )
    newest = max(states.values(), key=lambda state: state["rounds"][-1]["as_of"])
    return [folder for folder, state in states.items() if state["commit"] == newest["commit"]]


def read_week(folder):
    """Return (state, events) of a week's folder."""
    events = unescape_cells(pd.read_csv(folder / QUESTIONS, dtype={"event_id": str}))
    return read_state(folder), check_table("events", events)


def read_state(folder):
    """Return a week's state, a new one where the folder has none."""
    path = Path(folder) / STATE
    if path.exists():
        return json.loads(path.read_text("utf-8"))
    state = dict.fromkeys(("agent", "model", "source", "commit"))
    return state | {"message": "", "rounds": [], "standing": {}, "revisions": []}


def open_round(state, now):
    """Return the round to ask: the last one while it is not complete or its day (UTC+8) lasts, else
    a new one.

    >>> now = pd.Timestamp("2026-03-04T10:00:00+08:00")
    >>> open_round({"rounds": [{"as_of": "2026-03-03T09:00:00+08:00", "is_complete": True}]}, now)["as_of"]
    '2026-03-04T10:00:00+08:00'
    """
    last = state["rounds"][-1] if state["rounds"] else None
    if last and (not last["is_complete"] or pd.Timestamp(last["as_of"]).date() == now.date()):
        return last
    state["rounds"].append({"as_of": now.isoformat(timespec="seconds"), "is_complete": False})
    return state["rounds"][-1]


def name_week(state):
    """Return the name, without its ending, of the file a week's answers are handed in as (FutureX's
    form of it).

    >>> name_week({"agent": "mine", "model": "openai/gpt-5"})
    'org-daybefore-agent-mine-model-openai_gpt-5'
    """
    return re.sub(r"[^\w.-]", "_", f"org-{TASK}-agent-{state['agent']}-model-{state['model']}")


def write_week(folder, state, events):
    """Write a week's files; each replaces the one before as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {
        name: state["standing"].get(name, {}).get("prediction", "") for name in events["event_id"]
    }
    rows = [{"id": name, "prediction": prediction} for name, prediction in given.items()]
    texts = {
        QUESTIONS: escape_cells(events).to_csv(index=False, lineterminator="\n"),
        STATE: json.dumps(state, ensure_ascii=False, indent=1, sort_keys=True) + "\n",
        f"{name_week(state)}.json": json.dumps(rows, ensure_ascii=False, indent=1) + "\n",
        f"{name_week(state)}.jsonl": "".join(
            json.dumps(row, ensure_ascii=False) + "\n" for row in rows
        ),
    }
    for name, text in texts.items():
        write_whole(folder / name, text)


def write_round(folder, state, events):
    """Write ForecastBench's submission of a week that was asked of its questions; returns the
    files, [] of another."""
    forecasts = {}
    for event in events.to_dict("records"):
        name, venue = parse_json(event["metadata"]).get("question_set"), event["source_id"]
        if name is None:
            continue
        key, date = event["event_id"][11:].removeprefix(f"{venue}-"), None  # after the due date
        if venue not in VENUES:
            key, date = key[:-11], key[-10:]
        answer = state["standing"].get(event["event_id"], {})
        value, shares = (parse_json(answer.get(column)) for column in ("value", "distribution"))
        chance = find_chance("A", value, answer.get("probability"), shares)
        one = (key, venue, chance, date, None)
        forecasts.setdefault(name.partition("@")[0], []).append(one)
    paths = []
    for name, rows in sorted(forecasts.items()):
        made = build_submission(ORGANIZATION, state["agent"], name, rows, state["model"])
        paths.append(folder / f"{name[:10]}.daybefore.{state['agent']}.json")
        write_whole(paths[-1], json.dumps(made, ensure_ascii=False, indent=1) + "\n")
    return paths


def build_predictions(state):
    """Return the standing answers as a predictions table."""
    table = pd.DataFrame.from_dict(state["standing"], orient="index")[list(ABOUT)]
    as_of = table["as_of"].fillna(state["rounds"][-1]["as_of"])
    about = {"run_id": state["agent"], "agent_id": state["agent"], "sample": 0, "as_of": as_of}
    table = table.assign(event_id=table.index, **about).reset_index(drop=True)
    return check_table("predictions", table)


# --- the deadline and the e-mail --------------------------------------------------------------------


def find_deadline(batch):
    """Return the Wednesday 24:00 (UTC+8) by which a week's answers count, by its commit's message
    or its first end.

    None for questions that are not the challenge's, or say neither.
    """
    if batch.is_challenge and (
        match := re.search(r"(\d{4}-\d\d-\d\d)\s*-?\s*to", batch.message, re.IGNORECASE)
    ):
        return pd.Timestamp(match[1], tz=ZONE) + pd.Timedelta(days=1)
    ends = [read_end(row["end_time"]) for row in batch.rows if "end_time" in row]
    if not batch.is_challenge or not ends:
        return None
    first = min(ends).normalize()
    return first - pd.Timedelta(days=(first.weekday() - 3) % 7)  # back to a Thursday 00:00


def describe_batch(batch, now):
    """Return a sentence on what is asked, and by when it is wanted."""
    told = f"{len(batch.rows)} questions of {batch.source}, commit {batch.commit[:12]}"
    told += f" ({batch.message})" * bool(batch.message)
    if (deadline := find_deadline(batch)) is not None:
        told += f"; wanted by {deadline:%Y-%m-%d %H:%M} UTC+8"
        told += ", which has passed: the challenge does not count what comes now" * (now > deadline)
    return told


def list_late(batch, now):
    """Return the ids of rows whose window has ended: their outcome may be known, and the challenge
    counts none."""
    return [
        row["id"] for row in batch.rows if "end_time" in row and read_end(row["end_time"]) <= now
    ]


def describe_email(agent, batch, now, folder):
    """Return the fields of the e-mail that a person sends: recipient, subject, attachment,
    commit."""
    day = now.tz_convert(ZONE).date().isoformat()
    return (
        f"to: {RECIPIENT} (as the data set's card said in December 2025: look there first)\n"
        f"subject: {SUBJECT.format(agent=agent, day=day)}\n"
        f"attach: {os.path.relpath(folder / f'{name_week(read_state(folder))}.jsonl')}\n"
        f"say: data set {batch.source}, commit {batch.commit}\n"
        "nothing was sent"
    )
