"""All that is known of the questions that runs were asked, from the store and the recorded runs of data/tables.

A run that stands in both is one: the store's rows, which know their seconds, come first.
"""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from helpers.agents.exports import list_evidence
from helpers.futurex.past import read_window
from helpers.question_sets import WINDOWS
from helpers.scoring.runs import list_recorded
from helpers.scoring.scores import HEADLINE, score_predictions
from helpers.store import KEPT, STORE, locate_input, read_runs, read_table
from helpers.tables import TABLES, list_columns
from helpers.web.pages import GatewayError, read_kept
from helpers.web.replay import open_world

KEY = ["run_id", "event_id", "sample"]
JSON_COLUMNS = {"options", "value", "distribution", "arguments", "page_ids", "metadata"}
N_END = 120
"""Characters of a reply's end that are shown where it holds no prediction."""


class Known(NamedTuple):
    """The tables of some runs (`runs` with origin: own or recorded), their events, and `evidence` by prediction.

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


def read_asked(windows=None):
    """Return (events, answers) of some question sets, by default of all whose tables are kept."""
    parts = []
    for window in windows or WINDOWS:
        try:
            parts.append([read_window(name, window) for name in ("events", "answers")])
        except FileNotFoundError:
            if windows:
                raise
    return [pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True)]


def read_parts(windows=None):
    """Yield the tables of the store's runs, then those of each folder of recorded runs: {name: rows}.

    A recorded run has the id that it had in its store.
    """
    with suppress(FileNotFoundError):
        path = locate_input(STORE)
        tables = {name: read_runs(path, name, timings=True) for name in KEPT}
        yield tables | {"runs": tables["runs"].assign(origin="own")}
    for folder in sorted({run.place for run in list_recorded()}):
        if windows is None or folder.split("/")[0] in windows:
            tables = {name: read_table(name, folder) for name in KEPT}
            ids = tables["runs"].set_index("run_id")["ledger_run_id"]
            tables = {name: rows.assign(run_id=rows["run_id"].map(ids)) for name, rows in tables.items()}
            with suppress(FileNotFoundError):
                tables["pages"] = read_table("pages", folder)
            yield tables | {"runs": tables["runs"].assign(origin="recorded")}


def join(parts, name):
    """Return the tables of one name below each other, of equal keys the first (of runs the last: the recorded)."""
    found = [part[name] for part in parts if len(part.get(name, ()))]
    table = pd.concat(found) if found else pd.DataFrame(columns=[*list_columns(name), "origin", "started_at"])
    return table.drop_duplicates(TABLES[name][0], keep="last" if name == "runs" else "first", ignore_index=True)


def read_known(windows=None, agents=None):
    """Return what is `Known` of all runs, or of those on some windows' events and of some agents.

    Without either, events that recorded baselines alone were asked are left out. Public windows are read when named.
    """
    (events, answers), parts = read_asked(windows), list(read_parts(windows))
    tables = {name: join(parts, name) for name in (*KEPT, "pages")}
    runs, predictions = tables["runs"], tables["predictions"]
    left = predictions[~predictions["event_id"].isin(events["event_id"])]
    lost = left["run_id"].str.rsplit("-", n=2).str[-2].value_counts().sort_index()
    lost = {name: int(n) for name, n in lost.items() if windows is None or name in windows}
    if agents is not None:
        predictions = predictions[predictions["agent_id"].isin(agents)]
    elif windows is None:
        shown = runs.loc[runs["origin"].ne("recorded") | runs["category"].ne("baseline"), "run_id"]
        events = events[events["event_id"].isin(predictions.loc[predictions["run_id"].isin(shown), "event_id"])]
    run_ids = predictions.loc[predictions["event_id"].isin(events["event_id"]), "run_id"]
    tables |= {name: tables[name][tables[name]["run_id"].isin(run_ids)] for name in KEPT}
    tables |= {name: tables[name][tables[name]["event_id"].isin(events["event_id"])] for name in KEPT[1:]}
    evidence = list_evidence(*(tables[name] for name in ("traces", "replies", "predictions", "pages")))
    owners = evidence["owner_id"].str.split("|", expand=True).reindex(columns=range(3)).set_axis(KEY, axis=1)
    evidence = evidence.join(owners).astype({"sample": int})
    scores = score_predictions(tables["predictions"][list_columns("predictions")], answers, events)
    return Known(events=events, answers=answers, scores=scores, evidence=evidence, lost=lost, **tables)


def list_questions(known):
    """Return a row a question: key, agent, condition, outcome, headline score, value, reason, seconds, costs, tokens.

    outcome: "right", "partly right", "wrong" by the score, "not scored", or the status of a missing prediction.
    """
    kinds = known.events.set_index("event_id")["kind"]
    scores = known.scores[known.scores["metric"] == known.scores["event_id"].map(kinds).map(HEADLINE)]
    rows = known.predictions[[*KEY, "agent_id", "status", "reason", "value"]]
    rows = rows.merge(known.runs[["run_id", "condition"]], "left", "run_id")
    rows = rows.merge(scores[[*KEY, "metric", "score", "is_scored", "reason"]], "left", KEY, suffixes=("", "_score"))
    told = known.replies.reindex(columns=[*KEY, "duration_s", "cost_usd", "n_input_tokens", "n_output_tokens"])
    rows = rows.merge(told, "left", KEY)
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
    """Return a row as a dict of plain values: blanks left out, JSON opened, what is not finite as text.

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
    names = {
        "replies": "reply",
        "predictions": "prediction",
        "traces": "steps",
        "scores": "scores",
        "evidence": "pages",
    }
    parts = {told: group_rows(getattr(known, name), KEY) for name, told in names.items()}
    for (event_id,), rows in group_rows(questions, ["event_id"]).items():
        event, answer = events[event_id,][0], answers.get((event_id,), [{}])[0]
        for row in rows:
            row |= {told: groups.get(tuple(row[column] for column in KEY), []) for told, groups in parts.items()}
            row |= {told: next(iter(row[told]), {}) for told in ("reply", "prediction")}
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
    if again := [page_id for page_id in page_ids if page_id in rows.index and page_id not in pages]:
        with open_world() as opener, ThreadPoolExecutor(8) as pool:
            web = opener()
            found = pool.map(lambda page_id: fetch_again(web, rows.loc[page_id].to_dict()), again)
            pages |= zip(again, found, strict=True)
    return {page_id: pages.get(page_id, {"how": "not kept"}) for page_id in page_ids}


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
