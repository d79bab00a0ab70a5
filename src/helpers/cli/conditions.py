"""What WorldReasoner's scores say of a run, beside its usual ones: on `long` and `worldreasoner` its own, on
`markets` and `worldreasoner` the market's price.

As rows and facts for a run's files, and as text.
"""

import re
from html import unescape
from typing import NamedTuple

import pandas as pd

from helpers.cli.report import write_difference, write_interval, write_table
from helpers.cli.results import read_sampled
from helpers.futurex.past import PRICED, build_cards, read_window
from helpers.store import parse_json, read_runs
from helpers.web.pages import read_kept
from helpers.worldreasoner.cards import build_references
from helpers.worldreasoner.conditions import OPEN
from helpers.worldreasoner.own_runs import judge_runs, price_runs

CANONICAL = re.compile(r"<link rel='canonical' href='([^']+)'>")
"""Where an article's page names the address at which it stood first (`news.Article`)."""
KINDS = {"L": "hindsight graphs by rule", "W": "questions' event cards by the authors"}
"""Windows with reference events, and what these are."""


class Beside(NamedTuple):
    """What stands beside a run's usual scores: rows of results.csv, facts of results.json by agent, text, a warning."""

    rows: pd.DataFrame
    facts: dict
    text: str
    note: str


def judge_run(asked, run_ids, cutoffs, graphs=None):
    """Return what WorldReasoner's scores and the market's prices say of some runs (`Beside`), nothing on other sets.

    `asked` is the run's (`run.Asked`), `run_ids` maps agents to runs of its store, `cutoffs` are the knowledge cutoffs
    of the agents asked for; a majority has its model's. `graphs` ({event_id: graph}) are the reference in place of the
    set's own. Where nothing can be scored the text says why.
    """
    window, events, moment = asked.window, asked.events, asked.plan.moment
    note = f"{OPEN} is no forecast: asked after the resolution" * (moment == OPEN)
    parts = []
    if graphs or window in (*KINDS, *PRICED):
        tables = {
            name: read_sampled(asked.path, name, run_ids, events) for name in ("predictions", "replies", "traces")
        }
        try:
            answers = read_window("answers", window)
            if graphs or window in KINDS:
                runs = read_runs(asked.path, "runs", run_ids.values())
                named = {name: name.removesuffix("-majority") for name in run_ids}
                own = {name: cutoffs[agent] for name, agent in named.items() if agent in cutoffs}
                references = refer_to_cards(tables["traces"], graphs) if graphs or window == "W" else {}
                kind = "hindsight graphs of a file" if graphs else KINDS[window]
                rows, facts = judge_runs(events, answers, runs, *tables.values(), own, **references)
                told = [line for agent, own in facts.items() for line in describe_facts(agent, own, rows, kind)]
                parts.append((rows, facts, "\n".join([write_scores(rows, list(facts)), *told])))
            if window in PRICED:
                rows, facts, head, shown = tell_prices(events, answers, tables["predictions"], window, moment)
                table = "" if shown is None else write_table(shown.set_index("agent"))
                parts.append((rows, facts, f"{head}\n{table}".strip()))
        except (FileNotFoundError, ValueError) as error:
            parts = [(pd.DataFrame(), {}, f"no WorldReasoner scores: {error}")]
    names = dict.fromkeys(name for _, facts, _ in parts for name in facts)
    facts = {name: {key: one for _, facts, _ in parts for key, one in facts.get(name, {}).items()} for name in names}
    rows = pd.concat([rows for rows, _, _ in parts], ignore_index=True) if parts else pd.DataFrame()
    return Beside(rows, facts, "\n".join(text for _, _, text in parts), note)


def refer_to_cards(traces, graphs=None):
    """Return references of `score_submissions`: graphs, else window W's cards, and addresses of the pages shown."""
    shown = {page for cell in traces["page_ids"].dropna() for page in parse_json(cell)}
    found = {name: CANONICAL.search(page["text"]) for name, page in read_kept(sorted(shown)).items()}
    addresses = {name: unescape(place[1]) for name, place in found.items() if place}
    return {"cards": graphs or build_references(build_cards()[3]), "addresses": addresses}


def write_scores(rows, agents):
    """Return the means as text, a line a metric: of the agents asked for with interval and n, of baselines alone."""
    table = rows[rows["group"] != "kept"]
    lines = table["metric"].str.removeprefix("worldreasoner_").mask(table["group"] == "type", "  " + table["name"])
    ends = ["mean", "low", "high", "n", "n_asked"]
    cells = [
        write_interval(*cells[1:] if cells[0] in agents else cells[1:2])
        for cells in table[["agent_id", *ends]].itertuples(index=False)
    ]
    shown = table.assign(line=lines, cell=cells).pivot(index="line", columns="agent_id", values="cell").fillna("-")
    shown = shown.loc[list(dict.fromkeys(lines)), [*agents, *sorted(set(shown) - set(agents))]].rename_axis(
        "WorldReasoner"
    )
    head = "WorldReasoner's scores (Appendix F); of Brier less is better, of log more; timeframe: a date"
    return f"{head}\n{write_table(shown)}"


def describe_facts(agent, facts, rows, kind):
    """Return lines on what an agent's scores rest on: its condition, its references (a `kind`), its cutoff."""
    named = facts["condition"] or f"none of the six conditions, asked at {facts['moment']}"
    lines = [f"{agent}: {named}{', no forecast: its answers were out' * (not facts['is_forecast'])}"]
    if facts["n_references"]:
        told = f"{facts['n_references']} {kind}, {facts['n_valid']} of them valid (B.3)"
        lines[0] += f"; key events: against {told}"
    if facts["left_out"]:
        told = ", ".join(f"{n} as {reason}" for reason, n in facts["left_out"].items())
        lines[0] += f"; submitted events left out: {told}"
    cutoff = facts["cutoff"]
    if not cutoff["is_filtered"]:
        return [*lines, f"{agent}: unfiltered (no knowledge_cutoff_date): it may have read how these ended"]
    own = rows[(rows["agent_id"] == agent) & (rows["metric"] == "worldreasoner_accuracy")].set_index("group")
    kept, whole = (
        write_interval(*own.loc[group, ["mean", "low", "high", "n"]]) if group in own.index else "-"
        for group in ("kept", "all")
    )
    told = f"{cutoff['n_kept']} of {cutoff['n']} questions opened on or after its cutoff {cutoff['date']}"
    return [*lines, f"{agent}: {told}; accuracy on these {kept}, on all {whole}"]


def tell_prices(events, answers, predictions, window, moment):
    """Return (rows, facts by agent, text, table) on what the market's prices of the same moment say of each agent."""
    table = price_runs(events, answers, predictions, PRICED[window]()[2], moment)
    if table.empty:
        return pd.DataFrame(), {}, "no agent gave a probability to hold against the market's price", None
    rows = table.rename(columns={"difference": "mean"})["agent_id mean low high n n_clusters".split()]
    leads = table.apply(write_difference, axis=1)
    shown = (
        table[["brier", "market"]]
        .map("{:.3f}".format)
        .assign(lead=leads, n=table["n"].map(str), markets=table["n_clusters"].map(str))
    )
    shown.index = pd.Index(table["agent_id"], name="agent")
    head = "Brier (less is better) beside the market's price of the same moment; lead: the price's minus the agent's"
    facts = {row["agent_id"]: {"market": row} for row in table.to_dict("records")}
    rows = rows.assign(metric="lead_over_market", group="all", name="")
    return rows, facts, head, shown.reset_index()
