"""An agent as a Python function of a reader's own: `forecast(event, world)` returns an answer, or a distribution.

`event` is the event's row as a dict; `world`, a `View`, is the web as of its `as_of`, and each look is a step of the
trace. Returned may be a text, read as a reply is; a number; a list of letters or names; a pandas Series of values
expected on the event's date, answered by the rule that resolves it; a dict, the probability of each letter or name, or
values by quantile; None for no answer (docs/own-agent.md). What it raises is stored as the question's failure.
"""

import importlib
import inspect
import math
import sys
import threading
import traceback
from functools import partial
from numbers import Real
from pathlib import Path

import pandas as pd

from helpers.agents.forecasters import read_history
from helpers.agents.identity import is_plain, list_functions
from helpers.events.horizons import resolve_question
from helpers.events.types import resolve_event
from helpers.replies import PARSER_VERSION
from helpers.replies.parse import parse_prediction
from helpers.store import ROOT, parse_json
from helpers.web.pages import GatewayError

LOCK = threading.Lock()
"""Held while pages are parsed, as threads share one world."""


class View:
    """The world as of one event's `as_of`: pages, searches, a source's values; each look is added to `steps`."""

    def __init__(self, crawler, event):
        self._crawler, self._event, self.steps = crawler, event, []

    @property
    def as_of(self):
        """The moment in which the agent lives, the event's."""
        return self._event["as_of"]

    def fetch(self, url, as_of=None):
        """Return the page (`gateway.Page`: text, url, published_at, page_id) at an address. Raises GatewayError."""
        page = self._crawler.fetch(url, self._choose(as_of))
        self._add("open", {"address": url}, [page.page_id])
        return page

    def search(self, query, n=3, as_of=None):
        """Return the `n` best passages (`search.Hit`: text, title, url, published_at, page_id) for a query."""
        hits = self._crawler.search(query, self._choose(as_of), n)
        self._add("search", {"query": query}, sorted({hit.page_id for hit in hits}))
        return hits

    def observe(self, source_id=None, as_of=None):
        """Return the values on a source's page (default: the event's): occurred_at, entity, variable, value."""
        source_id = source_id or self._find_source()
        with LOCK:
            table, page_id = self._crawler.observe(source_id, self._choose(as_of))
        self._add("observe", {"source_id": source_id}, [page_id])
        return table.copy() if isinstance(table, pd.DataFrame) else table

    def read_history(self):
        """Return the past of what the event asks about, in its measure: dates x entities, the newest last.

        Raises GatewayError or ExtractionError when the source's page cannot be had or read, ValueError for an event of
        no series.
        """
        self._find_source()
        variables = parse_json(self._event["variables"])
        source_id = variables.get("about", self._event["source_id"])
        read = getattr(self._crawler, "recall", partial(read_history, self._crawler))  # a world of series reads its own
        with LOCK:
            history, page_id = read(source_id, self.as_of, variables)
        self._add("observe", {"source_id": source_id}, [page_id])
        return history.copy()

    def _find_source(self):
        if parse_json(self._event["variables"]) is None:
            raise ValueError("a public question has no series to read; search() and fetch() look at pages")
        return self._event["source_id"]

    def _choose(self, as_of):
        if as_of is None:
            return self.as_of
        if pd.Timestamp(as_of).tzinfo is None:
            raise ValueError(f"as_of {as_of!r} has no offset from UTC; write it like 2016-10-10T00:00:00+08:00")
        if pd.Timestamp(as_of) > pd.Timestamp(self.as_of):
            raise GatewayError("too_late", f"{as_of} is later than {self.as_of}, the moment that this agent lives in")
        return as_of

    def _add(self, tool, arguments, page_ids):
        self.steps.append({"step_type": "tool", "tool": tool, "arguments": arguments, "page_ids": page_ids})


def make_agent(function, **columns):
    """Return a function as an agent for `runs.run_agents`; `columns` are more of the runs table's.

    Raises ValueError when it cannot be called with an event and a world.
    """
    first, *_ = list_functions(function)
    name = f"{first.__module__}:{getattr(first, '__qualname__', type(first).__qualname__)}"
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        raise ValueError(f"{name} must take two arguments, (event, world)") from None
    params = {"function": name}
    if isinstance(function, partial):
        params["arguments"] = [repr(part) for part in (function.args, function.keywords) if is_plain(part)]
    about = {"category": "scripted", "framework": "Python function", "params": params}
    return about | columns | {"forecast": partial(ask_function, function)}


def ask_function(function, event, world):
    """Ask a function about an event; returns the outcome that `runs.run_agents` stores."""
    view = View(world, event)
    try:
        given = function(dict(event), view)
    except (Exception, SystemExit) as error:
        code = getattr(list_functions(function)[0], "__code__", None)
        for frame in reversed(traceback.extract_tb(error.__traceback__)):  # where in the function's own folder
            if code and Path(frame.filename).parent == Path(code.co_filename).parent:
                error.add_note(f"{Path(frame.filename).name}, line {frame.lineno}")
                break
        raise
    outcome = {"prediction": {"parser_version": str(PARSER_VERSION)}}
    if isinstance(given, str):
        outcome["reply"] = given
    try:
        outcome["prediction"] |= read_answer(given, event)
        note = None
    except ValueError as problem:
        note, status = str(problem), "refusal" if given is None else "unparsable"
        outcome["prediction"] |= {"value": None, "status": status, "reason": note}
    seen = sorted({page_id for step in view.steps for page_id in step["page_ids"]})
    outcome["prediction"]["source_ids"] = seen
    outcome["trace"] = [*view.steps, {"step_type": "answer", "content": repr(given)[:500], "error": note}]
    return outcome


def read_answer(given, event):
    """Return what a function gave as columns of the predictions table. Raises ValueError that says what was wanted.

    >>> read_answer({"A": 0.2, "B": 0.8}, {"kind": "single", "options": '{"A":"Yes","B":"No"}'})
    {'value': 'B', 'probability': 0.8, 'distribution': {'A': 0.2, 'B': 0.8}}
    """
    kind, options = event["kind"], parse_json(event["options"]) or {}
    if given is None:
        raise ValueError("the function gave None, no answer")
    if isinstance(given, str):
        value, reason = parse_prediction(given, kind, options, explain=True)
        if value is None:
            raise ValueError(f"its text cannot be read: {reason}")
        return {"value": value}
    if isinstance(given, pd.Series):
        return {"value": resolve_expected(given, event)}
    if isinstance(given, dict):
        return read_distribution({str(key): check_number(value) for key, value in given.items()}, kind, options, event)
    if kind in ("number", "percent") and isinstance(given, Real) and not isinstance(given, bool):
        return {"value": check_number(given)}
    if kind in ("multi", "ranking", "list") and isinstance(given, list | tuple) and given:
        check_options(given, options)
        return {"value": sorted(set(given)) if kind == "multi" else list(given)}
    told = f"the function gave a {type(given).__name__} for an event of kind {kind}"
    raise ValueError(f"{told}; see helpers.agents.functions for what it may give")


def read_distribution(chances, kind, options, event):
    """Return a distribution, checked, with the answer that follows from it."""
    if kind in ("number", "percent"):
        quantiles = {float(share): value for share, value in chances.items()}
        check_shares(quantiles)
        ordered = [quantiles[share] for share in sorted(quantiles)]
        if 0.5 not in quantiles or ordered != sorted(ordered):
            raise ValueError("a distribution of a number maps quantiles, 0.5 among them, to values that do not fall")
        ends = {"interval_low": quantiles.get(0.05), "interval_high": quantiles.get(0.95)}
        return {"value": quantiles[0.5], "distribution": {str(share): v for share, v in quantiles.items()}} | ends
    if kind not in ("single", "multi", "ranking") or not chances:
        raise ValueError(f"there is no distribution for an event of kind {kind}")
    check_options(chances, options)
    check_shares(chances.values())
    best = sorted(chances, key=lambda name: (-chances[name], name))
    if kind == "ranking":
        return {"value": best[: int(event["k"])], "distribution": chances}
    if kind == "multi":
        return {"value": sorted(name for name in chances if chances[name] > 0.5) or best[:1], "distribution": chances}
    if not math.isclose(sum(chances.values()), 1, abs_tol=1e-6):
        raise ValueError(f"the probabilities add up to {sum(chances.values()):.6g}, not to 1")
    return {"value": best[0], "probability": chances[best[0]], "distribution": chances}


def resolve_expected(expected, event):
    """Return the answer to an event if each entity's value on its date is as expected, by its own rule."""
    variables = parse_json(event["variables"])
    if variables is None:
        raise ValueError("a public question has no series, so nothing follows from expected values")
    if variables["ask"] == "peak":
        path = expected.set_axis(expected.index.astype(str).str[:10]).sort_index().to_frame(variables["entity"])
        if month := resolve_question(variables, path):
            return month
        span = f"from {variables['from_date']} to {variables['date']}"
        raise ValueError(f"the month of the highest value follows from a Series by date, {span}")
    if event["kind"] == "number":
        return check_number(expected.get(variables["entity"]))
    value = resolve_event(variables | {"by": "value"}, expected)
    if not value:
        raise ValueError(f"no answer follows from values expected for {list(expected.index)}")
    return value


def check_number(value):
    """Return a finite number as a float. Raises ValueError for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def check_shares(values):
    """Raise ValueError where one of some numbers is not from 0 to 1."""
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"{value!r} is no number from 0 to 1")


def check_options(names, options):
    """Raise ValueError where one of some names is none of the options' letters; where there are none, no text."""
    for name in names:
        if not isinstance(name, str) or not name or (options and name not in options):
            raise ValueError(f"{name!r} is none of {', '.join(options)}" if options else f"{name!r} is no name")


def load_function(place):
    """Return the function that "module:function" names, of the working folder, the checkout's root or PYTHONPATH.

    Raises ValueError with what is wrong: no such module, one that fails, no such function, or none that can be called.
    """
    module, _, name = place.partition(":")
    folders = list(dict.fromkeys([Path.cwd(), ROOT]))
    # after all others, so that a file of yours hides no library
    sys.path += [str(folder) for folder in folders if str(folder) not in sys.path]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".")[0] == error.name.split(".")[0]:
            looked = "".join(f", the checkout {folder}" for folder in folders[1:])
            where = f"no module {module} in the working folder {folders[0]}{looked}, or on PYTHONPATH"
            raise ValueError(where) from None
        raise ValueError(f"module {module} imports {error.name}, which is not installed") from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"module {module} fails as it is imported: {type(error).__name__}: {error}") from None
    files = [folder.joinpath(*module.split(".")).with_suffix(".py") for folder in folders]
    here, file = next((file for file in files if file.exists()), None), getattr(found, "__file__", None)
    if here and (file is None or Path(file).resolve() != here.resolve()):
        raise ValueError(f"{here.name} is hidden by another module {module}; give the file another name")
    function = getattr(found, name, None)
    if not callable(function):
        names = [key for key, value in vars(found).items() if inspect.isfunction(value) and value.__module__ == module]
        problem = f"{name} is no function" if hasattr(found, name) else f"there is no {name!r}"
        raise ValueError(f"module {module}: {problem}; its functions are {', '.join(names) or 'none'}")
    return function
