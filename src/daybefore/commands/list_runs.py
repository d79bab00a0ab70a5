"""`daybefore runs`: the runs of this machine, the newest first, with what they hold and what they
cost."""

from contextlib import closing

import pandas as pd

from daybefore.commands.terminal import show
from daybefore.scoring.run_scores import Run, list_local, name_window
from daybefore.store import open_store
from helpers.files import STORE, locate_output

COUNTS = "SELECT run_id, count(*), sum(status = 'ok'), sum(cost_usd), max(started_at) FROM replies GROUP BY run_id"


def main(window: str | None = None) -> dict:
    """Print a row a run of the local store, or of those of one question set, and return them."""
    runs = [run for run in list_local() if window in (None, run.window)]
    if not runs:
        show("no run is here yet; `make run AGENT=name LIMIT=20` makes one")
        return {"runs": []}
    with closing(open_store(locate_output(STORE))) as store:
        counts = {row[0]: row[1:] for row in store.execute(COUNTS)}
    rows = [describe_run(run, *counts[run.run_id]) for run in runs]
    table = pd.DataFrame(rows)[["last", "ok", "asked", "USD", "set", "run"]]
    show(table.to_string(index=False, formatters={"USD": "{:.3f}".format}))
    show("a run is removed by `daybefore rm RUN`")
    return {"runs": rows}


def describe_run(run: Run, n: int, n_ok: int, cost: float | None, last: str | None) -> dict:
    """Return a run's row: its id, question set, questions answered of those asked, US dollars, the
    last reply's day."""
    return {
        "run": run.run_id,
        "set": name_window(run.window),
        "ok": n_ok,
        "asked": n,
        "USD": cost or 0.0,
        "last": (last or "-")[:10],
    }
