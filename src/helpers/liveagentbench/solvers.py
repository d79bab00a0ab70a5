"""Programs that solve tasks of the task set: what they can open, how they read a table and a question (LiveAgentBench).

A solver is given a question, its files and the address where a search begins, and nothing of how the task was made: it
reads what it opens into rows, and the question by keywords. Its rules were written beside the questions, so its score
says how far rules reach here and nothing about questions of others.
"""

import json
import re
from datetime import datetime
from functools import lru_cache
from io import BytesIO, StringIO
from typing import NamedTuple
from urllib.parse import urljoin

import pandas as pd
from lxml import html
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from helpers.liveagentbench.pictures import Unrecorded, read_chart, read_clip
from helpers.liveagentbench.tasks import ASKS, COUNTS, format_answer
from helpers.world.gateway import GatewayError

COLUMNS = ["occurred_at", "entity", "heading", "text"]
DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2})?")
WORDY_DATE = re.compile(r"(?:(\d{2}:\d{2}) on )?(\d{1,2}) (January|February|March|April|May|June|July|August|September|"
                        r"October|November|December) (\d{4})")  # fmt: skip
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
FAULTS = (ValueError, LookupError, TypeError, StopIteration, RecursionError, PyPdfError)
"""What readers raise for a file that is not what its name says."""
PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
RULES = (
    ("rises", r"how (?:many times|often)\b.*\b(?:rise|rose|higher than)"),
    ("above", r"how many\b.*\b(?:above|over|more than) (?P<arg>[\d.,]+)"),
    ("mean", r"\b(?:average|mean)\b.*\bto (?P<arg>\d) decimals?|\b(?P<arg2>\d) decimals?"),
    ("range", r"how far apart"),
    ("change", r"\bchange"),
    ("total", r"\b(?:total|in all|altogether|together|add up|added)\b"),
    ("rank", r"\b(?P<arg>first|second|third|fourth|fifth)\b(?: in| place|,|\?)"),
    ("mover", r"\b(?:gained|rose) most\b"),
    ("gap", r"\b(?:more|higher|fuller|dearer)\b.*\bthan\b"),
    ("peak", r"(?:which|what) (?:day|date|time|hour|week|episode)\b.*\b(?:highest|most|heaviest|largest)"),
    ("trough", r"(?:(?:which|what) (?:day|date|time|hour|week|episode)|^when)\b.*\b(?:lowest|fewest|cheapest|least)"),
    ("highest", r"\b(?:which|who|where)\b.*\b(?:highest|most|largest|fullest|led|left)\b"),
    ("lowest", r"\b(?:which|who|where|these)\b.*\b(?:lowest|fewest|cheapest|smallest)\b"),
    ("max", r"\b(?:highest|maximum|largest)\b"),
    ("min", r"\b(?:lowest|minimum|smallest)\b"),
)
"""What is asked -> the words by which it is known, tried in this order; without any, one value is asked for."""


class Unread(Exception):
    """A file or page could not be had or opened: the task did not execute."""


class Kit(NamedTuple):
    """A solver: its name, the capabilities it has, how many pages it may open on a search, whether it recites.

    `n_allowed` counts the pages it may open after the portal's first. A reciter puts all it read into its final line.
    """

    name: str
    capabilities: tuple
    n_allowed: int = 0
    recites: bool = False


KITS = (
    Kit("table reader", ("text_file",)),
    Kit("page reader, 12 pages", ("text_file", "browser"), 12),
    Kit("page reader, 40 pages", ("text_file", "browser"), 40),
    Kit("page and picture reader", ("text_file", "browser", "image", "video"), 40),
    Kit("reciter", ("text_file", "browser"), 12, recites=True),
)


def solve_task(kit, event, places, fetch=None):
    """Return a run's row: status, reply, reason, n_pages (opened).

    The status is "lacking" when the kit has not all capabilities of the task, "failed" when a file or page could not
    be had or opened (the task did not execute), else "ok". `places` are the task's paths and addresses,
    `fetch(address, as_of)` is a gateway's.
    """
    if not set(event["capabilities"]) <= set(kit.capabilities):
        return {"status": "lacking", "reply": None, "reason": "lacks a capability", "n_pages": 0}
    files = [place for place in places if not isinstance(place, str)]
    addresses = [place for place in places if isinstance(place, str)]
    try:
        rows = [read_table(path.read_bytes(), path.suffix[1:]) for path in files]
        if not addresses:
            table, n_pages = pd.concat(rows, ignore_index=True), 0
            reply = reply_with(kit, event["prompt"], table)
        else:
            reply, n_pages = search_pages(kit, event, addresses[0], rows, fetch)
    except (Unread, GatewayError) as error:
        return {"status": "failed", "reply": None, "reason": str(error), "n_pages": 0}
    return {"status": "ok", "reply": reply, "reason": None, "n_pages": n_pages}


def reply_with(kit, question, table):
    """Return a kit's reply to a question from a table, None when its rules find no answer."""
    if kit.recites:
        return "; ".join(dict.fromkeys(table["entity"].tolist() + table["text"].tolist()))
    answer = answer_question(question, table)
    return None if answer is None else f"Answer: {answer}"


def search_pages(kit, event, start, rows, fetch):
    """Return (reply, pages opened): follow the menu's links, the one most like the question first, until one answers.

    Raises GatewayError when the start, or every page tried, could not be had.
    """
    queue, seen, trouble = rank_links(start, fetch(start, event["as_of"]).text, event["prompt"]), {start}, None
    n_pages, n_read = 0, 0
    while queue and n_pages < kit.n_allowed:
        address = queue.pop(0)[1]
        if address in seen:
            continue
        seen.add(address)
        n_pages += 1
        try:
            page = fetch(address, event["as_of"])
        except GatewayError as error:
            trouble = error
            continue
        links = rank_links(address, page.text, event["prompt"]) if "class='menu'" in page.text else []
        queue = sorted([*queue, *links], key=lambda link: link[0])
        table = read_table(page.text.encode(), "json" if "json" in page.content_type else "html")
        if links or table.empty:
            continue
        n_read += 1
        reply = reply_with(kit, event["prompt"], pd.concat([*rows, table], ignore_index=True))
        if reply is not None:
            return reply, n_pages
    if trouble is not None and not n_read:
        raise trouble
    return None, n_pages


def rank_links(address, text, question):
    """Return a menu's links as [(rank, address)], most like the question first; a deeper link keeps its parent's place.

    The rank is minus the number of the link's words, of four letters or more, that stand in the question.
    """
    asked = set(re.findall(r"\w{4,}", question.casefold()))
    links = [(a.get("href"), a.text_content()) for a in html.fromstring(text).iter("a")]
    ranked = [
        (-len(asked & set(re.findall(r"\w{4,}", label.casefold()))), urljoin(address, href)) for href, label in links
    ]
    return sorted(ranked, key=lambda link: link[0])


# --- reading files and pages ------------------------------------------------------------------------------------------


@lru_cache(maxsize=500)
def read_table(body, form):
    """Return what a file or page says as rows: occurred_at, entity, heading, text (the value as written).

    Raises Unread for one that cannot be opened; a page without a table has no rows.
    """
    try:
        return melt_grid(READERS[form](body))
    except Unrecorded as error:
        raise Unread(str(error)) from None
    except FAULTS as error:
        raise Unread(f"the {form} cannot be read ({type(error).__name__})") from None


def extract_text(question, paths, limit=450):
    """Return what some files say as text of at most `limit` characters, for a reader with little room.

    The first line of each heads its table; then lines that hold a name or a date of the question, then others, each
    kept in its place. Raises Unread.
    """
    kept, room = [], limit
    for path in paths:
        try:
            lines = [",".join(line) for line in READERS[path.suffix[1:]](path.read_bytes())]
        except FAULTS as error:
            raise Unread(f"{path.name} cannot be read ({type(error).__name__})") from None
        dates, words = read_dates(question), set(re.findall(r"\w{4,}", question.casefold()))
        marks = [n == 0 or bool(words & set(re.findall(r"\w{4,}", line.casefold()))) for n, line in enumerate(lines)]
        dated = [n == 0 or any(date in line.replace(" ", "T") for date in dates) for n, line in enumerate(lines)]
        order = sorted(range(len(lines)), key=lambda n: (n > 0, -marks[n] - dated[n], n))
        chosen = []
        for n in order:
            if len(lines[n]) + 1 > room:
                break
            chosen.append(n)
            room -= len(lines[n]) + 1
        kept += [lines[n] for n in sorted(chosen)]
    return "\n".join(kept)


def read_csv(body):
    """Return a sheet's lines of cells."""
    if b"\x00" in body:
        raise ValueError("no text")
    return pd.read_csv(StringIO(body.decode()), dtype=str, header=None, keep_default_na=False).to_numpy().tolist()


def read_html(body):
    """Return the lines of cells of a page's first table, else of its ranked lists, each with the date above it."""
    if b"\x00" in body:
        raise ValueError("no text")
    page = html.fromstring(body.decode())
    lines = [[cell.text_content() for cell in row] for row in page.xpath("(//table)[1]//tr")]
    for section in page.xpath("//section[.//time]"):
        time = read_dates(section.xpath("string(.//time)"))
        for item in section.xpath(".//li"):
            cells = [part.text_content() for part in item.xpath("./span")]
            lines += [[*time, *cells]] if len(cells) == 2 and time else []
    return [["Date", "Name", "Value"], *lines] if lines and not page.xpath("//table") else lines


def read_json(body):
    """Return the records of an endpoint as lines of cells."""
    records = next(value for value in json.loads(body).values() if isinstance(value, list))
    return [list(records[0]), *([str(cell) for cell in record.values()] for record in records)]


def read_pdf(body):
    """Return the lines of cells of a pdf's pages: texts at one height are a line, from left to right."""
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


READERS = {"csv": read_csv, "html": read_html, "pdf": read_pdf, "json": read_json, "png": read_chart, "gif": read_clip}


def melt_grid(lines):
    """Return a grid's rows: its first line heads it, its first column holds dates, its second names unless it is wide.

    >>> melt_grid([["Date", "State", "Lead"], ["2016-10-05", "Ohio", "1.5"]]).to_numpy().tolist()
    [['2016-10-05', 'Ohio', 'Lead', '1.5']]
    >>> melt_grid([["Date", "GBP", "USD"], ["2016-10-05", "0.88", "1.12"]]).to_numpy().tolist()[1]
    ['2016-10-05', 'USD', '', '1.12']
    """
    if not lines:
        return pd.DataFrame(columns=COLUMNS)
    head, *body = lines
    is_wide = all(NUMBER.fullmatch(line[1]) or line[1] == "n/a" for line in body) and len(head) > 1
    rows = []
    for line in body:
        for heading, text in list(zip(head, line, strict=False))[1 if is_wide else 2 :]:
            entity, heading = (heading, "") if is_wide else (line[1], heading)
            rows.append((line[0].replace(" ", "T"), entity, heading, text))
    return pd.DataFrame(rows, columns=COLUMNS)


# --- reading questions ------------------------------------------------------------------------------------------------


def read_dates(text):
    """Return the dates and times a text names, in order, in the form of the rows.

    >>> read_dates("from 2016-10-05 06:00 to 9 October 2016"), read_dates("at 14:00 on 20 October 2016")
    (['2016-10-05T06:00', '2016-10-09'], ['2016-10-20T14:00'])
    """
    found = [(match.start(), match.group().replace(" ", "T")) for match in DATE.finditer(text)]
    for match in WORDY_DATE.finditer(text):
        time, day, month, year = match.groups()
        date = datetime.strptime(f"{day} {month} {year}", "%d %B %Y").strftime("%Y-%m-%d")  # noqa: DTZ007
        found.append((match.start(), f"{date}T{time}" if time else date))
    return [date for _, date in sorted(found)]


def read_ask(question):
    """Return (what is asked, its argument) by the first rule whose words stand in the question.

    >>> read_ask("On how many days was it above 75 °F?"), read_ask("Who came second?"), read_ask("What was it?")
    (('above', '75'), ('rank', '2'), ('value', ''))
    """
    for ask, words in RULES:
        match = re.search(words, question, re.I | re.S)
        if match:
            arg = next((group for group in match.groups() if group), "")
            return ask, str(PLACES.get(arg.lower(), arg.replace(",", "")))
    return "value", ""


def answer_question(question, table):
    """Return a question's answer from a table's rows, None when the rules find none."""
    ask, arg = read_ask(question)
    rows = select_rows(question, table)
    if rows.empty:
        return None
    if ask == "gap":
        arg = order_names(question, rows["entity"].unique())
    try:
        value = ASKS[ask](rows, arg)
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    decimals = max(len(text.partition(".")[2]) for text in rows["text"])
    return format_answer(value, 0 if ask in COUNTS else int(arg) if ask == "mean" else decimals)


def select_rows(question, table):
    """Return the rows a question is about (occurred_at, entity, value, text): its column, its names, its dates."""
    headings = list(dict.fromkeys(table["heading"]))
    words = set(re.findall(r"\w+", question.casefold()))
    likeness = [len(words & set(re.findall(r"[^\W\d]{2,}", heading.casefold()))) for heading in headings]
    same = [heading for heading in headings if likeness[headings.index(heading)] == max(likeness)]
    kept = table[
        table["heading"].isin(same[:1] if len(set(headings)) == len(headings) and max(likeness) else headings[:1])
    ]
    names = order_names(question, kept["entity"].unique())
    kept = kept[kept["entity"].isin([*names, ""])] if names else kept
    kept = kept[keep_dates(kept["occurred_at"], read_dates(question))]
    clean = kept["text"].str.replace(",", "")
    kept = kept.assign(value=pd.to_numeric(clean, errors="coerce"), text=clean)
    return kept.dropna(subset="value")


def order_names(question, names):
    """Return those of some names that stand in the question, in order; a name inside a longer one does not count.

    >>> order_names("Food at home or All items?", ["All items", "Food at home", "Food", "Milk"])
    ['Food at home', 'All items']
    """
    text, found = question, []
    for name in sorted(names, key=len, reverse=True):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at:
            found.append((at.start(), name))
            text = text[: at.start()] + "\0" * len(name) + text[at.end() :]
    named = [name for _, name in sorted(found)]
    than = re.search(r"than (?:in |for |that of )?", question)
    is_turned = len(named) == 2 and than and question.find(named[0]) == than.end() and "did" in question[than.end() :]
    return named[::-1] if is_turned else named


def keep_dates(dates, asked):
    """Return which dates a question asks about: all for none, a span for two, the day or time for one.

    Where no row is dated, as in a chart of one moment, all are kept.
    """
    if not asked or dates.eq("").all():
        return pd.Series(True, index=dates.index)
    if len(asked) == 1:
        return dates.str.startswith(asked[0])
    return (dates >= asked[0]) & (dates <= asked[-1] + ("T99" if "T" not in asked[-1] else ""))
