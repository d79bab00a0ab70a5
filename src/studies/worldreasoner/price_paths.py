"""How well markets' prices forecast over a question's life, beside the first price kept and one
half (5.3)."""

import numpy as np
import pandas as pd

from daybefore.questions.moments import name_horizon, number_days, place_forecast
from helpers.means import logit_interval
from helpers.tables import HORIZONS
from studies.worldreasoner.prices import measure_skill, price_forecasts

SETTLED = 0.05
"""A market whose first price is so near 0 or 1 looked nearly certain."""


def follow_prices(paths, authors):
    """Return the price's own Brier score at four stages, beside one half and the price at the
    start, kept.

    Columns of `measure_skill` and first_price ("open" or "nearly certain", blank of the authors' 16
    markets). All stages hold the same questions; intervals are by market. Of one half, low_market
    and high_market are the price's. `paths` are ForecastBench's price paths, ids as text; `authors`
    is the table of `follow_authors`.
    """
    paths["question_id"] = paths["question_set"] + " " + paths["id"]
    paths["day"] = number_days(paths["snapshot_date"])
    live = (
        paths[paths["resolved"] == 0]
        .rename(columns={"value": "price"})
        .sort_values("day", kind="stable")
    )
    start = live.groupby("question_id")[["snapshot_date", "price"]].first()
    last = (
        paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])].groupby("question_id").last()
    )
    known = last.join(start.rename(columns={"snapshot_date": "opens_at"}), how="inner")
    known = known[pd.to_datetime(known["resolution_date"]) > pd.to_datetime(known["opens_at"])]
    known["first_price"] = np.where(
        known["price"].between(SETTLED, 1 - SETTLED), "open", "nearly certain"
    )
    clusters = known["source"] + " " + known["id"]  # a market may stand in several sets
    asked = ask_start(known.reset_index())
    priced = price_forecasts(asked, live).query("agent_id == 'one half'").dropna(subset="price")
    ends = zip(
        priced["opens_at"],
        priced["resolves_at"],
        pd.to_datetime(priced["day"], unit="D"),
        strict=True,
    )
    priced["stage"] = [name_horizon(opens, closes, [day])[0] for opens, closes, day in ends]
    n_stages = priced.groupby("question_id")["stage"].nunique()
    always = known.loc[n_stages.index[n_stages == 4]]  # the same questions at each stage
    parts = [
        measure_skill(asked[asked["question_id"].isin(part.index)], live, clusters).assign(
            first_price=group
        )
        for group, part in always.groupby("first_price", sort=False)
    ]
    skill = pd.concat([*parts, authors], ignore_index=True)
    ends = {
        end: skill[end].add(0.25).where(skill["agent_id"] == "one half") for end in ("low", "high")
    }
    bound = logit_interval(pd.DataFrame(ends).assign(mean=skill["market"]), 0, 1)
    return skill.assign(low_market=bound["low"], high_market=bound["high"])


def follow_authors(cards, prices):
    """Return the same over all stages of the authors' yes/no market questions with cards; `prices`
    are their file's."""
    outcome = {row["id"]: row["outcome"] for row in cards if row.get("outcome") in ("Yes", "No")}
    prices = prices[prices["question_id"].isin(outcome)]
    prices = prices.assign(day=number_days(prices["time_utc"]), date=prices["time_utc"].str[:10])
    days = prices.sort_values("day", kind="stable").groupby("question_id")
    known = days.agg(
        opens_at=("date", "first"), resolution_date=("date", "last"), price=("price", "first")
    )
    known = known.reset_index().assign(
        value=lambda table: table["question_id"].map(outcome).eq("Yes").astype(float)
    )
    return (
        measure_skill(ask_start(known), prices)
        .query("stage == 'all'")
        .assign(stage="authors' 16, all")
    )


def ask_start(known, stages=HORIZONS):
    """Return the price at the start, kept, and one half as forecasts at four moments of each
    question's life.

    `known` has question_id, opens_at, resolution_date (dates), price (the first) and value (the
    outcome, 0 or 1). What comes back is what `measure_skill` takes; a moment that a question does
    not have is left out.

    >>> known = {"question_id": ["q"], "opens_at": "2026-01-01", "resolution_date": "2026-01-11", "price": 0.3}
    >>> ask_start(pd.DataFrame(known).assign(value=1.0), ["Mid"])[["agent_id", "day", "p"]].values.tolist()
    [['price at the start', 20459, 0.3], ['one half', 20459, 0.5]]
    >>> ask_start(pd.DataFrame(known).assign(value=1.0))["day"].unique().tolist()
    [20456, 20459, 20462, 20463]
    """
    rows = []
    for question in known.to_dict("records"):
        about = {"question_id": question["question_id"], "outcome": question["value"]}
        about |= {"opens_at": question["opens_at"], "resolves_at": question["resolution_date"]}
        days = [
            place_forecast(question["opens_at"], question["resolution_date"], stage)
            for stage in stages
        ]
        for day in days:
            for agent, p in (
                (("price at the start", question["price"]), ("one half", 0.5))
                if day is not None
                else ()
            ):
                rows.append(about | {"day": int(number_days(day)), "agent_id": agent, "p": p})
    return pd.DataFrame(rows)
