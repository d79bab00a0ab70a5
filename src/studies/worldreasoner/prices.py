"""Prices of a prediction market: in order, where their level changes, and forecasts beside them
(G.3.1, 5.3, D).

Prices are a table of question_id, day (a number of days, with its fraction) and price (of Yes). The
price of its moment is what a forecast of a yes/no question has to beat.
"""

import numpy as np
import pandas as pd

from daybefore.questions.moments import name_horizon, number_days
from helpers.files import dump_json, parse_json
from helpers.means import summarize_clustered
from helpers.papers import get_constant

N_SEGMENT = get_constant("worldreasoner", "turning_point_points")
GAP_HOURS = get_constant("worldreasoner", "turning_point_hours")

SAME = 1e-9
"""Prices this near are the same."""
MAD_OF_ONE = 0.6745
"""Median distance from the median of a normal variable of standard deviation 1."""


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


def tell_markets(predictions, events, answers):
    """Return predictions of yes/no questions at horizons as forecasts that `measure_skill` takes.

    `predictions` has agent_id, event_id, as_of, horizon, value, probability and distribution (JSON
    by letter, Yes is A). Columns agent_id, question_id, as_of, stage, day, p (of Yes, by the
    distribution, else by the probability stated of the value; blank without both), says_yes,
    outcome, opens_at, resolves_at.
    """
    about = events.set_index("event_id")
    values = answers.set_index("event_id")["value"]
    table = predictions.rename(columns={"event_id": "question_id", "horizon": "stage"}).reset_index(
        drop=True
    )
    told = [(parse_json(cell) or {}).get("A") for cell in table["distribution"]]
    says = [np.nan if pd.isna(cell) else parse_json(cell) == "A" for cell in table["value"]]
    table = table.assign(
        p=pd.Series(told, table.index, dtype=float), says_yes=pd.Series(says, dtype=float)
    )
    stated = pd.to_numeric(table.get("probability", pd.Series(np.nan, table.index))).where(
        table["says_yes"].notna()
    )
    table["p"] = table["p"].fillna(stated.where(table["says_yes"] == 1, 1 - stated))
    table["day"] = number_days(table["as_of"])
    table["outcome"] = table["question_id"].map(values).eq(dump_json("A")).astype(int)
    for name in ("opens_at", "resolves_at"):
        table[name] = table["question_id"].map(about[name].str[:10])
    return table[
        "agent_id question_id as_of stage day p says_yes outcome opens_at resolves_at".split()
    ]


def measure_skill(forecasts, prices, clusters=None):
    """Return each agent's Brier score beside the market's at the same moment, by stage of the
    question's life.

    `forecasts` has agent_id, question_id, day, p (of Yes), outcome (0 or 1), opens_at, resolves_at.
    The baseline that matters is the price: `difference` is the market's Brier score minus the
    agent's, in pairs (above 0: the agent is better), with its 95% interval and p by cluster (a
    question by default); `skill` 1 minus their quotient. Columns agent_id, stage (all first),
    brier, market, difference, low, high, p, n, n_clusters, skill. Forecasts without an earlier
    price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    ends = zip(
        table["opens_at"], table["resolves_at"], pd.to_datetime(table["day"], unit="D"), strict=True
    )
    table = table.assign(
        stage=[name_horizon(opens, closes, [day])[0] for opens, closes, day in ends]
    )
    table = table.assign(
        brier=(table["p"] - table["outcome"]) ** 2, market=(table["price"] - table["outcome"]) ** 2
    )
    table = table.assign(difference=table["market"] - table["brier"])
    parts = [("all", table), *((name, part) for name, part in table.groupby("stage", sort=True))]
    rows = []
    for stage, part in parts:
        wide = part.pivot_table("difference", "question_id", "agent_id", aggfunc="mean")
        found = summarize_clustered(wide, clusters)[["mean", "low", "high", "p", "n", "n_clusters"]]
        means = (
            part.groupby(["agent_id", "question_id"])[["brier", "market"]]
            .mean()
            .groupby(level=0)
            .mean()
        )
        rows.append(
            found.rename(columns={"mean": "difference"})
            .join(means)
            .rename_axis("agent_id")
            .reset_index()
        )
        rows[-1].insert(1, "stage", stage)
    table = pd.concat(rows, ignore_index=True)
    table["skill"] = 1 - table["brier"] / table["market"].where(table["market"] > 0)
    return table["agent_id stage brier market difference low high p n n_clusters skill".split()]
