"""Properties of reading replies that hold for any text, searched for by hypothesis; the same examples every time."""

import datetime
import math

from faults.fuzzed_replies import read_replies
from hypothesis import given, settings
from hypothesis import strategies as st

from daybefore.replies.parse import KINDS, parse_prediction

settings.register_profile("same", derandomize=True, deadline=None, max_examples=100, database=None)
settings.load_profile("same")

OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "None of these"}
YES_NO = {"A": "Yes", "B": "No"}
PIECES = [r"\boxed{", "}", "{", "\\", "$", "**", "\n", "\n\n", " ", ",", ";", ".", "-", "−", ":", "(", ")", "[", "]"]
PIECES += ['"', "A", "B", "C", "D", "E", "a", "Oslo", "Rome", "None of these", "and", "or", "to", "not", "Answer", "is"]
PIECES += ["Yes", "1", "52.3", "1,234", "10^", "½", "²", "%", "±", "<", ">", "/", "million", "k", "e9", "1e400", "year"]
PIECES += ["October", "12", "2016", "2016-02-31", "<think>", "</think>", r"\text{", r"\frac{1}{0}", "I cannot predict"]
PIECES += ["N/A", "\u200b", "\x00", "①", "𝟓", "٣", "万", "年", "&amp;", "&#0;", "&#x7b;", "Final answer:", "\ud800"]
texts = st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
boxed = texts.map(lambda text: rf"So: \boxed{{{text}}}")
replies = texts | boxed
kinds = st.sampled_from(KINDS)
choices = st.sampled_from([None, OPTIONS, YES_NO])
# --- against an oracle that needs no parser (faults/fuzzed_replies.py) -----------------------------------------------


def test_written_replies_are_read_right_or_not_at_all():
    shares, wrong, _ = read_replies(720, seed=3)
    assert wrong == []
    assert min(shares.values()) > 0.9, shares  # a parser that reads nothing is never wrong


# --- whatever the text -----------------------------------------------------------------------------------------------


@given(replies, kinds, choices)
@settings(max_examples=400)
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
