"""Fetch pages of the open web as a guest: robots.txt is asked first, a host gets one request at a time, with a pause.

A body is read within bounds of bytes and time, a redirect is followed within its host by https and nowhere else, and an
address inside the machine or its network is not asked. A host that asks for patience (429) gets it.
"""

import ipaddress
import math
import socket
import threading
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

import pandas as pd
import requests
from protego import Protego
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import HTTPError

from helpers.calendar import stamp_moment
from helpers.limits import call_within
from helpers.web.pages import GatewayError

NAME = "daybefore"
USER_AGENT = f"{NAME}/0.1 (research on forecasting; contact: the operator of this copy)"
PACE_S, DEADLINE_S, MAX_DELAY_S, MAX_HOPS = 1.0, 30.0, 10.0, 3
MAX_BYTES = 5_000_000
"""Largest decompressed body taken; a 300 kB gzip can open to 300 MB."""
KEPT_HEADERS = ("content-type", "etag", "last-modified", "date", "retry-after", "memento-datetime")
INSIDE = (".localhost", ".local", ".internal", ".replay")


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
        """Return (status, kept headers, body) of a page, in the host's pace. Raises GatewayError.

        `heeds_robots=False` is for addresses that are documented as an interface for programs.
        """
        host = check_outside(url)
        with self.locks.setdefault(host, threading.Lock()):
            if heeds_robots and not self._read_robots(host).can_fetch(url, NAME):
                raise GatewayError("robots", f"robots.txt of {host} does not allow {url}")
            return self._ask(host, url, dict(headers))

    def _read_robots(self, host):
        """Return what a host's robots.txt allows; all where it has none (4xx), or leads elsewhere.

        Raises GatewayError where it does not answer: then nothing may be asked (RFC 9309).
        """
        if host not in self.robots:
            status, body = 404, b""
            try:
                status, _, body = self._ask(host, f"https://{host}/robots.txt", {})
            except GatewayError as error:
                if error.status != "redirect":
                    raise
            self.robots[host] = Protego.parse(body.decode("utf-8", "replace") if status == 200 else "")
        return self.robots[host]

    def _ask(self, host, url, headers):
        """Return (status, kept headers, body) of an address, in the host's pace and within the deadline.

        A host that asks for patience (429) is asked nothing more.
        """
        if host in self.busy:
            raise GatewayError("busy", f"{host} asked for patience ({self.busy[host]}); a later run asks it again")
        wanted = self.robots[host].crawl_delay(NAME) if host in self.robots else None
        delay = max(self.pace_s, min(float(wanted or 0), MAX_DELAY_S))
        time.sleep(max(0.0, self.last.get(host, -math.inf) + delay - time.monotonic()))
        try:
            status, kept, body = call_within(lambda: self._follow(host, url, headers), self.deadline_s)
        except TimeoutError:
            raise GatewayError("too_slow", f"{url}: not complete within {self.deadline_s:g} s") from None
        finally:
            self.last[host] = time.monotonic()
        if status == 429:
            self.busy[host] = stamp_moment(read_retry(kept.get("retry-after"), self.now))
            raise GatewayError("busy", f"{host} answered 429", self.busy[host])
        if status >= 500:
            raise GatewayError("down", f"{host} answered {status}")
        return status, kept, body

    def _follow(self, host, url, headers):
        """Return what an address answers; a redirect is followed within its host, by https, and nowhere else."""
        end, given = time.monotonic() + self.deadline_s, {"timeout": self.deadline_s, "allow_redirects": False}
        for _ in range(MAX_HOPS):
            try:
                with self.session.get(url, headers=headers, stream=True, **given) as response:
                    if not response.is_redirect:
                        kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
                        return response.status_code, kept, read_bounded(response.raw, url, end)
                    url = urljoin(url, response.headers["location"])
            except (requests.RequestException, HTTPError) as error:
                raise GatewayError("down", f"{url}: no answer ({type(error).__name__})") from None
            parts = urlsplit(url)
            if parts.scheme != "https" or parts.netloc.removeprefix("www.") != host.removeprefix("www."):
                where = f"{parts.scheme}://{parts.netloc}"
                raise GatewayError("redirect", f"{host} leads to {where}, which is not followed")
        raise GatewayError("redirect", f"{url}: more than {MAX_HOPS} redirects")


def read_bounded(raw, url, end):
    """Return a body, decompressed in pieces, so that a slow drip or a bomb is stopped in time.

    Raises GatewayError beyond `MAX_BYTES`, or the moment `end` of time.monotonic().
    """
    body = bytearray()
    while piece := raw.read1(65536, decode_content=True):
        body += piece
        if len(body) > MAX_BYTES:
            raise GatewayError("too_large", f"{url}: more than {MAX_BYTES} bytes")
        if time.monotonic() > end:
            raise GatewayError("too_slow", f"{url}: it drips, and was not complete in time")
    return bytes(body)


def read_retry(value, now):
    """Return until when a Retry-After header asks for patience: seconds, or a date; an hour where it says neither.

    >>> str(read_retry("120", pd.Timestamp("2026-11-25T00:00Z")))
    '2026-11-25 00:02:00+00:00'
    """
    with suppress(TypeError, ValueError):
        return now + pd.Timedelta(seconds=int(value))
    with suppress(TypeError, ValueError):
        return pd.Timestamp(parsedate_to_datetime(value))
    return now + pd.Timedelta(hours=1)


def check_outside(url):
    """Return the host of an address, with its port where it names one.

    Raises GatewayError for what is no address of the web, and one inside this machine or its network.

    >>> check_outside("https://127.0.0.1:8080/secret")
    Traceback (most recent call last):
        ...
    helpers.web.pages.GatewayError: https://127.0.0.1:8080/secret: no address of the web, or one inside this network
    """
    with suppress(ValueError):  # such as an address with half a bracket
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and not is_inside(parts.hostname.rstrip("."), url):
            return parts.netloc
    raise GatewayError("outside", f"{url[:200]}: no address of the web, or one inside this network")


def is_inside(host, url):
    """Say whether a host is of this machine or its network, by its number or by what its name leads to.

    Where a proxy looks names up, the name alone is seen here.
    """
    with suppress(ValueError):
        return not ipaddress.ip_address(host).is_global
    if "." not in host or host.endswith(INSIDE) or host.rpartition(".")[2][:1].isdigit():  # 127.1 is read as a number
        return True
    numbers = []
    if not select_proxy(url, get_environ_proxies(url)):
        with suppress(OSError):  # a name that leads nowhere: the request says so
            found = socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)
            numbers = [ipaddress.ip_address(row[4][0].partition("%")[0]) for row in found]
    return not all(number.is_global for number in numbers)
