"""What the public news brings and what it may give away: coverage, hindsight, real retrievals.

No table here holds a text: pages, lines and questions stand as addresses, numbers and ids.
"""

from datetime import date
from urllib.parse import urlsplit

import pandas as pd

from helpers.files import ROOT, parse_json
from helpers.means import measure_share, summarize_clustered
from studies.futurex.leaks import DATED, date_page, find_hindsight

LABELS = ROOT / "data/labels/news_hindsight.csv"
"""Lines in which the rule finds hindsight, read by a language model: does it tell of a later day?
Ids, no text."""

UNFLAGGED = ROOT / "data/labels/news_unflagged.csv"
"""Lines in which the rule finds nothing, drawn by a hash and read in the same way. Ids, no text."""


def list_lines(feed):
    """Return a row for each line of a feed of current events: page, line, day, year, hint (""
    without any)."""
    rows = []
    for article in feed.articles:
        day = article.path.partition("/")[0]
        for line, text in enumerate(article.paragraphs):
            hints = find_hindsight(text, date.fromisoformat(day))
            rows.append((article.path, line, day, day[:4], hints[0] if hints else ""))
    return pd.DataFrame(rows, columns=["page", "line", "day", "year", "hint"])


def summarize_hindsight(lines):
    """Return the share of lines in which the rule finds hindsight by year, and of all: year, lines,
    share, low, high.

    Lines of a day are correlated: the interval is by day (`summarize_clustered`).
    """
    rows = []
    for year, part in [*lines.groupby("year"), ("all", lines)]:
        found = summarize_clustered(part[["hint"]].ne("").astype(float), part["day"]).loc["hint"]
        rows.append((year, len(part), found["mean"], found["low"], found["high"]))
    return pd.DataFrame(rows, columns=["year", "lines", "share", "low", "high"])


def weigh_labels(lines, labels, is_flagged=True):
    """Return the shares of labelled lines that surely tell of a later day ("yes"), and that may
    ("yes" or "open").

    Columns reading, n, share, low, high. Raises ValueError for a label of a line in which the rule
    finds nothing, or with `is_flagged` false of one in which it finds something.
    """
    known = labels.merge(
        lines[lines["hint"].ne("") == is_flagged], on=list({"page", "line", "hint"} & set(labels))
    )
    if len(known) < len(labels):
        finds = "nothing" if is_flagged else "something"
        raise ValueError(
            f"{len(labels) - len(known)} labels are of lines in which the rule finds {finds}"
        )
    readings = {"surely later": ("yes",), "perhaps later": ("yes", "open")}
    return pd.DataFrame(
        [
            {"reading": name} | measure_share(labels["label"].isin(words))
            for name, words in readings.items()
        ]
    )


def pool_readings(lines, flagged, unflagged):
    """Return the share of all lines that tell of a later day, from both strata of lines read
    (`weigh_labels`).

    Columns reading, share, low, high, found: the strata's shares weighted by their lines; the ends
    by the distances of the strata's own ends, squared and added (Zou and Donner 2008); `found` is
    the part that the rule finds, blank where there is none.
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
        rows.append(
            {"reading": one["reading"], "share": share, "low": low, "high": high, "found": found}
        )
    return pd.DataFrame(rows)


def list_visible(world, address, moments):
    """Return what a feed's front page lists as of each moment, through the gateway: as_of, n_pages,
    age_days.

    `age_days` is how long before the moment's day the last day that has a page lies.
    """
    rows = []
    for as_of in moments:
        listed = parse_json(world.fetch(address, as_of).text)["articles"]
        newest = max(urlsplit(url).path.split("/")[1] for url in listed)
        rows.append(
            (as_of[:10], len(listed), (pd.Timestamp(as_of[:10]) - pd.Timestamp(newest)).days)
        )
    return pd.DataFrame(rows, columns=["as_of", "n_pages", "age_days"])


def summarize_flags(rows):
    """Return the share of retrievals (published, trading_day, url) by what their date is (`DATED`)
    as of their day.

    The interval is by host: pages of a site are dated alike, or not at all. Columns flag, n, share,
    low, high, n_hosts.
    """
    days = [pd.Timestamp(f"{day}T00:00:00+08:00") for day in rows["trading_day"]]
    flags = pd.Series(list(map(date_page, rows["published"], days)), rows.index)
    shown = (
        pd.DataFrame({flag: flags.eq(flag) for flag in DATED})
        .assign(flagged=flags.ne(DATED[0]))
        .astype(float)
    )
    hosts = rows["url"].map(lambda url: urlsplit(url).hostname)
    found = summarize_clustered(shown, hosts).rename(
        columns={"mean": "share", "n_clusters": "n_hosts"}
    )
    found = found.assign(n=shown.sum().astype(int))
    return found[["n", "share", "low", "high", "n_hosts"]].rename_axis("flag").reset_index()
