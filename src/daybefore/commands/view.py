"""`daybefore view` (make view): every question of every run, own and recorded, on pages that open
from disk.

The pages are HTML by Jinja2, which escapes what a model or a page said; a question's page and a
source's run no script. The lists sort and filter by DataTables, from the package itables; nothing
is loaded from elsewhere. A run that stands both in the store and in data/tables is one: the store's
rows, which know their seconds, come first.
"""

import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pandas as pd

from daybefore.agents.committed_runs import list_evidence
from daybefore.agents.registry import load_entries
from daybefore.commands.print_tables import open_templates, write_interval
from daybefore.commands.terminal import show, tell
from daybefore.formats.public_sets import build_priced
from daybefore.formats.write_exports import write_value
from daybefore.models.secrets import hide_secrets, list_secrets
from daybefore.questions.open_sets import read_window
from daybefore.scoring.run_scores import find_window, list_recorded
from daybefore.store import KEPT, read_runs
from daybefore.web.fetched_pages import read_kept
from helpers.files import ROOT, STORE, hash_text, locate_input, locate_output, read_table
from helpers.input_faults import write_count
from helpers.means import find_clusters, tabulate_groups
from helpers.scores import HEADLINE, score_predictions
from helpers.set_names import WINDOWS, find_set
from helpers.sets import QuestionTables
from helpers.tables import TABLES, check_table, list_columns
from studies.worldreasoner.question_pages import NOTHING, tell_hindsight

FOLDER = "data/runs/view"
KEY = ["run_id", "event_id", "sample"]
JSON_COLUMNS = {"options", "value", "distribution", "arguments", "page_ids", "metadata"}
OUTCOMES = ("right", "partly right", "wrong", "not scored")
EXPORTS = re.compile(r"export\s*\{([^{}]*)\};?\s*(?=/\*!|$)")
"""The end of a JavaScript module, before the licences: the names that it gives away."""


def main(agents=None, windows=None):
    """Write the pages, print where they are and return the runs. Raises ValueError for an agent
    that has no run."""
    known = read_known(windows, agents)
    if strange := sorted(set(agents or ()) - set(known.runs["agent_id"])):
        raise ValueError(f"no run of agent {strange[0]!r}; `make run AGENT={strange[0]}` makes one")
    folder, questions = locate_output(f"{FOLDER}/index.html").parent, list_questions(known)
    keys = [
        os.environ.get(entry.get("api_key_env") or "") for entry in load_entries(own=True).values()
    ]
    secrets = tuple(sorted({*list_secrets(os.environ), *filter(None, keys)}))
    runs = write_pages(folder, known, questions, secrets, is_whole=windows is not None)
    page = (folder / "index.html").resolve().as_uri()
    n_asked, n_events = len(questions), questions["event_id"].nunique()
    told = f"{write_count(n_asked, 'question')} on {write_count(n_events, 'event')}"
    show(f"{told}; open in a browser:\n{page}")
    return {"page": page, "runs": runs}


# --- what is known ----------------------------------------------------------------------------------


def read_known(windows=None, agents=None):
    """Return the tables of all runs, or of those on some windows' events and of some agents, as
    attributes: events, answers, runs (with origin: own or recorded), replies, predictions, traces,
    evidence by prediction, scores, pages.

    Without either, events that recorded baselines alone were asked are left out. Questions whose
    events are in no table that was read are left out and told: public windows are read when they
    are named.
    """
    events, answers = read_questions(windows)
    parts = list(read_parts(windows))
    tables = {name: join(parts, name) for name in (*KEPT, "pages")}
    runs, predictions = tables["runs"], tables["predictions"]
    tell_lost(predictions, events, windows)
    if agents is not None:
        predictions = predictions[predictions["agent_id"].isin(agents)]
    elif windows is None:
        shown = runs.loc[runs["origin"].ne("recorded") | runs["category"].ne("baseline"), "run_id"]
        asked = predictions.loc[predictions["run_id"].isin(shown), "event_id"]
        events = events[events["event_id"].isin(asked)]
    run_ids = predictions.loc[predictions["event_id"].isin(events["event_id"]), "run_id"]
    for name in KEPT:
        rows = tables[name][tables[name]["run_id"].isin(run_ids)]
        tables[name] = rows if name == "runs" else rows[rows["event_id"].isin(events["event_id"])]
    named = ("traces", "replies", "predictions", "pages")
    evidence = list_evidence(*(tables[name] for name in named))
    owners = evidence["owner_id"].str.split("|", expand=True).reindex(columns=range(3))
    evidence = evidence.join(owners.set_axis(KEY, axis=1)).astype({"sample": int})
    scores = score_predictions(tables["predictions"][list_columns("predictions")], answers, events)
    return SimpleNamespace(
        events=events, answers=answers, scores=scores, evidence=evidence, **tables
    )


def read_questions(windows):
    """Return events (with their window) and answers of some windows, or of all whose tables are
    here."""
    files = [
        *ROOT.glob("data/tables/*/events.csv.gz"),
        *locate_output(".").glob("data/tables/*/events.csv.gz"),
    ]
    made = {file.parent.name for file in files}
    there = windows or [name for name in WINDOWS if name in made]
    answers = pd.concat([read_window("answers", window) for window in there], ignore_index=True)
    events = [
        read_window("events", window).assign(window=find_set(window).window) for window in there
    ]
    events = pd.concat(events, ignore_index=True)
    # A set may have no words.
    events["prompt"] = events["prompt"].astype(object).fillna(events["event_id"])
    return events, answers


def tell_lost(predictions, events, windows):
    """Say how many predictions are on questions of each set that was not read; of `windows` where
    they are given."""
    is_lost = ~predictions["event_id"].isin(events["event_id"])
    counts = Counter()
    for ids, n in predictions.loc[is_lost, ["run_id", "agent_id"]].value_counts().items():
        counts[find_window(dict(zip(("run_id", "agent_id"), ids, strict=True)))] += n
    for window in sorted(counts):
        if windows is None or window in windows:
            tell(f"left out: {write_count(counts[window], 'question')} of {name_window(window)}")


def name_window(window):
    """Return what a set is called, and how it is shown; one that is no longer here is named as its
    runs name it."""
    try:
        name = find_set(window).name
    except ValueError:
        return f"{window}, a set that is not here"
    return f"{name}; SET={name} shows those it still has"


def read_parts(windows=None):
    """Yield the tables of the store's runs, then those of each folder of recorded runs: {name:
    rows}.

    A recorded run has the id that it had in its store.
    """
    with suppress(FileNotFoundError):
        tables = {name: read_runs(locate_input(STORE), name, timings=True) for name in KEPT}
        yield tables | {"runs": tables["runs"].assign(origin="own")}
    recorded = list_recorded()
    for loaded in dict.fromkeys(run.place for run in recorded if windows and run.window in windows):
        if isinstance(loaded, QuestionTables):
            tables = {name: check_table(name, getattr(loaded, name)) for name in KEPT}
            yield tables | {"runs": tables["runs"].assign(origin="recorded")}
    for folder in sorted({run.place for run in recorded if isinstance(run.place, str)}):
        if windows is None or folder.split("/")[0] in windows:
            tables = {name: read_table(name, folder) for name in KEPT}
            ids = tables["runs"].set_index("run_id")["ledger_run_id"]
            tables = {
                name: rows.assign(run_id=rows["run_id"].map(ids)) for name, rows in tables.items()
            }
            with suppress(FileNotFoundError):
                tables["pages"] = read_table("pages", folder)
            yield tables | {"runs": tables["runs"].assign(origin="recorded")}


def join(parts, name):
    """Return the tables of one name below each other, of equal keys the first (of runs the last:
    the recorded)."""
    empty = pd.DataFrame(columns=list(dict.fromkeys([*list_columns(name), "origin", "started_at"])))
    table = pd.concat([part[name] for part in parts if len(part.get(name, ()))] or [empty])
    return table.drop_duplicates(
        TABLES[name][0], keep="last" if name == "runs" else "first", ignore_index=True
    )


def list_questions(known):
    """Return a row a question: key, agent, condition, outcome, headline score, value, reason,
    seconds.

    outcome: "right", "partly right", "wrong" by the score, "not scored", or the status of a missing
    prediction.
    """
    kinds = known.events.set_index("event_id")["kind"]
    headline = known.scores["event_id"].map(kinds).map(HEADLINE)
    scores = known.scores[known.scores["metric"] == headline]
    rows = known.predictions[[*KEY, "agent_id", "status", "reason", "value"]]
    rows = rows.merge(known.runs[["run_id", "condition"]], "left", "run_id")
    rows = rows.merge(scores[[*KEY, "metric", "score", "is_scored"]], "left", KEY)
    rows = rows.merge(known.replies.reindex(columns=[*KEY, "duration_s"]), "left", KEY)
    scored = rows["score"].where(rows["is_scored"].eq(True))
    ends = [rows["status"].ne("ok"), scored.isna(), scored.eq(1), scored.gt(0)]
    return rows.assign(
        outcome=np.select(ends, [rows["status"], "not scored", "right", "partly right"], "wrong")
    )


# --- one event at a time ----------------------------------------------------------------------------


def tell_events(known, questions):
    """Yield an event at a time as {"event", "answer", "questions"}: each question with all parts of
    what is known.

    `questions` are the rows of `list_questions` to tell of.
    """
    answers, events = (group_rows(table, ["event_id"]) for table in (known.answers, known.events))
    names = ("replies", "predictions", "traces", "scores", "evidence")
    replies, predictions, traces, scores, evidence = (
        group_rows(getattr(known, name), KEY) for name in names
    )
    for (event_id,), rows in group_rows(questions, ["event_id"]).items():
        for row in rows:
            key = tuple(row[column] for column in KEY)
            row["reply"], row["prediction"] = (
                found.get(key, [{}])[0] for found in (replies, predictions)
            )
            row["steps"], row["scores"], row["pages"] = (
                found.get(key, []) for found in (traces, scores, evidence)
            )
        yield {
            "event": events[event_id,][0],
            "answer": answers.get((event_id,), [{}])[0],
            "questions": rows,
        }


def group_rows(table, key):
    """Return {key's values as a tuple: its rows}, each a dict without blanks, its JSON opened,
    whole numbers whole."""
    groups = {}
    for row in table.to_dict("records"):
        opened = {
            name: open_cell(cell, name)
            for name, cell in row.items()
            if cell is not None and cell == cell
        }
        groups.setdefault(tuple(opened[name] for name in key), []).append(opened)
    return groups


def open_cell(cell, name):
    """Return a cell as a page shows it: JSON opened, a whole number that a column of floats holds
    an integer again.

    >>> open_cell('["A"]', "value"), open_cell(2.0, "level"), open_cell(float("inf"), "score")
    (['A'], 2, inf)
    """
    if name in JSON_COLUMNS and isinstance(cell, str):
        return json.loads(cell)
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def read_pages(page_ids, known):
    """Return {page_id: facts, `text` where the run kept it, and `how`}; `known` is the pages
    table."""
    away = known[known["page_id"].isin(page_ids)]
    pages = {page_id: {"how": "not kept; the steps have what was read"} for page_id in page_ids}
    for (page_id,), (row,) in group_rows(away, ["page_id"]).items():
        pages[page_id] |= row
    for page_id, row in read_kept(page_ids).items():
        pages[page_id] = row | {"how": "as it was kept by the run"}
    return pages


# --- pages ------------------------------------------------------------------------------------------


def write_pages(folder, known, questions, secrets=(), is_whole=True):
    """Write the pages into a folder, the lists, one of each event, one of each source; return the
    runs' rows.

    Those of an earlier time go. Hindsight graphs and prices, which take seconds, are there where
    the pages are to be whole.
    """
    templates = open_templates()
    templates.filters["value"] = write_value
    templates.filters["day"] = lambda day: str(pd.Timestamp(day, unit="D").date())
    templates.globals["name_file"] = name_file

    def write(name, template, **given):
        text = templates.get_template(template).render(**given)
        (folder / name).write_text(text, encoding="utf-8")

    for name in ("questions", "pages"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    look_back = open_hindsight(known) if is_whole else lambda told: NOTHING
    baselines = set(known.runs.loc[known.runs["category"] == "baseline", "agent_id"])
    rows, page_ids = [], set()
    for told in tell_events(known, questions):
        for question in told["questions"]:  # a baseline's pages are the sources' whole series
            question["pages"] = [] if question["agent_id"] in baselines else question["pages"]
            page_ids |= {page["page_id"] for page in question["pages"]}
        page_ids |= {told["answer"].get("page_id")} - {None}
        told = hide_secrets(told, secrets)
        name = name_file("questions", told["event"]["event_id"])
        write(name, "question.html", told=told, hindsight=look_back(told))
        one = {"file": name, "set": find_set(told["event"]["window"]).name} | told
        rows += [one | row for row in told["questions"]]
    for page_id, page in read_pages(sorted(page_ids), known.pages).items():
        page = hide_secrets(page, secrets)
        write(name_file("pages", page_id), "page.html", page_id=page_id, page=page)
    runs = hide_secrets(count_outcomes(known, questions), secrets)
    write("index.html", "index.html", runs=runs, rows=rows, outcomes=OUTCOMES)
    bundle = files("itables") / "html"
    library = read_library((bundle / "dt_bundle.js").read_text("utf-8"))
    (folder / "table.js").write_text(library, encoding="utf-8")
    for name, path in (
        ("table.css", bundle / "dt_bundle.css"),
        ("list.js", files(__package__) / "pages/list.js"),
    ):
        (folder / name).write_text(path.read_text("utf-8"), encoding="utf-8")
    return runs


def open_hindsight(known):
    """Return a function that tells the hindsight graph and the prices of an event of
    `tell_events`."""
    prices = build_priced()[2] if "M" in set(known.events["window"]) else None
    raw = known.events.set_index("event_id", drop=False).to_dict("index")
    cells = known.answers.set_index("event_id")["value"]

    def look_back(told):
        event_id = told["event"]["event_id"]
        return tell_hindsight(raw[event_id], cells.get(event_id), told["questions"], prices)

    return look_back


def name_file(folder, key):
    """Return the name of the file that tells of an event or a page, whatever letters its id has."""
    return f"{folder}/{hash_text(key, 12)}.html"


def count_outcomes(known, questions):
    """Return a row a run, the newest first and baselines last: its facts, its score with its 95%
    interval by cluster as text, and in `counts` how often each of `OUTCOMES` or missing.
    """
    scored = questions[questions["is_scored"].eq(True)]
    scored = scored.assign(agent_id=scored["run_id"], score_imputed=scored["score"])
    clusters = find_clusters(known.events)[0]
    means = {}
    if len(scored):  # else all questions are still open
        table = tabulate_groups(scored, clusters, groups=()).set_index("agent_id")
        means = table[["mean", "low", "high", "n"]].T
    ends = questions["outcome"].where(questions["outcome"].isin(OUTCOMES), "missing")
    counts = pd.crosstab(questions["run_id"], ends).reindex(
        columns=[*OUTCOMES, "missing"], fill_value=0
    )
    firsts = questions.groupby("run_id").agg({"event_id": "first", "duration_s": "mean"})
    windows = firsts["event_id"].map(known.events.set_index("event_id")["window"])
    runs = known.runs[known.runs["run_id"].isin(counts.index)]
    newest = runs["run_id"].map(known.replies.groupby("run_id")["started_at"].max())
    runs = runs.assign(is_last=runs["category"].eq("baseline"), newest=newest)
    runs = runs.sort_values(["is_last", "newest"], ascending=[True, False])
    rows = []
    for (run_id,), (run,) in group_rows(runs[known.runs.columns], ["run_id"]).items():
        run["counts"] = counts.loc[run_id].to_dict()
        run["seconds"] = firsts.loc[run_id, "duration_s"]
        run["set"] = find_set(windows[run_id]).name
        run["score"] = write_interval(*means[run_id]) if run_id in means else "-"
        rows.append(run)
    return rows


def read_library(text):
    """Return DataTables and its plugins (MIT), as the package itables carries them, as a plain
    script that sets `DataTable`; modules do not load from disk. Raises ValueError when the bundle
    is not the module that it was.
    """
    found = EXPORTS.search(text)
    default = found and re.search(r"([\w$]+) as default", found[1])
    if not default:
        raise ValueError(
            "the package itables carries its tables in another form; install the version of the lock"
        )
    return f"var DataTable = (() => {{{text[: found.start()]}\nreturn {default[1]}; }})();\n{text[found.end() :]}"
