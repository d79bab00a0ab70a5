"""`make run AGENT=name LIMIT=20`: put agents to a sample of events, beside the baselines, and show their scores."""

import argparse
import os
from contextlib import ExitStack

import numpy as np
import pandas as pd

from helpers.agents.arms import SEED, list_recorded
from helpers.agents.ledger import LEDGER, read_runs
from helpers.agents.registry import check_entry, connect_agent, load_agents, load_entries
from helpers.agents.runs import DEADLINE_S, order_events, run_agents, sample_events
from helpers.calendar import list_days
from helpers.estimates.groups import summarize_groups
from helpers.estimates.intervals import summarize_means
from helpers.models.llm import open_door
from helpers.models.local import get_local_name, open_model
from helpers.outcomes.scores import build_matrix, score_predictions, select_headline
from helpers.store import locate_output, read_table
from helpers.world.crawl import open_world
from helpers.world.sources import load_sources


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


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a ledger's table for these events only: a run may already hold more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def summarize_agents(scores, events, rng):
    """Return a row an agent, best first: n predicted, coverage, mean score with its 95% interval, means by level (n).

    The mean is over the events that were predicted and can be scored; coverage is their share of those that can.
    """
    rows = select_headline(scores, events)
    agents = sorted(rows["agent_id"].unique())
    matrix = build_matrix(rows, agents)
    found = summarize_means(matrix, rng)
    table = pd.DataFrame({"n": found["n"], "coverage": matrix.notna().mean(), "score": found["mean"]})
    table["95% interval"] = [f"{low:.2f} to {high:.2f}" for low, high in found[["low", "high"]].to_numpy()]
    levels = summarize_groups(scores, events, rng)
    for level, part in levels.groupby("level"):
        part = part.set_index("agent_id").reindex(agents)
        table[f"level {level}"] = [f"{mean:.2f} ({n})" for mean, n in zip(part["mean"], part["n"], strict=True)]
    return table.sort_values("score", ascending=False, kind="stable").rename_axis("agent")


def measure_costs(replies, run_ids):
    """Return, by agent, US dollars spent (blank: no price is known), mean seconds a question, and what is missing."""
    agents = replies["run_id"].map({run_id: agent_id for agent_id, run_id in run_ids.items()})
    replies = replies.assign(agent=agents)
    groups = replies.groupby("agent")
    table = pd.DataFrame({"USD": groups["cost_usd"].agg(lambda cost: pd.to_numeric(cost).sum(min_count=1))})
    table["s a question"] = groups["duration_s"].mean()
    counts = replies[replies["status"] != "ok"].groupby("agent")["status"].value_counts()
    table["missing"] = [
        ", ".join(f"{n} {status}" for status, n in counts.get(agent, pd.Series(dtype=int)).items()) or "none"
        for agent in table.index
    ]
    return table


def show_results(path, run_ids, events, window, rng):
    """Return the text shown after a run: the scores where there are answers, the costs, what to do next."""
    replies = read_sampled(path, "replies", run_ids, events, timings=True)
    costs = measure_costs(replies, run_ids)
    try:
        predictions = read_sampled(path, "predictions", run_ids, events)
        answers = read_table("answers", window)
        table = summarize_agents(score_predictions(predictions, answers, events), events, rng).join(costs)
        note = "score: mean over the events predicted, 0 to 1; level: mean (n)"
    except FileNotFoundError as problem:
        table, note = costs, f"no scores yet: {problem}"
    except ValueError as problem:
        table, note = costs, f"no scores: {problem}"
    formats = {"coverage": "{:.0%}".format, "score": "{:.3f}".format, "USD": "{:.4f}".format}
    formats["s a question"] = "{:.3f}".format
    text = table.reset_index().to_string(index=False, formatters=formats, na_rep="-")
    return f"\n{text}\n\n{len(events)} events of window {window}; {note}{list_reasons(replies)}"


def list_reasons(replies, n=3):
    """Return the `n` most frequent reasons why there is no prediction, one a line, each with how often it was given."""
    counts = replies.loc[replies["status"] != "ok", "reason"].value_counts().sort_index().nlargest(n)
    return "".join(f"\nmissing, {n_times} times: {reason}" for reason, n_times in counts.items())


def connect_prompted(agent_id, entry, window, events, stack, *, deadline_s, ceiling_usd):
    """Return an agent that asks a language model, its model within reach; only what is not recorded will be asked.

    Raises ValueError with what to do when the model cannot be reached: no such model, no key, no server, no network.
    """
    run_id = f"{agent_id}-{window}"
    is_live = not set(events["event_id"]) <= set(list_recorded(run_id))
    problem = check_entry(entry) if is_live else None
    if problem:
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    connection = open_model(entry, stack) if is_live else None
    settings = {"deadline_s": deadline_s, "ceiling_usd": ceiling_usd, "command": f"make run AGENT={agent_id}"}
    door = open_door(run_id, live=is_live, connection=connection, **settings)
    stack.callback(door.recordings.close)
    return connect_agent(entry, door)


def try_first(agent_id, agent, events, world):
    """Ask an agent its first question; raises ValueError when its model gives no reply, with the reason.

    The reply is recorded, so it is not asked a second time.
    """
    first = order_events(events).iloc[0].to_dict()
    outcome = agent["forecast"](first, world)
    if outcome.get("status") in ("error", "timeout", "unsupported", "over_budget"):
        raise ValueError(f"{agent_id}: its model did not answer the first question: {outcome['reason']}")


def run(names, window, limit, *, workers, at_once, deadline_s, seed, ceiling_usd):
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
            try_first(name, prompted[name], events, opener())
        run_ids = run_agents(baselines, events, opener, path, workers=workers, **options)
        for name, agent in prompted.items():
            n = 1 if get_local_name(entries[name]) else at_once
            run_ids |= run_agents({name: agent}, events, opener, path, workers=n, mode="thread", **options)
    print(show_results(path, run_ids, events, window, np.random.default_rng(seed)))
    print(f"replies, predictions and traces: {os.path.relpath(path)}, run_id {', '.join(run_ids[n] for n in names)}")
    print("next: a larger LIMIT, or none for all events, adds to this run; nothing is asked twice")


def main(arguments=None):
    """Read the command line and run; a wrong setting ends in one sentence that says what to do."""
    parser = argparse.ArgumentParser(prog="make run", description=__doc__)
    parser.add_argument("--agent", action="append", help="a name in data/agents.toml; may be given several times")
    parser.add_argument("--window", default="A", help="A, C1 or C2 (default A)")
    parser.add_argument("--limit", help="number of events, shared by the levels (default: all)")
    parser.add_argument("--workers", default="2", help="worker processes of the baselines (default 2)")
    parser.add_argument("--at-once", default="8", help="questions at once to a provider's model (default 8)")
    parser.add_argument("--ceiling", type=float, help="US dollars that the agent may cost in all (default: no limit)")
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
        )
    except (ValueError, FileNotFoundError, RuntimeError) as problem:
        raise SystemExit(f"make run: {problem}") from None
    except KeyboardInterrupt:
        raise SystemExit("\nstopped; what was answered is stored, and the same command goes on from there") from None


if __name__ == "__main__":
    main()
