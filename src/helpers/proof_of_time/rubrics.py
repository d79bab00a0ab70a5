"""A judge of runs: three rubrics, one a stratum, with the paper's JSON keys and a closed label (6, F, Figure 13).

What a verdict does not tell is "unlabelled". Flags of right runs are found by fixed words in the judge's text, as for
the paper's Table 11. A public log's texts are not ours to keep: its cases are masked, so that a judge's recording holds
which tool was called and what kind of result came, and no text of a question, a file or a thought.
"""

import re

import pandas as pd
from tqdm import tqdm

from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.proof_of_time.taxonomies import BOTTLENECKS, ENDLESS, FAILURES, UNLABELLED, read_run, strip_answer
from helpers.store import dump_json

RUBRICS = {
    "correct": {
        "grounding_audit": "which claims files support, which none",
        "reasoning_robustness": "the weakest step, or luck",
        "evidence_sufficiency": "enough evidence, or a part",
        "efficiency_redundancy": "steps that were not needed, or repeated",
        "generalizability": "would this work on a like question",
    },
    "wrong": {
        "first_error_localization": "where it first goes wrong, and why",
        "failure_taxonomy": "the main failure, and why that one",
        "critical_missing_ignored_evidence": "what it should have used",
        "overconfidence_vs_uncertainty": "where it should have doubted",
        "minimal_fix": "the smallest change that would mend it",
    },
    "incomplete": {
        "non_convergence_cause": "why it did not end: a loop, unclear, too much looked at",
        "last_real_progress": "the last step that changed something",
        "information_bottleneck": "the piece that was lacking",
        "earlier_commitment_point": "where it could have answered before",
        "progress_signal": "did it get on, or stand still",
    },
}
"""Stratum -> the paper's keys (Figure 13), in its order, and what each asks in our words."""

LABELS = {"correct": {}, "wrong": FAILURES, "incomplete": ENDLESS}
OUTCOMES = {"correct": "answered rightly", "wrong": "answered wrongly", "incomplete": "was stopped before it answered"}

FLAG_WORDS = {
    "verification": r"verif\w+|double[- ]check\w*|cross[- ]check\w*|confirm\w*",
    "unsupported": r"un(?:supported|verified)|no evidence|not (?:supported|shown)|without (?:support|evidence)",
    "luck": r"luck\w*|guess\w*|chance|arbitrar\w+",
    "redundancy": r"redundan\w+|repeat\w*|unneeded|unnecessar\w+|not needed|twice|again",
}
DENIED = r"(?:no|not|without|never|nothing|none|free of)\s+(?:\w+\s+){0,2}"
"""What turns a word into its opposite when it stands before it."""

CALLED = re.compile(r"\w+\(\{")
"""How a turn begins that is a call and no words (`prompted.describe_calls`)."""

MAX_WORDS, N_STEPS, N_SHOWN = 60, 16, 70
"""Longest text of a key; most steps of a case that are shown, the first and the last; letters of each."""


def make_form(stratum):
    """Return the JSON schema of a rubric's reply: its five keys, and of a failed run its label and bottleneck.

    >>> list(make_form("correct")["properties"])[-1], list(make_form("wrong")["properties"])[-2:]
    ('generalizability', ['label', 'bottleneck'])
    """
    texts = {key: {"type": "string", "maxLength": MAX_WORDS} for key in RUBRICS[stratum]}
    if not LABELS[stratum]:
        return make_schema(**texts)
    label = {"type": "string", "enum": [*LABELS[stratum], UNLABELLED]}
    return make_schema(**texts, label=label, bottleneck={"type": "string", "enum": [*BOTTLENECKS, UNLABELLED]})


def write_case(steps, stratum, *, is_masked=False):
    """Return a judge's prompt on a run (its rows of the traces table as dicts, in order).

    A masked case shows no text of the run.
    """
    run = read_run(steps)
    labels = LABELS[stratum]
    choice = f"As label choose one of: {'; '.join(f'{name} ({text})' for name, text in labels.items())}; {UNLABELLED}."
    choice += f" As bottleneck one of: {', '.join(BOTTLENECKS)}, {UNLABELLED}."
    return read_prompt("judge_run").format(
        outcome=OUTCOMES[stratum],
        question="not shown" if is_masked else run.prompt[:400],
        steps="\n".join(cut_list([*list_steps(run, is_masked)])) or "nothing",
        answer="not shown" if is_masked and run.answer else strip_answer(run.answer)[:80] or "none",
        keys="\n".join(f"{key}: {text}" for key, text in RUBRICS[stratum].items()),
        choice=choice if labels else "",
    )


def list_steps(run, is_masked):
    """Return a run's calls and last turns as lines."""
    calls = [
        f"{call.tool}: {mask(call.asked) if is_masked else call.asked[:N_SHOWN]} -> {show(call, is_masked)}"
        for call in run.calls
    ]
    calls = [" ".join(line.split()) for line in calls]
    words = [" ".join(turn.split())[:N_SHOWN] for turn in run.turns if not CALLED.match(turn)]
    return calls if is_masked else [*calls, *(f"wrote: {text}" for text in words[-4:])]


def show(call, is_masked):
    """Return what came of a call, of a masked one only its kind."""
    if is_masked:
        return call.fault or f"{len(call.result)} letters"
    return call.result[:N_SHOWN] or "nothing"


def mask(asked):
    """Return what was asked without what it was asked about: its first word, and the kinds of files in it.

    >>> mask("grep -n 'Rain and wind' data/papers.csv | head")
    'grep csv'
    """
    words = re.findall(r"[A-Za-z_]+", asked)
    kinds = dict.fromkeys(re.findall(r"\.(csv|jsonl?|md|zip|arrow|txt|log)\b", asked))
    return " ".join([*words[:1], *kinds])


def cut_list(lines, n=N_STEPS):
    """Return a list of so many lines at most, the middle left out.

    >>> cut_list(list("abcdef"), 4)
    ['a', 'b', '... 2 more ...', 'e', 'f']
    """
    return lines if len(lines) <= n else [*lines[: n // 2], f"... {len(lines) - n} more ...", *lines[-(n // 2) :]]


def find_flags(value):
    """Return the flags that a judge's text on a right run names, what it denies left out.

    >>> said = {"grounding_audit": "no unsupported claims", "reasoning_robustness": "a lucky guess"}
    >>> [name for name, is_on in find_flags(said).items() if is_on]
    ['luck']
    """
    text = " ; ".join(str(part) for part in value.values()).casefold()
    plain = {name: re.sub(rf"\b{DENIED}(?:{words})", "", text) for name, words in FLAG_WORDS.items()}
    return {name: bool(re.search(rf"\b(?:{words})", plain[name])) for name, words in FLAG_WORDS.items()}


def judge_runs(consult, cases, judge, repeat=0):
    """Return a judge's verdicts on cases (target_id, stratum, prompt) as rows of the judgements table, and flags.

    A verdict that is missing has a blank label and its reason; any other that cannot be read is "unlabelled".
    """
    rows = []
    for target_id, stratum, prompt in tqdm(cases, desc="runs judged", unit="run", delay=1):
        verdict = consult(prompt, make_form(stratum), repeat)
        value = verdict.value or {}
        row = {"target_type": "run", "target_id": target_id, "judge": judge, "rubric": stratum, "repeat": repeat}
        row |= {"label": None if verdict.status == "missing" else value.get("label", UNLABELLED), "score": None}
        row |= {"reason": dump_json(value) if value else verdict.reason, "bottleneck": value.get("bottleneck")}
        rows.append(
            row | {"flags": find_flags(value) if value and stratum == "correct" else None, "seconds": verdict.seconds}
        )
    return pd.DataFrame(rows)
