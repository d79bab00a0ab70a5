"""A simulated internet on loopback: listed hosts answer by small functions, under a clock that can
be moved.

A client reaches it as a company's users reach the open web: through the proxy of HTTPS_PROXY, whose
certificates it trusts by REQUESTS_CA_BUNDLE and SSL_CERT_FILE. Nothing else tells it from the real
one:

    with open_internet(folder, {"www.example.org": lambda asked: (200, {}, "hello")}, now="2026-03-02T08:00Z") as web:
        subprocess.run(command, env=web.environment())
        web.plan("429", "www.example.org", times=2, retry_after=3)
        web.move(days=7)
        web.asked, web.refused

A host's function gets an `Asked` and returns (status, headers, body); a body that is no text and no
bytes goes out as JSON. A fault planned for a host and the start of a path stands in place of its
next answers. A host that is not listed is refused and counted, addresses inside the machine among
them.
"""

import json
import os
import re
import ssl
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pandas as pd
import trustme
from mock_provider import press_bomb
from serving import Server, run_server


class Asked(NamedTuple):
    """A request: `query` and `headers` (lower-case names) are dicts, `body` bytes, `now` the
    simulated moment in UTC.

    `at` is the moment of time.monotonic() at which it came, for paces that a client keeps by its
    own clock.
    """

    method: str
    host: str
    path: str
    query: dict
    headers: dict
    body: bytes
    now: pd.Timestamp
    at: float


# --- faults: each sends something in place of an answer (status, headers, body as bytes) ------------


def drip(site, status, headers, body):
    """Send a body a byte at a time, whose end never comes."""
    site.send_head(status, headers | {"content-length": 1_000_000})
    for _ in range(300):
        site.wfile.write(b" ")
        site.wfile.flush()
        time.sleep(0.1)


def lie_about_charset(site, status, headers, body):
    """Send a Chinese encoding and name UTF-8 in the header."""
    site.send_whole(status, headers, body.decode().encode("gb18030"))


FAULTS = {
    "drip": drip,
    "charset": lie_about_charset,
    "closed": lambda site, *_: site.connection.shutdown(2),
    "hang": lambda site, *_, seconds: time.sleep(seconds),
    "bomb": lambda site, *_: site.send_whole(200, {"content-encoding": "gzip"}, press_bomb()),
    "429": lambda site, *_, retry_after=1: site.send_whole(
        429, {"retry-after": retry_after}, b"slow down"
    ),
    "500": lambda site, *_: site.send_whole(500, {}, b"oops"),
    "redirect": lambda site, *_, to: site.send_whole(302, {"location": to}, b""),
    "body": lambda site, status, headers, _, body: site.send_whole(
        status, headers, body
    ),  # a changed layout
}


class Site(BaseHTTPRequestHandler):
    """One connection of a client: CONNECT to a listed host, then its requests inside TLS."""

    protocol_version, wbufsize, disable_nagle_algorithm, host = "HTTP/1.1", -1, True, None

    def do_CONNECT(self):
        host, _, port = self.path.rpartition(":")
        if host not in self.server.sites or port != "443":
            return self.refuse(self.path)
        self.send_response_only(200, "Connection established")
        self.end_headers()
        self.wfile.flush()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.host, self.close_connection = host, False

    def answer(self):
        url = urlsplit(self.path)
        host = self.host or url.hostname or ""  # without TLS the proxy is given the whole address
        if host not in self.server.sites:
            return self.refuse(url.netloc)
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        sent = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        asked = Asked(
            self.command, host, url.path, query, sent, body, self.server.now, time.monotonic()
        )
        self.server.asked.append(asked)
        status, headers, body = self.server.sites[host](asked)
        if not isinstance(body, str | bytes):
            headers, body = {"content-type": "application/json"} | headers, json.dumps(body)
        headers = {"content-type": "text/html; charset=utf-8"} | headers
        body = body.encode() if isinstance(body, str) else body
        if fault := self.server.take_fault(asked):
            self.close_connection = True
            name, settings = fault
            return FAULTS[name](self, status, headers, body, **settings)
        self.send_whole(status, headers, body)

    do_GET = do_POST = do_HEAD = answer

    def send_head(self, status, headers):
        self.send_response(status)
        for name, value in (
            headers | ({"connection": "close"} if self.close_connection else {})
        ).items():
            self.send_header(name, str(value))
        self.end_headers()

    def send_whole(self, status, headers, body):
        self.send_head(status, headers | {"content-length": len(body)})
        self.wfile.write(body if self.command != "HEAD" else b"")
        self.wfile.flush()

    def refuse(self, host):
        with self.server.lock:
            self.server.refused[host] += 1
        self.close_connection = True
        self.send_whole(403, {}, b"no such host in this internet")

    def date_time_string(self, timestamp=None):
        return super().date_time_string(self.server.now.timestamp())

    def log_message(self, *arguments):
        pass

    def finish(self):
        try:
            super().finish()
        finally:
            self.connection.close()  # the TLS one: the server closes only the socket that it wrapped


class Internet(Server):
    """The proxy and the sites behind it; `asked` are the requests in order, `refused` counts hosts
    not listed.

    `settings` are the variables by which clients find it. `sites` and `now` may be changed while it
    runs.
    """

    request_queue_size = 128

    def __init__(self, folder, sites, now):
        super().__init__(("127.0.0.1", 0), Site)
        self.sites, self.now, self.lock = (
            dict(sites),
            pd.Timestamp(now).tz_convert("UTC"),
            threading.Lock(),
        )
        self.asked, self.refused, self.faults, self.folder = [], Counter(), [], folder
        authority, bundle = trustme.CA(), str(Path(folder, "authority.pem"))
        authority.cert_pem.write_to_path(bundle)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*self.sites).configure_cert(self.tls)
        proxy = f"http://127.0.0.1:{self.server_address[1]}"
        self.settings = {
            "HTTPS_PROXY": proxy,
            "REQUESTS_CA_BUNDLE": bundle,
            "SSL_CERT_FILE": bundle,
        }

    def environment(self, **more):
        """Return a subprocess' environment in which this is the internet; what a login may have set
        is left out."""
        foreign = re.compile(r"\w+_proxy|\w*SSL\w*_CERT\w*|\w+_CA_BUNDLE|HF_\w+", re.IGNORECASE)
        kept = {name: value for name, value in os.environ.items() if not foreign.fullmatch(name)}
        return kept | self.settings | more

    def plan(self, name, host, path="/", times=1, **settings):
        """Let a fault of FAULTS stand in place of a host's next answers to paths that start so;
        KeyError for none."""
        FAULTS[name], self.sites[host]
        self.faults += [(host, path, (name, settings))] * times

    def take_fault(self, asked):
        """Return (name, settings) of the next fault planned for a request and cross it out, or
        None."""
        with self.lock:
            for i, (host, path, fault) in enumerate(self.faults):
                if host == asked.host and asked.path.startswith(path):
                    del self.faults[i]
                    return fault

    def move(self, **delta):
        """Move the clock on, by days=7 or hours=3."""
        self.now += pd.Timedelta(**delta)

    def count(self, host, path=""):
        """Return how many requests came for a host under a path."""
        return sum(one.host == host and one.path.startswith(path) for one in self.asked)


@contextmanager
def open_internet(folder, sites, now="2026-03-02T08:00:00Z", patch=None):
    """Run an internet of {host: function} until the block ends; the authority's certificate lies in
    the folder.

    With pytest's monkeypatch as `patch` it is the internet of this process, too.
    """
    with run_server(internet := Internet(folder, sites, now)):
        for name, value in internet.settings.items() if patch else ():
            patch.setenv(name, value)
        yield internet
