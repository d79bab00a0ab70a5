"""One program as the baseline: it reads files and pages into rows and answers by rules
(LiveAgentBench 5).

The rules were written beside the questions, so their score says how far rules reach here and
nothing about questions of others. The program is given a question, its files and the address where
a search begins, nothing of how a task is made.
"""

import re
from urllib.parse import urljoin

import pandas as pd
from lxml import etree

from daybefore.web.fetched_pages import GatewayError
from daybefore.web.parse_markup import parse_html, read_text
from helpers.files import parse_json
from studies.liveagentbench.read_files import Unread, read_dates, read_table
from studies.liveagentbench.task_answers import ASKS, COUNTS, format_answer

ABLE = {"text_file", "browser"}
"""The capabilities that the program has."""
N_PAGES = 40
"""Pages it may open on a search, after the portal's first."""

# --- a question and a table -------------------------------------------------------------------------

PLACES = {"first": 1, "second": 2, "third": 3}
RULES = (
    ("rises", r"how (?:many times|often)\b.*\b(?:rise|rose|higher than)"),
    ("above", r"how many\b.*\b(?:above|over|more than) (?P<arg>[\d.,]+)"),
    ("mean", r"\b(?:average|mean)\b.*\bto (?P<arg>\d) decimals?|\b(?P<arg2>\d) decimals?"),
    ("range", r"how far apart"),
    ("change", r"\bchange"),
    ("total", r"\b(?:total|in all|altogether|together|add up|added)\b"),
    ("rank", r"\b(?P<arg>first|second|third)\b(?: in| place|,|\?)"),
    ("mover", r"\b(?:gained|rose) most\b"),
    ("gap", r"\b(?:more|higher|fuller|dearer)\b.*\bthan\b"),
    (
        "peak",
        r"(?:which|what) (?:day|date|time|hour|week|episode)\b.*\b(?:highest|most|heaviest|largest)",
    ),
    (
        "trough",
        r"(?:(?:which|what) (?:day|date|time|hour|week|episode)|^when)\b.*\b(?:lowest|fewest|cheapest|least)",
    ),
    ("highest", r"\b(?:which|who|where)\b.*\b(?:highest|most|largest|fullest|led|left)\b"),
    ("lowest", r"\b(?:which|who|where|these)\b.*\b(?:lowest|fewest|cheapest|smallest)\b"),
    ("max", r"\b(?:highest|maximum|largest)\b"),
    ("min", r"\b(?:lowest|minimum|smallest)\b"),
)
"""What is asked -> the words by which it is known, tried in this order; without any, one value is
asked for."""


def answer_question(question, table):
    """Return the program's final line on a question and a table's rows, None when its rules find no
    answer."""
    found = ((ask, re.search(words, question, re.I | re.S)) for ask, words in RULES)
    ask, match = next((pair for pair in found if pair[1]), ("value", None))
    arg = next((group for group in match.groups() if group), "") if match else ""
    arg = str(PLACES.get(arg.lower(), arg.replace(",", "")))
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
    return f"Answer: {format_answer(value, 0 if ask in COUNTS else int(arg) if ask == 'mean' else decimals)}"


def recite(question, table):
    """Return all names and values of a table as one line: no answer, though one may stand in it."""
    return "; ".join(dict.fromkeys(table["entity"].tolist() + table["text"].tolist()))


def select_rows(question, table):
    """Return the rows a question is about (occurred_at, entity, value, text): its column, its
    names, its dates.

    For no date all rows, for two a span, for one the day or time; all, too, where no row is dated,
    as in a chart of one moment.
    """

    def count_words(heading):
        return len(words & set(re.findall(r"[^\W\d]{2,}", heading.casefold())))

    words = set(re.findall(r"\w+", question.casefold()))
    kept = table[table["heading"] == max(dict.fromkeys(table["heading"]), key=count_words)]
    names = order_names(question, kept["entity"].unique())
    kept = kept[kept["entity"].isin(names)] if names else kept
    dates = kept["occurred_at"]
    asked = read_dates(question)
    if asked and dates.any():
        kept = kept[dates.between(asked[0], asked[-1] + "T99" * ("T" not in asked[-1]))]
    clean = kept["text"].str.replace(",", "")
    kept = kept.assign(value=pd.to_numeric(clean, errors="coerce"), text=clean)
    return kept.dropna(subset="value")


def order_names(question, names):
    """Return those of some names that stand in the question, in order; a name inside a longer one
    does not count.

    >>> order_names("Food at home or All items?", ["All items", "Food at home", "Food", "Milk"])
    ['Food at home', 'All items']
    """
    text = question
    found = []
    for name in sorted(names, key=len, reverse=True):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at:
            found.append((at.start(), name))
            text = text[: at.start()] + "\0" * len(name) + text[at.end() :]
    named = [name for _, name in sorted(found)]
    than = re.search(r"than (?:in |for |that of )?", question)
    is_turned = (
        len(named) == 2
        and than
        and question.find(named[0]) == than.end()
        and "did" in question[than.end() :]
    )
    return named[::-1] if is_turned else named


# --- a task -----------------------------------------------------------------------------------------


def solve_task(event, places, fetch, reply=answer_question):
    """Return (status, reply, reason) of a program on a task.

    The status is "lacking" when the program has not all capabilities of the task, "failed" when a
    file or page could not be had or opened (the task did not execute), else "ok". `places` are the
    task's paths and addresses, `fetch(address, as_of)` is a web's, `reply(question, table)` makes
    the final line.
    """
    if not set(parse_json(event["capabilities"])) <= ABLE:
        return "lacking", None, "lacks a capability"
    addresses = [place for place in places if isinstance(place, str)]
    try:
        rows = [
            read_table(place.read_bytes(), place.suffix[1:])
            for place in places
            if not isinstance(place, str)
        ]
        tables = find_tables(event, addresses[0], fetch) if addresses else [None]
        said = (
            reply(event["prompt"], pd.concat([*rows, table], ignore_index=True)) for table in tables
        )
        return "ok", next((line for line in said if line is not None), None), None
    except (Unread, GatewayError) as error:
        return "failed", None, str(error)


def find_tables(event, start, fetch):
    """Yield the tables of the pages behind a menu, the link most like the question followed first,
    N_PAGES opened.

    Alike they are in words of four letters or more. Raises GatewayError when the start, or every
    page tried, could not be had, Unread for one that cannot be read.
    """

    def find_words(text):
        return set(re.findall(r"\w{4,}", text.casefold()))

    asked = find_words(event["prompt"])
    queue = [(0, start)]
    seen = set()
    trouble = None
    is_found = False
    while queue and len(seen) <= N_PAGES:
        address = queue.pop(0)[1]
        if address in seen:
            continue
        seen.add(address)
        try:
            page = fetch(address, event["as_of"])
            if address == start or "class='menu'" in page.text:
                links = [
                    (read_text(a), urljoin(address, a.get("href")))
                    for a in parse_html(page.text).iter("a")
                ]
                queue += [(-len(asked & find_words(label)), link) for label, link in links]
                queue.sort(key=lambda link: link[0])
                continue
        except GatewayError as error:
            trouble = error
            continue
        except (ValueError, etree.ParserError) as error:
            raise Unread(f"{address}: the menu cannot be read ({error})") from None
        table = read_table(page.text.encode(), "json" if "json" in page.content_type else "html")
        if not table.empty:
            is_found = True
            yield table
    if trouble and not is_found:
        raise trouble
