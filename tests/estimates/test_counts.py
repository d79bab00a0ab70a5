"""Whole counts behind percentages: planted sizes are found, and what no whole count gives is named."""

import numpy as np
import pandas as pd
import pytest

from helpers import papers
from helpers.estimates.counts import check_totals, choose_sizes, count_cells, find_counts, fit_sizes, list_sizes


def make_table(sizes, n_rows, rng, cut=False):
    """Synthetic: percentages of random whole counts of each size, rounded or cut off to two decimals."""
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
    chosen = choose_sizes(fit_sizes(table, list(sizes), 130)).set_index("column")
    assert chosen["size"].to_dict() == sizes and chosen["is_whole"].all()
    assert count_cells(table, sizes)["is_given"].all()


def test_a_cell_that_no_whole_count_gives_is_named_with_the_nearest():
    table = pd.DataFrame({"subject": ["x", "y"], "a": [31.18, 40.21]})
    cells = count_cells(table, {"a": 97})
    assert cells["is_given"].tolist() == [False, True] and cells["count"].tolist() == [30, 39]
    assert find_counts([14.82], 81)[1].tolist() == [False], "12 of 81 are 14.81"


def test_parts_leave_over_no_more_than_lies_in_none_of_them():
    table = pd.DataFrame({"subject": ["x", "y"], "all": [50.0, 100.0], "a": [40.0, 40.0], "b": [50.0, 50.0]})
    totals = check_totals(count_cells(table, {"all": 10, "a": 5, "b": 4}), "all", ["a", "b"])
    assert totals["left_over"].tolist() == [1, 6] and totals["is_possible"].tolist() == [True, False]
    twice = pd.DataFrame({"subject": ["x", "y"], "all": [30.0, 90.0], "a": [60.0, 20.0], "b": [50.0, 25.0]})
    cells = count_cells(twice, {"all": 10, "a": 5, "b": 4})
    assert check_totals(cells, "all", ["a", "b"])["is_possible"].tolist() == [False, False]
    assert check_totals(cells, "all", ["a", "b"], may_overlap=True)["is_possible"].tolist() == [True, False]


def test_a_column_of_zeros_says_nothing():
    with pytest.raises(ValueError, match="a holds no percentage above 0"):
        fit_sizes(pd.DataFrame({"a": [0.0, 0.0]}), ["a"], 10)


def test_one_changed_digit_of_the_printed_table_changes_that_cell_only():
    table = papers.load_published("liveagentbench", "table2")
    sizes = {"work_study_pct": 61, "video_pct": 25}
    before = count_cells(table, sizes)
    changed = table.copy()
    changed.loc[0, "work_study_pct"] += 0.05
    after = count_cells(changed, sizes)
    assert (before["is_given"] != after["is_given"]).sum() == 1 and not after["is_given"].iloc[0]


def test_sizes_are_all_multiples_of_the_smallest():
    cells = [100 * k / 47 for k in (3, 4, 19, 35)]
    sizes, fit = list_sizes([round(cell, 2) for cell in cells], 200, 0.01)
    assert sizes == [47, 94, 141, 188] and fit == 4
    assert list_sizes([round(cell, 2) for cell in cells] + [31.18], 200, 0.01) == ([47, 94, 141, 188], 4)
