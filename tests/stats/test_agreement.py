"""Agreement: kappa and correlations are the libraries', planted shifts are found, a judge is fit
beyond chance only."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from helpers.agreement import (
    MIN_CASES,
    compute_kappa,
    correlate_ranks,
    measure_judge,
    measure_kappa,
    weigh_agreement,
)


def test_kappa_is_the_librarys():
    rng = np.random.default_rng(3)
    read, made = rng.integers(0, 4, (2, 60))
    made = np.where(rng.random(60) < 0.5, read, made)
    ours, low, high = measure_kappa(read, made, 4, rng)
    assert low < ours < high and ours == pytest.approx(cohen_kappa_score(read, made))
    tables = np.stack([confusion_matrix(read[:n], made[:n]) for n in (60, 30)])
    assert compute_kappa(tables) == pytest.approx([ours, cohen_kappa_score(read[:30], made[:30])])


def test_a_judge_is_fit_by_enough_cases_and_labels_of_another_and_unfit_by_chance():
    """Whether a verdict is right is played in a thousand worlds:
    tests/stats/test_planted_truths.py."""
    rng = np.random.default_rng(5)
    truth = rng.random(60) < 0.5

    def judge(flags, n=60, is_fresh=True):
        row = measure_judge(list(flags[:n]), truth[:n], rng, 200, is_rule=True, is_fresh=is_fresh)
        return row["verdict"], round(row["kappa"], 1)

    assert judge(truth) == ("fit", 1) and judge(rng.random(60) < 0.5)[0] == "unfit"
    assert judge(truth, n=MIN_CASES - 1) == judge(truth, is_fresh=False) == ("inconclusive", 1)
    assert judge(np.zeros(60, bool)) == ("inconclusive", 0), (
        "kappa of one who flags none is 0 in every draw"
    )


def test_agreement_is_that_of_scikit_learn_and_scipy():
    rng = np.random.default_rng(2)
    first = rng.integers(11, size=40)
    second = np.clip(first + rng.integers(-3, 4, size=40), 0, 10)
    assert weigh_agreement(first, second) == pytest.approx(
        cohen_kappa_score(first, second, weights="quadratic")
    )
    assert correlate_ranks(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert np.isnan(weigh_agreement(np.full(3, 5), np.full(3, 5)))
