"""Public files as questions with real horizons: weekly series of boards and charts.

Of the files' texts nothing is kept: dates, scores, counts and ids.
"""

import pandas as pd

from helpers.events.horizons import give_rows, load_series
from helpers.public_files import locate_public

FILES = {
    "chart_weeks": "charts/billboard_hot100_2016_2026.csv.gz",
    "lmarena_weeks": "frontier/lmarena_text_overall_2023_2025.csv",
    "swebench_weeks": "frontier/swe_bench_dated_results.csv",
}
"""Source of data/horizons.toml -> the public file that its rows are made of."""
BOARDS = ("Verified", "Lite")
MIN_BOARD = 3
"""A board counts when so many models have a score."""


def give_public_series():
    """Make the rows of window L's public series and return these sources: {source_id: Source}.

    Raises what `locate_public` does.
    """
    makers = {"chart_weeks": gather_charts, "lmarena_weeks": gather_arena, "swebench_weeks": gather_swebench}
    for source_id, name in FILES.items():
        give_rows(source_id, makers[source_id](pd.read_csv(locate_public(name))))
    return {source_id: load_series()[source_id] for source_id in FILES}


def fill_weeks(table):
    """Return a table of dated states (dates as index) at the end of each week, a Sunday, from the first to the last.

    >>> states = pd.DataFrame({"x": [1, 2]}, index=pd.to_datetime(["2024-01-03", "2024-01-16"]))
    >>> fill_weeks(states)["x"].to_dict()
    {Timestamp('2024-01-07 00:00:00'): 1.0, Timestamp('2024-01-14 00:00:00'): 1.0}
    """
    last = table.index.max()
    weeks = table.sort_index().groupby(level=0).last().resample("W-SUN").last().ffill()
    return weeks[weeks.index <= last].astype(float)


def name_rows(weeks, entity):
    """Return a table of weeks as rows of one entity: occurred_at, entity and the columns."""
    rows = weeks.rename_axis("occurred_at").reset_index()
    rows["occurred_at"] = rows["occurred_at"].dt.strftime("%Y-%m-%d")
    rows.insert(1, "entity", entity)
    return rows


def gather_arena(scores):
    """Return the best score and its lead over the second at the end of each week; 0 is a model that was not there."""
    days = pd.to_datetime(scores.iloc[:, 0].astype(str), format="%Y%m%d")
    known = scores.iloc[:, 1:].where(scores.iloc[:, 1:] > 0)
    ordered = known.apply(lambda row: row.nlargest(2).tolist() if row.count() >= MIN_BOARD else [None, None], axis=1)
    table = pd.DataFrame(ordered.tolist(), columns=["best", "second"], index=days).dropna()
    weeks = fill_weeks(table.assign(lead=table["best"] - table["second"])[["best", "lead"]]).round(1)
    return name_rows(weeks, "text")


def gather_swebench(results):
    """Return the best share resolved so far on each board at the end of each week."""
    parts = []
    for board in BOARDS:
        own = results[results["board"] == board].sort_values("date")
        best = own.set_index(pd.to_datetime(own["date"]))["resolved"].cummax().groupby(level=0).max()
        parts.append(name_rows(fill_weeks(best.to_frame("best")), board))
    rows = pd.concat(parts)
    whole = rows.groupby("occurred_at")["entity"].transform("size") == len(BOARDS)
    return rows[whole].sort_values(["occurred_at", "entity"], ignore_index=True)


def gather_charts(charts):
    """Return new songs, artists in the first ten places, and the longest stay, of each week's chart (a Saturday's)."""
    charts = charts.assign(top=charts["artist"].where(charts["rank"] <= 10), is_new=charts["weeks"].eq(1))
    table = charts.groupby("chart_date").agg(
        entries=("is_new", "sum"), artists=("top", "nunique"), longest=("weeks", "max")
    )
    table.index = pd.to_datetime(table.index)
    weeks = table.resample("W-SUN").last().astype(float)
    return name_rows(weeks[weeks.index >= "2020-07-01"], "Hot 100")
