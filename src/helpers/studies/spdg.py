"""The workflow from users' questions to checked tasks: screening, four controls, a funnel (LiveAgentBench 3.2).

Every control is judged in two ways, by a language model and by labels made in reading (uniqueness and executability by
programs and the model together, the same in both), so that the model is held against planted faults before anything
rests on it. Each function that asks a model takes `consult` (`helpers.judges`).
"""

import pandas as pd

from helpers.agents.prompts import read_prompt
from helpers.agents.solvers import KITS, Unread, extract_text, solve_task
from helpers.outcomes.matching import extract_answer, match_answer, split_tokens
from helpers.questions.spdg import (
    ABILITIES,
    CONTROLS,
    ENVIRONMENTS,
    MAX_MISMATCH,
    Step,
    compute_mismatch,
    count_tools,
    list_tags,
)
from helpers.store import parse_json

RUN_ID = "30_spdg"
STAGES = ("attachment", "tool dependent", "not retrievable", "constructed", *CONTROLS)
"""A question's way; it goes on only from a stage that keeps it."""
JUDGES = ("model", "labels")
N_HITS = 3
MAX_PASSAGES = 600
"""Characters of what a search found that a model is shown."""
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 40}},
    "required": ["answer"],
    "additionalProperties": False,
}
NEED = {
    "type": "object",
    "properties": {"needs_tool": {"enum": ["yes", "no"]}, "tool": {"enum": list(ENVIRONMENTS)}},
    "required": ["needs_tool", "tool"],
    "additionalProperties": False,
}
STEP = {
    "type": "object",
    "properties": {"ability": {"enum": list(ABILITIES)}, "environment": {"enum": list(ENVIRONMENTS)}},
    "required": ["ability", "environment"],
    "additionalProperties": False,
}
STEPS = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": STEP, "minItems": 1, "maxItems": 4}},
    "required": ["steps"],
    "additionalProperties": False,
}


def view(question_id, stage, judge, is_kept, note="", status="ok"):
    """Return a row of views: what a judge says of a question at a stage; `is_kept` None where nothing can be said."""
    return {
        "question_id": question_id,
        "stage": stage,
        "judge": judge,
        "is_kept": is_kept,
        "note": note,
        "status": status,
    }


# --- what a model is asked -------------------------------------------------------------------------------------------


def ask_answer(consult, prompt, repeat=0, **blanks):
    """Return (status, answer or None) of a prompt for an answer alone."""
    verdict = consult(read_prompt(prompt).format(**blanks), ANSWER, repeat)
    return verdict.status, verdict.value["answer"] if verdict.value else None


def ask_steps(consult, text):
    """Return (status, steps or None) of how a model would answer a question."""
    verdict = consult(read_prompt("spdg_steps").format(question=text), STEPS)
    return verdict.status, [Step("", **step) for step in verdict.value["steps"]] if verdict.value else None


def find_passages(search, text, as_of):
    """Return what one search for a question shows, cut to MAX_PASSAGES characters."""
    hits = search(text, as_of, N_HITS)
    return "\n".join(f"{hit.title}: {hit.text}" for hit in hits)[:MAX_PASSAGES] or "nothing"


# --- screening -------------------------------------------------------------------------------------------------------


def view_attachment(question):
    """Return the views on whether a question's files came along; by labels, and by rule in the model's stead."""
    named = question["attachments"] or []
    is_missing = bool(named) or question["kind"] == "missing"
    name, note = question["question_id"], "a file did not come along" if is_missing else ""
    return [view(name, "attachment", judge, not is_missing, note) for judge in JUDGES]


def view_need(question, consult):
    """Return the views on whether a question needs a tool: the few-shot annotator's and the label's."""
    name, kind = question["question_id"], question["kind"]
    verdict = consult(read_prompt("spdg_annotator").format(question=question["text"]), NEED)
    says = verdict.value and (verdict.value["needs_tool"] == "yes")
    label = kind in ("lookup", "missing", "work") if kind else None
    return [
        view(name, "tool dependent", "model", says, "" if says else "no tool needed", verdict.status),
        view(name, "tool dependent", "labels", label, "" if label else "no tool needed"),
    ]


def view_retrieval(question, truth, consult, search, as_of):
    """Return the views on whether a question is beyond memory and one search.

    The model answers from memory, and if that fails with what one search found; a reply that matches the truth drops
    the question. Without a known answer the model's view is None.
    """
    name, kind = question["question_id"], question["kind"]
    label = kind not in ("knowledge", "lookup") if kind else None
    rows = [view(name, "not retrievable", "labels", label, "" if label else kind)]
    if truth is None:
        return [view(name, "not retrievable", "model", None, "no known answer", "no answer"), *rows]
    for prompt, note in (("spdg_alone", "known by heart"), ("spdg_found", "found by one search")):
        found = find_passages(search, question["text"], as_of) if prompt == "spdg_found" else ""
        status, reply = ask_answer(consult, prompt, question=question["text"], found=found)
        if status == "missing":
            return [view(name, "not retrievable", "model", None, "not recorded", status), *rows]
        if match_answer(reply, truth)["is_match"]:
            return [view(name, "not retrievable", "model", False, note), *rows]
    return [view(name, "not retrievable", "model", True), *rows]


def screen_questions(questions, cases, consult, search, as_of):
    """Return the views on all questions before anything is constructed, a row a question, stage and judge.

    `search(text, as_of, n)` returns hits; a reply is held against the question's answer or its case's.
    """
    rows = []
    for question in questions.to_dict("records"):
        name = question["question_id"]
        truth = question["answer"] or (cases[name]["answer"] if name in cases else None)
        rows += view_attachment(question) + view_need(question, consult)
        rows += view_retrieval(question, truth, consult, search, as_of)
        note = "" if name in cases else "no closed question was made of it"
        rows += [view(name, "constructed", judge, name in cases, note) for judge in JUDGES]
    return pd.DataFrame(rows)


# --- controls --------------------------------------------------------------------------------------------------------


def view_relevance(question, case, asked, closed, status):
    """Return the views on whether the task asks for what the user's question asked (the 50% rule)."""
    name = question["question_id"]
    labels = set((question["abilities"] or []) + (question["environments"] or []))
    pairs = {"labels": (labels, list_tags(case["steps"]))}
    if asked and closed:
        pairs["model"] = list_tags(asked), list_tags(closed)
    rows = []
    for judge in JUDGES:
        if judge not in pairs:
            rows.append(view(name, "relevance", judge, None, "not recorded", status))
            continue
        mismatch = compute_mismatch(*pairs[judge])
        rows.append(view(name, "relevance", judge, mismatch <= MAX_MISMATCH, f"mismatch {mismatch:.2f}"))
    return rows


def view_complexity(name, case, closed, status):
    """Return the views on whether a task takes two steps or more, and a tool."""
    rows = []
    for judge, steps in (("model", closed), ("labels", case["steps"])):
        if not steps:
            rows.append(view(name, "complexity", judge, None, "not recorded", status))
            continue
        is_kept = len(steps) >= 2 and count_tools(steps) >= 1
        rows.append(view(name, "complexity", judge, is_kept, f"steps {len(steps)}, tools {count_tools(steps)}"))
    return rows


def follow_steps(case, places, fetch):
    """Return a program's run of a case's task (`solvers.solve_task`): another annotator's, in the paper."""
    event = case["event"] | {"capabilities": parse_json(case["event"]["capabilities"])}
    return solve_task(KITS[2], event, places, fetch)


def answer_blind(consult, case, places, search, repeat=0):
    """Return (status, answer) of a model that sees the task and its files' text, or what one search found."""
    event, files = case["event"], [place for place in places if not isinstance(place, str)]
    if not files:
        found = find_passages(search, event["prompt"], event["as_of"])
        return ask_answer(consult, "spdg_found", repeat, question=event["prompt"], found=found)
    try:
        text = extract_text(event["prompt"], files)
    except Unread as error:
        return "failed", str(error)
    return ask_answer(consult, "taskset_text", repeat, question=event["prompt"], text=text)


def settle(first, second, third):
    """Return (answer, note): the one that two blind readers share, else the third's where it is one of theirs, else
    None. `third()` is asked only when they differ.

    >>> settle("12", "12.0", None), settle("12", "7", lambda: "7"), settle("12", "7", lambda: "9")
    (('12', 'agreed'), ('7', 'settled by a third'), (None, 'three answers'))
    """
    if is_same(first, second):
        return first, "agreed"
    again = third()
    if again is None:
        return None, "not recorded"
    shared = [answer for answer in (first, second) if is_same(answer, again)]
    return (shared[0], "settled by a third") if shared else (None, "three answers")


def is_same(first, second):
    """Say whether two answers are the same once normalised; nothing is not the same as nothing."""
    tokens = [split_tokens(extract_answer(answer)) for answer in (first, second)]
    return bool(tokens[0]) and tokens[0] == tokens[1]


def view_answers(name, case, run, consult, places, search):
    """Return the views on whether a task can be executed and has one answer, the same for both judges."""
    can = run["status"] == "ok" and run["reply"] is not None
    note = "" if can else run["reason"] or "the steps lead to no answer"
    rows = [view(name, "executability", judge, can, note) for judge in JUDGES]
    status, second = answer_blind(consult, case, places, search)
    if status == "missing":
        return rows + [view(name, "uniqueness", judge, None, "not recorded", status) for judge in JUDGES]
    settled, how = settle(run["reply"], second, lambda: answer_blind(consult, case, places, search, 1)[1])
    is_kept = settled is not None and match_answer(settled, case["answer"])["is_equal"]
    note = how if settled is None or is_kept else f"{how}, against the annotator"
    is_kept = None if how == "not recorded" else is_kept
    return rows + [view(name, "uniqueness", judge, is_kept, note) for judge in JUDGES]


def control_cases(questions, cases, consult, search, places, ways):
    """Return the views of the four controls on all cases, a row a question, stage and judge.

    `places` maps event_id to a task's files and addresses; `ways` a task's variant to a gateway's fetch.
    """
    rows, texts = [], questions.set_index("question_id", drop=False).to_dict("index")
    for name, case in cases.items():
        event = case["event"]
        asked_status, asked = ask_steps(consult, texts[name]["text"])
        status, closed = ask_steps(consult, event["prompt"])
        rows += view_relevance(texts[name], case, asked, closed, status if closed is None else asked_status)
        rows += view_complexity(name, case, closed, status)
        run = follow_steps(case, places[event["event_id"]], ways[event["variant"]])
        rows += view_answers(name, case, run, consult, places[event["event_id"]], search)
    return pd.DataFrame(rows)


# --- the funnel ------------------------------------------------------------------------------------------------------


def run_funnel(views, stages=STAGES):
    """Return how many questions each stage keeps, by judge: judge, stage, n_in, n_out, n_unknown, reasons.

    A question without a view (None) stops there and is counted as unknown; reasons are the notes of those dropped.
    """
    rows = []
    for judge, part in views.groupby("judge", sort=False):
        left = set(part["question_id"])
        for stage in stages:
            here = part[(part["stage"] == stage) & part["question_id"].isin(left)]
            kept = here[here["is_kept"].eq(True)]
            dropped = here[here["is_kept"].eq(False)]
            reasons = "; ".join(f"{note} ({n})" for note, n in dropped["note"].value_counts(sort=False).items())
            row = {"judge": judge, "stage": stage, "n_in": len(left), "n_out": len(kept)}
            rows.append(row | {"n_unknown": len(left) - len(kept) - len(dropped), "reasons": reasons})
            left = set(kept["question_id"])
    return pd.DataFrame(rows)


def list_kept(views, judge, stages=STAGES):
    """Return the question_ids that a judge keeps at every stage, sorted."""
    part = views[(views["judge"] == judge) & views["is_kept"].eq(True)]
    n_kept = part.groupby("question_id")["stage"].nunique()
    return sorted(n_kept.index[n_kept == len(stages)])


def catch_planted(views, cases):
    """Return what each control says of the case planted for it, and of the cases not planted for any.

    Columns: stage, judge, planted (kept, dropped or not recorded), n_fine, n_false (fine cases that it drops).
    """
    rows, said = [], {True: "kept", False: "dropped", None: "not recorded"}
    for stage in CONTROLS:
        planted = {name for name, case in cases.items() if case["planted"] == stage}
        fine = {name for name, case in cases.items() if not case["planted"]}
        for judge in JUDGES:
            part = views[(views["stage"] == stage) & (views["judge"] == judge)].set_index("question_id")["is_kept"]
            known = part[part.index.isin(fine)].dropna()
            verdicts = [said[part[name]] for name in sorted(planted)]
            row = {"stage": stage, "judge": judge, "planted": ", ".join(verdicts)}
            rows.append(row | {"n_fine": len(known), "n_false": int((~known.astype(bool)).sum())})
    return pd.DataFrame(rows)
