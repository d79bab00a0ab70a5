"""Users' questions made into tasks with a checked answer: what is read, tagged and controlled
(LiveAgentBench 3.2).

Questions are JSON lines (`Question`), labelled here by the language model that wrote them. A case
(`Case`) is an annotator's work on one: the task that it became, of the task set or its own, and its
labelled steps; `planted` names the control that a synthetic case must not pass.
"""

from typing import Any

import pandas as pd
from pydantic import BaseModel

from helpers import papers
from helpers.files import ROOT, dump_json
from helpers.tables import Setting, Text, one_of, some
from studies.liveagentbench.task_answers import list_truths
from studies.liveagentbench.tasks import AS_OF, FORMS, list_models

ABILITIES = ("recall", "find", "read", "compare", "calculate", "count")
ENVIRONMENTS = (*dict.fromkeys(environment for _, environment in FORMS.values()), "none")
KINDS = ("knowledge", "lookup", "opinion", "work")
"""What a question is: known without a tool, found by one search, a matter of taste, or work for a
tool."""
CONTROLS = ("relevance", "complexity", "executability", "uniqueness")
STAGES = ("attachment", "tool dependent", "not retrievable", "constructed", *CONTROLS)
"""A question's way; it goes on only from a stage that keeps it."""
JUDGES = ("model", "labels")
MAX_MISMATCH = papers.get_constant("liveagentbench", "mismatch_limit")
MIN_STEPS = papers.get_constant("liveagentbench", "min_steps")
MIN_TOOLS = papers.get_constant("liveagentbench", "min_tools")
"""Share of tags not in common above which a task is built anew; fewest steps and tools of a task
(3.2.4, 3.2.2)."""
LEVEL_STEPS = papers.get_constant("liveagentbench", "level_steps")
"""Most steps of levels 1 (which takes one tool at most) and 2; the paper prints none, so these are
GAIA's."""


class Question(BaseModel):
    """A user's question; `lacks` is what it speaks of that did not come along, `answer_task` a task
    of its answer."""

    question_id: Text
    text: Text
    kind: one_of(*KINDS, None) = None
    abilities: list[one_of(*ABILITIES)] | None = None
    environments: list[one_of(*ENVIRONMENTS)] | None = None
    lacks: list[Text] | None = None
    answer: str | None = None
    answer_task: str | None = None


class Step(Setting):
    """A labelled step: what is done, the ability it takes, the environment it is done in."""

    do: str = ""
    ability: one_of(*ABILITIES)
    environment: one_of(*ENVIRONMENTS)


class Case(BaseModel):
    """What an annotator made of a question: a task of the set (`event_id`) or one of its own, with
    its `answer`, its `tool` (an environment) and `files` beside the cases'.

    Of the set's task without `answer` the computed one holds, without `address` the portal is where
    a search begins.
    """

    question_id: Text
    event_id: Text | None = None
    task: Text | None = None
    tool: one_of(*ENVIRONMENTS, None) = None
    files: list[Text] = []
    as_of: Text = AS_OF
    steps: some(Step)
    planted: one_of(*CONTROLS, "", None) = None
    address: Text | None = None
    answer: Any = None


def load_questions(path=ROOT / "data/spdg/questions.jsonl"):
    """Return users' questions, a column a field of `Question`; what is not given is None. Raises as
    `tasks.list_models`."""
    rows = [dict(question) for *_, question in list_models(path, Question, "question_id")]
    return pd.DataFrame(rows, dtype=object)


def load_cases(questions, tasks, answers, path=ROOT / "data/spdg/cases.jsonl"):
    """Return the annotator's cases by question_id: dicts of event (the task), steps (`Step`),
    planted, answer, places.

    `tasks` and `answers` are the task set's tables; `places`, of a task of its own, are its files
    and address, None of one of the set. Raises ValueError as `tasks.list_models`, and for a case of
    an unknown question or task, without an answer, or with a lost file.
    """
    truths = list_truths(answers)
    known = set(questions["question_id"])
    events = tasks.set_index("event_id", drop=False)
    cases = {}
    for _, name, case in list_models(path, Case, "question_id"):
        if name not in known or not case.task and case.event_id not in events.index:
            raise ValueError(f"{path.name}, {name}: no such question, or no task {case.event_id!r}")
        answer = case.answer or truths.get(case.event_id)
        addresses = [case.address] if case.address else []
        if case.task:
            files = [path.parent / file for file in case.files]
            if lost := [file.name for file in files if not file.exists()]:
                raise ValueError(f"{path.name}, {name}: no file {lost[0]}")
            if answer is None:
                raise ValueError(f"{path.name}, {name}: no answer")
            takes = [capability for capability, tool in FORMS.values() if tool == case.tool]
            event = {"event_id": name, "prompt": case.task, "as_of": case.as_of}
            event["capabilities"] = dump_json(takes)
            places = files + addresses
        else:
            event = events.loc[case.event_id].to_dict()
            if addresses:
                event["attachments"] = dump_json(addresses)
            places = None
        cases[name] = {
            "event": event,
            "steps": case.steps,
            "planted": case.planted or "",
            "answer": answer,
            "places": places,
        }
    return cases


def list_tags(steps):
    """Return the abilities and environments of steps as one set; "none" is no environment."""
    return {tag for step in steps for tag in (step.ability, step.environment)} - {"none"}


def count_tools(steps):
    """Return how many tools steps take: their environments other than none."""
    return len({step.environment for step in steps} - {"none"})


def rate_tags(tags, again):
    """Return (is_kept, note) by the share of tags that two readings do not have in common (3.2.4).

    >>> rate_tags({"find", "web site"}, {"find", "web site", "compare"})
    (True, 'mismatch 0.33')
    """
    mismatch = 1 - len(tags & again) / len(tags | again)
    return mismatch <= MAX_MISMATCH, f"mismatch {mismatch:.2f}"


def rate_complexity(steps):
    """Return (is_kept, note) by whether a task takes two steps or more, and a tool (3.2.2)."""
    n_steps = len(steps)
    n_tools = count_tools(steps)
    return n_steps >= MIN_STEPS and n_tools >= MIN_TOOLS, f"steps {n_steps}, tools {n_tools}"


def rate_level(steps):
    """Return a task's level, 1 to 3, by its steps and tools (LEVEL_STEPS).

    >>> [rate_level([Step(ability="read", environment="document")] * n) for n in (2, 6, 11)]
    [1, 2, 3]
    """
    if len(steps) <= LEVEL_STEPS[0] and count_tools(steps) <= 1:
        return 1
    return 2 if len(steps) <= LEVEL_STEPS[1] else 3
