import pytest

from helpers.matching import match_answer


def fits(reply, truth):
    found = match_answer(reply, truth)
    return found["is_match"], found["is_equal"], found["is_strict"]


SAME = [
    ("Answer: 1,234,567", "1234567"),
    ("1\u202f234\u202f567", "1234567"),
    ("1'234.50 US dollars", "1234.50"),
    ("$1,234.5", "1234.50"),
    ("12.0 °C", "12.0"),
    ("12 ℃", "12.0"),
    ("\u22123.5 %", "-3.5"),
    ("+7 points", "7"),
    ("１２", "12"),
    ("labrador retriever", "Labrador, Retriever"),
    ("**2016-10-05**", "2016-10-05"),
    ("2016-10-05 at 14:00", "2016-10-05 at 14:00"),
    ("First \\boxed{11}, no: \\boxed{12}", "12"),
]
OTHER = [
    ("-3.5", "3.5"),
    ("3.5 million", "3.5"),
    ("1,23", "123"),
    ("112", "12"),
    ("12", "112"),
    ("12.5", "12"),
    ("2016-10-05", "2016-10-06"),
    ("2016-10-05 14:00", "2016-10-05 15:00"),
    ("Labrador", "Labrador Retriever"),
    ("", "0"),
    (None, "0"),
]


@pytest.mark.parametrize(("reply", "truth"), SAME + OTHER)
def test_forms_of_one_answer_are_equal_once_normalised_and_another_answer_is_not(reply, truth):
    assert fits(reply, truth)[1] == ((reply, truth) in SAME)


def test_containment_credits_whole_tokens_of_the_final_line_only():
    assert not fits("It is 14.\nSo the total is 140 cars", "14")[0]
    assert not fits("between 2016-10-05 and 2016-10-09", "10")[0]
    assert fits("maybe 5, 6, 7 or 8", "7") == (True, False, False)  # over-credit, seen beside the strict column
    assert not fits("Las Palmas and Vegas", "Las Vegas")[0]
