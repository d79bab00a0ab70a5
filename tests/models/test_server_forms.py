"""Forms in which real servers answer: errors in a 200, streams, text in parts, cut prompts."""

import importlib.util
import json
import re

import httpx
import pytest
from builders import PRICED, say
from mock_provider import CONTENT, read_form, send, write_body

from daybefore.models.client import ask, wants_stream
from daybefore.models.failures import LlmError
from daybefore.models.transport import PROXIES, check_proxies

MODEL = "openai/mock-1"


# --- an error inside a 200 --------------------------------------------------------------------------

INNER = read_form("errors in a 200")


@pytest.mark.parametrize("name", INNER)
def test_an_error_inside_a_200_is_what_its_code_says(knock, provider, name):
    told = INNER[name]
    provider.answer = lambda asked: json.dumps(told["body"]).encode()
    with pytest.raises(LlmError) as caught:
        ask(knock(), MODEL, say("q"))
    assert caught.value.status == "error" and str(told["code"]) in caught.value.reason
    assert provider.counts["q"] == (2 if told["passes"] else 1)
    provider.answer = None
    assert ask(knock(), MODEL, say("q"))["content"] == CONTENT, "the same command asks again"


def test_a_paid_text_beside_an_error_is_a_reply(knock, provider):
    body = json.loads(write_body()) | {"error": {"code": 502, "message": "late"}}
    provider.answer = lambda asked: json.dumps(body).encode()
    assert ask(knock(), MODEL, say("q"))["content"] == CONTENT


# --- models that stream only ------------------------------------------------------------------------

STREAM_ONLY = b'{"error": {"message": "This model only support stream mode, please enable the stream parameter."}}'


def write_stream(texts, end="stop", usage=True):
    """Return a reply in pieces, as server-sent events."""
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mock-1"}
    parts = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        for text in texts
    ]
    if end:
        parts.append({"choices": [{"index": 0, "delta": {}, "finish_reason": end}]})
    if usage:
        told = {"prompt_tokens": 50, "completion_tokens": 8, "total_tokens": 58}
        parts.append({"choices": [], "usage": told})
    return b"".join(b"data: " + json.dumps(head | part).encode() + b"\n\n" for part in parts)


@pytest.fixture
def streams(provider):
    """Have the provider answer in a stream only; a list of what it sends, refusals counted
    apart."""
    sent = {
        "stream": write_stream(["I looked. ", "\\boxed", "{B}"]) + b"data: [DONE]\n\n",
        "refused": 0,
    }

    def answer(handler):
        asked = provider.asked[-1]
        if asked.get("stream"):
            return send(
                handler, 200, sent["stream"], content_type="text/event-stream; charset=utf-8"
            )
        sent["refused"] += 1
        return send(handler, 400, STREAM_ONLY)

    provider.faults = provider.faults | {"q": answer, "r": answer}
    return sent


def test_a_model_that_streams_only_is_streamed_and_refuses_once(knock, streams):
    door = knock()
    row = ask(door, PRICED, say("q"))
    assert (row["content"], row["finish_reason"]) == ("I looked. \\boxed{B}", "stop")
    assert (row["n_input_tokens"], row["n_output_tokens"]) == (50, 8) and row["cost_usd"] > 0
    assert ask(door, PRICED, say("r"))["content"] == row["content"]
    assert streams["refused"] == 1


def test_tokens_that_a_stream_does_not_tell_are_not_guessed(knock, streams):
    streams["stream"] = write_stream(["B"], usage=False)
    row = ask(knock(), PRICED, say("q"))
    assert row["cost_usd"] is None and row["cost_bound_usd"] > 0


@pytest.mark.parametrize(
    "body", [write_stream(["I looked. \\boxed{A"], end=None), b"", b"data: {oops\n\n"]
)
def test_a_stream_that_is_cut_is_unreadable(knock, streams, body):
    streams["stream"] = body
    with pytest.raises(LlmError) as caught:
        ask(knock(), MODEL, say("q"), stream=True)
    assert caught.value.status == "unreadable"


def test_an_error_in_place_of_a_stream_is_what_its_code_says(knock, streams):
    streams["stream"] = b'data: {"error": {"code": 503, "message": "busy"}}\n\n'
    with pytest.raises(LlmError) as caught:
        ask(knock(), MODEL, say("q"), stream=True)
    assert caught.value.status == "error" and "503" in caught.value.reason


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("BadRequestError 400: this model must be used with stream=true", True),
        ("BadRequestError 400: streaming is required for this model", True),
        ("BadRequestError 400: stream is not supported", False),
        ("InternalServerError 500: only stream", False),
    ],
)
def test_what_asks_for_a_stream(said, wanted):
    assert wants_stream(LlmError("error", said)) is wanted


# --- text in parts, cut prompts, costs above a bound ------------------------------------------------


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (
            [{"type": "text", "text": "I say "}, {"type": "text", "text": "\\boxed{B}"}],
            "I say \\boxed{B}",
        ),
        (
            [
                {"type": "thinking", "thinking": "\\boxed{A}"},
                {"type": "text", "text": "\\boxed{B}"},
            ],
            "\\boxed{B}",
        ),
        ([{"type": "output_text", "text": "B"}], "B"),
        (["a", "b"], "ab"),
        ([], ""),
    ],
)
def test_content_in_parts_is_joined(knock, provider, content, text):
    provider.answer = lambda asked: write_body(content)
    assert ask(knock(), MODEL, say("q"))["content"] == text


LONG = "The harbour board met and discussed the winter timetable. " * 300


def test_a_prompt_that_was_cut_is_told_and_stored(knock, provider, capsys):
    usage = {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20}
    provider.answer = lambda asked: {"usage": usage}
    row = ask(door := knock(), MODEL, say(LONG))
    assert re.search(r"read 12 tokens of a prompt of 1,350 or more", row["warning"])
    ask(door, MODEL, say(LONG + "again"))
    assert capsys.readouterr().err.count("read 12 tokens") == 1
    assert "warning" in ask(knock(live=False), MODEL, say(LONG))


@pytest.mark.parametrize("n", [3000, 1350])
def test_a_prompt_that_was_read_is_not_told(knock, provider, n):
    usage = {"prompt_tokens": n, "completion_tokens": 8, "total_tokens": n + 8}
    provider.answer = lambda asked: {"usage": usage}
    assert "warning" not in ask(knock(), MODEL, say(LONG))


def test_after_a_reply_above_its_bound_requests_go_out_one_at_a_time(knock, provider):
    usage = {"prompt_tokens": 50, "completion_tokens": 5000, "total_tokens": 5050}
    provider.answer = lambda asked: {"usage": usage}
    door = knock(ceiling_usd=0.01)
    with pytest.raises(LlmError) as caught:
        for n in range(9):
            ask(door, PRICED, say(f"q{n}"), max_tokens=10)
    cost = 50 * 0.15e-6 + 5000 * 0.6e-6
    assert caught.value.status == "over_budget" and len(provider.asked) == 3
    assert door.spent_usd == pytest.approx(3 * cost) and door.spent_usd <= door.ceiling_usd
    assert door.dearest_usd == pytest.approx(cost)


def test_what_could_not_be_read_stays_spent_after_it_was_asked_again(knock, provider):
    provider.answer = lambda asked: "cut" if len(provider.asked) == 1 else {}
    with pytest.raises(LlmError):
        ask(knock(), PRICED, say("q"), max_tokens=10)
    bound = knock().spent_usd
    row = ask(knock(rereads=True), PRICED, say("q"), max_tokens=10)
    assert bound > 0 and knock().spent_usd == pytest.approx(bound + row["cost_usd"])


# --- proxies in the environment ---------------------------------------------------------------------


@pytest.mark.parametrize(("name", "value", "words"), [
    ("ALL_PROXY", "socks5://127.0.0.1:9", r"\(ALL_PROXY\) hold a SOCKS proxy: install httpx\[socks\]"),
    ("https_proxy", "socks5h://127.0.0.1:9", r"\(HTTPS_PROXY\) hold a SOCKS proxy"),
    ("ALL_PROXY", "ftp://127.0.0.1:9", r"\(ALL_PROXY\) hold an entry that is no address"),
    ("NO_PROXY", "127.0.0.1,::1/128", r"\(NO_PROXY\) hold an entry that is no address: leave out IPv6"),
    ("HTTP_PROXY", "http://127.0.0.1:port", r"\(HTTP_PROXY\) hold an entry that is no address"),
    ("NO_PROXY", "127.0.0.1,::1,localhost,10.0.0.0/8", None),
])  # fmt: skip
def test_a_proxy_that_cannot_be_taken_is_one_sentence(monkeypatch, name, value, words):
    for one in PROXIES:
        monkeypatch.delenv(one, raising=False)
        monkeypatch.delenv(one.lower(), raising=False)
    monkeypatch.setenv(name, value)
    if words is None or ("socks" in value and importlib.util.find_spec("socksio")):
        check_proxies(httpx)
        return
    with pytest.raises(ValueError, match=words):
        check_proxies(httpx)
