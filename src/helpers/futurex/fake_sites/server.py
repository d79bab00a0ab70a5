"""Planted pages of one study, on loopback and nowhere else (FutureX 5.2): their server, and a world that can read them.

Their hosts end in `.test`, which names nothing on any network, and the server binds to loopback only. The replay web,
its search and its gateway do not know them: a page is read by whoever is given both its address and this world.
"""

import ipaddress
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import format_datetime
from html import escape
from urllib.parse import urlsplit

import pandas as pd
from urllib3 import ProxyManager

from helpers.calendar import stamp_moment
from helpers.servers import Server, run_server
from helpers.store import hash_text
from helpers.web import archive
from helpers.web.gateway import GatewayError, ask_door, open_door, read_memento
from helpers.web.passages import read_page
from helpers.web.search import MAX_OPENED, Hit

TIMEOUT_S = 10
"""Seconds within which a planted page has to come."""


class Handler(archive.Handler):
    """Answers GET requests for planted pages as of the request's Accept-Datetime, and keeps what was asked for."""

    def do_GET(self):  # noqa: N802, D102 (the name is http.server's)
        self.server.asked.append(self.path)
        page = self.server.pages.get(self.path)
        wanted = self.headers.get("Accept-Datetime")
        if page is None or wanted is None or archive.parse_moment(wanted) < page[0]:
            return self.answer(404, "no page by then")
        stamp = format_datetime(page[0].tz_convert(UTC).to_pydatetime(), usegmt=True)
        self.answer(200, page[1], "text/html; charset=utf-8", {"Memento-Datetime": stamp})


@dataclass(frozen=True)
class FakeSite:
    """A running server of planted pages: `pages` maps address to (moment, html), `asked` is what was fetched."""

    door: ProxyManager
    pages: dict
    asked: list

    def publish(self, url, headline, body, published_at):
        """Put a page, all text escaped, in the place of any earlier one. Raises ValueError for a host not of .test."""
        if not is_fake(url):
            raise ValueError(f"{url}: planted pages stand under http and a host that ends in .test")
        text = f"<h1>{escape(headline)}</h1>\n<p>{escape(body)}</p>\n"
        self.pages[url] = pd.Timestamp(published_at), f"<!doctype html>\n<html lang='en'><body>{text}</body></html>\n"

    def fetch(self, url, as_of):
        """Return (page_id, moment, html) of a planted page as of a moment. Raises GatewayError without one by then."""
        clock = pd.Timestamp(as_of) - pd.Timedelta(seconds=1)
        headers = {"Accept-Datetime": format_datetime(clock.tz_convert(UTC).to_pydatetime(), usegmt=True)}
        response = ask_door(self.door, url, headers, TIMEOUT_S)
        text = response.read().decode()
        if response.status != 200:
            raise GatewayError("absent", f"{url}: no page by {as_of}")
        return f"f{hash_text(f'{url} {text}', 12)}", read_memento(response, url), text


@dataclass(frozen=True)
class FakeWorld:
    """The replay world as `crawler` sees it, and one site of planted pages that opens by address and is never found."""

    crawler: object
    site: FakeSite

    def search(self, query, as_of, n):
        """Return the replay web's hits for a query; planted pages are in no index."""
        return self.crawler.search(query, as_of, n)

    def open(self, url, as_of, about=""):
        """Return the hit of a planted or a replayed page as of a moment. Raises GatewayError."""
        if not is_fake(url):
            return self.crawler.open(url, as_of, about)
        page_id, moment, html = self.site.fetch(url, as_of)
        title, passages = read_page(html, "text/html")
        text = "\n".join(passage.text for passage in passages)[:MAX_OPENED]
        return Hit(page_id, url, title, stamp_moment(moment), text)


def is_fake(url):
    """Say whether an address is one that planted pages may have.

    >>> is_fake("http://bulletin.test/a"), is_fake("http://oil.replay/a"), is_fake("https://bulletin.test/")
    (True, False, False)
    """
    parts = urlsplit(url)
    return parts.scheme == "http" and (parts.hostname or "").endswith(".test")


def build_fake_server(host="127.0.0.1", port=0):
    """Return a server of planted pages, bound to loopback. Raises ValueError for any other network address.

    >>> build_fake_server("0.0.0.0")
    Traceback (most recent call last):
        ...
    ValueError: 0.0.0.0 is not loopback: planted pages are served at 127.0.0.1 only
    """
    if not ipaddress.ip_address(host).is_loopback:
        raise ValueError(f"{host} is not loopback: planted pages are served at 127.0.0.1 only")
    server = Server((host, port), Handler)
    server.pages, server.asked = {}, []
    return server


@contextmanager
def open_fake_site(host="127.0.0.1"):
    """Serve planted pages from a thread of this process until the block ends; yields the FakeSite."""
    server = build_fake_server(host)
    with run_server(server) as address:
        yield FakeSite(open_door(address), server.pages, server.asked)
