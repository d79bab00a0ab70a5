"""What a solver can read: files and pages become rows of date, name, heading and value."""

import re
from functools import lru_cache
from io import BytesIO, StringIO

import pandas as pd
from lxml import etree
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from daybefore.web.parse_markup import parse_html, parse_json, read_text
from helpers.clock import find_dates

COLUMNS = ["occurred_at", "entity", "heading", "text"]
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
FAULTS = (ValueError, LookupError, TypeError, StopIteration, RecursionError, AttributeError)
FAULTS += (PyPdfError, etree.ParserError)
"""What readers raise for a file that is not what its name says, or beyond the limits of
`web.parse_markup`."""


class Unread(Exception):
    """A file or page could not be had or opened: the task did not execute."""


@lru_cache(maxsize=500)
def read_table(body, form):
    """Return what a file or page says as rows: occurred_at, entity, heading, text (the value as
    written).

    Raises Unread for one that cannot be opened; a page without a table has no rows.
    """
    try:
        return melt_grid(READERS[form](body))
    except FAULTS as error:
        raise Unread(f"the {form} cannot be read ({type(error).__name__})") from None


def extract_text(paths):
    """Return what some files say as text, whole: a line a row, its cells joined by commas. Raises
    Unread."""
    lines = []
    for path in paths:
        try:
            lines += [",".join(line) for line in READERS[path.suffix[1:]](path.read_bytes())]
        except FAULTS as error:
            raise Unread(f"{path.name} cannot be read ({type(error).__name__})") from None
    return "\n".join(lines)


def read_csv(body):
    """Return a sheet's lines of cells."""
    if b"\x00" in body:
        raise ValueError("no text")
    return (
        pd.read_csv(StringIO(body.decode()), dtype=str, header=None, keep_default_na=False)
        .to_numpy()
        .tolist()
    )


def read_html(body):
    """Return the lines of cells of a page's first table, else of its ranked lists, each with the
    date above it."""
    if b"\x00" in body:
        raise ValueError("no text")
    page = parse_html(body.decode())
    lines = [[read_text(cell) for cell in row] for row in page.xpath("(//table)[1]//tr")]
    for section in page.xpath("//section[.//time]"):
        time = read_dates(section.xpath("string(.//time)"))
        for item in section.xpath(".//li"):
            cells = [read_text(part) for part in item.xpath("./span")]
            lines += [[*time, *cells]] if len(cells) == 2 and time else []
    return [["Date", "Name", "Value"], *lines] if lines and not page.xpath("//table") else lines


def read_json(body):
    """Return the records of an endpoint as lines of cells."""
    records = next(value for value in parse_json(body.decode()).values() if isinstance(value, list))
    return [list(records[0]), *([str(cell) for cell in record.values()] for record in records)]


def read_pdf(body):
    """Return the lines of cells of a pdf's pages: texts at one height are a line, from left to
    right."""
    cells = []

    def keep(text, page, place, font, size):
        if text.strip():
            cells.append((-round(page[5] + place[5]), page[4] + place[4], text.strip()))

    for page in PdfReader(BytesIO(body), strict=True).pages:
        page.extract_text(visitor_text=keep)
    lines = {}
    for height, _, text in sorted(cells):
        lines.setdefault(height, []).append(text)
    return [line for line in lines.values() if len(line) > 1]


def melt_grid(lines):
    """Return a grid's rows: its first line heads it, its first column holds dates, its second names
    unless it is wide.

    >>> melt_grid([["Date", "State", "Lead"], ["2016-10-05", "Ohio", "1.5"]]).to_numpy().tolist()
    [['2016-10-05', 'Ohio', 'Lead', '1.5']]
    >>> melt_grid([["Date", "GBP", "USD"], ["2016-10-05", "0.88", "1.12"]]).to_numpy().tolist()[1]
    ['2016-10-05', 'USD', '', '1.12']
    """
    head, *body = lines or [[]]
    is_wide = all(NUMBER.fullmatch(line[1]) or line[1] == "n/a" for line in body) and len(head) > 1
    rows = []
    for line in body:
        date = line[0].replace(" ", "T")
        cells = list(zip(head, line, strict=False))
        if is_wide:
            rows += [(date, name, "", text) for name, text in cells[1:]]
        else:
            rows += [(date, line[1], heading, text) for heading, text in cells[2:]]
    return pd.DataFrame(rows, columns=COLUMNS)


CLOCK = re.compile(r"(\d{2}:\d{2}) on $"), re.compile(r"\d{4}-\d{2}-\d{2}[ T](\d{2}:\d{2})")
"""A time of day as a text puts it: before a date in words, after one in digits."""


def read_dates(text):
    """Return the dates and times a text names, in order, in the form of the rows.

    >>> read_dates("from 2016-10-05 06:00 to 9 October 2016"), read_dates("at 14:00 on 20 October 2016")
    (['2016-10-05T06:00', '2016-10-09'], ['2016-10-20T14:00'])
    """
    named = [date for date in find_dates(text) if date.year and date.day]
    times = [
        CLOCK[0].search(text, 0, date.start) or CLOCK[1].match(text, date.start) for date in named
    ]
    return [
        f"{date.year}-{date.month:02}-{date.day:02}" + (f"T{time[1]}" if time else "")
        for date, time in zip(named, times, strict=True)
    ]


READERS = {"csv": read_csv, "html": read_html, "pdf": read_pdf, "json": read_json}
