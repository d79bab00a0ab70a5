"""True answers, those of the committed rows; failures told apart; followed crawl by crawl."""

import json
import statistics
from functools import cache

import pandas as pd
import pytest
from builders import open_sites
from hypothesis import given
from hypothesis import strategies as st

from daybefore.questions.collect_events import CRAWL_HOURS
from daybefore.questions.question_types import resolve_event
from daybefore.scoring.acquire_answers import acquire_answers, follow_acquisition, measure_spread
from helpers.files import ROOT, parse_json
from helpers.tables import list_columns


@cache
def read_rows(name):
    """Return the committed rows of a source by their date or time."""
    rows = pd.read_csv(ROOT / f"data/replay/{name}.csv", dtype={"occurred_at": str, "entity": str})
    return dict(list(rows.set_index("entity").groupby("occurred_at")))


def test_values_are_what_the_rows_say(collected, acquired, sources):
    """What an ask makes of a snapshot is worked by hand in events/test_types.py."""
    answers, asks = acquired[0].set_index("event_id"), []
    assert list(answers.reset_index()) == list_columns("answers")
    for event in collected[0].to_dict("records"):
        terms, answer = json.loads(event["variables"]), answers.loc[event["event_id"]]
        source = sources[terms.get("about", event["source_id"])]
        when = terms["date"] + (f"T{terms['hour']}" if terms["hour"] else "")
        rows = read_rows(source.rows or source.id).get(when)
        wanted = None if rows is None else resolve_event(terms, rows[terms["variable"]].dropna())
        assert (answer["status"] == "ok") == (wanted is not None), event["event_id"]
        assert parse_json(answer["value"]) == wanted, event["event_id"]
        asks += [terms["ask"]] if wanted else []
    assert len(asks) > 800 and len(set(asks)) == 10


@given(st.lists(st.none() | st.integers(0, 99), min_size=12, max_size=12), st.sampled_from([1, 7]))
def test_a_spread_is_of_seven_days_before_the_outcome_or_of_seven_values_of_weeks(
    sources, values, step
):
    name, last = ("clemson", "2016-10-12") if step == 1 else ("eia_gasoline", "2016-10-14")
    days = pd.date_range(end=last, periods=12, freq=f"{step}D").strftime("%Y-%m-%d")
    series = pd.DataFrame({"x": values}, index=days, dtype=float)
    found = measure_spread({"terms": {"date": days[-2], "entity": "x"}}, series, sources[name])
    there = [value for value in values[3 if step == 1 else 0 : 10] if value is not None][-7:]
    wanted = round(statistics.stdev(there), 9) if len(there) > 2 else None
    assert (found["spread"], found["n_spread"]) == (wanted, len(there))


def test_crawls_are_four_a_day_for_at_most_seven_days(collected, acquired):
    answers, attempts = acquired
    attempts = attempts.merge(collected[0][["event_id", "resolves_at"]])
    moments, ends = (
        pd.to_datetime(attempts[name], utc=True).dt.tz_convert("Asia/Shanghai")
        for name in ("attempted_at", "resolves_at")
    )
    assert set(moments.dt.hour) == set(CRAWL_HOURS) == {14, 16, 18, 20}
    wait = (moments - ends.dt.normalize()) / pd.Timedelta(hours=1)
    assert wait.min() >= 14 and wait.max() == 7 * 24 + 20
    never = answers[answers["status"] == "not_published"]["event_id"]
    n_crawls = attempts["event_id"].value_counts()
    assert len(never) and (n_crawls[never] == 32).all()


@pytest.mark.parametrize(
    ("faults", "status", "said"),
    [({"outage": 1.0}, "crawl_error", "503"), ({"layout": 1.0}, "extraction_error", "rule")],
)
def test_sites_that_are_down_and_pages_that_cannot_be_read_are_told_apart(
    collected, sources, faults, status, said
):
    names = ["clemson", "geomagnetic", "i94_hours"]
    events = collected[0].query("source_id in @names").groupby("source_id").head(9)
    with open_sites({name: sources[name] for name in names}, **faults) as crawler:
        answers, attempts = acquire_answers(events, crawler)
    assert set(answers["status"]) == set(attempts["status"]) == {status}
    assert answers["value"].isna().all() and attempts["reason"].str.contains(said).all()


def test_answers_are_followed_crawl_by_crawl_from_the_resolution_day():
    moments = ["11T14:00:00+08:00", "11T20:00:00+08:00", "12T14:00:00+08:00"]
    acquired_at = [*(f"2016-10-{moment}" for moment in moments), None]
    events = pd.DataFrame({"event_id": list("abcd"), "resolves_at": "2016-10-11T09:00:00+08:00"})
    status = ["ok", "ok", "ok", "not_published"]
    answers = events[["event_id"]].assign(acquired_at=acquired_at, status=status)
    steps = follow_acquisition(events, answers).set_index("crawl")
    assert steps.loc[[1, 2, 4, 5, 32], "found_share"].tolist() == [0.25, 0.25, 0.5, 0.75, 0.75]
    assert steps.loc[5, ["day", "hour"]].tolist() == [1, "14:00"] and len(steps) == 32
