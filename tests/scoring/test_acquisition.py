"""Answers are followed crawl by crawl, and compared with those acquired under faults."""

import pandas as pd

from helpers.scoring.answers import follow_acquisition


def make_events(n):
    return pd.DataFrame({"event_id": [f"A-1010-e{i}" for i in range(n)], "resolves_at": "2016-10-11T09:00:00+08:00"})


def make_answers(**columns):
    n = len(next(iter(columns.values())))
    base = {"event_id": [f"A-1010-e{i}" for i in range(n)], "status": ["ok"] * n, "acquired_at": [None] * n}
    return pd.DataFrame({**base, "value": ["1.0"] * n, **columns})


def test_answers_are_followed_crawl_by_crawl_from_the_resolution_day():
    moments = ["2016-10-11T14:00:00+08:00", "2016-10-11T20:00:00+08:00", "2016-10-12T14:00:00+08:00", None]
    answers = make_answers(acquired_at=moments, status=["ok", "ok", "ok", "not_published"])
    steps = follow_acquisition(make_events(4), answers).set_index("crawl")
    assert steps.loc[[1, 2, 4, 5], "found_share"].tolist() == [0.25, 0.25, 0.5, 0.75]
    assert steps.loc[5, ["day", "hour"]].tolist() == [1, "14:00"]
    assert steps.index[-1] == 32 and steps["found_share"].iloc[-1] == 0.75
