"""The paper's six conditions (what an agent may use, as of when): how a run is asked under one, and
the runs of a question set under them (WorldReasoner 5.1).

A condition is a method of asking a model and a moment of a question's life. Agents that search in a
way of their own keep it where a search is all that is asked for; those that look things up turn by
turn have the condition's steps.
"""

from typing import NamedTuple

import pandas as pd

from daybefore.agents.recorded_runs import load_recorded_runs, replay_recorded
from daybefore.agents.registry import FUNCTION, GRAPH_METHODS, PROMPTED, SEARCHING
from daybefore.agents.run_loop import sees_today
from daybefore.agents.when_asked import REAL_TIME, describe_condition, fill_asked
from daybefore.questions.series_pages import open_series
from daybefore.scoring.run_scores import find_run, list_local, list_names, read_rows
from helpers.files import STORE, locate_output, parse_json
from helpers.input_faults import list_nearest
from helpers.papers import get_constant, load_published
from studies.worldreasoner.outcome_scores import mix_correct

NAMES = get_constant("worldreasoner", "conditions")
STEPS = get_constant("worldreasoner", "condition_steps")
OPEN = REAL_TIME
"""Condition, and horizon, of what is asked after the resolution with what was published by then: no
forecast (5.1)."""

CONDITIONS = {
    ("zero_shot", "Mid"): "Vanilla",
    ("graph", "Mid"): "Causal Simulation",
    ("search_prompt", "Mid"): "Search-Enabled",
    ("search_graph", "Mid"): "Search-Enabled Graph",
    ("search_graph", "Near"): "Near-Resolution",
    ("search_graph", OPEN): OPEN,
}
"""Method of an agent and moment of asking -> the paper's condition (5.1); a method turn by turn, as
in the paper, has that of its like of one request a question."""
SHORT = {"causal": NAMES[1], "search": NAMES[2], "search graph": NAMES[3], "near": NAMES[4]}
"""Other words for a condition."""

BY_TURNS = ("react", "tool_search")
"""Methods that are turn by turn: under a condition with a graph their agents add events so, too, as
in the paper."""
OWN_SEARCH = (*BY_TURNS, "research", "orchestra")
"""Methods that search in a way of their own: an agent of these keeps its method where a search is
asked for."""

PRINTED_METRICS = {"Acc": "accuracy", "KER": "recall", "SrcP": "srcp_cited"}


def find_condition(text):
    """Return the paper's name of a condition, written in any case or short. Raises ValueError with
    the nearest one.

    >>> [find_condition(text) for text in ("vanilla", "SEARCH-GRAPH", "search", "real-time", "near")]
    ['Vanilla', 'Search-Enabled Graph', 'Search-Enabled', 'Real-Time', 'Near-Resolution']
    """
    known = {name.lower().replace("-", " "): name for name in NAMES} | SHORT
    if name := known.get(text.lower().replace("-", " ")):
        return name
    raise ValueError(f"no condition is called {text!r}{list_nearest(text, NAMES, '')}")


class Plan(NamedTuple):
    """How a run asks: the paper's condition and its method (None without one), and the moment as an
    arm says it."""

    condition: str | None
    method: str | None
    arm: dict

    @property
    def moment(self):
        """The point of a question's life, or Real-Time for what is asked after it."""
        return OPEN if "days_after" in self.arm else self.arm.get("horizon") or "Mid"

    @property
    def label(self):
        """The condition of the run as the table runs has it, blank for the usual one."""
        if self.condition == OPEN:
            return f"{OPEN}, no forecast: asked a day after the resolution"
        arm = {name: value for name, value in self.arm.items() if value not in (None, "Mid")}
        if self.condition and CONDITIONS.get((self.method, self.moment)) == self.condition:
            arm = {}  # the condition's name says the moment
        return ", ".join(filter(None, [self.condition, describe_condition(arm)]))


def plan_run(condition, horizon, window, references=None, days_after=None):
    """Return the Plan of a run from what its command line says; all but the window may be None.

    `days_after`: asked so many days after the resolution (FutureX 4.5.1), which excludes a
    condition and a horizon. Raises ValueError for a condition that is none, of a window without
    reference events, or whose moment is another. Windows L and W have such events, others where a
    file of graphs is given.
    """
    if days_after is not None:
        if condition or horizon:
            other = "--condition" if condition else "--horizon"
            raise ValueError(f"--days-after is a moment of its own; leave {other} out")
        return Plan(None, None, {"days_after": days_after})
    if condition is None:
        return Plan(None, None, {} if horizon is None else {"horizon": horizon})
    name = find_condition(condition)
    if window not in ("L", "W") and not references:
        raise ValueError(
            f"--condition {name} needs reference events, which long and worldreasoner alone have; "
            "for another set --references names a file of graphs"
        )
    method, moment = next(key for key, value in CONDITIONS.items() if value == name)
    if horizon and moment != "Mid" and horizon != moment:
        when = "a day after the resolution" if moment == OPEN else f"at {moment}"
        raise ValueError(f"{name} is asked {when}; leave --horizon {horizon} out")
    if moment == OPEN:
        return Plan(name, method, {"days_after": 1})  # as the recorded arm
    moment = horizon or moment
    name = CONDITIONS.get((method, moment), name)  # Search-Enabled Graph at Near: Near-Resolution
    return Plan(name, method, {} if moment == "Mid" else {"horizon": moment})


def take_condition(agent_id, entry, plan):
    """Return an agent's entry as its model is asked under a plan: the condition's method in place
    of its own.

    Raises ValueError, one sentence, for an agent that cannot be asked so.
    """
    name = plan.condition
    method = entry["method"]
    wanted = plan.method
    if name is None:
        return entry
    if entry["category"] == "baseline" or method not in (FUNCTION, *PROMPTED):
        raise ValueError(
            f"{agent_id} asks no model, so it has no condition; it stands beside any run"
        )
    if sees_today(entry | {"params": entry}):
        raise ValueError(
            f"{agent_id} searches the web as it is today, so no condition as of a moment holds for it"
        )
    if method in BY_TURNS and wanted != "zero_shot":
        entry = {"max_steps": STEPS[NAMES.index(name)]} | entry
        if wanted in GRAPH_METHODS:
            wanted += "_turns"
    elif method in (FUNCTION, *OWN_SEARCH) and wanted in GRAPH_METHODS:
        own = "is a Python function"
        if method != FUNCTION:
            own = f"searches by a method of its own ({method})"
        raise ValueError(
            f"{agent_id} {own} and submits no graph, which {name} asks for; Search-Enabled is its condition"
        )
    if wanted == "search_prompt" and method in (FUNCTION, *OWN_SEARCH):
        return entry
    if method == FUNCTION:
        raise ValueError(
            f"{agent_id} is a Python function, which may search, and {name} allows none; "
            "Search-Enabled is its condition"
        )
    if method == wanted:
        return entry
    return entry | {"category": PROMPTED[wanted].category, "framework": wanted, "method": wanted}


class Asked(NamedTuple):
    """The runs of a question set and their tables, each row with the columns of `describe_runs`."""

    runs: pd.DataFrame
    predictions: pd.DataFrame
    replies: pd.DataFrame
    traces: pd.DataFrame


def load_asked(events, agents="", window="L", opener=open_series, about_world=None):
    """Return the `Asked` of a set's recorded runs, replayed, and of the local runs of the agents
    named.

    `events` are all of the set, `opener` gives its web, of which `about_world` says more
    (`recorded_runs.replay_recorded`). A named agent's newest local run under a condition stands for
    a recorded one; `runs` has `is_own`, True of a local run. Raises ValueError for a name without a
    local run.
    """
    arms = [name for name, arm in load_recorded_runs().items() if arm["window"] == window]
    path = locate_output(STORE)
    given = {"events": {window: events}, "about_world": about_world}
    replayed = set(replay_recorded(arms, opener, path, **given).values())
    local = list_local()  # the newest first
    own = [run for name in list_names(agents) for run in reversed(find_run(local, name, window))]
    chosen = [run for run in list_local(path) if run.run_id in replayed] + own
    chosen = {(run.agent_id, run.condition): run for run in chosen}.values()
    chosen = sorted(chosen, key=lambda run: run.run_id)
    tables = {
        name: pd.concat([read_rows(name, run) for run in chosen], ignore_index=True)
        for name in Asked._fields
    }
    about = describe_runs(tables["runs"], tables["traces"])
    for name, table in tables.items():
        tables[name] = table.drop(columns=list(about), errors="ignore").join(about, on="run_id")
    tables["runs"]["is_own"] = ~tables["runs"]["run_id"].isin(replayed)
    return Asked(**tables)


def describe_runs(runs, traces):
    """Return how each run was asked, by run_id: agent_id, model, horizon, condition, has_graph,
    has_sources.

    `condition` is the paper's, None outside the six; `horizon` is Real-Time after the resolution. A
    function of the reader's own has sources where it was shown a page; a baseline has no condition,
    and after the resolution nothing goes through a gateway. An agent that searched with another's
    question has that in its name.
    """
    searched = set(traces.loc[traces["page_ids"].notna(), "run_id"])
    rows = {}
    for run in runs.to_dict("records"):
        asked = fill_asked(run)
        method = (parse_json(run["params"]) or {}).get("method") or ""
        like = "search_prompt" if method in OWN_SEARCH else method.removesuffix("_turns")
        named = str(run["condition"]).split(",")[0]
        condition = named if named in NAMES else CONDITIONS.get((like, asked.horizon))
        is_own = run["category"] != "baseline"
        is_another = asked.query_of is not None
        has_searched = method in SEARCHING or run["run_id"] in searched
        rows[run["run_id"]] = {
            "agent_id": run["agent_id"] + ", another" * is_another,
            "model": run["model"],
            "horizon": asked.horizon,
            "condition": condition if is_own and not is_another else None,
            "has_graph": method in GRAPH_METHODS,
            "has_sources": is_own and asked.horizon != OPEN and has_searched,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run_id")


def list_printed():
    """Return the paper's means by condition over all its pairs (5.2, Table 4): condition, metric,
    printed (a share).

    A mean that the text leaves out is mixed from that of right and of wrong forecasts, by the
    condition's accuracy.

    >>> list_printed().set_index(["condition", "metric"])["printed"].round(3)["Causal Simulation"].to_dict()
    {'accuracy': 0.566, 'recall': 0.049}
    """
    table = load_published("worldreasoner", "intext_results")
    table = table[table["condition_or_row"].isin(NAMES) & table["metric"].isin(PRINTED_METRICS)]
    table = table.assign(
        value=table["value"].astype(float) / 100, metric=table["metric"].map(PRINTED_METRICS)
    )
    wide = table.pivot(index=["condition_or_row", "metric"], columns="subset", values="value")
    share = wide.index.get_level_values(0).map(
        wide["all (weighted)"].xs("accuracy", level="metric")
    )
    printed = (
        wide["all (weighted)"]
        .fillna(mix_correct(share, wide["correct"], wide["incorrect"]))
        .dropna()
    )
    return printed.rename_axis(["condition", "metric"]).rename("printed").reset_index()
