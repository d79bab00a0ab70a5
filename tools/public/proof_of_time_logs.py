"""The authors' 16 public logs, a row a sample: counts, tokens, what ended it, what the rules find, its masked steps.

The logs hold texts of papers, so a step says which tool was called on what kind of file and what kind of result came.
"""

import json
import re

import pandas as pd

from daybefore.formats.inspect_logs import read_logs
from helpers.files import parse_json
from helpers.papers import get_constant
from helpers.public_files import load_registry, locate_public
from studies.proof_of_time.failures import label_run, read_run

LOGS = sorted(name for name in load_registry() if name.startswith("proof_of_time/eval_logs/"))
SOURCES = {"proof_of_time_logs": LOGS}
KEY = ["run_id", "event_id", "sample"]
COLUMNS = ["run_id", "sample_id", "model_family", "condition", "stratum", "label", "bottleneck", "limit", "n_messages"]
COLUMNS += ["n_turns", "n_answers", "n_input_tokens", "n_output_tokens", "n_cached_tokens", "has_answer", "steps"]


def mask(asked):
    """Return what was asked without what it was asked about: its first word, and the kinds of files in it.

    >>> mask("grep -n 'Rain and wind' data/papers.csv | head")
    'grep csv'
    """
    words = re.findall(r"[A-Za-z_]+", asked)
    kinds = dict.fromkeys(re.findall(r"\.(csv|jsonl?|md|zip|arrow|txt|log)\b", asked))
    return " ".join([*words[:1], *kinds])


def list_steps(run):
    """Return a run's calls as lines without any text of it."""
    lines = [f"{call.tool}: {mask(call.asked)} -> {call.fault or f'{len(call.result)} letters'}" for call in run.calls]
    return [" ".join(line.split()) for line in lines]


def describe_sample(reply, steps, score, target):
    """Return a sample's row; `score` is None without one, `target` the right answer."""
    tiers = get_constant("proof_of_time", "award_tiers")
    run = read_run(steps)
    row = label_run(steps, reply["status"], score, tiers if "awards" in reply["event_id"] else (), target)
    counts = [json.loads(step["content"]) for step in steps if step["step_type"] == "count"]
    row |= {name: counts[0][name] for name in ("limit", "n_messages", "n_turns")} if counts else {}
    named = re.compile(rf"\b(?:{'|'.join(tiers)})\W*(?:submit\W*)?$")
    texts = [step["content"] for step in steps if step["step_type"] == "model"]
    row["n_answers"] = sum(bool(named.search(text)) for text in texts if isinstance(text, str))
    row |= {"has_answer": bool(run.answer), "steps": "\n".join(list_steps(run))}
    row["sample_id"] = reply["event_id"].rpartition("-")[2]
    return row | {name: reply[name] for name in ("run_id", "n_input_tokens", "n_output_tokens", "n_cached_tokens")}


def build():
    """Return proof_of_time_logs: COLUMNS; `n_answers` counts turns that end with the name of a tier."""
    log = read_logs([locate_public(name) for name in LOGS])
    scores = log.scores.set_index(KEY)["score"].to_dict()
    targets = {row.event_id: parse_json(row.value) for row in log.answers.itertuples()}
    groups = {at: part.to_dict("records") for at, part in log.traces.sort_values("step").groupby(KEY)}
    rows = []
    for reply in log.replies.to_dict("records"):
        at = tuple(reply[name] for name in KEY)
        rows.append(describe_sample(reply, groups[at], scores.get(at), targets.get(reply["event_id"])))
    table = pd.DataFrame(rows).merge(log.runs[["run_id", "model_family", "condition"]], on="run_id")
    return {"proof_of_time_logs": table[COLUMNS].sort_values(["run_id", "sample_id"], ignore_index=True)}
