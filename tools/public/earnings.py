"""Facts of FutureX's 50 questions on S&P 500 members, analysts' figures beside (FutureX 5.1): statistics alone."""

import numpy as np
import pandas as pd

from daybefore.formats.earnings import build_events, read_earnings
from daybefore.windows import EARNINGS
from helpers.means import summarize_clustered
from helpers.papers import get_constant
from helpers.public_files import locate_public
from studies.futurex.experts import cap_errors

SOURCES = {"futurex_earnings": [EARNINGS]}


def build() -> dict[str, pd.DataFrame]:
    """Return futurex_earnings: fact, value, low, high (95% interval by company), n (questions)."""
    _, answers, beside = build_events(read_earnings(locate_public(EARNINGS)))
    return {"futurex_earnings": describe_questions(answers, beside)}


def describe_questions(answers: pd.DataFrame, beside: pd.DataFrame) -> pd.DataFrame:
    """Return what the questions ask, and how near the consensus lies to the outcome.

    `score` is FutureX's for numbers, max(0, 1 - (error / Std) squared); `error` the share of the outcome, capped as in
    the paper's Figure 15.
    """
    table = beside.merge(answers[["event_id", "spread"]], on="event_id")
    error = (table["consensus"] - table["actual"]).abs()
    cap = get_constant("futurex", "mape_cap")
    measured = pd.DataFrame(
        {
            "score of the consensus": np.maximum(0, 1 - (error / table["spread"]) ** 2),
            "capped error of the consensus": cap_errors(table["consensus"], table["actual"], cap),
            "actual above the consensus": (table["actual"] > table["consensus"]).astype(float),
        }
    )
    means = summarize_clustered(measured, table["item"], ends=(0, 1)).rename(columns={"mean": "value"})
    facts = means.rename_axis("fact").reset_index()[["fact", "value", "low", "high", "n"]]
    asked = pd.DataFrame({"fact": ["asks for revenue"], "value": [(beside["metric"] == "revenue").mean()]})
    return pd.concat([asked.assign(n=len(beside)), facts], ignore_index=True)
