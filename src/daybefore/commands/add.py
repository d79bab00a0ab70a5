"""`daybefore add FILE|FOLDER` (make add FILE=...): other agents' answers from a reader's own files,
as a question set.

Nothing is asked that the files say themselves; what was understood is printed. The set is written
whole or not at all, below .cache/sets (git ignores it), and stands from then on in every command
that takes a set.
"""

import re
import shutil
from pathlib import Path

from daybefore.commands.terminal import show
from daybefore.formats.forecast_files import read_forecasts
from helpers.files import dump_json, locate_output, write_whole
from helpers.folders import ABOUT, SETS, list_folders
from helpers.input_faults import Problems, check_name, write_count
from helpers.sets import load_set, read_settings, write_set

LEAST = 25
"""Questions below which a mean says little (FutureX's least events of a level)."""


def main(
    places: tuple[str, ...],
    name: str | None = None,
    filled: float | None = None,
    keep_halves: bool = False,
    replace: bool = False,
    licence: str | None = None,
) -> dict:
    """Read files or a folder as a set, write it and print what was understood; returns its name,
    folder and counts.

    Raises ValueError in sentences with file, row and column, before anything is written.
    """
    paths = [Path(place) for place in places]
    if len(paths) == 1 and (paths[0] / ABOUT).is_file():
        return add_folder(paths[0])
    name = check_name("set", name or name_set(paths[0]))
    there = list_folders().get(name)
    if there and not (replace and there.parent == locate_output(f"{SETS[1]}/x").parent):
        way = "--name gives it another name"
        if there.parent.parent.name == ".cache":
            way += ", --replace puts it in that one's place"
        raise ValueError(f"there is a set {name} already; {way}")
    try:
        tables, notes = read_forecasts(paths, filled=filled, keeps_halves=keep_halves)
    except Problems as problems:
        raise ValueError(
            f"{problems}\nNothing was written; mend the file and add it again."
        ) from None
    folder = write_folder(name, paths, tables, licence)
    loaded = load_set(folder)
    coverage = loaded.coverage()
    show("\n".join(notes))
    if len(loaded.events) < LEAST:
        show(f"{write_count(len(loaded.events), 'question')}: a mean of so few says little")
    for row in coverage[coverage["coverage"] < 1].to_dict("records"):
        show(f"{row['agent_id']} answered {row['n_forecasts']:.0f} of {row['n_asked']:.0f}")
    where = (
        "in the figures"
        if "p_yes" in loaded.predictions
        else "on a leaderboard and in a figure of shares right; the others need probabilities of yes"
    )
    show(f"the set {name} is there; its agents stand {where}: make figures SET={name}")
    counts = {"n_events": len(loaded.events), "n_agents": len(loaded.runs)}
    return {"name": name, "folder": str(folder), "notes": notes, **counts}


def name_set(path: Path) -> str:
    """Return a set's name from its file's.

    >>> name_set(Path("My forecasts (v2).csv"))
    'my-forecasts-v2'
    """
    return re.sub(r"[^a-z0-9]+", "-", path.resolve().stem.casefold()).strip("-") or "mine"


def add_folder(path: Path) -> dict:
    """Look at a folder that is a set already, and say how it is used. Raises ValueError where a
    table is wrong."""
    loaded = load_set(path)
    counts = {"question": loaded.events, "run": loaded.runs, "prediction": loaded.rows()}
    told = ", ".join(write_count(len(rows), noun) for noun, rows in counts.items())
    show(f"{path} is a question set: {told}")
    if not loaded.about.get("licence"):
        show(
            "its set.toml names no licence: it can be used here, and is refused where it would be committed"
        )
    show(f"make figures SET={path}")
    return {
        "name": loaded.name,
        "folder": str(path),
        "n_events": len(loaded.events),
        "n_agents": len(loaded.runs),
    }


def write_folder(name: str, paths: list[Path], tables: dict, licence: str | None) -> Path:
    """Write a set below .cache/sets, whole or not at all: it takes its place when all is
    written."""
    made = locate_output(f"{SETS[1]}/{name}.partial/{ABOUT}")
    shutil.rmtree(made.parent)
    made.parent.mkdir()
    source = ", ".join(path.name for path in paths)
    lines = [f"title = {dump_json(name)}", f"source = {dump_json(source)}"]
    if licence:
        lines.append(f"licence = {dump_json(licence)}")
    lines.append(f"has = {dump_json(list_contents(tables))}")
    write_whole(made, "\n".join(lines) + "\n")
    read_settings(made)
    write_set(made.parent, tables)
    folder = made.parent.with_name(name)
    shutil.rmtree(folder, ignore_errors=True)
    made.parent.rename(folder)
    return folder


def list_contents(tables: dict) -> list[str]:
    """Return what a set has, as its set.toml says it."""
    events = tables["events"]
    has = [
        what
        for what, column in (("levels", "level"), ("domains", "domain"), ("words", "prompt"))
        if column in events
    ]
    return has + (["prices"] if "prices" in tables else [])
