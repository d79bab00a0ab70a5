"""`daybefore run --agent name --limit 20` (make run AGENT=name LIMIT=20): put agents to a sample of events.

The baselines run beside them; their scores are shown.
"""

import json
import os
import signal
from contextlib import ExitStack
from functools import partial

from helpers.agents.arms import SEED, choose_horizon, move_moments
from helpers.agents.registry import FUNCTION, connect_agent, load_agents, load_entries
from helpers.agents.runs import DEADLINE_S, run_agents, sample_events
from helpers.agents.samples import make_majority, select_whole, summarize_spread
from helpers.agents.stops import Stopped
from helpers.agents.workers import STOPS
from helpers.calendar import WINDOWS, list_days, write_windows
from helpers.cli.announce import (
    MANY_PAID,
    announce,
    announce_articles,
    connect_prompted,
    count_unanswered,
    locate_ledger,
    tell,
    tell_unbound,
)
from helpers.cli.chosen import find_moment
from helpers.cli.judge import judge_run
from helpers.cli.main import PartWay, build_parser, describe_problem, parse_amount, parse_positive
from helpers.cli.results import show_results
from helpers.faults import list_nearest
from helpers.futurex.past import choose_baselines, list_articles, name_default, open_window, read_window
from helpers.models.costs import write_usd
from helpers.models.local import get_local_name
from helpers.store import ACCIDENTS, DOUBTFUL, count_stored, locate_output
from helpers.tables import HORIZONS
from helpers.web.sources import load_sources
from helpers.worldreasoner.asking import plan_run, read_cutoffs, take_condition
from helpers.worldreasoner.conditions import OPEN

MAX_ACCIDENTS = 10
"""Accidents in a row after which an agent is not asked on: its server is gone, or its key."""


def choose_agents(registry, names):
    """Return the agents asked for and every baseline. Raises ValueError that lists the names there are.

    >>> choose_agents({"last_value": {"category": "baseline"}}, ["oracle"])
    Traceback (most recent call last):
        ...
    ValueError: no agent is called 'oracle'; there are last_value; to add it, write [oracle] into data/agents.toml
    """
    for name in names:
        if name not in registry:
            listed = list_nearest(name, registry, "data/agents.toml")
            raise ValueError(f"no agent is called {name!r}{listed}; to add it, write [{name}] into data/agents.toml")
    return {key: agent for key, agent in registry.items() if key in names or agent["category"] == "baseline"}


# --- the run ---------------------------------------------------------------------------------------------------------


def explain_stop(agent_id, stopped, ceiling_usd):
    """Return why an agent was stopped and how it goes on, as a sentence."""
    if stopped.cause == "first":
        return f"{agent_id}: its model did not answer the first question: {stopped}; nothing else was asked"
    if stopped.cause == "ceiling":
        higher = f"CEILING={write_usd(2 * ceiling_usd)}" if ceiling_usd else "a higher CEILING"
        return (
            f"{agent_id} has reached its ceiling: {stopped}; what was answered is stored, and {higher}, which counts "
            "all that the run has ever cost, goes on from there; the same CEILING asks nothing"
        )
    if stopped.cause == "credit":
        return (
            f"{agent_id} was stopped: {stopped}; what was answered is stored; with new credit the same command goes on"
        )
    rest = "what was answered is stored; the same command asks for the rest, and RETRY=1 also what could not be read"
    return f"{agent_id} was stopped: {stopped}; {rest}"


def tell_waiting(agent_id, entry, seconds):
    """Print that a model has not yet given its first reply, and for how long it is waited for at most."""
    address = entry.get("api_base") or entry["model"]
    shorter = 'a shorter --deadline, as in make run ARGS="--deadline 60", waits less'
    tell(f"{agent_id}: waiting for the first reply from {address} (at most {seconds:.0f} s more; {shorter})")


def ask_prompted(agents, entries, events, opener, path, *, at_once, ceiling_usd, **options):
    """Put agents to events, one after the other; returns ({agent_id: run_id}, sentences on those that were stopped).

    Raises ValueError when the first of them answers nothing, Interrupted when Ctrl-C came.
    """
    run_ids, stops = {}, []
    for name, agent in agents.items():
        n = 1 if get_local_name(entries[name]) else at_once
        remind = partial(tell_waiting, name, entries[name])
        try:
            run_ids |= run_agents(
                {name: agent}, events, opener, path, workers=n, mode="thread", remind=remind, **options
            )
        except Stopped as stopped:
            reason, stored = explain_stop(name, stopped, ceiling_usd), list(stopped.run_ids.values())
            hint = "; ".join(["", *filter(None, [describe_retry(path, stored)])])
            if stopped.cause == "signal":
                raise Interrupted(f"{reason} ({count_stored(path, stored)} are stored){hint}") from None
            if stopped.cause == "first" and not run_ids:
                raise ValueError(reason + hint) from None
            run_ids |= stopped.run_ids
            stops.append(reason)
    return run_ids, stops


def ask_majorities(agents, run_ids, events, path, n_samples, **options):
    """Return {"name-majority": run_id} of agents that were asked several times, and tell how far their samples spread.

    Nothing is asked of a model. They are made anew each time, since a sample may have been asked again.
    """
    made = {}
    for name in [name for name in agents if name in run_ids]:
        whole = select_whole(path, run_ids[name], events, n_samples)
        if len(whole):
            about = {"condition": told} if (told := agents[name].get("condition")) else {}
            agent = {f"{name}-majority": make_majority(path, run_ids[name], agents[name], n_samples) | about}
            again = ("ok", *ACCIDENTS)
            made |= run_agents(agent, whole, dict, path, workers=1, mode="thread", again=again, **options)
            print(f"{name}: {summarize_spread(path, run_ids[name], whole, n_samples)}")
    return made


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after what was under way has been stored."""


def gather_agents(names, window, plan):
    """Return (entries of agents.toml, {name: agent}) of the agents asked for and the baselines, under a plan.

    An agent that asks a model is None, for it is not connected yet. After the resolution there are no baselines: what
    they read holds the answer. Raises ValueError for a name that there is not, and one that cannot be asked so.
    """
    entries, agents = choose_baselines(window, load_entries(wanted=names), load_agents(wanted=names), names)
    chosen = choose_agents({name: agents.get(name, entry) for name, entry in entries.items()}, names)
    own, entries = entries, entries | {name: take_condition(name, entries[name], plan) for name in names}
    for name in [name for name in names if entries[name]["method"] != own[name]["method"]]:
        told = f"by the method {entries[name]['method']} in place of its own ({own[name]['method']})"
        tell(f"{name}: under {plan.condition} its model is asked {told}")
    return entries, {name: agents.get(name) for name in chosen if plan.moment != OPEN or name in names}


def name_condition(plan, about_world):
    """Return what other than the usual the agents asked for meet, as columns of the runs table: {} for nothing.

    >>> name_condition(plan_run(None, "Near", "L"), None), name_condition(plan_run(None, "Mid", "L"), None)
    ({'condition': 'asked at Near'}, {})
    """
    told = "; ".join(filter(None, [plan.label, about_world]))
    return {"condition": told} if told else {}


def prepare_prompted(names, entries, events, path, stack, condition, limits, told, **asking):
    """Return {name: agent} of agents that ask a model, each within reach, and announced with what it is to be asked."""
    prompted = {}
    for name in names:
        agent = connect_agent(entries[name], None) | condition
        left = count_unanswered(path, name, agent, events, **asking)
        agent, door = connect_prompted(name, entries[name], left, asking["window"], stack, **limits)
        prompted[name] = agent | condition
        announce(name, entries[name], left, asking["drawn_from"], door, **told)
    return prompted


def run(
    names,
    window,
    limit,
    *,
    workers,
    at_once,
    deadline_s,
    seed,
    ceiling_usd,
    is_retry,
    is_sure,
    n_samples=1,
    press=(),
    horizon=None,
    condition=None,
):
    """Run the agents asked for and the baselines, print their scores and where the replies are; return the results.

    `press` are folders of dated articles that the agents asked for may search beside what the window publishes;
    `horizon` is a point of the questions' life, where they name some, other than the usual one (Early, Late, Near);
    `condition` one of WorldReasoner's six, for agents of window L.
    """
    days = list_days(window)  # raises ValueError for an unknown window
    plan = plan_run(condition, horizon, window)
    if plan.condition and not names:
        raise ValueError(f"--condition {plan.condition} needs an agent: AGENT=name")
    path = locate_ledger()
    is_named, names = names, names or [name_default(window)]
    entries, agents = gather_agents(names, window, plan)
    cutoffs = read_cutoffs([name for name in names if entries[name]["category"] != "baseline"], entries)
    press = [*list_articles(window), *press]
    condition = name_condition(plan, announce_articles(press, days))
    compared, others, prompted = split_agents(agents, condition)
    whole, events = draw_events(window, limit, seed, plan.arm)
    local = window in WINDOWS and window != "L" and not set(events["source_id"]) <= set(load_sources())
    if not is_named:
        tell(f"no agent named: baselines only, {len(events):,} events of {window}; choose by AGENT=name, LIMIT=20")
    options = {"window": window, "deadline_s": deadline_s, "drawn_from": whole}
    asking = options | {"again": (*ACCIDENTS, *(DOUBTFUL if is_retry else ())), "samples": range(n_samples)}
    limits = {"deadline_s": deadline_s, "ceiling_usd": ceiling_usd, "is_retry": is_retry}
    told = {"n_all": len(events) * n_samples, "is_limited": limit is not None or is_sure, "n_samples": n_samples}
    with ExitStack() as stack:
        prompted = prepare_prompted(prompted, entries, events, path, stack, condition, limits, told, **asking)
        tell_unbound([name for name in agents if entries[name]["method"] == FUNCTION])
        tell(f"starting the replay web, then {len(events)} events by {', '.join([*prompted, *others])} ...")
        opener = stack.enter_context(open_window(window, local=local, keeps_pages=True, articles=press))
        asking |= {"at_once": at_once, "ceiling_usd": ceiling_usd, "max_accidents": MAX_ACCIDENTS, "tries_first": True}
        run_ids, stops = ask_prompted(prompted, entries, events, opener, path, **asking)
        if n_samples > 1:
            run_ids |= ask_majorities(prompted, run_ids, events, path, n_samples, **options)
        run_ids |= run_agents(others, events, opener, path, workers=workers, **options)
    beside = judge_run(path, run_ids, events, window, plan, cutoffs)
    print(show_results(path, run_ids, events, window, compared, seed, beside))
    print(f"replies, predictions and traces: {os.path.relpath(path)}, run_id {', '.join(run_ids[n] for n in names)}")
    tell_next(path, [run_ids[name] for name in prompted if name in run_ids], stops, len(events) < len(whole))
    return collect_results(run_ids, stops)


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


def draw_events(window, limit, seed, arm):
    """Return (a window's events, those of them that a run asks), asked at an arm's moment (`asking.Plan`).

    Raises ValueError where no question of the window names it.
    """
    whole = move_moments(choose_horizon(read_window("events", window), arm.get("horizon")), arm.get("days_after"))
    if whole.empty:
        named = f"those of L and M name {', '.join(HORIZONS)}"
        raise ValueError(f"no question of window {window} says when {arm['horizon']} is; {named}")
    return whole, whole if limit is None else sample_events(whole, limit, seed)


def tell_next(path, run_ids, stops, is_sample):
    """Print why agents were stopped, and what a further run would ask."""
    if stops:
        tell("\n".join(f"daybefore run: {stop}" for stop in stops))
    if hint := describe_retry(path, run_ids):
        print(f"next: {hint}")
    if is_sample and not stops:
        print("next: a larger LIMIT, or none for all events, adds to this run; nothing is asked twice")


def describe_retry(path, run_ids):
    """Return how many questions of some runs are asked again only when that is said, as a sentence; "" for none."""
    n = count_stored(path, run_ids, DOUBTFUL)
    return f"RETRY=1 asks again, and may pay again, the {n} that timed out or whose reply could not be read" * bool(n)


def collect_results(run_ids, stops):
    """Return what `--json` prints of a run: each agent's results.json, and why agents were stopped.

    Raises PartWay, which holds it, where some were.
    """
    files = {agent: locate_output(f"data/runs/{run_id}/results.json") for agent, run_id in run_ids.items()}
    results = {"agents": {agent: json.loads(file.read_text("utf-8")) for agent, file in files.items()}}
    if stops:
        raise PartWay(results | {"stopped": stops})
    return results | {"stopped": stops}


def read_arguments(arguments):
    """Return the settings of the command line; what cannot be read ends in one sentence."""
    is_again = "--retry" in (arguments or ())
    parser = build_parser("retry") if is_again else build_parser("run", __doc__)
    parser.add_argument("--agent", action="append", help="a name in data/agents.toml; may be given several times")
    parser.add_argument("--window", default="A", help=f"{write_windows()} (default A)")
    parser.add_argument("--horizon", choices=HORIZONS, help="of window L or M: when in a question's life (default Mid)")
    parser.add_argument("--condition", help="of window L: one of WorldReasoner's six, such as Near-Resolution")
    parser.add_argument("--limit", help="number of events, shared by the levels (default: all)")
    parser.add_argument("--samples", default="1", help="answers a question (default 1)")
    parser.add_argument("--workers", default="2", help="worker processes of the baselines (default 2)")
    parser.add_argument("--at-once", default="8", help="questions at once to a provider's model (default 8)")
    parser.add_argument("--ceiling", help="US dollars that the agent may cost in all (default: no limit)")
    parser.add_argument(
        "--articles", action="append", default=[], metavar="FOLDER", help="dated articles to search (.jsonl files)"
    )
    parser.add_argument("--retry", action="store_true", help="ask again what timed out or could not be read, too")
    parser.add_argument("--yes", action="store_true", help=f"more than {MANY_PAID} paid questions without a limit")
    parser.add_argument(
        "--deadline", default=str(DEADLINE_S), help=f"seconds a question (default {DEADLINE_S}, as in FutureX)"
    )
    parser.add_argument("--sample-seed", default=str(SEED), help="another seed is another sample")
    return parser.parse_args(arguments)


def main(arguments=None):
    """Read the command line and run; a wrong setting ends in one sentence that says what to do."""
    given = read_arguments(arguments)
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOPS}
    try:
        return run(
            given.agent,
            given.window,
            None if given.limit is None else parse_positive("LIMIT", given.limit),
            workers=parse_positive("--workers", given.workers, example=2),
            deadline_s=parse_positive("--deadline", given.deadline, example=60),
            seed=parse_positive("--sample-seed", given.sample_seed, least=0, example=7),
            at_once=parse_positive("--at-once", given.at_once, example=8),
            ceiling_usd=None if given.ceiling is None else parse_amount("CEILING", given.ceiling),
            is_retry=given.retry,
            is_sure=given.yes,
            n_samples=parse_positive("SAMPLES", given.samples, example=5),
            press=given.articles,
            horizon=given.horizon,
            condition=given.condition,
        )
    except (ValueError, FileNotFoundError, RuntimeError) as problem:
        raise SystemExit(f"daybefore run: {describe_problem(problem)}") from None
    except KeyboardInterrupt as stopped:
        rest = "stopped; what was answered is stored, and the same command goes on from there"
        tell(f"daybefore run: {stopped}" if str(stopped) else f"\n{rest}")
        raise SystemExit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
