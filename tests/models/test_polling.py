"""Long jobs in the background, against a provider on loopback: followed to their end, or given up
in time."""

import itertools
import time
from functools import partial

import pytest
from builders import scan
from mock_provider import CONTENT

from daybefore.models.client import Door
from daybefore.models.failures import LlmError
from daybefore.models.long_jobs import GROWTH, ask_in_background, bound_job

MODEL, DEEP = "openai/mock-1", "openai/o4-mini-deep-research"
DEADLINE_S, N_REQUESTS, WAIT_S = 1.0, 3, 0.05


@pytest.fixture
def reach(knock):
    """A function that opens a door on the mock provider, with three requests and time enough on a
    busy machine."""
    return partial(knock, deadline_s=60, n_requests=N_REQUESTS, wait_s=WAIT_S)


JOBS = {
    "this fails": ("error", "the job ended as failed: broke for Bearer <secret>"),
    "it is cut short": ("error", "the job ended as incomplete: max_output_tokens"),
    "it is held back": ("refusal", "the job ended as failed: no"),
    "it expires": ("timeout", "the job ended as expired: without text"),
    "it refuses": ("refusal", "I will not bet."),
}


@pytest.mark.parametrize("prompt", JOBS)
def test_each_end_of_a_job_has_its_status_and_reason(reach, tmp_path, prompt):
    with pytest.raises(LlmError) as caught:
        ask_in_background(reach(), MODEL, prompt)
    assert (caught.value.status, caught.value.reason) == JOBS[prompt] and caught.value.recording[
        "n_polls"
    ] > 0
    assert scan(tmp_path) == []


@pytest.mark.parametrize("fault", ["poll 429", "poll 500", "poll malformed"])
def test_a_poll_that_fails_in_passing_is_made_again(reach, provider, fault):
    assert ask_in_background(reach(), MODEL, fault)["content"] == CONTENT
    assert (provider.counts[fault], provider.counts[f"cancel {fault}"]) == (1, 0)


@pytest.mark.parametrize(("prompt", "status", "said"), [
    ("it never ends", "timeout", r"no whole reply within 1 s \(polls: \d+\)"),
    ("poll 500 always", "timeout", r"no whole reply within 1 s \(polls: \d+\)"),
    ("poll 401 always", "error", "the job was lost: AuthenticationError 401"),
    ("poll 404 always", "error", "the job was lost: not found"),
])  # fmt: skip
def test_a_job_that_does_not_end_or_is_lost_is_cancelled_in_time_and_counts_as_spent(
    reach, provider, prompt, status, said
):
    door = reach(prices=(1e-9, 1e-9), deadline_s=DEADLINE_S)
    started = time.monotonic()
    with pytest.raises(LlmError, match=said) as caught:
        ask_in_background(door, MODEL, prompt)
    assert caught.value.status == status and time.monotonic() - started < 25
    assert provider.counts[f"cancel {prompt}"] == 1 and door.spent_usd > 0


def test_an_interrupted_wait_cancels_the_job(reach, provider, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("daybefore.models.long_jobs.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask_in_background(reach(), MODEL, "this never ends")
    assert provider.counts["cancel this never ends"] == 1


def test_the_bound_of_a_job_counts_what_it_may_read_after_each_call():
    request = {
        "model": DEEP,
        "messages": [],
        "options": {"max_tool_calls": 4, "max_output_tokens": 1000},
    }
    assert bound_job(Door(None), request) == pytest.approx((5 * 200_000 * 2 + 1000 * 8) / 1e6)
    assert bound_job(Door(None), request | {"options": {}}) > bound_job(Door(None), request)
    assert bound_job(Door(None), request | {"model": MODEL}) is None


def test_a_job_is_polled_until_it_is_done_and_what_it_took_is_recorded(reach, provider):
    tools = [{"type": "web_search_preview"}]
    row = ask_in_background(reach(), DEEP, "4 polls", tools=tools)
    assert (row["status"], row["content"], row["finish_reason"]) == ("ok", CONTENT, "stop")
    assert (row["n_requests"], row["n_polls"]) == (1, provider.counts["poll 4 polls"]) == (1, 5)
    gaps = [b - a for a, b in itertools.pairwise(provider.moments)]
    assert all(WAIT_S * GROWTH**n <= gap for n, gap in enumerate(gaps, 1))
    used = [row[f"n_{name}_tokens"] for name in ("input", "output", "cached", "think")]
    assert used == [5000, 800, 1000, 600]
    assert (row["n_searches"], row["queries"]) == (2, ["polls in Ohio", "rain in Oslo"])
    assert row["citations"] == ["https://a.example/1 A"]
    assert (provider.asked[-1]["background"], provider.asked[-1]["input"]) == (True, "4 polls")
