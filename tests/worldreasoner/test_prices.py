"""Prices: moves, change points and alignment by hand; forecasts beside the price, and mixed with
it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from studies.worldreasoner.hindsight.matching import match_events
from studies.worldreasoner.price_mixes import (
    compare_mixes,
    mix_forecasts,
    plan_mixes,
    recalibrate,
    weigh_odds,
)
from studies.worldreasoner.price_moves import measure_moves, score_alignment
from studies.worldreasoner.prices import (
    find_turning_points,
    follow_prices,
    measure_skill,
    tell_markets,
)


def make_nodes(*rows):
    """(day, sign, impact) of events n0, n1, ..."""
    table = pd.DataFrame(rows, columns=["day", "sign", "impact"]).astype(float)
    return table.assign(question_id="q", node_id=[f"n{at}" for at in range(len(rows))])


def make_prices(*rows):
    return pd.DataFrame(rows, columns=["day", "price"]).astype(float).assign(question_id="q")


@pytest.mark.parametrize(
    ("prices", "move", "usable"),
    [
        ([(9, 0.5), (11, 0.53)], 0.03, True),  # at the least move
        ([(9, 0.5), (11, 0.529)], 0.029, False),
        ([(7, 0.5), (13, 0.6)], 0.1, True),  # three days are near
        ([(6.9, 0.5), (13, 0.6)], np.nan, False),
        ([(7, 0.5), (13.1, 0.6)], np.nan, False),
        ([(8, 0.2), (9, 0.5), (11, 0.6), (12, 0.9)], 0.1, True),  # the nearest ones
        ([(9, 0.5), (10, 0.7), (11, 0.9)], 0.0, False),  # a price of that very moment is both
        ([], np.nan, False),
    ],
)
def test_the_local_move_is_between_the_nearest_prices(prices, move, usable):
    (row,) = measure_moves(make_nodes((10, 1, 0.5)), make_prices(*prices)).to_dict("records")
    assert row["move"] == pytest.approx(move, nan_ok=True) and row["is_usable"] == usable


def test_a_move_agrees_with_its_sign_and_what_has_none_is_left_out():
    nodes = make_nodes((2, 1, 0.5), (4, 1, 0.5), (2, -1, 0.5), (4, 0, 0.5), (4, 1, 0.0))
    table = measure_moves(nodes, make_prices((1, 0.5), (3, 0.4), (5, 0.6)))
    assert table.set_index("node_id")["agrees"].to_dict() == {"n0": False, "n1": True, "n2": True}


def test_planted_change_points_are_found_and_noise_is_not():
    pytest.importorskip("ruptures", reason="no release of ruptures for this Python")
    rng, levels = np.random.default_rng(0), np.repeat([0.3, 0.6, 0.45], [30, 25, 40])
    assert find_turning_points(np.arange(95.0), levels + rng.normal(0, 0.01, 95)) == [30.0, 55.0]
    found = [find_turning_points(np.arange(60.0), rng.normal(0.5, 0.02, 60)) for _ in range(5)]
    assert np.mean([len(one) for one in found]) < 2
    assert find_turning_points(np.arange(60.0), np.full(60, 0.5)) == []
    assert find_turning_points(np.arange(9.0), np.arange(9.0)) == [], "too few for two segments"


def test_market_recall_and_precision_by_hand():
    """Question q: n0 and n1 aligned, n2 against its move, n3 undated; run r says five events, run s
    none, t on p one.

    r0 matches n0 and r1 n2 (not aligned); r2 is undated and r3 shares no word with any, r4 tells of
    n0 too, on a day further off. t0 has no aligned event to hit. With change points near n1 alone
    nobody hits one.
    """
    nodes = make_nodes((5, 1, 0.5), (15, 1, 0.5), (25, 1, 0.5), (np.nan, 1, 0.5))
    nodes["text"] = ["alpha rises", "beta rises", "gamma rises", "delta rises"]
    prices = make_prices((4, 0.1), (6, 0.3), (14, 0.3), (16, 0.5), (24, 0.5), (26, 0.2))
    moves = measure_moves(nodes, prices)
    told = {"alpha": 6.0, "gamma": 25.0, "delta": np.nan, "zeta": 15.0, "alpha again": 8.0}
    rows = [("r", "q", text, day) for text, day in told.items()] + [("t", "p", "alpha", 5.0)]
    said = pd.DataFrame(rows, columns=["run_id", "question_id", "text", "day"])
    said["node_id"] = ["r0", "r1", "r2", "r3", "r4", "t0"]
    submissions = pd.DataFrame({"run_id": ["r", "s", "t"], "question_id": ["q", "q", "p"]})
    given = moves, match_events(nodes.assign(is_outcome=False), said), said, submissions
    table = score_alignment(*given)
    counts = table[["n_aligned", "n_said", "n_matched"]].to_numpy().tolist()
    assert counts == [[2, 5, 1], [2, 0, 0], [0, 1, 0]]
    assert table["recall"].tolist() == pytest.approx([1 / 2, 0, np.nan], nan_ok=True)
    assert table["precision"].tolist() == pytest.approx([1 / 5, np.nan, 0], nan_ok=True)
    turned = score_alignment(*given, {"q": [18.0]})
    assert turned[["n_aligned", "n_matched"]].to_numpy().tolist() == [[1, 0], [1, 0], [0, 0]]


# --- forecasts beside the price ---------------------------------------------------------------------


def test_skill_is_beside_the_last_earlier_price_in_pairs_and_by_stage():
    rng, n = np.random.default_rng(0), 30
    truth = rng.uniform(0.1, 0.9, n)
    outcome = (rng.random(n) < truth).astype(float)
    base = pd.DataFrame({"question_id": [f"q{at}" for at in range(n)], "outcome": outcome})
    told = {"oracle": outcome, "half": 0.5, "copies": truth}
    rows = [
        base.assign(agent_id=name, stage=stage, day=day, p=p)
        for stage, day in (("Early", 20), ("Late", 80))
        for name, p in told.items()
    ]
    days = {10.0: truth, 20.0: 1 - outcome, 70.0: truth, 80.0: 1 - outcome}  # 20 is not before 20
    prices = [base[["question_id"]].assign(day=day, price=price) for day, price in days.items()]
    found = measure_skill(pd.concat(rows), pd.concat(prices)).set_index(["agent_id", "stage"])
    assert found.loc[("oracle", "all"), ["brier", "skill"]].tolist() == [0.0, 1.0]
    assert found.loc[("copies", "all"), ["difference", "skill"]].tolist() == pytest.approx([0, 0])
    assert found.loc[("half", "Early"), ["brier", "n"]].tolist() == pytest.approx([0.25, n])
    assert found.loc[("half", "all"), "high"] < 0.1 and found.loc[("oracle", "all"), "low"] > 0
    assert set(found.index.get_level_values("stage")) == {"all", "Early", "Late"}


def test_predictions_are_told_as_forecasts_of_yes():
    said = pd.DataFrame({"event_id": list("qpo"), "value": ['"A"', '"B"', None]})
    said = said.assign(agent_id="a", horizon="Mid", as_of="2026-01-11T08:00+08:00")
    said["distribution"] = ['{"A": 0.7, "B": 0.3}', None, None]
    answers = pd.DataFrame({"event_id": list("qpo"), "value": ['"A"', '"A"', '"B"']})
    table = tell_markets(said, answers)
    assert table["p"].tolist() == pytest.approx([0.7, np.nan, np.nan], nan_ok=True)
    assert table["says_yes"].tolist() == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert table["outcome"].tolist() == [1, 1, 0] and set(table["day"]) == {20464.0}, "00:00 UTC"
    stated = tell_markets(said.assign(probability=[0.1, 0.8, 0.9]), answers)["p"].tolist()
    assert stated == pytest.approx([0.7, 0.2, np.nan], nan_ok=True), "stated of No, 1 minus it"


def test_the_prices_own_score_is_of_questions_that_have_all_stages():
    days = pd.date_range("2026-01-01", periods=41).strftime("%Y-%m-%d")
    rows = pd.DataFrame({"snapshot_date": days, "value": np.linspace(0.5, 0.9, 41), "resolved": 0})
    late = rows[30:].assign(id="late")
    rows = pd.concat([rows.assign(id="whole"), late, rows.assign(id="sure", value=0.99)])
    ends = rows.groupby("id").tail(1).assign(resolved=1, value=1.0)
    paths = pd.concat([rows, ends]).assign(resolution_date=days[-1], question_set="s", source="m")
    found = follow_prices(paths).set_index(["first_price", "stage"])
    assert found["n"].eq(1).all() and len(found) == 8
    early, near = found.loc["open", "market"][["Early", "Near"]]
    assert near < early < 0.25 and found.loc[("nearly certain", "Mid"), "market"] < 0.001


# --- mixed with the price ---------------------------------------------------------------------------


def test_an_agent_that_knows_nothing_makes_the_price_worse_and_not_the_mix_with_one_half():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.4, 1.6, 400).clip(0.01, 0.99)
    noise, hit = expit(rng.normal(0, 0.1, 400)), (rng.random(400) < truth).astype(int)
    base = pd.DataFrame({"question_id": np.arange(400), "day": 2.0, "outcome": hit})
    said = {"half": 0.5, "noise": noise, "base_rate": 0.2, "oracle": 0.5 + 0.4 * (hit - 0.5)}
    told = pd.concat([base.assign(agent_id=name, p=p) for name, p in said.items()])
    told = told.query("agent_id != 'noise' or question_id > 0")
    prices = base[["question_id"]].assign(day=1.0, price=truth)
    clusters, agents = base["question_id"] // 4, ["noise", "oracle"]
    hit, said = mix_forecasts(told, prices, clusters, recalibrated=agents)
    assert said["price and noise"].isna().sum() == 1, "said by both"
    mixed = expit((logit(truth[0]) + logit(0.2)) / 2)
    assert said["price and base_rate"][0] == pytest.approx(mixed)
    pairs = compare_mixes(hit, said, clusters, plan_mixes(agents))
    pairs = pairs.set_index(["agent_a", "agent_b"])["verdict"]
    assert pairs["price", "price and half"] == pairs["price", "price and noise"] == "a is better"
    assert pairs["price and half", "price and noise"] == "inconclusive"
    assert pairs["price and half", "price and oracle"] == pairs["price", "price and oracle"]
    assert pairs["price", "price and oracle"] == "b is better"
    assert pairs["oracle, recalibrated", "noise, recalibrated"] == "a is better"


def test_recalibration_mends_over_confidence_on_events_it_has_not_seen():
    rng = np.random.default_rng(3)
    truth = rng.uniform(0.2, 0.8, 600)
    said = expit(4 * np.log(truth / (1 - truth)))  # log-odds four times too large
    hit = (rng.random(600) < truth).astype(int)
    mended = recalibrate(said, hit, np.arange(600) // 10)
    assert np.mean((mended - hit) ** 2) < np.mean((said - hit) ** 2) - 0.01
    assert np.abs(mended - truth).mean() < 0.08


def test_recalibration_learns_nothing_from_the_events_own_cluster():
    said, hit = np.full(100, 0.5), np.repeat([0, 1], 50)
    mended = recalibrate(said, hit, np.repeat(np.arange(5), 20))
    assert (mended[:20] > 0.55).all(), "its own outcomes are all 0; of the other 80, 50 are 1"
    same = recalibrate(said, np.zeros(100, dtype=int), np.arange(100))
    assert (same == said).all(), "one outcome only: nothing to fit"


def test_weights_of_log_odds_find_who_tells_what_and_stay_blank_where_outcomes_are_parted():
    rng = np.random.default_rng(0)
    price, model, noise = rng.normal(0, 1.5, (3, 2000))
    hit = pd.Series((rng.random(2000) < expit(price + 0.5 * model)).astype(int))
    said = pd.DataFrame({"price": expit(price), "model": expit(model), "noise": expit(noise)})
    table = weigh_odds(hit, said, hit.index.to_series() // 2).set_index("forecast")
    assert table["weight"].tolist() == pytest.approx([1, 0.5, 0], abs=0.15)
    assert (table["n_clusters"] == 1000).all() and (table["n_hits"] == hit.sum()).all()
    assert table.loc["model", "low"] > 0
    assert table.loc["noise", "low"] < 0 < table.loc["noise", "high"]
    parted = weigh_odds(hit, pd.DataFrame({"price": 0.1 + 0.8 * hit}), hit.index.to_series())
    assert parted[["weight", "low", "p", "p_plain"]].isna().all(axis=None)
    few = weigh_odds(hit, said, hit.index.to_series() % 9)
    assert few["weight"].notna().all() and few[["low", "high", "p"]].isna().all(axis=None)
