"""Judges are rated against planted quality: one that knows it is fit, one that rolls dice is not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from helpers.estimates.trust import average_scores, balance_lengths, rate_judge
from helpers.store import ROOT

RUBRICS = ("comprehensiveness", "source_reliability", "plan_actionability")
CALIBRATION = pd.read_csv(ROOT / "data/calibration/plans.csv").assign(target_type="calibration", weight=1.0)


def make_scores(value, plans=CALIBRATION):
    """Return a table plan x criterion with `value(row)` everywhere."""
    scores = [value(plan) for plan in plans.to_dict("records")]
    return pd.DataFrame({rubric: scores for rubric in RUBRICS}, index=plans["plan_id"]).astype(float)


def test_means_have_intervals_over_the_plans_that_have_a_score():
    scores = make_scores(lambda plan: len(plan["plan"]) % 11)
    scores.iloc[0, 0] = np.nan
    table = average_scores(scores, np.random.default_rng(1))
    assert table["n"].tolist() == [29, 30, 30] and np.allclose(table["score"], scores.mean())
    error = scores.std() / np.sqrt(table["n"].to_numpy())
    assert np.allclose(table["high"] - table["low"], 2 * 1.96 * error, rtol=0.15)


def test_a_judge_that_knows_the_quality_is_fit_and_one_that_turns_it_round_is_not():
    rng = np.random.default_rng(1)
    table = rate_judge(make_scores(lambda plan: plan["quality"] == "good"), CALIBRATION, rng)
    assert table[["accuracy", "auc", "accuracy_low", "auc_low"]].eq(1).all(axis=None)
    assert table["verdict"].eq("fit").all() and table["n_pairs"].eq(20).all()
    table = rate_judge(make_scores(lambda plan: plan["quality"] != "good"), CALIBRATION, rng)
    assert table[["accuracy", "auc"]].eq(0).all(axis=None) and table["verdict"].eq("UNFIT").all()


def test_a_judge_that_says_the_same_of_all_or_rolls_dice_is_unfit():
    table = rate_judge(make_scores(lambda plan: 7), CALIBRATION, np.random.default_rng(1))
    assert table["accuracy"].eq(0.5).all() and table["ties"].eq(1).all() and table["verdict"].eq("UNFIT").all()
    verdicts = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dice = make_scores(lambda plan, rng=rng: rng.integers(11))[["comprehensiveness"]]
        verdicts += rate_judge(dice, CALIBRATION, rng, n_boot=400)["verdict"].tolist()
    assert verdicts.count("fit") <= 4, "more than a tenth of random judges pass"


def test_the_area_under_the_curve_is_that_of_scikit_learn_and_pairs_are_of_one_question():
    rng = np.random.default_rng(3)
    scores = make_scores(lambda plan: rng.integers(4))[["comprehensiveness"]]
    scores.iloc[4] = np.nan
    weighed = CALIBRATION.assign(weight=balance_lengths(CALIBRATION))
    row = rate_judge(scores, weighed, rng).iloc[0]
    known = weighed.set_index("plan_id").join(scores).dropna()
    good = known["quality"].eq("good")
    weighed = roc_auc_score(good, known["comprehensiveness"], sample_weight=known["weight"])
    assert row["auc"] == pytest.approx(weighed) != roc_auc_score(good, known["comprehensiveness"])
    pairs = known[good].merge(known[~good], on="question")
    sign = np.sign(pairs["comprehensiveness_x"] - pairs["comprehensiveness_y"])
    assert row["n_pairs"] == len(pairs) == 19
    assert row["accuracy"] == pytest.approx((np.average(sign, weights=pairs["weight_y"]) + 1) / 2)
    assert row["ties"] == pytest.approx(np.average(sign == 0, weights=pairs["weight_y"]))


def test_length_alone_is_no_judge_once_the_calibration_set_is_balanced():
    words = make_scores(lambda plan: len(plan["plan"].split()))[["comprehensiveness"]]
    weighed = CALIBRATION.assign(weight=balance_lengths(CALIBRATION))
    for sign in (1, -1):
        row = rate_judge(sign * words, weighed, np.random.default_rng(1)).iloc[0]
        assert row["accuracy"] == pytest.approx(0.5) and row["verdict"] == "UNFIT"
    assert weighed.loc[weighed["quality"] == "good", "weight"].eq(1).all() and weighed["weight"].sum() == pytest.approx(
        30
    )
    with pytest.raises(ValueError, match="none shorter"):
        balance_lengths(CALIBRATION[CALIBRATION["quality"].isin(["good", "padded"])])


def test_a_calibration_without_pairs_is_refused():
    plans = CALIBRATION[CALIBRATION["quality"] != "good"]
    with pytest.raises(ValueError, match="no question has a good plan and another"):
        rate_judge(make_scores(lambda plan: 1, plans), CALIBRATION, np.random.default_rng(1))
