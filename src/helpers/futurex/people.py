"""People as forecasters: a form for their answers that keeps the rules of the paper's study (FutureX 4.2, appendix C).

A sheet is what one person writes on one question: the steps (key words, page, observation, reasoning), then the answer.
It is taken when it keeps the rules: so many minutes, so many steps, a page. What is missing is said, and nothing that
was written is lost. Taken answers go to a folder in the form that `make figures RUN=folder` reads, as those of an agent
"people", with runs.csv and traces.csv beside them in the columns of the kit's tables.

A form cannot see whether somebody asked a language model: the paper's ban rests on screencasts, here on the person's
word. Questions must still be open, or the web of today holds their answers.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import papers
from helpers.agents.runs import sample_events
from helpers.formats.folder import read_value
from helpers.store import TABLES, dump_json, list_columns, parse_json

AGENT = "people"
"""The agent that all persons are; each person is a run of it."""

N_PEOPLE = papers.get_constant("futurex", "human_experts")
N_QUESTIONS = papers.get_constant("futurex", "human_questions")
"""How many people the paper asked how many questions (FutureX 4.2)."""

STEP = ("keywords", "page", "observation", "reasoning")
"""What a step says: what was searched for, the page's address, what it says, what follows from it."""


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


def submit_answer(sheet, answer, clock, folder):
    """Write a person's answer to a folder; returns the row of predictions. `clock` is called for the moment.

    Raises Incomplete, having written nothing, when a rule is not kept, and ValueError for a person's second answer to a
    question.
    """
    now = clock()
    missing = find_missing(sheet, answer, now)
    if missing:
        raise Incomplete(missing)
    rows, folder = build_rows(sheet, answer, now), Path(folder)
    made = rows["predictions"][0]
    if (folder / "predictions.csv").exists():
        taken = pd.read_csv(folder / "predictions.csv", dtype=str)
        if ((taken["run_id"] == made["run_id"]) & (taken["event_id"] == made["event_id"])).any():
            raise ValueError(f"{made['run_id']} has answered {made['event_id']} already; that answer stands.")
    for name in ("runs", "traces", "predictions"):  # the prediction last: what it rests on is there before it
        write_rows(folder, name, rows[name])
    return made


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


def write_rows(folder, name, rows):
    """Add rows to <folder>/<name>.csv, in the columns of the kit's table and in place of rows of the same question."""
    path, same = folder / f"{name}.csv", TABLES[name][0][:2]
    new = pd.DataFrame(rows, columns=list_columns(name), dtype=object)
    if path.exists():
        old = pd.read_csv(path, dtype=str, keep_default_na=False)
        is_same = old[same].apply(tuple, axis=1).isin(new[same].apply(tuple, axis=1))
        new = pd.concat([old[~is_same], new])
    folder.mkdir(parents=True, exist_ok=True)
    new.to_csv(path.with_suffix(".partial"), index=False, lineterminator="\n")
    path.with_suffix(".partial").replace(path)


def prepare_folder(folder, events, answers=None):
    """Write events.csv, and answers.csv once there are answers, of the questions that people are asked.

    With predictions.csv, which the form writes, `make figures RUN=folder` scores and draws it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["event_id", "kind", "options", "level", "domain", "as_of", "prompt", "unit", "k", "resolves_at"]
    for name, table in (("events", events.reindex(columns=columns)), ("answers", answers)):
        if table is not None:
            kept = table[table["event_id"].isin(events["event_id"])]
            kept = kept if name == "events" else kept[["event_id", "value", "spread"]].dropna(subset="value")
            kept.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


# --- the form --------------------------------------------------------------------------------------------------------


def open_form(tasks, person, folder, clock):
    """Return the form of a person as a widget: a question after the other, its steps, its answer, what is missing.

    `tasks` is a list of events (dicts) in the order in which they are asked; a question's time runs from the moment at
    which it is first shown. `clock` returns an aware datetime.
    """
    import ipywidgets as widgets

    sheets = {}
    wide = {"layout": widgets.Layout(width="95%")}
    names = [(f"{at + 1}. {task['prompt'].splitlines()[0][:90]}", at) for at, task in enumerate(tasks)]
    choice, question = widgets.Dropdown(options=names, value=0, **wide), widgets.HTML()
    fields = {name: widgets.Textarea(description=name, rows=1 if name in STEP[:2] else 3, **wide) for name in STEP}
    add, send = widgets.Button(description="note this step"), widgets.Button(description="submit the answer")
    answer, said = widgets.Text(description="answer", **wide), widgets.HTML()

    def show(change=None):
        sheets.setdefault(choice.value, start_sheet(tasks[choice.value], person, clock()))
        question.value = "<pre>" + tasks[choice.value]["prompt"].replace("<", "&lt;") + "</pre>"
        said.value = f"{len(sheets[choice.value]['steps'])} steps noted"

    def note(button):
        try:
            given = {name: field.value for name, field in fields.items()}
            sheets[choice.value] = note_step(sheets[choice.value], **given)
        except ValueError as error:
            said.value = str(error)
            return
        for field in fields.values():
            field.value = ""
        show()

    def submit(button):
        try:
            submit_answer(sheets[choice.value], answer.value, clock, folder)
        except ValueError as error:
            said.value = str(error)
            return
        answer.value, said.value = "", "The answer is taken."

    choice.observe(show, "value")
    add.on_click(note)
    send.on_click(submit)
    show()
    return widgets.VBox([choice, question, *fields.values(), add, answer, send, said])
