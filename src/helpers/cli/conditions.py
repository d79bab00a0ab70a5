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
from helpers.futurex.past import build_cards, build_priced, read_window
from helpers.store import parse_json, read_runs
from helpers.web.pages import read_kept
from helpers.worldreasoner.cards import build_references
from helpers.worldreasoner.conditions import OPEN
from helpers.worldreasoner.own_runs import judge_runs, price_runs

CANONICAL = re.compile(r"<link rel='canonical' href='([^']+)'>")
"""Where an article's page names the address at which it stood first (`news.show_article`)."""
KINDS = {"L": "hindsight graphs by rule", "W": "questions' event cards by the authors"}
"""Windows with reference events, and what these are."""


class Beside(NamedTuple):
    """What stands beside a run's usual scores: rows of results.csv, facts of results.json by agent, text, a warning."""

    rows: pd.DataFrame
    facts: dict
    text: str
    note: str


def judge_run(asked, run_ids, cutoffs):
    """Return what WorldReasoner's scores say of some runs (`Beside`), nothing of other question sets' runs.

    `asked` is the run's (`run.Asked`), `run_ids` maps agents to runs of its store, `cutoffs` are the knowledge cutoffs
    of the agents asked for; a majority has its model's. Where nothing can be scored the text says why.
    """
    path, events, moment = asked.path, asked.events, asked.plan.moment
    nothing = Beside(pd.DataFrame(), {}, "", f"{OPEN} is no forecast: asked after the resolution" * (moment == OPEN))
    if asked.window not in ("L", "M", "W"):
        return nothing
    predictions = read_sampled(path, "predictions", run_ids, events)
    try:
        answers = read_window("answers", asked.window)
        if asked.window == "M":
            prices = price_runs(events, answers, predictions, build_priced()[2], moment)
            return nothing._replace(**tell_prices(prices))
        named = {name: name.removesuffix("-majority") for name in run_ids}
        own = {name: cutoffs[agent] for name, agent in named.items() if agent in cutoffs}
        tables = [read_sampled(path, name, run_ids, events) for name in ("replies", "traces")]
        references = refer_to_cards(tables[1]) if asked.window == "W" else {}
        runs = read_runs(path, "runs", run_ids.values())
        rows, facts = judge_runs(events, answers, runs, predictions, *tables, own, **references)
    except (FileNotFoundError, ValueError) as error:
        return nothing._replace(text=f"no WorldReasoner scores: {error}")
    lines = [line for agent, own in facts.items() for line in describe_facts(agent, own, rows, KINDS[asked.window])]
    told = nothing._replace(rows=rows, facts=facts, text="\n".join([write_scores(rows, list(facts)), *lines]))
    return add_prices(told, events, answers, predictions, moment) if asked.window == "W" else told


def refer_to_cards(traces):
    """Return the references of window W (of `score_submissions`): its event cards, and addresses of the pages shown."""
    shown = {page for cell in traces["page_ids"].dropna() for page in parse_json(cell)}
    found = {name: CANONICAL.search(page["text"]) for name, page in read_kept(sorted(shown)).items()}
    addresses = {name: unescape(place[1]) for name, place in found.items() if place}
    return {"cards": build_references(build_cards()[3]), "addresses": addresses}


def add_prices(told, events, answers, predictions, moment):
    """Return a `Beside` with what the prices of window W's yes/no questions say added."""
    prices = tell_prices(price_runs(events, answers, predictions, build_cards()[2], moment))
    facts = told.facts | {name: told.facts.get(name, {}) | own for name, own in prices.get("facts", {}).items()}
    rows = pd.concat([told.rows, prices.get("rows", pd.DataFrame())], ignore_index=True)
    return told._replace(rows=rows, facts=facts, text=f"{told.text}\n{prices['text']}")


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


def tell_prices(table):
    """Return (as fields of `Beside`) what the market's prices of the same moment say of each agent.

    `table` has a row an agent, of `own_runs.price_runs`.
    """
    if table.empty:
        return {"text": "no agent gave a probability to hold against the market's price"}
    rows = table.rename(columns={"difference": "mean"})["agent_id mean low high n n_clusters".split()]
    leads = table.apply(write_difference, axis=1)
    shown = table[["brier", "market"]].assign(lead=leads, n=table["n"].map(str), markets=table["n_clusters"].map(str))
    shown.index = pd.Index(table["agent_id"], name="agent")
    head = "Brier (less is better) beside the market's price of the same moment; lead: the price's minus the agent's"
    return {
        "rows": rows.assign(metric="lead_over_market", group="all", name=""),
        "facts": {row["agent_id"]: {"market": row} for row in table.to_dict("records")},
        "text": f"{head}\n{write_table(shown)}",
    }
