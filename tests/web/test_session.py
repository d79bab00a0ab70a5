"""The web lets through what is dated, in time, inside the world, small and quick, and nothing else."""

import gzip
import time

import pandas as pd
import pytest
from builders import Loopback, serve

from helpers.web.pages import GatewayError
from helpers.web.session import Adapter, Web, date_page

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
        return Web(Loopback(proxy), **options).fetch(url, AS_OF)


def refuse(answer, **options):
    """Return the status with which the web refuses this answer."""
    with pytest.raises(GatewayError) as caught:
        fetch(answer, **options)
    return caught.value.status


class Early(Adapter):
    """An adapter in process that shows the page of a moment, whatever it is asked for."""

    def answer(self, url, clock):
        return date_page("text/html", "hello", int(pd.Timestamp(url.rpartition("/")[2]).timestamp()))


def test_the_clock_stands_above_adapters_in_process_too():
    assert Web(Early()).fetch("http://a.replay/2016-10-09T23:59:59+0800", AS_OF).text == "hello"
    with pytest.raises(GatewayError, match="not earlier than"):
        Web(Early()).fetch("http://a.replay/2016-10-10T00:00:00+0800", AS_OF)


@pytest.mark.parametrize("moment", ["Sun, 09 Oct 2016 16:00:00 GMT", "Sun, 09 Oct 2016 16:00:01 GMT"])
def test_a_page_of_as_of_or_later_is_too_late(moment):
    assert refuse(lambda handler: reply(handler, Memento_Datetime=moment)) == "too_late"


@pytest.mark.parametrize("moment", [None, "", "some day", "Sun, 09 Oct 2016 15:59:59"])
def test_an_undated_page_is_refused(moment):
    assert refuse(lambda handler: reply(handler, Memento_Datetime=moment)) == "undated"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "http://site.replay.example.org/",
        "http://site.replay@example.org/",
        "https://site.replay/page",
        "http://169.254.169.254/latest",
    ],
)
def test_nothing_outside_is_asked_for(url):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        reply(handler)

    with serve(answer) as proxy, pytest.raises(GatewayError) as caught:
        Web(Loopback(proxy)).fetch(url, AS_OF)
    assert caught.value.status == "outside"
    assert asked == []


@pytest.mark.parametrize(
    "place",
    [
        "http://example.org/",
        "https://site.replay/",
        "http://[a.replay]",
    ],
)
def test_a_redirect_to_outside_is_refused(place):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        reply(handler, b"", 302, Location=place)

    assert refuse(answer) == "outside"
    assert asked == [URL]


def test_a_gzip_bomb_is_stopped():
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 100_000
    begun = time.monotonic()
    assert refuse(lambda handler: reply(handler, bomb, Content_Encoding="gzip")) == "too_large"
    assert time.monotonic() - begun < 5


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
            Web(Loopback(proxy), deadline_s=1.0).fetch(URL, AS_OF)
        assert time.monotonic() - begun < 2.0
    assert caught.value.status == "too_slow"


def test_absent_down_and_cut_short_are_told_apart():
    assert refuse(lambda handler: reply(handler, status=404)) == "absent"
    assert refuse(lambda handler: reply(handler, status=503)) == "down"
    with pytest.raises(GatewayError) as caught:
        Web(Loopback("http://127.0.0.1:9")).fetch(URL, AS_OF)
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


def test_a_refusal_does_not_name_the_later_moment():
    with pytest.raises(GatewayError) as caught:
        fetch(lambda handler: reply(handler, Memento_Datetime="Wed, 12 Oct 2016 03:04:05 GMT"), f"{URL}?day=2016-10-12")
    assert caught.value.status == "too_late"
    assert "2016-10-12" not in str(caught.value) and "11:04" not in str(caught.value)
