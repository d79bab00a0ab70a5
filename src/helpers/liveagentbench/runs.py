"""Runs of systems on the task set: a program; a model with tools, and with the text of the files (5)."""

from functools import cache

import pandas as pd

from helpers.agents.desk import keep_printed
from helpers.agents.registry import open_consult
from helpers.liveagentbench.agent import STATES, work_by_turns
from helpers.liveagentbench.portal import Portal
from helpers.liveagentbench.program import answer_question, recite, solve_task
from helpers.liveagentbench.readers import Unread, extract_text
from helpers.liveagentbench.tasks import load_taskset, open_files
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import parse_json
from helpers.web.session import Web
from helpers.web.sources import load_sources

RUN_ID = "31_liveagentbench"
FORM = make_schema(answer={"type": "string", "maxLength": 40})
"""A model's reply: an answer alone."""
PROGRAMS = {"program of rules": answer_question, "reciter": recite}
WITH_TEXT, WITH_TOOLS = "model, with the text", "model, with tools"
COLUMNS = ["agent", "event_id", "repeat", "status", "reply", "reason"]


def run_taskset(agent, run_id=RUN_ID, n_repeats=0, **settings):
    """Return (events, answers, runs) of the task set: the program's, and an agent's model's where it has replies.

    `agent` is a name of data/agents.toml; `n_repeats`: how often it works on each task again with its tools, drawn by
    chance; `settings` are those of `registry.open_agent` (live, minutes). What scripts printed is kept
    (`desk.keep_printed`).
    """
    events, answers = load_taskset()
    fetch, rows = cache(Web(Portal(load_sources())).fetch), []
    with open_files(events) as places:
        for name, reply in PROGRAMS.items():
            for event in events.to_dict("records"):
                rows.append((name, event["event_id"], 0, *solve_task(event, places[event["event_id"]], fetch, reply)))
        opened = open_consult(agent, run_id, about="answers tasks", **settings)
        with keep_printed(run_id, settings.get("live")) as shells, opened as consult:
            asked = run_model(consult, events, places, fetch, shells, n_repeats)
    is_recorded = asked.groupby(["agent", "repeat"])["reply"].transform("count") > 0
    return events, answers, pd.concat([pd.DataFrame(rows, columns=COLUMNS), asked[is_recorded]], ignore_index=True)


def run_model(consult, events, places, fetch, shells, n_repeats=0):
    """Return the runs of a model on the tasks, columns COLUMNS: with the text of the files, and with tools.

    Without tools the tasks are asked whose files all are text; another is "lacking". The status is "missing" where a
    reply is not recorded, "failed" where the request failed.
    """
    rows, tasks = [], [(event, places[event["event_id"]]) for event in events.to_dict("records")]
    for event, paths in tasks:
        rows.append((WITH_TEXT, event["event_id"], 0, *ask_with_text(consult, event, paths)))
    for repeat in range(n_repeats + 1):
        for event, paths in tasks:
            row = work_by_turns(consult, event, paths, fetch, shells, repeat)
            rows.append((WITH_TOOLS, event["event_id"], repeat, *row))
    return pd.DataFrame(rows, columns=COLUMNS)


def ask_with_text(consult, event, paths):
    """Return (status, reply, reason) of a model on a task with the text of its files."""
    if parse_json(event["capabilities"]) != ["text_file"]:
        return "lacking", None, ""
    try:
        text = extract_text(paths)
    except Unread as error:
        return "failed", None, str(error)
    verdict = consult(read_prompt("taskset_text").format(question=event["prompt"], text=text), FORM)
    reply = verdict.value["answer"] if verdict.status == "ok" else None
    return STATES.get(verdict.status, "failed"), reply, verdict.reason
