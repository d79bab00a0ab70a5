"""Whether benchmarks agree on who is better: planted orders."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from studies.futurex.benchmark_agreement import (
    compare_all,
    compare_standings,
    join_names,
    pool_agreement,
    stand_by_board,
    stand_by_questions,
)
from studies.futurex.drawings import draw_agreement

SKILL = {"a": 0.8, "b": 0.6, "c": 0.4, "d": 0.2}


def make_board(name, order, search="none", error=0.01):
    means = pd.Series(list(SKILL.values())[: len(order)], list(order))
    return stand_by_board(name, search, means, pd.Series(error, means.index))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("abcd", {"agreement": 1, "ceiling": 1, "n_opposite": 0}),
        ("dcba", {"agreement": 0, "ceiling": 1, "n_opposite": 6, "n_opposite_sure": 6}),
    ],
)
def test_one_order_agrees_and_the_opposite_does_not(order, expected):
    found, drawn = compare_standings(make_board("x", "abcd"), make_board("y", order))
    assert {name: found[name] for name in expected} == expected
    assert (drawn == found["agreement"]).all()


def test_noise_alone_lowers_the_ceiling_to_a_half_and_is_no_sure_opposition():
    table, drawn = compare_all([make_board("x", "abcd"), make_board("y", "badc", error=2.0)])
    assert table["ceiling"][0] < 0.7 and table["n_opposite_sure"][0] == 0
    assert pool_agreement(table, drawn)["by_sampling"][0] == 1
    first, second = make_board("x", "abcd", error=500.0), make_board("y", "abcd", error=400.0)
    assert compare_standings(first, second)[0]["ceiling"] == pytest.approx(0.5, abs=0.02)


def test_questions_are_drawn_for_all_models_at_once():
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 1, (200, 1))  # shared by the models, so pairs differ by less than means
    scores = hard + list(SKILL.values()) + rng.normal(0, 0.1, (200, 4))
    scores = pd.DataFrame(scores, columns=list(SKILL))
    standing = stand_by_questions("q", "none", scores, pd.Series(range(200)))
    found, _ = compare_standings(standing, make_board("y", "abcd"))
    assert found["agreement"] == 1 and found["ceiling"] > 0.99, "the difficulty blurs no order"


def test_two_models_in_common_are_no_comparison_and_families_are_means():
    whole = make_board("x", "abcd")
    assert compare_standings(make_board("s", "ab"), whole) is None
    joined = join_names(whole, {"a": "A", "b": "A", "c": "C", "d": "D"})
    assert joined.means.to_dict() == pytest.approx({"A": 0.7, "C": 0.4, "D": 0.2})


def test_pooled_agreement_counts_each_pair_of_models_once():
    orders = [("x", "abcd", "none"), ("y", "abcd", "search"), ("z", "dcba", "search")]
    table, drawn = compare_all([make_board(*order) for order in orders])
    pooled = pool_agreement(table, drawn).set_index("search")["agreement"]
    assert pooled[["all", "both search", "one searches"]].tolist() == pytest.approx([1 / 3, 0, 0.5])
    assert pool_agreement(table, drawn).set_index("search").loc["all", "n_pairs"] == 18
    ax = draw_agreement(table, plt.figure().subplots())
    assert len(ax.get_yticks()) == 3
