"""`daybefore view` (make view): every question's whole life on a page that opens from disk, or as text and JSON.

The page needs no server and loads nothing from elsewhere: index.html, a table library (DataTables, from the package
itables), the list of questions, and compressed files, read when they are wanted: one for each event and each page, and
one of the beginnings of all replies, for who looks for words. What a model or a page said is data there: the page's
script writes it as text, never as markup.
"""

import argparse
import base64
import gzip
import json
import os
import re
import sys
from importlib.resources import files
from pathlib import Path
from string import Template

from helpers.agents.registry import load_entries
from helpers.calendar import PUBLIC_WINDOWS
from helpers.cli.lives import (
    KEY,
    check_window,
    list_pages,
    list_questions,
    open_rows,
    read_lives,
    read_pages,
    spread_lives,
    write_value,
)
from helpers.cli.main import show
from helpers.cli.report import write_count
from helpers.models.secrets import hide_secrets, list_secrets
from helpers.store import hash_text, locate_output

FOLDER = "data/runs/view"
OWN = ("view", "Daybefore: runs and questions", 'make view ARGS="--event ID"')
"""The page's name, title, and the command that says the same as text."""
RUN_COLUMNS = "run_id agent_id category framework model condition origin status cost_usd n_tokens".split()
LISTED_EVENT = ("event_id", "window", "level", "kind", "domain", "prompt", "options", "value")
EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*(?=/\*!|$)")
"""The end of a JavaScript module, before the licences: the names that it gives away."""
N_SEARCHED = 2000
"""Characters of a reply's beginning that the page's own search reads; `--text` reads all of a question's life."""
LEVEL = 6
"""How hard the files are pressed: 9 takes twice the time and saves 4% of the size."""
MAX_CELL = 90
"""Characters of a value in the list; its question tells the whole."""


def main(is_json=False, **given):
    """Write the page, or print an event's life; with `is_json` return the list, or with an event its life."""
    given = argparse.Namespace(
        **{"agent": given.get("agents"), "window": given.get("windows")},
        **{name: given.get(name) for name in ("level", "status", "text", "event", "folder")},
        json=is_json,
    )
    return view(given)


def view(given):
    """Do what the command line says; with `given.json` return the list, or with an event its life."""
    secrets = list_keys()
    for window in given.window or ():
        check_window(window)
    lives = read_lives(given.window, given.agent)
    questions = select_questions(lives, list_questions(lives), given)
    if given.event:
        life = next(spread_lives(lives, questions))
        life["pages"] = read_pages(list_pages(life), lives.pages)
        found = hide_secrets(life, secrets)
    else:
        found = hide_secrets(list_rows(lives, questions), secrets) if given.json else None
    if given.event and not given.json:
        show(write_life(found))
    elif not given.json:
        if questions.empty and len(lives.predictions):
            raise ValueError("no question meets these filters; the page is left as it was")
        folder = Path(given.folder) if given.folder else locate_output(f"{FOLDER}/index.html").parent
        size = write_page(folder, lives, questions, secrets)
        n_events = questions["event_id"].nunique()
        print(f"{len(questions):,} questions on {n_events:,} events, {size / 1e6:.1f} MB; open in a browser:")
        print((folder / "index.html").resolve().as_uri())
    for sentence in describe_lost(lives.lost):
        print(sentence, file=sys.stderr)
    return found


def describe_lost(lost):
    """Return a sentence a window on its questions that are left out; those of public windows are read when named.

    >>> describe_lost({"P": 1, "M": 20})[0]
    'left out: 1 question of window P, which WINDOW=P shows'
    """
    shown = {
        name: f"which WINDOW={name} shows" if name in PUBLIC_WINDOWS
        else f"events that are no longer in data/tables/{name}/events.csv.gz"
        for name in lost
    }  # fmt: skip
    counted = {name: write_count(n, "question", "questions") for name, n in lost.items()}
    return [f"left out: {counted[name]} of window {name}, {told}" for name, told in shown.items()]


def list_keys():
    """Return the values of all keys: those of the environment, and those that an agent's `api_key_env` names."""
    named = [os.environ.get(entry.get("api_key_env") or "") for entry in load_entries().values()]
    return tuple(sorted({*list_secrets(os.environ), *filter(None, named)}))


def select_questions(lives, questions, given):
    """Return the questions that the command line asks for. Raises ValueError for a filter that nothing can meet."""
    if given.agent and (strange := set(given.agent) - set(lives.runs["agent_id"])):
        raise ValueError(f"no run of agent {sorted(strange)[0]!r}; `make run AGENT={sorted(strange)[0]}` makes one")
    if given.status and len(questions) and given.status not in set(questions["outcome"]):
        known = ", ".join(sorted(set(questions["outcome"])))
        raise ValueError(f"no question has the outcome {given.status!r}; there are {known}")
    events = lives.events.set_index("event_id")
    if given.event:
        questions = questions[questions["event_id"] == given.event]
        if questions.empty:
            raise ValueError(f"no run holds a question on {given.event!r}; --json lists the questions there are")
    if given.level:
        questions = questions[questions["event_id"].map(events["level"]) == given.level]
    if given.status:
        questions = questions[questions["outcome"] == given.status]
    if given.text:
        prompts, wanted = questions["event_id"].map(events["prompt"]), given.text.casefold()
        said = join_words(questions.assign(prompt=prompts), ["event_id", "agent_id", "prompt", "value", "reason"])
        parts = (join_words(lives.replies, ["reply"]), join_words(lives.traces, ["arguments", "content", "error"]))
        has = [any(wanted in texts.get(key, "") for texts in (said, *parts)) for key in said]
        questions = questions[has]
    if given.event and questions.empty:
        raise ValueError(f"no question on {given.event!r} meets the other filters")
    return questions


def join_words(table, columns):
    """Return {key of a question: what its rows of a table say in some columns, one text with case folded}."""
    texts = {}
    for row in table[[*KEY, *columns]].fillna("").itertuples(index=False):
        texts.setdefault(row[: len(KEY)], []).extend(map(str, row[len(KEY) :]))
    return {key: "\n".join(parts).casefold() for key, parts in texts.items()}


def list_rows(lives, questions):
    """Return the list as plain values, {"runs": [...], "questions": [...]}, baselines' runs last."""
    return {"runs": list_runs(lives, questions), "questions": open_rows(questions)}


def list_runs(lives, questions):
    """Return the runs of some questions as plain values, baselines' last."""
    runs = lives.runs[lives.runs["run_id"].isin(questions["run_id"])]
    runs = runs.sort_values("category", key=lambda category: category == "baseline", kind="stable")
    return open_rows(runs, RUN_COLUMNS)


def write_page(folder, lives, questions, secrets=()):
    """Write the page into a folder; returns its size in bytes. Files of an earlier page there are replaced."""
    texts, page_ids = read_own(*OWN), set()
    for life in spread_lives(lives, questions):
        page_ids.update(list_pages(life))
        name = name_file("questions", life["event"]["event_id"])
        texts[f"{name}.js"] = pack(name, hide_secrets(life, secrets))
    facts = {}
    for page_id, page in read_pages(sorted(page_ids), lives.pages).items():
        name = name_file("pages", page_id)
        if "text" in page:
            texts[f"{name}.js"] = pack(name, hide_secrets(page.pop("text"), secrets))
            page["file"] = name
        facts[page_id] = page
    listed = hide_secrets(describe_list(lives, questions) | {"pages": facts}, secrets)
    keys = [(listed["runs"][run]["run_id"], listed["events"][n]["event_id"], k) for run, n, k, *_ in listed["rows"]]
    replies = lives.replies.dropna(subset="reply").set_index(KEY)["reply"].to_dict()
    texts["replies.js"] = pack("replies", [hide_secrets(replies.get(key, ""), secrets)[:N_SEARCHED] for key in keys])
    texts["rows.js"] = f"var daybefore = {json.dumps(listed, separators=(',', ':'), allow_nan=False)};\n"
    return write_texts(folder, texts)


def read_own(name, title, command):
    """Return the texts of a page's own files, index.html with what `name`.html lists, and of the table library."""
    own = ("page.html", f"{name}.html", "view.css", "page.js", f"{name}.js")
    texts = {file: (files(__package__) / file).read_text("utf-8") for file in own}
    blanks = {"name": name, "title": title, "command": command, "list": texts.pop(f"{name}.html")}
    page = Template(texts.pop("page.html")).substitute(blanks)
    return texts | {"index.html": page, "table.js": read_library(), "table.css": read_bundle("dt_bundle.css")}


def write_texts(folder, texts):
    """Write a page's files into a folder; returns their size in bytes. Scripts of an earlier page there go."""
    for name in ("questions", "pages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).glob("*.js"):
            old.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sum(len(text.encode()) for text in texts.values())


def pack(name, value):
    """Return a script that hands a value, as compressed JSON, to the page under a name."""
    data = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return f'receive("{name}", "{base64.b64encode(gzip.compress(data, LEVEL, mtime=0)).decode()}");\n'


def read_bundle(name):
    """Return a file of the table library as the package itables carries it (DataTables and its plugins, MIT)."""
    return (files("itables") / "html" / name).read_text("utf-8")


def read_library():
    """Return the table library as a plain script that sets `DataTable`; modules do not load from disk.

    Raises ValueError when the bundle is not the module that it was.
    """
    text = read_bundle("dt_bundle.js")
    found = EXPORTS.search(text)
    default = found and re.search(r"([\w$]+) as default", found[1])
    if not default:
        raise ValueError(
            "the package itables carries its tables in another form; install the version in requirements.lock"
        )
    return f"var DataTable = (() => {{{text[: found.start()]}\nreturn {default[1]}; }})();\n{text[found.end() :]}"


def describe_list(lives, questions):
    """Return what the page's lists show: runs, events, and a short row a question (its cells stand in view.js)."""
    runs = list_runs(lives, questions)
    answers = lives.answers.set_index("event_id")["value"]
    chosen = lives.events[lives.events["event_id"].isin(questions["event_id"])]
    events = open_rows(chosen.assign(value=chosen["event_id"].map(answers)), LISTED_EVENT)
    run_places = {run["run_id"]: place for place, run in enumerate(runs)}
    event_places = {event["event_id"]: place for place, event in enumerate(events)}
    rows = []
    for cells in open_rows(questions):
        place = event_places[cells["event_id"]]
        said = shorten(write_value(cells.get("value"), events[place].get("options")))
        n_tokens = cells.get("n_input_tokens", 0) + cells.get("n_output_tokens", 0)
        used = [cells.get("duration_s"), cells.get("cost_usd"), n_tokens or None]
        about = [cells["sample"], cells["outcome"], cells.get("score"), said, cells.get("reason")]
        rows.append([run_places[cells["run_id"]], place, *about, *used])
    rows.sort(key=lambda row: row[:3])
    for event in events:
        event["answer"] = shorten(write_value(event.pop("value", None), event.pop("options", None)))
        event["file"] = name_file("questions", event["event_id"])
    return {"runs": runs, "events": events, "rows": rows, "n_searched": N_SEARCHED}


def name_file(folder, key):
    """Return the name of the file that tells of an event or a page, whatever letters its id has; without its ending."""
    return f"{folder}/{hash_text(key, 12)}"


def shorten(text):
    """Return a text on one line, cut after `MAX_CELL` characters.

    >>> shorten("one\\ntwo"), shorten("a" * 1000) == "a" * MAX_CELL + "..."
    ('one two', True)
    """
    line = " ".join(text.split())
    return line if len(line) <= MAX_CELL else f"{line[:MAX_CELL]}..."


def write_life(life):
    """Return an event's life as text for a terminal."""
    event, answer = life["event"], life["answer"]
    truth = write_value(answer.get("value"), event.get("options")) or f"none ({answer.get('status', 'never asked')})"
    head = f"{event['event_id']}, level {event.get('level', 'none')}, {event['kind']}"
    lines = [head, event["prompt"], f"settled by: {event.get('resolution_criteria', '-')}", f"answer: {truth}"]
    for question in life["questions"]:
        as_of = question["prediction"].get("as_of", "an unknown moment")
        run = f"{question['run_id']}, sample {question['sample']}, as of {as_of}"
        run += f", {question['condition']}" if "condition" in question else ""
        lines += ["", f"== {question['agent_id']} ({run}): {question['outcome']}", question["why"]]
        for step in question["steps"]:
            lines += [f"-- {step['step']} {' '.join(step[n] for n in ('actor', 'step_type', 'tool') if n in step)}"]
            lines += [json.dumps(step["arguments"], ensure_ascii=False)] if "arguments" in step else []
            lines += [step[name] for name in ("content", "error") if name in step]
        lines += [f"-- reply ({question['reply'].get('status', 'none')})", question["reply"].get("reply", "")]
        lines += [f"-- {s['metric']}: {s.get('score', s.get('reason', 'missing'))}" for s in question["scores"]]
    for page_id, page in life["pages"].items():
        title = f"{page.get('title', '')} {page.get('url', '')}".strip()
        lines += ["", f"== page {page_id}: {title} ({page['how']})", page.get("text", "")]
    return "\n".join(map(str, lines))
