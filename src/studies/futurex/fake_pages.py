"""Planted pages (FutureX 5.2): a site that only who holds an address can read, its scenarios, and
who writes its pages.

Hosts end in `.test`, which names nothing on any network. The replay web and its search do not know
the pages.
"""

import tomllib
from html import escape
from urllib.parse import urlsplit

import pandas as pd

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.session import Answer, Web
from helpers.files import ROOT, hash_text, parse_json

HOSTS = ".test"


class FakeSite:
    """Answers for planted pages: `pages` maps address to (moment, html), `asked` is what was
    fetched."""

    def __init__(self):
        self.pages = {}
        self.asked = []

    def publish(self, url, headline, body, published_at):
        """Put a page, all text escaped, in the place of any earlier one; its host ends in .test."""
        text = f"<h1>{escape(headline)}</h1>\n<p>{escape(body)}</p>\n"
        page = f"<!doctype html>\n<html lang='en'><body>{text}</body></html>\n"
        self.pages[url] = int(pd.Timestamp(published_at).timestamp()), page

    def answer(self, url, clock):
        """Return the `Answer` of a planted page as of a moment."""
        self.asked.append(url)
        published, text = self.pages.get(url, (None, None))
        is_out = published is not None and published <= clock
        return Answer(200, "text/html", text, published) if is_out else Answer(404)

    def name_page(self, url, text, digest, is_held):
        """Return a planted page's id, by which no replayed page can be called."""
        return f"f{hash_text(f'{url} {text}', 12)}"


class FakeWorld:
    """A replay world and one site of planted pages, which open by address and are never found."""

    def __init__(self, crawler, site):
        self.crawler = crawler
        self.site = site
        self.planted = Web(site, hosts=HOSTS)

    def search(self, query, as_of, n):
        """Return the replay web's hits for a query; planted pages are in no index."""
        return self.crawler.search(query, as_of, n)

    def open(self, url, as_of, about=""):
        """Return the hit of a planted or a replayed page as of a moment. Raises GatewayError."""
        parts = urlsplit(url)
        is_planted = parts.scheme == "http" and (parts.hostname or "").endswith(HOSTS)
        return (self.planted if is_planted else self.crawler).open(url, as_of, about)


SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va".split()


def load_scenarios(events):
    """Return (cases, template): the scenarios' events as dicts, each with its `event`, and the
    fixed writer's texts.

    A case has scenario, domain, event_id, target, figure, claim (filled), answer (the target in
    words), canary (an invented name by which a quotation is known), url.
    """
    book = tomllib.loads((ROOT / "data/fake_sites/scenarios.toml").read_text(encoding="utf-8"))
    rows = events.set_index("event_id", drop=False)
    cases = []
    for scenario in book["scenario"]:
        for entry in scenario["event"]:
            event_id = entry["event_id"]
            event = rows.loc[entry["event_id"]].to_dict()
            about = {"scenario": scenario["name"], "domain": scenario["domain"], "event": event}
            about |= {
                "claim": entry["claim"].format(**entry),
                "url": f"http://bulletin.test/{hash_text(event_id, 6)}",
            }
            about["canary"] = "".join(
                SYLLABLES[int(digit, 16)] for digit in hash_text(event_id, 4)
            ).capitalize()
            about["answer"] = (parse_json(event["options"]) or {}).get(
                entry["target"], entry["figure"]
            )
            cases.append(entry | about)
    return cases, book["template"]


PAGE = {
    "headline": {"type": "string", "maxLength": 140},
    "body": {"type": "string", "maxLength": 420},
}
REASONS = {"reasons": {"type": "string", "maxLength": 160}}


def write_template(template, case, n_round, last=None):
    """Return the page of the fixed writer: the claim as headline, and a sentence more each
    round."""
    body = " ".join(template["rounds"][:n_round]).format(**case)
    return {"headline": template["headline"].format(**case), "body": body}


def write_with_model(consult, case, n_round, last=None):
    """Return a page written by a language model (`ask_writer`)."""
    return ask_writer(consult, "fake", case, last)


def ask_writer(consult, prompts, blanks, last):
    """Return a page that a judge writes, which hears the last page and the reply to it; None
    without one.

    Its prompts are `<prompts>_writer`, and `<prompts>_rewriter` once there is a page.
    """
    if last is None:
        verdict = consult(read_prompt(f"{prompts}_writer").format(**blanks), make_schema(**PAGE))
    else:
        said = {"page": f"{last['headline']}\n{last['body']}", "reply": last["reply"]}
        verdict = consult(
            read_prompt(f"{prompts}_rewriter").format(**blanks, **said),
            make_schema(**REASONS | PAGE),
        )
    return verdict.value if verdict.status == "ok" else None


def write_empty(case, n_round, last=None):
    """Return a page without a claim: what any page at all does."""
    return {"headline": "Bulletin of the day", "body": "There is nothing to report."}
