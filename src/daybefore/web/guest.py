"""Fetch pages of the open web as a guest: robots.txt is asked first, a host gets one request at a
time, with a pause.

A body is read within bounds of bytes and time, a redirect is followed within its host by https and
nowhere else, and an address inside the machine or its network is not asked. A host that asks for
patience (429) gets it.
"""

import gzip
import ipaddress
import math
import socket
import threading
import time
import zlib
from contextlib import suppress
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from urllib.parse import urljoin

import pandas as pd
import requests
from protego import Protego
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies, select_proxy
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from daybefore.limits import call_within
from daybefore.web.fetched_pages import GatewayError
from helpers.clock import stamp_moment

NAME = "daybefore"
USER_AGENT = f"{NAME}/0.1 (research on forecasting; contact: the operator of this copy)"
PACE_S, DEADLINE_S, MAX_DELAY_S, MAX_HOPS = 1.0, 30.0, 10.0, 3
MAX_BYTES = 5_000_000
"""Largest decompressed body taken; a 300 kB gzip can open to 300 MB."""
KEPT_HEADERS = ("content-type", "etag", "last-modified", "date", "retry-after", "memento-datetime")
MAX_ROBOTS = 500_000
"""Bytes of a robots.txt that are read; what follows is not looked at (RFC 9309 asks for as
much)."""
PATIENCE = pd.Timedelta(days=1)
"""Longest time for which a host's wish for patience is kept."""
INSIDE = (".localhost", ".local", ".internal", ".replay")

CARRIERS = [
    ipaddress.ip_network(text)
    for text in (
        "::/96",
        "::ffff:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
    )
]
"""Numbers of IPv6 that carry one of IPv4: it may be one inside (NAT64, 6to4, Teredo and older
forms)."""


class CheckedConnection(HTTPSConnection):
    """A connection to a number that was checked: a name that leads elsewhere the second time leads
    nowhere."""

    def _new_conn(self):
        name = self._dns_host
        numbers = list_numbers(name)
        if not numbers or not all(map(is_public, numbers)):
            raise GatewayError(
                "down" if not numbers else "outside",
                f"{name}: leads nowhere, or inside this network",
            )
        self._dns_host = str(numbers[0])
        try:
            return super()._new_conn()
        finally:
            self._dns_host = name  # which the certificate is for


class CheckedPool(HTTPSConnectionPool):
    """Connections to one host, each checked."""

    ConnectionCls = CheckedConnection


class CheckedAdapter(HTTPAdapter):
    """Requests without a proxy by checked connections; a proxy looks names up itself."""

    def init_poolmanager(self, *args, **kwargs):
        """Make the pools of direct requests."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"https": CheckedPool}


class Guest:
    """Whoever fetches pages at one moment `now` (aware): keeps robots' answers and the hosts'
    paces; threads may share.

    `pace_s` are the seconds between two requests to a host, `deadline_s` those that a page may take
    with its host's robots.txt, the pause between the two included.
    """

    def __init__(self, now, pace_s=PACE_S, deadline_s=DEADLINE_S):
        self.now, self.pace_s, self.deadline_s = pd.Timestamp(now), pace_s, deadline_s
        self.robots, self.last, self.busy, self.locks = {}, {}, {}, {}
        self.session = requests.Session()
        self.session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"})
        self.session.mount("https://", CheckedAdapter())

    def get(self, url, headers=(), *, heeds_robots=True):
        """Return (status, kept headers, body) of a page, in the host's pace. Raises GatewayError.

        `heeds_robots=False` is for addresses that are documented as an interface for programs.
        """
        host, url = check_outside(url), secure(url)
        with self.locks.setdefault(host, threading.Lock()):
            end = time.monotonic() + self.deadline_s
            if heeds_robots and not self._is_allowed(host, url, end):
                raise GatewayError("robots", f"robots.txt of {host} does not allow {url}")
            return self._ask(host, url, dict(headers), end)

    def _is_allowed(self, host, url, end):
        """Say whether a host's robots.txt allows an address; its rules are read and tried before
        the moment `end`."""
        text = self._read_robots(host, end)
        try:
            if isinstance(text, str):
                self.robots[host] = call_within(lambda: Protego.parse(text), end - time.monotonic())
            return call_within(
                lambda: self.robots[host].can_fetch(url, NAME), end - time.monotonic()
            )
        except TimeoutError:
            raise GatewayError(
                "too_slow", f"robots.txt of {host} was not read in {self.deadline_s:g} s"
            ) from None

    def _read_robots(self, host, end):
        """Return a host's robots.txt, read or (the first time) as text; "" where it has none (4xx),
        or leads elsewhere.

        Raises GatewayError where it does not answer: then nothing may be asked (RFC 9309).
        """
        if host in self.robots:
            return self.robots[host]
        try:
            status, _, body = self._ask(host, f"https://{host}/robots.txt", {}, end, MAX_ROBOTS)
        except GatewayError as error:
            if error.status != "redirect":
                raise
            return ""
        return body.decode("utf-8", "replace") if status == 200 else ""

    def _ask(self, host, url, headers, end, cut=None):
        """Return (status, kept headers, body) of an address, in the host's pace and before `end`
        (time.monotonic()).

        A host that asks for patience (429) is asked nothing more.
        """
        if host in self.busy:
            raise GatewayError(
                "busy", f"{host} asked for patience ({self.busy[host]}); a later run asks it again"
            )
        wanted = self.robots[host].crawl_delay(NAME) if host in self.robots else None
        delay = max(self.pace_s, min(float(wanted or 0), MAX_DELAY_S))
        now = time.monotonic()
        start = max(now, self.last.get(host, -math.inf) + delay)
        late = GatewayError("too_slow", f"{url}: not complete within {self.deadline_s:g} s")
        if start >= end:
            raise late
        time.sleep(start - now)
        try:
            status, kept, body = call_within(
                lambda: self._follow(host, url, headers, end, cut), end - start
            )
        except TimeoutError:
            raise late from None
        finally:
            self.last[host] = time.monotonic()
        if status == 429:
            self.busy[host] = stamp_moment(read_retry(kept.get("retry-after"), self.now))
            raise GatewayError("busy", f"{host} answered 429", self.busy[host])
        if status >= 500:
            raise GatewayError("down", f"{host} answered {status}")
        return status, kept, body

    def _follow(self, host, url, headers, end, cut):
        """Return what an address answers; a redirect is followed within its host, by https, and
        nowhere else."""
        given = {"timeout": self.deadline_s, "allow_redirects": False}
        for _ in range(MAX_HOPS):
            try:
                with self.session.get(url, headers=headers, stream=True, **given) as response:
                    if not response.is_redirect:
                        kept = {
                            name: response.headers[name]
                            for name in KEPT_HEADERS
                            if name in response.headers
                        }
                        return response.status_code, kept, read_bounded(response.raw, url, end, cut)
                    url = urljoin(url, response.headers["location"])
            except (EOFError, gzip.BadGzipFile, zlib.error):
                raise GatewayError("down", f"{url}: its compressed body is cut short") from None
            except (requests.RequestException, HTTPError) as error:
                raise GatewayError("down", f"{url}: no answer ({type(error).__name__})") from None
            if not url.startswith("https://") or not is_same_host(url, host):
                raise GatewayError(
                    "redirect", f"{host} leads to {url[:200]}, which is not followed"
                )
        raise GatewayError("redirect", f"{url}: more than {MAX_HOPS} redirects")


def is_same_host(url, host):
    """Say whether an address is of a host, with or without its www."""
    try:
        return check_outside(url).removeprefix("www.") == host.removeprefix("www.")
    except GatewayError:
        return False


def read_bounded(raw, url, end, cut=None):
    """Return a body, decompressed in pieces, so that a slow drip or a bomb is stopped in time.

    With `cut` it is no more than that many bytes, and what follows is not read.
    Raises GatewayError beyond `MAX_BYTES`, or the moment `end` of time.monotonic(); of a gzip body
    that is cut short or broken what Python's gzip does (urllib3 takes it as whole).
    """
    body = bytearray()
    raw.decode_content = raw.headers.get("content-encoding", "").lower() != "gzip"
    read = raw.read1
    if not raw.decode_content:
        read = gzip.GzipFile(fileobj=SimpleNamespace(read=raw.read1), mode="rb").read1
    while piece := read(65536):
        body += piece
        if cut and len(body) >= cut:
            return bytes(body[:cut])
        if len(body) > MAX_BYTES:
            raise GatewayError("too_large", f"{url}: more than {MAX_BYTES} bytes")
        if time.monotonic() > end:
            raise GatewayError("too_slow", f"{url}: it drips, and was not complete in time")
    return bytes(body)


def read_retry(value, now):
    """Return until when a Retry-After header asks for patience, `PATIENCE` at most: seconds, or a
    date.

    It is an hour where the header says neither.

    >>> str(read_retry("120", pd.Timestamp("2026-11-25T00:00Z")))
    '2026-11-25 00:02:00+00:00'
    >>> str(read_retry("Fri, 31 Dec 9999 23:59:59 GMT", pd.Timestamp("2026-11-25T00:00Z")))
    '2026-11-26 00:00:00+00:00'
    """
    with suppress(TypeError, ValueError, OverflowError):
        return now + pd.Timedelta(seconds=max(0, min(int(value), PATIENCE.total_seconds())))
    with suppress(TypeError, ValueError, OverflowError):
        left = (parsedate_to_datetime(value) - now.to_pydatetime()).total_seconds()
        return now + pd.Timedelta(seconds=max(0, min(left, PATIENCE.total_seconds())))
    return now + pd.Timedelta(hours=1)


def check_outside(url):
    """Return the host of an address, with its port where it names one, as the client that asks it
    reads it.

    Raises GatewayError for what is no address of the web, one that readers of addresses read in two
    ways (a backslash, a space, a name before an @), and one inside this machine or its network.

    >>> check_outside("https://127.0.0.1:80/")
    Traceback (most recent call last):
        ...
    daybefore.web.fetched_pages.GatewayError: https://127.0.0.1:80/: no address of the web, or one inside this network
    """
    with suppress(
        ValueError, HTTPError, requests.RequestException
    ):  # such as an address with half a bracket
        if url.isprintable() and not set(url) & set("\\ "):
            parts = parse_url(requests.Request("GET", url).prepare().url)
            is_named = parts.scheme in ("http", "https") and parts.host and parts.auth is None
            if is_named and not is_inside(parts.host.strip("[]").rstrip("."), url):
                return parts.netloc
    raise GatewayError("outside", f"{url[:200]}: no address of the web, or one inside this network")


def secure(url):
    """Return an address with https for http, however its letters are written.

    >>> secure("HTTP://www.example.org/a")
    'https://www.example.org/a'
    """
    scheme, mark, rest = url.partition("://")
    return "https://" + rest if mark and scheme.lower() in ("http", "https") else url


def is_public(number):
    """Say whether a number is of the public network: of one machine, and carrying no number of
    IPv4.

    >>> [is_public(ipaddress.ip_address(text)) for text in ("93.184.215.14", "64:ff9b::7f00:1", "224.0.0.1")]
    [True, False, False]
    """
    if not number.is_global or number.is_multicast or number.is_reserved:
        return False
    return not any(number in network for network in CARRIERS)


def list_numbers(host):
    """Return the numbers that a name leads to, none for one that leads nowhere."""
    with suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
        return [ipaddress.ip_address(row[4][0].partition("%")[0]) for row in found]
    return []


def is_inside(host, url):
    """Say whether a host is of this machine or its network, by its number or by what its name leads
    to.

    Where a proxy looks names up, the name alone is seen here.
    """
    with suppress(ValueError):
        return not is_public(ipaddress.ip_address(host))
    if (
        "." not in host or host.endswith(INSIDE) or host.rpartition(".")[2][:1].isdigit()
    ):  # 127.1 is read as a number
        return True
    if select_proxy(url, get_environ_proxies(url)):
        return False
    return not all(
        map(is_public, list_numbers(host))
    )  # a name that leads nowhere: the request says so
