"""Events: seeded and without repeats, due when they should be, screened with reasons, levelled as
defined."""

import json

import numpy as np
import pandas as pd
import pytest
from builders import open_sites

from daybefore.questions.collect_events import collect_events
from daybefore.questions.fill_templates import (
    Deck,
    Unanswerable,
    draw_threshold,
    find_due_date,
    pose_event,
)
from daybefore.questions.levels import measure_ranking_volatility
from helpers.files import ROOT
from helpers.set_names import list_days
from helpers.tables import list_columns

AS_OF = "2016-10-10T00:00:00+08:00"
DAY = pd.Timedelta(days=1)


@pytest.fixture(scope="module")
def opened(collected):
    """The events with their JSON columns open and moments read."""
    events = collected[0].copy()
    for column in ("variables", "options", "metadata"):
        events[column] = events[column].map(json.loads)
    for column in ("as_of", "resolves_at", "answer_due_at"):
        events[column] = pd.to_datetime(events[column], utc=True).dt.tz_convert("Asia/Shanghai")
    return events


# --- Posing one event ---


@pytest.mark.parametrize(
    ("source", "last", "hour", "as_of", "days", "due"),
    [
        ("clemson", "2016-10-08", None, AS_OF, 7, "2016-10-15"),  # a day later at 21:00 in Beijing
        ("clemson", "2016-10-08", None, AS_OF, 1, "2016-10-09"),
        ("tech_stocks", "2016-10-07", None, AS_OF, 6, "2016-10-14"),
        ("tech_stocks", "2016-10-07", None, "2016-10-08T12:00:00+08:00", 3, "2016-10-10"),
        ("eia_gasoline", "2016-09-30", None, AS_OF, 7, "2016-10-07"),
        ("us_cpi", "2016-08-01", None, "2016-10-14T00:00:00+08:00", 7, "2016-09-01"),
        ("i94_traffic", "2016-10-08", "17:00", AS_OF, 1, "2016-10-09"),
    ],
)
def test_due_is_the_last_date_published_within_the_horizon(
    sources, source, last, hour, as_of, days, due
):
    date, moment = find_due_date(sources[source], last, hour, as_of, days)
    assert date == due and moment <= pd.Timestamp(as_of) + days * DAY
    with pytest.raises(Unanswerable, match="within the horizon"):
        find_due_date(sources[source], due, hour, as_of, days)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5, 0, 0, 0, 0, 0, 1.0], {1, 2}),  # 1 - 0.94 rounds to 0: up to 2 instead
        ([4, 0, 0, 0, 0, 0, 0.0], {1}),  # down, up or not at all from 0: the least count above it
        ([-4, 0, 0, 0, 0, 0, 0.0], {-1, 0, 1}),  # what has been below 0 may be so again
        ([0, 0, 0, 0, 0, 0, 0.0], {1}),
    ],
)
def test_no_threshold_is_certain_by_its_form(values, expected):
    known, seeds = pd.Series(values), range(20)
    assert {draw_threshold(known, np.random.default_rng(seed), 0) for seed in seeds} == expected


@pytest.mark.parametrize(
    ("values", "said"), [([50.0, *[71.0] * 7], "^frozen"), ([70.0, 71.0], "no entity")]
)
def test_a_series_that_stands_still_or_is_short_cannot_be_asked_about(sources, values, said):
    days = pd.date_range(end="2016-10-08", periods=len(values)).strftime("%Y-%m-%d")
    seen = pd.DataFrame({"occurred_at": days, "entity": "Clemson", "variable": "tmax"})
    template = {"id": "t", "ask": "value", "variable": "tmax", "text": "{entity}?"}
    deck = Deck(np.random.default_rng(0))
    with pytest.raises(Unanswerable, match=said):
        pose_event(template, sources["clemson"], seen.assign(value=values), AS_OF, deck)


# --- A window's events ---


def test_the_window_yields_what_was_asked_for(collected, opened):
    assert len(opened) >= 800 and opened["event_id"].is_unique
    assert set(opened["kind"]) == {"single", "multi", "ranking", "number"}
    assert opened["site_type"].nunique() == 5
    assert list(collected[0])[: len(list_columns("events"))] == list_columns("events")
    assert set(collected[0]["as_of"]) == {f"{day}T00:00:00+08:00" for day in list_days("A")}


def test_due_dates_are_ahead_and_published_within_the_week(opened):
    ahead = opened["resolves_at"] - opened["as_of"]
    assert (ahead > 0 * DAY).all() and (ahead <= 7 * DAY).all()
    date = opened["variables"].map(lambda terms: terms["date"])
    is_nowcast = opened["metadata"].map(lambda note: note["is_nowcast"])
    assert ((date >= opened["as_of"].dt.strftime("%Y-%m-%d")) == ~is_nowcast).all()
    assert is_nowcast.mean() < 0.1
    due = opened["resolves_at"].dt.normalize() + 7 * DAY + pd.Timedelta(hours=20)
    assert (opened["answer_due_at"] == due).all()


def test_distractors_are_at_hand_and_never_right(opened, acquired, sources):
    market = opened[opened["site_type"] == "prediction_market"].set_index("event_id")
    right = acquired[0].set_index("event_id")["value"].map(json.loads, na_action="ignore")
    n_options = market["options"].map(len)
    assert (n_options > 2).any() and n_options[n_options != 2].min() >= 4
    for event_id, event in market[n_options > 2].iterrows():
        letters = event["variables"]["letters"]
        added = {name[12:]: at for name, at in letters.items() if name.startswith("distractor: ")}
        assert len(added) >= 2 and right[event_id] not in added.values()
        about = sources[event["variables"]["about"]]
        known = pd.read_csv(ROOT / f"data/replay/{about.rows or about.id}.csv", dtype=str)["entity"]
        assert not set(added) & set(known), event_id
        assert {event["options"][letter] for letter in added.values()} == set(added)


def test_same_seed_same_events_and_another_seed_others(sources):
    few = {name: sources[name] for name in ("clemson", "us_polls_national", "seattle_pets")}
    days = list_days("A")[:7]
    made = []
    for seed in (1, 1, 2):
        with open_sites(few) as web:
            made.append(collect_events(few, web, "A", seed=seed, keep_binary=1.0, days=days))
    for first, again in zip(*made[:2], strict=True):
        pd.testing.assert_frame_equal(first, again)
    shared = made[0][0].merge(made[2][0], on="event_id")
    assert (shared["prompt_x"] != shared["prompt_y"]).mean() > 0.3


# --- Volatility and levels ---


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ({"k": 2}, 0.5),  # ab, ad, db, ab: overlaps 1/2, 1/2, 1/2
        ({"k": 1}, 2 / 3),  # a, a, d, a: overlaps 1, 0, 0
        ({"k": 1, "rank": 2}, 2 / 3),  # b, d, b, b
        ({"k": 1, "order": "asc"}, 1.0),  # d, b, a, d
    ],
)
def test_ranking_volatility_by_hand(how, wanted):
    days = pd.DataFrame({"a": [9, 9, 1, 9], "b": [8, 2, 8, 8], "c": 7, "d": [1, 8, 9, 2]})
    assert measure_ranking_volatility(days, **how) == pytest.approx(wanted)
    assert measure_ranking_volatility(days.iloc[:2], **how) is None
    seven = pd.concat([days] * 3 + [days.iloc[[0]]] * 7)
    assert measure_ranking_volatility(seven, **how) == 0.0


def test_levels_of_the_window_follow_the_definition(opened):
    kind, n_options = opened["kind"], opened["options"].map(len)
    cut = kind.map({"number": 0.05, "ranking": opened["volatility"][kind == "ranking"].median()})
    few, given = (kind == "single") & (n_options < 4), kind.isin(["single", "multi"])
    wanted = np.select([few, given, opened["volatility"] > cut], [1, 2, 4], 3)
    assert opened["level"].tolist() == wanted.tolist() and len(set(wanted)) == 4
