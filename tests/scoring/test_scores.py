"""The scoring rules (FutureX 3.3, 3.4.2, 3.4.3): what holds for any prediction, and cases worked by
hand."""

import math
from fractions import Fraction

import pytest
from builders import make_tables, read_cases
from hypothesis import given
from hypothesis import strategies as st

from helpers import scores

guesses = st.lists(st.sampled_from("abcdef"), max_size=6)
answers = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)
whole = st.integers(-300, 300)
shares = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)


@pytest.mark.parametrize("case", read_cases(__file__, "scores"), ids=lambda case: case["why"])
def test_a_score_by_hand(case):
    score = getattr(scores, f"score_{case['metric']}")(*case["given"])
    assert score == pytest.approx(case["score"], abs=1e-12)


@given(guesses, answers, st.randoms())
def test_options_and_rankings_are_scored_by_what_is_shared(named, right, order):
    shared, f1 = len(set(named) & set(right)), 0
    if shared:
        precision, recall = Fraction(shared, len(set(named))), Fraction(shared, len(right))
        f1 = 2 * precision * recall / (precision + recall)
    mixed = order.sample(named * 2, 2 * len(named))
    assert scores.score_multi(mixed, right) == pytest.approx(float(f1))
    placed = sum(name in named[: len(right)] for name in right)
    wanted = 1.0 if named[: len(right)] == right else 0.8 * placed / len(right)
    assert scores.score_ranking([f" {name.upper()}  " for name in named], right) == pytest.approx(
        wanted
    )


@given(whole, whole, st.integers(1, 300), st.sampled_from([-2, 4, 0.5]))
def test_a_number_falls_from_1_alike_on_both_sides_and_in_any_unit(miss, answer, spread, unit):
    score = scores.score_number(answer + miss, answer, spread)
    assert score == pytest.approx(float(max(0, 1 - Fraction(miss, spread) ** 2)))
    assert score == scores.score_number(answer - miss, answer, spread)
    assert score == scores.score_number(unit * (answer + miss), unit * answer, abs(unit) * spread)


@given(shares, shares)
def test_the_brier_error_is_least_for_what_is_believed(believed, told):
    belief, said = (
        {letter: n / sum(some) for letter, n in zip("ABC", some, strict=True)}
        for some in (believed, told)
    )

    def expect(stated):
        errors = {letter: scores.score_brier(stated, letter, "CAB") for letter in belief}
        assert all(0 <= error <= 2 for error in errors.values())
        return sum(belief[letter] * error for letter, error in errors.items())

    gap = sum((belief[letter] - said[letter]) ** 2 for letter in belief)
    assert expect({letter: p for letter, p in said.items() if p}) - expect(belief) == pytest.approx(
        gap
    )


@pytest.mark.parametrize(
    ("metric", "given", "said"),
    [
        ("number", (100, 100, None), "fewer than 3 earlier values"),
        ("number", (None, 100, math.nan), "fewer than 3 earlier values"),
        ("brier", ({"D": 1.0}, "A", ["A"]), "option D"),
        ("brier", ({"A": 1.2}, "A", ["A"]), "outside 0 to 1"),
        ("multi", (["A"], []), "names nothing right"),
        ("ranking", (["A"], ["A", None]), "leaves a rank blank"),
        ("date", (None, "2016-10"), "the answer is no date"),
    ],
)
def test_what_nothing_can_be_held_against_is_an_error(metric, given, said):
    with pytest.raises(ValueError, match=said):
        getattr(scores, f"score_{metric}")(*given)


def score_one(*args, **named):
    return scores.score_predictions(*make_tables(*args, **named)).set_index("metric")


@pytest.mark.parametrize("case", read_cases(__file__, "kinds"), ids=lambda case: case["kind"])
def test_table_holds_each_kinds_metrics(case):
    kind, value, answer, spread, metrics = case.values()
    table = score_one(kind, value, answer, spread)
    assert table["score"].to_dict() == pytest.approx(metrics)
    assert table["is_scored"].all() and not table["is_missing"].any()
    exact = [answer, answer] if kind == "interval" else answer
    right = score_one(kind, exact, answer, spread)["score"].to_dict()
    assert right == {metric: float(metric not in scores.ERRORS) for metric in metrics}
    missing = score_one(kind, None, answer, spread, status="timeout")
    assert missing["is_missing"].all() and missing["score"].isna().all()
    assert set(missing["reason"]) == {"timeout"}
    assert missing["score_imputed"].dropna().eq(0).all()


@pytest.mark.parametrize(
    ("value", "told", "error"),
    [
        ("A", {}, 0.98),
        ("B", {}, 0.18),
        ("A", {"distribution": {"A": 0.6, "B": 0.4}}, 0.72),
        (None, {"status": "timeout"}, math.nan),
    ],
)
def test_a_stated_probability_is_scored_as_that_of_being_right(value, told, error):
    table = score_one("single", value, "B", probability=0.7, **told)
    assert table.loc["brier", "score"] == pytest.approx(error, nan_ok=True)
    assert "brier" not in score_one("multi", ["A"], ["A"], probability=0.7).index


@pytest.mark.parametrize(("cell", "value"), [('"A"', "A"), (5.0, 5.0), (math.nan, None)])
def test_a_cell_is_opened_as_json_or_as_a_csv_reader_has_it(cell, value):
    assert scores.open_cell(cell) == value


def test_prediction_for_unknown_event_raises():
    predictions, answers, events = make_tables("single", "A", "A")
    with pytest.raises(ValueError, match="the first is e1"):
        scores.score_predictions(predictions, answers, events.assign(event_id="e2"))


@pytest.mark.parametrize(
    ("kind", "value", "answer"),
    [
        ("number", [1.0], 2.0),
        ("number", 1.0, [2.0]),
        ("number", "5", 2.0),
        ("multi", 5, ["A"]),
        ("interval", 3.0, 2.0),
        ("list", {"a": 1}, 4),
    ],
)
@pytest.mark.parametrize("scorer", sorted(scores.SCORERS))
def test_a_value_of_another_type_is_one_sentence(kind, value, answer, scorer):
    said = rf"^e1, a1: .* against the answer .* cannot be scored as {kind}; one is of"
    with pytest.raises(ValueError, match=said):
        scores.score_predictions(*make_tables(kind, value, answer, 1.0), scorer)
