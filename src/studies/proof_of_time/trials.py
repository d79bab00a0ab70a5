"""Trials: which solvers are run on which instances, as a table of answers and usage (4.3, Figures 2
to 4)."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from tqdm import tqdm

from helpers.files import hash_text
from helpers.papers import get_constant
from studies.proof_of_time import run_judge
from studies.proof_of_time.instances import to_event
from studies.proof_of_time.solvers import CONTEXT_LIMIT, METHODS, Evidence, set_door, solve

COLUMNS = [
    "id",
    "solver",
    "method",
    "limit",
    "status",
    "answer",
    "n_messages",
    "n_turns",
    "seconds",
    "n_input_tokens",
]
COLUMNS += ["n_output_tokens", "n_calls", "steps"]


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
    """Return the cells of some methods, an agent's highest limit first; raises ValueError for an
    unknown method.

    >>> [cell.name for cell in list_cells(["zero_shot", "agentic"])]
    ['zero-shot', 'agentic, 50', 'agentic, 30', 'agentic, 15']
    """
    if strange := [name for name in methods if name not in METHODS]:
        raise ValueError(f"there is no method {strange[0]!r}; there are {', '.join(METHODS)}")
    limits = sorted(get_constant("proof_of_time", "message_limits"), reverse=True)
    return [Cell(m, limit) for m in methods for limit in ([None] if m == "zero_shot" else limits)]


def sample_instances(instances, n, seed=0):
    """Return `n` instances, by turns from each task and in a task from each source; samples of one
    seed nest.

    Pairs, which stand beside the headline (3.3), are not drawn.
    """
    rows = [
        (at, one.task, one.metadata["source"], hash_text(f"{seed}:{one.id}", 16))
        for at, one in enumerate(instances)
        if one.variant != "pairwise"
    ]
    table = pd.DataFrame(rows, columns=["at", "task", "source", "draw"]).sort_values("draw")
    table["turn"] = table.groupby(["task", "source"]).cumcount()
    table = table.sort_values(["turn", "draw"])
    table["turn"] = table.groupby("task").cumcount()
    return [instances[at] for at in table.sort_values(["turn", "task"])["at"].head(n)]


def describe_evidence(instance, folder):
    """Return what an agent reads of its evidence files: a line each, with columns and number of
    rows."""
    lines = []
    for entry in instance.manifest:
        header, *rows = (Path(folder) / entry["path"]).read_text(encoding="utf-8").splitlines()
        lines.append(f"/evidence/{entry['path']}: {len(rows)} lines; columns {header[:300]}")
    return "\n".join(["Evidence files:", *lines])


def run_trial(client, instance, folder, cell):
    """Return a trial as a row of COLUMNS; the status "missing" says that a reply is not recorded.

    `folder` holds the evidence files.
    """
    event = to_event(instance)
    evidence = None
    client = client._replace(door=replace(client.door, **set_door(cell.method)))
    if cell.method != "zero_shot":
        event["prompt"] += "\n\n" + describe_evidence(instance, folder)
        files = [{name: entry[name] for name in ("path", "sha256")} for entry in instance.manifest]
        evidence = Evidence(files, str(folder))
    row = {"id": instance.id, "solver": cell.name, "method": cell.method, "limit": cell.limit}
    try:
        outcome = solve(client, event, evidence, method=cell.method, limit=cell.limit)
    except LookupError as error:
        if type(error) is not LookupError:  # a KeyError is a fault, not a recording that is absent
            raise
        return row | {"status": "missing"}
    steps = outcome["trace"]
    told = [json.loads(step["content"]) for step in steps if step["step_type"] == "count"]
    counts = told[0] if told else {"n_messages": 2, "n_turns": 1}
    status = outcome.get("status") or outcome["prediction"].get("status") or "ok"
    row["status"] = CONTEXT_LIMIT if counts.get("status") == CONTEXT_LIMIT else status
    row |= {name: outcome[name] for name in ("n_input_tokens", "n_output_tokens")}
    row |= {name: counts[name] for name in ("n_messages", "n_turns")}
    row["steps"] = [run_judge.write_step(step) for step in steps if step["step_type"] == "tool"]
    row["n_calls"] = len(row["steps"])
    return row | {
        "answer": outcome["prediction"]["value"],
        "seconds": sum(s.get("duration_s") or 0 for s in steps),
    }


def run_trials(client, instances, folder, cells, counts):
    """Return the trials of some cells, in their order, as a table; `counts`: method -> how many
    instances it is run on.

    A local model answers one at a time, others ten at once (B).
    """
    workers = (
        1
        if client.is_local or not client.door.live
        else get_constant("proof_of_time", "max_connections")
    )
    rows = []
    with ThreadPoolExecutor(workers) as pool:
        for cell in cells:
            ask = partial(run_trial, client, folder=folder, cell=cell)
            chosen = instances[: counts[cell.method]]
            rows += tqdm(
                pool.map(ask, chosen), desc=cell.name, total=len(chosen), unit="instance", delay=1
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def keep_whole(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the trials (`run_trials`) of the solvers none of whose replies is missing.

    Raises LookupError, one sentence, when no solver is left: nothing is recorded, and nothing was
    asked.
    """
    kept = trials[trials["status"].ne("missing").groupby(trials["solver"]).transform("all")]
    if kept.empty:
        methods = ", ".join(trials["method"].unique())
        n = trials["status"].ne("missing").sum()
        raise LookupError(
            f"no solver of {methods} is recorded whole ({n} of {len(trials)} trials are): "
            "make study NOTEBOOK=42_your_agent asks a model for them"
        )
    return kept
