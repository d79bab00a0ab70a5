"""Agents that ask a model: one question alone, what it cost, and every way in which it ends without
an answer."""

import pytest
from builders import make_event, reply_with
from mock_provider import CONTENT

from daybefore.agents.prompted_agents import ask_directly, forecast, list_entities
from daybefore.models.failures import TOO_FAST
from daybefore.prompts import fill_final_line, fill_prompt


def test_requests_of_one_question_share_its_deadline(reach, provider):
    provider.latency_s = 0.4

    def ask_for_ever(transcript, event, world):
        for number in range(9):
            transcript.ask([{"role": "user", "content": f"turn {number}"}])

    outcome = forecast(ask_for_ever, reach(deadline_s=1), make_event(), None)
    assert outcome["status"] == "timeout" and 1 <= len(provider.asked) <= 3
    assert outcome["n_input_tokens"] == 50 * sum(
        step["step_type"] == "model" for step in outcome["trace"]
    )


def test_a_question_that_fixes_its_own_form_is_asked_for_no_other(reach, provider):
    asked = "Will it rain? Your final answer MUST be \\boxed{Yes} or \\boxed{No}. Do not use any other format."
    event = make_event(prompt=asked, metadata='{"writes": "text"}')
    provider.answer = reply_with("\\boxed{No}")
    assert forecast(ask_directly, reach(), event, None)["prediction"]["value"] == "B"
    for said in (fill_prompt(event), fill_final_line(event)):
        assert (
            "letter" not in said
            and "Final answer:" not in said
            and "{" not in said.replace(asked, "")
        )
    assert asked in fill_prompt(event)
    stated = fill_prompt(event | {"probabilities": True})
    assert "A. Yes\nB. No" in stated and stated.count("Probabilities:") == 1


def test_what_a_question_calls_listed_is_listed_as_of_its_day(world, collected, reach, provider):
    rows = collected[0][collected[0]["prompt"].str.contains("of the (?:nine )?listed")].to_dict(
        "records"
    )
    assert rows
    for event in rows[:6]:
        names = list_entities(event, world())
        later = list_entities(event | {"as_of": "2001-01-01T00:00+08:00"}, world())
        assert len(names) > event["k"] and later is None
        provider.answer = reply_with("\\boxed{{{}}}".format("; ".join(names[: int(event["k"])])))
        outcome = forecast(ask_directly, reach(), event, world())
        assert "\nListed are: " + "; ".join(names) in outcome["trace"][0]["content"]
        assert outcome["prediction"]["value"] == (
            names[: int(event["k"])] if event["kind"] == "ranking" else names[0]
        )


def test_a_question_alone_is_one_message_and_its_answer_is_read(reach, provider):
    event = make_event(prompt="Will it rise?\nA. Yes\nB. No")
    outcome = forecast(ask_directly, reach(), event, None)
    text = fill_prompt(event)
    asked = {"model": "mock-1", "messages": [{"role": "user", "content": text}]}
    assert provider.asked == [asked], "no option that nobody asked for"
    for part in (event["as_of"], event["resolution_criteria"], "\nA. Yes\nB. No\n"):
        assert text.count(part) == 1
    assert outcome["prediction"] == {"value": "B", "source_ids": [], "parser_version": "3"}
    assert (outcome["reply"], outcome["finish_reason"]) == (CONTENT, "stop")
    assert [outcome[f"n_{name}_tokens"] for name in ("input", "output", "cached")] == [50, 8, 3]
    assert [step["step_type"] for step in outcome["trace"]] == ["prompt", "model", "answer"]
    assert outcome["trace"][1]["n_context_tokens"] == 58


@pytest.mark.parametrize(("reply", "status", "reason", "n_tokens"), [
    ("429", "error", f"RateLimitError 429: slow down; {TOO_FAST} (requests: 2)", None),
    ("refusal", "refusal", "I will not bet.", 50),
    ({"content": "I cannot predict this."}, "refusal", "refusal", 50),
    ({"content": r"\boxed{F}"}, "unparsable", "unknown option: F", 50),
])  # fmt: skip
def test_what_holds_no_answer_is_a_missing_prediction_with_its_reason(
    reach, provider, reply, status, reason, n_tokens
):
    provider.answer = lambda asked: reply
    for live in (True, False):
        outcome = forecast(ask_directly, reach(live=live), make_event(), None)
        told = outcome if "status" in outcome else outcome["prediction"]
        assert (told["status"], told["reason"]) == (status, reason)
        assert outcome["prediction"]["value"] is None and outcome["n_input_tokens"] == n_tokens
        assert outcome["trace"][-1]["error"] == reason
