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

from helpers.papers import get_constant
from helpers.proof_of_time.builders import (
    Pool,
    build_articles,
    build_buckets,
    build_most,
    build_order,
    build_pairs,
    find_bucket,
    place_on_scale,
)
from helpers.proof_of_time.evidence import to_moment, write_evidence
from helpers.world.sources import read_rows

DAYS = ("2016-10-03", "2016-10-10", "2016-10-17", "2016-10-24", "2016-10-31")
"""Cutoffs: 00:00 UTC+8 of these days, where what is asked is over by the end of the rows."""

CITATIONS = get_constant("proof_of_time", "citation_buckets")
LEAGUES = ("football_austria", "football_bundesliga", "football_epl", "football_laliga", "football_seriea")
BAND = 5
"""About how many neighbours in rank make a group of candidates."""
N_RECORD = 7
"""Days in an anonymous record (three for weekly rows)."""
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
    """A variable of a source and what is asked of it: the `sum`, the `level` (last value) or the `top` of `n` rows.

    `gap`: rows left out between cutoff and record, where a value counts over so many days already.
    """

    source: str
    variable: str
    figure: str
    n: int
    gap: int = 0


IMPACT = (
    Feed("wikipedia_views", "views", "sum", 7),
    Feed("i94_hours", "volume", "sum", 7),
    Feed("minneapolis_force_problems", "reports", "level", 7),
    Feed("algarve_hotel_countries", "arrivals", "level", 7),
    Feed("taiwan_dengue", "cases", "level", 28),
    Feed("minneapolis_force_places", "reports", "level", 28),
    Feed("seattle_pets", "licences", "level", 28),
    Feed("avocado", "volume", "level", 1),
    *(Feed(league, "goals_for", "sum", 21) for league in LEAGUES),
)
"""Counts; of a league's table the goals of three weeks."""

EVOLUTION = (
    Feed("wikipedia_views", "views", "record", N_RECORD),
    Feed("i94_hours", "volume", "record", N_RECORD),
    Feed("sf_hours", "occupancy", "record", N_RECORD),
    Feed("us_polls", "lead", "record", N_RECORD),
    Feed("birmingham_parking", "share", "record", N_RECORD),
    Feed("ecb_fixings", "rate", "record", N_RECORD),
    Feed("avocado", "price", "record", 3),
    Feed("minneapolis_force_problems", "reports", "record", N_RECORD, 7),
    Feed("algarve_hotel_countries", "arrivals", "record", N_RECORD, 7),
    Feed("taiwan_dengue", "cases", "record", N_RECORD, 28),
    Feed("minneapolis_force_places", "reports", "record", N_RECORD, 28),
    Feed("seattle_pets", "licences", "record", N_RECORD, 28),
)

FRONTIER = (
    Feed("oil_brent", "price", "top", 7),
    Feed("btc_transactions", "transactions", "top", 7),
    Feed("tweet_counts", "tweets", "top", 7),
    Feed("puerto_rico_deaths", "deaths", "top", 7),
    Feed("gbp_index", "index", "top", 7),
    Feed("solar_flux", "f107", "top", 7),
    Feed("geomagnetic", "kp_sum", "top", 7),
    Feed("earth_rotation", "lod", "top", 7),
    Feed("weather_bwi", "tmax", "top", 7),
    Feed("weather_lincoln", "tmax", "top", 7),
    Feed("clemson", "tmax", "top", 7),
    Feed("sst_buoy", "temperature", "top", 7),
    Feed("minneapolis_force_total", "reports", "top", 7),
    *(Feed(league, "share", "level", 21) for league in LEAGUES),
)


class Panel(NamedTuple):
    """A variable's rows (entity, occurred_at, published_at, value), their moments, and values by days x entities."""

    rows: pd.DataFrame
    moments: pd.Series
    wide: pd.DataFrame
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
    wide = rows.pivot(index="occurred_at", columns="entity", values="value")
    days = pd.to_datetime(wide.index)
    step = 7 if pd.Series(days).diff().median().days == 7 else 1
    text = rows["published_at"].dt.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    rows = rows[["entity", "occurred_at", "value"]].assign(published_at=text)
    return Panel(rows, pd.to_datetime(text, utc=True), wide, step)


def split_panel(panel, feed, day):
    """Return (rows published before a cutoff day, days x entities of what is asked), None where that is not all there.

    What is asked begins on the cutoff day, for a record `gap` rows later. Raises ValueError where it was published
    before.
    """
    cutoff = to_moment(f"{day}T00:00:00+08:00")
    first, last = (
        f"{pd.Timestamp(day) + pd.Timedelta(days=at * panel.step):%Y-%m-%d}" for at in (feed.gap, feed.gap + feed.n)
    )
    asked = panel.wide[(panel.wide.index >= first) & (panel.wide.index < last)].dropna(axis=1)
    is_before = panel.moments < cutoff
    history = panel.rows[is_before]
    seen = set(history["occurred_at"])
    is_over = f"{pd.Timestamp(last) - pd.Timedelta(days=1):%Y-%m-%d}" <= panel.wide.index[-1] or panel.step > 1
    if len(seen) < 5 or not is_over or len(asked) < min(feed.n, 3):
        return None
    if seen & set(asked.index):
        raise ValueError(f"{feed.source}: {min(seen & set(asked.index))} was published before the cutoff {day}")
    return history, asked[asked.columns.intersection(pd.unique(history["entity"]))]


def open_pool(source, feed, day, history, asked, folder):
    """Return the Pool of a feed at a cutoff day, its evidence written below a folder."""
    name = f"{source.id}-{feed.variable}-{day}.csv"
    as_of = history["published_at"].max()
    file = write_evidence(folder, name, history, as_of=as_of, dates="published_at")
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


def list_items(history, asked, feed):
    """Return the items of a pool: their value at t1, in bands of neighbours by their last values before the cutoff.

    The highest of a series is placed on the scale of its history.
    """
    past = history.pivot(index="occurred_at", columns="entity", values="value")[asked.columns]
    values = {"sum": asked.sum(), "top": asked.max()}.get(feed.figure, asked.iloc[-1])
    if feed.figure == "top":
        values = [place_on_scale(value, past[name].dropna()) for name, value in values.items()]
    order = np.argsort(past.ffill().tail(7).mean().to_numpy(), kind="stable")
    bands = np.array_split(order, max(1, len(order) // BAND))
    group = np.empty(len(order), int)
    for at, band in enumerate(bands):
        group[band] = at
    names = list(asked.columns)
    return pd.DataFrame({"item": names, "text": names, "value": np.asarray(values, float), "group": group})


def list_records(asked, items):
    """Return the anonymous records of a pool: record, owners, text (its values in order), group."""
    texts = ["; ".join(f"{value:g}" for value in asked[name]) for name in asked]
    owners = [{name} for name in asked]
    return pd.DataFrame({"record": texts, "owners": owners, "text": texts, "group": items["group"].to_numpy()})


def build_feed(source, panel, feed, tasks, rng, folder):
    """Return (instances of a feed's tasks over the cutoff days, sets rejected as tied)."""
    parts = [(day, part) for day in DAYS if (part := split_panel(panel, feed, day))]
    out, n_tied = [], 0
    for turn, (day, (history, asked)) in enumerate(parts):
        pool = open_pool(source, feed, day, history, asked, folder)
        items = list_items(history, asked, feed)
        for task in tasks:
            n = len(range(turn, PER_SOURCE[task], len(parts)))
            made, tied = build_task(pool, task, items, asked, rng, n)
            out, n_tied = out + made, n_tied + tied
    return out, n_tied


def build_task(pool, task, items, asked, rng, n):
    """Return (instances of one task from a pool, sets rejected as tied)."""
    if task in ("bucket", "frontier_bucket"):
        if task == "bucket" and len({find_bucket(value, CITATIONS) for value in items["value"]}) == 1:
            return [], 0  # one range for all: nothing is asked
        return build_buckets(pool, items, rng, n, task), 0
    if task == "person_article":
        return build_articles(pool, items, list_records(asked, items), rng, n)
    builder = {"most_of_four": build_most, "full_order": build_order, "pairwise": build_pairs}[task]
    return builder(pool, items, rng, n)


def build_embedded(sources, rng, folder):
    """Return (all embedded instances, sorted by id, {feed's source and tasks: sets rejected as tied}).

    Evidence files are written below `folder`.
    """
    plans = [(feed, ("most_of_four", "full_order", "bucket")) for feed in IMPACT]
    plans += [(feed, ("person_article",)) for feed in EVOLUTION]
    plans += [(feed, ("frontier_bucket", *(["pairwise"] if feed.source in LEAGUES else []))) for feed in FRONTIER]
    out, tied = [], {}
    panels = cache(lambda source_id, variable: load_panel(sources[source_id], variable))
    for feed, tasks in plans:
        panel = panels(feed.source, feed.variable)
        made, n_tied = build_feed(sources[feed.source], panel, feed, tasks, rng, folder)
        out, tied[f"{feed.source} {feed.variable}"] = out + made, n_tied
    return sorted({instance.id: instance for instance in out}.values()), tied
