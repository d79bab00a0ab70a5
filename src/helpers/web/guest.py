"""Fetch pages of the open web as a guest: robots.txt is asked first, a host gets one request at a time, with a pause.

A body is read within bounds of bytes and time, a redirect is followed within its host by https and nowhere else, and an
address inside the machine or its network is not asked. A host that asks for patience (429) gets it.
"""

import ipaddress
import socket
import threading
import time
from contextlib import suppress
from datetime import timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

import pandas as pd
import requests
from protego import Protego
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import HTTPError

from helpers.calendar import stamp_moment
from helpers.limits import call_within

NAME = "daybefore"
USER_AGENT = f"{NAME}/0.1 (research on forecasting; contact: the operator of this copy)"
PACE_S, DEADLINE_S, MAX_HOPS = 1.0, 30.0, 3
MAX_BYTES = 5_000_000
"""Largest decompressed body taken; a 300 kB gzip can open to 300 MB."""
KEPT_HEADERS = ("content-type", "etag", "last-modified", "date", "retry-after", "location", "memento-datetime")


class FetchError(Exception):
    """A page that did not come; `kind` says why, `until` is the moment before which its host wants no request.

    Kinds: robots (its robots.txt says no), busy (its host asks for patience), down (it does not answer), too_slow,
    too_large, redirect (it leads elsewhere), inside (its address is of this machine or network).
    """

    def __init__(self, kind, said, until=""):
        super().__init__(said)
        self.kind, self.until = kind, until


class Guest:
    """Whoever fetches pages at one moment `now` (aware): keeps robots' answers and the hosts' paces; threads may share.

    `pace_s` are the seconds between two requests to a host, `deadline_s` those that one may take.
    """

    def __init__(self, now, pace_s=PACE_S, deadline_s=DEADLINE_S):
        self.now, self.pace_s, self.deadline_s = pd.Timestamp(now), pace_s, deadline_s
        self.robots, self.last, self.busy, self.locks = {}, {}, {}, {}
        self.session = requests.Session()
        self.session.headers["User-Agent"] = USER_AGENT

    def get(self, url, headers=(), *, heeds_robots=True):
        """Return (status, kept headers, body) of a page, in the host's pace. Raises FetchError.

        `heeds_robots=False` is for addresses that are documented as an interface for programs.
        """
        host = read_host(url)
        with self.locks.setdefault(host, threading.Lock()):
            if host in self.busy:
                raise FetchError("busy", f"{host} asked for patience ({self.busy[host]}); a later run asks it again")
            if heeds_robots and not self.read_robots(host).can_fetch(url, NAME):
                raise FetchError("robots", f"robots.txt of {host} does not allow {url}")
            status, kept, body = self.ask(url, dict(headers))
            if status == 429 or status >= 500:
                self.refuse(host, status, kept)
            return status, kept, body

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
        delay = self.pace_s
        with suppress(KeyError):
            delay = max(delay, min(float(self.robots[host].crawl_delay(NAME) or 0), 10.0))
        time.sleep(max(0.0, self.last.get(host, -1e9) + delay - time.monotonic()))
        try:
            return call_within(lambda: self.follow(url, headers, host), self.deadline_s)
        except TimeoutError:
            raise FetchError("too_slow", f"{url}: not complete within {self.deadline_s:g} s") from None
        finally:
            self.last[host] = time.monotonic()

    def follow(self, url, headers, host):
        """Return what an address answers; a redirect is followed within its host, by https, and nowhere else."""
        check_outside(url)
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
    """Return a body, decompressed in pieces, so that a slow drip or a bomb is stopped in time.

    Raises FetchError beyond `MAX_BYTES`, or the moment `end` of time.monotonic().
    """
    pieces, size = [], 0
    while piece := raw.read1(65536, decode_content=True):
        size += len(piece)
        if size > MAX_BYTES:
            raise FetchError("too_large", f"{url}: more than {MAX_BYTES} bytes")
        if time.monotonic() > end:
            raise FetchError("too_slow", f"{url}: it drips, and was not complete in time")
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


def read_host(url):
    """Return the host of an address, with its port where it names one. Raises FetchError for what is no address."""
    with suppress(ValueError):  # such as an address with half a bracket
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts.netloc
    raise FetchError("inside", f"{url[:200]}: no address of the web")


def check_outside(url):
    """Raise FetchError for an address inside the machine or its network, by its number or by what its name leads to.

    Where a proxy looks names up, the name alone is seen here.

    >>> check_outside("https://127.0.0.1:8080/secret")
    Traceback (most recent call last):
        ...
    helpers.web.guest.FetchError: 127.0.0.1: an address inside this machine or network is not asked
    """
    host = urlsplit(url).hostname.rstrip(".")
    try:
        numbers = [ipaddress.ip_address(host)]
    except ValueError:
        numbers = []
        is_number = host.rpartition(".")[2][:1].isdigit()  # such as 127.1, which is read as an address's number
        is_inside = is_number or "." not in host or host.endswith((".localhost", ".local", ".internal", ".replay"))
        if not is_inside and not select_proxy(url, get_environ_proxies(url)):
            with suppress(OSError, UnicodeError):  # a name that leads nowhere: the request says so
                found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
                numbers = [ipaddress.ip_address(row[4][0].partition("%")[0]) for row in found]
    else:
        is_inside = False
    if is_inside or not all(number.is_global for number in numbers):
        raise FetchError("inside", f"{host}: an address inside this machine or network is not asked")
