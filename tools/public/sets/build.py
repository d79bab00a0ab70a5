"""Build question sets from other projects' files: those that may be passed on in data/sets, others
in .cache/sets."""

import importlib
import sys
from pathlib import Path

from helpers import files
from helpers.places import ABOUT, SETS
from helpers.sets import read_about, write_set


def list_builders() -> list[str]:
    """Return the modules of this folder that build sets, sorted."""
    folder = Path(__file__).parent
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    return sorted(
        name for name, text in texts.items() if "\ndef build(" in text and name != "build"
    )


def build_sets(builder: str) -> list[str]:
    """Build the sets of a module and write them; returns their names.

    A set's set.toml lies in data/sets/<name>. Tables of one that may not be committed go below
    .cache/sets, with a copy of it.
    """
    module = importlib.import_module(f"public.sets.{builder}")
    made = []
    for name, tables in module.build().items():
        about = files.ROOT / SETS[0] / name / ABOUT
        room = SETS[0] if read_about(about).get("may_commit") else SETS[1]
        path = files.locate_output(f"{room}/{name}/{ABOUT}")
        files.write_whole(path, about.read_bytes())
        write_set(path.parent, tables)
        made.append(name)
    return made


def main(builders: list[str]) -> int:
    """Build some modules' sets, or all; returns how many failed for want of their files."""
    n_failed = 0
    for builder in builders or list_builders():
        try:
            print(f"{builder}: {', '.join(build_sets(builder))}")
        except FileNotFoundError as problem:
            print(f"{builder}: {problem}", file=sys.stderr)
            n_failed += 1
    return n_failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
