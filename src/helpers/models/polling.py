"""Long jobs at a provider, such as deep research: started in the background, asked after until done (FutureX 3.2.3).

`ask_in_background` does for a job what `llm.ask` does for a chat completion: the recorded reply, or an open door starts
the job through litellm's responses API and polls it. A connection need not last as long as the job; when the deadline
comes the job is cancelled, so that it does not go on costing. Only providers with such an API can be asked
(openai, azure, ... : `check_background`).
"""

import contextlib
import math
import time
from collections import Counter
from functools import lru_cache, partial

from helpers.limits import call_within, count_left
from helpers.models.costs import get_prices, name_prices
from helpers.models.failures import LlmError, classify, explain, find_code, get_headers, is_malformed, read_wait
from helpers.models.llm import OURS, check_options, prepare_connection, recall, try_often
from helpers.models.secrets import redact
from helpers.models.transport import IDLE_S, load_litellm
from helpers.store import dump_json

GROWTH, MAX_INTERVAL_S = 1.5, 30
"""Each poll comes this many times later than the one before, up to so many seconds."""

CANCEL_S = 0.5
"""Seconds that giving up waits for the provider to take the cancelling of a job."""

N_CALLS = 40
"""Tool calls that a job's cost is bounded by when its options name no `max_tool_calls`."""

OURS_TOO = ("background", "input")
"""Options of a job that are set here."""

UNDER_WAY = (None, "queued", "in_progress")
"""The states of a job that is not done."""


def ask_in_background(door, model, prompt, *, sample=0, deadline_at=None, **options):
    """Return the recording of a job: the columns of `llm.ask`'s, `n_polls`, and what is said of its searches.

    `n_searches` and `n_opened` count the searches and pages opened at the provider, `queries` and `cited_urls` list
    them where it names them. `options` are the responses API's (tools, max_tool_calls, max_output_tokens, reasoning,
    ...). `cost_usd` is that of the tokens; a provider's fee a search may come on top. Raises as `llm.ask` does: an
    LlmError when the job fails, is cancelled, cut short or expires, or is not done by the deadline.
    """
    check_options(options, (*OURS, *OURS_TOO))
    messages = [{"role": "user", "content": prompt}]
    request = {"model": model, "messages": messages, "options": {"background": True} | options, "sample": sample}
    return recall(door, request, deadline_at, run_job, bound_job)


def run_job(door, request, limit, row, note):
    """Return the columns of a job's recording, once it is done; counts row["n_requests"] (starts) and row["n_polls"].

    Raises LlmError when it does not start or cannot be followed to its end by `limit` (time.monotonic()).
    """
    model = request["model"]
    connect = prepare_connection(door, model) | {"num_retries": 0, "max_retries": 0}
    missing = check_background(model, connect.get("api_base"))
    if missing:
        raise LlmError("unsupported", missing)
    connect["client"] = open_client()
    job = try_often(door, partial(start_job, request, connect, limit), limit, row, note)
    row["n_polls"] = 0
    try:
        job = follow_job(door, job, connect, limit, row)
    except BaseException:  # also when interrupted: nobody would read the job's reply
        cancel_job(job, connect)
        raise
    return read_job(job, model, door.secrets)


@lru_cache(maxsize=256)
def check_background(model, api_base):
    """Return why a model's provider cannot run jobs in the background, None when it can.

    litellm would send the prompt as a plain chat completion instead, to be waited for.
    """
    litellm = load_litellm()
    name, provider, _, _ = litellm.get_llm_provider(model, api_base=api_base)
    settings = litellm.utils.ProviderConfigManager.get_provider_responses_api_config(
        model=name, provider=litellm.LlmProviders(provider)
    )
    return None if settings else f"{provider} has no jobs in the background; choose a model of a responses API"


@lru_cache(maxsize=1)
def list_job_options():
    """Return the names of the options that litellm passes on to jobs, sorted."""
    load_litellm()
    from litellm.types.llms.openai import ResponsesAPIOptionalRequestParams

    return sorted({"extra_body", *ResponsesAPIOptionalRequestParams.__annotations__} - {*OURS, *OURS_TOO})


@lru_cache(maxsize=1)
def open_client():
    """Return litellm's wrapper of the client that ends dripping bodies; its own would not."""
    litellm = load_litellm()
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    return HTTPHandler(client=litellm.client_session)


def start_job(request, connect, limit):
    """Start a job and return its first state."""
    return load_litellm().responses(
        model=request["model"],
        input=request["messages"][0]["content"],
        timeout=count_left(limit),
        **connect,
        **request["options"],
    )


def follow_job(door, job, connect, limit, row):
    """Return a job's last state: polled at growing intervals, or when the provider's Retry-After says, until done.

    A poll that fails in passing (429, 5xx, no connection, no JSON, no answer) is made again. Raises LlmError at `limit`
    and when the provider no longer lets the job be seen.
    """
    interval, headers, problem = door.wait_s, read_headers(job), None
    while job.status in UNDER_WAY:
        wait = max(interval, read_wait(headers) or 0)
        time.sleep(max(0.0, min(wait, limit - time.monotonic())))
        left = limit - time.monotonic()
        if left <= 0:
            raise LlmError("timeout", describe_end(door, row, problem))
        row["n_polls"] += 1
        interval = min(interval * GROWTH, MAX_INTERVAL_S)
        try:
            job = call_within(partial(get_job, job, connect), min(left, IDLE_S))
            headers, problem = read_headers(job), None
        except Exception as error:  # litellm passes on whatever a provider's client raises
            if is_final(error):
                raise LlmError("error", f"the job was lost: {explain_poll(door, row, error)}") from None
            headers, problem = get_headers(error), error
    return job


def is_final(error):
    """Say whether a poll's error will not pass: the provider's no (4xx), but 408 and 429."""
    code = getattr(error, "status_code", None)
    return isinstance(code, int) and 400 <= code < 500 and code not in (408, 429) and not is_malformed(error)


def describe_end(door, row, problem):
    """Return the reason of a job that was not done in time."""
    counts = f"requests: {row['n_requests']}, polls: {row['n_polls']}"
    last = f"; the last poll: {explain_poll(door, row, problem)}" if problem else ""
    return f"no whole reply within {door.deadline_s:g} s ({counts}{last})"


def explain_poll(door, row, error):
    """Return why a poll failed, in a form that may be stored."""
    if isinstance(error, TimeoutError):
        return "no answer"
    if find_code(error) == 404:
        return "the provider does not know it (404)"
    return explain(error, door.n_requests, math.inf, door)[1].rpartition(" (requests")[0]


def get_job(job, connect):
    """Return a job's present state; litellm's id of the job holds the provider."""
    return load_litellm().get_responses(job.id, **connect)


def cancel_job(job, connect):
    """Ask the provider to end a job, without waiting long for its answer."""
    cancel = partial(load_litellm().cancel_responses, job.id, **connect)
    with contextlib.suppress(Exception):  # best effort: why the job is given up is what is told
        call_within(cancel, CANCEL_S)


def read_headers(job):
    """Return the HTTP headers that came with a job's state, names in lower case."""
    return {name.lower(): value for name, value in (job.hidden_params.get("headers") or {}).items()}


# --- replies and costs -----------------------------------------------------------------------------------------------


def read_job(job, model, secrets=()):
    """Return what is kept of a job that is done, in the columns of a recording."""
    state = job.model_dump(warnings=False)
    messages = [item for item in state["output"] if item.get("type") == "message"]
    parts = [part for item in messages for part in item.get("content") or []]
    thoughts = [part["text"] for item in state["output"] for part in item.get("summary") or []]
    row = {
        "content": "\n".join(part["text"] for part in parts if part.get("type") == "output_text") or None,
        "tool_calls": [],
        "reasoning": "\n".join(thoughts) or None,
        "finish_reason": (state.get("incomplete_details") or {}).get("reason") or "stop",
        "logprobs": None,
        "model_version": state.get("model"),
    }
    row |= read_usage(state.get("usage"), job, model) | read_searches(state["output"], parts)
    refusal = " ".join(part["refusal"] for part in parts if part.get("type") == "refusal")
    status, reason = judge_job(state, row["content"], refusal)
    return row | {"status": status, "reason": reason and redact(reason, secrets)}


def judge_job(state, content, refusal):
    """Return (status, reason) of a job that is done; ("ok", None) with a whole reply.

    >>> judge_job({"status": "failed", "error": {"code": "server_error", "message": "broke"}}, None, "")
    ('error', 'the job failed, server_error: broke')
    >>> judge_job({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "I", "")
    ('error', 'the job was cut short: max_output_tokens')
    """
    if state["status"] == "expired":
        return "timeout", "the job expired at the provider"
    if state["status"] == "failed":
        error = state.get("error") or {}
        said = f"{error.get('code') or 'no code'}: {error.get('message') or 'no message'}"
        return classify("", said), f"the job failed, {said}"
    if state["status"] == "incomplete":
        why = (state.get("incomplete_details") or {}).get("reason") or "no reason"
        return "refusal" if why == "content_filter" else "error", f"the job was cut short: {why}"
    if state["status"] != "completed":
        return "error", f"the job ended as {state['status']}"
    if refusal:
        return "refusal", refusal
    return ("ok", None) if content else ("error", "the reply holds no text")


def read_usage(usage, job, model):
    """Return a job's tokens and cost."""
    used = usage or {}
    row = {
        "n_input_tokens": used.get("input_tokens"),
        "n_output_tokens": used.get("output_tokens"),
        "n_cached_tokens": (used.get("input_tokens_details") or {}).get("cached_tokens"),
        "n_think_tokens": (used.get("output_tokens_details") or {}).get("reasoning_tokens"),
    }
    if usage is None or get_prices(model) is None:
        what = "no usage was told" if usage is None else "no price is known for this model"
        return row | {"cost_usd": None, "cost_note": what}
    cost = load_litellm().completion_cost(job, model=model, call_type="responses")
    return row | {"cost_usd": cost, "cost_note": "of the tokens; fees for searches may come on top"}


def read_searches(output, parts):
    """Return what a job's output says of its searches: how many, their queries, pages opened, addresses cited.

    >>> read_searches([{"type": "web_search_call", "action": {"type": "search", "query": "rain"}}], [])
    {'n_searches': 1, 'n_opened': 0, 'queries': ['rain'], 'cited_urls': []}
    """
    actions = [item.get("action") or {} for item in output if item.get("type") == "web_search_call"]
    kinds = Counter(action.get("type", "search") for action in actions)
    queries = [query for action in actions for query in action.get("queries") or [action.get("query")] if query]
    cited = [note.get("url") for part in parts for note in part.get("annotations") or []]
    return {
        "n_searches": kinds["search"],
        "n_opened": kinds["open_page"],
        "queries": queries,
        "cited_urls": list(dict.fromkeys(filter(None, cited))),
    }


def bound_job(door, request):
    """Return the most that a job can cost in tokens, in US dollars; None without a price.

    After each tool call the model may read all that it can hold; `max_tool_calls` and `max_output_tokens` bound both.
    """
    prices = name_prices(door, request["model"])
    if prices is None:
        return None
    options = request["options"]
    n_turns = 1 + (options.get("max_tool_calls") or N_CALLS)
    n_input = max(prices[3], len(dump_json(request["messages"]).encode()))
    return n_turns * n_input * prices[0] + (options.get("max_output_tokens") or prices[2]) * prices[1]
