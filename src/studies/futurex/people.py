"""People as forecasters: a form for their answers that keeps the rules of the paper's study
(FutureX 4.2, appendix C).

A person notes steps (key words, page, observation, reasoning), then the answer; it is taken when so
much time has passed, so many steps are noted and a page is among them. All is kept as it is given
(`forms`), in people.sqlite of the folder; taken answers are exported in the form that `make add
FILE=folder` reads. A form cannot see whether somebody asked a language model: that rests on the
person's word. Questions must still be open.
"""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd

from daybefore.agents.runs import sample_events
from daybefore.formats.folder import read_value
from helpers import papers
from helpers.faults import escape_cells
from helpers.files import dump_json, parse_json, write_whole
from helpers.forms import keep_answer, open_form, read_answers

AGENT = "people"
"""The agent that all persons are; each person is a run of it."""
N_PEOPLE = papers.get_constant("futurex", "human_experts")
N_QUESTIONS = papers.get_constant("futurex", "human_questions")
RULES = {
    "minutes": papers.get_constant("futurex", "human_minutes"),
    "steps": papers.get_constant("futurex", "human_steps"),
    "pages": papers.get_constant("futurex", "human_pages"),
}
"""The least that a person's answer takes (appendix C)."""
STEP = ("keywords", "page", "observation", "reasoning")
"""What a step says: what was searched for, the page's address, what it says, what follows from
it."""


def share_questions(events, seed, n_people=N_PEOPLE, n_questions=N_QUESTIONS):
    """Return who answers what: person (from 1), event_id, level; each question goes to one person
    (FutureX 4.2).

    A seeded sample, shared equally by the levels as far as each has enough, dealt level by level:
    two persons differ by one question at most, in all and within a level. Raises ValueError where
    somebody would go without.
    """
    if not n_people <= n_questions <= len(events):
        raise ValueError(
            f"{n_questions} questions of {len(events)} for {n_people} people: no one may go without"
        )
    rng = np.random.default_rng(seed)
    chosen = sample_events(events, n_questions, seed).sort_values(["level", "event_id"])
    shuffled = chosen.iloc[rng.permutation(len(chosen))].sort_values("level", kind="stable")
    people = rng.permutation(n_people) + 1
    dealt = shuffled.assign(person=[int(people[at % n_people]) for at in range(len(shuffled))])
    return dealt[["person", "event_id", "level"]].sort_values(
        ["person", "level", "event_id"], ignore_index=True
    )


def find_missing(event, kept, answer, now):
    """Return a sentence for each rule that an answer does not keep yet, [] when it can be taken.

    `kept` are the rows of `forms.read_answers` of one person and event, whose time runs from the
    first; `now` a moment.
    """
    steps = kept.dropna(subset="observation")
    minutes = (
        (now - pd.Timestamp(kept["at"].iloc[0])) / pd.Timedelta(minutes=1) if len(kept) else 0.0
    )
    n_pages = steps["page"].replace("", None).nunique()
    missing = []
    if minutes < RULES["minutes"]:
        missing.append(
            f"Time: {np.floor(10 * minutes) / 10:.1f} of at least {RULES['minutes']} minutes."
        )
    if len(steps) < RULES["steps"]:
        missing.append(f"Steps: {len(steps)} of at least {RULES['steps']}.")
    if n_pages < RULES["pages"]:
        missing.append(
            f"Pages: {n_pages} of at least {RULES['pages']}; note the address of what you read."
        )
    try:
        if read_typed(answer, event) is None:
            missing.append("Answer: it is blank.")
    except ValueError as error:
        missing.append(f"Answer: {error}.")
    return missing


def read_typed(answer, event):
    """Return an answer as typed in the event's form; None for a blank. Raises ValueError for what
    does not fit.

    Several options or names stand with commas (options), semicolons or bars between them.

    >>> read_typed("a, C", {"kind": "multi", "options": '{"A": "x", "B": "y", "C": "z"}'})
    ['A', 'C']
    """
    kind = event["kind"]
    text = str(answer).strip()
    options = parse_json(event.get("options")) or {}
    if kind == "number":
        text = text.replace(",", "")
    if kind in ("multi", "ranking", "list"):
        parts = re.split(r"[|;,]" if kind == "multi" else r"[|;]", text)
        text = "|".join(part.strip() for part in parts if part.strip())
    if kind in ("single", "multi"):
        text = "|".join(
            part.upper() if part.upper() in options else part for part in text.split("|")
        )
    return read_value(text, kind, options)


def export_answers(folder, events, answers=None):
    """Write a folder's events.csv, answers.csv once there are `answers`, and predictions.csv, a run
    a person.

    A person's first taken answer to a question stands.
    """
    columns = [
        "event_id",
        "kind",
        "options",
        "level",
        "domain",
        "as_of",
        "prompt",
        "unit",
        "k",
        "resolves_at",
    ]
    tables = {"events": events.reindex(columns=columns)}
    made = []
    if answers is not None:
        known = answers[answers["event_id"].isin(events["event_id"])]
        tables["answers"] = known[["event_id", "value", "spread"]].dropna(subset="value")
    kept = read_answers(Path(folder) / "people.sqlite", (*STEP, "answer"))
    asked = {row["event_id"]: row for row in events.to_dict("records")}
    for (person, event_id), rows in kept[kept["item"].isin(asked)].groupby(
        ["person", "item"], sort=False
    ):
        taken = rows.dropna(subset="answer")
        steps = rows.dropna(subset="observation")
        if len(taken):
            value, at = taken[["answer", "at"]].iloc[0]
            key = {
                "run_id": f"{AGENT}-{person}",
                "event_id": event_id,
                "sample": 0,
                "agent_id": AGENT,
                "as_of": at,
            }
            key |= {"status": "ok", "value": dump_json(read_typed(value, asked[event_id]))}
            pages = dump_json(sorted(set(steps["page"]) - {""}))
            made.append(key | {"rationale": steps["reasoning"].iloc[-1], "source_ids": pages})
    tables["predictions"] = pd.DataFrame(made)
    for name, table in tables.items():
        write_whole(
            Path(folder) / f"{name}.csv",
            escape_cells(table).to_csv(index=False, lineterminator="\n"),
        )


def open_sheets(tasks, person, folder, clock, answers=None):
    """Return the form of a person as a widget: a question after the other, its steps, its answer,
    what is missing.

    `tasks` are events; a question's time runs from the first moment at which it is shown. `clock`
    returns an aware datetime. An answer that keeps the rules is exported (`export_answers`); one
    already taken stands.
    """
    path = Path(folder) / "people.sqlite"
    asked = {row["event_id"]: row for row in tasks.to_dict("records")}

    def recall(event_id):
        kept = read_answers(path, (*STEP, "answer"))
        return kept[(kept["person"] == str(person)) & (kept["item"] == event_id)]

    def keep(event_id, content):
        keep_answer(path, person, event_id, content, clock().isoformat(timespec="seconds"))

    def show(event_id):
        if recall(event_id).empty:
            keep(event_id, {})
        return f"<pre>{html.escape(asked[event_id]['prompt'])}</pre>", {}

    def note(event_id, values):
        step = {name: values[name].strip() for name in STEP}
        if not (step["observation"] and step["reasoning"]):
            raise ValueError(
                "A step says what you observed and what you conclude from it; fill in both."
            )
        keep(event_id, step)
        return f"{recall(event_id)['observation'].notna().sum()} steps noted", False

    def submit(event_id, values):
        kept = recall(event_id)
        if kept["answer"].notna().any():
            raise ValueError("This question is answered already; that answer stands.")
        if missing := find_missing(asked[event_id], kept, values["answer"], clock()):
            raise ValueError(" ".join(missing))
        keep(event_id, {"answer": values["answer"]})
        export_answers(folder, tasks, answers)
        return "The answer is taken.", True

    titles = {
        event_id: f"{at + 1}. {row['prompt'][:90]}"
        for at, (event_id, row) in enumerate(asked.items())
    }
    fields = dict.fromkeys([*STEP, "answer"])
    return open_form(titles, fields, show, {"note this step": note, "submit the answer": submit})
