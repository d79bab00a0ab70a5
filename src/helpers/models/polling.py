"""Long jobs at a provider, such as deep research: started in the background, asked after until done (FutureX 3.2.3).

`ask_in_background` does for a job what `llm.ask` does for a chat completion, by litellm's responses API. When the
deadline comes the job is cancelled, so that it does not go on costing.
"""

import contextlib
import time
from functools import lru_cache, partial

from helpers.limits import call_within, count_left
from helpers.models.costs import get_prices, name_prices
from helpers.models.failures import LlmError, explain, find_unfit, is_passing
from helpers.models.llm import OURS, check_options, prepare_connection, recall, try_often
from helpers.models.secrets import redact
from helpers.models.transport import IDLE_S, load_litellm
from helpers.store import dump_json

GROWTH, MAX_INTERVAL_S, CANCEL_S = 1.5, 30, 0.5
"""Each poll comes this many times later than the one before, up to so many seconds; cancelling may take so many."""

N_CALLS = 40
"""Tool calls that a job's cost is bounded by when its options name no `max_tool_calls`."""

OURS_TOO = ("background", "input")
"""Options of a job that are set here."""


def ask_in_background(door, model, prompt, *, sample=0, deadline_at=None, **options):
    """Return the recording of a job: the columns of `llm.ask`'s, `n_polls`, and the `queries` that it tells.

    `options` are the responses API's (tools, max_tool_calls, max_output_tokens, reasoning, ...). `cost_usd` is that of
    the tokens; a provider's fee a search may come on top. Raises as `llm.ask` does: an LlmError when the job fails, is
    cancelled, cut short or expires, or is not done by the deadline.
    """
    check_options(options, (*OURS, *OURS_TOO))
    messages = [{"role": "user", "content": prompt}]
    request = {"model": model, "messages": messages, "options": {"background": True} | options, "sample": sample}
    return recall(door, request, deadline_at, run_job, bound_job)


@lru_cache(maxsize=1)
def list_job_options():
    """Return the names of the options that litellm passes on to jobs, sorted."""
    load_litellm()
    from litellm.types.llms.openai import ResponsesAPIOptionalRequestParams

    return sorted({"extra_body", *ResponsesAPIOptionalRequestParams.__annotations__} - {*OURS, *OURS_TOO})


def run_job(door, request, limit, row):
    """Return the columns of a job's recording, once it is done; counts row["n_requests"] (starts) and row["n_polls"].

    A poll that fails in passing is made again. Raises LlmError when the provider has no such jobs, no longer shows
    this one, or it is not done by `limit` (time.monotonic()); a job that is given up is cancelled.
    """
    litellm, model = load_litellm(), request["model"]
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    connect = prepare_connection(door, model) | {"num_retries": 0, "max_retries": 0}
    name, provider, _, _ = litellm.get_llm_provider(model, api_base=connect.get("api_base"))
    find_settings = litellm.utils.ProviderConfigManager.get_provider_responses_api_config
    if not find_settings(model=name, provider=litellm.LlmProviders(provider)):  # it would be sent as a plain chat
        raise LlmError("unsupported", f"{provider} has no jobs in the background; choose a model of a responses API")
    connect["client"] = HTTPHandler(client=litellm.client_session)  # its own would not end dripping bodies
    given = {"model": model, "input": request["messages"][0]["content"], **connect, **request["options"]}
    job = try_often(door, lambda: litellm.responses(timeout=count_left(limit), **given), limit, row)
    row["n_polls"], interval = 0, door.wait_s
    try:
        while job.status in (None, "queued", "in_progress"):
            time.sleep(max(0.0, min(interval, limit - time.monotonic())))
            if (left := limit - time.monotonic()) <= 0:
                raise LlmError("timeout", f"no whole reply within {door.deadline_s:g} s (polls: {row['n_polls']})")
            row["n_polls"], interval = row["n_polls"] + 1, min(interval * GROWTH, MAX_INTERVAL_S)
            try:
                job = call_within(partial(litellm.get_responses, job.id, **connect), min(left, IDLE_S))
            except Exception as error:  # litellm passes on whatever a provider's client raises
                if not (isinstance(error, TimeoutError) or is_passing(error) or find_unfit(error)):
                    raise LlmError("error", f"the job was lost: {explain(error, 1, limit, door).reason}") from None
        return read_job(job, model, door.secrets)
    except BaseException:  # also when interrupted: nobody would read the job's reply
        with contextlib.suppress(Exception):  # best effort: why the job is given up is what is told
            call_within(partial(litellm.cancel_responses, job.id, **connect), CANCEL_S)
        raise


def read_job(job, model, secrets=()):
    """Return what is kept of a job that is done, in the columns of a recording, with the `queries` that it tells."""
    state = job.model_dump(warnings=False)
    output, used = state["output"], state.get("usage") or {}
    parts = [part for item in output if item.get("type") == "message" for part in item.get("content") or []]
    refusal = " ".join(part["refusal"] for part in parts if part.get("type") == "refusal")
    why, error = (state.get("incomplete_details") or {}).get("reason"), state.get("error") or {}
    actions = [item.get("action") or {} for item in output if item.get("type") == "web_search_call"]
    cost = (
        load_litellm().completion_cost(job, model=model, call_type="responses") if used and get_prices(model) else None
    )
    row = {
        "content": "\n".join(part["text"] for part in parts if part.get("type") == "output_text") or None,
        "tool_calls": [],
        "reasoning": "\n".join(part["text"] for item in output for part in item.get("summary") or []) or None,
        "finish_reason": why or "stop",
        "logprobs": None,
        "model_version": state.get("model"),
        "n_input_tokens": used.get("input_tokens"),
        "n_output_tokens": used.get("output_tokens"),
        "n_cached_tokens": (used.get("input_tokens_details") or {}).get("cached_tokens"),
        "n_think_tokens": (used.get("output_tokens_details") or {}).get("reasoning_tokens"),
        "queries": [query for action in actions for query in action.get("queries") or [action.get("query")] if query],
        "cost_usd": cost,
        "cost_note": "of the tokens; fees for searches may come on top" if cost else "no price or no usage is known",
    }
    status, reason = "error", f"the job ended as {state['status']} {error.get('message') or why or ''}".strip()
    if refusal or why == "content_filter" or "content_policy" in str(error.get("code")):
        status, reason = "refusal", refusal or reason
    elif state["status"] == "expired":
        status = "timeout"
    elif state["status"] == "completed":
        status, reason = ("ok", None) if row["content"] else ("error", "the reply holds no text")
    return row | {"status": status, "reason": reason and redact(reason, secrets)}


def bound_job(door, request):
    """Return the most that a job can cost in tokens, in US dollars; None without a price.

    After each tool call the model may read all that it can hold; `max_tool_calls` and `max_output_tokens` bound both.
    """
    prices, options = name_prices(door, request["model"]), request["options"]
    if prices is None:
        return None
    n_turns = 1 + (options.get("max_tool_calls") or N_CALLS)
    n_input = max(prices[3], len(dump_json(request["messages"]).encode()))
    return n_turns * n_input * prices[0] + (options.get("max_output_tokens") or prices[2]) * prices[1]
