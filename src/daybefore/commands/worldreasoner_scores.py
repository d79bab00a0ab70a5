"""What WorldReasoner's scores say of a run, beside its usual ones: on `long` and `worldreasoner`
its own, on `markets` and `worldreasoner` the market's price.

As rows and facts for a run's files, and as text.
"""

import re
from functools import partial
from html import unescape
from typing import NamedTuple

import pandas as pd

from daybefore.commands.print_tables import (
    write_difference,
    write_interval,
    write_mean,
    write_table,
)
from daybefore.commands.result_files import read_sampled
from daybefore.formats.public_sets import PRICED, build_cards, build_earnings
from daybefore.models.embeddings import embed_texts, fetch_embedder
from daybefore.questions.open_sets import read_window
from daybefore.scoring.run_scores import Run, read_rows
from daybefore.store import read_runs
from daybefore.web.fetched_pages import read_kept
from helpers.files import parse_json
from studies.futurex.people_and_experts import TIES, compare_consensus
from studies.worldreasoner.conditions import OPEN
from studies.worldreasoner.hindsight.graphs import build_references
from studies.worldreasoner.own_runs import judge_graphs, judge_runs, price_runs

CANONICAL = re.compile(r"<link rel='canonical' href='([^']+)'>")
"""Where an article's page names the address at which it stood first (`news_articles.Article`)."""
UNMEASURED = "no page that was shown could be a source of the reference (articles of your own with an address could)"
REPLAYED = "a replay as of a day after the end, in place of a run live at that moment"
TABLES = ("runs", "predictions", "replies", "traces")
KINDS = {"L": "hindsight graphs by rule", "W": "questions' event cards by the authors"}
"""Windows with reference events, and what these are."""


class Beside(NamedTuple):
    """What stands beside a run's usual scores: rows of results.csv, facts of results.json by agent,
    text, a warning."""

    rows: pd.DataFrame
    facts: dict
    text: str
    note: str


def judge_run(asked, run_ids, cutoffs, graphs=None):
    """Return what WorldReasoner's scores and the market's prices say of some runs (`Beside`),
    nothing on other sets.

    `asked` is the run's (`run.Asked`), `run_ids` maps agents to runs of its store, `cutoffs` are
    the knowledge cutoffs of the agents asked for; a majority has its model's. `graphs` ({event_id:
    graph}) are the reference in place of the set's own. Where nothing can be scored the text says
    why.
    """
    window, events, moment = asked.window, asked.events, asked.plan.moment
    parts = []
    if graphs or window in (*KINDS, *PRICED, "E"):
        names = ("predictions", "replies", "traces")
        tables = [read_sampled(asked.path, name, run_ids, events) for name in names]
    try:
        if graphs or window in KINDS:
            parts.append(tell_conditions(asked, run_ids, cutoffs, graphs, tables))
        if window in PRICED and moment != OPEN:
            answers = read_window("answers", window)
            rows, facts, text, shown = tell_prices(events, answers, tables[0], window, moment)
            told = [] if shown is None else [write_table(shown.set_index("agent"))]
            parts.append((rows, facts, "\n".join([text, *told])))
        if window == "E":
            parts.append(tell_consensus(build_earnings()[2], tables[0]))
    except (FileNotFoundError, ValueError) as error:
        parts = [(pd.DataFrame(), {}, f"no WorldReasoner scores: {error}")]
    facts = {}
    for _, told, _ in parts:
        for agent, about in told.items():
            facts.setdefault(agent, {}).update(about)
    rows = pd.concat([pd.DataFrame(), *(rows for rows, _, _ in parts)], ignore_index=True)
    note = ""
    if moment == OPEN:
        note = f"{asked.plan.condition or 'this'} is no forecast: asked after the resolution"
    return Beside(rows, facts, "\n".join(text for _, _, text in parts), note)


def tell_conditions(asked, run_ids, cutoffs, graphs, tables):
    """Return (rows, facts by agent, text) of WorldReasoner's scores of some runs, as of
    `judge_run`; `tables` are their predictions, replies and traces."""
    answers, runs = (
        read_window("answers", asked.window),
        read_runs(asked.path, "runs", run_ids.values()),
    )
    own = {name: name.removesuffix("-majority") for name in run_ids}
    own = {name: cutoffs[agent] for name, agent in own.items() if agent in cutoffs}
    references = refer_to_cards(tables[2], graphs) if graphs or asked.window == "W" else {}
    rows, facts = judge_runs(asked.events, answers, runs, *tables, own, **references)
    kind = "hindsight graphs of a file" if graphs else KINDS[asked.window]
    words = [write_scores(rows, list(facts))]
    for agent, about in facts.items():
        words += describe_facts(agent, about, rows, kind)
    return rows, facts, "\n".join(words)


def refer_to_cards(traces: pd.DataFrame, graphs: dict | None = None) -> dict:
    """Return references of `score_submissions`: graphs, else window W's cards, and addresses of the
    pages shown.

    A page counts by the address at which it stood first, else by its own; graphs may name it by
    either or by its id.
    """
    shown = {page for cell in traces["page_ids"].dropna() for page in parse_json(cell)}
    addresses = {}
    for page_id, page in read_kept(sorted(shown)).items():
        first = CANONICAL.search(page["text"])
        addresses[page_id] = unescape(first[1]) if first else page["url"]
        addresses[page["url"]] = addresses[page_id]
    return {"cards": graphs or build_references(build_cards()[3]), "addresses": addresses}


def write_scores(rows, agents):
    """Return the means as text, a line a metric: of the agents asked for with interval and n, of
    baselines alone."""
    cells = {}
    for row in rows[rows["group"] != "kept"].to_dict("records"):
        line = (
            f"  {row['name']}"
            if row["group"] == "type"
            else row["metric"].removeprefix("worldreasoner_")
        )
        ends = ("mean", "low", "high", "n", "n_asked") if row["agent_id"] in agents else ("mean",)
        cells.setdefault(line, {})[row["agent_id"]] = write_interval(*(row[name] for name in ends))
    shown = pd.DataFrame.from_dict(cells, orient="index").fillna("-")
    shown = shown[[*agents, *sorted(set(shown) - set(agents))]]
    head = "WorldReasoner's scores (Appendix F); of Brier less is better, of log more; timeframe: a date"
    return f"{head}\n{write_table(shown.rename_axis('WorldReasoner'))}"


def describe_facts(agent, facts, rows, kind):
    """Return lines on what an agent's scores rest on: its condition, its references (a `kind`), its
    cutoff."""
    first = f"{agent}: {facts['condition'] or 'none of the six conditions, asked at ' + facts['moment']}"
    if not facts["is_forecast"]:
        first += f", no forecast: its answers were out ({REPLAYED})"
    if facts["n_references"]:
        first += f"; key events: against {facts['n_references']} {kind}, {facts['n_valid']} of them valid (B.3)"
    if facts["n_sources"] == 0:
        first += f"; source precision: blank, {UNMEASURED}"
    if facts["left_out"]:
        told = ", ".join(f"{n} as {reason}" for reason, n in facts["left_out"].items())
        first += f"; submitted events left out: {told}"
    cutoff = facts["cutoff"]
    if not cutoff["is_filtered"]:
        return [
            first,
            f"{agent}: unfiltered (no knowledge_cutoff_date): it may have read how these ended",
        ]
    own = rows[
        (rows["agent_id"] == agent) & (rows["metric"] == "worldreasoner_accuracy")
    ].set_index("group")
    kept, whole = (
        write_interval(*own.loc[group, ["mean", "low", "high", "n"]]) if group in own.index else "-"
        for group in ("kept", "all")
    )
    told = f"{cutoff['n_kept']} of {cutoff['n']} questions opened on or after its cutoff {cutoff['date']}"
    return [first, f"{agent}: {told}; accuracy on these {kept}, on all {whole}"]


def tell_consensus(consensus, predictions):
    """Return (rows, facts by agent, text) on agents' forecasts of companies' figures beside the
    consensus (5.1)."""
    one_each = predictions.drop_duplicates(["agent_id", "event_id"])
    table = compare_consensus(consensus, one_each[one_each["agent_id"] != "consensus"])
    if table.empty:
        return (
            pd.DataFrame(),
            {},
            "nothing stands beside the consensus: no question has consensus, actual and forecast",
        )
    shown = pd.DataFrame({"agent": table["agent"], "metric": table["metric"]})
    for name in ("win_rate", "win_rate_untied", "mape", "mape_gap"):
        shown[name] = [
            write_interval(row[name], row[f"{name}_low"], row[f"{name}_high"])
            for row in table.to_dict("records")
        ]
    shown["consensus"] = table["mape_consensus"].map("{:.3f}".format)
    shown["ties"] = table["n_ties"].map(str)
    shown["n"] = [f"{row['n']} of {row['n_asked']}" for row in table.to_dict("records")]
    facts = {
        agent: {"consensus": part.to_dict("records")} for agent, part in table.groupby("agent")
    }
    ties = ", ".join(f"{metric} {share:.1%}" for metric, share in TIES.items())
    head = f"Beside the analysts' consensus (FutureX 5.1); closer than the consensus wins; ties: {ties}; errors in MAPE"
    return pd.DataFrame(), facts, f"{head}\n{write_table(shown.set_index('agent'))}"


def tell_prices(events, answers, predictions, window, moment):
    """Return (rows, facts by agent, text, table) on what the market's prices of the same moment say
    of each agent."""
    table = price_runs(events, answers, predictions, PRICED[window]()[2], moment)
    if table.empty:
        return (
            pd.DataFrame(),
            {},
            "no agent gave a probability to hold against the market's price",
            None,
        )
    shown = (
        table[["brier", "market"]]
        .map("{:.3f}".format)
        .assign(lead=table.apply(write_difference, axis=1))
    )
    shown = shown.assign(n=table["n"].map(str), markets=table["n_clusters"].map(str))
    shown.insert(0, "agent", table["agent_id"])
    facts = {row["agent_id"]: {"market": row} for row in table.to_dict("records")}
    rows = table.rename(columns={"difference": "mean"})[
        "agent_id mean low high n n_clusters".split()
    ]
    rows = rows.assign(metric="lead_over_market", group="all", name="")
    head = "Brier (less is better) beside the market's price of the same moment; lead: the price's minus the agent's"
    return rows, facts, head, shown


# --- graphs -----------------------------------------------------------------------------------------


def tell_graphs(run, events, answers, tables, semantic=False):
    """Return {title: (sentences, table)} of what a run's graphs and sources say beside
    WorldReasoner's means.

    Right against wrong forecasts (Tables 4, 10), key-event recall by matcher (Table 12), and where
    the set has prices what the graph recovers of events that the market followed (Table 11).
    Nothing on a set without references.
    """
    if run.window not in KINDS:
        return {}
    prices = PRICED[run.window]()[2] if run.window in PRICED else None
    references = refer_to_cards(tables["traces"]) if run.window == "W" else {}
    given, embed = (events, answers, tables, references, prices), None
    notes = ["Key events by meaning: not asked for (--semantic; it fetches a model of 91 MB once)."]
    if semantic:
        notes = ["By meaning: all-MiniLM-L6-v2, cosine from 0.55 on, at most 7 days apart."]
        embed = partial(embed_texts, path=fetch_embedder())
    try:
        found = judge_graphs(*given, embed)
    except ValueError as error:
        notes = [f"Key events by meaning: not computed, {error}."]
        found = judge_graphs(*given)
    told = {}
    if "split" in found:
        told["right and wrong forecasts (Tables 4, 10)"] = tell_split(found["split"])
    if "recall" in found:
        shown = found["recall"][["matcher"]].copy()
        shown["key-event recall (95%)"] = found["recall"].apply(write_mean, axis=1)
        shown["n"] = found["recall"]["n"].astype(int).astype(str)
        told["key events by matcher (Table 12)"] = (notes, shown)
        told["events that the market followed (Table 11)"] = tell_market(found.get("market"))
    return {f"WorldReasoner: {title}": section for title, section in told.items()}


def tell_split(table):
    """Return (sentences, table) of means over right and over wrong forecasts."""
    shown = table[["metric"]].copy()
    for name in ("right", "wrong"):
        shown[name] = [write_interval(value, digits=3) for value in table[name]]
    gaps = table.rename(columns={"gap": "difference"}).to_dict("records")
    shown["gap (95%)"] = [
        write_difference(row, 3) if pd.notna(row["difference"]) else "-" for row in gaps
    ]
    what = "Means over right and over wrong forecasts; the gap is right minus wrong, clustered."
    return [what], shown.assign(n=table["n"].astype(str))


def tell_market(table):
    """Return (sentences, table) of what a run's graph names of events that the market followed;
    None: nothing to hold it against."""
    if table is None:
        lacks = "no question of the run has a graph, prices and a reference event"
        return [f"Not computed: {lacks}."], None
    counts = table[["n_matched", "n_aligned"]].to_numpy()
    shown = table[["events", "measure"]].assign(mean=table.apply(write_mean, axis=1))
    shown["n"] = table["n"].astype(str)
    shown["matched"] = [f"{n_matched} of {n} events" for n_matched, n in counts]
    what = "Events of the reference around which the price moved their way, that the run's graph names (G.3.1)."
    return [what], shown


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
