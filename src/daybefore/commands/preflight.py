"""What a run says and checks before its first request: what is left to ask, what it takes, whether it can be paid for.

Each wrong setting that could be known by then ends the run in a sentence, and nothing was asked.
"""

import math
import re
from contextlib import closing
from tempfile import TemporaryFile

import pandas as pd

from daybefore.agents.prompted import limit_reply
from daybefore.agents.prompts import fill_prompt
from daybefore.agents.recorded_runs import estimate_tokens, list_recorded
from daybefore.agents.registry import check_entry, connect_agent, read_prices
from daybefore.agents.runs import describe_run
from daybefore.commands.terminal import show, tell
from daybefore.models.costs import bound_cost, describe_cut, describe_spent, get_prices, name_prices, write_usd
from daybefore.models.llm import is_final, open_door
from daybefore.models.local import get_local_name, open_model
from daybefore.store import ACCIDENTS, list_done, open_store
from daybefore.web.news import describe_articles, read_feeds
from daybefore.web.providers import price_search
from helpers.files import STORE, locate_output

MANY_PAID = 50
"""Questions to a paid model that need a LIMIT or a yes."""

LEFT_OUT = "a small local model's short replies: what a model thinks, longer replies and look-ups come on top"
FLOATING = re.compile(r"latest$|/\D*$")
"""How a model's name reads behind which a provider may put another model: without a version or a date."""

N_REPLY = 300
"""Tokens that a reply is taken to have where no recorded run says it."""


def locate_store():
    """Return where runs are kept. Raises OSError, before anything is asked, where nothing can be written."""
    path = locate_output(STORE)
    TemporaryFile(dir=path.parent).close()
    return path


def announce_articles(paths):
    """Print how many articles a run may search; return what they add to its agents' condition, None without any."""
    for feed in read_feeds(paths).values():
        refused = f"; {len(feed.refused)} were left out, as they are undated" if feed.refused else ""
        tell(f"{feed.name}: {len(feed.articles)} dated articles at {feed.address}{refused}")
    return describe_articles(paths)


def prepare_agent(name, entry, asked, condition, stack, *, deadline_s, ceiling_usd, is_limited, again, samples):
    """Return an agent that asks a language model, with the run's condition, and its door; say what it will ask.

    The model is within reach when questions are left. Raises ValueError with what to do when it cannot be reached (no
    such model, no key, no server, no network), when the ceiling leaves no room, and when many questions would be paid
    for and nobody has said how many.
    """
    searches = f"searches with {entry['search']}" if "search" in entry else None
    tolerance = f"pages read up to {entry['tolerance_s']:g} s after as_of" if "tolerance_s" in entry else None
    condition, prices = "; ".join(filter(None, [condition, searches, tolerance])), read_prices(entry)
    about = {"condition": condition} if condition else {}
    left = list_left(asked, name, connect_agent(entry, None) | about, deadline_s, again, samples)
    settings = {"deadline_s": deadline_s, "prices": prices, "rereads": set(again) > set(ACCIDENTS)}
    if len(left):
        settings |= check_model(name, entry, prices, ceiling_usd) | {"connection": open_model(entry, stack)}
    door = open_door(f"{name}-{asked.window}", command=f"make run AGENT={name}", live=len(left) > 0, **settings)
    stack.callback(door.recordings.close)
    if len(left):
        announce(name, entry, left, len(asked.events) * len(samples), door, is_limited)
    elif door.recordings.rows:
        tell(f"{name}: nothing is left to ask, replies are recorded under {door.recordings.folder}")
    return connect_agent(entry, door) | about, door


def list_left(asked, agent_id, agent, deadline_s, again, samples):
    """Return the events that neither the store nor a packed recording answers, a row for each repeat (`sample`)."""
    run_id = describe_run(agent_id, agent, asked.whole, window=asked.window, deadline_s=deadline_s)["run_id"]
    arm_id = f"{agent_id}-{asked.window}"
    done = set() if agent.get("condition") else {(name, 0) for name in list_recorded(arm_id)}
    if asked.path.exists():
        with closing(open_store(asked.path)) as store:
            done |= list_done(store, run_id, again)
    keep = [(event_id, n) not in done for n in samples for event_id in asked.events["event_id"]]
    return pd.concat([asked.events.assign(sample=n) for n in samples], ignore_index=True)[keep]


def check_model(name, entry, prices, ceiling_usd):
    """Return the ceiling as a door's setting, none for a local model. Raises ValueError where it cannot be asked so."""
    if problem := check_entry(entry):
        raise ValueError(f"{name}: {problem}; nothing was asked")
    if get_local_name(entry):
        tell(f"{name}: starting its model on this machine ...")
        return {}
    unknown = ""
    if ceiling_usd is None:
        return {"ceiling_usd": None}
    if prices is None and get_prices(entry["model"]) is None:
        unknown = f"{entry['model']}: usd_per_million = {{ input = ..., output = ... }} in its table names one"
    elif "search" in entry and price_search(entry["search"]) is None:
        unknown = f"a search by {entry['search']}: another provider may have one"
    if unknown:
        raise ValueError(f"{name}: no price is known for {unknown}; or leave the ceiling out; nothing was asked")
    return {"ceiling_usd": ceiling_usd}


def announce(agent_id, entry, left, n_all, door, is_limited):
    """Print what a run will ask and take, before the first request; `n_all` counts its questions with their repeats.

    Raises ValueError when the ceiling has no room, or many would be paid for and nobody has said how many.
    """
    is_local = get_local_name(entry) is not None
    if not is_local and (cut := describe_cut(door)):
        tell(f"{agent_id}: {cut}")
    if not is_local and not entry.get("api_base") and FLOATING.search(entry["model"]):
        tell(f"{agent_id}: {entry['model']} names no version, so what answers may change; a dated name stays the same")
    check_bound(agent_id, entry, left, door)
    told, is_paid = estimate_cost(entry, left)
    if is_paid and len(left) > MANY_PAID and not is_limited:
        many = "say how many (LIMIT=20), or YES=1 for all (a week: CEILING=1); nothing was asked"
        raise ValueError(f"{agent_id}: {told}; {many}")
    show(f"{agent_id}: {told}")
    if len(left) < n_all:
        show(f"{agent_id}: {n_all - len(left)} of {n_all} questions are done with; {len(left)} are left")
    elif rows := [row["request"] for row in door.recordings.rows.values() if is_final(row)]:
        told = "what replies that are recorded already answer is not asked, or paid, again"
        options = entry.get("options", {}).items()
        if not any(options <= request.get("options", {}).items() for request in rows):
            told = f"its options have changed since {len(rows)} replies were recorded: all is asked, and paid, anew"
        show(f"{agent_id}: {told}")


def check_bound(agent_id, entry, left, door):
    """Raise ValueError when the ceiling leaves no room for one request, with the reason, and what it takes to go on."""
    if door.ceiling_usd is None:
        return
    options = limit_reply(entry.get("options", {}), entry)
    prompt = max((fill_prompt(event) for event in left.to_dict("records")), key=len)
    request = {"model": entry["model"], "messages": [{"role": "user", "content": prompt}], "options": options}
    if (bound := bound_cost(door, request)) <= door.ceiling_usd - door.spent_usd:
        return
    n_output = options.get("max_completion_tokens") or options.get("max_tokens") or name_prices(door, entry["model"])[2]
    one, every = (write_usd(math.ceil(1e4 * (door.spent_usd + n * bound)) / 1e4) for n in (1, len(left)))
    raise ValueError(
        f"{agent_id}: the ceiling leaves no room for a request: {describe_spent(door)}, and one can cost "
        f"{write_usd(bound)} USD, by up to {n_output:,} tokens of reply; CEILING={one} has room for one at a time, "
        f"CEILING={every} for the {len(left)} questions left at a request each, and a smaller max_tokens in its table "
        "lowers the bound; nothing was asked"
    )


def estimate_cost(entry, events):
    """Return a sentence on what asking takes, by recorded runs of the method if any, and whether it is paid for."""
    told = f"{len(events)} questions to ask of {entry['model']}"
    if get_local_name(entry):
        return f"{told}; the model runs on this machine", False
    tokens = estimate_tokens(entry["method"], len(events))
    if tokens is None:
        prompts = [fill_prompt(event) for event in events.to_dict("records")]
        tokens = sum(len(prompt.encode()) for prompt in prompts) // 4, N_REPLY * len(prompts)
    told += f", about {tokens[0]:,} tokens in and {tokens[1]:,} out"
    if (prices := read_prices(entry) or get_prices(entry["model"])) is None:
        return f"{told}; no price is known for this model", not entry.get("api_base")
    cost = tokens[0] * prices[0] + tokens[1] * prices[1]
    return f"{told}, {write_usd(cost)} USD ({LEFT_OUT})", cost > 0
