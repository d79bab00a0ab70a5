"""The papers' constants and printed results, read from data/papers: the one home of every published
number.

<key>.toml holds what the kit computes with (`[constants]`, each with its section), what it takes
where the paper is silent (`[assumed]`, each with its reason too), and what it does as words can say
and no computation reads (`[decisions]`, likewise); <key>_<table>.csv holds a printed table, with a
`section` column.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import pandas as pd

from helpers import files

FOLDER = files.ROOT / "data" / "papers"

STATUSES = {"constants": "printed", "assumed": "assumed", "decisions": "decided"}
"""Part of a paper's toml -> what its entries are."""


def list_papers() -> list[str]:
    """Return the keys of the papers that have constants."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_paper(key: str) -> dict:
    """Return a paper's toml as a dictionary: title, constants, assumed, decisions. Raises
    LookupError for none."""
    path = FOLDER / f"{key}.toml"
    if not path.exists():
        raise LookupError(f"no paper {key!r} in data/papers; there are {', '.join(list_papers())}")
    return dict.fromkeys(STATUSES, {}) | tomllib.loads(path.read_text(encoding="utf-8"))


def get_constant(key: str, name: str) -> Any:
    """Return one value of a paper, printed or assumed; a list comes as a tuple, a table as a
    mapping to read from.

    Raises LookupError for an unknown name, and for a decision, which is in words.

    >>> get_constant("futurex", "crawl_hours"), get_constant("futurex", "carry_days")
    ((14, 16, 18, 20), 7)
    """
    values = _read_values(key)
    if name not in values:
        raise LookupError(f"{key} has no constant {name!r}; it has {', '.join(sorted(values))}")
    return values[name]


@cache
def _read_values(key: str) -> Mapping:
    paper = load_paper(key)
    entries = paper["constants"] | paper["assumed"]
    return MappingProxyType({name: _freeze(entry["value"]) for name, entry in entries.items()})


def _freeze(value: Any) -> Any:
    """Return a value that its readers can share, since none of them can change it."""
    if isinstance(value, list):
        return tuple(map(_freeze, value))
    return MappingProxyType(value) if isinstance(value, dict) else value


def list_constants(key: str) -> pd.DataFrame:
    """Return a paper's entries as a table: name, value, section, status (printed, assumed or
    decided), reason."""
    paper = load_paper(key)
    rows = [
        {"name": name, "status": status, "reason": "", **entry}
        for part, status in STATUSES.items()
        for name, entry in paper[part].items()
    ]
    return pd.DataFrame(rows, columns=["name", "value", "section", "status", "reason"])


def list_published(key: str) -> list[str]:
    """Return the names of a paper's printed tables."""
    return sorted(path.stem.removeprefix(f"{key}_") for path in FOLDER.glob(f"{key}_*.csv"))


def load_published(key: str, table: str, **read: Any) -> pd.DataFrame:
    """Return a printed table as transcribed; a blank cell is one the paper leaves out. `read` goes
    to pandas.read_csv.

    Raises LookupError for an unknown table, naming those that exist.
    """
    path = FOLDER / f"{key}_{table}.csv"
    if not path.exists():
        raise LookupError(
            f"{key} has no printed table {table!r}; there are {', '.join(list_published(key))}"
        )
    return pd.read_csv(path, **read)
