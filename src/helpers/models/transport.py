"""litellm, loaded once, with an HTTP client of ours: no downloads at import, no endless body, no key unasked."""

import os
import time
from functools import lru_cache

IDLE_S = 60
"""Seconds for a request that brings no timeout of its own (polls, in helpers.models.polling)."""

NO_KEY = "none"
"""Given to litellm where a server wants no key, since it asks for one; it is not sent."""


@lru_cache(maxsize=1)
def load_litellm():
    """Import litellm, once, without its download of prices, its messages and a client for every timeout."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # read at import: prices come from the package, not the network
    import httpx
    import litellm

    litellm.suppress_debug_info = True
    litellm.client_session = httpx.Client(
        timeout=IDLE_S,
        follow_redirects=True,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        event_hooks={"request": [drop_no_key], "response": [limit_body]},
    )
    return litellm


def drop_no_key(request):
    """Take the stand-in for a key off an httpx request: a server that wants none gets none."""
    for name in ("authorization", "x-api-key", "api-key"):
        if request.headers.get(name, "").removeprefix("Bearer ") == NO_KEY:
            del request.headers[name]


def limit_body(response):
    """Make the body of an httpx response end with its request's timeout, however slowly it drips."""
    import httpx

    seconds = response.request.extensions.get("timeout", {}).get("read")
    if seconds is None:
        return

    stream, end = response.stream, time.monotonic() + seconds

    class Body(httpx.SyncByteStream):
        def __iter__(self):
            for part in stream:
                yield part
                if time.monotonic() > end:
                    raise httpx.ReadTimeout("the body drips", request=response.request)

        def close(self):
            stream.close()

    response.stream = Body()
