"""Mixes of forecasts with the price: hand-worked values, known truths, and what few clusters can
say."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from studies.worldreasoner.price_mixes import pool_odds, recalibrate, weigh_odds


def test_pooled_odds_lie_further_out_than_the_mean_and_bear_zero_and_one():
    assert pool_odds([0.99, 0.6]) > np.mean([0.99, 0.6])
    assert np.isfinite(pool_odds([0.0, 0.0])) and pool_odds([0.0, 0.0]) == pytest.approx(0.001)
    assert np.isnan(pool_odds([np.nan, np.nan]))
    np.testing.assert_allclose(pool_odds([[0.2, 0.8], [0.7, 0.7]]), [0.5, 0.7])


def test_recalibration_mends_over_confidence_on_events_it_has_not_seen():
    rng = np.random.default_rng(3)
    truth = rng.uniform(0.2, 0.8, 600)
    said = 1 / (1 + np.exp(-4 * np.log(truth / (1 - truth))))  # log-odds four times too large
    hit = (rng.random(600) < truth).astype(int)
    mended = recalibrate(said, hit, np.arange(600) // 10)
    assert np.mean((mended - hit) ** 2) < np.mean((said - hit) ** 2) - 0.01
    assert np.abs(mended - truth).mean() < 0.08


def test_recalibration_learns_nothing_from_the_events_own_cluster():
    said, hit = np.full(100, 0.5), np.repeat([0, 1], 50)
    mended = recalibrate(said, hit, np.repeat(np.arange(5), 20), n_folds=5)
    first = mended[:20]  # its own outcomes are all 0; of the other 80, 50 are 1
    assert (first > 0.55).all()
    same = recalibrate(said, np.zeros(100, dtype=int), np.arange(100))
    assert (same == said).all(), "one outcome only: nothing to fit"
    with pytest.raises(ValueError, match="5 folds"):
        recalibrate(said, hit, np.zeros(100))


def test_weights_of_log_odds_find_who_tells_what_and_stay_blank_where_outcomes_are_parted():
    rng = np.random.default_rng(0)
    price, model, noise = rng.normal(0, 1.5, (3, 2000))
    hit = pd.Series((rng.random(2000) < expit(price + 0.5 * model)).astype(int))
    said = pd.DataFrame({"price": expit(price), "model": expit(model), "noise": expit(noise)})
    table = weigh_odds(hit, said, pd.Series(hit.index // 2, hit.index)).set_index("forecast")
    assert table["weight"].tolist() == pytest.approx([1, 0.5, 0], abs=0.15)
    assert (table["n_clusters"] == 1000).all() and (table["n_hits"] == hit.sum()).all()
    assert (
        table.loc["model", "low"] > 0 and table.loc["noise", "low"] < 0 < table.loc["noise", "high"]
    )
    parted = weigh_odds(hit, pd.DataFrame({"price": 0.1 + 0.8 * hit}), hit.index.to_series())
    assert parted[["weight", "low", "p", "p_plain"]].isna().all(axis=None)
    few = weigh_odds(hit, said, pd.Series(hit.index % 9, hit.index))
    assert few["weight"].notna().all() and few[["low", "high", "p"]].isna().all(axis=None)
