"""The published tables: names that meet, sizes that fit, widest intervals, verdicts that can go each way."""

import numpy as np
import pandas as pd
import pytest

from helpers import papers
from helpers.proof_of_time import published
from helpers.stats.grim import find_counts


@pytest.mark.parametrize(
    "name",
    ["table3_awards_pre_post", "table7_test_time_scaling", "table8_api_spend", "table9_tokens", "code_prompt_effect"],
)
def test_every_table_names_the_eleven_models(name):
    table = published.load_table(name)
    assert len(table) == table["model"].nunique() == 11 and table["provider"].nunique() == 3


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(max(0, before + after - n), min(before, after) + 1):
        changes = [1] * (after - both) + [-1] * (before - both) + [0] * (n - before - after + 2 * both)
        errors.append(np.std(changes) / np.sqrt(n))
    assert published.bound_change(before / n, after / n, n) == pytest.approx(max(errors))


def test_the_sizes_behind_the_awards_give_every_share_and_the_reported_sum():
    rows, printed = published.measure_periods(), published.load_table("table3_awards_pre_post")
    assert ((100 * rows["post_share"]).round(1) == printed["post_cutoff_acc_pct"]).all()
    assert find_counts(printed["pre_cutoff_acc_pct"], 197, 0.1)[1].all()  # GPT-5.2's is cut off, not rounded
    assert rows["post_n"].sum() == 1129


@pytest.mark.parametrize(("after", "verdict"), [(0.6, "holds"), (0.2, "fails"), (0.42, "cannot tell")])
def test_a_change_is_judged_each_way(after, verdict):
    rows = pd.DataFrame({"before": [0.4], "after": [after]})
    assert published.measure_changes(rows, "before", "after", 900)["verdict"].tolist() == [verdict]


def test_the_cells_of_the_heatmap_agree_with_the_report_and_not_with_table_7():
    cells, limits = published.list_cells(), published.list_limits().query("limit == 50").set_index("model")["share"]
    assert len(cells) == 99 and not cells.duplicated(["model", "task"]).any()
    told = papers.load_published("proof_of_time", "code_task_means").set_index("task")["mean_at_50_pct"] / 100
    assert (cells.groupby("task")["share"].mean()[told.index] - told).abs().max() < 0.0025, "cells have two decimals"
    headline = cells[cells["task"] != "Award (Pre-cutoff)"]
    whole = (headline["share"] * headline["n"]).groupby(headline["model"]).sum() / headline.groupby("model")["n"].sum()
    gaps = (whole - limits).round(3)
    assert abs(gaps.mean()) < 0.006 and (gaps.min(), gaps.max()) == (-0.122, 0.268), "Table 7 is no mean of Figure 7"


def test_awards_after_the_cutoff_rise_and_fall_as_the_notebook_says():
    assert published.measure_periods()["verdict"].value_counts().to_dict() == {"holds": 5, "cannot tell": 5, "fails": 1}


def test_every_model_gains_to_30_messages_and_three_beyond():
    told = published.measure_gains().groupby("step")["verdict"].value_counts()
    assert told["15 to 30"].to_dict() == {"holds": 11}
    assert told["30 to 50"].to_dict() == {"cannot tell": 8, "holds": 3}


def test_of_first_and_second_categories_only_the_bottleneck_is_sure():
    rows = published.compare_first(published.list_categories())
    assert rows.loc[rows["verdict"] == "holds", "table"].tolist() == ["table10"]
