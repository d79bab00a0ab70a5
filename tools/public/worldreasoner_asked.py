"""WorldReasoner's own public questions put to recorded agents (5.1, Tables 3, 8): their scores, the price's, and pairs.

Of the files' words nothing is kept: counts, means by agent and differences leave. The news that was searched names no
source's address, so that source precision cannot be measured; no graph was asked for, so that recall cannot either.
"""

import pandas as pd

from helpers.agents.past import load_past_agents
from helpers.events.moments import number_days
from helpers.formats.worldreasoner import list_weighty
from helpers.futurex.past import CARD_PRICES, CARDS, NEWS, build_cards, list_articles
from helpers.stats.means import find_clusters
from helpers.stats.paired import compare_pairs, judge_pair
from helpers.store import parse_json
from helpers.web.news import describe_articles
from helpers.web.replay import open_world
from helpers.worldreasoner.conditions import ask_horizons, load_asked
from helpers.worldreasoner.prices import price_forecasts, tell_markets
from helpers.worldreasoner.scores import score_table, summarize_outcomes

SOURCES = {
    "worldreasoner_set": [CARDS, CARD_PRICES],
    "worldreasoner_asked": [CARDS, CARD_PRICES, NEWS],
    "worldreasoner_pairs": [CARDS, CARD_PRICES, NEWS],
}
LABELS = {"qwen_zero_shot": "Vanilla", "qwen_search_prompt": "Search-Enabled"}
ALONE, SEARCH = LABELS.values()
METRICS = ("accuracy", "brier", "brier_full", "log")
PAIRS = {
    "accuracy": [(SEARCH, [ALONE, "chance"]), (ALONE, ["chance"])],
    "brier": [(SEARCH, [ALONE]), ("price", [ALONE, SEARCH, "base rate", "one half"])],
}


def build():
    """Return the three tables of `SOURCES`."""
    events, answers, prices, questions = build_cards()
    news = list_articles("W")
    with open_world(articles=news) as connect:
        crawler = connect()
        look = {"window": "W", "opener": lambda: crawler, "about_world": describe_articles(news)}
        predictions = load_asked(events, **look).predictions
    said = score_table(predictions, answers, events)
    scores = pd.concat([said, score_rules(events, answers, predictions, prices)], ignore_index=True)
    scores["cluster"] = scores["event_id"].map(find_clusters(events)[0])
    scores["agent"] = scores["agent_id"].replace(LABELS)
    scores["type"] = scores["event_id"].map(said.groupby("event_id")["type"].first())
    parts = [summarize_outcomes(scores, "agent", METRICS).assign(type="all")]
    parts += [summarize_outcomes(own, "agent", METRICS[:1]).assign(type=name) for name, own in scores.groupby("type")]
    return {
        "worldreasoner_set": count_set(events, prices, questions),
        "worldreasoner_asked": pd.concat(parts, ignore_index=True),
        "worldreasoner_pairs": compare_agents(scores),
    }


def score_rules(events, answers, predictions, prices):
    """Return scores of what knows nothing new: chance, and of yes/no questions the base rate, one half and the price.

    Chance is what an even draw of the options earns, 0 of a quantity.
    """
    made = ask_horizons(events, {"base rate": load_past_agents(events, answers)["base_rate"]}, ["Mid"])
    base = score_table(made, answers, events).query("type == 'binary'")
    options = events.set_index("event_id")["options"].map(parse_json, na_action="ignore")
    chance = options.map(lambda one: 1 / len(one), na_action="ignore").fillna(0.0).astype(float)
    told = tell_markets(predictions.drop_duplicates("event_id"), events, answers)
    priced = price_forecasts(told[told["question_id"].isin(base["event_id"])], prices).dropna(subset="price")
    named = {"event_id": priced["question_id"].to_numpy()}
    errors = {"price": (priced["price"] - priced["outcome"]) ** 2, "one half": 0.25}
    rows = [pd.DataFrame(named).assign(agent_id=name, brier=values) for name, values in errors.items()]
    drawn = pd.DataFrame({"agent_id": "chance", "event_id": chance.index, "accuracy": chance.to_numpy()})
    return pd.concat([base[["agent_id", "event_id", "brier"]], drawn, *rows], ignore_index=True)


def compare_agents(scores):
    """Return what one has over another on the questions of both, a row a pair of `PAIRS`, Holm over those of a metric.

    Columns metric, agent_a, agent_b, n, n_clusters, difference (a - b), low, high, p_holm, mde, verdict (of Brier
    scores less is better), skill (of b against the price: 1 minus the quotient of their Brier scores).
    """
    parts, clusters = [], scores.drop_duplicates("event_id").set_index("event_id")["cluster"]
    for metric, pairs in PAIRS.items():
        wide = scores.astype({metric: float}).pivot_table(metric, "event_id", "agent", aggfunc="mean")
        table = compare_pairs(wide, clusters, pairs).assign(metric=metric)
        lead = table.assign(difference=table["difference"] * (-1 if metric == "brier" else 1))
        table["verdict"] = [judge_pair(row, "p_holm") for row in lead.to_dict("records")]
        if metric == "brier":
            table["skill"] = (table["difference"] / wide["price"].mean()).where(table["agent_a"] == "price")
        parts.append(table)
    table = pd.concat(parts, ignore_index=True).rename(columns={"seen": "mde"})
    table = table["metric agent_a agent_b n n_clusters difference low high p_holm mde verdict skill".split()]
    return table.replace({"verdict": {"cannot tell": "inconclusive"}})


def count_set(events, prices, questions):
    """Return the counts of the set: part, name, n; weighty events lie before or after their question's midpoint."""
    told, places = [parse_json(cell) for cell in events["metadata"]], []
    for name, as_of in events[["event_id", "as_of"]].itertuples(index=False):
        days = pd.to_datetime([card["date"] or None for card in list_weighty(questions[name])])
        middle = number_days(pd.Series([as_of]))[0]
        days = number_days(pd.Series(days.strftime("%Y-%m-%d")))
        places += ["undated" if day != day else "before" if day < middle else "after" for day in days]
    counted = {name: pd.Series([one[name] for one in told]) for name in ("question_type", "opening")}
    counted["weighty events"] = pd.Series(places)
    rows = [(part, name, n) for part, own in counted.items() for name, n in own.value_counts().sort_index().items()]
    rows += [("questions", "all", len(events)), ("questions", "yes/no with prices", prices["question_id"].nunique())]
    return pd.DataFrame(rows, columns=["part", "name", "n"])
