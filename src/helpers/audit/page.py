"""The audit on one page: verdicts by paper and kind, what does not hold and why it matters, every claim to be sorted.

The page is one file of plain HTML without anything from elsewhere; its script sorts and filters and does no more.
"""

from pathlib import Path

import jinja2
import pandas as pd

from helpers import papers
from helpers.audit.ledger import BASES, VERDICTS
from helpers.faults import read_sheet

MATTERS = {
    "last digit": "Cut off, or rounded twice. Nothing follows from it.",
    "wording": "A label, a date or a pointer names another thing. A reader loses time.",
    "count": "Two totals of one thing differ, or a percentage fits no whole number of cases. Which is meant is open.",
    "definition": "Two readings of one rule. Who builds it anew gets other scores, depending on the reading taken.",
    "finding": "A finding, as worded, does not follow from the numbers that are printed.",
}
"""Why an inconsistency matters, the least first."""
COLUMNS = ["paper", "section", "kind", "claim", "published", "recomputed", "verdict", "basis", "note"]
MEANINGS = {
    "recomputed": "other numbers of the paper, and arithmetic",
    "printed twice": "the same number or date in another place",
    "read in words": "names, words and lists as transcribed, or values so far apart that no change by a half matters",
    "own assumption": "a value that the paper does not print and the kit assumes (sizes of groups, a maker's dates)",
}
"""What a verdict rests on -> what that is."""
TEMPLATE = Path(__file__).with_suffix(".html")


def load_matters(ledger, folder=papers.FOLDER):
    """Return why each inconsistent claim matters: id -> a key of MATTERS (data/papers/matters.csv).

    Raises ValueError for an inconsistent claim without one or with two, for a claim that is not inconsistent, and for
    an unknown key.
    """
    matters = read_sheet(folder / "matters.csv", ("id", "matters"), key=["id"], words={"matters": MATTERS})
    matters = matters.set_index("id")["matters"].to_dict()
    stray = sorted(set(ledger.loc[ledger["verdict"] == "inconsistent", "id"]) ^ set(matters))
    if stray:
        raise ValueError(f"matters.csv: {stray[0]} must stand there if it is inconsistent, and only then")
    return matters


def count_verdicts(ledger, by):
    """Return how many claims have each verdict, a row a value of `by` ("paper", or ["paper", "kind"])."""
    table = ledger.groupby([*([by] if isinstance(by, str) else by), "verdict"]).size().unstack(fill_value=0)
    return table.reindex(columns=VERDICTS, fill_value=0)


def count_bases(ledger):
    """Return how many claims have each verdict, a row a basis, with what that is; not recomputable ones have none."""
    table = pd.crosstab(ledger["basis"], ledger["verdict"]).reindex(index=BASES, columns=VERDICTS[:-1], fill_value=0)
    return table.assign(**{"it rests on": pd.Series(MEANINGS)}).rename_axis(index="basis", columns=None)


def count_matters(ledger, matters):
    """Return how many inconsistent claims matter in each way, a row a paper."""
    wrong = ledger[ledger["verdict"] == "inconsistent"]
    return pd.crosstab(wrong["paper"], wrong["id"].map(matters)).reindex(columns=list(MATTERS), fill_value=0)


def write_page(ledger, matters, benchmarks, quotes):
    """Return the page as HTML text.

    `benchmarks` is the table that `benchmarks.spread_benchmarks` returns, `quotes` that of `quotes.quote_ledger`.
    """
    quoted = ledger.merge(quotes, on="id", how="left", validate="1:1")
    counts = count_matters(ledger, matters).T.rename_axis("matters").reset_index()
    reasons = pd.DataFrame({"matters": MATTERS.keys(), "why": MATTERS.values()}).merge(counts, on="matters")
    wrong = quoted[quoted["verdict"] == "inconsistent"].assign(matters=quoted["id"].map(matters))
    is_same = (ledger["recomputed"] == ledger["published"]) & (ledger["published"] != "")
    rank = {name: -place for place, name in enumerate(MATTERS)}
    wrong = wrong.sort_values("matters", key=lambda m: m.map(rank), kind="stable")
    lost = ledger[ledger["verdict"] == "not recomputable"]
    page = jinja2.Environment(autoescape=True).from_string(TEMPLATE.read_text(encoding="utf-8"))
    return page.render(
        title="The four papers against themselves, and against ours",
        ledger=ledger,
        n=ledger["verdict"].value_counts(),
        titles={name: papers.load_paper(name)["title"] for name in sorted(ledger["paper"].unique())},
        bases=ledger.loc[ledger["verdict"] == "consistent", "basis"].value_counts(),
        by_paper=count_verdicts(ledger, "paper").reset_index(),
        by_basis=count_bases(ledger).reset_index(),
        reasons=reasons,
        wrong=wrong[["matters", "paper", "claim", "printed", "against", "recomputed", "note"]],
        two=quoted.loc[
            quoted["verdict"] == "two readings", ["paper", "claim", "printed", "against", "recomputed", "note"]
        ],
        ours=ledger.loc[ledger["ours"] != "", ["paper", "section", "claim", "published", "ours", "interval", "note"]],
        lost=lost[["paper", "section", "claim", "published", "note"]],
        benchmarks=benchmarks.reset_index(),
        by_kind=count_verdicts(ledger, "kind").reset_index(),
        claims=ledger[COLUMNS].assign(recomputed=ledger["recomputed"].mask(is_same, "the same")),
    )
