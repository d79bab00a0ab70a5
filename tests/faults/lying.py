"""A provider and a site that lie: what each lie must end as: the mock provider's faults, and rawer
ones.

What a server may send and still be a provider (an odd usage, two choices) is answered; all else is
a failure that says what came, at so many requests. Either way nothing lasts past the deadline,
takes memory beyond the cap or puts the key into a file. A site's page goes the way that pages go:
fetched within bounds, read by its source's rule.
"""

import json
import os
import re
import resource
import socket
import struct
import tempfile
import time
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import internet
import pandas as pd
from builders import KEY, PRICED, scan
from faults.table import FORK, judge, measure_peak
from mock_provider import CONTENT, FAULTS, Server, press_bomb, repeat, say, send, write_body
from serving import run_server

from daybefore.models.client import ask, open_door
from daybefore.models.failures import NO_PAGE, TOO_FAST, LlmError
from daybefore.models.transport import load_litellm
from daybefore.web.extract_values import ExtractionError, extract_page
from daybefore.web.fetched_pages import GatewayError, decode_body
from daybefore.web.guest import Guest
from daybefore.web.source_registry import load_sources

DEADLINE_S, N_REQUESTS, OVER_S, MAX_MB = 1.5, 3, 1.0, 200
"""A question's deadline, how often it is asked at most, how far past it may end, and what memory a
lie may take."""
PAGE_S, PAGE_MB = 5.0, 400
"""The same of a page: 5 MB of text, parsed."""

# --- what the mock provider does not say: bytes as they come ----------------------------------------


def say_raw(*head, body=b"", is_cut=False):
    """Answer with bytes as they are: a head by lines; `is_cut`: then reset the connection."""

    def answer(handler):
        handler.wfile.write(
            "\r\n".join(
                ["HTTP/1.1 200 OK", "content-type: application/json", *head, "", ""]
            ).encode()
            + body
        )
        handler.wfile.flush()
        if is_cut:
            handler.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            handler.connection.close()

    return answer


def stall(handler):
    """Send the head and half of the body, then nothing more."""
    say_raw("content-length: 500", body=b'{"choices": ')(handler)
    time.sleep(handler.server.patience)


# --- the lies, and how each has to end: (status, words of its reason, requests) ---------------------

GOOD = write_body()
TOLD = json.loads(Path(__file__).with_name("lies.json").read_text(encoding="utf-8"))
"""Lies that are whole replies, how each of the mock provider's faults has to end, and what a site
tells, too."""
BROKEN = ("error", "the connection failed, ", N_REQUESTS)
LATE = ("timeout", f"no whole reply within {DEADLINE_S} s", 1)
CUT = ("unreadable", "the reply breaks off: ", 1)
NONE = ("unreadable", "the reply", 1)
FINE = ("ok", "", 1)
CHUNKED = "transfer-encoding: chunked"


def make_lie(
    end, code=200, body='{"error": {"message": "no"}}', columns=None, replace=None, **headers
):
    """Return (what answers, how it ends) of a row of TOLD: a body, or a good reply's with other
    columns or words."""
    if columns:
        body = json.dumps(json.loads(GOOD) | columns)
    if replace:
        body = GOOD.decode().replace(*replace)
    return say(code, body, **headers), tuple(end)


LIES = {
    "reset in the body": (say_raw("content-length: 500", body=b'{"choices": ', is_cut=True), CUT),
    "stalls in the body": (stall, LATE),
    "TLS on a plain port": (lambda h: h.wfile.write(b"\x15\x03\x01\x00\x02\x02\x28" * 50), BROKEN),
    "100 for ever": (repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, pause_s=0), LATE),
    "headers for ever": (
        repeat(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 10_000, pause_s=0),
        BROKEN,
    ),
    "length of 2^70": (say_raw(f"content-length: {2**70}", body=GOOD), BROKEN),
    "chunk of size zz": (say_raw(CHUNKED, body=b"zz\r\n" + GOOD), CUT),
    "chunks for ever": (
        repeat(b"1\r\nx\r\n" * 1000, f"HTTP/1.1 200 OK\r\n{CHUNKED}\r\n\r\n".encode(), pause_s=0),
        LATE,
    ),
    "gzip cut off": (say(body=zlib.compress(GOOD, wbits=31)[:60], content_encoding="gzip"), NONE),
    "gzip in gzip": (lambda h: send(h, 200, press_bomb(), content_encoding="gzip, gzip"), NONE),
    "UTF-16": (say(body=GOOD.decode().encode("utf-16")), FINE),
    "no UTF-8": (say(body=GOOD.replace(b"looked", b"l\xff\xfeked")), NONE),
    "a number of 5,000 digits": (say(body=GOOD.replace(b"50,", b"9" * 5000 + b",")), NONE),
    "302 to itself": (lambda h: send(h, 302, b"", location=h.path), ("error", "redirects", 1)),
    "500 of 50 MB": (say(500, b"x" * 50_000_000), NONE),
} | {name: make_lie(**told) for name, told in TOLD["lies"].items()}

ENDS = {
    name: (status, words.replace("@TOO_FAST", TOO_FAST).replace("@NO_PAGE", NO_PAGE), n_requests)
    for name, (status, words, n_requests) in TOLD["ends"].items()
}
SITES = {name: failure for failure, names in TOLD["sites"].items() for name in names}
HOST = "site.example.org"

# --- played -----------------------------------------------------------------------------------------


def serve_counting(options, pipe):
    """Serve, telling the address, then, whenever asked, {message: how often it came}."""
    lies = FAULTS | {name: answer for name, (answer, _) in LIES.items()}
    with run_server(server := Server(patience=8, faults=lies, **options)):
        pipe.send(server.address)
        while True:
            pipe.recv()
            pipe.send(dict(server.counts))


@contextmanager
def start_server(serve, *args):
    """Yield (what a server tells first, function that returns what it counted) of a server in its
    own process."""
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=serve, args=(*args, theirs), daemon=True)
    process.start()
    try:
        yield ours.recv(), lambda: ours.send(None) or ours.recv()
    finally:
        process.kill()


def start_liar(**options):
    """Start a liar; see `start_server`: its address, and how often each message came."""
    return start_server(serve_counting, options)


def open_to(address, **settings):
    connection = {"api_base": address, "api_key": KEY}
    return open_door(
        "lies",
        connection=connection,
        environment={},
        n_requests=N_REQUESTS,
        wait_s=0.05,
        **settings,
    )


def ask_or_fail(door, name):
    """Return the recording of a request whose only message is a lie's name, be it a reply or a
    failure."""
    try:
        return ask(door, PRICED, [{"role": "user", "content": name}], max_tokens=100)
    except LlmError as error:
        return error.recording or {"status": error.status, "reason": error.reason, "n_requests": 0}


@contextmanager
def bound(faults, seconds, most_mb):
    """Add to `faults` where what is run below takes so much longer, or more memory."""
    before, begun = measure_peak(resource.RUSAGE_SELF), time.monotonic()
    yield
    over, more = time.monotonic() - begun - seconds, measure_peak(resource.RUSAGE_SELF) - before
    faults |= {f"{over:.1f} s late": over > OVER_S, f"{more} MB more": more > most_mb}


def meet_lie(name, end, folder):
    """Ask for a lie, and again from its recording."""
    faults, (status, words, n_wanted) = {}, end
    with start_liar() as (address, count):
        door = open_to(address, live=True, deadline_s=DEADLINE_S)
        with bound(faults, DEADLINE_S, MAX_MB):
            row = ask_or_fail(door, name)
        again, n = ask_or_fail(open_to(address), name), count()[name]
    reason = re.sub(r":\d{4,5}/", ":PORT/", row["reason"] or "")
    faults |= {
        f"{n} requests, not {n_wanted}": not n == row["n_requests"] == n_wanted,
        f"status {row['status']}": row["status"] != status,
        "another reason": words not in reason,
        "the replay differs": [again["status"], again["reason"]] != [row["status"], row["reason"]],
        "the key is in a file": bool(scan(folder)),
        "not charged": status == "ok" and not door.spent_usd > 0,
    }
    return judge(
        1, faults, f"{row['status']}, asked {n} times" + f": {reason[:100]}" * bool(reason)
    )


def serve_lie(name, folder, pipe):
    """Be the open web, with one site that tells a lie whatever it is asked; tell where, then how
    often it was asked."""
    lie = LIES[name][0] if name in LIES else FAULTS[name]
    told = []

    def tell(site, *_):
        told.append(name)
        lie(site)

    internet.FAULTS[name] = tell
    with internet.open_internet(folder, {HOST: lambda asked: (200, {}, "")}) as web:
        web.patience = 8
        web.plan(name, HOST, times=10)
        pipe.send(web.settings)
        pipe.recv()
        pipe.send(len(told))
        pipe.recv()


def crawl_site(name, end, folder):
    """Crawl a source, one of JSON, whose site lies."""
    guest, source = (
        Guest(pd.Timestamp.now("UTC"), pace_s=0, deadline_s=PAGE_S),
        load_sources()["earth_rotation"],
    )
    faults, said = {}, ""
    with (
        start_server(serve_lie, name, folder) as (settings, count),
        patch.dict(os.environ, settings | {"no_proxy": ""}),
    ):
        with bound(faults, PAGE_S, PAGE_MB):
            try:
                _, kept, body = guest.get(f"https://{HOST}/", heeds_robots=False)
                extract_page(source, decode_body(body, kept.get("content-type", "")))
                status = "read"
            except (GatewayError, ExtractionError) as error:
                status, said = getattr(error, "status", "unread"), str(error)
        n = count()
    faults |= {"the lie was not told": n == 0, f"not {end}": status != end}
    faults |= {"not one line": "\n" in said or len(said) > 400}
    return judge(1, faults, f"{status}: {said[:100]}")


def get_one_too_many(folder):
    """Ask three questions of a server that sends two replies to the first, and keeps the
    connection."""

    def send_two(handler):
        handler.close_connection = False
        for body in map(write_body, (CONTENT, "\\boxed{C}, which was not asked for")):
            say_raw(f"content-length: {len(body)}", body=body)(handler)

    with run_server(server := Server(faults={"two": send_two})):
        door = open_to(server.address, live=True)
        said = [ask_or_fail(door, name)["content"] for name in ("two", "next", "last")]
    return judge(3, {f"{said}": said != [CONTENT] * 3}, "each its own")


def warm_up():
    """Ask once, before anything is forked or measured: litellm imports parts of itself with the
    first request."""
    load_litellm()
    press_bomb()
    with tempfile.TemporaryDirectory() as folder, run_server(server := Server()):
        with patch.dict(os.environ, {"DAYBEFORE_OUT": folder}):
            ask_or_fail(open_to(server.address, live=True), "hello")


MUST = {
    "ok": "answered, asked once, charged",
    "error": "a failure that says what came, asked exactly so often",
    "timeout": "ends within a second of the deadline",
    "refusal": "a refusal, asked once",
} | dict.fromkeys(
    ("unreadable", "over_budget"), "a failure that says what came, asked exactly once"
)
LIED = ENDS | {name: end for name, (_, end) in LIES.items()}
PLAYS = {
    "a lying provider": {
        name: (MUST[end[0]], partial(meet_lie, name, end)) for name, end in LIED.items()
    }
    | {"two replies to one request": ("each question has its own reply", get_one_too_many)},
    "a lying site": {
        name: (f"the source's failure ({end}), within {PAGE_S:g} s", partial(crawl_site, name, end))
        for name, end in SITES.items()
    },
}
