"""Markets: moves, change points and alignment by hand; forecasts beside the price; mixes with what
knows nothing."""

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.hindsight.matching import match_events
from studies.worldreasoner.price_mixes import compare_mixes, mix_forecasts, plan_mixes
from studies.worldreasoner.price_moves import measure_moves, score_alignment
from studies.worldreasoner.prices import (
    find_turning_points,
    measure_skill,
    price_forecasts,
    tell_markets,
)


def make_nodes(*rows):
    """(day, sign, impact) of events n0, n1, ..."""
    table = pd.DataFrame(rows, columns=["day", "sign", "impact"]).astype(float)
    return table.assign(question_id="q", node_id=[f"n{at}" for at in range(len(rows))])


def make_prices(*rows, question="q"):
    return pd.DataFrame(rows, columns=["day", "price"]).astype(float).assign(question_id=question)


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
        ([(9, 0.5)], np.nan, False),
    ],
)
def test_the_local_move_is_between_the_nearest_prices(prices, move, usable):
    (row,) = measure_moves(make_nodes((10, 1, 0.5)), make_prices(*prices)).to_dict("records")
    assert row["move"] == pytest.approx(move, nan_ok=True) and row["is_usable"] == usable


def test_a_move_agrees_with_its_sign_and_what_has_none_is_left_out():
    prices = make_prices((1, 0.5), (3, 0.4), (5, 0.6))
    table = measure_moves(
        make_nodes((2, 1, 0.5), (4, 1, 0.5), (2, -1, 0.5), (4, 0, 0.5), (4, 1, 0.0)), prices
    )
    assert dict(zip(table["node_id"], table["agrees"], strict=True)) == {
        "n0": False,
        "n1": True,
        "n2": True,
    }
    assert (
        measure_moves(make_nodes((2, 1, 0.5)), prices.assign(question_id="p"))["before"]
        .isna()
        .all()
    )


def test_planted_change_points_are_found_and_noise_is_not():
    pytest.importorskip("ruptures", reason="no release of ruptures for this Python")
    rng, levels = np.random.default_rng(0), np.repeat([0.3, 0.6, 0.45], [30, 25, 40])
    assert find_turning_points(np.arange(95.0), levels + rng.normal(0, 0.01, 95)) == [30.0, 55.0]
    still = [
        len(find_turning_points(np.arange(60.0), rng.normal(0.5, 0.02, 60))) for _ in range(20)
    ]
    assert np.mean(still) < 2
    assert find_turning_points(np.arange(60.0), np.full(60, 0.5)) == []
    assert find_turning_points(np.arange(9.0), np.arange(9.0)) == [], "too few for two segments"


def test_market_recall_and_precision_by_hand():
    """Question q: n0 and n1 aligned, n2 against its move, n3 undated; run r says five events, run s
    none, t on p one.

    r0 matches n0 and r1 n2 (not aligned); r2 is undated and r3 shares no word with any, r4 tells of
    n0 too, on a day further off. t0 has no aligned event to hit.
    """
    nodes = make_nodes((5, 1, 0.5), (15, 1, 0.5), (25, 1, 0.5), (np.nan, 1, 0.5))
    nodes = nodes.assign(
        text=["alpha rises", "beta rises", "gamma rises", "delta rises"], is_outcome=False
    )
    moves = measure_moves(
        nodes, make_prices((4, 0.1), (6, 0.3), (14, 0.3), (16, 0.5), (24, 0.5), (26, 0.2))
    )
    told = {"alpha": 6.0, "gamma": 25.0, "delta": np.nan, "zeta": 15.0, "alpha again": 8.0}
    rows = [("r", "q", text, day) for text, day in told.items()] + [("t", "p", "alpha", 5.0)]
    said = pd.DataFrame(rows, columns=["run_id", "question_id", "text", "day"])
    said["node_id"] = ["r0", "r1", "r2", "r3", "r4", "t0"]
    submissions = pd.DataFrame({"run_id": ["r", "s", "t"], "question_id": ["q", "q", "p"]})
    table = score_alignment(moves, match_events(nodes, said), said, submissions)
    assert table[["n_aligned", "n_said", "n_matched"]].to_numpy().tolist() == [
        [2, 5, 1],
        [2, 0, 0],
        [0, 1, 0],
    ]
    assert table["recall"].tolist() == pytest.approx([1 / 2, 0, np.nan], nan_ok=True)
    assert table["precision"].tolist() == pytest.approx([1 / 5, np.nan, 0], nan_ok=True)


# --- forecasts beside the price ---------------------------------------------------------------------


def test_the_price_is_the_last_one_before_the_forecast():
    forecasts = pd.DataFrame({"question_id": ["q", "q", "q", "p"], "day": [2.0, 2.5, 1.0, 9.0]})
    table = price_forecasts(forecasts, make_prices((1, 0.4), (2, 0.9)))
    assert table["day"].tolist() == forecasts["day"].tolist()
    assert table["price"].tolist() == pytest.approx([0.4, 0.9, np.nan, np.nan], nan_ok=True)


def test_skill_is_beside_the_price_in_pairs_and_by_stage():
    rng, n, start = np.random.default_rng(0), 30, 20454  # 2026-01-01
    truth = rng.uniform(0.1, 0.9, n)
    outcome = (rng.random(n) < truth).astype(float)
    base = pd.DataFrame({"question_id": [f"q{at}" for at in range(n)], "outcome": outcome})
    told = {"oracle": outcome, "half": 0.5, "copies": truth}
    rows = [
        base.assign(agent_id=name, stage=stage, day=start + day, p=p)
        for stage, day in (("Early", 20), ("Late", 80))
        for name, p in told.items()
    ]
    prices = pd.concat(
        base[["question_id"]].assign(day=start + day, price=truth) for day in (10.0, 70.0)
    )
    table = measure_skill(pd.concat(rows), prices).set_index(["agent_id", "stage"])
    assert table.loc[("oracle", "all"), ["brier", "skill"]].tolist() == [0.0, 1.0]
    assert table.loc[("copies", "all"), ["difference", "skill"]].tolist() == pytest.approx(
        [0.0, 0.0]
    )
    assert (
        table.loc[("half", "Early"), "brier"] == pytest.approx(0.25)
        and table.loc[("half", "Late"), "n"] == n
    )
    assert table.loc[("half", "all"), "high"] < 0.1 and table.loc[("oracle", "all"), "low"] > 0
    assert set(table.index.get_level_values("stage")) == {"all", "Early", "Late"}


def test_predictions_are_told_as_forecasts_of_yes():
    said = pd.DataFrame(
        {
            "event_id": list("qpo"),
            "agent_id": "a",
            "horizon": "Mid",
            "as_of": "2026-01-11T08:00+08:00",
        }
    )
    said = said.assign(
        value=['"A"', '"B"', None], distribution=['{"A": 0.7, "B": 0.3}', None, None]
    )
    answers = pd.DataFrame({"event_id": list("qpo"), "value": ['"A"', '"A"', '"B"']})
    table = tell_markets(said, answers)
    assert table["p"].tolist() == pytest.approx([0.7, np.nan, np.nan], nan_ok=True)
    assert table["says_yes"].tolist() == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert table["outcome"].tolist() == [1, 1, 0] and set(table["day"]) == {20464.0}, "00:00 UTC"
    stated = tell_markets(said.assign(probability=[0.1, 0.8, 0.9]), answers)
    assert stated["p"].tolist() == pytest.approx([0.7, 0.2, np.nan], nan_ok=True), (
        "of No, where nothing else is told"
    )


def test_an_agent_that_knows_nothing_makes_the_price_worse_and_not_the_mix_with_one_half():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.4, 1.6, 400).clip(0.01, 0.99)
    noise, hit = 1 / (1 + np.exp(-rng.normal(0, 0.1, 400))), (rng.random(400) < truth).astype(int)
    base = pd.DataFrame(
        {"question_id": [f"q{at}" for at in range(400)], "day": 2.0, "outcome": hit}
    )
    said = {"half": 0.5, "noise": noise, "base_rate": 0.2, "oracle": 0.5 + 0.4 * (hit - 0.5)}
    told = pd.concat(
        [base.assign(agent_id=name, p=p) for name, p in said.items()], ignore_index=True
    )
    prices, clusters = (
        base[["question_id"]].assign(day=1.0, price=truth),
        base.set_index("question_id", drop=False),
    )
    clusters, agents = clusters["question_id"], ["noise", "oracle"]
    hit, said = mix_forecasts(told, prices, clusters, recalibrated=agents)
    pairs = compare_mixes(hit, said, clusters, plan_mixes(agents)).set_index(
        ["agent_a", "agent_b"]
    )["verdict"]
    assert pairs["price", "price and half"] == pairs["price", "price and noise"] == "a is better"
    assert pairs["price and half", "price and noise"] == "inconclusive"
    assert (
        pairs["price and half", "price and oracle"]
        == pairs["price", "price and oracle"]
        == "b is better"
    )
    assert pairs["oracle, recalibrated", "noise, recalibrated"] == "a is better"
