"""Fetch pages of the open web as a guest, and keep what came: address, moment, status, headers, digest, body.

A host's robots.txt is asked first, one request goes out at a time to a host, with a pause between two; a page that has
not changed is not sent again (ETag, Last-Modified). A host that asks for patience (429) gets it.
"""

import gzip
import hashlib
import json
import sqlite3
import time
from contextlib import closing, suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

import pandas as pd
import requests
from protego import Protego
from requests.utils import get_encoding_from_headers
from urllib3.exceptions import HTTPError

from helpers.calendar import stamp_moment
from helpers.limits import call_within
from helpers.web.pages import decode_body
from helpers.web.session import MAX_BYTES

NAME = "daybefore"
USER_AGENT = f"{NAME}/0.1 (research on forecasting; one look a day; contact: the operator of this copy)"
PACE_S, DEADLINE_S, MAX_HOPS = 1.0, 30.0, 3
KEPT_HEADERS = ("content-type", "etag", "last-modified", "date", "retry-after", "location")
TABLES = """
create table if not exists bodies (sha256 text primary key, body blob not null);
create table if not exists captures (url text, source_id text, fetched_at text, status integer, headers text,
    sha256 text, primary key (url, fetched_at));
create table if not exists looks (source_id text, looked_at text, kind text, reason text, n_rows integer,
    n_new integer, n_revised integer, until text, primary key (source_id, looked_at));
"""
KINDS = ("ok", "robots", "busy", "down", "too_slow", "too_large", "redirect", "layout")
"""How a look at a source ends: read; or its robots.txt says no, its host asks for patience, does not answer or not in
time, sends too much, leads elsewhere, or shows what the source's rule does not read."""


class FetchError(Exception):
    """A page that did not come; `kind` is one of `KINDS`, `until` the moment before which its host wants no request."""

    def __init__(self, kind, said, until=""):
        super().__init__(said)
        self.kind, self.until = kind, until


def open_captures(path):
    """Return the connection to a captures file (SQLite), made when absent; close it after use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    return connection


def read_looks(path):
    """Return the table of looks, oldest first: source_id, looked_at, kind, reason, n_rows, n_new, n_revised, until."""
    with closing(open_captures(path)) as store:
        return pd.read_sql("select * from looks order by looked_at, source_id", store)


class Guest:
    """Whoever fetches pages at one moment `now` (aware): keeps each capture, robots' answers, and the hosts' paces."""

    def __init__(self, store, now, pace_s=PACE_S, deadline_s=DEADLINE_S):
        self.store, self.now, self.pace_s, self.deadline_s = store, pd.Timestamp(now), pace_s, deadline_s
        self.robots, self.last, self.busy = {}, {}, {}
        self.session = requests.Session()
        self.session.headers["User-Agent"] = USER_AGENT

    def fetch(self, url, source_id):
        """Return the text of a page, which is stored as a capture. Raises FetchError."""
        host = urlsplit(url).netloc
        if host in self.busy:
            raise FetchError(
                "busy", f"{host} asked for patience ({self.busy[host]}); it is asked again on the next run"
            )
        if not self.read_robots(host).can_fetch(url, NAME):
            raise FetchError("robots", f"robots.txt of {host} does not allow {url}")
        before = self.find_capture(url)
        headers = {}
        if before:
            told = json.loads(before["headers"])
            names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
            headers = {names[name]: told[name] for name in names if told.get(name)}
        status, kept, body = self.ask(url, headers)
        if status == 429 or status >= 500:
            self.refuse(host, status, kept)
        if status == 304 and before:
            digest, body, kept = (
                before["sha256"],
                self.read_body(before["sha256"]),
                json.loads(before["headers"]) | kept,
            )
        elif status == 200:
            digest = hashlib.sha256(body).hexdigest()
        else:
            raise FetchError("down", f"{url}: the site answered {status}")
        with self.store:
            self.store.execute("insert or ignore into bodies values (?, ?)", (digest, gzip.compress(body, mtime=0)))
            row = (url, source_id, self.stamp(), status, json.dumps(kept, sort_keys=True), digest)
            self.store.execute("insert or replace into captures values (?, ?, ?, ?, ?, ?)", row)
        content_type = kept.get("content-type", "")
        declared = (
            get_encoding_from_headers({"content-type": content_type}) if "charset" in content_type.lower() else None
        )
        return decode_body(body, declared)

    def stamp(self):
        """Return the moment as the tables write it."""
        return stamp_moment(self.now)

    def find_capture(self, url):
        """Return the newest capture of an address as a dict, or None."""
        cursor = self.store.execute(
            "select headers, sha256 from captures where url = ? order by fetched_at desc limit 1", (url,)
        )
        row = cursor.fetchone()
        return dict(zip(("headers", "sha256"), row, strict=True)) if row else None

    def read_body(self, digest):
        """Return the body of a digest."""
        return gzip.decompress(self.store.execute("select body from bodies where sha256 = ?", (digest,)).fetchone()[0])

    def read_robots(self, host):
        """Return what a host's robots.txt allows; all where it has none (4xx).

        Raises FetchError where it does not answer: then nothing may be asked (RFC 9309).
        """
        if host not in self.robots:
            try:
                status, kept, body = self.ask(f"https://{host}/robots.txt", {})
            except FetchError as error:
                if error.kind != "redirect":
                    raise
                status, kept, body = 404, {}, b""
            if status == 429 or status >= 500:
                self.refuse(host, status, kept)
            self.robots[host] = Protego.parse(body.decode("utf-8", "replace") if status == 200 else "")
        return self.robots[host]

    def refuse(self, host, status, kept):
        """Raise FetchError for a host that answers 429 or 5xx; one that asks for patience is asked nothing more."""
        if status == 429:
            self.busy[host] = stamp_moment(read_retry(kept.get("retry-after"), self.now))
            raise FetchError("busy", f"{host} answered 429", self.busy[host])
        raise FetchError("down", f"{host} answered {status}")

    def ask(self, url, headers):
        """Return (status, kept headers, body) of an address, in the host's pace and within the deadline."""
        host = urlsplit(url).netloc
        delay = 0.0
        with suppress(KeyError):
            delay = max(self.pace_s, min(float(self.robots[host].crawl_delay(NAME) or 0), 10.0))
        time.sleep(max(0.0, self.last.get(host, -1e9) + delay - time.monotonic()))
        try:
            return call_within(lambda: self.follow(url, headers, host), self.deadline_s)
        except TimeoutError:
            raise FetchError("too_slow", f"{url}: not complete within {self.deadline_s:g} s") from None
        finally:
            self.last[host] = time.monotonic()

    def follow(self, url, headers, host):
        """Return what an address answers; a redirect is followed within its host, by https, and nowhere else."""
        end = time.monotonic() + self.deadline_s
        for _ in range(MAX_HOPS):
            try:
                with self.session.get(
                    url, headers=headers, stream=True, timeout=self.deadline_s, allow_redirects=False
                ) as response:
                    if not response.is_redirect:
                        kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
                        return response.status_code, kept, read_bounded(response.raw, url, end)
                    url = urljoin(url, response.headers["location"])
            except (requests.RequestException, HTTPError) as error:
                raise FetchError("down", f"{url}: no answer ({type(error).__name__})") from None
            parts = urlsplit(url)
            if parts.scheme != "https" or parts.netloc.removeprefix("www.") != host.removeprefix("www."):
                raise FetchError("redirect", f"{host} leads to {parts.scheme}://{parts.netloc}, which is not followed")
        raise FetchError("redirect", f"{url}: more than {MAX_HOPS} redirects")


def read_bounded(raw, url, end):
    """Return a body, decompressed in pieces. Raises FetchError beyond `MAX_BYTES` or the moment `end`."""
    pieces, size = [], 0
    while piece := raw.read1(65536, decode_content=True):
        size += len(piece)
        if size > MAX_BYTES:
            raise FetchError("too_large", f"{url}: more than {MAX_BYTES:,} bytes")
        if time.monotonic() > end:
            raise FetchError("too_slow", f"{url}: it drips")
        pieces.append(piece)
    return b"".join(pieces)


def read_retry(value, now):
    """Return until when a Retry-After header asks for patience: seconds, or a date; an hour where it says neither.

    >>> str(read_retry("120", pd.Timestamp("2026-11-25T00:00Z")))
    '2026-11-25 00:02:00+00:00'
    """
    with suppress(TypeError, ValueError):
        return now + timedelta(seconds=int(value))
    with suppress(TypeError, ValueError):
        return pd.Timestamp(parsedate_to_datetime(value))
    return now + timedelta(hours=1)
