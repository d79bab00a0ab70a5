"""One table of benchmarks: the papers' tables 1 (FutureX, LiveAgentBench) merged, each cell with its source.

What a paper says of another's benchmark is its reading, not a fact checked here. data/papers/benchmarks.csv adds what
the papers without such a table print of themselves, as references to their numbers (`helpers.audit.ledger`).
"""

import pandas as pd

from helpers import papers
from helpers.audit.ledger import resolve_reference, show_value
from helpers.faults import read_sheet

KEYS = ("futurex", "liveagentbench")
NAMES = {"gaia": "GAIA", "agentbench": "AgentBench", "api_bank": "API-Bank", "liveagentbench": "LiveAgentBench"}
PROPERTIES = {
    "n_events": "questions",
    "n_domains": "domains",
    "live_update": "live updates",
    "time": "events lie in",
    "source": "sources",
    "llm_agents": "LLM agents",
    "env": "environment",
    "frequency": "frequency",
    "auto": "automatic",
}
"""Columns of FutureX's Table 1 -> what they say of a benchmark."""


def merge_benchmarks(folder=papers.FOLDER):
    """Return what the four papers print of benchmarks: benchmark, property, value, paper, section, a row a cell.

    Raises ValueError where a property of a benchmark is stated twice.
    """
    first = papers.load_published("futurex", "table1_benchmarks", folder, dtype=str, keep_default_na=False)
    parts = [first.melt(["benchmark", "section"], list(PROPERTIES), "property").replace({"property": PROPERTIES})]
    second = papers.load_published("liveagentbench", "table1", folder, dtype=str, keep_default_na=False)
    named = (second["category"] + ": " + second["subcategory"]).str.lower()
    second = second.assign(property=named).melt(["property", "section"], list(NAMES), "benchmark")
    parts.append(second.replace({"benchmark": NAMES}))
    parts = [part.assign(paper=key) for part, key in zip(parts, KEYS, strict=True)]
    table = pd.concat([*parts, read_own(folder)], ignore_index=True)
    table = table[table["value"] != ""].reset_index(drop=True)
    twice = table.duplicated(["benchmark", "property"])
    if twice.any():
        row = table[twice].iloc[0]
        raise ValueError(f"{row['benchmark']}: {row['property']} is stated twice; say which one counts")
    return table[["benchmark", "property", "value", "paper", "section"]]


def read_own(folder=papers.FOLDER):
    """Return what papers print of their own benchmark; where a reference of benchmarks.csv names several, their sum."""
    rows = []
    needs = ("benchmark", "property", "paper", "reference", "section")
    for row in read_sheet(folder / "benchmarks.csv", needs).to_dict("records"):
        values = resolve_reference(row["reference"], row["paper"], folder)
        rows.append(row | {"value": show_value(sum(values)) + " (a sum)" * (len(values) > 1)})
    return pd.DataFrame(rows).drop(columns="reference")


def spread_benchmarks(table):
    """Return the merged table with a row a property and a column a benchmark, in the order of print.

    The last row says where what stands in a column is stated; a blank cell is stated nowhere.
    """
    order = {name: list(dict.fromkeys(table[name])) for name in ("property", "benchmark")}
    wide = table.pivot(index="property", columns="benchmark", values="value")
    wide = wide.loc[order["property"], order["benchmark"]].fillna("")
    places = (
        (table["paper"] + " " + table["section"]).groupby(table["benchmark"]).agg(lambda p: "; ".join(dict.fromkeys(p)))
    )
    wide.loc["stated in"] = places
    return wide
