"""Baselines know only what was published before the start day, answer every kind, and say how sure they are."""

import json
import os
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from statsmodels.tools.sm_exceptions import ConvergenceWarning
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.holtwinters import SimpleExpSmoothing

from helpers.agents import forecasters
from helpers.agents.forecasters import count_steps, expect_values, forecast_event, place_values
from helpers.agents.registry import load_agents
from helpers.events.types import NONE_LABEL, resolve_event
from helpers.store import ROOT

AGENTS = sorted(load_agents())


@pytest.fixture(scope="module")
def sample(collected):
    """Up to six events of every ask and site type, one of each template at most."""
    events = collected[0].drop_duplicates("template_id")
    return events.groupby(["family", "site_type"]).head(6).to_dict("records")


@pytest.fixture(scope="module")
def outcomes(world, sample):
    """Outcome of every agent on every event of the sample, with all pages that were fetched for it."""
    crawler = world()
    found = {
        (name, e["event_id"]): agent["forecast"](e, crawler) for name, agent in load_agents().items() for e in sample
    }
    return found, crawler.pages


def test_the_sample_has_all_kinds_and_asks(sample):
    assert {event["kind"] for event in sample} == {"single", "multi", "ranking", "number"}
    assert len({event["family"] for event in sample}) == 10
    assert {event["site_type"] for event in sample} >= {"prediction_market", "government", "ranking", "real_time"}


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


def test_it_asks_the_world_as_of_the_start_day_only(world, sample):
    crawler, asked = world(), []
    fetch = crawler.fetch
    crawler.fetch = lambda url, as_of: asked.append(as_of) or fetch(url, as_of)
    for event in sample[::7]:
        asked.clear()
        for name in AGENTS:
            load_agents()[name]["forecast"](event, crawler)
        assert set(asked) <= {event["as_of"]}


@pytest.mark.parametrize("name", AGENTS)
def test_the_same_event_gets_the_same_answer(name, sample, outcomes, world):
    crawler, agent = world(), load_agents()[name]
    for event in sample[::5][::-1]:
        assert agent["forecast"](event, crawler) == outcomes[0][name, event["event_id"]]


def test_agents_differ(sample, outcomes):
    values = {name: [str(outcomes[0][name, e["event_id"]]["prediction"]["value"]) for e in sample] for name in AGENTS}
    for name in AGENTS:
        others = [other for other in AGENTS if other != name]
        assert all(np.mean([a == b for a, b in zip(values[name], values[o], strict=True)]) < 0.95 for o in others), name


# --- Equal to the plain way ---


RISES = dict(zip(["z", "y", "x", NONE_LABEL], "ABCD", strict=True))
ASKED = {
    "change": {"reference": 2.0, "letters": {"Yes": "A", "No": "B"}},
    "threshold": {"threshold": 2.0, "letters": {"Yes": "A", "No": "B"}},
    "band": {"cuts": [1.0, 3.0], "letters": {"0": "A", "1": "B", "2": "C"}},
    "outcome": {"letters": {"home": "A", "draw": "B", "away": "C"}},
    "leader": {"reference": dict.fromkeys("xyz", 0.0), "letters": dict(zip("zyx", "ABC", strict=True))},
    "risers": {"reference": {"x": 1.0, "y": 2.0, "z": 3.0}, "letters": RISES},
    "above": {"threshold": 2.0, "reference": dict.fromkeys("xyz", 0.0), "letters": RISES},
}


@pytest.mark.parametrize("more", [{}, {"order": "asc"}, {"absent": "out"}])
@pytest.mark.parametrize("ask", ASKED)
def test_draws_alike_are_answered_alike(ask, more):
    rng = np.random.default_rng(5)
    terms = ASKED[ask] | {"ask": ask, "by": "value"} | more
    names = list("zxy") if isinstance(terms.get("reference"), dict) else ["x"]
    terms |= {} if len(names) > 1 else {"entity": "x"}
    draws = pd.DataFrame(rng.integers(-1, 5, (400, len(names))).astype(float), columns=names)
    if more.get("absent"):
        draws = draws.mask((rng.random(draws.shape) < 0.1) & (ask == "leader") & ([True, False, True][: len(names)]))
        draws.iloc[0] = np.inf
    plain = Counter(frozenset(resolve_event(terms, row)) for row in draws.to_dict("records"))
    assert forecasters.count_answers(terms, names, draws.to_numpy()) == plain and len(plain) > 1


def test_past_errors_are_those_of_the_rule_at_each_place():
    rules = {
        "last_value": lambda past, back: past[-1],
        "seasonal": lambda past, back: past[-min(back, len(past))],
        "mean": lambda past, back: np.mean(past[-7:]),
    }
    rng = np.random.default_rng(6)
    for _ in range(300):
        values = tuple(rng.normal(50, 9, rng.integers(2, 40)).tolist())
        back, n_steps = int(rng.integers(1, len(values) + 1)), int(rng.integers(1, 9))
        for name, rule in rules.items():
            ends = range(2, len(values) - n_steps)
            errors = [values[i + n_steps] - rule(values[: i + 1], back) for i in ends]
            plain = np.std(values) if len(errors) < 3 else np.sqrt(np.mean(np.square(errors)))
            assert forecasters.METHODS[name](values, back, n_steps)[1] == plain


# --- Methods by hand ---


def expect(method, values, date, last="2016-10-09", freq="D", drop=()):
    """Return what a method expects of one series that ends on `last`, days of `drop` missing."""
    days = [str(day.date()) for day in pd.date_range(end=last, periods=len(values), freq=freq)]
    history = pd.DataFrame({"x": values}, index=days, dtype=float).drop(index=list(drop))
    point, draws = expect_values(method, history, place_values(history, date), np.random.default_rng(0))
    assert draws.shape == (400, 1)
    return point["x"], pd.Series(draws[:, 0])


RAMP = list(range(21))  # 19 September..9 October; day d of October has the value d + 11


@pytest.mark.parametrize(
    ("date", "value"),
    [("2016-10-10", 14), ("2016-10-12", 16), ("2016-10-16", 20), ("2016-10-17", 14), ("2016-10-23", 20)],
)
def test_same_day_last_week_is_whole_weeks_back(date, value):
    assert expect("seasonal", RAMP, date)[0] == value


def test_same_day_last_week_holds_where_a_day_is_missing():
    assert expect("seasonal", RAMP, "2016-10-11", drop=["2016-10-06"])[0] == 15  # 4 October
    assert expect("seasonal", RAMP, "2016-10-13", drop=["2016-10-05"])[0] == 17  # 6 October


def test_same_day_last_week_of_weekdays_and_weeks():
    assert expect("seasonal", RAMP, "2016-10-13", last="2016-10-07", freq="B")[0] == 19  # Thursday 6 October
    assert expect("seasonal", RAMP, "2016-10-16", freq="7D")[0] == 20
    assert expect("seasonal", RAMP[:2], "2016-10-16")[0] == 1


def test_last_mean_and_base_rate_by_hand():
    values = [100, 3, 3, 4, 4, 5, 5, 11]
    assert expect("last_value", values, "2016-10-12")[0] == 11
    assert expect("mean", values, "2016-10-12")[0] == 5  # 35 / 7
    point, draws = expect("base_rate", values, "2016-10-12")
    assert point == 4.5
    assert set(draws) <= set(map(float, values)) and draws.nunique() > 4


def test_draws_are_as_wide_as_past_errors():
    values = np.random.default_rng(1).normal(50, 4, 60)
    point, draws = expect("last_value", values, "2016-10-11")
    errors = values[4:] - values[2:-2]
    assert draws.std() == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.15)
    assert draws.mean() == pytest.approx(point, abs=1)
    assert expect("last_value", np.arange(20.0), "2016-10-14")[1].std() == pytest.approx(5, rel=0.15)


def test_arima_falls_back_to_the_mean_of_few_values(monkeypatch):
    seven = [3, 5, 4, 6, 5, 4, 8]
    assert expect("arima", seven, "2016-10-10")[0] == 5
    fitted = []
    fit = forecasters.linear_regression
    monkeypatch.setattr(forecasters, "linear_regression", lambda *given: fitted.append(given) or fit(*given))
    forecasters.fit_arima.cache_clear()
    expect("arima", seven, "2016-10-10")
    expect("arima", [4.0] * 30, "2016-10-10")
    assert not fitted
    expect("arima", [*seven, 9], "2016-10-10")
    assert len(fitted) == 1


def test_arima_finds_a_pull_to_the_mean():
    noise, values = np.random.default_rng(0).normal(0, 1, 400), [0.0]
    for shock in noise:
        values.append(0.6 * values[-1] + shock)
    values = [value + 100 for value in values[:-1]] + [104.0]
    assert expect("arima", values, "2016-10-10")[0] == pytest.approx(102.4, abs=0.3)
    assert expect("arima", values, "2016-10-30")[0] == pytest.approx(100, abs=0.4)
    assert expect("arima", values, "2016-10-30")[1].std() == pytest.approx(1.25, rel=0.15)


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
        centres.append(forecasters.expect_arima(tuple(values), None, 5)[0] - fit.forecast(5)[-1])
    assert np.median(np.abs(levels)) < 0.05 and np.quantile(np.abs(levels), 0.9) < 0.3
    assert np.abs(centres).max() < 1e-6


def test_smoothing_lies_between_last_and_mean():
    values = np.random.default_rng(3).normal(50, 4, 40)
    assert abs(expect("smoothing", values, "2016-10-10")[0] - values.mean()) < values.std()
    walk = np.cumsum(np.random.default_rng(3).normal(0, 4, 40))
    assert expect("smoothing", walk, "2016-10-10")[0] == pytest.approx(walk[-1], abs=2)


def test_steps_ahead():
    days = pd.date_range("2016-10-03", "2016-10-09")
    weeks = pd.date_range("2016-08-05", periods=9, freq="7D")
    workdays = pd.bdate_range(end="2016-10-07", periods=12)
    for dates, date, n_steps in ((days, "2016-10-12", 3), (weeks, "2016-10-14", 2), (workdays, "2016-10-13", 4)):
        assert count_steps(dates.to_numpy().astype("datetime64[D]"), np.datetime64(date)) == n_steps


def test_guesses_are_spread_over_the_options(collected, world):
    crawler, counts = world(), {}
    for event in collected[0][collected[0]["kind"] == "single"].to_dict("records")[:200]:
        if len(json.loads(event["options"])) == 3:
            value = forecast_event("random", event, crawler)["prediction"]["value"]
            counts[value] = counts.get(value, 0) + 1
    assert set(counts) == {"A", "B", "C"} and min(counts.values()) > 0.15 * sum(counts.values())


# --- The registry ---


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('category = "robot"\nmethod = "mean"', "mine: category must be one of baseline, base_model"),
        ('category = "baseline"\nmethod = "crystal_ball"', "mine: method must be one of last_value, seasonal"),
        ('category = "baseline"', "mine: method must be one of"),
    ],
)
def test_a_wrong_agent_is_named(tmp_path, line, words):
    path = tmp_path / "agents.toml"
    path.write_text(f'[mine]\nframework = "x"\n{line}\n', encoding="utf-8")
    with pytest.raises(ValueError, match=f"agents.toml, {words}"):
        load_agents(path, wanted=["mine"])


def test_the_registry_holds_the_baselines():
    assert (ROOT / "data/agents.toml").exists()
    methods = {agent["params"]["method"] for agent in load_agents().values() if agent["category"] == "baseline"}
    assert methods == set(forecasters.METHODS)


def test_arima_is_the_same_on_any_processor():
    """The linear algebra library picks its routines by processor; which of two like entities leads shall not follow."""
    program = (
        "import numpy as np; from helpers.agents.forecasters import fit_arima;"
        "rng = np.random.default_rng(3);"
        "print([fit_arima(tuple(rng.normal(50, 9, 40).round(1).tolist())) for _ in range(30)])"
    )
    fits = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OPENBLAS_CORETYPE": kind},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kind in ("Haswell", "Nehalem")
    }
    assert len(fits) == 1 and fits != {""}
