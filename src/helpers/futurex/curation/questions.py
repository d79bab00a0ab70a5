"""Questions that may be harmful or subjective: which are drawn, their labels, their judges' views (FutureX 3.2.2).

A question's text is not among the labels; those of public questions are kept by their ids.
"""

import re

import pandas as pd

from helpers.faults import read_sheet
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import ROOT

LABELS = ("question_id", "source", "is_harmful", "is_subjective", "note", "label_by", "labelled_date")
"""Columns of data/labels/questions.csv; the questions' text is not among them."""
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""
CHARGED = re.compile(
    r"\b(kill\w*|die[sd]?|dead|death\w*|shot|bomb\w*|attack\w*|strike|wars?|invade[sd]?|nuclear|jail|gay|race|sexes"
    r"|best|worst|good|great|believe|considered|popular|my|we|us|our|you|serious|significant\w*|major)\b"
)
"""Words that bring a question into the charged half of a sample of public ones; by chance alone few would be in it."""


def draw_events(events, rng, n, unit):
    """Return `n` events, no two of the same `unit` (a column such as "source_id"), sorted by event_id.

    Raises ValueError when there are fewer.
    """
    first = events.sort_values("event_id").drop_duplicates(unit).reset_index(drop=True)
    if len(first) < n:
        raise ValueError(f"only {len(first)} events differ in {unit}; {n} are wanted")
    return first.iloc[sorted(rng.permutation(len(first))[:n])].reset_index(drop=True)


def list_public(sets):
    """Return the market questions of ForecastBench's question sets, each once: question_id, market, prompt.

    `sets` are the files' JSON. Questions made from data series are left out.
    """
    rows = [question for one in sets for question in one["questions"] if question["source"] in MARKETS]
    table = pd.DataFrame([(f"{row['source']}:{row['id']}", row["source"], row["question"]) for row in rows])
    return table.set_axis(["question_id", "market", "prompt"], axis=1).drop_duplicates("question_id", ignore_index=True)


def draw_public(questions, rng, n_random, n_charged):
    """Return public questions (columns question_id, prompt): a random part and a part with charged words (`CHARGED`).

    The random part is of all; column `stratum` says which. Sorted by stratum and question_id.
    """
    pool = questions.sort_values("question_id").drop_duplicates("question_id").reset_index(drop=True)
    order = rng.permutation(len(pool))
    charged = [i for i in order[n_random:] if CHARGED.search(pool["prompt"][i])][:n_charged]
    parts = [("random", order[:n_random]), ("charged", charged)]
    return pd.concat([pool.iloc[sorted(part)].assign(stratum=name) for name, part in parts], ignore_index=True)


def read_labels(path=ROOT / "data/labels/questions.csv"):
    """Return a reader's labels, columns `LABELS` (label_by: person, program or language model).

    Raises Problems for an absent column, a question twice.
    """
    flags = dict.fromkeys(("is_harmful", "is_subjective"), ("True", "False"))
    labels = read_sheet(path, LABELS, key=["question_id"], words=flags)[list(LABELS)]
    return labels.assign(**{flag: labels[flag] == "True" for flag in flags})


def view_questions(questions, judges):
    """Return the judges' views of questions (dictionaries with question_id, prompt, options): a column a judge."""
    rows = [{name: judge(question)[0] for name, judge in judges.items()} for question in questions]
    ids = [question["question_id"] for question in questions]
    return pd.DataFrame(rows, index=pd.Index(ids, name="question_id"), dtype=object)


def build_judge(consult, prompt, name):
    """Return a judge of questions for `helpers.events.filters`: event -> (is_flagged, reason).

    `prompt` names the wording ("question" or "question_again"), `name` what is judged ("harmful" or "subjective"); one
    request answers both. Without a valid reply the flag is None, and the reason says why.
    """
    schema = make_schema(**dict.fromkeys(("harmful", "subjective"), {"enum": ["yes", "no"]}))

    def judge(event):
        verdict = consult(read_prompt(f"curate_{prompt}").format(question=event["prompt"].splitlines()[0]), schema)
        if verdict.value is None:
            return None, f"no verdict: {verdict.status}"
        is_flagged = verdict.value[name] == "yes"
        return is_flagged, f"the model says {name}" if is_flagged else ""

    return judge
