"""litellm, loaded once, with an HTTP client of ours: no downloads at import, no endless body, no key unasked.

A body is read whole here, up to a size and a time, before litellm sees it; a redirect is not followed.
"""

import json
import logging
import os
import threading
import time
import uuid
import warnings
import zlib
from datetime import UTC, datetime
from functools import lru_cache

from helpers.models.failures import NO_PAGE, PAGE, ReplyError

IDLE_S = 60
"""Seconds for a request that brings no timeout of its own (polls, in helpers.models.polling)."""

NO_KEY = "none"
"""Given to litellm where a server wants no key, since it asks for one; it is not sent."""

MAX_BYTES = 10_000_000
"""Largest reply taken, decompressed: 30,000 tokens are 200 kB, with five log probabilities each 10 MB."""

FIRST_BYTES = "send_request_headers.started"
"""What httpcore calls the moment at which a connected request goes out."""

HERE = threading.local()
"""Of the thread that sends a request: when it went out, the seconds until its reply was read, and `note` (`noting`)."""


@lru_cache(maxsize=1)
def load_litellm():
    """Import litellm, once, without its download of prices, its messages and a client for every timeout."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # read at import: prices come from the package, not the network
    import httpx
    import litellm

    litellm.suppress_debug_info = True
    # what a server says oddly stands in the recording; nothing of it is for the user's terminal
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning, "pydantic")
    litellm.client_session = httpx.Client(
        timeout=IDLE_S,
        headers={"accept-encoding": "gzip, deflate"},
        # a connection a request: what a server sends after a reply would be read as that to the next question
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        event_hooks={"request": [start_request], "response": [refuse_redirect, read_body]},
    )
    return litellm


def complete_bare(model, messages, **options):
    """Return (litellm's response to a chat completion, seconds from sending to the whole reply, None if not known).

    This is litellm's `completion` within its wrapper, which would count the cost, build a log record and hand it to
    callbacks, of which there are none: half of the time that a call takes.
    """
    from litellm.litellm_core_utils.litellm_logging import Logging
    from litellm.main import completion

    call_id, HERE.seconds = str(uuid.uuid4()), None
    log = Logging(model, messages, False, "completion", datetime.now(UTC), call_id, "")
    response = completion.__wrapped__(
        model=model, messages=messages, litellm_logging_obj=log, litellm_call_id=call_id, **options
    )
    return response, HERE.seconds


def noting(note, function):
    """Return what a function returns that sends a request; `note()` is called as its first bytes go out.

    Only a request that goes through the client above tells so; litellm has clients of its own for some providers.
    """
    HERE.note = note
    return function()


def start_request(request):
    """Note when an httpx request goes out; take the stand-in for a key off it: a server that wants none gets none."""
    HERE.started_at = time.monotonic()
    if note := getattr(HERE, "note", None):
        request.extensions["trace"] = lambda event, info: note() if event.endswith(FIRST_BYTES) else None
    for name in ("authorization", "x-api-key", "api-key"):
        if request.headers.get(name, "").removeprefix("Bearer ") == NO_KEY:
            del request.headers[name]


def refuse_redirect(response):
    """Raise ReplyError for a redirect: it would carry the question, and be one more request, to an unknown address."""
    if response.has_redirect_location:
        target = response.url.join(response.headers["location"]).copy_with(query=None, userinfo=b"")
        raise ReplyError(f"the server redirects ({response.status_code}) to {target}; set api_base to where it is")


def read_body(response):
    """Read an httpx response's body, within its request's timeout and MAX_BYTES, and put it back as if just come.

    Raises httpx.ReadTimeout, or ReplyError when it is too large, not decodable, or, of a 2xx, no JSON object.
    """
    import httpx

    seconds = response.request.extensions.get("timeout", {}).get("read") or IDLE_S
    stream, end = response.stream, time.monotonic() + seconds
    parts, size = [], 0
    for part in decode_parts(stream, response.headers.pop("content-encoding", "identity").strip().lower()):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise ReplyError(f"the reply is larger than {MAX_BYTES:,} bytes", is_answer=True)
        if time.monotonic() > end:
            raise httpx.ReadTimeout("the body drips", request=response.request)
    stream.close()
    body = b"".join(parts)
    HERE.seconds = time.monotonic() - HERE.started_at
    if response.is_success:
        body = check_body(body, is_chat=response.request.url.path.endswith("/chat/completions"))
    response.stream = httpx.ByteStream(body)


def decode_parts(stream, encoding):
    """Yield a body's parts, decompressed in pieces of 64 kB at most, so that what it opens to can be stopped."""
    if encoding == "identity":
        yield from stream
        return
    if encoding not in ("gzip", "deflate"):
        raise ReplyError(f"the reply is compressed as {encoding!r}, which was not asked for", is_answer=True)
    decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)  # told apart by the header
    for part in stream:
        while part:
            try:
                yield decoder.decompress(part, 65536)
            except zlib.error:
                raise ReplyError(f"the reply is said to be {encoding} but is not", is_answer=True) from None
            part = decoder.unconsumed_tail


def check_body(body, is_chat):
    """Return a body that is a JSON object, and of a chat completion holds a message, without what is `drop_unfit`'s.

    Raises ReplyError, saying what came.

    >>> check_body(b"<html>busy</html>", is_chat=True)
    Traceback (most recent call last):
        ...
    helpers.models.failures.ReplyError: the reply is HTML, not JSON: '<html>busy</html>'; a web page stands there: \
look at api_base, and at a proxy or a sign-in on the way
    """
    start = body[:80].decode(errors="replace").strip()
    try:
        value = json.loads(body)
    except RecursionError:
        raise ReplyError("the reply is JSON nested too deep", is_answer=True) from None
    except ValueError:
        what = "empty" if not start else "HTML, not JSON" if start.startswith("<") else "not JSON"
        page = f"; {NO_PAGE}" * bool(PAGE.search(start))
        raise ReplyError(f"the reply is {what}" + f": {start!r}" * bool(start) + page, is_answer=True) from None
    if not isinstance(value, dict):
        raise ReplyError(f"the reply is no JSON object: {start!r}", is_answer=True)
    if not is_chat:
        return body
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        said = f"; its error: {value['error']}" if value.get("error") else ""
        raise ReplyError(f"the reply holds no choice{said}", is_answer=True)
    if not isinstance(choices[0], dict) or not isinstance(choices[0].get("message"), dict):
        raise ReplyError("the reply's first choice holds no message", is_answer=True)
    return json.dumps(value).encode() if drop_unfit(value) else body


def drop_unfit(value):
    """Take out of a chat completion what an answer can do without and litellm cannot read; returns whether there was.

    That is a usage that counts no tokens, a model that is no name, log probabilities that are no table.

    >>> reply = {"choices": [{"logprobs": "high"}], "usage": {"prompt_tokens": "many"}, "model": "m"}
    >>> drop_unfit(reply), reply
    (True, {'choices': [{}], 'model': 'm'})
    """
    choice, unfit = value["choices"][0], []
    unfit += [] if is_usage(value.get("usage")) else [(value, "usage")]
    unfit += [] if isinstance(value.get("model", ""), str) else [(value, "model")]
    unfit += [] if is_table(choice.get("logprobs"), "content") else [(choice, "logprobs")]
    for table, name in unfit:
        del table[name]
    return bool(unfit)


def is_usage(table):
    """Say whether what a server says of tokens is whole numbers, at any depth; what else it says is its own.

    >>> is_usage({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}, "cost": 0.1, "total_tokens": None})
    True
    >>> is_usage({"prompt_tokens": 2.5}), is_usage("many"), is_usage({"completion_tokens_details": 7})
    (False, False, False)
    """
    if table is None:
        return True
    return isinstance(table, dict) and all(
        is_usage(part) if name.endswith("_details") else not name.endswith("_tokens") or isinstance(part, int | None)
        for name, part in table.items()
    )


def is_table(value, name):
    """Say whether a value is none, or a table whose `name` is none or a list of tables.

    >>> is_table(None, "content"), is_table({"content": [{}]}, "content"), is_table({"content": [None]}, "content")
    (True, True, False)
    """
    parts = value.get(name) if isinstance(value, dict) else value
    return parts is None or (
        isinstance(value, dict) and isinstance(parts, list) and all(isinstance(part, dict) for part in parts)
    )
