"""What went wrong in a run, by rules on its trace: strata, failures, non-convergence, bottlenecks, flags (6, E).

The paper's labels are a judge's (`proof_of_time.rubrics`). These rules read the trace alone. Each set of labels is
closed, with "unlabelled" for runs that show too little; of the rules in order the first that holds gives the label.
"""

import re
from typing import NamedTuple

import pandas as pd

from helpers.store import parse_json, parse_object

UNLABELLED = "unlabelled"
FAILURES = {
    "reasoning": "Reasoning error",
    "retrieval": "Retrieval/tooling",
    "stopped_early": "Stopping too early",
    "format": "Format/constraint violation",
    "misunderstanding": "Task misunderstanding",
    "misread": "Evidence misread",
}
ENDLESS = {
    "looping": "Looping / thrashing",
    "budget": "Budget exhaustion",
    "budget_looping": "Budget exhaustion via looping",
    "other": "Other",
    "tooling": "Tooling / environment errors",
    "missing_resource": "Missing resource / data",
    "ambiguity": "Unresolved ambiguity",
}
BOTTLENECKS = {
    "retrieval": "Retrieval / search",
    "parsing": "Parsing / extraction",
    "other": "Other",
    "missing_file": "Missing file / path",
    "reasoning": "Reasoning",
    "task": "Task understanding",
    "environment": "Environment / dependencies",
    "entity": "Entity disambiguation",
}
FLAGS = {
    "verification": "Verification noted",
    "unsupported": "Unsupported claims noted",
    "luck": "Lucky/guessing noted",
    "redundancy": "Redundancy noted",
}
"""Our labels -> the paper's (Tables 4, 5, 10 and 11)."""

FAULTS = {
    "missing_file": r"no such file|cannot access|cannot find the file|filenotfound|does not exist|not a directory",
    "environment": r"modulenotfound|importerror|command not found|permission denied|memoryerror|timed? ?out"
    r"|passed the limit|killed|not a tool|connection",
    "parsing": r"jsondecode|keyerror|indexerror|valueerror|unicode|parsererror|typeerror|syntaxerror|nameerror"
    r"|attributeerror|_csv\.error",
}
"""What the text of a failed call says -> whose fault it is, the first that fits."""
FAILED = re.compile(
    r"traceback|\berror\b|\(it ended with [1-9]|\(it was ended|was not done|" + "|".join(FAULTS.values())
)
EMPTY = re.compile(r"(?:\(?it printed nothing\)?|none|\[\]|\{\}|null|0|no match(?:es)?(?: found)?\.?)?")
LOOKS = re.compile(r"\s*(?:ls|pwd|find|tree|wc|file|head|cat|view|sed)\b|os\.listdir|\"view\"|readme", re.I)
"""Calls that look around rather than for something."""
SEARCHES = re.compile(r"grep|search|\bin line\b|\.loc|query|contains|==|startswith|re\.find|select", re.I)

UNFOUND = re.compile(
    r"\b(?:unable to find|could(?:n't| not) find|not found|no (?:such )?(?:record|entry|result|data|match)"
    r"|nothing (?:was |is )?(?:found|there)|cannot see|did not (?:find|include|return)"
    r"|tools? (?:failed|do(?:es)? not work))"
)
UNSURE = re.compile(r"\b(?:guess\w*|not sure|unsure|no way to (?:know|tell)|pick one|at random|by chance|coin)\b")
CHECKS = re.compile(r"\b(?:verif\w+|double[- ]check\w*|confirm\w*|cross[- ]check\w*|once more to be sure)\b")
UNCLEAR = re.compile(
    r"\b(?:ambiguous|ambiguity|unclear|two readings|either meaning|could mean|which (?:one )?is meant)\b"
)
NAMESAKES = re.compile(r"\b(?:same name|namesakes?|which of the (?:two|several)|another person|several people)\b")
SAYS = re.compile(r"\b(?:shows?|says?|reads?|lists?|gives?|states?|reports?)\b[^.\n]*")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
TYPED = re.compile(r"\b(?:submit|bash|python|think|text_editor)\s*\(|\bsubmit\s*:", re.I)
"""A call that was written as text."""

ALIKE, LOOPED = 0.8, 3
"""Share of words from which two calls are the same but for details, and how many of them in the last third are a loop
(the paper's two categories of budget are parted by it)."""


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
    return "empty" if EMPTY.fullmatch(result.strip().casefold()) else None


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


# --- what several rules ask ------------------------------------------------------------------------------------------


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


def list_asked(run):
    """Return a run's calls as texts, each with its tool."""
    return [f"{call.tool} {call.asked}" for call in run.calls]


def list_sought(run):
    """Return the calls that looked for something, not just around."""
    return [call for call in run.calls if SEARCHES.search(call.asked) or not LOOKS.search(call.asked)]


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
    said = [found for turn in run.turns for claim in SAYS.findall(turn) for found in NUMBER.findall(claim)]
    return any(number not in known for number in said)


def is_retrieval(run):
    """Return whether it says that nothing came, or half of what it looked for failed or came back empty."""
    sought = list_sought(run)
    n_failed = sum(bool(call.fault) for call in sought)
    admits = any(UNFOUND.search(text.casefold()) for text in [*run.turns, run.answer])
    return bool(run.calls) and (admits or 2 * n_failed >= max(1, len(sought)))


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
    n_typed = sum(bool(TYPED.search(turn)) for turn in run.turns)
    n_broken = sum(fault in ("environment", "other") for fault in faults)
    return 2 * n_broken >= len(faults) > 0 or (not faults and 2 * n_typed > len(run.turns) > 0)


def label_endless(run):
    """Return why a run did not come to an end."""
    calls, turns, asked = run.calls, run.turns, list_asked(run)
    if not calls and not turns:
        return UNLABELLED
    if is_tooling(run):
        return "tooling"
    absent = [call for call in calls if call.fault == "missing_file" or UNFOUND.search(call.result.casefold())]
    if len(calls) >= LOOPED and 2 * len(absent) >= len(calls):
        return "missing_resource"
    if 3 * sum(bool(UNCLEAR.search(turn.casefold())) for turn in turns) >= len(turns) > 0:
        return "ambiguity"  # it comes back to what is meant, in a third of its turns or more
    n_last = max(1, len(calls) // 3)
    if calls and count_alike(asked) - count_alike(asked[:-n_last]) >= LOOPED:
        return "budget_looping"  # the last third holds calls that were made before but for details
    said = asked or turns
    if 3 * count_alike(said) >= len(said) > 0:
        return "looping"
    is_new = len(calls) >= LOOPED and any(call.fault is None for call in calls[-n_last:])
    return "budget" if is_new else "other"  # new calls that worked, to the end


# --- bottlenecks and flags (Tables 10 and 11) ------------------------------------------------------------------------

MEANT = {"reasoning": "reasoning", "misread": "parsing", "misunderstanding": "task", "stopped_early": "retrieval"}
"""Where no call failed: a failure's label -> what it lacked."""


def label_bottleneck(run, label):
    """Return what a failed run lacked most: the fault of most of its calls, else what its label means."""
    if label == UNLABELLED:
        return UNLABELLED
    if any(NAMESAKES.search(turn.casefold()) for turn in run.turns):
        return "entity"
    if label in ("format", "misunderstanding", "misread", "reasoning"):
        return MEANT.get(label, "other")
    names = {"empty": "retrieval", "other": "environment"}
    faults = pd.Series([names.get(call.fault, call.fault) for call in run.calls if call.fault], dtype=object)
    if not len(faults):
        return MEANT.get(label, "environment" if label == "tooling" else "other")
    return str(faults.value_counts(sort=True).index[0])


def flag_correct(run):
    """Return what a right run shows, as a dict of FLAGS: a check, no support, luck, redundancy."""
    useful, said = [call for call in run.calls if call.fault is None], strip_answer(run.answer)
    words = " ".join([*run.turns, run.answer]).casefold()
    return {
        "verification": bool(CHECKS.search(words)),
        "unsupported": not any(holds_answer(call.result, said) for call in useful),
        "luck": bool(UNSURE.search(words)) or not useful,
        "redundancy": count_alike(list_asked(run)) > 0,
    }


def label_run(steps, status, score, options=(), target=None):
    """Return a run's row: stratum, label, bottleneck, flags (a dict, of right runs).

    `options` are what may be answered, in words or letters, none for an open question; `target` the right answer, which
    only tells a wrong form from a wrong answer.
    """
    run, stratum = read_run(steps), find_stratum(status, score)
    row = {"stratum": stratum, "label": None, "bottleneck": None, "flags": None}
    if stratum == "correct":
        return row | {"flags": flag_correct(run)}
    if stratum == "error":
        return row
    label = label_failure(run, options, target) if stratum == "wrong" else label_endless(run)
    return row | {"label": label, "bottleneck": label_bottleneck(run, label)}


def label_runs(traces, replies, scores, *, options=(), answers=None):
    """Return `label_run` of each reply, a row each with its key; `options` are those of all questions."""
    key = ["run_id", "event_id", "sample"]
    known = scores.set_index(key)["score"].to_dict()
    targets = {} if answers is None else {row.event_id: parse_json(row.value) for row in answers.itertuples()}
    groups = {at: part.to_dict("records") for at, part in traces.sort_values("step").groupby(key)}
    rows = []
    for reply in replies.to_dict("records"):
        at = tuple(reply[name] for name in key)
        given = options(reply["event_id"]) if callable(options) else options
        made = label_run(groups[at], reply["status"], known.get(at), given, targets.get(reply["event_id"]))
        rows.append(dict(zip(key, at, strict=True)) | made)
    return pd.DataFrame(rows)
