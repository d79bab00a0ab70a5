"""Prompts hold all that an agent may know of an event, in our words, and nothing to copy an answer from."""

from builders import make_event

from helpers.agents.prompts import describe_answer, fill_prompt


def test_a_prompt_says_the_question_the_moment_the_rule_and_what_belongs_in_the_box():
    event = make_event(prompt="Will it rise?\nA. Yes\nB. No")
    text = fill_prompt(event)
    for part in (event["as_of"], event["resolution_criteria"], "Question: Will it rise?", "\nA. Yes\nB. No\n"):
        assert text.count(part) == 1
    assert text.count("A. Yes") == 1, "options stand once, though the question lists them too"
    assert describe_answer(event) in text
