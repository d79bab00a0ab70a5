"""Screen candidate pages for sources of questions: by rule, and by a language model (FutureX 3.2.1, appendix C.1).

A candidate is visited at several moments. It is fine when it stays at its address, shows dated figures in its text,
brings new dates at even steps, and is no copy of a page listed before it.
"""

import re
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


# --- visits ----------------------------------------------------------------------------------------------------------


def visit_page(web, address, moments):
    """Return a page's visits at some moments, oldest first; one that brought nothing has no url and no text.

    A page that is broken, or beyond what is read (`web.markup`), shows nothing: no text and no markup.
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
    """Return what a reader sees of a page: no scripts, no styles, no small print at its foot.

    Raises ValueError for a page beyond the limits of `web.markup`, lxml.etree.ParserError for an empty one.

    >>> read_visible("<body><p>Rain: 3 mm</p><script>draw(4)</script><footer>Since 2001</footer></body>", "text/html")
    'Rain: 3 mm'
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


def list_dates(figures):
    """Return the dates of dated figures, sorted."""
    return sorted({date for date, _ in figures})


# --- the rule --------------------------------------------------------------------------------------------------------


def judge_page(address, visits, listed=()):
    """Return (reason, note) of a candidate by rule; reason is one of `REASONS`.

    `visits` as from `visit_page`; `listed` are (name, dated figures) of the pages listed before. Raises
    ValueError without a visit.
    """
    if not visits:
        raise ValueError(f"{address} was not visited; a page is judged by what visits show")
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
    days = [pd.Timestamp(date) for date in list_dates(frozenset().union(*figures))]
    gaps = [(later - day).days for day, later in pairwise(days)]
    if not gaps or max(list_dates(figures[-1])) == max(list_dates(figures[0])):
        return "no new date between the first visit and the last"
    longest, usual = max(gaps), float(np.median(gaps))
    is_uneven = longest > MAX_GAP_DAYS and longest > 2 * usual
    return f"a step of {longest} days where {usual:g} are usual" if is_uneven else ""


def find_closest(figures, listed):
    """Return (name, share) of the listed page that holds most of some dated figures; (None, 0) when none is listed.

    >>> find_closest({("2016-10-09", ("3",)), ("2016-10-10", ("4",))}, [("rain", {("2016-10-09", ("3",))})])
    ('rain', 0.5)
    """
    shares = [(len(figures & other) / len(figures), name) for name, other in listed] if figures else []
    share, name = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return name, share


# --- the model -------------------------------------------------------------------------------------------------------


def cut_words(text, n=N_WORDS):
    """Return a text's first and last `n` words.

    >>> cut_words("a b c d e", 2), cut_words("a b c", 2)
    ('a b ... d e', 'a b c')
    """
    words = text.split()
    return text if len(words) <= 2 * n else " ".join([*words[:n], "...", *words[-n:]])


def word_candidate(address, visits, listed=()):
    """Return the prompt that puts a candidate to a model: its first and last visit, and the closest listed page."""
    name, share = find_closest(visits[-1].figures, listed)
    blanks = {"asked": address, "copies": f"{share:.0%} of its figures are on {name}" if share else "0%"}
    for place, visit, n_dates in (("first", visits[0], 1), ("last", visits[-1], N_DATES)):
        dates = list_dates(visit.figures)[-n_dates:]
        blanks |= {f"{place}_day": visit.moment[:10], f"{place}_address": visit.url or "nothing"}
        blanks |= {f"{place}_dates": ", ".join(date[5:] for date in dates) or "none"}
        blanks |= {f"{place}_text": cut_words(visit.text) or "none"}
    return read_prompt("curate_source").format(**blanks)


def read_reason(said):
    """Return the first fault that a model's form names, "fine" when it names none.

    >>> read_reason({"address": "same", "figures": "shown", "dates": "uneven", "copied": "most"})
    'irregular_updates'
    """
    return next((FAULTS[pair] for pair in said.items() if pair in FAULTS), "fine")


def screen_pages(candidates, consult=None):
    """Return a row a candidate and judge: candidate_id, truth, judge (rule, model), status, reason, is_accepted, note.

    `candidates` are (id, address, truth, visits) in their order: a page can be a copy of one that the rule accepted
    before it. `consult` asks a model (`models.judges`); a missing or invalid reply leaves reason and is_accepted None.
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


def pivot_views(screened):
    """Return the judges' views of candidate pages (`screen_pages`): index candidate_id, a column a judge."""
    views = screened.pivot(index="candidate_id", columns="judge", values="is_accepted").astype(object)
    return views.where(views.notna(), None).reindex(screened["candidate_id"].drop_duplicates())
