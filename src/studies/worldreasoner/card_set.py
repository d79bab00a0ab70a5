"""WorldReasoner's conditions on its own public questions, whose references are event cards: scores,
pairs, moments, what was submitted (5.1, 5.3)."""

import numpy as np
import pandas as pd

from daybefore.agents.baselines_of_answers import load_past_agents
from daybefore.formats.worldreasoner_questions import list_weighty
from helpers.files import parse_json
from helpers.paired import compare_pairs, judge_pair
from helpers.tables import HORIZONS
from studies.worldreasoner.conditions import NAMES
from studies.worldreasoner.hindsight.graphs import count_days
from studies.worldreasoner.horizons import ask_horizons, compare_runs, score_horizons
from studies.worldreasoner.outcome_scores import name_type, summarize_outcomes, take_clusters
from studies.worldreasoner.prices import price_forecasts, tell_markets
from studies.worldreasoner.submissions import PAIRS

MODELS = {"local/qwen": "1.5B", "local/smollm2": "135M"}


def score_rules(events, answers, prices):
    """Return scores of what knows nothing new: chance, and of yes/no questions the base rate, one
    half and the price.

    Chance is what an even draw of the options earns, 0 of a quantity. Columns agent, event_id,
    accuracy, brier.
    """
    options = events.set_index("event_id")["options"].map(parse_json, na_action="ignore")
    chance = 1 / options.map(len, na_action="ignore")
    drawn = chance.fillna(0.0).rename("accuracy").reset_index().assign(agent="chance")
    types = [name_type(*row) for row in zip(events["kind"], options, strict=True)]
    binary = events[np.array(types) == "binary"]
    rule = {"base rate": load_past_agents(events, answers)["base_rate"]}
    told = tell_markets(ask_horizons(binary, rule, ["Mid"]), answers)
    told = price_forecasts(told, prices).rename(columns={"question_id": "event_id"})
    parts = []
    for name, said in {"base rate": told["p"], "price": told["price"], "one half": 0.5}.items():
        part = told if name == "base rate" else told.dropna(subset="price")
        parts.append(part.assign(agent=name, brier=(said - told["outcome"]) ** 2))
    table = pd.concat([*parts, drawn], ignore_index=True)
    return table[["agent", "event_id", "accuracy", "brier"]]


def list_pairs(metric, present):
    """Return the pairs (a, [b]) of agents that are compared by a metric, of those there are.

    An agent is "name model". Conditions that differ in one thing; by accuracy each with chance, by
    Brier scores those asked at the midpoint with the price of that moment.
    """
    pairs = [(f"{a} {model}", f"{b} {model}") for model in MODELS.values() for a, b in PAIRS]
    if metric == "accuracy":
        asked = [f"{name} {model}" for model in MODELS.values() for name in NAMES]
        pairs += [(name, "chance") for name in asked]
    if metric == "brier":
        early = [f"{name} {model}" for model in MODELS.values() for name in NAMES[:4]]
        pairs += [("price", name) for name in [*early, "base rate", "one half"]]
    return [(a, [b]) for a, b in pairs if {a, b} <= set(present)]


def compare_agents(scores):
    """Return what one has over another on the questions of both, a row a pair of `list_pairs`, Holm
    within a metric.

    Columns metric, agent_a, agent_b ("name model"), n, n_clusters, difference (a - b), low, high,
    p_holm, mde, verdict (of Brier scores less is better; "not tested" below ten clusters), skill
    (of b against the price: 1 minus the quotient of their Brier scores).
    """
    named = scores.assign(name=(scores["agent"] + " " + scores["model"]).str.strip())
    parts = []
    for metric in ("accuracy", "brier", "recall"):
        wide = named.astype({metric: float}).pivot_table(metric, "event_id", "name")
        table = compare_pairs(wide, take_clusters(scores), list_pairs(metric, wide))
        lead = table.assign(difference=table["difference"] * (-1 if metric == "brier" else 1))
        table["verdict"] = [judge_pair(row, "p_holm") for row in lead.to_dict("records")]
        if metric == "brier":
            of_price = table["agent_a"] == "price"
            table["skill"] = (table["difference"] / wide["price"].mean()).where(of_price)
        parts.append(table.assign(metric=metric))
    table = pd.concat(parts, ignore_index=True)
    table["verdict"] = table["verdict"].where(table["p_holm"].notna(), "not tested")
    table["verdict"] = table["verdict"].mask(table["mde"].eq(0), "identical")
    return table[
        "metric agent_a agent_b n n_clusters difference low high p_holm mde verdict skill".split()
    ]


def compare_stages(predictions, answers, events):
    """Return the share right by agent and moment of asking (Figure 5), and what Near has over the
    earliest moment.

    Columns agent_id, model, horizon ("Near less Mid": a difference, on the same questions), mean,
    low, high, n, n_clusters, mde.
    """
    timed = predictions[predictions["horizon"].isin(HORIZONS)]
    scores = score_horizons(timed, answers, events)
    means = summarize_outcomes(scores, ["agent_id", "horizon"], ["accuracy"])
    pairs = []
    for name, own in scores.groupby("agent_id")["horizon"]:
        first = next(moment for moment in HORIZONS if moment in set(own))
        if "Near" in set(own) - {first}:
            pairs.append(((name, "Near"), (name, first)))
    gains = compare_runs(scores, pairs).rename(columns={"difference": "mean"})
    gains["agent_id"] = [name for (name, _), _ in pairs]
    gains["horizon"] = [f"Near less {first}" for _, (_, first) in pairs]
    table = pd.concat([means, gains], ignore_index=True)
    models = predictions.groupby("agent_id")["model"].first().map(MODELS)
    table["model"] = table["agent_id"].map(models)
    return table["agent_id model horizon mean low high n n_clusters mde".split()]


def count_submitted(graphs, left, about):
    """Return what stands of the submitted events and what is left out, by reason: model, condition,
    reason, n."""
    rows = [(key[0], "kept", len(graph["nodes"]) - 1) for key, graph in graphs.items() if graph]
    rows += [(row.run_id, row.reason, 1) for row in left.itertuples() if row.part == "events"]
    table = pd.DataFrame(rows, columns=["run_id", "reason", "n"]).join(about, on="run_id")
    return table.groupby(["model", "condition", "reason"])["n"].sum().reset_index()


def count_set(events, prices, questions):
    """Return the counts of the set: part, name, n; weighty events lie before or after their
    question's midpoint."""
    told = pd.json_normalize(events["metadata"].map(parse_json))
    gaps = [
        count_days(card["date"]) - count_days(as_of)
        for name, as_of in events[["event_id", "as_of"]].itertuples(index=False)
        for card in list_weighty(questions[name])
    ]
    parts = {
        "question_type": told["question_type"],
        "opening": told["opening"],
        "weighty events": pd.cut(
            gaps, [-np.inf, 0, np.inf], right=False, labels=["before", "after"]
        ),
    }
    counts = {part: pd.Series(own).astype(object).fillna("undated") for part, own in parts.items()}
    counts = pd.concat({part: own.value_counts().sort_index() for part, own in counts.items()})
    counts["questions", "all"] = len(events)
    counts["questions", "yes/no with prices"] = prices["question_id"].nunique()
    return counts.rename_axis(["part", "name"]).rename("n").reset_index()
