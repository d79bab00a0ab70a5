"""Solvers put to a sample of instances, recorded like a study (Proof of Time 4.2, 4.3, Figures 2 to 4).

Zero-shot sees the question alone; an agent is told which evidence files lie at its desk. A limit is not part of a
prompt and temperature is 0: a run at the highest limit holds those at lower ones as its beginning, and only the highest
is asked of the model. What is not recorded is "missing": it is in no table, and never counts as wrong.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.agents.prompted import Client
from helpers.models.judges import open_study
from helpers.papers import get_constant
from helpers.proof_of_time.instances import UNSCORED, to_event
from helpers.proof_of_time.solvers import Desk, set_door, solve
from helpers.store import hash_text

RUN_ID = "41_solvers"

COLUMNS = ["id", "method", "limit", "status", "answer", "n_messages", "n_turns", "seconds", "n_input_tokens"]
COLUMNS += ["n_output_tokens"]


class Cell(NamedTuple):
    """A method under a limit; zero-shot has none."""

    method: str
    limit: int | None = None

    @property
    def name(self):
        """What tables call it.

        >>> Cell("agentic", 15).name, Cell("zero_shot").name
        ('agentic, 15', 'zero-shot')
        """
        return self.method.replace("_", "-") + (f", {self.limit}" if self.limit else "")


def list_cells(methods):
    """Return the cells of some methods; an agent's highest limit comes first, since the others are its beginnings.

    >>> [cell.name for cell in list_cells(["zero_shot", "agentic"])]
    ['zero-shot', 'agentic, 50', 'agentic, 30', 'agentic, 15']
    """
    limits = sorted(get_constant("proof_of_time", "message_limits"), reverse=True)
    return [Cell(m, limit) for m in methods for limit in ([None] if m == "zero_shot" else limits)]


def sample_instances(instances, n, seed=0):
    """Return `n` scored instances, by turns from each task and in a task from each source; samples of one seed nest."""
    table = pd.DataFrame(
        [
            (at, one.task, one.metadata["source"], hash_text(f"{seed}:{one.id}", 16))
            for at, one in enumerate(instances)
            if one.variant not in UNSCORED
        ],
        columns=["at", "task", "source", "draw"],
    ).sort_values("draw")
    table["turn"] = table.groupby(["task", "source"]).cumcount()
    table = table.sort_values(["turn", "draw"])
    table["turn"] = table.groupby("task").cumcount()
    return [instances[at] for at in table.sort_values(["turn", "task"])["at"].head(n)]


def describe_evidence(instance, folder):
    """Return what an agent is told of the files at its desk: a line each, with columns and number of rows."""
    lines = []
    for entry in instance.manifest:
        header, *rows = (Path(folder) / entry["path"]).read_text(encoding="utf-8").splitlines()
        lines.append(f"/evidence/{entry['path']}: {len(rows)} lines; columns {header}")
    return "\n".join(["Evidence files:", *lines])


@contextmanager
def open_trials(model="local/qwen", *, live=False, minutes=None):
    """Yield the client of a model on this study's recordings (data/runs/41_solvers); as `judges.open_judge`."""
    with open_study(RUN_ID, model, live=live, minutes=minutes, about="solves Proof of Time instances") as study:
        yield Client(*study)


def run_trial(client, instance, folder, cell):
    """Return a trial as a row of COLUMNS; the status "missing" says that a reply is not recorded.

    `folder` holds the evidence files.
    """
    event = to_event(instance)
    client = client._replace(door=replace(client.door, **set_door(cell.method)))
    desk = None
    if cell.method != "zero_shot":
        event["prompt"] += "\n\n" + describe_evidence(instance, folder)
        files = [{name: entry[name] for name in ("path", "sha256")} for entry in instance.manifest]
        desk = Desk(files, str(folder))
    row = {"id": instance.id, "method": cell.method, "limit": cell.limit}
    try:
        outcome = solve(client, event, desk, method=cell.method, limit=cell.limit)
    except LookupError as error:
        if type(error) is not LookupError:  # a KeyError is a fault, not a recording that is absent
            raise
        return row | {"status": "missing"}
    told = [json.loads(step["content"]) for step in outcome["trace"] if step["step_type"] == "count"]
    counts = told[0] if told else {"n_messages": 2, "n_turns": 1}
    status = outcome.get("status") or outcome["prediction"].get("status") or "ok"
    seconds = sum(step.get("duration_s") or 0 for step in outcome["trace"])
    used = {name: outcome[name] for name in ("n_input_tokens", "n_output_tokens")}
    used |= {name: counts[name] for name in ("n_messages", "n_turns")}
    return row | {"status": status, "answer": outcome["prediction"]["value"], "seconds": seconds} | used


def run_trials(client, instances, folder, cells, counts):
    """Return the trials of some cells as a table; `counts`: method -> how many of the instances it is put to.

    Cells go in their order, a cell over its instances before the next; a local model answers one at a time, others as
    many as the paper lets (B).
    """
    workers = 1 if client.is_local or not client.door.live else get_constant("proof_of_time", "max_connections")
    rows = []
    with ThreadPoolExecutor(workers) as pool:
        for cell in cells:
            ask = partial(run_trial, client, folder=folder, cell=cell)
            rows += pool.map(ask, instances[: counts[cell.method]])
    return pd.DataFrame(rows, columns=COLUMNS)


def list_answers(trials, cells):
    """Return the answers of some cells on the instances that all of them have recorded: id, solver, answer."""
    names = {(cell.method, cell.limit): cell.name for cell in cells}
    limits = trials["limit"].astype(object).where(trials["limit"].notna(), None)
    trials = trials.assign(solver=[names.get(key) for key in zip(trials["method"], limits, strict=True)])
    kept = trials[trials["solver"].notna() & (trials["status"] != "missing")]
    n = kept.groupby("id")["solver"].nunique()
    return kept[kept["id"].isin(n.index[n == len(cells)])][["id", "solver", "answer"]].reset_index(drop=True)
