"""How fresh is what an agent reads: the newest value of hourly pages, asked ten minutes after an
update (FutureX 5.3).

The paper asks four agents for the score of five games, ten minutes after each. Here pages of the
replay web change every hour, and are read directly or through a proxy that serves old copies
(`daybefore.web.cache`).
"""

import re
from contextlib import suppress
from functools import partial

import numpy as np
import pandas as pd

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.session import Web
from daybefore.web.source_registry import read_rows
from helpers.clock import ZONE, stamp_moment

TOPICS = (
    ("i94_traffic", "I-94", "volume", "number of westbound vehicles an hour"),
    ("keywest_water", "Key West", "temperature", "water temperature"),
    ("sf_freeway", "Bay Area freeway", "occupancy", "road occupancy"),
    ("sst_buoy", "Buoy B01", "temperature", "sea surface temperature"),
    ("weather_minneapolis", "Minneapolis", "temperature", "air temperature"),
)
"""What is asked about: source, entity, variable, and how a person calls it."""
READING = make_schema(time={"type": "string"}, value={"type": "number"})
"""What a model that reads a page replies with."""
N_HITS, N_SHOWN = 3, 2
"""Passages that a search brings, and those of the page that the model is shown, the newest
first."""
DATED = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d): ([^;\n]+)")


def connect_near(adapter, sources, topics=TOPICS):
    """Return a Web whose search knows the pages of the topics' subdomains only, rivals of the
    wanted one included."""
    subjects = {sources[source_id].subdomain for source_id, *_ in topics}
    near = {name: source for name, source in sources.items() if source.subdomain in subjects}
    return Web(adapter, near)


def list_queries(sources, first, last, n_each, delay_minutes, rng, topics=TOPICS):
    """Return queries by time: query_id, source_id, entity, variable, words, as_of, occurred_at,
    value (the truth).

    For each topic `n_each` updates between two dates (UTC+8, both included) are drawn, asked about
    `delay_minutes` after they came out. An update is a moment of publication with its newest value.
    Raises ValueError for a topic whose next update comes sooner.
    """
    tables = []
    delay = pd.Timedelta(minutes=delay_minutes)
    for source_id, entity, variable, words in topics:
        rows = read_rows(sources[source_id]).rename(columns={variable: "value"})
        rows = rows[rows["entity"] == entity].drop_duplicates("published_at", keep="last")
        updates = rows[["published_at", "occurred_at", "entity", "value"]].dropna()
        days = updates["published_at"].dt.tz_convert(ZONE).dt.strftime("%Y-%m-%d")
        updates = updates[days.between(first, last)]
        if (updates["published_at"].diff() <= delay).any():
            raise ValueError(
                f"{source_id} is updated again within {delay_minutes} minutes; ask sooner"
            )
        n = len(updates)
        drawn = updates.iloc[np.sort(rng.choice(n, size=min(n_each, n), replace=False))]
        tables.append(drawn.assign(source_id=source_id, variable=variable, words=words))
    table = pd.concat(tables).sort_values(["published_at", "source_id"], ignore_index=True)
    table["as_of"] = (table.pop("published_at") + delay).map(stamp_moment)
    table.insert(0, "query_id", table.index.map("q{:03d}".format))
    return table


def list_visits(addresses, first, last, per_hour, rng):
    """Return other people's visits (as_of, address): random moments of two dates and all between,
    so many an hour."""
    start, end = (pd.Timestamp(day, tz=ZONE) for day in (first, last))
    hours = (end - start) / pd.Timedelta(hours=1) + 24
    visits = []
    for address in sorted(addresses):
        passed = np.cumsum(rng.exponential(1 / per_hour, int(3 * per_hour * hours + 20)))
        moments = start + pd.to_timedelta(passed[passed < hours], "h")
        visits += [(stamp_moment(moment), address) for moment in moments]
    return pd.DataFrame(sorted(visits), columns=["as_of", "address"])


def read_passages(text, entity, place):
    """Return (occurred_at, value) of the newest dated value about an entity in passages, a line
    each, or (None, None).

    >>> read_passages("Buoy (t, p): 2016-10-12 03:00: 14.65, 9; 2016-10-12 02:00: 14.55, 8", "Buoy", 0)
    ('2016-10-12T03:00', 14.65)
    """
    found = {}
    for line in text.splitlines():
        for date, hour, values in DATED.findall(line) if line.startswith(f"{entity} (") else ():
            parts = values.split(", ")
            if len(parts) > place and re.fullmatch(r"-?[\d,]*\.?\d+", parts[place].strip()):
                found[f"{date}T{hour}"] = float(parts[place].replace(",", ""))
    return max(found.items()) if found else (None, None)


def answer_page(crawler, query):
    """Read the page itself by its source's rule."""
    seen, _ = crawler.observe(query["source_id"], query["as_of"])
    is_asked = (seen["entity"] == query["entity"]) & (seen["variable"] == query["variable"])
    rows = seen[is_asked].dropna(subset="value").sort_values("occurred_at")
    if rows.empty:
        return None, None
    return rows["occurred_at"].iloc[-1], float(rows["value"].iloc[-1])


def answer_search(crawler, query, is_opened=False):
    """Search in the question's words and read the passages that come back, or what their first page
    shows first."""
    hits = crawler.search(f"newest {query['words']} {query['entity']}", query["as_of"], N_HITS)
    if is_opened:
        hits = [crawler.open(hit.url, query["as_of"]) for hit in hits[:1]]
    place = list(crawler.sources[query["source_id"]].variables).index(query["variable"])
    return read_passages("\n".join(hit.text for hit in hits), query["entity"], place)


AGENTS = {
    "reads the page": answer_page,
    "searches, opens": partial(answer_search, is_opened=True),
    "searches": answer_search,
    "reads at midnight": lambda crawler, query: answer_page(
        crawler, query | {"as_of": stamp_moment(pd.Timestamp(query["as_of"][:10], tz=ZONE))}
    ),
}
"""Agent -> how it answers: `answer(crawler, query)` gives (occurred_at, value) of what it takes to
be the newest."""


def ask_reader(consult, crawler, query):
    """Let a model say the newest value of a page whose first passages it is shown, and the time the
    page gives it."""
    text = crawler.open(crawler.sources[query["source_id"]].address, query["as_of"]).text
    now = pd.Timestamp(query["as_of"]).tz_convert("UTC")
    blanks = {"now": f"{now:%Y-%m-%d %H:%M}", "page": "\n".join(text.splitlines()[:N_SHOWN])}
    prompt = read_prompt("latest_value").format(
        **blanks, variable=query["words"], entity=query["entity"]
    )
    verdict = consult(prompt, READING)
    if verdict.value is None:
        return None, None
    stamp = re.search(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)", verdict.value["time"])
    return f"{stamp[1]}T{stamp[2]}" if stamp else None, float(verdict.value["value"])


def follow_clock(crawler, queries, agents=AGENTS, visits=None):
    """Put queries to agents in order of time, other people's visits in between; return query_id,
    agent, told_at, told.

    `told_at` is the period of the value an agent gives, both missing when it finds none or the site
    is down.
    """
    rows = []
    steps = pd.concat([visits, queries]).sort_values("as_of", kind="stable")
    for step in steps.to_dict("records"):
        if pd.isna(step["query_id"]):
            with suppress(GatewayError):  # a visitor who finds nothing goes away
                crawler.fetch(step["address"], step["as_of"])
            continue
        for name, answer in agents.items():
            told = None, None
            with suppress(GatewayError, ExtractionError):
                told = answer(crawler, step)
            rows.append((step["query_id"], name, *told))
    return pd.DataFrame(rows, columns=["query_id", "agent", "told_at", "told"])


def score_answers(queries, answers):
    """Return the answers with is_answered, is_exact (the newest value) and staleness (hours
    behind)."""
    table = answers.merge(queries, on="query_id", validate="many_to_one")
    told = table["told"].astype(float)
    late = pd.to_datetime(table["occurred_at"]) - pd.to_datetime(table["told_at"], errors="coerce")
    return table.assign(
        is_answered=told.notna(),
        is_exact=(told - table["value"]).abs() <= 1e-6,
        staleness=late / pd.Timedelta(hours=1),
    )


def summarize_agents(scored):
    """Return, by access and agent, n, n_pages, answered and exact (shares of all queries) and
    staleness (hours)."""
    facts = {
        "n": ("query_id", "size"),
        "n_pages": ("source_id", "nunique"),
        "answered": ("is_answered", "mean"),
        "exact": ("is_exact", "mean"),
        "staleness": ("staleness", "mean"),
    }
    return scored.groupby(["access", "agent"], sort=False).agg(**facts).reset_index()
