"""What a run says and checks before its first request: what is left to ask, what it takes, whether it can be paid for.

Each wrong setting that could be known by then ends the run in a sentence, and nothing was asked.
"""

import math
import os
import tarfile
import zlib
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

import pandas as pd

from helpers.agents.arms import list_recorded
from helpers.agents.prompted import limit_reply
from helpers.agents.prompts import fill_prompt
from helpers.agents.recorded import count_replies, describe_recorded, estimate_run
from helpers.agents.registry import check_entry, connect_agent, read_prices
from helpers.agents.runs import describe_run
from helpers.cli.main import show, tell
from helpers.models.costs import bound_cost, describe_cut, describe_spent, get_prices, name_prices, write_usd
from helpers.models.llm import open_door
from helpers.models.local import get_local_name, open_model
from helpers.store import STORE, list_done, locate_output, open_store
from helpers.web.news import describe_articles, read_feeds

MANY_PAID = 50
"""Questions to a paid model that need a LIMIT or a yes."""

N_REPLY, SHORT = 300, 500
"""Tokens that a reply is taken to have in the estimate; tokens of a reply that are enough for most answers."""


def locate_store():
    """Return where runs are kept. Raises ValueError, before anything is asked, where nothing can be written."""
    try:
        path = locate_output(STORE)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        place = os.environ.get("DAYBEFORE_OUT")
        advice = "or unset it, and results go into the checkout" if place else "as results then go there"
        raise ValueError(
            f"nothing can be written under {place or 'the checkout'} ({error.strerror}: {error.filename}); set "
            f"DAYBEFORE_OUT to a folder that can be written, {advice}; nothing was asked"
        ) from None
    return path


def count_unanswered(asked, agent_id, agent, *, deadline_s, again, samples):
    """Return the events that neither the store nor a packed recording answers, a row for each repeat (`sample`)."""
    run_id = describe_run(agent_id, agent, asked.whole, window=asked.window, deadline_s=deadline_s)["run_id"]
    arm_id = f"{agent_id}-{asked.window}"
    done = set() if agent.get("condition") else {(name, n) for n in samples for name in list_recorded(arm_id, n + 1)}
    if asked.path.exists():
        with closing(open_store(asked.path)) as store:
            done |= list_done(store, run_id, again)
    keep = [(event_id, n) not in done for n in samples for event_id in asked.events["event_id"]]
    return pd.concat([asked.events.assign(sample=n) for n in samples], ignore_index=True)[keep]


def connect_prompted(agent_id, entry, left, window, stack, *, deadline_s, ceiling_usd, is_retry):
    """Return an agent that asks a language model, and its door; the model is within reach when questions are `left`.

    Raises ValueError with what to do when the model cannot be reached: no such model, no key, no server, no network.
    """
    is_live, is_free, prices = len(left) > 0, bool(get_local_name(entry)), read_prices(entry)
    if is_live and (problem := check_entry(entry)):
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    if is_live and ceiling_usd is not None and not is_free and prices is None and get_prices(entry["model"]) is None:
        raise ValueError(
            f"{agent_id}: no price is known for {entry['model']}, so no ceiling can be held; write usd_per_million = "
            "{ input = ..., output = ... } into its table in data/agents.local.toml, or leave the ceiling out"
        )
    if is_live and is_free:
        tell(f"{agent_id}: starting its model on this machine ...")
    connection = open_model(entry, stack) if is_live else None
    settings = {"deadline_s": deadline_s, "prices": prices, "command": f"make run AGENT={agent_id}"}
    settings |= {"ceiling_usd": None if is_free or not is_live else ceiling_usd, "rereads": is_retry}
    door = open_door(f"{agent_id}-{window}", live=is_live, connection=connection, **settings)
    stack.callback(door.recordings.close)
    if is_live and not is_free and (cut := describe_cut(door)):
        tell(f"{agent_id}: {cut}")
    if is_live:
        check_bound(agent_id, entry, left, door)
    elif door.recordings.rows:
        tell(f"{agent_id}: nothing is left to ask, replies are recorded under {door.recordings.folder}")
    return connect_agent(entry, door), door


def check_bound(agent_id, entry, left, door):
    """Raise ValueError when the ceiling leaves no room for one request, with the reason, and what it takes to go on."""
    if door.ceiling_usd is None:
        return
    options = limit_reply(entry.get("options", {}), entry)
    prompt = max((fill_prompt(event) for event in left.to_dict("records")), key=len)
    request = {"model": entry["model"], "messages": [{"role": "user", "content": prompt}], "options": options}
    if (bound := bound_cost(door, request)) <= door.ceiling_usd - door.spent_usd:
        return
    prices = name_prices(door, entry["model"])
    n_output = options.get("max_completion_tokens") or options.get("max_tokens") or prices[2]
    n_input = round((bound - n_output * prices[1]) / prices[0]) if prices[0] else len(prompt)
    least = bound_cost(door, request | {"options": options | {"max_tokens": SHORT}})
    least_usd, whole_usd = (math.ceil(1e4 * (door.spent_usd + n * bound)) / 1e4 for n in (1, len(left)))
    advice = f"to go on, the same command with CEILING={write_usd(least_usd)} has room for one at a time"
    advice += f", and the {len(left)} questions left cost no more than CEILING={write_usd(whole_usd)} in all"
    advice += ", at a request each" * (entry["method"] != "zero_shot")
    if n_output > SHORT and least < bound:
        advice += f"; max_tokens = {SHORT} in its table bounds a request by {write_usd(least)} USD"
        if n_recorded := count_replies(door.recordings):
            advice += f" (with other options {n_recorded} recorded replies no longer apply: their questions cost anew)"
    raise ValueError(
        f"{agent_id}: the ceiling leaves no room for a request: {describe_spent(door)}, and one can cost "
        f"{write_usd(bound)} USD, by {n_input:,} tokens of prompt and up to {n_output:,} of reply; {advice}; "
        "nothing was asked"
    )


def estimate_cost(entry, events):
    """Return a sentence on what asking a model about events takes, and whether it is paid for.

    By the tokens that recorded runs of the agent's method took a question; of a method without any by the questions.
    """
    told = f"{len(events)} questions to ask of {entry['model']}"
    if get_local_name(entry):
        return f"{told}; the model runs on this machine", False
    prices = read_prices(entry) or get_prices(entry["model"])
    found = estimate_run(entry, len(events), prices)
    if found is None:
        n_input = sum(len(fill_prompt(event).encode()) for event in events.to_dict("records")) // 4
        found = {
            "n_input_tokens": n_input,
            "n_output_tokens": N_REPLY * len(events),
            "left_out": "look-ups come on top",
        }
    told += f", about {found['n_input_tokens']:,} tokens in and {found['n_output_tokens']:,} out"
    if prices is None:
        return f"{told}; no price is known for this model", not entry.get("api_base")
    cost = found["n_input_tokens"] * prices[0] + found["n_output_tokens"] * prices[1]
    return f"{told}, {write_usd(cost)} USD ({found['left_out']})", cost > 0


def announce(agent_id, entry, left, asked, door, *, is_limited, n_samples):
    """Print what a run will ask and take, before the first request.

    Raises ValueError when many questions would be paid for and nobody has said how many.
    """
    if left.empty:
        return
    told, is_paid = estimate_cost(entry, left)
    if is_paid and len(left) > MANY_PAID and not is_limited:
        raise ValueError(f"{agent_id}: {told}; say how many (LIMIT=20), or YES=1 for all; nothing was asked")
    show(f"{agent_id}: {told}")
    n_all = len(asked.events) * n_samples
    if len(left) < n_all:
        show(f"{agent_id}: {n_all - len(left)} of {n_all} questions are done with; {len(left)} are left")
    elif recorded := describe_recorded(entry, left, door.recordings):
        show(f"{agent_id}: {recorded}")
    if n_samples > 1 and (get_local_name(entry) or entry.get("options", {}).get("temperature") == 0):
        show(f"{agent_id}: it answers at temperature 0, where all {n_samples} samples of a question are equal")


def announce_articles(paths):
    """Print how many articles a run may search; return what they add to its agents' condition, None without any.

    Raises ValueError for a folder that is named twice or holds no .jsonl file, and that names what cannot be read.
    """
    for path in map(Path, paths):
        if path.is_dir() and not any(path.glob("*.jsonl")):
            raise ValueError(f"{path} holds no .jsonl file, the ending in small letters")
        if [Path(other).resolve() for other in paths].count(path.resolve()) > 1:
            raise ValueError(f"--articles {path} is named twice")
    try:
        feeds = read_feeds(paths)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as problem:
        name, why = getattr(problem, "filename", None), getattr(problem, "strerror", None)
        if isinstance(problem, FileNotFoundError) and not name:  # its own sentence
            raise
        told = f"{name} cannot be read ({str(why).lower()})" if name else f"an archive is broken ({problem})"
        raise ValueError(f"articles: {told}; take it away or mend it") from None
    for feed in feeds.values():
        refused = f"; {len(feed.refused)} were left out, as they are undated" if feed.refused else ""
        tell(f"{feed.name}: {len(feed.articles)} dated articles at {feed.address}{refused}")
    return describe_articles(paths) if paths else None
