"""A model with three tools on the tasks, turn by turn: it opens pages, reads files, runs scripts (4.1)."""

import hashlib
from contextlib import ExitStack
from functools import cache
from urllib.parse import urljoin

from helpers.agents.desk import cut_middle, describe_result
from helpers.agents.sandbox import SandboxError, open_sandbox
from helpers.liveagentbench.readers import FAULTS, READERS, Unread, extract_text
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import dump_json
from helpers.web.markup import parse_html, read_text
from helpers.web.pages import GatewayError
from helpers.web.passages import read_page

N_TURNS = 12
"""Turns that a task may take, the answer among them."""
TURN = make_schema(action={"enum": ["page", "file", "shell", "answer"]}, input={"type": "string", "maxLength": 1000})
STATES = {"ok": "ok", "unparsable": "ok", "missing": "missing"}
"""A verdict's status, and a run's of it; of any other "failed"."""


def work_by_turns(consult, event, places, fetch, shells, repeat=0):
    """Return (status, reply, reason) of a model that works on a task with its tools until it answers.

    "lacking": a file of the task is not made; "missing": a turn is not recorded; "failed": a request failed. What a
    tool cannot do is said to the model. `places` and `fetch` are as of `program.solve_task`; scripts run in the sandbox
    (`agents.sandbox`), the files in /evidence. What they printed is kept in `shells` (`desk.keep_printed`), and not run
    again: recorded turns replay where there is no sandbox, too. `repeat` is the judge's: which of several runs this is.
    """
    files = {place.name: place for place in places if not isinstance(place, str)}
    if not all(path.exists() for path in files.values()):
        return "lacking", None, "a file of the task is not made"
    starts, said = [place for place in places if isinstance(place, str)], []
    about = {"question": event["prompt"], "files": ", ".join(files) or "none", "start": ", ".join(starts) or "none"}
    with ExitStack() as stack:
        scripts, n_run = [], 0

        @cache
        def open_box():
            digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
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
            prompt = read_prompt("taskset_turn").format(**about, n_left=n_left, said="\n\n".join(said))
            verdict = consult(prompt, TURN, repeat)
            if verdict.status != "ok":
                status = STATES.get(verdict.status, "failed")
                return status, None, "its turn cannot be read" if status == "ok" else verdict.reason
            action, given = verdict.value["action"], verdict.value["input"]
            if action == "answer":
                return "ok", given, None
            try:
                shown = cut_middle(tools[action](given))
            except (GatewayError, OSError, SandboxError, Unread, *FAULTS) as fault:
                shown = f"It was not done: {type(fault).__name__}: {fault}"
            said.append(f"{action}: {given}\n{shown}")
    return "ok", None, f"no answer in {N_TURNS} turns"


def show_page(page):
    """Return a page as text: its table, line by line, or else its passages; then its links with their addresses."""
    is_json = "json" in page.content_type
    lines = [",".join(line) for line in READERS["json" if is_json else "html"](page.text.encode())]
    lines = lines or [passage.text for passage in read_page(page.text, page.content_type)[1]]
    links = [] if is_json else parse_html(page.text).iter("a")
    return "\n".join([*lines, *(f"{read_text(a)}: {urljoin(page.url, a.get('href') or '')}" for a in links)])
