"""The replay web: each source's pages as they stood at a given moment, made of its rows in process.

A row is never shown before it was published. Sites can misbehave by a seed (`Misbehaviour`).
"""

import bisect
import contextlib
import random
import sys
import threading
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd

from daybefore.web.news_articles import read_feeds
from daybefore.web.render_pages import RENDERERS
from daybefore.web.search import keep
from daybefore.web.session import Answer, Web
from daybefore.web.source_registry import load_live, load_sources, read_rows
from helpers.clock import ZONE

SHOWN_DAYS = 500
"""A page shows nothing published longer ago: seasons years apart never stand on one page."""
N_RENDERED = 32
"""Pages of a site that are kept in memory, the newest made."""


@dataclass(frozen=True)
class Misbehaviour:
    """Seeded faults of sites: the share of a source's days (or crawl hours) on which each occurs.

    outage: HTTP 503 in a crawl hour; late: a day's rows appear 26 hours late; layout: from a day
    on, for the rest of its week, the page's markup and wording differ; charset: the page is sent in
    cp1252 and labelled utf-8.
    """

    seed: int = 0
    outage: float = 0.0
    late: float = 0.0
    layout: float = 0.0
    charset: float = 0.0

    def strikes(self, kind, source_id, period):
        """Tell whether a fault of this kind hits a source in a period; the same always for the same
        seed."""
        share = getattr(self, kind)
        return (
            share > 0 and random.Random(f"{self.seed}|{kind}|{source_id}|{period}").random() < share
        )


class Site:
    """One source's rows in order of publication, and its page at any moment."""

    def __init__(self, source, misbehaviour):
        self.source, rows = source, read_rows(source)
        moments = rows.pop("published_at")
        if misbehaviour.late:
            days = moments.dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d")
            is_late = days.map(lambda day: misbehaviour.strikes("late", source.id, day)).astype(
                bool
            )
            moments = moments.where(~is_late, moments + pd.Timedelta(hours=26)).sort_values(
                kind="stable"
            )
            rows = rows.loc[moments.index]
        self.published = [int(moment.timestamp()) for moment in moments]
        self.rows, self.pages = rows.to_dict("records"), {}

    def render(self, clock):
        """Return (content type, text, newest publication as epoch seconds) as of `clock`; None
        before the first."""
        n_visible = bisect.bisect_right(self.published, clock)
        first = bisect.bisect_left(self.published, clock - SHOWN_DAYS * 86400)
        if n_visible <= first:
            return None
        horizon = clock + self.source.page.get("fixtures_days", 0) * 86400
        fixtures = self.rows[
            n_visible : bisect.bisect_right(self.published, horizon)
        ]  # their date and name are shown
        key = (n_visible, len(fixtures))
        if (page := self.pages.get(key)) is None:
            rows = sorted(self.rows[first:n_visible], key=itemgetter("occurred_at", "entity"))
            shown = sorted({row["occurred_at"] for row in rows})[-self.source.history :]
            rows = [row for row in rows if row["occurred_at"] >= shown[0]]
            page = RENDERERS[self.source.form](self.source, rows, fixtures)
            keep(self.pages, key, page, N_RENDERED)
        return *page, self.published[n_visible - 1]


class Replay:
    """Answers for the sources' addresses and, at `articles` (paths, `news_articles.read_feed`), for
    those of feeds.

    A site's rows are read when it is first visited.
    """

    def __init__(self, sources, misbehaviour=Misbehaviour(), articles=()):
        self.misbehaviour, self.lock, self.sites = misbehaviour, threading.Lock(), {}
        self.sources = {source.address: source for source in sources.values()}
        self.feeds = read_feeds(articles, self.sources)
        self.articles = {
            feed.address + one.path: one for feed in self.feeds.values() for one in feed.articles
        }

    def answer(self, url, clock):
        """Return the `Answer` of an address at `clock`, with whatever misbehaviour strikes it
        then."""
        address = url.partition("?")[0].partition("#")[0]
        if feed := self.feeds.get(address):
            page = feed.show_front(clock, SHOWN_DAYS)
            return Answer(200, *page, is_held=True) if page else Answer(404)
        if article := self.articles.get(address):
            return (
                Answer(200, *article.show(), is_held=True)
                if article.published <= clock
                else Answer(404)
            )
        if address not in self.sources:
            return Answer(404)
        try:
            return self._show(address, clock)
        except (ValueError, KeyError, TypeError, OSError) as error:
            said = " ".join(str(error).split())[:200]
            print(
                f"{address}: its rows cannot be shown ({said}); python -m try_source NAME says where (docs/sources.md)",
                file=sys.stderr,
            )
            return Answer(500)

    def _show(self, address, clock):
        with self.lock:
            if address not in self.sites:
                self.sites[address] = Site(self.sources[address], self.misbehaviour)
        site, local = self.sites[address], datetime.fromtimestamp(clock, ZoneInfo(ZONE))
        strikes = partial(self.misbehaviour.strikes, source_id=site.source.id)
        if strikes("outage", period=f"{local:%Y-%m-%dT%H}"):
            return Answer(503)
        week = f"{local.isocalendar().year}-W{local.isocalendar().week}"
        page = site.render(clock)
        if page is None:
            return Answer(404)
        content_type, text, newest = page
        if strikes("layout", period=week):
            text = text.swapcase()  # no rule reads it, nor a sentence's words
        if strikes("charset", period=f"{local:%Y-%m-%d}"):
            text = text.encode("cp1252", errors="replace")
        return Answer(200, content_type, text, newest)


@contextlib.contextmanager
def open_world(*, day=None, misbehaviour=Misbehaviour(), keeps_pages=False, articles=()):
    """Open the replay web; yields a function that returns a new `session.Web` over it.

    With `day`, the window of a day's own question set, it is of the live sources, by what was known
    then. `articles` are paths of dated articles that it publishes too (`news_articles.read_feed`).
    Raises ValueError naming file, line and field of what is wrong in the registry or an article.
    """
    sources = load_live(day) if day else load_sources()
    replay = Replay(sources, misbehaviour, [str(Path(path).resolve()) for path in articles])
    yield partial(Web, replay, sources, replay.feeds, keeps_pages=keeps_pages)
