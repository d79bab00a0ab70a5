"""Search what was published before a moment: passages of all pages as of then, by TF-IDF (scikit-learn).

The index of a moment is made from pages fetched through the gateway as of that moment, so nothing later is in it.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, vstack

from helpers.web.gateway import GatewayError
from helpers.web.markup import parse_json
from helpers.web.passages import read_page

AGEING = 0.1
"""A passage's similarity is divided by 1 + so much for each newer passage about the same subject, an article's for each
week since it was published."""
MAX_OPENED = 900
"""Characters shown of an opened page."""
N_KEPT = 16
"""Moments whose indexes are kept in memory."""
N_AHEAD = 4
"""Moments after the last asked for whose indexes are made before they are asked for, where a run has said its own."""
N_PAGES = 4000
"""Pages' contents whose passages and words are kept in memory: those of a month or two, and of two feeds."""
N_FETCHES = 2
"""Pages fetched at once for an index: while one is waited for another is read."""
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
    """Searches the pages at some addresses as of any moment; an index is made the first time a moment is asked for.

    `feeds` are addresses of front pages (`helpers.web.news`): the articles that one lists as of a moment are searched
    too. An article stays as it was published, so it is fetched once.
    """

    def __init__(self, addresses, gateway, feeds=()):
        self.addresses, self.gateway, self.feeds = sorted(addresses), gateway, sorted(feeds)
        self.read, self.counts, self.articles, self.indexes = {}, {}, {}, {}
        self.lock, self.building = threading.Lock(), threading.Lock()
        self.expected, self.last_asked, self.is_ahead = [], None, False

    def expect(self, moments):
        """Say which moments will be asked for, in order, so that indexes are made while agents wait for their models.

        Nothing is made before the first search.
        """
        with self.lock:
            self.expected = list(dict.fromkeys(moments))

    def prepare(self, as_of):
        """Wait until the index of a moment is there; before the first search do not: perhaps nobody searches."""
        if self.last_asked is not None:
            self._index(as_of)

    def search(self, query, as_of, n=3):
        """Return the `n` best hits for a query among all that was published before `as_of`, the best first, one a page.

        Fewer, or none, when fewer pages share a word with it.
        """
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
        if (found := self.read.get(page.page_id)) is None:
            found = read_page(page.text, page.content_type)
            self._keep(self.read, page.page_id, found)
        return found

    def _keep(self, memory, page_id, value):
        """Keep what was made of a page's content; a full memory forgets the oldest."""
        with self.lock:
            while len(memory) >= N_PAGES:
                memory.pop(next(iter(memory)))
            memory[page_id] = value

    def _index(self, as_of):
        """Return (hits, ages, what `weigh_words` makes of them) of a moment.

        Whoever asks first makes it and those who ask meanwhile wait; one is made at a time, since side by side all
        would be done when the last is. Who asks for a moment that is there does not wait.
        """
        with self.lock:
            future, is_mine = self.indexes.get(as_of), as_of not in self.indexes
            if is_mine:
                future = self._begin(as_of)
            self.last_asked = as_of
        if is_mine:
            self._make(as_of, future)
        self._start_ahead()
        return future.result()

    def _begin(self, as_of):
        """Return the future of an index that the caller, who holds the lock, is to make."""
        while len(self.indexes) >= N_KEPT:
            self.indexes.pop(next(iter(self.indexes)))
        future = self.indexes[as_of] = Future()
        return future

    def _make(self, as_of, future):
        """Make an index; returns whether it was made."""
        try:
            with self.building:
                future.set_result(self._build(as_of))
        except BaseException as error:  # raised in every thread that waits; the next to ask tries again
            with self.lock:
                self.indexes.pop(as_of, None)
            future.set_exception(error)
        return future.exception() is None

    def _begin_ahead(self):
        """Return (moment, future) of the next index to make before it is asked for, None when there is none."""
        if self.last_asked not in self.expected:
            return None
        place = self.expected.index(self.last_asked) + 1
        left = [moment for moment in self.expected[place : place + N_AHEAD] if moment not in self.indexes]
        return (left[0], self._begin(left[0])) if left else None

    def _start_ahead(self):
        """Let a thread make the indexes of the moments to come, unless one does."""
        with self.lock:
            first = None if self.is_ahead else self._begin_ahead()
            self.is_ahead = self.is_ahead or first is not None
        if first:
            threading.Thread(target=self._make_ahead, args=first, daemon=True).start()

    def _make_ahead(self, moment, future):
        """Make one index after the other until enough are there, or one could not be made."""
        while future is not None:
            is_made = self._make(moment, future)
            with self.lock:
                moment, future = (is_made and self._begin_ahead()) or (None, None)
                self.is_ahead = future is not None

    def _build(self, as_of):
        with ThreadPoolExecutor(N_FETCHES) as pool:
            found = [*pool.map(partial(self._look, as_of), self.addresses)]
            found += pool.map(partial(self._look_once, as_of), self._list_articles(as_of))
            pages = [(page, title, passages) for page, title, passages in filter(None, found) if passages]
        counts = self._count(pages)
        hits = [
            Hit(page.page_id, page.url, title, page.published_at, passage.text)
            for page, title, passages in pages
            for passage in passages
        ]
        weeks = [self._count_weeks(page, as_of) for page, _, _ in pages]
        ages = [part.age + n for (_, _, parts), n in zip(pages, weeks, strict=True) for part in parts]
        return hits, ages, weigh_words(vstack(counts)) if pages else None

    def _look(self, as_of, address):
        """Return (page, title, passages) at an address; None of a site that is down, or has published nothing yet."""
        try:
            page = self.gateway.fetch(address, as_of)
        except GatewayError:
            return None
        return page, *self._read(page)

    def _list_articles(self, as_of):
        """Return the addresses of the articles that the feeds list as of a moment."""
        listed = []
        for feed in self.feeds:
            with suppress(GatewayError):  # of a site that is down, or has published nothing yet
                page = self.gateway.fetch(feed, as_of)
                listed += [url for url in parse_json(page.text)["articles"] if url.startswith(feed)]
        return listed

    def _look_once(self, as_of, address):
        """Return what `_look` does of an article; one that was there at an earlier moment is not fetched again."""
        moment, found = self.articles.get(address, (None, None))
        if found is None or pd.Timestamp(as_of) < moment:
            if found := self._look(as_of, address):
                self._keep(self.articles, address, (pd.Timestamp(as_of), (replace(found[0], text=""), *found[1:])))
        return found

    def _count_weeks(self, page, as_of):
        """Return the weeks since an article was published; 0 for another page, whose newest rows stand for its site."""
        if not page.url.startswith(tuple(self.feeds)):
            return 0
        return (pd.Timestamp(as_of) - pd.Timestamp(page.published_at)).days // 7

    def _count(self, pages):
        """Return the counted words of some pages' passages, (page, title, passages) each; the new ones in one call."""
        known = {page.page_id: self.counts.get(page.page_id) for page, _, _ in pages}
        new = {page.page_id: (title, passages) for page, title, passages in pages if known[page.page_id] is None}
        texts = [f"{title} {title} {passage.text}" for title, passages in new.values() for passage in passages]
        counts, start = count_words(texts) if texts else None, 0
        for page_id, (_, passages) in new.items():
            known[page_id] = counts[start : start + len(passages)]
            start += len(passages)
            self._keep(self.counts, page_id, known[page_id])
        return [known[page.page_id] for page, _, _ in pages]


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
    """Return (words, weights, matrix) of word counts: the words (hashes, ascending), their weights, TF-IDF.

    A word counts by the logarithm of how often it stands. Words that stand nowhere have no column.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    words, places = np.unique(np.append(counts.indices, 0), return_inverse=True)  # a matrix must have a column
    matrix = csr_matrix((counts.data, places[:-1], counts.indptr), (counts.shape[0], len(words)))
    transformer = TfidfTransformer(sublinear_tf=True)
    matrix = transformer.fit_transform(matrix)
    return words, transformer.idf_, matrix


def weigh_passages(weighed, ages, query):
    """Return how well each passage fits a query: TF-IDF cosine, less for passages that newer ones follow."""
    if weighed is None:
        return np.zeros(len(ages))
    from sklearn.preprocessing import normalize

    words, weights, matrix = weighed
    asked = count_words([query])
    places = np.searchsorted(words, asked.indices)
    is_known = words[np.minimum(places, len(words) - 1)] == asked.indices
    places = places[is_known]
    rarity = np.full(len(is_known), 1 + np.log(1 + matrix.shape[0]))  # the weight of a word that no passage holds
    rarity[is_known] = weights[places]
    asked.data = (1 + np.log(asked.data)) * rarity
    wanted = np.zeros(len(words))
    wanted[places] = normalize(asked).data[is_known]
    return matrix @ wanted / (1 + AGEING * np.asarray(ages))
