"""Questions of one's own with the runs of this machine on them, as a set with runs of its own
(`helpers.sets`).

The notebooks that draw other projects' agents then draw these: `daybefore figures --set
my_questions.csv`.
"""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd

from daybefore.agents.registry import SEARCHING
from daybefore.formats.forecastbench_questions import find_chance
from daybefore.questions.open_sets import read_window
from daybefore.scoring.run_scores import Scored, find_run, list_runs, read_rows
from helpers.files import dump_json, parse_json, write_whole
from helpers.folders import ABOUT
from helpers.set_names import QuestionSet, open_folder
from helpers.sets import load_set, write_set

KEY = ["run_id", "event_id", "sample"]


def keep_runs(one: QuestionSet, scored: Scored, folder: Path) -> QuestionSet:
    """Write a set's questions and the `scored` runs on them as a set below a folder; returns that.

    A question of two options counts as one of yes and no: yes is the first. What a run was given is
    read from its parameters; usage is that of its replies.
    """
    events, answers = scored.events, read_window("answers", one.window)
    answers = answers[answers["event_id"].isin(events["event_id"])]
    options = {
        row["event_id"]: list(parse_json(row["options"]) or {}) for row in events.to_dict("records")
    }
    first = {event_id: letters[0] for event_id, letters in options.items() if len(letters) == 2}
    outcome = [
        float(parse_json(row["value"]) == first[row["event_id"]])
        if row["event_id"] in first
        else None
        for row in answers.to_dict("records")
    ]
    chosen = [find_run(list_runs(one.name), run_id)[0] for run_id in scored.runs["run_id"]]
    runs = scored.runs.assign(
        **pd.DataFrame([tell_given(row) for row in scored.runs.to_dict("records")])
    )
    predictions = scored.predictions.copy()
    predictions["p_yes"] = [state_chance(row, first) for row in predictions.to_dict("records")]
    about = [
        (row["event_id"], row["as_of"], parse_json(row["metadata"]) or {})
        for row in events.to_dict("records")
    ]
    prices = [
        (event_id, at, facts["price"], "the file")
        for event_id, at, facts in about
        if "price" in facts
    ]
    tables = {
        "events": events,
        "answers": answers.assign(outcome=pd.Series(outcome, answers.index, dtype=float)),
        "runs": runs.drop(columns=["is_own"]),
        "predictions": predictions,
        "replies": count_usage(chosen, events),
    }
    if prices:
        tables["runs"]["sees_price"] = False
        tables["prices"] = pd.DataFrame(prices, columns=["event_id", "at", "price", "source"])
    place = folder / "set" / one.name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    title = load_set(one.folder).about["title"]
    write_whole(
        place / ABOUT,
        f'title = {dump_json(title)}\nsource = "asked here"\nhas = ["words", "levels"]\n',
    )
    write_set(place, tables)
    return open_folder(place)


def tell_given(run: dict[str, Any]) -> dict[str, str | None]:
    """Return what a run was given: model (without its provider), search and effort; of a baseline
    nothing."""
    if not isinstance(run.get("model"), str):
        return {"model": None, "search": None, "effort": None}
    params = parse_json(run["params"]) or {}
    search = "dated" if params.get("method") in SEARCHING else "none"
    if run.get("sees_today") is True or run.get("sees_today") == 1:
        search = "provider"
    effort = (params.get("options") or {}).get("reasoning_effort")
    return {"model": run["model"].rpartition("/")[2], "search": search, "effort": effort}


def state_chance(row: dict[str, Any], first: dict[str, str]) -> float | None:
    """Return the probability that a prediction states of its question's first option; None where it
    states none."""
    stated, shares = row.get("probability"), parse_json(row.get("distribution"))
    stated = None if pd.isna(stated) else stated
    if row["event_id"] not in first or (stated is None and not shares):
        return None
    return find_chance(first[row["event_id"]], parse_json(row.get("value")), stated, shares)


def count_usage(chosen: list, events: pd.DataFrame) -> pd.DataFrame:
    """Return the replies of some runs with the number of searches of each."""
    replies = pd.concat(
        [read_rows("replies", run, timings=True) for run in chosen], ignore_index=True
    )
    traces = pd.concat([read_rows("traces", run) for run in chosen], ignore_index=True)
    n_searches = traces[traces["tool"] == "search"].groupby(KEY).size().rename("n_searches")
    replies = replies[replies["event_id"].isin(events["event_id"])].join(n_searches, on=KEY)
    is_model = replies["run_id"].map({run.run_id: bool(run.model) for run in chosen})
    replies["n_searches"] = replies["n_searches"].fillna(0).where(is_model)
    return replies.drop(columns=["agent_id", "reply", "reason"], errors="ignore")
