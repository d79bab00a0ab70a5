"""The audit on one page: what does not hold and why it matters, what verdicts rest on, every claim
to be sorted.

The page is one file of plain HTML without anything from elsewhere; its script sorts and filters and
does no more.
"""

from pathlib import Path

import jinja2
import matplotlib.pyplot as plt
import pandas as pd

from helpers import files, papers
from helpers.input_faults import read_sheet
from helpers.plots import COLOURS, lighten, pick_ink
from studies.audit.ledger import BASES, VERDICTS, resolve_reference, show_value

MATTERS = {
    "finding": "A finding, as worded, does not follow from the numbers that are printed.",
    "definition": "Two readings of one rule. Who builds it anew gets other scores, depending on the reading taken.",
    "count": "Two totals of one thing differ, or a percentage fits no whole number of cases. Which is meant is open.",
    "wording": "A label, a date or a pointer names another thing. A reader loses time.",
    "last digit": "Cut off, or rounded twice. Nothing follows from it.",
}
"""Why an inconsistency matters, the most first."""
COLUMNS = "paper section kind claim published recomputed verdict basis note".split()
MEANINGS = {
    "recomputed": "other numbers of the paper, and arithmetic",
    "printed twice": "the same number or date in another place",
    "read in words": "names, words and lists as transcribed, or values so far apart that no change by a half matters",
    "own assumption": "a value that the paper does not print and the kit assumes (sizes of groups, a maker's dates)",
}
"""What a verdict rests on -> what that is."""
NAMES = {
    "futurex": "FutureX",
    "liveagentbench": "LiveAgentBench",
    "proof_of_time": "Proof of Time",
    "worldreasoner": "WorldReasoner",
}
SHADES = {
    "inconsistent": COLOURS[3],
    "two readings": COLOURS[1],
    **{basis: lighten(COLOURS[2], 0.25 * at) for at, basis in enumerate(BASES)},
    "not recomputable": "0.8",
}
"""Colours of verdicts; claims that hold by what they rest on."""
BENCHMARKS = {
    "gaia": "GAIA",
    "agentbench": "AgentBench",
    "api_bank": "API-Bank",
    "liveagentbench": "LiveAgentBench",
}
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


def load_matters(ledger, folder=papers.FOLDER):
    """Return why each inconsistent claim matters: id -> a key of MATTERS (data/papers/matters.csv).

    Raises ValueError for an inconsistent claim without one or with two, for a claim that is not
    inconsistent, and for an unknown key.
    """
    matters = read_sheet(
        folder / "matters.csv", ("id", "matters"), key=["id"], words={"matters": MATTERS}
    )
    matters = matters.set_index("id")["matters"].to_dict()
    stray = sorted(set(ledger.loc[ledger["verdict"] == "inconsistent", "id"]) ^ set(matters))
    if stray:
        raise ValueError(
            f"matters.csv: {stray[0]} must stand there if it is inconsistent, and only then"
        )
    return matters


def list_wrong(ledger, matters):
    """Return the claims that do not hold, those that matter most first, with the column
    `matters`."""
    wrong = ledger[ledger["verdict"] == "inconsistent"]
    wrong = wrong.assign(matters=pd.Categorical(wrong["id"].map(matters), list(MATTERS)))
    return wrong.sort_values("matters", kind="stable").astype({"matters": str})


def count_bases(ledger):
    """Return how many claims have each verdict, a row a basis, with what that is; not recomputable
    ones have none."""
    table = pd.crosstab(ledger["basis"], ledger["verdict"])
    table = table.reindex(index=BASES, columns=VERDICTS[:-1], fill_value=0)
    table["it rests on"] = pd.Series(MEANINGS)
    return table.rename_axis(index="basis", columns=None)


def draw_counts(verdicts, reasons):
    """Return a figure of claims by paper: verdicts (columns of SHADES), and what does not hold by
    why it matters."""
    fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), sharey=True, width_ratios=[1.5, 1])
    steps = {name: lighten(COLOURS[3], 0.2 * at) for at, name in enumerate(MATTERS)}
    panels = (
        (verdicts, SHADES, "All claims"),
        (reasons, steps, "Those that do not hold, by why it matters"),
    )
    for ax, (table, colours, title) in zip(axes, panels, strict=True):
        table = table.reindex(verdicts.index[::-1])[[name for name in colours if name in table]]
        shades = [colours[name] for name in table]
        table.plot.barh(stacked=True, ax=ax, color=shades, width=0.7, legend=False)
        least = 0.045 * table.sum(axis=1).max()
        for name, bars in zip(table, ax.containers, strict=True):
            labels = [str(n) if n > least else "" for n in table[name]]
            ink = pick_ink(colours[name])
            ax.bar_label(bars, labels, label_type="center", fontsize=9, color=ink)
            for bar, n in zip(bars, table[name], strict=True):
                if 0 < n <= least:  # too narrow to hold its number
                    top = bar.get_y() + bar.get_height()
                    ax.text(bar.get_x() + n / 2, top, n, ha="center", fontsize=7)
        held = [f"holds: {name}" if name in BASES else name for name in table]
        ax.legend(held, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=3, fontsize=8)
        ax.set(xlabel="claims", ylabel="", title=title)
        ax.grid(visible=False, axis="y")
    return fig


def write_page(ledger, matters, benchmarks, quotes):
    """Return the page as HTML text.

    `benchmarks` is the table that `spread_benchmarks` returns, `quotes` that of
    `ledger.quote_ledger`.
    """
    quoted = ledger.merge(quotes, on="id", how="left", validate="1:1")
    both = ["paper", "claim", "printed", "against", "recomputed", "note"]
    wrong = list_wrong(quoted, matters)
    counts = (
        pd.crosstab(wrong["matters"], wrong["paper"]).reindex(MATTERS, fill_value=0).reset_index()
    )
    verdicts = pd.crosstab(ledger["paper"], ledger["verdict"]).reindex(
        columns=VERDICTS, fill_value=0
    )
    is_same = (ledger["recomputed"] == ledger["published"]) & (ledger["published"] != "")
    template = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True).from_string(template)
    return page.render(
        title="The numbers of four papers: which hold",
        ledger=ledger,
        n=ledger["verdict"].value_counts(),
        titles={
            name: papers.load_paper(name)["title"] for name in sorted(ledger["paper"].unique())
        },
        bases=ledger.loc[ledger["verdict"] == "consistent", "basis"].value_counts(),
        by_paper=verdicts.reset_index(),
        by_basis=count_bases(ledger).reset_index(),
        reasons=pd.DataFrame({"matters": MATTERS.keys(), "why": MATTERS.values()}).merge(
            counts, on="matters"
        ),
        wrong=wrong[["matters", *both]],
        two=quoted.loc[quoted["verdict"] == "two readings", both],
        lost=ledger.loc[
            ledger["verdict"] == "not recomputable",
            ["paper", "section", "claim", "published", "note"],
        ],
        benchmarks=benchmarks.reset_index(),
        claims=ledger[COLUMNS].assign(recomputed=ledger["recomputed"].mask(is_same, "the same")),
    )


def write_findings() -> str:
    """Return data/findings.csv, every finding with its effect, n and verdict, as a page to sort and
    filter."""
    table = pd.read_csv(files.locate_input("data/findings.csv"), dtype=str, keep_default_na=False)
    template = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True).from_string(template)
    return page.render(title="What was found", findings=table)


# --- benchmarks -------------------------------------------------------------------------------------


def merge_benchmarks():
    """Return what the four papers print of benchmarks: benchmark, property, value, paper, section,
    a row a cell.

    From Tables 1 of FutureX and LiveAgentBench (what a paper says of another's benchmark is its
    reading), and what the others print of themselves, as references to their numbers
    (benchmarks.csv): of several in a cell the sum.
    """
    first = papers.load_published("futurex", "table1_benchmarks", dtype=str, keep_default_na=False)
    first = first.melt(["benchmark", "section"], list(PROPERTIES), "property").replace(
        {"property": PROPERTIES}
    )
    second = papers.load_published("liveagentbench", "table1", dtype=str, keep_default_na=False)
    second["property"] = (second["category"] + ": " + second["subcategory"]).str.lower()
    second = second.melt(["property", "section"], list(BENCHMARKS), "benchmark").replace(
        {"benchmark": BENCHMARKS}
    )
    own = read_sheet(
        papers.FOLDER / "benchmarks.csv", ("benchmark", "property", "paper", "reference", "section")
    )
    named = [resolve_reference(*row) for row in zip(own["reference"], own["paper"], strict=True)]
    own["value"] = [show_value(sum(values)) + " (a sum)" * (len(values) > 1) for values in named]
    parts = [first.assign(paper="futurex"), second.assign(paper="liveagentbench"), own]
    table = pd.concat(parts, ignore_index=True)[
        ["benchmark", "property", "value", "paper", "section"]
    ]
    return table[table["value"] != ""].reset_index(drop=True)


def spread_benchmarks(table):
    """Return the merged table with a row a property and a column a benchmark, in the order of
    print.

    The last row says where what stands in a column is stated; a blank cell is stated nowhere.
    """
    wide = table.pivot(index="property", columns="benchmark", values="value").fillna("")
    wide = wide.loc[table["property"].unique(), table["benchmark"].unique()]
    places = (table["paper"] + " " + table["section"]).groupby(table["benchmark"])
    wide.loc["stated in"] = places.agg(lambda texts: "; ".join(dict.fromkeys(texts)))
    return wide
