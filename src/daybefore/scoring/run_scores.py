"""Runs by name, and what they scored: the recorded ones of a question set beside the reader's own
(`load_scores`).

A run is named by its run_id, or by its agent's name: of a local run (the store of this machine),
else of a recorded one (data/tables).
"""

import os
import shlex
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from daybefore.agents.when_asked import Asked, fill_asked
from daybefore.questions.open_sets import has_builder, has_runs, read_window
from daybefore.store import open_store, read_runs
from helpers.files import ROOT, STORE, locate_output, read_table
from helpers.folders import EVENTS
from helpers.input_faults import list_nearest
from helpers.scores import HEADLINE, score_predictions
from helpers.set_names import DEFAULT, QuestionSet, find_set, list_sets
from helpers.sets import QuestionTables, load_set
from helpers.tables import OPTIONAL, list_columns


class Run(NamedTuple):
    """A run: how it is shown, and where it is kept (a store's path, a folder of data/tables, or a
    set)."""

    label: str
    run_id: str
    agent_id: str
    category: str
    model: str
    condition: str
    window: str
    place: Path | str | QuestionTables
    asked: Asked


class Scored(NamedTuple):
    """The tables of a question set: its events, and of each run its row, its predictions and their
    scores.

    `agent_id` is one run's in all of them; `runs` has `is_own` too, True where the run is of the
    local store.
    """

    events: pd.DataFrame
    runs: pd.DataFrame
    predictions: pd.DataFrame
    scores: pd.DataFrame


def load_scores(question_set: str | Path = DEFAULT, agents: str | list[str] = "") -> Scored:
    """Return the `Scored` of a set (its name, or its folder's path) with agents beside what is
    recorded on it.

    Of a set with recorded tables its baselines, each recorded agent's run under the usual
    condition, and the agents named (a list, or words): a named agent's newest local run stands for
    it, else its recorded one. Of a set with runs of its own (`helpers.sets`) all of them, or those
    whose run_id, agent_id or model is named, and local runs that are named. Of one built from
    public files the local runs named with the baselines of their moment, else all. `is_scored` by
    the source's own mark where no answer is known (`fill_marks`). With agents named all is over the
    events that all of them were asked, and who was not asked these is left out (`keep_shared`).
    Raises ValueError for a name that is none, with the nearest, and for a set on which nothing was
    run.

    >>> events, runs, predictions, scores = load_scores("october-2016")
    >>> sorted(set(runs["category"])), "last_value" in set(scores["agent_id"]), bool(runs["is_own"].any())
    (['base_model', 'baseline', 'open_deep_research', 'think_search'], True, False)
    """
    one = find_set(question_set)
    names = list_names(agents)
    chosen = choose_runs(one, names)
    if not chosen:
        raise ValueError(
            f"no run on {one.name} is here; `make run SET={one.name} AGENT=name` makes one"
        )
    events, answers = (read_window(name, one.window) for name in ("events", "answers"))
    predictions = read_predictions(chosen).query("event_id in @events.event_id")
    if names:
        predictions = keep_shared(
            predictions, [run for run in chosen if {run.run_id, run.agent_id} & set(names)]
        )
        chosen = [run for run in chosen if run.label in set(predictions["agent_id"])]
    if names or has_builder(one):
        events = events[events["event_id"].isin(predictions["event_id"])].reset_index(drop=True)
    runs = pd.concat(
        [read_rows("runs", run).assign(is_own=isinstance(run.place, Path)) for run in chosen]
    )
    scores = score_predictions(predictions, answers, events)
    if "score_source" in predictions:
        scores = fill_marks(scores, predictions, events)
    return Scored(events, runs.reset_index(drop=True), predictions, scores)


def keep_shared(predictions: pd.DataFrame, runs: list[Run]) -> pd.DataFrame:
    """Return the predictions on the events that all of some runs were asked, of the agents that
    were asked all these.

    Agents that are ranked together are ranked on the same questions. Raises ValueError where the
    runs share no event.
    """
    asked = predictions.groupby("agent_id")["event_id"].agg(set)
    own = [asked.get(run.label, set()) for run in runs]
    if not own:
        return predictions
    shared = set.intersection(*own)
    if not shared:
        told = ", ".join(f"{run.label} ({len(asked.get(run.label, set()))})" for run in runs)
        raise ValueError(
            f"no event was asked of all of {told}; draw them one by one, or run them on the same LIMIT"
        )
    beside = [name for name, events in asked.items() if shared <= events]
    return predictions[predictions["event_id"].isin(shared) & predictions["agent_id"].isin(beside)]


def choose_runs(one: QuestionSet, names: list[str]) -> list[Run]:
    """Return the runs that stand in a set's figures when some agents are named (`load_scores`).

    Beside agents of one's own stand the recorded runs, and local baselines that are not recorded,
    of the moment at which the first of them was asked.
    """
    recorded = sorted(list_recorded(one.window), key=lambda run: run.category != "baseline")
    local = [run for run in list_local() if run.window == one.window]
    if not names and not recorded:
        return local
    if has_runs(one):
        beside = [
            run for run in recorded if {run.run_id, run.agent_id, run.model} & set(names)
        ] or recorded
        known = {name for run in beside for name in (run.run_id, run.agent_id, run.model)}
    else:
        beside = [run for run in recorded if not run.condition]
        known = {run.agent_id for run in beside if run.category == "baseline"}
    others = [name for name in dict.fromkeys(names) if name not in known]
    own = [find_run(list_local() + recorded, name, one.window)[0] for name in others]
    if own and not has_runs(one):
        baselines = [run for run in local if run.category == "baseline"]
        moment = own[0].asked.moment
        found = [run for run in recorded + baselines if run.asked.moment == moment]
        beside = list({run.agent_id: run for run in reversed(found)}.values())[::-1]
    taken = {run.agent_id for run in own}
    return [run for run in beside if run.agent_id not in taken] + own


def fill_marks(
    scores: pd.DataFrame, predictions: pd.DataFrame, events: pd.DataFrame
) -> pd.DataFrame:
    """Return scores whose headline is the source's own mark where no answer is known."""
    key = ["run_id", "event_id", "sample"]
    made = scores.merge(predictions[[*key, "score_source"]], on=key, how="left")
    headline = made["event_id"].map(events.set_index("event_id")["kind"].map(HEADLINE))
    is_marked = (
        ~made["is_scored"].astype(bool) & made["metric"].eq(headline) & made["score_source"].notna()
    )
    marks = made["score_source"].where(is_marked)
    made = made.assign(
        score=made["score"].fillna(marks), score_imputed=made["score_imputed"].fillna(marks)
    )
    made["is_scored"] = made["is_scored"].astype(bool) | is_marked
    made["reason"] = made["reason"].mask(is_marked, "scored by the source's own rule")
    return made.drop(columns=["score_source"])


def list_runs(question_set=None):
    """Return all runs, or those of a set: of the local store, the newest first, then the recorded
    ones."""
    window = question_set and find_set(question_set).window
    return [run for run in list_local() if window in (None, run.window)] + list_recorded(window)


def list_names(agents):
    """Return agents' names, given as a list or as words; one with spaces stands in quotes.

    >>> list_names("mine, other 'Claude Sonnet 4.6'")
    ['mine', 'other', 'Claude Sonnet 4.6']
    """
    if not isinstance(agents, str):
        return list(agents)
    words = shlex.shlex(agents, posix=True)
    words.whitespace += ","
    words.whitespace_split = True
    words.commenters = ""
    return list(words)


def list_local(path=None):
    """Return the runs of a store (None: the local one, or DAYBEFORE_STORE), the newest first; none
    without a store."""
    path = Path(path or os.environ.get("DAYBEFORE_STORE") or locate_output(STORE))
    if not path.exists():
        return []
    with closing(open_store(path)) as store:
        newest = dict(store.execute("SELECT run_id, max(started_at) FROM replies GROUP BY run_id"))
        more = store.execute(f"SELECT run_id, {', '.join(OPTIONAL['runs'])} FROM runs").fetchall()
    given = {run_id: dict(zip(OPTIONAL["runs"], cells, strict=True)) for run_id, *cells in more}
    rows = [
        row | given[row["run_id"]]
        for row in read_runs(path, "runs").to_dict("records")
        if row["run_id"] in newest
    ]
    rows.sort(key=lambda row: newest[row["run_id"]] or "", reverse=True)
    return [make_run(row, row["question_set"] or find_window(row), path) for row in rows]


def find_window(row):
    """Return the window of a run that was stored before the table runs had one: between its agent
    and its digest."""
    return row["run_id"].removeprefix(f"{row['agent_id']}-").rpartition("-")[0]


def list_recorded(window=None):
    """Return the recorded runs of data/tables and of the sets with runs of their own, or those of
    one set.

    Of data/tables: its baselines, and its models under the usual condition.
    """
    every = ROOT / "data/tables"
    folders = (
        [every / window, every / window / "models"]
        if window
        else [every, *sorted(every.rglob("*/"))]
    )
    places = [
        folder.relative_to(every).as_posix()
        for folder in folders
        if (folder / "runs.csv.gz").exists()
    ]
    found = [
        (place, row) for place in places for row in read_table("runs", place).to_dict("records")
    ]
    runs = [make_run(row, place.split("/")[0], place) for place, row in found]
    for one in [find_set(window)] if window else list_sets():
        if has_runs(one) and (one.folder / EVENTS).exists():
            loaded = load_set(one.folder)
            runs += [make_run(row, one.window, loaded) for row in loaded.runs.to_dict("records")]
    return runs


def make_run(row, window, place):
    """Return a Run from a row of the table runs."""
    told = [row[name] if isinstance(row.get(name), str) else "" for name in Run._fields[2:6]]
    asked = fill_asked(row)
    label = row["agent_id"] if asked.days_after is None else f"{row['agent_id']}, no forecast"
    return Run(label, row["run_id"], *told, window, place, asked)


def find_run(every, name, window=None):
    """Return the run of a run_id, or all of an agent's in a window.

    Without a window it is the default set's, where the agent was asked that, else that of its
    newest run. Those that were asked after the resolution come last, so that they stand for no
    forecast. Raises ValueError where there is none, with the sets on which there is one.
    """
    own = list_windows(every, name)
    default = find_set(DEFAULT).window
    if window is None:
        window = default if default in own or not own else own[0]
    ours = [run for run in every if run.window == window]
    found = [run for run in every if run.run_id == name][:1] or [
        run for run in ours if run.agent_id == name
    ]
    if not found:
        agents = {run.agent_id for run in ours}
        known = sorted(agents) + sorted({run.run_id for run in every} - agents)
        listed = list_nearest(name, known, "make view, or another SET")
        if own:
            listed = f"; its runs are on {', '.join(map(name_window, own))}: name one by SET="
        raise ValueError(f"no run or agent on {find_set(window).name} is called {name!r}{listed}")
    return sorted(found, key=lambda run: run.asked.days_after is not None)


def list_windows(every: list[Run], name: str) -> list[str]:
    """Return the windows on which a run_id or an agent has runs, that of the newest first."""
    return list(dict.fromkeys(run.window for run in every if name in (run.run_id, run.agent_id)))


def name_window(window: str) -> str:
    """Return the name of a window's question set, the window itself where that set is gone."""
    try:
        return find_set(window).name
    except ValueError:
        return window


def load_twice(agents, window, days_after):
    """Return ((first, second), lacking): predictions of agents as asked, and so many days after the
    end.

    Of each agent its newest run of either kind. `lacking` says by name why an agent has none: a
    sentence with the command. Raises ValueError with the first of these where no agent was asked
    twice.
    """
    every = [run for run in list_local() if run.window == window]
    first = []
    second = []
    lacking = {}
    for name in agents:
        own = [run for run in every if run.agent_id == name]
        later = [run for run in own if run.asked.days_after == days_after]
        usual = [run for run in own if run.asked.moment == Asked().moment]
        command = f"make run AGENT={name} SET={find_set(window).name}"
        if not usual:
            lacking[name] = f"{name} was not asked on {find_set(window).name} yet: {command}"
        elif not later:
            lacking[name] = (
                f'{name} was not asked a second time: {command} ARGS="--days-after {days_after}"'
            )
        else:
            first.append(read_rows("predictions", usual[0]).assign(agent_id=name))
            second.append(read_rows("predictions", later[0]).assign(agent_id=name))
    if not first:
        raise ValueError(next(iter(lacking.values())))
    return (pd.concat(first, ignore_index=True), pd.concat(second, ignore_index=True)), lacking


def read_predictions(runs):
    """Return some runs' predictions, each under its label as agent_id."""
    return pd.concat([read_rows("predictions", run) for run in runs], ignore_index=True)


def read_rows(table, run, timings=False):
    """Return a run's rows of a table, under its label as agent_id; `timings` as `store.read_runs`.

    Of a local run the table runs says how it was asked (`agents.when_asked`).
    """
    if isinstance(run.place, QuestionTables):
        rows = getattr(run.place, table).query("run_id == @run.run_id")
        rows = rows.reindex(columns=list(dict.fromkeys([*list_columns(table), *rows])))
    elif isinstance(run.place, Path):
        rows = read_runs(run.place, table, [run.run_id], timings)
    else:
        rows = read_table(table, run.place).query("run_id == @run.run_id")
    told = run.asked._asdict() if table == "runs" and isinstance(run.place, Path) else {}
    return rows.assign(agent_id=run.label, **told)
