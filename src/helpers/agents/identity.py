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
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

from helpers.papers import find_reads, get_constant, parse_code

SOURCE = Path(__file__).resolve().parents[2]
"""Where the code that runs stands: a checkout's src, or what a package was installed into."""

WORLD = ("helpers.web.crawl", "helpers.web.archive")
"""What stands behind `world`: how pages are read and searched, and how the replay web makes them."""

NOTHING = SimpleNamespace()

PARSER = ("helpers.replies.predictions",)


def find_file(name, source=SOURCE):
    """Return the file of a module or package of the helpers, None when there is none."""
    path = source.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@lru_cache(maxsize=512)
def list_imports(text, package=""):
    """Return the names that a source text imports, wherever in it, sorted; `package` is what a leading dot stands for.

    Some name no module.

    >>> list_imports("import os, helpers.store\\ndef f():\\n    from helpers.models import grammars")
    ['helpers.models', 'helpers.models.grammars', 'helpers.store', 'os']
    >>> list_imports("from ..tools import mean", "mine.agents")
    ['mine.tools', 'mine.tools.mean']
    """
    names = set()
    for node in walk_statements(parse_code(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return sorted(names - {""})


def walk_statements(tree):
    """Yield the statements of a syntax tree, wherever in it, and what holds them: cases, handlers of exceptions."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        parts = (getattr(node, field, None) for field in ("body", "orelse", "handlers", "finalbody", "cases"))
        left += [statement for part in parts if isinstance(part, list) for statement in part]


def list_closure(names, source=SOURCE, within="helpers"):
    """Return what some modules import, and what those import, packages included: {module: text}, sorted by name.

    Only modules `within` a package count, with "" all that lie in the folder `source`, but for the helpers.

    >>> list(list_closure(["helpers.store"]))
    ['helpers', 'helpers.columns', 'helpers.store']
    """
    texts, left = {}, list(names)
    while left:
        name = left.pop()
        top = name.split(".")[0]
        is_ours = top == within or (not within and top != "helpers")
        file = find_file(name, source) if is_ours and name not in texts else None
        if file:
            texts[name] = file.read_text(encoding="utf-8")
            left += list_imports(texts[name], name if file.name == "__init__.py" else name.rpartition(".")[0])
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

    A function that is not of the helpers, a reader's own, counts with what `read_own` finds and the helpers that this
    imports.
    """
    names, own = set(WORLD), set()
    for function in list_functions(forecast):
        if function.__module__.split(".")[0] == "helpers":
            names.add(function.__module__)
        else:
            own |= read_own(function)
    for text in own:
        names.update(list_imports(text))
    return hash_modules(sorted(names), source, own)


def read_own(function, seen=()):
    """Return the texts on which a reader's own function rests, as a set.

    Its whole file and the files beside that it imports, and those these import; of an installed package only its own.
    In a notebook its cell, and of what it names there functions, modules and plain values. Either way the plain values
    that it keeps: defaults, what a function or an object around it holds. Data that it reads are not seen.
    """
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    linecache.checkcache(code.co_filename)
    texts = {"".join(linecache.getlines(code.co_filename))}
    cells = getattr(function, "__closure__", None) or ()
    held = dict(zip(code.co_freevars, [cell.cell_contents for cell in cells], strict=True)) if cells else {}
    held |= dict(enumerate(getattr(function, "__defaults__", None) or ()))
    held |= getattr(function, "__kwdefaults__", None) or {}
    held |= vars(getattr(function, "__self__", None if hasattr(function, "__code__") else function) or NOTHING)
    file = Path(code.co_filename)
    if file.is_file():
        name = function.__module__ if function.__module__ != "__main__" else file.stem
        folder = file.resolve().parents[name.count(".") + (file.name == "__init__.py")]
        is_installed = folder.name in ("site-packages", "dist-packages")
        texts |= set(list_closure([name], folder, name.split(".")[0] if is_installed else "").values())
    else:
        known = getattr(function, "__globals__", {})
        held |= {name: known[name] for name in list_used(code) if name in known}
        imported = [name for text in texts for name in list_imports(text)]
        imported += [value.__name__ for value in held.values() if isinstance(value, ModuleType)]
        texts |= set(list_closure(imported, Path.cwd(), "").values())
    for name, value in held.items():
        if isinstance(value, FunctionType) and value not in seen and not value.__module__.startswith("helpers"):
            texts |= read_own(value, (*seen, function))
        elif is_plain(value):
            texts.add(f"# {name} = {value!r}\n")
    return texts


def list_used(code):
    """Return the names that compiled code, and the functions within it, look up elsewhere."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return {*code.co_names, *(name for part in inner for name in list_used(part))}


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


@lru_cache(maxsize=1)
def hash_parser():
    """Return the `parser_version` of predictions read now: 12 hex digits of the parser's import closure."""
    return hash_modules(PARSER)
