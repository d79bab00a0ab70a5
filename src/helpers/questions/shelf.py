"""The series of window L as a world to search: one page a source, as it stood at a moment, nothing later than it.

A page shows the last values of each series that were public strictly before the moment (`horizons.cut_series`), a
passage a series. Search ranks passages as that of the replay web does, whose server and gateway it does without: an
index of a moment takes milliseconds.
"""

from functools import lru_cache

import numpy as np

from helpers.calendar import stamp_moment
from helpers.questions.horizons import cut_series, list_own, read_series
from helpers.store import hash_text
from helpers.world.gateway import GatewayError
from helpers.world.render import format_period
from helpers.world.search import MAX_OPENED, Hit, count_words, weigh_passages, weigh_words

N_SHOWN = 8
"""Values of a series that a page shows, the latest."""


class Shelf:
    """A world of window L's sources, for agents that search (`search`) and open pages (`open`) as of a moment."""

    def search(self, query, as_of, n=3):
        """Return the `n` best passages for a query among all that were public before `as_of`, the best first."""
        hits, weighed = index_pages(as_of)
        similarity = weigh_passages(weighed, np.zeros(len(hits)), query)
        order = np.argsort(-similarity, kind="stable")[:n]
        return [hits[place] for place in order if similarity[place] > 0]

    def open(self, url, as_of, about=""):
        """Return the page at an address as of a moment, the passages that fit `about` best first.

        Raises GatewayError for an address where nothing is.
        """
        hits = [hit for hit in index_pages(as_of)[0] if hit.url == url]
        if not hits:
            raise GatewayError("absent", f"{url}: no source has this address")
        if about:
            fit = weigh_passages(weigh_words(count_words([hit.text for hit in hits])), np.zeros(len(hits)), about)
            hits = [hits[place] for place in np.argsort(-fit, kind="stable")]
        text = "\n".join(hit.text for hit in hits)[:MAX_OPENED]
        return Hit(hits[0].page_id, url, hits[0].title, hits[0].published_at, text)


@lru_cache(maxsize=64)
def index_pages(as_of):
    """Return (hits, what `weigh_words` makes of them) of all passages as of a moment."""
    hits = [hit for source in list_own().values() for hit in write_page(source, as_of)]
    return hits, weigh_words(count_words([f"{hit.title} {hit.title} {hit.text}" for hit in hits]))


def write_page(source, as_of):
    """Return a source's passages as of a moment, a hit a series that has values by then.

    >>> page = write_page(list_own()["flux_weeks"], "2024-01-10T00:00:00+08:00")
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
