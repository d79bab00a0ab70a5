"""The one client of language models: ask, record, replay, with a deadline and a cost ceiling
(`costs`).

litellm's own retries are off (in trials `num_retries=3` sent 7 requests against a 429, and a body
that drips outlived `timeout`): retries are ours, and every attempt runs in a thread that the
deadline leaves behind.
"""

import math
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from daybefore.limits import call_within, count_left, end_after
from daybefore.models.attachments import put_in
from daybefore.models.costs import bound_cost, price_reply, read_count, reserve, settle
from daybefore.models.failures import (
    MAX_WAIT_S,
    LlmError,
    explain,
    find_code,
    is_passing,
    read_wait,
)
from daybefore.models.pace import OVERLOAD, Pace
from daybefore.models.provider_searches import read_searches
from daybefore.models.recordings import Recordings, hash_request
from daybefore.models.secrets import list_secrets, redact
from daybefore.models.transport import NO_KEY, load_litellm, mute_log, read_content
from daybefore.store import DOUBTFUL
from helpers.files import clean_value
from helpers.papers import get_constant

DEADLINE_S = 60 * get_constant("futurex", "prediction_limit_minutes")
"""Seconds a question, by default: 30 minutes (FutureX 3.2.3)."""

OURS = "n timeout num_retries max_retries api_key api_base messages model agent input previous_interaction_id"
OURS = frozenset(OURS.split())
"""Options that the door sets itself, of chats and of jobs; repeated draws are told apart by
`sample`."""

STREAM_ONLY = re.compile(
    r"\b(only\b.{0,40}\bstream|stream\w*\b.{0,40}\b(only|required|must|enable)|(must|enable|requires?)\b.{0,40}\bstream)",
    re.IGNORECASE | re.DOTALL,
)
"""How a server says that a model answers in a stream only."""

WORDS, SHORT = 2, 100
"""Words that a token holds at most, and the least such count by which a prompt is found cut."""

WORD = re.compile(r"[\u3040-\u9fff]{4}|[^\W\u3040-\u9fff]+")
"""A word, or four characters of a script that sets none apart."""

SECRET_OPTION = re.compile(
    r"headers?$|api_?key$|authorization$|password$|secret$|bearer", re.IGNORECASE
)
"""How an option is called that can hold a key."""


@dataclass
class Door:
    """What `ask` needs beside the request; the spending is in US dollars, `room` guards it.

    `connection` (api_base, api_key) is neither hashed nor recorded; `ends_at` is a moment of
    time.monotonic(). `takes`: kinds of files that the model takes (image, audio); `files`: {digest:
    message parts} of those prompts name.
    """

    recordings: Recordings
    live: bool = False
    connection: dict = field(default_factory=dict)
    deadline_s: float = DEADLINE_S
    n_requests: int = 4  # may go out for one reply: the first and three retries
    ceiling_usd: float | None = None
    secrets: tuple = ()
    command: str = "make run AGENT=name"
    wait_s: float = 1
    ends_at: float = math.inf
    rereads: bool = False
    prices: tuple | None = None
    takes: tuple = ()
    files: dict = field(default_factory=dict)
    spent_usd: float = 0.0
    at_most_usd: float = 0.0
    set_aside_usd: float = 0.0
    n_under_way: int = 0
    dearest_usd: float = 0.0  # of replies that cost more than their bound
    streams: bool = False  # the server answers in a stream only
    is_cut_told: bool = False
    pace: Pace = field(default_factory=Pace)  # of requests under way at once
    collects: dict | None = None  # requests are noted here, and not sent (models.batches)
    unasked: tuple | None = None  # (status, reason) of what a batch did not answer
    room: threading.Condition = field(default_factory=threading.Condition, repr=False)


def open_door(
    run_id,
    *,
    live=False,
    minutes=None,
    connection=None,
    environment=os.environ,
    store=None,
    **settings,
):
    """Return a Door on a run's recordings.

    A live door asks for what is not recorded, for so many `minutes` at most. `connection` holds
    `api_base` and `api_key` where the provider's own environment variables do not; `environment` is
    where secrets to hide are looked for, `store` another store to record in. `settings`: deadline_s
    (seconds), n_requests, ceiling_usd (US dollars for all that the run records, what it has cost so
    far included), prices (US dollars an input token and an output token, where the provider's are
    not known), command (what would make a missing recording), rereads (ask again where what came
    could not be read). Raises ValueError for a ceiling that is no positive number.
    """
    if (ceiling := settings.get("ceiling_usd")) is not None and not 0 < ceiling < math.inf:
        raise ValueError(
            f"a ceiling is a positive number of US dollars such as 1.5, not {ceiling:g}"
        )
    connection = {name: value for name, value in (connection or {}).items() if value is not None}
    secrets = tuple({*list_secrets(environment), *filter(None, [connection.get("api_key")])})
    recordings = Recordings(run_id, secrets, is_alone=live, store=store)
    door = Door(
        recordings,
        live=live,
        ends_at=end_after(minutes),
        connection=connection,
        secrets=secrets,
        **settings,
    )
    count_spent(door)
    if live:
        load_litellm()
    return door


def count_spent(door):
    """Take from a door's recordings what they have cost so far, and how much of it at most (US
    dollars)."""
    rows = door.recordings.rows.values()
    submitted = sum(batch.bound_usd for batch in door.recordings.batches)
    bounds = (row.get("cost_bound_usd") or 0 for row in rows if not row.get("cost_usd"))
    door.at_most_usd = door.recordings.cut_usd + submitted + sum(bounds)
    door.spent_usd = door.at_most_usd + sum(row.get("cost_usd") or 0 for row in rows)


def ask(door, model, messages, *, sample=0, deadline_at=None, reduce=None, **options):
    """Return the recording of a request: `content`, `tool_calls`, `finish_reason`, `logprobs`,
    tokens, cost, seconds.

    `options` are the provider's (max_tokens, temperature, tools, logprobs, extra_body, ...),
    `sample` tells apart repeated draws of one request. `deadline_at`, a moment of time.monotonic(),
    shortens the door's own deadline: several requests for one question share it. What is recorded
    is not asked again, but an open door asks again where an accident stood in a reply's place.
    `reduce(row)` says what is kept of a new recording, and returned. Raises LookupError, with the
    command that would make it, when a closed door has no recording; LlmError when there is no
    reply; ValueError for an option that the door sets itself.
    """
    check_options(options)
    request = {"model": model, "messages": messages, "options": options, "sample": sample}
    return recall(door, request, deadline_at, reduce=reduce)


def check_options(options):
    """Raise ValueError for an option that the door sets itself, or one, however deep in a table,
    that holds a key.

    Options are stored with each recording and run, and a key never is.
    """
    if unfit := sorted(OURS & set(options)):
        raise ValueError(
            f"the option {unfit[0]!r} is the kit's to set: leave it out (a key is named by api_key_env)"
        )
    parts = [options]
    for part in parts:  # which grows while it is read
        if isinstance(part, dict):
            if secret := next(
                (name for name in map(str, part) if SECRET_OPTION.search(name)), None
            ):
                advice = "options are stored: name the key's variable by api_key_env"
                raise ValueError(f"the option {secret!r} can hold a key, and {advice}")
            parts += part.values()
        elif isinstance(part, list | tuple):
            parts += part


def recall(door, request, deadline_at, answer=None, bound=None, reduce=None):
    """Return the recording of a request; an open door makes what is missing, or met an accident, by
    `answer`.

    See `record` for `answer` and `bound`, `ask` for `reduce`.
    """
    request = clean_value(request)
    key, is_open = hash_request(request), door.live and time.monotonic() < door.ends_at
    recorded = door.recordings.rows.get(key)
    is_again = door.rereads and recorded and recorded["status"] == "unreadable"
    if recorded and (is_final(recorded) and not is_again or not is_open):
        return open_recording(recorded)
    if door.collects is not None:
        door.collects[key] = request, bound or bound_cost, reduce
        raise LlmError("error", "noted, and not asked")
    if door.unasked:
        raise LlmError(*door.unasked)
    if not is_open:
        where = f"{door.recordings.folder} has no recording {key} of {request['model']}"
        raise LookupError(f"{where}; `{door.command}` with its model there makes it")
    row = record(door, key, request, deadline_at, answer or complete, bound or bound_cost)
    return open_recording(door.recordings.add(reduce(row) if reduce else row))


def is_final(row):
    """Say whether a recording holds what a model answered, be it a refusal or no JSON: it was paid
    for."""
    return row["status"] in ("ok", "refusal", "unreadable")


def open_recording(row):
    """Return a recording that holds a reply. Raises LlmError when it holds why there is none."""
    if row["status"] != "ok":
        raise LlmError(row["status"], row["reason"], row)
    return row


def record(door, key, request, deadline_at, answer, bound):
    """Ask a provider and return the recording, reply or failure. Raises LlmError when the ceiling
    forbids it.

    `answer(door, request, limit, row)` returns the recording's columns, `bound(door, request)` the
    most that this can cost in US dollars; by default those of a chat completion (`complete`,
    `bound_cost`). What was given up, what came but is no JSON, and a job that was followed, may be
    billed, so the bound counts as spent.
    """
    door.recordings.check_room()
    limit = min(deadline_at or math.inf, time.monotonic() + door.deadline_s)
    bound = bound(door, request)
    if bound is not None:
        bound = max(bound, door.dearest_usd)
    reserve(door, request["model"], bound, limit)
    started_at, clock = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    row = {
        "key": key,
        "request": request,
        "status": "ok",
        "reason": None,
        "n_requests": 0,
        "cost_usd": None,
    }
    billed = bound
    try:
        door.recordings.start(key, bound)
        row |= answer(door, request, limit, row)
        billed = bound if row["cost_usd"] is None else row["cost_usd"]
    except LlmError as error:
        billed = bound if error.status in DOUBTFUL or "n_polls" in row else 0.0
        row |= {"status": error.status, "reason": error.reason}
    finally:
        settle(door, bound, billed, is_most=row["cost_usd"] is None)
    row |= {"cost_bound_usd": billed} if billed and row["cost_usd"] is None else {}
    return clean_value(row) | {
        "recorded_at": started_at,
        "duration_s": round(time.monotonic() - clock, 3),
    }


# --- requests ---------------------------------------------------------------------------------------


def try_often(door, function, limit, row):
    """Return what a function that asks a provider returns, after at most `n_requests` attempts
    before `limit`.

    `limit` is a moment of time.monotonic(). Tried again: status 429 (after what Retry-After says),
    408, 5xx, a connection that fails. A refusal for load while fewer could be asked at once is no
    attempt. Counts the requests in row["n_requests"]. Raises LlmError.
    """
    n_spared = 0
    while True:
        row["n_requests"] += 1
        can_fall = False
        try:
            with door.pace.turn(limit) as can_fall:
                return call_within(function, limit - time.monotonic())
        except Exception as error:  # litellm passes on whatever a provider's client raises
            n = row["n_requests"]
            n_spared += can_fall and find_code(error) in OVERLOAD
            wait = read_wait(error) or min(door.wait_s * 2 ** (n - 1), MAX_WAIT_S)
            if (
                not is_passing(error)
                or n - n_spared >= door.n_requests
                or time.monotonic() + wait >= limit
            ):
                raise explain(error, n, limit, door) from None
            time.sleep(wait)


def connect(door):
    """Return the options of litellm by which a door's model is reached: address, key, no retries.

    A server of one's own (`api_base`) gets the key that came with its address or none, never a
    provider's.
    """
    key = {"api_key": NO_KEY} if "api_base" in door.connection else {}
    return key | door.connection | {"num_retries": 0, "max_retries": 0}


def check_model(model, api_base, has_key):
    """Return why a model cannot be asked (no such provider, no key), None when it can. Nothing is
    sent."""
    litellm = load_litellm()
    try:
        provider = litellm.get_llm_provider(model, api_base=api_base)[1]
    except litellm.BadRequestError:
        known = "write it as provider/name, such as openai/gpt-4o-mini"
        return f"no provider is known for the model {model!r}; {known}"
    missing = [] if has_key else litellm.validate_environment(model)["missing_keys"]
    return (
        f"no key for {provider}: set {' and '.join(missing)} in the environment"
        if missing
        else None
    )


def complete(door, request, limit, row):
    """Return a recording's columns from one chat completion. Raises LlmError."""
    model, messages = request["model"], put_in(request["messages"], door.files)
    is_streamed = door.streams or request["options"].get("stream", False)

    def send():  # the seconds are whole: litellm makes a client for each timeout
        options = shape_stream(request["options"], door.streams)
        given = connect(door) | {"timeout": count_left(limit)} | options
        litellm = load_litellm()
        mute_log(litellm)
        started_at = time.monotonic()
        return litellm.completion(model, messages, **given), time.monotonic() - started_at

    try:
        found = try_often(door, send, limit, row)
    except LlmError as error:
        if is_streamed or not wants_stream(error):
            raise
        door.streams, found = True, None  # which costs a refused request once, and no reply
    response, seconds = found or try_often(door, send, limit, row)
    response.model = str(
        response.model
    )  # whatever the server calls it: its price is looked up by the name
    columns = read_response(response, request["options"]) | {"model_s": round(seconds, 3)}
    cost = price_reply(
        door, model, columns, lambda: load_litellm().completion_cost(response, model=model)
    )
    if cut := describe_cut_prompt(messages, columns):
        columns["warning"] = cut
        if not door.is_cut_told:
            door.is_cut_told = True
            print(f"{model}: {cut}; look at its context size", file=sys.stderr)
    return columns | read_searches(response) | {"cost_usd": cost}


def wants_stream(error: LlmError) -> bool:
    """Say whether a server refuses a request since its model answers in a stream only."""
    return bool(re.search(r"\b(400|422)\b", error.reason) and STREAM_ONLY.search(error.reason))


def shape_stream(options: dict, is_streamed: bool) -> dict:
    """Return a request's options for litellm, with a stream asked for where it is to be one.

    It goes out beside litellm's own options, as `transport.join_stream` puts the pieces together.
    """
    options = dict(options)
    if not (options.pop("stream", False) or is_streamed):
        return options
    body = {"stream": True, "stream_options": {"include_usage": True}}
    return options | {"extra_body": body | options.get("extra_body", {})}


def describe_cut_prompt(messages, columns) -> str | None:
    """Return, where a server counted far fewer tokens than its prompt holds, both numbers in words.

    A token rarely holds more than a word, so half as many tokens as words is the least. None for
    a short prompt, and without a count.
    """
    texts = [read_content(message.get("content")) or "" for message in messages]
    least = sum(len(WORD.findall(text)) for text in texts) // WORDS
    n_read = columns["n_input_tokens"]
    if n_read is None or least < SHORT:
        return None
    n_read += columns["n_cached_tokens"] or 0  # which some servers count apart
    if n_read >= least:
        return None
    return f"the server read {n_read:,} tokens of a prompt of {least:,} or more: it was cut there"


def read_response(response, options):
    """Return what is kept of litellm's response.

    Logprobs are kept for each token (natural logarithms to four decimals), with as many
    alternatives as the request's `top_logprobs` asked for. A refusal has its status and the model's
    words as the reason; of a model that a local server names by its file the folder is left out.
    """
    choice, usage, version = response.choices[0], response.usage, response.model
    message, n_top = choice.message, options.get("top_logprobs") or 0
    tokens = getattr(getattr(choice, "logprobs", None), "content", None) or []
    told, thought = (
        getattr(usage, f"{kind}_tokens_details", None) for kind in ("prompt", "completion")
    )
    logprobs = [
        {"token": part.token, "logprob": round(part.logprob, 4)}
        | {"top": [[top.token, round(top.logprob, 4)] for top in (part.top_logprobs or [])[:n_top]]}
        for part in tokens
    ]
    row = {
        "content": message.content,
        "tool_calls": [call.model_dump() for call in message.tool_calls or []],
        "reasoning": getattr(message, "reasoning_content", None),
        "finish_reason": choice.finish_reason,
        "logprobs": logprobs or None,
        "n_input_tokens": read_count(usage and usage.prompt_tokens, least=1),
        "n_output_tokens": read_count(usage and usage.completion_tokens),
        "n_cached_tokens": read_count(getattr(told, "cached_tokens", None)),
        "n_think_tokens": read_count(getattr(thought, "reasoning_tokens", None)),
        "model_version": version.rpartition("/")[2] if version.startswith("/") else version,
    }
    refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    if refusal or (choice.finish_reason == "content_filter" and not message.content):
        row |= {
            "status": "refusal",
            "reason": redact(refusal or "the provider's filter withheld the reply"),
        }
    return row
