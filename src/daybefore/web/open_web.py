"""The open web as of a moment: a provider's search, and any page, behind the same methods as every other world.

For a moment that is past a provider gives addresses and nothing else: what an agent sees of a page is its newest
capture in the Internet Archive before that moment, and what says that it is of later is left out. For a moment within
`providers.CURRENT` of now it is what the provider shows, and the page as it stands.

Each search and each page is a request of the agent's client (`models.llm`): recorded without keys, so that nothing is
asked twice, and counted in costs and ceiling. A search or an archive that does not answer is a transient error.
"""

import re
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from itertools import islice
from threading import Lock
from time import monotonic
from urllib.parse import urlsplit

import pandas as pd
import requests

from daybefore.models.failures import LlmError
from daybefore.models.llm import recall
from daybefore.web.guest import USER_AGENT, Guest, check_outside
from daybefore.web.pages import GatewayError, Page, decode_body, keep_page, read_title
from daybefore.web.providers import MAX_TEXT, is_current, price_search, search_provider, tell
from daybefore.web.search import MAX_OPENED, Hit, SearchIndex
from helpers.calendar import ZONE, find_dates, stamp_moment
from helpers.files import hash_text, parse_json
from helpers.tables import HELD

LIMIT_S = 120.0
"""Seconds that a search, or a page with the wait for its host, may take."""

ARCHIVE, N_CAPTURES, ARCHIVE_S = "https://web.archive.org/web", 20, 30
TIMED = re.compile(r"\d[T ](\d\d:\d\d(?::[\d.]+)?)(?:Z|[+-]\d\d:?\d\d)$")
"""A moment with its zone; at midnight it may stand for the day that begins then."""
MIDNIGHT = re.compile(r"00:00(?::0+(?:\.0+)?)?$")

DAY = pd.Timedelta(days=1) - pd.Timedelta(seconds=1)
"""From a day's first second to its last."""

SAID = re.compile(
    r"""(?:published|modified|updated)(?:_time|time)?["']?\s*(?:content\s*=|:)\s*["']([^"'<>]{10,40})["']"""
    r"""|content\s*=\s*["']([^"'<>]{10,40})["']\s*(?:property|name|itemprop)\s*=\s*["'][^"'<>]{0,40}"""
    r"""(?:published|modified|updated)(?:_time|time)?["']"""
    r"""|<time\b[^<>]{0,200}?\bdatetime\s*=\s*["']([^"'<>]{10,40})["']""",
    re.IGNORECASE,
)
"""Where a page says when it was written: its head, linked data, and the elements of time in its text."""

PASSING = ("busy", "down", "too_slow")
"""Failures of the archive (`pages.GatewayError`) that may be gone in a while."""


class Hits(list):
    """What a search found; `cost_usd`, None where no price is known, and `left_out`, how many results by reason."""

    def __init__(self, hits, cost_usd, left_out):
        super().__init__(hits)
        self.cost_usd, self.left_out = cost_usd, left_out


class OpenWeb:
    """A world, and beside it the open web as a provider of litellm searches it; `door` is the agent's client.

    `search`, `open` and `fetch` are those of `session.Web`; everything else is the world's own.
    """

    def __init__(self, provider, door, world=None):
        self.provider, self.door, self.world = provider, door, world
        self.index, self.lock, self.guest = SearchIndex(self.fetch, []), Lock(), Guest(datetime.now(UTC))

    def __getattr__(self, name):
        return getattr(self.world, name)

    def join(self, world):
        """Return this web beside another world."""
        self.world = world
        return self

    def search(self, query, as_of, n=3):
        """Return the best hits of the world and of the provider, `n` of each at most (`Hits`).

        Raises LlmError where the provider or the archive does not answer, or the ceiling leaves no room.
        """
        ask, bound = partial(search_provider, self.provider), partial(price_search, self.provider)
        row = ask_once(self.door, f"{self.provider}/search", query, as_of, ask, bound)
        told, found, left_out = parse_json(row["content"]), [], Counter()
        for result in told["results"]:
            try:
                found.append(self._check(result, query, as_of, told["is_current"]))
            except GatewayError as error:
                left_out[error.status] += 1
            if len(found) == n:
                break
        return Hits([*self.world.search(query, as_of, n), *found], row["cost_usd"], left_out)

    def open(self, url, as_of, about=""):
        """Return the hit of a page as of a moment, its text what fits `about` best; raises as `fetch` does."""
        return self.world.open(url, as_of, about) if self._is_own(url) else self.index.open(url, as_of, about)

    def fetch(self, url, as_of):
        """Return a page as of a moment: the world's, or one of the open web, as text with its title as first line.

        Raises GatewayError; LlmError where the archive is down.
        """
        if self._is_own(url):
            return self.world.fetch(url, as_of)
        told = parse_json(ask_once(self.door, "web/page", url, as_of, self._read)["content"])
        if "status" in told:
            raise GatewayError(told["status"], told["message"])
        return self._keep(url, told["published_at"], told["title"], told["text"])

    def _is_own(self, url):
        return (urlsplit(url).hostname or "").endswith((".replay", ".test"))  # a planted page is of this machine alone

    def _check(self, result, query, as_of, is_current):
        """Return the hit of a provider's result. Raises GatewayError for one that may not be seen as of a moment."""
        first, last = read_date(result["date"])
        dated = first if is_current else last
        if dated is not None and dated >= pd.Timestamp(as_of):
            raise GatewayError("too_late", f"{result['url']}: dated {result['date']}, not earlier than {as_of}")
        if not is_current:
            return self.open(result["url"], as_of, query)
        published_at = stamp_moment(first) if first is not None else ""
        page = self._keep(result["url"], published_at, result["title"], result["text"])
        return Hit(page.page_id, page.url, result["title"], page.published_at, result["text"][:MAX_OPENED])

    def _keep(self, url, published_at, title, text):
        """Return a page of the open web, and keep it in a file where the world keeps its pages."""
        digest = hash_text(f"{title}\n{text}", 64)
        page = Page(HELD + hash_text(f"{url} {digest}", 12), url, published_at, "text/plain", f"{title}\n{text}")
        if getattr(self.world, "keeps_pages", False):
            about = {"source_id": urlsplit(url).hostname, "origin": "live", "title": title, "content_sha256": digest}
            row = {"page_id": page.page_id, "url": url, "published_at": published_at, "content_type": "text/plain"}
            keep_page(row | about, page.text)
        return page

    # --- pages -------------------------------------------------------------------------------------------------------

    @cached_property
    def archive(self):
        """Return the client of the Internet Archive's index, which keeps to its rate."""
        from wayback import WaybackClient, WaybackSession

        return WaybackClient(WaybackSession(retries=1, timeout=ARCHIVE_S, user_agent=USER_AGENT))

    def _read(self, door, request, limit, row):
        """Return the columns of a page's recording: what it says, or status and message of why it may not be had."""
        url, as_of = request["messages"][0]["content"], pd.Timestamp(request["options"]["as_of"])
        row["n_requests"] += 1
        try:
            check_outside(url)
            told = self._read_page(url, as_of, is_current(as_of))
        except GatewayError as error:
            told = {"status": error.status, "message": str(error)}
        return tell(told, 0.0)

    def _read_page(self, url, as_of, is_today):
        """Return {title, text, published_at} of a page as it stands, or of its newest capture before a moment.

        A capture is of its own moment, or of the date that the page names where that is earlier; a page of today that
        names none is of "". Raises GatewayError where either is not earlier than `as_of`, and what the fetching does.
        """
        if is_today:
            status, kept, body = self.guest.get(url)
            if status != 200:
                raise GatewayError("absent" if status in (404, 410) else "down", f"{url}: the site answered {status}")
            taken = None
        else:
            kept, body, taken = self._fetch_capture(url, as_of)
        title, text, (first, last) = read_article(url, kept, body)
        named = first if is_today else last
        if spans := read_times(decode_body(body, kept.get("content-type", ""))):
            named = max(first if is_today else last for first, last in spans)  # the page's own time, not its day
        moments = [moment for moment in (taken, named) if moment is not None]
        if moments and max(moments) >= as_of:
            raise GatewayError("too_late", f"{url}: dated {max(moments):%Y-%m-%d}, not earlier than {as_of}")
        return {"title": title, "text": text, "published_at": stamp_moment(min(moments)) if moments else ""}

    def _fetch_capture(self, url, as_of):
        """Return (headers, body, its moment) of a page's newest capture before a moment.

        Raises GatewayError without a capture, and for one that names no moment; LlmError where the archive is down.
        """
        found = self._find_capture(url, as_of)
        address = f"{ARCHIVE}/{found.timestamp:%Y%m%d%H%M%S}id_/{found.original}"
        try:
            status, kept, body = self.guest.get(address, heeds_robots=False)  # an interface for programs (RFC 7089)
        except GatewayError as error:
            if error.status in PASSING:
                raise LlmError("error", f"the archive did not answer: {error}") from None
            raise
        if status != 200:
            raise GatewayError("absent", f"{url}: the archive answered {status} for its capture")
        with suppress(TypeError, ValueError, OverflowError, IndexError):
            taken = pd.Timestamp(parsedate_to_datetime(kept.get("memento-datetime")))
            if taken.tzinfo is not None:
                return kept, body, taken
        raise GatewayError("undated", f"{url}: the page is undated, so it may be of later than as_of")

    def _find_capture(self, url, as_of):
        """Return the newest capture (`wayback.CdxRecord`) of an address before a moment."""
        from wayback.exceptions import BlockedByRobotsError, BlockedSiteError, WaybackException

        end = (as_of.tz_convert(UTC) - pd.Timedelta(seconds=1)).to_pydatetime()
        with self.lock:
            try:
                listed = self.archive.search(url, to_date=end, limit=-N_CAPTURES, filter_field="statuscode:200")
                rows = [one for one in islice(listed, 1000) if one.timestamp < as_of and one.statuscode == 200]
            except (BlockedByRobotsError, BlockedSiteError):
                rows = []
            except (WaybackException, requests.RequestException) as error:
                raise LlmError("error", f"the archive's index did not answer ({type(error).__name__})") from None
        if not rows:
            raise GatewayError("absent", f"{url}: the archive has no capture of it before {as_of}")
        return max(rows, key=lambda one: one.timestamp)


def ask_once(door, model, text, as_of, answer, bound=lambda door, request: 0.0):
    """Return the recording of a search or a page as of a moment, made by `answer` where there is none (`llm.recall`).

    Raises LlmError: over_budget as the door does; whatever else fails is a transient error.
    """
    messages, options = [{"role": "user", "content": text}], {"as_of": stamp_moment(as_of)}
    request = {"model": model, "messages": messages, "options": options, "sample": 0}
    try:
        return recall(door, request, monotonic() + LIMIT_S, answer, bound)
    except LlmError as error:
        if error.status == "over_budget":
            raise
        raise LlmError("error", f"{model}: {error.reason}") from None


def read_article(url, kept, body):
    """Return (title, main text, the first and last moment of its date) of a page; of those who name several the latest.

    Raises GatewayError where no text can be read.
    """
    text = decode_body(body, kind := kept.get("content-type", ""))
    title, dates = read_title(text, kind) or "", (None, None)
    if "html" in kind:
        import htmldate
        import trafilatura

        options = {"original_date": False, "extensive_search": False, "deferred_url_extractor": True}
        dates = read_date(htmldate.find_date(text, url=url, **options))
        text = getattr(trafilatura.bare_extraction(text, with_metadata=False), "text", "")
    if not text or not kind.startswith(("text/", "application/json", "application/xhtml")):
        raise GatewayError("absent", f"{url}: no text can be read on it ({kind or 'of no type'})")
    return title, text[:MAX_TEXT], dates


def read_times(text):
    """Return (first, last) moment, with zone, of each time at which a page says that it was published or modified.

    The two are one, but for midnight, by which some mean a day.

    >>> page = '<meta property="article:modified_time" content="2026-03-02T06:00:00Z">'
    >>> [str(first) for first, last in read_times(page + '{"datePublished": "2026-03-01"}')]
    ['2026-03-02 06:00:00+00:00']
    """
    said = [next(filter(None, found.groups())).strip() for found in SAID.finditer(text)]
    return [span for span in map(read_date, filter(TIMED.search, said)) if span[0] is not None]


def read_date(text):
    """Return (first, last) moment that a date may mean, (None, None) for what is none; a day is one of UTC+8.

    Midnight with a zone is that moment, or any of the day that begins then.

    >>> [str(moment) for moment in read_date("Mar 2, 2026")]
    ['2026-03-02 00:00:00+08:00', '2026-03-02 23:59:59+08:00']
    >>> str(read_date("2026-03-02T09:30:00Z")[1]), read_date("3 days ago")
    ('2026-03-02 09:30:00+00:00', (None, None))
    >>> [str(moment) for moment in read_date("2026-03-02T00:00:00Z")]
    ['2026-03-02 00:00:00+00:00', '2026-03-02 23:59:59+00:00']
    """
    if timed := TIMED.search(text or ""):
        with suppress(ValueError):
            moment = pd.Timestamp(text)
            is_day = MIDNIGHT.match(timed[1])
            return moment, moment + (DAY if is_day else pd.Timedelta(0))
    day = next((one for one in find_dates(text or "") if None not in one[:3]), None)
    first = day and pd.to_datetime(f"{day.year}-{day.month:02}-{day.day:02}", errors="coerce")
    if first is None or first is pd.NaT:
        return None, None
    first = first.tz_localize(ZONE)
    return first, first + DAY
