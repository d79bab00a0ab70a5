"""Each of the ten asks by hand: ties, missing entities, nothing right, gains, order, who is out, who competes."""

import numpy as np
import pandas as pd
import pytest

from daybefore.questions.types import KINDS, NONE_LABEL, build_history, resolve_event

NAN = float("nan")
YES = {"Yes": "A", "No": "B"}
ABC, CAB = {"x": "A", "y": "B", "z": "C"}, {"x": "C", "y": "A", "z": "B"}
WITH_NONE = {**ABC, NONE_LABEL: "D"}
LAST = {"x": 5.0, "y": 5.0, "z": 5.0}

CASES = [
    # value
    ({"ask": "value", "entity": "x"}, {"x": 12.5, "y": 1.0}, 12.5),
    ({"ask": "value", "entity": "x"}, {"x": NAN}, None),
    # change: strictly higher
    ({"ask": "change", "entity": "x", "reference": 5.0, "letters": YES}, {"x": 5.1}, "A"),
    ({"ask": "change", "entity": "x", "reference": 5.0, "letters": YES}, {"x": 5.0}, "B"),
    # threshold: reached when equal
    ({"ask": "threshold", "entity": "x", "threshold": 5.0, "letters": YES}, {"x": 5.0}, "A"),
    ({"ask": "threshold", "entity": "x", "threshold": 5.0, "letters": YES}, {"x": 4.999}, "B"),
    # band: a cut belongs to the band above it
    ({"ask": "band", "entity": "x", "cuts": [2.0, 4.0], "letters": {"0": "A", "1": "B", "2": "C"}}, {"x": 1.9}, "A"),
    ({"ask": "band", "entity": "x", "cuts": [2.0, 4.0], "letters": {"0": "A", "1": "B", "2": "C"}}, {"x": 2.0}, "B"),
    ({"ask": "band", "entity": "x", "cuts": [2.0, 4.0], "letters": {"0": "A", "1": "B", "2": "C"}}, {"x": 4.0}, "C"),
    # outcome: the sign of the margin
    ({"ask": "outcome", "entity": "m", "letters": {"home": "C", "draw": "A", "away": "B"}}, {"m": 2.0}, "C"),
    ({"ask": "outcome", "entity": "m", "letters": {"home": "C", "draw": "A", "away": "B"}}, {"m": 0.0}, "A"),
    ({"ask": "outcome", "entity": "m", "letters": {"home": "C", "draw": "A", "away": "B"}}, {"m": -1.0}, "B"),
    # leader: among its options only; a tie goes by name; one missing option leaves it open, unless it is out
    ({"ask": "leader", "reference": LAST, "letters": ABC}, {"x": 1, "y": 3, "z": 2, "w": 9}, "B"),
    ({"ask": "leader", "reference": LAST, "letters": ABC}, {"x": 1, "y": 3, "z": 3}, "B"),
    ({"ask": "leader", "reference": LAST, "letters": ABC}, {"x": 1, "y": 3}, None),
    ({"ask": "leader", "reference": LAST, "letters": ABC, "absent": "out"}, {"x": 1, "y": NAN}, "A"),
    ({"ask": "leader", "reference": {"x": 1.0, "y": 10.0}, "letters": ABC, "by": "gain"}, {"x": 1.5, "y": 12.0}, "A"),
    # risers: strictly more than last; none of these; one missing leaves it open
    ({"ask": "risers", "reference": LAST, "letters": WITH_NONE}, {"x": 5.0, "y": 6.0, "z": 7.0}, ["B", "C"]),
    ({"ask": "risers", "reference": LAST, "letters": WITH_NONE}, {"x": 5.0, "y": 4.0, "z": 5.0}, ["D"]),
    ({"ask": "risers", "reference": LAST, "letters": WITH_NONE}, {"x": 6.0, "y": 6.0}, None),
    ({"ask": "risers", "reference": LAST, "letters": CAB}, {"x": 6, "y": 6, "z": 1}, ["A", "C"]),
    # above: reached when equal
    ({"ask": "above", "reference": LAST, "threshold": 7.0, "letters": ABC}, {"x": 7, "y": 6.9, "z": 8}, ["A", "C"]),
    ({"ask": "above", "reference": LAST, "threshold": 7.0, "letters": WITH_NONE}, {"x": NAN, "y": 8, "z": 8}, None),
    # top: in order, ties by name; too few leave it open; only those who compete
    ({"ask": "top", "k": 2}, {"c": 2.0, "b": 2.0, "a": 1.0}, ["b", "c"]),
    ({"ask": "top", "k": 2, "order": "asc"}, {"c": 2.0, "b": 2.0, "a": 1.0}, ["a", "b"]),
    ({"ask": "top", "k": 2, "among": ["a", "b"]}, {"c": 9.0, "b": 2.0, "a": 1.0}, ["b", "a"]),
    ({"ask": "top", "k": 1, "by": "gain", "reference": {"a": 1.0, "b": 4.0}}, {"a": 1.2, "b": 4.4, "c": 99.0}, ["a"]),
    (
        {"ask": "top", "k": 2, "by": "gain", "reference": {"a": 2, "b": 4}, "order": "asc"},
        {"a": 1.9, "b": 3},
        ["b", "a"],
    ),
    # rank: one place
    ({"ask": "rank", "k": 1, "rank": 2}, {"a": 3.0, "b": 2.0, "c": 1.0}, ["b"]),
    ({"ask": "rank", "k": 1, "rank": 1, "order": "asc"}, {"a": 3.0, "b": 2.0, "c": 1.0}, ["c"]),
    ({"ask": "rank", "k": 1, "rank": 4}, {"a": 3.0, "b": 2.0, "c": 1.0}, None),
]


@pytest.mark.parametrize(("terms", "snapshot", "answer"), CASES)
def test_an_ask_by_hand(terms, snapshot, answer):
    assert resolve_event(terms, snapshot) == answer
    assert resolve_event(terms, pd.Series(snapshot, dtype=float)) == answer


def test_every_ask_has_cases_and_a_kind():
    assert {terms["ask"] for terms, _, _ in CASES} == set(KINDS)
    shapes = {"single": str, "multi": list, "ranking": list, "number": float}
    for terms, _, answer in CASES:
        assert answer is None or type(answer) is shapes[KINDS[terms["ask"]]]


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
