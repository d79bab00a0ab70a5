"""People as forecasters: a form for their answers that keeps the rules of the paper's study (FutureX 4.2, appendix C).

A sheet is what one person writes on one question: the steps (key words, page, observation, reasoning), then the answer.
It is taken when it keeps the rules: so many minutes, so many steps, a page. What is missing is said, and nothing that
was written is lost: all is kept, as it is written, in the folder's people.sqlite. Taken answers are those of an agent
"people"; they are exported in the form that `make figures RUN=folder` reads, with runs.csv and traces.csv beside them
in the columns of the kit's tables.

A form cannot see whether somebody asked a language model: the paper's ban rests on screencasts, here on the person's
word. Questions must still be open, or the web of today holds their answers.
"""

import html
import re
import sqlite3
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import papers
from helpers.agents.runs import sample_events
from helpers.formats.folder import read_value
from helpers.store import TABLES, dump_json, insert_row, list_columns, open_store, parse_json

AGENT = "people"
"""The agent that all persons are; each person is a run of it."""

N_PEOPLE = papers.get_constant("futurex", "human_experts")
N_QUESTIONS = papers.get_constant("futurex", "human_questions")
"""How many people the paper asked how many questions (FutureX 4.2)."""

STEP = ("keywords", "page", "observation", "reasoning")
"""What a step says: what was searched for, the page's address, what it says, what follows from it."""


NOTES = "people.sqlite"
"""What a folder's people have written, in the making and taken."""
EXPORTED = ("runs", "traces", "predictions")
"""The tables that are written as csv, the predictions last: what they rest on is there before them."""


class Incomplete(ValueError):
    """A sheet that is not taken yet; `missing` holds a sentence for each rule that it does not keep."""

    def __init__(self, missing):
        self.missing = list(missing)
        super().__init__(" ".join(self.missing))


def get_rules():
    """Return the paper's rules for a person's answer (appendix C).

    >>> get_rules()
    {'minutes': 5, 'steps': 3, 'pages': 1}
    """
    return {
        "minutes": papers.get_constant("futurex", "human_minutes"),
        "steps": papers.get_constant("futurex", "human_steps"),
        "pages": papers.get_constant("futurex", "human_pages"),
    }


def share_questions(events, seed, n_people=N_PEOPLE, n_questions=N_QUESTIONS):
    """Return who answers what: person (from 1), event_id, level; each question goes to one person (FutureX 4.2).

    The questions are a seeded sample, shared equally by the levels as far as each has enough. They are dealt level by
    level, so that two persons differ by one question at most, in all and within a level. Raises ValueError when there
    are fewer questions than asked for, or fewer than people.
    """
    if not n_people <= n_questions <= len(events):
        raise ValueError(f"{n_questions} questions of {len(events)} for {n_people} people: no one may go without")
    rng = np.random.default_rng(seed)
    chosen = sample_events(events, n_questions, seed).sort_values(["level", "event_id"])
    shuffled = chosen.iloc[rng.permutation(len(chosen))].sort_values("level", kind="stable")
    people = rng.permutation(n_people) + 1
    dealt = shuffled.assign(person=[int(people[at % n_people]) for at in range(len(shuffled))])
    return dealt[["person", "event_id", "level"]].sort_values(["person", "level", "event_id"], ignore_index=True)


# --- a sheet ---------------------------------------------------------------------------------------------------------


def start_sheet(event, person, now):
    """Return an empty sheet of a person on an event (a dict of the events table); `now` is a datetime."""
    return {"event": event, "person": str(person), "started_at": now, "steps": []}


def note_step(sheet, **step):
    """Return a sheet with one more step. Raises ValueError for a step without observation or reasoning.

    The paper's template wants both; key words and page may be blank where a step only thinks.
    """
    given = {name: str(step.get(name) or "").strip() for name in STEP}
    if not (given["observation"] and given["reasoning"]):
        raise ValueError("A step says what you observed and what you conclude from it; fill in both.")
    return sheet | {"steps": [*sheet["steps"], given]}


def find_missing(sheet, answer, now):
    """Return a sentence for each rule that a sheet does not keep yet, [] when it can be taken."""
    rules = get_rules()
    minutes = (now - sheet["started_at"]).total_seconds() / 60
    pages = {step["page"] for step in sheet["steps"] if step["page"]}
    missing = []
    if minutes < rules["minutes"]:
        missing.append(f"Time: {np.floor(10 * minutes) / 10:.1f} of at least {rules['minutes']} minutes.")
    if len(sheet["steps"]) < rules["steps"]:
        missing.append(f"Steps: {len(sheet['steps'])} of at least {rules['steps']}.")
    if len(pages) < rules["pages"]:
        missing.append(f"Pages: {len(pages)} of at least {rules['pages']}; note the address of what you read.")
    try:
        if read_answer(answer, sheet["event"]) is None:
            missing.append("Answer: it is blank.")
    except ValueError as error:
        missing.append(f"Answer: {error}.")
    return missing


def read_answer(answer, event):
    """Return an answer as typed in the event's form; None for a blank. Raises ValueError for what does not fit.

    Several options or names stand with commas (options), semicolons or bars between them.

    >>> read_answer("a, C", {"kind": "multi", "options": '{"A": "x", "B": "y", "C": "z"}'})
    ['A', 'C']
    >>> read_answer("12,450.5", {"kind": "number", "options": None})
    12450.5
    """
    kind, text = event["kind"], str(answer).strip()
    options = parse_json(event.get("options")) or {}
    if kind == "number":
        text = text.replace(",", "")
    if kind in ("multi", "ranking", "list"):
        parts = [part.strip() for part in re.split(r"[|;,]" if kind == "multi" else r"[|;]", text) if part.strip()]
        text = "|".join(parts)
    if kind in ("single", "multi"):
        text = "|".join(part.upper() if part.upper() in options else part for part in text.split("|"))
    return read_value(text, kind, options)


def build_rows(sheet, answer, now):
    """Return a sheet's rows of the tables runs, traces and predictions, each a list of dicts."""
    event, run_id = sheet["event"], f"{AGENT}-{sheet['person']}"
    key = {"run_id": run_id, "event_id": event["event_id"], "sample": 0}
    pages = sorted({step["page"] for step in sheet["steps"] if step["page"]})
    value = dump_json(read_answer(answer, event))
    traces = [{"step_type": "prompt", "content": event["prompt"]}]
    traces += [
        {
            "step_type": "tool" if step["page"] else "thought",
            "tool": "open" if step["page"] else None,
            "arguments": dump_json({"keywords": step["keywords"], "address": step["page"]}),
            "content": f"{step['observation']}\n{step['reasoning']}",
        }
        for step in sheet["steps"]
    ]
    traces.append({"step_type": "answer", "content": value})
    seconds = (now - sheet["started_at"]).total_seconds()
    traces[-1]["duration_s"] = round(seconds, 1)
    run = {"run_id": run_id, "agent_id": AGENT, "category": "human", "framework": "form"}
    run |= {"params": dump_json(get_rules()), "status": "partial"}
    made = key | {"agent_id": AGENT, "as_of": now.isoformat(timespec="seconds"), "status": "ok", "value": value}
    made |= {"rationale": sheet["steps"][-1]["reasoning"] if sheet["steps"] else None, "source_ids": dump_json(pages)}
    return {
        "runs": [run],
        "traces": [key | {"step": at, "actor": sheet["person"]} | step for at, step in enumerate(traces)],
        "predictions": [made],
    }


def prepare_folder(folder, events, answers=None):
    """Write events.csv, and answers.csv once there are answers, of the questions that people are asked.

    With predictions.csv, which the form writes, `make figures RUN=folder` scores and draws it.
    """
    columns = ["event_id", "kind", "options", "level", "domain", "as_of", "prompt", "unit", "k", "resolves_at"]
    with closing(open_notes(folder)) as connection, write_at_once(connection):
        write_csv(events.reindex(columns=columns), folder, "events")
        if answers is not None:
            kept = answers[answers["event_id"].isin(events["event_id"])]
            write_csv(kept[["event_id", "value", "spread"]].dropna(subset="value"), folder, "answers")


# --- what is kept ----------------------------------------------------------------------------------------------------


def open_notes(folder):
    """Open a folder's people.sqlite, a ledger with tables of its own for sheets under way; returns the connection.

    People on one machine may write at once; the file is for a local disk (its write-ahead log needs shared memory).
    Rows of runs.csv, traces.csv and predictions.csv that no such file knows are taken in first.
    """
    connection = open_store(Path(folder) / NOTES)
    with write_at_once(connection):
        for sql in (
            "CREATE TABLE IF NOT EXISTS sheets (run_id, event_id, started_at, draft, PRIMARY KEY (run_id, event_id))",
            "CREATE TABLE IF NOT EXISTS steps (run_id, event_id, step, content, PRIMARY KEY (run_id, event_id, step))",
        ):
            connection.execute(sql)
        if not has_answers(connection):
            take_in(connection, folder)
    return connection


def take_in(connection, folder):
    """Store the rows of a folder's csv files, written before there was a people.sqlite."""
    for path in [Path(folder) / f"{name}.csv" for name in EXPORTED]:
        rows = pd.read_csv(path, dtype=object, keep_default_na=False) if path.exists() else pd.DataFrame()
        for row in rows.replace("", None).to_dict("records"):
            numbers = {name: int(row[name]) for name in ("sample", "step") if name in row}
            insert_row(connection, path.stem, row | numbers)


def has_answers(connection):
    """Return whether anybody's answer is stored."""
    return connection.execute("SELECT 1 FROM predictions LIMIT 1").fetchone() is not None


@contextmanager
def write_at_once(connection):
    """Let one writer in, for as long as the block runs; an exception takes back what the block wrote."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


def keep_sheet(connection, sheet, draft=None):
    """Store that a sheet was begun (its first moment stands) and, when given, the form's unsent words (a dict)."""
    row = {**name_sheet(sheet), "started_at": sheet["started_at"].isoformat()}
    with write_at_once(connection):
        insert_row(connection, "sheets", row)
        if draft is not None:
            sql = "UPDATE sheets SET draft = ? WHERE run_id = ? AND event_id = ?"
            connection.execute(sql, [dump_json(draft), *name_sheet(sheet).values()])


def keep_step(connection, sheet):
    """Store a sheet's last step behind those that are there."""
    sql = "SELECT coalesce(max(step), 0) + 1 FROM steps WHERE run_id = ? AND event_id = ?"
    with write_at_once(connection):
        (at,) = connection.execute(sql, [*name_sheet(sheet).values()]).fetchone()
        insert_row(connection, "steps", {**name_sheet(sheet), "step": at, "content": dump_json(sheet["steps"][-1])})


def recall_sheet(connection, sheet):
    """Return (sheet, draft): a sheet as it was last kept, itself where it was not, and the form's unsent words."""
    where, key = "WHERE run_id = ? AND event_id = ?", [*name_sheet(sheet).values()]
    kept = connection.execute(f"SELECT started_at, draft FROM sheets {where}", key).fetchone()
    steps = connection.execute(f"SELECT content FROM steps {where} ORDER BY step", key).fetchall()
    started_at, draft = kept or (None, None)
    moment = datetime.fromisoformat(started_at) if started_at else sheet["started_at"]
    return sheet | {"started_at": moment, "steps": [parse_json(step) for (step,) in steps]}, parse_json(draft) or {}


def name_sheet(sheet):
    """Return a sheet's key in the tables, run_id and event_id.

    >>> name_sheet({"person": "7", "event": {"event_id": "e1"}})
    {'run_id': 'people-7', 'event_id': 'e1'}
    """
    return {"run_id": f"{AGENT}-{sheet['person']}", "event_id": sheet["event"]["event_id"]}


def is_answered(connection, sheet):
    """Return whether a sheet's person has answered its question already."""
    sql = "SELECT 1 FROM predictions WHERE run_id = ? AND event_id = ?"
    return connection.execute(sql, [*name_sheet(sheet).values()]).fetchone() is not None


def submit_answer(sheet, answer, clock, folder):
    """Store a person's answer in a folder; returns the row of predictions. `clock` is called for the moment.

    Answer and trace go in together or not at all; the csv files are written from what is stored. Raises Incomplete,
    having written nothing, when a rule is not kept, ValueError for a person's second answer to a question, and OSError
    when the answer is stored but no csv file can be written.
    """
    now = clock()
    missing = find_missing(sheet, answer, now)
    if missing:
        raise Incomplete(missing)
    rows = build_rows(sheet, answer, now)
    with closing(open_notes(folder)) as connection:
        with write_at_once(connection):
            if is_answered(connection, sheet):
                raise ValueError(
                    "{run_id} has answered {event_id} already; that answer stands.".format_map(name_sheet(sheet))
                )
            for name in EXPORTED:
                for row in rows[name]:
                    insert_row(connection, name, row)
        export_tables(connection, folder)
    return rows["predictions"][0]


def export_tables(connection, folder):
    """Write a folder's runs.csv, traces.csv and predictions.csv from what is stored; one writer at a time."""
    try:
        with write_at_once(connection):
            for name in EXPORTED:
                order = ", ".join(TABLES[name][0])
                table = pd.read_sql_query(f"SELECT * FROM {name} ORDER BY {order}", connection, dtype=object)
                write_csv(table[list_columns(name)], folder, name)
    except OSError as error:
        words = (
            f"The answers are safe in {NOTES}, but no csv could be written ({error.strerror}); make room on the disk"
        )
        raise OSError(f"{words}: the next answer, or opening the form again, writes them.") from error


def write_csv(table, folder, name):
    """Write <folder>/<name>.csv whole or not at all; who writes holds the folder's lock (`write_at_once`)."""
    path = Path(folder) / f"{name}.csv"
    table.to_csv(path.with_suffix(".partial"), index=False, lineterminator="\n")
    path.with_suffix(".partial").replace(path)


# --- the form --------------------------------------------------------------------------------------------------------


def open_form(tasks, person, folder, clock):
    """Return the form of a person as a widget: a question after the other, its steps, its answer, what is missing.

    `tasks` is a list of events (dicts) in the order in which they are asked; a question's time runs from the moment at
    which it is first shown. `clock` returns an aware datetime. Every step is stored as it is noted and every word as it
    is typed, so the form goes on where a closed browser or a crash left it.
    """
    import ipywidgets as widgets

    connection, wide = open_notes(folder), {"layout": widgets.Layout(width="95%")}
    if has_answers(connection):
        export_tables(connection, folder)
    names = [(f"{at + 1}. {task['prompt'].splitlines()[0][:90]}", at) for at, task in enumerate(tasks)]
    choice, question = widgets.Dropdown(options=names, value=0, **wide), widgets.HTML()
    fields = {name: widgets.Textarea(description=name, rows=1 if name in STEP[:2] else 3, **wide) for name in STEP}
    add, send = widgets.Button(description="note this step"), widgets.Button(description="submit the answer")
    answer, said = widgets.Text(description="answer", **wide), widgets.HTML()
    typed = {**fields, "answer": answer}

    def recall():
        return recall_sheet(connection, start_sheet(tasks[choice.value], person, clock()))

    def guard(act):
        def acted(change):
            try:
                act(change)
            except (ValueError, sqlite3.Error, OSError) as error:
                said.value = explain_unsaved(error) if isinstance(error, sqlite3.Error) else str(error)

        return acted

    def show(change=None):
        sheet, draft = recall()
        keep_sheet(connection, sheet)
        question.value = "<pre>" + html.escape(sheet["event"]["prompt"]) + "</pre>"
        fill(draft)
        n = len(sheet["steps"])
        said.value = "answered" if is_answered(connection, sheet) else f"{n} steps noted"

    def fill(draft):
        for name, field in typed.items():
            field.unobserve(keep, "value")
            field.value = draft.get(name, "")
            field.observe(keep, "value")

    def keep_typed(change):
        keep_sheet(connection, recall()[0], {name: field.value for name, field in typed.items() if field.value})

    def note(button):
        keep_step(connection, note_step(recall()[0], **{name: field.value for name, field in fields.items()}))
        keep_sheet(connection, recall()[0], {"answer": answer.value})
        show()

    def submit(button):
        submit_answer(recall()[0], answer.value, clock, folder)
        fill({})
        keep_typed(button)
        said.value = "The answer is taken."

    keep = guard(keep_typed)
    choice.observe(guard(show), "value")
    add.on_click(guard(note))
    send.on_click(guard(submit))
    guard(show)(None)
    return widgets.VBox([choice, question, *fields.values(), add, answer, send, said])


def explain_unsaved(error):
    """Return what a person is told when something could not be written; an answer once stored stays stored.

    >>> explain_unsaved(sqlite3.OperationalError("database or disk is full"))
    'Not saved (database or disk is full): make room on the disk and press again; what is typed here stays.'
    """
    return f"Not saved ({error}): make room on the disk and press again; what is typed here stays."
