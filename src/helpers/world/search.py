"""Search what was published before a moment: passages of all pages as of then, by TF-IDF (scikit-learn).

The index of a moment is made from pages fetched through the gateway as of that moment, so nothing later is in it.
"""

import threading
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from helpers.world.gateway import GatewayError
from helpers.world.passages import read_page

AGEING = 0.1
"""A passage's similarity is divided by 1 + so much for each newer passage about the same subject."""
MAX_OPENED = 900
"""Characters shown of an opened page."""
N_KEPT = 40
"""Moments whose indexes are kept in memory."""


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
        self.read, self.indexes, self.lock = {}, {}, threading.Lock()

    def search(self, query, as_of, n=3):
        """Return the `n` best hits for a query among all that was published before `as_of`, the best first, one a page.

        Fewer, or none, when fewer pages share a word with it.
        """
        with self.lock:
            hits, ages, fitted = self._index(as_of)
        similarity = weigh_passages(fitted, ages, query)
        chosen = {}
        for place in np.argsort(-similarity, kind="stable"):
            if similarity[place] <= 0 or len(chosen) == n:
                break
            chosen.setdefault(hits[place].page_id, hits[place])
        return list(chosen.values())

    def open(self, url, as_of, about=""):
        """Return (hit, text) of the page at an address as of a moment: its passages that fit `about` best, first.

        Raises GatewayError as `Gateway.fetch` does.
        """
        page = self.gateway.fetch(url, as_of)
        title, passages = self._read(page)
        if about and passages:
            fitted = fit_passages([f"{title} {passage.text}" for passage in passages])
            similarity = weigh_passages(fitted, [passage.age for passage in passages], about)
            passages = [passages[place] for place in np.argsort(-similarity, kind="stable")]
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page.page_id, page.url, title, page.published_at, text), text

    def _read(self, page):
        """Return a page's (title, passages), read once a content."""
        if page.page_id not in self.read:
            self.read[page.page_id] = read_page(page.text, page.content_type)
        return self.read[page.page_id]

    def _index(self, as_of):
        """Return (hits, ages, what `fit_passages` makes of them) of a moment."""
        if as_of not in self.indexes:
            while len(self.indexes) >= N_KEPT:
                self.indexes.pop(next(iter(self.indexes)))
            self.indexes[as_of] = self._build(as_of)
        return self.indexes[as_of]

    def _build(self, as_of):
        hits, ages = [], []
        for address in self.addresses:
            try:
                page = self.gateway.fetch(address, as_of)
            except GatewayError:
                continue  # a site that is down, or has published nothing yet, is not found
            title, passages = self._read(page)
            hits += [Hit(page.page_id, page.url, title, page.published_at, passage.text) for passage in passages]
            ages += [passage.age for passage in passages]
        return hits, ages, fit_passages([f"{hit.title} {hit.title} {hit.text}" for hit in hits])


def fit_passages(texts):
    """Return (vectorizer, matrix) of texts, None when no word of theirs counts (none at all, or stop words only)."""
    vectorizer = make_vectorizer()
    try:
        return vectorizer, vectorizer.fit_transform(texts)
    except ValueError:  # scikit-learn's word for an empty vocabulary
        return None


def weigh_passages(fitted, ages, query):
    """Return how well each passage fits a query: TF-IDF cosine, less for passages that newer ones follow."""
    if fitted is None:
        return np.zeros(len(ages))
    vectorizer, matrix = fitted
    similarity = (matrix @ vectorizer.transform([query]).T).toarray().ravel()
    return similarity / (1 + AGEING * np.asarray(ages))


def make_vectorizer():
    """Return an unfitted TF-IDF vectorizer; words count by their logarithm, numbers and codes are words too."""
    return TfidfVectorizer(sublinear_tf=True, stop_words="english", token_pattern=r"(?u)\w[\w.:-]*\w|\w")
