"""The published tables: names that meet, sizes that fit, widest intervals, verdicts that can go each way."""

import numpy as np
import pandas as pd
import pytest

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


def test_a_provider_s_mean_is_that_of_its_models_at_each_limit():
    limits = published.list_limits()
    means = published.average_providers(limits)
    assert len(means) == 9 and list(means.columns) == list(limits.columns)
    (row,) = means.query("provider == 'Anthropic' and limit == 50").to_dict("records")
    assert row["share"] == pytest.approx((0.351 + 0.412 + 0.310) / 3, abs=0.001)
    assert row["n"] == 925 and row["low"] < row["share"] < row["high"]


def test_the_printed_cells_of_the_heatmap_agree_with_the_report_and_leave_three_tasks():
    cells = published.list_heatmap()
    by_model = cells[cells["model"] != "mean of models"].groupby("task")["share"].agg(["mean", "size"])
    means = cells[cells["model"] == "mean of models"].set_index("task")["share"]
    assert set(by_model["size"]) == {11} and len(cells) == 40
    assert cells.loc[cells["n"] < 10, "task"].tolist() == ["Field Focus"] and cells["n"].notna().all()
    assert (by_model["mean"] - means[by_model.index]).abs().max() < 0.0006, "the report's means are Table 3's and 7's"
    low, high = published.bound_rest()
    rest, known = 473, {"Citation Rank": 200, "Award (Post-cutoff)": 122, "Prof. Article": 76, "Field Focus": 9}
    known |= {"SOTA Bucket": 45}
    right = sum(means[task] * n for task, n in known.items())
    assert low == pytest.approx((means["all tasks"] * 925 - right) / rest) and low < high < 0.54
