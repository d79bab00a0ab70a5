"""True answers, those of the committed rows; failures told apart; followed crawl by crawl."""

import json
import statistics
from functools import cache

import pandas as pd
import pytest
from builders import open_sites
from hypothesis import given
from hypothesis import strategies as st

from daybefore.questions.collect import CRAWL_HOURS
from daybefore.questions.types import resolve_event
from daybefore.scoring.answers import acquire_answers, follow_acquisition, measure_spread
from helpers.files import ROOT, parse_json
from helpers.tables import list_columns

DAY = pd.Timedelta(days=1)


@cache
def read_rows(name):
    """Return the committed rows of a source by their date or time."""
    rows = pd.read_csv(ROOT / f"data/replay/{name}.csv", dtype={"occurred_at": str, "entity": str})
    return dict(list(rows.set_index("entity").groupby("occurred_at")))


def test_values_are_what_the_rows_say(collected, acquired, sources):
    """What an ask makes of a snapshot is worked by hand in events/test_types.py."""
    answers = acquired[0].set_index("event_id")
    asks = []
    for event in collected[0].to_dict("records"):
        terms, answer = json.loads(event["variables"]), answers.loc[event["event_id"]]
        source = sources[terms.get("about", event["source_id"])]
        when = terms["date"] + (f"T{terms['hour']}" if terms["hour"] else "")
        rows = read_rows(source.rows or source.id).get(when)
        wanted = None if rows is None else resolve_event(terms, rows[terms["variable"]].dropna())
        assert (answer["status"] == "ok") == (wanted is not None), event["event_id"]
        assert parse_json(answer["value"]) == wanted, event["event_id"]
        asks += [terms["ask"]] if wanted else []
    assert len(asks) > 800
    assert len(set(asks)) == 10


@given(st.lists(st.none() | st.integers(0, 99), min_size=12, max_size=12), st.sampled_from([1, 7]))
def test_a_spread_is_of_seven_days_before_the_outcome_or_of_seven_values_of_weeks(
    sources, values, step
):
    name, last = ("clemson", "2016-10-12") if step == 1 else ("eia_gasoline", "2016-10-14")
    days = pd.date_range(end=last, periods=12, freq=f"{step}D").strftime("%Y-%m-%d")
    series = pd.DataFrame({"x": values}, index=days, dtype=float)
    event = {"terms": {"date": days[-2], "entity": "x"}, "as_of": "2016-10-03T00:00:00+08:00"}
    found = measure_spread(event, series, sources[name])
    before = (
        values[3:10] if step == 1 else [value for value in values[:10] if value is not None][-7:]
    )
    there = [value for value in before if value is not None]
    wanted = round(statistics.stdev(there), 9) if len(there) > 2 else None
    assert (found["spread"], found["n_spread"]) == (wanted, len(there))


def test_crawls_are_four_a_day_for_at_most_seven_days(collected, acquired):
    answers, attempts = acquired
    assert list(answers.columns) == list_columns("answers")
    assert list(answers["event_id"]) == list(collected[0]["event_id"])
    moments = pd.to_datetime(attempts["attempted_at"])
    assert attempts["attempted_at"].str.endswith(":00:00+08:00").all()
    assert set(moments.dt.hour) == set(CRAWL_HOURS) == {14, 16, 18, 20}
    attempts = attempts.assign(moment=pd.to_datetime(attempts["attempted_at"], utc=True)).merge(
        collected[0][["event_id", "resolves_at"]]
    )
    first_day = (
        pd.to_datetime(attempts["resolves_at"], utc=True)
        .dt.tz_convert("Asia/Shanghai")
        .dt.normalize()
    )
    wait = attempts["moment"] - first_day
    assert wait.min() >= pd.Timedelta(hours=14)
    assert wait.max() == 7 * DAY + pd.Timedelta(hours=20)
    never = answers[answers["status"] == "not_published"]["event_id"]
    assert len(never) > 0
    assert (attempts[attempts["event_id"].isin(never)].groupby("event_id").size() == 32).all()


@pytest.fixture(scope="module")
def chosen(collected, sources):
    events = collected[0]
    names = ["clemson", "geomagnetic", "i94_hours", "weather_bwi", "algarve_hotel"]
    return events[events["source_id"].isin(names)].reset_index(drop=True), {
        name: sources[name] for name in names
    }


def acquire(chosen, **faults):
    with open_sites(chosen[1], **faults) as crawler:
        return acquire_answers(chosen[0], crawler)


def test_sites_that_are_down_and_pages_that_cannot_be_read_are_told_apart(chosen):
    answers, attempts = acquire(chosen, outage=1.0)
    assert set(answers["status"]) == set(attempts["status"]) == {"crawl_error"}
    assert answers["value"].isna().all() and attempts["reason"].str.contains("503").all()
    answers, attempts = acquire(chosen, layout=1.0)
    assert set(answers["status"]) == set(attempts["status"]) == {"extraction_error"}
    assert attempts["reason"].str.contains("rule").all()


def test_answers_are_followed_crawl_by_crawl_from_the_resolution_day():
    moments = [
        "2016-10-11T14:00:00+08:00",
        "2016-10-11T20:00:00+08:00",
        "2016-10-12T14:00:00+08:00",
        None,
    ]
    events = pd.DataFrame({"event_id": list("abcd"), "resolves_at": "2016-10-11T09:00:00+08:00"})
    answers = events.assign(acquired_at=moments, status=["ok", "ok", "ok", "not_published"]).drop(
        columns="resolves_at"
    )
    steps = follow_acquisition(events, answers).set_index("crawl")
    assert steps.loc[[1, 2, 4, 5], "found_share"].tolist() == [0.25, 0.25, 0.5, 0.75]
    assert steps.loc[5, ["day", "hour"]].tolist() == [1, "14:00"]
    assert steps.index[-1] == 32 and steps["found_share"].iloc[-1] == 0.75
