"""Read any page as short passages of text: tables row by row, ranking lists, prose, event pages, JSON answers.

Knows no source: what it makes of a page depends on the page's markup alone, as a search engine's reading does.
"""

import json
from typing import NamedTuple

import pandas as pd
from lxml import etree, html

MAX_CHARS = 240
"""A passage's length in characters; a line that is longer is cut."""
MAX_PASSAGES = 3
"""Passages kept of one subject (an entity of a table, a column), the newest."""
WIDE = 6
"""A table of numbers with so many columns or more has a subject a column."""


class Passage(NamedTuple):
    """A piece of a page; `age` counts the newer pieces about the same subject, so the newest has 0."""

    text: str
    age: int


def read_page(text, content_type):
    """Return (title, passages) of a page; passages are in the order of the page, a subject's newest rows first.

    A page that is neither html nor JSON, or broken, has no passages.

    >>> page = "<h1>Rates</h1><table><tr><th>Date</th><th>Coin</th><th>Price</th></tr>"
    >>> page += "<tr><td>1 May</td><td>X</td><td>3</td></tr><tr><td>2 May</td><td>X</td><td>4</td></tr></table>"
    >>> read_page(page, "text/html")
    ('Rates', [Passage(text='X (Price): 2 May: 4; 1 May: 3', age=0)])
    """
    try:
        return read_json(text) if "json" in content_type else read_html(text)
    except (LookupError, ValueError, etree.ParserError, TypeError, AttributeError):
        return "", []


def read_json(text):
    """Return (title, passages) of a JSON answer that holds a list of records."""
    answer = json.loads(text)
    records = next((value for value in answer.values() if isinstance(value, list)), [])
    frame = pd.DataFrame(records).astype(object)
    frame = frame.where(frame.notna(), "n/a").map(str)
    note = [answer["note"]] if answer.get("note") else []
    return str(answer.get("source", "")), describe_rows(frame) + number_passages(join_lines(note))


def read_html(text):
    """Return (title, passages) of an html page."""
    tree = html.fromstring(text)
    title = " ".join(tree.xpath("string(//h1)").split())
    passages = []
    for table in tree.iter("table"):
        lines = [[" ".join(cell.text_content().split()) for cell in row] for row in table.iter("tr")]
        if not lines:
            continue
        width = len(lines[0])
        passages += describe_rows(pd.DataFrame([line for line in lines[1:] if len(line) == width], columns=lines[0]))
    for article in tree.iter("article"):
        passages.append(Passage(describe_article(article), 0))
    for age, section in enumerate(tree.iter("section")):
        items = [f"{n}. {' '.join(item.text_content().split())}" for n, item in enumerate(section.iter("li"), 1)]
        heading = " ".join(section.xpath("string(.//h2)").split())
        passages += [Passage(f"{heading}: {text}", age) for text in join_lines(items)[:1]]
    prose = [" ".join(p.text_content().split()) for p in tree.xpath("//p[not(ancestor::article)]|//footer")]
    return title, passages + number_passages(join_lines(prose, " "))


def number_passages(texts, name=""):
    """Return texts, the newest first, as passages under a common name."""
    return [Passage(f"{name}: {text}" if name else text, age) for age, text in enumerate(texts)]


def describe_article(article):
    """Return an event page's question, options, dates, rules and, where there is one, its resolution as one passage."""
    parts = [" ".join(part.text_content().split()) for part in article.xpath("./h2|./p[not(@class='resolution')]")]
    options = " / ".join(" ".join(item.text_content().split()) for item in article.iter("li"))
    resolution = article.xpath("string(./p[@class='resolution'])").strip()
    parts.insert(1, f"Options: {options}.")
    return " ".join([*parts, f"Resolved: {resolution}." if resolution else "Not resolved yet."])[: 2 * MAX_CHARS]


def describe_rows(frame):
    """Return a table's rows as passages: one subject after the other, the last rows of the table first.

    The first column is taken for the moment; other columns that hold words name the subject; a table of many number
    columns has a subject a column.
    """
    if frame.empty or frame.shape[1] < 2:
        return []
    moment, *columns = frame.columns
    words = [column for column in columns if not is_numeric(frame[column])]
    values = [column for column in columns if column not in words]
    frame = frame.iloc[::-1]
    if not words and len(values) >= WIDE:
        return [passage for column in values for passage in describe_subject(column, "", frame, moment, [column])]
    heading = ", ".join(map(str, values))
    if not words:
        return describe_subject("", heading, frame, moment, values)
    groups = frame.groupby(words, sort=True)
    return [
        passage
        for subject, rows in groups
        for passage in describe_subject(", ".join(subject), heading, rows, moment, values)
    ]


def is_numeric(cells):
    """Say whether most of a column's cells are numbers, dashes or 'n/a'.

    >>> is_numeric(pd.Series(["1,200", "3.5", "n/a"])), is_numeric(pd.Series(["Ohio", "Iowa", "3"]))
    (True, False)
    """
    known = ~cells.isin(["n/a", "-", "", "to be played"])
    numbers = pd.to_numeric(cells[known].str.replace(",", ""), errors="coerce").notna()
    return bool(numbers.mean() > 0.5) if known.any() else True


def describe_subject(subject, heading, rows, moment, values):
    """Return one subject's rows as passages, at most MAX_PASSAGES."""
    cells = rows[[moment, *values]].to_numpy()
    lines = [f"{first}: {', '.join(rest)}" for first, *rest in cells]
    name = f"{subject} ({heading})" if subject and heading else subject or heading
    return number_passages(join_lines(lines)[:MAX_PASSAGES], name)


def join_lines(lines, separator="; "):
    """Return lines joined to texts of at most MAX_CHARS characters each, in order.

    >>> [len(text) for text in join_lines(["a" * 200, "b" * 100, "c" * 300])]
    [200, 100, 240]
    """
    texts = []
    for line in lines:
        line = line[:MAX_CHARS]
        if texts and len(texts[-1]) + len(separator) + len(line) <= MAX_CHARS:
            texts[-1] += separator + line
        elif line:
            texts.append(line)
    return texts
