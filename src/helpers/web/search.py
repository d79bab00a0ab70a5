"""Search what was published before a moment: passages of all pages as of then, by TF-IDF (scikit-learn).

The index of a moment is made from pages fetched as of that moment, so nothing later is in it.
"""

import threading
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy.sparse import vstack

from helpers.web.markup import parse_json
from helpers.web.pages import GatewayError
from helpers.web.passages import read_page

AGEING = 0.1
"""A passage's similarity is divided by 1 + so much for each newer passage about the same subject, an article's for each
week since it was published."""
MAX_OPENED = 900
"""Characters shown of an opened page."""
N_KEPT, N_PAGES = 16, 4000
"""Moments whose indexes, and pages whose passages and words, are kept in memory."""
N_HASHES = 2**20
"""Words are known by a hash below this, so that a page's words are counted once, whatever else is published."""
LOCK = threading.Lock()


@dataclass(frozen=True)
class Hit:
    """A passage that a search found, and the page it stands on."""

    page_id: str
    url: str
    title: str
    published_at: str
    text: str


class SearchIndex:
    """Searches the pages at some addresses as of any moment; an index is made the first time a moment is asked for.

    `fetch(url, as_of)` returns a page. Searched are also the articles that front pages at the `feeds` list (`news`). A
    search finds a page once or, with `by_passage`, each passage of those at the addresses.
    """

    def __init__(self, fetch, addresses, feeds=(), *, by_passage=False):
        self.fetch, self.addresses, self.feeds, self.by_passage = fetch, addresses, tuple(feeds), by_passage
        self.parts, self.counts, self.articles, self.indexes = {}, {}, {}, {}
        self.building = threading.Lock()

    def search(self, query, as_of, n=3):
        """Return the (at most) `n` best hits that share a word with a query, of what was published before `as_of`."""
        hits, ages, weighed = self._index(as_of)
        similarity = weigh_passages(weighed, ages, query)
        chosen = {}
        for place in np.argsort(-similarity, kind="stable"):
            if similarity[place] <= 0 or len(chosen) == n:
                break
            is_apart = self.by_passage and not hits[place].url.startswith(self.feeds)
            chosen.setdefault(int(place) if is_apart else hits[place].page_id, hits[place])
        return list(chosen.values())

    def open(self, url, as_of, about=""):
        """Return the hit of a page as of a moment, its text the passages that fit `about` best, first."""
        page = self.fetch(url, as_of)
        title, passages = self._read(page)
        if about and passages:
            weighed = weigh_words(count_words([f"{title} {passage.text}" for passage in passages]))
            similarity = weigh_passages(weighed, [passage.age for passage in passages], about)
            passages = [passages[place] for place in np.argsort(-similarity, kind="stable")]
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page.page_id, page.url, title, page.published_at, text)

    def _read(self, page):
        """Return a page's (title, passages), read once a content."""
        found = self.parts.get(page.page_id)
        return found or keep(self.parts, page.page_id, read_page(page.text, page.content_type), N_PAGES)

    def _index(self, as_of):
        """Return (hits, ages, what `weigh_words` makes of them) of a moment; one is made at a time, others wait."""
        if (index := self.indexes.get(as_of)) is None:
            with self.building:
                if (index := self.indexes.get(as_of)) is None:
                    index = keep(self.indexes, as_of, self._build(as_of), N_KEPT)
        return index

    def _build(self, as_of):
        found = [self._look(address, as_of) for address in self.addresses]
        for feed in self.feeds:
            if front := self._look(feed, as_of):
                urls = parse_json(front[0].text)["articles"]
                found += [self._look_once(url, as_of) for url in urls if url.startswith(feed)]
        pages = [(page, title, passages) for page, title, passages in filter(None, found) if passages]
        hits, ages = [], []
        for page, title, passages in pages:
            n_weeks = 0  # an article ages; the newest rows of another page stand for its site
            if page.url.startswith(self.feeds):
                n_weeks = (pd.Timestamp(as_of) - pd.Timestamp(page.published_at)).days // 7
            hits += [Hit(page.page_id, page.url, title, page.published_at, passage.text) for passage in passages]
            ages += [passage.age + n_weeks for passage in passages]
        return hits, ages, weigh_words(vstack(self._count(pages))) if pages else None

    def _look(self, address, as_of):
        """Return (page, title, passages) at an address; None of a site that is down, or has published nothing yet."""
        try:
            page = self.fetch(address, as_of)
        except GatewayError:
            return None
        return page, *self._read(page)

    def _look_once(self, address, as_of):
        """Return what `_look` does of an article; one that was there at an earlier moment is not fetched again."""
        moment, found = self.articles.get(address, (None, None))
        if found is None or pd.Timestamp(as_of) < moment:
            if found := self._look(address, as_of):
                found = replace(found[0], text=""), *found[1:]
                keep(self.articles, address, (pd.Timestamp(as_of), found), N_PAGES)
        return found

    def _count(self, pages):
        """Return the counted words of some pages' passages, (page, title, passages) each; the new ones in one call."""
        known = {page.page_id: self.counts.get(page.page_id) for page, _, _ in pages}
        new = {page.page_id: (title, passages) for page, title, passages in pages if known[page.page_id] is None}
        texts = [f"{title} {title} {passage.text}" for title, passages in new.values() for passage in passages]
        counts, start = count_words(texts) if texts else None, 0
        for page_id, (_, passages) in new.items():
            known[page_id] = keep(self.counts, page_id, counts[start : start + len(passages)], N_PAGES)
            start += len(passages)
        return [known[page.page_id] for page, _, _ in pages]


def keep(memory, key, value, n_most):
    """Return a value put into a memory (a dict) of so many at most; a full one forgets the oldest."""
    with LOCK:
        memory[key] = value
        if len(memory) > n_most:
            memory.pop(next(iter(memory)))
    return value


@lru_cache(maxsize=1)
def make_counter():
    """Return what counts words by their hashes; numbers and codes are words."""
    from sklearn.feature_extraction.text import HashingVectorizer  # here: it takes half a second to import

    pattern = r"(?u)\w[\w.:-]*\w|\w"
    options = {"stop_words": "english", "token_pattern": pattern, "norm": None, "alternate_sign": False}
    return HashingVectorizer(n_features=N_HASHES, **options)


def count_words(texts):
    """Return how often each word (by its hash) stands in each text, as a sparse matrix."""
    return make_counter().transform(texts)


def weigh_words(counts):
    """Return (fitted transformer, matrix) of word counts: TF-IDF, a word by the logarithm of how often it stands."""
    from sklearn.feature_extraction.text import TfidfTransformer

    transformer = TfidfTransformer(sublinear_tf=True).fit(counts)
    return transformer, transformer.transform(counts)


def weigh_passages(weighed, ages, query):
    """Return how well each passage fits a query: TF-IDF cosine, less for passages that newer ones follow."""
    if weighed is None:
        return np.zeros(len(ages))
    transformer, matrix = weighed
    asked = transformer.transform(count_words([query])).toarray()[0]
    return matrix @ asked / (1 + AGEING * np.asarray(ages))
