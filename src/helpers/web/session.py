"""One web as of a moment: fetch a page, search, open it, read a source; never anything later (WorldReasoner 3.1).

A web is one `requests.Session`. What answers is the transport adapter mounted on it: the replay's rows, series pages,
a cache, planted pages. The clock stands here, above all of them: a page must be dated, and be earlier than `as_of` to
the second. So do the bounds on hosts, redirects, bytes and time.
"""

import hashlib
import time
from datetime import UTC
from email.utils import format_datetime, parsedate_to_datetime
from functools import partial
from io import BytesIO
from urllib.parse import urljoin, urlsplit

import pandas as pd
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.utils import get_encoding_from_headers
from urllib3 import HTTPResponse
from urllib3.exceptions import HTTPError

from helpers.calendar import stamp_moment
from helpers.limits import call_within
from helpers.store import hash_text
from helpers.tables import HELD
from helpers.web.extract import ExtractionError, extract_page, read_terms, select_series
from helpers.web.pages import GatewayError, Page, decode_body, keep_page, read_title
from helpers.web.search import SearchIndex, keep

MAX_BYTES = 5_000_000
"""Largest decompressed body taken; a 300 kB gzip can open to 300 MB."""
MAX_HOPS = 5
N_KEPT = 1000
"""Tables and series read from pages that a web keeps in memory (`keep`)."""


class Adapter(BaseAdapter):
    """A transport adapter that answers in process; moments come and go in the headers of Memento (RFC 7089).

    `answer(url, clock)` returns (status, body, headers) as of `clock`, epoch seconds; `date_page` and `say` write them.
    """

    def send(self, request, **options):
        """Return the requests.Response to a prepared request."""
        clock = parsedate_to_datetime(request.headers["Accept-Datetime"]).timestamp()
        status, body, headers = self.answer(request.url, int(clock))
        raw = HTTPResponse(BytesIO(body), headers, status, preload_content=False)
        return HTTPAdapter.build_response(self, request, raw)

    def close(self):
        """Close nothing: no connection is open."""


def name_page(url, text, digest, is_held):
    """Return a page's id, by its address and content; one that says `noarchive` begins with `columns.HELD`.

    An adapter may have a `name_page` of its own.
    """
    return (HELD if is_held else "p") + hash_text(f"{url} {digest}", 12)


def say(status, text="", **headers):
    """Return an adapter's answer without a page."""
    return status, text.encode(), {"Content-Type": "text/plain; charset=utf-8"} | headers


def date_page(content_type, text, published, headers=()):
    """Return an adapter's answer with a page: its type, its text or bytes, when it was published (epoch seconds)."""
    body = text.encode() if isinstance(text, str) else text
    moment = format_datetime(pd.Timestamp(published, unit="s", tz=UTC).to_pydatetime(), usegmt=True)
    return 200, body, {"Content-Type": f"{content_type}; charset=utf-8", "Memento-Datetime": moment} | dict(headers)


class Web:
    """Pages as of a moment, each recorded in `pages` when it is fetched, and what sources say on theirs.

    `adapter` answers for all hosts that end in `hosts`; nothing else is reachable. Searched are the pages of `sources`
    and, at `feeds`, the articles that front pages list (`news`). With `keeps_pages` pages are kept in files as well
    (`pages`). A source's page is fetched once for each moment, and parsed once a content.
    """

    def __init__(
        self, adapter, sources=None, feeds=(), *, by_passage=False, hosts=".replay", deadline_s=20.0, keeps_pages=False
    ):
        self.adapter, self.sources, self.hosts = adapter, sources or {}, hosts
        self.pages, self.memory, self.n_kept = {}, {}, N_KEPT
        self.deadline_s, self.keeps_pages = deadline_s, keeps_pages
        self.session = requests.Session()
        self.session.trust_env = False  # no proxy and no password of this machine
        self.session.adapters.clear()
        self.session.mount("http://", adapter)
        addresses = sorted(source.address for source in self.sources.values())
        self.index = SearchIndex(self.fetch, addresses, sorted(feeds), by_passage=by_passage)

    def fetch(self, url, as_of):
        """Return the page at `url` as it stood just before `as_of` (a moment with offset).

        Raises GatewayError when the site is down or slow, the page is undated, not earlier than `as_of`, too large, or
        outside the world; ValueError when `as_of` has no offset.
        """
        moment = pd.Timestamp(as_of)
        if moment.tzinfo is None:
            raise ValueError(f"as_of {as_of!r} has no offset from UTC; write it like 2016-10-10T00:00:00+08:00")
        follow = partial(self._follow, url, moment)
        try:  # what is not in process goes to a thread, so that the deadline holds: a site may drip, stall, redirect
            is_inside = isinstance(self.adapter, Adapter)
            response, body, url = follow() if is_inside else call_within(follow, self.deadline_s)
        except TimeoutError:
            raise GatewayError("too_slow", f"{url}: not complete within {self.deadline_s:g} s") from None
        if response.status_code == 404:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        if response.status_code != 200:
            raise GatewayError("down", f"{url}: the site answered {response.status_code}")
        published = read_memento(response, url)
        if published >= moment:
            raise GatewayError("too_late", f"{url.partition('?')[0]}: published, but not earlier than {as_of}")
        return self._record(url, published, moment, response.headers, body)

    def search(self, query, as_of, n=3):
        """Return the `n` best hits for a query among all pages as of a moment (`SearchIndex.search`)."""
        return self.index.search(query, as_of, n)

    def open(self, url, as_of, about=""):
        """Return the hit of any page as of a moment (`SearchIndex.open`); raises as `fetch` does."""
        return self.index.open(url, as_of, about)

    def observe(self, source_id, as_of):
        """Return (observations, page_id) of a source as of a moment.

        Observations have columns occurred_at, entity, variable, value; a match to be played has no value. For a
        prediction market they are its event pages (`extract.extract_market`). Raises GatewayError or ExtractionError.
        """
        if source_id not in self.sources:
            raise ValueError(f"source {source_id!r} is not in the registry (data/sources)")

        def read():
            page = self.fetch(self.sources[source_id].address, as_of)
            return self.keep(page.page_id, lambda: self._parse(source_id, page.text)), page.page_id

        return self.keep((source_id, as_of), read)

    def select(self, source_id, as_of, variable, hour=None):
        """Return (series, page_id): one variable of a source as `extract.select_series` gives it."""
        observations, page_id = self.observe(source_id, as_of)
        return self.keep((page_id, variable, hour), lambda: select_series(observations, variable, hour)), page_id

    def keep(self, key, make):
        """Return what the memory of what was read holds for a key, made when absent; a full one forgets the oldest.

        A key names a page's content, or a moment, so that what is kept never is of another moment.
        """
        found = self.memory.get(key)
        return keep(self.memory, key, make(), self.n_kept) if found is None else found

    def _parse(self, source_id, text):
        """Return what a page says; a market's questions are about variables of the registry's sources."""
        source = self.sources[source_id]
        table = extract_page(source, text)
        for terms in map(read_terms, table["terms"] if source.form == "market" else ()):
            if terms["about"] not in self.sources or terms["variable"] not in self.sources[terms["about"]].variables:
                raise ExtractionError(f"{source_id}: a question is about {terms['about'][:40]!r}, which is no source")
        return table

    def _follow(self, url, moment):
        """Return (response, body, final address); each redirect is checked as the address itself."""
        clock = (moment.tz_convert(UTC) - pd.Timedelta(seconds=1)).to_pydatetime()
        headers = {"Accept-Datetime": format_datetime(clock, usegmt=True), "Accept-Encoding": "gzip, deflate"}
        end = time.monotonic() + self.deadline_s
        for _ in range(MAX_HOPS):
            check_address(url, self.hosts)
            try:  # the adapter itself, as a session reads the body of a redirect without bounds
                request = self.session.prepare_request(requests.Request("GET", url, headers))
                adapter = self.session.get_adapter(url)
                with adapter.send(request, stream=True, timeout=self.deadline_s) as response:
                    if not response.is_redirect:
                        return response, read_bounded(response.raw, url, end, GatewayError), url
            except (requests.RequestException, HTTPError) as error:
                raise GatewayError("down", f"{url}: no answer ({type(error).__name__})") from None
            try:
                url = urljoin(url, response.headers["Location"])
            except ValueError:  # such as http://[a.replay]
                raise GatewayError("outside", f"{url.partition('?')[0]}: it leads to what is no address") from None
        raise GatewayError("down", f"{url}: more than {MAX_HOPS} redirects")

    def _record(self, url, published, moment, headers, body):
        """Return the page of a response, and enter it in `pages`."""
        content_type, digest = headers.get("Content-Type", ""), hashlib.sha256(body).hexdigest()
        declared = get_encoding_from_headers(headers) if "charset" in content_type.lower() else None
        is_held, text = "noarchive" in headers.get("X-Robots-Tag", "").lower(), decode_body(body, declared)
        page_id = getattr(self.adapter, "name_page", name_page)(url, text, digest, is_held)
        retrieved_at, known = stamp_moment(moment), self.pages.get(page_id, {})
        row = {
            "page_id": page_id,
            "source_id": urlsplit(url).hostname.removesuffix(self.hosts).replace("-", "_"),
            "url": url,
            "published_at": stamp_moment(published),
            "retrieved_at": min(retrieved_at, known.get("retrieved_at", retrieved_at)),  # the first, whoever came first
            "origin": "news" if is_held else "replay",
            "title": known.get("title") or read_title(text, content_type),
            "content_type": content_type,
            "content_sha256": digest,
        }
        self.pages[page_id] = row
        if self.keeps_pages:
            keep_page(row, text)
        return Page(page_id, url, row["published_at"], content_type, text)


def read_bounded(raw, url, end, failure):
    """Return a body, decompressed in pieces, so that a slow drip or a bomb is stopped in time.

    Raises `failure` (kind, sentence) beyond `MAX_BYTES`, or the moment `end` of time.monotonic().
    """
    pieces, size = [], 0
    while piece := raw.read1(65536, decode_content=True):
        size += len(piece)
        if size > MAX_BYTES:
            raise failure("too_large", f"{url}: more than {MAX_BYTES} bytes")
        if time.monotonic() > end:
            raise failure("too_slow", f"{url}: it drips, and was not complete in time")
        pieces.append(piece)
    return b"".join(pieces)


def check_address(url, hosts=".replay"):
    """Raise GatewayError unless the address is http and at one of the hosts."""
    try:
        parts = urlsplit(url)
    except ValueError:  # such as an address with half a bracket
        raise GatewayError("outside", f"{url}: no address") from None
    if parts.scheme != "http" or not (parts.hostname or "").endswith(hosts):
        raise GatewayError("outside", f"{url}: outside the replay world, whose hosts end in {hosts}")


def read_memento(response, url):
    """Return a response's publication moment. Raises GatewayError when it is undated."""
    try:
        moment = pd.Timestamp(parsedate_to_datetime(response.headers.get("Memento-Datetime")))
    except (TypeError, ValueError, OverflowError, IndexError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise GatewayError("undated", f"{url}: the page is undated, so it may be of later than as_of")
    return moment
