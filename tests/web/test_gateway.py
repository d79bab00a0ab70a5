"""The gateway lets through what is dated, in time, inside the world, small and quick, and nothing else."""

import gzip
import http.client
import time
from urllib.parse import urlsplit

import pandas as pd
import pytest
import requests
from builders import open_sites, serve

from helpers.tables import list_columns
from helpers.web.gateway import Gateway, GatewayError, decode_body

AS_OF = "2016-10-10T00:00:00+08:00"
JUST_BEFORE = "Sun, 09 Oct 2016 15:59:59 GMT"
URL = "http://site.replay/page"


def reply(handler, body=b"hello", status=200, **headers):
    """Send one whole answer; the page is dated one second before as_of unless said otherwise."""
    headers = {"Memento-Datetime": JUST_BEFORE} | {name.replace("_", "-"): value for name, value in headers.items()}
    handler.send_response(status)
    for name, value in ({"Content-Type": "text/html", "Content-Length": len(body)} | headers).items():
        if value is not None:
            handler.send_header(name, str(value))
    handler.end_headers()
    handler.wfile.write(body)


def fetch(answer, url=URL, **options):
    with serve(answer) as proxy:
        return Gateway(proxy, **options).fetch(url, AS_OF)


def refuse(answer, **options):
    """Return the status with which the gateway refuses this answer."""
    with pytest.raises(GatewayError) as caught:
        fetch(answer, **options)
    return caught.value.status


def test_a_page_one_second_earlier_passes():
    page = fetch(reply)
    assert (page.text, page.published_at) == ("hello", "2016-10-09T23:59:59+08:00")


@pytest.mark.parametrize("moment", ["Sun, 09 Oct 2016 16:00:00 GMT", "Sun, 09 Oct 2016 16:00:01 GMT"])
def test_a_page_of_as_of_or_later_is_too_late(moment):
    assert refuse(lambda handler: reply(handler, Memento_Datetime=moment)) == "too_late"


@pytest.mark.parametrize("moment", [None, "", "some day", "Sun, 09 Oct 2016 15:59:59"])
def test_an_undated_page_is_refused(moment):
    assert refuse(lambda handler: reply(handler, Memento_Datetime=moment)) == "undated"


def test_it_asks_for_the_second_before_as_of():
    asked = []

    def answer(handler):
        asked.append((handler.path, handler.headers["Accept-Datetime"]))
        reply(handler)

    fetch(answer)
    assert asked == [(URL, JUST_BEFORE)]


def test_as_of_needs_an_offset():
    with serve(reply) as proxy, pytest.raises(ValueError, match="no offset"):
        Gateway(proxy).fetch(URL, "2016-10-10T00:00:00")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://127.0.0.1/",
        "http://replay/",
        "http://site.replay.example.org/",
        "http://site.replay@example.org/",
        "https://site.replay/page",
        "file:///etc/hosts",
        "http://169.254.169.254/latest",
    ],
)
def test_nothing_outside_is_asked_for(url):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        reply(handler)

    with serve(answer) as proxy, pytest.raises(GatewayError) as caught:
        Gateway(proxy).fetch(url, AS_OF)
    assert caught.value.status == "outside"
    assert asked == []


@pytest.mark.parametrize(
    "place",
    [
        "http://example.org/",
        "//example.org/x",
        "https://site.replay/",
        "ftp://a.replay/",
        "http://[a.replay]",
        "http://[",
    ],
)
def test_a_redirect_to_outside_is_refused(place):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        reply(handler, b"", 302, Location=place)

    assert refuse(answer) == "outside"
    assert asked == [URL]


def test_a_redirect_inside_is_followed_and_recorded_under_its_end():
    def answer(handler):
        if handler.path == URL:
            reply(handler, b"", 302, Location="/moved")
        else:
            reply(handler)

    assert fetch(answer).url == "http://site.replay/moved"


def test_a_redirect_without_end_is_given_up():
    assert refuse(lambda handler: reply(handler, b"", 302, Location=URL)) == "down"


def test_a_gzip_bomb_is_stopped():
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 100_000
    begun = time.monotonic()
    assert refuse(lambda handler: reply(handler, bomb, Content_Encoding="gzip")) == "too_large"
    assert time.monotonic() - begun < 5


def test_a_page_of_five_megabytes_passes_and_one_byte_more_does_not():
    body = b"x" * 5_000_000
    assert len(fetch(lambda handler: reply(handler, gzip.compress(body, 1), Content_Encoding="gzip")).text) == 5_000_000
    assert refuse(lambda handler: reply(handler, body + b"x")) == "too_large"


def start(handler, length=1_000_000):
    """Send the head of an answer."""
    handler.send_response(200)
    handler.send_header("Memento-Datetime", JUST_BEFORE)
    handler.send_header("Content-Length", str(length))
    handler.end_headers()


def drip_body(handler):
    start(handler)
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def drip_head(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.05)


def stall_after_a_while(handler):
    start(handler)
    for _ in range(8):
        handler.wfile.write(b"x")
        time.sleep(0.1)
    time.sleep(8)


def redirect_slowly(handler):
    time.sleep(0.6)
    reply(handler, b"", 302, Location=URL)


@pytest.mark.parametrize("answer", [drip_body, drip_head, stall_after_a_while, redirect_slowly])
def test_a_slow_site_ends_by_the_deadline(answer):
    begun = time.monotonic()
    with serve(answer) as proxy:
        with pytest.raises(GatewayError) as caught:
            Gateway(proxy, deadline_s=1.0).fetch(URL, AS_OF)
        assert time.monotonic() - begun < 2.0
    assert caught.value.status == "too_slow"


def test_absent_down_and_cut_short_are_told_apart():
    assert refuse(lambda handler: reply(handler, status=404)) == "absent"
    assert refuse(lambda handler: reply(handler, status=503)) == "down"
    with pytest.raises(GatewayError) as caught:
        Gateway("http://127.0.0.1:9").fetch(URL, AS_OF)
    assert caught.value.status == "down"

    def cut(handler):
        start(handler)
        handler.wfile.write(b"<table><tr>")
        handler.close_connection = True

    assert refuse(cut) == "down"


TEXT = "On 9 October 2016, the maximum at Überlingen was 12.5 °C and the minimum −3.0 °C – “mild”."


@pytest.mark.parametrize(
    ("charset", "declared"),
    [
        ("utf-8", "utf-8"),
        ("utf-8", "iso-8859-1"),
        ("utf-8", None),
        ("cp1252", "cp1252"),
        ("cp1252", "utf-8"),
        ("cp1252", None),
    ],
)
def test_a_wrong_charset_is_read_rightly(charset, declared):
    text = TEXT.replace("−", "-")
    kind = "text/html" + (f"; charset={declared}" if declared else "")
    assert fetch(lambda handler: reply(handler, text.encode(charset), Content_Type=kind)).text == text


def test_bytes_of_no_charset_are_still_read():
    assert "hello" in decode_body(b"hello \x81\x8d\xff", "utf-8")
    assert "hello" in decode_body(b"hello \xe9", "no-such-charset")


def test_each_page_is_recorded_whole(sources):
    chosen = {key: sources[key] for key in ("clemson", "geomagnetic")}
    with open_sites(chosen) as crawler:
        gateway = crawler.gateway
        first = gateway.fetch(sources["clemson"].address, AS_OF)
        again = gateway.fetch(sources["clemson"].address, AS_OF)
        later = gateway.fetch(sources["clemson"].address, "2016-10-12T00:00:00+08:00")
        other = gateway.fetch(sources["geomagnetic"].address, AS_OF)
    assert first.page_id == again.page_id
    assert len({first.page_id, later.page_id, other.page_id}) == 3
    pages = pd.DataFrame(gateway.pages.values())
    assert set(pages["page_id"]) == {first.page_id, later.page_id, other.page_id}
    assert set(pages.columns) <= set(list_columns("pages"))
    assert not pages.isna().any().any()
    assert list(pages["source_id"]) == ["clemson", "clemson", "geomagnetic"]
    assert (pd.to_datetime(pages["published_at"]) < pd.to_datetime(pages["retrieved_at"])).all()


NAMING = (
    "?at=",
    "?q=1&at=",
    "?%61t=",
    "?a%74=",
    "?%61%74=",
    "?at=2016-10-01&at=",
    "?AT=",
    "?q=1;at=",
    "?at&b=",
)
"""Ways in which an address may name a moment of its own."""


@pytest.mark.parametrize("query", NAMING)
def test_an_address_that_names_a_moment_is_refused_and_never_asked_for(query):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        reply(handler, b"", 302, Location=f"/moved{query}2016-12-24T00:00:00%2B08:00")

    with pytest.raises(GatewayError, match="names no moment") as caught:
        fetch(answer, f"{URL}{query}2016-12-24T00:00:00%2B08:00")
    assert "2016-12" not in str(caught.value) and asked == []
    with pytest.raises(GatewayError, match="names no moment") as caught:
        fetch(answer)
    assert "2016-12" not in str(caught.value) and asked == [URL], "a redirect is no way around"


def test_a_refusal_does_not_name_the_later_moment():
    with pytest.raises(GatewayError) as caught:
        fetch(lambda handler: reply(handler, Memento_Datetime="Wed, 12 Oct 2016 03:04:05 GMT"), f"{URL}?day=2016-10-12")
    assert caught.value.status == "too_late"
    assert "2016-10-12" not in str(caught.value) and "11:04" not in str(caught.value)


@pytest.mark.parametrize("moment", ["Fri, 31 Dec 9999 00:00:00 GMT", "Sun, 09 Oct 2016 15:59:59 +99999999999999"])
def test_a_moment_out_of_all_bounds_is_a_refusal(moment):
    assert refuse(lambda handler: reply(handler, Memento_Datetime=moment)) in ("undated", "too_late")


@pytest.mark.parametrize("charset", ["punycode", "idna", "utf-7", "unicode_escape", "rot13", "undefined", "no-such"])
def test_no_declared_charset_breaks_the_reading(charset):
    body = "12 °C und über 7 Grad, also kühl für Oktober".encode("cp1252") + b"\\ud800-" * 3
    page = fetch(lambda handler: reply(handler, body, Content_Type=f"text/html; charset={charset}"))
    assert page.text.startswith("12 °C") and page.text.encode()


@pytest.mark.parametrize(
    "url", ["http://a..replay/", f"http://{'x' * 80}.replay/", "http://a.replay:99999999/", "http://.replay/"]
)
def test_an_odd_host_is_a_refusal(url):
    def answer(handler):
        reply(handler, status=404)

    with serve(answer) as proxy, pytest.raises(GatewayError):
        Gateway(proxy).fetch(url, AS_OF)


def test_a_broken_title_is_none():
    page = fetch(lambda handler: reply(handler, b'{"source": "a\tb"}', Content_Type="application/json"))
    assert page.text


# --- the server's token -----------------------------------------------------------------------------------------------


def test_without_its_token_the_replay_web_serves_nothing(world, sources):
    address = urlsplit(world.args[0])
    assert len(address.password) == 32
    url, head = sources["clemson"].address, {"Accept-Datetime": JUST_BEFORE}
    for token in (None, "", "0" * 32, "é"):
        proxy = (
            f"http://gateway:{token}@127.0.0.1:{address.port}"
            if token is not None
            else f"http://127.0.0.1:{address.port}"
        )
        with pytest.raises(GatewayError, match="the site answered 407"):
            Gateway(proxy).fetch(url, AS_OF)
        for path in (url, f"/{url.removeprefix('http://')}?at=2016-10-30T00:00:00Z", "http://no.replay/", "*", "/"):
            connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=5)
            connection.request("GET", path, headers=head)
            response = connection.getresponse()
            assert (response.status, response.read()) == (407, b"this server answers its gateway only")
    assert "9 October" not in Gateway(world.args[0]).fetch(url, AS_OF).text


def test_each_start_has_a_token_of_its_own(sources):
    few = {"clemson": sources["clemson"]}
    with open_sites(few) as one, open_sites(few) as other:
        tokens = [urlsplit(crawler.gateway.proxy).password for crawler in (one, other)]
    assert tokens[0] != tokens[1]


@pytest.mark.parametrize("query", ["?at=", "?%61t=", "?at=2016-10-01T00:00:00Z&at="])
def test_with_a_token_an_address_cannot_name_the_moment(sources, query):
    """The second lock: whoever holds the token still gets the page of the header's moment."""
    with open_sites({"clemson": sources["clemson"]}) as crawler:
        proxies, url = {"http": crawler.gateway.proxy}, sources["clemson"].address
        early = requests.get(url, headers={"Accept-Datetime": JUST_BEFORE}, proxies=proxies, timeout=5)
        tricked = requests.get(
            f"{url}{query}2016-10-30T00:00:00Z", headers={"Accept-Datetime": JUST_BEFORE}, proxies=proxies, timeout=5
        )
    assert early.status_code == 200 and tricked.text == early.text
