"""Headline numbers of notebook 09, again in plain pandas from the committed tables."""

import pandas as pd
import pytest
from public.earnings import describe_questions

from helpers.files import ROOT


def read(path):
    return pd.read_csv(ROOT / path)


def read_markets():
    parts = {name: read(f"data/sets/blf/{name}.csv.gz") for name in ("runs", "predictions", "answers", "prices")}
    table = parts["predictions"][["run_id", "event_id", "status", "p_yes"]].merge(parts["runs"], on="run_id")
    table = table.merge(parts["prices"][["event_id", "price"]], on="event_id")
    table = table.merge(parts["answers"][["event_id", "outcome"]], on="event_id")
    return table[~table["sees_price"] & table["variant"].isna() & table["status_x"].eq("ok")]


def test_win_rates_and_errors_against_the_price():
    markets = read_markets()
    drawn = read("figures/futurex_fig15.csv").set_index(["measure", "agent_id"])["mean"]
    names = {
        "Gemini 3.1 Pro, search, data tools": ("Gemini 3.1 Pro + search", 0.305, 0.018),
        "Gemini 3.1 Pro, no search": ("Gemini 3.1 Pro", 0.200, 0.066),
        "GPT-5.4, search, data tools": ("GPT-5.4 + search", 0.120, 0.031),
    }
    for agent, (short, rate, gap) in names.items():
        part = markets[markets["agent_id"] == agent]
        assert len(part) == 200
        own = (part["p_yes"] - part["outcome"]).abs()
        price = (part["price"] - part["outcome"]).abs()
        won = (own < price) & ((part["p_yes"] - part["price"]).abs() > 0.01)
        assert won.mean() == pytest.approx(rate, abs=0.0005)
        assert drawn["win", short] == pytest.approx(won.mean(), abs=1e-6)
        assert drawn["error", short] == pytest.approx(own.mean(), abs=1e-6)
        assert (own**2 - price**2).mean() == pytest.approx(gap, abs=0.0005)


def test_facts_of_earnings_worked_by_hand():
    beside = pd.DataFrame({"event_id": ["a", "b"], "item": ["A", "B"], "metric": ["revenue", "eps"]})
    beside["consensus"], beside["actual"] = [90.0, 150.0], [100.0, 100.0]
    answers = pd.DataFrame({"event_id": ["a", "b"], "spread": [20.0, 10.0]})
    facts = describe_questions(answers, beside).set_index("fact")["value"]
    assert facts["asks for revenue"] == 0.5
    assert facts["score of the consensus"] == pytest.approx(0.75 / 2)
    assert facts["capped error of the consensus"] == pytest.approx((0.1 + 0.3) / 2)
    assert facts["actual above the consensus"] == 0.5
