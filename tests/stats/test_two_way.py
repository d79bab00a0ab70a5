"""Agents asked different questions: against least squares with a dummy for each question and agent."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from helpers.stats.means import summarize_clustered
from helpers.stats.two_way import compare_adjusted, fit_two_way, tabulate_adjusted

CLUSTERS = pd.Series([f"s{at % 12:02}" for at in range(120)], [f"e{at:03}" for at in range(120)])


def make_matrix(seed=0, lead=0.1, n=120):
    """Scores of three agents by event; the second leads the first by `lead`, the third by twice that."""
    rng = np.random.default_rng(seed)
    source = pd.Series(rng.normal(0, 0.2, 12), sorted(CLUSTERS.unique()))
    event = CLUSTERS.map(source).to_numpy() + rng.normal(0, 0.1, 120)
    noise = rng.normal(0, 0.05, (120, 3))
    return pd.DataFrame(event[:, None] + [0, lead, 2 * lead] + noise, CLUSTERS.index, ["a", "b", "c"]).iloc[:n]


def test_effects_and_their_errors_are_those_of_dummies():
    matrix = make_matrix().mask(np.random.default_rng(1).random((120, 3)) < 0.4)

    def fit_dummies(part):
        rows = part.stack().dropna().rename("score").rename_axis(["event", "agent"]).reset_index()
        fit = smf.ols("score ~ C(agent) + C(event)", rows).fit()
        asked = rows["event"].unique()
        grid = pd.MultiIndex.from_product([asked, list("abc")], names=["event", "agent"]).to_frame(index=False)
        return fit.predict(grid).groupby(grid["agent"]).mean()

    whole = fit_dummies(matrix)
    without = np.array([fit_dummies(matrix[CLUSTERS != name]) for name in CLUSTERS.unique()])
    table = tabulate_adjusted(fit_two_way(matrix, CLUSTERS))
    np.testing.assert_allclose(table["mean"], whole)
    np.testing.assert_allclose(table["se"], np.sqrt(11 / 12 * ((without - whole.to_numpy()) ** 2).sum(axis=0)))


def test_an_agent_asked_the_hard_half_is_found_as_good_as_it_is():
    matrix = make_matrix(lead=0.0)
    hard = matrix["a"] < matrix["a"].median()
    matrix["b"] = matrix["b"].where(hard)
    found = compare_adjusted(fit_two_way(matrix, CLUSTERS)).iloc[0]
    assert matrix["b"].mean() < matrix["a"].mean() - 0.1, "plain means mislead"
    assert found["low"] < 0.03 and found["high"] > -0.03 and abs(found["difference"]) < 0.03


def test_agents_that_nothing_joins_are_refused_by_name():
    matrix = make_matrix()
    matrix.loc[matrix.index[:60], ["a", "c"]], matrix.loc[matrix.index[60:], "b"] = np.nan, np.nan
    with pytest.raises(ValueError, match="no event joins a, c with b, not even through another agent"):
        fit_two_way(matrix, CLUSTERS)


def test_an_agent_joined_by_one_source_alone_has_a_mean_and_no_interval():
    matrix = make_matrix()
    matrix["b"] = matrix["b"].where(CLUSTERS == "s03")
    table = tabulate_adjusted(fit_two_way(matrix, CLUSTERS))
    assert table["mean"].notna().all() and np.isnan(table.loc["b", "low"])
    np.testing.assert_allclose(
        table.loc[["a", "c"], "se"], summarize_clustered(matrix[["a", "c"]], CLUSTERS)["se"], rtol=1e-9
    )
