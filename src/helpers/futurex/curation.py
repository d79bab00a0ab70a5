"""Judges of questions that should be dropped as harmful or subjective, against labels (FutureX 3.2.2).

A question's text is not among the labels; those of public questions are kept by ids.
"""

import pandas as pd

from helpers.faults import read_sheet
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import ROOT

LABELS = ("question_id", "source", "is_harmful", "is_subjective", "note", "label_by", "labelled_date")
"""Columns of data/labels/questions.csv."""


def draw_events(events, rng, n, unit):
    """Return `n` events, no two of the same `unit` (such as "source_id"), by event_id. Raises ValueError for fewer."""
    first = events.sort_values("event_id").drop_duplicates(unit).reset_index(drop=True)
    if len(first) < n:
        raise ValueError(f"only {len(first)} events differ in {unit}; {n} are wanted")
    return first.iloc[sorted(rng.permutation(len(first))[:n])].reset_index(drop=True)


def read_labels(path=ROOT / "data/labels/questions.csv"):
    """Return a reader's labels (`LABELS`). Raises Problems for an absent column, a question twice."""
    flags = dict.fromkeys(("is_harmful", "is_subjective"), ("True", "False"))
    labels = read_sheet(path, LABELS, key=["question_id"], words=flags)[list(LABELS)]
    return labels.assign(**{flag: labels[flag] == "True" for flag in flags})


def view_questions(questions, judges):
    """Return the judges' views of questions (dictionaries with question_id, prompt, options): a column a judge."""
    rows = [{name: judge(question)[0] for name, judge in judges.items()} for question in questions]
    ids = [question["question_id"] for question in questions]
    return pd.DataFrame(rows, index=pd.Index(ids, name="question_id"), dtype=object)


def build_judge(consult, prompt, name):
    """Return a judge of questions for `events.filters`: event -> (is_flagged, reason).

    `prompt` names the wording ("question", "question_again"), `name` what is judged ("harmful", "subjective"). Without
    a valid reply the flag is None, and the reason says why.
    """
    schema = make_schema(**dict.fromkeys(("harmful", "subjective"), {"enum": ["yes", "no"]}))

    def judge(event):
        verdict = consult(read_prompt(f"curate_{prompt}").format(question=event["prompt"].splitlines()[0]), schema)
        if verdict.value is None:
            return None, f"no verdict: {verdict.status}"
        is_flagged = verdict.value[name] == "yes"
        return is_flagged, f"the model says {name}" if is_flagged else ""

    return judge
