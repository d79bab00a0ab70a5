"""The agent registry, data/agents.toml: an agent by its name, ready to be put to events (FutureX
3.2.3)."""

import os
import tomllib
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

import pandas as pd

from daybefore.agents.ask_questions import make_rows
from daybefore.agents.baselines import METHODS, forecast_event
from daybefore.agents.deep_research import ask_with_orchestra, ask_with_research
from daybefore.agents.graph_agents import (
    ask_by_turns,
    ask_for_graph,
    ask_for_graph_with_pages,
    forecast_with_graph,
)
from daybefore.agents.prompted_agents import LIMITS, Client, ask_directly, forecast, make_consult
from daybefore.agents.python_functions import load_function, make_agent
from daybefore.agents.search_agents import (
    ask_deep_research,
    ask_step_by_step,
    ask_with_pages,
    ask_with_tools,
)
from daybefore.models.attachments import list_taken
from daybefore.models.client import check_model, check_options, open_door
from daybefore.models.costs import describe_cut
from daybefore.models.local_server import (
    LOCAL,
    SEED,
    describe_model,
    find_missing,
    get_local_name,
    open_model,
)
from daybefore.models.model_files import MODELS, name_model
from daybefore.models.recordings import has_news, pack_recordings
from daybefore.prompts import STATED_PROMPTS, hash_prompts
from daybefore.web.open_web import TOLERANCE_S, OpenWeb
from daybefore.web.search_providers import find_search_problem
from helpers.files import ROOT
from helpers.input_faults import check_name, check_object, list_nearest
from helpers.tables import Agent

REGISTRY, OWN = ROOT / "data/agents.toml", ROOT / "data/agents.local.toml"
"""The registry, and a reader's own agents beside it, in the same form, which git ignores and no
notebook reads."""


class Method(NamedTuple):
    """How an agent asks a language model: the function, its prompts, and the agent's category
    (3.2.3) unless given."""

    ask: object
    prompts: tuple
    category: str = "think_search"


EVENT = ("option_event", "open_event")
TURNS = ("submission_turns", "submission_rest")
RESEARCH = ("research_manager", "research_survey", "research_start", "research_search")
ORCHESTRA = ("orchestra_manager", "orchestra_planner", "orchestra_researcher", "orchestra_analyst")
PROMPTED = {
    "zero_shot": Method(ask_directly, EVENT, "base_model"),
    "search_prompt": Method(ask_with_pages, (*EVENT, "found_pages")),
    "graph": Method(ask_for_graph, ("submission",), "base_model"),
    "search_graph": Method(ask_for_graph_with_pages, ("submission", "found_pages")),
    "graph_turns": Method(partial(ask_by_turns, searches=False), TURNS, "base_model"),
    "search_graph_turns": Method(ask_by_turns, TURNS),
    "react": Method(ask_step_by_step, (*EVENT, "look_up", "final_line")),
    "tool_search": Method(ask_with_tools, EVENT),
    "research": Method(ask_with_research, (*EVENT, *RESEARCH, "final_line"), "open_deep_research"),
    "orchestra": Method(
        ask_with_orchestra, (*EVENT, *ORCHESTRA, "final_line"), "open_deep_research"
    ),
    "deep_research": Method(ask_deep_research, EVENT, "closed_deep_research"),
}
"""Methods of agents that ask a language model."""

ONE_REQUEST = ("zero_shot", "search_prompt", "graph", "search_graph")
"""Those that make one request a question, which can be one of a batch."""

GRAPH_METHODS = tuple(name for name in PROMPTED if "graph" in name)
"""Those that submit a causal graph beside the answer (WorldReasoner 5.1)."""

LOOKING = ("think_search", "open_deep_research")
SEARCHING = tuple(name for name, method in PROMPTED.items() if method.category in LOOKING)
"""Those that look things up in the world they are given."""

FUNCTION = "function"
"""Method of an agent that is a Python function of the reader's own (`agent =
"module:function"`)."""


def load_entries(path=REGISTRY, wanted=(), own=False):
    """Read the registry: {agent_id: entry}, checked; a broken one that is not `wanted` is left out,
    else ValueError.

    Agents of the reader's own file (`OWN`) are among them where they are `wanted`, with `own` all
    of them. Raises ValueError for one of these whose name the registry has already.
    """
    shared = read_settings(path)
    mine = {}
    if path == REGISTRY and (own or set(wanted) - set(shared)) and OWN.exists():
        mine = {name: entry for name, entry in read_settings(OWN).items() if own or name in wanted}
    if twice := sorted(set(mine) & set(shared)):
        raise ValueError(
            f"{OWN.name}, {twice[0]}: {path.name} has an agent of this name; choose another"
        )
    kept = {}
    for agent_id, entry in (shared | mine).items():
        file = OWN.name if agent_id in mine else path.name
        try:
            check_name(f"{file}, agent", agent_id)
            kept[agent_id] = check_agent(f"{file}, {agent_id}", entry)
        except ValueError:
            if agent_id in wanted or not isinstance(entry, dict):
                raise
    return kept


def read_settings(path):
    """Return what a file of settings holds. Raises ValueError, naming it, for what is no TOML in
    UTF-8."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: no TOML in UTF-8 ({error})") from None


def check_agent(where, entry):
    """Return an entry that is whole, with what it need not say: a model's method, category and
    framework, a function's.

    Raises ValueError with `where` and the field, method, model or option.
    """
    if isinstance(entry, dict) and "agent" in entry:
        entry = (
            {"category": "scripted", "framework": "Python function"} | entry | {"method": FUNCTION}
        )
    elif isinstance(entry, dict) and "model" in entry:
        method = entry.get("method", "zero_shot")
        category = PROMPTED[method].category if method in PROMPTED else "base_model"
        entry = {"method": method, "category": category, "framework": method} | entry
    method = check_object(where, entry, Agent)["method"]
    local = get_local_name(entry)
    try:
        if method not in (FUNCTION, *METHODS, *PROMPTED):
            raise ValueError(f"method must be one of {', '.join((*METHODS, *PROMPTED))}")
        if method in PROMPTED and "model" not in entry:
            raise ValueError(f"the method {method} needs a model")
        if "search" in entry and method not in SEARCHING:
            raise ValueError(
                f"search: the method {method} looks nothing up; use {', '.join(SEARCHING)}"
            )
        if "tolerance_s" in entry and "search" not in entry:
            raise ValueError(
                "tolerance_s: it is of an agent that searches the open web; add search"
            )
        if local and local not in MODELS:
            there = ", ".join(LOCAL + name for name in MODELS)
            raise ValueError(f"there is no model {entry['model']!r}; there are {there}")
        check_options(entry.get("options", {}))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return entry


def read_prices(entry):
    """Return what an entry says of its model's price, (US dollars an input token, an output token),
    None if nothing."""
    given = entry.get("usd_per_million")
    return given and (given["input"] / 1e6, given["output"] / 1e6)


def load_agents(path=REGISTRY, wanted=()):
    """Return the agents that need no model, {agent_id: agent} (`connect_agent`), functions of your
    own where `wanted`.

    Raises ValueError with what is wrong with one's module.
    """
    agents = {}
    for agent_id, entry in load_entries(path, wanted).items():
        about = {name: entry[name] for name in ("category", "framework")}
        method = entry["method"]
        if method in METHODS:
            about["params"] = {"method": method}
            agents[agent_id] = about | {"forecast": partial(forecast_event, method)}
        elif method == FUNCTION and agent_id in wanted:
            try:
                agents[agent_id] = make_agent(load_function(entry["agent"]), **about)
            except ValueError as problem:
                raise ValueError(f"{path.name}, {agent_id}: {problem}") from None
    return agents


def connect_agent(entry, door):
    """Return an agent that asks its model through a door: `forecast` and the runs table's columns.

    `seed` is the model's: the local server's, or what the entry's options say; a provider's own
    choice is not known.
    """
    ask, prompts, _ = PROMPTED[entry["method"]]
    local = get_local_name(entry)
    client = build_client(entry, door)
    params = {"method": entry["method"], "options": client.options} | client.limits
    if client.probabilities:
        params["probabilities"] = True
        prompts = (*prompts, *STATED_PROMPTS)
    params |= {
        name: entry[name]
        for name in ("search", "tolerance_s", "model_released_date")
        if name in entry
    }
    columns = ("category", "framework", "model", "model_family", "knowledge_cutoff_date")
    answer = partial(
        forecast_with_graph if entry["method"] in GRAPH_METHODS else forecast, ask, client
    )
    tolerance_s = entry.get("tolerance_s", TOLERANCE_S)
    web = (
        OpenWeb(entry["search"], door, tolerance_s) if "search" in entry else None
    )  # which stands beside the world
    return {name: entry.get(name) for name in columns} | {
        "forecast": (lambda event, world: answer(event, web.join(world))) if web else answer,
        "model_digest": MODELS[local]["sha256"] if local else None,
        "params": params,
        "prompt_sha256": hash_prompts(prompts),
        "seed": client.options.get("seed", SEED if local else None),
    }


def build_client(entry, door):
    """Return the Client of an entry's model at a door, with its options, limits and wish for
    probabilities."""
    local = get_local_name(entry)
    limits = {name: entry[name] for name in LIMITS if name in entry}
    model = name_model(local) if local else entry["model"]
    options = entry.get("options", {})
    return Client(door, model, bool(local), options, limits, entry.get("probabilities", False))


def pick_entry(entries, name):
    """Return an agent's entry. Raises ValueError, with the nearest name, for one that there is
    not."""
    if name not in entries:
        listed = list_nearest(name, entries, "data/agents.toml")
        place = "data/agents.local.toml"
        raise ValueError(
            f"no agent is called {name!r}{listed}; to add it, write [{name}] into {place}"
        )
    return entries[name]


def find_agent(agent_id):
    """Return the entry of an agent that asks a model, by its name; "provider/name" is a model.
    Raises ValueError."""
    if "/" in agent_id:
        return check_agent(agent_id, {"model": agent_id})
    entry = pick_entry(load_entries(wanted=[agent_id], own=True), agent_id)
    if entry["method"] not in PROMPTED:
        raise ValueError(f"{agent_id} asks no language model; write the name of an agent that does")
    return entry


@contextmanager
def open_agent(agent_id, run_id, *, live=False, minutes=None, about=None):
    """Yield the Client of an agent's model on a study's recordings, data/runs/<run_id>/ (`run_id`:
    its notebook).

    Address, key, price and options are those of the agent's entry; a bare "provider/name" has the
    provider's own. Live, what is not recorded is asked for, for so many `minutes` at most, and
    packed at the end with `about`. Raises ValueError as `find_agent` does, and before anything is
    asked where the model cannot be; RuntimeError where a local one cannot be served.
    """
    entry = find_agent(agent_id)
    if live and (problem := check_entry(entry)):
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    with ExitStack() as stack:
        connection = open_model(entry, stack) if live else None
        settings = {
            "prices": read_prices(entry),
            "takes": list_taken(entry),
            "command": f"make study NOTEBOOK={run_id}",
        }
        door = open_door(run_id, live=live, minutes=minutes, connection=connection, **settings)
        if live and not get_local_name(entry) and (cut := describe_cut(door)):
            print(f"{run_id}: {cut}")
        try:
            yield build_client(entry, door)
        finally:
            door.recordings.close()
            if live and has_news(run_id):
                pack_recordings(run_id, describe_model(entry["model"]) | {"about": about})


@contextmanager
def open_consult(agent_id, run_id, **settings):
    """Yield an agent's model as a judge, `consult(prompt, schema, repeat=0)` (`models.judges`); as
    `open_agent`."""
    with open_agent(agent_id, run_id, **settings) as client:
        yield make_consult(client)


def check_entry(entry, environment=os.environ):
    """Return why an entry's model cannot be asked from here, None when it can. Nothing is sent.

    Looked for are a local model's server and file, the provider's name, and its key.
    """
    if local := get_local_name(entry):
        if problem := find_missing(local):
            return problem
    elif (name := entry.get("api_key_env")) and not environment.get(name):
        return f"no key: set {name}, which api_key_env names, in the environment"
    elif problem := check_model(
        entry["model"], entry.get("api_base"), bool(name or "api_base" in entry)
    ):
        return problem
    return find_search_problem(entry["search"]) if "search" in entry else None


def predict_events(events, crawler, names=None):
    """Return rows of the predictions table that registered baselines (all, or those named) make;
    nothing is stored."""
    agents = {key: agent for key, agent in load_agents().items() if agent["category"] == "baseline"}
    rows = []
    for event in events.sort_values(["as_of", "source_id", "event_id"]).to_dict("records"):
        for name in agents if names is None else names:
            rows.append(make_rows((name, name), event, agents[name]["forecast"](event, crawler))[1])
    return pd.DataFrame(rows)
