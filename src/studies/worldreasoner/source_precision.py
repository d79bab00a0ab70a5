"""Source precision: which of the sources that a forecast chose hindsight uses too (WorldReasoner
F.2).

Sources are page_ids of the kit's web, addresses of the replay web, or addresses of the world,
compared as `name_source` has them.
"""

from urllib.parse import urlsplit

import pandas as pd

from daybefore.questions.long_questions import load_series
from daybefore.questions.series_pages import open_series


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


def score_sources(evidence, references):
    """Return source precision of each forecast by what it cited and by what it opened: a row a
    forecast (F.2).

    It is the share of the chosen sources, each once, that hindsight uses too; 0 when none was
    chosen. `evidence` has owner_id ("run|event|sample"), page_id, is_accessed and is_cited,
    `references` maps event_id to hindsight's sources; other events are left out. The paper says
    cited in one place, cited or accessed in another, and its code takes what was accessed: so there
    are both. Columns run_id, event_id, srcp_cited, srcp_accessed.
    """
    rows = []
    for owner, part in evidence.groupby(evidence["owner_id"].str.rsplit("|", n=1).str[0]):
        run, _, event = owner.rpartition("|")
        if event in references:
            row = {"run_id": run, "event_id": event}
            for name in ("cited", "accessed"):
                chosen = set(part.loc[part[f"is_{name}"].astype(bool), "page_id"])
                hits = chosen & references[event]
                row[f"srcp_{name}"] = len(hits) / len(chosen) if chosen else 0.0
            rows.append(row)
    return pd.DataFrame(rows, columns="run_id event_id srcp_cited srcp_accessed".split())


def list_settling(events, built, predictions):
    """Return the pages by which source precision of each question is told: {event_id: page_ids}.

    As they stood when the question was asked: the page that settles it, and those of the series
    that its hindsight graph names (`built`: Hindsight by event_id).
    """
    series = load_series()
    own = events.set_index("event_id")["source_id"]
    references = {}
    moments = predictions[["event_id", "as_of"]].drop_duplicates()
    for event_id, as_of in moments.itertuples(index=False):
        named = {own[event_id], *(built[event_id].source_ids if event_id in built else ())}
        named &= set(series)  # a set of one's own may name sources that have no page here
        pages = {open_series().fetch(series[name].address, as_of).page_id for name in named}
        references.setdefault(event_id, set()).update(pages)
    return references
