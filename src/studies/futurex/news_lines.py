"""What the public news brings and what it may give away: coverage, hindsight, real retrievals.

No table here holds a text: pages, lines and questions stand as addresses, numbers and ids.
"""

from datetime import date
from urllib.parse import urlsplit

import pandas as pd

from helpers.files import ROOT, parse_json
from helpers.means import measure_share, summarize_clustered
from studies.futurex.leaks import audit_pages, find_hindsight

LABELS = ROOT / "data/labels/news_hindsight.csv"
"""Lines in which the rule finds hindsight, read by a language model: does it tell of a later day? Ids, no text."""

UNFLAGGED = ROOT / "data/labels/news_unflagged.csv"
"""Lines in which the rule finds nothing, drawn by a hash and read in the same way. Ids, no text."""

DATED = ("earlier", "unsure", "later", "undated")
"""What a publication date is against a moment, the best first."""


def list_lines(feed):
    """Return a row for each line of a feed of current events: page, line, day, year, topic, hint ("" without any)."""
    rows = []
    for article in feed.articles:
        day, _, topic = article.path.partition("/")
        for line, text in enumerate(article.paragraphs):
            hints = find_hindsight(text, date.fromisoformat(day))
            rows.append((article.path, line, day, int(day[:4]), topic, hints[0] if hints else ""))
    return pd.DataFrame(rows, columns=["page", "line", "day", "year", "topic", "hint"])


def count_years(feed, lines):
    """Return a feed's days, pages, topics, lines and refused files by year, and in all."""
    counts = {"days": ("day", "nunique"), "pages": ("page", "nunique"), "topics": ("topic", "nunique")}
    table = lines.groupby("year").agg(**counts, lines=("line", "size"))
    refused = pd.Series([int(name[:4]) for name, _ in feed.refused], dtype=int).value_counts()
    table = table.join(refused.rename("refused"), how="outer").fillna(0).astype(int)
    table.loc["all"] = [*table[["days", "pages"]].sum(), lines["topic"].nunique(), len(lines), len(feed.refused)]
    return table


def summarize_hindsight(lines):
    """Return the share of lines in which the rule finds hindsight by year, and of all: n, hits, share, low, high.

    Lines of a day are correlated: the interval is by day (`summarize_clustered`).
    """
    rows = []
    for name, part in [*lines.groupby("year"), ("all", lines)]:
        found = summarize_clustered(part[["hint"]].ne("").astype(float), part["day"]).loc["hint"]
        rows.append((str(name), len(part), int(part["hint"].ne("").sum()), found["mean"], found["low"], found["high"]))
    return pd.DataFrame(rows, columns=["year", "n", "hits", "share", "low", "high"])


def weigh_labels(lines, labels, is_flagged=True):
    """Return the shares of labelled lines that surely tell of a later day ("yes"), and that may ("yes" or "open").

    Columns reading, n, share, low, high. Raises ValueError for a label of a line in which the rule finds nothing, or
    with `is_flagged` false of one in which it finds something.
    """
    known = labels.merge(lines[lines["hint"].ne("") == is_flagged], on=list({"page", "line", "hint"} & set(labels)))
    if len(known) < len(labels):
        finds = "nothing" if is_flagged else "something"
        raise ValueError(f"{len(labels) - len(known)} labels are of lines in which the rule finds {finds}")
    readings = {"surely later": ("yes",), "perhaps later": ("yes", "open")}
    return pd.DataFrame(
        [{"reading": name} | measure_share(labels["label"].isin(words)) for name, words in readings.items()]
    )


def pool_readings(lines, flagged, unflagged):
    """Return the share of all lines that tell of a later day, from both strata of lines read (`weigh_labels`).

    Columns reading, share, low, high, found: the strata's shares weighted by their lines; the ends by the distances of
    the strata's own ends, squared and added (Zou and Donner 2008); `found` is the part that the rule finds, blank
    where there is none.
    """
    weight = lines["hint"].ne("").mean()
    rows = []
    for (_, one), (_, two) in zip(flagged.iterrows(), unflagged.iterrows(), strict=True):
        parts = [(weight, one), (1 - weight, two)]
        share = sum(w * row["share"] for w, row in parts)
        low, high = (
            share + sign * sum((w * (row[end] - row["share"])) ** 2 for w, row in parts) ** 0.5
            for sign, end in ((-1, "low"), (1, "high"))
        )
        found = weight * one["share"] / share if share else float("nan")
        rows.append({"reading": one["reading"], "share": share, "low": low, "high": high, "found": found})
    return pd.DataFrame(rows)


def list_visible(world, address, moments):
    """Return what a feed's front page lists as of each moment, through the gateway: as_of, n_pages, newest, age_days.

    `newest` is the last day that has a page, `age_days` how long before the moment's day it lies.
    """
    rows = []
    for as_of in moments:
        listed = parse_json(world.fetch(address, as_of).text)["articles"]
        newest = max(urlsplit(url).path.split("/")[1] for url in listed)
        age = pd.Timestamp(as_of[:10]) - pd.Timestamp(newest)
        rows.append((as_of[:10], len(listed), newest, age.days))
    return pd.DataFrame(rows, columns=["as_of", "n_pages", "newest", "age_days"])


def audit_retrievals(rows):
    """Return retrievals with their `flag` (one of DATED), as of 00:00 UTC+8 of their trading day, and host.

    `rows` has agent, trading_day, published, later_than_day and url.
    """
    rows = rows.assign(page_id=rows.index.astype(str), published_at=rows["published"])
    parts = [audit_pages(f"{day}T00:00:00+08:00", part) for day, part in rows.groupby("trading_day")]
    flags = pd.concat(parts).set_index("page_id")["flag"]
    rows["flag"] = rows["page_id"].map(flags).fillna(DATED[0])
    return rows.assign(host=[urlsplit(url).hostname for url in rows["url"]]).drop(columns=["page_id", "published_at"])


def summarize_flags(rows):
    """Return the share of retrievals by flag with its interval by host: pages of a site are dated alike, or not at all.

    Columns flag, n, share, low, high, n_hosts.
    """
    shown = pd.DataFrame({flag: rows["flag"].eq(flag) for flag in DATED}).astype(float)
    shown["flagged"] = rows["flag"].ne(DATED[0]).astype(float)
    found = summarize_clustered(shown, rows["host"])
    found = found.assign(n=shown.sum().astype(int)).rename(columns={"mean": "share", "n_clusters": "n_hosts"})
    return found[["n", "share", "low", "high", "n_hosts"]].rename_axis("flag").reset_index()
