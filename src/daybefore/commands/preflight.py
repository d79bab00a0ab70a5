"""What a run says and checks before its first request: what is left to ask, what it takes, whether
it can be paid for.

Each wrong setting that could be known by then ends the run in a sentence, and nothing was asked.
"""

import math
import re
from contextlib import ExitStack, closing, contextmanager
from tempfile import TemporaryFile
from types import SimpleNamespace

import pandas as pd

from daybefore.agents.prompted_agents import limit_reply, make_consult
from daybefore.agents.recorded_runs import list_recorded, measure_tokens
from daybefore.agents.registry import (
    ONE_REQUEST,
    build_client,
    check_entry,
    connect_agent,
    find_agent,
    read_prices,
)
from daybefore.agents.run_loop import describe_run, sees_today
from daybefore.commands.terminal import show, tell
from daybefore.models.batches import SHARE, collect
from daybefore.models.client import is_final, open_door
from daybefore.models.costs import describe_cut, describe_spent, get_prices, name_prices, write_usd
from daybefore.models.local_server import get_local_name, open_model
from daybefore.models.pace import LEAST, find_pace
from daybefore.store import list_done, open_store
from daybefore.web.news_articles import describe_articles, read_feeds
from daybefore.web.search_providers import price_search
from helpers.clock import ZONE
from helpers.files import STORE, dump_json, locate_output

MANY_PAID = 50
"""Questions to a paid model that need a LIMIT or a yes."""

LEFT_OUT = "a small local model's short replies: what a model thinks, longer replies and look-ups come on top"
FLOATING = re.compile(r"latest$|/\D*$")
"""How a model's name reads behind which a provider may put another model: without a version or a
date."""

N_REPLY, BYTES = 300, 4
"""Tokens that a reply is taken to have where no recorded run says it, and bytes of a prompt that a
token has."""

N_READ = 1000
"""Questions whose prompts are built to estimate what asking takes, at most."""


def locate_store():
    """Return where runs are kept. Raises OSError, before anything is asked, where nothing can be
    written."""
    path = locate_output(STORE)
    TemporaryFile(dir=path.parent).close()
    return path


def read_now(moment):
    """Return the moment to ask as of, UTC+8: the one given (an aware datetime), or this one."""
    return pd.Timestamp(moment or pd.Timestamp.now(ZONE)).tz_convert(ZONE).floor("s")


def announce_articles(paths):
    """Print how many articles a run may search; return what they add to its agents' condition, None
    without any."""
    for feed in read_feeds(paths).values():
        refused = (
            f"; {len(feed.refused)} were left out, as they are undated" if feed.refused else ""
        )
        tell(f"{feed.name}: {len(feed.articles)} dated articles at {feed.address}{refused}")
    return describe_articles(paths)


def prepare_agent(name, entry, asked, condition, stack, terms):
    """Return an agent that asks a language model, with the run's condition, and its door; say what
    it will ask.

    The model is within reach when questions are left. `terms` are of `run_service.Terms`. Raises
    ValueError with what to do when it cannot be reached (no such model, no key, no server, no
    network), when the ceiling leaves no room, and when many questions would be paid for and nobody
    has said how many.
    """
    parts = [condition]
    if "search" in entry:
        parts.append(f"searches with {entry['search']}")
    if "tolerance_s" in entry:
        parts.append(f"pages read up to {entry['tolerance_s']:g} s after as_of")
    condition = "; ".join(filter(None, parts))
    about = {"condition": condition} if condition else {}
    agent = connect_agent(entry, None) | about
    left = list_left(asked, name, agent, terms)
    at_once = 1 if get_local_name(entry) else terms.at_once
    if sees_today(agent):  # what it reads is counted after each reply alone, so few pass a ceiling
        at_once = at_once or LEAST
    settings = {
        "deadline_s": terms.deadline_s,
        "prices": read_prices(entry),
        "rereads": terms.retry,
        "pace": find_pace(entry["model"], entry.get("api_base"), at_once),
    }
    if len(left):
        settings |= check_model(name, entry, settings["prices"], terms.ceiling_usd)
        settings["connection"] = open_model(entry, stack)
    door = open_door(
        f"{name}-{asked.window}", command=f"make run AGENT={name}", live=len(left) > 0, **settings
    )
    stack.callback(door.recordings.close)
    if len(left):
        check_batches(name, entry, door, terms.batch)
        announce(name, entry, left, len(asked.events) * terms.n_samples, door, terms)
    elif door.recordings.rows:
        tell(f"{name}: nothing is left to ask, replies are recorded under {door.recordings.folder}")
    return connect_agent(entry, door) | about, door


def list_left(asked, agent_id, agent, terms):
    """Return the events that neither the store nor a packed recording answers, a row for each
    repeat (`sample`)."""
    options = {"window": asked.window, "deadline_s": terms.deadline_s}
    run_id = describe_run(agent_id, agent, asked.whole, **options)["run_id"]
    recorded = () if agent.get("condition") else list_recorded(f"{agent_id}-{asked.window}")
    done = {(event_id, 0) for event_id in recorded}
    if asked.path.exists():
        with closing(open_store(asked.path)) as store:
            done |= list_done(store, run_id, terms.again)
    left = pd.concat([asked.events.assign(sample=n) for n in terms.samples], ignore_index=True)
    keys = zip(left["event_id"], left["sample"], strict=True)
    return left[[key not in done for key in keys]]


def check_model(name, entry, prices, ceiling_usd):
    """Return the ceiling as a door's setting, none for a local model. Raises ValueError where it
    cannot be asked so."""
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
        raise ValueError(
            f"{name}: no price is known for {unknown}; or leave the ceiling out; nothing was asked"
        )
    return {"ceiling_usd": ceiling_usd}


@contextmanager
def open_judge(name, ceiling_usd):
    """Yield an agent's model as a judge (`models.judges`), its replies in the store; None where no
    agent is named.

    Raises ValueError where it cannot be asked.
    """
    if name is None:
        yield None
        return
    entry = find_agent(name)
    prices = read_prices(entry)
    settings = {"live": True, "prices": prices} | check_model(name, entry, prices, ceiling_usd)
    with ExitStack() as stack:
        door = open_door(f"{name}-judge", connection=open_model(entry, stack), **settings)
        stack.callback(door.recordings.close)
        yield make_consult(build_client(entry, door))


def check_batches(agent_id, entry, door, by_batch):
    """Raise ValueError where batches are asked for and cannot be, or are under way and would be
    paid a second time."""
    if not by_batch and (under_way := door.recordings.batches):
        n = sum(batch.n for batch in under_way)
        raise ValueError(
            f"{agent_id}: a batch of {n} questions is under way; --batch takes its replies; nothing was asked"
        )
    if by_batch and entry["method"] not in ONE_REQUEST:
        raise ValueError(
            f"{agent_id}: --batch is for methods of one request, {', '.join(ONE_REQUEST)}; nothing was asked"
        )
    if by_batch and not entry["model"].startswith("openai/"):
        way = "for models of openai/, at OpenAI or at an api_base that has its batch interface"
        raise ValueError(f"{agent_id}: --batch is {way}; nothing was asked")


def announce(agent_id, entry, left, n_all, door, terms):
    """Print what a run will ask and take, before the first request; `n_all` counts its questions
    with their repeats.

    Raises ValueError when the ceiling has no room, or many would be paid for and nobody has said
    how many.
    """
    is_local = get_local_name(entry) is not None
    if not is_local and (cut := describe_cut(door)):
        tell(f"{agent_id}: {cut}")
    if not is_local and not entry.get("api_base") and FLOATING.search(entry["model"]):
        tell(
            f"{agent_id}: {entry['model']} names no version, so what answers may change; a dated name stays the same"
        )
    share = SHARE if terms.batch else 1
    requests, n_read = collect_requests(entry, left, door)
    check_bound(agent_id, entry, len(left), [share * (bound or 0) for _, bound in requests], door)
    told, is_paid = estimate_cost(entry, left, requests, n_read, share)
    if is_paid and len(left) > MANY_PAID and not terms.yes:
        many = "say how many (LIMIT=20), or YES=1 for all (a week: CEILING=1); nothing was asked"
        raise ValueError(f"{agent_id}: {told}; {many}")
    show(f"{agent_id}: {told}")
    if len(left) < n_all:
        show(
            f"{agent_id}: {n_all - len(left)} of {n_all} questions are done with; {len(left)} are left"
        )
    elif rows := [row["request"] for row in door.recordings.rows.values() if is_final(row)]:
        told = "what replies that are recorded already answer is not asked, or paid, again"
        options = entry.get("options", {}).items()
        if not any(options <= request.get("options", {}).items() for request in rows):
            told = f"its options have changed since {len(rows)} replies were recorded: all is asked, and paid, anew"
        show(f"{agent_id}: {told}")


def collect_requests(entry, left, door):
    """Return the requests that questions `left` begin with, ((request, bound in USD), ...), and of
    how many they are.

    Of many questions those of a sample, evenly drawn. What is recorded is left out, and so is what
    a search would find.
    """
    agent = connect_agent({name: value for name, value in entry.items() if name != "search"}, door)
    rows = left.iloc[:: math.ceil(len(left) / N_READ)].to_dict("records")
    wanted = collect(door, agent["forecast"], rows, SimpleNamespace(search=lambda *_: []))
    return [(request, bound(door, request)) for request, bound, _ in wanted.values()], len(rows)


def check_bound(agent_id, entry, n_left, bounds, door):
    """Raise ValueError when the ceiling leaves no room for one request, with the reason, and what
    it takes to go on."""
    if door.ceiling_usd is None or not bounds:
        return
    bound = max(bounds)
    if bound <= door.ceiling_usd - door.spent_usd:
        return
    options = limit_reply(entry.get("options", {}), entry)
    n_output = (
        options.get("max_completion_tokens")
        or options.get("max_tokens")
        or name_prices(door, entry["model"])[2]
    )
    one, every = (
        write_usd(math.ceil(1e4 * (door.spent_usd + n * bound)) / 1e4) for n in (1, n_left)
    )
    raise ValueError(
        f"{agent_id}: the ceiling leaves no room for a request: {describe_spent(door)}, and one can cost "
        f"{write_usd(bound)} USD, by up to {n_output:,} tokens of reply; CEILING={one} has room for one at a time, "
        f"CEILING={every} for the {n_left} questions left at a request each, and a smaller max_tokens in its table "
        "lowers the bound; nothing was asked"
    )


def estimate_cost(entry, left, requests, n_read, share):
    """Return a sentence on what asking takes, by the requests that questions begin with, and
    whether it is paid for.

    `requests` and `n_read` are those of `collect_requests`, `share` that of the price which is
    paid. Further requests and replies are taken to be as in recorded runs of the method.
    """
    told = f"{len(left)} questions to ask of {entry['model']}"
    if get_local_name(entry):
        return f"{told}; the model runs on this machine", False
    if not requests:
        return f"{told}, all recorded", False
    n = len(left) * len(requests) / n_read
    first = (
        sum(len(dump_json(request["messages"]).encode()) for request, _ in requests)
        / BYTES
        / len(requests)
    )
    seen, n_reply, n_turns = measure_tokens(entry["method"]) or (0, N_REPLY, 1)
    plain = (measure_tokens("zero_shot") or (seen,))[0]
    tokens = round(n * (n_turns * first + max(0, seen - n_turns * plain))), round(n * n_reply)
    told += f", about {tokens[0]:,} tokens in, {BYTES} bytes of this set's prompts a token, and {tokens[1]:,} out"
    told += f", by {n_read} of its questions" * (n_read < len(left))
    if (prices := read_prices(entry) or get_prices(entry["model"])) is None:
        return f"{told}; no price is known for this model", not entry.get("api_base")
    cost = share * (tokens[0] * prices[0] + tokens[1] * prices[1])
    most = share * n * sum(bound or 0 for _, bound in requests) / len(requests)
    return (
        f"{told}, {write_usd(cost)} USD ({LEFT_OUT}); a request a question costs {write_usd(most)} at most",
        cost > 0,
    )
