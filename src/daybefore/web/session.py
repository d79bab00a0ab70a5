"""One web as of a moment: fetch a page, search, open it, read a source; never anything later
(WorldReasoner 3.1).

What answers, in process, is an adapter: the replay's rows, series pages, a cache, planted pages.
The clock stands here, above all of them: a page must be dated, and be earlier than `as_of` to the
second. So does the bound on hosts.
"""

import hashlib
from typing import NamedTuple
from urllib.parse import urlsplit

import pandas as pd
import requests

from daybefore.web.extract_values import ExtractionError, extract_page, read_terms, select_series
from daybefore.web.fetched_pages import GatewayError, Page, decode_body, keep_page, read_title
from daybefore.web.search import SearchIndex, keep
from helpers.clock import stamp_moment
from helpers.files import hash_text
from helpers.tables import HELD

N_KEPT = 1000
"""Tables and series read from pages that a web keeps in memory (`keep`)."""


class Answer(NamedTuple):
    """What an adapter's `answer(url, clock)` returns, as of `clock` (epoch seconds): a status of
    HTTP; with 200 a page.

    `published` are epoch seconds; `is_held`: the page's text is not ours to store.
    """

    status: int
    content_type: str = ""
    body: str | bytes = ""
    published: int | None = None
    is_held: bool = False


def name_page(url, text, digest, is_held):
    """Return a page's id, by its address and content; one whose text is not ours to store begins
    with `tables.HELD`.

    An adapter may have a `name_page` of its own.
    """
    return (HELD if is_held else "p") + hash_text(f"{url} {digest}", 12)


class Web:
    """Pages as of a moment, each recorded in `pages` when it is fetched, and what sources say on
    theirs.

    `adapter` answers for all hosts that end in `hosts`; nothing else is reachable. Searched are the
    pages of `sources` and, at `feeds`, the articles that front pages list (`news_articles`). With
    `keeps_pages` pages are kept in files as well (`fetched_pages`). A source's page is fetched once
    for each moment, and parsed once a content.
    """

    def __init__(
        self,
        adapter,
        sources=None,
        feeds=(),
        *,
        by_passage=False,
        hosts=".replay",
        keeps_pages=False,
    ):
        self.adapter, self.sources, self.hosts = adapter, sources or {}, hosts
        self.pages, self.memory, self.keeps_pages = {}, {}, keeps_pages
        addresses = sorted(source.address for source in self.sources.values())
        self.index = SearchIndex(self.fetch, addresses, sorted(feeds), by_passage=by_passage)
        self.search, self.open = self.index.search, self.index.open  # as of a moment too

    def fetch(self, url, as_of):
        """Return the page at `url` as it stood just before `as_of` (a moment with offset).

        Raises GatewayError when the site is down, the page is undated, not earlier than `as_of`, or
        outside the world; ValueError when `as_of` has no offset.
        """
        moment = pd.Timestamp(as_of)
        if moment.tzinfo is None:
            raise ValueError(
                f"as_of {as_of!r} has no offset from UTC; write it like 2016-10-10T00:00:00+08:00"
            )
        try:
            parts = urlsplit(url)
            if parts.scheme != "http" or not (parts.hostname or "").endswith(self.hosts):
                raise GatewayError(
                    "outside", f"{url}: outside the replay world, whose hosts end in {self.hosts}"
                )
            address = requests.Request("GET", url).prepare().url  # as a browser writes it
        except ValueError:  # no address, such as one with half a bracket
            raise GatewayError("outside", f"{url}: no address") from None
        answer = self.adapter.answer(address, int((moment - pd.Timedelta(seconds=1)).timestamp()))
        if answer.status == 404:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        if answer.status != 200:
            raise GatewayError("down", f"{url}: the site answered {answer.status}")
        if answer.published is None:
            raise GatewayError(
                "undated", f"{url}: the page is undated, so it may be of later than as_of"
            )
        if answer.published >= moment.timestamp():
            raise GatewayError(
                "too_late", f"{url.partition('?')[0]}: published, but not earlier than {as_of}"
            )
        return self._record(url, moment, answer)

    def observe(self, source_id, as_of):
        """Return (observations, page_id) of a source as of a moment.

        Observations have columns occurred_at, entity, variable, value; a match to be played has no
        value. For a prediction market they are its event pages (`extract_values.extract_market`).
        Raises GatewayError or ExtractionError.
        """
        if source_id not in self.sources:
            raise ValueError(f"source {source_id!r} is not in the registry (data/sources)")

        def read():
            page = self.fetch(self.sources[source_id].address, as_of)
            return self.keep(page.page_id, lambda: self._parse(source_id, page.text)), page.page_id

        return self.keep((source_id, as_of), read)

    def select(self, source_id, as_of, variable, hour=None):
        """Return (series, page_id): one variable of a source as `extract_values.select_series`
        gives it."""
        observations, page_id = self.observe(source_id, as_of)
        return self.keep(
            (page_id, variable, hour), lambda: select_series(observations, variable, hour)
        ), page_id

    def keep(self, key, make):
        """Return what the memory of what was read holds for a key, made when absent; a full one
        forgets the oldest.

        A key names a page's content, or a moment, so that what is kept never is of another moment.
        """
        found = self.memory.get(key)
        return keep(self.memory, key, make(), N_KEPT) if found is None else found

    def _parse(self, source_id, text):
        """Return what a page says; a market's questions are about variables of the registry's
        sources."""
        source = self.sources[source_id]
        table = extract_page(source, text)
        for terms in map(read_terms, table["terms"] if source.form == "market" else ()):
            about, variable = (str(terms.get(name)) for name in ("about", "variable"))
            if about not in self.sources or variable not in self.sources[about].variables:
                raise ExtractionError(
                    f"{source_id}: a question is about {about[:40]!r}, which is no source"
                )
        return table

    def _record(self, url, moment, answer):
        """Return the page that was answered, and enter it in `pages`."""
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        digest, text = hashlib.sha256(body).hexdigest(), decode_body(body)
        page_id = getattr(self.adapter, "name_page", name_page)(url, text, digest, answer.is_held)
        retrieved_at, known = stamp_moment(moment), self.pages.get(page_id, {})
        row = {
            "page_id": page_id,
            "source_id": urlsplit(url).hostname.removesuffix(self.hosts).replace("-", "_"),
            "url": url,
            "published_at": stamp_moment(pd.Timestamp(answer.published, unit="s", tz="UTC")),
            "retrieved_at": min(
                retrieved_at, known.get("retrieved_at", retrieved_at)
            ),  # the first, whoever came first
            "origin": "news" if answer.is_held else "replay",
            "title": known.get("title") or read_title(text, answer.content_type),
            "content_type": f"{answer.content_type}; charset=utf-8",
            "content_sha256": digest,
        }
        self.pages[page_id] = row
        if self.keeps_pages:
            keep_page(row, text)
        return Page(page_id, url, row["published_at"], row["content_type"], text)
