"""Runs of systems on the task set (5): a program; a model with the text of the files; a model with
three tools.

With tools it works turn by turn: it opens pages, reads files, runs scripts (4.1); pictures, clips
(their frames) and sound go with the prompt where the model takes them.
"""

from contextlib import ExitStack
from functools import cache
from urllib.parse import urljoin

import pandas as pd

from daybefore.agents.registry import make_consult, open_agent
from daybefore.agents.sandbox import open_sandbox
from daybefore.agents.sandbox_parts import SandboxError
from daybefore.agents.sandbox_tools import cut_middle, describe_result, keep_printed
from daybefore.models.attachments import find_kind
from daybefore.models.failures import LlmError
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.parse_markup import parse_html, read_text
from daybefore.web.passages import read_page
from daybefore.web.session import Web
from daybefore.web.source_registry import load_sources
from helpers.files import dump_json, parse_json
from helpers.public_files import hash_file
from studies.liveagentbench.program_baseline import answer_question, recite, solve_task
from studies.liveagentbench.read_files import FAULTS, READERS, Unread, extract_text
from studies.liveagentbench.tasks import (
    LivePages,
    Portal,
    load_taskset,
    open_files,
    read_tasks,
)

RUN_ID = "31_liveagentbench"
FORM = make_schema(answer={"type": "string", "maxLength": 40})
"""A model's reply: an answer alone."""
N_TURNS = 12
"""Turns that a task may take, the answer among them."""
TURN = make_schema(
    action={"enum": ["page", "file", "shell", "answer"]},
    input={"type": "string", "maxLength": 1000},
)
STATES = {"ok": "ok", "unparsable": "ok", "lacking": "lacking", "refusal": "ok"}
"""A verdict's status, and a run's of it; of any other "missing", as an accident of a request is no
answer."""
PROGRAMS = {"program of rules": answer_question, "lister": recite}
WITH_TEXT = "model, with the text"
WITH_TOOLS = "model, with tools"
COLUMNS = ["agent", "event_id", "repeat", "status", "reply", "reason"]


def run_taskset(agent, run_id=RUN_ID, n_repeats=0, tasks="", **settings):
    """Return (events, answers, runs) of the task set: the program's, and an agent's model's where
    it has replies.

    `agent` is a name of data/agents.toml; `n_repeats`: how often it works on each task again with
    its tools, drawn by chance; `tasks` is a reader's task file in place of the set
    (`tasks.read_tasks`), which no program works on and whose pages are live; `settings` are
    those of `registry.open_agent` (live, minutes). What scripts printed is kept
    (`agents.sandbox_tools.keep_printed`).
    """
    events, answers = read_tasks(tasks) if tasks else load_taskset()
    fetch = cache(Web(Portal(load_sources())).fetch)
    rows = []
    with open_files(events, tasks) as places:
        for name, reply in {} if tasks else PROGRAMS.items():
            for event in events.to_dict("records"):
                key = event["event_id"]
                rows.append((name, key, 0, *solve_task(event, places[key], fetch, reply)))
        opened = open_agent(agent, run_id, about="answers tasks", **settings)
        with keep_printed(run_id, settings.get("live")) as shells, opened as client:
            fetch = LivePages(client.door).fetch if tasks else fetch
            asked = run_model(make_consult(client), events, places, fetch, shells, n_repeats)
    by_run = asked.groupby(["agent", "repeat"])
    recorded = by_run.filter(lambda runs: runs["status"].isin(["ok", "failed"]).any())
    made = pd.concat([pd.DataFrame(rows, columns=COLUMNS), recorded], ignore_index=True)
    return events, answers, made


def run_model(consult, events, places, fetch, shells, n_repeats=0):
    """Return the runs of a model on the tasks, columns COLUMNS: with the text of the files, and
    with tools.

    Without tools the tasks are asked whose files all are text; another is "lacking". The status is
    "missing" where a reply is not recorded or the request met an accident, "failed" where the text
    of a file cannot be had.
    """
    rows = []
    tasks = events.to_dict("records")
    for event in tasks:
        key = event["event_id"]
        rows.append((WITH_TEXT, key, 0, *ask_with_text(consult, event, places[key])))
    for event in tasks:
        key = event["event_id"]
        for repeat in range(n_repeats + 1):
            told = work_by_turns(consult, event, places[key], fetch, shells, repeat)
            rows.append((WITH_TOOLS, key, repeat, *told))
    return pd.DataFrame(rows, columns=COLUMNS)


def take_answer(verdict):
    """Return the answer of a verdict in FORM, else the words of a reply in another one: a server
    may hold its model to no form.

    What of the words is the answer says `match_answers.extract_answer`.
    """
    return verdict.value["answer"] if verdict.value else verdict.text


def ask_with_text(consult, event, paths):
    """Return (status, reply, reason) of a model on a task with the text of its files, of one
    without files on the question alone."""
    if set(parse_json(event["capabilities"])) - {"text_file"}:
        return "lacking", None, ""
    try:
        text = extract_text(paths)
    except Unread as error:
        return "failed", None, str(error)
    prompt = read_prompt("taskset_text" if paths else "spdg_alone")
    verdict = consult(prompt.format(question=event["prompt"], text=text), FORM)
    return STATES.get(verdict.status, "missing"), take_answer(verdict), verdict.reason


def work_by_turns(consult, event, places, fetch, shells, repeat=0):
    """Return (status, reply, reason) of a model that works on a task with its tools until it
    answers.

    "lacking": the model takes no such file; "missing": a turn is not recorded, or its request met
    an accident. What a tool cannot do is said to the model. `places` and `fetch` are as of
    `program_baseline.solve_task`; scripts run in the sandbox (`agents.sandbox`), the files in
    /evidence. What they printed is kept in `shells` (`agents.sandbox_tools.keep_printed`), and not
    run again: recorded turns replay where there is no sandbox, too. `repeat` is the judge's: which
    of several runs this is.
    """
    files = {place.name: place for place in places if not isinstance(place, str)}
    starts = [place for place in places if isinstance(place, str)]
    attached = [path for path in files.values() if find_kind(path)]
    named = [f"{name} (attached)" if path in attached else name for name, path in files.items()]
    about = {"question": event["prompt"], "files": ", ".join(named) or "none"}
    about["start"] = ", ".join(starts) or "none"
    said = []
    with ExitStack() as stack:
        box = cache(lambda: stack.enter_context(open_box(list(files.values()))))
        scripts = []
        n_run = 0

        def run_shell(script):
            nonlocal n_run
            scripts.append(script)
            key = event["event_id"], dump_json(scripts)
            if key not in shells:  # a sandbox that is opened after recorded scripts does them first
                results = [box().exec(["bash", "-c", each]) for each in scripts[n_run:]]
                n_run = len(scripts)
                shells[key] = cut_middle(describe_result(results[-1]))
            return shells[key]

        tools = {
            "page": lambda address: show_page(fetch(address.strip(), event["as_of"])),
            "file": lambda name: extract_text([files[name.strip().removeprefix("/evidence/")]]),
            "shell": run_shell,
        }
        for n_left in range(N_TURNS, 0, -1):
            told = {"n_left": n_left, "said": "\n\n".join(said)}
            prompt = read_prompt("taskset_turn").format(**about, **told)
            verdict = consult(prompt, TURN, repeat, attachments=attached)
            if verdict.status != "ok":
                status = STATES.get(verdict.status, "missing")
                return status, None, "its turn cannot be read" if status == "ok" else verdict.reason
            action = verdict.value["action"]
            given = verdict.value["input"]
            if action == "answer":
                return "ok", given, None
            try:
                shown = cut_middle(tools[action](given))
            except (GatewayError, OSError, SandboxError, Unread, *FAULTS) as fault:
                if type(fault) is LookupError:  # a page that is not recorded
                    return "missing", None, str(fault)
                shown = f"It was not done: {type(fault).__name__}: {fault}"
            except LlmError as fault:
                return "missing", None, str(fault)
            said.append(f"{action}: {given}\n{shown}")
    return "ok", None, f"no answer in {N_TURNS} turns"


def open_box(paths):
    """Return a sandbox, as a context, with some files of one folder as its evidence."""
    manifest = [{"path": path.name, "sha256": hash_file(path)} for path in paths]
    return open_sandbox(manifest, paths[0].parent if paths else ".")


def show_page(page):
    """Return a page as text: its table, line by line, or else its passages; then its links with
    their addresses."""
    is_json = "json" in page.content_type
    lines = [",".join(line) for line in READERS["json" if is_json else "html"](page.text.encode())]
    lines = lines or [passage.text for passage in read_page(page.text, page.content_type)[1]]
    links = [] if is_json else parse_html(page.text).iter("a")
    return "\n".join(
        [*lines, *(f"{read_text(a)}: {urljoin(page.url, a.get('href') or '')}" for a in links)]
    )
