"""Whether benchmarks agree on who is better: planted orders, and the committed tables by plain pandas."""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from builders import PUBLIC, needs_public

from helpers.public_files import read_public
from helpers.sets import load_set
from studies.futurex.plots import draw_agreement
from studies.futurex.rankings import (
    compare_all,
    compare_standings,
    join_names,
    pool_agreement,
    stand_by_board,
    stand_by_questions,
)

SKILL = {"a": 0.8, "b": 0.6, "c": 0.4, "d": 0.2}


def make_board(name, order, search="none", error=0.01):
    means = pd.Series(list(SKILL.values()), list(order))
    return stand_by_board(name, search, means, pd.Series(error, means.index))


def make_questions(n, spread, seed=3):
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, (n, 1))  # shared by the models, so that pairs differ by less than means
    scores = pd.DataFrame(hard + list(SKILL.values()) + rng.normal(0, spread, (n, 4)), columns=list(SKILL))
    return stand_by_questions("q", "none", scores, pd.Series(range(n)))


def test_one_order_agrees_and_the_opposite_does_not():
    same = compare_standings(make_board("x", "abcd"), make_board("y", "abcd"))
    assert (same["agreement"], same["tau"], same["ceiling"], same["n_alike_sure"]) == (1, pytest.approx(1), 1, 6)
    turned = compare_standings(make_board("x", "abcd"), make_board("y", "dcba"))
    assert (turned["agreement"], turned["by_sampling"], turned["n_opposite_sure"]) == (0, 0, 6)


def test_noise_alone_lowers_the_ceiling_and_is_no_sure_opposition():
    noisy = make_board("y", "badc", error=2.0)
    found = compare_standings(make_board("x", "abcd"), noisy)
    assert found["ceiling"] < 0.7 and found["n_opposite_sure"] == 0 and found["by_sampling"] == 1


def test_of_noise_alone_half_of_the_pairs_agree():
    first, second = make_board("x", "abcd", error=500.0), make_board("y", "abcd", error=400.0)
    assert compare_standings(first, second)["ceiling"] == pytest.approx(0.5, abs=0.02)


def test_questions_are_drawn_for_all_models_at_once():
    found = compare_standings(make_questions(200, 0.1), make_board("y", "abcd"))
    assert found["agreement"] == 1 and found["ceiling"] > 0.99  # the shared difficulty does not blur the order


def test_two_models_in_common_are_no_comparison_and_families_are_means():
    short = stand_by_board("s", "none", pd.Series({"a": 1.0, "b": 0.0}), pd.Series({"a": 0.1, "b": 0.1}))
    assert compare_standings(short, make_board("x", "abcd")) is None
    joined = join_names(make_board("x", "abcd"), {"a": "A", "b": "A", "c": "C", "d": "D"})
    assert joined.means.to_dict() == {"A": pytest.approx(0.7), "C": pytest.approx(0.4), "D": pytest.approx(0.2)}


def test_pooled_agreement_counts_each_pair_of_models_once():
    boards = [make_board("x", "abcd"), make_board("y", "abcd", "search"), make_board("z", "dcba", "search")]
    table = compare_all(boards)
    pooled = pool_agreement(table, boards).set_index("search")
    assert pooled.loc["all", "n_pairs"] == 18 and pooled.loc["all", "agreement"] == pytest.approx(1 / 3)
    assert pooled.loc["both search", "agreement"] == 0 and pooled.loc["one searches", "agreement"] == 0.5
    ax = draw_agreement(table, plt.figure().subplots())
    assert len(ax.get_yticks()) == 3


def test_the_committed_agreement_is_that_of_the_committed_standings():
    standings = read_public("benchmarks_standings").set_index(["benchmark", "model"])["score"]
    table = read_public("benchmarks_agree").query("joined_by == 'version'")
    assert (table["first"].str.split(",").str[0] != table["second"].str.split(",").str[0]).all()
    for row in table.to_dict("records"):
        a, b = (standings[row[side]][row["models"].split("; ")] for side in ("first", "second"))
        signs = [np.sign(a[one] - a[two]) * np.sign(b[one] - b[two]) for one, two in combinations(a.index, 2)]
        assert row["agreement"] == pytest.approx((1 + np.mean(signs)) / 2, abs=1e-6)
        assert row["tau"] == pytest.approx(a.corr(b, method="kendall"), abs=1e-6)
    pooled = read_public("benchmarks_pooled").set_index(["joined_by", "search"])
    mean = (table["agreement"] * table["n_pairs"]).sum() / table["n_pairs"].sum()
    assert pooled.loc[("version", "all"), "agreement"] == pytest.approx(mean, abs=1e-6)


def test_the_scores_of_the_committed_sets_by_plain_pandas():
    standings = read_public("benchmarks_standings").set_index(["benchmark", "model"])["score"]
    rows = load_set("blf").rows()
    own = rows[rows["run_id"] == "blf-gpt5-high-none-c0-t0"]
    assert standings[("BLF, no search", "GPT-5.4")] == pytest.approx(-own["brier_filled"].mean(), abs=1e-6)
    cup = load_set("worldcup").rows().groupby("model")["correct"].mean()
    assert standings["World Cup, search"].to_dict() == pytest.approx(cup.to_dict(), abs=1e-6)


@needs_public
def test_forecastbenchs_scores_from_its_file():
    board = pd.read_csv(PUBLIC / "forecastbench/leaderboard_baseline.csv").set_index("Model")["Overall"]
    standings = read_public("benchmarks_standings").set_index(["benchmark", "model"])["score"]
    both = (board["o3-2025-04-16"] + board["o3-2025-04-16-scratchpad"]) / 2
    assert standings[("ForecastBench, no search", "o3")] == pytest.approx(both)
