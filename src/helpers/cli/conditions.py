"""What WorldReasoner's scores say of a run, beside its usual ones: on window L its own, on window M the market's price.

As rows and facts for a run's files, and as text.
"""

from typing import NamedTuple

import pandas as pd

from helpers.cli.report import WIDTH, read_sampled, write_interval, write_lead
from helpers.futurex.past import build_priced, read_window
from helpers.store import read_runs
from helpers.worldreasoner.conditions import OPEN
from helpers.worldreasoner.own_runs import judge_runs, price_runs
from helpers.worldreasoner.scores import CLIP, CLIP_WIDE

LABELS = {
    "accuracy": "accuracy",
    "brier": "Brier",
    "log": f"log, clip {CLIP:g}",
    "log_wide": f"log, clip {CLIP_WIDE:g}",
    "brier_full": "Brier, all options",
    "srcp_cited": "sources, cited",
    "srcp_accessed": "sources, accessed",
    "recall": "key events, no graph: 0",
    "recall_graphs": "key events, of graphs",
    "bound": "key events, any match",
    "recall_valid": "key events, valid only",
}
"""How a metric is called where it is printed."""


class Beside(NamedTuple):
    """What stands beside a run's usual scores: rows of results.csv, facts of results.json by agent, text, a warning."""

    rows: pd.DataFrame
    facts: dict
    text: str
    note: str


def judge_run(asked, run_ids, cutoffs):
    """Return what WorldReasoner's scores say of some runs (`Beside`), nothing of other question sets' runs.

    `asked` is the run's (`run.Asked`), `run_ids` maps agents to runs of its store, `cutoffs` are the knowledge cutoffs
    of the agents asked for. Where nothing can be scored the text says why.
    """
    path, events, plan = asked.path, asked.events, asked.plan
    note = f"{OPEN} is no forecast: asked after the resolution" if plan.moment == OPEN else ""
    if asked.window not in ("L", "M"):
        return Beside(pd.DataFrame(), {}, "", note)
    predictions = read_sampled(path, "predictions", run_ids, events)
    try:
        answers = read_window("answers", asked.window)
        if asked.window == "M":
            return write_prices(price_runs(events, answers, predictions, build_priced()[2], plan.moment), note)
        runs, own = read_runs(path, "runs", run_ids.values()), majority_cutoffs(run_ids, cutoffs)
        tables = [read_sampled(path, name, run_ids, events) for name in ("replies", "traces")]
        rows, facts = judge_runs(events, answers, runs, predictions, *tables, own)
    except (FileNotFoundError, ValueError) as error:
        return Beside(pd.DataFrame(), {}, f"no WorldReasoner scores: {error}", note)
    lines = [line for agent, own in facts.items() for line in describe_facts(agent, own, rows)]
    return Beside(rows, facts, "\n".join([write_scores(rows, list(facts)), *lines]), note)


def majority_cutoffs(run_ids, cutoffs):
    """Return the cutoffs with those of the majorities of several answers, whose model is the same.

    >>> majority_cutoffs({"a": "r", "a-majority": "s", "walk": "t"}, {"a": "2024-06"})
    {'a': '2024-06', 'a-majority': '2024-06'}
    """
    named = {name: name.removesuffix("-majority") for name in run_ids}
    return {name: cutoffs[agent] for name, agent in named.items() if agent in cutoffs}


def write_scores(rows, agents):
    """Return the means as text, a line a metric: of the agents asked for with interval and n, of baselines alone."""
    table = rows[rows["group"] != "kept"]
    places = {name: at for at, name in enumerate(LABELS)}
    shown = {}
    for row in table.to_dict("records"):
        metric = row["metric"].removeprefix("worldreasoner_")
        label = f"  {row['name']}" if row["group"] == "type" else LABELS[metric]
        ends = [row[name] for name in ("low", "high", "n", "n_asked")] if row["agent_id"] in agents else [None] * 4
        cell = write_interval(row["mean"], *ends) if row["agent_id"] in agents else f"{row['mean']:.2f}"
        shown.setdefault((places[metric], row["group"] == "type", label), {})[row["agent_id"]] = cell
    others = sorted(set(table["agent_id"]) - set(agents))
    lines = pd.DataFrame([shown[key] for key in sorted(shown)], columns=[*agents, *others]).fillna("-")
    lines.insert(0, "WorldReasoner", [key[2].ljust(max(map(len, LABELS.values()))) for key in sorted(shown)])
    head = "WorldReasoner's scores (Appendix F); of Brier less is better, of log more; timeframe: a date"
    return f"{head}\n{lines.set_index('WorldReasoner').to_string(line_width=WIDTH, index_names=False)}"


def describe_facts(agent, facts, rows):
    """Return lines on what an agent's scores rest on: its condition, its graphs' references, its knowledge cutoff."""
    named = facts["condition"] or f"none of the six conditions, asked at {facts['moment']}"
    lines = [f"{agent}: {named}" if facts["is_forecast"] else f"{agent}: {named}, no forecast: its answers were out"]
    if facts["n_references"]:
        told = f"{facts['n_references']} hindsight graphs by rule, {facts['n_valid']} of them valid (B.3)"
        lines[0] += f"; key events: against {told}"
    cutoff = facts["cutoff"]
    if not cutoff["is_filtered"]:
        return [*lines, f"{agent}: unfiltered (no knowledge_cutoff_date): it may have read how these ended"]
    own = rows[(rows["agent_id"] == agent) & (rows["metric"] == "worldreasoner_accuracy")].set_index("group")
    cells = ["mean", "low", "high", "n"]
    kept = write_interval(*own.loc["kept", cells]) if "kept" in own.index else "-"
    told = f"{cutoff['n_kept']} of {cutoff['n']} questions opened on or after its cutoff {cutoff['date']}"
    return [*lines, f"{agent}: {told}; accuracy on these {kept}, on all {write_interval(*own.loc['all', cells])}"]


def write_prices(table, note):
    """Return what the market's prices of the same moment say of each agent (a row of `own_runs.price_runs`)."""
    if table.empty:
        return Beside(pd.DataFrame(), {}, "no agent gave a probability to hold against the market's price", note)
    facts = {row["agent_id"]: {"market": row} for row in table.to_dict("records")}
    ends = {"metric": "lead_over_market", "group": "all", "name": ""}
    rows = table.rename(columns={"difference": "mean"})["agent_id mean low high n n_clusters".split()].assign(**ends)
    leads = [write_lead(row) for row in table.to_dict("records")]
    shown = (
        table[["agent_id", "brier", "market"]].round(3).assign(lead=leads, n=table["n"], markets=table["n_clusters"])
    )
    head = "Brier (less is better) beside the market's price of the same moment; lead: the price's minus the agent's"
    return Beside(rows, facts, f"{head}\n{shown.to_string(index=False)}", note)
