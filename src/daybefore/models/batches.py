"""A provider's batch interface: requests go out as a file and are answered within a day, at half
the price.

An agent asks as ever, but its requests are noted (`collect`); `ask_batches` sends those and records
what comes, and the run then reads its replies from the recordings. A batch stands in the store
before it is submitted, with a tag that the provider keeps with it: a killed run finds it again,
whenever it was killed, and nothing is paid twice.
"""

import contextlib
import json
import math
import time
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from daybefore.limits import call_within
from daybefore.models.client import complete, connect, count_spent, is_final, try_often
from daybefore.models.costs import bound_cost, describe_spent
from daybefore.models.failures import LlmError, explain, find_code
from daybefore.models.pace import Pace
from daybefore.models.transport import NO_KEY, load_litellm, read_body
from daybefore.store import DOUBTFUL
from helpers.files import clean_value, parse_object

SHARE = 0.5
"""What a batch costs, as a share of the price of single requests: that of OpenAI."""

MOST_LINES, CALL_S, POLL_S, N_LOST = 5_000, 600, 60, 10
"""Requests a batch at most; seconds for a call, and between two looks at most; looks in a row that
may fail."""

ENDED = ("completed", "failed", "expired", "cancelled")
"""Statuses of a batch that has come to its end, with all its replies, some, or none."""

REFUSED = {*range(400, 500)} - {408, 409}
"""HTTP statuses with which a batch was surely not taken."""

URL = "/v1/chat/completions"
"""What every line of a batch asks."""

TAG = "daybefore"
"""The metadata that names a batch at its provider."""


def collect(door, forecast, events, world):
    """Return the requests that an agent makes first for some events: {hash: (request, bound,
    reduce)}; none is sent.

    What is recorded is left out; `bound` and `reduce` are as in `client.recall`.
    """
    door.collects = {}
    for event in events:
        with contextlib.suppress(Exception):  # which the run itself meets again, and stores
            forecast(event, world)
    wanted = door.collects
    door.collects = None
    return wanted


def ask_batches(door, model, wanted, tell):
    """Have the requests `wanted` (`collect`) answered by batches, then close the door: what it has
    is recorded.

    Batches that an earlier run left are followed first. Raises LlmError where one cannot be
    submitted or followed.
    """
    left = dict(wanted)
    door.unasked = "error", "the batch holds no reply to it"
    while True:
        for batch in door.recordings.batches:
            finish(door, model, batch, wanted, tell)
        left = {key: one for key, one in left.items() if not has_reply(door, key)}
        n_left = len(left)
        while left and (part := take_part(door, left)):
            submit(door, part)
            left = {key: one for key, one in left.items() if key not in part}
        if n_left == len(left):
            break
    if left:
        door.unasked = "over_budget", f"not asked: {describe_spent(door)}"
    door.live = False


def has_reply(door, key):
    """Say whether a door has what a model answered to a request, which is not to be asked again."""
    row = door.recordings.rows.get(key)
    return bool(row) and is_final(row) and not (door.rereads and row["status"] == "unreadable")


def bound_half(door, request):
    """Return the most that a request of a batch can cost in US dollars, 0 without a price."""
    return SHARE * (bound_cost(door, request) or 0)


def take_part(door, left):
    """Return those of some requests that the next batch holds: at most MOST_LINES, as far as the
    ceiling has room."""
    part = {}
    room = math.inf if door.ceiling_usd is None else door.ceiling_usd - door.spent_usd
    for key, one in left.items():
        room -= bound_half(door, one[0])
        if len(part) == MOST_LINES or room < 0:
            break
        part[key] = one
    return part


def prepare(door, name, **given):
    """Return a call of a function of litellm's for files or batches, ready to be made."""
    function = getattr(load_litellm(), name)
    return partial(function, custom_llm_provider="openai", timeout=CALL_S, **connect(door), **given)


def call(door, name, **given):
    """Return what such a function returns, tried several times; raises LlmError."""
    send = prepare(door, name, **given)
    return try_often(door, send, time.monotonic() + CALL_S, {"n_requests": 0})


def submit(door, part):
    """Submit a batch of requests; it stands in the store before, and its bound counts as spent from
    then on.

    Raises LlmError where it was refused, or where it is not known whether it was: then the next run
    looks for it.
    """
    tag = f"{door.recordings.run_id}-{uuid.uuid4().hex[:12]}"
    text = ""
    for key, (request, *_) in part.items():
        about = {"custom_id": key, "method": "POST", "url": URL, "body": write_body(door, request)}
        text += json.dumps(about) + "\n"
    file = call(door, "create_file", file=(f"{tag}.jsonl", text.encode()), purpose="batch")
    bound_usd = sum(bound_half(door, request) for request, *_ in part.values())
    door.recordings.open_batch(tag, len(part), bound_usd)
    count_spent(door)
    given = {"completion_window": "24h", "endpoint": URL, "metadata": {TAG: tag}}
    limit = time.monotonic() + CALL_S
    try:
        create = prepare(door, "create_batch", input_file_id=file.id, **given)
        batch = call_within(create, CALL_S)
    except Exception as error:  # not tried again by itself: the batch may be there all the same
        if (find_code(error) or 0) in REFUSED:
            door.recordings.close_batch(tag)
            count_spent(door)
        raise explain(error, 1, limit, door) from None
    door.recordings.name_batch(tag, batch.id)


def find_batch(door, tag):
    """Return the id of the batch that has a tag, None where the provider has none."""
    given = {"limit": 100}
    while True:
        page = call(door, "list_batches", **given)
        for batch in page.data:
            if (batch.metadata or {}).get(TAG) == tag:
                return batch.id
        if not getattr(page, "has_more", False) or not page.data:
            return None
        given["after"] = page.data[-1].id


def finish(door, model, batch, wanted, tell):
    """Follow a batch to its end and record its replies; one that was never submitted is let go."""
    if batch_id := batch.batch_id or find_batch(door, batch.tag):
        door.recordings.name_batch(batch.tag, batch_id)
        try:
            record_lines(door, model, follow(door, batch_id, tell), wanted)
        except KeyboardInterrupt:
            way = "the same command takes its replies, today or tomorrow"
            raise KeyboardInterrupt(f"batch {batch_id} goes on at the provider: {way}") from None
    door.recordings.close_batch(batch.tag)
    count_spent(door)


def follow(door, batch_id, tell):
    """Return a batch once it has come to its end; says how far it is whenever that has changed."""
    seconds = door.wait_s
    told = None
    n_lost = 0
    while True:
        try:
            batch = call(door, "retrieve_batch", batch_id=batch_id)
        except LlmError as error:
            n_lost += 1
            is_passing = error.status in ("error", *DOUBTFUL) and "404" not in error.reason
            if not is_passing or n_lost == N_LOST:
                way = "with the same key and api_base the same command takes its replies"
                told = f"batch {batch_id} cannot be seen: {error.reason}; {way}"
                raise LlmError(error.status, told) from None
        else:
            n_lost = 0
            now = describe_batch(batch)
            if now != told:
                told = now
                tell(now)
            if batch.status in ENDED:
                for fault in (batch.errors and batch.errors.data) or ():
                    tell(f"batch {batch_id}: {fault.message}")
                return batch
        time.sleep(seconds)
        seconds = min(POLL_S, 1.5 * seconds)


def describe_batch(batch):
    """Return how far a batch is, as a sentence."""
    done = "accepted"
    if counts := batch.request_counts:
        done = f"{counts.completed} of {counts.total} answered, {counts.failed} failed"
    return f"batch {batch.id}: {done}, {batch.status}"


def record_lines(door, model, batch, wanted):
    """Record the replies of a batch that has ended, and why others have none; what is recorded
    already stays.

    A reply to what is not wanted now, as fewer questions are asked, was paid for, and is kept under
    its hash.
    """
    for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
        text = call(door, "file_content", file_id=file_id).content.decode(errors="replace")
        for given in map(parse_object, text.splitlines()):
            key = given.get("custom_id")
            if not key or has_reply(door, key):
                continue
            bare = {"model": model, "messages": [], "options": {}, "sample": 0}
            request, _, reduce = wanted.get(key, (bare, None, None))
            row = read_line(door, key, request, given)
            door.recordings.add(clean_value(reduce(row) if reduce else row))


def read_line(door, key, request, given):
    """Return the recording that a line of a batch's files makes, as a reply to a single request
    does."""
    row = {
        "key": key,
        "request": request,
        "recorded_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    row |= {"status": "ok", "reason": None, "n_requests": 0, "cost_usd": None, "duration_s": None}
    answer = given.get("response") or {}
    if not answer.get("body"):
        fault = given.get("error") or {}
        return row | {
            "status": "error",
            "reason": f"the batch: {fault.get('message') or fault.get('code')}",
        }
    try:
        code = answer.get("status_code", 200)
        columns, _ = send_within(door, request, code, answer["body"], row)
        row |= columns | {"model_s": None}
        row["cost_usd"] = row["cost_usd"] and SHARE * row["cost_usd"]
    except LlmError as error:
        row |= {"status": error.status, "reason": error.reason}
        if error.status in DOUBTFUL:
            row["cost_bound_usd"] = bound_half(door, request)
    return row


def write_body(door, request):
    """Return what litellm would send of a request."""
    message = {"role": "assistant", "content": ""}
    reply = {
        "id": "none",
        "model": "none",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    _, body = send_within(door, request, 200, reply, {"n_requests": 0})
    return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}


def send_within(door, request, status, reply, row):
    """Send a request to a reply that is there already; returns (the recording's columns, what was
    sent).

    So what is sent is written, and what came is read, as with single requests.
    """
    import httpx
    from openai import OpenAI

    sent = []

    def answer(asked):
        sent.append(json.loads(asked.content))
        return httpx.Response(status, json=reply)

    hooks = {"response": [read_body]}
    with httpx.Client(transport=httpx.MockTransport(answer), event_hooks=hooks) as wire:
        client = OpenAI(
            api_key=NO_KEY,
            base_url=door.connection.get("api_base"),
            max_retries=0,
            http_client=wire,
        )
        within = replace(
            door, n_requests=1, connection=door.connection | {"client": client}, pace=Pace(1)
        )
        return complete(within, request, time.monotonic() + CALL_S, row), sent[-1]
