"""litellm, loaded once, with an HTTP client of ours: a cap in bytes, an end in time, no redirects,
no key unasked."""

import json
import logging
import os
import re
import time
import warnings
from contextlib import suppress
from functools import lru_cache

from daybefore.models.failures import NO_PAGE, PAGE, ReplyError

IDLE_S = 60
"""Seconds for a request that brings no timeout of its own (polls, in daybefore.models.long_jobs)."""

NO_KEY = "none"
"""Given to litellm where a server wants no key, since it asks for one; it is not sent."""

EVENTS = "text/event-stream"
"""The content type of a reply that comes in pieces."""

INNER_CODES = {
    "rate_limit": 429,
    "too_many": 429,
    "resource_exhausted": 429,
    "insufficient_quota": 402,
    "overloaded": 503,
    "unavailable": 503,
    "timeout": 504,
    "server_error": 500,
    "internal": 500,
    "authentication": 401,
    "permission": 403,
    "not_found": 404,
}
"""A part of an error's code or type in words -> the HTTP status that it stands for."""

MAX_BYTES = 10_000_000
"""Largest reply taken, decompressed: 30,000 tokens are 200 kB, with five log probabilities each 10
MB."""


@lru_cache(maxsize=1)
def load_litellm():
    """Import litellm, once, without its download of prices, its messages and a client for every
    timeout.

    Raises ValueError for a proxy in the environment that the HTTP client cannot take.
    """
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = (
        "True"  # read at import: prices come from the package, not the network
    )
    import httpx

    check_proxies(httpx)
    import litellm

    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning, "pydantic")
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    def open_client(handler=None):
        return httpx.Client(
            timeout=IDLE_S,
            headers={"accept-encoding": "gzip, deflate"},
            # a connection a request: what a server sends after a reply would be read as that to the
            # next question
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            event_hooks={"request": [drop_stand_in], "response": [read_body]},
        )

    litellm.client_session = open_client()  # of OpenAI's protocol
    HTTPHandler.create_client = open_client  # of all others
    return litellm


def mute_log(litellm):
    """Have litellm keep no log of what this thread asks, which takes as long as our own record of
    it; a version without that switch logs as ever."""
    with suppress(AttributeError):
        litellm._internal_context.is_internal_call.set(True)


PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
"""Variables of the environment that name proxies, in capitals or not."""


def check_proxies(httpx):
    """Raise ValueError, with the variables and what to do, where httpx cannot take the
    environment's proxies."""
    try:
        httpx.Client().close()
    except (ImportError, httpx.InvalidURL, ValueError) as error:
        names = [name for name in PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
        is_socks = isinstance(error, ImportError)
        way = (
            "install httpx[socks]"
            if is_socks
            else "leave out IPv6 addresses with a / or in brackets, and ports in words"
        )
        what = "a SOCKS proxy" if is_socks else "an entry that is no address"
        raise ValueError(
            f"the environment's proxies ({', '.join(names)}) hold {what}: {way}, or unset it; nothing was asked"
        ) from None


def drop_stand_in(request):
    """Take the stand-in for a key off an httpx request before it goes out."""
    for name in ("authorization", "x-api-key", "api-key", "x-goog-api-key"):
        if request.headers.get(name, "").removeprefix("Bearer ") == NO_KEY:
            del request.headers[name]


def read_body(response):
    """Read an httpx response's body, within its request's timeout and MAX_BYTES.

    Raises httpx.ReadTimeout, or ReplyError for a redirect, which would carry question and key to an
    unknown address, and a body that breaks off, is too large or cannot be decoded, or of a 2xx is
    no JSON object.
    """
    import httpx

    if response.has_redirect_location:
        target = response.url.join(response.headers["location"]).copy_with(query=None, userinfo=b"")
        raise ReplyError(
            f"the server redirects ({response.status_code}) to {target}; set api_base to where it is"
        )
    seconds = response.request.extensions.get("timeout", {}).get("read") or IDLE_S
    body, end = bytearray(), time.monotonic() + seconds
    try:
        for part in response.iter_bytes():
            body += part
            if len(body) > MAX_BYTES:
                raise ReplyError(f"the reply is larger than {MAX_BYTES:,} bytes", is_answer=True)
            if time.monotonic() > end:
                raise httpx.ReadTimeout("the body drips", request=response.request)
    except (
        httpx.DecodingError,
        httpx.RemoteProtocolError,
        httpx.ReadError,
    ) as error:  # what was begun is paid
        what = "cannot be decompressed" if isinstance(error, httpx.DecodingError) else "breaks off"
        raise ReplyError(f"the reply {what}: {error}", is_answer=True) from None
    response._content = bytes(body)  # what `response.read` gives from now on
    if response.is_success and EVENTS in response.headers.get("content-type", ""):
        response._content = join_stream(response.content)
        response.headers["content-type"] = "application/json"
    is_chat = response.request.url.path.endswith("/chat/completions")
    response._content = mend_reply(response.content)
    if response.is_success and is_chat:  # a job that failed says so by its status
        response.status_code = find_inner_code(response.content) or response.status_code
    if response.is_success:
        check_body(response.content, is_chat)


def find_inner_code(body: bytes) -> int | None:
    """Return the HTTP status of an error that a reply with status 200 holds in place of an answer.

    A gateway passes its provider's error on like this, at the top or in the first choice. None for
    a reply without one, for one with a text beside it, and for an error whose code is no status.

    >>> find_inner_code(b'{"error": {"message": "Provider returned error", "code": 502}}')
    502
    >>> find_inner_code(b'{"error": {"type": "overloaded_error"}}')
    503
    >>> find_inner_code(b'{"error": "out of memory"}')
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    choice = choice if isinstance(choice, dict) else {}
    message = choice.get("message")
    if isinstance(message, dict) and (message.get("content") or message.get("tool_calls")):
        return None
    error = value.get("error") or choice.get("error")
    if not isinstance(error, dict):
        return None
    for name in ("code", "status", "type"):
        word = str(error.get(name))
        if re.fullmatch(r"[45]\d\d", word):
            return int(word)
        if code := next((code for part, code in INNER_CODES.items() if part in word.lower()), None):
            return code
    return None


def read_content(content) -> str | None:
    """Return a message's text; parts of text are joined, and others (thinking, pictures) left out.

    >>> read_content([{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}])
    'B'
    """
    if not isinstance(content, list):
        return content
    return "".join(part if isinstance(part, str) else read_part(part) for part in content)


def read_part(part, types=("text", "output_text")) -> str:
    """Return the text of a message's part of some types, "" for another's."""
    kind = part.get("type", "text") if isinstance(part, dict) else None
    if kind not in types:
        return ""
    text = part.get("text") or part.get("thinking")
    text = read_content(text)
    return text if isinstance(text, str) else ""


def mend_reply(body: bytes) -> bytes:
    """Return a chat completion as litellm reads it, any other body as it is.

    A message's list of parts becomes its text, thoughts among them `reasoning_content`. An error
    beside a text is left out: the text was paid.
    """
    try:
        value = json.loads(body)
        message = value["choices"][0]["message"]
        content = message.get("content")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return body
    is_error = bool(content) and "error" in value
    if not isinstance(content, list) and not is_error:
        return body
    value.pop("error", None)
    if isinstance(content, list):
        thoughts = "".join(read_part(part, ("thinking", "reasoning")) for part in content)
        message["content"] = read_content(content)
        message.setdefault("reasoning_content", thoughts or None)
    return json.dumps(value).encode()


def join_stream(body: bytes) -> bytes:
    """Return the chat completion that a whole stream of server-sent events adds up to, as JSON.

    An error among the events is returned in its place where no text came before it. Raises
    ReplyError for a stream that ended before the model did.
    """
    litellm = load_litellm()
    parts, raw = [], []
    for line in body.decode(errors="replace").splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data in ("", "[DONE]"):
            continue
        try:
            part = json.loads(data)
            is_error = "error" in part and not part.get("choices")
            chunk = None if is_error else litellm.ModelResponseStream(**part)
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise ReplyError(f"the stream holds no JSON: {data[:200]!r}", is_answer=True) from None
        if is_error and not parts:
            return data.encode()
        if is_error:
            break
        parts.append(chunk)
        raw.append(part)
    if not any(choice.finish_reason for part in parts for choice in part.choices):
        raise ReplyError("the stream breaks off before the model ended", is_answer=True)
    usage = next((part["usage"] for part in raw[::-1] if part.get("usage")), None)
    first = [part["choices"][0] for part in raw if part.get("choices")]
    refusal = "".join((choice.get("delta") or {}).get("refusal") or "" for choice in first)
    tokens = sum(((choice.get("logprobs") or {}).get("content") or [] for choice in first), [])
    whole = litellm.stream_chunk_builder(parts).model_dump()
    whole["usage"] = usage
    whole["choices"][0]["message"]["refusal"] = refusal or None
    whole["choices"][0]["logprobs"] = {"content": tokens} if tokens else None
    return json.dumps(
        whole
    ).encode()  # litellm guesses tokens that were not told, and drops logprobs


def check_body(body, is_chat):
    """Raise ReplyError, with how it begins, for a body that is no JSON object, or of a chat
    completion has no message.

    It is cut to what is shown after keys are hidden in it (`failures.explain`): half a key would
    not be found.

    >>> check_body(b'{"error": "out of memory"}', is_chat=True)
    Traceback (most recent call last):
        ...
    daybefore.models.failures.ReplyError: the reply is no chat completion: '{"error": "out of memory"}'
    """
    start = body[:2000].decode(errors="replace").strip()
    try:
        value = json.loads(body)
        is_fit = isinstance(value["choices"][0]["message"] if is_chat else value, dict)
    except (ValueError, RecursionError, LookupError, TypeError):
        is_fit = False
    if not is_fit:
        wanted, page = (
            "chat completion" if is_chat else "JSON object",
            f"; {NO_PAGE}" * bool(PAGE.search(start)),
        )
        raise ReplyError(f"the reply is no {wanted}{page}: {start!r}", is_answer=True)
