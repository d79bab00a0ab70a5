"""A page of the web as it was fetched: what it is, how its bytes are read, why it could not be had, how it is kept.

`open_world(keeps_pages=True)` keeps what is fetched under .cache (not in git), as `make run` does, so that pages can be
read afterwards by the page_ids in a run's traces. Notebooks keep none: the replay shows their pages again.
"""

import contextlib
import re
import secrets
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pandas as pd
from charset_normalizer import from_bytes

from helpers.store import dump_json, locate_input, locate_output, parse_json
from helpers.tables import check_table

CHARSETS = re.compile(
    r"(windows-|cp)(125\d|874|932|949)|iso-?8859-\d+|latin-?1|(us-)?ascii|koi8-[ru]|gb(k|2312|18030)|big5(-hkscs)?"
    r"|shift[-_]?jis|euc-(jp|kr)|utf-?16(le|be)?"
)
"""Charsets that a page may declare; Python's others (punycode, idna, utf-7 ...) are slow, or make what is no text."""
FOLDER = ".cache/pages"
HEAD = 4000
"""A page's title stands in so many first characters."""
TITLES = {"html": re.compile(r"<title[^>]*>(.*?)</title>", re.S | re.I), "json": re.compile(r'"source":\s*("[^"\\]*")')}


class GatewayError(Exception):
    """A page that could not or must not be had; `status` says which: down, absent, undated, too_late, too_large,
    too_slow, outside."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Page:
    """One fetched page: its text, when it was published, and the id under which it is recorded."""

    page_id: str
    url: str
    published_at: str
    content_type: str
    text: str


def decode_body(body, declared):
    """Return a body's text: strict UTF-8 first, then the declared charset, then a detector for what else it may be.

    >>> decode_body("12 °C und über 7 Grad, also kühl für Oktober".encode("cp1252"), "utf-8")
    '12 °C und über 7 Grad, also kühl für Oktober'
    """
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if declared and CHARSETS.fullmatch(declared.lower()):
        try:
            return body.decode(declared)
        except (UnicodeDecodeError, LookupError):
            pass
    guess = from_bytes(body, cp_isolation=["cp1252", "utf_16", "shift_jis", "gb18030", "big5"]).best()
    return str(guess) if guess else body.decode("utf-8", errors="replace")


def read_title(text, content_type):
    """Return a page's title: an html page's own, a JSON answer's `source`; None without one.

    >>> read_title("<html><title>Rates &amp; prices</title>", "text/html"), read_title('{"source": "A"}', "text/json")
    ('Rates & prices', 'A')
    """
    form = "json" if "json" in content_type else "html"
    found = TITLES[form].search(text[:HEAD])
    if not found:
        return None
    try:
        return parse_json(found[1]) if form == "json" else " ".join(unescape(found[1]).split())
    except ValueError:  # broken JSON
        return None


def keep_page(page, text):
    """Keep a page (its row of the pages table, a dict) and its text; returns the row with `text_path`.

    Several processes may keep one page at once: each file is written beside and moved into its place whole.
    """
    page = page | {"text_path": f"{FOLDER}/{page['content_sha256']}"}
    write_once(locate_output(page["text_path"]), text)
    write_once(locate_output(f"{FOLDER}/{page['page_id']}.json"), dump_json(page))
    return page


def write_once(path, text):
    """Write a text to a file unless it is there, so that nobody ever sees half of it.

    Raises RuntimeError with what to do, and leaves nothing behind, when it cannot be written: a full disk, say.
    """
    if path.exists():
        return
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
    try:
        beside.write_bytes(text.encode())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # it was never begun
            beside.unlink()
        said = f"a page cannot be kept under {FOLDER} ({error.strerror}); make room on the disk and run it again"
        raise RuntimeError(said) from None


def read_kept(page_ids):
    """Return the pages table of those of some pages that were kept, in the order of `page_ids`."""
    rows = []
    for page_id in page_ids:
        try:
            rows.append(parse_json(locate_input(f"{FOLDER}/{page_id}.json").read_text(encoding="utf-8")))
        except FileNotFoundError:
            continue
    return check_table("pages", pd.DataFrame(rows, columns=None if rows else ["page_id"]))


def read_text(text_path):
    """Return a kept page's text. Raises FileNotFoundError where it was not kept."""
    return Path(locate_input(text_path)).read_bytes().decode()
