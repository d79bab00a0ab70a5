"""Properties of reading replies that hold for any text, searched for by hypothesis; the same examples every time."""

import datetime
import math
import re

import numpy as np
from faults.fuzzed_replies import WRITERS, read_replies
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.replies.parse import KINDS, parse_prediction

settings.register_profile("same", derandomize=True, deadline=None, max_examples=100, database=None)
settings.load_profile("same")

OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "None of these"}
YES_NO = {"A": "Yes", "B": "No"}
PIECES = [r"\boxed{", "}", "{", "\\", "$", "**", "\n", "\n\n", " ", ",", ";", ".", "-", "−", ":", "(", ")", "[", "]"]
PIECES += ['"', "A", "B", "C", "D", "E", "a", "Oslo", "Rome", "None of these", "and", "or", "to", "not", "Answer", "is"]
PIECES += ["Yes", "1", "52.3", "1,234", "10^", "½", "²", "%", "±", "<", ">", "/", "million", "k", "e9", "1e400", "year"]
PIECES += ["October", "12", "2016", "2016-02-31", "<think>", "</think>", r"\text{", r"\frac{1}{0}", "I cannot predict"]
PIECES += ["N/A", "\u200b", "\x00", "①", "𝟓", "٣", "万", "年", "&amp;", "&#0;", "&#x7b;", "Final answer:", "\ud800"]
NAMES = ["Oslo", "Rio de Janeiro", "Washington, D.C.", "X-ray", "Lima", "Saint-Denis", "Kim Min-ji", "Port of Spain"]

texts = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
boxed = texts.map(lambda text: rf"So: \boxed{{{text}}}")
replies = texts | boxed
kinds = st.sampled_from(KINDS)
choices = st.sampled_from([None, OPTIONS, YES_NO])
letters = st.lists(st.sampled_from("ABCD"), min_size=1, unique=True)
numbers = st.decimals(-(10**9), 10**9, places=2, allow_nan=False, allow_infinity=False)
days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))
prose = st.text(st.characters(codec="utf-8", exclude_characters="\\{}<>｛｝＜＞＼\x08"), max_size=80).filter(
    lambda text: (
        not re.search(r"(?:e\.g\.|example|instance|such as|not|nor|than|instead of|boxed|fbox|framebox)", text, re.I)
    )
)


@st.composite
def answers(draw):
    """A valid answer in a box: (what stands in the box, kind, options, what it says)."""
    kind = draw(kinds)
    if kind == "single":
        letter = draw(st.sampled_from("ABCD"))
        return draw(st.sampled_from([letter, OPTIONS[letter], f"{letter}. {OPTIONS[letter]}"])), kind, OPTIONS, letter
    if kind == "multi":
        named = draw(letters)
        return ", ".join(named), kind, OPTIONS, sorted(named)
    if kind in ("ranking", "list") and draw(st.booleans()):
        named = draw(st.permutations("ABCD")) if kind == "ranking" else draw(letters)
        return draw(st.sampled_from([", ", " > ", "; "])).join(named), kind, OPTIONS, list(named)
    if kind in ("ranking", "list"):
        named = draw(st.lists(st.sampled_from(NAMES), min_size=2, unique=True))
        return "; ".join(named), kind, None, named
    if kind in ("number", "percent"):
        number = draw(numbers)
        return draw(st.sampled_from([f"{number}", f"{number:,}"])), kind, None, float(number)
    if kind == "date":
        day = draw(days)
        return draw(st.sampled_from([day.isoformat(), f"{day:%B} {day.day}, {day.year}"])), kind, None, day.isoformat()
    name = draw(st.sampled_from(NAMES))
    return name, kind, None, name


# --- against an oracle that needs no parser (faults/fuzzed_replies.py) -----------------------------------------------


def test_700_written_replies_are_read_right_or_not_at_all():
    table, failures = read_replies(700, seed=3)
    assert failures == []
    shares = {name: row["right"] / row["replies"] for name, row in table.items()}
    assert min(shares.values()) > 0.9, shares  # a parser that reads nothing is never wrong


@given(st.sampled_from(sorted(WRITERS)), st.integers(0, 2**32 - 1))
@settings(max_examples=600)
def test_an_answer_written_in_any_manner_is_never_read_as_another(name, seed):
    rng = np.random.default_rng(seed)
    kind, options, reply, value = WRITERS[name](rng, lambda choices: choices[int(rng.integers(len(choices)))])
    read = parse_prediction(reply, kind, options)
    assert read is None or value is ... or read == value


# --- whatever the text -----------------------------------------------------------------------------------------------


@given(replies, kinds, choices)
@settings(max_examples=800)
def test_any_text_gives_a_value_of_its_kind_or_a_reason_and_never_raises(reply, kind, options):
    value, reason = parse_prediction(reply, kind, options, explain=True)
    assert (value is None) == bool(reason) and isinstance(reason, str)
    assert parse_prediction(reply, kind, options) == value
    if value is None:
        return
    known = sorted(options or "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    if kind == "single":
        assert value in known
    elif kind == "multi":
        assert value and value == sorted(set(value)) and set(value) <= set(known)
    elif kind == "ranking" and options:
        assert sorted(value) == known
    elif kind == "list" and options:
        assert value and len(set(value)) == len(value) and set(value) <= set(known)
    elif kind in ("ranking", "list"):
        assert value and all(isinstance(name, str) and name.strip() == name != "" for name in value)
        assert kind == "ranking" or len(set(value)) == len(value)
    elif kind in ("number", "percent"):
        assert isinstance(value, float) and math.isfinite(value)
    elif kind == "date":
        assert datetime.date.fromisoformat(value).isoformat() == value
    else:
        assert isinstance(value, str) and value.strip() == value != "" and "\n" not in value


# --- valid answers ---------------------------------------------------------------------------------------------------


@given(answers(), prose)
@settings(max_examples=250)
def test_prose_before_the_box_changes_nothing(answer, before):
    text, kind, options, value = answer
    assume(
        kind not in ("number", "percent") or not re.search(r"[$=(＄＝（]\s*[-−－]\s*$", before)
    )  # a minus outside counts
    assert parse_prediction(rf"{before} So it is \boxed{{{text}}}", kind, options, explain=True) == (value, "")


readable = answers().map(lambda answer: rf"\boxed{{{answer[0]}}}")


@given(replies | readable, kinds, choices)
@settings(max_examples=500)
def test_what_was_read_is_read_again_from_its_own_words(reply, kind, options):
    value = parse_prediction(reply, kind, options)
    if value is None or kind == "text" or (kind in ("ranking", "list") and not options):
        return  # words and names may hold marks that mean more the second time
    text = ", ".join(value) if isinstance(value, list) else str(value)
    assert parse_prediction(rf"\boxed{{{text}}}", kind, options, explain=True) == (value, "")
