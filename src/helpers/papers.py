"""The papers' constants and printed results, read from data/papers: the one home of every published number.

<key>.toml holds what the kit computes with (`[constants]`, each with its section), what it takes where the paper is
silent (`[assumed]`, each with its reason too), and what it does as words can say and no computation reads
(`[decisions]`, likewise); <key>_<table>.csv holds a printed table, with a `section` column.
"""

import ast
import tomllib
from functools import cache, lru_cache
from types import MappingProxyType

import pandas as pd

from helpers import store

FOLDER = store.ROOT / "data" / "papers"

FIELDS = {
    "constants": ("value", "section"),
    "assumed": ("value", "section", "reason"),
    "decisions": ("value", "section", "reason"),
}
"""Part of a paper's toml -> what each of its entries says."""

N_PARSES = 5
"""How often a source text is parsed before Python's own error is passed on."""


def list_papers(folder=FOLDER):
    """Return the keys of the papers that have constants.

    >>> list_papers()
    ['futurex', 'liveagentbench', 'proof_of_time', 'worldreasoner']
    """
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_paper(key, folder=FOLDER):
    """Return a paper's toml as a dictionary: title, constants, assumed, decisions.

    Raises LookupError for an unknown key, and ValueError when an entry lacks its section or its reason, or a name
    stands in two parts.

    >>> load_paper("futurex")["constants"]["level_weights"]
    {'value': [0.1, 0.2, 0.3, 0.4], 'section': '4.1'}
    """
    path = folder / f"{key}.toml"
    if not path.exists():
        raise LookupError(f"no paper {key!r} in data/papers; there are {', '.join(list_papers(folder))}")
    paper = tomllib.loads(path.read_text(encoding="utf-8"))
    places = {}
    for part, fields in FIELDS.items():
        for name, entry in paper.setdefault(part, {}).items():
            absent = [field for field in fields if entry.get(field) in (None, "")]
            if absent:
                raise ValueError(f"{key}.toml: {part}.{name} has no {absent[0]}")
            if name in places:
                raise ValueError(f"{key}.toml: {name} stands in {places[name]} and in {part}; keep one")
            places[name] = part
    return paper


def get_constant(key, name, folder=FOLDER):
    """Return one value of a paper, printed or assumed; a list comes as a tuple, a table as a mapping to read from.

    A file is read again only when it has changed. Raises LookupError for an unknown name, and for a decision, which is
    in words.

    >>> get_constant("futurex", "crawl_hours"), get_constant("futurex", "carry_days")
    ((14, 16, 18, 20), 7)
    >>> get_constant("futurex", "colour")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    LookupError: futurex has no constant 'colour'; it has ...
    """
    path = folder / f"{key}.toml"
    values = _read_values(key, folder, path.stat().st_mtime_ns if path.exists() else None)
    if name not in values:
        raise LookupError(f"{key} has no constant {name!r}; it has {', '.join(sorted(values))}")
    return values[name]


def parse_code(text):
    """Return the syntax tree of a source text.

    Python 3.11 counts how deep it is in a tree for all threads together, so that two that parse at once end in a
    SystemError now and then (python/cpython issue 106905); the text is then parsed again.
    """
    for _ in range(N_PARSES - 1):
        try:
            return ast.parse(text)
        except SystemError:
            continue
    return ast.parse(text)


@lru_cache(maxsize=1024)
def find_reads(text):
    """Return the (paper, name) pairs that a source text reads by `get_constant`, sorted; names must be literals.

    >>> find_reads("from helpers import papers\\nDAYS = papers.get_constant('futurex', 'carry_days')")
    (('futurex', 'carry_days'),)
    """
    if "get_constant" not in text:
        return ()
    calls = [node for node in ast.walk(parse_code(text)) if isinstance(node, ast.Call)]
    calls = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) == "get_constant"]
    given = [tuple(argument.value for argument in call.args if isinstance(argument, ast.Constant)) for call in calls]
    return tuple(sorted({pair for pair in given if len(pair) == 2}))


@cache
def _read_values(key, folder, changed_ns):
    paper = load_paper(key, folder)
    entries = paper["constants"] | paper["assumed"]
    return MappingProxyType({name: _freeze(entry["value"]) for name, entry in entries.items()})


def _freeze(value):
    """Return a value that its readers can share, since none of them can change it."""
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return MappingProxyType(value) if isinstance(value, dict) else value


def list_constants(key, folder=FOLDER):
    """Return a paper's entries as a table: name, value, section, status (printed, assumed or decided), reason.

    >>> list_constants("futurex").set_index("name").loc["carry_days", ["value", "status"]].tolist()
    [7, 'assumed']
    """
    paper = load_paper(key, folder)
    rows = [
        {"name": name, "status": status, "reason": "", **entry}
        for part, status in zip(FIELDS, ("printed", "assumed", "decided"), strict=True)
        for name, entry in paper[part].items()
    ]
    return pd.DataFrame(rows, columns=["name", "value", "section", "status", "reason"])


def list_published(key, folder=FOLDER):
    """Return the names of a paper's printed tables.

    >>> "table5_planning_scores" in list_published("futurex")
    True
    """
    return sorted(path.stem.removeprefix(f"{key}_") for path in folder.glob(f"{key}_*.csv"))


def load_published(key, table, folder=FOLDER, **read):
    """Return a printed table as transcribed; a blank cell is one the paper leaves out. `read` goes to pandas.read_csv.

    Raises LookupError for an unknown table, naming those that exist.

    >>> load_published("futurex", "table5_planning_scores", dtype=str).iloc[0].tolist()
    ['GPT-4.1', '9', '8', '9', 'Table 5']
    """
    path = folder / f"{key}_{table}.csv"
    if not path.exists():
        raise LookupError(f"{key} has no printed table {table!r}; there are {', '.join(list_published(key, folder))}")
    return pd.read_csv(path, **read)
