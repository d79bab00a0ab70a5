"""Prompts hold all that an agent may know of an event, in our words, and nothing to copy an answer from."""

from builders import make_event

from helpers.agents.prompts import ANSWER_FORMATS, describe_answer, fill_prompt


def test_a_prompt_says_the_question_the_moment_the_rule_and_what_belongs_in_the_box():
    event = make_event(prompt="Will it rise?\nA. Yes\nB. No")
    text = fill_prompt(event)
    for part in (event["as_of"], event["resolution_criteria"], "Question: Will it rise?", "\nA. Yes\nB. No\n"):
        assert text.count(part) == 1
    assert text.count("A. Yes") == 1, "options stand once, though the question lists them too"
    assert describe_answer(event) in text


def test_what_belongs_in_the_box_names_unit_and_places():
    assert describe_answer(make_event("number", unit="$ a gallon")).endswith("without its unit ($ a gallon)")
    assert describe_answer(make_event("number")).endswith("without its unit")
    assert describe_answer(make_event("ranking", k=5.0)).startswith("5 names, from the first to the last")
    assert describe_answer(make_event("list", k=1.0)) == "one name, and nothing else"
    assert describe_answer(make_event("list", k=None)) == describe_answer(make_event("list")) != ""
    assert describe_answer(make_event("single", k=1.0)) == ANSWER_FORMATS["single"]
