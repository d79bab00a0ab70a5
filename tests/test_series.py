"""Simple rules on series: a case by hand, and the replay's level against what was measured of the same packages."""

import numpy as np
import pandas as pd
import pytest

from helpers.studies.series import score_series, summarize_series
from helpers.world.sources import load_sources

MEASURED = {"last_value": 0.24, "same_day_last_week": 0.24, "mean_of_7": 0.26}
"""Mean scores measured on 65 series of the same packages, seven days ahead with a lag of one."""


def test_a_case_by_hand():
    days = pd.date_range("2016-10-01", "2016-10-17")
    values = pd.Series(np.arange(17.0), index=days)  # a day's value is its day of the month less one
    table = score_series(values, ["2016-10-10"]).set_index("rule")["score"]
    # for the 17th: value 16, spread std(9..15) = 2.1602; last known 8 (the 9th), same weekday 2 (the 3rd), mean 5
    assert table["last_value"] == 0.0
    near = score_series(values, ["2016-10-10"], horizon_days=1).set_index("rule")["score"]
    # for the 11th: value 10, spread std(3..9) = 2.1602; last known 8: 1 - (2 / 2.1602)^2 = 1 / 7
    assert near["last_value"] == pytest.approx(1 - 4 / (14 / 3))
    assert near["same_day_last_week"] == 0.0


def test_a_value_of_the_start_day_is_not_known_with_a_lag():
    values = pd.Series(np.resize([4.0, 5.0, 6.0], 28), index=pd.date_range("2016-09-20", "2016-10-17"))
    values["2016-10-10"] = 1000.0
    values["2016-10-17"] = values["2016-10-09"]
    lagged, fresh = (score_series(values, ["2016-10-10"], lag_days=lag).set_index("rule")["score"] for lag in (1, 0))
    assert lagged["last_value"] == 1.0
    assert fresh["last_value"] < 1.0


def test_the_replays_numbers_are_as_hard_as_measured_before():
    table = summarize_series(load_sources(), "A", np.random.default_rng(0))
    assert table["n_series"].iloc[0] >= 60
    for rule, mean in MEASURED.items():
        assert table.loc[rule, "mean"] == pytest.approx(mean, abs=0.05), rule
