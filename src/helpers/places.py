"""Where the checkout is whose data are read, and the folders of its question sets; imports nothing that takes time."""

import os
from pathlib import Path


def find_root(code: Path) -> Path:
    """Return the checkout whose data are read: DAYBEFORE_ROOT, that of `code` (a file), or that above one's folder.

    A package that was installed, and not in place, is in none. Raises FileNotFoundError that says how to get one.
    """
    named = os.environ.get("DAYBEFORE_ROOT")
    above = [code.resolve().parents[2], Path.cwd(), *Path.cwd().parents]
    for folder in [Path(named).expanduser().resolve()] if named else above:
        if (folder / "data/papers").is_dir() and (folder / "src/helpers").is_dir():
            return folder
    where = f"DAYBEFORE_ROOT={named} is" if named else "here is"
    advice = "`git clone` its repository, and work below that folder or set DAYBEFORE_ROOT to it"
    raise FileNotFoundError(f"{where} no checkout of Daybefore, whose data everything needs: {advice}")


ROOT = find_root(Path(__file__))
"""The top level of the checkout that is used."""


SETS = ("data/sets", ".cache/sets")
"""Where question sets lie, below DAYBEFORE_OUT or the checkout: with the kit, and built on this machine."""

ABOUT, EVENTS = "set.toml", "events.csv.gz"


def list_rooms() -> list[Path]:
    """Return the folders that sets lie in; those of DAYBEFORE_SETS (`add_room`) come last."""
    bases = (ROOT, Path(os.environ.get("DAYBEFORE_OUT") or ROOT))
    rooms = [base / room for base in bases for room in reversed(SETS)]
    return rooms + [Path(room) for room in os.environ.get("DAYBEFORE_SETS", "").split(os.pathsep) if room]


def add_room(room: Path) -> None:
    """Have this process, and those that it starts, find the sets of a folder by their names, wherever they write to."""
    known = [part for part in os.environ.get("DAYBEFORE_SETS", "").split(os.pathsep) if part]
    os.environ["DAYBEFORE_SETS"] = os.pathsep.join(dict.fromkeys([*known, str(room.resolve())]))


def list_folders() -> dict[str, Path]:
    """Return the folders of the question sets that are here, by name, sorted.

    A folder with tables goes before one with a set.toml alone, whose tables are built elsewhere.
    """
    found = {}
    for room in list_rooms():
        for path in sorted(room.glob(f"*/{ABOUT}")):
            folder = path.parent
            if not folder.name.endswith(".partial") and (folder.name not in found or (folder / EVENTS).exists()):
                found[folder.name] = folder
    return dict(sorted(found.items()))
