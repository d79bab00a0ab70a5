"""Runs to set beside each other: found by name, of one condition where there is one, and called so that it shows.

A run is named by its run_id, or by its agent's name: of a local run (the ledger of `make run`), else of a recorded one
(data/tables). Of an agent's several runs that one is taken whose condition most others have too, of these the newest.
"""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.faults import list_nearest
from helpers.futurex.past import read_window
from helpers.store import ROOT, STORE, locate_output, open_store, parse_json, read_runs, read_table

USUAL = "Mid"
"""Where in a question's life it is asked when nothing else is said (`arms.HORIZONS`)."""


class Run(NamedTuple):
    """A run to compare: how it is shown, and where it is kept (a ledger's path, or a folder of data/tables).

    `asked` is one of its questions and the moment at which it was asked, where that is known.
    """

    label: str
    run_id: str
    agent_id: str
    category: str
    model: str
    condition: str
    window: str
    place: Path | str
    asked: tuple = ()


def find_moment(condition):
    """Return the part of a condition that says when it was asked, "" where it says nothing.

    >>> find_moment("asked at Near; with articles press 01234567"), find_moment("with articles press 01234567")
    ('asked at Near', '')
    """
    return next((part for part in condition.split("; ") if part.startswith("asked ")), "")


# --- the runs there are ----------------------------------------------------------------------------------------------


def list_runs():
    """Return all runs: those of the local ledger, the newest first, then the recorded ones."""
    return list_local() + list_recorded()


def list_local():
    """Return the runs of the local ledger, the newest first; none where there is no ledger."""
    path = locate_output(STORE)
    if not path.exists():
        return []
    with closing(open_store(path)) as ledger:
        newest = dict(ledger.execute("SELECT run_id, max(started_at) FROM replies GROUP BY run_id"))
        first = ledger.execute("SELECT run_id, min(event_id), as_of FROM predictions GROUP BY run_id")
        asked = {run_id: (event_id, as_of) for run_id, event_id, as_of in first}
    runs = read_runs(path, "runs").sort_values("run_id")
    rows = sorted(runs.to_dict("records"), key=lambda run: newest.get(run["run_id"]) or "", reverse=True)
    rows = [row for row in rows if row["run_id"] in newest]
    return [make_run(row, row["run_id"].rsplit("-", 2)[-2], path, asked.get(row["run_id"], ())) for row in rows]


def list_recorded():
    """Return the recorded runs of data/tables."""
    found = []
    for file in sorted((ROOT / "data/tables").rglob("runs.csv.gz")):
        place = file.parent.relative_to(ROOT / "data/tables").as_posix()
        found += [make_run(row, place.split("/")[0], place) for row in read_table("runs", place).to_dict("records")]
    return found


def make_run(row, window, place, asked=()):
    """Return a Run from a row of the table runs."""
    columns = ("agent_id", "category", "model", "condition")
    told = [row[name] if isinstance(row.get(name), str) else "" for name in columns]
    label = row["agent_id"] + ", no forecast" * ("no forecast" in told[-1])
    return Run(label, row["run_id"], *told, window, place, asked)


def list_moments(window):
    """Return at which points of their life a window's questions can be asked: {event_id: {moment: name}}."""
    events = read_window("events", window)
    told = [(parse_json(cell) or {}).get("moments", {}) for cell in events["metadata"]]
    return {key: {at: name for name, at in part.items()} for key, part in zip(events["event_id"], told, strict=True)}


def tell_moments(runs):
    """Return runs of one window with the point of its questions' life in their conditions, where it has several.

    A baseline of an earlier version says nothing of it; the moment at which it was asked does.
    """
    moments = list_moments(runs[0].window)
    if not any(moments.values()):
        return runs
    told = []
    for run in runs:
        event_id, as_of = run.asked or (None, None)
        at = moments.get(event_id, {}).get(as_of, "another moment" if as_of else USUAL)
        parts = [] if find_moment(run.condition) else [f"asked at {at}"]
        told.append(run._replace(condition="; ".join(filter(None, [*parts, run.condition]))))
    return told


# --- which of them ---------------------------------------------------------------------------------------------------


def choose_runs(every, names, window):
    """Return (runs, notes, condition) for names of runs or agents; for none, a local run of every agent in a window.

    `condition` is that which most of them have. Raises ValueError for an unknown name, with the nearest or all.
    """
    asked_for = list(dict.fromkeys(names)) or list_agents(every, window)
    found = {name: tell_moments(find_run(every, name, window)) for name in asked_for}
    places = {run.run_id: at for at, run in reversed(list(enumerate(every)))}
    condition = choose_condition(list(found.values()), places)
    chosen = {name: pick_run(runs, condition) for name, runs in found.items()}
    several = {name: runs for name, runs in found.items() if len(runs) > 1}
    notes = [describe_choice(name, chosen[name], runs) for name, runs in several.items()] if names else []
    return list(chosen.values()), notes, condition


def list_agents(every, window):
    """Return the agents with a local run of a window, sorted. Raises ValueError where these are fewer than two."""
    agents = sorted({run.agent_id for run in every if run.window == window and isinstance(run.place, Path)})
    if len(agents) < 2:
        alone = f"only {agents[0]} has a local run" if agents else "there are no local runs"
        raise ValueError(f"{alone} of window {window} yet; `make run WINDOW={window} LIMIT=20` makes some")
    return agents


def find_run(every, name, window):
    """Return the run of a run_id, or all of an agent's in a window. Raises ValueError where there is none."""
    ours = [run for run in every if run.window == window]
    found = [run for run in every if run.run_id == name][:1] or [run for run in ours if run.agent_id == name]
    if not found:
        agents = {run.agent_id for run in ours}
        known = sorted(agents) + sorted({run.run_id for run in every} - agents)
        listed = list_nearest(name, known, "make view, or --window of another")
        raise ValueError(f"no run or agent of window {window} is called {name!r}{listed}")
    return found


def suits(run, condition):
    """Say whether a run was made under a condition; a baseline, which reads no articles, when its moment is that."""
    if run.category == "baseline":
        return find_moment(run.condition) == find_moment(condition)
    return run.condition == condition


def choose_condition(candidates, places):
    """Return the condition that most of some lists of runs have; of several that of the newest run (by `places`)."""
    runs = sorted((run for runs in candidates for run in runs), key=lambda run: places[run.run_id])
    conditions = list(dict.fromkeys(run.condition for run in runs))
    return max(conditions, key=lambda told: sum(any(suits(run, told) for run in runs) for runs in candidates))


def pick_run(runs, condition):
    """Return the first of some runs with a condition, else the first asked at its moment, else the first."""
    same = [run for run in runs if run.condition == condition]
    near = [run for run in runs if find_moment(run.condition) == find_moment(condition)]
    return (same or near or runs)[0]


def describe_choice(name, run, runs):
    """Return a sentence on which of an agent's several runs is compared, and how another one is."""
    others = [other for other in runs if other.run_id != run.run_id]
    differs = len({other.condition for other in runs}) > 1
    told = {other.run_id: f" ({other.condition or 'as usual'})" * differs for other in runs}
    told = {run_id: f"{run_id}{about}" for run_id, about in told.items()}
    newest = "the newest of this machine's" if isinstance(run.place, Path) else "as it is recorded"
    newest += " under the condition that most share" if differs else ""
    return (
        f"{name}: of its {len(runs)} runs {told[run.run_id]} is compared, {newest}; another one is compared where its "
        f"run_id stands in the agent's place: {', '.join(told[other.run_id] for other in others[:3])}"
    )


def add_baselines(every, runs, condition):
    """Return the baselines' runs that are not among some runs, asked at a condition's moment: local, else recorded."""
    taken, found = {run.agent_id for run in runs}, {}
    beside = [run for run in every if run.category == "baseline" and run.window == runs[0].window]
    beside = [run for run in beside if run.agent_id not in taken]
    for run in tell_moments(beside) if beside else []:
        if suits(run, condition):
            found.setdefault(run.agent_id, run)
    return [found[name] for name in sorted(found)]


# --- what they are called --------------------------------------------------------------------------------------------


def label_runs(runs):
    """Return runs under labels: their agent's name; with the condition where these differ; else the run_id.

    >>> near, mid = (Run("", f"x-L-{n}", "x", "", "", f"asked at {n}", "L", "L") for n in ("Near", "Mid"))
    >>> [run.label for run in label_runs([near, mid])], [run.label for run in label_runs([mid])]
    (['x, asked at Near', 'x, asked at Mid'], ['x'])
    """
    agents, differs = [run.agent_id for run in runs], len({run.condition for run in runs}) > 1
    told = []
    for run in runs:
        usual = "as usual" if agents.count(run.agent_id) > 1 else ""
        told.append(", ".join(filter(None, [run.agent_id, (run.condition or usual) if differs else ""])))
    labels = [run.run_id if told.count(label) > 1 else label for run, label in zip(runs, told, strict=True)]
    return [run._replace(label=label) for run, label in zip(runs, labels, strict=True)]


def describe_conditions(runs, predictions):
    """Return (the condition that all runs share, or "", a sentence on how they differ, or "").

    `predictions` are those on the same events, each run's under its label. Articles concern no baseline.
    """
    told = {run.condition for run in runs if run.category != "baseline"} or {run.condition for run in runs}
    if len({find_moment(run.condition) for run in runs}) > 1 or len(told) > 1:
        listed = "; ".join(f"{run.agent_id} ({run.run_id}) {run.condition or 'as usual'}" for run in runs)
        return "", f"conditions differ, and a difference between runs may be theirs: {listed}"
    rows = predictions[predictions["agent_id"].isin([run.label for run in runs])].dropna(subset="as_of")
    n_apart = int((rows.groupby("event_id")["as_of"].nunique() > 1).sum())
    apart = f"{n_apart} of the events were asked of these runs at different moments, and a difference may be theirs"
    return min(told), apart if n_apart else ""


def read_predictions(runs):
    """Return some runs' predictions, each under its label as agent_id."""
    parts = []
    for run in runs:
        if isinstance(run.place, Path):
            rows = read_runs(run.place, "predictions", [run.run_id])
        else:
            rows = read_table("predictions", run.place).query("run_id == @run.run_id")
        parts.append(rows.assign(agent_id=run.label))
    return pd.concat(parts, ignore_index=True)
