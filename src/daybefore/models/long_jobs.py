"""Long jobs at a provider, such as deep research: started in the background, asked after until done
(FutureX 3.2.3).

`ask_in_background` does for a job what `client.ask` does for a chat completion, by litellm's
responses API, of Gemini's agents by its interactions API. When the deadline comes the job is
cancelled, so that it does not go on costing.
"""

import contextlib
import time
from functools import partial

from daybefore.limits import call_within, count_left
from daybefore.models.client import check_options, connect, recall, try_often
from daybefore.models.costs import name_prices, price_reply
from daybefore.models.failures import LlmError, explain, find_unfit, is_passing
from daybefore.models.provider_searches import tell_searches
from daybefore.models.secrets import redact
from daybefore.models.transport import IDLE_S, load_litellm
from helpers.files import dump_json

GROWTH, MAX_INTERVAL_S, CANCEL_S = 1.5, 30, 0.5
"""Each poll comes this many times later than the one before, up to so many seconds; cancelling may
take so many."""

N_CALLS = 40
"""Tool calls that a job's cost is bounded by when its options name no `max_tool_calls`."""

GEMINI = "gemini/"
"""How a model of Google's begins; its deep research is an agent of the interactions API."""


def ask_in_background(door, model, prompt, *, sample=0, deadline_at=None, **options):
    """Return the recording of a job: content, finish_reason, tokens, cost, `n_polls`, and the
    searches that it tells.

    `options` are the responses API's (tools, max_tool_calls, max_output_tokens, reasoning, ...).
    `cost_usd` is that of the tokens; a provider's fee a search may come on top. Raises as
    `client.ask` does: an LlmError when the job fails, is cancelled or cut short, or is not done by
    the deadline.
    """
    check_options(options)
    messages = [{"role": "user", "content": prompt}]
    request = {
        "model": model,
        "messages": messages,
        "options": options | {"background": True},
        "sample": sample,
    }
    return recall(door, request, deadline_at, run_job, bound_job)


def is_chat(model):
    """Say whether a model of deep research answers as a chat completion, and has no jobs:
    Perplexity's Sonar."""
    return model.startswith("perplexity/sonar")


def reach_jobs(door, model):
    """Return three functions of litellm for a model's jobs: start, poll, cancel. Raises LlmError
    where it has none."""
    litellm = load_litellm()
    given = connect(door)
    if model.startswith(GEMINI):
        api = litellm.interactions
        given |= {"custom_llm_provider": "gemini"}
        start = partial(api.create, agent=model.removeprefix(GEMINI), **given)
        return start, partial(api.get, **given), partial(api.cancel, **given)
    name, provider, _, _ = litellm.get_llm_provider(model, api_base=given.get("api_base"))
    find_settings = litellm.utils.ProviderConfigManager.get_provider_responses_api_config
    if not find_settings(
        model=name, provider=litellm.LlmProviders(provider)
    ):  # it would be sent as a plain chat
        raise LlmError(
            "unsupported",
            f"{provider} has no jobs in the background; choose a model of a responses API",
        )
    start = partial(litellm.responses, model=model, allowed_openai_params=["background"], **given)
    return (
        start,
        partial(litellm.get_responses, **given),
        partial(litellm.cancel_responses, **given),
    )


def run_job(door, request, limit, row):
    """Return the columns of a job's recording, once it is done; counts row["n_requests"] (starts)
    and row["n_polls"].

    A poll that fails in passing is made again. Raises LlmError when the provider has no such jobs,
    no longer shows this one, or it is not done by `limit` (time.monotonic()); a job that is given
    up is cancelled.
    """
    start, poll, cancel = reach_jobs(door, request["model"])
    given = {"input": request["messages"][0]["content"]} | request["options"]
    job = try_often(door, lambda: start(timeout=count_left(limit), **given), limit, row)
    row["n_polls"] = 0
    interval = door.wait_s
    try:
        while job.status in (None, "queued", "in_progress"):
            time.sleep(max(0.0, min(interval, limit - time.monotonic())))
            if (left := limit - time.monotonic()) <= 0:
                raise LlmError(
                    "timeout",
                    f"no whole reply within {door.deadline_s:g} s (polls: {row['n_polls']})",
                )
            row["n_polls"] += 1
            interval = min(interval * GROWTH, MAX_INTERVAL_S)
            try:
                job = call_within(partial(poll, job.id), min(left, IDLE_S))
            except Exception as error:  # litellm passes on whatever a provider's client raises
                if not (isinstance(error, TimeoutError) or is_passing(error) or find_unfit(error)):
                    raise LlmError(
                        "error", f"the job was lost: {explain(error, 1, limit, door).reason}"
                    ) from None
        return read_job(door, request["model"], job)
    except BaseException:  # also when interrupted: nobody would read the job's reply
        with contextlib.suppress(Exception):  # best effort: why the job is given up is what is told
            call_within(partial(cancel, job.id), CANCEL_S)
        raise


def read_job(door, model, job):
    """Return what is kept of a job that is done, in the columns of a recording, with the searches
    that it tells."""
    state = job.model_dump(warnings=False)
    state = read_interaction(state) if state.get("object") == "interaction" else state
    output = state["output"]
    used = state.get("usage") or {}
    said = [item for item in output if item.get("type") == "message"]
    parts = [part for item in said for part in item.get("content") or []]
    texts = [part["text"] for part in parts if part.get("type") == "output_text"]
    why = (state.get("incomplete_details") or {}).get("reason")
    row = {
        "content": "\n".join(texts) or None,
        "finish_reason": why or "stop",
        "model_version": state.get("model"),
        "n_input_tokens": used.get("input_tokens"),
        "n_output_tokens": used.get("output_tokens"),
        "n_cached_tokens": (used.get("input_tokens_details") or {}).get("cached_tokens"),
        "n_think_tokens": (used.get("output_tokens_details") or {}).get("reasoning_tokens"),
        "cost_usd": used.get("cost"),  # which Perplexity tells
    }
    if row["cost_usd"] is None:
        count = partial(load_litellm().completion_cost, job, model=model, call_type="responses")
        row["cost_usd"] = price_reply(door, model, row, count)
    actions = [item.get("action") or {} for item in output if item.get("type") == "web_search_call"]
    queries = [
        query for action in actions for query in action.get("queries") or [action.get("query")]
    ]
    queries += [
        query for item in output for query in item.get("queries") or []
    ]  # Perplexity's, as its results
    pages = [mark for part in parts for mark in part.get("annotations") or []]
    pages += [page for item in output for page in item.get("results") or []]
    row |= {"queries": []} | tell_searches(queries, pages, *state.get("counts", ()))
    if refusal := " ".join(part["refusal"] for part in parts if part.get("type") == "refusal"):
        return row | {"status": "refusal", "reason": redact(refusal, door.secrets)}
    if state["status"] == "completed" and row["content"]:
        return row
    fault = state.get("error") or {}
    told = f"the job ended as {state['status']}: {fault.get('message') or why or 'without text'}"
    status = "error"
    if state["status"] == "expired":  # which, as a refusal, no later run asks and pays again
        status = "timeout"
    if why == "content_filter" or "content_policy" in str(fault.get("code")):
        status = "refusal"
    return row | {"status": status, "reason": redact(told, door.secrets)}


def read_interaction(state):
    """Return an interaction of Gemini's in the form of a response of OpenAI's, its own counts of
    searches beside it."""
    output = []
    used = state.get("usage") or {}
    for step in state.get("steps") or []:
        if step["type"] == "model_output":
            texts = [
                part | {"type": "output_text"}
                for part in step.get("content") or []
                if part["type"] == "text"
            ]
            output.append({"type": "message", "content": texts})
        elif step["type"] == "google_search_call":
            output.append({"type": "web_search_call", "action": step.get("arguments")})
    n = {
        name: used.get(f"total_{name}_tokens") or 0
        for name in ("input", "tool_use", "output", "thought", "cached")
    }
    tokens = {
        "input_tokens": n["input"] + n["tool_use"],
        "output_tokens": n["output"] + n["thought"],
    }
    tokens |= {"input_tokens_details": {"cached_tokens": n["cached"]}}
    tokens |= {"output_tokens_details": {"reasoning_tokens": n["thought"]}}
    counts = [tool.get("count") for tool in used.get("grounding_tool_count") or []]
    return state | {
        "model": state.get("agent"),
        "output": output,
        "usage": used and tokens,
        "counts": counts,
    }


def bound_job(door, request):
    """Return the most that a job can cost in tokens, in US dollars; None without a price.

    After each tool call the model may read all that it can hold; `max_tool_calls` and
    `max_output_tokens` bound both.
    """
    prices = name_prices(door, request["model"])
    options = request["options"]
    if prices is None:
        return None
    n_turns = 1 + (options.get("max_tool_calls") or N_CALLS)
    n_input = max(prices[3], len(dump_json(request["messages"]).encode()))
    return (
        n_turns * n_input * prices[0] + (options.get("max_output_tokens") or prices[2]) * prices[1]
    )
