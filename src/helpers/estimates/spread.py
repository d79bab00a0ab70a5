"""How far agents differ, beyond the noise of their means: between agents, and between agents by group.

Means that differ by chance alone have a spread too; it is taken off, for the estimate and for its interval.
"""

import math

import numpy as np

from helpers.estimates.intervals import resample_means, take_interval
from helpers.outcomes.scores import build_matrix

MIN_EVENTS = 5
"""A group with fewer events is not interpreted."""


def take_spread(means, draws):
    """Return (seen, sd, low, high): the standard deviation between agents as seen, and less the noise of their means.

    `means` has a value an agent, `draws` is bootstrap draws x agents. Means that differ by chance alone have a spread
    too; its expected square (the draws' variance around their own centre) is taken off the seen square once, and off a
    draw's square twice, since a draw adds the noise again. Values below 0 are 0.

    >>> round(take_spread(np.array([0.2, 0.4]), np.array([[0.2, 0.4]] * 2))[1], 4)  # no noise: sd of 0.2 and 0.4
    0.1414
    """
    seen = means.std(ddof=1)
    sd, drawn = take_off_noise(means, draws)
    return float(seen), sd, *take_interval(drawn)


def take_off_noise(means, draws):
    """Return the standard deviation between agents less the noise of their means, for the means and for each draw."""
    noise = (draws - draws.mean(axis=1, keepdims=True)).var(axis=0).sum() / (len(means) - 1)
    drawn = np.sqrt(np.maximum(draws.var(axis=1, ddof=1) - 2 * noise, 0.0))
    return math.sqrt(max(float(means.var(ddof=1)) - noise, 0.0)), drawn


def measure_interaction(rows, rng, by="domain", n_boot=2000):
    """Return (sd, low, high, n_events, n_domains): how far agents' means by domain lie off agent plus domain.

    Less the noise of the means, as in `take_spread`; 0 means that the agents differ equally in all domains. Domains
    with fewer than `MIN_EVENTS` events that all agents predicted are left out; blank with fewer than two agents or
    domains.
    """
    agents = sorted(rows["agent_id"].unique())
    matrices = [build_matrix(part, agents).dropna() for _, part in rows.groupby(by)]
    matrices = [matrix for matrix in matrices if len(matrix) >= MIN_EVENTS]
    if len(agents) < 2 or len(matrices) < 2:
        return math.nan, math.nan, math.nan, sum(map(len, matrices)), len(matrices)
    means = np.stack([matrix.mean().to_numpy() for matrix in matrices])
    draws = np.stack([resample_means(matrix, rng, n_boot) for matrix in matrices], axis=1)
    free = (len(matrices) - 1) * (len(agents) - 1)
    seen, drawn = ((_centre(values) ** 2).sum(axis=(-2, -1)) / free for values in (means, draws))
    noise = _centre(draws).var(axis=0).sum() / free
    low, high = take_interval(np.sqrt(np.maximum(drawn - 2 * noise, 0)))
    return math.sqrt(max(seen - noise, 0)), low, high, sum(map(len, matrices)), len(matrices)


def _centre(values):
    """Values less the mean of their domain (row) and of their agent (column)."""
    off_row = values - values.mean(axis=-1, keepdims=True)
    return off_row - off_row.mean(axis=-2, keepdims=True)
