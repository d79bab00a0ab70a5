"""The series of window L as a world to look at: one page a source, as it stood at a moment, nothing later than it.

A page shows the last values of each series that were public strictly before the moment (`horizons.cut_series`), a
passage a series. Search ranks passages as that of the replay web does, whose server and gateway it does without: an
index of a moment takes milliseconds. A reader's own articles may stand beside the series (`press`).
"""

import threading
from functools import lru_cache

import numpy as np
import pandas as pd

from helpers.calendar import stamp_moment
from helpers.events.horizons import cut_series, load_series, read_series
from helpers.events.press import Press
from helpers.events.targets import measure_entities
from helpers.store import hash_text
from helpers.tables import HELD
from helpers.web.extract import COLUMNS
from helpers.web.pages import GatewayError, Page
from helpers.web.render import format_period
from helpers.web.search import MAX_OPENED, Hit, count_words, weigh_passages, weigh_words

N_SHOWN = 8
"""Values of a series that a page shows, the latest."""

N_KEPT = 16
"""Moments whose indexes with articles are kept in memory."""


class Shelf:
    """A world of window L's sources as of a moment, and of a `press` beside them.

    Agents search it (`search`) and open pages (`open`); a function of the reader's own also fetches them whole
    (`fetch`), and reads series (`observe`, `recall`).
    """

    def __init__(self, press=None):
        self.press, self.indexes, self.lock = press, {}, threading.Lock()

    def search(self, query, as_of, n=3):
        """Return the `n` best passages for a query among all that were public before `as_of`, the best first.

        A source may have several among them, an article one.
        """
        hits, ages, weighed = self._index(as_of)
        similarity = weigh_passages(weighed, ages, query)
        chosen = {}
        for place in np.argsort(-similarity, kind="stable"):
            if similarity[place] <= 0 or len(chosen) == n:
                break
            hit = hits[place]
            chosen.setdefault(hit.page_id if hit.page_id.startswith(HELD) else int(place), hit)
        return list(chosen.values())

    def open(self, url, as_of, about=""):
        """Return the page at an address as of a moment, the passages that fit `about` best first.

        Raises GatewayError for an address where nothing is.
        """
        if self.press and url in self.press.pages:
            return self.press.open(url, as_of, about)
        hits = find_page(url, as_of)
        if about:
            fit = weigh_passages(weigh_words(count_words([hit.text for hit in hits])), np.zeros(len(hits)), about)
            hits = [hits[place] for place in np.argsort(-fit, kind="stable")]
        text = "\n".join(hit.text for hit in hits)[:MAX_OPENED]
        return Hit(hits[0].page_id, url, hits[0].title, hits[0].published_at, text)

    def fetch(self, url, as_of):
        """Return the whole page (`gateway.Page`) at an address as of a moment; raises GatewayError as `open` does."""
        if self.press and url in self.press.pages:
            return self.press.fetch(url, as_of)
        hits = find_page(url, as_of)
        text = "\n".join([hits[0].title, *(hit.text for hit in hits)])
        return Page(hits[0].page_id, url, hits[0].published_at, "text/plain", text)

    def observe(self, source_id, as_of):
        """Return (observations, page_id) of a source as of a moment: all its values that were public before, long.

        Columns occurred_at, entity, variable, value, as `crawl.Crawler.observe` has them. Raises ValueError for a
        source that window L does not have, GatewayError where nothing was public by then.
        """
        source = find_source(source_id)
        [hit, *_] = find_page(source.address, as_of)
        parts = [
            cut_series(source_id, name, as_of).stack().rename("value").reset_index().assign(variable=name)
            for name in source.variables
        ]
        table = pd.concat(parts, ignore_index=True)[COLUMNS]
        return table.sort_values(["variable", "occurred_at", "entity"], ignore_index=True), hit.page_id

    def recall(self, source_id, as_of, variables):
        """Return (past of what an event asks about, page_id): dates x entities, in the measure of its `variables`.

        A gain is that over the question's own reference, which lies months before its end.

        >>> variables = {"variable": "f107", "entity": "Sun"}
        >>> Shelf().recall("flux_weeks", "2024-01-10T00:00:00+08:00", variables)[0].iloc[-1].to_dict()
        {'Sun': 146.1}
        """
        [hit, *_] = find_page(find_source(source_id).address, as_of)
        series = cut_series(source_id, variables["variable"], as_of)
        names = [variables["entity"]] if "entity" in variables else [*variables["reference"]]
        history = pd.DataFrame(measure_entities(variables, {name: series[name] for name in names}))
        return history.dropna(how="all"), hit.page_id

    def _index(self, as_of):
        """Return (hits, ages, what `weigh_words` makes of them) of all passages as of a moment."""
        hits, weighed = index_pages(as_of)
        if not self.press:
            return hits, np.zeros(len(hits)), weighed
        with self.lock:
            if as_of not in self.indexes:
                while len(self.indexes) >= N_KEPT:
                    self.indexes.pop(next(iter(self.indexes)))
                more, ages = self.press.list_hits(as_of)
                whole = [*hits, *more]
                self.indexes[as_of] = whole, np.array([0] * len(hits) + ages, dtype=float), weigh_hits(whole)
            return self.indexes[as_of]


def open_shelf(articles):
    """Return a Shelf with the articles at some paths beside it. Raises what `news.read_feeds` does."""
    return Shelf(Press(articles, {source.address for source in load_series().values()}))


def find_source(source_id):
    """Return a source of window L by its id. Raises ValueError where there is none."""
    if source_id not in load_series():
        raise ValueError(f"{source_id!r} is no source of window L (data/horizons.toml)")
    return load_series()[source_id]


def find_page(url, as_of):
    """Return the hits of the page at an address as of a moment; raises GatewayError where nothing is."""
    hits = [hit for hit in index_pages(as_of)[0] if hit.url == url]
    if not hits:
        raise GatewayError("absent", f"{url}: no source has this address")
    return hits


@lru_cache(maxsize=64)
def index_pages(as_of):
    """Return (hits, what `weigh_words` makes of them) of all passages as of a moment."""
    hits = [hit for source in load_series().values() for hit in write_page(source, as_of)]
    return hits, weigh_hits(hits)


def weigh_hits(hits):
    """Return what `weigh_words` makes of passages, each with its page's title, which counts twice."""
    return weigh_words(count_words([f"{hit.title} {hit.title} {hit.text}" for hit in hits]))


def write_page(source, as_of):
    """Return a source's passages as of a moment, a hit a series that has values by then.

    >>> page = write_page(load_series()["flux_weeks"], "2024-01-10T00:00:00+08:00")
    >>> page[0].text[:67], page[0].published_at
    ('Sun: F10.7 (solar flux units): 7 January 2024 146.1; 31 December 20', '2024-01-08T11:00:00+08:00')
    """
    found, newest = [], None
    for name, variable in source.variables.items():
        series = cut_series(source.id, name, as_of)
        if len(series):
            moment = read_series(source.id, name)[1][len(series) - 1]
            newest = moment if newest is None else max(newest, moment)
            label = f"{variable['label']} ({variable['unit']})" if variable["unit"] else variable["label"]
            found += [
                f"{entity}: {label}: {list_values(series[entity].dropna(), variable['decimals'])}" for entity in series
            ]
    page_id = f"l{hash_text(chr(10).join(found), 15)}"
    return [Hit(page_id, source.address, source.name, stamp_moment(newest), text) for text in found]


def list_values(values, decimals):
    """Return a series' last values as text, the newest first."""
    last = values.iloc[-N_SHOWN:][::-1]
    return "; ".join(f"{format_period(date)} {value:,.{decimals}f}" for date, value in last.items())
