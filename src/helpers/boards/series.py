"""Public files as questions with real horizons: weekly series of boards and charts, and markets with their prices.

Of the files' texts nothing is kept: dates, scores, counts and ids.
"""

import pandas as pd

from helpers.boards.files import locate_public
from helpers.questions.horizons import MAX_DAYS, MIN_DAYS, give_rows, load_series
from helpers.store import dump_json

FILES = {
    "chart_weeks": "charts/billboard_hot100_2016_2026.csv.gz",
    "lmarena_weeks": "frontier/lmarena_text_overall_2023_2025.csv",
    "swebench_weeks": "frontier/swe_bench_dated_results.csv",
}
"""Source of data/horizons.toml -> the public file that its rows are made of."""
MARKETS = "forecastbench/market_price_history.csv"
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


def build_markets(paths, days=(MIN_DAYS, MAX_DAYS)):
    """Return (events, answers, prices) of resolved yes/no markets that ran so many days after their first price.

    `paths` is ForecastBench's price history. Events hold no text; `cluster_id` is the market, which may stand in
    several question sets. `prices` has question_id, day (days since 1970) and price.
    """
    paths = paths.assign(question_id=paths["question_set"] + "-" + paths["source"] + "-" + paths["id"].astype(str))
    live = paths[paths["resolved"] == 0].sort_values("snapshot_date", kind="stable")
    known = paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])].groupby("question_id").last()
    known = known.join(live.groupby("question_id")["snapshot_date"].first().rename("opened"), how="inner")
    span = (pd.to_datetime(known["resolution_date"]) - pd.to_datetime(known["opened"])).dt.days
    known = known[span.between(*days)].reset_index()
    events = pd.DataFrame(
        {
            "event_id": known["question_id"],
            "cluster_id": known["source"] + "-" + known["id"].astype(str),
            "source_id": known["source"],
            "kind": "single",
            "options": dump_json({"A": "Yes", "B": "No"}),
            "opens_at": known["opened"] + "T00:00:00+00:00",
            "resolves_at": known["resolution_date"] + "T00:00:00+00:00",
            "metadata": dump_json({"question_type": "yes_no"}),
        }
    )
    values = known["value"].map({1: dump_json("A"), 0: dump_json("B")})
    answers = pd.DataFrame({"event_id": known["question_id"], "value": values, "status": "ok", "method": "market"})
    day = (pd.to_datetime(live["snapshot_date"], utc=True) - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    prices = pd.DataFrame({"question_id": live["question_id"], "day": day, "price": live["value"]})
    return events, answers, prices[prices["question_id"].isin(events["event_id"])].reset_index(drop=True)
