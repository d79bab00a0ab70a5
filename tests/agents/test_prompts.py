"""Prompts hold all that an agent may know of an event, in our words, and nothing to copy an answer from."""

import string

import pytest
from builders import make_event

from helpers.agents.prompts import ANSWER_FORMATS, describe_answer, fill_prompt, split_question
from helpers.prompts import FOLDER, hash_prompts, read_prompt


def test_a_prompt_says_the_question_the_moment_the_rule_and_what_belongs_in_the_box():
    event = make_event(prompt="Will it rise?\nA. Yes\nB. No")
    text = fill_prompt(event)
    for part in (event["as_of"], event["resolution_criteria"], "Question: Will it rise?", "\nA. Yes\nB. No\n"):
        assert text.count(part) == 1
    assert text.count("A. Yes") == 1, "options stand once, though the question lists them too"
    assert describe_answer(event) in text


@pytest.mark.parametrize("kind", ["number", "percent", "date", "text", "ranking", "list"])
def test_an_event_without_options_has_the_open_prompt(kind):
    text = fill_prompt(make_event(kind, k=3.0))
    assert "Options:" not in text and describe_answer(make_event(kind, k=3.0)) in text


def test_no_blank_is_left_and_braces_of_a_question_stay_as_they_are():
    for kind in ("single", "number"):
        text = fill_prompt(make_event(kind, prompt="How many {as_of} in {0}, {}?", resolution_criteria="by {k}"))
        assert "How many {as_of} in {0}, {}?" in text and "by {k}" in text
        left = text.replace("How many {as_of} in {0}, {}?", "").replace("by {k}", "").replace(r"\boxed{}", "")
        assert "{" not in left and "}" not in left


def test_what_belongs_in_the_box_names_unit_and_places():
    assert describe_answer(make_event("number", unit="$ a gallon")).endswith("without its unit ($ a gallon)")
    assert describe_answer(make_event("number")).endswith("without its unit")
    assert describe_answer(make_event("ranking", k=5.0)).startswith("5 names, from the first to the last")
    assert describe_answer(make_event("list", k=1.0)) == "one name, and nothing else"
    assert describe_answer(make_event("list", k=None)) == describe_answer(make_event("list")) != ""
    assert describe_answer(make_event("single", k=1.0)) == ANSWER_FORMATS["single"]


@pytest.mark.parametrize("kind", ANSWER_FORMATS)
def test_no_format_holds_an_answer_to_copy(kind):
    words = describe_answer(make_event(kind, k=3.0)).removeprefix("3 names").replace(",", " ").split()
    assert not [word for word in words if word.isdigit() or word in string.ascii_uppercase]


def test_a_line_of_the_question_that_is_no_option_stays():
    event = make_event(prompt="Who?\nA. Yes, of course\nA. Yes\nB. No\nSay which.")
    assert split_question(event) == "Who?\nA. Yes, of course\nSay which."


def test_a_hash_changes_with_any_prompt_and_their_order():
    names = [("option_event",), ("open_event",), ("option_event", "open_event"), ("open_event", "option_event")]
    assert len({hash_prompts(group) for group in names}) == 4
    assert hash_prompts(names[0]) == hash_prompts(names[0])
    with pytest.raises(FileNotFoundError):
        read_prompt("no_such_prompt")


def test_every_prompt_file_fills_and_ends_in_no_blank_line_that_counts():
    for path in sorted(FOLDER.glob("*.md")):
        if path.stem == "README":
            continue
        fields = {field for _, field, _, _ in string.Formatter().parse(read_prompt(path.stem)) if field is not None}
        assert all(field.isidentifier() for field in fields), path.stem
        filled = read_prompt(path.stem).format(**dict.fromkeys(fields, "x"))
        assert "{x}" not in filled
