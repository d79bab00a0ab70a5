"""Screen candidate pages for sources of questions: by rule, and by a language model (FutureX 3.2.1, appendix C.1).

A page is fine when it stays at its address, shows dated figures in its text, brings new dates at even steps, and is no
copy of a page listed before it. Decoys are synthetic pages with one known fault each, made from a source's rows.
"""

import re
import zlib
from html import escape
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from lxml import etree

from helpers.calendar import find_dates
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.web.markup import check_size, parse_html
from helpers.web.pages import GatewayError
from helpers.web.replay import Site
from helpers.web.session import Adapter, Web, date_page, say
from helpers.web.sources import read_rows

REASONS = ("fine", "moving_address", "hidden_content", "no_figures", "irregular_updates", "duplicate")
"""What a judge may say of a page: fine, or the first fault found, in the order in which the rule looks for them."""
NUMBER = r"(?<![\w.-])-?\d[\d,]*(?:\.\d+)?(?![\w-])"
MAX_GAP_DAYS = 8
"""Longest step between dates that is always even; longer ones are where they are below twice the usual step."""
SAME_SHARE = 0.8
"""Share of a page's dated figures that stand on another page, from which it counts as a copy of it."""
N_WORDS = 10
"""Words shown to a model of a page's beginning, and as many of its end."""
N_DATES = 6
"""Dates of the last visit shown to a model, the newest."""
FORM = {
    "address": ("same", "moves"),
    "figures": ("shown", "hidden", "none"),
    "dates": ("even", "uneven"),
    "copied": ("none", "most"),
}
"""What a model says of a page, the good word first: a small one fills a form better than it weighs a list of faults."""
FAULTS = {
    ("address", "moves"): "moving_address",
    ("figures", "hidden"): "hidden_content",
    ("figures", "none"): "no_figures",
    ("dates", "uneven"): "irregular_updates",
    ("copied", "most"): "duplicate",
}
SCHEMA = make_schema(**{name: {"enum": list(words)} for name, words in FORM.items()})


class Visit(NamedTuple):
    """One visit of a page: when, where it ended (None when nothing came), its text with dated figures, its markup."""

    moment: str
    url: str | None
    text: str
    figures: frozenset
    markup: str


def visit_page(web, address, moments):
    """Return a page's visits at some moments, oldest first; one that brought nothing has no url and no text.

    A page that is broken, or beyond what is read (`web.markup`), shows nothing.
    """
    visits = []
    for moment in sorted(moments):
        try:
            page = web.fetch(address, moment)
            text = read_visible(page.text, page.content_type)
            visits.append(Visit(moment, page.url, text, find_figures(text), page.text))
        except GatewayError:
            visits.append(Visit(moment, None, "", frozenset(), ""))
        except (ValueError, etree.ParserError):
            visits.append(Visit(moment, page.url, "", frozenset(), ""))
    return visits


def read_visible(text, content_type):
    """Return what a reader sees of a page: no scripts, no styles, no small print at its foot. Raises as
    `web.markup`.
    """
    if "json" in content_type:
        check_size(text)
        return " ".join(re.sub(r'"note": "[^"]*",?', "", text).split())
    tree = parse_html(text)
    etree.strip_elements(tree, "script", "style", "footer", "title", "noscript", with_tail=False)
    return " ".join(" ".join(tree.itertext()).split())


def find_figures(text):
    """Return a text's dated figures: a set of (date, the numbers that follow it up to the next date).

    >>> sorted(find_figures("Rain: 9 October 2016, 3 mm of 7; 2016-10-10 4.5 mm; next on 11 October 2016"))
    [('2016-10-09', ('3', '7')), ('2016-10-10', ('4.5',))]
    """
    dates = [date for date in find_dates(text) if date.year and date.day]
    ends = [date.start for date in dates[1:]] + [len(text)]
    parts = [re.findall(NUMBER, text[date.end : end]) for date, end in zip(dates, ends, strict=False)]
    days = [f"{date.year}-{date.month:02}-{date.day:02}" for date in dates]
    return frozenset((day, tuple(numbers)) for day, numbers in zip(days, parts, strict=True) if numbers)


def judge_page(address, visits, listed=()):
    """Return (reason, note) of a candidate by rule; reason is one of `REASONS`.

    `listed` are (name, dated figures) of the pages listed before.
    """
    elsewhere = [visit for visit in visits if visit.url != address]
    if elsewhere:
        return "moving_address", f"{len(elsewhere)} of {len(visits)} visits ended elsewhere"
    figures = [visit.figures for visit in visits]
    if not all(figures):
        empty = visits[[bool(found) for found in figures].index(False)]
        is_hidden = bool(find_figures(empty.markup)) or "<img" in empty.markup
        return ("hidden_content", "dated figures only in markup") if is_hidden else ("no_figures", "no dated figures")
    fault = find_unevenness(figures)
    if fault:
        return "irregular_updates", fault
    name, share = find_closest(figures[-1], listed)
    if share >= SAME_SHARE:
        return "duplicate", f"{share:.0%} of its figures are on {name}"
    return "fine", ""


def find_unevenness(figures):
    """Return what is uneven about the dates of several visits, "" when nothing is."""
    days = [pd.Timestamp(date) for date in sorted({date for date, _ in frozenset().union(*figures)})]
    gaps = [(later - day).days for day, later in pairwise(days)]
    if not gaps or max(figures[-1])[0] == max(figures[0])[0]:
        return "no new date between the first visit and the last"
    longest, usual = max(gaps), float(np.median(gaps))
    is_uneven = longest > MAX_GAP_DAYS and longest > 2 * usual
    return f"a step of {longest} days where {usual:g} are usual" if is_uneven else ""


def find_closest(figures, listed):
    """Return (name, share) of the listed page that holds most of some dated figures; (None, 0) when none is listed."""
    shares = [(len(figures & other) / len(figures), name) for name, other in listed] if figures else []
    share, name = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return name, share


def word_candidate(address, visits, listed=()):
    """Return the prompt that puts a candidate to a model: its first and last visit, and the closest listed page."""
    name, share = find_closest(visits[-1].figures, listed)
    blanks = {"asked": address, "copies": f"{share:.0%} of its figures are on {name}" if share else "0%"}
    for place, visit, n_dates in (("first", visits[0], 1), ("last", visits[-1], N_DATES)):
        dates, words = sorted({date for date, _ in visit.figures})[-n_dates:], visit.text.split()
        is_short = len(words) <= 2 * N_WORDS
        text = visit.text if is_short else " ".join([*words[:N_WORDS], "...", *words[-N_WORDS:]])
        blanks |= {f"{place}_day": visit.moment[:10], f"{place}_address": visit.url or "nothing"}
        blanks |= {f"{place}_dates": ", ".join(date[5:] for date in dates) or "none"}
        blanks |= {f"{place}_text": text or "none"}
    return read_prompt("curate_source").format(**blanks)


def read_reason(said):
    """Return the first fault that a model's form names, "fine" when it names none."""
    return next((FAULTS[pair] for pair in said.items() if pair in FAULTS), "fine")


def screen_pages(candidates, consult=None):
    """Return a row a candidate and judge: candidate_id, truth, judge (rule, model), status, reason, is_accepted, note.

    `candidates` are (id, address, truth, visits): a page can be a copy of one that the rule accepted before it. A
    missing or invalid reply of `consult` leaves reason and is_accepted None.
    """
    rows, listed = [], []
    for candidate_id, address, truth, visits in candidates:
        reason, note = judge_page(address, visits, listed)
        rows.append((candidate_id, truth, "rule", "ok", reason, reason == "fine", note))
        if consult:
            verdict = consult(word_candidate(address, visits, listed), SCHEMA)
            said = read_reason(verdict.value) if verdict.value else None
            rows.append((candidate_id, truth, "model", verdict.status, said, said == "fine" if said else None, ""))
        if reason == "fine":
            listed.append((candidate_id, visits[-1].figures))
    columns = ["candidate_id", "truth", "judge", "status", "reason", "is_accepted", "note"]
    return pd.DataFrame(rows, columns=columns)


DECOYS = REASONS[1:]
"""The decoys' kinds: each has the fault of its name."""


class Decoy:
    """A synthetic page with one fault, made from a source's rows; shown by `DecoySites`."""

    def __init__(self, kind, source, rng):
        rows = read_rows(source)
        if kind == "irregular_updates":
            rows = thin_rows(rows, rng)
        self.kind, self.source, self.site = kind, source, Site(source, rows)
        self.id = f"decoy_{kind}_{source.id}"
        self.address = f"http://site-{zlib.crc32(self.id.encode()):08x}.replay/"  # a name would tell the kind

    def render(self, clock):
        """Return (content type, text, newest publication) as of a moment, like a site, with the fault put in."""
        page = self.site.render(clock)
        if page is None or self.kind not in ("hidden_content", "no_figures"):
            return page
        body, data = "<p>What we measure and who we are.</p>", re.sub(r"</?script", "", page[1]).replace("`", "'")
        if self.kind == "hidden_content":  # nothing in text: data for a script, and a picture of it
            body = f"<div id='chart'><img src='chart.png'></div><script>draw(`{data}`)</script>"
        name = escape(self.source.name)
        return "text/html", f"<html><title>{name}</title><body><h1>{name}</h1>{body}</body></html>", page[2]


def thin_rows(rows, rng):
    """Return the rows of some days only, at uneven steps of 1 to 26 days."""
    days = rows["occurred_at"].str[:10]
    first, last = pd.Timestamp(days.min()), pd.Timestamp(days.max())
    steps = rng.permutation(np.tile([1, 2, 4, 11, 26], 200))
    kept = {str((first + pd.Timedelta(days=int(n))).date()) for n in steps.cumsum() if n <= (last - first).days}
    return rows[days.isin(kept)].reset_index(drop=True)


class DecoySites(Adapter):
    """Answers for decoys; one with a moving address sends each visit on to an address of that day."""

    def __init__(self, decoys):
        self.decoys = {decoy.address: decoy for decoy in decoys}

    def answer(self, url, clock):
        """Return (status, body, headers) of a decoy as of a moment."""
        home, issue, _ = url.partition("issue-")
        decoy = self.decoys.get(home)
        if decoy and decoy.kind == "moving_address" and not issue:
            return say(302, "moved", Location=f"{home}issue-{pd.Timestamp(clock, unit='s'):%Y%m%d%H}/")
        page = decoy and decoy.render(clock)
        return date_page(*page) if page else say(404, "nothing was published by then")


def draw_pages(sources, rng, n_good, n_each):
    """Return (good sources, decoys): `n_good` of the registry (no market), and `n_each` decoys of each kind.

    Decoys are made of other sources that publish daily, copies of good ones. Raises ValueError for too few of them.
    """
    pool = [source for source in sources.values() if source.form != "market"]
    pool = [pool[i] for i in rng.permutation(len(pool))]
    good, rest = pool[:n_good], [source for source in pool[n_good:] if source.update_frequency == "daily"]
    decoys = []
    for kind in DECOYS:
        made_of = [source for source in good if source.update_frequency == "daily"] if kind == "duplicate" else rest
        if len(made_of) < n_each:
            raise ValueError(f"only {len(made_of)} daily sources to make {n_each} {kind} decoys of; ask for fewer")
        decoys += [Decoy(kind, source, rng) for source in made_of[:n_each]]
        rest = rest if kind == "duplicate" else rest[n_each:]
    return sorted(good, key=lambda source: source.id), decoys


def visit_candidates(good, decoys, world, moments):
    """Return candidates for `pages.screen_pages`: (id, address, truth, visits), the good pages of a world first."""
    sites = Web(DecoySites(decoys))
    rows = [(source, "fine", world) for source in good] + [(decoy, decoy.kind, sites) for decoy in decoys]
    return [(page.id, page.address, truth, visit_page(web, page.address, moments)) for page, truth, web in rows]
