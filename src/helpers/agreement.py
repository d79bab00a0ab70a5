"""How two sides agree: labels, flags and scores, by kappa, rank correlation and difference, each
with an interval.

Intervals: Wilson's for shares (few cases, shares near 0 and 1), a bootstrap over cases, or over
what cases share (`clusters`), for the rest; all 95%.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from helpers.means import (
    MIN_CLUSTERS,
    divide,
    draw_counts,
    draw_rows,
    measure_share,
    percentile_interval,
)
from helpers.paired import judge_interval

RULES = {"any": any, "majority": lambda flags: sum(flags) * 2 > len(flags), "all": all}
"""How several judges can combine; the paper does not say."""

MIN_KAPPA = 0.4
"""Agreement with the truth beyond chance from which a judge may be used; below lies what is called
slight or fair."""

MIN_CASES, MIN_RARER, MIN_DRAWN = 30, 5, 10
"""Cases that a verdict on a judge needs, of the rarer label, and those that an interval of kappa
needs."""

READINGS = ("as asked", "criteria in reverse order", "once more")
"""How a judge that is a model must have been asked; a rule says the same each time."""


def judge_fit(readings: Sequence[Mapping], *, is_fresh: bool, is_rule: bool = False) -> str:
    """Say whether a judge may be used in a study: fit, unfit or inconclusive. The one definition of
    it.

    `readings` holds, for each of `READINGS` that was made (a rule: its only one), n, n_rarer (cases
    of the rarer label), kappa_low and kappa_high with the study's own labels. Fit: all are there,
    with enough cases and kappa's 95% interval above MIN_KAPPA, and the labels are by a reader who
    wrote neither rules nor prompts (`is_fresh`). Unfit: one interval lies below, whoever labelled.
    """
    known = [row for row in readings if row["n"] >= MIN_CASES and row["n_rarer"] >= MIN_RARER]
    sides = [judge_interval(row["kappa_low"], row["kappa_high"], MIN_KAPPA) for row in known]
    if "fails" in sides:
        return "unfit"
    is_all = is_fresh and sides.count("holds") == len(readings) >= (1 if is_rule else len(READINGS))
    return "fit" if is_all else "inconclusive"


def compute_kappa(tables: ArrayLike) -> np.ndarray:
    """Return Cohen's kappa of tables (... x k x k: first side, second side) of counts; NaN where
    all is one label."""
    tables = np.asarray(tables)
    total = tables.sum(axis=(-2, -1))
    first, second = (tables.sum(axis=axis) / total[..., None] for axis in (-1, -2))
    chance = (first * second).sum(axis=-1)
    agreed = np.trace(tables, axis1=-2, axis2=-1) / total
    return divide(agreed - chance, np.where(chance < 1 - 1e-12, 1 - chance, 0))


def measure_kappa(
    first: Sequence | np.ndarray,
    second: Sequence | np.ndarray,
    n_labels: int,
    rng: np.random.Generator,
    n_boot: int = 2000,
    clusters: Sequence | None = None,
) -> tuple[float, float, float]:
    """Return Cohen's kappa of two columns of codes (0 to `n_labels` - 1) as (kappa, low, high),
    cases drawn anew.

    `clusters` (one a case) are drawn whole; of fewer than MIN_CLUSTERS there is no interval. Of no
    case all are NaN.
    """
    if not len(first):
        return math.nan, math.nan, math.nan
    cells = np.eye(n_labels**2)[
        np.asarray(first, dtype=int) * n_labels + np.asarray(second, dtype=int)
    ]
    if clusters is not None:
        cells = pd.DataFrame(cells).groupby(np.asarray(clusters), sort=False).sum().to_numpy()
    is_enough = clusters is None or len(cells) >= MIN_CLUSTERS
    counts = np.vstack(
        [cells.sum(axis=0), draw_counts(len(cells), rng, n_boot if is_enough else 0) @ cells]
    )
    kappa, *draws = compute_kappa(counts.reshape(-1, n_labels, n_labels))
    return float(kappa), *percentile_interval(np.array(draws))


def measure_judge(
    flags: Iterable, truth: Iterable, rng: np.random.Generator, n_boot: int, **about: bool
) -> dict:
    """Return how a judge's flags agree with the truth: n, n_true, n_flagged, precision, recall,
    kappa with intervals.

    The verdict is this one reading's (`judge_fit`, which takes `about`). Cases without a flag
    (None) are left out. NaN are a share of nothing, and kappa's interval where all or none are
    flagged: it is 0 then in every draw.
    """
    pairs = [
        (bool(flag), bool(true))
        for flag, true in zip(flags, truth, strict=True)
        if flag is not None
    ]
    row: dict[str, Any] = {
        "n": len(pairs),
        "n_true": sum(t for _, t in pairs),
        "n_flagged": sum(f for f, _ in pairs),
    }
    for name, flagged in (
        ("precision", [t for f, t in pairs if f]),
        ("recall", [f for f, t in pairs if t]),
    ):
        share = measure_share(flagged)
        row |= {name: share["share"], f"{name}_low": share["low"], f"{name}_high": share["high"]}
    said, right = np.array(pairs).reshape(-1, 2).T
    kappa, low, high = measure_kappa(
        said, right, 2, rng, n_boot * (0 < row["n_flagged"] < row["n"])
    )
    row |= {"kappa": kappa, "kappa_low": low, "kappa_high": high}
    reading = row | {"n_rarer": min(row["n_true"], row["n"] - row["n_true"])}
    return row | {"verdict": judge_fit([reading], **{"is_fresh": False} | about)}


def compare_judges(
    views: pd.DataFrame, truth: Iterable, seed: int, n_boot: int, rules: Iterable[str] = ()
) -> pd.DataFrame:
    """Return `measure_judge` of each column of views against the truth, a row a judge; one never
    asked has n 0.

    `rules` names the columns that are rules; who labelled wrote rules or prompts.
    """
    rows = []
    for judge in views:
        flags = views[judge].tolist()
        row = {"judge": judge, "n": 0, "verdict": "not asked", "n_true": 0}
        if any(flag is not None for flag in flags):
            row |= measure_judge(
                flags, truth, np.random.default_rng(seed), n_boot, is_rule=judge in rules
            )
        rows.append(row)
    return pd.DataFrame(rows)


def compare_labels(
    read: Iterable,
    made: Iterable,
    labels: Iterable,
    rng: np.random.Generator,
    n_boot: int = 2000,
    clusters: Sequence | None = None,
    **about: bool,
) -> dict:
    """Return how labels agree with a reader's: n, accuracy, majority (share of the commonest),
    kappa, low, high.

    Traces or their `clusters` are drawn anew; no interval below MIN_DRAWN; kappa is NaN where all
    are given one label. The verdict is that of this one reading (`judge_fit`, with `about`).
    """
    row: dict[str, Any] = dict.fromkeys(
        "n accuracy majority kappa low high verdict".split(), np.nan
    )
    labels = list(labels)
    first, second = (
        pd.Categorical(list(column), categories=labels).codes for column in (read, made)
    )
    if not len(first):
        return row | {"n": 0, "verdict": "inconclusive"}
    kappa, low, high = measure_kappa(first, second, len(labels), rng, n_boot, clusters)
    low, high = (low, high) if len(first) >= MIN_DRAWN else (np.nan, np.nan)
    n = len(first)
    n_commonest = int(np.bincount(first).max())
    reading = {"n": n, "n_rarer": n - n_commonest, "kappa_low": low, "kappa_high": high}
    row |= {"n": n, "accuracy": (first == second).mean(), "majority": n_commonest / n}
    row["verdict"] = judge_fit([reading], **{"is_fresh": False} | about)
    return row if len(set(second)) == 1 else row | {"kappa": kappa, "low": low, "high": high}


def tabulate_confusion(read: Iterable, made: Iterable, labels: Iterable) -> pd.DataFrame:
    """Return how often each label of the reader (rows) was given which label (columns)."""
    axes = (pd.Categorical(list(column), categories=list(labels)) for column in (read, made))
    return pd.crosstab(*axes, rownames=["the reader's"], colnames=["given"], dropna=False)


def weigh_agreement(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the quadratic weighted kappa of arrays of scores (along the last axis), NaN where both
    are one constant.

    1 minus the mean squared difference over that of all pairs drawn apart (Cohen 1968).
    """
    apart = (
        first.var(axis=-1) + second.var(axis=-1) + (first.mean(axis=-1) - second.mean(axis=-1)) ** 2
    )
    return 1 - divide(((first - second) ** 2).mean(axis=-1), apart)


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Spearman's rank correlation (along the last axis), NaN where one side is constant."""
    return correlate(*(stats.rankdata(scores, axis=-1) for scores in (first, second)))


def correlate(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the correlation of two arrays along the last axis, NaN where one of them does not
    vary."""
    first, second = (array - array.mean(axis=-1, keepdims=True) for array in (first, second))
    size = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    return divide((first * second).sum(axis=-1), np.where(size > 1e-12, size, 0))


def compare_scores(
    first: pd.DataFrame,
    second: pd.DataFrame,
    rng: np.random.Generator,
    n_boot: int,
    clusters: pd.Series | None = None,
) -> pd.DataFrame:
    """Return, by criterion, how two tables plan x criterion agree on the plans of both, with 95%
    bootstrap intervals.

    Columns rubric, n, n_rarer (plans without the commonest score of the second), kappa (quadratic
    weights) and spearman with _low and _high. `clusters` maps a plan to what is drawn whole.
    """
    rows = []
    for rubric in first.columns:
        both = (
            pd.concat([first[rubric], second[rubric]], axis=1, join="inner").dropna().astype(float)
        )
        left, right = both.to_numpy().T
        draws = draw_rows(
            len(both), rng, n_boot, None if clusters is None else clusters[both.index]
        )
        n_commonest = both.iloc[:, 1].value_counts().max() if len(both) else 0
        row = {"rubric": rubric, "n": len(both), "n_rarer": len(both) - n_commonest}
        for name, measure in {"kappa": weigh_agreement, "spearman": correlate_ranks}.items():
            row[name] = float(measure(left, right)) if len(both) else np.nan
            drawn = [measure(left[rows], right[rows]) for rows in draws]
            row[f"{name}_low"], row[f"{name}_high"] = percentile_interval(
                np.concatenate([[np.nan], *drawn])
            )
        rows.append(row)
    return pd.DataFrame(rows)


def combine_views(views: pd.DataFrame, rules: Mapping) -> pd.DataFrame:
    """Return views (a row a case, a column a judge; True, False or None) with a column for each
    combination.

    `rules` maps a name to (judges, rule), rule one of any, majority, all. A case that one of the
    judges lacks has None.
    """
    made = {
        name: [
            None if None in flags else RULES[rule](flags)
            for flags in views[list(judges)].to_numpy().tolist()
        ]
        for name, (judges, rule) in rules.items()
    }
    return views.join(pd.DataFrame(made, views.index, dtype=object))
