"""The door to the models, against a provider on loopback that fails in every way, and recordings
that replay."""

import base64
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import quote

import pytest
from builders import ENTRY, KEY, PRICED, say, scan
from faults.lying import DEADLINE_S, ENDS, N_REQUESTS
from mock_provider import CONTENT

from daybefore.agents.registry import check_agent
from daybefore.models.client import ask, open_door
from daybefore.models.failures import LlmError
from daybefore.models.recordings import pack_recordings
from daybefore.models.secrets import hide_secrets, redact
from daybefore.models.transport import load_litellm
from daybefore.store import ACCIDENTS

MODEL = "openai/mock-1"


@pytest.fixture
def reach(knock):
    """A function that opens a door on the mock provider, with three requests and time enough on a
    busy machine."""
    return partial(knock, deadline_s=60, n_requests=N_REQUESTS)


# --- what goes wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ENDS)
def test_each_fault_ends_in_time_with_its_reason_and_so_many_requests(
    reach, provider, tmp_path, fault
):
    is_late = ENDS[fault][0] == "timeout"
    started = time.monotonic()
    with pytest.raises(LlmError) as caught:
        ask(reach(deadline_s=DEADLINE_S) if is_late else reach(), MODEL, say(fault))
    assert time.monotonic() - started < 25, "the provider hangs and drips for 30 s"
    status, words, n_wanted = ENDS[fault]
    assert (caught.value.status, provider.counts[fault]) == (
        status,
        n_wanted,
    ) and words in caught.value.reason
    assert caught.value.recording["n_requests"] == provider.counts[fault]
    with pytest.raises(LlmError) as replayed:
        ask(reach(live=False), MODEL, say(fault))
    assert (replayed.value.status, replayed.value.reason) == (status, caught.value.reason)
    assert provider.counts[fault] == n_wanted, "a replay asks nothing"
    pack_recordings("mock")
    assert scan(tmp_path) == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [("429 for long", "429"), ("500", "500"), ("", "the connection failed, ConnectError")],
)
def test_an_accident_that_leaves_no_time_to_try_again_stays_one_and_is_not_paid(
    reach, provider, fault, said
):
    """With status 'timeout' it would be final, so that a server that is back is never asked
    again."""
    client = reach(n_requests=3, deadline_s=25, wait_s=30, ceiling_usd=1.0, prices=(1e-6, 2e-6))
    if not fault:
        client.connection["api_base"] = "http://127.0.0.1:9/v1"
    with pytest.raises(LlmError, match=f"{said}.*requests: 1; no time left to try again") as caught:
        ask(client, MODEL, say(fault or "hello"))
    assert caught.value.status in ACCIDENTS and client.spent_usd == 0


# --- recordings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"extra_headers": {"x-own": KEY}}, {"tools": [{"type": "mcp", "headers": {"x-own": KEY}}]}],
)
def test_options_that_can_hold_a_key_are_refused_and_nothing_is_written(
    provider, tmp_path, monkeypatch, options
):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    door = open_door(
        "keys", live=True, connection={"api_base": provider.address}
    )  # which does not know this key
    with pytest.raises(ValueError, match="can hold a key, and options are stored") as caught:
        ask(door, MODEL, say("hello"), **options)
    assert KEY not in str(caught.value)
    assert not provider.counts and scan(tmp_path) == []
    with pytest.raises(ValueError, match="^agents.toml, a: .* can hold a key"):
        check_agent("agents.toml, a", ENTRY | {"options": options})


# --- costs ------------------------------------------------------------------------------------------


def test_requests_under_way_at_once_wait_for_room_under_the_ceiling(reach, provider):
    provider.latency_s = 0.1
    door = reach(
        ceiling_usd=0.0006, deadline_s=120
    )  # room for seven bounds of 0.00008, for forty costs of 0.0000123
    started = time.monotonic()
    with ThreadPoolExecutor(40) as pool:
        rows = list(pool.map(lambda i: ask(door, PRICED, say(f"q{i}"), max_tokens=100), range(40)))
    assert {row["status"] for row in rows} == {"ok"}
    assert time.monotonic() - started > 40 / 7 * 0.1, "never more than seven at once"
    assert sum(provider.counts.values()) == 40 and door.spent_usd < 0.0006
    assert (door.n_under_way, door.set_aside_usd) == (0, 0.0)


def test_a_model_without_a_price_is_not_asked_under_a_ceiling_unless_the_door_is_told_one(
    reach, provider
):
    with pytest.raises(
        LlmError, match="no price is known for openai/mock-1, so no ceiling can be held"
    ):
        ask(reach(ceiling_usd=1.0), MODEL, say("hello"))
    assert not provider.counts
    door = reach(ceiling_usd=1.0, prices=(1e-6, 2e-6))
    row = ask(door, MODEL, say("hello"))
    assert row["cost_usd"] == pytest.approx(50 * 1e-6 + 8 * 2e-6) == door.spent_usd


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5_000_000, "completion_tokens": 8},
        {},
        {"prompt_tokens": 50, "completion_tokens": 2**70},
    ],
)
def test_a_reply_whose_tokens_are_none_is_charged_its_bound(reach, provider, usage):
    provider.answer = lambda asked: {"content": "Paris", "usage": usage}
    door = reach()
    row = ask(door, PRICED, say("hello"), max_tokens=100)
    assert row["cost_usd"] is None and door.spent_usd == row["cost_bound_usd"] > 100 * 0.6e-6


def test_what_timed_out_counts_as_spent_up_to_its_bound(reach):
    door = reach(deadline_s=0.3)
    with pytest.raises(LlmError):
        ask(door, PRICED, say("hang"), max_tokens=100)
    assert door.spent_usd > 100 * 0.6e-6
    assert reach().spent_usd == pytest.approx(door.spent_usd)


# --- secrets ----------------------------------------------------------------------------------------


def test_a_litellm_without_the_switch_of_its_log_is_asked_all_the_same(reach, monkeypatch):
    monkeypatch.delattr(load_litellm(), "_internal_context")
    assert ask(reach(), MODEL, say("fine"))["content"] == CONTENT


def test_a_server_on_loopback_gets_its_own_key_or_none(reach, provider, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-providers-own")
    ask(reach(), MODEL, say("with"))
    door = reach()
    del door.connection["api_key"]
    ask(door, MODEL, say("without"))
    assert provider.keys == [f"Bearer {KEY}", None]
    with pytest.raises(
        LlmError, match="AuthenticationError 401: .*; no key was sent: api_key_env in its table"
    ):
        ask(door, MODEL, say("401"))


def test_what_could_not_be_read_is_asked_again_where_that_is_said_and_not_by_itself(
    reach, provider
):
    for more, n_asked in ({}, 1), ({}, 1), ({"rereads": True}, 2):
        for fault, reason in ("malformed", "no chat completion"), ("cut", "the reply breaks off"):
            with pytest.raises(LlmError, match=reason):
                ask(reach(**more), MODEL, say(fault))
            assert provider.counts[fault] == n_asked


def test_the_key_is_found_in_urls_in_json_and_in_nested_values():
    for form in (
        quote(KEY, safe=""),
        quote(KEY),
        quote(KEY, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
    ):
        assert redact(f"at http://a/?key={form}&b", [KEY]) == "at http://a/?key=<secret>&b"
    assert hide_secrets({"a": [json.dumps('x"y\\12345')]}, ['x"y\\12345']) == {"a": ['"<secret>"']}
    assert hide_secrets(["1", None, 2], []) == ["1", None, 2]


def test_a_reply_is_recorded_with_what_it_took_and_replayed_without_litellm(reach, provider):
    given = {"model": PRICED, "messages": say("hello"), "logprobs": True}
    command = "make run AGENT=mock LIMIT=20"
    with pytest.raises(LookupError, match=f"data/runs/mock has no recording .* `{command}`"):
        ask(reach(live=False, command=command), **given)
    row = ask(reach(), **given)
    assert (row["content"], row["finish_reason"], row["n_requests"]) == (CONTENT, "stop", 1)
    used = [row[f"n_{name}_tokens"] for name in ("input", "output", "cached", "think")]
    assert used == [50, 8, 3, 2]
    # 47 fresh tokens at 0.15 USD a million, 3 cached at half, 8 written at 0.60
    assert row["cost_usd"] == pytest.approx((47 * 0.15 + 3 * 0.075 + 8 * 0.60) / 1e6)
    assert row["logprobs"] == [{"token": "B", "logprob": -0.1235, "top": []}]
    assert ask(reach(), **given) == row and provider.counts["hello"] == 1
    code = f"""
import sys
from daybefore.models.client import ask, open_door
print(ask(open_door("mock"), **{given!r})["content"], {{"litellm", "httpx"}} & set(sys.modules))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout == f"{CONTENT} set()\n", ended.stderr


def test_the_ceiling_stops_before_it_is_passed(reach, provider):
    door = reach(ceiling_usd=0.0001)
    reasons = []
    for i in range(40):
        try:
            row = ask(door, PRICED, say(f"q{i}"), max_tokens=100)
        except LlmError as error:
            reasons.append((error.status, error.recording))
    n_asked = len(provider.asked)
    assert 0 < n_asked < 40 and reasons == [("over_budget", None)] * (40 - n_asked)
    assert door.spent_usd == pytest.approx(n_asked * row["cost_usd"]) and door.spent_usd < 0.0001
    again = reach(ceiling_usd=0.0001).spent_usd
    assert again == pytest.approx(door.spent_usd), "what the run has cost counts after a restart"


def test_no_reply_that_holds_the_key_is_stored_with_it_not_even_with_its_half(reach, tmp_path):
    assert ask(reach(), MODEL, say("key"))["content"] == "your key is Bearer <secret>"
    with pytest.raises(LlmError, match="no chat completion: .*Bearer <secret>"):
        ask(reach(), MODEL, say("long error"))
    stored = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY[:9].encode() in data for data in stored) and scan(tmp_path) == []


@pytest.mark.parametrize("before", ["", "u:", "user:", "Bearer ", "xyz"])
def test_the_key_is_found_in_base64_wherever_it_starts(before):
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        hidden = hide_secrets(encode((before + KEY + ":tail").encode()).decode(), [KEY])
        assert "<secret>" in hidden and len(hidden) < len(before) + 40 - len(KEY)
