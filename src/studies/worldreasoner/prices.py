"""Prices of a prediction market: in order, where their level changes, how well they forecast, and
forecasts beside them (G.3.1, 5.3, D).

Prices are a table of question_id, day (a number of days, with its fraction) and price (of Yes). The
price of its moment is what a forecast of a yes/no question has to beat.
"""

import numpy as np
import pandas as pd

from daybefore.questions.life_moments import name_horizon, number_days, place_forecast
from helpers.files import dump_json, parse_json
from helpers.means import logit_interval, summarize_clustered
from helpers.papers import get_constant
from helpers.tables import HORIZONS

N_SEGMENT = get_constant("worldreasoner", "turning_point_points")
GAP_HOURS = get_constant("worldreasoner", "turning_point_hours")

SAME = 1e-9
"""Prices this near are the same."""
MAD_OF_ONE = 0.6745
"""Median distance from the median of a normal variable of standard deviation 1."""
SETTLED = 0.05
"""A market whose first price is so near 0 or 1 looked nearly certain."""


def order_prices(prices):
    """Return prices by day, without blank ones."""
    known = prices[["question_id", "day", "price"]].dropna(subset="price").astype({"day": float})
    return known.sort_values("day", kind="stable")


def find_turning_points(days, prices):
    """Return the days at which the level of a price changes: change points by PELT, oldest first
    (G.3.1).

    Segments have a mean each and N_SEGMENT prices or more; a further one must earn log(n) times the
    noise's variance (BIC), the noise being that of the price's steps (median distance). Of two
    within GAP_HOURS the earlier stays. Blank prices are left out. Empty with too few prices, or
    where none moves. Needs the package ruptures.
    """
    import ruptures  # here: there is no release for every Python that the kit runs on

    days, values = (np.asarray(part, dtype=float) for part in (days, prices))
    days = days[~np.isnan(values)]
    values = values[~np.isnan(values)]
    if len(values) < 2 * N_SEGMENT or np.ptp(values) <= SAME:
        return []
    steps = np.diff(values)
    noise = np.median(np.abs(steps - np.median(steps))) / MAD_OF_ONE or steps.std()
    cost = max(np.log(len(values)) * noise**2, SAME)
    ends = (
        ruptures.Pelt(model="l2", min_size=N_SEGMENT, jump=1).fit(values[:, None]).predict(pen=cost)
    )
    found = []
    for at in ends[:-1]:
        if not found or days[at] - found[-1] >= GAP_HOURS / 24:
            found.append(float(days[at]))
    return found


def price_forecasts(forecasts, prices):
    """Return forecasts with the market's price as it stood: the last one before the forecast's
    moment, blank without.

    `forecasts` has question_id and day; price is added. Blank prices are left out.
    """
    ordered = (
        forecasts.astype({"day": float})
        .assign(row=np.arange(len(forecasts)))
        .sort_values("day", kind="stable")
    )
    table = pd.merge_asof(
        ordered, order_prices(prices), on="day", by="question_id", allow_exact_matches=False
    )
    return table.sort_values("row", ignore_index=True).drop(columns="row")


def tell_markets(predictions, answers):
    """Return predictions of yes/no questions at horizons as forecasts that `measure_skill` takes.

    `predictions` has agent_id, event_id, as_of, horizon, value, probability and distribution (JSON
    by letter, Yes is A). Columns agent_id, question_id, stage (the horizon), day, p (of Yes, by the
    distribution, else by the probability stated of the value; blank without both), says_yes,
    outcome.
    """
    table = predictions.rename(columns={"event_id": "question_id", "horizon": "stage"})
    table = table.reset_index(drop=True)
    told = [(parse_json(cell) or {}).get("A") for cell in table["distribution"]]
    says = [np.nan if pd.isna(cell) else parse_json(cell) == "A" for cell in table["value"]]
    table["says_yes"] = pd.Series(says, dtype=float)
    stated = pd.to_numeric(table.get("probability", pd.Series(np.nan, table.index)))
    of_yes = stated.where(table["says_yes"] == 1, 1 - stated).where(table["says_yes"].notna())
    table["p"] = pd.Series(told, table.index, dtype=float).fillna(of_yes)
    table["day"] = number_days(table["as_of"])
    values = table["question_id"].map(answers.set_index("event_id")["value"])
    table["outcome"] = values.eq(dump_json("A")).astype(int)
    return table["agent_id question_id stage day p says_yes outcome".split()]


def measure_skill(forecasts, prices, clusters=None):
    """Return each agent's Brier score beside the market's at the same moment, by stage of the
    question's life.

    `forecasts` has agent_id, question_id, stage, day, p (of Yes), outcome (0 or 1). The baseline
    that matters is the price: `difference` is the market's Brier score minus the agent's, in pairs
    (above 0: the agent is better), with its 95% interval and p by cluster (a question by default);
    `skill` 1 minus their quotient. Columns agent_id, stage (all first), brier, market, difference,
    low, high, p, n, n_clusters, skill. Forecasts without an earlier price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    table["brier"] = (table["p"] - table["outcome"]) ** 2
    table["market"] = (table["price"] - table["outcome"]) ** 2
    table["difference"] = table["market"] - table["brier"]
    values = ["brier", "market", "difference"]
    rows = []
    for stage, part in [("all", table), *table.groupby("stage")]:
        each = part.groupby(["agent_id", "question_id"])[values].mean()
        found = summarize_clustered(each["difference"].unstack("agent_id"), clusters)
        rows.append(
            found.drop(columns=["mean", "se"])
            .assign(stage=stage)
            .join(each.groupby("agent_id").mean())
        )
    table = pd.concat(rows).rename_axis("agent_id").reset_index()
    table["skill"] = 1 - table["brier"] / table["market"].where(table["market"] > 0)
    return table["agent_id stage brier market difference low high p n n_clusters skill".split()]


def follow_prices(paths):
    """Return the price's own Brier score at four stages of markets' lives (5.3), of markets that
    looked open at first and of those that looked nearly certain.

    `paths` are ForecastBench's price paths, ids as text. All stages hold the same questions, those
    with a price before each; intervals are by market, which may stand in several sets. Columns
    first_price ("open" or "nearly certain"), stage, market, low, high (within 0 and 1), n,
    n_clusters.
    """
    paths = paths.assign(
        question_id=paths["question_set"] + " " + paths["id"],
        day=number_days(paths["snapshot_date"]),
        market=paths["source"] + " " + paths["id"],
    )
    live = paths[paths["resolved"] == 0].rename(columns={"value": "price"})
    first = live.sort_values("day", kind="stable").groupby("question_id").first()
    first = first[["snapshot_date", "price"]].rename(columns={"snapshot_date": "opens_at"})
    known = paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])]
    known = known.groupby("question_id").last().join(first, how="inner")
    known = known[known["resolution_date"] > known["opens_at"]]
    rows = []
    for name, row in known.iterrows():
        ends = row["opens_at"], row["resolution_date"]
        days = [place_forecast(*ends, stage) for stage in HORIZONS]
        days = [day for day in days if day is not None]
        stages = zip(name_horizon(*ends, days), days, strict=True)
        rows += [(name, stage, number_days(day), row["value"]) for stage, day in stages]
    asked = pd.DataFrame(rows, columns=["question_id", "stage", "day", "outcome"])
    asked = price_forecasts(asked, live)
    asked["brier"] = (asked["price"] - asked["outcome"]) ** 2
    wide = asked.pivot_table("brier", "question_id", "stage")[list(HORIZONS)].dropna()
    is_open = known["price"].between(SETTLED, 1 - SETTLED)
    looked = is_open.map({True: "open", False: "nearly certain"})
    parts = []
    for group, part in wide.groupby(looked, sort=False):
        means = summarize_clustered(part, known["market"])
        parts.append(logit_interval(means, 0, 1).assign(first_price=group))
    table = pd.concat(parts).rename_axis("stage").reset_index().rename(columns={"mean": "market"})
    return table["first_price stage market low high n n_clusters".split()]
