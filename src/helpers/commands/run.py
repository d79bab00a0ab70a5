"""`daybefore run --agent name --limit 20` (make run AGENT=name LIMIT=20): put agents to a sample of events.

The baselines run beside them; their scores are shown.
"""

import json
import os
import signal
import sys
from contextlib import ExitStack, closing
from functools import partial

import pandas as pd

from helpers.agents.arms import SEED, list_recorded
from helpers.agents.ledger import ACCIDENTS, DOUBTFUL, LEDGER, list_done, open_ledger, read_runs
from helpers.agents.prompts import fill_prompt
from helpers.agents.registry import (
    FUNCTION,
    check_entry,
    connect_agent,
    count_replies,
    describe_recorded,
    load_agents,
    load_entries,
    read_prices,
)
from helpers.agents.runs import DEADLINE_S, describe_run, run_agents, sample_events
from helpers.agents.samples import make_majority, select_whole, summarize_spread
from helpers.agents.stops import Stopped
from helpers.agents.workers import STOPS
from helpers.boards.past import choose_baselines, list_articles, read_window
from helpers.calendar import PUBLIC_WINDOWS, list_days, write_windows
from helpers.commands.main import PartWay, build_parser, parse_amount, parse_positive
from helpers.commands.results import show_results
from helpers.models.costs import bound_cost, describe_spent, get_prices, name_prices, write_usd
from helpers.models.llm import open_door
from helpers.models.local import get_local_name, open_model
from helpers.store import locate_output
from helpers.world.checks import list_nearest
from helpers.world.crawl import open_world
from helpers.world.news import describe_articles, read_feeds
from helpers.world.sources import load_sources

MANY_PAID = 50
"""Questions to a paid model that need a LIMIT or a yes."""

N_REPLY = 300
"""Tokens that a reply is taken to have in the estimate before a run."""

SHORT = 500
"""Tokens of a reply that are enough for most answers; said where the bound of a request is too much."""

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


def tell(text):
    """Print what a run is doing now: on standard error, so that standard output is its result."""
    print(text, file=sys.stderr, flush=True)


# --- before the first request ----------------------------------------------------------------------------------------


def count_unanswered(path, agent_id, agent, events, *, window, drawn_from, deadline_s, again, samples):
    """Return the events that neither an earlier run's ledger nor a packed recording answers, a row for each repeat.

    The column `sample` says which.
    """
    run_id = describe_run(agent_id, agent, drawn_from, window=window, deadline_s=deadline_s)["run_id"]
    done = set() if agent.get("condition") else {(name, 0) for name in list_recorded(f"{agent_id}-{window}")}
    if path.exists():
        with closing(open_ledger(path)) as ledger:
            done |= list_done(ledger, run_id, again)
    asked = [(event_id, n) for n in samples for event_id in events["event_id"]]
    keep = [key not in done for key in asked]
    return pd.concat([events.assign(sample=n) for n in samples], ignore_index=True)[keep]


def connect_prompted(agent_id, entry, left, window, stack, *, deadline_s, ceiling_usd, is_retry):
    """Return an agent that asks a language model, its model within reach when questions are `left` to ask it.

    Raises ValueError with what to do when the model cannot be reached: no such model, no key, no server, no network.
    """
    run_id, is_live, is_free = f"{agent_id}-{window}", len(left) > 0, bool(get_local_name(entry))
    problem = check_entry(entry) if is_live else None
    if problem:
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    prices = read_prices(entry)
    if is_live and ceiling_usd is not None and not is_free and prices is None and get_prices(entry["model"]) is None:
        raise ValueError(
            f"{agent_id}: no price is known for {entry['model']}, so no ceiling can be held; write usd_per_million = "
            "{ input = ..., output = ... } into its table in data/agents.toml, or leave the ceiling out"
        )
    if is_live and is_free:
        tell(f"{agent_id}: starting its model on this machine ...")
    connection = open_model(entry, stack) if is_live else None
    settings = {"deadline_s": deadline_s, "prices": prices, "command": f"make run AGENT={agent_id}"}
    settings |= {"ceiling_usd": None if is_free or not is_live else ceiling_usd, "rereads": is_retry}
    door = open_door(run_id, live=is_live, connection=connection, **settings)
    stack.callback(door.recordings.close)
    if is_live:
        check_bound(agent_id, entry, left, door)
    elif door.recordings.rows:
        tell(f"{agent_id}: nothing is left to ask, replies are recorded under {door.recordings.folder}")
    return connect_agent(entry, door), door


def check_bound(agent_id, entry, left, door):
    """Raise ValueError when the ceiling leaves no room for one request, with the reason in tokens and dollars."""
    if door.ceiling_usd is None:
        return
    options, prices = entry.get("options", {}), name_prices(door, entry["model"])
    prompt = max((fill_prompt(event) for event in left.to_dict("records")), key=len)
    request = {"model": entry["model"], "messages": [{"role": "user", "content": prompt}], "options": options}
    bound, room = bound_cost(door, request), door.ceiling_usd - door.spent_usd
    if bound <= room:
        return
    n_output = options.get("max_completion_tokens") or options.get("max_tokens") or prices[2]
    n_input = round((bound - n_output * prices[1]) / prices[0]) if prices[0] else len(prompt)
    least = bound_cost(door, request | {"options": options | {"max_tokens": SHORT}})
    advice = f"a CEILING above {write_usd(door.spent_usd + bound)} makes room"
    if n_output > SHORT and least < bound:
        advice += f", and so does options = {{ max_tokens = {SHORT} }} in its table: {write_usd(least)} USD a request"
        if n_recorded := count_replies(door.recordings):
            advice += f" (with other options {n_recorded} recorded replies no longer apply: their questions cost anew)"
    raise ValueError(
        f"{agent_id}: the ceiling leaves no room for a request: {describe_spent(door)}, "
        f"and one can cost {write_usd(bound)} USD, by {n_input:,} "
        f"tokens of prompt and up to {n_output:,} of reply; {advice}; nothing was asked"
    )


def estimate_cost(entry, events):
    """Return a sentence on what asking a model about events takes, and whether it is paid for.

    Tokens are a quarter of the questions' bytes, as a rule of thumb; what an agent looks up comes on top.
    """
    n_tokens = sum(len(fill_prompt(event).encode()) for event in events.to_dict("records")) // 4
    told = f"{len(events)} questions to ask of {entry['model']}, about {n_tokens:,} tokens"
    if get_local_name(entry):
        return f"{told}; the model runs on this machine", False
    prices = read_prices(entry) or get_prices(entry["model"])
    if prices is None:
        return f"{told}; no price is known for this model", not entry.get("api_base")
    longest = entry.get("options", {}).get("max_tokens") or N_REPLY
    cost = n_tokens * prices[0] + len(events) * min(N_REPLY, longest) * prices[1]
    return f"{told} and {write_usd(cost)} USD; what it looks up or thinks comes on top", cost > 0


def announce(agent_id, entry, left, whole, door, *, n_all, is_limited, n_samples):
    """Print what a run will ask and take, before the first request; `n_all`: with what has its reply already.

    Raises ValueError when many questions would be paid for and nobody has said how many.
    """
    if left.empty:
        return
    told, is_paid = estimate_cost(entry, left)
    if is_paid and len(left) > MANY_PAID and not is_limited:
        raise ValueError(f"{agent_id}: {told}; say how many (LIMIT=20), or YES=1 for all; nothing was asked")
    print(f"{agent_id}: {told}", flush=True)
    if len(left) < n_all:
        print(
            f"{agent_id}: {n_all - len(left)} of {n_all} questions have their replies; {len(left)} are left", flush=True
        )
    elif recorded := describe_recorded(entry, left, whole, door.recordings):
        print(f"{agent_id}: {recorded}", flush=True)
    if n_samples > 1 and (get_local_name(entry) or entry.get("options", {}).get("temperature") == 0):
        print(f"{agent_id}: it answers at temperature 0, where all {n_samples} samples of a question are equal")


def announce_articles(paths):
    """Print how many articles a run may search; return what they add to its agents: a condition, nothing without any.

    Raises what `news.read_feed` does.
    """
    for feed in read_feeds(paths).values():
        refused = f"; {len(feed.refused)} were left out, as they are undated" if feed.refused else ""
        tell(f"{feed.name}: {len(feed.articles)} dated articles at {feed.address}{refused}")
    return {"condition": describe_articles(paths)} if paths else {}


def tell_unbound(names):
    """Print what the replay web's clock does not bind in functions of the reader's own."""
    if names:
        told = "the clock binds only what it gets through `world`; files it opens, and any other network, may be later"
        tell(f"{', '.join(names)}: your own function: {told}")


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
    rest = "what was answered is stored; the same command asks for the rest, and for accidents again"
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
            reason = explain_stop(name, stopped, ceiling_usd)
            if stopped.cause == "signal":
                n = len(read_runs(path, "replies", stopped.run_ids.values()))
                raise Interrupted(f"{reason} ({n} are stored)") from None
            if stopped.cause == "first" and not run_ids:
                raise ValueError(reason) from None
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
            agent = {f"{name}-majority": make_majority(path, run_ids[name], agents[name], n_samples)}
            again = ("ok", *ACCIDENTS)
            made |= run_agents(agent, whole, dict, path, workers=1, mode="thread", again=again, **options)
            print(f"{name}: {summarize_spread(path, run_ids[name], whole, n_samples)}")
    return made


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after what was under way has been stored."""


def run(
    names, window, limit, *, workers, at_once, deadline_s, seed, ceiling_usd, is_retry, is_sure, n_samples=1, press=()
):
    """Run the agents asked for and the baselines, print their scores and where the replies are; return the results.

    `press` are folders of dated articles that the agents asked for may search beside what the window publishes.
    """
    list_days(window)  # raises ValueError for an unknown window
    is_named, names = names, names or ["base_rate" if window in PUBLIC_WINDOWS else "last_value"]
    entries, agents = choose_baselines(window, load_entries(wanted=names), load_agents(wanted=names), names)
    chosen = choose_agents({name: agents.get(name, entry) for name, entry in entries.items()}, names)
    press = [*list_articles(window), *press]
    condition = announce_articles(press)
    baselines = {
        name: agent | (condition if agent["category"] != "baseline" else {})
        for name, agent in chosen.items()
        if name in agents
    }
    whole = read_window("events", window)
    events = whole if limit is None else sample_events(whole, limit, seed)
    local = window not in PUBLIC_WINDOWS and not set(events["source_id"]) <= set(load_sources())
    if not is_named:
        tell(f"no agent named: baselines only, {len(events):,} events of {window}; choose by AGENT=name, LIMIT=20")
    path, options = locate_output(LEDGER), {"window": window, "deadline_s": deadline_s, "drawn_from": whole}
    asking = {"again": (*ACCIDENTS, *(DOUBTFUL if is_retry else ())), "samples": range(n_samples)}
    with ExitStack() as stack:
        prompted, limits = {}, {"deadline_s": deadline_s, "ceiling_usd": ceiling_usd, "is_retry": is_retry}
        told = {"n_all": len(events) * n_samples, "is_limited": limit is not None or is_sure, "n_samples": n_samples}
        for name in [name for name in chosen if name not in agents]:
            agent = connect_agent(entries[name], None) | condition
            left = count_unanswered(path, name, agent, events, **options, **asking)
            agent, door = connect_prompted(name, entries[name], left, window, stack, **limits)
            prompted[name] = agent | condition
            announce(name, entries[name], left, whole, door, **told)
        tell_unbound([name for name in chosen if entries[name]["method"] == FUNCTION])
        tell(f"starting the replay web, then {len(events)} events by {', '.join([*prompted, *baselines])} ...")
        opener = stack.enter_context(open_world(local=local, keeps_pages=True, articles=press))
        asking |= {"at_once": at_once, "ceiling_usd": ceiling_usd, "max_accidents": MAX_ACCIDENTS, "tries_first": True}
        run_ids, stops = ask_prompted(prompted, entries, events, opener, path, **options, **asking)
        if n_samples > 1:
            run_ids |= ask_majorities(prompted, run_ids, events, path, n_samples, **options)
        run_ids |= run_agents(baselines, events, opener, path, workers=workers, **options)
    compared = [name for name, agent in baselines.items() if agent["category"] == "baseline"]
    print(show_results(path, run_ids, events, window, compared, seed))
    print(f"replies, predictions and traces: {os.path.relpath(path)}, run_id {', '.join(run_ids[n] for n in names)}")
    if stops:
        tell("\n".join(f"daybefore run: {stop}" for stop in stops))
        raise PartWay(collect_results(run_ids, stops))
    tell_retry(path, [run_ids[name] for name in prompted])
    if limit is not None and len(events) < len(whole):
        print("next: a larger LIMIT, or none for all events, adds to this run; nothing is asked twice")
    return collect_results(run_ids, [])


def tell_retry(path, run_ids):
    """Print how many questions of some runs have no whole reply and are asked again only when that is said."""
    replies = read_runs(path, "replies", run_ids) if run_ids else pd.DataFrame({"status": []})
    if n := int(replies["status"].isin(DOUBTFUL).sum()):
        print(f"next: RETRY=1 asks again, and may pay again, the {n} that timed out or whose reply could not be read")


def collect_results(run_ids, stops):
    """Return what `--json` prints of a run: each agent's results.json, and why agents were stopped."""
    files = {agent: locate_output(f"data/runs/{run_id}/results.json") for agent, run_id in run_ids.items()}
    return {"agents": {agent: json.loads(file.read_text("utf-8")) for agent, file in files.items()}, "stopped": stops}


def read_arguments(arguments):
    """Return the settings of the command line; what cannot be read ends in one sentence."""
    is_again = "--retry" in (arguments or ())
    parser = build_parser("retry") if is_again else build_parser("run", __doc__)
    parser.add_argument("--agent", action="append", help="a name in data/agents.toml; may be given several times")
    parser.add_argument("--window", default="A", help=f"{write_windows()}, FutureX's past questions (default A)")
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
        )
    except (ValueError, FileNotFoundError, RuntimeError) as problem:
        raise SystemExit(f"daybefore run: {problem}") from None
    except KeyboardInterrupt as stopped:
        rest = "stopped; what was answered is stored, and the same command goes on from there"
        tell(f"daybefore run: {stopped}" if str(stopped) else f"\n{rest}")
        raise SystemExit(130) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    main()
