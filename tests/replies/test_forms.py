"""A value is read back from whatever form it is written in, and what stands around its box changes nothing."""

import datetime
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daybefore.replies.parse import parse_prediction

settings.register_profile("same", derandomize=True, deadline=None, max_examples=100, database=None)
settings.load_profile("same")

OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "Port of Spain", "E": "0", "F": "3 or more"}
OPTIONS |= {"G": "Above 0.1%", "H": "São Tomé"}
BEYOND = dict(zip([chr(code) for code in range(65, 103)], [f"Port {n}" for n in range(38)], strict=True))
BOX = r"\boxed{%s}"

BEFORE = [
    "",
    "We weighed it.\n\n",
    "**Answer:** ",
    "The form \\boxed{YOUR_PREDICTION} is kept: ",
    "$$",
    "Final answer: ",
]
BEFORE += ["<think>Is it \\boxed{Z}? No.</think>\n", "For example, not \\boxed{Q}. ", "Use the \\boxed{} format: "]
AFTER = ["", ".", "$$", "**", "\n", "\n\n---", " (in the \\boxed{} format)", "<|im_end|>", "\n```"]
WRAPS = ["%s", " %s ", r"\text{%s}", r"\mathbf{%s}", "**%s**", "\n%s\n", r"\;%s", '"%s"']

ITEM = ["{0}", "({0})", "{0}.", "{0}. {1}", "{0}: {1}", "{0}. the outcome be {1}", "{0}) {1}", "{0} ({1})", "{1}"]
ITEM += ["the outcome be {1}", "{0} (most likely)", "{0} (70%)", r"{0} (70\%)", "{0}: 80%", "{0} 90%", "**{0}**"]
ITEM += ["{0}. {1} (likely)", "Option {0}"]
GAPS = [", ", ",", "; ", "\n", "、", "，", ",\\ "]
LISTS = ["{}", "[{}]", r"\{{{}\}}"]

DIGITS = {"arabic": 0x660, "persian": 0x6F0, "devanagari": 0x966, "full width": 0xFF10}
NUMBERS = ["{plain}", "{comma}", "{apostrophe}", "{space}", "{thin}", "{latex}", "{underscore}", "{scientific}"]
NUMBERS += ["{power}", "about {plain}", r"\approx {comma}", "Value: {comma}", "{comma} (my estimate)", "~{plain}"]
NUMBERS += ["{plain} points", r"{plain}\text{{ points}}", "{comma} ± 3", "{comma} (range: 3 to 5)", "[{plain}]"]
NUMBERS += ["{comma} [estimate]", "{comma} (as of 3 May)", "{plain} units (up a little)", "{arabic}", "{continental}"]
DATES = ["{y}-{m:02}-{d:02}", "{y}-{m}-{d}", "{y}/{m}/{d}", "{y}.{m}.{d}", "{y}年{m}月{d}日", "{y}{m:02}{d:02}"]
DATES += ["{d} {month} {y}", "{month} {d}, {y}", "{y}-{m:02}-{d:02} (my best guess)", "['{y}-{m:02}-{d:02}']"]
NAMES = ["Oslo", "Rio de Janeiro", "AT&T", "Moana 2", "St. Louis", "罗小黑战记2", "O'Higgins", "São Tomé", "Se7en"]
LISTED = ["; ".join, "\n".join, ", ".join, " > ".join, r" \\ ".join, repr, "、".join]

parts = st.tuples(st.sampled_from(BEFORE), st.sampled_from(WRAPS), st.sampled_from(AFTER))


def frame(content, noise):
    """Put what a box holds between other words."""
    before, wrap, after = noise
    return before + BOX % (wrap % content) + ("$$" if before == "$$" and after != "$$" else "") + after


@given(st.sampled_from(list(OPTIONS)), st.sampled_from(ITEM), st.sampled_from(LISTS), parts)
@settings(max_examples=500)
def test_an_option_is_read_from_each_of_its_forms(letter, item, wrap, noise):
    reply = frame(wrap.format(item.format(letter, OPTIONS[letter])), noise)
    assert parse_prediction(reply, "single", OPTIONS, explain=True) == (letter, "")
    assert parse_prediction(reply, "multi", OPTIONS, explain=True) == ([letter], "")


@given(st.sets(st.sampled_from(list(OPTIONS)), min_size=2), st.sampled_from(ITEM), st.sampled_from(GAPS), parts)
@settings(max_examples=500)
def test_several_options_are_read_from_one_box(letters, item, gap, noise):
    content = gap.join(item.format(letter, OPTIONS[letter]) for letter in sorted(letters))
    assert parse_prediction(frame(content, noise), "multi", OPTIONS, explain=True) == (sorted(letters), "")


@given(letters=st.sets(st.sampled_from(list(OPTIONS)), min_size=2), item=st.sampled_from(ITEM))
@pytest.mark.parametrize("gap", [", ", " and ", " ", "\n", "\n- ", "; ", "$, $"])
def test_several_options_are_read_from_a_box_each(gap, letters, item):
    reply = gap.join(BOX % item.format(letter, OPTIONS[letter]) for letter in sorted(letters))
    reply = f"- {reply}" if gap == "\n- " else f"${reply}$" if "$" in gap else reply
    assert parse_prediction(reply, "multi", OPTIONS, explain=True) == (sorted(letters), "")


@given(st.sampled_from("ABC"), st.sampled_from("FGH"), st.sampled_from(["-", "–", " to ", " through ", "...", "至"]))
def test_a_range_is_all_that_lie_in_it(first, last, mark):
    wanted = [letter for letter in OPTIONS if first <= letter <= last]
    assert parse_prediction(BOX % (first + mark + last), "multi", OPTIONS) == wanted


def write_digits(value, first):
    """Write a number's digits in another script, whose zero is `first`."""
    return "".join(chr(int(char) + first) if char.isdigit() else char for char in f"{value}")


@given(st.integers(1_000, 10**8), st.sampled_from(NUMBERS), st.sampled_from(list(DIGITS)), parts)
@settings(max_examples=600)
def test_a_number_is_read_from_each_of_its_forms(whole, form, script, noise):
    value = whole + 0.25
    grouped = f"{value:,.2f}"
    content = form.format(
        plain=f"{value:.2f}",
        comma=grouped,
        apostrophe=grouped.replace(",", "'"),
        space=grouped.replace(",", " "),
        thin=grouped.replace(",", "\u202f"),
        latex=grouped.replace(",", "{,}"),
        underscore=f"{whole:_}.25",
        scientific=f"{value:.12e}",
        power=rf"{value / 1e3:.6f} \times 10^{{3}}",
        arabic=write_digits(f"{value:.2f}", DIGITS[script]),
        continental=grouped.translate({44: ".", 46: ","}),
    )
    assert parse_prediction(frame(content, noise), "number") == pytest.approx(value)


@given(st.integers(1, 99), st.integers(1, 99), st.sampled_from([r"\frac{%d}{%d}", r"\dfrac{%d}{%d}", "%d/%d"]))
def test_a_fraction_is_its_value(above, below, form):
    assert parse_prediction(BOX % (form % (above, below)), "number") == pytest.approx(above / below)


@given(st.dates(datetime.date(1950, 1, 1), datetime.date(2090, 1, 1)), st.sampled_from(DATES), parts)
@settings(max_examples=300)
def test_a_day_is_read_from_each_of_its_forms(day, form, noise):
    content = form.format(y=day.year, m=day.month, d=day.day, month=f"{day:%B}")
    assert parse_prediction(frame(content, noise), "date") == day.isoformat()


@given(st.lists(st.sampled_from(NAMES), min_size=2, unique=True), st.sampled_from(LISTED), st.integers(0, 8))
@settings(max_examples=400)
def test_names_are_read_in_their_order_from_each_form_of_a_list(names, join, first):
    listed = join([f"{place}. {name}" for place, name in enumerate(names, first)] if first else names)
    for kind in ("ranking", "list"):
        assert parse_prediction(BOX % listed, kind, explain=True) == (names, "")


@given(st.sampled_from(["NFC", "NFD", "NFKC"]), st.sampled_from(["H", "São Tomé", "H. São Tomé", "sao tome"]))
def test_accents_composed_or_not_are_the_same_letters(form, content):
    assert parse_prediction(BOX % unicodedata.normalize(form, content), "single", OPTIONS) == "H"
    assert parse_prediction(BOX % unicodedata.normalize(form, "São Tomé"), "text") == "São Tomé"


@given(st.sets(st.sampled_from(list(BEYOND)), min_size=1), st.sampled_from([", ", ",", "; ", "\n"]), st.booleans())
@settings(max_examples=300)
def test_labels_beyond_z_are_read_as_they_are_written(labels, gap, is_escaped):
    written = [f"\\{label}" if is_escaped and label in "_^[]" else label for label in sorted(labels)]
    reply = "Final answer: " + BOX % gap.join(written)
    assert parse_prediction(reply, "multi", BEYOND, explain=True) == (sorted(labels), "")


LEFT_OPEN = [
    ("single", r"\boxed{A or B}"),
    ("single", r"\boxed{A}, \boxed{B}"),
    ("single", r"\boxed{A (30%)}"),
    ("multi", r"\boxed{D-B}"),
    ("multi", r"\boxed{B, not C}"),
    ("multi", r"\boxed{A (80%), C (20%)}"),
    ("multi", r"\boxed{A. Oslo (unlikely), B}"),
    ("number", r"\boxed{4000-4200}"),
    ("number", r"\boxed{4,00,0}"),
    ("number", r"\boxed{10%}"),
    ("number", r"\boxed{4100 (thousand)}"),
    ("number", r"\boxed{{:.2f}}"),
    ("number", r"\boxed{FC Ingolstadt 04}"),
    ("date", r"\boxed{7/6/2025}"),
    ("date", r"\boxed{2025-7-31 or later}"),
    ("date", r"\boxed{2025-7-31 (or later)}"),
    ("ranking", r"\boxed{3. Oslo, 1. Rome, 2. Lima}"),
]


@pytest.mark.parametrize(("kind", "reply"), LEFT_OPEN)
def test_what_has_two_readings_is_none_with_a_reason(kind, reply):
    value, reason = parse_prediction(reply, kind, OPTIONS if kind in ("single", "multi") else None, explain=True)
    assert value is None and reason


def test_a_percentage_is_read_where_the_unit_is_one():
    assert parse_prediction(r"\boxed{10\%}", "number", unit="%") == 10
    assert parse_prediction(r"\boxed{10}", "number", unit="%") == 10
    assert parse_prediction(r"\boxed{10\%}", "percent") == 10
    reason = parse_prediction(r"\boxed{10\%}", "number", unit="goals", explain=True)[1]
    assert reason.startswith("another unit")


# --- thinking is no answer -------------------------------------------------------------------------------------------

FAMILIES = [(f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think", "cot")]
FAMILIES += [("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"), ("&lt;think&gt;", "&lt;/think&gt;")]
FAMILIES += [("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>")]
FAMILIES += [("analysisWe weigh. ", "assistantfinal"), ('<details type="reasoning">', "</details>")]
FAMILIES += [("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|START_THINKING|>", "<|END_THINKING|>")]
FAMILIES += [
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<antThinking>", "</antThinking>"),
]
FAMILIES += [("<|im_start|>think\n", "<|im_end|><|im_start|>answer\n"), ("Thinking...\n", "\n...done thinking.\n")]
FAMILIES += [("Here is my thought process:", "\nHere is my response: "), ('<think id="3">', "</think>")]
THOUGHT = r"One candidate is \boxed{A}. But wait, the polls say otherwise, so "


@pytest.mark.parametrize(("start", "end"), FAMILIES)
def test_what_stands_in_thinking_is_no_answer_and_what_follows_it_is(start, end):
    def read(reply):
        return parse_prediction(reply, "single", {"A": "Rowers", "B": "Drifters"}, explain=True)

    assert read(start + THOUGHT) == (None, "unfinished thinking")
    assert read(start + THOUGHT + end)[0] is None
    assert read(start + THOUGHT + end + r"Final answer: \boxed{B}") == ("B", "")
    assert read(THOUGHT + end + r"Final answer: \boxed{B}") == ("B", "")


@pytest.mark.parametrize(
    "text", [r"Analysis: the polls. \boxed{B}", r"[Reasoning] Polls. \boxed{B}", r"I think \boxed{B}"]
)
def test_words_about_thinking_are_no_marks_of_it(text):
    assert parse_prediction(text, "single", {"A": "Rowers", "B": "Drifters"}) == "B"


def test_a_reply_that_was_cut_is_read_only_where_its_answer_is_its_end():
    options = {"A": "Rowers", "B": "Drifters"}
    for reply, value in [
        (THOUGHT, None),
        (r"So \boxed{A}, since", None),
        ("The answer is B", None),
        (r"All in all: \boxed{A}", "A"),
        (rf"<think>{THOUGHT}</think>\boxed{{B}}, for the polls", "B"),
    ]:
        assert parse_prediction(reply, "single", options, is_cut=True) == value
