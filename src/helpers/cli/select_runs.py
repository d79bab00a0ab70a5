"""Runs to compare: found by name, of one condition where there is one, and labelled so that it shows.

A run is named by its run_id, or by its agent's name: of a local run, else of a recorded one (data/tables). Of an
agent's several runs that one is taken whose condition most others have too, of these the newest.
"""

from pathlib import Path

from helpers.futurex.past import read_window
from helpers.question_sets import find_set
from helpers.scoring.runs import find_run
from helpers.store import parse_json


def find_moment(condition):
    """Return the part of a condition that says when it was asked, "" where it says nothing.

    >>> find_moment("asked at Near; with articles press 01234567"), find_moment("with articles press 01234567")
    ('asked at Near', '')
    """
    return next((part for part in condition.split("; ") if part.startswith("asked ")), "")


def name_moments(runs):
    """Return runs of one window with the point of its questions' life in their conditions, where it has several.

    A baseline of an earlier version says nothing of it; the moment at which it was asked does.
    """
    events = read_window("events", runs[0].window)
    cells = [(parse_json(cell) or {}).get("moments", {}) for cell in events["metadata"]]
    moments = dict(zip(events["event_id"], cells, strict=True))
    if not any(cells):
        return runs
    named = []
    for run in runs:
        event_id, as_of = run.asked or (None, None)
        known = {at: name for name, at in moments.get(event_id, {}).items()}
        at = known.get(as_of, "another moment" if as_of else "Mid")
        parts = [] if find_moment(run.condition) else [f"asked at {at}"]
        named.append(run._replace(condition="; ".join(filter(None, [*parts, run.condition]))))
    return named


def select_runs(every, names, window):
    """Return (runs, notes, condition) for names of runs or agents; for none, a local run of every agent in a window.

    `condition` is that which most of them have. Raises ValueError for an unknown name, with the nearest or all.
    """
    if not names:
        asked_for = sorted({run.agent_id for run in every if run.window == window and isinstance(run.place, Path)})
        if len(asked_for) < 2:
            alone = f"only {asked_for[0]} has a local run" if asked_for else "there are no local runs"
            local = {run.window for run in every if isinstance(run.place, Path)} - {window}
            other = ", ".join(f"SET={find_set(name).name}" for name in sorted(local))
            said = f"{alone} on {find_set(window).name} yet; `make run SET={find_set(window).name} LIMIT=20` makes some"
            raise ValueError(f"{said}{'; there are local runs on other sets: ' * bool(other)}{other}")
    else:
        asked_for = list(dict.fromkeys(names))
    found = {name: name_moments(find_run(every, name, window)) for name in asked_for}
    places = {run.run_id: at for at, run in reversed(list(enumerate(every)))}
    runs = sorted((run for own in found.values() for run in own), key=lambda run: places[run.run_id])
    conditions = list(dict.fromkeys(run.condition for run in runs))
    condition = max(conditions, key=lambda told: sum(any(suits(run, told) for run in own) for own in found.values()))
    chosen = {name: pick_run(own, condition) for name, own in found.items()}
    notes = [describe_choice(name, chosen[name], own) for name, own in found.items() if names and len(own) > 1]
    return list(chosen.values()), notes, condition


def suits(run, condition):
    """Say whether a run was made under a condition; a baseline, which reads no articles, when its moment is that."""
    if run.category == "baseline":
        return find_moment(run.condition) == find_moment(condition)
    return run.condition == condition


def pick_run(runs, condition):
    """Return the first of some runs with a condition, else the first asked at its moment, else the first."""
    same = [run for run in runs if run.condition == condition]
    return (same or [run for run in runs if find_moment(run.condition) == find_moment(condition)] or runs)[0]


def describe_choice(name, run, runs):
    """Return a sentence on which of an agent's several runs is compared, and how another one is."""
    differs = len({other.condition for other in runs}) > 1
    told = {other.run_id: other.run_id + f" ({other.condition or 'as usual'})" * differs for other in runs}
    newest = "the newest of this machine's" if isinstance(run.place, Path) else "as it is recorded"
    newest += " under the condition that most share" if differs else ""
    others = ", ".join([about for run_id, about in told.items() if run_id != run.run_id][:3])
    what = f"of its {len(runs)} runs {told[run.run_id]} is compared, {newest}"
    return f"{name}: {what}; another one is compared where its run_id stands in the agent's place: {others}"


def add_baselines(every, runs, condition):
    """Return the baselines' runs that are not among some runs, asked at a condition's moment: local, else recorded."""
    taken, found = {run.agent_id for run in runs}, {}
    others = [run for run in every if run.category == "baseline" and run.window == runs[0].window]
    others = [run for run in others if run.agent_id not in taken]
    for run in name_moments(others) if others else []:
        if suits(run, condition):
            found.setdefault(run.agent_id, run)
    return [found[name] for name in sorted(found)]


def label_runs(runs):
    """Return runs under labels: their agent's name; with the condition where these differ; else the run_id.

    >>> from helpers.scoring.runs import Run
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
