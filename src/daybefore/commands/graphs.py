"""What the graphs of one's own runs say beside WorldReasoner's means, as sections of a page
(report, compare)."""

from functools import partial

import pandas as pd

from daybefore.commands import report
from daybefore.commands.conditions import KINDS, refer_to_cards
from daybefore.formats.public_sets import PRICED
from daybefore.models.embeddings import embed_texts, fetch_embedder
from daybefore.scoring.runs import Run, read_rows
from studies.worldreasoner.own_runs import judge_graphs

TABLES = ("runs", "predictions", "replies", "traces")


def write_mean(row):
    """Return a row of means (mean, low, high) as text with its interval, or that none is due."""
    ends = (row[name] for name in ("mean", "low", "high"))
    return "none is due" if pd.isna(row["mean"]) else report.write_interval(*ends, digits=3)


def tell_graphs(run, events, answers, tables, semantic=False):
    """Return {title: (sentences, table)} of what a run's graphs and sources say beside
    WorldReasoner's means.

    Right against wrong forecasts (Tables 4, 10), key-event recall by matcher (Table 12), and where
    the set has prices what the graph recovers of events that the market followed (Table 11).
    Nothing on a set without references.
    """
    if run.window not in KINDS:
        return {}
    embed, prices = None, PRICED[run.window]()[2] if run.window in PRICED else None
    references = refer_to_cards(tables["traces"]) if run.window == "W" else {}
    notes = ["Key events by meaning: not asked for (--semantic; it fetches a model of 91 MB once)."]
    if semantic:
        path, notes = (
            fetch_embedder(),
            ["By meaning: all-MiniLM-L6-v2, cosine from 0.55 on, at most 7 days apart."],
        )
        embed = partial(embed_texts, path=path)
    try:
        found = judge_graphs(events, answers, tables, references, prices, embed)
    except ValueError as error:
        notes = [f"Key events by meaning: not computed, {error}."]
        found = judge_graphs(events, answers, tables, references, prices)
    told = {}
    if "split" in found:
        shown = pd.DataFrame({"metric": found["split"]["metric"]})
        for name in ("right", "wrong"):
            shown[name] = [report.write_interval(value, digits=3) for value in found["split"][name]]
        gaps = found["split"].rename(columns={"gap": "difference"}).to_dict("records")
        shown["gap (95%)"] = [
            report.write_difference(row, 3) if pd.notna(row["difference"]) else "-" for row in gaps
        ]
        shown["n"] = found["split"]["n"].astype(str)
        what = "Means over right and over wrong forecasts; the gap is right minus wrong, clustered."
        told["WorldReasoner: right and wrong forecasts (Tables 4, 10)"] = ([what], shown)
    if "recall" in found:
        table = found["recall"]
        shown = pd.DataFrame({"matcher": table["matcher"]})
        shown["key-event recall (95%)"] = [write_mean(row) for row in table.to_dict("records")]
        shown["n"] = table["n"].astype(int).astype(str)
        told["WorldReasoner: key events by matcher (Table 12)"] = (notes, shown)
    if "market" in found:
        table = found["market"]
        shown = table[["events", "measure"]].assign(
            mean=[write_mean(row) for row in table.to_dict("records")]
        )
        shown["n"] = table["n"].astype(str)
        shown["matched"] = [
            f"{a} of {b} events" for a, b in table[["n_matched", "n_aligned"]].to_numpy()
        ]
        what = "Events of the reference around which the price moved their way, that the run's graph names (G.3.1)."
        told["WorldReasoner: events that the market followed (Table 11)"] = ([what], shown)
    elif "recall" in found:
        lacks = "no question of the run has a graph, prices and a reference event"
        told["WorldReasoner: events that the market followed (Table 11)"] = (
            [f"Not computed: {lacks}."],
            None,
        )
    return told


def compare_graphs(
    runs: list[Run], events: pd.DataFrame, answers: pd.DataFrame
) -> dict[str, tuple[list[str], pd.DataFrame]]:
    """Return the sections of `tell_graphs` of several runs, each one table with the agent first.

    Over `events`, which all were asked. A run without graphs has no rows; of recorded runs the
    requests are kept apart.
    """
    parts = {}
    for run in runs:
        if run.window not in KINDS or isinstance(run.place, str):
            continue
        tables = {name: read_rows(name, run, True) for name in TABLES}
        for name in TABLES[1:]:
            tables[name] = tables[name][tables[name]["event_id"].isin(events["event_id"])]
        own = answers[answers["event_id"].isin(events["event_id"])]
        for title, (notes, table) in tell_graphs(run, events, own, tables).items():
            if table is not None:
                parts.setdefault(title, (notes, []))[1].append(table.assign(agent=run.label))
    found = {}
    for title, (notes, tables) in parts.items():
        table = pd.concat(tables, ignore_index=True)
        found[title] = (notes, table[["agent", *table.columns.drop("agent")]])
    return found
