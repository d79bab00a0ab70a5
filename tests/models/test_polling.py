"""Long jobs in the background, against a provider on loopback: followed to their end, or given up in time."""

import threading
import time
from functools import partial

import pytest
from builders import PRICED, scan
from mock_provider import CONTENT, Provider, Server

from helpers.models.failures import TOO_FAST, LlmError
from helpers.models.llm import Door, ask, open_door
from helpers.models.polling import GROWTH, ask_in_background, bound_job
from helpers.models.recordings import pack_recordings
from helpers.servers import run_server

MODEL = "openai/mock-1"
DEEP = "openai/o4-mini-deep-research"
DEADLINE_S, N_REQUESTS, WAIT_S = 2.0, 3, 0.05


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    """A job and a chat before the clocks are watched: litellm imports parts of itself with the first."""
    with run_server(server := Server()), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAYBEFORE_OUT", str(tmp_path_factory.mktemp("warm")))
        door = open_door("warm", live=True, connection={"api_base": server.address}, wait_s=WAIT_S)
        ask_in_background(door, MODEL, "hello")
        ask(door, MODEL, [{"role": "user", "content": "hello"}])
        door.recordings.close()


@pytest.fixture
def reach(knock):
    """A function that opens a door on the mock provider, with little time and three requests."""
    return partial(knock, deadline_s=DEADLINE_S, n_requests=N_REQUESTS, wait_s=WAIT_S)


def fail_job(door, prompt, model=MODEL, **options):
    """Return the LlmError with which a job ends."""
    with pytest.raises(LlmError) as caught:
        ask_in_background(door, model, prompt, **options)
    return caught.value


# --- jobs that are done ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_polls", [1, 3, 5])
def test_a_job_is_polled_until_it_is_done_and_what_it_took_is_recorded(reach, provider, n_polls):
    prompt = f"{n_polls} polls"
    row = ask_in_background(reach(), DEEP, prompt, tools=[{"type": "web_search_preview"}], max_tool_calls=3)
    assert (row["status"], row["content"], row["finish_reason"]) == ("ok", CONTENT, "stop")
    assert (row["n_requests"], row["n_polls"]) == (1, n_polls + 1)
    assert (provider.counts[prompt], provider.counts[f"poll {prompt}"]) == (1, n_polls + 1)
    assert provider.counts[f"cancel {prompt}"] == 0
    assert [row[f"n_{name}_tokens"] for name in ("input", "output", "cached", "think")] == [5000, 800, 1000, 600]
    assert (row["n_searches"], row["n_opened"], row["queries"]) == (2, 1, ["polls in Ohio", "rain in Oslo"])
    assert (row["cited_urls"], row["reasoning"]) == (["https://a.example/1"], "Look it up.")
    sent = provider.asked[-1]
    assert (sent["background"], sent["input"], sent["max_tool_calls"]) == (True, prompt, 3)


def test_a_recording_has_the_columns_of_a_chat_completion_and_more(reach):
    door = reach()
    chat = ask(door, MODEL, [{"role": "user", "content": "hello"}])
    job = ask_in_background(door, MODEL, "hello")
    more = {"n_polls", "n_searches", "n_opened", "queries", "cited_urls"}
    assert set(job) == set(chat) - {"model_s"} | more and job["key"] != chat["key"]


def test_a_closed_door_replays_a_job_and_its_failure_and_asks_nothing(reach, provider, tmp_path):
    row = ask_in_background(reach(), DEEP, "hello")
    told = fail_job(reach(), "this fails")
    pack_recordings("mock")
    n_asked = sum(provider.counts.values())
    closed = reach(live=False)
    assert ask_in_background(closed, DEEP, "hello") == row
    again = fail_job(closed, "this fails")
    assert (again.status, again.reason) == (told.status, told.reason)
    assert ask_in_background(reach(), DEEP, "hello") == row, "an open door does not ask again for what is recorded"
    with pytest.raises(LookupError, match="data/runs/mock has no recording .* of openai/mock-1; `make run AGENT=name`"):
        ask_in_background(closed, MODEL, "never asked")
    assert sum(provider.counts.values()) == n_asked


def test_a_sample_or_an_option_makes_another_job(reach, provider):
    door = reach()
    keys = {ask_in_background(door, MODEL, "hello", sample=n)["key"] for n in (0, 1)}
    keys.add(ask_in_background(door, MODEL, "hello", max_output_tokens=9)["key"])
    assert len(keys) == provider.counts["hello"] == 3


def test_polls_come_at_growing_intervals(reach, provider):
    ask_in_background(reach(wait_s=0.1), MODEL, "4 polls")
    gaps = [b - a for a, b in zip(provider.moments, provider.moments[1:], strict=False)]
    assert len(gaps) == 4
    for n, gap in enumerate(gaps, 1):
        assert 0.1 * GROWTH**n <= gap < 0.1 * GROWTH**n + 2, "2 s are slack for a machine that others use"


# --- what goes wrong -------------------------------------------------------------------------------------------------

REFUSED = '{"error": {"message": "Incorrect API key: Bearer <secret>"}}'
SLOW = '{"error": {"message": "slow down"}}'
STARTS = {
    "429": ("error", f"RateLimitError 429: {SLOW}; {TOO_FAST} (requests: 3)", 3),
    "429 for long": (
        "error",
        f"RateLimitError 429: {SLOW}; {TOO_FAST} (requests: 1; no time left to try again)",
        1,
    ),
    "500": ("error", 'InternalServerError 500: {"error": {"message": "oops"}} (requests: 3)', 3),
    "401": ("error", f"AuthenticationError 401: {REFUSED} (requests: 1)", 1),
    "404": (
        "error",
        'not found (404): {"error": {"message": "no such model"}}; most likely there is no model \'mock-1\' there, or '
        "api_base is not where the chat completions are (as a rule it ends in /v1) (requests: 1)",
        1,
    ),
    "hang": ("timeout", "no whole reply within 2 s (requests: 1)", 1),
    "drip": ("timeout", "no whole reply within 2 s (requests: 1)", 1),
    "malformed": ("unreadable", 'the reply is not JSON: \'{"choices": [{"message":\' (requests: 1)', 1),
}
ENDS = {
    "this fails": ("error", "the job failed, server_error: broke for Bearer <secret>"),
    "this is held back": ("refusal", "the job failed, content_policy_violation: no"),
    "this is cancelled": ("error", "the job ended as cancelled"),
    "this is cut short": ("error", "the job was cut short: max_output_tokens"),
    "this is filtered": ("refusal", "the job was cut short: content_filter"),
    "this expires": ("timeout", "the job expired at the provider"),
    "this wants more": ("error", "the job ended as requires_action"),
    "this refuses": ("refusal", "I will not bet."),
    "this says nothing": ("error", "the reply holds no text"),
}


@pytest.mark.parametrize("fault", STARTS)
def test_a_job_that_does_not_start_ends_in_time_with_its_reason(reach, provider, tmp_path, fault):
    started = time.monotonic()
    error = fail_job(reach(), fault)
    assert time.monotonic() - started < DEADLINE_S + 1
    assert (error.status, error.reason, provider.counts[fault]) == STARTS[fault]
    assert error.recording["n_requests"] == provider.counts[fault] and not provider.jobs
    pack_recordings("mock")
    assert scan(tmp_path) == []


def test_a_job_that_starts_at_the_third_try_is_followed(reach, provider):
    row = ask_in_background(reach(), MODEL, "recover")
    assert (row["n_requests"], provider.counts["recover"], row["content"]) == (3, 3, CONTENT)


@pytest.mark.parametrize("prompt", ENDS)
def test_each_end_of_a_job_has_its_status_and_reason(reach, provider, tmp_path, prompt):
    error = fail_job(reach(), prompt, model=DEEP)
    assert (error.status, error.reason) == ENDS[prompt]
    assert error.recording["n_polls"] == provider.counts[f"poll {prompt}"] == 3
    assert error.recording["cost_usd"] == pytest.approx(0.0149), "what a failed job has used is billed"
    assert provider.counts[f"cancel {prompt}"] == 0, "a job that is done is not cancelled"
    pack_recordings("mock")
    assert scan(tmp_path) == []


@pytest.mark.parametrize("fault", ["poll 429", "poll 500", "poll malformed"])
def test_a_poll_that_fails_in_passing_is_made_again(reach, provider, fault):
    row = ask_in_background(reach(), MODEL, fault)
    assert (row["content"], row["n_requests"], row["n_polls"]) == (CONTENT, 1, 3)
    assert provider.counts[f"poll {fault}"] == 3
    gaps = [b - a for a, b in zip(provider.moments, provider.moments[1:], strict=False)]
    assert all(gap >= 0.2 for gap in gaps) == (fault == "poll 429"), "the provider's Retry-After is 0.2 s"


@pytest.mark.parametrize(
    ("prompt", "last"),
    [
        ("this never ends", ""),
        ("poll 500 always", "; the last poll: InternalServerError 500: "),
        ("poll 429 for long always", "; the last poll: RateLimitError 429: "),
        ("poll hangs", ""),
    ],
)
def test_a_job_that_does_not_end_is_cancelled_at_the_deadline(reach, provider, prompt, last):
    started = time.monotonic()
    error = fail_job(reach(deadline_s=1.0), prompt)
    assert time.monotonic() - started < 1.0 + 1
    assert error.status == "timeout"
    said = f"no whole reply within 1 s (requests: 1, polls: {error.recording['n_polls']}{last}"
    assert error.reason.startswith(said)
    assert provider.counts[f"cancel {prompt}"] == 1
    again = fail_job(reach(live=False), prompt)
    assert (again.status, again.reason) == (error.status, error.reason)


def test_cancelling_that_hangs_does_not_hold_up_the_end(reach, provider, monkeypatch):
    answer = Provider.do_job
    monkeypatch.setattr(Provider, "do_job", lambda h, verb: time.sleep(5) if verb == "cancel" else answer(h, verb))
    started = time.monotonic()
    assert fail_job(reach(deadline_s=0.5), "this never ends").status == "timeout"
    assert time.monotonic() - started < 0.5 + 1


def test_a_job_that_the_provider_no_longer_shows_is_lost_and_cancelled(reach, provider, tmp_path):
    for prompt, said in (
        ("poll 404", "the provider does not know it (404)"),
        ("poll 401", "AuthenticationError 401: "),
    ):
        error = fail_job(reach(), prompt)
        assert (error.status, error.recording["n_polls"]) == ("error", 1)
        assert error.reason.startswith(f"the job was lost: {said}")
        assert provider.counts[f"cancel {prompt}"] == 1
    pack_recordings("mock")
    assert scan(tmp_path) == []


def test_an_interrupted_wait_cancels_the_job(reach, provider, monkeypatch):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("helpers.models.polling.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ask_in_background(reach(), MODEL, "this never ends")
    assert provider.counts["cancel this never ends"] == 1


def test_several_jobs_of_a_question_share_its_deadline(reach):
    started = time.monotonic()
    assert fail_job(reach(deadline_s=30), "this never ends", deadline_at=started + 0.5).status == "timeout"
    assert time.monotonic() - started < 1.5


def test_a_key_in_a_reply_is_stored_nowhere(reach, tmp_path):
    assert ask_in_background(reach(), MODEL, "this holds the key")["content"] == "your key is Bearer <secret>"
    assert scan(tmp_path) == []


def test_a_model_without_jobs_or_an_option_of_the_door_is_one_sentence_and_no_request(reach, provider):
    error = fail_job(reach(), "hello", model="anthropic/claude-3-5-haiku-20241022")
    assert error.status == "unsupported"
    assert error.reason == "anthropic has no jobs in the background; choose a model of a responses API"
    for name in ("background", "stream", "input"):
        with pytest.raises(ValueError, match=f"'{name}' is set by the door"):
            ask_in_background(reach(), MODEL, "hello", **{name: True})
    assert not provider.counts


# --- costs -----------------------------------------------------------------------------------------------------------


def test_a_job_costs_its_tokens(reach):
    door = reach()
    row = ask_in_background(door, DEEP, "hello")
    # 4000 fresh tokens at 2 USD a million, 1000 cached at 0.50, 800 written at 8
    assert row["cost_usd"] == pytest.approx((4000 * 2 + 1000 * 0.5 + 800 * 8) / 1e6)
    assert door.spent_usd == pytest.approx(row["cost_usd"])
    unpriced = ask_in_background(door, MODEL, "hello")
    assert (unpriced["cost_usd"], unpriced["cost_note"]) == (None, "no price is known for this model")


def test_the_bound_of_a_job_counts_what_it_may_read_after_each_call():
    request = {"model": DEEP, "messages": [], "options": {"max_tool_calls": 4, "max_output_tokens": 1000}}
    assert bound_job(Door(None), request) == pytest.approx((5 * 200_000 * 2 + 1000 * 8) / 1e6)
    assert bound_job(Door(None), request | {"options": {}}) > bound_job(Door(None), request)
    assert bound_job(Door(None), request | {"model": MODEL}) is None


def test_the_ceiling_stops_a_job_before_it_could_be_passed(reach, provider):
    limits = {"max_tool_calls": 1, "max_output_tokens": 1000}  # at most 0.808 USD
    error = fail_job(reach(ceiling_usd=0.8), "hello", model=DEEP, **limits)
    assert error.status == "over_budget" and not provider.counts
    assert ask_in_background(reach(ceiling_usd=0.9), DEEP, "hello", **limits)["status"] == "ok"
    with pytest.raises(LlmError, match="of 0.82 USD are spent"):
        ask_in_background(reach(ceiling_usd=0.82), DEEP, "again", **limits)


def test_a_job_that_was_given_up_counts_as_spent_up_to_its_bound(reach):
    limits = {"max_tool_calls": 1, "max_output_tokens": 1000}
    for prompt in ("this never ends", "poll 404"):
        door = reach(deadline_s=0.5)
        before = door.spent_usd
        fail_job(door, prompt, model=DEEP, **limits)
        assert door.spent_usd - before == pytest.approx(0.808)
        assert reach().spent_usd == pytest.approx(door.spent_usd)
    door = reach()
    before = door.spent_usd
    fail_job(door, "401", model=DEEP, **limits)
    assert door.spent_usd == pytest.approx(before), "a job that never started costs nothing"


def test_jobs_at_once_do_not_pass_the_ceiling_together(reach, provider):
    door, ends = reach(ceiling_usd=1.0), []

    def try_one(number):
        try:
            ask_in_background(door, DEEP, f"{number} jobs", max_tool_calls=1, max_output_tokens=1000)
        except LlmError as error:
            ends.append(error.status)

    threads = [threading.Thread(target=try_one, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert ends == [] and len(provider.jobs) == 4, "each waits for the room that the one before leaves"
    assert door.spent_usd < 1.0 and provider.n_together == 1


def test_a_chat_completion_of_a_priced_model_still_costs_what_it_did(reach):
    assert ask(reach(), PRICED, [{"role": "user", "content": "hello"}])["cost_usd"] > 0
