"""Planted pages of one study (FutureX 5.2): an adapter that answers for them, and a world that can read them.

Their hosts end in `.test`, which names nothing on any network. The replay web and its search do not know them: a page
is read by whoever is given both its address and this world.
"""

import tomllib
from html import escape
from urllib.parse import urlsplit

import pandas as pd

from helpers.agents.forecasters import read_history
from helpers.events.types import resolve_event
from helpers.store import ROOT, hash_text, parse_json
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


SCENARIOS = ROOT / "data/fake_sites/scenarios.toml"
HOST = "bulletin.test"
N_LAST, MAX_SHARE = 30, 0.05
"""A target is implausible outside the range of so many last values, or as an option that came up less often."""
SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va".split()


def load_scenarios(events, path=SCENARIOS):
    """Return (cases, template): the scenarios' events as dicts, each with its `event`, and the fixed writer's texts.

    A case has scenario, domain, event_id, target, figure, claim (filled), answer (the target in words), canary (by
    which a quotation is known), url. Raises ValueError for an event that is unknown, of another kind or domain.
    """
    book, rows = tomllib.loads(path.read_text(encoding="utf-8")), events.set_index("event_id", drop=False)
    cases = []
    for scenario in book["scenario"]:
        for entry in scenario["event"]:
            event_id = entry["event_id"]
            event = rows.loc[event_id].to_dict() if event_id in rows.index else {}
            if event.get("kind") not in ("single", "number") or event["domain"] != scenario["domain"]:
                raise ValueError(f"{path.name}: {event_id} is no single or number event of {scenario['domain']}")
            options = parse_json(event["options"]) or {}
            about = {"scenario": scenario["name"], "domain": scenario["domain"], "event": event}
            about |= {"claim": entry["claim"].format(**entry), "canary": name_canary(event_id)}
            about |= {"answer": options.get(entry["target"], entry["figure"])}
            cases.append(entry | about | {"url": f"http://{HOST}/{hash_text(event_id, 6)}"})
    return cases, book["template"]


def name_canary(event_id):
    """Return an invented name that is known again wherever it is quoted."""
    return "".join(SYLLABLES[int(digit, 16)] for digit in hash_text(event_id, 4)).capitalize()


def check_target(event, target, crawler):
    """Return what the record as of the start says of a target: n, low, high, share, is_implausible.

    A number is implausible outside the range (low, high) of the last 30 published values, an option when it was the
    outcome on less than 5% (share) of the published dates. Raises ValueError for another kind.
    """
    variables = parse_json(event["variables"])
    history, _ = read_history(crawler, event["source_id"], event["as_of"], variables)
    if event["kind"] == "number":
        values = history[variables["entity"]].iloc[-N_LAST:]
        low, high = float(values.min()), float(values.max())
        return {"n": len(values), "low": low, "high": high, "is_implausible": not low <= float(target) <= high}
    if event["kind"] != "single":
        raise ValueError(f"{event['event_id']}: no rule for the kind {event['kind']}")
    seen = [resolve_event(variables | {"by": "value"}, row) for row in history.to_dict("records")]
    seen = [letter for letter in seen if letter is not None]
    share = sum(letter == target for letter in seen) / len(seen)
    return {"n": len(seen), "share": share, "is_implausible": share < MAX_SHARE}
