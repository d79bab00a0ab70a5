"""WorldReasoner's own public questions put to recorded agents (5.1, 5.3, G.3.1; Tables 3, 4, 8, 10,
11, Figure 5).

Scores by model and condition, chance's and the price's beside them, conditions in pairs, what
graphs recover of the cards and of the market's moves. Of the files' words nothing is kept: counts,
means and differences leave. The news that was searched names no source's address, so that source
precision cannot be measured.
"""

import pandas as pd

from daybefore.formats.public_sets import CARD_PRICES, CARDS, build_cards
from daybefore.questions.open_sets import NEWS, list_articles
from daybefore.web.news_articles import describe_articles
from daybefore.web.replay import open_world
from helpers.means import find_clusters
from studies.worldreasoner.card_set import (
    MODELS,
    compare_agents,
    compare_stages,
    count_set,
    count_submitted,
    score_rules,
)
from studies.worldreasoner.conditions import load_asked
from studies.worldreasoner.hindsight.graphs import build_references
from studies.worldreasoner.outcome_scores import summarize_outcomes
from studies.worldreasoner.own_runs import align_graphs
from studies.worldreasoner.submissions import read_submitted, score_submissions, split_conditions

SOURCES = {"worldreasoner_set": [CARDS, CARD_PRICES]} | dict.fromkeys(
    [
        f"worldreasoner_{name}"
        for name in ("asked", "pairs", "split", "stages", "aligned", "submitted")
    ],
    [CARDS, CARD_PRICES, NEWS],
)
METRICS = ("accuracy", "brier", "brier_full", "log", "recall", "recall_graphs", "bound")


def build():
    """Return the tables of `SOURCES`."""
    events, answers, prices, questions = build_cards()
    cards, clusters = build_references(questions), find_clusters(events)[0]
    news = list_articles("W")
    with open_world(articles=news) as connect:
        crawler = connect()
        asked = load_asked(
            events, window="W", opener=lambda: crawler, about_world=describe_articles(news)
        )
    own = [table[table["condition"].notna()] for table in asked[1:]]
    scores = score_submissions(events, answers, *own, cards=cards)[0].drop(
        columns=["srcp_cited", "srcp_accessed"]
    )
    models = asked.runs.set_index("run_id")["model"].map(MODELS)
    scores["model"] = scores["run_id"].map(models)
    graphs, left = read_submitted(own[1][own[1]["has_graph"].astype(bool)], events)
    about = own[0].drop_duplicates("run_id").set_index("run_id")[["condition"]].assign(model=models)
    rules = score_rules(events, answers, prices).assign(model="")
    rules["cluster"] = rules["event_id"].map(clusters)
    rules["type"] = rules["event_id"].map(scores.groupby("event_id")["type"].first())
    whole = pd.concat([scores.rename(columns={"condition": "agent"}), rules], ignore_index=True)
    parts = [summarize_outcomes(whole, ["model", "agent"], METRICS).assign(type="all")]
    by_type = whole.groupby("type")
    parts += [
        summarize_outcomes(part, ["model", "agent"], METRICS[:1]).assign(type=name)
        for name, part in by_type
    ]
    recalled = scores[scores["recall"].notna()].assign(srcp_cited=None, srcp_accessed=None)
    split = [split_conditions(part).assign(model=name) for name, part in recalled.groupby("model")]
    return {
        "worldreasoner_set": count_set(events, prices, questions),
        "worldreasoner_asked": pd.concat(parts, ignore_index=True),
        "worldreasoner_pairs": compare_agents(whole),
        "worldreasoner_split": pd.concat(split, ignore_index=True),
        "worldreasoner_stages": compare_stages(asked.predictions, answers, events),
        "worldreasoner_aligned": align_graphs(graphs, cards, events, prices, about),
        "worldreasoner_submitted": count_submitted(graphs, left, about),
    }
