"""Runs by name, and what they scored: the recorded ones of a question set beside the reader's own (`load_scores`).

A run is named by its run_id, or by its agent's name: of a local run (the store of this machine), else of a recorded one
(data/tables).
"""

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.faults import list_nearest
from helpers.question_sets import SETS, find_set
from helpers.scoring.scores import HEADLINE, score_predictions
from helpers.sets import ABOUT, QuestionTables, list_folders, load_set
from helpers.store import ROOT, STORE, locate_output, open_store, read_runs, read_table

AFTER = "after the resolution"
"""Stands in the condition of a run whose questions were asked when they had ended."""


class Run(NamedTuple):
    """A run: how it is shown, and where it is kept (a store's path, or a folder of data/tables)."""

    label: str
    run_id: str
    agent_id: str
    category: str
    model: str
    condition: str
    window: str
    place: Path | str


class Scored(NamedTuple):
    """The tables of a question set: its events, and of each run its row, its predictions and their scores.

    `agent_id` is one run's in all of them; `runs` has `is_own` too, True where the run is of the local store.
    """

    events: pd.DataFrame
    runs: pd.DataFrame
    predictions: pd.DataFrame
    scores: pd.DataFrame


def load_scores(question_set="october-2016", agents=""):
    """Return the `Scored` of a set's baselines, its recorded models and the agents named (a list, or words).

    Of each recorded agent its run under the usual condition is taken. A named agent's newest local run stands for it,
    else its recorded one. Raises ValueError for a name that is none, with the nearest, and for a set of which no table
    is kept.

    >>> events, runs, predictions, scores = load_scores("october-2016")
    >>> sorted(set(runs["category"])), "last_value" in set(scores["agent_id"]), bool(runs["is_own"].any())
    (['base_model', 'baseline', 'open_deep_research', 'think_search'], True, False)
    """
    if str(question_set) in list_folders() or Path(question_set, ABOUT).exists():
        return score_set(load_set(question_set), list_names(agents))
    one = find_set(question_set)
    if one.is_public:
        raise ValueError(f"{one.name} is built from public files and has no recorded tables; `make compare` reads runs")
    names = list_names(agents)
    recorded = sorted(list_recorded(one.window), key=lambda run: run.category != "baseline")
    always = {run.agent_id for run in recorded if run.category == "baseline"}
    every = (list_local() if names else []) + recorded
    own = [find_run(every, name, one.window)[0] for name in dict.fromkeys(names) if name not in always]
    taken = {run.agent_id for run in own}
    chosen = [run for run in recorded if not run.condition and run.agent_id not in taken] + own
    events, answers = read_table("events", one.window), read_table("answers", one.window)
    predictions = read_predictions(chosen).query("event_id in @events.event_id")
    runs = pd.concat([read_rows("runs", run).assign(is_own=isinstance(run.place, Path)) for run in chosen])
    return Scored(events, runs.reset_index(drop=True), predictions, score_predictions(predictions, answers, events))


def score_set(loaded: QuestionTables, names: list[str]) -> Scored:
    """Return the `Scored` of a set of `helpers.sets`: all its runs, or those of some agents, runs or models.

    Raises ValueError for a name that is none of these. Where an answer is not known and the source
    marked a prediction itself (`score_source`), that mark is its score, and `reason` says so.
    """
    runs, predictions = loaded.runs.assign(is_own=False), loaded.predictions
    if names:
        keys = [name for name in ("run_id", "agent_id", "model") if name in runs]
        for name in names:
            if not (runs[keys] == name).any(axis=None):
                known = list_nearest(name, sorted(set(runs["model"]) | set(runs["agent_id"])), "its runs")
                raise ValueError(f"no run, agent or model of {loaded.name} is called {name!r}{known}")
        runs = runs[runs[keys].isin(names).any(axis=1)].reset_index(drop=True)
        predictions = predictions[predictions["run_id"].isin(runs["run_id"])]
    scores = score_predictions(predictions, loaded.answers, loaded.events)
    if "score_source" in predictions:
        scores = fill_marks(scores, predictions, loaded.events)
    return Scored(loaded.events, runs, predictions, scores)


def fill_marks(scores: pd.DataFrame, predictions: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Return scores whose headline is the source's own mark where no answer is known."""
    key = ["run_id", "event_id", "sample"]
    made = scores.merge(predictions[[*key, "score_source"]], on=key, how="left")
    headline = made["event_id"].map(events.set_index("event_id")["kind"].map(HEADLINE))
    is_marked = ~made["is_scored"].astype(bool) & made["metric"].eq(headline) & made["score_source"].notna()
    marks = made["score_source"].where(is_marked)
    made = made.assign(score=made["score"].fillna(marks), score_imputed=made["score_imputed"].fillna(marks))
    made["is_scored"] = made["is_scored"].astype(bool) | is_marked
    made["reason"] = made["reason"].mask(is_marked, "scored by the source's own rule")
    return made.drop(columns=["score_source"])


def list_runs(question_set=None):
    """Return all runs, or those of a set: of the local store, the newest first, then the recorded ones."""
    window = question_set and find_set(question_set).window
    return [run for run in list_local() if window in (None, run.window)] + list_recorded(window)


def list_names(agents):
    """Return agents' names, given as a list or as words: "mine other"."""
    return agents.replace(",", " ").split() if isinstance(agents, str) else list(agents)


def list_local(path=None):
    """Return the runs of a store (None: the local one, or DAYBEFORE_STORE), the newest first; none without a store."""
    path = Path(path or os.environ.get("DAYBEFORE_STORE") or locate_output(STORE))
    if not path.exists():
        return []
    with closing(open_store(path)) as store:
        newest = dict(store.execute("SELECT run_id, max(started_at) FROM replies GROUP BY run_id"))
    rows = [row for row in read_runs(path, "runs").to_dict("records") if row["run_id"] in newest]
    rows.sort(key=lambda row: newest[row["run_id"]] or "", reverse=True)
    return [make_run(row, row["run_id"].rsplit("-", 2)[-2], path) for row in rows]


def list_recorded(window=None):
    """Return the recorded runs of data/tables, or a set's: its baselines, and its models under the usual condition."""
    every = ROOT / "data/tables"
    folders = [every / window, every / window / "models"] if window else [every, *sorted(every.rglob("*/"))]
    places = [folder.relative_to(every).as_posix() for folder in folders if (folder / "runs.csv.gz").exists()]
    found = [(place, row) for place in places for row in read_table("runs", place).to_dict("records")]
    return [make_run(row, place.split("/")[0], place) for place, row in found]


def make_run(row, window, place):
    """Return a Run from a row of the table runs."""
    told = [row[name] if isinstance(row.get(name), str) else "" for name in Run._fields[2:6]]
    label = row["agent_id"]
    if "no forecast" in told[-1] or AFTER in told[-1]:
        label += ", no forecast"
    return Run(label, row["run_id"], *told, window, place)


def find_run(every, name, window=None):
    """Return the run of a run_id, or all of an agent's in a window (None: that of the first of some runs).

    Those that were asked after the resolution come last, so that they stand for no forecast. Raises ValueError where
    there is none.
    """
    window = window or next((run.window for run in every if name in (run.run_id, run.agent_id)), SETS[0].window)
    ours = [run for run in every if run.window == window]
    found = [run for run in every if run.run_id == name][:1] or [run for run in ours if run.agent_id == name]
    if not found:
        agents = {run.agent_id for run in ours}
        known = sorted(agents) + sorted({run.run_id for run in every} - agents)
        listed = list_nearest(name, known, "make view, or another SET")
        raise ValueError(f"no run or agent on {find_set(window).name} is called {name!r}{listed}")
    return sorted(found, key=lambda run: AFTER in run.condition)


def load_twice(agents, window, days_after):
    """Return (first, second): predictions of agents on a window's questions, as asked and so many days after the end.

    Of each agent its newest run of either kind. Raises ValueError, with the command, for one that was not asked twice.
    """
    every = [run for run in list_local() if run.window == window]
    told = f"asked {days_after} day"
    first, second = [], []
    for name in agents:
        own = [run for run in every if run.agent_id == name]
        later = [run for run in own if run.condition.startswith(told) and AFTER in run.condition]
        usual = [run for run in own if not run.condition.startswith("asked ")]
        command = f"make run AGENT={name} SET={find_set(window).name}"
        if not usual:
            raise ValueError(f"{name} was not asked on {find_set(window).name} yet: {command}")
        if not later:
            raise ValueError(f'{name} was not asked a second time: {command} ARGS="--days-after {days_after}"')
        first.append(read_rows("predictions", usual[0]).assign(agent_id=name))
        second.append(read_rows("predictions", later[0]).assign(agent_id=name))
    return pd.concat(first, ignore_index=True), pd.concat(second, ignore_index=True)


def read_predictions(runs):
    """Return some runs' predictions, each under its label as agent_id."""
    return pd.concat([read_rows("predictions", run) for run in runs], ignore_index=True)


def read_rows(table, run, timings=False):
    """Return a run's rows of a table, under its label as agent_id; `timings` as `store.read_runs`."""
    if isinstance(run.place, Path):
        rows = read_runs(run.place, table, [run.run_id], timings)
    else:
        rows = read_table(table, run.place).query("run_id == @run.run_id")
    return rows.assign(agent_id=run.label)
