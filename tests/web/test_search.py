"""Search as of a moment: every hit is earlier, one a page, older passages weigh less.

That a later page is refused stands in test_session.py, that one is found only once it is public in
test_news.py.
"""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfTransformer

from daybefore.web import search
from daybefore.web.fetched_pages import GatewayError, Page
from daybefore.web.search import SearchIndex, count_words, weigh_passages

AS_OF = "2016-10-10T00:00:00+08:00"
LATER = "2016-10-20T00:00:00+08:00"


def write(heading, *lines):
    return f"<html><h1>{heading}</h1>{''.join(f'<p>{line}</p>' for line in lines)}</html>"


class Shelf:
    """Pages without a network: {address: html}; counts what is fetched."""

    def __init__(self, pages, wait_s=0.0):
        self.shelf, self.wait_s, self.fetched = pages, wait_s, []

    def fetch(self, url, as_of):
        self.fetched.append((url, as_of))
        time.sleep(self.wait_s)
        if url not in self.shelf:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        text = self.shelf[url].replace("{moment}", as_of[:10])
        return Page(f"p-{url}-{as_of}", url, "2016-10-09T00:00:00+08:00", "text/html", text)


# --- nothing later ----------------------------------------------------------------------------------


def test_in_the_replay_web_every_hit_is_earlier_and_of_another_page(world):
    crawler = world()
    for as_of in ("2016-10-10T00:00:00+08:00", "2016-10-20T00:00:00+08:00"):
        for query in (
            "price of Brent crude oil",
            "temperature in Minneapolis",
            "Premier League",
            "euro exchange rate",
        ):
            hits = crawler.search(query, as_of, 5)
            assert 0 < len(hits) <= 5 and len({hit.page_id for hit in hits}) == len(hits)
            for hit in hits:
                assert pd.Timestamp(hit.published_at) < pd.Timestamp(as_of)
                page = crawler.pages[hit.page_id]
                assert (page["url"], page["published_at"]) == (hit.url, hit.published_at), (
                    "each is on record"
                )
    assert "oil-brent" in crawler.search("Brent crude oil spot price", AS_OF, 1)[0].url


# --- what is found ----------------------------------------------------------------------------------


def test_the_best_come_first_one_a_page_and_no_more_than_asked():
    pages = {
        f"http://s{i}.replay/": write("Rain", *["rain in Oslo " + "dull " * i + "x" * 230] * 3)
        for i in range(5)
    }
    index = SearchIndex(Shelf(pages).fetch, pages)
    hits = index.search("rain in Oslo", AS_OF, 3)
    assert [hit.url for hit in hits] == [
        "http://s0.replay/",
        "http://s1.replay/",
        "http://s2.replay/",
    ]
    assert len(index.search("Oslo", AS_OF, 99)) == 5
    assert index.search("Oslo", AS_OF, 0) == [] == index.search("nothing of the kind", AS_OF, 3)
    assert index.search("", AS_OF, 3) == [] == index.search("the and of", AS_OF, 3)


def test_threads_that_search_at_once_find_what_one_finds_and_fetch_each_page_once():
    pages = {f"http://s{i}.replay/": write("Rain", f"rain {i} on {{moment}}") for i in range(4)}
    moments = [f"2016-10-{day:02}T00:00:00+08:00" for day in (1, 2, 3)]
    alone = SearchIndex(Shelf(pages).fetch, pages)
    expected = {as_of: alone.search("rain", as_of, 9) for as_of in moments}
    shelf, wrong = Shelf(pages, wait_s=0.002), []
    shared = SearchIndex(shelf.fetch, pages)

    def look(number):
        as_of = moments[number % 3]
        hits, hit = shared.search("rain", as_of, 9), shared.open("http://s1.replay/", as_of, "rain")
        wrong.extend([number] if hits != expected[as_of] or as_of[:10] not in hit.text else [])

    threads = [threading.Thread(target=look, args=(number,)) for number in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []
    assert len(shelf.fetched) == len(pages) * 3 + 12, (
        "an index is built once, each page opened once a thread"
    )


@pytest.mark.parametrize("as_of", [AS_OF, LATER])
def test_weights_are_those_of_the_library_over_all_words_to_the_last_bit(world, as_of):
    hits, ages, weighed = world().index._index(as_of)
    counts = count_words([f"{hit.title} {hit.title} {hit.text}" for hit in hits])
    whole = TfidfTransformer(sublinear_tf=True)
    matrix = whole.fit_transform(counts)
    for query in (
        "rain in Boston",
        "zzzz EUR zzzz, zyzzyva and 2016-10-09",
        "price price of crude oil",
        "zzzz",
        "",
    ):
        wanted = matrix @ whole.transform(count_words([query])).toarray().ravel()
        found = weigh_passages(weighed, ages, query)
        assert (found == wanted / (1 + search.AGEING * np.asarray(ages))).all()
        assert (found > 0).any() == (query not in ("zzzz", ""))
