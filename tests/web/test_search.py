"""Search as of a moment: nothing later is found or opened, one hit a page, older passages weigh less."""

import threading
import time
from email.utils import format_datetime, parsedate_to_datetime

import numpy as np
import pandas as pd
import pytest
from builders import serve
from sklearn.feature_extraction.text import TfidfTransformer

from helpers.agents.workers import run_in_threads
from helpers.web import gateway, search
from helpers.web.crawl import Crawler
from helpers.web.gateway import Gateway, GatewayError, Page
from helpers.web.search import Hit, SearchIndex, count_words, weigh_passages, weigh_words

AS_OF = "2016-10-10T00:00:00+08:00"
LATER = "2016-10-20T00:00:00+08:00"
PLANTED = "http://later.replay/news"
URLS = ["http://rain.replay/days", "http://oil.replay/prices", PLANTED]


def write(heading, *lines):
    return f"<html><h1>{heading}</h1>{''.join(f'<p>{line}</p>' for line in lines)}</html>"


def answer_as_web(handler):
    """A web of three sites; one ignores the date it is asked for and always shows its page of 15 October."""
    clock = parsedate_to_datetime(handler.headers["Accept-Datetime"])
    site = handler.path.split("/")[2]
    if site == "later.replay":
        page, published = write("Oil news", "The price of oil rose to 99 zloty."), pd.Timestamp("2016-10-15", tz="UTC")
    else:
        page = {
            "rain.replay": write("Rain", f"Rain in Oslo on day {clock.day}: 7 mm"),
            "oil.replay": write("Oil prices", f"The price of oil on day {clock.day} was 50"),
        }[site]
        published = pd.Timestamp(clock)
    body = page.encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "text/html; charset=utf-8")
    handler.send_header("Content-Length", str(len(body)))
    handler.send_header("Memento-Datetime", format_datetime(published.to_pydatetime(), usegmt=True))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def index():
    with serve(answer_as_web) as proxy:
        yield SearchIndex(URLS, Gateway(proxy))


class Shelf:
    """Pages without a network, in the place of a gateway: {address: html}; counts what is fetched."""

    def __init__(self, pages, wait_s=0.0):
        self.shelf, self.wait_s, self.fetched = pages, wait_s, []

    def fetch(self, url, as_of):
        self.fetched.append((url, as_of))
        time.sleep(self.wait_s)
        if url not in self.shelf:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        text = self.shelf[url].replace("{moment}", as_of[:10])
        return Page(f"p-{url}-{as_of}", url, "2016-10-09T00:00:00+08:00", "text/html", text)


# --- nothing later ---------------------------------------------------------------------------------------------------


def find_later(index, as_of):
    """Return what an agent could see, by any query or address, of pages that are not earlier than a moment."""
    hits = [hit for query in ("oil zloty", "price of oil 99", "news", "rain") for hit in index.search(query, as_of, 9)]
    for url in index.addresses:
        try:
            hits.append(index.open(url, as_of))
        except GatewayError as error:
            assert error.status == "too_late"
    return {hit.page_id for hit in hits if pd.Timestamp(hit.published_at) >= pd.Timestamp(as_of) or "99" in hit.text}


def test_a_page_published_later_is_neither_found_nor_opened(index):
    assert find_later(index, AS_OF) == set()
    with pytest.raises(GatewayError, match="not earlier than"):
        index.open(PLANTED, AS_OF)
    found = index.search("oil zloty", AS_OF, 9)
    assert [hit.url for hit in found] == ["http://oil.replay/prices"]
    assert PLANTED not in {page["url"] for page in index.gateway.pages.values()}


def test_without_the_gateways_check_the_same_look_finds_it(index, monkeypatch):
    monkeypatch.setattr(gateway, "read_memento", lambda response, url: pd.Timestamp("2016-10-01", tz="UTC"))
    assert find_later(index, AS_OF) != set()


def test_the_planted_page_is_found_once_it_is_published(index):
    assert index.search("oil zloty", LATER, 1)[0].url == PLANTED
    assert index.open(PLANTED, LATER).text == "The price of oil rose to 99 zloty."
    assert find_later(index, AS_OF) == set(), "what another moment has read is not found at this one"


def test_each_moment_has_its_own_index(index):
    for day in (8, 10, 9, 10):
        (hit,) = index.search("rain Oslo", f"2016-10-{day:02}T00:00:00+00:00", 3)
        assert hit.text == f"Rain in Oslo on day {day - 1}: 7 mm"
        assert hit.published_at == f"2016-10-{day:02}T07:59:59+08:00"
    assert len(index.indexes) == 3


def test_in_the_replay_web_every_hit_is_earlier_and_of_another_page(world):
    crawler = world()
    for as_of in ("2016-10-10T00:00:00+08:00", "2016-10-20T00:00:00+08:00"):
        for query in ("price of Brent crude oil", "temperature in Minneapolis", "Premier League", "euro exchange rate"):
            hits = crawler.search(query, as_of, 5)
            assert 0 < len(hits) <= 5 and len({hit.page_id for hit in hits}) == len(hits)
            for hit in hits:
                assert pd.Timestamp(hit.published_at) < pd.Timestamp(as_of)
                page = crawler.gateway.pages[hit.page_id]
                assert (page["url"], page["published_at"]) == (hit.url, hit.published_at), "each is on record"
    assert "oil-brent" in crawler.search("Brent crude oil spot price", AS_OF, 1)[0].url


@pytest.mark.parametrize("as_of", [AS_OF, LATER])
def test_weights_are_those_of_the_library_over_all_words_to_the_last_bit(world, as_of):
    hits, ages, weighed = world().index._index(as_of)
    counts = count_words([f"{hit.title} {hit.title} {hit.text}" for hit in hits])
    whole = TfidfTransformer(sublinear_tf=True)
    matrix = whole.fit_transform(counts)
    for query in ("rain in Boston", "zzzz EUR zzzz, zyzzyva and 2016-10-09", "price price of crude oil", "zzzz", ""):
        wanted = matrix @ whole.transform(count_words([query])).toarray().ravel()
        found = weigh_passages(weighed, ages, query)
        assert (found == wanted / (1 + search.AGEING * np.asarray(ages))).all()
        assert (found > 0).any() == (query not in ("zzzz", ""))


# --- what is found ---------------------------------------------------------------------------------------------------


def test_the_best_come_first_one_a_page_and_no_more_than_asked():
    pages = {f"http://s{i}.replay/": write("Rain", *["rain in Oslo " + "dull " * i + "x" * 230] * 3) for i in range(5)}
    index = SearchIndex(pages, Shelf(pages))
    hits = index.search("rain in Oslo", AS_OF, 3)
    assert [hit.url for hit in hits] == ["http://s0.replay/", "http://s1.replay/", "http://s2.replay/"]
    assert len(index.search("Oslo", AS_OF, 99)) == 5
    assert index.search("Oslo", AS_OF, 0) == [] == index.search("nothing of the kind", AS_OF, 3)
    assert index.search("", AS_OF, 3) == [] == index.search("the and of", AS_OF, 3)


def test_of_a_pages_passages_about_one_subject_the_newest_is_found():
    rows = "".join(f"<tr><td>2016-09-{day:02}</td><td>Oslo</td><td>{day}</td></tr>" for day in range(1, 31))
    page = f"<h1>Rain</h1><table><tr><th>Date</th><th>City</th><th>Rain</th></tr>{rows}</table>"
    index = SearchIndex(["http://a.replay/"], Shelf({"http://a.replay/": page}))
    (hit,) = index.search("rain in Oslo", AS_OF, 3)
    assert "2016-09-30: 30" in hit.text and "2016-09-01" not in hit.text


def test_a_passage_weighs_less_for_each_newer_one_about_its_subject():
    fitted = weigh_words(count_words(["rain in Oslo"] * 4))
    weights = weigh_passages(fitted, [0, 1, 2, 10], "Oslo")
    assert weights == pytest.approx(weights[0] / (1 + search.AGEING * np.array([0, 1, 2, 10])))
    assert weights[0] > weights[1] > weights[2] > weights[3] > 0


def test_a_site_that_is_down_is_not_found_and_no_page_at_all_finds_nothing():
    pages = {"http://a.replay/": write("Rain", "rain in Oslo")}
    index = SearchIndex([*pages, "http://down.replay/"], Shelf(pages))
    assert [hit.url for hit in index.search("rain", AS_OF, 3)] == ["http://a.replay/"]
    with pytest.raises(GatewayError, match="no page by"):
        index.open("http://down.replay/", AS_OF)
    assert SearchIndex(["http://down.replay/"], Shelf({})).search("rain", AS_OF, 3) == []
    assert SearchIndex([], Shelf({})).search("rain", AS_OF, 3) == []
    only = {"http://a.replay/": write("", "of the and")}
    assert SearchIndex(only, Shelf(only)).search("rain", AS_OF, 3) == []


def test_an_opened_page_shows_what_fits_best_first_and_only_so_much():
    lines = [f"{word} " * 40 for word in ("snow", "rain", "wind", "fog", "hail")]
    pages = {"http://a.replay/": write("Weather", *lines), "http://b.replay/": write("", "of the and")}
    index = SearchIndex(pages, Shelf(pages))
    hit = index.open("http://a.replay/", AS_OF, "wind")
    text = hit.text
    assert text.startswith("wind wind") and len(text) <= search.MAX_OPENED
    assert hit == Hit(hit.page_id, "http://a.replay/", "Weather", "2016-10-09T00:00:00+08:00", text)
    assert index.open("http://a.replay/", AS_OF).text.startswith("snow snow"), "without a wish, in the page's order"
    assert index.open("http://b.replay/", AS_OF, "rain").text == "of the and"


@pytest.mark.parametrize("url", ["http://[half", "http://[::1", "ftp://a.replay/", "http://example.org/", "a b", ""])
def test_an_address_that_is_none_is_refused_by_the_gateway(index, url):
    with pytest.raises(GatewayError):
        index.open(url, AS_OF)


def test_only_so_many_moments_are_kept_and_forgotten_ones_are_made_again(monkeypatch):
    monkeypatch.setattr(search, "N_KEPT", 2)
    pages = {"http://a.replay/": write("Rain", "rain on {moment}")}
    index = SearchIndex(pages, Shelf(pages))
    for day in (1, 2, 3, 1):
        as_of = f"2016-10-{day:02}T00:00:00+08:00"
        assert index.search("rain", as_of, 1)[0].text == f"rain on 2016-10-{day:02}"
        assert len(index.indexes) <= 2
    assert len(index.gateway.fetched) == 4


def test_threads_that_search_at_once_find_what_one_finds_and_fetch_each_page_once():
    pages = {f"http://s{i}.replay/": write("Rain", f"rain {i} on {{moment}}") for i in range(4)}
    moments = [f"2016-10-{day:02}T00:00:00+08:00" for day in (1, 2, 3)]
    alone = SearchIndex(pages, Shelf(pages))
    expected = {as_of: alone.search("rain", as_of, 9) for as_of in moments}
    shared, wrong = SearchIndex(pages, Shelf(pages, wait_s=0.002)), []

    def look(number):
        as_of = moments[number % 3]
        hits, hit = shared.search("rain", as_of, 9), shared.open("http://s1.replay/", as_of, "rain")
        wrong.extend([number] if hits != expected[as_of] or as_of[:10] not in hit.text else [])

    threads = [threading.Thread(target=look, args=(number,)) for number in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert wrong == []
    assert len(shared.gateway.fetched) == len(pages) * 3 + 12, "an index is built once, each page opened once a thread"


def test_who_asks_for_a_day_that_is_ready_does_not_wait_for_one_that_is_made(world):
    index, held = world().index, threading.Event()
    ready, other = "2016-10-10T00:00:00+08:00", "2016-10-11T00:00:00+08:00"
    index.search("temperature", ready, 1)
    fetch = index.gateway.fetch
    index.gateway.fetch = lambda *address: held.wait(20) and fetch(*address)
    found = []
    threads = [threading.Thread(target=lambda: found.append(index.search("temperature", other, 1))) for _ in range(3)]
    [thread.start() for thread in threads]
    started = time.monotonic()
    index.search("weather", ready, 1)
    assert time.monotonic() - started < 5 and not found
    held.set()
    [thread.join() for thread in threads]
    assert len(found) == 3 and found[0] and found[0] == found[1] == found[2]


def test_a_day_that_could_not_be_made_is_tried_again(world):
    index = world().index
    fetch, index.gateway.fetch = index.gateway.fetch, None
    with pytest.raises(TypeError):
        index.search("temperature", "2016-10-12T00:00:00+08:00", 1)
    index.gateway.fetch = fetch
    assert index.search("temperature", "2016-10-12T00:00:00+08:00", 1)


# --- days made ready before they are asked for -----------------------------------------------------------------------

DAYS = [f"2016-10-{day:02}T00:00:00+08:00" for day in range(1, 13)]


def shelve(**settings):
    pages = {"http://a.replay/": write("Rain", "rain on {moment}")}
    return SearchIndex(pages, Shelf(pages, **settings))


def wait_for(is_so, seconds=20):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.005)
    return is_so()


def test_the_days_that_a_run_has_said_are_made_ahead_and_no_others():
    index = shelve()
    index.expect([*DAYS, DAYS[0]])
    index.open("http://a.replay/", DAYS[0])
    assert index.indexes == {} and not index.is_ahead, "nothing before the first search"
    index.search("rain", DAYS[0], 1)
    ready = DAYS[: 1 + search.N_AHEAD]
    assert wait_for(lambda: not index.is_ahead) and list(index.indexes) == ready
    index.gateway.fetched.clear()
    assert [index.search("rain", day, 1)[0].text for day in ready] == [f"rain on {day[:10]}" for day in ready]
    assert wait_for(lambda: not index.is_ahead)
    assert [as_of for _, as_of in index.gateway.fetched] == DAYS[len(ready) : len(ready) + search.N_AHEAD]
    other = shelve()
    other.search("rain", DAYS[0], 1)
    assert not other.is_ahead and list(other.indexes) == DAYS[:1], "a run that has said nothing"


def test_who_asks_for_a_day_that_is_made_ahead_waits_for_it_and_it_is_made_once():
    index = shelve(wait_s=0.05)
    index.expect(DAYS)
    assert [index.search("rain", day, 1)[0].text for day in DAYS] == [f"rain on {day[:10]}" for day in DAYS]
    assert wait_for(lambda: not index.is_ahead)
    assert [as_of for _, as_of in index.gateway.fetched] == DAYS


def test_a_day_that_could_not_be_made_ahead_is_made_by_who_asks_for_it():
    index = shelve()
    fetch, broken = index.gateway.fetch, []

    def fail_once(url, as_of):
        if as_of == DAYS[2] and not broken:
            broken.append(as_of)
            raise MemoryError
        return fetch(url, as_of)

    index.gateway.fetch = fail_once
    index.expect(DAYS)
    index.search("rain", DAYS[0], 1)
    assert wait_for(lambda: not index.is_ahead) and broken and list(index.indexes) == DAYS[:2]
    assert index.search("rain", DAYS[2], 1)[0].text == "rain on 2016-10-03"


def test_a_run_in_threads_says_its_days_in_order():
    index = shelve()
    tasks = [(("r", "a"), {"event_id": day, "as_of": day}) for day in DAYS[:3]]
    crawler = Crawler({}, None)
    crawler.index = index
    seen = []
    forecasts = {"a": lambda event, world: seen.append(world.index.expected) or {"prediction": {"value": "A"}}}
    assert len(list(run_in_threads(tasks, forecasts, lambda: crawler, 20, 2))) == 3
    assert seen == [DAYS[:3]] * 3
    assert len(list(run_in_threads(tasks, {"a": lambda *_: {"prediction": {"value": "A"}}}, dict, 20, 2))) == 3


def run_days(index, days, *, searches=True):
    """Yield (reply, days begun until then) of a run in threads with one question a day, one at a time."""
    crawler, begun = Crawler({}, None), []
    crawler.index = index

    def forecast(event, world):
        begun.append(event["as_of"])
        return {"prediction": {"value": searches and world.search("rain", event["as_of"], 1)[0].text}}

    tasks = [(("r", "a"), {"event_id": day, "as_of": day}) for day in days]
    for ((reply, _, _),) in run_in_threads(tasks, {"a": forecast}, lambda: crawler, 20, 1):
        yield reply, [*begun]


def test_a_question_begins_when_its_day_can_be_searched():
    index, held = shelve(), threading.Event()
    fetch = index.gateway.fetch
    index.gateway.fetch = lambda url, as_of: (as_of == DAYS[0] or held.wait(20)) and fetch(url, as_of)
    run = run_days(index, DAYS[:3])
    assert next(run)[1] == DAYS[:1]
    threading.Timer(1, held.set).start()
    asked = time.monotonic()
    (second, begun), (third, _) = run
    assert time.monotonic() - asked > 0.8 and begun == DAYS[:2], "it waits for its day"
    assert second["status"] == third["status"] == "ok" and second["duration_s"] < 0.8, "but not within its seconds"


def test_no_day_is_made_for_agents_that_never_search_and_one_that_breaks_is_told_by_who_searches():
    index = shelve()
    assert [reply["status"] for reply, _ in run_days(index, DAYS, searches=False)] == ["ok"] * len(DAYS)
    assert index.gateway.fetched == []
    fetch = index.gateway.fetch
    index.gateway.fetch = lambda url, as_of: fetch(url, as_of if as_of == DAYS[0] else None)
    assert [reply["status"] for reply, _ in run_days(index, DAYS[:2])] == ["ok", "error"]


def test_only_so_many_pages_are_kept_and_forgotten_ones_are_read_again(monkeypatch):
    monkeypatch.setattr(search, "N_PAGES", 2)
    pages = {f"http://s{i}.replay/": write("Rain", f"rain {i}", "{moment}") for i in range(5)}
    index = SearchIndex(pages, Shelf(pages))
    for day in DAYS[:3]:
        assert [hit.text for hit in index.search("rain", day, 9)] == [f"rain {i} {day[:10]}" for i in range(5)]
        assert len(index.read) <= 2 and len(index.counts) <= 2
