"""Probabilities and quantiles beside a value: worked by hand from log probabilities, or as the reply states them."""

import math

import pytest

from daybefore.replies.probabilities import read_stated, weigh_reply

OPTIONS = {"A": "x", "B": "y", "C": "z"}


def part(token, *top, p=1.0):
    """Return a token with its alternatives, given as (token, probability); `p` is its own where it has none."""
    tops = [[name, math.log(share)] for name, share in top]
    return {"token": token, "logprob": dict(tops).get(token, math.log(p)), "top": tops}


BY_HAND = {
    "the letter in the box, among the options": ("single", "B", [
        part("A", ("A", 1)), part("{"), part("B", ("B", 0.6), ("A", 0.2), ("b", 0.15), ("Z", 0.05)), part("}"),
    ], 0.75, {"A": 0.25, "B": 0.75, "C": 0.0}),
    "an option at each place that the list reached": ("multi", ["A", "C"], [
        part("{"),
        part("A", ("A", 0.6), ("B", 0.2)),  # A 3/4, B 1/4
        part(",", (",", 0.4), ("}", 0.1), ("HM", 0.5)),  # goes on with 4/5
        part(" C", (" C", 0.3), (" B", 0.2), (" A", 0.4), ("B", 0.1)),  # C 3/5, B 2/5 of 0.75 * 0.8 = 0.6
        part("}", ("}", 0.7), (",", 0.3)),  # ends with 7/10
    ], 0.252, {"A": 0.75, "B": 0.49, "C": 0.36}),  # 0.36 * 0.7; B: 0.25 + 0.6 * 0.4; C: 0.6 * 0.6
    "a name has the product of its tokens": ("ranking", ["Oslo", "Rome"], [
        part("Rome {", p=0.5), part("Os", p=0.5), part("lo", p=0.8), part("; ", p=0.9), part("Rome", p=0.25), part("}"),
    ], 0.1, {"Oslo": 0.4, "Rome": 0.25}),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_probabilities_by_hand(case):
    kind, value, logprobs, probability, distribution = BY_HAND[case]
    weighed = weigh_reply({"logprobs": logprobs}, kind, OPTIONS, value)
    assert weighed == {"probability": probability, "distribution": distribution}


@pytest.mark.parametrize(("kind", "value", "logprobs"), [
    ("single", "A", None),
    ("single", "A", []),
    ("single", "A", [part("{A}", ("{A}", 1))]),
    ("single", "A", [part("A")]),
    ("multi", ["A", "B"], [part("A", ("A", 1)), part(",B}")]),
    ("date", "2016-10-13", [part("2016")]),
])  # fmt: skip
def test_without_a_letter_of_its_own_there_is_no_probability(kind, value, logprobs):
    assert weigh_reply({"logprobs": logprobs}, kind, OPTIONS, value) == {}


def read(line, kind="single", value="A"):
    return read_stated(f"{line}\nFinal answer: A", kind, OPTIONS, value)


def test_stated_probabilities_are_read_whole_or_not_at_all():
    shares = {"A": 0.5, "B": 0.3, "C": 0.2}
    assert read("**Probabilities:** A=0.5; B=30%; C=.2") == {"probability": 0.5, "distribution": shares}
    assert read("Probabilities: A=0.33, B=0.33, C=0.33")["distribution"]["A"] == 0.333333, "rounding is made good"
    shares = {"A": 0.9, "B": 0.9, "C": 0.1}
    assert read("Probabilities: A=0.9; B=0.9; C=0.1", "multi", ["A"]) == {"distribution": shares}
    for line in ("A=0.5; B=0.5", "A=0.9; B=0.9; C=0", "A=1; B=0; C=0; D=0", "A=1; A=0; B=0; C=0", "A=much; B=0; C=0"):
        assert read(f"Probabilities: {line}") == {}
    assert read("I say A=0.5; B=0.3; C=0.2.") == {}


def test_stated_quantiles_are_in_the_units_of_the_event():
    line = "Quantiles: 0.05=1,200; 0.25=1300; 0.5=1.4 thousand; 0.75=1500; 0.95=1600"
    read = read_stated(line, "number", {}, 1400.0, "USD")
    assert (read["distribution"]["0.5"], read["interval_low"], read["interval_high"]) == (1400, 1200, 1600)
    assert read_stated(line.replace("1600", "1"), "number", {}, 1400.0) == {}
    assert read_stated("Quantiles: 0.05=1; 0.95=2", "number", {}, 1.0) == {}
