"""The one service behind run, week, day, moments, planted and Python: select, preflight, ask,
store, score.

`ask` puts agents to questions on some `Terms`: it says what will be asked and what it takes, asks,
and stores what comes. `run_set` does so on a question set, beside its baselines, and scores. A
command reads options and prints.
"""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from daybefore.agents.ask_questions import Stopped, handle_stops, to_cell
from daybefore.agents.python_functions import make_agent
from daybefore.agents.recorded_runs import SEED, move_moments
from daybefore.agents.registry import (
    FUNCTION,
    PROMPTED,
    SEARCHING,
    load_agents,
    load_entries,
    pick_entry,
)
from daybefore.agents.run_loop import (
    DEADLINE_S,
    describe_run,
    make_majority,
    run_agents,
    sample_events,
    sees_today,
    select_whole,
)
from daybefore.agents.when_asked import name_moment, tell_asked
from daybefore.commands.choose_baselines import choose_baselines, name_default
from daybefore.commands.preflight import announce_articles, list_left, locate_store, prepare_agent
from daybefore.commands.result_files import keep_results
from daybefore.commands.terminal import PartWay, tell
from daybefore.commands.worldreasoner_scores import judge_run
from daybefore.live.many_machines import hand_out, take_in
from daybefore.models.batches import ask_batches, collect
from daybefore.models.costs import write_usd
from daybefore.models.failures import LlmError
from daybefore.models.pace import LEAST
from daybefore.questions.open_sets import list_articles, open_articles, open_window, read_window
from daybefore.store import ACCIDENTS, DOUBTFUL, count_stored, keep_copy, open_store, sum_costs
from helpers.set_names import find_set
from helpers.tables import HORIZONS
from studies.worldreasoner.conditions import OPEN, Plan, plan_run, take_condition
from studies.worldreasoner.hindsight.card_reviews import read_references

MAX_ACCIDENTS = 10
"""Accidents in a row after which an agent is not asked on: its server is gone, or its key."""

TODAY = "searches the web as it is today, no forecast"
UNBOUND = "the clock binds only what it gets through `world`; files it opens, and any other network, may be later"
NO_KEY = 'no key was sent; api_key_env = "NAME" in its table of data/agents.local.toml names the variable that has one'


class Terms(NamedTuple):
    """On what terms agents are asked: what every command that puts questions has as options
    (`shared_options.ASKING`). `yes`: it was said that many paid questions may be asked."""

    n_samples: int = 1
    at_once: int | None = None
    ceiling_usd: float | None = None
    press: tuple[str, ...] = ()
    retry: bool = False
    yes: bool = False
    deadline_s: int = DEADLINE_S
    batch: bool = False

    @property
    def again(self) -> tuple[str, ...]:
        """The statuses of replies that are asked again."""
        return (*ACCIDENTS, *DOUBTFUL) if self.retry else ACCIDENTS

    @property
    def samples(self) -> range:
        """The numbers of the answers to a question."""
        return range(self.n_samples)


class Chosen(NamedTuple):
    """An agent that was chosen: its table, what is asked (None where that is a model to connect),
    its condition.

    `asked`: the columns of the run that say when it is asked (`agents.when_asked`), where the
    condition's words do not.
    """

    entry: dict[str, Any]
    agent: dict[str, Any] | None
    condition: str | None
    asked: dict[str, Any] | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What a run says of its condition and its moment; nothing of the usual ones."""
        given = {"condition": self.condition, "asked": self.asked}
        return {name: value for name, value in given.items() if value}


class Answered(NamedTuple):
    """What came of asking: {name: run_id}, sentences on who was stopped, and of models the agents
    and their doors."""

    run_ids: dict[str, str]
    stops: list[str]
    models: dict[str, dict[str, Any]]
    doors: dict[str, Any]


class Asked(NamedTuple):
    """What a run asks: the question set's name, all its events and those drawn of them, how, and
    where it is kept."""

    window: str
    whole: pd.DataFrame
    events: pd.DataFrame
    plan: Plan | None
    path: Path


def gather_agents(names, window, plan):
    """Return (entries of agents.toml, {name: agent}) of the agents asked for and the baselines.

    An agent that asks a model is None, for it is not connected yet. After the resolution there are
    no baselines: what they read holds the answer. Raises ValueError for a name that there is not,
    and one that cannot be asked so.
    """
    functions = {name_function(name): name for name in names if callable(name)}
    names = [name_function(name) if callable(name) else name for name in names]
    named = [name for name in names if name not in functions]
    given = load_entries(wanted=named, own=True), load_agents(wanted=named)
    entries, agents = choose_baselines(window, *given, named)
    entries, found = dict(entries), {}
    for name, function in functions.items():
        entries[name] = {"category": "scripted", "method": FUNCTION}
        agents = agents | {name: make_agent(function)}
    for name in names:
        entry = pick_entry(entries, name)
        entries[name] = take_condition(name, entry, plan)
        if (method := entries[name]["method"]) != entry["method"]:
            told = f"by the method {method} in place of its own ({entry['method']})"
            tell(f"{name}: under {plan.condition} its model is asked {told}")
    for name, entry in entries.items():
        if name in names or (entry["category"] == "baseline" and plan.moment != OPEN):
            found[name] = agents.get(name)
    return entries, found


def name_function(function) -> str:
    """Return the name of the agent that a function of your own is. Raises ValueError for one that
    has none."""
    name = getattr(function, "__name__", None) or type(function).__name__
    if not name.isidentifier():
        raise ValueError(f"{name} names no agent; give the function a name by def")
    return name


def draw_events(window, limit, plan):
    """Return the run's `Asked`, at the plan's moment. Raises ValueError where no question of the
    set names it."""
    horizon = plan.arm.get("horizon")
    whole = move_moments(read_window("events", window), horizon, plan.arm.get("days_after"))
    if plan.arm.get("days_after") is not None:
        whole = drop_future(whole, window)
    if whole.empty:
        named = f"those of long and markets name {', '.join(HORIZONS)}"
        raise ValueError(f"no question of {find_set(window).name} says when {horizon} is; {named}")
    events = whole if limit is None else sample_events(whole, limit, SEED)
    return Asked(window, whole, events, plan, locate_store())


def drop_future(events, window):
    """Return events without those whose moment is still to come, of which how many there are is
    printed.

    Raises ValueError where none is left.
    """
    moments = pd.to_datetime(events["as_of"], utc=True)
    now = pd.Timestamp.now("UTC")
    kept = events[moments <= now]
    name = find_set(window).name
    if kept.empty:
        raise ValueError(f"{name}: nothing to ask yet; the first moment is {events['as_of'].min()}")
    if n_later := len(events) - len(kept):
        next_at = moments[moments > now].min()
        tell(
            f"{name}: {n_later} of {len(events)} questions are asked later; the next moment is {next_at}"
        )
    return kept


# --- asking -----------------------------------------------------------------------------------------


def find_entry(name: str) -> dict[str, Any]:
    """Return an agent's table. Raises ValueError for one that there is not, and one that reads a
    source's page."""
    entry = pick_entry(load_entries(wanted=[name], own=True), name)
    if entry["method"] not in (*PROMPTED, FUNCTION):
        raise ValueError(
            f"{name} reads a source's page, and these questions have none; name one that asks a model"
        )
    return entry


def ask_one(
    name: str, asked: Asked, terms: Terms, *, condition: str | None = None, opener=None
) -> Answered:
    """Put one agent to questions that have no pages, as `ask` does; articles are all that it can
    search.

    `opener` gives another world than that. A ceiling says how much may be paid.
    """
    entry = find_entry(name)
    told = "; ".join(filter(None, [condition, announce_articles(terms.press)]))
    if entry["method"] in SEARCHING and not (terms.press or opener) and "search" not in entry:
        way = 'write search = "tavily" into its table, or give dated articles (--articles FOLDER)'
        tell(f"{name} searches, and there is nothing to search: {way}")
    agent = load_agents(wanted=[name])[name] if entry["method"] == FUNCTION else None
    world = contextlib.nullcontext(opener) if opener else open_articles(terms.press)
    terms = terms._replace(yes=terms.yes or terms.ceiling_usd is not None)
    return ask({name: Chosen(entry, agent, told or None)}, asked, terms, world)


def ask(chosen: dict[str, Chosen], asked: Asked, terms: Terms, world, machines=None) -> Answered:
    """Put agents to questions: preflight, ask, store. `world` is entered and gives what opens a
    world.

    `machines`: the options of `live.many_machines`, of workers that ask. Raises ValueError before
    anything is asked.
    """
    if machines and terms.batch:
        raise ValueError("--batch needs no workers: leave --executor out")
    models, others, doors = {}, {}, {}
    with contextlib.ExitStack() as stack:
        for name, one in chosen.items():
            if one.agent is None:
                prepared = prepare_agent(name, one.entry, asked, one.condition, stack, terms)
                models[name], doors[name] = prepared
                models[name] |= {"asked": one.asked} if one.asked else {}
            elif machines and one.entry["method"] == FUNCTION:
                models[name] = one.agent | one.about
            else:
                others[name] = one.agent | one.about
        if own := [name for name in chosen if chosen[name].entry["method"] == FUNCTION]:
            tell(f"{', '.join(own)}: your own function: {UNBOUND}")
        tell(f"{len(asked.events)} events by {', '.join([*models, *others])} ...")
        opener = stack.enter_context(world)
        run_ids, stops = ask_models(models, chosen, asked, opener, doors, terms, machines)
        options = {"window": asked.window, "deadline_s": terms.deadline_s}
        options["drawn_from"] = asked.whole
        if terms.n_samples > 1:
            run_ids |= ask_majorities(models, run_ids, asked, terms.n_samples, **options)
        if others:
            run_ids |= run_agents(others, asked.events, opener, asked.path, **options)
    return Answered(run_ids, stops, models, doors)


def explain_stop(agent_id, stopped, entry, ceiling_usd):
    """Return why an agent was stopped and how it goes on, as a sentence."""
    if stopped.cause == "first":
        is_bare = (
            "AuthenticationError" in str(stopped)
            and entry.get("api_base")
            and not entry.get("api_key_env")
        )
        key = f"; {NO_KEY}" * bool(is_bare)
        return f"{agent_id}: its model did not answer the first question: {stopped}{key}; nothing else was asked"
    what, rest = (
        "was stopped",
        "the same command asks for the rest, and RETRY=1 also what could not be read",
    )
    if stopped.cause == "ceiling":
        higher = (
            f"CEILING={write_usd(2 * ceiling_usd)}, which counts all that the run has ever cost"
        )
        what, rest = (
            "has reached its ceiling",
            f"{higher}, goes on from there; the same CEILING asks nothing",
        )
    elif stopped.cause == "credit":
        rest = "with new credit the same command goes on"
    return f"{agent_id} {what}: {stopped}; what was answered is stored; {rest}"


def ask_models(agents, chosen, asked, opener, doors, terms, machines):
    """Put agents to events, one after the other; returns ({agent_id: run_id}, sentences on those
    that were stopped).

    With `machines` workers ask first; what their shares of a ceiling left is asked here. Raises
    ValueError when the first of them answers nothing, KeyboardInterrupt when Ctrl-C came.
    """
    run_ids, stops, path = {}, [], asked.path
    for name, agent in agents.items():
        workers = doors[name].pace if name in doors else terms.at_once or LEAST
        how = {"window": asked.window, "deadline_s": terms.deadline_s, "again": terms.again}
        how |= {"workers": workers, "max_accidents": MAX_ACCIDENTS}
        try:
            if machines:
                hand_to_workers(
                    name, agent, chosen[name].entry, asked, terms, how, doors.get(name), machines
                )
            if terms.batch:
                opener = ask_by_batch(name, agent, asked, opener, doors[name], terms)
                how["max_accidents"] = None
            how |= {"samples": terms.samples, "drawn_from": asked.whole}
            how["tries_first"] = not terms.batch
            run_ids |= run_agents({name: agent}, asked.events, opener, path, **how)
        except Stopped as stopped:
            stored = list(stopped.run_ids.values())
            reason = explain_stop(name, stopped, chosen[name].entry, terms.ceiling_usd)
            if stopped.cause == "ceiling":  # those under way then have come in since
                with contextlib.closing(open_store(path)) as store:
                    reason += f"; its replies cost {write_usd(sum_costs(store, stored))} USD in all"
            hint = f"; {told}" if (told := describe_retry(path, stored)) else ""
            if stopped.cause == "signal":
                raise KeyboardInterrupt(
                    f"{reason} ({count_stored(path, stored)} are stored){hint}"
                ) from None
            if stopped.cause == "first" and not run_ids:
                raise ValueError(reason + hint) from None
            run_ids |= stopped.run_ids
            stops.append(reason)
        finally:
            with contextlib.suppress(
                OSError, sqlite3.Error
            ):  # a copy is a help, and its lack ends no run
                keep_copy(path)
    return run_ids, stops


def ask_by_batch(name, agent, asked, opener, door, terms):
    """Have what is left of an agent's questions answered by batches; returns what gives the world,
    open by now.

    Raises ValueError where the provider takes no batch, or the one under way cannot be seen.
    """
    left = list_left(asked, name, agent, terms)
    if left.empty:
        return opener
    world = opener()
    try:
        rows = [
            {column: to_cell(value) for column, value in row.items()}
            for row in left.to_dict("records")
        ]
        requests = collect(door, agent["forecast"], rows, world)
        ask_batches(door, agent["model"], requests, lambda told: tell(f"{name}: {told}"))
    except LlmError as error:
        raise ValueError(f"{name}: {error}; what was answered is stored") from None
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(f"{name}: {stopped}") from None
    return lambda: world


def hand_to_workers(name, agent, entry, asked, terms, how, door, machines):
    """Have workers ask what is left of an agent's questions (`live.many_machines`)."""
    left = list_left(asked, name, agent, terms)
    if left.empty:
        return
    options = {"window": asked.window, "deadline_s": terms.deadline_s}
    plan = {
        "agent_id": name,
        "entry": entry,
        "condition": agent.get("condition"),
        "events": asked.whole,
        "run_id": describe_run(name, agent, asked.whole, **options)["run_id"],
        "world": machines["world"],
        "ask": how | {"workers": getattr(how["workers"], "limit", how["workers"])},
    }
    given = {key: value for key, value in machines.items() if key != "world"}
    hand_out(plan, left, asked.path, door, tell=tell, **given)


def ask_majorities(agents, run_ids, asked, n_samples, **options):
    """Return {"name-majority": run_id} of agents that were asked several times.

    Nothing is asked of a model. They are made anew each time, since a sample may have been asked
    again.
    """
    made, how = {}, {"workers": 1, "again": ("ok", *ACCIDENTS)} | options
    for name in [name for name in agents if name in run_ids]:
        whole = select_whole(asked.path, run_ids[name], asked.events, n_samples)
        if len(whole):
            agent = make_majority(asked.path, run_ids[name], agents[name], n_samples)
            agent |= {
                key: agents[name][key] for key in ("condition", "asked") if agents[name].get(key)
            }
            made |= run_agents({f"{name}-majority": agent}, whole, dict, asked.path, **how)
    return made


def describe_retry(path, run_ids):
    """Return how many questions of some runs are asked again, and by what command, as a sentence;
    "" for none."""
    told = {
        "the same command asks again the {} that met an accident": ACCIDENTS,
        "RETRY=1 asks again, and may pay again, the {} that timed out or whose reply could not be read": DOUBTFUL,
    }
    found = {words: count_stored(path, run_ids, statuses) for words, statuses in told.items()}
    return "; ".join(words.format(n) for words, n in found.items() if n)


class Outcome(NamedTuple):
    """What `run_set` did: results.json by agent, who was stopped, scores as text, what comes
    next."""

    found: dict[str, dict[str, Any]]
    stops: list[str]
    text: str
    hint: str


@handle_stops()
def run_set(
    names=(),
    window="A",
    limit=None,
    *,
    horizon=None,
    days_after=None,
    condition=None,
    references=None,
    executor=None,
    scheduler=None,
    n_shards=4,
    explain=False,
    **terms,
) -> Outcome:
    """Put agents to a question set's events beside its baselines, and score them.

    `terms` are those of `Terms`. `names` may hold functions of your own (`agents.python_functions`)
    beside names. `horizon` is a point of the questions' life, where they name some, other than the
    usual one (Early, Late, Near); `days_after` asks a second time, so many days after the
    resolution (FutureX 4.5.1, Figure 12); `condition` one of WorldReasoner's six, `references` a
    file of hindsight graphs that stand in place of the references that windows L and W have. With
    an `executor` (local, slurm, dask) workers ask in `n_shards` parts, of Dask those of a
    `scheduler` (`live.many_machines`). With `explain` the text has all columns of the scores.
    Raises ValueError before anything is asked.
    """
    graphs = read_references(references) if references else None
    plan = plan_run(condition, horizon, window, graphs, days_after)
    if not names:
        tell_baselines(find_set(window).name, plan)
    names = list(names) or [name_default(window)]
    entries, agents = gather_agents(names, window, plan)
    names = [name_function(name) if callable(name) else name for name in names]
    asked = draw_events(window, limit, plan)
    if graphs and not set(graphs) & set(asked.events["event_id"]):
        name = find_set(window).name
        raise ValueError(
            f"{references} has a graph of none of the questions asked; their ids are {name}'s"
        )
    terms = Terms(**terms)
    press = (*list_articles(window), *terms.press)
    terms = terms._replace(press=press, yes=terms.yes or limit is not None)
    told = "; ".join(filter(None, [plan.label, announce_articles(press)]))
    baselines = [name for name in agents if entries[name]["category"] == "baseline"]
    chosen = {}
    for name, agent in agents.items():
        # a baseline reads no articles, so of the condition it has the moment
        own = name_moment(told) if name in baselines else told
        chosen[name] = Chosen(entries[name], agent, own or None, tell_asked(plan.arm))
    take_in(asked.path)
    world = {"keeps_pages": True, "articles": list(press)}
    machines = {"executor": executor, "scheduler": scheduler, "n_shards": n_shards, "world": world}
    opened = open_window(window, **world)
    done = ask(chosen, asked, terms, opened, machines if executor else None)
    cutoffs = {
        name: entries[name].get("knowledge_cutoff_date") for name in names if name not in baselines
    }
    beside = judge_run(asked, done.run_ids, cutoffs, graphs)
    return describe_outcome(asked, done, names, baselines, beside, explain)


def tell_baselines(set_name, plan):
    """Say that baselines alone are asked. Raises ValueError where a plan is for agents."""
    if plan.condition:
        raise ValueError(f"--condition {plan.condition} needs an agent: AGENT=name")
    if "days_after" in plan.arm:
        raise ValueError(
            "--days-after needs an agent: AGENT=name; what baselines read holds the answer by then"
        )
    tell(f"no agent named: baselines only, on {set_name}; choose by AGENT=name, LIMIT=20")


def describe_outcome(asked, done, names, baselines, beside, explain) -> Outcome:
    """Keep the results of what was asked (`result_files.keep_results`); returns them with what is
    printed."""
    today = [f"{name} {TODAY}" for name in done.models if sees_today(done.models[name])]
    beside = beside._replace(note="; ".join(filter(None, [beside.note, *today])))
    unanswered = {name: door.at_most_usd for name, door in done.doors.items()}
    found, text = keep_results(asked, done.run_ids, baselines, beside, unanswered, explain)
    kept = f"run_id {', '.join(done.run_ids[name] for name in names)}"
    text += f"\nreplies, predictions and traces: {os.path.relpath(asked.path)}, {kept}"
    run_ids = [done.run_ids[name] for name in done.models if name in done.run_ids]
    hint = describe_retry(asked.path, run_ids)
    if not hint and len(asked.events) < len(asked.whole) and not done.stops:
        hint = "a larger LIMIT, or none for all events, adds to this run; nothing is asked twice"
    return Outcome(found, done.stops, text, hint)


def end_part_way(command: str, found: dict[str, Any], stops: list[str]) -> dict[str, Any]:
    """Return what a command found; where an agent was stopped, say so and end by PartWay with
    it."""
    if stops:
        tell("\n".join(f"daybefore {command}: {stop}" for stop in stops))
        raise PartWay(found)
    return found
