"""Costs: growth as printed, and a frontier that is the Pareto set."""

import itertools

import numpy as np
import pandas as pd

from helpers.proof_of_time import published


def test_the_frontier_is_the_set_of_rows_that_none_dominates():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 6, (30, 2)), columns=["cost", "gain"])
    on = published.find_frontier(table["cost"], table["gain"])
    worse = set()
    for (i, a), (_, b) in itertools.permutations(table.iterrows(), 2):
        if b["cost"] <= a["cost"] and b["gain"] >= a["gain"] and tuple(a) != tuple(b):
            worse.add(i)
    assert set(table.index[~on]) == worse and worse
