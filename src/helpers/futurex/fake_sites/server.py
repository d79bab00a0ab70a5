"""Planted pages of one study (FutureX 5.2): an adapter that answers for them, and a world that can read them.

Their hosts end in `.test`, which names nothing on any network. The replay web and its search do not know them: a page
is read by whoever is given both its address and this world.
"""

from html import escape
from urllib.parse import urlsplit

import pandas as pd

from helpers.store import hash_text
from helpers.web.session import Adapter, Web, date_page, say

HOSTS = ".test"


class FakeSite(Adapter):
    """Answers for planted pages: `pages` maps address to (moment, html), `asked` is what was fetched."""

    def __init__(self):
        self.pages, self.asked = {}, []

    def publish(self, url, headline, body, published_at):
        """Put a page, all text escaped, in the place of any earlier one. Raises ValueError for a host not of .test."""
        if not is_fake(url):
            raise ValueError(f"{url}: planted pages stand under http and a host that ends in .test")
        text = f"<h1>{escape(headline)}</h1>\n<p>{escape(body)}</p>\n"
        page = f"<!doctype html>\n<html lang='en'><body>{text}</body></html>\n"
        self.pages[url] = int(pd.Timestamp(published_at).timestamp()), page

    def answer(self, url, clock):
        """Return (status, body, headers) of a planted page as of a moment."""
        self.asked.append(url)
        published, text = self.pages.get(url, (None, None))
        is_out = published is not None and published <= clock
        return date_page("text/html", text, published) if is_out else say(404, "no page by then")

    def name_page(self, url, text, digest, is_held):
        """Return a planted page's id, by which no replayed page can be called."""
        return f"f{hash_text(f'{url} {text}', 12)}"


class FakeWorld:
    """A replay world and one site of planted pages, which open by address and are never found."""

    def __init__(self, crawler, site):
        self.crawler, self.site, self.planted = crawler, site, Web(site, hosts=HOSTS)

    def search(self, query, as_of, n):
        """Return the replay web's hits for a query; planted pages are in no index."""
        return self.crawler.search(query, as_of, n)

    def open(self, url, as_of, about=""):
        """Return the hit of a planted or a replayed page as of a moment. Raises GatewayError."""
        return (self.planted if is_fake(url) else self.crawler).open(url, as_of, about)


def is_fake(url):
    """Say whether an address is one that planted pages may have.

    >>> is_fake("http://bulletin.test/a"), is_fake("http://oil.replay/a"), is_fake("https://bulletin.test/")
    (True, False, False)
    """
    parts = urlsplit(url)
    return parts.scheme == "http" and (parts.hostname or "").endswith(HOSTS)
