"""The only way to the world: fetch a page as of a moment, never anything that is later (WorldReasoner 3.1).

A page is let through only if it is dated (`Memento-Datetime`) and its date is earlier than `as_of`, to the second.
"""

import hashlib
import re
import time
from dataclasses import dataclass
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from urllib.parse import parse_qsl, urljoin, urlsplit

import pandas as pd
from charset_normalizer import from_bytes
from requests.utils import get_encoding_from_headers, urldefragauth
from urllib3 import ProxyManager, make_headers
from urllib3.exceptions import HTTPError

from helpers.calendar import stamp_moment
from helpers.limits import call_within
from helpers.store import hash_text
from helpers.tables import HELD
from helpers.web.kept import keep_page, read_title

MAX_BYTES = 5_000_000
"""Largest decompressed body taken; a 300 kB gzip can open to 300 MB."""
MAX_HOPS = 5
N_CONNECTIONS = 10
"""Connections to the proxy that are kept open, for as many threads at once."""
CHARSETS = re.compile(
    r"(windows-|cp)(125\d|874|932|949)|iso-?8859-\d+|latin-?1|(us-)?ascii|koi8-[ru]|gb(k|2312|18030)|big5(-hkscs)?"
    r"|shift[-_]?jis|euc-(jp|kr)|utf-?16(le|be)?"
)
"""Charsets that a page may declare; Python's others (punycode, idna, utf-7 ...) are slow, or make what is no text."""


class GatewayError(Exception):
    """A page that could not or must not be had; `status` says which: down, absent, undated, too_late, too_large,
    too_slow, outside."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Page:
    """One fetched page: its text, when it was published, and the id under which it is recorded."""

    page_id: str
    url: str
    published_at: str
    content_type: str
    text: str


class Gateway:
    """Fetches pages of the replay world through its server (`proxy`), and records each in `pages`.

    Only hosts under `.replay` are reachable through it; each redirect is checked again. The server's token stands in
    its address (`servers.run_server`), so that nobody else is answered. With `keeps_pages` pages are
    kept in files as well (`helpers.web.kept`). A page that says `noarchive` is recorded as news: under an id that
    begins with `columns.HELD`.
    """

    def __init__(self, proxy, *, deadline_s=20.0, max_bytes=MAX_BYTES, keeps_pages=False):
        self.deadline_s, self.max_bytes, self.pages, self.keeps_pages = deadline_s, max_bytes, {}, keeps_pages
        self.proxy, self.door = proxy, open_door(proxy)

    def fetch(self, url, as_of):
        """Return the page at `url` as it stood just before `as_of` (a moment with offset).

        Raises GatewayError when the site is down or slow, the page is undated, not earlier than `as_of`, too large,
        or outside the world; ValueError when `as_of` has no offset.
        """
        moment = pd.Timestamp(as_of)
        if moment.tzinfo is None:
            raise ValueError(f"as_of {as_of!r} has no offset from UTC; write it like 2016-10-10T00:00:00+08:00")
        response, body, url = self._request(url, moment)
        if response.status == 404:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        if response.status != 200:
            raise GatewayError("down", f"{url}: the site answered {response.status}")
        published = read_memento(response, url)
        if published >= moment:
            raise GatewayError("too_late", f"{hide_query(url)}: published, but not earlier than {as_of}")
        content_type = response.headers.get("Content-Type", "")
        declared = get_encoding_from_headers(response.headers) if "charset" in content_type.lower() else None
        is_ours = "noarchive" not in response.headers.get("X-Robots-Tag", "").lower()
        return self._record(url, published, moment, content_type, decode_body(body, declared), body, is_ours)

    def _request(self, url, moment):
        """Follow redirects in a thread, so that the deadline holds whatever a site does: drip, stall, redirect."""
        try:
            return call_within(partial(self._follow, url, moment), self.deadline_s)
        except TimeoutError:
            raise GatewayError("too_slow", f"{url}: not complete within {self.deadline_s:g} s") from None

    def _follow(self, url, moment):
        """Follow redirects by hand, each hop checked."""
        clock = (moment.tz_convert("UTC") - pd.Timedelta(seconds=1)).to_pydatetime()
        end = time.monotonic() + self.deadline_s
        for _ in range(MAX_HOPS):
            check_address(url)
            headers = {"Accept-Datetime": format_datetime(clock.astimezone(UTC), usegmt=True)}
            try:
                response = ask_door(self.door, url, headers, self.deadline_s)
                body = self._read(response, url, end)
            except HTTPError as error:
                raise GatewayError("down", f"{url}: no answer ({type(error).__name__})") from None
            if not (location := response.get_redirect_location()):
                return response, body, url
            try:
                url = urljoin(url, location)
            except ValueError:  # such as http://[a.replay]
                raise GatewayError("outside", f"{hide_query(url)}: it leads to what is no address") from None
        raise GatewayError("down", f"{url}: more than {MAX_HOPS} redirects")

    def _read(self, response, url, end):
        """Read a body in pieces, so that a slow drip or a bomb is stopped in time."""
        pieces, size = [], 0
        while piece := response.read1(65536, decode_content=True):
            size += len(piece)
            if size > self.max_bytes:
                response.close()
                raise GatewayError("too_large", f"{url}: more than {self.max_bytes} bytes")
            if time.monotonic() > end:
                response.close()
                raise GatewayError("too_slow", f"{url}: not complete within {self.deadline_s:g} s")
            pieces.append(piece)
        return b"".join(pieces)

    def _record(self, url, published, moment, content_type, text, body, is_ours):
        digest = hashlib.sha256(body).hexdigest()
        page_id = ("p" if is_ours else HELD) + hash_text(f"{url} {digest}", 12)
        retrieved_at, known = stamp_moment(moment), self.pages.get(page_id, {})
        row = {
            "page_id": page_id,
            "source_id": urlsplit(url).hostname.removesuffix(".replay").replace("-", "_"),
            "url": url,
            "published_at": stamp_moment(published),
            "retrieved_at": min(retrieved_at, known.get("retrieved_at", retrieved_at)),  # the first, whoever came first
            "origin": "replay" if is_ours else "news",
            "title": known.get("title") or read_title(text, content_type),
            "content_type": content_type,
            "content_sha256": digest,
        }
        self.pages[page_id] = keep_page(row, text) if self.keeps_pages else row
        return Page(page_id, url, stamp_moment(published), content_type, text)


def open_door(proxy):
    """Return urllib3's connections through a proxy, at an address that may hold its token (`servers.run_server`)."""
    parts = urlsplit(proxy)
    token = make_headers(proxy_basic_auth=f"{parts.username}:{parts.password}") if parts.password else None
    return ProxyManager(f"http://{parts.hostname}:{parts.port}", proxy_headers=token, maxsize=N_CONNECTIONS)


def ask_door(door, url, headers, timeout_s):
    """Return the response at an address, unread and whatever its status. Raises urllib3's HTTPError."""
    headers = headers | {"Accept-Encoding": "gzip, deflate"}
    options = {"retries": False, "redirect": False, "preload_content": False, "timeout": timeout_s}
    return door.request("GET", urldefragauth(url), headers=headers, **options)


def check_address(url):
    """Raise GatewayError unless the address is http, inside the replay world, and names no moment of its own (`at=`).

    >>> check_address("http://example.org/")
    Traceback (most recent call last):
        ...
    helpers.web.gateway.GatewayError: http://example.org/: outside the replay world, whose hosts end in .replay
    >>> check_address("http://oil.replay/?q=1&%61t=2016-11-01")
    Traceback (most recent call last):
        ...
    helpers.web.gateway.GatewayError: http://oil.replay/: an address names no moment (at=); leave it out
    """
    try:
        parts = urlsplit(url)
        is_inside = parts.scheme == "http" and (parts.hostname or "").endswith(".replay")
    except ValueError:  # such as an address with half a bracket
        raise GatewayError("outside", f"{url}: no address") from None
    if not is_inside:
        raise GatewayError("outside", f"{url}: outside the replay world, whose hosts end in .replay")
    if any(
        name.strip().lower() == "at" for name, _ in parse_qsl(parts.query.replace(";", "&"), keep_blank_values=True)
    ):
        raise GatewayError("outside", f"{hide_query(url)}: an address names no moment (at=); leave it out")


def hide_query(url):
    """Return an address without what follows its path: a refusal says nothing of a later moment.

    >>> hide_query("http://oil.replay/x?at=2016-11-01")
    'http://oil.replay/x'
    """
    return url.partition("?")[0]


def read_memento(response, url):
    """Return a response's publication moment. Raises GatewayError when it is undated."""
    stamp = response.headers.get("Memento-Datetime")
    try:
        moment = pd.Timestamp(parsedate_to_datetime(stamp))
    except (TypeError, ValueError, OverflowError, IndexError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise GatewayError("undated", f"{url}: the page is undated, so it may be of later than as_of")
    return moment


def decode_body(body, declared):
    """Return a body's text: strict UTF-8 first, then a detector for what else it may be, then the declared charset.

    >>> decode_body("12 °C und über 7 Grad, also kühl für Oktober".encode("cp1252"), "utf-8")
    '12 °C und über 7 Grad, also kühl für Oktober'
    """
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if declared and CHARSETS.fullmatch(declared.lower()):
        try:
            return body.decode(declared)
        except (UnicodeDecodeError, LookupError):
            pass
    guess = from_bytes(body, cp_isolation=["cp1252", "utf_16", "shift_jis", "gb18030", "big5"]).best()
    return str(guess) if guess else body.decode("utf-8", errors="replace")
