"""Run a study's notebook live: it asks a model for what its recordings lack, and they are packed at
the end.

An agent whose model cannot be asked, and a notebook that asks none, are refused before anything
runs. With another agent than the recorded one everything is written to a folder of its own
(`FOLDER`); with other settings alone the recordings go where the notebook's stand, tables and
figures do not.
"""

import argparse
import ast
import difflib
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

FOLDER = Path("data/studies")
"""Where studies of agents other than the recorded ones write, by notebook and agent; ignored by
git."""

WORK = Path(".make")
AGENTS = ("agent", "judge", "judges", "planner", "model")
"""Parameters that name an agent of data/agents.toml, or a bare model (provider/name); `judges`
names several."""

FILES = ("cases", "evidence", "instances", "questions", "tasks")
"""Parameters that name a reader's file or folder."""


def read_parameters(source):
    """Return {name: default} of a notebook's cell of parameters."""
    cells = nbformat.read(source, as_version=4)["cells"]
    code = "\n".join(
        cell["source"] for cell in cells if "parameters" in cell["metadata"].get("tags", [])
    )
    return {
        line.target.id: ast.literal_eval(line.value)
        for line in ast.parse(code).body
        if isinstance(line, ast.AnnAssign)
    }


def read_settings(pairs, defaults):
    """Return {name: value} of what was set by `-p name value`, a text where the default is one.

    Raises ValueError for a name that the notebook does not have, and for `live`, which a study
    always is.
    """
    settings = {}
    for name, text in pairs:
        if name not in defaults or name == "live":
            names = [each for each in defaults if each != "live"]
            near = difflib.get_close_matches(name, names, 1) or [f"one of {', '.join(names)}"]
            raise ValueError(
                f"the notebook has no parameter {name!r} to set; did you mean {near[0]}?"
            )
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
    """Return settings with a reader's files named as from notebooks/, where the notebook runs.

    Notebook 30 finds questions and cases from the working folder. Raises ValueError for one that is
    not there.
    """
    found = dict(settings)
    for name in FILES:
        if text := found.get(name):
            if not Path(text).exists():
                raise ValueError(
                    f"{name}: there is no {text} here; give its path from this folder; nothing was asked"
                )
            if name not in ("cases", "questions"):
                found[name] = os.path.relpath(text, "notebooks")
    return found


def choose_folder(name, settings, defaults):
    """Return (the folder that a study writes to, whether its tables and figures are the kit's own);
    says so if not."""
    changed = {
        key: value for key, value in settings.items() if key != "minutes" and value != defaults[key]
    }
    if agents := [str(changed[key]) for key in AGENTS if key in changed]:
        folder = FOLDER / name / "+".join("+".join(agents).replace("/", "-").split())
        print(
            f"{name}: {' and '.join(agents)}, not the kit's own; recordings, tables and figures go to {folder}"
        )
        return folder, False
    folder = WORK / "study.out" / name
    shutil.rmtree(folder, ignore_errors=True)
    Path("data/runs").mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(parents=True)
    (folder / "data/runs").symlink_to(
        Path("data/runs").resolve()
    )  # what is asked is kept where the notebook's own is
    if changed:
        told = f"with {', '.join(changed)} as set here, tables and figures go to {folder}, recordings to data/runs"
        print(f"{name}: {told}")
    return folder, not changed


def run_study(name, settings, folder, is_own):
    """Run a study's notebook, its writes sent to a folder; what `is_own` is put in place when every
    cell passed."""
    source, partial = Path("notebooks", f"{name}.ipynb"), WORK / "study.ipynb"
    try:
        execute(source, partial, settings, shows=True, DAYBEFORE_OUT=str(folder.resolve()))
    except PapermillExecutionError:
        sys.exit(f"{describe_failure(source, partial)}; what was recorded is kept")
    except KeyboardInterrupt:
        sys.exit(f"{name}: interrupted; what was recorded is kept, and the same command goes on")
    if not is_own:
        print(f"{name}: the notebook as it ran is {shutil.copy(partial, folder / source.name)}")
    for path in list_outputs(folder) if is_own else ():
        if not path.is_relative_to("data/runs"):
            move(folder / path, path)


def main():
    """Read the command line and run the study; a wrong setting ends in one sentence."""
    parser = argparse.ArgumentParser(prog="make study", description=__doc__.splitlines()[0])
    parser.add_argument("name", help="file name in notebooks/ without .ipynb")
    parser.add_argument(
        "--minutes", default="60", help="ask for so many minutes at most (default 60)"
    )
    parser.add_argument(
        "-p", dest="pairs", nargs=2, action="append", default=[], metavar=("NAME", "VALUE")
    )
    given = parser.parse_args()
    source = Path("notebooks", f"{given.name}.ipynb")
    check_notebook(source)
    try:
        defaults = read_parameters(source)
        if "live" not in defaults:
            raise ValueError(f"{given.name} asks no model; `make figures` runs it")
        settings = find_files(read_settings(given.pairs, defaults))
        minutes = read_minutes(str(settings.get("minutes", given.minutes)))
        check_agents(defaults | settings)
    except ValueError as problem:
        sys.exit(f"make study: {problem}")
    WORK.mkdir(exist_ok=True)
    folder, is_own = choose_folder(given.name, settings, defaults)
    settings |= {"live": True} | ({"minutes": minutes} if "minutes" in defaults else {})
    run_study(given.name, settings, folder, is_own)


if __name__ == "__main__":
    main()
