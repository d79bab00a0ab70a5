"""Probabilities and quantiles beside a value: worked by hand from log probabilities, or as the
reply states them."""

import pytest
from builders import read_cases

from daybefore.replies.read_probabilities import read_stated, weigh_reply

OPTIONS = {"A": "x", "B": "y", "C": "z"}


@pytest.mark.parametrize("case", read_cases(__file__, "weighed"), ids=lambda case: case["why"])
def test_probabilities_by_hand_and_none_without_a_letter_of_its_own(case):
    """A letter among its options, an option at each place that a list reached, the product of a
    name's tokens."""
    weighed = weigh_reply({"logprobs": case["logprobs"]}, case["kind"], OPTIONS, case["value"])
    assert weighed == case["weighed"]


def read(line, kind="single", value="A"):
    return read_stated(f"{line}\nFinal answer: A", kind, OPTIONS, value)


def test_stated_probabilities_are_read_whole_or_not_at_all():
    shares = {"A": 0.5, "B": 0.3, "C": 0.2}
    assert read("**Probabilities:** A=0.5; B=30%; C=.2") == {
        "probability": 0.5,
        "distribution": shares,
    }
    assert read("Probabilities: A=0.33, B=0.33, C=0.33")["distribution"]["A"] == 0.333333, (
        "rounding is made good"
    )
    shares = {"A": 0.9, "B": 0.9, "C": 0.1}
    assert read("Probabilities: A=0.9; B=0.9; C=0.1", "multi", ["A"]) == {"distribution": shares}
    for line in (
        "A=0.5; B=0.5",
        "A=0.9; B=0.9; C=0",
        "A=1; B=0; C=0; D=0",
        "A=1; A=0; B=0; C=0",
        "A=much; B=0; C=0",
    ):
        assert read(f"Probabilities: {line}") == {}
    assert read("I say A=0.5; B=0.3; C=0.2.") == {}


def test_stated_quantiles_are_in_the_units_of_the_event():
    line = "Quantiles: 0.05=1,200; 0.25=1300; 0.5=1.4 thousand; 0.75=1500; 0.95=1600"
    read = read_stated(line, "number", {}, 1400.0, "USD")
    assert (read["distribution"]["0.5"], read["interval_low"], read["interval_high"]) == (
        1400,
        1200,
        1600,
    )
    assert read_stated(line.replace("1600", "1"), "number", {}, 1400.0) == {}
    assert read_stated("Quantiles: 0.05=1; 0.95=2", "number", {}, 1.0) == {}
