"""Run a study's notebook live: it asks a model for what its recordings lack, and they are packed at
the end.

An agent whose model cannot be asked, and a notebook that asks none, are refused before anything
runs. With another agent than the recorded one everything is written to a folder apart (`FOLDER`);
with other settings alone the recordings go where the notebook's stand, tables and figures do not.
"""

import argparse
import ast
import math
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import nbformat
from notebook import check_notebook, describe_failure, execute, list_outputs, move
from papermill.exceptions import PapermillExecutionError

from daybefore.agents.registry import check_entry, find_agent
from helpers.input_faults import list_nearest

FOLDER = Path("data/studies")
"""Where studies of agents other than the recorded ones write, by notebook and agent; ignored by
git."""
WORK = Path(".make")
AGENTS = ("agent", "judge", "judges", "planner", "model")
"""Parameters that name an agent of data/agents.toml, or a bare model (provider/name); `judges`
names several."""
FILES = ("cases", "evidence", "instances", "questions", "tasks")
"""Parameters that name a reader's file or folder."""
FROM_ROOT = ("cases", "questions")
"""Those of `FILES` that a notebook looks for from the working folder, not from notebooks/."""


def read_parameters(source):
    """Return {name: default} of a notebook's cell of parameters."""
    cells = nbformat.read(source, as_version=4)["cells"]
    code = [cell["source"] for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    lines = [line for line in ast.parse("\n".join(code)).body if isinstance(line, ast.AnnAssign)]
    return {line.target.id: ast.literal_eval(line.value) for line in lines}


def read_settings(pairs, defaults):
    """Return {name: value} of what was set by `-p name value`, a text where the default is one.

    Raises ValueError for a name that the notebook does not have, and for `live`, which a study
    always is.
    """
    names = [name for name in defaults if name != "live"]
    settings = {}
    for name, text in pairs:
        if name not in names:
            near = list_nearest(name, names, "its cell of parameters")
            raise ValueError(f"the notebook has no parameter {name!r} to set{near}")
        settings[name] = text
        if not isinstance(defaults[name], str):
            with suppress(ValueError, SyntaxError):
                settings[name] = ast.literal_eval(text)
    return settings


def read_minutes(text):
    """Return a positive number. Raises ValueError for another text."""
    with suppress(ValueError):
        if 0 < (minutes := float(text)) < math.inf:
            return minutes
    raise ValueError(f"MINUTES must be a positive number such as 20, not {text!r}")


def check_agents(values):
    """Raise ValueError for an agent, of a study's parameters, that is none or whose model cannot be
    asked."""
    for name in AGENTS:
        for agent in (values.get(name) or "").split():
            if problem := check_entry(find_agent(agent)):
                raise ValueError(f"{name} {agent}: {problem}; nothing was asked")


def find_files(settings):
    """Return settings with a reader's files named as from where the notebook looks. Raises
    ValueError for one that is not there."""
    found = dict(settings)
    for name in FILES:
        text = settings.get(name)
        if text and not Path(text).exists():
            raise ValueError(
                f"{name}: there is no {text} here; give its path from this folder; nothing was asked"
            )
        if text and name not in FROM_ROOT:
            found[name] = os.path.relpath(text, "notebooks")
    return found


def choose_folder(name, changed):
    """Return the folder that a study with some settings changed writes to, and say so where its
    tables and figures are not the kit's."""
    if agents := [str(changed[key]) for key in AGENTS if key in changed]:
        folder = FOLDER / name / "+".join("+".join(agents).replace("/", "-").split())
        told = f"{' and '.join(agents)}, not the kit's own; recordings, tables and figures go to"
        print(f"{name}: {told} {folder}")
        return folder
    folder = WORK / "study.out" / name
    shutil.rmtree(folder, ignore_errors=True)
    Path("data/runs").mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(parents=True)
    # What is asked is kept where the notebook's own is.
    (folder / "data/runs").symlink_to(Path("data/runs").resolve())
    if changed:
        told = f"with {', '.join(changed)} as set here, tables and figures go to {folder}"
        print(f"{name}: {told}, recordings to data/runs")
    return folder


def run_study(name, settings, folder, is_own):
    """Run a study's notebook, its writes sent to a folder; what `is_own` is put in place when every
    cell passed."""
    source, partial = Path("notebooks", f"{name}.ipynb"), WORK / "study.ipynb"
    try:
        execute(source, partial, settings, shows=True, DAYBEFORE_OUT=str(folder.resolve()))
    except PapermillExecutionError as error:
        sys.exit(f"{describe_failure(error, source, partial)}; what was recorded is kept")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted; what was recorded is kept, and the same command goes on")
    if not is_own:
        print(f"{name}: the notebook as it ran is {shutil.copy(partial, folder / source.name)}")
        return
    for path in list_outputs(folder):
        if not path.is_relative_to("data/runs"):
            move(folder / path, path)


def main():
    """Read the command line and run the study; a wrong setting ends in one sentence."""
    parser = argparse.ArgumentParser(prog="make study", description=__doc__.splitlines()[0])
    parser.add_argument("name", help="file name in notebooks/ without .ipynb")
    parser.add_argument("--minutes", default="60", help="ask for so many minutes at most")
    parser.add_argument("-p", dest="pairs", nargs=2, action="append", default=[])
    given = parser.parse_args()
    source = Path("notebooks", f"{given.name}.ipynb")
    check_notebook(source)
    try:
        defaults = read_parameters(source)
        if "live" not in defaults:
            raise ValueError(f"{given.name} asks no model; `make figures` runs it")
        settings = find_files(read_settings(given.pairs, defaults))
        minutes = read_minutes(str(settings.pop("minutes", given.minutes)))
        check_agents(defaults | settings)
    except ValueError as problem:
        sys.exit(f"make study: {problem}")
    WORK.mkdir(exist_ok=True)
    changed = {name: value for name, value in settings.items() if value != defaults[name]}
    folder = choose_folder(given.name, changed)
    settings |= {"live": True} | ({"minutes": minutes} if "minutes" in defaults else {})
    run_study(given.name, settings, folder, is_own=not changed)


if __name__ == "__main__":
    main()
