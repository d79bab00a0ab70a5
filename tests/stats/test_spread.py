"""Interactions of agent and group are found where planted, and nowhere else."""

import numpy as np
import pandas as pd

from helpers.stats.spread import measure_interaction


def make_rows(chances, n=200):
    """Scores 0 or 1 of agents by domain, from {domain: {agent: chance}}, each drawn by a seed of its own."""
    rows = []
    for domain, agents in chances.items():
        for agent, (chance, seed) in agents.items():
            hits = (np.random.default_rng(seed).random(n) < chance).astype(float)
            rows += [(f"{domain}-{at:03d}", domain, agent, hit, f"{domain}{at % 8}") for at, hit in enumerate(hits)]
    return pd.DataFrame(rows, columns=["event_id", "domain", "agent_id", "score", "cluster"])


def test_interaction_is_found_where_planted_only():
    domains = ["Crypto", "Sports", "Space"]
    plain = {domain: {"a": (0.8, seed), "b": (0.4, seed + 50)} for seed, domain in enumerate(domains)}
    crossed = plain | {"Crypto": {"a": (0.2, 7), "b": (0.9, 8)}}
    without, planted = (measure_interaction(make_rows(one), np.random.default_rng(4)) for one in (plain, crossed))
    assert without["low"] == 0 and without["p"] > 0.05
    assert planted["low"] > 0.1 and planted["p"] < 0.01 and (planted["n"], planted["n_clusters"]) == (600, 24)


def plant(rng, sd, n_sources=32):
    """Scores of three agents on four events of each synthetic source; a source's luck differs by agent, and so does a
    domain's effect, of this root mean square."""
    effect = rng.normal(0, 1, (4, 3))
    effect -= effect.mean(axis=1, keepdims=True)
    effect -= effect.mean(axis=0)
    effect *= sd / np.sqrt((effect**2).mean())
    source = np.repeat(np.arange(n_sources), 4)
    luck, noise = rng.normal(0, 0.12, (n_sources, 3)), rng.normal(0, 0.2, (len(source), 3))
    values = pd.DataFrame(0.5 + effect[source % 4] + luck[source] + noise, columns=list("abc"))
    rows = values.rename_axis("event_id").reset_index().melt("event_id", var_name="agent_id", value_name="score")
    return rows.assign(cluster=rows["event_id"] // 4, domain=rows["event_id"] // 4 % 4)


def test_the_interval_of_an_interaction_covers_it_and_chance_is_seldom_taken_for_one():
    rng = np.random.default_rng(8)
    found = {sd: [measure_interaction(plant(rng, sd), rng, n_draws=150) for _ in range(50)] for sd in (0.0, 0.15)}
    for sd, rows in found.items():
        assert np.mean([row["low"] <= sd <= row["high"] for row in rows]) >= 0.88
        told = np.mean([row["p"] < 0.05 for row in rows])
        assert told <= 0.12 if sd == 0 else told >= 0.95
