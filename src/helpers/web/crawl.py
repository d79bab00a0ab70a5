"""Crawl sources as of a moment, each page fetched and read once, in a world that a program serves (FutureX 3.2.4).

Every crawl goes through the gateway as of a moment, so what is read is what a visitor could have read then.
"""

import contextlib
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from helpers.servers import start_server
from helpers.web.extract import ExtractionError, extract_page, read_terms, select_series
from helpers.web.gateway import Gateway
from helpers.web.news import read_feeds
from helpers.web.search import SearchIndex
from helpers.web.sources import load_sources


class Crawler:
    """Reads sources as of a moment; a page is fetched once per address and moment, and parsed once per content.

    >>> Crawler({}, None).observe("nowhere", "2016-10-10T00:00:00+08:00")
    Traceback (most recent call last):
        ...
    ValueError: source 'nowhere' is not in the registry (data/sources)
    """

    def __init__(self, sources, gateway, n_kept=500, feeds=()):
        self.sources, self.gateway, self.n_kept = sources, gateway, n_kept
        self.seen, self.parsed = {}, {}
        self.index = SearchIndex([source.address for source in sources.values()], gateway, feeds)

    def search(self, query, as_of, n):
        """Return the best hits for a query among all pages as of a moment (`SearchIndex.search`)."""
        return self.index.search(query, as_of, n)

    def expect(self, moments):
        """Say which moments will be searched, in order (`SearchIndex.expect`)."""
        self.index.expect(moments)

    def prepare(self, as_of):
        """Wait until a moment can be searched, where agents search (`SearchIndex.prepare`)."""
        self.index.prepare(as_of)

    def open(self, url, as_of, about=""):
        """Return the hit of any page as of a moment (`SearchIndex.open`)."""
        return self.index.open(url, as_of, about)

    def observe(self, source_id, as_of):
        """Return (observations, page_id) of a source as of a moment.

        Observations have columns occurred_at, entity, variable, value; a match to be played has no value. For a
        prediction market they are its event pages (`extract_market`). Raises GatewayError or ExtractionError.
        """
        if source_id not in self.sources:
            raise ValueError(f"source {source_id!r} is not in the registry (data/sources)")
        source, key = self.sources[source_id], (source_id, as_of)
        if key not in self.seen:
            page = self.gateway.fetch(source.address, as_of)
            table = self.keep(page.page_id, lambda: self.read(source, page.text))
            self.keep(key, lambda: (table, page.page_id), self.seen)
        return self.seen[key]

    def read(self, source, text):
        """Return what a page says (`extract_page`); a market's questions are about variables of the registry's sources.

        Raises ExtractionError.
        """
        table = extract_page(source, text)
        for terms in map(read_terms, table["terms"] if source.form == "market" else ()):
            if terms["about"] not in self.sources or terms["variable"] not in self.sources[terms["about"]].variables:
                raise ExtractionError(f"{source.id}: a question is about {terms['about'][:40]!r}, which is no source")
        return table

    def select(self, source_id, as_of, variable, hour=None):
        """Return (series, page_id): one variable as `select_series` gives it, pivoted once per content."""
        observations, page_id = self.observe(source_id, as_of)
        key = (page_id, variable, hour)
        return self.keep(key, lambda: select_series(observations, variable, hour)), page_id

    def keep(self, key, make, memory=None):
        """Return what a memory (that of parsed pages) holds for a key, made when absent; a full one forgets the oldest.

        A key names a page's content, so that what is kept never is of another moment.
        """
        memory = self.parsed if memory is None else memory
        if key not in memory:
            while len(memory) >= self.n_kept:
                memory.pop(next(iter(memory)))
            memory[key] = make()
        return memory[key]


@contextlib.contextmanager
def open_world(*, local=False, misbehaviour=None, keeps_pages=False, articles=()):
    """Start the replay web in a process of its own; yields a picklable function that returns a new Crawler over it.

    `articles` are paths of dated articles that it publishes too (`news.read_feed`). With `keeps_pages` whatever is
    fetched is kept in files as well (`helpers.web.kept`). Raises ValueError, before anything is started, naming
    file, line and field of what is wrong in the registry or an article.
    """
    articles = [str(Path(path).resolve()) for path in articles]
    feeds = list(read_feeds(articles, {source.address for source in load_sources(local=local).values()}))
    faults = json.dumps(asdict(misbehaviour) if misbehaviour else {})
    named = [f"--articles={path}" for path in articles]
    with start_server("helpers.web.archive", "--misbehaviour", faults, *["--local"] * local, *named) as proxy:
        yield partial(connect_world, proxy, local=local, keeps_pages=keeps_pages, feeds=feeds)


def connect_world(proxy, *, local=False, keeps_pages=False, feeds=()):
    """Return a Crawler over the replay web that listens at `proxy`, and searches the `feeds` at some addresses."""
    return Crawler(load_sources(local=local), Gateway(proxy, keeps_pages=keeps_pages), feeds=feeds)
