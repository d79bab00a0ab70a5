"""Where the checkout is whose data are read, and the folders of its question sets; imports nothing
that takes time."""

import ast
import hashlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path


def find_root(code: Path) -> Path:
    """Return the checkout whose data are read: DAYBEFORE_ROOT, that of `code` (a file), or that
    above one's folder.

    A package that was installed, and not in place, is in none. Raises FileNotFoundError that says
    how to get one.
    """
    named = os.environ.get("DAYBEFORE_ROOT")
    above = [code.resolve().parents[2], Path.cwd(), *Path.cwd().parents]
    for folder in [Path(named).expanduser().resolve()] if named else above:
        if (folder / "data/papers").is_dir() and (folder / "src/helpers").is_dir():
            return folder
    where = f"DAYBEFORE_ROOT={named} is" if named else "here is"
    advice = "`git clone` its repository, and work below that folder or set DAYBEFORE_ROOT to it"
    raise FileNotFoundError(
        f"{where} no checkout of Daybefore, whose data everything needs: {advice}"
    )


ROOT = find_root(Path(__file__))
"""The top level of the checkout that is used."""


FOREIGN = "results/notebooks"
"""Where a notebook's figures and tables go that is run by hand with parameters other than its
own."""

TOLD: set[Path] = set()
"""Folders below `FOREIGN` that this process has named."""


def list_changed(cells: Sequence[str]) -> dict[str, object]:
    """Return the parameters that papermill set to other values than a notebook's own, from the
    cells that have run.

    Papermill puts a cell that begins "# Parameters" behind the notebook's own.

    >>> list_changed(['agents: str = ""', "# Parameters\\nagents = 'mine'", "agents.split()"])
    {'agents': 'mine'}
    >>> list_changed(['agents: str = ""', '# Parameters\\nagents = ""']), list_changed(["agents = 'mine'"])
    ({}, {})
    """
    for at, cell in enumerate(cells):
        if cell.startswith("# Parameters\n"):
            own: dict[str, object] = {}
            for before in cells[:at]:
                own |= read_literals(before)
            return {
                name: value for name, value in read_literals(cell).items() if own.get(name) != value
            }
    return {}


def read_literals(code: str) -> dict[str, object]:
    """Return the names that a cell sets to plain values; {} for a cell that plain Python cannot
    read."""
    found = {}
    try:
        lines = ast.parse(code).body
    except SyntaxError:
        return {}
    for line in lines:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        if (
            isinstance(line, ast.Assign | ast.AnnAssign)
            and isinstance(targets[0], ast.Name)
            and line.value
        ):
            try:
                found[targets[0].id] = ast.literal_eval(line.value)
            except ValueError:
                continue
    return found


def find_foreign() -> Path | None:
    """Return the folder for what a notebook writes that runs by hand with parameters other than its
    own, else None.

    It is named once, as a line of the notebook's output.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    changed = list_changed(shell.user_ns.get("In", [])) if shell else {}
    if not changed:
        return None
    told = re.sub(
        r"[^\w.-]+", "_", "+".join(f"{name}-{value}" for name, value in sorted(changed.items()))
    )[:60]
    digest = hashlib.sha256(repr(sorted(changed.items())).encode()).hexdigest()[:8]
    folder = ROOT / FOREIGN / f"{told}-{digest}"
    if folder not in TOLD:
        TOLD.add(folder)
        where = folder.relative_to(ROOT)
        print(
            f"{', '.join(sorted(changed))} set by hand: figures and tables go to {where}, the kit's own stay"
        )
    return folder


SETS = ("data/sets", ".cache/sets")
"""Where question sets lie, below DAYBEFORE_OUT or the checkout: with the kit, and built on this
machine."""

ABOUT = "set.toml"
EVENTS = "events.csv.gz"


def list_rooms() -> list[Path]:
    """Return the folders that sets lie in; those of DAYBEFORE_SETS (`add_room`) come last."""
    bases = (ROOT, Path(os.environ.get("DAYBEFORE_OUT") or ROOT))
    rooms = [base / room for base in bases for room in reversed(SETS)]
    return rooms + [
        Path(room) for room in os.environ.get("DAYBEFORE_SETS", "").split(os.pathsep) if room
    ]


def add_room(room: Path) -> None:
    """Have this process, and those that it starts, find the sets of a folder by their names,
    wherever they write to."""
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
            if not folder.name.endswith(".partial") and (
                folder.name not in found or (folder / EVENTS).exists()
            ):
                found[folder.name] = folder
    return dict(sorted(found.items()))
