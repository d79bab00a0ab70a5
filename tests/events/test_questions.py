"""Events: seeded and without repeats, due when they should be, screened with reasons, levelled as
defined."""

import json

import numpy as np
import pandas as pd
import pytest
from builders import open_sites

from daybefore.questions.collect import collect_events
from daybefore.questions.levels import measure_ranking_volatility as measure_ranking
from daybefore.questions.pose import Deck, Unanswerable, draw_threshold, find_due_date, pose_event
from helpers.files import ROOT
from helpers.question_sets import list_days
from helpers.tables import list_columns

AS_OF = "2016-10-10T00:00:00+08:00"
DAY = pd.Timedelta(days=1)


def observe(values, variable="tmax", last="2016-10-08"):
    """Return a page's observations: entity -> values of consecutive days up to `last`."""
    rows = []
    for entity, series in values.items():
        days = pd.date_range(end=last, periods=len(series))
        rows += [
            (str(day.date()), entity, variable, value)
            for day, value in zip(days, series, strict=True)
        ]
    return pd.DataFrame(rows, columns=["occurred_at", "entity", "variable", "value"])


def open_deck(seed=0):
    return Deck(np.random.default_rng(seed))


def collect(sources, seed=1, keep_binary=1.0, **faults):
    with open_sites(sources, **faults) as crawler:
        return collect_events(sources, crawler, "A", seed=seed, keep_binary=keep_binary)


@pytest.fixture(scope="module")
def few(sources):
    return {
        name: sources[name]
        for name in ("clemson", "oil_brent", "us_polls_national", "seattle_pets")
    }


@pytest.fixture(scope="module")
def opened(collected):
    """The events with their JSON columns open and moments read."""
    events = collected[0].copy()
    for column in ("variables", "options", "metadata"):
        events[column] = events[column].map(json.loads)
    for column in ("as_of", "resolves_at", "answer_due_at"):
        events[column] = pd.to_datetime(events[column], utc=True)
    return events


# --- Posing one event ---


def test_due_is_the_last_date_published_within_the_horizon(sources):
    clemson = sources["clemson"]  # a day later at 09:00 New York, that is 21:00 in Beijing
    date, moment = find_due_date(clemson, "2016-10-08", None, AS_OF, 7)
    assert (date, str(moment)) == ("2016-10-15", "2016-10-16 13:00:00+00:00")
    assert find_due_date(clemson, "2016-10-08", None, AS_OF, 1)[0] == "2016-10-09"
    with pytest.raises(Unanswerable, match="within the horizon"):
        find_due_date(clemson, "2016-10-15", None, AS_OF, 7)


def test_due_dates_keep_to_weekdays_weeks_and_months(sources):
    assert find_due_date(sources["tech_stocks"], "2016-10-07", None, AS_OF, 6)[0] == "2016-10-14"
    assert (
        find_due_date(sources["tech_stocks"], "2016-10-07", None, "2016-10-08T12:00:00+08:00", 3)[0]
        == "2016-10-10"
    )
    assert find_due_date(sources["eia_gasoline"], "2016-09-30", None, AS_OF, 7)[0] == "2016-10-07"
    assert (
        find_due_date(sources["us_cpi"], "2016-08-01", None, "2016-10-14T00:00:00+08:00", 7)[0]
        == "2016-09-01"
    )
    assert find_due_date(sources["i94_traffic"], "2016-10-08", "17:00", AS_OF, 1)[0] == "2016-10-09"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5, 0, 0, 0, 0, 0, 1.0], {1, 2}),  # 1 - 0.94 rounds to 0: up to 2 instead
        ([4, 0, 0, 0, 0, 0, 0.0], {1}),  # down, up or not at all from 0: the least count above it
        ([-4, 0, 0, 0, 0, 0, 0.0], {-1, 0, 1}),  # what has been below 0 may be so again
    ],
)
def test_no_threshold_is_certain_by_its_form(values, expected):
    known = pd.Series(values)
    assert {draw_threshold(known, np.random.default_rng(seed), 0) for seed in range(20)} == expected
    if min(values) == 0:
        assert draw_threshold(known * 0, np.random.default_rng(0), 2) == 0.01


def test_a_series_that_stands_still_is_frozen(sources):
    template = {
        "id": "t",
        "period": "daily",
        "ask": "value",
        "variable": "tmax",
        "text": "{entity}?",
    }
    with pytest.raises(Unanswerable, match="^frozen"):
        pose_event(
            template,
            sources["clemson"],
            observe({"Clemson": [50.0, *[71.0] * 7]}),
            AS_OF,
            open_deck(),
        )
    with pytest.raises(Unanswerable, match="fewer|no entity"):
        pose_event(
            template, sources["clemson"], observe({"Clemson": [70.0, 71.0]}), AS_OF, open_deck()
        )


# --- A window's events ---


def test_the_window_yields_what_was_asked_for(collected, opened):
    assert len(opened) >= 800
    assert set(opened["kind"]) == {"single", "multi", "ranking", "number"}
    assert set(opened["level"]) == {1, 2, 3, 4}
    assert opened["event_id"].is_unique
    assert list(collected[0].columns)[: len(list_columns("events"))] == list_columns("events")
    assert set(collected[0]["as_of"]) == {f"{day}T00:00:00+08:00" for day in list_days("A")}
    assert set(opened["site_type"]) == {
        "prediction_market",
        "news",
        "ranking",
        "government",
        "real_time",
    }


def test_due_dates_are_ahead_and_published_within_the_week(opened):
    assert (opened["resolves_at"] > opened["as_of"]).all()
    assert (opened["resolves_at"] <= opened["as_of"] + 7 * DAY).all()
    start = opened["as_of"].dt.tz_convert("Asia/Shanghai").dt.strftime("%Y-%m-%d")
    date = opened["variables"].map(lambda terms: terms["date"])
    is_nowcast = opened["metadata"].map(lambda note: note["is_nowcast"])
    assert ((date >= start) == ~is_nowcast).all()
    assert is_nowcast.mean() < 0.1
    day = opened["resolves_at"].dt.tz_convert("Asia/Shanghai").dt.normalize()
    assert (opened["answer_due_at"] == day + 7 * DAY + pd.Timedelta(hours=20)).all()


def test_distractors_are_at_hand_and_never_right(opened, acquired, sources):
    market = opened[opened["site_type"] == "prediction_market"].set_index("event_id")
    answers = acquired[0].set_index("event_id")["value"]
    n_options = market["options"].map(len)
    assert set(n_options) - {2} and n_options[n_options != 2].min() >= 4
    for event_id, event in market[n_options > 2].iterrows():
        letters = event["variables"]["letters"]
        added = {
            name.removeprefix("distractor: "): at
            for name, at in letters.items()
            if name.startswith("distractor")
        }
        assert len(added) >= 2
        if answers[event_id] == answers[event_id]:
            assert json.loads(answers[event_id]) not in added.values()
        about = sources[event["variables"]["about"]]
        known = pd.read_csv(ROOT / f"data/replay/{about.rows or about.id}.csv", dtype=str)["entity"]
        assert not set(added) & set(known), event_id
        assert {event["options"][letter] for letter in added.values()} == set(added)


def test_same_seed_same_events_and_another_seed_others(few):
    first, again, other = collect(few), collect(few), collect(few, seed=2)
    pd.testing.assert_frame_equal(first[0], again[0])
    pd.testing.assert_frame_equal(first[1], again[1])
    shared = first[0].merge(other[0], on="event_id")
    assert (shared["prompt_x"] != shared["prompt_y"]).mean() > 0.3


# --- Volatility and levels ---


def test_ranking_volatility_by_hand():
    days = pd.DataFrame(
        {"a": [9, 9, 1, 9], "b": [8, 2, 8, 8], "c": [7, 7, 7, 7], "d": [1, 8, 9, 2]}
    )
    # top 2: ab, ad, db, ab: overlaps 1/2, 1/2, 1/2
    assert measure_ranking(days, k=2) == 0.5
    # top 1: a, a, d, a: overlaps 1, 0, 0
    assert measure_ranking(days, k=1) == pytest.approx(2 / 3)
    # the second: b, d, b, b
    assert measure_ranking(days, k=1, rank=2) == pytest.approx(2 / 3)
    # the lowest: d, b, a, d
    assert measure_ranking(days, k=1, order="asc") == 1.0
    assert measure_ranking(days.iloc[:2], k=1) is None
    seven = pd.concat(
        [days[["b", "a", "d", "c"]].set_axis(list("abcd"), axis=1)] * 3 + [days.iloc[[0]]] * 7
    )
    assert measure_ranking(seven, k=2) == 0.0


def test_levels_of_the_window_follow_the_definition(opened):
    kind, n_options = opened["kind"], opened["options"].map(len)
    cut = kind.map({"number": 0.05, "ranking": opened["volatility"][kind == "ranking"].median()})
    few, given = (kind == "single") & (n_options < 4), kind.isin(["single", "multi"])
    assert (
        opened["level"].tolist()
        == np.select([few, given, opened["volatility"] > cut], [1, 2, 4], 3).tolist()
    )
