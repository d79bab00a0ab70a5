"""Sites that lie to a guest: each is a named failure, in time and with little memory.

A page goes the way that pages go: fetched within bounds, read by its source's rule.
"""

import gzip
import os
import resource
import time
from functools import partial
from unittest.mock import patch

import pandas as pd
from builders import serve
from faults.lying import repeat, reset, send_chunks_for_ever, stall
from faults.table import FORK, measure_peak

from helpers.web.extract import ExtractionError, extract_page
from helpers.web.guest import FetchError, Guest
from helpers.web.pages import decode_body
from helpers.web.sources import load_sources

URL = "http://site.example.org/"
DEADLINE_S, OVER_S, MAX_MB = 5.0, 1.0, 400
"""Seconds of a page, how far past them it may end, and what memory it may take: 5 MB of text, parsed."""
TABLE, DATA = "clemson", "geomagnetic"
"""A source whose page is HTML, and one whose page is JSON."""


def say_page(body=b"<p>hello</p>", status=200, **headers):
    """Answer with a page."""
    body = body if isinstance(body, bytes) else body.encode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    shown = {"Content-Type": "text/html", "Content-Length": len(body)} | given

    def answer(handler):
        handler.send_response(status)
        for name, value in shown.items():
            if value is not None:
                handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def say_after_head(play, **headers):
    """Answer with the head of a page, then whatever a raw fault does."""

    def answer(handler):
        handler.server.patience = 8
        say_page(b"", **{"Content_Length": 1_000_000} | headers)(handler)
        play(handler)

    return answer


def raw(play):
    """Answer with a raw fault of the provider's."""

    def answer(handler):
        handler.server.patience, handler.close_connection = 8, True
        play(handler)

    return answer


def drip(handler):
    for _ in range(200):
        handler.wfile.write(b"x")
        time.sleep(0.05)


DEEP = b"<table><tr><td>" * 60_000
BILLION = b'<!DOCTYPE a [<!ENTITY b "lol"><!ENTITY c "' + b"&b;" * 10_000 + b'">]><p>' + b"&c;" * 10_000 + b"</p>"

SITES = {
    # fault: (answer, source, how it must end)
    "endless": (say_after_head(repeat(b" " * 65536), Content_Length=None), TABLE, "too_large"),
    "50 MB": (say_page(b"x" * 50_000_000), TABLE, "too_large"),
    "drips": (say_after_head(drip), TABLE, "too_slow"),
    "stalls in the body": (raw(stall), TABLE, "too_slow"),
    "resets in the body": (raw(reset), TABLE, "down"),
    "100 for ever": (raw(repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)), TABLE, "too_slow"),
    "headers for ever": (raw(lambda h: repeat(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 10_000)(h)), TABLE, "down"),
    "length negative": (raw(say_page(Content_Length=-1)), TABLE, "unread"),
    "chunks for ever": (raw(send_chunks_for_ever), TABLE, "too_slow"),
    "gzip cut off": (say_page(gzip.compress(b"hello" * 999)[:40], Content_Encoding="gzip"), TABLE, "unread"),
    "302 without end": (say_page(b"", 302, Location="/"), TABLE, "redirect"),
    "302 to a file": (say_page(b"", 302, Location="file:///etc/hostname"), TABLE, "redirect"),
    "503": (say_page(b"busy", 503), TABLE, "down"),
    "null bytes": (say_page(b"\x00" * 1_000_000), TABLE, "unread"),
    "60,000 tags deep": (say_page(DEEP), TABLE, "unread"),
    "entities within entities": (say_page(BILLION), TABLE, "unread"),
    "5 MB of commas": (say_page(b"[" + b"1," * 2_400_000 + b"1]", Content_Type="application/json"), DATA, "unread"),
    "JSON 100,000 deep": (say_page(b"[" * 100_000, Content_Type="application/json"), DATA, "unread"),
    "a number of 1,000,000 digits": (say_page(b"[" + b"9" * 1_000_000 + b"]", Content_Type="application/json"), DATA,
                                     "unread"),
}  # fmt: skip


def serve_page(answer, pipe):
    """Serve one answer in a process of its own, telling its address."""
    with serve(answer) as proxy:
        pipe.send(proxy)
        pipe.recv()


def crawl_site(answer, source_id, end, folder):
    """Crawl a source whose site lies; returns (1, whether it ended as it must, how it ended, measured)."""
    ours, theirs = FORK.Pipe()
    server = FORK.Process(target=serve_page, args=(answer, theirs), daemon=True)
    server.start()
    source, proxy = load_sources()[source_id], ours.recv()
    guest = Guest(pd.Timestamp.now("UTC"), pace_s=0, deadline_s=DEADLINE_S)
    before, begun = measure_peak(resource.RUSAGE_SELF), time.monotonic()
    try:
        with patch.dict(os.environ, {"http_proxy": proxy, "no_proxy": ""}):
            _, kept, body = guest.get(URL, heeds_robots=False)
        extract_page(source, decode_body(body, kept.get("content-type", "")))
        status, said = "read", ""
    except FetchError as error:
        status, said = error.kind, str(error)
    except ExtractionError as error:
        status, said = "unread", str(error)
    over, peak = time.monotonic() - begun - DEADLINE_S, measure_peak(resource.RUSAGE_SELF)
    server.kill()
    faults = {
        f"not {end}": status != end,
        f"{over:.1f} s late": over > OVER_S,
        f"{peak - before} MB more": peak - before > MAX_MB,
        "not one line": "\n" in said or len(said) > 400,
    }
    found = [fault for fault, is_so in faults.items() if is_so]
    seen = "; ".join([f"{status}: {said[:100]}", *found])
    return 1, not found, seen, {"over_s": round(max(0.0, over), 1), "peak_mb": peak}


PLAYS = {
    name: (f"the source's failure ({end}), within {DEADLINE_S:g} s", partial(crawl_site, answer, source_id, end))
    for name, (answer, source_id, end) in SITES.items()
}
