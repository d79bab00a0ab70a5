"""Recorded runs: which agent was put to which events under which condition, their replay, and what
they tell of a run.

An arm is a table of data/arms.toml. All draw their events from one seeded order
(`run_loop.order_events`), so that those of a smaller one are part of a larger one's. What is
recorded stands in data/runs/<arm>/: requests, run.json.
"""

import json

import numpy as np
import pandas as pd

from daybefore.agents.registry import PROMPTED, connect_agent, load_entries, read_settings
from daybefore.agents.run_loop import order_events, run_agents
from daybefore.agents.when_asked import describe_condition, tell_asked
from daybefore.models.client import open_door
from helpers.clock import stamp_moment
from helpers.files import ROOT, locate_input, parse_json
from helpers.input_faults import check_name, check_object
from helpers.tables import RecordedRun

SEED = 20161010
"""Draws the events of all arms."""


def load_recorded_runs(path=ROOT / "data/arms.toml"):
    """Read the arms, in the order in which they are to be recorded: {arm_id: arm}. Raises
    ValueError naming the arm."""
    arms = read_settings(path)
    entries = load_entries(wanted=[arm.get("agent") for arm in arms.values()])
    agents = [agent_id for agent_id, entry in entries.items() if entry["method"] in PROMPTED]
    for arm_id, arm in arms.items():
        check_name(f"{path.name}, arm", arm_id)
        check_object(f"{path.name}, {arm_id}", arm, RecordedRun)
        if arm["agent"] not in agents:
            raise ValueError(
                f"{path.name}, {arm_id}: {arm['agent']} asks no model; those do: {', '.join(agents)}"
            )
    return arms


def select_events(arm, events):
    """Return an arm's events, in the order in which they are asked, each at the moment at which it
    is asked."""
    chosen = (
        events["as_of"].str[:10].between(arm.get("first_date", ""), arm.get("last_date", "9999"))
    )
    for column, named in (("level", arm.get("levels")), ("kind", arm.get("kinds"))):
        chosen &= events[column].isin(named) if named else True
    ordered = order_events(events[chosen], SEED)
    if "query_of" in arm:
        ordered = ordered.assign(query=swap_queries(ordered))
    return move_moments(
        ordered.iloc[: arm.get("n", len(ordered))], arm.get("horizon"), arm.get("days_after")
    )


def swap_queries(events):
    """Return another's question for each event, a negative control of what a search brings.

    It is that of the event half the table further, or of the next one of another cluster; "" where
    there is none.

    >>> swap_queries(pd.DataFrame({"prompt": ["rain?", "gold?", "snow?"], "cluster_id": ["w", "g", "w"]}))
    ['gold?', 'snow?', 'gold?']
    """
    rows = list(zip(events["prompt"], events["cluster_id"], strict=True))
    n = len(events)
    queries = []
    for at, (_, cluster) in enumerate(rows):
        others = (rows[(at + n // 2 + step) % n] for step in range(n))
        queries.append(next((prompt for prompt, other in others if other != cluster), ""))
    return queries


def move_moments(events, horizon=None, days_after=None):
    """Return events as asked at a point of their life, those that have it (WorldReasoner 5.3), or
    after their end.

    `days_after`: so many days after the resolution (FutureX 4.5.1). As they are without either.

    >>> table = pd.DataFrame({"as_of": ["2024-03-01"], "metadata": ['{"moments": {"Early": "2024-02-01"}}']})
    >>> move_moments(table, "Early")["as_of"].tolist(), move_moments(table, "Late")["as_of"].tolist()
    (['2024-02-01'], [])
    """
    if horizon:
        moments = [
            (parse_json(cell) or {}).get("moments", {}).get(horizon) for cell in events["metadata"]
        ]
        events = events.assign(as_of=moments).dropna(subset=["as_of"])
    if days_after is not None:
        moments = pd.to_datetime(events["resolves_at"]) + pd.Timedelta(days=days_after)
        events = events.assign(as_of=[stamp_moment(moment) for moment in moments])
    return events


def read_run(arm_id):
    """Return an arm's run.json: what was recorded, of which events, with which totals. Raises
    FileNotFoundError."""
    return json.loads(locate_input(f"data/runs/{arm_id}/run.json").read_text(encoding="utf-8"))


def list_recorded(arm_id):
    """Return an arm's events that are recorded, as {event_id: seconds}, in the order of asking."""
    try:
        return read_run(arm_id)["seconds"]
    except FileNotFoundError:
        return {}


def replay_recorded(arm_ids, opener, ledger, *, events, about_world=None):
    """Put each arm's agent to the events it was recorded on, its model's replies from the
    recordings; {arm_id: run_id}.

    Everything but the model happens again. `events` maps windows to their tables; `about_world`
    says in the runs' conditions what else the world publishes (`news_articles.describe_articles`).
    Arms of which nothing is recorded are left out; a request that is not recorded is a missing
    prediction whose reason names the command that would record it.
    """
    arms = load_recorded_runs()
    run_ids = {}
    entries = load_entries(wanted=[arms[arm_id]["agent"] for arm_id in arm_ids])
    for arm_id in arm_ids:
        arm = arms[arm_id]
        chosen = select_events(arm, events[arm["window"]])
        chosen = chosen[chosen["event_id"].isin(list_recorded(arm_id))]
        if chosen.empty:
            continue
        agent = connect_agent(
            entries[arm["agent"]], open_door(arm_id, command=f"make record ARM={arm_id}")
        )
        agent["condition"] = "; ".join(filter(None, [describe_condition(arm), about_world])) or None
        agent["asked"] = tell_asked(arm)
        settings = {"window": arm["window"], "progress": False}
        (run_ids[arm_id],) = run_agents(
            {arm["agent"]: agent}, chosen, opener, ledger, **settings
        ).values()
    return run_ids


def measure_tokens(method):
    """Return the tokens in, those out and the requests a question of a method's recorded runs; None
    without any.

    Native tool calls, of which none are recorded, are taken to be like ReAct's.
    """
    method = "react" if method == "tool_search" else method
    entries = load_entries()
    sums = np.zeros(4)
    for path in sorted(ROOT.glob("data/runs/*/run.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.get("agent") in entries and entries[facts["agent"]]["method"] == method:
            names = "n_input_tokens", "n_output_tokens", "n_recordings", "n_events"
            sums += [facts[name] for name in names]
    return tuple(sums[:3] / sums[3]) if sums[3] else None
