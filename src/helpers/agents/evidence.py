"""Which pages an agent's prediction rests on: what it was shown, and what its reply names (WorldReasoner 3.2, F.2).

The two are kept apart: a page that only passed before an agent is accessed, one that its reply names by id or address
is cited. Agents that are not asked to name pages cite none; there what they accessed stands for it.
"""

import re

import pandas as pd

from helpers.store import parse_json
from helpers.tables import ROLES, check_table

KEY = ["run_id", "event_id", "sample"]
TOOL_ROLES = {"open": "opened", "search": "found", "observe": "observed"}
"""A tool, and how a page comes to an agent through it."""
ADDRESS = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`]+")


def list_evidence(traces, replies=None, predictions=None, pages=None):
    """Return the evidence table of some runs: a row for each prediction and page, sorted by its key.

    `owner_type` is "prediction", `owner_id` its key as "run_id|event_id|sample". Accessed are the pages in the traces'
    `page_ids`, with the closest role that any step gave them; cited those among them that the reply names, by page_id
    or (where `pages` tells it) by address, and those that only a prediction's `source_ids` name. Where no replies are
    given they are the content of the traces' answers.

    >>> key = {"run_id": "r", "event_id": "e", "sample": 0}
    >>> seen = [("search", '["a","b"]'), ("open", '["b"]')]
    >>> steps = [key | {"step": step, "tool": tool, "page_ids": pages} for step, (tool, pages) in enumerate(seen)]
    >>> reply = pd.DataFrame([key | {"reply": "I go by http://x.test/b."}])
    >>> told = pd.DataFrame({"page_id": ["a", "b"], "url": ["http://x.test/a", "http://x.test/b"]})
    >>> table = list_evidence(pd.DataFrame(steps), reply, pages=told)
    >>> table[["owner_id", "page_id", "role", "is_accessed", "is_cited"]].values.tolist()
    [['r|e|0', 'a', 'found', True, False], ['r|e|0', 'b', 'opened', True, True]]
    """
    shown = spread_pages(traces, "page_ids").assign(is_accessed=True)
    shown["role"] = shown["tool"].map(TOOL_ROLES).fillna("found")
    parts = [shown]
    if predictions is not None:
        parts.append(spread_pages(predictions, "source_ids").assign(is_accessed=False, role="named"))
    rows = pd.concat(parts)[[*KEY, "page_id", "role", "is_accessed"]]
    rows["role"] = pd.Categorical(rows["role"], ROLES, ordered=True)
    rows = rows.sort_values([*KEY, "page_id", "role"]).drop_duplicates([*KEY, "page_id"])
    if replies is None:
        replies = traces[traces["step_type"] == "answer"].rename(columns={"content": "reply"})
    rows = rows.merge(replies[[*KEY, "reply"]], on=KEY, how="left")
    address = {} if pages is None else dict(zip(pages["page_id"], pages["url"], strict=True))
    rows["is_cited"] = [
        not is_accessed or is_named(reply, page_id, address.get(page_id))
        for is_accessed, reply, page_id in zip(rows["is_accessed"], rows["reply"], rows["page_id"], strict=True)
    ]
    rows["owner_id"] = name_owners(rows)
    rows = rows.assign(owner_type="prediction", role=rows["role"].astype(str)).drop(columns=[*KEY, "reply"])
    return check_table("evidence", rows.sort_values(["owner_id", "page_id"], ignore_index=True))


def name_owners(rows):
    """Return how predictions, by their key, are named as owners of evidence: "run_id|event_id|sample"."""
    return rows["run_id"] + "|" + rows["event_id"] + "|" + rows["sample"].astype(str)


def spread_pages(table, column):
    """Return a table with a row for each page that a column of JSON lists, in the column page_id."""
    given = table[table[column].notna()]
    spread = given.assign(page_id=[parse_json(cell) for cell in given[column]]).explode("page_id")
    return spread[spread["page_id"].notna()]


def is_named(text, page_id, address=None):
    """Say whether a reply names a page by its id or its whole address.

    >>> is_named("see http://x.test/a, also p1", "p2", "http://x.test/a"), is_named("http://x.test/a2", "p1")
    (True, False)
    """
    if not isinstance(text, str):
        return False
    return page_id in re.findall(r"\w+", text) or address in [found.rstrip(".,;:!?") for found in ADDRESS.findall(text)]
