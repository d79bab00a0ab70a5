"""A page of the web as it was fetched: what it is, how its bytes are read, why it could not be had,
how it is kept.

`open_world(keeps_pages=True)` keeps what is fetched under .cache (not in git), as `make run` does,
so that pages can be read afterwards by the page_ids in a run's traces. Notebooks keep none: the
replay shows their pages again.
"""

import contextlib
import re
import secrets
from dataclasses import dataclass
from html import unescape

from charset_normalizer import from_bytes
from requests.utils import get_encoding_from_headers

from helpers.files import dump_json, locate_input, locate_output, parse_json

CHARSETS = re.compile(
    r"(windows-|cp)(125\d|874|932|949)|iso-?8859-\d+|latin-?1|(us-)?ascii|koi8-[ru]|gb(k|2312|18030)|big5(-hkscs)?"
    r"|shift[-_]?jis|euc-(jp|kr)|utf-?16(le|be)?"
)
"""Charsets that a page may declare; Python's others (punycode, idna, utf-7 ...) are slow, or make
what is no text."""
FOLDER = ".cache/pages"
HEAD = 4000
"""A page's title stands in so many first characters."""
TITLES = {
    "html": re.compile(r"<title[^>]*>(.*?)</title>", re.S | re.I),
    "json": re.compile(r'"source":\s*("[^"\\]*")'),
}


class GatewayError(Exception):
    """A page that could not or must not be had; `status` says why.

    Everywhere: down (the site does not answer), absent, undated, too_late, outside (of the world,
    or inside this machine's network). On the open web too: robots (its robots.txt says no), busy
    (its host asks for patience, and wants no request before `until`), too_slow, too_large, redirect
    (it leads elsewhere).
    """

    def __init__(self, status, message, until=""):
        super().__init__(message)
        self.status, self.until = status, until


@dataclass(frozen=True)
class Page:
    """One fetched page: its text, when it was published, and the id under which it is recorded."""

    page_id: str
    url: str
    published_at: str
    content_type: str
    text: str


def decode_body(body, content_type=""):
    """Return a body's text: strict UTF-8 first, then the charset that its type declares, then a
    detector's guess.

    >>> decode_body("12 °C und über 7 Grad, also kühl für Oktober".encode("cp1252"), "text/html; charset=utf-8")
    '12 °C und über 7 Grad, also kühl für Oktober'
    """
    is_told = "charset" in content_type.lower()
    declared = get_encoding_from_headers({"content-type": content_type}) if is_told else None
    for charset in ("utf-8", declared):
        with contextlib.suppress(UnicodeDecodeError, LookupError):
            if charset and (charset == "utf-8" or CHARSETS.fullmatch(charset.lower())):
                return body.decode(charset)
    guess = from_bytes(
        body, cp_isolation=["cp1252", "utf_16", "shift_jis", "gb18030", "big5"]
    ).best()
    return str(guess) if guess else body.decode("utf-8", errors="replace")


def read_title(text, content_type):
    """Return a page's title: an html page's own, a JSON answer's `source`; None without one.

    >>> read_title("<html><title>Rates &amp; prices</title>", "text/html"), read_title('{"source": "A"}', "text/json")
    ('Rates & prices', 'A')
    """
    form = "json" if "json" in content_type else "html"
    with contextlib.suppress(ValueError):  # broken JSON
        if found := TITLES[form].search(text[:HEAD]):
            return parse_json(found[1]) if form == "json" else " ".join(unescape(found[1]).split())
    return None


def keep_page(page, text):
    """Keep a page (its row of the pages table, a dict) with its text: one file, moved into its
    place whole."""
    path = locate_output(f"{FOLDER}/{page['page_id']}.json")
    if not path.exists():  # several processes may keep one page at once
        beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
        beside.write_text(dump_json(page | {"text": text}), encoding="utf-8")
        beside.replace(path)


def read_kept(page_ids):
    """Return {page_id: row with its text} of those of some pages that were kept (none that is named
    by address)."""
    kept = {}
    for page_id in (page_id for page_id in page_ids if "/" not in page_id):
        with contextlib.suppress(FileNotFoundError):
            kept[page_id] = parse_json(
                locate_input(f"{FOLDER}/{page_id}.json").read_text(encoding="utf-8")
            )
    return kept
