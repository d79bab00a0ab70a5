"""The published tables: names that meet, sizes that fit, widest intervals, verdicts that can go each way."""

import numpy as np
import pytest

from helpers import papers
from helpers.proof_of_time import published


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(max(0, before + after - n), min(before, after) + 1):
        changes = [1] * (after - both) + [-1] * (before - both) + [0] * (n - before - after + 2 * both)
        errors.append(np.std(changes) / np.sqrt(n))
    assert published.bound_change(before / n, after / n, n) == pytest.approx(max(errors))


def test_the_cells_of_the_heatmap_agree_with_the_report_and_not_with_table_7():
    cells, limits = published.list_cells(), published.list_limits().query("limit == 50").set_index("model")["share"]
    assert len(cells) == 99 and not cells.duplicated(["model", "task"]).any()
    told = papers.load_published("proof_of_time", "code_task_means").set_index("task")["mean_at_50_pct"] / 100
    assert (cells.groupby("task")["share"].mean()[told.index] - told).abs().max() < 0.0025, "cells have two decimals"
    headline = cells[cells["task"] != "Award (Pre-cutoff)"]
    whole = (headline["share"] * headline["n"]).groupby(headline["model"]).sum() / headline.groupby("model")["n"].sum()
    gaps = (whole - limits).round(3)
    assert abs(gaps.mean()) < 0.006 and (gaps.min(), gaps.max()) == (-0.122, 0.268), "Table 7 is no mean of Figure 7"
