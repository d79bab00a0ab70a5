"""A reply's answer beside the truth: equal once normalised (matching.jsonl), or a whole run of its
tokens."""

import pytest
from builders import read_cases

from helpers.match_answers import match_answer


def fits(reply, truth):
    found = match_answer(reply, truth)
    return found["is_match"], found["is_equal"], found["is_strict"]


@pytest.mark.parametrize("case", read_cases(__file__, "matching"), ids=lambda case: case["reply"])
def test_forms_of_one_answer_are_equal_once_normalised_and_another_answer_is_not(case):
    assert fits(case["reply"], case["truth"])[1] == case["is_equal"]


def test_containment_credits_whole_tokens_of_the_final_line_only():
    assert not fits("It is 14.\nSo the total is 140 cars", "14")[0]
    assert not fits("between 2016-10-05 and 2016-10-09", "10")[0]
    assert fits("maybe 5, 6, 7 or 8", "7") == (
        True,
        False,
        False,
    )  # over-credit, seen beside the strict column
    assert not fits("Las Palmas and Vegas", "Las Vegas")[0]
