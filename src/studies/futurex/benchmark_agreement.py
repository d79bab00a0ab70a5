"""Whether benchmarks agree on who is better: pairs of models that two benchmarks both rank, and
what sampling explains.

A `Standing` is one benchmark (or one arm of it: with search, without): scores by question and
model, of which whole clusters of questions are drawn anew, or printed scores with their errors, of
which normal values are drawn. Higher is better in all. Two sides of a comparison are drawn
independently.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.means import divide, draw_counts

N_DRAWS = 2000
SEED = 20261128
LEAST = 3
"""Models that two benchmarks must share to be compared."""
SURE = 0.975
"""Share of draws on one side from which an order counts as sure."""


class Standing(NamedTuple):
    """One benchmark's scores: its name, its search, means by model, draws (N_DRAWS x models)."""

    name: str
    search: str
    means: pd.Series
    draws: pd.DataFrame


def stand_by_questions(
    name: str, search: str, scores: pd.DataFrame, clusters: pd.Series, seed: int = SEED
) -> Standing:
    """Return the Standing of scores by question (rows) and model (columns), blanks left out;
    clusters by question."""
    by_cluster = scores.groupby(clusters.reindex(scores.index).to_numpy(), sort=False)
    weights = draw_counts(by_cluster.ngroups, np.random.default_rng(seed), N_DRAWS).astype(float)
    draws = divide(weights @ by_cluster.sum(), weights @ by_cluster.count())
    return Standing(name, search, scores.mean(), pd.DataFrame(draws, columns=scores.columns))


def stand_by_board(
    name: str, search: str, means: pd.Series, errors: pd.Series, seed: int = SEED
) -> Standing:
    """Return the Standing of printed scores by model with their standard errors."""
    draws = np.random.default_rng(seed).normal(
        means, errors.reindex(means.index), (N_DRAWS, len(means))
    )
    return Standing(name, search, means, pd.DataFrame(draws, columns=means.index))


def join_names(standing: Standing, names: dict[str, str]) -> Standing:
    """Return a Standing whose models that share a name (their family) count as one, by their
    mean."""
    means = standing.means.groupby(names).mean()
    return standing._replace(means=means, draws=standing.draws.T.groupby(names).mean().T)


def list_orders(standing: Standing, models: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return which of each pair of models is ahead, -1 to 1: of the means (pairs), of the draws
    (N_DRAWS x pairs)."""
    first, second = np.triu_indices(len(models), 1)
    means = standing.means[models].to_numpy()
    draws = standing.draws[models].to_numpy()
    return np.sign(means[first] - means[second]), np.sign(draws[:, first] - draws[:, second])


def compare_standings(first: Standing, second: Standing) -> tuple[dict, np.ndarray] | None:
    """Return how two benchmarks agree on the models both have, and the agreement by draw; None with
    fewer than LEAST.

    n_models, n_pairs; agreement (share of pairs of models in the same order, a tie counts a half)
    with low and high (95% of draws of both); ceiling (the agreement to be expected of draws of both
    if their true order were one: 1 less what sampling explains); n_opposite, and n_opposite_sure
    (pairs in opposite orders, each sure).
    """
    models = [model for model in first.means.index if model in set(second.means.index)]
    if len(models) < LEAST:
        return None
    (a, drawn_a), (b, drawn_b) = (list_orders(side, models) for side in (first, second))
    alike = (1 + a * b) / 2
    drawn = ((1 + drawn_a * drawn_b) / 2).mean(axis=1)
    keeps_a = (drawn_a == a).mean(axis=0)
    keeps_b = (drawn_b == b).mean(axis=0)
    is_sure = (keeps_a >= SURE) & (keeps_b >= SURE)
    low, high = np.percentile(drawn, (2.5, 97.5))
    found = {
        "n_models": len(models),
        "n_pairs": len(a),
        "agreement": alike.mean(),
        "low": low,
        "high": high,
    }
    found["ceiling"] = (keeps_a * keeps_b + (1 - keeps_a) * (1 - keeps_b)).mean()
    found |= {
        "n_opposite": int((alike == 0).sum()),
        "n_opposite_sure": int((is_sure & (alike == 0)).sum()),
    }
    return found, drawn


def name_search(first: str, second: str) -> str:
    """Return how two arms compare in their search: both search, neither, or one of them."""
    if first == second:
        return "neither searches" if first == "none" else "both search"
    return "one searches"


def compare_all(standings: list[Standing]) -> tuple[pd.DataFrame, np.ndarray]:
    """Return `compare_standings` of every two benchmarks that share models: first, second, search,
    and its columns.

    Beside the table the agreement by comparison and draw. Two arms of one benchmark ("BLF, search"
    and "BLF, no search") share its questions and are no comparison.
    """
    rows = []
    drawn = []
    for first, second in combinations(standings, 2):
        compared = compare_standings(first, second)
        if compared and first.name.partition(",")[0] != second.name.partition(",")[0]:
            about = {
                "first": first.name,
                "second": second.name,
                "search": name_search(first.search, second.search),
            }
            rows.append(about | compared[0])
            drawn.append(compared[1])
    return pd.DataFrame(rows), np.array(drawn)


def pool_agreement(table: pd.DataFrame, drawn: np.ndarray) -> pd.DataFrame:
    """Return the agreement over all pairs of models of some comparisons (`compare_all`): a row a
    search and "all".

    Each pair of models of each comparison counts once. Columns: search, n_comparisons, n_pairs,
    agreement, low, high (95% of draws), ceiling, by_sampling (share of the disagreement that
    sampling explains, at most 1), n_opposite, n_opposite_sure.
    """
    rows = []
    for search, part in [("all", table), *table.groupby("search")]:
        row = {"search": search, "n_comparisons": len(part), "n_pairs": part["n_pairs"].sum()}
        agreement, ceiling = np.average(
            part[["agreement", "ceiling"]], axis=0, weights=part["n_pairs"]
        )
        low, high = np.percentile(
            np.average(drawn[part.index], axis=0, weights=part["n_pairs"]), (2.5, 97.5)
        )
        by_sampling = min(1.0, (1 - ceiling) / (1 - agreement)) if agreement < 1 else np.nan
        row |= {
            "agreement": agreement,
            "low": low,
            "high": high,
            "ceiling": ceiling,
            "by_sampling": by_sampling,
        }
        rows.append(row | part[["n_opposite", "n_opposite_sure"]].sum().to_dict())
    return pd.DataFrame(rows)
