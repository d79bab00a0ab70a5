"""Mutate real pages of every source and see what escapes.

A mutated page goes all the way that a page goes: read by its source's rule, made into questions of its day, answers of
theirs looked for on it, cut into passages. ExtractionError is its source's recorded failure; anything else escapes.
All is seeded; the pages are those of the replay web, so nothing leaves this machine.
"""

import random
import re
import time
from contextlib import redirect_stderr
from io import StringIO

import pandas as pd

from helpers.calendar import ZONE, stamp_moment
from helpers.events.collect import collect_day
from helpers.question_sets import WINDOWS
from helpers.scoring.answers import attempt_group
from helpers.store import dump_json
from helpers.web.extract import ExtractionError
from helpers.web.pages import Page, decode_body
from helpers.web.passages import read_page
from helpers.web.replay import open_world
from helpers.web.session import Web
from helpers.web.sources import load_sources

SEED = 15
MAX_PAGE_S = 10
"""No mutated page may take longer, on a busy machine too."""
ENCODINGS = ("utf-16", "utf-8-sig", "cp1252", "utf-7", "utf-32", "shift_jis", "cp037")
NUMBERS = ("1e308", "9" * 400, "9" * 5000, "NaN", "Infinity", "-0", "1e-320", "0x10", "١٢٣", "1_0", "", "null")
DATES = ("9999-12-31", "0001-01-01", "2016-13-45", "31 December 9999", "0 May 2016", "2016-10-09T25:00", "2262-04-12")
NAMES = ("\\ud800", "\\u0000", "=1+1", "x" * 20_000, "", "null", "[]", "{}", "\u202e", "0", "true", "&lt;", "'", '"')
NUMBER, DATE = re.compile(rb"-?\d[\d,]*\.?\d*"), re.compile(rb"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}")
TAG, NAME = re.compile(rb"<[^<>]*>|[\[\]{}]"), re.compile(rb"(?<=>)[^<>]+(?=<)|\"[^\"]*\"")


def replace_one(rng, body, pattern, words):
    """Return a page with one match of a pattern replaced by a word."""
    found = list(pattern.finditer(body))
    if not found:
        return body
    chosen = rng.choice(found)
    return body[: chosen.start()] + rng.choice(words).encode() + body[chosen.end() :]


def swap_two(rng, body, pattern):
    """Return a page with two matches of a pattern in each other's place."""
    found = list(pattern.finditer(body))
    if len(found) < 2:
        return body
    first, last = sorted(rng.sample(found, 2), key=lambda match: match.start())
    middle = body[first.end() : last.start()]
    return body[: first.start()] + last[0] + middle + first[0] + body[last.end() :]


def flip_bytes(rng, body):
    """Return a page with some bytes changed."""
    flipped = bytearray(body)
    for _ in range(rng.choice((1, 3, 30))):
        flipped[rng.randrange(len(flipped))] = rng.randrange(256)
    return bytes(flipped)


def delete_tags(rng, body):
    """Return a page without some of its tags, or brackets."""
    gone = set(rng.sample(found, min(len(found), rng.choice((1, 2, 9))))) if (found := TAG.findall(body)) else set()
    return TAG.sub(lambda match: b"" if match[0] in gone and rng.random() < 0.7 else match[0], body)


def repeat_part(rng, body):
    """Return a page with a part of it written several times more."""
    start, end = sorted(rng.sample(range(len(body)), 2))
    return body[:end] + body[start:end] * rng.choice((1, 5)) + body[end:]


def nest_part(rng, body):
    """Return a page inside, or behind, many tags or brackets."""
    n = rng.choice((40, 3000, 50_000))
    opening = rng.choice((b"<table><tr><td>", b"<div>", b"[", b'{"a":', b"<section class='issue'>"))
    return opening * n + body


def write_attributes(rng, body):
    """Return a page with a tag of very many attributes."""
    many = b" ".join(b"a%d=%d" % (n, n) for n in range(rng.choice((50, 20_000))))
    ends = [at for at, byte in enumerate(body) if byte == ord(">")][1:]
    if not ends:
        return b"<p " + many + b">" + body
    end = rng.choice(ends)
    return body[:end] + b" " + many + body[end:]


MUTATIONS = {
    "bytes flipped": flip_bytes,
    "cut off": lambda rng, body: body[: rng.choice((0, 1, rng.randrange(len(body))))],
    "tags deleted": delete_tags,
    "number replaced": lambda rng, body: replace_one(rng, body, NUMBER, NUMBERS),
    "numbers swapped": lambda rng, body: swap_two(rng, body, NUMBER),
    "date replaced": lambda rng, body: replace_one(rng, body, DATE, DATES),
    "dates swapped": lambda rng, body: swap_two(rng, body, DATE),
    "name replaced": lambda rng, body: replace_one(rng, body, NAME, NAMES),
    "names swapped": lambda rng, body: swap_two(rng, body, NAME),
    "encoded otherwise": lambda rng, body: body.decode().encode(rng.choice(ENCODINGS), errors="replace"),
    "part repeated": repeat_part,
    "nested deep": nest_part,
    "many attributes": write_attributes,
    "empty": lambda rng, body: rng.choice((b"", b"<html></html>", b"null", b"[]", b"{}", b"\x00", b"0")),
}
"""Name of a mutation -> what makes it of a page's bytes."""


def load_pages(sources, connect):
    """Return {source_id: (moment, window, Page)} as of a day in each source's first window, late enough to be full."""
    pages, crawler = {}, connect()
    for source_id, source in sources.items():
        window = next(window for window in WINDOWS if window in source.windows)
        moment = stamp_moment(pd.Timestamp(WINDOWS[window][1], tz=ZONE) - pd.Timedelta(days=5))
        pages[source_id] = moment, window, crawler.fetch(source.address, moment)
    return pages


def try_page(source, page, pages, sources):
    """Take a page the way that pages go; returns "read", "refused", or what escaped."""
    moment, window, _ = pages[source.id]
    shown = {sources[name].address: p for name, (_, _, p) in pages.items()} | {source.address: page}
    crawler = Web(None, sources)
    crawler.fetch = lambda url, as_of: shown[url]
    day = pd.Timestamp(moment[:10])
    try:
        read_page(page.text, page.content_type)
        candidates, _ = collect_day(source, crawler, window, day, {}, SEED, 7)
        for event in candidates:
            row = event | {"terms": event["variables"], "options": dump_json(event["options"])}
            list(attempt_group(crawler, source.id, [row], pd.Timestamp(moment)))
        crawler.observe(source.id, moment)
    except ExtractionError:
        return "refused"
    except Exception as error:  # what this program looks for
        return f"{type(error).__name__}: {str(error)[:80]}"
    return "read"


def mutate_pages(n_mutations, seed=SEED):
    """Return a row a mutation tried: source_id, mutation, outcome, seconds."""
    sources, rng, rows = load_sources(), random.Random(seed), []
    with open_world() as connect:
        pages = load_pages(sources, connect)
    names = list(pages) + ["market"] * (len(pages) // 5)  # the page that says most
    for n in range(n_mutations):
        source, mutation = sources[names[n % len(names)]], rng.choice(list(MUTATIONS))
        page = pages[source.id][2]
        body = MUTATIONS[mutation](rng, page.text.encode())
        mutated = Page(f"m{n}", page.url, page.published_at, page.content_type, decode_body(body[:5_000_000]))
        begun = time.perf_counter()
        with redirect_stderr(StringIO()):
            outcome = try_page(source, mutated, pages, sources)
        rows.append((source.id, mutation, outcome, time.perf_counter() - begun))
    return pd.DataFrame(rows, columns=["source_id", "mutation", "outcome", "seconds"])


def summarize_mutations(rows):
    """Return a row a mutation: pages (sources), mutations, read, refused, escapes, the longest one's seconds."""
    is_escape = ~rows["outcome"].isin(["read", "refused"])
    grouped = rows.assign(escape=is_escape).groupby("mutation")
    table = grouped.agg(pages=("source_id", "nunique"), mutations=("outcome", "size"), escapes=("escape", "sum"))
    for outcome in ("read", "refused"):
        table[outcome] = grouped["outcome"].agg(lambda cells, outcome=outcome: (cells == outcome).sum())
    return table.assign(longest_s=grouped["seconds"].max().round(2))
