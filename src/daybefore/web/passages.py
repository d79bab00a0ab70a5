"""Read any page as short passages of text: tables row by row, ranking lists, prose, event pages,
JSON answers.

Knows no source: what it makes of a page depends on the page's markup alone, as a search engine's
reading does.
"""

from functools import lru_cache
from itertools import islice
from textwrap import wrap
from typing import NamedTuple

import pandas as pd
from lxml import etree

from daybefore.web.parse_markup import (
    MAX_DIGITS,
    check_size,
    parse_html,
    parse_json,
    read_number,
    read_text,
)

MAX_CHARS = 240
"""A passage's length in characters; a line that is longer is cut."""
MAX_CELLS, MAX_PIECES, MAX_LINES = 200_000, 60, 2000
"""Cells of the table that a JSON answer's records make, passages of a page's main text, lines of a
plain text."""
MAX_PASSAGES = 3
"""Passages kept of one subject (an entity of a table, a column), the newest."""
WIDE = 6
"""A table of numbers with so many columns or more has a subject a column."""


class Passage(NamedTuple):
    """A piece of a page; `age` counts the newer pieces about the same subject, so the newest has
    0."""

    text: str
    age: int


def read_page(text, content_type):
    """Return (title, passages) of a page; passages are in the order of the page, a subject's newest
    rows first.

    A page of another kind, or broken, has no passages.

    >>> page = "<h1>Rates</h1><table><tr><th>Date</th><th>Coin</th><th>Price</th></tr>"
    >>> page += "<tr><td>1 May</td><td>X</td><td>3</td></tr><tr><td>2 May</td><td>X</td><td>4</td></tr></table>"
    >>> read_page(page, "text/html")
    ('Rates', [Passage(text='X (Price): 2 May: 4; 1 May: 3', age=0)])
    """
    try:
        if content_type.startswith("text/plain"):
            check_size(text)
            title, *lines = text.split("\n", MAX_LINES)
            return title, [Passage(line, 0) for line in lines]
        return read_json(text) if "json" in content_type else read_html(text)
    except (LookupError, ValueError, etree.ParserError, TypeError, AttributeError, RecursionError):
        return "", []


def read_json(text):
    """Return (title, passages) of a JSON answer that holds a list of records."""
    answer = parse_json(text)
    records = next((value for value in answer.values() if isinstance(value, list)), [])
    names = {name for record in records if isinstance(record, dict) for name in record}
    width = max([len(names), *(len(record) for record in records if isinstance(record, list))])
    if len(records) * width > MAX_CELLS:  # each record with fields of its own, or one a long list
        raise ValueError(f"more than {MAX_CELLS} cells")
    frame = pd.DataFrame(records)  # a column of whole numbers with a gap becomes one of floats
    rows = frame.astype(object).to_numpy().tolist()
    lines = [["n/a" if cell is None or cell != cell else str(cell) for cell in row] for row in rows]
    note = [answer["note"]] if answer.get("note") else []
    rows = describe_rows(list(frame.columns), lines)
    return str(answer.get("source", ""))[:MAX_CHARS], rows + number_passages(join_lines(note))


def read_html(text):
    """Return (title, passages) of an html page."""
    tree = parse_html(text)
    title = " ".join(tree.xpath("string(//h1)").split())[:MAX_CHARS]
    passages = []
    for table in tree.iter("table"):
        lines = [[read_words(cell) for cell in row] for row in table.iter("tr")]
        if lines:
            passages += describe_rows(
                lines[0], [line for line in lines[1:] if len(line) == len(lines[0])]
            )
    passages += [Passage(describe_article(article), 0) for article in tree.iter("article")]
    for age, section in enumerate(tree.iter("section")):
        items = (f"{n}. {read_words(item)}" for n, item in enumerate(section.iter("li"), 1))
        heading = " ".join(section.xpath("string(.//h2)").split())[:MAX_CHARS]
        passages += [Passage(f"{heading}: {text}", age) for text in join_lines(items, n=1)]
    prose = [
        read_words(p) for p in tree.xpath("//p[not(ancestor::article or ancestor::main)]|//footer")
    ]
    texts = map(
        read_words, tree.xpath("//main//p")
    )  # one text: cut between words, none is newer than others
    widths = (
        (text, min(MAX_CHARS, len(text) // (1 + len(text) // MAX_CHARS) + 20)) for text in texts
    )
    pieces = islice((piece for text, width in widths for piece in wrap(text, width)), MAX_PIECES)
    return title, passages + number_passages(join_lines(prose, " ")) + [
        Passage(piece, 0) for piece in pieces
    ]


def read_words(element):
    """Return an element's words, a space between each two."""
    return " ".join(read_text(element).split())


def number_passages(texts, name=""):
    """Return texts, the newest first, as passages under a common name."""
    return [Passage(f"{name}: {text}" if name else text, age) for age, text in enumerate(texts)]


def describe_article(article):
    """Return an event page's question, options, dates, rules and, where there is one, its
    resolution as one passage."""
    parts = [read_words(part) for part in article.xpath("./h2|./p[not(@class='resolution')]")]
    options = " / ".join(read_words(item) for item in article.iter("li"))
    resolution = article.xpath("string(./p[@class='resolution'])").strip()
    parts.insert(1, f"Options: {options}.")
    return " ".join([*parts, f"Resolved: {resolution}." if resolution else "Not resolved yet."])[
        : 2 * MAX_CHARS
    ]


def describe_rows(head, lines):
    """Return a table's rows (lists of texts) as passages: one subject after the other, the last
    rows first.

    The first column is the moment; others that hold words name the subject; many number columns are
    a subject each.
    """
    if not lines or len(head) < 2:
        return []
    places = range(1, len(head))
    # cut, as what is kept of a cell is no page
    signs = {n: [weigh_cell(line[n][: MAX_DIGITS + 1]) for line in lines] for n in places}
    words = [
        n for n in places if sum(signs[n]) <= 0 and any(signs[n])
    ]  # most are neither numbers nor blank
    values = [n for n in places if n not in words]
    lines = lines[::-1]
    if not words and len(values) >= WIDE:
        return [
            passage for n in values for passage in describe_subject(str(head[n]), "", lines, [n])
        ]
    heading = ", ".join(str(head[n]) for n in values)
    subjects = {}
    for line in lines:
        subjects.setdefault(tuple(line[n] for n in words), []).append(line)
    rows = (
        describe_subject(", ".join(subject), heading, subjects[subject], values)
        for subject in sorted(subjects)
    )
    return [passage for passages in rows for passage in passages]


@lru_cache(maxsize=65536)  # a page's rows stand on the next day's page too
def weigh_cell(cell):
    """Return 1 for a printed number, -1 for words, 0 for what says nothing."""
    if cell in ("n/a", "-", "", "to be played"):
        return 0
    return -1 if read_number(cell) is None else 1


def describe_subject(subject, heading, lines, values):
    """Return one subject's rows as passages, at most MAX_PASSAGES; `values` are the places of its
    numbers."""
    texts = (
        f"{line[0]}: {', '.join([line[n] for n in values])}" for line in lines
    )  # those that are kept
    subject, heading = subject[:MAX_CHARS], heading[:MAX_CHARS]
    name = f"{subject} ({heading})" if subject and heading else subject or heading
    return number_passages(join_lines(texts, n=MAX_PASSAGES), name)


def join_lines(lines, separator="; ", n=None):
    """Return lines joined to texts of at most MAX_CHARS characters each, in order; the first `n` of
    them."""
    texts = []
    for line in lines:
        line = line[:MAX_CHARS]
        if texts and len(texts[-1]) + len(separator) + len(line) <= MAX_CHARS:
            texts[-1] += separator + line
        elif line and len(texts) == n:
            break
        elif line:
            texts.append(line)
    return texts
