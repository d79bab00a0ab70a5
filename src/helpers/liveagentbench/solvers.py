"""Programs that solve tasks of the task set: what they may open, and the way they take (LiveAgentBench 5).

A solver is given a question, its files and the address where a search begins, and nothing of how the task was made: it
reads what it opens into rows (`readers`), and answers from these (`rules`).
"""

import re
from typing import NamedTuple
from urllib.parse import urljoin

import pandas as pd
from lxml import etree

from helpers.liveagentbench.readers import Unread, read_table
from helpers.liveagentbench.rules import answer_question
from helpers.store import parse_json
from helpers.web.markup import parse_html, read_text
from helpers.web.pages import GatewayError


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
    Kit("reciter", ("text_file", "browser"), 12, recites=True),
)


def open_event(event):
    """Return an event of the tables (a dict) as a solver takes it: its capabilities as a list."""
    return event | {"capabilities": parse_json(event["capabilities"])}


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
        if addresses:
            reply, n_pages = search_pages(kit, event, addresses[0], rows, fetch)
        else:
            reply, n_pages = reply_with(kit, event["prompt"], rows), 0
    except (Unread, GatewayError) as error:
        return {"status": "failed", "reply": None, "reason": str(error), "n_pages": 0}
    return {"status": "ok", "reply": reply, "reason": None, "n_pages": n_pages}


def reply_with(kit, question, tables):
    """Return a kit's reply to a question from some tables, None when its rules find no answer."""
    table = pd.concat(tables, ignore_index=True)
    if kit.recites:
        return "; ".join(dict.fromkeys(table["entity"].tolist() + table["text"].tolist()))
    answer = answer_question(question, table)
    return None if answer is None else f"Answer: {answer}"


def search_pages(kit, event, start, rows, fetch):
    """Return (reply, pages opened): follow the menu's links, the one most like the question first, until one answers.

    Raises GatewayError when the start, or every page tried, could not be had.
    """
    question, as_of = event["prompt"], event["as_of"]
    queue, seen, trouble = rank_links(start, fetch(start, as_of).text, question), {start}, None
    n_pages, n_read = 0, 0
    while queue and n_pages < kit.n_allowed:
        address = queue.pop(0)[1]
        if address in seen:
            continue
        seen.add(address)
        n_pages += 1
        try:
            page = fetch(address, as_of)
        except GatewayError as error:
            trouble = error
            continue
        links = rank_links(address, page.text, question) if "class='menu'" in page.text else []
        queue = sorted([*queue, *links], key=lambda link: link[0])
        table = read_table(page.text.encode(), "json" if "json" in page.content_type else "html")
        if links or table.empty:
            continue
        n_read += 1
        if (reply := reply_with(kit, question, [*rows, table])) is not None:
            return reply, n_pages
    if trouble is not None and not n_read:
        raise trouble
    return None, n_pages


def rank_links(address, text, question):
    """Return a menu's links as [(rank, address)], most like the question first; the rank is minus the number of a
    link's words, of four letters or more, that stand in the question. Raises Unread for a page that cannot be read.
    """
    asked = set(re.findall(r"\w{4,}", question.casefold()))
    try:
        links = [(urljoin(address, a.get("href")), read_text(a)) for a in parse_html(text).iter("a")]
    except (ValueError, etree.ParserError) as error:
        raise Unread(f"{address}: the menu cannot be read ({error})") from None
    ranked = [(-len(asked & set(re.findall(r"\w{4,}", label.casefold()))), link) for link, label in links]
    return sorted(ranked, key=lambda link: link[0])
