"""Agreement: kappa and correlations are the libraries', planted shifts are found, a judge is fit beyond chance only."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from helpers.agreement import (
    MIN_CASES,
    MIN_KAPPA,
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


def draw_verdicts(rng, kappa, n=60, n_draws=300, **about):
    """Synthetic judges who agree with the truth by this kappa: what is said of each."""
    rows = []
    for _ in range(n_draws):
        truth = rng.random(n) < 0.5
        flags = np.where(rng.random(n) < kappa, truth, rng.random(n) < 0.5)
        rows.append(measure_judge(flags.tolist(), truth, rng, 200, is_rule=True, **about)["verdict"])
    return pd.Series(rows).value_counts(normalize=True).reindex(["fit", "unfit", "inconclusive"], fill_value=0)


def test_each_verdict_on_a_judge_is_reached_where_it_is_true():
    rng = np.random.default_rng(5)
    good, bad, middling = (draw_verdicts(rng, kappa, is_fresh=True) for kappa in (0.85, 0.0, MIN_KAPPA))
    assert good["fit"] > 0.9 and bad["unfit"] > 0.8 and good["unfit"] == bad["fit"] == 0
    assert middling["fit"] < 0.06 and middling["unfit"] < 0.06  # nominal: 0.025 each
    few = draw_verdicts(rng, 0.85, n=MIN_CASES - 1, n_draws=50, is_fresh=True)
    assert few["inconclusive"] == 1, "with fewer cases it cannot be told"
    never = measure_judge([False] * 60, rng.random(60) < 0.5, rng, 200, is_rule=True, is_fresh=True)
    assert never["verdict"] == "inconclusive" and never["kappa"] == 0, "kappa of one who flags none is 0 in every draw"
    known = draw_verdicts(rng, 0.85, n_draws=50, is_fresh=False)
    assert known["inconclusive"] == 1, "who wrote the rule cannot show that it is fit"


def test_agreement_is_that_of_scikit_learn_and_scipy():
    rng = np.random.default_rng(2)
    first = rng.integers(11, size=40)
    second = np.clip(first + rng.integers(-3, 4, size=40), 0, 10)
    assert weigh_agreement(first, second) == pytest.approx(cohen_kappa_score(first, second, weights="quadratic"))
    assert correlate_ranks(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert np.isnan(weigh_agreement(np.full(3, 5), np.full(3, 5)))
