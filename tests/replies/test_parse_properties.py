"""Properties of reading replies that hold for any text, searched for by hypothesis; the same
examples every time."""

import datetime
import json
import math
import string
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from replies.written_replies import read_replies

from daybefore.replies.parse_reply import KINDS, parse_prediction

FORMS = json.loads(Path(__file__).with_name("forms.json").read_text(encoding="utf-8"))
OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "None of these"}
texts = st.text(max_size=60) | st.lists(st.sampled_from(FORMS["pieces"]), max_size=25).map("".join)
replies = texts | texts.map(lambda text: rf"So: \boxed{{{text}}}")
kinds = st.sampled_from(KINDS)
choices = st.sampled_from([None, OPTIONS, {"A": "Yes", "B": "No"}])
# --- against an oracle that needs no parser (written_replies.py) -------------------------------------


def test_written_replies_are_read_right_or_not_at_all():
    shares, wrong = read_replies(1500, seed=3)
    assert wrong == []
    assert min(shares.values()) > 0.9, shares  # a parser that reads nothing is never wrong


# --- whatever the text ------------------------------------------------------------------------------


@given(replies, kinds, choices)
@settings(max_examples=400)
def test_any_text_gives_a_value_of_its_kind_or_a_reason_and_never_raises(reply, kind, options):
    value, reason = parse_prediction(reply, kind, options, explain=True)
    assert (value is None) == bool(reason) and isinstance(reason, str)
    assert parse_prediction(reply, kind, options) == value
    if value is None:
        return
    known = sorted(options or string.ascii_uppercase)
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
