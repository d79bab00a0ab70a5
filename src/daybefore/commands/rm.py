"""`daybefore rm`: take a run out of this machine's store; what was asked and paid is kept in an
archive."""

from contextlib import closing
from pathlib import Path

import click

from daybefore.commands.terminal import show
from daybefore.scoring.run_scores import list_local
from daybefore.store import COPY, KEPT, keep_copy, open_store
from helpers.files import STORE, locate_output
from helpers.input_faults import list_nearest

ARCHIVE = "data/runs/removed.sqlite"
"""A store of the runs that were removed: the same tables, so that `DAYBEFORE_STORE` can name it."""

KEYS = {"requests": "run"} | dict.fromkeys(KEPT, "run_id")
"""The column of a store's table that names the run."""


def main(run: str, yes: bool = False) -> dict:
    """Move a run's rows from the store to the archive, once it was confirmed; returns how many of
    each table.

    Raises ValueError for a name that is no run_id here, with the nearest; an agent's name is none,
    as it may have many.
    """
    known = sorted(one.run_id for one in list_local())
    if run not in known:
        raise ValueError(
            f"no run here is called {run!r}{list_nearest(run, known, 'daybefore runs')}"
        )
    path, archive = locate_output(STORE), locate_output(ARCHIVE)
    if not yes:
        click.confirm(f"remove {run}? What was asked and paid is kept in {ARCHIVE}", abort=True)
    counts = move_run(run, path, archive)
    if path.with_name(path.name + COPY).exists():
        keep_copy(path)  # a recovery would bring the run back
    told = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
    show(f"removed {run}: {told}; kept in {ARCHIVE}. The next run of this agent asks anew")
    return {"run": run, "rows": counts, "archive": str(archive)}


def move_run(run: str, path: Path, archive: Path) -> dict[str, int]:
    """Copy a run's rows into an archive, then delete them from a store; returns how many of each
    table."""
    with closing(open_store(archive)):
        pass
    counts = {}
    with closing(open_store(path)) as store:
        store.execute("ATTACH ? AS archive", [str(archive)])
        store.execute("BEGIN IMMEDIATE")
        for name, key in KEYS.items():
            columns = [
                row[1] for row in store.execute(f"PRAGMA main.table_info({name})") if row[1] != "id"
            ]
            listed = ", ".join(columns)
            copied = f"SELECT {listed} FROM main.{name} WHERE {key} = ?"
            store.execute(f"INSERT OR REPLACE INTO archive.{name} ({listed}) {copied}", [run])
            counts[name] = store.execute(f"DELETE FROM main.{name} WHERE {key} = ?", [run]).rowcount
        store.execute("COMMIT")
    return counts
