"""The workflow from users' questions to checked tasks: screening and four controls (LiveAgentBench
3.2).

What the paper asks a model (is a tool needed, can it be retrieved, relevance, complexity) is judged
by a language model and by labels made in reading. The other stages are one for both: whether what a
question speaks of came along, whether a task was made of it, a program that attempts the task
(executability), and blind readers, of whom the model is one (uniqueness). `consult` is a model as a
judge (`daybefore.models.judges`), `search(text, as_of, n)` returns hits.

A view is (is_kept, note) or (is_kept, note, status); `is_kept` is None where nothing can be said,
`status` "missing" where the reply is not recorded, else that of a request that failed, else "ok".
"""

import pandas as pd

from daybefore.agents.registry import open_consult
from daybefore.agents.sandbox_tools import keep_printed
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.replay import open_world
from daybefore.web.session import Web
from daybefore.web.source_registry import load_sources
from helpers.agreement import compare_judges
from helpers.match_answers import extract_answer, match_answer, split_tokens
from studies.liveagentbench.program_baseline import solve_task
from studies.liveagentbench.read_files import Unread, extract_text
from studies.liveagentbench.task_answers import list_truths, write_truth
from studies.liveagentbench.task_runs import FORM, take_answer, work_by_turns
from studies.liveagentbench.tasks import AS_OF, Portal, open_files
from studies.liveagentbench.user_questions import (
    ABILITIES,
    CONTROLS,
    ENVIRONMENTS,
    JUDGES,
    STAGES,
    Step,
    list_tags,
    rate_complexity,
    rate_level,
    rate_tags,
)

RUN_ID = "30_spdg"
N_HITS, MAX_PASSAGES = 3, 600
"""Hits of a search, and characters of them, that a model is shown."""
ANSWERED = ("ok", "unparsable")
"""States of a request that a model replied to, whether or not its reply holds an answer."""
NEED = make_schema(needs_tool={"enum": ["yes", "no"]}, tool={"enum": list(ENVIRONMENTS)})
STEP = make_schema(ability={"enum": list(ABILITIES)}, environment={"enum": list(ENVIRONMENTS)})
STEPS = make_schema(steps={"type": "array", "items": STEP, "minItems": 1, "maxItems": 4})
"""What a model replies with on need and steps; an answer alone has the task set's FORM."""


def list_views(question_id, stage, model, labels=None):
    """Return the rows of a question's views at a stage: the model's, and the labels', where not
    given the same."""
    rows = []
    for judge, (is_kept, note, *status) in zip(JUDGES, (model, labels or model), strict=True):
        row = {"question_id": question_id, "stage": stage, "judge": judge, "is_kept": is_kept}
        rows.append(row | {"note": note, "status": status[0] if status else "ok"})
    return rows


def ask_answer(consult, prompt, repeat=0, **blanks):
    """Return (status, answer or None) of a prompt for an answer alone."""
    verdict = consult(read_prompt(prompt).format(**blanks), FORM, repeat)
    return verdict.status, take_answer(verdict)


def find_passages(search, text, as_of):
    """Return what one search for a question shows, cut to MAX_PASSAGES characters."""
    hits = search(text, as_of, N_HITS)
    return "\n".join(f"{hit.title}: {hit.text}" for hit in hits)[:MAX_PASSAGES] or "nothing"


def run_workflow(questions, cases, answers, judge, run_id=RUN_ID, **settings):
    """Return the views of screening and controls on all questions, by labels and by a judge's
    model.

    `answers` are the task set's. `judge` is an agent of data/agents.toml; `settings` are those of
    `registry.open_agent` (live, minutes).
    """
    of_set = [
        {"event_id": name, "attachments": case["event"]["attachments"]}
        for name, case in cases.items()
        if case["places"] is None
    ]
    events = pd.DataFrame(of_set, columns=["event_id", "attachments"])
    live = settings.get("live")
    opened = open_consult(judge, run_id, about="makes tasks", **settings)
    with (
        open_files(events) as places,
        open_world() as connect,
        opened as consult,
        keep_printed(run_id, live) as shells,
    ):
        places |= {
            name: case["places"] for name, case in cases.items() if case["places"] is not None
        }
        search = connect().search
        screened = screen_questions(questions, cases, list_truths(answers), consult, search, AS_OF)
        fetch = Web(Portal(load_sources())).fetch
        controlled = control_cases(questions, cases, consult, search, places, fetch, shells)
    return pd.concat([screened, controlled], ignore_index=True)


# --- screening --------------------------------------------------------------------------------------


def screen_questions(questions, cases, answers, consult, search, as_of):
    """Return the views on all questions before anything is constructed, a row a question, stage and
    judge.

    `answers` maps event_id to a task's answer; what is known to answer a question is its own
    answer, that of its `answer_task`, or its case's.
    """
    rows = []
    notes = {True: "", False: "no tool needed", None: "unknown"}
    for question in questions.to_dict("records"):
        name = question["question_id"]
        kind = question["kind"]
        text = question["text"]
        lacks = "a file did not come along" if question["lacks"] else ""
        rows += list_views(name, "attachment", (not lacks, lacks))
        verdict = consult(read_prompt("spdg_annotator").format(question=text), NEED)
        needs = verdict.value["needs_tool"] == "yes" if verdict.value else None
        label = kind in ("lookup", "work") if kind else None
        rows += list_views(
            name, "tool dependent", (needs, notes[needs], verdict.status), (label, notes[label])
        )
        truth = (
            question["answer"]
            or answers.get(question["answer_task"])
            or cases.get(name, {}).get("answer")
        )
        label = kind not in ("knowledge", "lookup") if kind else None
        retrieved = try_retrieval(text, truth, consult, search, as_of)
        rows += list_views(
            name, "not retrievable", retrieved, (label, "" if label else kind or "unknown")
        )
        lacks = "" if name in cases else "no closed question was made of it"
        rows += list_views(name, "constructed", (not lacks, lacks))
    return pd.DataFrame(rows)


def try_retrieval(text, truth, consult, search, as_of):
    """Return the model's view on whether a question is beyond memory and one search.

    The model answers from memory, then with what one search found; a reply that equals the truth
    drops the question, one without an answer has failed. Nothing can be said without a known truth,
    and where a request failed.
    """
    if truth is None:
        return None, "no known answer", "no answer"
    for prompt, note in (("spdg_alone", "known by heart"), ("spdg_found", "found by one search")):
        found = find_passages(search, text, as_of) if prompt == "spdg_found" else ""
        status, reply = ask_answer(consult, prompt, question=text, found=found)
        if status not in ANSWERED:
            return None, "no reply", status
        if match_answer(reply, truth)["is_equal"]:
            return False, note
    return True, ""


# --- controls ---------------------------------------------------------------------------------------


def control_cases(questions, cases, consult, search, places, fetch, shells):
    """Return the views of the four controls on all cases, a row a question, stage and judge.

    `places` maps question_id to its task's files and addresses; `fetch` is a web's, `shells` as of
    `work_by_turns`. A program stands in for the paper's other annotator, of a task of a case's own
    the model with its tools; it takes its own way, so the labelled steps are not tried.
    """
    rows = []
    asked = questions.set_index("question_id").to_dict("index")
    for name, case in cases.items():
        event = case["event"]
        question = asked[name]
        first_status, first = list_steps(consult, question["text"])
        status, closed = list_steps(consult, event["prompt"])
        labels = {*(question["abilities"] or ()), *(question["environments"] or ())}
        label = rate_tags(labels, list_tags(case["steps"])) if labels else (None, "unknown")
        unknown = None, "unknown", status if closed is None else first_status
        said = rate_tags(list_tags(first), list_tags(closed)) if first and closed else unknown
        rows += list_views(name, "relevance", said, label)
        said = rate_complexity(closed) if closed else (None, "unknown", status)
        rows += list_views(name, "complexity", said, rate_complexity(case["steps"]))
        if case["places"] is None:
            status, reply, reason = solve_task(event, places[name], fetch)
        else:
            status, reply, reason = work_by_turns(consult, event, places[name], fetch, shells)
        if status == "missing":
            said = None, "no reply", status
        else:
            can = status == "ok" and reply is not None
            said = can, "" if can else reason or "the program finds no answer"
        rows += list_views(name, "executability", said)
        rows += list_views(
            name, "uniqueness", read_blind(case, reply, consult, places[name], search)
        )
    return pd.DataFrame(rows)


def list_steps(consult, text):
    """Return (status, steps or None) of how a model would answer a question."""
    verdict = consult(read_prompt("spdg_steps").format(question=text), STEPS)
    if verdict.value is None:
        return verdict.status, None
    return verdict.status, [Step(**step) for step in verdict.value["steps"]]


def read_blind(case, reply, consult, places, search):
    """Return the view on whether a task has one answer: what two blind readers share is the
    annotator's.

    One reader made the `reply`, the other is the model, which sees the task and its files' text, or
    what one search found. A third, the model drawn again, is asked only where these differ, and
    settles it where it is with one.
    """
    event = case["event"]
    files = [place for place in places if not isinstance(place, str)]

    def ask(repeat):
        if not files:
            found = find_passages(search, event["prompt"], event["as_of"])
            return ask_answer(consult, "spdg_found", repeat, question=event["prompt"], found=found)
        try:
            text = extract_text(files)
        except Unread:
            return "unreadable", None
        return ask_answer(consult, "taskset_text", repeat, question=event["prompt"], text=text)

    status, second = ask(0)
    settled = reply
    note = "agreed"
    if status in ANSWERED and not is_same(reply, second):
        status, third = ask(1)
        settled = next((answer for answer in (reply, second) if is_same(answer, third)), None)
        note = "no two agree" if settled is None else "settled by a third"
    if status not in ANSWERED:
        return None, "no reply", status
    if settled is None:
        return False, note
    is_kept = match_answer(settled, case["answer"])["is_equal"]
    return is_kept, note if is_kept else f"{note}, against the annotator"


def is_same(first, second):
    """Say whether two answers are the same once normalised; nothing is not the same as nothing."""
    tokens = [split_tokens(extract_answer(answer)) for answer in (first, second)]
    return bool(tokens[0]) and tokens[0] == tokens[1]


# --- what the views add up to -----------------------------------------------------------------------

JUDGED = ("tool dependent", "not retrievable", "relevance", "complexity")
"""Stages at which the model and the labels each have a view of their own."""


def run_funnel(views, stages=STAGES):
    """Return how many questions each stage keeps, by judge: judge, stage, n_in, n_out, n_unknown,
    reasons.

    A question without a view (None) stops there and is counted as unknown; reasons are the notes of
    those dropped.
    """
    rows = []
    for judge, part in views.groupby("judge", sort=False):
        left = set(part["question_id"])
        for stage in stages:
            here = part[(part["stage"] == stage) & part["question_id"].isin(left)]
            kept = here[here["is_kept"].eq(True)]
            dropped = here[here["is_kept"].eq(False)]
            notes = dropped["note"].value_counts(sort=False)
            row = {"judge": judge, "stage": stage, "n_in": len(left), "n_out": len(kept)}
            row["n_unknown"] = len(left) - len(kept) - len(dropped)
            row["reasons"] = "; ".join(f"{note} ({n})" for note, n in notes.items())
            rows.append(row)
            left = set(kept["question_id"])
    return pd.DataFrame(rows)


def rate_model(views, seed, n_boot):
    """Return how the model's views agree with the labels', a row a stage
    (`agreement.compare_judges`).

    A question is flagged where the model would drop it; `n_true` are those that the labels drop. No
    row without labels.
    """
    wide = views.pivot(index="question_id", columns=["stage", "judge"], values="is_kept")
    drops = wide.astype(object).replace({True: False, False: True})
    rows = [pd.DataFrame(columns=["stage", "n", "n_true", "verdict"])]
    for stage in JUDGED:
        if stage in drops and drops[stage, "labels"].notna().any():
            pair = drops[stage].dropna(subset="labels")
            flags = pair["model"].astype(object).where(pair["model"].notna(), None)
            truth = pair["labels"].astype(bool)
            rated = compare_judges(flags.to_frame(stage), truth, seed, n_boot)
            rows.append(rated.rename(columns={"judge": "stage"}))
    return pd.concat(rows[1:] or rows, ignore_index=True)


def list_kept(views, judge, stages=STAGES):
    """Return the question_ids that a judge keeps at every stage, sorted."""
    part = views[
        (views["judge"] == judge) & views["is_kept"].eq(True) & views["stage"].isin(stages)
    ]
    n_kept = part.groupby("question_id")["stage"].nunique()
    return sorted(n_kept.index[n_kept == len(stages)])


def catch_planted(views, cases):
    """Return what each control says of the case planted for it, and of the cases not planted for
    any.

    Columns: stage, judge, planted (kept, dropped or not recorded), n_fine, n_false (fine cases that
    it drops).
    """
    rows = []
    said = {True: "kept", False: "dropped", None: "not recorded"}
    planted = pd.Series({name: case["planted"] for name, case in cases.items()})
    for stage in CONTROLS:
        for judge in JUDGES:
            own = views[(views["stage"] == stage) & (views["judge"] == judge)]
            kept = own.set_index("question_id")["is_kept"]
            known = kept.reindex(planted.index[planted == ""]).dropna().astype(bool)
            caught = [said[kept[name]] for name in sorted(planted.index[planted == stage])]
            row = {"stage": stage, "judge": judge, "planted": ", ".join(caught)}
            rows.append(row | {"n_fine": len(known), "n_false": int((~known).sum())})
    return pd.DataFrame(rows)


def build_tables(names, cases, columns):
    """Return (events, answers) of the cases kept; `columns` are those of the events, whose ids are
    their questions'."""
    events = []
    answers = []
    for name in names:
        steps = cases[name]["steps"]
        facts = {"event_id": name, "pair_id": None, "level": rate_level(steps)}
        events.append(cases[name]["event"] | facts | {"n_steps": len(steps)})
        truth = write_truth(cases[name]["answer"])
        answers.append({"event_id": name, "value": truth, "status": "ok"})
    truths = pd.DataFrame(answers, columns=["event_id", "value", "status"])
    return pd.DataFrame(events, columns=columns), truths
