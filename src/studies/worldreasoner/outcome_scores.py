"""Outcome and evidence: accuracy by type, Brier and log scores, source precision (WorldReasoner
Appendix F.1, F.2).

A missing forecast is wrong for accuracy and left out of Brier and log score; every mean stands
beside its n.
"""

import math

import pandas as pd

from helpers import scores
from helpers.files import parse_json
from helpers.means import summarize_clustered
from helpers.papers import get_constant

CUT = get_constant("worldreasoner", "binary_cut")
CLIP = get_constant("worldreasoner", "log_clip")
CLIP_WIDE = get_constant("worldreasoner", "log_clip_wide")

TYPES = {"number": "quantity", "percent": "quantity", "interval": "quantity", "date": "timeframe"}
"""Kind of event -> the paper's type; a single choice is binary or multiple choice by its
options."""
CATEGORICAL = ("binary", "multiple choice")
ROUNDED = 0.01
"""So far above 1 the rounded parts of a distribution may add up."""
METRICS = ("accuracy", "brier", "log", "log_wide", "brier_full")
LIMITS = {"log": (None, 0), "log_wide": (None, 0), "brier_full": (0, 2)}
"""The least and the most that a score can be, where that is not 0 and 1."""


def name_type(kind, options=None):
    """Return the paper's type of an event: binary, multiple choice, quantity or timeframe; None for
    other kinds.

    >>> name_type("single", {"A": "Yes", "B": "No"}), name_type("single", {"A": "x", "B": "y"}), name_type("date")
    ('binary', 'multiple choice', 'timeframe')
    """
    if kind == "single":
        return (
            CATEGORICAL[0] if options and set(options.values()) == {"Yes", "No"} else CATEGORICAL[1]
        )
    return TYPES.get(kind)


def score_forecast(kind, value, answer, *, probability=None, distribution=None, options=None):
    """Return the scores of one forecast: type, accuracy, brier, log, log_wide, brier_full,
    is_missing.

    `value` and `answer` are as in the kit's tables (of a single choice a letter of `options`),
    `probability` is P(value is right); with a `distribution` by option the choice is its largest,
    the first of several, and `brier_full` the sum over options. Blank where a score is not defined.
    Raises ValueError for a distribution that adds up to more than 1.
    """
    name = name_type(kind, options)
    row = (
        {"type": name, "is_missing": value is None}
        | dict.fromkeys(METRICS, math.nan)
        | {"accuracy": 0.0}
    )
    if value is None:
        return row
    if name not in CATEGORICAL:
        rule = {"interval": scores.score_interval, "date": scores.score_date}.get(
            kind, scores.score_quantity
        )
        return row | {"accuracy": rule(value, answer)}
    if distribution:
        if sum(distribution.values()) > 1 + ROUNDED:
            raise ValueError(
                f"a distribution adds up to {sum(distribution.values()):g}; it must be 1 or less"
            )
        row["brier_full"] = scores.score_brier(
            distribution, answer, sorted(options or distribution)
        )
        value = max(sorted(distribution), key=distribution.get)
        probability = distribution[value]
    if probability is None:
        return row | {"accuracy": float(value == answer)}
    if name == "binary":  # the score is the one that P(Yes) makes, whichever was said
        yes, no = sorted(options, key=options.get, reverse=True)
        p_yes = probability if value == yes else 1 - probability
        value, probability = (yes, p_yes) if p_yes >= CUT else (no, 1 - p_yes)
    right = value == answer
    happened = probability if right else 1 - probability
    for metric, clip in (("log", CLIP), ("log_wide", CLIP_WIDE)):
        row[metric] = math.log(min(max(happened, clip), 1 - clip))
    return row | {"accuracy": float(right), "brier": (probability - float(right)) ** 2}


def score_table(predictions, answers, events):
    """Return the scores of predictions, a row each: run_id, event_id, sample, agent_id, and those
    of `score_forecast`.

    Events without an answer, or of a kind that has no type, are left out.
    """
    known = events[["event_id", "kind", "options"]].merge(
        answers[["event_id", "value"]], on="event_id"
    )
    known = known.rename(columns={"value": "answer"})
    joined = predictions.merge(known[known["answer"].notna()], on="event_id")
    rows = []
    for row in joined.to_dict("records"):
        options = parse_json(row["options"])
        if name_type(row["kind"], options):
            names = ("value", "answer", "probability", "distribution")
            cells = {name: scores.open_cell(row.get(name)) for name in names}
            key = {name: row[name] for name in ("run_id", "event_id", "sample", "agent_id")}
            rows.append(key | score_forecast(row["kind"], options=options, **cells))
    return pd.DataFrame(rows)


def take_clusters(table):
    """Return each question's cluster by event_id: the table's column `cluster`, None where it has
    none."""
    return (
        table.drop_duplicates("event_id").set_index("event_id")["cluster"]
        if "cluster" in table
        else None
    )


def summarize_outcomes(table, by="agent_id", metrics=METRICS):
    """Return means of scored forecasts by group and metric, with 95% intervals: a row a group and
    metric.

    Columns: those of `by` (a name or several), metric, mean, low, high, n, n_clusters. Repeats of
    an event are averaged first. Intervals are by the table's `cluster` and end where a score can be
    no further (`LIMITS`); below ten clusters there is none. Metrics that nobody has are left out.
    """
    by = [by] if isinstance(by, str) else list(by)
    parts = []
    columns = [*by, "metric", "mean", "low", "high", "n", "n_clusters"]
    for metric in [name for name in metrics if name in table and table[name].notna().any()]:
        wide = table.astype({metric: float}).pivot_table(
            metric, "event_id", by, aggfunc="mean", sort=False
        )
        found = summarize_clustered(wide, take_clusters(table), ends=LIMITS.get(metric, (0, 1)))
        parts.append(found.rename_axis(by).reset_index().assign(metric=metric))
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def split_correct(table, columns=("recall", "srcp_cited")):
    """Return means of right and of wrong forecasts, pooled over pairs (Tables 4, 10), a row a
    metric of `columns`.

    Columns metric, right, wrong, gap, low, high, all, n, n_clusters, share (right). `table` has
    accuracy (0 or 1) and cluster beside `columns`. The gap's interval is by cluster, blank where
    right or wrong ones have fewer than ten.

    >>> table = pd.DataFrame({"accuracy": [1, 1, 0], "recall": [0.2, 0.4, 0.0], "cluster": list("abc")})
    >>> split_correct(table, ["recall"])[["right", "wrong", "gap", "all"]].round(4).iloc[0].tolist()
    [0.3, 0.0, 0.3, 0.2]
    """
    rows = []
    for name in columns:
        known = table[table[name].notna()].reset_index(drop=True)
        right = known["accuracy"] == 1
        strata = [(1, known.index[right]), (-1, known.index[~right])]
        found = summarize_clustered(known[[name]], known["cluster"], strata).iloc[0]
        row = {
            "metric": name,
            "right": known[name][right].mean(),
            "wrong": known[name][~right].mean(),
            "gap": found["mean"],
            "all": known[name].mean(),
            "n": len(known),
            "share": right.mean(),
        }
        rows.append(row | found[["low", "high", "n_clusters"]].to_dict())
    columns = "metric right wrong gap low high all n n_clusters share"
    return pd.DataFrame(rows, columns=columns.split())


def mix_correct(share, right, wrong):
    """Return the mean of all from those of right and of wrong forecasts and the share right.

    >>> round(mix_correct(0.644, 10.8, 8.0), 1)  # the published recall overall is 9.8
    9.8
    """
    return share * right + (1 - share) * wrong
