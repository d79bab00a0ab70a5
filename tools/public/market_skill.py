"""Forecasts of prediction markets' questions beside the price of their moment (WorldReasoner 5.3, appendix D).

Of the files' words nothing is kept: dates, prices and outcomes enter, means by agent and stage leave.
"""

import json
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from daybefore.agents.past import load_past_agents
from daybefore.formats.forecastbench import build_markets
from daybefore.questions.moments import name_horizon, number_days, place_forecast, place_moments
from daybefore.web.news import describe_articles
from daybefore.web.replay import open_world
from daybefore.windows import MARKETS, NEWS, QUESTION_SETS, build_priced, list_articles
from helpers.means import MIN_CLUSTERS, divide, logit_interval
from helpers.paired import ALPHA, compare_pairs, correct_holm, judge_pair
from helpers.public_files import locate_public
from helpers.tables import HORIZONS
from studies.worldreasoner.conditions import ask_horizons, load_asked
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
CLIP = 1e-3
"""Probabilities are held this far from 0 and 1 where log-odds are taken: a single 0 would outweigh all other trials."""


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


def mix_forecasts(forecasts, prices, clusters, recalibrated=()):
    """Return (hit, said): what came true, and who gave Yes which probability: a row a question, a column a forecast.

    `forecasts` are of one moment of each question (`tell_markets`). Beside a column an agent there is "price", and for
    each agent "price and <agent>", the mean of both in log-odds (`pool_odds`). That mean halves the distance of the
    price's log-odds from 0 where the agent stands at one half, so what an agent adds is told by comparison with the mix
    of an agent that says one half. Of those named in `recalibrated` "<agent>, recalibrated" is the probability after
    `recalibrate`, each cluster held out by itself. Questions without a price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    said = table.pivot(index="question_id", columns="agent_id", values="p").rename_axis(columns=None)
    own = table.groupby("question_id")[["price", "outcome"]].first()
    said.insert(0, "price", own["price"])
    for name in said.columns[1:]:
        mixed = pool_odds(said[["price", name]])
        said[f"price and {name}"] = np.where(said[name].notna(), mixed, np.nan)
    for name in recalibrated:
        known = said[name].dropna()
        groups = clusters.reindex(known.index)
        held = recalibrate(known, own["outcome"].reindex(known.index), groups, groups.nunique())
        said[f"{name}, recalibrated"] = pd.Series(held, known.index)
    return own["outcome"], said


def plan_mixes(names):
    """Return the pairs that `compare_mixes` tests: models by `names` with the price, with rules and with each other."""
    mixed = [f"price and {name}" for name in names]
    plan = [("price", ["base_rate", *names, "price and half", *mixed])]
    plan += [("price and half", mixed), ("half", names), ("base_rate", names)] if names else []
    plan += [(f"{name}, recalibrated", ["base_rate"]) for name in names]
    for at, name in enumerate(names[:-1]):
        plan += [(other, [name]) for other in names[at + 1 :]]
        plan += [(f"{other}, recalibrated", [f"{name}, recalibrated"]) for other in names[at + 1 :]]
    return plan


def compare_mixes(hit, said, clusters, plan):
    """Return pairs of forecasts by their Brier scores, of which less is better (`compare_pairs`), with a verdict.

    `said` has a column a forecast, `hit` what came true, by question (`mix_forecasts`). The verdict is by p_holm.
    """
    pairs = compare_pairs(said.sub(hit, axis=0) ** 2, clusters, plan)
    less = pairs.assign(difference=-pairs["difference"])
    return pairs.assign(verdict=[judge_pair(row, "p_holm") for row in less.to_dict("records")])


def pool_odds(probabilities, clip=CLIP):
    """Return the probability at the mean log-odds of several trials (along the last axis; NaN left out)."""
    odds = logit(np.clip(np.asarray(probabilities, dtype=float), clip, 1 - clip))
    there = np.isfinite(odds)
    return expit(divide(np.where(there, odds, 0.0).sum(axis=-1), there.sum(axis=-1)))


def recalibrate(said, hit, clusters, n_folds=5, clip=CLIP):
    """Return probabilities recalibrated by a logistic curve over their log-odds, fitted on the clusters of other folds.

    No event helps to recalibrate its own probability, nor does one of its cluster; a ridge of 1 holds the curve towards
    flat. Where the folds to fit on show one outcome only, what was said stays. Raises ValueError with fewer clusters
    than folds.
    """
    said, hit, clusters = (np.asarray(values) for values in (said, hit, clusters))
    if len(set(clusters.tolist())) < n_folds:
        raise ValueError(f"{n_folds} folds need as many clusters; use fewer folds, or leave probabilities as they are")
    odds, recalibrated = logit(np.clip(said.astype(float), clip, 1 - clip))[:, None], said.astype(float).copy()
    for known, new in GroupKFold(n_folds).split(odds, hit, clusters):
        if len(set(hit[known].tolist())) > 1:
            recalibrated[new] = LogisticRegression().fit(odds[known], hit[known]).predict_proba(odds[new])[:, 1]
    return recalibrated


def weigh_odds(hit, said, clusters, clip=CLIP):
    """Return the weight of each of several forecasts in a logistic regression of outcomes on the log-odds of all.

    `hit` is 0 or 1, `said` has a row a question (all given), `clusters` maps rows to clusters: errors are clustered (t
    with G - 1 degrees of freedom); p_plain is by question. A forecast of weight 0 tells nothing that the others do not.
    Columns forecast, weight, low, high, p, p_plain, n, n_hits, n_clusters; weights are blank where the forecasts part
    the outcomes wholly, low, high and p below ten clusters too.
    """
    codes = pd.factorize(clusters.reindex(said.index))[0]
    design = sm.add_constant(logit(said.astype(float).clip(clip, 1 - clip)))
    model = sm.GLM(hit.reindex(said.index).astype(float), design, family=sm.families.Binomial())
    about = {"n": len(said), "n_hits": int(hit.reindex(said.index).sum()), "n_clusters": int(codes.max() + 1)}
    table = pd.DataFrame({"forecast": said.columns, "weight": np.nan, "low": np.nan, "high": np.nan, "p": np.nan})
    table["p_plain"] = np.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PerfectSeparationWarning)
            fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    except PerfectSeparationWarning:
        return table.assign(**about)
    table["weight"] = fit.params[said.columns].to_numpy()
    table["p_plain"] = model.fit().pvalues[said.columns].to_numpy()
    if about["n_clusters"] >= MIN_CLUSTERS:
        table[["low", "high"]] = fit.conf_int().loc[said.columns].to_numpy()
        table["p"] = fit.pvalues[said.columns].to_numpy()
    return table.assign(**about)
