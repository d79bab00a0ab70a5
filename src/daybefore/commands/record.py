"""`daybefore record` (make record): put models to the events of data/arms.toml and keep what they
reply.

What is recorded is not asked again, so an interrupted arm goes on where it was, and a finished one
costs nothing.
"""

import math
import time
from contextlib import ExitStack

from tqdm import tqdm

from daybefore.agents.recorded_runs import list_recorded, load_recorded_runs, select_events
from daybefore.agents.registry import check_entry, connect_agent, load_entries
from daybefore.commands.terminal import show
from daybefore.limits import end_after
from daybefore.models.client import open_door
from daybefore.models.local_server import describe_model, open_model
from daybefore.models.recordings import pack_recordings
from daybefore.questions.open_sets import list_articles, open_window, read_window
from daybefore.web.news_articles import describe_articles
from helpers.files import hash_text
from helpers.input_faults import list_nearest
from helpers.set_names import PUBLIC_WINDOWS

COMMAND = "make record ARM="
KEEPS = "replies are reduced: of each stands what was read of it, without prompt or prose"


def main(arm_ids=(), minutes=None):
    """Record arms (none named: all). Raises ValueError for an unknown name."""
    end, arms = end_after(minutes), load_recorded_runs()
    for arm_id in arm_ids or arms:
        if arm_id not in arms:
            raise ValueError(
                f"no arm is called {arm_id!r}{list_nearest(arm_id, arms, 'data/arms.toml')}"
            )
        show(f"{arm_id}: {record_arm(arm_id, arms[arm_id], end)} events recorded")


def record_arm(arm_id, arm, end=math.inf):
    """Record an arm's events that are not complete yet, until a moment of time.monotonic(); returns
    how many it has.

    Raises RuntimeError where a question fails: what was recorded until then is kept.
    """
    entry, whole = (
        load_entries(wanted=[arm["agent"]])[arm["agent"]],
        read_window("events", arm["window"]),
    )
    events, done = select_events(arm, whole), list_recorded(arm_id)
    left = [event for event in events.to_dict("records") if event["event_id"] not in done]
    if not left or time.monotonic() > end:
        return len(done)
    if problem := check_entry(entry):
        raise ValueError(f"{arm['agent']}: {problem}; nothing was asked")
    articles = [] if entry["method"] == "zero_shot" else list_articles(arm["window"])
    with ExitStack() as stack:
        connection = open_model(entry, stack)
        facts = describe_model(entry["model"]) | {
            "arm": arm_id,
            "agent": arm["agent"],
            "window": arm["window"],
        }
        facts |= (
            {"keeps": "values", "keeps_about": KEEPS} if arm["window"] in PUBLIC_WINDOWS else {}
        )
        facts |= {"articles": describe_articles(articles)} if articles else {}
        facts |= {"about": arm.get("about"), "seconds": done}
        facts |= {"events_sha256": hash_text(whole.to_csv(index=False, lineterminator="\n"))}
        crawler = stack.enter_context(open_window(arm["window"], articles=articles))()
        door = open_door(arm_id, live=True, connection=connection, command=COMMAND + arm_id)
        stack.callback(door.recordings.close)
        agent = connect_agent(entry, door)
        try:
            for event in tqdm(
                left, desc=arm_id, unit="event", initial=len(events) - len(left), total=len(events)
            ):
                if time.monotonic() > end:
                    break
                done[event["event_id"]] = ask_event(agent, event, crawler)
        finally:
            door.recordings.close()
            if done:
                pack_recordings(arm_id, facts | {"n_events": len(done)})
    return len(done)


def ask_event(agent, event, crawler):
    """Ask an event; returns the seconds. Raises RuntimeError when that fails."""
    outcome = agent["forecast"](event, crawler)
    if outcome.get("status") == "error":
        raise RuntimeError(f"{event['event_id']}: {outcome['reason']}; what was recorded is kept")
    return round(sum(step.get("duration_s") or 0 for step in outcome["trace"]), 1)
