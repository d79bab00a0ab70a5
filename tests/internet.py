"""A simulated internet on loopback: listed hosts answer by small functions, under a clock that can
be moved.

A client reaches it as a company's users reach the open web: through the proxy of HTTPS_PROXY, whose
certificates it trusts by REQUESTS_CA_BUNDLE and SSL_CERT_FILE. Nothing else tells it from the real
one:

    with open_internet(folder, {"www.example.org": lambda asked: (200, {}, "hello")}, now="2026-03-02T08:00Z") as web:
        subprocess.run(command, env=os.environ | web.settings)
        web.plan("429", "www.example.org", times=2, retry_after=3)
        web.move(days=7)
        web.asked, web.refused

A host's function gets an `Asked` and returns (status, headers, body): bytes, a text, a generator of
bytes whose end never comes, else JSON. A fault planned for a host and
the start of a path makes another of its next answers. A host that is not listed is refused and
counted, addresses inside the machine among them.
"""

import json
import ssl
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import GeneratorType
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


FAULTS = {
    "drip": lambda site, answer: (200, {}, (time.sleep(0.1) or b" " for _ in range(300))),
    "charset": lambda site, answer: (
        *answer[:2],
        answer[2].encode("gb18030"),
    ),  # the header says UTF-8
    "closed": lambda site, answer: None,
    "hang": lambda site, answer, seconds: time.sleep(seconds),
    "bomb": lambda site, answer: (200, {"content-encoding": "gzip"}, press_bomb()),
    "429": lambda site, answer, retry_after=1: (429, {"retry-after": retry_after}, "slow down"),
    "500": lambda site, answer: (500, {}, "oops"),
    "redirect": lambda site, answer, to: (302, {"location": to}, ""),
    "body": lambda site, answer, body: (*answer[:2], body),  # a changed layout
}
"""Faults by name: what each makes of a site's answer, None where there is none (or it was sent)."""


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
        about = (self.command, host, url.path, query, sent, body)
        asked = Asked(*about, self.server.now, time.monotonic())
        self.server.asked.append(asked)
        answer = self.server.sites[host](asked)
        if fault := self.server.take_fault(asked):
            self.close_connection = True
            answer = FAULTS[fault[0]](self, answer, **fault[1])
        if answer:
            self.send(*answer)

    do_GET = do_POST = do_HEAD = answer

    def send(self, status, headers, body):
        headers = {"content-type": "text/html; charset=utf-8"} | headers
        parts = body
        if not isinstance(body, GeneratorType):
            if not isinstance(body, str | bytes):
                headers["content-type"], body = "application/json", json.dumps(body)
            parts = [body.encode() if isinstance(body, str) else body]
        headers["content-length"] = 1_000_000 if parts is body else len(parts[0])
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        for part in parts if self.command != "HEAD" else ():
            self.wfile.write(part)
            self.wfile.flush()

    def refuse(self, host):
        self.server.refused[host] += 1
        self.close_connection = True
        self.send(403, {}, "no such host in this internet")

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
        self.sites, self.now = dict(sites), pd.Timestamp(now).tz_convert("UTC")
        self.asked, self.refused, self.faults = [], Counter(), []
        self.lock = threading.Lock()
        authority, bundle = trustme.CA(), str(Path(folder, "authority.pem"))
        authority.cert_pem.write_to_path(bundle)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*self.sites).configure_cert(self.tls)
        self.settings = dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), bundle)
        self.settings["HTTPS_PROXY"] = f"http://127.0.0.1:{self.server_address[1]}"

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
