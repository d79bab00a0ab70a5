"""Which code a run depends on: a number a method, kept by hand, and of a function of your own the digest of its source.

A run's id (`runs.describe_run`) is a digest of the agent's settings, its prompts, the questions and this. Raise a
method's number when a change of the code changes what it answers or asks; nothing else renames a run.
"""

import linecache
from functools import partial
from pathlib import Path
from types import FunctionType

from helpers.store import hash_text

METHOD_VERSIONS = {
    **dict.fromkeys(("last_value", "seasonal", "mean", "smoothing", "arima", "base_rate", "random"), 1),
    **dict.fromkeys(("first_option", "option_words"), 1),
    **dict.fromkeys(("uniform", "past_levels", "opening", "walk", "season"), 1),
    **dict.fromkeys(("zero_shot", "search_prompt", "graph", "search_graph", "react", "tool_search"), 1),
    **dict.fromkeys(("research", "deep_research", "majority"), 1),
}
"""The version of each method of the kit's own, by the name that stands in its agents' `params`."""


def hash_agent(forecast, method=None):
    """Return the `code_version` of an agent's runs: its method's number, 12 hex digits for a function of your own.

    >>> hash_agent(partial(hash_text), "react")
    '1'
    """
    own = [function for function in list_functions(forecast) if function.__module__.split(".")[0] != "helpers"]
    texts = sorted({text for function in own for text in read_own(function)})
    return hash_text("\0".join(texts), 12) if own else str(METHOD_VERSIONS.get(method, 1))


def list_functions(forecast):
    """Return the functions behind an agent's `forecast`: those that a `functools.partial` holds, else itself.

    >>> [function.__name__ for function in list_functions(partial(map, len, n=3))]
    ['map', 'len']
    """
    if not isinstance(forecast, partial):
        return [forecast]
    parts = [forecast.func, *forecast.args, *forecast.keywords.values()]
    return [function for part in parts if callable(part) for function in list_functions(part)]


def read_own(function, seen=()):
    """Return the texts on which a function of your own rests, as a set: its file, and plain values it was made with.

    In a notebook its cell, with functions and plain values that it names there. What it imports does not count.
    """
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    linecache.checkcache(code.co_filename)
    texts = {"".join(linecache.getlines(code.co_filename))}
    cells = getattr(function, "__closure__", None) or ()
    held = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=False)}
    held |= dict(enumerate(getattr(function, "__defaults__", None) or ()))
    held |= getattr(function, "__kwdefaults__", None) or {}
    if not hasattr(function, "__code__"):
        held |= vars(function)
    if not Path(code.co_filename).is_file():
        known = getattr(function, "__globals__", {})
        held |= {name: known[name] for name in code.co_names if name in known}
    for name, value in held.items():
        if isinstance(value, FunctionType) and value not in seen and not value.__module__.startswith("helpers"):
            texts |= read_own(value, (*seen, function))
        elif is_plain(value):
            texts.add(f"# {name} = {value!r}\n")
    return texts


def is_plain(value):
    """Say whether a value is written by `repr` as it is: numbers, texts, and containers of them.

    >>> is_plain({"a": [1, (None, 2.5)]}), is_plain(object()), is_plain([len])
    (True, False, False)
    """
    if isinstance(value, dict):
        return is_plain([*value, *value.values()])
    if isinstance(value, list | tuple):
        return all(is_plain(part) for part in value)
    return value is None or isinstance(value, bool | int | float | str | bytes)
