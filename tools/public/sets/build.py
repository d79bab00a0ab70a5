"""Build question sets from other projects' files: those that may be passed on in data/sets, others
in .cache/sets."""

import importlib

from helpers import files
from helpers.folders import ABOUT, SETS
from helpers.sets import read_settings, write_set


def build_sets(builder: str) -> list[str]:
    """Build the sets of a module and write them; returns their names.

    A set's set.toml lies in data/sets/<name>. Tables of one that may not be committed go below
    .cache/sets, with a copy of it.
    """
    module = importlib.import_module(f"public.sets.{builder}")
    made = []
    for name, tables in module.build().items():
        about = files.ROOT / SETS[0] / name / ABOUT
        room = SETS[0] if read_settings(about).get("may_commit") else SETS[1]
        path = files.locate_output(f"{room}/{name}/{ABOUT}")
        files.write_whole(path, about.read_bytes())
        write_set(path.parent, tables)
        made.append(name)
    return made
