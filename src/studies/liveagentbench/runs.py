"""Runs of systems on the task set (5): a program; a model with the text of the files; a model with
three tools.

With tools it works turn by turn: it opens pages, reads files, runs scripts (4.1); pictures, clips
(their frames) and sound go with the prompt where the model takes them.
"""

import hashlib
from contextlib import ExitStack
from functools import cache
from urllib.parse import urljoin

import pandas as pd

from daybefore.agents.box import SandboxError
from daybefore.agents.registry import make_consult, open_agent
from daybefore.agents.sandbox import open_sandbox
from daybefore.agents.tools import cut_middle, describe_result, keep_printed
from daybefore.models.attachments import find_kind
from daybefore.models.failures import LlmError
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.markup import parse_html, read_text
from daybefore.web.pages import GatewayError
from daybefore.web.passages import read_page
from daybefore.web.session import Web
from daybefore.web.sources import load_sources
from helpers.files import dump_json, parse_json
from studies.liveagentbench.own_tasks import LivePages, open_places, read_tasks
from studies.liveagentbench.program import answer_question, recite, solve_task
from studies.liveagentbench.readers import FAULTS, READERS, Unread, extract_text
from studies.liveagentbench.tasks import Portal, load_taskset, open_files

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
    (`own_tasks.read_tasks`), which no program works on and whose pages are live; `settings` are
    those of `registry.open_agent` (live, minutes). What scripts printed is kept
    (`agents.tools.keep_printed`).
    """
    events, answers = read_tasks(tasks) if tasks else load_taskset()
    fetch = cache(Web(Portal(load_sources())).fetch)
    rows = []
    attachments = dict(zip(events["event_id"], events["attachments"].map(parse_json), strict=True))
    with open_places(tasks, attachments) if tasks else open_files(events) as places:
        for name, reply in {} if tasks else PROGRAMS.items():
            for event in events.to_dict("records"):
                rows.append(
                    (
                        name,
                        event["event_id"],
                        0,
                        *solve_task(event, places[event["event_id"]], fetch, reply),
                    )
                )
        opened = open_agent(agent, run_id, about="answers tasks", **settings)
        with keep_printed(run_id, settings.get("live")) as shells, opened as client:
            fetch = LivePages(client.door).fetch if tasks else fetch
            asked = run_model(make_consult(client), events, places, fetch, shells, n_repeats)
    is_recorded = (
        asked["status"]
        .isin(["ok", "failed"])
        .groupby([asked["agent"], asked["repeat"]])
        .transform("any")
    )
    return (
        events,
        answers,
        pd.concat([pd.DataFrame(rows, columns=COLUMNS), asked[is_recorded]], ignore_index=True),
    )


def run_model(consult, events, places, fetch, shells, n_repeats=0):
    """Return the runs of a model on the tasks, columns COLUMNS: with the text of the files, and
    with tools.

    Without tools the tasks are asked whose files all are text; another is "lacking". The status is
    "missing" where a reply is not recorded or the request met an accident, "failed" where the text
    of a file cannot be had.
    """
    rows = []
    tasks = [(event, places[event["event_id"]]) for event in events.to_dict("records")]
    for event, paths in tasks:
        rows.append((WITH_TEXT, event["event_id"], 0, *ask_with_text(consult, event, paths)))
    for event, paths in tasks:
        for repeat in range(n_repeats + 1):
            row = work_by_turns(consult, event, paths, fetch, shells, repeat)
            rows.append((WITH_TOOLS, event["event_id"], repeat, *row))
    return pd.DataFrame(rows, columns=COLUMNS)


def take_answer(verdict):
    """Return the answer of a verdict in FORM, else the words of a reply in another one: a server
    may hold its model to no form.

    What of the words is the answer says `matching.extract_answer`.
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

    "lacking": the model takes no such file, or it is not there; "missing": a turn is not recorded,
    or its request met an accident. What a tool cannot do is said to the model. `places` and `fetch`
    are as of `program.solve_task`; scripts run in the sandbox (`agents.sandbox`), the files in
    /evidence. What they printed is kept in `shells` (`agents.tools.keep_printed`), and not run
    again: recorded turns replay where there is no sandbox, too. `repeat` is the judge's: which of
    several runs this is.
    """
    files = {place.name: place for place in places if not isinstance(place, str)}
    if not all(path.exists() for path in files.values()):
        return "lacking", None, "a file of the task is not made"
    starts = [place for place in places if isinstance(place, str)]
    said = []
    attached = {name: path for name, path in files.items() if find_kind(path)}
    named = ", ".join(f"{name} (attached)" if name in attached else name for name in files)
    about = {
        "question": event["prompt"],
        "files": named or "none",
        "start": ", ".join(starts) or "none",
    }
    shown_with = {"attachments": list(attached.values())} if attached else {}
    with ExitStack() as stack:
        scripts = []
        n_run = 0

        @cache
        def open_box():
            digests = {
                name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()
            }
            manifest = [{"path": name, "sha256": digest} for name, digest in digests.items()]
            folder = next((path.parent for path in files.values()), ".")
            return stack.enter_context(open_sandbox(manifest, folder))

        def run_shell(script):
            nonlocal n_run
            scripts.append(script)
            key = event["event_id"], dump_json(scripts)
            if key not in shells:  # a sandbox that is opened after recorded scripts does them first
                results = [open_box().exec(["bash", "-c", each]) for each in scripts[n_run:]]
                n_run, shells[key] = len(scripts), cut_middle(describe_result(results[-1]))
            return shells[key]

        tools = {
            "page": lambda address: show_page(fetch(address.strip(), event["as_of"])),
            "file": lambda name: extract_text([files[name.strip().removeprefix("/evidence/")]]),
            "shell": run_shell,
        }
        for n_left in range(N_TURNS, 0, -1):
            prompt = read_prompt("taskset_turn").format(
                **about, n_left=n_left, said="\n\n".join(said)
            )
            verdict = consult(prompt, TURN, repeat, **shown_with)
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
                if type(fault) is LookupError:
                    return (
                        "missing",
                        None,
                        str(fault),
                    )  # a page that is not recorded, and nothing may be asked
                shown = f"It was not done: {type(fault).__name__}: {fault}"
            except LlmError as fault:
                return "missing", None, str(fault)
            said.append(f"{action}: {given}\n{shown}")
    return "ok", None, f"no answer in {N_TURNS} turns"


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
