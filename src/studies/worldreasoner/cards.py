"""The authors' event cards as hindsight graphs: the reference of the set `worldreasoner` (B.1, B.4,
F.2, F.3).

Cards have no edges and no outcome node, so that a graph of them is never valid by B.3; it serves as
key events and as sources.
"""

from urllib.parse import urlsplit

import pandas as pd

from studies.worldreasoner.hindsight.graphs import check_form


def read_question(question):
    """Return a question with event cards as a graph (`graphs.check_form`) without edges and without
    an outcome node.

    An impact on the answer No is turned, so that all signs are towards Yes; on an option of several
    it stays, and is towards that option.

    >>> impact = {"direction": "positive", "magnitude": 0.5, "confidence": 0.5, "affects": "No - Will it rain?"}
    >>> card = {"id": "e", "date": "", "title": "A dry front", "source_url": "u", "status": "pending", "impact": impact}
    >>> read_question({"id": "q", "events": [card]})["impacts"][0]["direction"]
    'Negative'
    """
    turned = {"Positive": "Negative", "Negative": "Positive"}
    nodes = []
    impacts = []
    for card in question["events"]:
        source = [card["source_url"]] if card.get("source_url") else []
        node = {"node_id": card["id"], "title": card["title"], "occurred_at": card["date"] or None}
        nodes.append(node | {"source_ids": source, "description": card.get("description") or ""})
        nodes[-1]["review"] = card["status"].capitalize()
        if card["impact"]:
            record = card["impact"]
            direction = record["direction"].capitalize()
            if record["affects"].startswith("No - "):
                direction = turned.get(direction, direction)
            impact = {
                "node_id": card["id"],
                "direction": direction,
                "reasoning": record.get("reasoning") or "",
            }
            impacts.append(impact | {name: record[name] for name in ("magnitude", "confidence")})
    about = {"question_id": question["id"], "outcome_id": None}
    return check_form(about | {"nodes": nodes, "edges": [], "impacts": impacts})


def build_references(questions):
    """Return {event_id: graph} of window W's questions; `questions` maps event_id to the file's
    row."""
    return {name: read_question(row) | {"question_id": name} for name, row in questions.items()}


def name_source(address):
    """Return an address in the form in which sources are compared: host and path, what a reader
    cannot see left out.

    >>> name_source("https://www.a.test/News/1/?utm=x#top"), name_source("http://a.test/News/1")
    ('a.test/News/1', 'a.test/News/1')
    """
    parts = urlsplit(address.strip())
    return parts.netloc.lower().removeprefix("www.") + parts.path.rstrip("/")


def name_kind(name: str) -> str:
    """Return what a name of `name_source` is of: "id" (a page_id), "replay" (a page of the replay
    web) or "web".

    >>> name_kind("nc0ffee"), name_kind("current-events.replay/2025-01-10/wars"), name_kind("a.test/1")
    ('id', 'replay', 'web')
    """
    host, slash, _ = name.partition("/")
    if not slash:
        return "id"
    return "replay" if host.endswith(".replay") else "web"


def list_sources(graphs: dict, addresses: dict | None = None) -> dict:
    """Return {event_id: the sources that a graph's events name, as of `name_source`}; without any,
    none is there.

    `addresses` maps page_ids, and addresses of the replay web, to where what stands there stood
    first.
    """
    known = addresses or {}
    sources = {}
    for key, graph in graphs.items():
        named = [known.get(one, one) for node in graph["nodes"] for one in node["source_ids"]]
        if named:
            sources[key] = {name_source(one) for one in named}
    return sources


def name_pages(evidence: pd.DataFrame, addresses: dict) -> pd.DataFrame:
    """Return evidence with each page under the name of its source, one that has no address under
    its own page_id.

    `addresses` are as in `list_sources`.
    """
    found = evidence["page_id"].map(addresses).map(name_source, na_action="ignore")
    return evidence.assign(page_id=found.fillna(evidence["page_id"]))


def find_measured(sources: dict, evidence: pd.DataFrame) -> set:
    """Return the event_ids whose source precision can be measured: those with a source of a kind
    that was shown.

    An address of the web is never that of a page which only the replay web has, so nothing chosen
    could be right. Where nothing was shown at all, pages of the world itself could have been.
    """
    shown = {name_kind(name) for name in evidence["page_id"]} or {"id", "replay"}
    return {key for key, named in sources.items() if shown & {name_kind(name) for name in named}}
