"""Forecasts of yes/no questions beside the market's price of their moment, which is what they have to beat (5.3, D).

Prices are a table of question_id, day (a number of days, with its fraction) and price (of Yes).
"""

import numpy as np
import pandas as pd

from helpers.events.moments import WINDOWS, name_horizon, number_days, place_forecast
from helpers.stats.calibration import pool_odds, recalibrate
from helpers.stats.means import summarize_clustered
from helpers.stats.paired import compare_pairs, judge_pair
from helpers.store import dump_json, parse_json
from helpers.tables import check_shares
from helpers.worldreasoner.prices.markets import check_days, order_prices


def price_forecasts(forecasts, prices):
    """Return forecasts with the market's price as it stood: the last one before the forecast's moment, blank without.

    `forecasts` has question_id and day; columns price and price_day are added. Blank prices are left out. Raises
    ValueError for a forecast or a price without a day.

    >>> prices = pd.DataFrame({"question_id": "q", "day": [1.0, 2.0], "price": [0.4, 0.9]})
    >>> price_forecasts(pd.DataFrame({"question_id": ["q"], "day": [2.0]}), prices)["price"].tolist()
    [0.4]
    """
    known = order_prices(prices).assign(price_day=lambda table: table["day"])
    ordered = check_days(forecasts.assign(row=np.arange(len(forecasts))), "a forecast")
    ordered = ordered.sort_values("day", kind="stable")
    table = pd.merge_asof(ordered, known, on="day", by="question_id", allow_exact_matches=False)
    return table.sort_values("row", ignore_index=True).drop(columns="row")


def tell_markets(predictions, events, answers):
    """Return predictions of yes/no questions at horizons as forecasts that `measure_skill` takes.

    `predictions` has agent_id, event_id, as_of, horizon, value, probability and distribution (JSON by letter, Yes is
    A). Columns agent_id, question_id, as_of, stage, day, p (of Yes, by the distribution, else by the probability stated
    of the value; blank without both), says_yes, outcome, opens_at, resolves_at.
    """
    about = events.set_index("event_id")
    values = answers.set_index("event_id")["value"]
    table = predictions.rename(columns={"event_id": "question_id", "horizon": "stage"}).reset_index(drop=True)
    told = [(parse_json(cell) or {}).get("A") for cell in table["distribution"]]
    says = [np.nan if pd.isna(cell) else parse_json(cell) == "A" for cell in table["value"]]
    table = table.assign(p=pd.Series(told, table.index, dtype=float), says_yes=pd.Series(says, dtype=float))
    stated = pd.to_numeric(table.get("probability", pd.Series(np.nan, table.index))).where(table["says_yes"].notna())
    table["p"] = table["p"].fillna(stated.where(table["says_yes"] == 1, 1 - stated))
    table["day"] = number_days(table["as_of"])
    table["outcome"] = table["question_id"].map(values).eq(dump_json("A")).astype(int)
    for name in ("opens_at", "resolves_at"):
        table[name] = table["question_id"].map(about[name].str[:10])
    return table["agent_id question_id as_of stage day p says_yes outcome opens_at resolves_at".split()]


def measure_skill(forecasts, prices, clusters=None):
    """Return each agent's Brier score beside the market's at the same moment, by stage of the question's life.

    `forecasts` has agent_id, question_id, day, p (of Yes), outcome (0 or 1), opens_at, resolves_at. The baseline that
    matters is the price: `difference` is the market's Brier score minus the agent's, in pairs (above 0: the agent is
    better), with its 95% interval and p by cluster (a question by default); `skill` 1 minus their quotient. Columns
    agent_id, stage (all first), brier, market, difference, low, high, p, n, n_clusters, skill. Forecasts without an
    earlier price are left out. Raises ValueError for a `p` or a price outside 0 to 1.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    for name in ("price", "p"):
        check_shares(name, table[name])
    ends = zip(table["opens_at"], table["resolves_at"], pd.to_datetime(table["day"], unit="D"), strict=True)
    table = table.assign(stage=[name_horizon(opens, closes, [day])[0] for opens, closes, day in ends])
    table = table.assign(brier=(table["p"] - table["outcome"]) ** 2, market=(table["price"] - table["outcome"]) ** 2)
    table = table.assign(difference=table["market"] - table["brier"])
    parts = [("all", table), *((name, part) for name, part in table.groupby("stage", sort=True))]
    rows = []
    for stage, part in parts:
        wide = part.pivot_table("difference", "question_id", "agent_id", aggfunc="mean")
        found = summarize_clustered(wide, clusters)[["mean", "low", "high", "p", "n", "n_clusters"]]
        means = part.groupby(["agent_id", "question_id"])[["brier", "market"]].mean().groupby(level=0).mean()
        rows.append(found.rename(columns={"mean": "difference"}).join(means).rename_axis("agent_id").reset_index())
        rows[-1].insert(1, "stage", stage)
    table = pd.concat(rows, ignore_index=True)
    table["skill"] = 1 - table["brier"] / table["market"].where(table["market"] > 0)
    return table["agent_id stage brier market difference low high p n n_clusters skill".split()]


def ask_start(known, stages=(*WINDOWS, "near resolution")):
    """Return the price at the start, kept, and one half as forecasts at four moments of each question's life.

    `known` has question_id, opens_at, resolution_date (dates), price (the first) and value (the outcome, 0 or 1). What
    comes back is what `measure_skill` takes; a moment that a question does not have is left out.

    >>> known = {"question_id": ["q"], "opens_at": "2026-01-01", "resolution_date": "2026-01-11", "price": 0.3}
    >>> ask_start(pd.DataFrame(known).assign(value=1.0), ["Mid"])[["agent_id", "day", "p"]].values.tolist()
    [['price at the start', 20459, 0.3], ['one half', 20459, 0.5]]
    """
    rows = []
    for question in known.to_dict("records"):
        about = {"question_id": question["question_id"], "outcome": question["value"]}
        about |= {"opens_at": question["opens_at"], "resolves_at": question["resolution_date"]}
        days = [place_forecast(question["opens_at"], question["resolution_date"], stage) for stage in stages]
        for day in days:
            for agent, p in (("price at the start", question["price"]), ("one half", 0.5)) if day is not None else ():
                rows.append(about | {"day": int(number_days(day)), "agent_id": agent, "p": p})
    return pd.DataFrame(rows)


# --- what a forecast adds to the price -------------------------------------------------------------------------------


def mix_forecasts(forecasts, prices, clusters, mended=()):
    """Return (hit, said): what came true, and who gave Yes which probability: a row a question, a column a forecast.

    `forecasts` are of one moment of each question (`tell_markets`). Beside a column an agent there is "price", and for
    each agent "price and <agent>", the mean of both in log-odds (`pool_odds`). That mean halves the distance of the
    price's log-odds from 0 where the agent stands at one half, so what an agent adds is told by comparison with the mix
    of an agent that says one half. Of those named in `mended` "<agent>, mended" is the probability after `recalibrate`,
    each cluster held out by itself. Questions without a price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    said = table.pivot(index="question_id", columns="agent_id", values="p").rename_axis(columns=None)
    own = table.groupby("question_id")[["price", "outcome"]].first()
    said.insert(0, "price", own["price"])
    for name in said.columns[1:]:
        mixed = pool_odds(said[["price", name]])
        said[f"price and {name}"] = np.where(said[name].notna(), mixed, np.nan)
    for name in mended:
        known = said[name].dropna()
        groups = clusters.reindex(known.index)
        held = recalibrate(known, own["outcome"].reindex(known.index), groups, groups.nunique())
        said[f"{name}, mended"] = pd.Series(held, known.index)
    return own["outcome"], said


def plan_mixes(names):
    """Return the pairs that `compare_mixes` tests: models by `names` with the price, with rules and with each other."""
    mixed = [f"price and {name}" for name in names]
    plan = [("price", ["base_rate", *names, "price and half", *mixed])]
    plan += [("price and half", mixed), ("half", names), ("base_rate", names)] if names else []
    plan += [(f"{name}, mended", ["base_rate"]) for name in names]
    for at, name in enumerate(names[:-1]):
        plan += [(other, [name]) for other in names[at + 1 :]]
        plan += [(f"{other}, mended", [f"{name}, mended"]) for other in names[at + 1 :]]
    return plan


def compare_mixes(hit, said, clusters, plan):
    """Return pairs of forecasts by their Brier scores, of which less is better (`compare_pairs`), with a verdict.

    `said` has a column a forecast, `hit` what came true, by question (`mix_forecasts`). The verdict is by p_holm.
    """
    pairs = compare_pairs(said.sub(hit, axis=0) ** 2, clusters, plan)
    less = pairs.assign(difference=-pairs["difference"])
    return pairs.assign(verdict=[judge_pair(row, "p_holm") for row in less.to_dict("records")])
