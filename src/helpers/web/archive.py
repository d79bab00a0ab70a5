"""The replay web: a server on loopback that publishes each source's pages as they stood at a given moment.

The moment comes with each request (Memento, RFC 7089: `Accept-Datetime`) and the answer's `Memento-Datetime` is the
publication moment of the newest row on the page. A row is never shown before it was published. It answers as an HTTP
proxy (`GET http://host/path`), so a client needs only to be told its proxy: an address with a token, new at each start,
without which nothing is served.

Run `python -m helpers.web.archive --open` to look at it with a browser: it prints its address, asks for no token, and
answers at /host/path?at=2016-10-10T00:00:00%2B08:00 too.
"""

import argparse
import base64
import bisect
import json
import random
import secrets
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

import pandas as pd

from helpers.calendar import ZONE
from helpers.servers import Server, run_server
from helpers.web.news import list_pages, read_feeds
from helpers.web.render import RENDERERS
from helpers.web.sources import load_sources, read_rows

SHOWN_DAYS = 500
"""A page shows nothing published longer ago: seasons years apart never stand on one page."""


@dataclass(frozen=True)
class Misbehaviour:
    """Seeded faults of sites: the share of a source's days (or crawl hours) on which each occurs.

    outage: HTTP 503 in a crawl hour; late: a day's rows appear 26 hours late; layout: from a day on, for the rest of
    its week, the page's markup and wording differ; charset: the page is sent in cp1252 and labelled utf-8.
    """

    seed: int = 0
    outage: float = 0.0
    late: float = 0.0
    layout: float = 0.0
    charset: float = 0.0

    def strikes(self, kind, source_id, period):
        """Tell whether a fault of this kind hits a source in a period; the same always for the same seed."""
        return random.Random(f"{self.seed}|{kind}|{source_id}|{period}").random() < getattr(self, kind)


class Site:
    """One source's rows in order of publication, and its page at any moment."""

    headers = {}

    def __init__(self, source, rows, misbehaviour):
        self.source, self.misbehaviour = source, misbehaviour
        moments = rows.pop("published_at")
        if misbehaviour.late:
            days = moments.dt.tz_convert(ZONE).dt.date.astype(str)
            is_late = [misbehaviour.strikes("late", source.id, day) for day in days]
            moments = moments.where(~pd.Series(is_late, dtype=bool), moments + pd.Timedelta(hours=26))
            order = moments.sort_values(kind="stable").index
            rows, moments = rows.loc[order], moments.loc[order]
        self.published = [int(moment.timestamp()) for moment in moments]
        self.rows = rows.to_dict("records")
        self.pages = {}

    def render(self, clock, layout=""):
        """Return (content type, text, newest publication as epoch seconds) as of `clock`; None before the first."""
        n_visible = bisect.bisect_right(self.published, clock)
        first = bisect.bisect_left(self.published, clock - SHOWN_DAYS * 86400)
        if n_visible <= first:
            return None
        fixtures = self._list_fixtures(n_visible, clock)
        key = (n_visible, len(fixtures), layout)
        if key not in self.pages:
            periods = group_periods(self.rows[first:n_visible], self.source.history)
            self.pages[key] = RENDERERS[self.source.form](self.source, periods, fixtures, layout)
        content_type, text = self.pages[key]
        return content_type, text, self.published[n_visible - 1]

    def _list_fixtures(self, n_visible, clock):
        """Rows to come within `fixtures_days`, whose date and name a visitor may know, never their values."""
        days = self.source.page.get("fixtures_days", 0)
        horizon = clock + days * 86400
        return self.rows[n_visible : bisect.bisect_right(self.published, horizon)] if days else []


class Sites:
    """The sites by address; a site's rows are read when it is first visited, as most visitors come for a few.

    The pages of `articles` (paths of feeds, `news.read_feed`) are there from the start.
    """

    def __init__(self, sources, misbehaviour, articles=()):
        self.sources = {source.address: source for source in sources.values()}
        feeds = read_feeds(articles, self.sources).values()
        self.opened = {url: page for feed in feeds for url, page in list_pages(feed, SHOWN_DAYS).items()}
        self.misbehaviour, self.lock = misbehaviour, threading.Lock()

    def get(self, address):
        """Return the site at an address, None where there is none."""
        source = self.sources.get(address)
        with self.lock:
            if source is not None and address not in self.opened:
                self.opened[address] = Site(source, read_rows(source), self.misbehaviour)
        return self.opened.get(address)


def group_periods(rows, history):
    """Return the last `history` periods as [(occurred_at, rows)], oldest first, rows sorted by entity."""
    periods = {}
    for row in rows:
        periods.setdefault(row["occurred_at"], []).append(row)
    chosen = sorted(periods)[-history:]
    return [(period, sorted(periods[period], key=lambda row: row["entity"])) for period in chosen]


class Handler(BaseHTTPRequestHandler):
    """Answers GET requests for pages as of the request's Accept-Datetime."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def parse_request(self):
        """Read a request's head; one without the server's token, if it has one, is answered 407 and goes no further."""
        if not super().parse_request():
            return False
        token = getattr(self.server, "token", "")
        wanted = b"Basic " + base64.b64encode(f"gateway:{token}".encode())
        if token and not secrets.compare_digest(self.headers.get("Proxy-Authorization", "").encode(), wanted):
            self.answer(407, "this server answers its gateway only")
            return False
        return True

    def do_GET(self):  # noqa: N802, D102 (the name is http.server's)
        url = self.path if "://" in self.path else f"http:/{self.path}"
        parts = urlsplit(url)
        at = [] if self.server.token else parse_qs(parts.query).get("at", [])
        wanted = at[0] if at else self.headers.get("Accept-Datetime")
        site = self.find_site(f"{parts.scheme}://{parts.netloc}{parts.path}")
        if site is False:
            return self.answer(500, "the site's rows cannot be read")
        if site is None:
            return self.answer(404, "no source of the replay world has this address")
        if wanted is None:
            return self.answer(400, "say a moment: the header Accept-Datetime")
        try:
            clock = int(parse_moment(wanted).timestamp())
        except (ValueError, TypeError):
            return self.answer(400, f"not a moment: {wanted}")
        self.answer_page(site, clock)

    def find_site(self, address):
        """Return the site at an address, None where there is none, False (told on stderr) if its rows are unsound."""
        try:
            return self.server.sites.get(address)
        except (ValueError, KeyError, TypeError, OSError) as error:
            said = " ".join(str(error).split())[:200]
            print(f"{address}: its rows cannot be read ({said}); make source SOURCE=... says where", file=sys.stderr)
            return False

    def answer_page(self, site, clock):
        """Send the site's page at `clock`, with whatever misbehaviour strikes it then."""
        local = datetime.fromtimestamp(clock, ZoneInfo(ZONE))
        bad, source_id = self.server.misbehaviour, site.source.id
        if bad.outage and bad.strikes("outage", source_id, f"{local:%Y-%m-%dT%H}"):
            return self.answer(503, "the site is down")
        week = f"{local.isocalendar().year}-W{local.isocalendar().week}"
        layout = "new" if bad.layout and bad.strikes("layout", source_id, week) else ""
        try:
            page = site.render(clock, layout)
        except (ValueError, KeyError, TypeError) as error:
            print(f"{source_id}: no page can be made of its rows ({error}); make source says where", file=sys.stderr)
            return self.answer(500, "no page can be made of the site's rows")
        if page is None:
            return self.answer(404, "nothing was published by then")
        content_type, text, newest = page
        wrong = bad.charset and bad.strikes("charset", source_id, f"{local:%Y-%m-%d}")
        body = text.encode("cp1252", errors="replace") if wrong else text.encode()
        stamp = format_datetime(datetime.fromtimestamp(newest, UTC), usegmt=True)
        headers = site.headers | {"Memento-Datetime": stamp, "Vary": "Accept-Datetime"}
        self.answer(200, body, f"{content_type}; charset=utf-8", headers)

    def answer(self, status, body, content_type="text/plain; charset=utf-8", headers=()):
        """Send one response."""
        body = body.encode() if isinstance(body, str) else body
        self.send_response_only(status)
        for name, value in {**dict(headers), "Content-Type": content_type, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def parse_moment(text):
    """Read an HTTP date or an ISO moment with offset.

    >>> parse_moment("Mon, 10 Oct 2016 00:00:00 GMT") == parse_moment("2016-10-10T08:00:00+08:00")
    True
    """
    moment = pd.Timestamp(text) if text[:4].isdigit() else parsedate_to_datetime(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text}: a moment needs an offset from UTC")
    return moment


def build_server(sources, misbehaviour=Misbehaviour(), port=0, *, is_open=False, articles=()):
    """Return a server on loopback over these sources and feeds of articles; `server_address` tells its port.

    It has a `token` of its own, which `run_server` puts into its address, unless it is open to anybody.
    """
    server = Server(("127.0.0.1", port), Handler)
    server.misbehaviour = misbehaviour
    server.token = "" if is_open else secrets.token_hex(16)
    server.sites = Sites(sources, misbehaviour, articles)
    return server


def main():
    """Serve until standard input closes (so it ends with the program that started it)."""
    parser = argparse.ArgumentParser(description="Serve the replay web on loopback.")
    parser.add_argument("--port", type=int, default=0, help="port; 0 takes a free one")
    parser.add_argument(
        "--local", action="store_true", help="also the load-only sources, if built (make slice LOCAL=1)"
    )
    parser.add_argument("--open", action="store_true", help="answer anybody, and ?at= in an address: for a browser")
    parser.add_argument("--misbehaviour", default="{}", help='faults as JSON, e.g. {"seed": 1, "outage": 0.1}')
    parser.add_argument("--articles", action="append", default=[], help="a folder of .jsonl files; several times")
    options = parser.parse_args()
    faults = Misbehaviour(**json.loads(options.misbehaviour))
    sources, feeds = load_sources(local=options.local), options.articles
    server = build_server(sources, faults, options.port, is_open=options.open, articles=feeds)
    with run_server(server) as address:
        print(address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
