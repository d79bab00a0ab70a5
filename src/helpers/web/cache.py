"""A caching proxy between agents and the replay web: it serves a page again until the copy is older than it may be.

It stands for what lies between a search agent and a live page in practice: a provider's cache, a crawler's copy, an
index that is renewed now and then. A page's age is counted by the replay clock, which comes with each request.
"""

import contextlib
import secrets
import threading

from urllib3.exceptions import HTTPError

from helpers.servers import Server, run_server
from helpers.web.archive import Handler, parse_moment
from helpers.web.gateway import ask_door, open_door

KEPT_HEADERS = ("Content-Type", "Memento-Datetime", "Vary", "X-Robots-Tag")
TIMEOUT_S = 20


class Cacher(Handler):
    """Answers GET requests with the copy it holds, else with the page from upstream, which it then holds."""

    def do_GET(self):  # noqa: N802, D102 (the name is http.server's)
        wanted, server = self.headers.get("Accept-Datetime"), self.server
        try:
            clock = parse_moment(wanted or "").timestamp()
        except (ValueError, TypeError):
            return self.answer(400, "say a moment: the header Accept-Datetime")
        with server.lock:
            kept = server.copies.get(self.path)
            is_kept = kept is not None and is_fresh(clock - kept[0], server.ttl_s)
            status, body, headers = kept[1] if is_kept else fetch_page(server.door, self.path, wanted)
            if not is_kept and status == 200 and (kept is None or kept[0] <= clock):  # the newest copy stays
                server.copies[self.path] = kept = (clock, (status, body, headers))
            server.n_requests, server.n_kept = server.n_requests + 1, server.n_kept + is_kept
        age = {"Age": str(int(clock - kept[0]))} if is_kept else {}
        self.answer(status, body, headers["Content-Type"], headers | age)


def is_fresh(age_s, ttl_s):
    """Say whether a copy of an age may be served; never one that was made later than the request's own moment.

    >>> is_fresh(3599, 3600), is_fresh(3600, 3600), is_fresh(0, 0), is_fresh(-60, 3600)
    (True, False, False, False)
    """
    return 0 <= age_s < ttl_s


def fetch_page(door, url, wanted):
    """Return (status, body, headers) of a page as of a moment, from the proxy upstream; 502 when it does not answer."""
    try:
        response = ask_door(door, url, {"Accept-Datetime": wanted}, TIMEOUT_S)
        body = response.read(decode_content=True)
    except HTTPError as error:
        return 502, f"no answer ({type(error).__name__})", {"Content-Type": "text/plain; charset=utf-8"}
    return response.status, body, {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}


@contextlib.contextmanager
def open_cache(upstream, ttl_hours):
    """Run a caching proxy on loopback before the one at `upstream`; yields (its address, the server).

    `ttl_hours`: a copy is served while it is younger than this by the replay clock; 0 keeps nothing. The server counts
    its `n_requests` and, of them, `n_kept`, answered from a copy. Raises ValueError for a negative time to live.
    """
    if ttl_hours < 0:
        raise ValueError(f"a time to live of {ttl_hours} hours; 0 is the least")
    server = Server(("127.0.0.1", 0), Cacher)
    server.block_on_close = False
    server.door, server.ttl_s, server.copies, server.lock = open_door(upstream), 3600 * ttl_hours, {}, threading.Lock()
    server.n_requests, server.n_kept, server.token = 0, 0, secrets.token_hex(16)
    with run_server(server) as address:
        yield address, server
