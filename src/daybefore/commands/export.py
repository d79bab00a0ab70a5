"""`daybefore export`: a run in the form that another tool reads."""

from pathlib import Path

from daybefore.commands.terminal import show
from daybefore.formats.export import WRITERS, gather_run
from daybefore.questions.sets import read_window
from daybefore.scoring.runs import find_run, list_runs
from helpers.files import locate_output


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
        raise ValueError(
            f"{form} needs a package: pip install 'daybefore[export]' ({error.name} is missing)"
        ) from None
    show(f"{run.label} on {found.question_set.name}: {len(found.rows)} questions")
    show("\n".join(map(str, paths)))
    return {"files": list(map(str, paths)), "n": len(found.rows)}
