"""Costs: growth as printed, and a frontier that is the Pareto set."""

import itertools

import numpy as np
import pandas as pd
import pytest

from helpers.proof_of_time import published


def test_growth_is_what_the_paper_prints_beside_the_tokens():
    growth = published.measure_growth(published.list_tokens()).set_index(["model", "step"])["growth"]
    printed = published.load_table("table9_tokens")
    for row in printed.itertuples():
        seen = [100 * (growth[row.model, step] - 1) for step in ("15 to 30", "30 to 50")]
        assert seen == pytest.approx([row.increase_15_to_30_pct, row.increase_30_to_50_pct], abs=0.006)


def test_the_frontier_is_the_set_of_rows_that_none_dominates():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 6, (30, 2)), columns=["cost", "gain"])
    on = published.find_frontier(table["cost"], table["gain"])
    worse = set()
    for (i, a), (_, b) in itertools.permutations(table.iterrows(), 2):
        if b["cost"] <= a["cost"] and b["gain"] >= a["gain"] and tuple(a) != tuple(b):
            worse.add(i)
    assert set(table.index[~on]) == worse and worse
