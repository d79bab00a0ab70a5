"""Means with intervals by source: against statsmodels, by hand, and what cannot be told (synthetic data)."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from builders import make_scores
from statsmodels.stats.weightstats import DescrStatsW

from helpers.scoring.scores import select_headline
from helpers.stats.means import find_clusters, keep_on_scale, summarize_clustered, tabulate_groups
from helpers.stats.paired import sign_flip_test


def test_each_row_its_own_cluster_is_the_plain_t_interval():
    values = np.random.default_rng(1).random(40)
    row = summarize_clustered(pd.DataFrame({"a": values})).loc["a"]
    assert [row["low"], row["high"]] == pytest.approx(DescrStatsW(values).tconfint_mean(), abs=1e-12)
    apart = summarize_clustered(pd.DataFrame({"a": values - 0.4})).loc["a"]
    assert apart["p"] == pytest.approx(DescrStatsW(values - 0.4).ttest_mean()[1], abs=1e-12)
    assert row["n"] == row["n_clusters"] == 40


@pytest.mark.parametrize(
    ("columns", "clusters", "name"),
    [
        ({}, ["a", "b"], "event"),
        ({"source_id": ["s", "s"]}, ["s", "s"], "source"),
        ({"source_id": ["s", "s"], "cluster_id": ["s", "t"]}, ["s", "t"], "cluster"),
        ({"source_id": ["s", "t"], "cluster_id": ["s", "t"]}, ["s", "t"], "source"),
        ({"source_id": ["s", None], "cluster_id": [None, None]}, ["s", "b"], "source"),
    ],
)
def test_what_events_share_their_luck_with(columns, clusters, name):
    found, said = find_clusters(pd.DataFrame({"event_id": ["a", "b"]} | columns))
    assert found.tolist() == clusters and said == name and found.index.tolist() == ["a", "b"]


def test_intervals_by_source_cover_where_luck_is_shared():
    """Twenty sources of eight events each, with luck of their own: 95% by source, and far fewer by event."""
    rng, covered = np.random.default_rng(11), []
    clusters = pd.Series(np.repeat(np.arange(20), 8))
    for _ in range(400):
        table = pd.DataFrame({"a": rng.normal(0, 0.2, 20)[clusters] + rng.normal(0, 0.3, 160)})
        ends = [summarize_clustered(table, by).loc["a", ["low", "high"]] for by in (clusters, None)]
        covered.append([low <= 0 <= high for low, high in ends])
    by_source, by_event = np.mean(covered, axis=0)
    assert 0.92 <= by_source <= 0.98 and by_event < 0.8


def test_the_exact_test_counts_all_signs():
    differences = pd.Series([-1.0, -1.0, -1.0, 0.0, 0.0])
    assert sign_flip_test(differences) == 0.25  # of the 8 signs of three values, two lie as far out
    assert np.isnan(sign_flip_test(pd.Series(dtype=float))) and np.isnan(sign_flip_test(pd.Series(np.ones(17))))
    assert sign_flip_test(pd.Series(np.ones(40)), pd.Series(np.arange(40) % 5)) == 2 / 32


def test_an_interval_near_the_end_of_a_scale_stays_on_it_and_covers():
    rng, hits, passes = np.random.default_rng(5), [], []
    for _ in range(400):
        table = pd.DataFrame({"score": 10 * rng.beta(4, 0.4, size=15)})  # mean 9.09
        plain = summarize_clustered(table)
        row = keep_on_scale(plain, 0, 10).iloc[0]
        hits.append(row["low"] <= 10 * 4 / 4.4 <= row["high"])
        passes.append(plain["high"].iloc[0] > 10)
        assert 0 < row["low"] < row["mean"] < row["high"] < 10
    assert np.mean(passes) > 0.02 and 0.88 < np.mean(hits) < 0.98
    ends = pd.DataFrame({"score": [10.0] * 12})
    assert keep_on_scale(summarize_clustered(ends), 0, 10)[["low", "high"]].isna().all(axis=None)


def tabulate(scores, events, by="level"):
    """The groups of one column, by agent and group."""
    table = tabulate_groups(select_headline(scores, events), find_clusters(events)[0], [by])
    return table[table["group"] == by].set_index(["agent_id", "name"])


def test_level_mean_leaves_missing_out_and_reports_coverage_and_imputed_mean():
    row = tabulate(*make_scores({"a": {1: [1.0, 0.0, 1.0, None] * 6}})).loc["a", "1"]
    assert row["mean"] == pytest.approx(2 / 3)  # (1 + 0 + 1) / 3
    assert row["n"] == 18 and row["n_asked"] == 24 and row["coverage"] == 0.75
    assert row["mean_imputed"] == 0.5  # (1 + 0 + 1 + 0) / 4
    assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1


def test_the_error_by_cluster_is_statsmodels_where_clusters_are_equal():
    rng = np.random.default_rng(2)
    clusters = pd.Series(np.repeat(np.arange(25), 8))
    values = rng.random(200) + rng.normal(0, 0.5, 25)[clusters]
    fit = sm.OLS(values, np.ones(200)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    # statsmodels' CR1 has the factor G/(G-1) * (N-1)/(N-K), with K = 1: that of the jackknife over equal clusters
    assert summarize_clustered(values[:, None], clusters).loc[0, "se"] == pytest.approx(fit.bse[0], rel=1e-9)
