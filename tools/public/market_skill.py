"""Forecasts of prediction markets' questions beside the price of their moment (WorldReasoner 5.3, appendix D).

Of the files' words nothing is kept: dates, prices and outcomes enter, means by agent and stage leave.
"""

import json

import numpy as np
import pandas as pd

from daybefore.agents.past import load_past_agents
from daybefore.formats.forecastbench import build_markets
from daybefore.questions.moments import name_horizon, number_days, place_forecast, place_moments
from daybefore.web.news import describe_articles
from daybefore.web.replay import open_world
from daybefore.windows import MARKETS, NEWS, QUESTION_SETS, build_priced, list_articles
from helpers.means import logit_interval
from helpers.paired import ALPHA, correct_holm
from helpers.public_files import locate_public
from helpers.tables import HORIZONS
from studies.worldreasoner.conditions import ask_horizons, load_asked
from studies.worldreasoner.mixes import compare_mixes, mix_forecasts, plan_mixes, weigh_odds
from studies.worldreasoner.prices import measure_skill, price_forecasts, tell_markets

CARDS, PRICES = "worldreasoner/questions_with_event_cards.json", "worldreasoner/market_prices.csv"
SOURCES = {
    "market_rules": [MARKETS],
    "market_models": [MARKETS, *QUESTION_SETS, NEWS],
    "market_mixes": [MARKETS, *QUESTION_SETS, NEWS],
    "market_weights": [MARKETS, *QUESTION_SETS, NEWS],
    "market_prices": [MARKETS, CARDS, PRICES],
}
SETTLED = 0.05
"""A market whose first price is so near 0 or 1 looked nearly certain."""


def build():
    """Return the five tables of `SOURCES`."""
    events, answers, prices = build_markets(locate_public(MARKETS))
    events = place_moments(events)
    markets = events.set_index("event_id")["cluster_id"]
    rules = ask_rules(events, answers, prices)
    skill = measure_skill(rules, prices, markets)
    skill["p_holm"] = correct_holm(skill["p"].where(skill["stage"] != "all"))  # three rules at four stages: 12 tests
    return {
        "market_rules": skill.sort_values(["agent_id", "stage"], ignore_index=True),
        **judge_models(rules, markets),
        "market_prices": follow_prices(),
    }


def ask_rules(events, answers, prices):
    """Return forecasts that know nothing new: the base rate of earlier markets, the first price, and one half."""
    first = prices.sort_values("day").groupby("question_id")["price"].first()
    told = ask_horizons(events, {"base_rate": load_past_agents(events, answers)["base_rate"]})
    base = tell_markets(told, events, answers)
    known = {"first_price": base["question_id"].map(first), "half": 0.5}
    return pd.concat([base, *(base.assign(agent_id=name, p=p) for name, p in known.items())], ignore_index=True)


def judge_models(rules, markets):
    """Return the tables of the recorded models on the set `markets`: skill, mixes with the price, weights beside it."""
    asked, ends, prices = build_priced()
    news = list_articles("M")
    with open_world(articles=news) as connect:
        crawler = connect()
        look = {"window": "M", "opener": lambda: crawler, "about_world": describe_articles(news)}
        said = load_asked(asked, **look).predictions
    models = tell_markets(said, asked, ends)
    models["asked_as"] = models["agent_id"] + " at " + models["stage"]
    parts = []
    for name, part in models.groupby("asked_as"):
        alike = rules[(rules["stage"] == part["stage"].iloc[0]) & rules["question_id"].isin(part["question_id"])]
        found = measure_skill(pd.concat([part.assign(agent_id="the model"), alike]), prices, markets)
        about = {"asked_as": name, "says_yes": part["says_yes"].mean(), "mean_p": part["p"].mean()}
        parts.append(found.query("stage == 'all'").assign(**about))
    is_rule = rules["question_id"].isin(asked["event_id"]) & rules["agent_id"].isin(["base_rate", "half"])
    ends_on, mixes, weights = asked.set_index("event_id")["resolves_at"], [], []
    for stage, own in models.groupby("stage"):
        names = sorted(set(own["agent_id"]), reverse=True)  # the question alone first, then with a search
        told = pd.concat([own, rules[is_rule & (rules["stage"] == stage)]])
        hit, chances = mix_forecasts(told, prices, markets, recalibrated=names)
        mixed = compare_mixes(hit, chances, markets, plan_mixes(names))
        by_end = compare_mixes(hit, chances, ends_on, plan_mixes(names))["p_holm"]
        verdict = mixed["verdict"].where(by_end < ALPHA, "inconclusive")  # markets of one end may go together
        mixes.append(mixed.assign(stage=stage, p_by_end=by_end, verdict=verdict))
        for name in names:
            weighed = weigh_odds(hit, chances[["price", name]].dropna(), markets)
            weights.append(weighed.assign(asked_as=f"{name} at {stage}"))
    columns = "stage agent_a agent_b n n_clusters difference low high p_holm p_by_end mde verdict".split()
    mixes = pd.concat(mixes, ignore_index=True)[columns]
    models = pd.concat(parts, ignore_index=True).drop(columns=["stage", "p"])
    return {
        "market_models": models,
        "market_mixes": mixes,
        "market_weights": pd.concat(weights, ignore_index=True),
    }


def follow_prices():
    """Return the price's own Brier score at four stages, beside one half and the price at the start, kept.

    Columns of `measure_skill` and first_price ("open" or "nearly certain", blank of the authors' 16 markets). All
    stages hold the same questions; intervals are by market. Of one half, low_market and high_market are the price's.
    """
    paths = pd.read_csv(locate_public(MARKETS), dtype={"id": str})
    paths["question_id"] = paths["question_set"] + " " + paths["id"]
    paths["day"] = number_days(paths["snapshot_date"])
    live = paths[paths["resolved"] == 0].rename(columns={"value": "price"}).sort_values("day", kind="stable")
    start = live.groupby("question_id")[["snapshot_date", "price"]].first()
    last = paths[(paths["resolved"] == 1) & paths["value"].isin([0, 1])].groupby("question_id").last()
    known = last.join(start.rename(columns={"snapshot_date": "opens_at"}), how="inner")
    known = known[pd.to_datetime(known["resolution_date"]) > pd.to_datetime(known["opens_at"])]
    known["first_price"] = np.where(known["price"].between(SETTLED, 1 - SETTLED), "open", "nearly certain")
    clusters = known["source"] + " " + known["id"]  # a market may stand in several sets
    asked = ask_start(known.reset_index())
    priced = price_forecasts(asked, live).query("agent_id == 'one half'").dropna(subset="price")
    ends = zip(priced["opens_at"], priced["resolves_at"], pd.to_datetime(priced["day"], unit="D"), strict=True)
    priced["stage"] = [name_horizon(opens, closes, [day])[0] for opens, closes, day in ends]
    n_stages = priced.groupby("question_id")["stage"].nunique()
    always = known.loc[n_stages.index[n_stages == 4]]  # the same questions at each stage
    parts = [
        measure_skill(asked[asked["question_id"].isin(part.index)], live, clusters).assign(first_price=group)
        for group, part in always.groupby("first_price", sort=False)
    ]
    skill = pd.concat([*parts, follow_authors()], ignore_index=True)
    ends = {end: skill[end].add(0.25).where(skill["agent_id"] == "one half") for end in ("low", "high")}
    bound = logit_interval(pd.DataFrame(ends).assign(mean=skill["market"]), 0, 1)
    return skill.assign(low_market=bound["low"], high_market=bound["high"])


def follow_authors():
    """Return the same over all stages of the authors' yes/no market questions with cards."""
    cards = json.loads(locate_public(CARDS).read_text(encoding="utf-8"))
    outcome = {row["id"]: row["outcome"] for row in cards if row.get("outcome") in ("Yes", "No")}
    prices = pd.read_csv(locate_public(PRICES)).query("question_id in @outcome")
    prices = prices.assign(day=number_days(prices["time_utc"]), date=prices["time_utc"].str[:10])
    days = prices.sort_values("day", kind="stable").groupby("question_id")
    known = days.agg(opens_at=("date", "first"), resolution_date=("date", "last"), price=("price", "first"))
    known = known.reset_index().assign(value=lambda table: table["question_id"].map(outcome).eq("Yes").astype(float))
    return measure_skill(ask_start(known), prices).query("stage == 'all'").assign(stage="authors' 16, all")


def ask_start(known, stages=HORIZONS):
    """Return the price at the start, kept, and one half as forecasts at four moments of each question's life.

    `known` has question_id, opens_at, resolution_date (dates), price (the first) and value (the outcome, 0 or 1). What
    comes back is what `measure_skill` takes; a moment that a question does not have is left out.

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
        days = [place_forecast(question["opens_at"], question["resolution_date"], stage) for stage in stages]
        for day in days:
            for agent, p in (("price at the start", question["price"]), ("one half", 0.5)) if day is not None else ():
                rows.append(about | {"day": int(number_days(day)), "agent_id": agent, "p": p})
    return pd.DataFrame(rows)
