"""Public files as long questions: weeks end on Sundays, nothing is known before its day."""

import pandas as pd
import pytest

from helpers.events import horizons
from helpers.futurex import series


def test_a_weeks_row_knows_nothing_of_later_days():
    states = pd.DataFrame({"best": [10.0, 30.0]}, index=pd.to_datetime(["2024-01-02", "2024-01-15"]))
    weeks = series.fill_weeks(states)
    assert weeks["best"].to_dict() == {pd.Timestamp("2024-01-07"): 10.0, pd.Timestamp("2024-01-14"): 10.0}
    assert (weeks.index.day_of_week == 6).all() and weeks.index.max() <= states.index.max()


def test_boards_say_the_best_so_far_and_the_lead():
    scores = pd.DataFrame({"day": [20240103, 20240110, 20240117], "a": [100.0, 0.0, 1.0]})
    scores = scores.assign(b=[90.0, 95.0, 2.0], c=[80.0, 99.0, 3.0])
    rows = series.gather_arena(scores)
    assert rows[["best", "lead"]].values.tolist() == [[100.0, 10.0], [100.0, 10.0]]  # of two models there is no board
    results = pd.DataFrame({"board": ["Verified", "Lite", "Verified", "Lite"], "resolved": [40.0, 9.0, 20.0, 8.0]})
    results["date"] = ["2024-01-02", "2024-01-02", "2024-01-20", "2024-01-20"]
    best = series.gather_swebench(results)
    assert set(best.loc[best["entity"] == "Verified", "best"]) == {40.0}


def test_charts_are_counts_alone():
    charts = pd.DataFrame({"chart_date": "2024-01-06", "rank": [1, 2, 11], "song": list("xyz"), "artist": list("aab")})
    charts["weeks"] = [1, 5, 1]
    row = series.gather_charts(charts).iloc[0]
    assert row[["occurred_at", "entries", "artists", "longest"]].tolist() == ["2024-01-07", 2.0, 1.0, 5.0]
    assert set(series.gather_charts(charts)) == {"occurred_at", "entity", "entries", "artists", "longest"}


def test_rows_are_given_only_to_series_of_public_files(monkeypatch):
    monkeypatch.setattr(horizons, "GIVEN", {})
    with pytest.raises(LookupError, match="ecb_weeks is no source of data/horizons.toml whose rows"):
        horizons.give_rows("ecb_weeks", pd.DataFrame())
    rows = pd.DataFrame({"occurred_at": ["2024-01-07"], "entity": "text", "best": 1.0, "lead": 0.5})
    horizons.give_rows("lmarena_weeks", rows)
    assert horizons.read_series("lmarena_weeks", "best")[0].loc["2024-01-07", "text"] == 1.0
    assert "lmarena_weeks" not in horizons.list_own()
    horizons.read_series.cache_clear()
