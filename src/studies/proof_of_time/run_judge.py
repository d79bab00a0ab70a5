"""A judge of runs: three rubrics, one a stratum, with the paper's JSON keys and a closed label (6,
F, Figure 13).

A case shows the judge the run's steps as lines; of a public log they name the tool, the kind of
file and the kind of result, and no text (tools/public/proof_of_time_logs.py).
"""

import tomllib
from textwrap import shorten

import pandas as pd
from tqdm import tqdm

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from helpers.files import ROOT, dump_json

TABLES = tomllib.loads((ROOT / "data/proof_of_time/failures.toml").read_text(encoding="utf-8"))
FAILURES, ENDLESS, BOTTLENECKS = (TABLES[name] for name in ("failures", "endless", "bottlenecks"))
"""Our labels -> the paper's (Tables 4, 5 and 10)."""
UNLABELLED = "unlabelled"
RUBRICS = TABLES["rubrics"]
"""Stratum -> the paper's keys, and what each asks in our words."""
LABELS = {"correct": {}, "wrong": FAILURES, "incomplete": ENDLESS}
OUTCOMES = {
    "correct": "answered rightly",
    "wrong": "answered wrongly",
    "incomplete": "was stopped before it answered",
}
MAX_WORDS, N_STEPS, N_LETTERS = 60, 16, 90
"""Longest text of a key; most steps of a case that are shown, the first and the last; letters of
each part of one."""


def make_form(stratum):
    """Return the JSON schema of a rubric's reply: its five keys, and of a failed run its label and
    bottleneck.

    >>> list(make_form("correct")["properties"])[-1], list(make_form("wrong")["properties"])[-2:]
    ('generalizability', ['label', 'bottleneck'])
    """
    texts = {key: {"type": "string", "maxLength": MAX_WORDS} for key in RUBRICS[stratum]}
    if not LABELS[stratum]:
        return make_schema(**texts)
    label = {"type": "string", "enum": [*LABELS[stratum], UNLABELLED]}
    return make_schema(
        **texts, label=label, bottleneck={"type": "string", "enum": [*BOTTLENECKS, UNLABELLED]}
    )


def write_case(lines, stratum, *, answer="not shown"):
    """Return a judge's prompt on a run: its steps as lines, at most N_STEPS, the middle left out,
    and its answer."""
    labels = LABELS[stratum]
    half = N_STEPS // 2
    n_more = len(lines) - N_STEPS
    if n_more > 0:
        lines = [*lines[:half], f"... {n_more} more ...", *lines[-half:]]
    choice = f"As label choose one of: {'; '.join(f'{name} ({text})' for name, text in labels.items())}; {UNLABELLED}."
    choice += f" As bottleneck one of: {', '.join(BOTTLENECKS)}, {UNLABELLED}."
    return read_prompt("judge_run").format(
        outcome=OUTCOMES[stratum],
        question="not shown",
        steps="\n".join(lines) or "nothing",
        answer=answer,
        keys="\n".join(f"{key}: {text}" for key, text in RUBRICS[stratum].items()),
        choice=choice if labels else "",
    )


def write_step(step):
    """Return a call of a trace (a row of the traces table as a dict) as a line: tool, what was
    asked, what came.

    >>> write_step({"tool": "bash", "arguments": {"script": "wc -l a.csv"}, "content": "3"})
    'bash: wc -l a.csv -> 3'
    """
    asked = " ".join(map(str, step["arguments"].values()))
    return f"{step['tool']}: {shorten(asked, N_LETTERS)} -> {shorten(step['content'], N_LETTERS)}"


def find_stratum(status, is_right):
    """Return a run's stratum: correct, wrong, incomplete (stopped before it answered), None where
    it met an accident.

    >>> find_stratum("ok", True), find_stratum("unparsable", False), find_stratum("timeout", False)
    ('correct', 'wrong', 'incomplete')
    """
    stopped = ("message_limit", "context_limit", "timeout")
    answered = {"ok": "correct" if is_right else "wrong", "unparsable": "wrong", "refusal": "wrong"}
    return "incomplete" if status in stopped else answered.get(status)


def judge_runs(consult, cases, judge, repeat=0):
    """Return a judge's verdicts on cases (target_id, stratum, prompt) as rows of the judgements
    table.

    A verdict that is missing has a blank label and its reason; any other that cannot be read is
    "unlabelled".
    """
    rows = []
    for target_id, stratum, prompt in tqdm(cases, desc="runs judged", unit="run", delay=1):
        verdict = consult(prompt, make_form(stratum), repeat)
        value = verdict.value or {}
        row = {
            "target_type": "run",
            "target_id": target_id,
            "judge": judge,
            "rubric": stratum,
            "repeat": repeat,
        }
        row |= {
            "label": None if verdict.status == "missing" else value.get("label", UNLABELLED),
            "score": None,
        }
        row |= {
            "reason": dump_json(value) if value else verdict.reason,
            "bottleneck": value.get("bottleneck"),
        }
        rows.append(row)
    return pd.DataFrame(rows)
