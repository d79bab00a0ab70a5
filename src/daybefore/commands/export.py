"""`daybefore export`: a run in the form that another tool reads."""

import shlex
import sys
from pathlib import Path

from daybefore.commands.terminal import show
from daybefore.formats.write_exports import WRITERS, gather_run
from daybefore.questions.open_sets import read_window
from daybefore.scoring.run_scores import find_run, list_runs
from helpers.files import ROOT, locate_output
from helpers.input_faults import write_count


def main(name, form, window=None, out=None):
    """Write a run's files and print where they are; return their paths.

    `name` is a run_id or an agent's name, of a local run first. Raises ValueError for an unknown
    run, and where a package is wanting.
    """
    run = find_run(list_runs(), name, window)[0]
    found = gather_run(run, *(read_window(table, run.window) for table in ("events", "answers")))
    folder = Path(out) if out else locate_output(f"results/export/{run.run_id}/x").parent
    folder.mkdir(parents=True, exist_ok=True)
    try:
        paths = WRITERS[form](found, folder)
    except ModuleNotFoundError as error:
        way = shlex.join([sys.executable, "-m", "pip", "install", "-e", f"{ROOT}[export]"])
        raise ValueError(
            f"{form} needs the package {error.name}, which is missing: {way}"
        ) from None
    show(f"{run.label} on {found.question_set.name}: {write_count(len(found.rows), 'question')}")
    show("\n".join(map(str, paths)))
    return {"files": list(map(str, paths)), "n": len(found.rows)}
