"""All that is known of the questions that runs were asked, from the store and the recorded runs of data/tables.

A run that stands in both is one: the store's rows, which know their seconds, come first.
"""

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.agents.evidence import list_evidence
from helpers.futurex.past import read_window
from helpers.question_sets import PUBLIC_WINDOWS
from helpers.scoring.scores import HEADLINE, score_predictions
from helpers.store import KEPT, ROOT, STORE, locate_input, open_store, read_runs, read_table
from helpers.tables import TABLES, list_columns
from helpers.web.pages import GatewayError, read_kept
from helpers.web.replay import open_world

KEY = ["run_id", "event_id", "sample"]
PARTS = ("predictions", "replies", "traces", "scores", "evidence")
JSON_COLUMNS = {"options", "value", "distribution", "arguments", "page_ids", "metadata"}
N_END = 120
"""Characters of a reply's end that are shown where it holds no prediction."""


class Known(NamedTuple):
    """The tables of some runs (`runs` with origin; `evidence` with the key of its prediction) and their events.

    `lost` counts by window the questions that are left out, as their events are in no table that was read.
    """

    runs: pd.DataFrame
    events: pd.DataFrame
    answers: pd.DataFrame
    replies: pd.DataFrame
    predictions: pd.DataFrame
    traces: pd.DataFrame
    evidence: pd.DataFrame
    scores: pd.DataFrame
    pages: pd.DataFrame
    lost: dict


def list_folders(name):
    """Return the folders of data/tables that hold a table, such as "A" and "A/models", sorted."""
    bases = {Path(base) / "data/tables" for base in (os.environ.get("DAYBEFORE_OUT"), ROOT) if base}
    found = {path.parent.relative_to(base) for base in bases for path in base.rglob(f"{name}.csv.gz")}
    return sorted(folder.as_posix() for folder in found)


def read_parts(windows=None):
    """Yield the tables of the store's runs, then those of each folder of recorded runs: {name: rows}."""
    try:
        path = locate_input(STORE)
        tables = {name: read_runs(path, name, timings=True) for name in KEPT}
        evidence = list_evidence(tables["traces"], tables["replies"], tables["predictions"])
        with closing(open_store(path)) as store:
            asked = {run for (run,) in store.execute("SELECT DISTINCT run FROM requests")}
        named = tables["runs"]["run_id"].str.rpartition("-")[0].isin(asked) | tables["runs"]["model"].isna()
        runs = tables["runs"].assign(origin=named.map({True: "own", False: "own, replies recorded"}))
        newest = tables["replies"].groupby("run_id")["started_at"].max()
        yield tables | {"runs": runs.assign(started_at=runs["run_id"].map(newest)), "evidence": evidence}
    except FileNotFoundError:
        pass
    pages = list_folders("pages")
    for folder in list_folders("runs"):
        if windows is None or folder.split("/")[0] in windows:
            names = ("runs", "replies", "predictions", "traces", "evidence", *(["pages"] if folder in pages else []))
            tables = {name: read_table(name, folder) for name in names}
            ids = dict(zip(tables["runs"]["run_id"], tables["runs"]["ledger_run_id"], strict=True))
            owners = tables["evidence"]["owner_id"].str.partition("|")
            tables["evidence"]["owner_id"] = owners[0].map(ids) + "|" + owners[2]
            for name in KEPT:
                tables[name] = tables[name].assign(run_id=tables[name]["run_id"].map(ids))
            yield tables | {"runs": tables["runs"].assign(origin="recorded")}


def join(parts, name, key=None):
    """Return tables of one name below each other, of equal keys the first; without any the empty table."""
    parts = [part for part in parts if len(part)]
    if not parts:
        return pd.DataFrame(columns=[*list_columns(name), *(["origin"] if name == "runs" else [])])
    return pd.concat(parts).drop_duplicates(key or TABLES[name][0], ignore_index=True)


def read_known(windows=None, agents=None):
    """Return what is `Known` of all runs, or of those on some windows' events and of some agents.

    Without either, events that recorded baselines alone were asked are left out. Public windows are read when named.
    """
    asked = {}
    for name in ("events", "answers"):
        public = [read_window(name, window) for window in windows or () if window in PUBLIC_WINDOWS]
        asked[name] = join([read_table(name, at) for at in list_folders(name) if "/" not in at] + public, name)
    events, read = asked["events"], list(read_parts(windows))
    tables = {name: join([part[name] for part in read if name in part], name) for name in (*KEPT, "pages")}
    tables["evidence"] = join([part["evidence"] for part in read], "evidence", ["owner_id", "page_id"])
    owners = tables["evidence"]["owner_id"].astype(str).str.split("|", expand=True).reindex(columns=range(3))
    tables["evidence"] = tables["evidence"].assign(**dict(zip(KEY, [owners[n] for n in range(3)], strict=True)))
    tables["evidence"]["sample"] = tables["evidence"]["sample"].astype(int)
    recorded = {run for part in read for run in part["runs"].query("origin == 'recorded'")["run_id"]}
    tables["runs"].loc[tables["runs"]["run_id"].isin(recorded), "origin"] = "recorded"
    left = tables["predictions"][~tables["predictions"]["event_id"].isin(events["event_id"])]
    counts = left["run_id"].str.rsplit("-", n=2).str[-2].value_counts()
    lost = {name: int(counts[name]) for name in sorted(counts.index) if windows is None or name in windows}
    if windows is not None:
        events = events[events["window"].isin(windows)]
    elif agents is None:
        events = events[events["event_id"].isin(list_shown(tables))]
    chosen = tables["predictions"]["event_id"].isin(events["event_id"])
    if agents is not None:
        chosen &= tables["predictions"]["agent_id"].isin(agents)
    run_ids = set(tables["predictions"].loc[chosen, "run_id"])
    for name in ("runs", *KEPT, "evidence"):
        tables[name] = tables[name][tables[name]["run_id"].isin(run_ids)]
        if name != "runs":
            tables[name] = tables[name][tables[name]["event_id"].isin(events["event_id"])]
    scores = score_predictions(tables["predictions"][list_columns("predictions")], asked["answers"], events)
    return Known(events=events, answers=asked["answers"], scores=scores, lost=lost, **tables)


def list_shown(tables):
    """Return the events that an agent of the reader's own, or a recorded one that is no baseline, was asked."""
    runs = tables["runs"]
    shown = runs.loc[runs["origin"].ne("recorded") | runs["category"].ne("baseline"), "run_id"]
    return set(tables["predictions"].loc[tables["predictions"]["run_id"].isin(shown), "event_id"])


def list_questions(known):
    """Return a row a question: key, agent, condition, outcome, headline score, value, reason, seconds, costs, tokens.

    outcome: "right", "partly right", "wrong" by the score, "not scored", or the status of a missing prediction.
    """
    kinds = known.events.set_index("event_id")["kind"]
    scores = known.scores[known.scores["metric"] == known.scores["event_id"].map(kinds).map(HEADLINE)]
    rows = known.predictions[[*KEY, "agent_id", "status", "reason", "value"]]
    rows = rows.merge(known.runs[["run_id", "condition"]], "left", "run_id")
    rows = rows.merge(scores[[*KEY, "metric", "score", "is_scored", "reason"]], "left", KEY, suffixes=("", "_score"))
    rows = rows.merge(known.replies[[*KEY, "duration_s", "cost_usd", "n_input_tokens", "n_output_tokens"]], "left", KEY)
    steps = pd.to_numeric(known.traces["duration_s"]).groupby([known.traces[name] for name in KEY]).sum(min_count=1)
    rows["duration_s"] = pd.to_numeric(rows["duration_s"]).fillna(rows.join(steps.rename("steps_s"), on=KEY)["steps_s"])
    rows["outcome"] = [name_outcome(*row) for row in zip(rows["status"], rows["score"], rows["is_scored"], strict=True)]
    return rows


def name_outcome(status, score, is_scored=True):
    """Return what became of a prediction, in words.

    >>> name_outcome("ok", 1.0), name_outcome("ok", 0.4), name_outcome("ok", 1.0, False), name_outcome("refusal", 0)
    ('right', 'partly right', 'not scored', 'refusal')
    """
    if status != "ok":
        return status
    if is_scored is not True or score != score:
        return "not scored"
    return "right" if score == 1 else "partly right" if score > 0 else "wrong"


def write_value(value, options=None):
    """Return a prediction's or answer's value (opened JSON) as text, a letter with what it stands for.

    >>> write_value("A", {"A": "Yes"}), write_value(["A", "B"]), write_value(12.5), write_value(None)
    ('A (Yes)', 'A, B', '12.5', '')
    """
    if isinstance(value, str) and (options or {}).get(value):
        return f"{value} ({options[value]})"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, float) else "" if value is None else str(value)


def explain(question, answer, options):
    """Return in one sentence why a question's score is what it is; `answer` is the answer's row, {} for none."""
    if question["status"] != "ok":
        reason = question.get("reason")
        why = f": {reason}" if reason not in (None, question["status"]) else ""
        end = " ".join(question["reply"].get("reply", "").split())[-N_END:]
        return f"No prediction, {question['status']}{why}. " + (f"The reply ends: {end}" if end else "No reply.")
    said = f"It said {write_value(question.get('value'), options)}"
    if question["outcome"] == "not scored":
        return f"{said}; not scored: {question.get('reason_score') or 'there is no answer'}."
    sd = f", its sd is {answer['spread']:.4g}" if question["metric"] == "number" and "spread" in answer else ""
    truth = write_value(answer.get("value"), options)
    return f"{said}, the answer is {truth}: {question['metric']} {question['score']:.2f}{sd}."


def open_row(row):
    """Return a row as a dict of plain values: blanks left out, JSON opened, every number finite.

    >>> open_row({"value": '["A", 1e999]', "score": float("inf"), "level": 2.0, "k": None})
    {'value': ['A', '1e999'], 'score': 'inf', 'level': 2}
    """
    return {
        name: open_cell(cell, name in JSON_COLUMNS) for name, cell in row.items() if cell is not None and cell == cell
    }


def open_cell(cell, is_json=False):
    """Return one cell as JSON can hold it; a whole number that a column of floats holds is an integer again."""
    if is_json and isinstance(cell, str):
        finite = lambda text: float(text) if math.isfinite(float(text)) else text  # noqa: E731
        return json.loads(cell, parse_float=finite, parse_constant=str)
    cell = cell.item() if hasattr(cell, "item") else cell
    if isinstance(cell, float):
        return str(cell) if not math.isfinite(cell) else int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell
    return cell


def group_rows(table, key):
    """Return {key's values as a tuple: its opened rows}."""
    groups = {}
    for row in map(open_row, table.to_dict("records")):
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    return groups


def tell_events(known, questions):
    """Yield an event at a time as {"event", "answer", "questions"}: each question with all parts of what is known.

    `questions` are the rows of `list_questions` to tell of.
    """
    answers, events = (group_rows(table, ["event_id"]) for table in (known.answers, known.events))
    parts = {name: group_rows(getattr(known, name), KEY) for name in PARTS}
    for (event_id,), rows in group_rows(questions, ["event_id"]).items():
        event, answer = events[event_id,][0], answers.get((event_id,), [{}])[0]
        for row in rows:
            own = {name: parts[name].get(tuple(row[column] for column in KEY), []) for name in PARTS}
            row |= {"prediction": own["predictions"][0], "reply": own["replies"][0] if own["replies"] else {}}
            row |= {"steps": own["traces"], "scores": own["scores"], "pages": own["evidence"]}
            row["why"] = explain(row, answer, event.get("options"))
        yield {"event": event, "answer": answer, "questions": rows}


def list_pages(told):
    """Return the ids of the pages that an event's questions saw or named, and the answer's; sorted."""
    shown = {page["page_id"] for question in told["questions"] for page in question["pages"]}
    return sorted(shown | {told["answer"].get("page_id")} - {None})


def read_pages(page_ids, known):
    """Return {page_id: facts, `text` where it can be had, and `how`}.

    A page that a run kept is read from the cache. One that a recorded run names (`known`, the pages table) is fetched
    from the replay once more, as of the moment at which it was read; its id tells whether it is the same.
    """
    kept, rows = read_kept(page_ids), known.set_index("page_id", drop=False)
    pages = {page_id: open_row(row) | {"how": "as it was kept by the run"} for page_id, row in kept.items()}
    again = [page_id for page_id in page_ids if page_id in rows.index and page_id not in pages]
    if again:
        with open_world() as opener, ThreadPoolExecutor(8) as pool:
            web = opener()
            found = pool.map(lambda page_id: fetch_again(web, rows.loc[page_id].to_dict()), again)
            pages |= zip(again, found, strict=True)
    return pages | {page_id: {"how": "not kept"} for page_id in page_ids if page_id not in pages}


def fetch_again(web, row):
    """Return a page's facts and, where the replay still shows the very same page, its text."""
    facts = open_row(row)
    try:
        page = web.fetch(row["url"], row["retrieved_at"])
    except GatewayError as error:
        return facts | {"how": f"not kept, and the replay does not show it: {error}"}
    if page.page_id != row["page_id"]:
        return facts | {"how": "not kept, and the replay now shows another page at this address and moment"}
    return facts | {"text": page.text, "how": f"shown once more by the replay as of {row['retrieved_at']}: same digest"}
