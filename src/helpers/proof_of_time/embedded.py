"""Instances from the rows of data/replay, which need no download: impact, evolution, frontier (3.3, after the paper).

Impact: which of four pages, counties or teams will count most, their order, and ranges of one. Evolution: which later
record, its name left out, continues an entity's series, or none. Frontier: where the highest value of a series will lie
on its own scale, and what share of its possible points a team will have. A row is evidence when the replay web had
published it before the cutoff; what is asked lies at or after it. Candidates are neighbours in rank at the cutoff.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.proof_of_time.builders import (
    Pool,
    build_articles,
    build_buckets,
    build_sets,
    find_range,
    place_on_scale,
)
from helpers.proof_of_time.evidence import write_evidence
from helpers.store import ROOT
from helpers.web.sources import read_rows

DAYS = ("2016-10-03", "2016-10-10", "2016-10-17", "2016-10-24", "2016-10-31")
"""Cutoffs: 00:00 UTC+8 of these days, where what is asked is over by the end of the rows."""

BAND = 5
"""About how many neighbours in rank make a group of candidates."""
FEEDS = ROOT / "data/proof_of_time_feeds.csv"
"""Which variables of which sources are asked about, as which family of tasks (`Feed`)."""
PER_SOURCE = {
    "most_of_four": 8,
    "full_order": 7,
    "bucket": 8,
    "person_article": 10,
    "frontier_bucket": 6,
    "pairwise": 4,
}
"""Instances of a task from one source, about: shared out over its cutoffs."""


class Feed(NamedTuple):
    """A variable of a source and what is asked of it: the `sum`, the `level` (last value), the `top` or the `record` of
    `n` rows. `gap`: rows left out between cutoff and record, where a value counts over so many days already."""

    family: str
    source: str
    variable: str
    figure: str
    n: int
    gap: int


@cache
def load_feeds():
    """Return the feeds as a list, in the file's order."""
    return [Feed(*row) for row in pd.read_csv(FEEDS).itertuples(index=False)]


class Panel(NamedTuple):
    """A variable's rows (entity, occurred_at, published_at, value), its values by days x entities, and when each of
    these was published (UTC)."""

    rows: pd.DataFrame
    wide: pd.DataFrame
    known: np.ndarray
    step: int


def load_panel(source, variable):
    """Return the Panel of a source's variable in the first season (2016), a row a day and entity.

    Timed rows become the day's mean, published with its last; of a league `goals_for` becomes goals a day and `share`
    the percentage of possible points.
    """
    rows = read_rows(source)
    rows = rows.assign(occurred_at=rows["occurred_at"].str[:10])[rows["occurred_at"] < "2017"]
    if only := source.entities.get("only"):
        rows = rows[rows["entity"].isin(only)]
    if variable == "share" and "played" in rows:
        rows = rows[rows["played"] > 0]
        rows = rows.assign(share=(100 * rows["points"] / (3 * rows["played"])).round(1))
    rows = rows.dropna(subset=[variable]).rename(columns={variable: "value"})
    if source.is_hourly:
        rows = rows.groupby(["entity", "occurred_at"], as_index=False).agg({"published_at": "max", "value": "mean"})
        rows["value"] = rows["value"].round(2)
    rows = rows.sort_values(["occurred_at", "entity"], ignore_index=True)
    if variable == "goals_for":
        rows["value"] = rows.groupby("entity")["value"].diff()
        rows = rows.dropna(subset=["value"])
    moments = rows["published_at"].dt.tz_localize(None)
    texts = {moment: f"{moment:%Y-%m-%dT%H:%M:%S}+00:00" for moment in moments.unique()}
    rows = rows.assign(published_at=moments.map(texts))
    wide = rows.pivot(index="occurred_at", columns="entity", values="value")
    known = np.full(wide.shape, np.datetime64("NaT"), "datetime64[s]")
    known[wide.index.get_indexer(rows["occurred_at"]), wide.columns.get_indexer(rows["entity"])] = moments
    step = 7 if pd.Series(pd.to_datetime(wide.index)).diff().median().days == 7 else 1
    return Panel(rows[["entity", "occurred_at", "value", "published_at"]], wide, known, step)


def find_cutoff(day):
    """Return the first moment of a cutoff day, 00:00 UTC+8, in UTC.

    >>> str(find_cutoff("2016-10-03"))
    '2016-10-02T16:00:00'
    """
    return np.datetime64(day, "s") - np.timedelta64(8, "h")


def write_history(folder, feed, panel, day):
    """Write what a feed's panel had published before a cutoff day as an evidence file; returns its manifest's entry."""
    history = panel.rows[panel.rows["published_at"] < str(find_cutoff(day))]
    name = f"{feed.source}-{feed.variable}-{day}.csv"
    return write_evidence(folder, name, history, as_of=history["published_at"].max(), dates="published_at")


def write_again(instances, sources, folder):
    """Write the evidence files of instances from data/replay below a folder, from the rows, as they were built.

    Raises ValueError for a file that the rows do not give.
    """
    wanted = {entry["path"]: entry["sha256"] for instance in instances for entry in instance.manifest}
    for feed in {(feed.source, feed.variable): feed for feed in load_feeds()}.values():
        days = [day for day in DAYS if f"{feed.source}-{feed.variable}-{day}.csv" in wanted]
        panel = load_panel(sources[feed.source], feed.variable) if days else None
        for entry in (write_history(folder, feed, panel, day) for day in days):
            if wanted.pop(entry["path"]) != entry["sha256"]:
                raise ValueError(f"{entry['path']} is another file than the instances were built with; run notebook 40")
    if wanted:
        raise ValueError(f"no rows of data/replay give {min(wanted)}")


def split_panel(panel, feed, day):
    """Return what was published before a cutoff day and what is asked, of the entities that both hold (by days x
    entities), None where that is not all there.

    What is asked begins on the cutoff day, for a record `gap` rows later. Raises ValueError where it was published
    before.
    """
    days = panel.wide.index
    first, last = (str(np.datetime64(day) + at * panel.step) for at in (feed.gap, feed.gap + feed.n))
    is_past = panel.known < find_cutoff(day)
    is_asked, is_seen = np.asarray((days >= first) & (days < last)), is_past.any(axis=1)
    is_over = str(np.datetime64(last) - 1) <= days[-1] or panel.step > 1
    if is_seen.sum() < 5 or not is_over or is_asked.sum() < min(feed.n, 3):
        return None
    if (is_asked & is_seen).any():
        raise ValueError(f"{feed.source}: {days[is_asked & is_seen][0]} was published before the cutoff {day}")
    is_whole = panel.wide[is_asked].notna().to_numpy().all(axis=0) & is_past.any(axis=0)
    past = panel.wide[is_seen].where(is_past[is_seen])
    return past.loc[:, is_whole], panel.wide.loc[is_asked, is_whole]


def open_pool(source, feed, day, asked, file):
    """Return the Pool of a feed at a cutoff day, with its evidence file."""
    label = source.variables.get(feed.variable, {"label": "Share of possible points", "unit": "%"})
    what = label["label"] + (
        f" ({label['unit']})" if label["unit"] not in ("", *label["label"].lower().split()) else ""
    )
    first, last = asked.index[0], asked.index[-1]
    whole = f"from {first} to {last}" if first != last else f"on {first}"
    scale = f"highest {what}, on a scale from nought (the lowest of the last weeks) to a hundred (their highest),"
    measure = {"sum": f"total of {what}", "top": scale}.get(feed.figure, f'value of "{what}"')
    words = {"name": f"{source.name}, {what}" if feed.figure == "record" else source.name, "measure": measure}
    words["span"] = {"level": f"on {last}", "record": f"{first} on"}.get(feed.figure, whole)
    words |= {"one": source.entities["label"], "criteria": f"What {source.name} shows {whole}."}
    metadata = {"is_series": True, "figure": feed.figure, "n_rows": len(asked), "gap": feed.gap, "unit": label["unit"]}
    return Pool(source.id, f"{day}T00:00:00+08:00", [file], words, metadata)


def list_items(past, asked, feed):
    """Return the items of a pool: their value at t1, in bands of neighbours by their last values before the cutoff.

    The highest of a series is placed on the scale of its history; `raw` is the value before that.
    """
    values = raw = {"sum": asked.sum(), "top": asked.max()}.get(feed.figure, asked.iloc[-1])
    if feed.figure == "top":
        values = [place_on_scale(value, past[name].dropna()) for name, value in values.items()]
    order = np.argsort(past.ffill().tail(7).mean().to_numpy(), kind="stable")
    bands = np.array_split(order, max(1, len(order) // BAND))
    group = np.empty(len(order), int)
    for at, band in enumerate(bands):
        group[band] = at
    names = list(asked.columns)
    columns = {"value": np.asarray(values, float), "raw": np.asarray(raw, float), "group": group}
    return pd.DataFrame({"item": names, "text": names} | columns)


def build_feed(source, panel, feed, tasks, rng, folder):
    """Return (instances of a feed's tasks over the cutoff days, sets rejected as tied)."""
    parts = [(day, part) for day in DAYS if (part := split_panel(panel, feed, day))]
    out, n_tied = [], 0
    for turn, (day, (past, asked)) in enumerate(parts):
        pool = open_pool(source, feed, day, asked, write_history(folder, feed, panel, day))
        items = list_items(past, asked, feed)
        for task in tasks:
            n = len(range(turn, PER_SOURCE[task], len(parts)))
            made, tied = build_task(pool, task, items, asked, rng, n)
            out, n_tied = out + made, n_tied + tied
    return out, n_tied


def build_task(pool, task, items, asked, rng, n):
    """Return (instances of one task from a pool, sets rejected as tied)."""
    if task in ("bucket", "frontier_bucket"):
        if task == "bucket" and len({find_range(value, "bucket") for value in items["value"]}) == 1:
            return [], 0  # one range for all: nothing is asked
        return build_buckets(pool, items, rng, n, task), 0
    if task != "person_article":
        return build_sets(pool, items, rng, n, task)
    columns = {"record": ["; ".join(f"{value:g}" for value in asked[name]) for name in asked]}
    columns |= {"owners": [{name} for name in asked], "text": columns["record"], "group": items["group"].to_numpy()}
    return build_articles(pool, items, pd.DataFrame(columns), rng, n)


def build_embedded(sources, rng, folder):
    """Return (all embedded instances, sorted by id, {feed's source and variable: sets rejected as tied}).

    Evidence files are written below `folder`.
    """
    tasks = {"impact": ("most_of_four", "full_order", "bucket"), "evolution": ("person_article",)}
    out, tied = [], {}
    panels = cache(lambda source_id, variable: load_panel(sources[source_id], variable))
    for feed in load_feeds():
        asked = ("frontier_bucket", *(["pairwise"] if feed.source.startswith("football") else []))
        panel = panels(feed.source, feed.variable)
        made, n_tied = build_feed(sources[feed.source], panel, feed, tasks.get(feed.family, asked), rng, folder)
        out, tied[f"{feed.source} {feed.variable}"] = out + made, n_tied
    return sorted({instance.id: instance for instance in out}.values()), tied
