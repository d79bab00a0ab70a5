"""The authors' 16 public logs, a row a sample: counts, tokens, what ended it, its masked steps.

The logs hold texts of papers, so a step says which tool was called on what kind of file and what
kind of result came.
"""

import json
import re

import pandas as pd

from daybefore.formats.inspect_logs import read_logs
from helpers.files import parse_json
from helpers.papers import get_constant
from helpers.public_files import load_registry, locate_public
from studies.proof_of_time.run_judge import TABLES, find_stratum

LOGS = sorted(name for name in load_registry() if name.startswith("proof_of_time/eval_logs/"))
SOURCES = {"proof_of_time_logs": LOGS}
KEY = ["run_id", "event_id", "sample"]
COLUMNS = ["run_id", "sample_id", "model_family", "condition", "stratum", "limit", "n_messages"]
COLUMNS += [
    "n_turns",
    "n_answers",
    "n_input_tokens",
    "n_output_tokens",
    "n_cached_tokens",
    "has_answer",
    "steps",
]
FAULTS = TABLES["faults"]
FAILED = re.compile("|".join([TABLES["failed"], *FAULTS.values()]))
EMPTY = re.compile(TABLES["empty"])


def mask(asked):
    """Return what was asked without what it was asked about: its first word, and the kinds of files
    in it.

    >>> mask("grep -n 'Rain and wind' data/papers.csv | head")
    'grep csv'
    """
    words = re.findall(r"[A-Za-z_]+", asked)
    kinds = dict.fromkeys(re.findall(r"\.(csv|jsonl?|md|zip|arrow|txt|log)\b", asked))
    return " ".join([*words[:1], *kinds])


def find_fault(result, error=""):
    """Return whose fault a tool's result is, None for one that worked.

    >>> find_fault("cat: a.csv: No such file or directory"), find_fault(""), find_fault("title,authors")
    ('missing_file', 'empty', None)
    """
    text = f"{error} {result[:2000]}".casefold()
    if error or FAILED.search(text[:600]) or re.search(r"\n\w*error\b", text):
        return next((name for name, words in FAULTS.items() if re.search(words, text)), "other")
    return "empty" if EMPTY.fullmatch(result.strip().casefold()) else None


def describe_call(step):
    """Return a call (a row of the traces table as a dict) as a line without any text of it."""
    arguments = (
        parse_json(step["arguments"]) if isinstance(step["arguments"], str) else step["arguments"]
    )
    asked = " ".join(map(str, (arguments or {}).values()))
    result, error = (
        step[name] if isinstance(step[name], str) else "" for name in ("content", "error")
    )
    line = f"{step['tool'] or ''}: {mask(asked)} -> {find_fault(result, error) or f'{len(result)} letters'}"
    return " ".join(line.split())


def list_calls(steps):
    """Return a run's calls that asked for something, as lines (`describe_call`)."""
    calls = [
        step
        for step in steps
        if step["step_type"] == "tool" and step["tool"] not in ("think", "submit")
    ]
    return [describe_call(step) for step in calls]


def describe_sample(reply, steps, score):
    """Return a sample's row; `score` is None without one."""
    row = {
        name: reply[name]
        for name in ("run_id", "n_input_tokens", "n_output_tokens", "n_cached_tokens")
    }
    row["sample_id"] = reply["event_id"].rpartition("-")[2]
    row["stratum"] = find_stratum(reply["status"], score == 1) or "error"
    counts = [json.loads(step["content"]) for step in steps if step["step_type"] == "count"]
    row |= {name: counts[0][name] for name in ("limit", "n_messages", "n_turns")} if counts else {}
    tiers = "|".join(get_constant("proof_of_time", "award_tiers"))
    named = re.compile(rf"\b(?:{tiers})\W*(?:submit\W*)?$")
    texts = {
        kind: [step["content"] for step in steps if step["step_type"] == kind]
        for kind in ("model", "answer")
    }
    row["n_answers"] = sum(
        bool(named.search(text)) for text in texts["model"] if isinstance(text, str)
    )
    answers = [text for text in texts["answer"] if isinstance(text, str)]
    return row | {
        "has_answer": bool(answers and answers[-1]),
        "steps": "\n".join(list_calls(steps)),
    }


def build():
    """Return proof_of_time_logs: COLUMNS; `n_answers` counts turns that end with the name of a
    tier."""
    log = read_logs([locate_public(name) for name in LOGS])
    scores = log.scores.set_index(KEY)["score"].to_dict()
    groups = {
        at: part.to_dict("records") for at, part in log.traces.sort_values("step").groupby(KEY)
    }
    rows = []
    for reply in log.replies.to_dict("records"):
        at = tuple(reply[name] for name in KEY)
        rows.append(describe_sample(reply, groups[at], scores.get(at)))
    table = pd.DataFrame(rows).merge(log.runs[["run_id", "model_family", "condition"]], on="run_id")
    return {
        "proof_of_time_logs": table[COLUMNS].sort_values(["run_id", "sample_id"], ignore_index=True)
    }
