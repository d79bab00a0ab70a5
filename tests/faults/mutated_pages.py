"""Mutate real pages of every source and see what escapes.

A mutated page goes all the way that a page goes: read by its source's rule, made into questions of
its day, answers of theirs looked for on it, cut into passages. ExtractionError is its source's
recorded failure; anything else escapes. All is seeded; the pages are those of the replay web, so
nothing leaves this machine.
"""

import random
import re
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from io import StringIO
from multiprocessing import get_context

import pandas as pd
from faults.table import judge

from daybefore.questions.collect_events import collect_day
from daybefore.scoring.acquire_answers import attempt_group
from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import Page, decode_body
from daybefore.web.passages import read_page
from daybefore.web.replay import open_world
from daybefore.web.session import Web
from daybefore.web.source_registry import load_sources
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json
from helpers.set_names import WINDOWS

SEED, MAX_PAGE_S = 15, 10
"""Where the draws begin, and the seconds that no mutated page may take, on a busy machine too."""
ENCODINGS = ("utf-16", "utf-8-sig", "cp1252", "utf-7", "utf-32", "shift_jis", "cp037")
DEEP = (b"<table><tr><td>", b"<div>", b"[", b'{"a":', b"<section class='issue'>")
PATTERNS = {
    "number": rb"-?\d[\d,]*\.?\d*",
    "date": rb"\d{4}-\d\d-\d\d|\d{1,2} [A-Z][a-z]+ \d{4}",
    "name": rb"(?<=>)[^<>]+(?=<)|\"[^\"]*\"",
    "tag": rb"<[^<>]*>|[\[\]{}]",
}
WORDS = {
    "number": (
        "9" * 400,
        "9" * 5000,
        *"1e308 NaN Infinity -0 1e-320 0x10 ١٢٣ 1_0 null".split(),
        "",
    ),
    "date": (
        "9999-12-31",
        "0001-01-01",
        "2016-13-45",
        "31 December 9999",
        "0 May 2016",
        "2262-04-12",
    ),
    "name": (
        "\u202e",
        "x" * 20_000,
        *r"\ud800 \u0000 =1+1 null [] {} 0 true &lt;".split(),
        "",
        "'",
        '"',
    ),
    "tag": ("", "", "<p " + " ".join(f"a{n}={n}" for n in range(20_000)) + ">"),
}


def replace_one(rng, body, what):
    """Return a page with one number, date, name or tag replaced by a word, or by another one of the
    page."""
    found = list(re.finditer(PATTERNS[what], body))
    if not found:
        return body
    chosen, other = rng.choice(found), rng.choice(found)[0]
    new = rng.choice((other, rng.choice(WORDS[what]).encode()))
    return body[: chosen.start()] + new + body[chosen.end() :]


def flip_bytes(rng, body):
    """Return a page with some bytes changed."""
    flipped = bytearray(body)
    for _ in range(rng.choice((1, 3, 30))):
        flipped[rng.randrange(len(flipped))] = rng.randrange(256)
    return bytes(flipped)


def repeat_part(rng, body):
    """Return a page with a part of it written several times more."""
    start, end = sorted(rng.sample(range(len(body)), 2))
    return body[:end] + body[start:end] * rng.choice((1, 5)) + body[end:]


MUTATIONS = {
    "bytes flipped": flip_bytes,
    "cut off": lambda rng, body: body[: rng.choice((0, 1, rng.randrange(len(body))))],
    **{
        f"{what} replaced": lambda rng, body, what=what: replace_one(rng, body, what)
        for what in PATTERNS
    },
    "encoded otherwise": lambda rng, body: body.decode().encode(
        rng.choice(ENCODINGS), errors="replace"
    ),
    "part repeated": repeat_part,
    "nested deep": lambda rng, body: rng.choice(DEEP) * rng.choice((40, 3000, 50_000)) + body,
    "empty": lambda rng, body: rng.choice(
        (b"", b"<html></html>", b"null", b"[]", b"{}", b"\x00", b"0")
    ),
}
"""Name of a mutation -> what makes it of a page's bytes."""


def load_pages(sources):
    """Return {source_id: (moment, window, Page)} as of a day in each source's first window, late
    enough to be full."""
    pages = {}
    with open_world() as connect:
        crawler = connect()
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
    try:
        read_page(page.text, page.content_type)
        candidates, _ = collect_day(source, crawler, window, pd.Timestamp(moment[:10]), {}, SEED, 7)
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
    pages = load_pages(sources)
    names = list(pages) + ["market"] * (len(pages) // 5)  # the page that says most
    for n in range(n_mutations):
        source, mutation = sources[names[n % len(names)]], rng.choice(list(MUTATIONS))
        page = pages[source.id][2]
        body = MUTATIONS[mutation](rng, page.text.encode())
        mutated = Page(
            f"m{n}", page.url, page.published_at, page.content_type, decode_body(body[:5_000_000])
        )
        begun = time.process_time()
        with redirect_stderr(StringIO()):
            outcome = try_page(source, mutated, pages, sources)
        rows.append((source.id, mutation, outcome, time.process_time() - begun))
    return pd.DataFrame(rows, columns=["source_id", "mutation", "outcome", "seconds"])


def read_pages(folder, n=5_000):
    """Read pages of all sources, mutated, in two processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        rows = pd.concat(pool.map(mutate_pages, [n // 2] * 2, [SEED, SEED + 1]), ignore_index=True)
    count = rows["outcome"].value_counts()
    faults = {
        "escaped": n - count["read"] - count["refused"],
        "slow": int((rows["seconds"] > MAX_PAGE_S).sum()),
    }
    seen = f"{count['read']} read, {count['refused']} refused"
    return judge(n, faults, seen, longest_s=round(rows["seconds"].max(), 1))


PLAYS = {"mutated pages": ("read, or the source's recorded failure, within 10 s", read_pages)}
