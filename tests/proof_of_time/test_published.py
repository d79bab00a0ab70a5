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


def test_a_model_of_no_provider_is_no_row_left_out(monkeypatch):
    load = papers.load_published

    def drop(key, name, **read):
        return load(key, name, **read).iloc[: -1 if "table2" in name else None]

    monkeypatch.setattr(papers, "load_published", drop)
    with pytest.raises(ValueError, match="Table 2 has not"):
        published.load_table("table9_tokens")


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


def test_a_planted_provider_is_told_apart():
    rows = pd.DataFrame({"provider": ["a"] * 4 + ["b"] * 7, "gain": [*range(10, 14), *range(7)]})
    difference, p = published.compare_provider(rows, "gain", "a")
    assert difference == 8.5 and p == pytest.approx(2 / 330)
    assert published.compare_provider(rows.assign(gain=[3, 1, 5, 2, 4, 0, 6, 3, 2, 5, 1]), "gain", "a")[1] > 0.5


def test_ranks_that_are_the_same_correlate():
    shares = np.arange(11) / 10
    found = published.correlate_periods(
        pd.DataFrame({"pre_share": shares, "post_share": shares**2}), np.random.default_rng(0)
    )
    assert found["rho"] == pytest.approx(1) and found["p"] == pytest.approx(1 / 10000)
    assert (found["low"], found["high"], found["n"]) == pytest.approx((1, 1, 11))
    mixed = pd.DataFrame({"pre_share": shares, "post_share": np.random.default_rng(1).permutation(shares)})
    loose = published.correlate_periods(mixed, np.random.default_rng(0))
    assert loose["low"] < loose["rho"] < loose["high"] < 1 and loose["p"] > 0.001


def test_a_provider_s_mean_is_that_of_its_models_at_each_limit():
    limits = published.list_limits()
    means = published.average_providers(limits)
    assert len(means) == 9 and list(means.columns) == list(limits.columns)
    (row,) = means.query("provider == 'Anthropic' and limit == 50").to_dict("records")
    assert row["share"] == pytest.approx((0.351 + 0.412 + 0.310) / 3, abs=0.001)
    assert row["n"] == 925 and row["low"] < row["share"] < row["high"]


def test_no_other_sizes_meet_the_award_shares_and_the_reported_sum():
    printed = published.load_table("table3_awards_pre_post").set_index("key")["post_cutoff_acc_pct"]

    def gives(n, key):
        return printed[key] in (100 * np.arange(n + 1) / n).round(1)

    left = 1129 - 8 * 122  # of Opus, and of the two newest Gemini models, which have as many each
    found = [(left - 2 * n, n) for n in range(1, 77) if 0 < left - 2 * n <= 122]
    found = [(opus, n) for opus, n in found if gives(opus, "claude_opus_4_5") and gives(n, "gemini_3_pro")]
    assert found == [(121, 16)]


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
