"""Baselines know what was published before the start day, answer every kind, and say how sure they
are."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row
from statsmodels.tools.sm_exceptions import ConvergenceWarning
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.holtwinters import SimpleExpSmoothing

from daybefore.agents import baselines, baselines_of_series
from daybefore.agents.baselines import expect_values
from daybefore.agents.baselines_of_answers import METHODS, load_past_agents
from daybefore.agents.registry import load_agents
from daybefore.formats.futurex_questions import build_events, screen_rows
from daybefore.questions import long_questions
from daybefore.questions.fill_templates import step_dates
from helpers.files import parse_json

AGENTS = sorted(load_agents())


@pytest.fixture(scope="module")
def sample(collected):
    """Up to two events of every ask and site type, one of each template at most."""
    events = collected[0].drop_duplicates("template_id")
    return events.groupby(["family", "site_type"]).head(2).to_dict("records")


@pytest.fixture(scope="module")
def outcomes(world, sample):
    """Outcome of every agent on every event of the sample, with all pages that were fetched for
    it."""
    crawler = world()
    found = {
        (name, e["event_id"]): agent["forecast"](e, crawler)
        for name, agent in load_agents().items()
        for e in sample
    }
    return found, crawler.pages


@pytest.mark.parametrize("name", AGENTS)
def test_every_prediction_is_valid_and_of_what_was_published_before(name, sample, outcomes):
    found, pages = outcomes
    for event in sample:
        outcome = found[name, event["event_id"]]
        prediction = outcome["prediction"]
        value = prediction["value"]
        spread = prediction["distribution"]
        shares = list(spread.values())
        letters = list(json.loads(event["options"]))
        assert json.loads(json.dumps(prediction)) == prediction and np.isfinite(shares).all()
        if event["kind"] == "single":
            assert value in letters and list(spread) == letters
            assert sum(shares) == pytest.approx(1, abs=1e-5)
            assert prediction["probability"] == pytest.approx(spread[value], abs=1e-5)
        elif event["kind"] == "multi":
            assert value and value == sorted(set(value)) and set(value) <= set(letters)
            assert list(spread) == letters and all(0 <= share <= 1 for share in shares)
        elif event["kind"] == "ranking":
            terms = json.loads(event["variables"])
            assert len(value) == terms["k"] == len(set(value))
            assert sum(shares) == pytest.approx(terms["k"], abs=1e-3)
            assert set(value) <= set(terms.get("among", value))
        else:
            assert isinstance(value, float) and shares == sorted(shares)
            ends = spread["0.05"], spread["0.95"]
            assert (prediction["interval_low"], prediction["interval_high"]) == ends
        used = {page for step in outcome["trace"] for page in step.get("page_ids", [])}
        assert used == set(prediction["source_ids"]) and used
        moments = [pd.Timestamp(pages[page_id]["published_at"]) for page_id in used]
        assert max(moments) < pd.Timestamp(event["as_of"])


# --- Methods by hand ---


def test_the_base_rate_draws_from_all_that_was():
    values = [100, 3, 3, 4, 4, 5, 5, 11]
    history = pd.DataFrame({"x": map(float, values)}, pd.date_range("2016-10-02", periods=8))
    point, draws = expect_values("base_rate", history, "2016-10-12", np.random.default_rng(0))
    assert point == {"x": 4.5} and draws.shape == (400, 1)
    assert {*draws[:, 0]} == {*values}


@pytest.mark.parametrize(
    (
        "method",
        "point",
        "errors",
    ),  # errors one step ahead of 4, 8 and 3, by what the values up to each place say
    [
        ("last_value", 3, (-2, 4, -5)),
        ("mean", 4, (4 - 3, 8 - 3.25, 3 - 4.2)),
        ("seasonal", 8, (2, 2, -1)),
    ],
)
def test_a_rules_spread_is_that_of_its_own_past_errors(method, point, errors):
    found = baselines.expect_value(method, (1.0, 2.0, 6.0, 4.0, 8.0, 3.0), 2, 1)
    assert found == pytest.approx((point, (sum(error**2 for error in errors) / 3) ** 0.5))
    short = baselines.expect_value(method, (1.0, 2.0, 6.0, 4.0, 8.0), 2, 1)
    assert short[1] == pytest.approx(np.std([1, 2, 6, 4, 8])), "of too few errors the series' own"


def test_smoothing_by_hand():
    """With weight w the errors of 2 and 1 are 2 and 1 - 2w: least at one half, where the level is
    1."""
    assert baselines.fit_smoothing((0.0, 2.0, 1.0)) == pytest.approx((1, 0.5, 2), abs=1e-5)


def test_smoothing_and_arima_agree_with_statsmodels():
    rng = np.random.default_rng(8)
    levels = []
    centres = []
    for i in range(30):
        noise = rng.normal(size=40)
        steps = rng.normal(size=40)
        values = np.cumsum(steps) * (i % 3) / 2 + noise + 50
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = SimpleExpSmoothing(values, initialization_method="estimated").fit()
        level = baselines.fit_smoothing(tuple(values))[0]
        levels.append(abs(level - fit.forecast(1)[0]) / values.std())
        theirs = AutoReg(values, lags=1).fit().forecast(5)[-1]
        centres.append(baselines.expect_value("arima", tuple(values), None, 5)[0] - theirs)
    assert np.median(levels) < 0.05 and np.quantile(levels, 0.9) < 0.3
    assert np.abs(centres).max() < 1e-6


DAYS = pd.date_range("2026-01-10", periods=40, freq="D").strftime("%Y-%m-%d")


@pytest.fixture(scope="module")
def tables():
    """Forty yes/no questions that end in no, forty of four names of which "Other" is right, ten of
    several."""
    rows = [make_past_row(n, answer="B", end_time=day) for n, day in enumerate(DAYS)]
    names = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]
    rows += [
        make_past_row(100 + n, options=names, answer="D", end_time=day)
        for n, day in enumerate(DAYS)
    ]
    several = {"options": list("uvwxyz"), "choice_type": "multi", "answer": "A, B"}
    rows += [make_past_row(200 + n, end_time=day, **several) for n, day in enumerate(DAYS)]
    return build_events(screen_rows(pd.DataFrame(rows))[0])


def predict(events, answers, name, event):
    return load_past_agents(events, answers)[name]["forecast"](event, None)["prediction"]


def test_what_ends_later_changes_nothing(tables):
    events, answers = tables
    middle = events.iloc[20].to_dict()
    known_at = pd.to_datetime(events["resolves_at"]) + pd.Timedelta(days=1)
    ended = known_at <= pd.Timestamp(middle["as_of"])
    assert 0 < ended.sum() < len(events) / 2
    others = events["kind"].map({"single": '"A"', "multi": '["A", "B", "C", "D", "E", "F"]'})
    later = answers.assign(value=answers["value"].where(ended, others))
    earlier = answers.assign(value=answers["value"].where(~ended, '"A"'))
    for name in METHODS:
        before = predict(events, answers, name, middle)
        assert predict(events, later, name, middle) == before, name
        assert name != "base_rate" or predict(events, earlier, name, middle) != before


def test_rates_and_words_are_learnt(tables):
    events, answers = tables
    yes_no, named, several = (events.iloc[n].to_dict() for n in (39, 79, 119))
    rate = predict(events, answers, "base_rate", yes_no)
    assert rate["value"] == "B" and rate["probability"] > 0.9
    assert set(predict(events, answers, "base_rate", named)["distribution"].values()) == {0.25}
    assert predict(events, answers, "base_rate", several)["distribution"]["A"] == pytest.approx(
        1 / 3, abs=1e-6
    )
    words = predict(events, answers, "option_words", named)
    assert parse_json(named["options"])[words["value"]] == "Other"
    first = predict(events, answers, "option_words", events.iloc[40].to_dict())
    assert set(first["distribution"].values()) == {0.25}, "nothing had ended by its start"


@pytest.fixture(scope="module")
def events():
    sources = {
        name: long_questions.load_series()[name]
        for name in ("dengue_weeks", "ecb_weeks", "flight_weeks")
    }
    posed = long_questions.pose_questions(sources, starts=["2023-07-04"])[0]
    return posed.assign(as_of=posed["opens_at"].str.replace("2023-07-04", "2023-07-20")).to_dict(
        "records"
    )


def test_every_drawn_future_is_answered_as_the_question_will_be(events):
    tried = set()
    for event in [event for event in events if event["kind"] != "number"]:
        variables = parse_json(event["variables"])
        is_race = variables["ask"] == "leader"
        names = tuple(sorted(variables["reference"])) if is_race else (variables["entity"],)
        table = long_questions.cut_series(event["source_id"], variables["variable"], event["as_of"])
        past = table[list(names)].dropna()
        known = tuple(past.index)
        values = past.to_numpy()
        ahead = step_dates("weekly", known[-1], variables["date"])
        days = np.array(known, dtype="datetime64[D]")
        drawn = baselines_of_series.draw_paths("walk", values, days, len(ahead))[::7]
        if variables["ask"] == "band":
            drawn[0, -1, 0] = variables["cuts"][0]  # a value on the cut belongs above it
        futures = [pd.DataFrame(path, index=ahead, columns=names) for path in drawn]
        slow = [
            long_questions.resolve_question(variables, pd.concat([past, one])) for one in futures
        ]
        assert (
            baselines_of_series.resolve_paths(variables, names, known, values, ahead, drawn) == slow
        )
        tried.add(variables["ask"])
    assert tried == {"change", "threshold", "band", "leader", "peak"}


def test_opening_never_looks_again_and_the_others_do(events):
    events = [event for event in events if parse_json(event["variables"])["date"] > "2023-08-20"]
    later = [one | {"as_of": one["as_of"].replace("2023-07-20", "2023-08-20")} for one in events]

    def ask(name, asked):
        return [
            baselines_of_series.forecast_from_paths(name, event)["prediction"] for event in asked
        ]

    assert ask("opening", later) == ask("opening", events)
    assert ask("walk", later) != ask("walk", events) == ask("walk", events)
    assert ask("uniform", later) != ask("walk", later)


def test_counts_never_fall_below_zero_and_probabilities_sum_to_one(events):
    for event in events:
        for name in baselines_of_series.METHODS:
            said = baselines_of_series.forecast_from_paths(name, event)["prediction"]
            if event["kind"] == "number":
                assert said["value"] >= 0 or event["source_id"] == "flight_weeks"
            else:
                assert sum(said["distribution"].values()) == pytest.approx(1, abs=1e-4)
                assert 0 < said["probability"] < 1


def test_a_line_has_the_same_bytes_in_every_python():
    """The standard library's own function gives other last digits from Python 3.12 on, and other
    ARIMA predictions."""
    values = (10.2, 47.0, 34.5, 48.3, 44.7, 14.9, 18.1, 8.3, 7.3, 3.3, 15.1, 30.2)
    slope, constant = baselines.fit_line(values[:-1], values[1:])
    assert (slope.hex(), constant.hex()) == ("0x1.db480b791122ep-2", "0x1.c28bf98aaaa7ep+3")
    with pytest.raises(ZeroDivisionError):
        baselines.fit_line((1.0, 1.0), (1.0, 2.0))
