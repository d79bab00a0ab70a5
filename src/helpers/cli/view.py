"""`daybefore view` (make view): every question of every run on pages that open from disk, or as text and JSON.

The pages are HTML by Jinja2, which escapes what a model or a page said; a question's page and a source's run no script.
The lists sort and filter by DataTables, from the package itables; nothing is loaded from elsewhere.
"""

import os
import re
from importlib.resources import files
from pathlib import Path

import pandas as pd

from helpers.agents.registry import load_entries
from helpers.cli.gallery import open_templates
from helpers.cli.main import show, tell
from helpers.cli.questions import (
    KEY,
    list_pages,
    list_questions,
    open_row,
    read_known,
    read_pages,
    tell_events,
    write_value,
)
from helpers.cli.report import write_interval
from helpers.futurex.past import build_priced
from helpers.models.secrets import hide_secrets, list_secrets
from helpers.question_sets import PUBLIC_WINDOWS, find_set
from helpers.scoring.scores import build_matrix
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.store import dump_json, hash_text, locate_output
from helpers.worldreasoner.question_pages import tell_hindsight

FOLDER = "data/runs/view"
EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*(?=/\*!|$)")
"""The end of a JavaScript module, before the licences: the names that it gives away."""
OUTCOMES = ("right", "partly right", "wrong", "not scored")


def main(agents=None, windows=None, level=None, status=None, text=None, event=None, folder=None, is_json=False):
    """Write the pages, or print one event; with `is_json` return the list, or all of that event.

    Raises ValueError for a filter that nothing can meet.
    """
    secrets, known = list_keys(), read_known(windows, agents)
    if agents and (strange := sorted(set(agents) - set(known.runs["agent_id"]))):
        raise ValueError(f"no run of agent {strange[0]!r}; `make run AGENT={strange[0]}` makes one")
    questions = select_questions(known, list_questions(known), level, status, text, event)
    found = None
    if event:
        found = next(tell_events(known, questions))
        found = hide_secrets(found | {"pages": read_pages(list_pages(found), known.pages)}, secrets)
        if not is_json:
            show(write_event(found))
    elif is_json:
        runs = known.runs[known.runs["run_id"].isin(questions["run_id"])]
        found = {
            name: list(map(open_row, rows.to_dict("records")))
            for name, rows in (("runs", runs), ("questions", questions))
        }
        found = hide_secrets(found, secrets)
    else:
        if questions.empty and len(known.predictions):
            raise ValueError("no question meets these filters; the page is left as it was")
        folder = Path(folder) if folder else locate_output(f"{FOLDER}/index.html").parent
        write_pages(folder, known, questions, secrets, is_whole=windows is not None)
        show(f"{len(questions):,} questions on {questions['event_id'].nunique():,} events; open in a browser:")
        show((folder / "index.html").resolve().as_uri())
    for name, n in known.lost.items():
        table = f"events that are no longer in data/tables/{name}/events.csv.gz"
        tell(f"left out: {n} of {name}, {f'which SET={name} shows' if name in PUBLIC_WINDOWS else table}")
    return found


def list_keys():
    """Return the values of all keys: those of the environment, and those that an agent's `api_key_env` names."""
    named = [os.environ.get(entry.get("api_key_env") or "") for entry in load_entries(own=True).values()]
    return tuple(sorted({*list_secrets(os.environ), *filter(None, named)}))


def select_questions(known, questions, level, status, text, event):
    """Return the questions that meet some filters. Raises ValueError for one that nothing can meet."""
    if status and len(questions) and status not in set(questions["outcome"]):
        outcomes = ", ".join(sorted(set(questions["outcome"])))
        raise ValueError(f"no question has the outcome {status!r}; there are {outcomes}")
    events = known.events.set_index("event_id")
    if event:
        questions = questions[questions["event_id"] == event]
        if questions.empty:
            raise ValueError(f"no run holds a question on {event!r}; --json lists the questions there are")
    if level:
        questions = questions[questions["event_id"].map(events["level"]) == level]
    if status:
        questions = questions[questions["outcome"] == status]
    if text:
        questions = questions[find_text(known, questions, text)]
    if event and questions.empty:
        raise ValueError(f"no question on {event!r} meets the other filters")
    return questions


def find_text(known, questions, text):
    """Return, for each question, whether a text stands in it, its steps, reply, value or reason, whatever the case."""
    prompts = questions["event_id"].map(known.events.set_index("event_id")["prompt"])
    own = questions.assign(prompt=prompts), ["event_id", "agent_id", "prompt", "value", "reason"]
    keys = set()
    for table, columns in (own, (known.replies, ["reply"]), (known.traces, ["arguments", "content", "error"])):
        words = table[columns].fillna("").astype(str).agg("\n".join, axis=1) if len(table) else pd.Series(dtype=str)
        has = words.str.casefold().str.contains(text.casefold(), regex=False)
        keys |= set(table.loc[has[has].index, KEY].itertuples(index=False, name=None))
    return [key in keys for key in questions[KEY].itertuples(index=False, name=None)]


# --- pages -----------------------------------------------------------------------------------------------------------


def write_pages(folder, known, questions, secrets=(), is_whole=True):
    """Write the pages into a folder: the lists, one of each event, one of each source; those of an earlier time go.

    Hindsight graphs and prices, which take seconds, are there where the pages are to be whole.
    """
    made = open_templates()
    made.filters |= {"value": write_value, "day": lambda day: str(pd.Timestamp(day, unit="D").date())}
    for name in ("questions", "pages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).glob("*.html"):
            old.unlink()
    prices = build_priced()[2] if "M" in set(known.events["window"]) else None
    raw = known.events.set_index("event_id", drop=False).to_dict("index")
    cells = known.answers.set_index("event_id")["value"]
    template, rows, page_ids = made.get_template("question.html"), [], set()
    baselines = set(known.runs.loc[known.runs["category"] == "baseline", "agent_id"])
    for told in tell_events(known, questions):
        for question in told["questions"]:  # a baseline's pages are the sources' whole series
            question["pages"] = [] if question["agent_id"] in baselines else question["pages"]
        told = hide_secrets(told, secrets)
        name, page_ids = name_file("questions", told["event"]["event_id"]), page_ids | set(list_pages(told))
        event_id = told["event"]["event_id"]
        hindsight = {"nodes": [], "prices": []}
        if is_whole:
            hindsight = tell_hindsight(raw[event_id], cells.get(event_id), told["questions"], prices)
        facts = {"told": told, "hindsight": hindsight, "name_file": name_file}
        (folder / name).write_text(template.render(**facts), encoding="utf-8")
        rows += [{"file": name, "event": told["event"], "answer": told["answer"], **row} for row in told["questions"]]
    template = made.get_template("page.html")
    for page_id, page in read_pages(sorted(page_ids), known.pages).items():
        text = template.render(page_id=page_id, page=hide_secrets(page, secrets))
        (folder / name_file("pages", page_id)).write_text(text, encoding="utf-8")
    (folder / "table.js").write_text(read_library(), encoding="utf-8")
    (folder / "table.css").write_text(read_bundle("dt_bundle.css"), encoding="utf-8")
    (folder / "list.js").write_text((files(__package__) / "pages/list.js").read_text("utf-8"), encoding="utf-8")
    runs = hide_secrets(count_outcomes(known, questions), secrets)
    listed = made.get_template("index.html").render(runs=runs, rows=rows, outcomes=OUTCOMES)
    (folder / "index.html").write_text(listed, encoding="utf-8")


def count_outcomes(known, questions):
    """Return a row a run, the newest first and baselines last: its facts, its score with its 95% interval by cluster as
    text, and in `counts` how often each of `OUTCOMES` or missing.
    """
    scored = questions[questions["is_scored"].eq(True)].assign(agent_id=questions["run_id"])
    matrix = build_matrix(scored, sorted(scored["agent_id"].unique())) if len(scored) else pd.DataFrame()
    means = summarize_clustered(matrix, find_clusters(known.events)[0]) if len(scored) else matrix
    if len(means):
        means[["low", "high"]] = means[["low", "high"]].clip(0, 1)
    means = {row.Index: write_interval(row.mean, row.low, row.high, row.n) for row in means.itertuples()}
    windows = known.predictions.drop_duplicates("run_id").set_index("run_id")["event_id"]
    windows = windows.map(known.events.set_index("event_id")["window"])
    named = questions["outcome"].where(questions["outcome"].isin(OUTCOMES), "missing")
    counts = pd.crosstab(questions["run_id"], named).reindex(columns=[*OUTCOMES, "missing"], fill_value=0)
    sums = questions.groupby("run_id")[["duration_s", "cost_usd"]].agg("mean")
    runs = known.runs[known.runs["run_id"].isin(counts.index)]
    runs = runs.assign(started_at=runs.get("started_at"))
    runs = runs.sort_values("started_at", ascending=False, na_position="last", kind="stable")
    runs = runs.sort_values("category", key=lambda category: category == "baseline", kind="stable")
    return [
        row
        | {"counts": counts.loc[row["run_id"]].to_dict(), "seconds": sums["duration_s"].get(row["run_id"])}
        | {"score": means.get(row["run_id"], "-"), "is_own": row["origin"] != "recorded"}
        | {"set": find_set(windows[row["run_id"]]).name}
        for row in map(open_row, runs.to_dict("records"))
    ]


def name_file(folder, key):
    """Return the name of the file that tells of an event or a page, whatever letters its id has."""
    return f"{folder}/{hash_text(key, 12)}.html"


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
        raise ValueError("the package itables carries its tables in another form; install the version of the lock")
    return f"var DataTable = (() => {{{text[: found.start()]}\nreturn {default[1]}; }})();\n{text[found.end() :]}"


def write_event(told):
    """Return all that is known of an event as text for a terminal."""
    event, answer = told["event"], told["answer"]
    truth = write_value(answer.get("value"), event.get("options")) or f"none ({answer.get('status', 'never asked')})"
    head = f"{event['event_id']}, level {event.get('level', 'none')}, {event['kind']}"
    lines = [head, event["prompt"], f"settled by: {event.get('resolution_criteria', '-')}", f"answer: {truth}"]
    for question in told["questions"]:
        run = f"{question['run_id']}, sample {question['sample']}, as of {question['prediction'].get('as_of', '?')}"
        run += f", {question['condition']}" if "condition" in question else ""
        lines += ["", f"== {question['agent_id']} ({run}): {question['outcome']}", question["why"]]
        for step in question["steps"]:
            lines.append(f"-- {step['step']} {' '.join(step[n] for n in ('actor', 'step_type', 'tool') if n in step)}")
            lines += [dump_json(step["arguments"])] if "arguments" in step else []
            lines += [step[name] for name in ("content", "error") if name in step]
        lines += [f"-- reply ({question['reply'].get('status', 'none')})", question["reply"].get("reply", "")]
        lines += [f"-- {s['metric']}: {s.get('score', s.get('reason', 'missing'))}" for s in question["scores"]]
    for page_id, page in told["pages"].items():
        title = f"{page.get('title', '')} {page.get('url', '')}".strip()
        lines += ["", f"== page {page_id}: {title} ({page['how']})", page.get("text", "")]
    return "\n".join(map(str, lines))
