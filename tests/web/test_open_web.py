"""The open web as of a moment, by real clients on the simulated internet: what is later or undated
never passes.

The providers here ignore every date that they are asked for, and the archive holds what it should
not.
"""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
from builders import read_cases, scan
from hypothesis import example, given, settings
from hypothesis import strategies as st
from internet import open_internet
from sites import make_archive

from daybefore.agents.search_agents import describe_hit
from daybefore.models.client import open_door
from daybefore.models.failures import LlmError
from daybefore.models.transport import load_litellm
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.open_web import OpenWeb
from daybefore.web.replay import Replay
from daybefore.web.session import Web

AS_OF = "2026-03-02T00:00:00+08:00"
KEYS = {f"{name}_API_KEY": f"{name.lower()}-secret-0123456789" for name in
        ("TAVILY", "EXA", "PERPLEXITYAI", "BRAVE", "SERPER")}  # fmt: skip
PAGE = """<html><head><title>{title}</title>{meta}</head><body><article><h1>{title}</h1>
<p>{text} The harbour of Oslo reports its weekly index to the public.</p></article></body></html>"""


def write_page(text, modified=None, title="Oslo index"):
    meta = f'<meta property="article:modified_time" content="{modified}">' if modified else ""
    return PAGE.format(title=title, text=text, meta=meta)


PLANTED = {row["url"]: row for row in read_cases(__file__, "planted")}
"""Pages: the date that providers give, and what the archive captured, when."""
PROVIDERS = {row["name"]: row for row in read_cases(__file__, "providers")}
"""Where a provider's results stand, what it calls address, text and date, and how it is asked for
what is older."""


def make_provider(form):
    """Return the site of a provider that shows all pages whatever dates it is asked for, if it is
    given its key."""
    rows = [
        {
            "title": "Oslo",
            form["url"]: page["url"],
            form["text"]: "LEAKED now",
            form["date"]: page["given"] and page["given"] + form["after_day"],
        }
        for page in PLANTED.values()
    ]
    found = {"web": {"results": rows}} if form["place"] == "web" else {form["place"]: rows}

    def answer(asked):
        is_known = any(key in text for key in KEYS.values() for text in asked.headers.values())
        return (200, {}, found) if is_known else (401, {}, {"error": "no key"})

    return answer


ARCHIVE = make_archive(
    {"url": url, "at": f"{one['at']}T00:00:00Z", "body": write_page(one["text"], one["modified"])}
    for url, page in PLANTED.items()
    for one in page["captures"]
)


def lie(asked):
    """Answer as the archive does, but for a capture that names no moment and one that leads to a
    later one."""
    if asked.path.endswith("id_/https://news.example/moved"):
        later = "https://web.archive.org/web/20260309000000id_/https://news.example/revised"
        return 302, {"location": later}, ""
    status, headers, body = ARCHIVE(asked)
    return status, {} if asked.path.endswith("news.example/unsaid") else headers, body


def show(asked):
    """The pages as they stand now."""
    if asked.path == "/leads":
        return 302, {"location": "http://169.254.169.254/"}, ""
    if asked.path == "/robots.txt":
        return 200, {}, "User-agent: *\nDisallow: /private"
    modified = "2026-02-20" if asked.path == "/old" else None
    return 200, {}, write_page("It is like this today.", modified)


@pytest.fixture
def web(out, monkeypatch):
    sites = {form["host"]: make_provider(form) for form in PROVIDERS.values()}
    sites |= {"web.archive.org": lie, "news.example": show}
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with open_internet(out, sites, pd.Timestamp.now("UTC"), monkeypatch) as internet:
        load_litellm.cache_clear()  # its client finds the proxy when it is made
        yield internet
        load_litellm.cache_clear()


@pytest.fixture
def open_web(web):
    """Return a function that opens the open web by a provider, of one run."""
    doors = []

    def connect(provider, **settings):
        doors.append(open_door("mine-A", live=True, wait_s=0.01, **settings))
        world = OpenWeb(provider, doors[-1]).join(Web(Replay({}), {}, keeps_pages=True))
        world.guest.pace_s = 0.0
        world.archive.session.rate_limts = {}
        return world

    yield connect
    for door in doors:
        door.recordings.close()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_planted_passes_for_a_past_moment(web, open_web, out, provider):
    world = open_web(provider)
    hits = world.search("weekly index of Oslo", AS_OF, n=20)
    is_dated = provider != "tavily"  # litellm passes no date of Tavily's on
    names = ["good", "revised"] + ["later"] * (not is_dated)  # whose capture is an older version
    assert [hit.url.rpartition("/")[2] for hit in hits] == names
    assert "1111" in hits[0].text and "2222" in hits[1].text
    assert all(pd.Timestamp(hit.published_at) < pd.Timestamp(AS_OF) for hit in hits)
    left_out = {"undated": 1, "outside": 1, "too_late": 2 + 2 * is_dated}
    assert hits.left_out | left_out == hits.left_out
    assert sum(hits.left_out.values()) == len(PLANTED) - len(names)
    for url in PLANTED:
        try:
            assert "LEAKED" not in world.open(url, AS_OF).text
        except GatewayError as error:
            assert error.status in ("absent", "undated", "too_late", "outside")
    assert web.count("news.example") == 0  # no page as it stands today
    form = PROVIDERS[provider]
    asked = next(one for one in web.asked if one.host == form["host"])
    told = asked.query | (json.loads(asked.body) if asked.method == "POST" else {})
    assert told[form["asks_by"]] == form["asks_for"]
    n_asked, again = len(web.asked), open_web(provider)  # a resumed run
    assert list(again.search("weekly index of Oslo", AS_OF, n=20)) == list(hits)
    assert len(web.asked) == n_asked and scan(out, "LEAKED")
    assert not [name for key in KEYS.values() for name in scan(out, key)]


def test_now_a_provider_is_shown_and_a_page_read_as_it_stands(web, open_web):
    now = pd.Timestamp.now("UTC").isoformat(timespec="seconds")
    world = open_web("perplexity")
    moments = {hit.url[21:]: hit.published_at for hit in world.search("oslo", now, n=20)}
    assert moments["good"][:10] == "2026-02-20"
    sent = json.loads(next(one for one in web.asked if one.method == "POST").body)
    assert set(sent) == {"query", "max_results"}
    hit = world.open("http://news.example/old", now, "today")
    assert hit.text.startswith("It is like this today") and hit.page_id.startswith("n")
    assert hit.published_at == "2026-02-20T23:59:59+08:00"
    new = world.open("https://news.example/new", now)
    for read_at in (moments["undated"], new.published_at):
        assert pd.Timestamp(now) <= pd.Timestamp(read_at) <= pd.Timestamp.now("UTC")
    assert f"published by {new.published_at}, when it was read:" in describe_hit(new, now)
    refused = {"news.example/private/a": "robots", "10.0.0.1/": "outside"}
    refused |= {"elsewhere.example/": "down", "news.example/leads": "redirect"}
    for url, status in refused.items():
        with pytest.raises(GatewayError) as found:
            world.open(f"https://{url}", now)
        assert found.value.status == status
    with pytest.raises(GatewayError, match="no page by"):
        world.fetch("http://rates.replay/", now)  # the world's own


def test_what_a_search_costs_counts_towards_the_ceiling_also_after_a_stop(web, open_web):
    world = open_web("tavily", ceiling_usd=0.02)
    assert world.search("one", AS_OF).cost_usd == 0.008
    world.search("two", AS_OF)
    assert world.door.spent_usd == pytest.approx(0.016)
    for _ in range(2):
        with pytest.raises(LlmError) as found:
            world.search("three", AS_OF)
        assert found.value.status == "over_budget"
        world = open_web("tavily", ceiling_usd=0.02)
    assert world.search("one", AS_OF).cost_usd == 0.008  # recorded
    assert web.count("api.tavily.com") == 2


@pytest.mark.parametrize("fault", ["429", "500", "hang"])
def test_a_provider_or_archive_that_fails_is_a_transient_error_and_asked_again(
    web, open_web, fault, monkeypatch
):
    monkeypatch.setattr("daybefore.web.open_web.LIMIT_S", 1.0)
    world = open_web("tavily", n_requests=2)
    web.plan(fault, "api.tavily.com", times=2, **({"seconds": 2.0} if fault == "hang" else {}))
    with pytest.raises(LlmError, match="tavily/search") as found:
        world.search("one", AS_OF)
    assert found.value.status == "error" and KEYS["TAVILY_API_KEY"] not in found.value.reason
    web.faults.clear()
    monkeypatch.setattr("daybefore.web.open_web.LIMIT_S", 60.0)
    if fault == "429":
        web.plan("429", "web.archive.org", "/cdx", retry_after=1)
        with pytest.raises(LlmError, match="archive"):
            world.search("one", AS_OF)
    assert len(world.search("one", AS_OF)) == 3


FORMS_OF_TIME = (
    '<meta property="article:published_time" content="{}">',
    '<meta content="{}" property="article:modified_time">',
    '<script type="application/ld+json">{{"datePublished": "{}"}}</script>',
    '<script type="application/json">{{"updated_at": "{}"}}</script>',
    '<time class="a" datetime="{}">today</time>',
)
NOON = pd.Timestamp("2026-03-02T12:00:00Z")
WRITTEN = {  # how a moment is written: pattern, how long before it, by any zone, what it says may have begun
    "zoned": ("%Y-%m-%dT%H:%M:%S%z", 0),
    "minute": ("%Y-%m-%dT%H:%M%z", 60),
    "local": ("%Y-%m-%dT%H:%M:%S", 26 * 3600),
    "spaced": ("%Y-%m-%d %H:%M", 26 * 3600 + 60),
    "day": ("%Y-%m-%d", 50 * 3600),
    "words": ("%d %B %Y", 50 * 3600),
}
HOURS = (14, 8, 0, -5, -12)


def read_now(head, kept=(), *, as_of=NOON, after_s=600, tolerance_s=60, path="a"):
    """Return (its moment, None) of a page of some head that was read so many seconds after a
    moment, or (None, why) where it may not be seen."""
    body = write_page("Oslo.").replace("</title>", f"</title>{head}").encode()
    world = OpenWeb("tavily", None, tolerance_s)
    headers = {"content-type": "text/html"} | dict(kept)
    world.guest = SimpleNamespace(get=lambda url: (200, headers, body))
    read_at = as_of + pd.Timedelta(seconds=after_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("daybefore.web.open_web.read_clock", lambda: read_at)
        try:
            told = world._read_page(f"https://news.example/{path}", as_of, True)
        except GatewayError as error:
            return None, error.status
    return pd.Timestamp(told["published_at"]), None


@given(
    st.sampled_from(FORMS_OF_TIME),
    st.integers(-200_000, 200_000),
    st.sampled_from(HOURS),
    st.sampled_from(sorted(WRITTEN)),
)
@example(FORMS_OF_TIME[0], 43_200, 0, "zoned")  # midnight of the next day
@example(FORMS_OF_TIME[4], 14_400, 8, "zoned")
@example(FORMS_OF_TIME[0], 300, -12, "local")
@example(FORMS_OF_TIME[1], 300, -12, "day")
def test_no_page_of_a_second_later_passes_whatever_its_time_is_written_like(
    form, seconds, hours, written
):
    moment = NOON + pd.Timedelta(seconds=seconds)
    pattern, before_s = WRITTEN[written]
    told, why = read_now(form.format(moment.tz_convert(f"{hours:+03}:00").strftime(pattern)))
    if why:
        assert why == "too_late" and seconds > -before_s - 86_400  # midnight may be its day
    else:
        assert seconds < 0 and told < NOON


@given(
    st.integers(-200_000, 200_000), st.sampled_from(HOURS), st.integers(0, 900), st.integers(0, 900)
)
@example(300, -12, 60, 60)
@example(300, -12, 61, 60)
@settings(max_examples=50)
def test_what_may_be_later_is_seen_within_the_tolerance_alone_and_stamped_so(
    seconds, hours, after_s, tolerance_s
):
    local = (NOON + pd.Timedelta(seconds=seconds)).tz_convert(f"{hours:+03}:00").tz_localize(None)
    for written in (f"{local:%Y-%m-%dT%H:%M:%S}", f"{local:%Y-%m-%d}", None):
        head = FORMS_OF_TIME[0].format(written) if written else ""
        told, why = read_now(head, after_s=after_s, tolerance_s=tolerance_s)
        if why:
            assert why == ("too_late" if written else "undated")
        elif told >= NOON:
            assert told == NOON + pd.Timedelta(seconds=after_s) and after_s <= tolerance_s
        else:
            assert written and seconds < 0


EARLIER = FORMS_OF_TIME[0].format("2026-03-01T08:00:00Z")


@pytest.mark.parametrize(
    ("head", "how", "found"),
    [
        (
            "",
            {"kept": {"last-modified": "Mon, 02 Mar 2026 12:00:00 GMT"}, "after_s": 5},
            "too_late",
        ),
        ("", {"kept": {"last-modified": "Mon, 02 Mar 2026 11:59:59 GMT"}, "after_s": 5}, 5),
        # a server's word is no date of a page
        (
            "",
            {"kept": {"last-modified": "Mon, 02 Mar 2026 11:59:59 GMT"}, "after_s": 61},
            "undated",
        ),
        ("", {"kept": {"last-modified": "yesterday"}, "after_s": 5}, 5),
        # read before it
        ("", {"kept": {"last-modified": "Mon, 02 Mar 2026 12:00:01 GMT"}, "after_s": -5}, -5),
        ("", {"after_s": 60}, 60),
        ("", {"after_s": 61}, "undated"),
        (EARLIER, {}, -28 * 3600),
        (EARLIER + "<p>Updated on March 2, 2026</p>", {}, "too_late"),
        ("", {"path": "2026/03/02/a"}, "too_late"),
        # a day that has just ended in UTC-12
        ("", {"path": "2026/03/01/a"}, -20 * 3600 - 1),
    ],
)
def test_a_page_passes_by_what_it_names_or_by_when_it_was_read(head, how, found):
    told, why = read_now(head, **how)
    assert (why or (told - NOON).total_seconds()) == found


def test_a_capture_before_the_moment_is_proof_whatever_zone_its_day_is_of():
    kept = {"content-type": "text/html", "last-modified": "Mon, 09 Mar 2026 12:00:00 GMT"}
    page = write_page("Quiet.", "2026-03-01").encode()
    world = OpenWeb("tavily", None)
    world._fetch_capture = lambda *_: (kept, page, pd.Timestamp("2026-03-01T10:00:00Z"))
    told = world._read_page("https://news.example/a", pd.Timestamp(AS_OF), False)
    assert told["published_at"] == "2026-03-01T18:00:00+08:00"


def test_a_run_resumed_hours_later_reads_no_page_as_it_stands(web, open_web):
    moment = (pd.Timestamp.now("UTC") - pd.Timedelta(hours=23)).isoformat(timespec="seconds")
    with pytest.raises(GatewayError):
        open_web("tavily").open("https://news.example/old", moment)
    assert web.count("news.example") == 0
