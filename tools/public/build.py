"""Write data/public: small tables of numbers made from public files that the repository does not
hold (`make public`).

A builder is a module of this folder with `SOURCES`, {table: the public files it rests on, by their
names in data/public.toml}, and `build()`, which returns {table: DataFrame} for the same tables.
Tables hold numbers, dates, ids and counts, never text of a source; of a source whose licence says
"figures only" they hold aggregates alone. data/public/index.csv says of each where it comes from.
The same sources give the same bytes.
"""

import importlib
import sys
from pathlib import Path

import pandas as pd

from helpers.files import locate_output
from helpers.public_files import INDEX, find_entry
from public.sets import build as build_sets

LARGEST = 200_000
"""Bytes of one table."""
DIGITS = 6
RELEASE = "worldreasoner_db"
"""A file whose tables are not committed: it is read only where it is asked for by name."""


def list_builders():
    """Return the names of the modules of this folder that build tables, sorted."""
    folder = Path(__file__).parent
    return sorted(
        path.stem
        for path in folder.glob("*.py")
        if "\ndef build(" in path.read_text(encoding="utf-8")
    )


def build_tables(builder):
    """Run a builder (its module's name) and return {table: (DataFrame, names of its sources)}.

    Raises ValueError when the builder returns other tables than its `SOURCES` names.
    """
    module = importlib.import_module(f"public.{builder}")
    tables = module.build()
    if set(tables) != set(module.SOURCES):
        raise ValueError(
            f"builder {builder} returns {sorted(tables)}, its SOURCES name {sorted(module.SOURCES)}"
        )
    return {name: (table, list(module.SOURCES[name])) for name, table in tables.items()}


def write_public(name, table):
    """Write data/public/<name>.csv with floats of 6 decimals; return its path. Raises ValueError
    over 200 kB."""
    text = table.round(DIGITS).to_csv(index=False, lineterminator="\n")
    if len(text.encode()) > LARGEST:
        raise ValueError(
            f"table {name} has {len(text.encode()):,} bytes of at most {LARGEST:,}; aggregate more"
        )
    path = locate_output(f"data/public/{name}.csv")
    path.write_bytes(text.encode())
    return path


def index_tables():
    """Return the index: a row a table that is there, with its rows, sources, sha256, retrieved_date
    and licence.

    Several sources of one table stand with "; " between them.
    """
    rows = []
    for builder in list_builders():
        for name, sources in importlib.import_module(f"public.{builder}").SOURCES.items():
            path = locate_output(f"data/public/{name}.csv")
            if path.exists():
                entries = [find_entry(source) for source in sources]
                row = {"name": name, "rows": len(pd.read_csv(path)), "sources": "; ".join(sources)}
                row["sha256"] = "; ".join(entry["sha256"] for entry in entries)
                for field in ("retrieved_date", "licence"):
                    row[field] = "; ".join(dict.fromkeys(entry[field] for entry in entries))
                rows.append(row)
    return pd.DataFrame(sorted(rows, key=lambda row: row["name"]))


def write_tables(builder):
    """Run a builder and write its tables; returns 1, with a sentence, where a file cannot be had,
    else 0."""
    try:
        tables = build_tables(builder)
    except (FileNotFoundError, ValueError) as problem:
        print(f"{builder}: {problem}", file=sys.stderr)
        return 1
    for name, (table, _) in tables.items():
        print(f"{write_public(name, table).name}: {len(table)} rows")
    return 0


def main(builders):
    """Build the tables of some builders, or of all ("index": the index alone); a file that cannot
    be had is named.

    "sets", or a module of public.sets by its name, builds question sets of other projects' files.
    Returns the number of builders that failed for want of a file.
    """
    alone = list_builders()
    sets = build_sets.list_builders()
    if unknown := set(builders) - {"index", "sets", RELEASE, *alone, *sets}:
        raise SystemExit(
            f"no builder {min(unknown)}; there are {', '.join(alone)}, sets, {', '.join(sets)}"
        )
    n_failed = 0
    for name in builders or ["sets", *alone]:
        if name == "sets" or name in sets:
            n_failed += build_sets.main(sets if name == "sets" else [name])
        elif name == RELEASE:
            n_failed += importlib.import_module(f"public.{RELEASE}").main()
        elif name != "index":
            n_failed += write_tables(name)
    if builders != [RELEASE]:
        index_tables().to_csv(locate_output(INDEX), index=False, lineterminator="\n")
    return n_failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
