"""Hand-worked cases for every branch of the scoring rules (FutureX 3.3, 3.4.2, 3.4.3)."""

import math

import pandas as pd
import pytest

from helpers import scores
from helpers.files import dump_json

# By metric, as the definition has it: (prediction, answer, score), of numbers (prediction, answer, spread, score).
CASES = {
    "multi": [  # F1 = 2PR / (P + R), 0 if nothing is shared
        (["A", "B"], ["B", "A"], 1.0),  # P = R = 1
        (["A"], ["A", "B"], 2 / 3),  # P = 1, R = 1/2: 2 * 1/2 / (3/2)
        (["A", "B"], ["A", "B", "C"], 0.8),  # P = 1, R = 2/3: (4/3) / (5/3)
        (["C"], ["A", "B"], 0.0),
        ([], ["A"], 0.0),
        (["A", "A"], ["A"], 1.0),  # a repeated option counts once
        ("AB", ["A", "B"], 0.0),  # a text is one option, not its letters
        (None, ["A"], 0.0),
    ],
    "multi_strict": [  # 1 exact; one half for a non-empty proper subset, once; 0 with any wrong option
        (["B", "A"], ["A", "B"], 1.0),
        (["A"], ["A", "B", "C"], 0.5),  # two omitted: still halved once
        (["A", "B", "C"], ["A", "B"], 0.0),
        ([], ["A"], 0.0),
        (None, ["A"], 0.0),
    ],
    "ranking": [  # 1 if every place is right, else 0.8 * shared names / k, with k the answer's length
        (["a", "b", "c"], ["a", "b", "c"], 1.0),
        (["b", "a", "c"], ["a", "b", "c"], 0.8),  # 0.8 * 3/3: right set, wrong order
        (["a", "x", "b"], ["a", "b", "c"], 0.8 * 2 / 3),
        (["a", "b"], ["a", "b", "c"], 0.8 * 2 / 3),  # padded with a null
        (["x", "a", "b", "c"], ["a", "b", "c"], 0.8 * 2 / 3),  # cut to x, a, b
        (["a", "a", "b", "c"], ["a", "b", "c"], 0.8 * 2 / 3),  # cut to a, a, b before that
        (["  A", "b  B "], ["a", "B b"], 1.0),  # case and white space
        ([], ["a", "b"], 0.0),
        (["a"], ["a"], 1.0),  # k = 1: 0 or 1
        (["b", "a"], ["a"], 0.0),  # k = 1 takes the first
        (None, ["a", "b"], 0.0),
    ],
    "number": [  # max(0, 1 - ((prediction - answer) / spread) ** 2)
        (100, 100, 2, 1.0),
        (101, 100, 2, 0.75),  # 1 - (1/2)^2
        (102, 100, 2, 0.0),  # one spread away
        (103, 100, 2, 0.0),  # 1 - 2.25 is cut at 0
        (5, 5, 0, 1.0),  # zero spread: equal
        (5.01, 5, 0, 0.0),  # zero spread: not equal
        (0.1 + 0.2, 0.3, 0, 1.0),  # equal but for rounding
        (0.1 + 0.2, 0.3, 3e-17, 1.0),  # what rounding leaves of a zero spread
        (None, 100, 2, 0.0),
    ],
    "quantity": [  # 1 if |prediction - answer| <= 0.1 |answer| (WorldReasoner F.1)
        (45.0, 50.0, 1.0),  # exactly a tenth below
        (44.9, 50.0, 0.0),  # 5.1 off, 5 allowed
        (0.33, 0.3, 1.0),  # equal to the edge but for rounding
        (0.0, 0.0, 1.0),  # an answer of 0: exact only
        (0.01, 0.0, 0.0),
        (None, 50.0, 0.0),
    ],
    "interval": [  # 1 if low <= answer <= high (WorldReasoner F.1)
        ([10, 20], 15, 1.0),
        ([10, 20], 10, 1.0),
        ([10, 20], 9.9, 0.0),
        ([10, 20], 20, 1.0),
        ([10, 20], 20.5, 0.0),
        ([20, 10], 15, 0.0),
        ([-5, -1], -3, 1.0),
        (None, 15, 0.0),
    ],
    "date": [  # 1 if it is the same day (WorldReasoner F.1: timeframe, exact after normalisation)
        ("2016-10-13", "2016-10-13", 1.0),
        ("2016-10-14", "2016-10-13", 0.0),
        ("13 October 2016", "2016-10-13", 1.0),
        ("2016-10", "2016-10-13", 0.0),
        (None, "2016-10-13", 0.0),
    ],
}


@pytest.mark.parametrize(("metric", "case"), [(metric, case) for metric, cases in CASES.items() for case in cases])
def test_a_score_by_hand(metric, case):
    assert getattr(scores, f"score_{metric}")(*case[:-1]) == pytest.approx(case[-1], abs=1e-12)


@pytest.mark.parametrize("prediction", [100, None])
def test_number_without_spread_raises(prediction):
    for spread in (None, math.nan):
        with pytest.raises(ValueError, match="fewer than 3 earlier values"):
            scores.score_number(prediction, 100, spread)


@pytest.mark.parametrize(("told", "answer", "error"), [
    ({"A": 1.0}, "A", 0),
    ({"A": 1.0}, "B", 2),
    ({"A": 0.5, "B": 0.3, "C": 0.2}, "A", 0.25 + 0.09 + 0.04),
    ({"A": 0.8, "B": 0.6, "C": 0.1}, ["A", "B"], 0.04 + 0.16 + 0.01),
])  # fmt: skip
def test_a_brier_error_by_hand(told, answer, error):
    assert scores.score_brier(told, answer, list("ABC")) == pytest.approx(error)


@pytest.mark.parametrize(("told", "said"), [({"D": 1.0}, "option D"), ({"A": 1.2}, "outside 0 to 1")])
def test_a_probability_of_no_option_or_above_1_is_refused(told, said):
    with pytest.raises(ValueError, match=said):
        scores.score_brier(told, "A", ["A"])


def make_tables(kind, value, answer, spread=None, distribution=None, status="ok", probability=None):
    """One prediction, one answer, one event; None is a blank cell."""
    options = dump_json({"A": "a", "B": "b", "C": "c"}) if kind in ("single", "multi") else ""
    events = pd.DataFrame([{"event_id": "e1", "kind": kind, "options": options, "level": 1}])
    row = {"run_id": "r1", "event_id": "e1", "sample": 0, "agent_id": "a1", "status": status, "value": dump_json(value)}
    row |= {"distribution": dump_json(distribution), "probability": probability}
    answers = pd.DataFrame([{"event_id": "e1", "value": dump_json(answer), "status": "ok", "spread": spread}])
    return pd.DataFrame([row]), answers, events


def score_one(*args, **named):
    return scores.score_predictions(*make_tables(*args, **named)).set_index("metric")


@pytest.mark.parametrize(
    ("kind", "value", "answer", "spread", "metrics"),
    [
        ("single", "A", "A", None, {"accuracy": 1.0}),
        ("multi", ["A"], ["A", "B"], None, {"f1": 2 / 3, "f1_strict": 0.5}),
        ("ranking", ["y", "x"], ["x", "y"], None, {"ranking": 0.8}),
        ("number", 101.0, 100.0, 2.0, {"number": 0.75, "abs_error": 1.0}),
        ("percent", 45.0, 50.0, None, {"quantity": 1.0, "abs_error": 5.0}),
        ("interval", [10, 20], 20, None, {"inside": 1.0}),
        ("date", "2016-10-13", "2016-10-13", None, {"exact": 1.0}),
        ("text", "58.04 dollars", "58.04", None, {"match": 1.0, "strict": 0.0}),
        ("list", ["lyon", "Nice"], ["Nice", "Lyon"], None, {"match": 1.0, "strict": 0.0}),
    ],
)
def test_table_holds_each_kinds_metrics(kind, value, answer, spread, metrics):
    table = score_one(kind, value, answer, spread)
    assert table["score"].to_dict() == pytest.approx(metrics)
    assert table["is_scored"].all() and not table["is_missing"].any()


def test_a_stated_probability_is_scored_as_that_of_being_right():
    assert score_one("single", "A", "B", probability=0.7).loc["brier", "score"] == pytest.approx(0.98)
    whole = score_one("single", "A", "B", probability=0.7, distribution={"A": 0.6, "B": 0.4})
    assert whole.loc["brier", "score"] == pytest.approx(0.72), "the distribution counts where it is told"
    assert score_one("single", "A", "A", probability=0.7).loc["brier", "score"] == pytest.approx(0.18)
    assert math.isnan(score_one("single", None, "A", status="timeout", probability=0.7).loc["brier", "score"])
    assert "brier" not in score_one("multi", ["A"], ["A"], probability=0.7).index


def test_prediction_for_unknown_event_raises():
    predictions, answers, events = make_tables("single", "A", "A")
    with pytest.raises(ValueError, match="the first is e1"):
        scores.score_predictions(predictions, answers, events.assign(event_id="e2"))


@pytest.mark.parametrize(("cell", "value"), [('"A"', "A"), (5.0, 5.0), (math.nan, None), (None, None), ("[1]", [1])])
def test_a_cell_is_opened_as_json_or_as_a_csv_reader_has_it(cell, value):
    assert scores.open_cell(cell) == value
