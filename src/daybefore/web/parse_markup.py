"""Parse a page within limits, so that none takes the time or the memory of the others.

What is refused costs many times its size to read. The registry's largest page has 0.4 million
characters, 15,000 tags, 4 attributes a tag and 8 levels; the limits lie far above.
"""

import json
import re
from datetime import datetime
from functools import lru_cache

from lxml import etree, html

MAX_CHARS, MAX_TAGS, MAX_DEPTH = 2_000_000, 100_000, 32
MAX_TAG, MAX_DIGITS = 300, 40
"""Characters of a tag beside its quoted values, and of a printed number."""
MAX_NUMBER = 2.0**53
"""Beyond it whole numbers are not exact; squares of what lies far beyond are infinite."""
YEARS = range(1700, 2200)
"""Years that moments in nanoseconds can hold."""

LONG_TAG = re.compile(rf"""<[a-zA-Z](?>=\s*+"[^"]*+"|=\s*+'[^']*+'|[^>]){{{MAX_TAG}}}+""")
PERIOD = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d)?")
PARSER = etree.HTMLParser(encoding="utf-8")
"""Makes plain elements: lxml's html ones are each made through a look-up in Python, and pages have
many cells."""
IS_DEEP = etree.XPath(f"boolean({'/*' * MAX_DEPTH})")
STRING = etree.XPath("string()")


def parse_html(text):
    """Return the tree of a page. Raises ValueError beyond the limits, lxml.etree.ParserError for an
    empty one."""
    check_size(text)
    if text.count("<") > MAX_TAGS:
        raise ValueError(f"more than {MAX_TAGS} tags")
    if LONG_TAG.search(text):
        raise ValueError(f"a tag has more than {MAX_TAG} characters beside its values")
    tree = html.fromstring(text.encode(), parser=PARSER)
    if IS_DEEP(tree):
        raise ValueError(f"tags in one another to a depth of {MAX_DEPTH}")
    return tree


def parse_json(text):
    """Return what a JSON page holds. Raises ValueError when it is too large or broken,
    RecursionError when too deep."""
    check_size(text)
    return json.loads(text)


def check_size(text):
    """Raise ValueError for a page of too many characters."""
    if len(text) > MAX_CHARS:
        raise ValueError(f"more than {MAX_CHARS} characters")


def read_text(element):
    """Return the text of an element; one without children is read without a query."""
    return STRING(element) if len(element) else element.text or ""


@lru_cache(maxsize=4096)
def read_period(text):
    """Read a page's date or time into the tables' form. Raises ValueError for what is none, or
    centuries away.

    >>> read_period("9 October 2016"), read_period("9 October 2016, 17:00"), read_period("2016-10-09 17:00")
    ('2016-10-09', '2016-10-09T17:00', '2016-10-09T17:00')
    """
    text = text.strip()[: 2 * MAX_DIGITS]
    if PERIOD.fullmatch(text):
        form = "%Y-%m-%dT%H:%M" if len(text) > 10 else "%Y-%m-%d"
    else:
        form = "%d %B %Y, %H:%M" if "," in text else "%d %B %Y"
    moment = datetime.strptime(text.replace(" ", "T") if form[1] == "Y" else text, form)  # noqa: DTZ007 (local time)
    if moment.year not in YEARS:
        raise ValueError(f"{text!r} is no date of these centuries")
    return moment.isoformat(timespec="minutes") if "%H" in form else moment.date().isoformat()


@lru_cache(maxsize=65536)
def read_number(text):
    """Read a printed number; None for 'n/a', for what is no number, and for one too large to be a
    value.

    >>> read_number("12,345.7"), read_number("n/a"), read_number("-0.5"), read_number("nan"), read_number("1_000")
    (12345.7, None, -0.5, None, None)
    """
    text = str(text)
    if len(text) > MAX_DIGITS:
        return None
    try:
        value = float(text.replace(",", "").replace("_", "-"))
    except ValueError:
        return None
    return value if abs(value) <= MAX_NUMBER else None
