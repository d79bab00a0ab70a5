"""Whether benchmarks agree on who is better: pairs of models that two benchmarks both rank, and what sampling explains.

A `Standing` is one benchmark (or one arm of it: with search, without): scores by question and model, of
which whole clusters of questions are drawn anew, or printed scores with their errors, of which normal
values are drawn. Higher is better in all. Two sides of a comparison are drawn independently.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

N_DRAWS = 2000
SEED = 20261128
LEAST = 3
"""Models that two benchmarks must share to be compared."""
SURE = 0.975
"""Share of draws on one side from which an order counts as sure."""


class Standing(NamedTuple):
    """One benchmark's scores: its name, its search, means by model, and draws (N_DRAWS x models)."""

    name: str
    search: str
    means: pd.Series
    draws: np.ndarray


def stand_by_questions(name: str, search: str, scores: pd.DataFrame, clusters: pd.Series, seed: int = SEED) -> Standing:
    """Return the Standing of scores by question (rows) and model (columns), blanks left out; clusters by question."""
    by_cluster = scores.astype(float).groupby(pd.factorize(clusters.reindex(scores.index))[0])
    sums = by_cluster.sum().to_numpy()
    counts = by_cluster.count().to_numpy(float)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), N_DRAWS).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ sums) / (weights @ counts)
    return Standing(name, search, scores.mean(), draws)


def stand_by_board(name: str, search: str, means: pd.Series, errors: pd.Series, seed: int = SEED) -> Standing:
    """Return the Standing of printed scores by model with their standard errors."""
    rng = np.random.default_rng(seed)
    draws = rng.normal(means.to_numpy(float), errors.reindex(means.index).to_numpy(float), (N_DRAWS, len(means)))
    return Standing(name, search, means, draws)


def join_names(standing: Standing, names: dict[str, str]) -> Standing:
    """Return a Standing whose models that share a name (their family) count as one, by their mean."""
    known = pd.Series([names[model] for model in standing.means.index], standing.means.index)
    labels = sorted(known.unique())
    members = [np.flatnonzero(known == label) for label in labels]
    means = pd.Series([standing.means.iloc[at].mean() for at in members], labels)
    draws = np.column_stack([standing.draws[:, at].mean(axis=1) for at in members])
    return standing._replace(means=means, draws=draws)


def list_orders(standing: Standing, models: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return which of each pair of models is ahead, -1 to 1: of the means (pairs), of the draws (N_DRAWS x pairs)."""
    places = standing.means.index.get_indexer(models)
    values = standing.means.to_numpy(float)[places]
    drawn = standing.draws[:, places]
    first, second = (list(side) for side in zip(*combinations(range(len(models)), 2), strict=True))
    return np.sign(values[first] - values[second]), np.sign(drawn[:, first] - drawn[:, second])


def compare_standings(first: Standing, second: Standing) -> dict | None:
    """Return how two benchmarks agree on the models both have; None with fewer than LEAST of them.

    n_models, models, n_pairs; agreement (share of pairs of models in the same order, a tie counts a
    half) with low and high (95% of draws of both), tau (Kendall's) with tau_low and tau_high; ceiling (the
    agreement to be expected of draws of both if their true order were one: 1 less what sampling
    explains); by_sampling (share of the disagreement that the ceiling leaves to sampling, at most
    1); n_opposite, and n_opposite_sure (pairs in opposite orders, each sure); n_alike_sure.
    """
    models = [model for model in first.means.index if model in set(second.means.index)]
    if len(models) < LEAST:
        return None
    (a, drawn_a), (b, drawn_b) = (list_orders(side, models) for side in (first, second))
    alike = (1 + a * b) / 2
    drawn = ((1 + drawn_a * drawn_b) / 2).mean(axis=1)
    keeps_a = (drawn_a == a).mean(axis=0)
    keeps_b = (drawn_b == b).mean(axis=0)
    ceiling = (keeps_a * keeps_b + (1 - keeps_a) * (1 - keeps_b)).mean()
    sure = (keeps_a >= SURE) & (keeps_b >= SURE)
    low, high = np.percentile(drawn, (2.5, 97.5))
    tau = kendalltau(first.means[models], second.means[models]).statistic
    found = {"n_models": len(models), "models": "; ".join(models), "n_pairs": len(a)}
    found |= {"agreement": alike.mean(), "low": low, "high": high}
    found |= {"tau": tau, "tau_low": 2 * low - 1, "tau_high": 2 * high - 1, "ceiling": ceiling}
    off = 1 - alike.mean()
    found |= {"by_sampling": min(1.0, (1 - ceiling) / off) if off > 0 else np.nan}
    found |= {"n_opposite": int((alike == 0).sum()), "n_opposite_sure": int((sure & (alike == 0)).sum())}
    return found | {"n_alike_sure": int((sure & (alike == 1)).sum())}


def name_search(first: str, second: str) -> str:
    """Return how two arms compare in their search: both search, neither, or one of them."""
    if first == second:
        return "neither searches" if first == "none" else "both search"
    return "one searches"


def compare_all(standings: list[Standing]) -> pd.DataFrame:
    """Return `compare_standings` of every two benchmarks that share models: first, second, search, and its columns.

    Two arms of one benchmark ("BLF, search" and "BLF, no search") share its questions and are no comparison.
    """
    made = []
    for first, second in combinations(standings, 2):
        if first.name.partition(",")[0] == second.name.partition(",")[0]:
            continue
        if found := compare_standings(first, second):
            about = {"first": first.name, "second": second.name, "search": name_search(first.search, second.search)}
            made.append(about | found)
    return pd.DataFrame(made)


def pool_agreement(table: pd.DataFrame, standings: list[Standing]) -> pd.DataFrame:
    """Return the agreement over all pairs of models of some comparisons, a row a kind of search and "all".

    Each pair of models of each comparison counts once. Columns: search, n_comparisons, n_pairs,
    agreement, low, high (95% of draws; benchmarks drawn once each), ceiling, by_sampling, n_opposite_sure.
    """
    by_name = {standing.name: standing for standing in standings}
    made = []
    for search, part in [("all", table), *table.groupby("search")]:
        drawn = np.zeros(N_DRAWS)
        for row in part.to_dict("records"):
            models = row["models"].split("; ")
            orders = [list_orders(by_name[row[side]], models)[1] for side in ("first", "second")]
            drawn += ((1 + orders[0] * orders[1]) / 2).sum(axis=1)
        n_pairs = part["n_pairs"].sum()
        agreement, ceiling = ((part[name] * part["n_pairs"]).sum() / n_pairs for name in ("agreement", "ceiling"))
        low, high = np.percentile(drawn / n_pairs, (2.5, 97.5))
        row = {"search": search, "n_comparisons": len(part), "n_pairs": n_pairs, "agreement": agreement}
        row |= {"low": low, "high": high, "ceiling": ceiling}
        row |= {"by_sampling": min(1.0, (1 - ceiling) / (1 - agreement)) if agreement < 1 else np.nan}
        made.append(row | {"n_opposite": part["n_opposite"].sum(), "n_opposite_sure": part["n_opposite_sure"].sum()})
    return pd.DataFrame(made)
