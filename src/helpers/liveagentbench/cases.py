"""Users' questions made into tasks with a checked answer: what is read, tagged and controlled (LiveAgentBench 3.2).

The paper's name is social-perception-driven data generation. Questions come as JSON lines: `question_id` and `text`
are needed; `kind`, `abilities`, `environments` are labels (ours: by the language model that wrote the questions),
`lacks` names what a question speaks of and did not come with, `answer` is what is known beforehand, or `answer_task`
the task that has the same answer. A case is an annotator's work on a question: the task that it became (of
`helpers.liveagentbench.tasks`) and its labelled steps; `planted` names the control that a synthetic case must not pass.
"""

import json
from typing import NamedTuple

import pandas as pd
from jsonschema import Draft202012Validator

from helpers import papers
from helpers.formats.lines import read_lines
from helpers.liveagentbench.tasks import FORMS
from helpers.models.grammars import make_schema
from helpers.store import ROOT

ABILITIES = ("recall", "find", "read", "compare", "calculate", "count")
ENVIRONMENTS = (*dict.fromkeys(environment for _, environment in FORMS.values()), "none")
KINDS = ("knowledge", "lookup", "opinion", "work")
"""What a question is: known without a tool, found by one search, a matter of taste, or work for a tool."""
CONTROLS = ("relevance", "complexity", "executability", "uniqueness")
STAGES = ("attachment", "tool dependent", "not retrievable", "constructed", *CONTROLS)
"""A question's way; it goes on only from a stage that keeps it."""
JUDGES = ("model", "labels")
MAX_MISMATCH = papers.get_constant("liveagentbench", "mismatch_limit")
MIN_STEPS = papers.get_constant("liveagentbench", "min_steps")
MIN_TOOLS = papers.get_constant("liveagentbench", "min_tools")
"""Share of tags not in common above which a task is built anew; fewest steps and tools of a task (3.2.4, 3.2.2)."""
LEVELS = tuple(zip(papers.get_constant("liveagentbench", "level_steps"), (1, None), strict=True))
"""Most steps and tools of levels 1 and 2; the paper prints none, so these are GAIA's."""
TEXT = {"type": "string", "minLength": 1}
STEP_LABELS = {"ability": {"enum": list(ABILITIES)}, "environment": {"enum": list(ENVIRONMENTS)}}
QUESTION = {
    "type": "object",
    "required": ["question_id", "text"],
    "properties": {
        "question_id": TEXT,
        "text": TEXT,
        "kind": {"enum": [*KINDS, None]},
        "abilities": {"type": ["array", "null"], "items": STEP_LABELS["ability"]},
        "environments": {"type": ["array", "null"], "items": STEP_LABELS["environment"]},
    },
}
CASE = {
    "type": "object",
    "required": ["question_id", "event_id", "steps"],
    "properties": {
        "steps": {"type": "array", "minItems": 1, "items": make_schema(do={"type": "string"}, **STEP_LABELS)},
        "planted": {"enum": [*CONTROLS, "", None]},
    },
}
"""JSON schemas of the lines of questions.jsonl and cases.jsonl."""


class Step(NamedTuple):
    """A labelled step: what is done, the ability it takes, the environment it is done in."""

    do: str
    ability: str
    environment: str


def read_rows(path, schema):
    """Return the objects of a JSON lines file, each held to a schema, of questions that occur once.

    Raises ValueError with file, line and reason.
    """
    rows, check = {}, Draft202012Validator(schema)
    for place, row in read_lines(path, lambda row: [f"{e.json_path} {e.message}" for e in check.iter_errors(row)]):
        if row["question_id"] in rows:
            raise ValueError(f"{place}: question_id {row['question_id']!r} is there already")
        rows[row["question_id"]] = row
    if not rows:
        raise ValueError(f"{path.name} holds no question")
    return list(rows.values())


def load_questions(path=ROOT / "data/spdg/questions.jsonl"):
    """Return users' questions: question_id, text, kind, abilities, environments, lacks, answer, answer_task.

    What is not given is None. Raises ValueError with file, line and reason for a line that is no question.
    """
    columns = ["question_id", "text", "kind", "abilities", "environments", "lacks", "answer", "answer_task"]
    table = pd.DataFrame(read_rows(path, QUESTION)).reindex(columns=columns).astype(object)
    return table.where(table.notna(), None)


def write_questions(questions, path):
    """Write questions (columns question_id, prompt) as JSON lines that `load_questions` reads; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"question_id": row.question_id, "text": row.prompt} for row in questions.itertuples()]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def load_cases(questions, tasks, answers, path=ROOT / "data/spdg/cases.jsonl"):
    """Return the annotator's cases by question_id: dicts of event (the task), steps (`Step`), planted, answer.

    `answers` maps event_id to the computed answer, which holds where the annotator gave none. Raises ValueError for a
    line that is no case, and for a case of an unknown question or task.
    """
    texts, events, cases = set(questions["question_id"]), tasks.set_index("event_id", drop=False), {}
    for row in read_rows(path, CASE):
        name = row["question_id"]
        if name not in texts or row["event_id"] not in events.index:
            raise ValueError(f"{path.name}, {name}: no such question, or no task {row['event_id']!r}")
        answer = row.get("answer") or answers[row["event_id"]]
        event, steps = events.loc[row["event_id"]].to_dict(), [Step(**step) for step in row["steps"]]
        cases[name] = {"event": event, "steps": steps, "planted": row.get("planted") or "", "answer": answer}
    return cases


def list_tags(steps):
    """Return the abilities and environments of steps as one set; "none" is no environment."""
    return ({step.ability for step in steps} | {step.environment for step in steps}) - {"none"}


def compute_mismatch(tags, again):
    """Return the share of tags that two readings do not have in common; 1 where neither has any (3.2.4).

    >>> compute_mismatch({"find", "web site"}, {"find", "web site", "compare"})
    0.33333333333333337
    """
    union = set(tags) | set(again)
    return 1 - len(set(tags) & set(again)) / len(union) if union else 1.0


def count_tools(steps):
    """Return how many tools steps take: their environments other than none."""
    return len({step.environment for step in steps} - {"none"})


def rate_level(steps):
    """Return a task's level, 1 to 3, by its steps and tools (LEVELS).

    >>> rate_level([Step("open", "read", "document"), Step("add", "calculate", "document")])
    1
    """
    n_steps, n_tools = len(steps), count_tools(steps)
    fits = [n_steps <= most and (tools is None or n_tools <= tools) for most, tools in LEVELS]
    return fits.index(True) + 1 if any(fits) else len(LEVELS) + 1
