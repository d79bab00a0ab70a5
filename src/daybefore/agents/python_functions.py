"""An agent as a Python function of a reader's own: `forecast(event, world)` returns an answer, or a
distribution.

`event` is the event's row as a dict; `world`, a `View`, is the web as of its `as_of`, and each look
is a step of the trace. Returned may be a text, read as a reply is; a number; a list of letters or
names; a pandas Series of values expected on the event's date, answered by the rule that resolves
it; a dict, the probability of each letter or name, or values by quantile; None for no answer
(docs/own-agent.md). What it raises is stored as the question's failure.
"""

import ast
import asyncio
import importlib
import inspect
import linecache
import math
import sys
import threading
import traceback
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from numbers import Real
from pathlib import Path
from types import FunctionType

import pandas as pd

from daybefore.agents.baselines import read_history
from daybefore.questions.long_questions import resolve_question
from daybefore.questions.question_types import resolve_event
from daybefore.replies import PARSER_VERSION
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import ROOT, hash_text, parse_json

LOCK = threading.Lock()
"""Held while pages are parsed, as threads share one world."""


class View:
    """The world as of one event's `as_of`: pages, searches, a source's values; each look is added
    to `steps`."""

    def __init__(self, crawler, event):
        self._crawler = crawler
        self._event = event
        self.steps = []

    def fetch(self, url):
        """Return the page (`web.fetched_pages.Page`: text, url, published_at, page_id) at an
        address. Raises GatewayError."""
        page = self._crawler.fetch(url, self._event["as_of"])
        self._add("open", {"address": url}, [page.page_id])
        return page

    def search(self, query, n=3):
        """Return the `n` best passages (`web.search.Hit`: text, title, url, published_at, page_id)
        for a query."""
        hits = self._crawler.search(query, self._event["as_of"], n)
        self._add("search", {"query": query}, sorted({hit.page_id for hit in hits}))
        return hits

    def observe(self, source_id=None):
        """Return the values on a source's page (default: the event's): occurred_at, entity,
        variable, value.

        Raises ValueError for what is no source, and by default for an event of no series.
        """
        if source_id is None:
            self._check_series()
            source_id = self._event["source_id"]
        with LOCK:
            table, page_id = self._crawler.observe(source_id, self._event["as_of"])
        self._add("observe", {"source_id": source_id}, [page_id])
        return table.copy()

    def read_history(self):
        """Return the past of what the event asks about, in its measure: dates x entities, the
        newest last.

        Raises GatewayError or ExtractionError when the source's page cannot be had or read,
        ValueError for an event of no series.
        """
        variables = self._check_series()
        source_id = variables.get("about", self._event["source_id"])
        read = getattr(
            self._crawler, "recall", partial(read_history, self._crawler)
        )  # a world of series reads its own
        with LOCK:
            history, page_id = read(source_id, self._event["as_of"], variables)
        self._add("observe", {"source_id": source_id}, [page_id])
        return history.copy()

    def _check_series(self):
        if (variables := parse_json(self._event["variables"])) is None:
            raise ValueError(
                "a public question has no series to read; search() and fetch() look at pages"
            )
        return variables

    def _add(self, tool, arguments, page_ids):
        self.steps.append(
            {"step_type": "tool", "tool": tool, "arguments": arguments, "page_ids": page_ids}
        )


def make_agent(function, **columns):
    """Return a function as an agent for `run_loop.run_agents`; `columns` are more of the runs
    table's."""
    first, *_ = list_functions(function)
    name = f"{first.__module__}:{getattr(first, '__qualname__', type(first).__qualname__)}"
    params = {"function": name}
    if isinstance(function, partial):
        params["arguments"] = [
            repr(part) for part in (function.args, function.keywords) if is_plain(part)
        ]
    about = {"category": "scripted", "framework": "Python function", "params": params}
    return about | columns | {"forecast": partial(ask_function, function)}


def ask_function(function, event, world):
    """Ask a function about an event; returns the outcome that `run_loop.run_agents` stores."""
    view = View(world, event)
    try:
        given = function(dict(event), view)
        if inspect.iscoroutine(given):
            given = finish_coroutine(given)
    except (Exception, SystemExit) as error:
        code = getattr(list_functions(function)[0], "__code__", None)
        for frame in reversed(
            traceback.extract_tb(error.__traceback__)
        ):  # where in the function's own folder
            if code and Path(frame.filename).parent == Path(code.co_filename).parent:
                error.add_note(f"{Path(frame.filename).name}, line {frame.lineno}")
                break
        raise
    try:
        read = read_returned(given, event)
        note = None
    except ValueError as problem:
        note = str(problem)
        status = "refusal" if given is None else "unparsable"
        read = {"value": None, "status": status, "reason": note}
    seen = sorted({page_id for step in view.steps for page_id in step["page_ids"]})
    trace = [*view.steps, {"step_type": "answer", "content": repr(given)[:500], "error": note}]
    outcome = {
        "prediction": read | {"parser_version": str(PARSER_VERSION), "source_ids": seen},
        "trace": trace,
    }
    return outcome | ({"reply": given} if isinstance(given, str) else {})


def finish_coroutine(given: Coroutine) -> object:
    """Return what an async function's coroutine returns; in a thread of its own, as a notebook's
    has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, given).result()


def read_returned(given, event):
    """Return what a function gave as columns of the predictions table. Raises ValueError that says
    what was wanted."""
    kind = event["kind"]
    options = parse_json(event["options"]) or {}
    if given is None:
        raise ValueError("the function gave None, no answer")
    if isinstance(given, str):
        value, reason = parse_prediction(given, kind, options, explain=True)
        if value is None:
            raise ValueError(f"its text cannot be read: {reason}")
        return {"value": value}
    if isinstance(given, pd.Series):
        return {"value": resolve_expected(given, event)}
    if (
        isinstance(given, dict)
        and given
        and kind in ("number", "percent", "single", "multi", "ranking")
    ):
        return read_distribution(given, kind, options, event)
    if isinstance(given, Real) and kind in ("number", "percent"):
        return {"value": check_number(given)}
    if isinstance(given, list | tuple) and given and kind in ("multi", "ranking", "list"):
        check_options(given, options)
        return {"value": sorted(set(given)) if kind == "multi" else list(given)}
    told = f"the function gave a {type(given).__name__} for an event of kind {kind}"
    raise ValueError(f"{told}; see daybefore.agents.python_functions for what it may give")


def read_distribution(given, kind, options, event):
    """Return a distribution, checked, with the answer that follows from it."""
    if kind in ("number", "percent"):
        values = {
            check_number(float(share), 1): check_number(value)
            for share, value in sorted(given.items())
        }
        if 0.5 not in values or list(values.values()) != sorted(values.values()):
            raise ValueError(
                "a distribution of a number maps quantiles, 0.5 among them, to values that do not fall"
            )
        return {
            "value": values[0.5],
            "distribution": {str(share): value for share, value in values.items()},
            "interval_low": values.get(0.05),
            "interval_high": values.get(0.95),
        }
    check_options(given, options)
    chances = {name: check_number(chance, 1) for name, chance in given.items()}
    best = sorted(chances, key=lambda name: (-chances[name], name))
    made = {"distribution": chances}
    if kind == "ranking":
        return made | {"value": best[: int(event["k"])]}
    if kind == "multi":
        likely = sorted(name for name in chances if chances[name] > 0.5)
        return made | {"value": likely or best[:1]}
    if not math.isclose(sum(chances.values()), 1, abs_tol=1e-6):
        raise ValueError(f"the probabilities add up to {sum(chances.values()):.6g}, not to 1")
    return made | {"value": best[0], "probability": chances[best[0]]}


def resolve_expected(expected, event):
    """Return the answer to an event if each entity's value on its date is as expected, by its own
    rule."""
    if (variables := parse_json(event["variables"])) is None:
        raise ValueError("a public question has no series, so nothing follows from expected values")
    if event["kind"] == "number":
        return check_number(expected.get(variables["entity"]))
    if variables["ask"] == "peak":
        path = (
            expected.set_axis(expected.index.astype(str).str[:10])
            .sort_index()
            .to_frame(variables["entity"])
        )
        value = resolve_question(variables, path)
        wanted = (
            f"that takes a Series by date, from {variables['from_date']} to {variables['date']}"
        )
    else:
        value = resolve_event(variables | {"by": "value"}, expected)
        wanted = "that takes one for each entity"
    if not value:
        raise ValueError(
            f"no answer follows from values expected for {list(expected.index)}; {wanted}"
        )
    return value


def check_number(value, most=math.inf):
    """Return a finite number, with `most` one from 0 to it, as a float. Raises ValueError for
    anything else."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    if most < math.inf and not 0 <= value <= most:
        raise ValueError(f"{value!r} is no number from 0 to {most}")
    return float(value)


def check_options(names, options):
    """Raise ValueError where one of some names is none of the options' letters; where there are
    none, no text."""
    for name in names:
        if not isinstance(name, str) or not name or (options and name not in options):
            raise ValueError(
                f"{name!r} is none of {', '.join(options)}" if options else f"{name!r} is no name"
            )


def load_function(place):
    """Return the function that "module:function" names, of the working folder, the checkout's root
    or PYTHONPATH.

    Raises ValueError with what is wrong: the module's own error, no such function, or none that can
    be called.
    """
    module, _, name = place.partition(":")
    folders = list(dict.fromkeys([str(Path.cwd()), str(ROOT)]))
    sys.path += [
        folder for folder in folders if folder not in sys.path
    ]  # last: a file of yours hides no library
    try:
        function = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        where = f"it is looked for in {', '.join(folders)} and on PYTHONPATH"
        raise ValueError(
            f"{place} cannot be used ({type(error).__name__}: {error}); {where}"
        ) from None
    if not callable(function):
        raise ValueError(f"{place} is no function")
    return function


# --- what a function's runs are named by ------------------------------------------------------------


KIT = ("daybefore", "helpers", "studies")
"""The packages whose functions are not one's own."""


def hash_own(forecast):
    """Return 12 hex digits for what an agent's functions of your own rest on; None where all are
    the kit's.

    That is a function's file, and plain values it was made with; in a notebook its cell, with
    functions and plain values that it names there. What it imports does not count.
    """
    own = [
        function
        for function in list_functions(forecast)
        if function.__module__.split(".")[0] not in KIT
    ]
    texts = set()
    for function in own:  # to which those are added that one names in a notebook
        function = inspect.unwrap(getattr(function, "__func__", function))
        if not inspect.isfunction(function):  # an object that can be called
            kept = getattr(function, "__dict__", None)
            texts.add(f"# {kept!r}\n" if is_plain(kept) else "")
            if not inspect.isfunction(function := type(function).__call__):
                continue
        file = function.__code__.co_filename
        linecache.checkcache(file)
        texts.add("".join(linecache.getlines(file)))
        inner = inspect.getclosurevars(function)
        held = {
            **inner.nonlocals,
            **dict(enumerate(function.__defaults__ or ())),
            **(function.__kwdefaults__ or {}),
        }
        for name, value in (held if Path(file).is_file() else held | inner.globals).items():
            if (
                isinstance(value, FunctionType)
                and value not in own
                and value.__module__.split(".")[0] not in KIT
            ):
                own.append(value)
            elif is_plain(value):
                texts.add(f"# {name} = {value!r}\n")
    return hash_text("\0".join(sorted(texts)), 12) if own else None


def list_functions(forecast):
    """Return the functions behind an agent's `forecast`: those that a `functools.partial` holds,
    else itself."""
    if not isinstance(forecast, partial):
        return [forecast]
    parts = [forecast.func, *forecast.args, *forecast.keywords.values()]
    return [function for part in parts if callable(part) for function in list_functions(part)]


def is_plain(value):
    """Say whether a value is written by `repr` as it is: numbers, texts, and containers of them.

    >>> is_plain({"a": [1, (None, 2.5)]}), is_plain(object()), is_plain([len])
    (True, False, False)
    """
    try:
        return ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError):
        return False
