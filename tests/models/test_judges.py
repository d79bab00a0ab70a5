"""Judges: asked for one JSON object, replayed by default, every failure a verdict of its own."""

import json
from functools import partial

import pytest
from mock_provider import send, write_body

from daybefore.models.grammars import make_schema
from daybefore.models.judges import MAX_TOKENS, build_consult

FORM = make_schema(score={"type": "integer", "minimum": 0, "maximum": 10})
SEVEN = '{"score": 7}'


@pytest.fixture
def consult(knock):
    """A function that returns a judge of the mock provider."""

    def build(live=True, model="openai/mock-1", **settings):
        return build_consult(knock(live, **settings), model, False)

    return build


def test_a_judge_replies_with_an_object_and_replays_without_asking(consult, provider):
    provider.answer = lambda asked: {"content": SEVEN}
    assert (first := consult()("plan", FORM)).value == {"score": 7}
    assert consult(live=False)("plan", FORM) == first, "the seconds are the recording's"
    (asked,) = provider.asked
    assert asked["response_format"]["json_schema"]["schema"] == FORM and asked["temperature"] == 0


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ('So:\n```json\n{"score": 7}\n```', {"score": 7}),
        ('```\n{"score": 2}\n```\nNo:\n```\n{"score": 7}\n```', {"score": 7}),
        ('{"score": 7, "page": "```{}```"}', {"score": 7, "page": "```{}```"}),
    ],
)
def test_an_object_in_a_code_fence_is_read_and_a_fence_in_an_object_is_text(
    consult, provider, said, value
):
    provider.answer = lambda asked: {"content": said}
    assert consult()("plan", FORM | {"additionalProperties": True}).value == value


@pytest.mark.parametrize("said", ["seven", '{"score": 11}', '{"score": "7"}', "[7]", "{}", ""])
def test_what_does_not_have_the_form_is_unparsable(consult, provider, said):
    provider.answer = lambda asked: {"content": said}
    verdict = consult()("plan", FORM)
    assert (verdict.status, verdict.value) == ("unparsable", None) and verdict.reason
    assert verdict.text == said


def test_a_failed_request_and_a_missing_recording_are_verdicts(consult, provider):
    assert consult()("401", FORM).status == "error"
    missing = consult(live=False, command="make study NOTEBOOK=x")("never asked", FORM)
    assert missing.status == "missing" and "make study NOTEBOOK=x" in missing.reason


def refuse(name, handler):
    """Refuse an option, and judge without."""
    if name not in handler.server.asked[-1]:
        return send(handler, 200, write_body(SEVEN))
    error = {"message": f"Unsupported value: '{name}' with this model.", "param": name}
    return send(handler, 400, json.dumps({"error": error}).encode())


@pytest.mark.parametrize("name", ["temperature", "response_format", "max_tokens", "seed"])
def test_an_option_that_a_judge_refuses_is_dropped_once_and_told(consult, provider, capsys, name):
    provider.faults = provider.faults | dict.fromkeys(("q", "r"), partial(refuse, name))
    for live in (True, False):
        judge = consult(live)
        assert [judge(text, FORM, repeat=1).value for text in "qr"] == [{"score": 7}] * 2
    assert (provider.counts["q"], provider.counts["r"]) == (2, 1)
    assert name != "max_tokens" or provider.asked[-1]["max_completion_tokens"] == MAX_TOKENS
    assert capsys.readouterr().err.count(f"refuses {name}") == 2, "once a judge"


def test_a_judge_whose_client_refuses_temperature_0_is_asked_without(consult, provider):
    provider.answer = lambda asked: {"content": SEVEN}
    assert consult(model="openai/gpt-5-mini")("q", FORM).value == {"score": 7}
    assert "temperature" not in provider.asked[-1]
