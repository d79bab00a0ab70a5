"""Dated articles as of a moment, without a server: what a folder's feed shows beside window L's series (`shelf`).

An article is public, listed and searched by the rules of the replay web (`web.news`): strictly earlier than the
moment to the second, of the last 500 days, the newest 1,000. Its page and its id are those that the gateway would give.
"""

import hashlib
import json
from contextlib import suppress
from datetime import UTC

import numpy as np
import pandas as pd

from helpers.calendar import stamp_moment
from helpers.store import hash_text
from helpers.tables import HELD
from helpers.web.news import list_pages, read_feeds
from helpers.web.pages import GatewayError, Page
from helpers.web.passages import read_page
from helpers.web.replay import SHOWN_DAYS
from helpers.web.search import MAX_OPENED, Hit, count_words, weigh_passages, weigh_words


class Press:
    """The articles at some paths (`news.read_feed`), none of whose sites may stand at an address that is `taken`."""

    def __init__(self, paths, taken=()):
        feeds = read_feeds(paths, taken)
        self.feeds, self.read = list(feeds), {}
        self.pages = {url: page for feed in feeds.values() for url, page in list_pages(feed, SHOWN_DAYS).items()}

    def fetch(self, url, as_of):
        """Return the page (`gateway.Page`) at an address as it stood just before a moment; raises GatewayError."""
        clock = int((pd.Timestamp(as_of).tz_convert(UTC) - pd.Timedelta(seconds=1)).timestamp())
        shown = self.pages[url].render(clock) if url in self.pages else None
        if shown is None:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        content_type, text, published = shown
        page_id = HELD + hash_text(f"{url} {hashlib.sha256(text.encode()).hexdigest()}", 12)
        published_at = stamp_moment(pd.Timestamp(published, unit="s", tz=UTC))
        return Page(page_id, url, published_at, f"{content_type}; charset=utf-8", text)

    def open(self, url, as_of, about=""):
        """Return the hit of a page as of a moment, as `search.SearchIndex.open` does."""
        page = self.fetch(url, as_of)
        title, passages = read_page(page.text, page.content_type)
        if about and passages:
            weighed = weigh_words(count_words([f"{title} {passage.text}" for passage in passages]))
            fit = weigh_passages(weighed, [passage.age for passage in passages], about)
            passages = [passages[place] for place in np.argsort(-fit, kind="stable")]
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page.page_id, url, title, page.published_at, text)

    def list_hits(self, as_of):
        """Return (hits, ages) of the passages of all articles that are listed as of a moment.

        An article ages by a week for each that has passed since it was published.
        """
        hits, ages = [], []
        for address in self._list_articles(as_of):
            found, published, own = self._read(address, as_of)
            n_weeks = (pd.Timestamp(as_of) - published).days // 7
            hits += found
            ages += [age + n_weeks for age in own]
        return hits, ages

    def _list_articles(self, as_of):
        for feed in self.feeds:
            with suppress(GatewayError):  # of a feed that has published nothing yet
                yield from json.loads(self.fetch(feed, as_of).text)["articles"]

    def _read(self, address, as_of):
        """Return (hits, moment of publication, ages) of an article, which stays as it was published: read once."""
        if address not in self.read:
            page = self.fetch(address, as_of)
            title, passages = read_page(page.text, page.content_type)
            hits = [Hit(page.page_id, address, title, page.published_at, passage.text) for passage in passages]
            self.read[address] = hits, pd.Timestamp(page.published_at), [passage.age for passage in passages]
        return self.read[address]
