"""Calibration and repeated trials: hand-worked values, known truths, and what few clusters can say."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from helpers.stats.calibration import (
    measure_calibration,
    measure_trials,
    pool_chances,
    pool_odds,
    recalibrate,
    weigh_odds,
)
from helpers.stats.means import summarize_clustered


def make_chances(said, hit, agent="a"):
    ids = [f"e{at}" for at in range(len(said))]
    return pd.DataFrame({"agent_id": agent, "event_id": ids, "said": said, "hit": np.asarray(hit, dtype=float)})


def each_its_own(chances):
    return pd.Series(chances["event_id"].to_numpy(), chances["event_id"].to_numpy())


def test_the_error_is_weighed_by_the_bins_sizes():
    chances = make_chances([0.1, 0.1, 0.1, 0.9], [0, 0, 1, 0])  # |1/3 - 0.1| * 3/4 + |0 - 0.9| * 1/4
    (row,) = measure_calibration(chances, each_its_own(chances), np.random.default_rng(0)).to_dict("records")
    assert row["ece"] == pytest.approx(0.7 / 3 * 0.75 + 0.9 / 4)
    assert row["sharpness"] == pytest.approx(np.var([0.1, 0.1, 0.1, 0.9]))
    assert np.isnan(row["low"]), "four clusters give no interval"


@pytest.mark.parametrize("off", [0.0, 0.2])
def test_what_holds_has_the_error_of_noise_and_what_is_off_a_larger_one(off):
    rng = np.random.default_rng(1)
    said = rng.uniform(0.05, 0.7, 300)
    chances = make_chances(said, rng.random(300) < said + off)
    row = measure_calibration(chances, each_its_own(chances), rng, n_boot=300).iloc[0]
    assert row["expected"] == pytest.approx(0.05, abs=0.02)
    assert (row["low"] > row["expected"]) == (off > 0)
    assert off < row["high"] and row["ece"] == pytest.approx(max(off, row["expected"]), abs=0.03)


def test_events_that_share_their_luck_widen_the_interval():
    rng = np.random.default_rng(1)
    luck = np.repeat(rng.random(20) < 0.5, 20)  # all events of a cluster come true, or none
    chances = make_chances(np.full(400, 0.2), luck)
    shared = pd.Series(np.repeat(np.arange(20), 20), chances["event_id"])
    alone, together = (
        measure_calibration(chances, clusters, np.random.default_rng(2)).iloc[0]
        for clusters in (each_its_own(chances), shared)
    )
    assert together["high"] - together["low"] > 3 * (alone["high"] - alone["low"])


def test_the_edges_of_the_bins_belong_to_the_bin_above_and_one_to_the_last():
    chances = make_chances([0.3, 0.1 + 0.2, 1.0], [1, 0, 1])  # 0.30000000000000004 stands with 0.3
    assert measure_calibration(chances, each_its_own(chances), np.random.default_rng(0))["ece"][0] == pytest.approx(
        abs(1 - 0.6) / 3
    )


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


def test_agreement_of_trials_counts_pairs_and_leaves_out_single_ones():
    rows = [("a", "e1", v, p) for v, p in (("Y", 0.9), ("Y", 0.7), ("N", 0.2))]
    rows += [("a", "e2", "N", 0.1), ("a", "e2", "N", 0.1), ("a", "e3", "Y", 0.5), ("a", "e4", None, None)]
    table = measure_trials(pd.DataFrame(rows, columns=["agent_id", "event_id", "value", "probability"])).iloc[0]
    assert table["agreement"] == pytest.approx((1 / 3 + 1) / 2) and table["n"] == 2
    assert table["spread"] == pytest.approx(np.std([0.9, 0.7, 0.2]) / 2) and np.isnan(table["spread_low"])


def test_the_spread_of_trials_has_an_interval_by_cluster():
    rows = [("a", f"e{n}", "Y", p) for n in range(24) for p in (0.5, 0.5 + 0.02 * (n % 5))]
    table = pd.DataFrame(rows, columns=["agent_id", "event_id", "value", "probability"])
    clusters = pd.Series([f"s{n // 2}" for n in range(24)], [f"e{n}" for n in range(24)])
    found = measure_trials(table, clusters).iloc[0]
    spreads = pd.Series([0.01 * (n % 5) for n in range(24)], clusters.index)
    own = summarize_clustered(spreads.to_frame("x"), clusters).loc["x"]
    assert found[["spread", "spread_low", "spread_high"]].tolist() == pytest.approx(
        own[["mean", "low", "high"]].tolist()
    )
    assert found["spread_low"] < found["spread"] < found["spread_high"] and found["n_clusters"] == 12


def test_a_pool_is_of_what_all_gave_and_is_mended_by_other_clusters_alone():
    rows = [(name, f"e{n}", 0.9 if n % 2 else 0.1, float(n % 2 == 0)) for n in range(40) for name in "ab"]
    rows = [*rows, ("a", "alone", 0.9, 1.0)]
    chances = pd.DataFrame(rows, columns=["agent_id", "event_id", "said", "hit"])
    clusters = pd.Series([f"s{n % 20 // 2}" for n in range(40)] + ["x"], [f"e{n}" for n in range(40)] + ["alone"])
    hit, said = pool_chances(chances, clusters)
    assert (
        len(said) == 40 and "alone" not in said.index.get_level_values(0) and list(said) == ["a", "b", "pool", "mended"]
    )
    np.testing.assert_allclose(said["pool"], said["a"])
    assert ((said["mended"] > 0.5) == (hit == 1)).all(), "always the wrong way round, which the others show"
    flipped = chances.assign(hit=chances["hit"].where(chances["event_id"].map(clusters) != "s0", 1 - chances["hit"]))
    own = [f"e{n}" for n in range(40) if n % 20 // 2 == 0]
    changed = pool_chances(flipped, clusters)[1]["mended"]
    np.testing.assert_allclose(changed[own], said["mended"][own])
    one = pool_chances(chances, clusters.where(clusters.isna(), "s"))[1]
    assert (one["mended"] == one["pool"]).all(), "no other cluster to fit on"


def test_weights_of_log_odds_find_who_tells_what_and_stay_blank_where_outcomes_are_parted():
    rng = np.random.default_rng(0)
    price, model, noise = rng.normal(0, 1.5, (3, 2000))
    hit = pd.Series((rng.random(2000) < expit(price + 0.5 * model)).astype(int))
    said = pd.DataFrame({"price": expit(price), "model": expit(model), "noise": expit(noise)})
    table = weigh_odds(hit, said, pd.Series(hit.index // 2, hit.index)).set_index("forecast")
    assert table["weight"].tolist() == pytest.approx([1, 0.5, 0], abs=0.15)
    assert (table["n_clusters"] == 1000).all() and (table["n_hits"] == hit.sum()).all()
    assert table.loc["model", "low"] > 0 and table.loc["noise", "low"] < 0 < table.loc["noise", "high"]
    parted = weigh_odds(hit, pd.DataFrame({"price": 0.1 + 0.8 * hit}), hit.index.to_series())
    assert parted[["weight", "low", "p", "p_plain"]].isna().all(axis=None)
    few = weigh_odds(hit, said, pd.Series(hit.index % 9, hit.index))
    assert few["weight"].notna().all() and few[["low", "high", "p"]].isna().all(axis=None)


def test_clustered_errors_of_weights_grow_where_each_question_stands_twice():
    rng = np.random.default_rng(1)
    price = rng.normal(0, 1.5, 300)
    hit = pd.Series(np.tile((rng.random(300) < expit(price)).astype(int), 2))
    said = pd.DataFrame({"price": expit(np.tile(price, 2))})
    plain = weigh_odds(hit, said, hit.index.to_series()).iloc[0]
    twice = weigh_odds(hit, said, pd.Series(hit.index % 300, hit.index)).iloc[0]
    assert twice["high"] - twice["low"] == pytest.approx(np.sqrt(2) * (plain["high"] - plain["low"]), rel=0.02)
