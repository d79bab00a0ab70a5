"""Decoys: synthetic pages with one known fault each, so that judges of pages can be held against the truth.

They are made from a source's rows; `DecoySites` answers for them as the replay web does for real sites.
"""

import re
import zlib
from html import escape

import numpy as np
import pandas as pd

from helpers.futurex.curation.pages import REASONS, visit_page
from helpers.web.replay import Site
from helpers.web.session import Adapter, Web, date_page, say
from helpers.web.sources import read_rows

DECOYS = REASONS[1:]
"""The decoys' kinds: each has the fault of its name."""


class Decoy:
    """A synthetic page with one fault, made from a source's rows; shown by `DecoySites`."""

    def __init__(self, kind, source, rng):
        if kind not in DECOYS:
            raise ValueError(f"decoy kind {kind!r} is unknown; it must be one of {', '.join(DECOYS)}")
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
        body = hide_figures(page[1]) if self.kind == "hidden_content" else "<p>What we measure and who we are.</p>"
        name = escape(self.source.name)
        return "text/html", f"<html><title>{name}</title><body><h1>{name}</h1>{body}</body></html>", page[2]


def thin_rows(rows, rng):
    """Return the rows of some days only, at uneven steps of 1 to 26 days."""
    days = rows["occurred_at"].str[:10]
    first, last = pd.Timestamp(days.min()), pd.Timestamp(days.max())
    steps = rng.permutation(np.tile([1, 2, 4, 11, 26], 200))
    kept = {str((first + pd.Timedelta(days=int(n))).date()) for n in steps.cumsum() if n <= (last - first).days}
    return rows[days.isin(kept)].reset_index(drop=True)


def hide_figures(text):
    """Return a page's body with its content as data for a script and a picture of it, nothing in text."""
    data = re.sub(r"</?script", "", text).replace("`", "'")
    return f"<div id='chart'><img src='chart.png'></div><script>draw(`{data}`)</script>"


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
    """Return (good sources, decoys): `n_good` of the registry, and `n_each` decoys of each kind.

    Decoys are made of other sources that publish daily, copies of good ones. A prediction market is no page of figures
    and is left out. Raises ValueError when there are too few to make decoys of.
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
