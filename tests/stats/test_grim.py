"""Whole counts behind percentages: planted sizes are found, and what no whole count gives is
named."""

import numpy as np
import pandas as pd
import pytest

from studies.audit.grim import choose_sizes, count_cells, list_falls


def make_table(sizes, n_rows, rng, cut=False):
    """Synthetic: percentages of random whole counts of each size, rounded or cut off to two
    decimals."""
    columns = {}
    for name, size in sizes.items():
        percents = 100 * rng.integers(1, size + 1, n_rows) / size
        columns[name] = np.floor(100 * percents + 1e-9) / 100 if cut else percents.round(2)
    return pd.DataFrame(columns | {"subject": [f"s{i}" for i in range(n_rows)]})


@pytest.mark.parametrize("cut", [False, True])
def test_planted_sizes_are_found_and_every_cell_is_given(cut):
    rng = np.random.default_rng(1)
    sizes = {"a": 61, "b": 97, "c": 119}
    table = make_table(sizes, 30, rng, cut)
    chosen = choose_sizes(table, sizes, 130).set_index("column")
    assert chosen["size"].to_dict() == sizes and chosen["is_whole"].all()
    assert count_cells(table, sizes)["is_given"].all()


@pytest.mark.parametrize("is_rounded_first", [False, True])
def test_the_counts_behind_a_planted_fall_are_among_those_it_leaves_open(is_rounded_first):
    rng = np.random.default_rng(4)
    for right in rng.integers(20, 100, 20):
        kept = rng.integers(max(0, right - 52), min(68, right) + 1)
        percents = 100 * right / 120, 100 * kept / 68
        fall = (
            round(percents[0], 1) - round(percents[1], 1)
            if is_rounded_first
            else percents[0] - percents[1]
        )
        found = list_falls(round(fall, 1), 120, 68)
        own = found[(found["right"] == right) & (found["right_kept"] == kept)]
        assert len(own) == 1 and own["right_left_out"].iloc[0] == right - kept
        assert abs(found["gap"] - own["gap"].iloc[0]).max() < 0.4, "all have nearly the same gap"
    with pytest.raises(ValueError, match="no whole counts"):
        list_falls(60.0, 120, 68)
