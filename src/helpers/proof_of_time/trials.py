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
from tqdm import tqdm

from helpers.agents.prompted import Client
from helpers.estimates.intervals import measure_share, summarize_clustered
from helpers.models.judges import open_study
from helpers.papers import get_constant
from helpers.proof_of_time.instances import UNSCORED, to_event
from helpers.proof_of_time.solvers import Desk, set_door, solve
from helpers.store import hash_text, locate_input

RUN_ID = "41_solvers"
PUBLIC_WINDOW = "P"
"""What an event carries of whose reply values alone are kept (`prompted.keep_values`): its texts are not ours."""

COLUMNS = ["id", "solver", "method", "limit", "status", "answer", "n_messages", "n_turns", "seconds", "n_input_tokens"]
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
def open_trials(model="local/qwen", *, run_id=RUN_ID, live=False, minutes=None):
    """Yield the client of a model on a study's recordings (data/runs/<run_id>); as `judges.open_judge`."""
    with open_study(run_id, model, live=live, minutes=minutes, about="solves Proof of Time instances") as study:
        yield Client(*study)


def run_trial(client, instance, folder, cell, *, is_public=False):
    """Return a trial as a row of COLUMNS; the status "missing" says that a reply is not recorded.

    `folder` holds the evidence files. Of an instance that `is_public` the recording holds values and no text; raises
    ValueError for an agent, whose steps would.
    """
    if is_public and cell.method != "zero_shot":
        raise ValueError(
            "public instances are put to the question alone: an agent's steps hold texts that are not ours"
        )
    event = to_event(instance) | ({"window": PUBLIC_WINDOW} if is_public else {})
    client = client._replace(door=replace(client.door, **set_door(cell.method)))
    desk = None
    if cell.method != "zero_shot":
        event["prompt"] += "\n\n" + describe_evidence(instance, folder)
        files = [{name: entry[name] for name in ("path", "sha256")} for entry in instance.manifest]
        desk = Desk(files, str(folder))
    row = {"id": instance.id, "solver": cell.name, "method": cell.method, "limit": cell.limit}
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


def run_trials(client, instances, folder, cells, counts, *, is_public=False):
    """Return the trials of some cells as a table; `counts`: method -> how many of the instances it is put to.

    Cells go in their order, a cell over its instances before the next; a local model answers one at a time, others as
    many as the paper lets (B).
    """
    workers = 1 if client.is_local or not client.door.live else get_constant("proof_of_time", "max_connections")
    rows = []
    with ThreadPoolExecutor(workers) as pool:
        for cell in cells:
            ask = partial(run_trial, client, folder=folder, cell=cell, is_public=is_public)
            chosen = instances[: counts[cell.method]]
            rows += tqdm(pool.map(ask, chosen), desc=cell.name, total=len(chosen), unit="instance", delay=1)
    return pd.DataFrame(rows, columns=COLUMNS)


def list_answers(trials, cells):
    """Return the answers of some cells on the instances that all of them have recorded: id, solver, answer.

    Of a run that an accident or a limit ended the answer is blank, and counts as wrong (definitions.md 4.4).
    """
    kept = trials[trials["solver"].isin([cell.name for cell in cells]) & (trials["status"] != "missing")]
    n = kept.groupby("id")["solver"].nunique()
    return kept[kept["id"].isin(n.index[n == len(cells)])][["id", "solver", "answer"]].reset_index(drop=True)


def read_trials():
    """Return the trials that notebook 41 scored: COLUMNS, family, task, source, is_right."""
    return pd.read_csv(locate_input("data/tables/proof_of_time/trials.csv"))


def compare_alone(trials, by=()):
    """Return what agents gain over the question alone, on the same instances (Figures 2B, 6, 11 and 12).

    Columns solver, method, limit, those of `by`, alone and share (accuracies), gain, low, high (by source, blank below
    ten), n, n_clusters, overhead (tokens, in and out, over those of the question alone) and the middle half of the
    instances' own overheads (overhead_low, overhead_high). No row where no agent is recorded.
    """
    tokens = trials["n_input_tokens"] + trials["n_output_tokens"]
    table = trials.assign(n_tokens=tokens, is_right=trials["is_right"].astype(float))
    is_alone = table["method"] == "zero_shot"
    pairs = table[~is_alone].merge(
        table.loc[is_alone, ["id", "is_right", "n_tokens"]], on="id", suffixes=("", "_alone")
    )
    keys, rows = ["solver", "method", "limit", *by], []
    for names, part in pairs.groupby(keys, sort=False):
        part = part.reset_index(drop=True)
        gain = summarize_clustered((part["is_right"] - part["is_right_alone"]).to_frame("gain"), part["source"])
        ends = (part["n_tokens"] / part["n_tokens_alone"]).quantile([0.25, 0.75])
        overhead = part["n_tokens"].sum() / part["n_tokens_alone"].sum()
        accuracies = (part["is_right_alone"].mean(), part["is_right"].mean())
        rows.append(
            (*names, *accuracies, *gain.loc["gain", ["mean", "low", "high", "n", "n_clusters"]], overhead, *ends)
        )
    columns = [*keys, "alone", "share", "gain", "low", "high", "n", "n_clusters"]
    return pd.DataFrame(rows, columns=[*columns, "overhead", "overhead_low", "overhead_high"])


def count_limit_hits(trials):
    """Return how many runs of each agent ended at its limit (Figure 5): solver, hits, n, share, low, high (Wilson)."""
    agents = trials[trials["method"] != "zero_shot"]
    rows = []
    for solver, part in agents.groupby("solver", sort=False):
        hit = part["status"] == "message_limit"
        rows.append({"solver": solver, "hits": int(hit.sum()), **measure_share(hit)})
    return pd.DataFrame(rows, columns=["solver", "hits", "n", "share", "low", "high"])
