"""Forecasts of prediction markets' questions beside the price of their moment (WorldReasoner 5.3,
appendix D).

Of the files' words nothing is kept: dates, prices and outcomes enter, means by agent and stage
leave.
"""

import pandas as pd

from daybefore.agents.baselines_of_answers import load_past_agents
from daybefore.formats.forecastbench_questions import build_markets
from daybefore.formats.public_sets import MARKETS, QUESTION_SETS, build_priced
from daybefore.questions.life_moments import place_moments
from daybefore.questions.open_sets import NEWS, list_articles
from daybefore.web.news_articles import describe_articles
from daybefore.web.replay import open_world
from helpers.paired import ALPHA, correct_holm
from helpers.public_files import locate_public
from studies.worldreasoner.conditions import load_asked
from studies.worldreasoner.horizons import ask_horizons
from studies.worldreasoner.price_mixes import compare_mixes, mix_forecasts, plan_mixes, weigh_odds
from studies.worldreasoner.prices import follow_prices, measure_skill, tell_markets

SOURCES = {
    "market_rules": [MARKETS],
    "market_models": [MARKETS, *QUESTION_SETS, NEWS],
    "market_mixes": [MARKETS, *QUESTION_SETS, NEWS],
    "market_weights": [MARKETS, *QUESTION_SETS, NEWS],
    "market_prices": [MARKETS],
}


def build():
    """Return the five tables of `SOURCES`."""
    events, answers, prices = build_markets(locate_public(MARKETS))
    events = place_moments(events)
    markets = events.set_index("event_id")["cluster_id"]
    rules = ask_rules(events, answers, prices)
    skill = measure_skill(rules, prices, markets)
    skill["p_holm"] = correct_holm(
        skill["p"].where(skill["stage"] != "all")
    )  # three rules at four stages: 12 tests
    return {
        "market_rules": skill.sort_values(["agent_id", "stage"], ignore_index=True),
        **judge_models(rules, markets),
        "market_prices": follow_prices(pd.read_csv(locate_public(MARKETS), dtype={"id": str})),
    }


def ask_rules(events, answers, prices):
    """Return forecasts that know nothing new: the base rate of earlier markets, the first price,
    and one half."""
    first = prices.sort_values("day").groupby("question_id")["price"].first()
    told = ask_horizons(events, {"base_rate": load_past_agents(events, answers)["base_rate"]})
    base = tell_markets(told, answers)
    known = {"first_price": base["question_id"].map(first), "half": 0.5}
    return pd.concat(
        [base, *(base.assign(agent_id=name, p=p) for name, p in known.items())], ignore_index=True
    )


def judge_models(rules, markets):
    """Return the tables of the recorded models on the set `markets`: skill, mixes with the price,
    weights beside it."""
    asked, ends, prices = build_priced()
    news = list_articles("M")
    with open_world(articles=news) as connect:
        crawler = connect()
        look = {"window": "M", "opener": lambda: crawler, "about_world": describe_articles(news)}
        said = load_asked(asked, **look).predictions
    models = tell_markets(said, ends)
    models["asked_as"] = models["agent_id"] + " at " + models["stage"]
    parts = []
    for name, part in models.groupby("asked_as"):
        alike = rules[
            (rules["stage"] == part["stage"].iloc[0])
            & rules["question_id"].isin(part["question_id"])
        ]
        found = measure_skill(
            pd.concat([part.assign(agent_id="the model"), alike]), prices, markets
        )
        about = {"asked_as": name, "says_yes": part["says_yes"].mean()}
        parts.append(found.query("stage == 'all'").assign(**about))
    is_rule = rules["question_id"].isin(asked["event_id"]) & rules["agent_id"].isin(
        ["base_rate", "half"]
    )
    ends_on, mixes, weights = asked.set_index("event_id")["resolves_at"], [], []
    for stage, own in models.groupby("stage"):
        names = sorted(
            set(own["agent_id"]), reverse=True
        )  # the question alone first, then with a search
        told = pd.concat([own, rules[is_rule & (rules["stage"] == stage)]])
        hit, chances = mix_forecasts(told, prices, markets, recalibrated=names)
        mixed = compare_mixes(hit, chances, markets, plan_mixes(names))
        by_end = compare_mixes(hit, chances, ends_on, plan_mixes(names))["p_holm"]
        verdict = mixed["verdict"].where(
            by_end < ALPHA, "inconclusive"
        )  # markets of one end may go together
        mixes.append(mixed.assign(stage=stage, p_by_end=by_end, verdict=verdict))
        for name in names:
            weighed = weigh_odds(hit, chances[["price", name]].dropna(), markets)
            weights.append(weighed.assign(asked_as=f"{name} at {stage}"))
    columns = (
        "stage agent_a agent_b n n_clusters difference low high p_holm p_by_end mde verdict".split()
    )
    mixes = pd.concat(mixes, ignore_index=True)[columns]
    models = pd.concat(parts, ignore_index=True).drop(columns=["stage", "p"])
    return {
        "market_models": models,
        "market_mixes": mixes,
        "market_weights": pd.concat(weights, ignore_index=True),
    }
