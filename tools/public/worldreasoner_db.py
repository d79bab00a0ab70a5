"""WorldReasoner's released database: `make public ARGS="worldreasoner_db"` prints the paper's
tables of it.

The file, worldreasoner_public.db of release v1.0.0 of github realbits-lab/worldreasoner, is looked
for in the folder that KIT_DATA_MIRROR names, under worldreasoner/, and in
.cache/public/worldreasoner. Its tables go to .cache/worldreasoner_db; nothing of it is committed.
"""

import os
from pathlib import Path

from helpers import files
from helpers.public_files import CACHE, MIRROR
from studies.worldreasoner.release import add_recall, list_forecasts, read_release, tabulate_release

FILE = "worldreasoner/worldreasoner_public.db"
OUT = ".cache/worldreasoner_db"


def locate() -> Path:
    """Return the path of the database. Raises FileNotFoundError that says where to put it."""
    mirror = os.environ.get(MIRROR)
    for folder in [files.ROOT / mirror, CACHE] if mirror else [CACHE]:
        if (folder / FILE).is_file():
            return folder / FILE
    raise FileNotFoundError(
        f"{FILE} is neither in the folder of {MIRROR} nor in .cache/public; download worldreasoner_public.db of "
        "release v1.0.0 of github.com/realbits-lab/worldreasoner and put it there"
    )


def write_tables() -> list[str]:
    """Write the tables; returns them and the counts of the database as lines to print.

    Raises FileNotFoundError and ValueError, a sentence, where the file cannot be had or read.
    """
    tables = read_release(locate())
    rows = add_recall(list_forecasts(tables), tables)
    if rows.empty:
        raise ValueError("no forecast names its condition and was evaluated")
    counts = ", ".join(f"{len(table):,} {name}" for name, table in tables.items())
    n_questions = rows["question_id"].nunique()
    told = [f"{counts}; {len(rows):,} forecasts under a condition, of {n_questions} questions"]
    for name, table in tabulate_release(rows).items():
        path = files.locate_output(f"{OUT}/{name}.csv")
        files.write_whole(path, table.to_csv(index=False, lineterminator="\n").encode())
        told.append(f"\n{name}\n{table.round(3).to_string(index=False)}")
    return told
