"""What missing predictions do to an average score (FutureX 3.4.2, Figures 7 and 16, appendix D).

At random: the standard deviation of the average over the predictions that are left, by simulation.
Not at random: an agent that refuses events by a rule (their level, how hard they are to others, how
wrong it would be) and three ways to treat the gaps. There the gaps are made up: a mask is laid over
predictions that were made, so the average without gaps is known.
"""

import itertools

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from helpers.means import divide, draw_counts
from helpers.papers import get_constant
from helpers.scores import build_matrix, select_headline

RULES = ("at random", "level", "difficulty", "own error")
"""What the chance of a refusal is proportional to: nothing, the event's level, 1 - the other
agents' mean score, or 1 - the agent's own score. Only the last depends on what is missing
itself."""

TREATMENTS = ("drop", "zero", "model")

N_DRAWN = get_constant("futurex", "missing_sample_events")
N_TRIALS = get_constant("futurex", "missing_trials")
"""Events that a trial of the simulation draws, and trials (FutureX 3.4.2)."""
LEAST = 25
"""Scored events with which an agent is drawn."""
CHUNK = 500
"""Trials drawn at once."""

PERCENTS = range(
    get_constant("futurex", "missing_percent_low"),
    get_constant("futurex", "missing_percent_high") + 1,
)
"""Percent of predictions missing (FutureX 3.4.2, Figures 7 and 16)."""


def align_scores(scores, events):
    """Return headline scores as a matrix (events x agents, NaN where missing) and the events'
    level, kind, domain.

    The level of a set that has none is 0.
    """
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique())).dropna(how="all")
    facts = (
        events.set_index("event_id").reindex(columns=["level", "kind", "domain"]).loc[matrix.index]
    )
    return matrix, facts.fillna({"level": 0}).astype({"level": int})


def derive_growth(n_drawn, n_kept, n_pool):
    """Return (Std(S^) - Std(S)) / Std(S) in closed form (FutureX appendix D), of draws without
    putting back.

    >>> round(derive_growth(500, 400, 1272), 3)
    0.188
    """
    return float(np.sqrt((1 / n_kept - 1 / n_pool) / (1 / n_drawn - 1 / n_pool)) - 1)


def average_trials(values, rng, sizes, n_trials):
    """Return averages of the first `sizes` (descending) draws of each trial: columns of `values` x
    trials x sizes."""
    places = np.arange(len(values), dtype=np.int32)
    parts = []
    for start in range(0, n_trials, CHUNK):
        draws = rng.permuted(np.tile(places, (min(CHUNK, n_trials - start), 1)), axis=1)[
            :, : sizes[0]
        ]
        parts.append(values.T[:, draws].cumsum(axis=-1)[..., sizes - 1] / sizes)
    return np.concatenate(parts, axis=1)


def simulate_std(matrix, rng, percents=PERCENTS, n_trials=N_TRIALS):
    """Return by agent and percent missing the standard deviation of the average score over trials
    (FutureX 3.4.2).

    A trial draws N_DRAWN of an agent's scored predictions, of fewer as many as there are, none
    twice, and keeps the share that is not missing. Columns: agent_id, percent, n_pool, n_kept, std,
    growth (relative to 0 percent). Where all of a pool are drawn nothing varies at 0 percent, so
    growth is blank.
    """
    percents = np.array([0, *percents])
    sizes_of = matrix.count()
    parts = []
    for n_pool, agents in sizes_of.groupby(sizes_of):
        values = np.column_stack([matrix[agent].dropna() for agent in agents.index]).astype(float)
        sizes = np.rint(min(N_DRAWN, n_pool) * (1 - percents / 100)).astype(int)
        spread = average_trials(values, rng, sizes, n_trials).std(axis=1, ddof=1)
        for agent, std in zip(agents.index, spread, strict=True):
            growth = std / std[0] - 1 if n_pool > N_DRAWN else np.nan
            told = {"agent_id": agent, "percent": percents, "n_pool": n_pool, "n_kept": sizes}
            parts.append(pd.DataFrame(told | {"std": std, "growth": growth}))
    return pd.concat(parts, ignore_index=True).sort_values(
        ["agent_id", "percent"], ignore_index=True
    )


def weigh_refusals(hardness, share):
    """Return each event's chance of a refusal: proportional to its hardness, at most 1, `share` on
    average.

    Raises ValueError when too few events have a hardness above 0 to refuse that share.
    """
    hardness = np.asarray(hardness, dtype=float)
    if not 0 <= share <= np.mean(hardness > 0):
        raise ValueError(
            f"a share of {share} cannot be refused: {np.mean(hardness > 0):.3f} of events can be"
        )
    most = 2 / hardness[hardness > 0].min()
    scale = brentq(lambda scale: np.minimum(scale * hardness, 1).mean() - share, 0, most)
    return np.minimum(scale * hardness, 1)


def treat_refusals(own, counts, is_kept, design, groups):
    """Return the average score of each group (columns of `groups`, 0 or 1) under each of
    `TREATMENTS`.

    `counts` says how often an event counts; `design` has the predictors from which `model` fills a
    missing score, by least squares, clipped to [0, 1]. NaN for a group of which nothing is kept
    under `drop`, an empty one always.
    """
    kept = counts * is_kept
    asked = counts @ groups
    sums = (kept * own) @ groups
    n_kept = kept @ groups
    weighted = design * kept[:, None]
    effects = np.linalg.lstsq(weighted.T @ design, weighted.T @ np.nan_to_num(own), rcond=1e-10)[0]
    filled = np.clip(design @ effects, 0.0, 1.0)
    model = sums + (counts * ~is_kept * filled) @ groups
    return np.stack([divide(sums, n_kept), divide(sums, asked), divide(model, asked)])


def simulate_refusals(matrix, known, rng, share, n_draws, clusters):
    """Return what refusals do to an agent's average score and rank: a row a rule, treatment and
    level ("all" too).

    In each draw whole `clusters` of events are resampled, the same for every agent; one agent
    refuses `share` of its predictions by the rule, the others none. The model knows the event's
    level by kind, its domain and the others' mean score. Columns: rule, treatment, level, bias
    (mean error over agents and draws) with low and high (95% over draws), places (ranks gained
    among all agents).
    """
    names = [*sorted(known["level"].unique()), "all"]
    groups = np.column_stack(
        [known["level"] == name for name in names[:-1]] + [np.ones(len(known))]
    ).astype(float)
    codes = pd.factorize(clusters)[0]
    counts = draw_counts(codes.max() + 1, rng, n_draws)[:, codes].astype(float)
    there = matrix.notna().to_numpy()
    sums, n = (  # by draw, group and agent
        np.einsum("de,eg,ea->dga", counts, groups, part.astype(float), optimize=True)
        for part in (np.nan_to_num(matrix.to_numpy()) * there, there)
    )
    truth = divide(sums, n)
    cells = [known["level"].astype(str) + " " + known["kind"], known["domain"]]
    dummies = np.column_stack([pd.get_dummies(cell, dtype=float) for cell in cells])
    errors = np.full((len(RULES), len(TREATMENTS), len(names), matrix.shape[1], n_draws), np.nan)
    places = np.full_like(errors, np.nan)
    for at, agent in enumerate(matrix.columns):
        is_there = there[:, at]
        mean = matrix.drop(columns=agent).mean(axis=1)
        others = mean.fillna(mean.mean()).to_numpy()  # their mean where no other agent predicted
        own = matrix[agent].to_numpy()[is_there]
        design = np.column_stack([dummies, others])[is_there]
        level = known["level"].to_numpy()[is_there]
        rivals = np.delete(truth, at, axis=2)
        hardness = [np.ones(len(own)), level, 1 - others[is_there], 1 - own]
        for r, hard in enumerate(hardness):
            is_kept = rng.random((n_draws, len(own))) >= weigh_refusals(hard, share)
            for d in range(n_draws):
                treated = treat_refusals(
                    own, counts[d, is_there], is_kept[d], design, groups[is_there]
                )
                errors[r, :, :, at, d] = treated - truth[d, :, at]
                gained = (rivals[d] > truth[d, :, [at]].T).sum(axis=1) - (
                    rivals[d] > treated[..., None]
                ).sum(axis=2)
                places[r, :, :, at, d] = np.where(np.isfinite(treated), gained, np.nan)
    by_draw = np.nanmean(errors, axis=3)
    table = pd.DataFrame(
        itertools.product(RULES, TREATMENTS, map(str, names)),
        columns=["rule", "treatment", "level"],
    )
    ends = np.percentile(by_draw, [2.5, 97.5], axis=-1).reshape(2, -1)
    ranks = np.nanmean(np.nanmean(places, axis=3), axis=-1).ravel()
    return table.assign(bias=by_draw.mean(axis=-1).ravel(), low=ends[0], high=ends[1], places=ranks)
