"""Recorded runs: which agent was put to which events under which condition, and their replay from what was recorded.

An arm is a table of data/arms.toml. All draw their events from one seeded order (`runs.order_events`), so that those
of a smaller one are part of a larger one's. What is recorded stands in data/runs/<arm>/: requests, run.json.
"""

import json
from pathlib import Path

import pandas as pd

from helpers.agents.registry import connect_agent, is_prompted, load_entries, read_settings
from helpers.agents.runs import order_events, run_agents
from helpers.calendar import stamp_moment
from helpers.faults import check_name, check_object
from helpers.models.llm import open_door
from helpers.models.local import get_local_name
from helpers.question_sets import PUBLIC_WINDOWS
from helpers.store import ROOT, locate_input, parse_json
from helpers.tables import RecordedRun

SEED = 20161010
"""Draws the events of all arms."""

VALUE_METHODS = ("zero_shot", "search_prompt", "graph", "search_graph")
"""Methods of one request a question, whose runs replay from values alone (`prompted.keep_values`)."""


def load_arms(path=ROOT / "data/arms.toml"):
    """Read the arms, in the order in which they are to be recorded: {arm_id: arm}. Raises ValueError naming the arm."""
    arms = read_settings(Path(path))
    entries = load_entries(wanted=[arm.get("agent") for arm in arms.values()])
    agents = [agent_id for agent_id, entry in entries.items() if is_prompted(entry)]
    for arm_id, arm in arms.items():
        check_name(f"{Path(path).name}, arm", arm_id)
        where = f"{Path(path).name}, {arm_id}"
        check_object(where, arm, RecordedRun)
        if arm["agent"] not in agents:
            raise ValueError(f"{where}: no agent {arm['agent']!r} asks a model; there are {', '.join(agents)}")
        entry, n_trials = entries[arm["agent"]], arm.get("trials", 1)
        if keeps_values(arm) and entry["method"] not in VALUE_METHODS:
            raise ValueError(
                f"{where}: of window {arm['window']} values alone are kept, and a run of several requests a question "
                f"({entry['method']}) cannot replay from them; methods that can: {', '.join(VALUE_METHODS)}"
            )
        if n_trials > 1 and get_local_name(entry) and not entry.get("options", {}).get("temperature"):
            raise ValueError(
                f"{where}: at temperature 0 a local model's {n_trials} trials are the same; write options = "
                f"{{ temperature = 0.8 }} into [{arm['agent']}] of data/agents.toml"
            )
    return arms


def keeps_values(arm):
    """Say whether of an arm's replies only values are kept, since its questions' words are not ours to pass on.

    >>> keeps_values({"window": "P"}), keeps_values({"window": "A"})
    (True, False)
    """
    return arm["window"] in PUBLIC_WINDOWS


def select_events(arm, events):
    """Return an arm's events, in the order in which they are asked, each at the moment at which it is asked."""
    levels, kinds = arm.get("levels"), arm.get("kinds")
    days = events["as_of"].str[:10]
    chosen = days.between(arm.get("first_date", ""), arm.get("last_date", "9999"))
    if levels:
        chosen &= events["level"].isin(levels)
    if kinds:
        chosen &= events["kind"].isin(kinds)
    ordered = swap_queries(order_events(events[chosen], SEED), arm.get("query_of"))
    chosen = ordered.iloc[: arm.get("n", len(ordered))]
    return move_moments(choose_horizon(chosen, arm.get("horizon")), arm.get("days_after"))


def choose_horizon(events, horizon):
    """Return events as asked at a point of their life, those that have it; as they are for None (WorldReasoner 5.3).

    >>> table = pd.DataFrame({"as_of": ["2024-03-01"], "metadata": ['{"moments": {"Early": "2024-02-01"}}']})
    >>> choose_horizon(table, "Early")["as_of"].tolist(), choose_horizon(table, "Late")["as_of"].tolist()
    (['2024-02-01'], [])
    """
    if horizon is None:
        return events
    moments = [(parse_json(cell) or {}).get("moments", {}).get(horizon) for cell in events["metadata"]]
    return events.assign(as_of=moments).dropna(subset=["as_of"])


def swap_queries(events, query_of):
    """Return events with another's question as the column `query`, a negative control of what a search brings.

    It is that of the event half the table further, or of the next one of another cluster. As they are for None.

    >>> table = pd.DataFrame({"prompt": ["rain?", "gold?", "snow?"], "cluster_id": ["w", "g", "w"]})
    >>> swap_queries(table, "another")["query"].tolist()
    ['gold?', 'snow?', 'gold?']
    """
    if query_of is None:
        return events
    n, clusters, queries = len(events), events["cluster_id"].tolist(), []
    for at in range(n):
        turns = ((at + n // 2 + step) % n for step in range(n))
        other = next((turn for turn in turns if clusters[turn] != clusters[at]), None)
        queries.append("" if other is None else events["prompt"].iloc[other])
    return events.assign(query=queries)


def move_moments(events, days_after):
    """Return events as asked so many days after their resolution; as they are for None (FutureX 4.5.1)."""
    if days_after is None:
        return events
    moments = pd.to_datetime(events["resolves_at"]) + pd.Timedelta(days=days_after)
    return events.assign(as_of=[stamp_moment(moment) for moment in moments])


def read_run(arm_id):
    """Return an arm's run.json: what was recorded, of which events, with which totals. Raises FileNotFoundError."""
    return json.loads(locate_input(f"data/runs/{arm_id}/run.json").read_text(encoding="utf-8"))


def list_recorded(arm_id, trials=1):
    """Return an arm's events that are complete as {event_id: seconds}, in the order in which they were asked.

    None is where it was recorded with fewer `trials` an event; the seconds are those of all its trials.
    """
    try:
        facts = read_run(arm_id)
    except FileNotFoundError:
        return {}
    return facts["seconds"] if facts.get("trials", 1) >= trials else {}


def replay_arms(arm_ids, opener, ledger, *, events, about_world=None):
    """Put each arm's agent to the events it was recorded on, its model's replies from the recordings; {arm_id: run_id}.

    Everything but the model happens again: prompts, searches, pages, parsing. `events` maps windows to their tables;
    `about_world` says in the runs' conditions what else the world publishes (`news.describe_articles`).
    Arms of which nothing is recorded are left out. A request that is not recorded is a missing prediction whose reason
    names the command that would record it.
    """
    arms, entries, run_ids = load_arms(), load_entries(), {}
    for arm_id in arm_ids:
        arm, n_trials = arms[arm_id], arms[arm_id].get("trials", 1)
        done = list_recorded(arm_id, n_trials)
        chosen = select_events(arm, events[arm["window"]])
        chosen = chosen[chosen["event_id"].isin(done)]
        if chosen.empty:
            continue
        door = open_door(arm_id, command=f"make record ARM={arm_id}")
        agent = connect_agent(entries[arm["agent"]], door)
        agent["condition"] = "; ".join(filter(None, [describe_condition(arm), about_world])) or None
        asked = {"window": arm["window"], "progress": False, "samples": range(n_trials)}
        run_ids[arm_id] = run_agents({arm["agent"]: agent}, chosen, opener, ledger, **asked)[arm["agent"]]
    return run_ids


def describe_condition(arm):
    """Return the condition of an arm's run, None for the usual one.

    >>> describe_condition({"days_after": 1})
    'asked 1 day after the resolution'
    >>> describe_condition({"days_after": 7}), describe_condition({"query_of": "another"}), describe_condition({})
    ('asked 7 days after the resolution', "searched with another's question", None)
    """
    days = arm.get("days_after")
    told = [] if days is None else [f"asked {days} day{'s' * (days != 1)} after the resolution"]
    told += ["searched with another's question"] * ("query_of" in arm)
    told += [f"asked at {arm['horizon']}"] if "horizon" in arm else []
    return "; ".join(told) or None
