"""What went wrong in a run of the public logs, by rules on its trace: strata, failures, bottlenecks (6, E).

The paper's labels are a judge's (`proof_of_time.rubrics`); these rules read the trace alone. Labels and words stand in
data/proof_of_time/failures.toml. Each set of labels is closed, with "unlabelled" for runs that show too little; of the
rules in order the first that holds gives the label.
"""

import re
from typing import NamedTuple

import pandas as pd

from helpers.files import parse_json, parse_object
from studies.proof_of_time.rubrics import TABLES, UNLABELLED

FAULTS = TABLES["faults"]
WORDS = {name: re.compile(words) for name, words in TABLES["words"].items()}
WORDS |= {name: re.compile(TABLES["words"][name], re.I) for name in ("looks", "searches", "typed")}
FAILED = re.compile("|".join([TABLES["words"]["failed"], *FAULTS.values()]))
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

ALIKE, LOOPED = 0.8, 3
"""Share of words from which two calls are the same but for details; how many of them in the last third are a loop."""


class Run(NamedTuple):
    """What the rules read of a trace: calls that asked for something, texts of turns, prompt, answer."""

    calls: list
    turns: list
    prompt: str
    answer: str


class Call(NamedTuple):
    """A tool call; `fault` is None for one that worked: missing_file, environment, parsing, empty or other."""

    tool: str
    asked: str
    result: str
    fault: str | None


def read_run(steps):
    """Return what the rules read of a trace (rows of the traces table as dicts, in order)."""
    kinds = ("model", "prompt", "answer")
    texts = {kind: [step["content"] for step in steps if step["step_type"] == kind] for kind in kinds}
    texts = {kind: [text for text in found if isinstance(text, str)] for kind, found in texts.items()}
    calls = [read_call(step) for step in steps if step["step_type"] == "tool"]
    turns = [str(parse_object(text).get("thought") or text) if text[:1] == "{" else text for text in texts["model"]]
    turns += [call.asked for call in calls if call.tool == "think"]
    calls = [call for call in calls if call.tool not in ("think", "submit")]
    return Run(calls, turns, "\n".join(texts["prompt"][:2]), texts["answer"][-1] if texts["answer"] else "")


def read_call(step):
    """Return a step of a tool as a Call."""
    arguments = parse_json(step["arguments"]) if isinstance(step["arguments"], str) else step["arguments"]
    asked = " ".join(map(str, (arguments or {}).values()))
    result, error = (step[name] if isinstance(step[name], str) else "" for name in ("content", "error"))
    return Call(step["tool"] or "", asked, result, find_fault(result, error))


def find_fault(result, error=""):
    """Return whose fault a tool's result is, None for one that worked.

    >>> find_fault("cat: a.csv: No such file or directory"), find_fault(""), find_fault("title,authors")
    ('missing_file', 'empty', None)
    """
    text = f"{error} {result[:2000]}".casefold()
    if error or FAILED.search(text[:600]) or re.search(r"\n\w*error\b", text):
        return next((name for name, words in FAULTS.items() if re.search(words, text)), "other")
    return "empty" if WORDS["empty"].fullmatch(result.strip().casefold()) else None


def find_stratum(status, score):
    """Return a run's stratum from its status and score: a run that its limit or its time ended is incomplete.

    >>> find_stratum("message_limit", 0), find_stratum("ok", 1), find_stratum("unparsable", None)
    ('incomplete', 'correct', 'wrong')
    """
    if status in ("message_limit", "context_limit", "timeout", "over_budget"):
        return "incomplete"
    if status in ("error", "unreadable", "unsupported"):
        return "error"
    return "correct" if score == 1 else "wrong"


def list_words(text):
    """Return the words of a text, numbers as one."""
    return frozenset(NUMBER.sub("#", word) for word in re.findall(r"\w+", text.casefold()))


def count_alike(texts):
    """Return how many texts are the same but for details (ALIKE) as one before them; those without words are not.

    >>> count_alike(["grep rain a.csv", "ls", "grep rain a.csv"])
    1
    """
    words = [list_words(text) for text in texts]
    return sum(
        any(len(one & other) >= ALIKE * len(one | other) > 0 for other in words[:at]) for at, one in enumerate(words)
    )


def holds_answer(text, answer):
    """Return whether a text has all words of an answer; a letter counts as a capital on its own.

    >>> holds_answer("The best paper of all", "best paper"), holds_answer("a row of b", "B")
    (True, False)
    """
    if len(answer) == 1:
        return bool(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text))
    words = list_words(answer)
    return bool(words) and words <= list_words(text)


def has_words(name, texts):
    """Return whether any of some texts has words of `WORDS`."""
    return any(WORDS[name].search(text.casefold()) for text in texts)


def list_sought(run):
    """Return the calls that looked for something, not just around."""
    return [call for call in run.calls if WORDS["searches"].search(call.asked) or not WORDS["looks"].search(call.asked)]


def strip_answer(answer):
    """Return what an answer says: what stands in its box, else its last line.

    >>> strip_answer("I think so.\\n\\\\boxed{B}"), strip_answer("I submit.\\nMain")
    ('B', 'Main')
    """
    boxed = re.findall(r"\\boxed\{([^{}]*)\}", answer)
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    return boxed[-1] if boxed else lines[-1] if lines else ""


# --- complete, wrong (Table 4) ---------------------------------------------------------------------------------------


def is_format(run, options, target):
    """Return whether the right answer is there, or one of the options, but not in the form asked."""
    if target and not options:
        return holds_answer(run.answer, target)
    said = strip_answer(run.answer).strip(" .\"'")
    named = [option for option in options if holds_answer(said, option)]
    return bool(named) and said.casefold() not in [option.casefold() for option in options]


def is_misread(run):
    """Return whether a number that the agent says its evidence gives stands in no result, nor in the question."""
    if all(call.fault for call in run.calls):
        return False
    known = set(NUMBER.findall("\n".join([run.prompt, *(call.result for call in run.calls)])))
    said = [found for turn in run.turns for claim in WORDS["says"].findall(turn) for found in NUMBER.findall(claim)]
    return any(number not in known for number in said)


def is_retrieval(run):
    """Return whether it says that nothing came, or half of what it looked for failed or came back empty."""
    sought = list_sought(run)
    n_failed = sum(bool(call.fault) for call in sought)
    return bool(run.calls) and (has_words("unfound", [*run.turns, run.answer]) or 2 * n_failed >= max(1, len(sought)))


def label_failure(run, options=(), target=None):
    """Return why a complete run is wrong; a direct answer without a call or a thought is unlabelled."""
    if not run.calls and len(run.turns) <= 1 and len(list_words(run.answer)) <= 12:
        return UNLABELLED
    if is_format(run, options, target):
        return "format"
    if options and run.answer and not any(holds_answer(run.answer, option) for option in options):
        return "misunderstanding"  # of another kind than what was asked: no option, and more than a few words
    if is_misread(run):
        return "misread"
    if is_retrieval(run):
        return "retrieval"
    if sum(call.fault is None for call in list_sought(run)) <= 1:
        return "stopped_early"
    return "reasoning" if run.calls or run.turns else UNLABELLED


# --- incomplete (Table 5) --------------------------------------------------------------------------------------------


def is_tooling(run):
    """Return whether half of the calls fail for the environment's sake, or calls are written as text."""
    faults = [call.fault for call in run.calls]
    n_typed = sum(bool(WORDS["typed"].search(turn)) for turn in run.turns)
    n_broken = sum(fault in ("environment", "other") for fault in faults)
    return 2 * n_broken >= len(faults) > 0 or (not faults and 2 * n_typed > len(run.turns) > 0)


def label_endless(run):
    """Return why a run did not come to an end."""
    calls = run.calls
    turns = run.turns
    asked = [f"{call.tool} {call.asked}" for call in run.calls]
    if not calls and not turns:
        return UNLABELLED
    if is_tooling(run):
        return "tooling"
    absent = [call for call in calls if call.fault == "missing_file" or has_words("unfound", [call.result])]
    if len(calls) >= LOOPED and 2 * len(absent) >= len(calls):
        return "missing_resource"
    if 3 * sum(has_words("unclear", [turn]) for turn in turns) >= len(turns) > 0:
        return "ambiguity"  # it comes back to what is meant, in a third of its turns or more
    n_last = max(1, len(calls) // 3)
    if calls and count_alike(asked) - count_alike(asked[:-n_last]) >= LOOPED:
        return "budget_looping"  # the last third holds calls that were made before but for details
    said = asked or turns
    if 3 * count_alike(said) >= len(said) > 0:
        return "looping"
    is_new = len(calls) >= LOOPED and any(call.fault is None for call in calls[-n_last:])
    return "budget" if is_new else "other"  # new calls that worked, to the end


# --- bottlenecks (Table 10) ------------------------------------------------------------------------------------------

MEANT = {"reasoning": "reasoning", "misread": "parsing", "misunderstanding": "task", "stopped_early": "retrieval"}
"""Where no call failed: a failure's label -> what it lacked."""


def label_bottleneck(run, label):
    """Return what a failed run lacked most: the fault of most of its calls, else what its label means."""
    if label == UNLABELLED:
        return UNLABELLED
    if has_words("namesakes", run.turns):
        return "entity"
    if label in ("format", "misunderstanding", "misread", "reasoning"):
        return MEANT.get(label, "other")
    names = {"empty": "retrieval", "other": "environment"}
    faults = pd.Series([names.get(call.fault, call.fault) for call in run.calls if call.fault], dtype=object)
    if not len(faults):
        return MEANT.get(label, "environment" if label == "tooling" else "other")
    return str(faults.value_counts(sort=True).index[0])


def label_run(steps, status, score, options=(), target=None):
    """Return a run's stratum, label and bottleneck (both None for a right run, and for one that an error ended).

    `options` are what may be answered, in words or letters, none for an open question; `target` the right answer, which
    only tells a wrong form from a wrong answer.
    """
    run = read_run(steps)
    stratum = find_stratum(status, score)
    if stratum in ("correct", "error"):
        return {"stratum": stratum, "label": None, "bottleneck": None}
    label = label_failure(run, options, target) if stratum == "wrong" else label_endless(run)
    return {"stratum": stratum, "label": label, "bottleneck": label_bottleneck(run, label)}
