"""Search what was published before a moment: passages of all pages as of then, by TF-IDF
(scikit-learn).

The index of a moment is made from pages fetched as of that moment, so nothing later is in it.
"""

import threading
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from daybefore.web.fetched_pages import GatewayError
from daybefore.web.parse_markup import parse_json
from daybefore.web.passages import read_page

AGEING = 0.1
"""A passage's similarity is divided by 1 + so much for each newer passage about the same subject,
an article's for each week since it was published."""
MAX_OPENED = 900
"""Characters shown of an opened page."""
N_KEPT, N_PAGES = 64, 4000
"""Moments whose indexes, and pages whose passages and words, are kept in memory."""
N_HASHES = 2**20
"""Words are known by a hash below this, so that a page's words are counted once, whatever else is
published."""
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
    """Searches the pages at some addresses as of any moment; an index is made the first time a
    moment is asked for.

    `fetch(url, as_of)` returns a page. Searched are also the articles that front pages at the
    `feeds` list (`news_articles`). A search finds a page once or, with `by_passage`, each passage of those
    at the addresses.
    """

    def __init__(self, fetch, addresses, feeds=(), *, by_passage=False):
        self.fetch, self.addresses, self.feeds, self.by_passage = (
            fetch,
            addresses,
            tuple(feeds),
            by_passage,
        )
        self.parts, self.articles, self.indexes = {}, {}, {}
        self.building = threading.Lock()

    def search(self, query, as_of, n=3):
        """Return the (at most) `n` best hits that share a word with a query, of what was published
        before `as_of`."""
        hits, ages, weighed = self._index(as_of)
        if not hits:
            return []
        similarity, chosen = weigh_passages(weighed, ages, query), {}
        for place in np.argsort(-similarity, kind="stable"):
            if similarity[place] <= 0 or len(chosen) == n:
                break
            is_apart = self.by_passage and not hits[place].url.startswith(self.feeds)
            chosen.setdefault(int(place) if is_apart else hits[place].page_id, hits[place])
        return list(chosen.values())

    def open(self, url, as_of, about=""):
        """Return the hit of a page as of a moment, its text the passages that fit `about` best,
        first."""
        page = self.fetch(url, as_of)
        title, passages, _ = self._read(page)
        if about and passages:
            weighed = weigh_words(count_words([f"{title} {passage.text}" for passage in passages]))
            similarity = weigh_passages(weighed, [passage.age for passage in passages], about)
            passages = [passages[place] for place in np.argsort(-similarity, kind="stable")]
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page.page_id, page.url, title, page.published_at, text)

    def _read(self, page):
        """Return a page's (title, passages, their counted words), read once a content."""
        if (found := self.parts.get(page.page_id)) is None:
            title, passages = read_page(page.text, page.content_type)
            texts = [f"{title} {title} {passage.text}" for passage in passages]
            counts = count_words(texts) if texts else None
            found = keep(self.parts, page.page_id, (title, passages, counts), N_PAGES)
        return found

    def _index(self, as_of):
        """Return (hits, ages, what `weigh_words` makes of them) of a moment; one is made at a time,
        others wait."""
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
        pages = [part for part in found if part and part[2]]
        hits, ages = [], []
        for page, title, passages, _ in pages:
            n_weeks = 0  # an article ages; the newest rows of another page stand for its site
            if page.url.startswith(self.feeds):
                n_weeks = (pd.Timestamp(as_of) - pd.Timestamp(page.published_at)).days // 7
            hits += [
                Hit(page.page_id, page.url, title, page.published_at, passage.text)
                for passage in passages
            ]
            ages += [passage.age + n_weeks for passage in passages]
        return hits, ages, weigh_words(vstack([counts for *_, counts in pages])) if pages else None

    def _look(self, address, as_of):
        """Return (page, title, passages, counts) at an address; None of a site that is down, or had
        no page by then."""
        try:
            page = self.fetch(address, as_of)
        except GatewayError:
            return None
        return page, *self._read(page)

    def _look_once(self, address, as_of):
        """Return what `_look` does of an article; one that was there at an earlier moment is not
        fetched again."""
        moment, found = self.articles.get(address, (None, None))
        if found is None or pd.Timestamp(as_of) < moment:
            if found := self._look(address, as_of):
                found = replace(found[0], text=""), *found[1:]
                keep(self.articles, address, (pd.Timestamp(as_of), found), N_PAGES)
        return found


def keep(memory, key, value, n_most):
    """Return a value put into a memory (a dict) of so many at most; a full one forgets the
    oldest."""
    with LOCK:
        memory[key] = value
        if len(memory) > n_most:
            memory.pop(next(iter(memory)))
    return value


def count_words(texts):
    """Return how often each word (by its hash) stands in each text, as a sparse matrix; numbers and
    codes are words."""
    from sklearn.feature_extraction.text import (
        HashingVectorizer,
    )  # here: it takes half a second to import

    options = {"stop_words": "english", "token_pattern": r"(?u)\w[\w.:-]*\w|\w"}
    return HashingVectorizer(
        n_features=N_HASHES, norm=None, alternate_sign=False, **options
    ).transform(texts)


def weigh_words(counts):
    """Return (words, weights, matrix) of word counts: the words (hashes, ascending), their weights,
    TF-IDF.

    A word counts by the logarithm of how often it stands. Words that stand nowhere have no column.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    words, places = np.unique(
        np.append(counts.indices, 0), return_inverse=True
    )  # a matrix must have a column
    matrix = csr_matrix((counts.data, places[:-1], counts.indptr), (counts.shape[0], len(words)))
    transformer = TfidfTransformer(sublinear_tf=True)
    matrix = transformer.fit_transform(matrix)
    return words, transformer.idf_, matrix


def weigh_passages(weighed, ages, query):
    """Return how well each passage fits a query: TF-IDF cosine, less for passages that newer ones
    follow."""
    from sklearn.preprocessing import normalize

    words, weights, matrix = weighed
    asked = count_words([query])
    places = np.searchsorted(words, asked.indices)
    is_known = words[np.minimum(places, len(words) - 1)] == asked.indices
    places = places[is_known]
    rarity = np.full(
        len(is_known), 1 + np.log(1 + matrix.shape[0])
    )  # the weight of a word that no passage holds
    rarity[is_known] = weights[places]
    asked.data = (1 + np.log(asked.data)) * rarity
    wanted = np.zeros(len(words))
    wanted[places] = normalize(asked).data[is_known]
    return matrix @ wanted / (1 + AGEING * np.asarray(ages))
