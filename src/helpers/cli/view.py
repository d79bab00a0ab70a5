"""`daybefore view` (make view): every question of every run on pages that open from disk, or as text and JSON.

The pages are HTML by Jinja2, which escapes what a model or a page said; a question's page and a source's run no script.
The lists sort and filter by DataTables, from the package itables; nothing is loaded from elsewhere.
"""

import os
import re
from importlib.resources import files

import pandas as pd

from helpers.agents.registry import load_entries
from helpers.cli.main import show, tell
from helpers.cli.questions import (
    list_pages,
    list_questions,
    open_row,
    read_known,
    read_pages,
    tell_events,
    write_value,
)
from helpers.cli.report import open_templates, write_interval
from helpers.futurex.past import build_priced
from helpers.models.secrets import hide_secrets, list_secrets
from helpers.question_sets import PUBLIC_WINDOWS, find_set
from helpers.scoring.scores import build_matrix
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.store import dump_json, hash_text, locate_output
from helpers.worldreasoner.question_pages import NOTHING, tell_hindsight

FOLDER = "data/runs/view"
EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*(?=/\*!|$)")
"""The end of a JavaScript module, before the licences: the names that it gives away."""
OUTCOMES = ("right", "partly right", "wrong", "not scored")


def main(agents=None, windows=None, event=None, is_json=False):
    """Write the pages, or print one event; with `is_json` return the list, or all of that event.

    Raises ValueError for an agent or event of which there is no run.
    """
    secrets, known = list_keys(), read_known(windows, agents)
    if agents and (strange := sorted(set(agents) - set(known.runs["agent_id"]))):
        raise ValueError(f"no run of agent {strange[0]!r}; `make run AGENT={strange[0]}` makes one")
    questions, found = list_questions(known), None
    if event:
        questions = questions[questions["event_id"] == event]
        if questions.empty:
            raise ValueError(f"no run holds a question on {event!r}; --json lists the questions there are")
        found = next(tell_events(known, questions))
        found = hide_secrets(found | {"pages": read_pages(list_pages(found), known.pages)}, secrets)
        if not is_json:
            show(load_template("event.txt").render(found))
    elif is_json:
        tables = {"runs": known.runs, "questions": questions}
        found = {name: [open_row(row) for row in rows.to_dict("records")] for name, rows in tables.items()}
        found = hide_secrets(found, secrets)
    else:
        folder = locate_output(f"{FOLDER}/index.html").parent
        write_pages(folder, known, questions, secrets, is_whole=windows is not None)
        show(f"{len(questions):,} questions on {questions['event_id'].nunique():,} events; open in a browser:")
        show((folder / "index.html").resolve().as_uri())
    for name, n in known.lost.items():
        table = f"events that are no longer in data/tables/{name}/events.csv.gz"
        told = find_set(name).name
        tell(f"left out: {n} of {told}, {f'which SET={told} shows' if name in PUBLIC_WINDOWS else table}")
    return found


def list_keys():
    """Return the values of all keys: those of the environment, and those that an agent's `api_key_env` names."""
    named = [os.environ.get(entry.get("api_key_env") or "") for entry in load_entries(own=True).values()]
    return tuple(sorted({*list_secrets(os.environ), *filter(None, named)}))


def load_template(name):
    """Return a template of this room, which knows how values, days and pages' files are written."""
    made = open_templates()
    made.filters |= {"value": write_value, "json": dump_json}
    made.filters["day"] = lambda day: str(pd.Timestamp(day, unit="D").date())
    made.globals["name_file"] = name_file
    return made.get_template(name)


def write_pages(folder, known, questions, secrets=(), is_whole=True):
    """Write the pages into a folder: the lists, one of each event, one of each source; those of an earlier time go.

    Hindsight graphs and prices, which take seconds, are there where the pages are to be whole.
    """
    for name in ("questions", "pages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).glob("*.html"):
            old.unlink()
    prices = build_priced()[2] if "M" in set(known.events["window"]) else None
    raw = known.events.set_index("event_id", drop=False).to_dict("index")
    cells = known.answers.set_index("event_id")["value"]
    template, rows, page_ids = load_template("question.html"), [], set()
    baselines = set(known.runs.loc[known.runs["category"] == "baseline", "agent_id"])
    for told in tell_events(known, questions):
        for question in told["questions"]:  # a baseline's pages are the sources' whole series
            question["pages"] = [] if question["agent_id"] in baselines else question["pages"]
        told, event_id = hide_secrets(told, secrets), told["event"]["event_id"]
        name, page_ids = name_file("questions", event_id), page_ids | set(list_pages(told))
        given = (raw[event_id], cells.get(event_id), told["questions"], prices)
        hindsight = tell_hindsight(*given) if is_whole else NOTHING
        (folder / name).write_text(template.render(told=told, hindsight=hindsight), encoding="utf-8")
        about = {"file": name, "set": find_set(told["event"]["window"]).name}
        rows += [about | {"event": told["event"], "answer": told["answer"], **row} for row in told["questions"]]
    template = load_template("page.html")
    for page_id, page in read_pages(sorted(page_ids), known.pages).items():
        text = template.render(page_id=page_id, page=hide_secrets(page, secrets))
        (folder / name_file("pages", page_id)).write_text(text, encoding="utf-8")
    runs = hide_secrets(count_outcomes(known, questions), secrets)
    listed = load_template("index.html").render(runs=runs, rows=rows, outcomes=OUTCOMES)
    library = {"table.js": read_library(), "table.css": read_bundle("dt_bundle.css")}
    library["list.js"] = (files(__package__) / "pages/list.js").read_text("utf-8")
    for name, text in ({"index.html": listed} | library).items():
        (folder / name).write_text(text, encoding="utf-8")


def count_outcomes(known, questions):
    """Return a row a run, the newest first and baselines last: its facts, its score with its 95% interval by cluster as
    text, and in `counts` how often each of `OUTCOMES` or missing.
    """
    scored = questions[questions["is_scored"].eq(True)].assign(agent_id=questions["run_id"])
    means = summarize_clustered(build_matrix(scored, sorted(set(scored["agent_id"]))), find_clusters(known.events)[0])
    means[["low", "high"]] = means[["low", "high"]].clip(0, 1)
    means = {row.Index: write_interval(row.mean, row.low, row.high, row.n) for row in means.itertuples()}
    windows = known.events.set_index("event_id")["window"]
    named = questions["outcome"].where(questions["outcome"].isin(OUTCOMES), "missing")
    counts = pd.crosstab(questions["run_id"], named).reindex(columns=[*OUTCOMES, "missing"], fill_value=0)
    facts = questions.assign(window=questions["event_id"].map(windows)).groupby("run_id")
    facts = facts.agg({"duration_s": "mean", "window": "first"})
    runs = known.runs[known.runs["run_id"].isin(counts.index)]
    newest = runs["run_id"].map(known.replies.groupby("run_id")["started_at"].max())
    order = runs.assign(newest=newest).sort_values("newest", ascending=False, na_position="last", kind="stable")
    order = order.sort_values("category", key=lambda category: category == "baseline", kind="stable")
    return [
        row
        | {"counts": counts.loc[row["run_id"]].to_dict(), "seconds": facts["duration_s"][row["run_id"]]}
        | {"score": means.get(row["run_id"], "-"), "set": find_set(facts["window"][row["run_id"]]).name}
        for row in map(open_row, order.to_dict("records"))
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
