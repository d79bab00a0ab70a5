"""The open web as of a moment: a provider's search, and any page, behind the same methods as every
other world.

For a moment that is past a provider gives addresses and nothing else: what an agent sees of a page
is its newest capture in the Internet Archive before that moment, and what says that it is of later
is left out. For a moment within `search_providers.CURRENT` of now it is what the provider shows,
and the page as it stands, where that is earlier by every reading of its date, or was read within
the run's tolerance (`date_live`).

Each search and each page is a request of the agent's client (`models.client`): recorded without
keys, so that nothing is asked twice, and counted in costs and ceiling. A search or an archive that
does not answer is a transient error.
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
from typing import NamedTuple
from urllib.parse import urlsplit

import pandas as pd
import requests

from daybefore.models.client import recall
from daybefore.models.failures import LlmError
from daybefore.web.fetched_pages import GatewayError, Page, decode_body, keep_page, read_title
from daybefore.web.guest import USER_AGENT, Guest, check_outside
from daybefore.web.search import MAX_OPENED, Hit, SearchIndex
from daybefore.web.search_providers import MAX_TEXT, is_current, price_search, search_provider, tell
from helpers.clock import ZONE, find_dates, stamp_moment
from helpers.files import hash_text, parse_json
from helpers.tables import HELD

LIMIT_S = 120.0
"""Seconds that a search, or a page with the wait for its host, may take."""

ARCHIVE, N_CAPTURES, ARCHIVE_S = "https://web.archive.org/web", 20, 30
TIMED = re.compile(r"[0-9]{4}-\d\d-\d\d[T ]\d\d:\d\d(:[\d.]+)?(Z|[+-]\d\d:?\d\d)?$")
"""A day with a time, to the minute or the second, and perhaps a zone."""
MIDNIGHT = re.compile(r"[T ]00:00(:0+(\.0+)?)?(Z|[+-]|$)")

DAY, MINUTE = (pd.Timedelta(one) - pd.Timedelta(seconds=1) for one in ("1D", "1min"))
"""From a day's, or a minute's, first second to its last."""

TOLERANCE_S = 60
"""Seconds after a moment in which a page as it stands may be read, where the agent's table says
nothing else."""

SAID = re.compile(
    r"""(?:published|modified|updated)(?:_?(?:time|at|on|date))?["']?\s*(?:content\s*=|:)\s*["']([^"'<>]{10,40})["']"""
    r"""|content\s*=\s*["']([^"'<>]{10,40})["']\s*(?:property|name|itemprop)\s*=\s*["'][^"'<>]{0,40}"""
    r"""(?:published|modified|updated)(?:_?(?:time|at|on|date))?["']"""
    r"""|<time\b[^<>]{0,200}?\bdatetime\s*=\s*["']([^"'<>]{10,40})["']"""
    r"""|\b(?:updated|modified)(?:\s+(?:on|at))?:?\s+([^"'<>]{10,40})""",
    re.IGNORECASE,
)
"""Where a page says when it was written: its head, linked data, in its text elements of time and
"updated on"."""

PASSING = ("busy", "down", "too_slow")
"""Failures of the archive (`fetched_pages.GatewayError`) that may be gone in a while."""


class Reading(NamedTuple):
    """What a date may mean: its first and last moment in any zone, and its last by the benchmark's
    clock."""

    first: pd.Timestamp
    last: pd.Timestamp
    end: pd.Timestamp


class Hits(list):
    """What a search found; `cost_usd`, None where no price is known, and `left_out`, how many
    results by reason."""

    def __init__(self, hits, cost_usd, left_out):
        super().__init__(hits)
        self.cost_usd, self.left_out = cost_usd, left_out


class OpenWeb:
    """A world, and beside it the open web as a provider of litellm searches it; `door` is the
    agent's client.

    `tolerance_s` are the seconds after a moment in which what stands on the web may be read as of
    it (`date_live`). `search`, `open` and `fetch` are those of `session.Web`; everything else is
    the world's own.
    """

    def __init__(self, provider, door, tolerance_s=TOLERANCE_S):
        self.provider, self.door, self.world = provider, door, None
        self.tolerance = pd.Timedelta(seconds=tolerance_s)
        self.index, self.lock, self.guest = (
            SearchIndex(self.fetch, []),
            Lock(),
            Guest(datetime.now(UTC)),
        )

    def __getattr__(self, name):
        return getattr(self.world, name)

    def join(self, world):
        """Return this web beside another world."""
        self.world = world
        return self

    def search(self, query, as_of, n=3):
        """Return the best hits of the world and of the provider, `n` of each at most (`Hits`).

        Raises LlmError where the provider or the archive does not answer, or the ceiling leaves no
        room.
        """
        ask, bound = partial(search_provider, self.provider), partial(price_search, self.provider)
        row = ask_once(self.door, f"{self.provider}/search", query, as_of, ask, bound)
        told, found, left_out = parse_json(row["content"]), [], Counter()
        for result in told["results"]:
            try:
                found.append(self._check(result, query, as_of, told.get("read_at")))
            except GatewayError as error:
                left_out[error.status] += 1
            if len(found) == n:
                break
        return Hits([*self.world.search(query, as_of, n), *found], row["cost_usd"], left_out)

    def open(self, url, as_of, about=""):
        """Return the hit of a page as of a moment, its text what fits `about` best; raises as
        `fetch` does."""
        return (
            self.world.open(url, as_of, about)
            if self._is_own(url)
            else self.index.open(url, as_of, about)
        )

    def fetch(self, url, as_of):
        """Return a page as of a moment: the world's, or one of the open web, as text with its title
        as first line.

        Raises GatewayError; LlmError where the archive is down.
        """
        if self._is_own(url):
            return self.world.fetch(url, as_of)
        told = parse_json(ask_once(self.door, "web/page", url, as_of, self._read)["content"])
        if "status" in told:
            raise GatewayError(told["status"], told["message"])
        return self._keep(url, told["published_at"], told["title"], told["text"])

    def _is_own(self, url):
        return (urlsplit(url).hostname or "").endswith(
            (".replay", ".test")
        )  # a planted page is of this machine alone

    def _check(self, result, query, as_of, read_at):
        """Return the hit of a provider's result, which was read now (`read_at`) or is to be of a
        past moment (None).

        Raises GatewayError for one that may not be seen as of the moment.
        """
        url, moment, dates = (
            result["url"],
            pd.Timestamp(as_of),
            list(filter(None, [read_date(result["date"])])),
        )
        if read_at is None:
            refuse_later(url, [date.end for date in dates], moment)
            return self.open(url, as_of, query)
        published_at = stamp_moment(
            date_live(url, dates, pd.Timestamp(read_at), moment, self.tolerance)
        )
        page = self._keep(url, published_at, result["title"], result["text"])
        return Hit(
            page.page_id, page.url, result["title"], page.published_at, result["text"][:MAX_OPENED]
        )

    def _keep(self, url, published_at, title, text):
        """Return a page of the open web, and keep it in a file where the world keeps its pages."""
        digest = hash_text(f"{title}\n{text}", 64)
        page = Page(
            HELD + hash_text(f"{url} {digest}", 12),
            url,
            published_at,
            "text/plain",
            f"{title}\n{text}",
        )
        if getattr(self.world, "keeps_pages", False):
            about = {
                "source_id": urlsplit(url).hostname,
                "origin": "live",
                "title": title,
                "content_sha256": digest,
            }
            row = {
                "page_id": page.page_id,
                "url": url,
                "published_at": published_at,
                "content_type": "text/plain",
            }
            keep_page(row | about, page.text)
        return page

    # --- pages -------------------------------------------------------------------------------------------------------

    @cached_property
    def archive(self):
        """Return the client of the Internet Archive's index, which keeps to its rate."""
        from wayback import WaybackClient, WaybackSession

        return WaybackClient(WaybackSession(retries=1, timeout=ARCHIVE_S, user_agent=USER_AGENT))

    def _read(self, door, request, limit, row):
        """Return the columns of a page's recording: what it says, or status and message of why it
        may not be had."""
        url, as_of = request["messages"][0]["content"], pd.Timestamp(request["options"]["as_of"])
        row["n_requests"] += 1
        try:
            check_outside(url)
            told = self._read_page(url, as_of, is_current(as_of))
        except GatewayError as error:
            told = {"status": error.status, "message": str(error)}
        return tell(told, 0.0)

    def _read_page(self, url, as_of, is_today):
        """Return {title, text, published_at} of a page as it stands, or of its newest capture
        before a moment.

        A capture is of its own moment, or of the date that the page names where that is earlier;
        neither may reach `as_of`. `date_live` says it of a page as it stands, which may not have
        been modified since by its server's word either. Raises GatewayError, and what the fetching
        does.
        """
        if is_today:
            status, kept, body = self.guest.get(url)
            taken = read_clock()
            if status != 200:
                raise GatewayError(
                    "absent" if status in (404, 410) else "down",
                    f"{url}: the site answered {status}",
                )
            if taken >= as_of:
                refuse_later(url, [read_header(kept, "last-modified")], as_of)
        else:
            kept, body, taken = self._fetch_capture(url, as_of)
        title, text, dates = read_article(url, kept, body)
        if is_today:
            moment = date_live(url, dates, taken, as_of, self.tolerance)
        else:
            ends = [date.end for date in dates]
            refuse_later(url, ends, as_of)
            moment = min(taken, max(ends, default=taken))
        return {"title": title, "text": text, "published_at": stamp_moment(moment)}

    def _fetch_capture(self, url, as_of):
        """Return (headers, body, its moment) of a page's newest capture before a moment.

        Raises GatewayError without a capture, and for one that names no moment; LlmError where the
        archive is down.
        """
        found = self._find_capture(url, as_of)
        address = f"{ARCHIVE}/{found.timestamp:%Y%m%d%H%M%S}id_/{found.original}"
        try:
            status, kept, body = self.guest.get(
                address, heeds_robots=False
            )  # an interface for programs (RFC 7089)
        except GatewayError as error:
            if error.status in PASSING:
                raise LlmError("error", f"the archive did not answer: {error}") from None
            raise
        if status != 200:
            raise GatewayError("absent", f"{url}: the archive answered {status} for its capture")
        taken = read_header(kept, "memento-datetime")
        if taken is None:
            raise GatewayError(
                "undated", f"{url}: the page is undated, so it may be of later than as_of"
            )
        refuse_later(url, [taken], as_of)
        return kept, body, taken

    def _find_capture(self, url, as_of):
        """Return the newest capture (`wayback.CdxRecord`) of an address before a moment."""
        from wayback.exceptions import BlockedByRobotsError, BlockedSiteError, WaybackException

        end = (as_of.tz_convert(UTC) - pd.Timedelta(seconds=1)).to_pydatetime()
        with self.lock:
            try:
                listed = self.archive.search(
                    url, to_date=end, limit=-N_CAPTURES, filter_field="statuscode:200"
                )
                rows = [
                    one
                    for one in islice(listed, 1000)
                    if one.timestamp < as_of and one.statuscode == 200
                ]
            except (BlockedByRobotsError, BlockedSiteError):
                rows = []
            except (WaybackException, requests.RequestException) as error:
                raise LlmError(
                    "error", f"the archive's index did not answer ({type(error).__name__})"
                ) from None
        if not rows:
            raise GatewayError("absent", f"{url}: the archive has no capture of it before {as_of}")
        return max(rows, key=lambda one: one.timestamp)


def ask_once(door, model, text, as_of, answer, bound=lambda door, request: 0.0):
    """Return the recording of a search or a page as of a moment, made by `answer` where there is
    none (`client.recall`).

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


def read_clock():
    """Return the moment that it is."""
    return pd.Timestamp.now(UTC)


def refuse_later(url, moments, as_of):
    """Raise GatewayError where one of some moments (or None) is not earlier than `as_of`."""
    if late := [moment for moment in moments if moment is not None and moment >= as_of]:
        raise GatewayError(
            "too_late", f"{url}: dated {max(late):%Y-%m-%d}, not earlier than {as_of}"
        )


def date_live(url, dates, read_at, as_of, tolerance):
    """Return the moment of a page as it stands: of its dates (a list of Reading) the last, or when
    it was read.

    The first where no reading of a date, in any zone, reaches `as_of`. Else, and without a date,
    the page may have changed until it was read: that must be earlier than `as_of`, or later by the
    tolerance at most. Raises GatewayError.
    """
    refuse_later(url, [date.first for date in dates], as_of)
    end = max((date.end for date in dates), default=read_at)
    if dates and max(date.last for date in dates) < as_of:
        return min(read_at, end)
    if read_at > as_of + tolerance:
        status, what = ("too_late", f"dated {end:%Y-%m-%d}") if dates else ("undated", "undated")
        raise GatewayError(status, f"{url}: {what}, so it may be of later than {as_of}")
    return read_at


def read_header(kept, name):
    """Return the moment that a header names, the last that it may mean; None without one."""
    with suppress(TypeError, ValueError, OverflowError, IndexError):
        return spread(pd.Timestamp(parsedate_to_datetime(kept.get(name))), pd.Timedelta(0)).last
    return None


def read_article(url, kept, body):
    """Return (title, main text, its dates as a list of Reading) of a page.

    Raises GatewayError where no text can be read.
    """
    text = decode_body(body, kind := kept.get("content-type", ""))
    title, said = read_title(text, kind) or "", list_said(text)
    if "html" in kind:
        import htmldate
        import trafilatura

        options = {
            "original_date": False,
            "extensive_search": False,
            "deferred_url_extractor": True,
        }
        day = htmldate.find_date(text, url=url, **options)
        if day and not any(
            day in one for one in said
        ):  # where the page names a time of that day, it counts
            said.append(day)
        text = getattr(trafilatura.bare_extraction(text, with_metadata=False), "text", "")
    if not text or not kind.startswith(("text/", "application/json", "application/xhtml")):
        raise GatewayError("absent", f"{url}: no text can be read on it ({kind or 'of no type'})")
    return title, text[:MAX_TEXT], list(filter(None, map(read_date, said)))


def list_said(text):
    """Return what a page says of when it was published or modified, as it is written.

    >>> page = '<meta property="article:modified_time" content="2026-03-02T06:00:00Z">'
    >>> list_said(page + '{"datePublished": "2026-03-01"}')
    ['2026-03-02T06:00:00Z', '2026-03-01']
    """
    return [next(filter(None, found.groups())).strip() for found in SAID.finditer(text)]


def read_date(text):
    """Return the Reading of a date, None for what is none.

    A day, and midnight, which may stand for one, lasts until its end; a time without seconds until
    its minute's. Without a zone all count, from UTC+14 to UTC-12.

    >>> [str(moment) for moment in read_date("Mar 2, 2026")]
    ['2026-03-02 00:00:00+14:00', '2026-03-02 23:59:59-12:00', '2026-03-02 23:59:59+08:00']
    >>> str(read_date("2026-03-02T09:30Z").last), read_date("3 days ago")
    ('2026-03-02 09:30:59+00:00', None)
    >>> str(read_date("2026-03-02 09:30:00").last), str(read_date("2026-03-02T00:00:00Z").last)
    ('2026-03-02 09:30:00-12:00', '2026-03-02 23:59:59+00:00')
    """
    with suppress(ValueError, OverflowError):
        if timed := TIMED.search(text or ""):
            length = pd.Timedelta(0) if timed[1] else MINUTE
            return spread(pd.Timestamp(timed[0]), DAY if MIDNIGHT.search(timed[0]) else length)
        for day in find_dates(text or ""):
            if None not in day[:3]:
                return spread(pd.Timestamp(day.year, day.month, day.day), DAY)
    return None


def spread(moment, length):
    """Return the Reading of a moment that lasts for so long; without a zone in all zones."""
    end = moment + length
    if moment.tzinfo is not None:
        return Reading(moment, end, end)
    return Reading(
        moment.tz_localize("Etc/GMT-14"), end.tz_localize("Etc/GMT+12"), end.tz_localize(ZONE)
    )
