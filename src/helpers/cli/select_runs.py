"""Runs to compare: found by name, of one condition where there is one, and labelled so that it shows.

A run is named by its run_id, or by its agent's name: of a local run, else of a recorded one (data/tables). Of an
agent's several runs that one is taken whose condition most others have too, of these the newest.
"""

from pathlib import Path

from helpers.question_sets import find_set
from helpers.scoring.runs import find_run


def find_moment(condition):
    """Return the part of a condition that says when it was asked, "" where it says nothing: at the usual moment.

    >>> find_moment("asked at Near; with articles press 01234567"), find_moment("with articles press 01234567")
    ('asked at Near', '')
    """
    return next((part for part in condition.split("; ") if part.startswith("asked ")), "")


def select_runs(every, names, window):
    """Return (runs, notes, condition) for names of runs or agents; for none, a local run of every agent in a window.

    `condition` is that which most of them have. Raises ValueError for an unknown name, with the nearest or all.
    """
    asked_for = list(dict.fromkeys(names)) or list_local_agents(every, window)
    found = {name: find_run(every, name, window) for name in asked_for}
    conditions = dict.fromkeys(run.condition for run in every if any(run in own for own in found.values()))
    condition = max(conditions, key=lambda told: sum(any(suits(run, told) for run in own) for own in found.values()))
    chosen = {name: pick_run(own, condition) for name, own in found.items()}
    notes = [describe_choice(name, chosen[name], own) for name, own in found.items() if names and len(own) > 1]
    return list(chosen.values()), notes, condition


def list_local_agents(every, window):
    """Return the agents that have a local run on a set. Raises ValueError, with the sets that have some, below two."""
    local = [run for run in every if isinstance(run.place, Path)]
    agents, name = sorted({run.agent_id for run in local if run.window == window}), find_set(window).name
    if len(agents) > 1:
        return agents
    alone = f"only {agents[0]} has a local run" if agents else "there are no local runs"
    other = ", ".join(f"SET={find_set(other).name}" for other in sorted({run.window for run in local} - {window}))
    more = f"; there are local runs on other sets: {other}" * bool(other)
    raise ValueError(f"{alone} on {name} yet; `make run SET={name} LIMIT=20` makes some{more}")


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
    told = [f"{one.run_id} ({one.condition or 'as usual'})" for one in [run, *(one for one in runs if one != run)]]
    what = f"of its {len(runs)} runs {told[0]} is compared, the newest under the condition that most share"
    return (
        f"{name}: {what}; another one is compared where its run_id stands in the agent's place: {', '.join(told[1:4])}"
    )


def add_baselines(every, runs, condition):
    """Return the baselines' runs that are not among some runs, asked at a condition's moment: local, else recorded."""
    taken, found = {run.agent_id for run in runs}, {}
    for run in every:
        if run.category == "baseline" and run.window == runs[0].window and suits(run, condition):
            found.setdefault(run.agent_id, run)
    return [found[name] for name in sorted(found) if name not in taken]


def label_runs(runs):
    """Return runs under labels: their agent's name; where that is not enough with the condition; else the run_id.

    >>> from helpers.scoring.runs import Run
    >>> near, mid = (Run("", f"x-L-{n}", "x", "", "", f"asked at {n}", "L", "L") for n in ("Near", "Mid"))
    >>> [run.label for run in label_runs([near, mid])], [run.label for run in label_runs([mid])]
    (['x, asked at Near', 'x, asked at Mid'], ['x'])
    """
    agents = [run.agent_id for run in runs]
    longer = [f"{run.agent_id}, {run.condition or 'as usual'}" for run in runs]
    choices = (agents, longer, [run.run_id for run in runs])
    labels = next(labels for labels in choices if len(set(labels)) == len(runs))
    return [run._replace(label=label) for run, label in zip(runs, labels, strict=True)]


def describe_conditions(runs):
    """Return (the condition that all runs share, or "", a sentence on how they differ, or "").

    Articles concern no baseline.
    """
    told = {run.condition for run in runs if run.category != "baseline"} or {run.condition for run in runs}
    if len(told) == 1 and all(suits(run, min(told)) for run in runs):
        return min(told), ""
    listed = "; ".join(f"{run.agent_id} ({run.run_id}) {run.condition or 'as usual'}" for run in runs)
    return "", f"conditions differ, and a difference between runs may be theirs: {listed}"
