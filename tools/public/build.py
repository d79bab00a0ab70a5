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
from public.sets.build import build_sets

LARGEST = 200_000
"""Bytes of one table."""
DIGITS = 6
RELEASE = "worldreasoner_db"
"""A file whose tables are not committed: it is read only where it is asked for by name."""


def list_builders(room=""):
    """Return the names of the modules of this folder that build tables, or of a folder in it,
    sorted."""
    folder = Path(__file__).parent / room
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    return sorted(name for name, text in texts.items() if "\ndef build(" in text)


def build_tables(builder):
    """Run a builder (its module's name) and return {table: (DataFrame, names of its sources)}.

    Raises ValueError when the builder returns other tables than its `SOURCES` names.
    """
    module = importlib.import_module(f"public.{builder}")
    tables = module.build()
    if set(tables) != set(module.SOURCES):
        raise ValueError(f"it returns {sorted(tables)}, its SOURCES name {sorted(module.SOURCES)}")
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


def run_builder(name):
    """Run a builder of tables, or of sets, and write what it makes; returns its lines to print."""
    if name == RELEASE:
        return importlib.import_module(f"public.{name}").write_tables()
    if name in list_builders("sets"):
        return [f"{name}: {', '.join(build_sets(name))}"]
    made = build_tables(name)
    return [
        f"{write_public(one, table).name}: {len(table)} rows" for one, (table, _) in made.items()
    ]


def main(builders):
    """Build the tables of some builders, or of all ("index": the index alone); a file that cannot
    be had is named.

    "sets", or a module of public.sets by its name, builds question sets of other projects' files.
    Returns the number of builders that failed for want of a file.
    """
    rooms = {"sets": list_builders("sets"), "index": []}
    known = [*list_builders(), *rooms, *rooms["sets"], RELEASE]
    if unknown := set(builders) - set(known):
        raise SystemExit(f"no builder {min(unknown)}; there are {', '.join(known)}")
    n_failed = 0
    for wanted in builders or ["sets", *list_builders()]:
        for name in rooms.get(wanted, [wanted]):
            try:
                print(*run_builder(name), sep="\n")
            except (FileNotFoundError, ValueError) as problem:
                print(f"{name}: {problem}", file=sys.stderr)
                n_failed += 1
    if builders != [RELEASE]:
        index_tables().to_csv(locate_output(INDEX), index=False, lineterminator="\n")
    return n_failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
