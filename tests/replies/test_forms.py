"""A value is read back from each form it is written in (forms.json); what stands around is
nothing."""

import datetime
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daybefore.replies.parse_reply import parse_prediction

FORMS = json.loads(Path(__file__).with_name("forms.json").read_text(encoding="utf-8"))
OPTIONS = FORMS["options"]
BEYOND = {chr(65 + n): f"Port {n}" for n in range(38)}
LISTED = [gap.join for gap in FORMS["joins"]] + [repr]
PARTIES = {"A": "Rowers", "B": "Drifters"}
THOUGHT = r"One candidate is \boxed{A}. But wait, the polls say otherwise, so "


def pick(name):
    return st.sampled_from(list(FORMS[name]))


letters = pick("options")
sets_of_letters = st.sets(letters, min_size=2)
noise = st.tuples(pick("before"), pick("wraps"), pick("after"))


def box(content, around=("", "%s", "")):
    """Put a value into a box, between other words."""
    before, wrap, after = around
    end = "$$" if before == "$$" and after != "$$" else ""
    return before + r"\boxed{%s}" % (wrap % content) + end + after


def read(reply, kind, options=None):
    return parse_prediction(reply, kind, options, explain=True)


def write(item, letter):
    return item.format(letter, OPTIONS[letter])


@given(letters, pick("item"), pick("lists"), noise)
@settings(max_examples=300)
def test_an_option_is_read_from_each_of_its_forms(letter, item, wrap, around):
    reply = box(wrap.format(write(item, letter)), around)
    assert read(reply, "single", OPTIONS) == (letter, "")
    assert read(reply, "multi", OPTIONS) == ([letter], "")


@given(sets_of_letters, pick("item"), pick("gaps"), noise)
@settings(max_examples=300)
def test_several_options_are_read_from_one_box(some, item, gap, around):
    content = gap.join(write(item, letter) for letter in sorted(some))
    assert read(box(content, around), "multi", OPTIONS) == (sorted(some), "")


@given(
    sets_of_letters, pick("item"), st.sampled_from([", ", " and ", " ", "\n", "\n- ", "; ", "$, $"])
)
@settings(max_examples=300)
def test_several_options_are_read_from_a_box_each(some, item, gap):
    lead = gap.strip("\n") if gap == "\n- " else "$" if "$" in gap else ""
    reply = lead + gap.join(box(write(item, letter)) for letter in sorted(some)) + lead.strip("- ")
    assert read(reply, "multi", OPTIONS) == (sorted(some), "")


@given(
    st.integers(1_000, 10**8),
    pick("numbers"),
    st.sampled_from(list(FORMS["scripts"].values())),
    noise,
)
@settings(max_examples=600)
def test_a_number_is_read_from_each_of_its_forms(whole, form, zero, around):
    value = whole + 0.25
    plain, grouped = f"{value:.2f}", f"{value:,.2f}"
    marks = {"comma": ",", "apostrophe": "'", "space": " ", "thin": "\u202f", "latex": "{,}"}
    content = form.format(
        **{name: grouped.replace(",", mark) for name, mark in marks.items()},
        plain=plain,
        underscore=f"{whole:_}.25",
        scientific=f"{value:.12e}",
        power=rf"{value / 1e3:.6f} \times 10^{{3}}",
        arabic="".join(chr(int(char) + ord(zero)) if char.isdigit() else char for char in plain),
        continental=grouped.translate({44: ".", 46: ","}),
    )
    assert read(box(content, around), "number")[0] == pytest.approx(value)


@given(st.dates(datetime.date(1950, 1, 1), datetime.date(2090, 1, 1)), pick("dates"), noise)
@settings(max_examples=300)
def test_a_day_is_read_from_each_of_its_forms(day, form, around):
    content = form.format(y=day.year, m=day.month, d=day.day, month=f"{day:%B}")
    assert read(box(content, around), "date") == (day.isoformat(), "")


@given(st.lists(pick("names"), min_size=2, unique=True), st.sampled_from(LISTED), st.integers(0, 8))
@settings(max_examples=400)
def test_names_are_read_in_their_order_from_each_form_of_a_list(names, join, first):
    listed = join(
        [f"{place}. {name}" for place, name in enumerate(names, first)] if first else names
    )
    for kind in ("ranking", "list"):
        assert read(box(listed), kind) == (names, "")


@given(
    st.sets(st.sampled_from(list(BEYOND)), min_size=1),
    st.sampled_from([", ", ",", "; ", "\n"]),
    st.booleans(),
)
@settings(max_examples=300)
def test_labels_beyond_z_are_read_as_they_are_written(labels, gap, is_escaped):
    written = [
        f"\\{label}" if is_escaped and label in "_^[]" else label for label in sorted(labels)
    ]
    assert read("Final answer: " + box(gap.join(written)), "multi", BEYOND) == (sorted(labels), "")


@pytest.mark.parametrize(("start", "end"), FORMS["thinking"])
def test_what_stands_in_thinking_is_no_answer_and_what_follows_it_is(start, end):
    assert read(start + THOUGHT, "single", PARTIES) == (None, "unfinished thinking")
    assert read(start + THOUGHT + end, "single", PARTIES)[0] is None
    for begun in (start, ""):
        assert read(begun + THOUGHT + end + r"Final answer: \boxed{B}", "single", PARTIES) == (
            "B",
            "",
        )
