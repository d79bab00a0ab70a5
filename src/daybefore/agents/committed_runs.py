"""Runs as they are committed: the store's tables under names that stay, and the pages that
predictions rest on.

In the store a run_id ends in a digest of all that its answers depend on. In data/tables a run is
named by its agent, window and condition, and its row in the table runs has the store's id,
`ledger_run_id`. Of the evidence (WorldReasoner 3.2, F.2) what an agent was shown is accessed, what
its reply names by id or address is cited. Agents that are not asked to name pages cite none; there
what they accessed stands for it.
"""

import re

import pandas as pd

from daybefore.store import KEPT, read_runs
from helpers.files import parse_json
from helpers.tables import ROLES, TABLES, check_table, list_columns

KEY = ["run_id", "event_id", "sample"]
TOOL_ROLES = {"open": "opened", "search": "found", "observe": "observed"}
"""A tool, and how a page comes to an agent through it."""
ADDRESS = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]+")


def name_runs(runs):
    """Return {run_id: name}: agent, window and condition; two runs of the same keep their digests.

    >>> ids = ["arima-A-0123abcd", "arima-C1-4567abcd", "arima-C1-89abcdef"]
    >>> list(name_runs(pd.DataFrame({"run_id": ids, "condition": ["sites misbehave", None, None]})).values())
    ['arima-A-sites_misbehave', 'arima-C1-4567abcd', 'arima-C1-89abcdef']
    """
    words = runs["condition"].fillna("").str.findall(r"\w+").str.join("_")
    names = (runs["run_id"].str.rpartition("-")[0] + "-" + words).str.rstrip("-")
    return dict(
        zip(runs["run_id"], names.where(~names.duplicated(keep=False), runs["run_id"]), strict=True)
    )


def export_runs(path, run_ids, timed=(), pages=None):
    """Return {table: rows} of some runs in a store, by their names, each table sorted by its key:
    with their evidence.

    Of the tables in `timed` the times are kept: a recorded model's seconds are facts of its
    recording, the same in every replay. By the table `pages` a page is known that a reply names by
    its address. Raises what `store.read_runs` does; words of news that a run saw are refused where
    its tables are written (`files.check_held`).
    """
    tables = {table: read_runs(path, table, run_ids, timings=table in timed) for table in KEPT}
    names = name_runs(tables["runs"])
    tables["runs"] = tables["runs"].assign(ledger_run_id=tables["runs"]["run_id"])
    tables["runs"]["seed"] = tables["runs"]["seed"].astype(
        "Int64"
    )  # whole also beside runs that have none
    for table, rows in tables.items():
        rows = rows.assign(run_id=rows["run_id"].map(names))
        tables[table] = rows.sort_values(TABLES[table][0], ignore_index=True)
    evidence = list_evidence(tables["traces"], tables["replies"], tables["predictions"], pages)
    return tables | {"evidence": evidence}


def list_evidence(traces, replies, predictions=None, pages=None):
    """Return the evidence table of some runs: a row for each prediction and page, sorted by its
    key.

    `owner_type` is "prediction", `owner_id` its key as "run_id|event_id|sample". Accessed are the
    pages in the traces' `page_ids`, with the closest role that any step gave them; cited those
    among them that the reply names, by page_id or (where `pages` tells it) by address, and those
    that only a prediction's `source_ids` name.
    """
    roles = traces["tool"].map(TOOL_ROLES).fillna("found")
    parts = [traces.assign(role=roles, pages=traces["page_ids"])]
    if predictions is not None:
        parts.append(predictions.assign(role="named", pages=predictions["source_ids"]))
    closest = {}
    for *key, role, cell in pd.concat(part[[*KEY, "role", "pages"]] for part in parts).to_numpy():
        for page_id in parse_json(cell) or ():
            seen = (*key, page_id)
            closest[seen] = min(role, closest.get(seen, role), key=ROLES.index)
    replied = replies.set_index(KEY)["reply"].to_dict()
    address = {} if pages is None else dict(zip(pages["page_id"], pages["url"], strict=True))
    rows = []
    for (*key, page_id), role in closest.items():
        is_cited = is_named(replied.get(tuple(key)), page_id, address.get(page_id))
        owner = ["prediction", "|".join(map(str, key)), page_id]
        rows.append([*owner, role, role != "named", role == "named" or is_cited])
    evidence = pd.DataFrame(rows, columns=list_columns("evidence"))
    return check_table("evidence", evidence.sort_values(["owner_id", "page_id"], ignore_index=True))


def is_named(text, page_id, address=None):
    """Say whether a reply names a page by its id or its whole address.

    >>> is_named("see http://x.test/a, also p1", "p2", "http://x.test/a"), is_named("http://x.test/a2", "p1")
    (True, False)
    """
    if not isinstance(text, str):
        return False
    return page_id in re.findall(r"\w+", text) or address in [
        found.rstrip(".,;:!?") for found in ADDRESS.findall(text)
    ]
