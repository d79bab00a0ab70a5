"""Forecasts beside the price: skill by hand, mixes with a control that knows nothing."""

import numpy as np
import pandas as pd
import pytest
from public.market_skill import compare_mixes, mix_forecasts, plan_mixes

from helpers.worldreasoner.prices import measure_skill, price_forecasts, tell_markets


def make_prices(*rows):
    return pd.DataFrame(rows, columns=["day", "price"]).astype(float).assign(question_id="q")


def test_the_price_is_the_last_one_before_the_forecast():
    prices = make_prices((1, 0.4), (2, 0.9))
    forecasts = pd.DataFrame({"question_id": ["q", "q", "q", "p"], "day": [2.0, 2.5, 1.0, 9.0]})
    table = price_forecasts(forecasts, prices)
    assert table["day"].tolist() == forecasts["day"].tolist()
    assert table["price"].tolist() == pytest.approx([0.4, 0.9, np.nan, np.nan], nan_ok=True)


def test_skill_is_beside_the_price_in_pairs_and_by_stage():
    rng = np.random.default_rng(0)
    n, start = 30, 20454  # 2026-01-01
    truth, outcome = rng.uniform(0.1, 0.9, n), None
    outcome = (rng.random(n) < truth).astype(float)
    about = {"opens_at": "2026-01-01", "resolves_at": "2026-04-11", "outcome": outcome}
    base = pd.DataFrame({"question_id": [f"q{at}" for at in range(n)]} | about)
    rows = [base.assign(agent_id=name, day=start + day, p=p) for day in (20, 80) for name, p in
            (("oracle", outcome), ("half", 0.5), ("copies", truth))]  # fmt: skip
    prices = pd.concat(
        pd.DataFrame({"question_id": f"q{at}", "day": [start + 10.0, start + 70.0], "price": truth[at]})
        for at in range(n)
    )
    table = measure_skill(pd.concat(rows), prices).set_index(["agent_id", "stage"])
    assert table.loc[("oracle", "all"), ["brier", "skill"]].tolist() == [0.0, 1.0]
    assert table.loc[("copies", "all"), ["difference", "skill"]].tolist() == pytest.approx([0.0, 0.0])
    assert table.loc[("half", "Early"), "brier"] == pytest.approx(0.25) and table.loc[("half", "Late"), "n"] == n
    assert table.loc[("half", "all"), "high"] < 0.1 and table.loc[("oracle", "all"), "low"] > 0
    assert set(table.index.get_level_values("stage")) == {"all", "Early", "Late"}


def test_predictions_are_told_as_forecasts_of_yes():
    said = pd.DataFrame(
        {"agent_id": "a", "event_id": ["q", "p", "o"], "horizon": "Mid", "as_of": "2026-01-11T08:00+08:00"}
    )
    said = said.assign(value=['"A"', '"B"', None], distribution=['{"A": 0.7, "B": 0.3}', None, None])
    events = pd.DataFrame({"event_id": list("qpo"), "opens_at": "2026-01-01T00:00", "resolves_at": "2026-02-01T00:00"})
    answers = pd.DataFrame({"event_id": list("qpo"), "value": ['"A"', '"A"', '"B"']})
    table = tell_markets(said, events, answers)
    assert table["p"].tolist() == pytest.approx([0.7, np.nan, np.nan], nan_ok=True)
    assert table["says_yes"].tolist() == pytest.approx([1, 0, np.nan], nan_ok=True)
    assert table["outcome"].tolist() == [1, 1, 0] and set(table["day"]) == {20464.0}, "00:00 UTC"
    stated = tell_markets(said.assign(probability=[0.1, 0.8, 0.9]), events, answers)
    assert stated["p"].tolist() == pytest.approx([0.7, 0.2, np.nan], nan_ok=True), "of No, where nothing else is told"


def make_forecasts(truth, outcome, **agents):
    """Forecasts of agents (name: probabilities) on day 2 of questions q0, q1, ..., and their prices of day 1."""
    base = pd.DataFrame({"question_id": [f"q{at}" for at in range(len(truth))], "day": 2.0, "outcome": outcome})
    told = pd.concat([base.assign(agent_id=name, p=p) for name, p in agents.items()], ignore_index=True)
    return told, base[["question_id"]].assign(day=1.0, price=truth)


def test_an_agent_that_knows_nothing_makes_the_price_worse_and_not_the_mix_with_one_half():
    rng = np.random.default_rng(0)
    truth = rng.beta(0.4, 1.6, 400).clip(0.01, 0.99)
    noise, hit = 1 / (1 + np.exp(-rng.normal(0, 0.1, 400))), (rng.random(400) < truth).astype(int)
    told, prices = make_forecasts(truth, hit, half=0.5, noise=noise, base_rate=0.2, oracle=0.5 + 0.4 * (hit - 0.5))
    clusters = told["question_id"].drop_duplicates().pipe(lambda names: pd.Series(names.to_numpy(), names))
    agents = ["noise", "oracle"]
    hit, said = mix_forecasts(told, prices, clusters, recalibrated=agents)
    pairs = compare_mixes(hit, said, clusters, plan_mixes(agents)).set_index(["agent_a", "agent_b"])["verdict"]
    assert pairs["price", "price and half"] == pairs["price", "price and noise"] == "a is better"
    assert pairs["price and half", "price and noise"] == "cannot tell"
    assert pairs["price and half", "price and oracle"] == pairs["price", "price and oracle"] == "b is better"
    assert pairs["oracle, recalibrated", "noise, recalibrated"] == "a is better"
