"""Interactions of agent and group are found where planted, and nowhere else."""

import numpy as np
import pandas as pd

from helpers.estimates.spread import measure_interaction


def make_rows(chances, n=200):
    """Scores 0 or 1 of agents by domain, from {domain: {agent: chance}}, each drawn by a seed of its own."""
    rows = []
    for domain, agents in chances.items():
        for agent, (chance, seed) in agents.items():
            hits = (np.random.default_rng(seed).random(n) < chance).astype(float)
            rows += [(f"{domain}-{at:03d}", domain, agent, hit) for at, hit in enumerate(hits)]
    return pd.DataFrame(rows, columns=["event_id", "domain", "agent_id", "score"])


def test_interaction_is_found_where_planted_only():
    domains = ["Crypto", "Sports", "Space"]
    plain = {domain: {"a": (0.8, seed), "b": (0.4, seed + 50)} for seed, domain in enumerate(domains)}
    crossed = plain | {"Crypto": {"a": (0.2, 7), "b": (0.9, 8)}}
    without, planted = (measure_interaction(make_rows(one), np.random.default_rng(4)) for one in (plain, crossed))
    assert without[1] == 0 and planted[1] > 0.1 and planted[3:] == (600, 3)
