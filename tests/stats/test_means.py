"""Means, pairs and adjusted means with intervals by source: against statsmodels, by hand, and what
cannot be told."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from builders import make_scores, read_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from daybefore.scoring.two_way_effects import compare_adjusted, fit_two_way, tabulate_adjusted
from helpers.means import find_clusters, logit_interval, summarize_clustered, tabulate_groups
from helpers.paired import compare, compute_mde, correct_holm, score, sign_flip_test
from helpers.scores import select_headline


@given(st.integers(0, 999), st.integers(12, 25), st.integers(1, 6))
@settings(max_examples=25)
def test_means_errors_and_intervals_by_cluster_are_statsmodels(seed, n_clusters, size):
    """Its CR1 has the factor G/(G-1) (N-1)/(N-1): the jackknife's over equal clusters; of one row,
    the plain t."""
    rng = np.random.default_rng(seed)
    clusters = pd.Series(np.repeat(np.arange(n_clusters), size))
    values = rng.random(len(clusters)) + rng.normal(-0.5, 0.5, n_clusters)[clusters]
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    row = summarize_clustered(values[:, None], clusters).loc[0]
    wanted = [
        fit.params[0],
        fit.bse[0],
        fit.pvalues[0],
        *fit.conf_int()[0],
        len(values),
        n_clusters,
    ]
    assert row[["mean", "se", "p", "low", "high", "n", "n_clusters"]].tolist() == pytest.approx(
        wanted, rel=1e-9
    )


@given(st.integers(0, 999), st.integers(12, 20))
@settings(max_examples=25)
def test_means_and_errors_leave_out_one_cluster_after_the_other(seed, n_clusters):
    rng = np.random.default_rng(seed)
    clusters = pd.Series(np.concatenate([np.arange(n_clusters), rng.integers(0, n_clusters, 60)]))
    values = pd.Series(rng.random(len(clusters))).where(rng.random(len(clusters)) < 0.9)
    n_there = clusters[values.notna()].nunique()
    without = np.array(
        [values[clusters != name].mean() for name in clusters[values.notna()].unique()]
    )
    row = summarize_clustered(values.to_frame(), clusters).loc[0]
    assert row["mean"] == pytest.approx(values.mean())
    spread = ((without - values.mean()) ** 2).sum()
    assert row["se"] == pytest.approx(np.sqrt((n_there - 1) / n_there * spread))


@pytest.mark.parametrize("case", read_cases(__file__, "clusters"))
def test_what_events_share_their_luck_with(case):
    found, said = find_clusters(pd.DataFrame({"event_id": ["a", "b"]} | case["columns"]))
    assert (
        found.tolist() == case["clusters"]
        and said == case["name"]
        and found.index.tolist() == ["a", "b"]
    )


def test_the_exact_test_counts_all_signs():
    differences = pd.Series([-1.0, -1.0, -1.0, 0.0, 0.0])
    assert sign_flip_test(differences) == 0.25  # of the 8 signs of three values, two lie as far out
    assert np.isnan(sign_flip_test(pd.Series(dtype=float))) and np.isnan(
        sign_flip_test(pd.Series(np.ones(17)))
    )
    assert sign_flip_test(pd.Series(np.ones(40)), pd.Series(np.arange(40) % 5)) == 2 / 32


@given(st.lists(st.floats(0, 1) | st.just(0.02), min_size=1, max_size=12))
@settings(max_examples=8)
def test_holms_rule_is_statsmodels_to_the_last_digit(p):
    assert correct_holm(pd.Series(p)).tolist() == multipletests(p, method="holm")[1].tolist()


def test_an_interval_near_the_end_of_a_scale_stays_on_it_and_covers():
    tables = 10 * np.random.default_rng(5).beta(4, 0.4, size=(400, 15))  # mean 9.09
    plain = summarize_clustered(pd.DataFrame(tables.T))
    rows = logit_interval(plain, 0, 10)
    hits = rows["low"].le(10 * 4 / 4.4) & rows["high"].ge(10 * 4 / 4.4)
    assert rows["low"].gt(0).all() and rows["high"].lt(10).all()
    assert (rows["low"] < rows["mean"]).all() and (rows["mean"] < rows["high"]).all()
    assert plain["high"].gt(10).mean() > 0.02 and 0.88 < hits.mean() < 0.98
    ends = pd.DataFrame({"score": [10.0] * 12})
    assert logit_interval(summarize_clustered(ends), 0, 10)[["low", "high"]].isna().all(axis=None)


def test_level_mean_leaves_missing_out_and_reports_coverage_and_imputed_mean():
    scores, events = make_scores({"a": {1: [1.0, 0.0, 1.0, None] * 6}})
    table = tabulate_groups(select_headline(scores, events), find_clusters(events)[0], ["level"])
    row = table[table["group"] == "level"].iloc[0]
    assert row["mean"] == pytest.approx(2 / 3) and row["mean_imputed"] == 0.5
    assert row[["name", "n", "n_asked", "coverage"]].tolist() == ["1", 18, 24, 0.75]
    assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1


def test_scores_need_three_columns_and_two_agents_are_compared_in_all_and_by_level():
    events = pd.DataFrame({"event_id": ["e1", "e2", "e3", "e4"], "level": [1, 1, 4, 4]})
    events["kind"] = ["single", "single", "number", "number"]
    answers = events[["event_id"]].assign(
        value=['"A"', '"B"', "10", "20"], spread=[None, None, 2, 4]
    )
    said = {"ann": ['"A"', '"B"', "11", "20"], "bob": ['"A"', '"A"', "10", "22"]}
    said["mute"] = ['"A"', None, "11", "20"]
    parts = [events[["event_id"]].assign(agent_id=name, value=said[name]) for name in said]
    scores = score(events, answers, pd.concat(parts))
    mute = scores[(scores["agent_id"] == "mute") & scores["metric"].isin(["accuracy", "number"])]
    assert mute["score"].fillna(-1).tolist() == [1.0, -1.0, 0.75, 1.0]  # 1 - (1/2)**2 on e3
    assert mute["score_imputed"].tolist() == [1.0, 0.0, 0.75, 1.0]
    assert set(mute["run_id"]) == {"mute"} and set(mute["sample"]) == {0}
    assert mute["event_level"].tolist() == [1, 1, 4, 4] and mute["reason"].tolist()[1] == "missing"
    table = compare(scores, "ann", "bob").set_index("group")
    assert table.index.tolist() == ["all", "level 1", "level 4"]
    assert table["difference"].tolist() == pytest.approx([(0 + 1 - 0.25 + 0.25) / 4, 0.5, 0])
    assert table.loc["level 1", ["mean_a", "mean_b"]].tolist() == [1.0, 0.5]
    assert table["n"].tolist() == [4, 2, 2] and set(table["verdict"]) == {"inconclusive"}


def test_the_difference_that_could_be_seen_is_statsmodels():
    for n in (12, 30, 200):
        exact = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
        assert compute_mde(1 / math.sqrt(n), n) == pytest.approx(exact, rel=0.02)
    assert math.isnan(compute_mde(0.0, 12)), "where nothing varies nothing is detected"


CLUSTERS = pd.Series([f"s{at % 12:02}" for at in range(120)], [f"e{at:03}" for at in range(120)])


def make_matrix():
    """Scores of three agents by event; the second leads the first by 0.1, the third by twice
    that."""
    rng = np.random.default_rng(0)
    source = pd.Series(rng.normal(0, 0.2, 12), sorted(CLUSTERS.unique()))
    luck = CLUSTERS.map(source).to_numpy() + rng.normal(0, 0.1, 120)
    scores = luck[:, None] + [0, 0.1, 0.2] + rng.normal(0, 0.05, (120, 3))
    return pd.DataFrame(scores, CLUSTERS.index, ["a", "b", "c"])


def test_effects_and_their_errors_are_those_of_dummies():
    matrix = make_matrix().mask(np.random.default_rng(1).random((120, 3)) < 0.4)

    def fit_dummies(part):
        rows = part.stack().dropna().rename("score").rename_axis(["event", "agent"]).reset_index()
        fit = smf.ols("score ~ C(agent) + C(event)", rows).fit()
        asked = rows["event"].unique()
        grid = pd.MultiIndex.from_product([asked, list("abc")], names=["event", "agent"]).to_frame(
            index=False
        )
        return fit.predict(grid).groupby(grid["agent"]).mean()

    whole = fit_dummies(matrix)
    without = np.array([fit_dummies(matrix[CLUSTERS != name]) for name in CLUSTERS.unique()])
    table = tabulate_adjusted(fit_two_way(matrix, CLUSTERS))
    np.testing.assert_allclose(table["mean"], whole)
    np.testing.assert_allclose(
        table["se"], np.sqrt(11 / 12 * ((without - whole.to_numpy()) ** 2).sum(axis=0))
    )


def test_an_agent_asked_the_hard_half_is_found_as_good_as_it_is():
    matrix = make_matrix().assign(b=lambda t: t["b"] - 0.1)
    matrix["b"] = matrix["b"].where(matrix["a"] < matrix["a"].median())
    found = compare_adjusted(fit_two_way(matrix, CLUSTERS)).iloc[0]
    assert matrix["b"].mean() < matrix["a"].mean() - 0.1, "plain means mislead"
    assert found["low"] < 0.03 and found["high"] > -0.03 and abs(found["difference"]) < 0.03


def test_agents_that_nothing_joins_are_refused_by_name():
    matrix = make_matrix()
    matrix.loc[matrix.index[:60], ["a", "c"]], matrix.loc[matrix.index[60:], "b"] = np.nan, np.nan
    with pytest.raises(
        ValueError, match="no event joins a, c with b, not even through another agent"
    ):
        fit_two_way(matrix, CLUSTERS)


def test_an_agent_joined_by_one_source_alone_has_a_mean_and_no_interval():
    matrix = make_matrix()
    matrix["b"] = matrix["b"].where(CLUSTERS == "s03")
    table = tabulate_adjusted(fit_two_way(matrix, CLUSTERS))
    assert table["mean"].notna().all() and np.isnan(table.loc["b", "low"])
    np.testing.assert_allclose(
        table.loc[["a", "c"], "se"],
        summarize_clustered(matrix[["a", "c"]], CLUSTERS)["se"],
        rtol=1e-9,
    )
