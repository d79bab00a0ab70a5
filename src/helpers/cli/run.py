"""`daybefore run` (make run): put agents to a sample of a question set's events, beside the baselines."""

import json
import os
import signal
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import pandas as pd

from helpers.agents.arms import SEED, choose_horizon, move_moments
from helpers.agents.registry import FUNCTION, connect_agent, load_agents, load_entries
from helpers.agents.runs import DEADLINE_S, run_agents, sample_events, sees_today
from helpers.agents.samples import make_majority, select_whole
from helpers.agents.workers import STOPS, Stopped
from helpers.cli.conditions import judge_run
from helpers.cli.main import PartWay, show, tell
from helpers.cli.preflight import announce, announce_articles, connect_prompted, count_unanswered, locate_store
from helpers.cli.report import show_results
from helpers.cli.select_runs import find_moment
from helpers.faults import list_nearest
from helpers.futurex.past import choose_baselines, list_articles, name_default, open_window, read_window
from helpers.models.costs import write_usd
from helpers.models.local import get_local_name
from helpers.question_sets import WINDOWS, find_set
from helpers.store import ACCIDENTS, DOUBTFUL, count_stored, locate_output
from helpers.tables import HORIZONS
from helpers.web.sources import load_sources
from helpers.worldreasoner.asking import Plan, plan_run, read_cutoffs, take_condition
from helpers.worldreasoner.conditions import OPEN

MAX_ACCIDENTS = 10
"""Accidents in a row after which an agent is not asked on: its server is gone, or its key."""

TODAY = "searches the web as it is today, no forecast"
UNBOUND = "the clock binds only what it gets through `world`; files it opens, and any other network, may be later"
NO_KEY = 'no key was sent; api_key_env = "NAME" in its table of data/agents.local.toml names the variable that has one'


class Asked(NamedTuple):
    """What a run asks: the question set's name, all its events and those drawn of them, how, and where it is kept."""

    window: str
    whole: pd.DataFrame
    events: pd.DataFrame
    plan: Plan
    path: object


def choose_agents(registry, names):
    """Return the agents asked for and every baseline. Raises ValueError that lists the names there are.

    >>> choose_agents({"last_value": {"category": "baseline"}}, ["oracle"])
    Traceback (most recent call last):
        ...
    ValueError: no agent is called 'oracle'; there are last_value; to add it, write [oracle] into data/agents.local.toml
    """
    for name in names:
        if name not in registry:
            listed = list_nearest(name, registry, "data/agents.toml")
            raise ValueError(
                f"no agent is called {name!r}{listed}; to add it, write [{name}] into data/agents.local.toml"
            )
    return {key: agent for key, agent in registry.items() if key in names or agent["category"] == "baseline"}


def gather_agents(names, window, plan):
    """Return (entries of agents.toml, {name: agent}) of the agents asked for and the baselines.

    An agent that asks a model is None, for it is not connected yet. After the resolution there are no baselines: what
    they read holds the answer. Raises ValueError for a name that there is not, and one that cannot be asked so.
    """
    entries, agents = choose_baselines(window, load_entries(wanted=names, own=True), load_agents(wanted=names), names)
    chosen = choose_agents({name: agents.get(name, entry) for name, entry in entries.items()}, names)
    own, entries = entries, entries | {name: take_condition(name, entries[name], plan) for name in names}
    for name in [name for name in names if entries[name]["method"] != own[name]["method"]]:
        method = f"by the method {entries[name]['method']} in place of its own ({own[name]['method']})"
        tell(f"{name}: under {plan.condition} its model is asked {method}")
    return entries, {name: agents.get(name) for name in chosen if plan.moment != OPEN or name in names}


def draw_events(window, limit, seed, plan, path):
    """Return the run's `Asked`, at the plan's moment. Raises ValueError where no question of the set names it."""
    whole = move_moments(
        choose_horizon(read_window("events", window), plan.arm.get("horizon")), plan.arm.get("days_after")
    )
    if whole.empty:
        named = f"those of long and markets name {', '.join(HORIZONS)}"
        raise ValueError(f"no question of {find_set(window).name} says when {plan.arm['horizon']} is; {named}")
    return Asked(window, whole, whole if limit is None else sample_events(whole, limit, seed), plan, path)


def explain_stop(agent_id, stopped, entry, ceiling_usd):
    """Return why an agent was stopped and how it goes on, as a sentence."""
    if stopped.cause == "first":
        is_bare = "AuthenticationError" in str(stopped) and entry.get("api_base") and not entry.get("api_key_env")
        key = f"; {NO_KEY}" * bool(is_bare)
        return f"{agent_id}: its model did not answer the first question: {stopped}{key}; nothing else was asked"
    rest = "the same command asks for the rest, and RETRY=1 also what could not be read"
    if stopped.cause == "ceiling":
        higher = f"CEILING={write_usd(2 * ceiling_usd)}" if ceiling_usd else "a higher CEILING"
        rest = (
            f"{higher}, which counts all that the run has ever cost, goes on from there; the same CEILING asks nothing"
        )
    if stopped.cause == "credit":
        rest = "with new credit the same command goes on"
    what = "has reached its ceiling" if stopped.cause == "ceiling" else "was stopped"
    return f"{agent_id} {what}: {stopped}; what was answered is stored; {rest}"


def tell_waiting(agent_id, entry, seconds):
    """Print that a model's reply takes its time, and for how long it is waited for at most."""
    address = entry.get("api_base") or entry["model"]
    shorter = 'a shorter --deadline, as in make run ARGS="--deadline 60", waits less'
    tell(f"{agent_id}: waiting for a reply from {address} (at most {seconds:.0f} s more; {shorter})")


def ask_prompted(agents, entries, asked, opener, *, at_once, ceiling_usd, **options):
    """Put agents to events, one after the other; returns ({agent_id: run_id}, sentences on those that were stopped).

    Raises ValueError when the first of them answers nothing, KeyboardInterrupt when Ctrl-C came.
    """
    run_ids, stops, path = {}, [], asked.path
    for name, agent in agents.items():
        how = {"workers": 1 if get_local_name(entries[name]) else at_once}
        how |= {"remind": partial(tell_waiting, name, entries[name]), "max_accidents": MAX_ACCIDENTS}
        try:
            run_ids |= run_agents({name: agent}, asked.events, opener, path, tries_first=True, **how, **options)
        except Stopped as stopped:
            reason = explain_stop(name, stopped, entries[name], ceiling_usd)
            stored = list(stopped.run_ids.values())
            hint = "; ".join(["", *filter(None, [describe_retry(path, stored)])])
            if stopped.cause == "signal":
                raise KeyboardInterrupt(f"{reason} ({count_stored(path, stored)} are stored){hint}") from None
            if stopped.cause == "first" and not run_ids:
                raise ValueError(reason + hint) from None
            run_ids |= stopped.run_ids
            stops.append(reason)
    return run_ids, stops


def ask_majorities(agents, run_ids, asked, n_samples, **options):
    """Return {"name-majority": run_id} of agents that were asked several times.

    Nothing is asked of a model. They are made anew each time, since a sample may have been asked again.
    """
    made = {}
    for name in [name for name in agents if name in run_ids]:
        whole = select_whole(asked.path, run_ids[name], asked.events, n_samples)
        if len(whole):
            about = {key: agents[name][key] for key in ("condition",) if agents[name].get(key)}
            agent = make_majority(asked.path, run_ids[name], agents[name], n_samples) | about
            how = {"workers": 1, "again": ("ok", *ACCIDENTS)}
            made |= run_agents({f"{name}-majority": agent}, whole, dict, asked.path, **how, **options)
    return made


def split_agents(agents, condition):
    """Return (the baselines' names, {name: agent} of those that ask no model, the names of those that ask one).

    The condition, columns of the runs table, is for those that were asked for; baselines, which read no articles, have
    of it when they are asked.

    >>> told = {"condition": "asked at Near; with articles press 01234567"}
    >>> split_agents({"mean_of_7": {"category": "baseline"}}, told)[1]
    {'mean_of_7': {'category': 'baseline', 'condition': 'asked at Near'}}
    """
    moment = find_moment(condition.get("condition", ""))
    compared = [name for name, agent in agents.items() if agent and agent["category"] == "baseline"]
    told = {name: ({"condition": moment} if moment else {}) if name in compared else condition for name in agents}
    others = {name: agent | told[name] for name, agent in agents.items() if agent}
    return compared, others, [name for name, agent in agents.items() if agent is None]


def describe_retry(path, run_ids):
    """Return how many questions of some runs are asked again, and by what command, as a sentence; "" for none."""
    told = {
        "the same command asks again the {} that met an accident": ACCIDENTS,
        "RETRY=1 asks again, and may pay again, the {} that timed out or whose reply could not be read": DOUBTFUL,
    }
    found = {words: count_stored(path, run_ids, statuses) for words, statuses in told.items()}
    return "; ".join(words.format(n) for words, n in found.items() if n)


def collect_results(run_ids, stops):
    """Return what `--json` prints of a run: each agent's results.json, and why agents were stopped.

    Raises PartWay, which holds it, where some were.
    """
    files = {agent: locate_output(f"data/runs/{run_id}/results.json") for agent, run_id in run_ids.items()}
    found = {"agents": {agent: json.loads(file.read_text("utf-8")) for agent, file in files.items()}, "stopped": stops}
    if stops:
        raise PartWay(found)
    return found


def main(
    names=(),
    window="A",
    limit=None,
    *,
    workers=2,
    at_once=8,
    deadline_s=DEADLINE_S,
    seed=SEED,
    ceiling_usd=None,
    retry=False,
    yes=False,
    n_samples=1,
    press=(),
    horizon=None,
    condition=None,
    explain=False,
):
    """Run the agents asked for and the baselines, print their scores and where the replies are; return the results.

    `press` are folders of dated articles that the agents asked for may search beside what the window publishes;
    `horizon` is a point of the questions' life, where they name some, other than the usual one (Early, Late, Near);
    `condition` one of WorldReasoner's six, for agents of window L. Raises ValueError before anything is asked.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOPS}
    try:
        plan = plan_run(condition, horizon, window)
        if plan.condition and not names:
            raise ValueError(f"--condition {plan.condition} needs an agent: AGENT=name")
        path, is_named = locate_store(), bool(names)
        names = list(names) or [name_default(window)]
        entries, agents = gather_agents(names, window, plan)
        asked = draw_events(window, limit, seed, plan, path)
        cutoffs = read_cutoffs([name for name in names if entries[name]["category"] != "baseline"], entries)
        press = [*list_articles(window), *press]
        told = "; ".join(filter(None, [plan.label, announce_articles(press)]))
        condition = {"condition": told} if told else {}
        compared, others, prompted = split_agents(agents, condition)
        if not is_named:
            n = f"{len(asked.events):,} events of {find_set(window).name}"
            tell(f"no agent named: baselines only, {n}; choose by AGENT=name, LIMIT=20")
        options = {"window": window, "deadline_s": deadline_s, "drawn_from": asked.whole}
        again = {"again": (*ACCIDENTS, *(DOUBTFUL if retry else ())), "samples": range(n_samples)}
        limits = {"deadline_s": deadline_s, "ceiling_usd": ceiling_usd, "is_retry": retry}
        with ExitStack() as stack:
            ready, doors = {}, {}
            for name in prompted:
                agent = connect_agent(entries[name], None) | condition
                left = count_unanswered(asked, name, agent, deadline_s=deadline_s, **again)
                agent, door = connect_prompted(name, entries[name], left, window, stack, **limits)
                ready[name], doors[name] = agent | condition, door
                announce(
                    name, entries[name], left, asked, door, is_limited=limit is not None or yes, n_samples=n_samples
                )
            if own := [name for name in agents if entries[name]["method"] == FUNCTION]:
                tell(f"{', '.join(own)}: your own function: {UNBOUND}")
            tell(f"starting the replay web, then {len(asked.events)} events by {', '.join([*ready, *others])} ...")
            local = window in WINDOWS and window != "L" and not set(asked.events["source_id"]) <= set(load_sources())
            opener = stack.enter_context(open_window(window, local=local, keeps_pages=True, articles=press))
            ask = {"at_once": at_once, "ceiling_usd": ceiling_usd} | again | options
            run_ids, stops = ask_prompted(ready, entries, asked, opener, **ask)
            if n_samples > 1:
                run_ids |= ask_majorities(ready, run_ids, asked, n_samples, **options)
            run_ids |= run_agents(others, asked.events, opener, asked.path, workers=workers, **options)
        beside = judge_run(asked, run_ids, cutoffs)
        today = [f"{name} {TODAY}" for name in ready if sees_today(ready[name])]
        beside = beside._replace(note="; ".join(filter(None, [beside.note, *today])))
        unanswered = {name: door.at_most_usd for name, door in doors.items()}
        show(show_results(asked, run_ids, compared, seed, beside, unanswered, explain))
        kept = f"run_id {', '.join(run_ids[name] for name in names)}"
        show(f"replies, predictions and traces: {os.path.relpath(asked.path)}, {kept}")
        if stops:
            tell("\n".join(f"daybefore run: {stop}" for stop in stops))
        if hint := describe_retry(asked.path, [run_ids[name] for name in ready if name in run_ids]):
            show(f"next: {hint}")
        elif len(asked.events) < len(asked.whole) and not stops:
            show("next: a larger LIMIT, or none for all events, adds to this run; nothing is asked twice")
        return collect_results(run_ids, stops)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
