"""One question's whole life, put together from the tables: asked, looked up, replied, read, answered, scored.

The questions are those of the live ledger and of the recorded runs in data/tables. A run that stands in both is one:
its run_id in the ledger is the committed `ledger_run_id`, and the ledger's rows, which know their seconds, come first.
"""

import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.agents.evidence import list_evidence
from helpers.calendar import PUBLIC_WINDOWS, WINDOWS
from helpers.futurex.past import read_window
from helpers.scoring.scores import HEADLINE, score_predictions
from helpers.store import KEPT, ROOT, STORE, locate_input, read_runs, read_table
from helpers.tables import TABLES, list_columns
from helpers.web.pages import GatewayError, read_kept, read_text
from helpers.web.replay import open_world

KEY = ["run_id", "event_id", "sample"]
EVENT_COLUMNS = (
    "event_id window prompt kind options k unit level domain subdomain source_id entity_id opens_at as_of resolves_at "
    "resolution_criteria volatility metadata"
).split()
ANSWER_COLUMNS = "value status acquired_at page_id method spread".split()
PREDICTION_COLUMNS = (
    "as_of status reason value probability distribution interval_low interval_high rationale parser_version"
).split()
REPLY_COLUMNS = (
    "status reason reply finish_reason started_at duration_s n_input_tokens n_output_tokens cost_usd"
).split()
STEP_COLUMNS = (
    "step actor step_type tool arguments content page_ids n_input_tokens n_output_tokens duration_s error"
).split()
PAGE_COLUMNS = ("url", "title", "published_at", "retrieved_at", "content_type")
PARTS = {
    "predictions": PREDICTION_COLUMNS,
    "replies": REPLY_COLUMNS,
    "traces": STEP_COLUMNS,
    "scores": ("metric", "score", "is_scored", "is_missing", "reason"),
    "evidence": ("page_id", "role", "is_accessed", "is_cited"),
}
"""The tables that tell of a question, and what they tell."""
JSON_COLUMNS = ("options", "value", "distribution", "arguments", "page_ids", "metadata")


N_AT_ONCE = 8
"""Pages that are fetched again at once."""

N_END = 120
"""Characters of a reply's end that are told where it holds no prediction."""


class Lives(NamedTuple):
    """All that is known of some runs: the tables runs (with `origin`), events, answers, replies, predictions, traces,
    evidence (with the key of its prediction), scores, and pages where a recorded run names them. `lost` counts by
    window the questions that are left out, as their events are in no table that was read."""

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


def read_recorded(folder, agents=None):
    """Return the tables of a folder's recorded runs (of some agents), under their ids in the ledger; {} without any."""
    runs = read_table("runs", folder)
    if agents is not None and not runs["agent_id"].isin(agents).any():
        return {}
    tables = {name: read_table(name, folder) for name in ("replies", "predictions", "traces", "evidence")}
    if folder in list_folders("pages"):
        tables["pages"] = read_table("pages", folder)
    ids = dict(zip(runs["run_id"], runs["ledger_run_id"], strict=True))
    tables |= {"runs": runs.assign(origin="recorded"), "evidence": split_owners(tables["evidence"])}
    named = {name: rows.assign(run_id=rows["run_id"].map(ids)) for name, rows in tables.items() if name != "pages"}
    return tables | named


def read_live():
    """Return the live ledger's tables, {} where there is no ledger."""
    try:
        path = locate_input(STORE)
    except FileNotFoundError:
        return {}
    tables = {name: read_runs(path, name, timings=True) for name in KEPT}
    evidence = list_evidence(tables["traces"], tables["replies"], tables["predictions"])
    return tables | {"runs": tables["runs"].assign(origin="live"), "evidence": split_owners(evidence)}


def split_owners(evidence):
    """Return an evidence table with the key of its prediction in columns."""
    parts = evidence["owner_id"].str.split("|", expand=True).reindex(columns=range(len(KEY)))
    return evidence.assign(**dict(zip(KEY, [parts[n] for n in parts], strict=True))).astype({"sample": int})


def check_window(window):
    """Raise ValueError for a window that is neither the kit's nor in a table of events."""
    if window not in WINDOWS | PUBLIC_WINDOWS and window not in list_folders("events"):
        raise ValueError(f"there is no window {window!r}; there are {', '.join(WINDOWS | PUBLIC_WINDOWS)}")


def read_lives(windows=None, agents=None):
    """Return the Lives of all runs, or of those on some windows' events and of some agents."""
    events, answers = read_asked("events", windows), read_asked("answers", windows)
    tables = read_runs_tables(windows, agents)
    lost = count_lost(tables["predictions"], events, windows)
    if windows is not None:
        events = events[events["window"].isin(windows)]
    is_wanted = tables["predictions"]["event_id"].isin(events["event_id"])
    run_ids = set(tables["predictions"].loc[is_wanted, "run_id"])
    if agents is not None:
        run_ids &= set(tables["runs"].loc[tables["runs"]["agent_id"].isin(agents), "run_id"])
    tables = {name: rows if name == "pages" else rows[rows["run_id"].isin(run_ids)] for name, rows in tables.items()}
    for name in ("predictions", "replies", "traces", "evidence"):
        tables[name] = tables[name][tables[name]["event_id"].isin(events["event_id"])]
    scores = score_predictions(tables["predictions"][list_columns("predictions")], answers, events)
    return Lives(events=events, answers=answers, scores=scores, lost=lost, **tables)


def count_lost(predictions, events, windows=None):
    """Return {window: predictions whose event is not among some}, of some windows where they are named.

    The window of a run is told by its run_id.

    >>> table = pd.DataFrame({"run_id": ["x-A-01", "x-P-01", "x-P-01"], "event_id": ["e1", "e2", "e3"]})
    >>> count_lost(table, pd.DataFrame({"event_id": ["e1"]})), count_lost(table, table[:0], ["A"])
    ({'P': 2}, {'A': 1})
    """
    left = predictions[~predictions["event_id"].isin(events["event_id"])]
    counts = left["run_id"].str.rsplit("-", n=2).str[-2].value_counts()
    return {str(name): int(counts[name]) for name in sorted(counts.index) if windows is None or name in windows}


def read_asked(name, windows=None):
    """Return the events or answers of all windows that data/tables holds, and of public ones that are asked for."""
    public = [read_window(name, window) for window in windows or () if window in PUBLIC_WINDOWS]
    held = [read_table(name, folder) for folder in list_folders(name) if "/" not in folder]
    return join_tables([*held, *public], name)


def read_runs_tables(windows=None, agents=None):
    """Return the tables of the ledger's runs and of the recorded ones, the ledger's rows first: {name: rows}."""
    folders = [name for name in list_folders("runs") if windows is None or name.split("/")[0] in windows]
    recorded = [tables for tables in (read_recorded(folder, agents) for folder in folders) if tables]
    sources = [read_live(), *recorded]
    keys = {name: TABLES[name][0] for name in (*KEPT, "pages")} | {"evidence": [*KEY, "page_id"]}
    tables = {name: join_tables([s[name] for s in sources if name in s], name, key) for name, key in keys.items()}
    is_both = tables["runs"]["run_id"].isin([run_id for s in recorded for run_id in s["runs"]["run_id"]])
    tables["runs"].loc[is_both & tables["runs"]["origin"].eq("live"), "origin"] = "live and recorded"
    return tables


def join_tables(parts, name, key=None):
    """Return tables of one name below each other, of equal keys the first; without any the empty table."""
    parts = [part for part in parts if len(part)]
    if not parts:
        own = {"evidence": KEY, "runs": ["origin"]}
        return pd.DataFrame(columns=list_columns(name) + own.get(name, []))
    return pd.concat(parts).drop_duplicates(key or TABLES[name][0], ignore_index=True)


def list_questions(lives):
    """Return a row a question: key, agent, condition, outcome, headline score, value, reason, seconds, costs, tokens.

    outcome: "right", "partly right", "wrong" by the score, "not scored", or the status of a missing prediction.
    """
    kinds = lives.events.set_index("event_id")["kind"]
    scores = lives.scores[lives.scores["metric"] == lives.scores["event_id"].map(kinds).map(HEADLINE)]
    rows = lives.predictions[[*KEY, "agent_id", "status", "reason", "value"]]
    rows = rows.merge(lives.runs[["run_id", "condition"]], "left", "run_id")
    rows = rows.merge(scores[[*KEY, "metric", "score", "is_scored", "reason"]], "left", KEY, suffixes=("", "_score"))
    rows = rows.merge(lives.replies[[*KEY, "duration_s", "cost_usd", "n_input_tokens", "n_output_tokens"]], "left", KEY)
    steps = pd.to_numeric(lives.traces["duration_s"]).groupby([lives.traces[name] for name in KEY]).sum(min_count=1)
    rows = rows.join(steps.rename("steps_s"), on=KEY)
    rows["duration_s"] = pd.to_numeric(rows["duration_s"]).fillna(rows["steps_s"])
    rows["outcome"] = [name_outcome(*row) for row in zip(rows["status"], rows["score"], rows["is_scored"], strict=True)]
    return rows.drop(columns=["steps_s", "is_scored"])


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
    truth, reason = write_value(answer.get("value"), options), question.get("reason")
    if question["status"] != "ok":
        why = f": {reason}" if reason not in (None, question["status"]) else ""
        end = " ".join(question["reply"].get("reply", "").split())[-N_END:]
        return f"No prediction, {question['status']}{why}." + (
            f" The reply ends: {end}" if end else " There is no reply."
        )
    said = f"It said {write_value(question['value'], options)}"
    if question["outcome"] == "not scored":
        return f"{said}; not scored: {question.get('reason_score') or 'there is no answer'}."
    spread = f", one spread is {answer['spread']:.4g}" if question["metric"] == "number" and "spread" in answer else ""
    return f"{said}, the answer is {truth}: {question['metric']} {question['score']:.2f}{spread}."


def open_row(row, columns):
    """Return a row's given cells as a dict: blanks left out, JSON opened, every number finite.

    >>> row = {"value": '["A", 1e999]', "score": float("inf"), "level": 2.0, "k": None}
    >>> open_row(row, row)
    {'value': ['A', '1e999'], 'score': 'inf', 'level': 2}
    """
    cells = {name: row[name] for name in columns if row.get(name) is not None and row[name] == row[name]}
    return {name: open_cell(cell, name in JSON_COLUMNS) for name, cell in cells.items()}


def open_cell(cell, is_json):
    """Return one cell as JSON can hold it; a whole number that a column of floats holds is an integer again."""
    cell = cell.item() if hasattr(cell, "item") else cell
    if is_json and isinstance(cell, str):
        return json.loads(cell, parse_float=read_finite, parse_constant=str)
    if isinstance(cell, float):
        return str(cell) if not math.isfinite(cell) else int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell
    return cell


def read_finite(text):
    """Return a JSON number, as text where it is too large to be one."""
    return float(text) if math.isfinite(float(text)) else text


def open_rows(table, columns=None):
    """Return a table's rows, each as `open_row` opens it; by columns, each text of JSON once: 15,000 rows in 0.1 s.

    >>> open_rows(pd.DataFrame({"value": ['["A"]', None], "k": [2.0, float("nan")]}))
    [{'value': ['A'], 'k': 2}, {}]
    """
    names = [name for name in columns or table.columns if name in table]
    cells = [open_column(table[name], name in JSON_COLUMNS) for name in names]
    rows = zip(*cells, strict=True) if names else ([] for _ in range(len(table)))
    return [{name: cell for name, cell in zip(names, row, strict=True) if cell is not BLANK} for row in rows]


BLANK = object()
"""What stands for a cell that is not given, while rows are opened."""


def open_column(cells, is_json):
    """Return a column's cells opened by `open_cell`, BLANK where nothing is given."""
    opened = {}
    for cell in (given := cells.tolist()):
        if is_json and isinstance(cell, str) and cell not in opened:
            opened[cell] = open_cell(cell, is_json)
    return [
        BLANK if cell is None or cell != cell
        else opened[cell] if is_json and isinstance(cell, str)
        else cell if isinstance(cell, str) else open_cell(cell, is_json)
        for cell in given
    ]  # fmt: skip


def group_rows(table, key, columns=None):
    """Return {key's values as a tuple: its rows opened, by `open_rows`}."""
    groups = {}
    for values, row in zip(
        zip(*(table[name].tolist() for name in key), strict=True), open_rows(table, columns), strict=True
    ):
        groups.setdefault(values, []).append(row)
    return groups


def spread_lives(lives, questions):
    """Yield an event's life at a time: {"event", "answer", "questions"}, each question with its steps, scores, pages.

    `questions` are the rows of `list_questions` to tell of.
    """
    answers = group_rows(lives.answers, ["event_id"], ANSWER_COLUMNS)
    events = group_rows(lives.events, ["event_id"], EVENT_COLUMNS)
    parts = {name: group_rows(getattr(lives, name), KEY, columns) for name, columns in PARTS.items()}
    for event_id, rows in group_rows(questions, ["event_id"]).items():
        event, answer = events[event_id][0], answers.get(event_id, [{}])[0]
        told = []
        for row in rows:
            key = tuple(row[name] for name in KEY)
            question = tell_question(row, {name: parts[name].get(key, []) for name in PARTS})
            told.append(question | {"why": explain(question, answer, event.get("options"))})
        yield {"event": event, "answer": answer, "questions": told}


def tell_question(row, parts):
    """Return one question of one run as a dict: its row, prediction, reply, steps, scores and pages, all opened."""
    return row | {
        "prediction": parts["predictions"][0],
        "reply": parts["replies"][0] if parts["replies"] else {},
        "steps": parts["traces"],
        "scores": parts["scores"],
        "pages": parts["evidence"],
    }


def list_pages(life):
    """Return the ids of the pages that a life tells of: seen or named by an agent, or the answer's; sorted."""
    shown = {page["page_id"] for question in life["questions"] for page in question["pages"]}
    return sorted(shown | {life["answer"].get("page_id")} - {None})


def read_pages(page_ids, known):
    """Return what is known of some pages as {page_id: dict}: their facts, their text where it can be had, and `how`.

    A page that `make run` kept is read from .cache/pages. One that a recorded run names (`known`, the pages table) is
    fetched from the replay once more, as of the moment at which it was read: the replay shows the same text, or the
    page's id tells that it does not, and there is no text.
    """
    kept = read_kept(page_ids).set_index("page_id")
    pages = {
        page_id: open_row(row, PAGE_COLUMNS) | {"text": read_text(row["text_path"]), "how": "as it was kept by the run"}
        for page_id, row in zip(kept.index, kept.to_dict("records"), strict=True)
    }
    rows = known.set_index("page_id")
    again = [page_id for page_id in page_ids if page_id in rows.index and page_id not in pages]
    if again:
        with open_world() as opener, ThreadPoolExecutor(N_AT_ONCE) as pool:
            found = dict(zip(rows.index, rows.to_dict("records"), strict=True))
            fetch = partial(fetch_again, opener())
            pages |= zip(again, pool.map(fetch, again, [found[page_id] for page_id in again]), strict=True)
    return pages | {page_id: {"how": "not kept"} for page_id in page_ids if page_id not in pages}


def fetch_again(web, page_id, row):
    """Return a page's facts and, where the replay still shows the very same page, its text."""
    facts = open_row(row, PAGE_COLUMNS)
    try:
        page = web.fetch(row["url"], row["retrieved_at"])
    except GatewayError as error:
        return facts | {"how": f"not kept, and the replay does not show it: {error}"}
    if page.page_id != page_id:
        return facts | {"how": "not kept, and the replay now shows another page at this address and moment"}
    return facts | {"text": page.text, "how": f"shown once more by the replay as of {row['retrieved_at']}: same digest"}
