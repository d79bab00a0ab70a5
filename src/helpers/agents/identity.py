"""Which code a run depends on: a digest of the modules that its agent imports, found in their source files.

Nothing is imported to find out. A function-local import counts like any other; a module that is named at run time only
(a string, a method of an object that was passed in) does not, but for the world, which is passed to every agent and so
is named here.

What is covered: the agent's answering functions, the parser, the grammars and the door to the model, as far as they
import one another; the crawler, search and replay web they read through; the papers' constants that these read. What
is not: other data. The events and the prompts' texts have digests of their own in a run's identity
(`runs.describe_run`), a local model its own in `model_digest`; the sources' rules (data/sources) and the replay's rows
(data/replay) show in the pages' ids, the libraries' versions in `packages`. Runner, ledger and registry are left out:
they store an answer but do not make it.
"""

import ast
import hashlib
import linecache
from functools import lru_cache, partial
from pathlib import Path

from helpers.papers import find_reads, get_constant, parse_code

SOURCE = Path(__file__).resolve().parents[2]
"""Where the code that runs stands: a checkout's src, or what a package was installed into."""

WORLD = ("helpers.world.crawl", "helpers.world.archive")
"""What stands behind `world`: how pages are read and searched, and how the replay web makes them."""

PARSER = ("helpers.replies.predictions",)


def find_file(name, source=SOURCE):
    """Return the file of a module or package of the helpers, None when there is none."""
    path = source.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@lru_cache(maxsize=512)
def list_imports(text):
    """Return the names below `helpers` that a source text imports, wherever in it, sorted; some name no module.

    >>> list_imports("import os, helpers.store\\ndef f():\\n    from helpers.models import grammars")
    ['helpers.models', 'helpers.models.grammars', 'helpers.store']
    """
    names = set()
    for node in ast.walk(parse_code(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return sorted(name for name in names if name.split(".")[0] == "helpers")


def list_closure(names, source=SOURCE):
    """Return what some modules import, and what those import, packages included: {module: text}, sorted by name.

    >>> list(list_closure(["helpers.store"]))
    ['helpers', 'helpers.columns', 'helpers.store']
    """
    texts, left = {}, list(names)
    while left:
        name = left.pop()
        file = None if name in texts else find_file(name, source)
        if file:
            texts[name] = file.read_text(encoding="utf-8")
            left += list_imports(texts[name])
            left += [name.rpartition(".")[0]] * ("." in name)
    return dict(sorted(texts.items()))


def hash_modules(names, source=SOURCE, own=()):
    """Return 12 hex digits that change with any module of an import closure, or with a paper's constant that it reads.

    `own` are texts that count beside it.
    """
    texts = [*list_closure(names, source).items(), *(("", text) for text in sorted(own))]
    reads = sorted({read for _, text in texts for read in find_reads(text)})
    digest = hashlib.sha256()
    for name, text in [*texts, *((".".join(read), repr(get_constant(*read))) for read in reads)]:
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def list_functions(forecast):
    """Return the functions behind an agent's `forecast`: those that a `functools.partial` holds, else itself.

    >>> [function.__name__ for function in list_functions(partial(map, len, n=3))]
    ['map', 'len']
    """
    if not isinstance(forecast, partial):
        return [forecast]
    parts = [forecast.func, *forecast.args, *forecast.keywords.values()]
    return [function for part in parts if callable(part) for function in list_functions(part)]


def hash_agent(forecast, source=SOURCE):
    """Return the `code_version` of an agent's runs: 12 hex digits of the import closure of its functions and the world.

    A function that is not of the helpers, a reader's own, counts with its whole file (in a notebook: its cell) and the
    helpers that this imports.
    """
    names, own = set(WORLD), set()
    for function in list_functions(forecast):
        if function.__module__.split(".")[0] == "helpers":
            names.add(function.__module__)
        else:
            own.add(read_own(function))
    for text in own:
        names.update(list_imports(text))
    return hash_modules(sorted(names), source, own)


def read_own(function):
    """Return the text that a function was defined in, "" when nothing of it is kept."""
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    linecache.checkcache(code.co_filename)
    return "".join(linecache.getlines(code.co_filename))


@lru_cache(maxsize=1)
def hash_parser():
    """Return the `parser_version` of predictions read now: 12 hex digits of the parser's import closure."""
    return hash_modules(PARSER)
