"""Whether benchmarks agree on who is better: planted orders."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

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
    scores = pd.DataFrame(
        hard + list(SKILL.values()) + rng.normal(0, spread, (n, 4)), columns=list(SKILL)
    )
    return stand_by_questions("q", "none", scores, pd.Series(range(n)))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("abcd", {"agreement": 1, "ceiling": 1, "n_opposite": 0}),
        ("dcba", {"agreement": 0, "ceiling": 1, "n_opposite": 6, "n_opposite_sure": 6}),
    ],
)
def test_one_order_agrees_and_the_opposite_does_not(order, expected):
    found, drawn = compare_standings(make_board("x", "abcd"), make_board("y", order))
    assert {name: found[name] for name in expected} == expected and (
        drawn == found["agreement"]
    ).all()


def test_noise_alone_lowers_the_ceiling_and_is_no_sure_opposition():
    table, drawn = compare_all([make_board("x", "abcd"), make_board("y", "badc", error=2.0)])
    assert table["ceiling"][0] < 0.7 and table["n_opposite_sure"][0] == 0
    assert pool_agreement(table, drawn)["by_sampling"][0] == 1


def test_of_noise_alone_half_of_the_pairs_agree():
    first, second = make_board("x", "abcd", error=500.0), make_board("y", "abcd", error=400.0)
    assert compare_standings(first, second)[0]["ceiling"] == pytest.approx(0.5, abs=0.02)


def test_questions_are_drawn_for_all_models_at_once():
    found, _ = compare_standings(make_questions(200, 0.1), make_board("y", "abcd"))
    assert (
        found["agreement"] == 1 and found["ceiling"] > 0.99
    )  # the shared difficulty does not blur the order


def test_two_models_in_common_are_no_comparison_and_families_are_means():
    short = stand_by_board(
        "s", "none", pd.Series({"a": 1.0, "b": 0.0}), pd.Series({"a": 0.1, "b": 0.1})
    )
    assert compare_standings(short, make_board("x", "abcd")) is None
    joined = join_names(make_board("x", "abcd"), {"a": "A", "b": "A", "c": "C", "d": "D"})
    assert joined.means.to_dict() == {
        "A": pytest.approx(0.7),
        "C": pytest.approx(0.4),
        "D": pytest.approx(0.2),
    }


def test_pooled_agreement_counts_each_pair_of_models_once():
    boards = [
        make_board("x", "abcd"),
        make_board("y", "abcd", "search"),
        make_board("z", "dcba", "search"),
    ]
    table, drawn = compare_all(boards)
    pooled = pool_agreement(table, drawn).set_index("search")
    assert pooled.loc["all", "n_pairs"] == 18 and pooled.loc["all", "agreement"] == pytest.approx(
        1 / 3
    )
    assert (
        pooled.loc["both search", "agreement"] == 0
        and pooled.loc["one searches", "agreement"] == 0.5
    )
    ax = draw_agreement(table, plt.figure().subplots())
    assert len(ax.get_yticks()) == 3
