"""The workflow from users' questions to checked tasks: screening and four controls (LiveAgentBench 3.2).

What the paper asks a model (is a tool needed, can it be retrieved, relevance, complexity) is judged by a language model
and by labels made in reading. The other stages are one for both: whether what a question speaks of came along, whether
a task was made of it, a program that attempts the task (executability), and blind readers, of whom the model is one
(uniqueness). `consult` is a model as a judge (`helpers.models.judges`), `search(text, as_of, n)` returns hits.
"""

from contextlib import ExitStack

import pandas as pd

from helpers.agents.desk import keep_printed
from helpers.agents.registry import open_consult
from helpers.liveagentbench.agent import work_by_turns
from helpers.liveagentbench.asks import list_truths
from helpers.liveagentbench.cases import (
    ABILITIES,
    ENVIRONMENTS,
    JUDGES,
    MAX_MISMATCH,
    MIN_STEPS,
    MIN_TOOLS,
    Step,
    compute_mismatch,
    count_tools,
    list_tags,
)
from helpers.liveagentbench.portal import Portal
from helpers.liveagentbench.program import solve_task
from helpers.liveagentbench.readers import Unread, extract_text
from helpers.liveagentbench.runs import FORM
from helpers.liveagentbench.tasks import AS_OF, open_files
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.scoring.matching import extract_answer, match_answer, split_tokens
from helpers.web.replay import open_world
from helpers.web.session import Web
from helpers.web.sources import load_sources

RUN_ID = "30_spdg"
N_HITS = 3
MAX_PASSAGES = 600
"""Characters of what a search found that a model is shown."""
RUN = ("status", "reply", "reason")
ANSWERED = ("ok", "unparsable")
"""States of a request that a model replied to, whether or not its reply holds an answer."""
NEED = make_schema(needs_tool={"enum": ["yes", "no"]}, tool={"enum": list(ENVIRONMENTS)})
STEP = make_schema(ability={"enum": list(ABILITIES)}, environment={"enum": list(ENVIRONMENTS)})
STEPS = make_schema(steps={"type": "array", "items": STEP, "minItems": 1, "maxItems": 4})
"""What a model replies with on need and steps; an answer alone has the task set's FORM."""


def view(question_id, stage, judge, is_kept, note="", status="ok"):
    """Return a row of views: what a judge says of a question at a stage; `is_kept` None where nothing can be said.

    `status` is "missing" where the reply is not recorded, else that of a request that failed, else "ok".
    """
    about = {"question_id": question_id, "stage": stage, "judge": judge}
    return about | {"is_kept": is_kept, "note": note, "status": status}


# --- what a model is asked -------------------------------------------------------------------------------------------


def ask_answer(consult, prompt, repeat=0, **blanks):
    """Return (status, answer or None) of a prompt for an answer alone."""
    verdict = consult(read_prompt(prompt).format(**blanks), FORM, repeat)
    return verdict.status, verdict.value["answer"] if verdict.value else None


def ask_steps(consult, text):
    """Return (status, steps or None) of how a model would answer a question."""
    verdict = consult(read_prompt("spdg_steps").format(question=text), STEPS)
    return verdict.status, [Step(**step) for step in verdict.value["steps"]] if verdict.value else None


def find_passages(search, text, as_of):
    """Return what one search for a question shows, cut to MAX_PASSAGES characters."""
    hits = search(text, as_of, N_HITS)
    return "\n".join(f"{hit.title}: {hit.text}" for hit in hits)[:MAX_PASSAGES] or "nothing"


# --- screening -------------------------------------------------------------------------------------------------------


def view_need(question, consult):
    """Return the views on whether a question needs a tool: the few-shot annotator's and the label's."""
    name, kind = question["question_id"], question["kind"]
    verdict = consult(read_prompt("spdg_annotator").format(question=question["text"]), NEED)
    says = verdict.value["needs_tool"] == "yes" if verdict.value else None
    label = kind in ("lookup", "work") if kind else None
    notes = {True: "", False: "no tool needed", None: "unknown"}
    return [
        view(name, "tool dependent", "model", says, notes[says], verdict.status),
        view(name, "tool dependent", "labels", label, notes[label]),
    ]


def view_retrieval(question, truth, consult, search, as_of):
    """Return the views on whether a question is beyond memory and one search.

    The model answers from memory, then with what one search found; a reply that equals the truth drops the question,
    one without an answer has failed. The model's view is None without a known truth, and where a request failed.
    """
    name, kind = question["question_id"], question["kind"]
    label = kind not in ("knowledge", "lookup") if kind else None
    rows = [view(name, "not retrievable", "labels", label, "" if label else kind or "unknown")]
    if truth is None:
        return [view(name, "not retrievable", "model", None, "no known answer", "no answer"), *rows]
    for prompt, note in (("spdg_alone", "known by heart"), ("spdg_found", "found by one search")):
        found = find_passages(search, question["text"], as_of) if prompt == "spdg_found" else ""
        status, reply = ask_answer(consult, prompt, question=question["text"], found=found)
        if status not in ANSWERED:
            return [view(name, "not retrievable", "model", None, "no reply", status), *rows]
        if match_answer(reply, truth)["is_equal"]:
            return [view(name, "not retrievable", "model", False, note), *rows]
    return [view(name, "not retrievable", "model", True), *rows]


def screen_questions(questions, cases, answers, consult, search, as_of):
    """Return the views on all questions before anything is constructed, a row a question, stage and judge.

    `answers` maps event_id to a task's answer; what is known to answer a question is its own answer, that of its
    `answer_task`, or its case's.
    """
    rows = []
    for question in questions.to_dict("records"):
        name = question["question_id"]
        truth = question["answer"] or answers.get(question["answer_task"]) or cases.get(name, {}).get("answer")
        note = "a file did not come along" if question["lacks"] else ""
        rows += [view(name, "attachment", judge, not question["lacks"], note) for judge in JUDGES]
        rows += view_need(question, consult) + view_retrieval(question, truth, consult, search, as_of)
        note = "" if name in cases else "no closed question was made of it"
        rows += [view(name, "constructed", judge, name in cases, note) for judge in JUDGES]
    return pd.DataFrame(rows)


# --- controls --------------------------------------------------------------------------------------------------------


def view_relevance(question, case, asked, closed, status):
    """Return the views on whether the task asks for what the user's question asked (the 50% rule)."""
    name = question["question_id"]
    labels = set((question["abilities"] or []) + (question["environments"] or []))
    pairs = {"labels": (labels, list_tags(case["steps"]))} if labels else {}
    if asked and closed:
        pairs["model"] = list_tags(asked), list_tags(closed)
    rows = []
    for judge in JUDGES:
        if judge in pairs:
            mismatch = compute_mismatch(*pairs[judge])
            rows.append(view(name, "relevance", judge, mismatch <= MAX_MISMATCH, f"mismatch {mismatch:.2f}"))
        else:
            rows.append(view(name, "relevance", judge, None, "unknown", status if judge == "model" else "ok"))
    return rows


def view_complexity(name, case, closed, status):
    """Return the views on whether a task takes two steps or more, and a tool."""
    rows = []
    for judge, steps in (("model", closed), ("labels", case["steps"])):
        if not steps:
            rows.append(view(name, "complexity", judge, None, "unknown", status))
            continue
        is_kept = len(steps) >= MIN_STEPS and count_tools(steps) >= MIN_TOOLS
        rows.append(view(name, "complexity", judge, is_kept, f"steps {len(steps)}, tools {count_tools(steps)}"))
    return rows


def answer_blind(consult, case, places, search, repeat=0):
    """Return (status, answer or None) of a model that sees the task and its files' text, or what one search found."""
    event, files = case["event"], [place for place in places if not isinstance(place, str)]
    if not files:
        found = find_passages(search, event["prompt"], event["as_of"])
        return ask_answer(consult, "spdg_found", repeat, question=event["prompt"], found=found)
    try:
        text = extract_text(files)
    except Unread:
        return "unreadable", None
    return ask_answer(consult, "taskset_text", repeat, question=event["prompt"], text=text)


def settle(first, second, third):
    """Return (answer, note): what two blind readers share, else the third's where it is one of theirs, else None.

    >>> settle("12", "12.0", None), settle("12", "7", "7"), settle("12", "7", "9")
    (('12', 'agreed'), ('7', 'settled by a third'), (None, 'no two agree'))
    """
    if is_same(first, second):
        return first, "agreed"
    shared = [answer for answer in (first, second) if is_same(answer, third)]
    return (shared[0], "settled by a third") if shared else (None, "no two agree")


def is_same(first, second):
    """Say whether two answers are the same once normalised; nothing is not the same as nothing."""
    tokens = [split_tokens(extract_answer(answer)) for answer in (first, second)]
    return bool(tokens[0]) and tokens[0] == tokens[1]


def view_answers(name, case, run, consult, places, search):
    """Return the views on whether a task can be executed and has one answer, the same for both judges.

    The third reader, the model drawn again, is asked only where the program and the model differ.
    """
    is_missing = run["status"] == "missing"
    can = None if is_missing else run["status"] == "ok" and run["reply"] is not None
    note = "" if can else "no reply" if is_missing else run["reason"] or "the program finds no answer"
    rows = [view(name, "executability", judge, can, note, "missing" if is_missing else "ok") for judge in JUDGES]
    status, second = answer_blind(consult, case, places, search)
    third = None
    if status in ANSWERED and not is_same(run["reply"], second):
        status, third = answer_blind(consult, case, places, search, 1)
    if status not in ANSWERED:
        return rows + [view(name, "uniqueness", judge, None, "no reply", status) for judge in JUDGES]
    settled, how = settle(run["reply"], second, third)
    is_kept = settled is not None and match_answer(settled, case["answer"])["is_equal"]
    note = how if settled is None or is_kept else f"{how}, against the annotator"
    return rows + [view(name, "uniqueness", judge, is_kept, note) for judge in JUDGES]


def control_cases(questions, cases, consult, search, places, fetch, shells):
    """Return the views of the four controls on all cases, a row a question, stage and judge.

    `places` maps question_id to its task's files and addresses; `fetch` is a web's, `shells` as of `work_by_turns`. A
    program stands in for the paper's other annotator, of a task of a case's own the model with its tools; it takes its
    own way, so the labelled steps are not tried.
    """
    rows, texts = [], questions.set_index("question_id", drop=False).to_dict("index")
    for name, case in cases.items():
        event = case["event"]
        asked_status, asked = ask_steps(consult, texts[name]["text"])
        status, closed = ask_steps(consult, event["prompt"])
        rows += view_relevance(texts[name], case, asked, closed, status if closed is None else asked_status)
        rows += view_complexity(name, case, closed, status)
        if case["places"] is None:
            run = solve_task(event, places[name], fetch)
        else:
            run = dict(zip(RUN, work_by_turns(consult, event, places[name], fetch, shells), strict=True))
        rows += view_answers(name, case, run, consult, places[name], search)
    return pd.DataFrame(rows)


# --- both ------------------------------------------------------------------------------------------------------------


def run_workflow(questions, cases, answers, judge, run_id=RUN_ID, **settings):
    """Return the views of screening and controls on all questions, by labels and by a judge's model.

    `answers` are the task set's. `judge` is an agent of data/agents.toml; `settings` are those of `registry.open_agent`
    (live, minutes).
    """
    with ExitStack() as stack:
        events = [case["event"] | {"event_id": name} for name, case in cases.items() if case["places"] is None]
        places = stack.enter_context(open_files(pd.DataFrame(events, columns=["event_id", "attachments"])))
        places |= {name: case["places"] for name, case in cases.items() if case["places"] is not None}
        search = stack.enter_context(open_world())().search
        consult = stack.enter_context(open_consult(judge, run_id, about="makes tasks", **settings))
        shells = stack.enter_context(keep_printed(run_id, settings.get("live")))
        screened = screen_questions(questions, cases, list_truths(answers), consult, search, AS_OF)
        fetch = Web(Portal(load_sources())).fetch
        controlled = control_cases(questions, cases, consult, search, places, fetch, shells)
    return pd.concat([screened, controlled], ignore_index=True)
