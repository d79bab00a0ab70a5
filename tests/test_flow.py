"""The way of the data is the way of the imports: world -> questions -> agents -> outcomes -> studies -> figures."""

import ast
from pathlib import Path

import pytest

import helpers

PACKAGE = Path(helpers.__file__).parent


def list_modules(package=PACKAGE):
    """Return dotted name -> file of every module; a folder's empty __init__.py is no module."""
    modules = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if path == package / "__init__.py":
            continue
        if parts[-1] == "__init__":
            if not path.read_text(encoding="utf-8").strip():
                continue
            parts = parts[:-1]
        modules[".".join(parts)] = path
    return modules


def find_imports(source, modules, inside=""):
    """Return which of `modules` a text of Python imports, anywhere in it; relative imports start in `inside`.

    >>> sorted(find_imports("from helpers.world import crawl\\nimport helpers.store as s", {"world.crawl", "store"}))
    ['store', 'world.crawl']
    >>> find_imports("def f():\\n    from .gateway import fetch", {"world.gateway"}, inside="world")
    {'world.gateway'}
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ["helpers", *filter(None, inside.split("."))]
            base = ".".join(above[: len(above) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                found.add(inner if inner.removeprefix("helpers.") in modules else base)
    return {name.removeprefix("helpers.") for name in found if name.startswith("helpers.")} & set(modules)


def read_imports(name, modules):
    """Return which modules a module imports."""
    path = modules[name]
    inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return find_imports(path.read_text(encoding="utf-8"), modules, inside)


def test_the_flow_lists_every_module_once():
    assert sorted(helpers.FLOW) == sorted(list_modules())


@pytest.mark.parametrize("name", helpers.FLOW)
def test_a_module_imports_only_what_comes_before_it(name):
    modules = list_modules()
    upstream = set(helpers.FLOW[: helpers.FLOW.index(name)])
    assert read_imports(name, modules) - upstream == set(), f"{name} imports what comes after it in helpers.FLOW"


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("import helpers.world.gateway", ""),
        ("import helpers.world.gateway as g", ""),
        ("from helpers.world import gateway", ""),
        ("from helpers.world.gateway import fetch", ""),
        ("def f():\n    from helpers.world.gateway import fetch", ""),
        ("from . import gateway", "world"),
        ("from .gateway import fetch", "world"),
        ("from ..world.gateway import fetch", "agents"),
        ("from .. import gateway", "world.slice"),
    ],
)
def test_an_import_is_seen_in_each_of_its_forms(text, inside):
    assert find_imports(text, {"store", "world.gateway", "world.slice"}, inside) == {"world.gateway"}
