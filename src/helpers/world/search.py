"""Search what was published before a moment: passages of all pages as of then, by TF-IDF (scikit-learn).

The index of a moment is made from pages fetched through the gateway as of that moment, so nothing later is in it.
"""

import threading
from dataclasses import dataclass

import numpy as np
from scipy.sparse import vstack

from helpers.world.gateway import GatewayError
from helpers.world.passages import read_page

AGEING = 0.1
"""A passage's similarity is divided by 1 + so much for each newer passage about the same subject."""
MAX_OPENED = 900
"""Characters shown of an opened page."""
N_KEPT = 16
"""Moments whose indexes are kept in memory."""
N_HASHES = 2**20
"""Words are known by a hash below this, so that a page's words are counted once, whatever else is published."""


@dataclass(frozen=True)
class Hit:
    """A passage that a search found, and the page it stands on."""

    page_id: str
    url: str
    title: str
    published_at: str
    text: str


class SearchIndex:
    """Searches the pages at some addresses as of any moment; an index is made the first time a moment is asked for."""

    def __init__(self, addresses, gateway):
        self.addresses, self.gateway = sorted(addresses), gateway
        self.read, self.counts, self.indexes, self.lock = {}, {}, {}, threading.Lock()

    def search(self, query, as_of, n=3):
        """Return the `n` best hits for a query among all that was published before `as_of`, the best first, one a page.

        Fewer, or none, when fewer pages share a word with it.
        """
        with self.lock:
            hits, ages, weighed = self._index(as_of)
        similarity = weigh_passages(weighed, ages, query)
        chosen = {}
        for place in np.argsort(-similarity, kind="stable"):
            if similarity[place] <= 0 or len(chosen) == n:
                break
            chosen.setdefault(hits[place].page_id, hits[place])
        return list(chosen.values())

    def open(self, url, as_of, about=""):
        """Return the hit of the page at an address as of a moment, its text the passages that fit `about` best, first.

        Raises GatewayError as `Gateway.fetch` does.
        """
        page = self.gateway.fetch(url, as_of)
        title, passages = self._read(page)
        if about and passages:
            weighed = weigh_words(count_words([f"{title} {passage.text}" for passage in passages]))
            similarity = weigh_passages(weighed, [passage.age for passage in passages], about)
            passages = [passages[place] for place in np.argsort(-similarity, kind="stable")]
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page.page_id, page.url, title, page.published_at, text)

    def _read(self, page):
        """Return a page's (title, passages), read once a content."""
        if page.page_id not in self.read:
            self.read[page.page_id] = read_page(page.text, page.content_type)
        return self.read[page.page_id]

    def _index(self, as_of):
        """Return (hits, ages, what `weigh_words` makes of them) of a moment."""
        if as_of not in self.indexes:
            while len(self.indexes) >= N_KEPT:
                self.indexes.pop(next(iter(self.indexes)))
            self.indexes[as_of] = self._build(as_of)
        return self.indexes[as_of]

    def _build(self, as_of):
        hits, ages, counts = [], [], []
        for address in self.addresses:
            try:
                page = self.gateway.fetch(address, as_of)
            except GatewayError:
                continue  # a site that is down, or has published nothing yet, is not found
            title, passages = self._read(page)
            if passages:
                hits += [Hit(page.page_id, page.url, title, page.published_at, passage.text) for passage in passages]
                ages += [passage.age for passage in passages]
                counts.append(self._count(page.page_id, [f"{title} {title} {passage.text}" for passage in passages]))
        return hits, ages, weigh_words(vstack(counts)) if counts else None

    def _count(self, page_id, texts):
        """Return the word counts of a page's passages, counted once a content."""
        if page_id not in self.counts:
            self.counts[page_id] = count_words(texts)
        return self.counts[page_id]


def count_words(texts):
    """Return how often each word (by its hash) stands in each text, as a sparse matrix; numbers and codes are words."""
    from sklearn.feature_extraction.text import HashingVectorizer  # here: it takes half a second to import

    pattern = r"(?u)\w[\w.:-]*\w|\w"
    options = {"stop_words": "english", "token_pattern": pattern, "norm": None, "alternate_sign": False}
    return HashingVectorizer(n_features=N_HASHES, **options).transform(texts)


def weigh_words(counts):
    """Return (weights, matrix): TF-IDF of word counts, a word counting by the logarithm of how often it stands."""
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer(sublinear_tf=True)
    return weights, weights.fit_transform(counts)


def weigh_passages(weighed, ages, query):
    """Return how well each passage fits a query: TF-IDF cosine, less for passages that newer ones follow."""
    if weighed is None:
        return np.zeros(len(ages))
    weights, matrix = weighed
    similarity = (matrix @ weights.transform(count_words([query])).T).toarray().ravel()
    return similarity / (1 + AGEING * np.asarray(ages))
