"""Judges: asked for one JSON object, replayed by default, every failure a verdict of its own."""

import pytest

from daybefore.models.judges import build_consult

FORM = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
    "required": ["score"],
    "additionalProperties": False,
}


@pytest.fixture
def consult(knock):
    """A function that returns a judge of the mock provider."""
    return lambda live=True, **settings: build_consult(
        knock(live, **settings), "openai/mock-1", False
    )


def test_a_judge_replies_with_an_object_and_replays_without_asking(consult, provider):
    provider.answer = lambda asked: {"content": '{"score": 7}'}
    assert (first := consult()("plan", FORM)).value == {"score": 7}
    assert consult(live=False)("plan", FORM) == first, "the seconds are the recording's"
    assert len(provider.asked) == 1
    asked = provider.asked[0]
    assert asked["response_format"]["json_schema"]["schema"] == FORM and asked["temperature"] == 0


@pytest.mark.parametrize("said", ["seven", '{"score": 11}', '{"score": "7"}', "[7]", "{}", ""])
def test_what_does_not_have_the_form_is_unparsable(consult, provider, said):
    provider.answer = lambda asked: {"content": said}
    verdict = consult()("plan", FORM)
    assert (verdict.status, verdict.value) == ("unparsable", None) and verdict.reason


def test_a_failed_request_and_a_missing_recording_are_verdicts(consult, provider):
    assert consult()("401", FORM).status == "error"
    missing = consult(live=False, command="make study NOTEBOOK=x")("never asked", FORM)
    assert missing.status == "missing" and "make study NOTEBOOK=x" in missing.reason
