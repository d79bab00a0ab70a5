"""The agent registry, data/agents.toml: an agent by its name, ready to be put to events (FutureX 3.2.3)."""

import math
import os
import re
import tomllib
from contextlib import contextmanager, suppress
from functools import partial

import pandas as pd

from helpers.agents.deep_research import ask_deep_research
from helpers.agents.forecasters import METHODS, forecast_event
from helpers.agents.functions import load_function, make_agent
from helpers.agents.prompted import Client, ask_directly, forecast
from helpers.agents.research import ask_with_research
from helpers.agents.searching import ask_step_by_step, ask_with_pages, ask_with_tools
from helpers.agents.submissions import ask_for_graph, ask_for_graph_with_pages, forecast_with_graph
from helpers.agents.workers import to_cell
from helpers.faults import check_name, suggest
from helpers.models.files import FOLDER, MODELS, name_model
from helpers.models.judges import build_consult, open_study
from helpers.models.llm import OURS, Door, check_model, check_options, is_final, list_options
from helpers.models.local import LOCAL, PACKAGE, SEED, get_local_name, has_server
from helpers.models.polling import list_job_options
from helpers.prompts import hash_prompts
from helpers.store import ROOT, dump_json
from helpers.tables import CATEGORIES

EVENT_PROMPTS = ("option_event", "open_event")
RESEARCH_PROMPTS = ("research_manager", "research_survey", "research_start", "research_search")
PROMPTED = {
    "zero_shot": (ask_directly, EVENT_PROMPTS),
    "search_prompt": (ask_with_pages, (*EVENT_PROMPTS, "found_pages")),
    "graph": (ask_for_graph, ("submission",)),
    "search_graph": (ask_for_graph_with_pages, ("submission", "found_pages")),
    "react": (ask_step_by_step, (*EVENT_PROMPTS, "look_up", "final_line")),
    "tool_search": (ask_with_tools, EVENT_PROMPTS),
    "research": (ask_with_research, (*EVENT_PROMPTS, *RESEARCH_PROMPTS, "final_line")),
    "deep_research": (ask_deep_research, EVENT_PROMPTS),
}
"""Methods of agents that ask a language model: how they answer, and the prompts they use."""

GRAPH_METHODS = ("graph", "search_graph")
"""Those that submit a causal graph beside the answer (WorldReasoner 5.1)."""

CATEGORY_OF = {
    "zero_shot": "base_model",
    "graph": "base_model",
    "research": "open_deep_research",
    "deep_research": "closed_deep_research",
}
"""The category (3.2.3) of an agent by its method, where its entry gives none; the other methods think and search."""

FUNCTION = "function"
"""Method of an agent that is a Python function of the reader's own (`agent = "module:function"`)."""

KEYS = {"about", "api_base", "api_key_env", "category", "framework", "knowledge_cutoff_date", "method", "model"}
KEYS |= {"agent", "model_family", "options", "usd_per_million"}
"""What an entry may say."""


def load_entries(path=ROOT / "data/agents.toml", wanted=()):
    """Read the registry: {agent_id: entry}, checked. A broken entry is left out: it must not stop the other agents.

    Raises ValueError naming the agent and what is missing, unknown or not to be said there, where a `wanted` entry is
    broken, or the file is no TOML.
    """
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path.name}: {error}") from None
    kept = {}
    for agent_id, entry in entries.items():
        try:
            check_name(f"{path.name}, agent", agent_id)
            if isinstance(entry, dict) and "agent" in entry:
                entry = fill_function(f"{path.name}, {agent_id}", entry)
            elif isinstance(entry, dict) and "model" in entry:
                entry = fill_model(entry)
            check_agent(f"{path.name}, {agent_id}", entry)
            kept[agent_id] = entry
        except ValueError:
            if agent_id in wanted or not isinstance(entry, dict):
                raise
    return kept


def check_agent(where, entry):
    """Raise ValueError when an entry's form is wrong, or its category, method or model is not known."""
    check_form(where, entry)
    methods = (FUNCTION,) if "agent" in entry else (*METHODS, *PROMPTED)
    for name, known in (("category", CATEGORIES), ("method", methods)):
        if entry.get(name) not in known:
            raise ValueError(f"{where}: {name} must be one of {', '.join(known)}")
    model = entry.get("model")
    if entry["method"] in PROMPTED and not model:
        raise ValueError(f"{where}: the method {entry['method']} needs a model")
    if str(model).startswith(LOCAL) and model.removeprefix(LOCAL) not in MODELS:
        names = ", ".join(LOCAL + name for name in MODELS)
        raise ValueError(f"{where}: there is no model {model!r}; there are {names}")


def fill_model(entry):
    """Return the entry of an agent that asks a model with what it need not say: method, category and framework.

    >>> fill_model({"model": "openai/mine"})
    {'method': 'zero_shot', 'category': 'base_model', 'framework': 'zero_shot', 'model': 'openai/mine'}
    """
    method = entry.get("method", "zero_shot")
    return {"method": method, "category": CATEGORY_OF.get(method, "think_search"), "framework": method} | entry


def fill_function(where, entry):
    """Return the entry of a function of the reader's own with what it need not say. Raises ValueError for a wrong one.

    >>> fill_function("agents.toml, mine", {"agent": "my_module:forecast"})["category"]
    'scripted'
    """
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", str(entry["agent"]), re.ASCII):
        raise ValueError(f'{where}: agent must be written "module:function", not {entry["agent"]!r}')
    beside = sorted(set(entry) & {"method", "model", "options", "api_base", "api_key_env", "usd_per_million"})
    if beside:
        raise ValueError(f"{where}: {beside[0]} is no matter of an agent that is a function; leave it out")
    if entry.get("category") == "baseline":
        raise ValueError(f"{where}: the baselines are the kit's own; leave the category out")
    return {"category": "scripted", "framework": "Python function"} | entry | {"method": FUNCTION}


def check_form(where, entry):
    """Raise ValueError when an entry is no table, has unknown keys, no framework, or options that are the door's."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: an agent is a table, [name] with its keys below")
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}; there are {', '.join(sorted(KEYS))}")
    if not isinstance(entry.get("framework"), str):
        raise ValueError(f"{where}: framework must be given, as text")
    if not isinstance(entry.get("options", {}), dict):
        raise ValueError(f"{where}: options must be a table, such as {{ temperature = 0 }}")
    try:
        check_options(entry.get("options", {}), OURS)
        read_prices(entry)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def read_prices(entry):
    """Return what an entry says of its model's price, (US dollars an input token, an output token), None if nothing.

    >>> read_prices({"usd_per_million": {"input": 0.5, "output": 2}})
    (5e-07, 2e-06)
    """
    given = entry.get("usd_per_million")
    if given is None:
        return None
    named = isinstance(given, dict) and set(given) == {"input", "output"}
    if not named or not all(isinstance(price, int | float) and 0 <= price < math.inf for price in given.values()):
        raise ValueError("usd_per_million must hold both prices of a million tokens: { input = 0.15, output = 0.6 }")
    return given["input"] / 1e6, given["output"] / 1e6


def is_prompted(entry):
    """Say whether an entry's agent asks a language model."""
    return entry["method"] in PROMPTED


def load_agents(path=ROOT / "data/agents.toml", wanted=()):
    """Return the agents that need no model: {agent_id: agent}, each with `forecast` and the runs table's columns.

    Of those that are functions of the reader's own only the `wanted`: the others' modules may be elsewhere. Raises
    ValueError with what is wrong with one's module.
    """
    agents = {}
    for agent_id, entry in load_entries(path, wanted).items():
        about = {"category": entry["category"], "framework": entry["framework"]}
        if entry["method"] in METHODS:
            forecast = partial(forecast_event, entry["method"])
            agents[agent_id] = about | {"forecast": forecast, "params": {"method": entry["method"]}}
        elif entry["method"] == FUNCTION and agent_id in wanted:
            try:
                agents[agent_id] = make_agent(load_function(entry["agent"]), **about)
            except ValueError as problem:
                raise ValueError(f"{path.name}, {agent_id}: {problem}") from None
    return agents


def connect_agent(entry, door):
    """Return an agent that asks its model through a door: `forecast` and the runs table's columns.

    `seed` is the model's: the local server's, or what the entry's options say; a provider's own choice is not known.
    """
    answer, prompts = PROMPTED[entry["method"]]
    local = get_local_name(entry)
    model = name_model(local) if local else entry["model"]
    options = entry.get("options", {})
    client = Client(door, model, bool(local), options)
    return {
        "forecast": partial(forecast_with_graph if entry["method"] in GRAPH_METHODS else forecast, answer, client),
        "category": entry["category"],
        "framework": entry["framework"],
        "model": entry["model"],
        "model_family": entry.get("model_family"),
        "model_digest": MODELS[local]["sha256"] if local else None,
        "knowledge_cutoff_date": entry.get("knowledge_cutoff_date"),
        "params": {"method": entry["method"], "options": options},
        "prompt_sha256": hash_prompts(prompts),
        "seed": options.get("seed", SEED if local else None),
    }


def find_agent(agent_id):
    """Return the entry of an agent that asks a language model, by its name; "provider/name" is a model and no more.

    Raises ValueError where data/agents.toml has no such agent, its entry is broken, or it asks no model.
    """
    if "/" in agent_id:
        return fill_model({"model": agent_id})
    entries = load_entries(wanted=[agent_id])
    if agent_id not in entries:
        raise ValueError(f"data/agents.toml has no agent {agent_id!r}{suggest(agent_id, entries)}")
    if not is_prompted(entries[agent_id]):
        raise ValueError(f"{agent_id} asks no language model; write the name of an agent that does")
    return entries[agent_id]


def find_obstacle(agent_id):
    """Return why an agent's model cannot be asked from here, its file included; None when it can. Nothing is sent."""
    entry = find_agent(agent_id)
    local = get_local_name(entry)
    if local and local not in MODELS:
        return f"no local model {local!r}; there are {', '.join(MODELS)}"
    if local and not has_server():
        return f"serving a local model needs the package {PACKAGE}; `make model` installs it"
    if local and not (FOLDER / MODELS[local]["file"]).exists():
        return f"no model file {MODELS[local]['file']}; `make model` fetches it"
    return check_entry(entry)


@contextmanager
def open_agent(agent_id, run_id, *, live=False, minutes=None, about=None):
    """Yield the Client of an agent's model on a study's recordings, data/runs/<run_id>/ (`run_id`: its notebook).

    Address, key, price and options are those of the agent's entry; a bare "provider/name" has the provider's own. Live,
    what is not recorded is asked for, for so many `minutes` at most, and packed at the end with `about`. Raises
    ValueError as `find_agent` does, and before anything is asked where the model cannot be.
    """
    entry = find_agent(agent_id)
    if live and (problem := find_obstacle(agent_id)):
        raise ValueError(f"{agent_id}: {problem}; nothing was asked")
    given = {"prices": read_prices(entry), "live": live, "minutes": minutes, "about": about}
    given |= {name: entry.get(name) for name in ("api_base", "api_key_env")}
    with open_study(run_id, entry["model"], **given) as study:
        yield Client(*study, entry.get("options", {}))


@contextmanager
def open_consult(agent_id, run_id, **settings):
    """Yield an agent's model as a judge, `consult(prompt, schema, repeat=0)` (`models.judges`); as `open_agent`."""
    with open_agent(agent_id, run_id, **settings) as client:
        yield build_consult(client.door, client.model, client.is_local)


class Probe:
    """Stands in for recordings: notes whether a question's first request is recorded, and ends the question."""

    def __init__(self, recordings):
        self.recordings, self.is_known = recordings, None

    def find(self, key):
        """Note whether a request has a reply, by its hash; raises LookupError in any case."""
        row = self.recordings.find(key)
        self.is_known = row is not None and is_final(row)
        raise LookupError(key)


def find_recorded(entry, recordings, events):
    """Yield, for each event (a row of `events`, with its `sample`), whether its first request has a recorded reply.

    None where the agent looks things up before its first request, which is then not known. Nothing is asked.
    """
    probe = Probe(recordings)
    forecast = connect_agent(entry, Door(probe))["forecast"]
    for event in events.to_dict("records"):
        probe.is_known = None
        with suppress(Exception):  # the probe ends the question, or the world that is not there; libraries wrap it
            forecast({column: to_cell(value) for column, value in event.items()}, None)
        yield probe.is_known


def count_replies(recordings):
    """Return how many replies are among a run's recordings, under whatever settings."""
    return sum(is_final(row) for row in recordings.rows.values())


def describe_recorded(entry, left, whole, recordings):
    """Return a sentence on how far the replies that are recorded answer the questions left; None when there are none.

    `whole` is the window's events, by which a run of other settings is told from one of other questions.
    """
    n_recorded, n_left = count_replies(recordings), len(left)
    if not n_recorded:
        return None
    known, options = list(find_recorded(entry, recordings, left)), entry.get("options", {})
    if n := known.count(True):
        return f"{n} of {n_left} questions have a recorded reply to begin with; what is recorded is not asked again"
    is_same = any(options.items() <= row["request"].get("options", {}).items() for row in recordings.rows.values())
    if is_same and None in known:
        same = "where model, options, prompts and pages are as they were"
        return f"{n_recorded} replies are recorded already; {same}, what they answer is not asked, or paid, again"
    if is_same and any(find_recorded(entry, recordings, whole)):
        return f"the {n_recorded} replies recorded already are to other questions; all {n_left} are asked"
    changed = "the agent's options (or its prompt, model or condition) have changed since"
    return f"{changed}: 0 of {n_recorded} recorded replies apply, all {n_left} questions are asked, and paid, anew"


def check_entry(entry, environment=os.environ):
    """Return why an entry's model cannot be asked from here, None when it can (a local model is for the server to say).

    Nothing is sent: the provider's name, its key and the options' names are looked for.
    """
    if get_local_name(entry):
        return describe_unknown(entry)
    name, address = entry.get("api_key_env"), entry.get("api_base")
    if name and not environment.get(name):
        return f"no key: set {name}, which api_key_env names, in the environment"
    missing = check_model(entry["model"], address, bool(name or address))
    return missing[1] if missing else describe_unknown(entry)


def describe_unknown(entry):
    """Return which option of an entry's is none that is known, with the nearest that is; None where all are."""
    local, options = get_local_name(entry), entry.get("options")
    if not options:
        return None
    model = name_model(local) if local else entry["model"]
    is_job = entry["method"] == "deep_research"
    known = list_job_options() if is_job else list_options(model, entry.get("api_base"))
    unknown = [name for name in options if name not in known]
    if not unknown:
        return None
    own = f"what only your server knows goes unchecked into options = {{ extra_body = {{ {unknown[0]} = ... }} }}"
    return f"there is no option {unknown[0]!r}{suggest(unknown[0], known)} ({own})"


def predict_events(events, crawler, names=None):
    """Return the predictions of registered baselines (all, or those named), made in this process, as a table.

    For trials and studies over small sets; `runs.run_agents` is what stores, resumes and keeps deadlines.
    """
    agents = {key: agent for key, agent in load_agents().items() if agent["category"] == "baseline"}
    rows = []
    for event in events.sort_values(["as_of", "source_id", "event_id"]).to_dict("records"):
        for name in agents if names is None else names:
            made = agents[name]["forecast"](event, crawler)["prediction"]
            cells = {key: dump_json(value) if key != "probability" else value for key, value in made.items()}
            row = {"run_id": name, "agent_id": name, "event_id": event["event_id"], "sample": 0, "status": "ok"}
            rows.append(row | {"as_of": event["as_of"]} | cells)
    return pd.DataFrame(rows)
