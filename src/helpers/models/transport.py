"""litellm, loaded once, with an HTTP client of ours: a cap in bytes, an end in time, no redirects, no key unasked."""

import json
import logging
import os
import time
import warnings
from functools import lru_cache

from helpers.models.failures import NO_PAGE, PAGE, ReplyError

IDLE_S = 60
"""Seconds for a request that brings no timeout of its own (polls, in helpers.models.polling)."""

NO_KEY = "none"
"""Given to litellm where a server wants no key, since it asks for one; it is not sent."""

MAX_BYTES = 10_000_000
"""Largest reply taken, decompressed: 30,000 tokens are 200 kB, with five log probabilities each 10 MB."""


@lru_cache(maxsize=1)
def load_litellm():
    """Import litellm, once, without its download of prices, its messages and a client for every timeout."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # read at import: prices come from the package, not the network
    import httpx
    import litellm

    litellm.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning, "pydantic")
    from litellm.llms.custom_httpx.http_handler import HTTPHandler

    def open_client(handler=None):
        return httpx.Client(
            timeout=IDLE_S,
            headers={"accept-encoding": "gzip, deflate"},
            # a connection a request: what a server sends after a reply would be read as that to the next question
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            event_hooks={"request": [drop_stand_in], "response": [read_body]},
        )

    litellm.client_session = open_client()  # of OpenAI's protocol
    HTTPHandler.create_client = open_client  # of all others
    return litellm


def drop_stand_in(request):
    """Take the stand-in for a key off an httpx request before it goes out."""
    for name in ("authorization", "x-api-key", "api-key", "x-goog-api-key"):
        if request.headers.get(name, "").removeprefix("Bearer ") == NO_KEY:
            del request.headers[name]


def read_body(response):
    """Read an httpx response's body, within its request's timeout and MAX_BYTES.

    Raises httpx.ReadTimeout, or ReplyError for a redirect, which would carry question and key to an unknown address,
    and a body that breaks off, is too large or cannot be decoded, or of a 2xx is no JSON object.
    """
    import httpx

    if response.has_redirect_location:
        target = response.url.join(response.headers["location"]).copy_with(query=None, userinfo=b"")
        raise ReplyError(f"the server redirects ({response.status_code}) to {target}; set api_base to where it is")
    seconds = response.request.extensions.get("timeout", {}).get("read") or IDLE_S
    body, end = bytearray(), time.monotonic() + seconds
    try:
        for part in response.iter_bytes():
            body += part
            if len(body) > MAX_BYTES:
                raise ReplyError(f"the reply is larger than {MAX_BYTES:,} bytes", is_answer=True)
            if time.monotonic() > end:
                raise httpx.ReadTimeout("the body drips", request=response.request)
    except (httpx.DecodingError, httpx.RemoteProtocolError, httpx.ReadError) as error:  # what was begun is paid
        what = "cannot be decompressed" if isinstance(error, httpx.DecodingError) else "breaks off"
        raise ReplyError(f"the reply {what}: {error}", is_answer=True) from None
    response._content = bytes(body)  # what `response.read` gives from now on
    if response.is_success:
        check_body(response.content, response.request.url.path.endswith("/chat/completions"))


def check_body(body, is_chat):
    """Raise ReplyError, with how it begins, for a body that is no JSON object, or of a chat completion has no message.

    It is cut to what is shown after keys are hidden in it (`failures.explain`): half a key would not be found.

    >>> check_body(b'{"error": "out of memory"}', is_chat=True)
    Traceback (most recent call last):
        ...
    helpers.models.failures.ReplyError: the reply is no chat completion: '{"error": "out of memory"}'
    """
    start = body[:2000].decode(errors="replace").strip()
    try:
        value = json.loads(body)
        is_fit = isinstance(value["choices"][0]["message"] if is_chat else value, dict)
    except (ValueError, RecursionError, LookupError, TypeError):
        is_fit = False
    if not is_fit:
        wanted, page = "chat completion" if is_chat else "JSON object", f"; {NO_PAGE}" * bool(PAGE.search(start))
        raise ReplyError(f"the reply is no {wanted}{page}: {start!r}", is_answer=True)
