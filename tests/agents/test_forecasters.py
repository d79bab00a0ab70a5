"""Baselines know only what was published before the start day, answer every kind, and say how sure they are."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from statsmodels.tools.sm_exceptions import ConvergenceWarning
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.holtwinters import SimpleExpSmoothing

from helpers.agents import forecasters
from helpers.agents.forecasters import expect_values, place_values
from helpers.agents.registry import load_agents

AGENTS = sorted(load_agents())


@pytest.fixture(scope="module")
def sample(collected):
    """Up to two events of every ask and site type, one of each template at most."""
    events = collected[0].drop_duplicates("template_id")
    return events.groupby(["family", "site_type"]).head(2).to_dict("records")


@pytest.fixture(scope="module")
def outcomes(world, sample):
    """Outcome of every agent on every event of the sample, with all pages that were fetched for it."""
    crawler = world()
    found = {
        (name, e["event_id"]): agent["forecast"](e, crawler) for name, agent in load_agents().items() for e in sample
    }
    return found, crawler.pages


@pytest.mark.parametrize("name", AGENTS)
def test_every_prediction_is_valid(name, sample, outcomes):
    for event in sample:
        prediction = outcomes[0][name, event["event_id"]]["prediction"]
        value, spread = prediction["value"], prediction["distribution"]
        letters = list(json.loads(event["options"])) if event["kind"] in ("single", "multi") else []
        terms = json.loads(event["variables"])
        assert json.loads(json.dumps(prediction)) == prediction
        assert all(np.isfinite(share) for share in spread.values())
        if event["kind"] == "single":
            assert value in letters and list(spread) == letters
            assert sum(spread.values()) == pytest.approx(1, abs=1e-5)
            assert prediction["probability"] == pytest.approx(spread[value], abs=1e-5)
        elif event["kind"] == "multi":
            assert value and value == sorted(set(value)) and set(value) <= set(letters)
            assert list(spread) == letters and all(0 <= share <= 1 for share in spread.values())
        elif event["kind"] == "ranking":
            assert len(value) == terms["k"] == len(set(value))
            assert sum(spread.values()) == pytest.approx(terms["k"], abs=1e-3)
            assert set(value) <= set(terms.get("among", value))
        else:
            assert isinstance(value, float) and np.isfinite(value)
            assert list(spread) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
            assert list(spread.values()) == sorted(spread.values())
            assert (prediction["interval_low"], prediction["interval_high"]) == (spread["0.05"], spread["0.95"])


@pytest.mark.parametrize("name", AGENTS)
def test_nothing_of_the_start_day_or_later_is_seen(name, sample, outcomes):
    found, pages = outcomes
    for event in sample:
        outcome = found[name, event["event_id"]]
        used = {page for step in outcome["trace"] for page in step.get("page_ids", [])}
        assert used == set(outcome["prediction"]["source_ids"]) and used
        for page_id in used:
            assert pd.Timestamp(pages[page_id]["published_at"]) < pd.Timestamp(event["as_of"])


# --- Methods by hand ---


def expect(method, values, date, last="2016-10-09", freq="D", drop=()):
    """Return what a method expects of one series that ends on `last`, days of `drop` missing."""
    days = [str(day.date()) for day in pd.date_range(end=last, periods=len(values), freq=freq)]
    history = pd.DataFrame({"x": values}, index=days, dtype=float).drop(index=list(drop))
    point, draws = expect_values(method, history, place_values(history, date), np.random.default_rng(0))
    assert draws.shape == (400, 1)
    return point["x"], pd.Series(draws[:, 0])


def test_last_mean_and_base_rate_by_hand():
    values = [100, 3, 3, 4, 4, 5, 5, 11]
    assert expect("last_value", values, "2016-10-12")[0] == 11
    assert expect("mean", values, "2016-10-12")[0] == 5  # 35 / 7
    point, draws = expect("base_rate", values, "2016-10-12")
    assert point == 4.5
    assert set(draws) <= set(map(float, values)) and draws.nunique() > 4


def test_smoothing_and_arima_agree_with_statsmodels():
    rng = np.random.default_rng(8)
    levels, centres = [], []
    for i in range(30):
        noise, steps = rng.normal(size=40), rng.normal(size=40)
        values = np.cumsum(steps) * (i % 3) / 2 + noise + 50
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = SimpleExpSmoothing(values, initialization_method="estimated").fit().forecast(1)[0]
        levels.append((forecasters.fit_smoothing(tuple(values))[0] - theirs) / values.std())
        fit = AutoReg(values, lags=1).fit()
        centres.append(forecasters.expect_value("arima", tuple(values), None, 5)[0] - fit.forecast(5)[-1])
    assert np.median(np.abs(levels)) < 0.05 and np.quantile(np.abs(levels), 0.9) < 0.3
    assert np.abs(centres).max() < 1e-6
