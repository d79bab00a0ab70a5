"""`make run AGENT=name LIMIT=20`: put agents to a sample of events, beside the baselines, and show their scores."""

import argparse
import os
from contextlib import ExitStack, closing

from helpers.agents.arms import SEED, list_recorded
from helpers.agents.ledger import ACCIDENTS, LEDGER, list_done, open_ledger
from helpers.agents.prompts import fill_prompt
from helpers.agents.registry import check_entry, connect_agent, load_agents, load_entries, read_prices
from helpers.agents.runs import DEADLINE_S, Stopped, describe_run, order_events, run_agents, sample_events
from helpers.calendar import list_days
from helpers.commands.results import show_results
from helpers.models.costs import get_prices
from helpers.models.llm import open_door
from helpers.models.local import get_local_name, open_model
from helpers.store import locate_output, read_table
from helpers.world.crawl import open_world
from helpers.world.sources import load_sources

MANY_PAID = 50
"""Questions to a paid model that need a LIMIT or a yes."""

N_REPLY = 300
"""Tokens that a reply is taken to have in the estimate before a run."""

MAX_ACCIDENTS = 10
"""Accidents in a row after which an agent is not asked on: its server is gone, or its key."""


def parse_positive(name, text):
    """Return a positive whole number. Raises ValueError that names the setting.

    >>> parse_positive("LIMIT", "20")
    20
    >>> parse_positive("LIMIT", "all")
    Traceback (most recent call last):
        ...
    ValueError: LIMIT must be a positive whole number such as 20, not 'all'
    """
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name} must be a positive whole number such as 20, not {text!r}")
    return int(text)


def choose_agents(registry, names):
    """Return the agents asked for and every baseline. Raises ValueError that lists the names there are.

    >>> choose_agents({"last_value": {"category": "baseline"}}, ["oracle"])
    Traceback (most recent call last):
        ...
    ValueError: no agent is called 'oracle'; there are last_value; to add it, write [oracle] into data/agents.toml
    """
    for name in names:
        if name not in registry:
            known = ", ".join(registry)
            advice = f"to add it, write [{name}] into data/agents.toml"
            raise ValueError(f"no agent is called {name!r}; there are {known}; {advice}")
    return {key: agent for key, agent in registry.items() if key in names or agent["category"] == "baseline"}


def connect_prompted(agent_id, entry, window, events, stack, *, deadline_s, ceiling_usd):
    """Return an agent that asks a language model, its model within reach; only what is not recorded will be asked.

    Raises ValueError with what to do when the model cannot be reached: no such model, no key, no server, no network.
    """
    run_id = f"{agent_id}-{window}"
    is_live = not set(events["event_id"]) <= set(list_recorded(run_id))
    problem = check_entry(entry) if is_live else None
    if problem:
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    prices, is_free = read_prices(entry), bool(get_local_name(entry))
    if ceiling_usd is not None and not is_free and prices is None and get_prices(entry["model"]) is None:
        raise ValueError(
            f"{agent_id}: no price is known for {entry['model']}, so no ceiling can be held; write usd_per_million = "
            "{ input = ..., output = ... } into its table in data/agents.toml, or leave the ceiling out"
        )
    connection = open_model(entry, stack) if is_live else None
    settings = {"deadline_s": deadline_s, "prices": prices, "command": f"make run AGENT={agent_id}"}
    settings["ceiling_usd"] = None if is_free else ceiling_usd
    door = open_door(run_id, live=is_live, connection=connection, **settings)
    stack.callback(door.recordings.close)
    return connect_agent(entry, door)


def count_unanswered(path, agent_id, agent, events, *, window, drawn_from, deadline_s):
    """Return the events that neither an earlier run's ledger nor a recording answers."""
    run_id = describe_run(agent_id, agent, drawn_from, window=window, deadline_s=deadline_s)["run_id"]
    done = set(list_recorded(f"{agent_id}-{window}"))
    if path.exists():
        with closing(open_ledger(path)) as ledger:
            done |= list_done(ledger, run_id)
    return events[~events["event_id"].isin(done)]


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
    cost = n_tokens * prices[0] + len(events) * N_REPLY * prices[1]
    return f"{told} and {cost:.4f} USD; what it looks up or thinks comes on top", cost > 0


def announce(agent_id, entry, events, *, is_limited):
    """Print what a run will ask and take, before the first request.

    Raises ValueError when many questions would be paid for and nobody has said how many.
    """
    told, is_paid = estimate_cost(entry, events)
    if is_paid and len(events) > MANY_PAID and not is_limited:
        raise ValueError(f"{agent_id}: {told}; say how many (LIMIT=20), or YES=1 for all; nothing was asked")
    if len(events):
        print(f"{agent_id}: {told}", flush=True)


def try_first(agent_id, agent, events, world):
    """Ask an agent its first question; raises ValueError when its model gives no reply, with the reason.

    The reply is recorded, so it is not asked a second time.
    """
    first = order_events(events).iloc[0].to_dict()
    outcome = agent["forecast"](first, world)
    if outcome.get("status") in ("error", "timeout", "unsupported", "over_budget"):  # nothing is stored of it yet
        raise ValueError(f"{agent_id}: its model did not answer the first question: {outcome['reason']}")


def run(names, window, limit, *, workers, at_once, deadline_s, seed, ceiling_usd, is_retry, is_sure):
    """Run the agents asked for and the baselines, print their scores and where the replies are."""
    entries = load_entries()
    agents = load_agents()
    chosen = choose_agents({name: agents.get(name, entry) for name, entry in entries.items()}, names)
    baselines = {name: agent for name, agent in chosen.items() if name in agents}
    list_days(window)  # raises ValueError for an unknown window
    whole = read_table("events", window)
    events = whole if limit is None else sample_events(whole, limit, seed)
    local = not set(events["source_id"]) <= set(load_sources())
    path = locate_output(LEDGER)
    options = {"window": window, "deadline_s": deadline_s, "drawn_from": whole}
    with ExitStack() as stack:
        opener = stack.enter_context(open_world(local=local, keeps_pages=True))
        limits, prompted = {"deadline_s": deadline_s, "ceiling_usd": ceiling_usd}, {}
        for name in [name for name in chosen if name not in agents]:
            prompted[name] = connect_prompted(name, entries[name], window, events, stack, **limits)
            left = count_unanswered(path, name, prompted[name], events, **options)
            announce(name, entries[name], left, is_limited=limit is not None or is_sure)
            try_first(name, prompted[name], events, opener())
        run_ids = run_agents(baselines, events, opener, path, workers=workers, **options)
        options |= {"again": (*ACCIDENTS, *["timeout"] * is_retry), "max_accidents": MAX_ACCIDENTS, "mode": "thread"}
        stops = []
        for name, agent in prompted.items():
            n = 1 if get_local_name(entries[name]) else at_once
            try:
                run_ids |= run_agents({name: agent}, events, opener, path, workers=n, **options)
            except Stopped as stopped:
                run_ids |= stopped.run_ids
                stops.append(f"{name} was stopped: {stopped}")
    print(show_results(path, run_ids, events, window, list(baselines), seed))
    print(f"replies, predictions and traces: {os.path.relpath(path)}, run_id {', '.join(run_ids[n] for n in names)}")
    print("next: a larger LIMIT, or none for all events, adds to this run; nothing is asked twice")
    if stops:
        raise RuntimeError(
            "\n".join(stops)
            + "\nWhat was answered is stored; the same command asks for the rest, and for accidents again."
        )


def main(arguments=None):
    """Read the command line and run; a wrong setting ends in one sentence that says what to do."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--agent", action="append", help="a name in data/agents.toml; may be given several times")
    parser.add_argument("--window", default="A", help="A, C1 or C2 (default A)")
    parser.add_argument("--limit", help="number of events, shared by the levels (default: all)")
    parser.add_argument("--workers", default="2", help="worker processes of the baselines (default 2)")
    parser.add_argument("--at-once", default="8", help="questions at once to a provider's model (default 8)")
    parser.add_argument("--ceiling", type=float, help="US dollars that the agent may cost in all (default: no limit)")
    parser.add_argument("--retry", action="store_true", help="ask again what timed out, too")
    parser.add_argument("--yes", action="store_true", help=f"more than {MANY_PAID} paid questions without a limit")
    parser.add_argument(
        "--deadline", default=str(DEADLINE_S), help=f"seconds a question (default {DEADLINE_S}, as in FutureX)"
    )
    parser.add_argument("--sample-seed", default=SEED, type=int, help="another seed is another sample")
    given = parser.parse_args(arguments)
    try:
        run(
            given.agent or ["last_value"],
            given.window,
            None if given.limit is None else parse_positive("LIMIT", given.limit),
            workers=parse_positive("--workers", given.workers),
            deadline_s=parse_positive("--deadline", given.deadline),
            seed=given.sample_seed,
            at_once=parse_positive("--at-once", given.at_once),
            ceiling_usd=given.ceiling,
            is_retry=given.retry,
            is_sure=given.yes,
        )
    except (ValueError, FileNotFoundError, RuntimeError) as problem:
        raise SystemExit(f"make run: {problem}") from None
    except KeyboardInterrupt:
        raise SystemExit("\nstopped; what was answered is stored, and the same command goes on from there") from None


if __name__ == "__main__":
    main()
