"""Each of the ten asks by hand: ties, missing entities, nothing right, gains, order, who is out,
who competes."""

import numpy as np
import pandas as pd
import pytest
from builders import read_cases

from daybefore.questions.question_types import KINDS, build_history, resolve_event

CASES = read_cases(__file__, "asks")
SHAPES = {"single": str, "multi": list, "ranking": list, "number": float}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["terms"]["ask"])
def test_an_ask_by_hand(case):
    terms, snapshot, answer = (case[name] for name in ("terms", "snapshot", "answer"))
    series = pd.Series(snapshot, dtype=float)  # a value that is missing is NaN
    assert resolve_event(terms, series) == resolve_event(terms, series.to_dict()) == answer
    assert answer is None or type(answer) is SHAPES[KINDS[terms["ask"]]]


def test_every_ask_has_cases():
    assert {case["terms"]["ask"] for case in CASES} == set(KINDS)


def test_gains_are_those_of_a_calendar():
    rng = np.random.default_rng(4)
    for _ in range(50):
        days = pd.date_range("2016-09-01", periods=40)[np.sort(rng.permutation(40)[:25])]
        values = rng.integers(0, 9, (25, 3)).astype(float)
        values[rng.random(values.shape) < 0.2] = np.nan
        series = pd.DataFrame(values, days, list("xyz"))
        back = series.reindex(days - pd.Timedelta(days=7)).to_numpy()
        plain = ((series / back - 1) * 100).dropna(how="all")
        found = build_history(series.set_axis(days.strftime("%Y-%m-%d")), {"by": "gain"})
        found.index = pd.to_datetime(found.index)
        pd.testing.assert_frame_equal(found, plain, check_exact=True)
