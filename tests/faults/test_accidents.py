"""One of the accidents by the real command; `make faults` plays all of them."""

import pytest
from faults.accidents import N, is_bad, play_accident


def test_no_question_is_lost_paid_twice_or_left_without_a_word():
    row = play_accident("Ctrl-C")
    assert not is_bad(row), row
    assert (row["stored then"], row["requests"] + row["rerun"]) == (f"{N} ok", N)


@pytest.mark.parametrize("fault", [{"lost": 1}, {"twice": 1}, {"silent": True}])
def test_an_accident_that_cost_something_is_bad(fault):
    row = {"lost": 0, "twice": 0, "silent": False}
    assert is_bad(row | fault) and not is_bad(row)
