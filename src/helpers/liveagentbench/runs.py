"""Runs of systems on the task set: a program; a model with tools, with the text of the files, and without (5)."""

from functools import cache

import pandas as pd

from helpers.agents.registry import open_consult
from helpers.liveagentbench.agent import work_by_turns
from helpers.liveagentbench.portal import Portal
from helpers.liveagentbench.program import recite, reply_by_rules, solve_task
from helpers.liveagentbench.readers import Unread, extract_text
from helpers.liveagentbench.tasks import load_taskset, open_files
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import ROOT, parse_json, write_whole
from helpers.web.session import Web
from helpers.web.sources import load_sources

RUN_ID = "31_liveagentbench"
FORM = make_schema(answer={"type": "string", "maxLength": 40})
"""A model's reply: an answer alone."""
PROGRAMS = {"program of rules": reply_by_rules, "reciter": recite}
ALONE, WITH_TEXT, WITH_TOOLS = "model, question alone", "model, with the text", "model, with tools"
COLUMNS = ["agent", "event_id", "status", "reply", "reason"]
SHELLS = ROOT / "data/taskset/shells.csv"
"""What the recorded model's scripts printed (event_id, script, shown); a live run adds to it."""


def run_taskset(agent, **settings):
    """Return (events, answers, runs) of the task set: the program's, and an agent's model's where it has replies.

    `agent` is a name of data/agents.toml; `settings` are those of `registry.open_agent` (live, minutes).
    """
    events, answers = load_taskset()
    shells = pd.read_csv(SHELLS, index_col=["event_id", "script"], keep_default_na=False)["shown"].to_dict()
    fetch, rows = cache(Web(Portal(load_sources())).fetch), []
    with open_files(events) as places:
        for name, reply in PROGRAMS.items():
            for event in events.to_dict("records"):
                about = {"agent": name, "event_id": event["event_id"]}
                rows.append(about | solve_task(event, places[event["event_id"]], fetch, reply))
        with open_consult(agent, RUN_ID, about="answers tasks", **settings) as consult:
            asked = run_model(consult, events, places, fetch, shells)
    if settings.get("live"):
        kept = pd.Series(shells, name="shown").rename_axis(["event_id", "script"]).sort_index()
        write_whole(SHELLS, kept.to_csv(lineterminator="\n"))
    is_recorded = asked.groupby("agent")["reply"].transform("count") > 0
    return events, answers, pd.concat([pd.DataFrame(rows, columns=COLUMNS), asked[is_recorded]], ignore_index=True)


def run_model(consult, events, places, fetch, shells):
    """Return the runs of a model on the tasks, columns COLUMNS: with tools, with the text of the files, and without.

    Without tools the tasks are asked whose files all are text; another is "lacking". Without the text every task is:
    the guess is held against the truth and earns nothing. The status is "missing" where a reply is not recorded,
    "failed" where the request failed.
    """
    rows = []
    for event in events.to_dict("records"):
        is_asked = parse_json(event["capabilities"]) == ["text_file"]
        for agent in (WITH_TEXT, ALONE):
            row = ask_task(consult, event, places[event["event_id"]], agent) if is_asked else ("lacking", None, "")
            rows.append((agent, event["event_id"], *row))
    for event in events.to_dict("records"):
        row = work_by_turns(consult, event, places[event["event_id"]], fetch, shells)
        rows.append((WITH_TOOLS, event["event_id"], *row))
    return pd.DataFrame(rows, columns=COLUMNS)


def ask_task(consult, event, paths, agent):
    """Return (status, reply, reason) of a model on a task, with the text of its files or (`ALONE`) without."""
    prompt, text = "taskset_alone", ""
    if agent == WITH_TEXT:
        try:
            prompt, text = "taskset_text", extract_text(paths)
        except Unread as error:
            return "failed", None, str(error)
    verdict = consult(read_prompt(prompt).format(question=event["prompt"], text=text), FORM)
    reply = verdict.value["answer"] if verdict.status == "ok" else None
    answered = "lacking" if agent == ALONE else "ok"
    status = {"missing": "missing", "ok": answered, "unparsable": answered}.get(verdict.status, "failed")
    return status, reply, verdict.reason
