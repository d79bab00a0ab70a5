"""WorldReasoner's conditions on its own public questions: scores, pairs, moments, what was
submitted (5.1, 5.3)."""

import pandas as pd

from daybefore.agents.past import load_past_agents
from daybefore.formats.worldreasoner import list_weighty
from daybefore.questions.moments import number_days
from helpers.files import parse_json
from helpers.means import find_clusters
from helpers.paired import compare_pairs, judge_pair
from helpers.tables import HORIZONS
from studies.worldreasoner.conditions import NAMES, ask_horizons, score_horizons
from studies.worldreasoner.prices import price_forecasts, tell_markets
from studies.worldreasoner.scores import score_table, summarize_outcomes
from studies.worldreasoner.submissions import PAIRS

MODELS = {"local/qwen": "1.5B", "local/smollm2": "135M"}


def score_rules(events, answers, predictions, prices):
    """Return scores of what knows nothing new: chance, and of yes/no questions the base rate, one
    half and the price.

    Chance is what an even draw of the options earns, 0 of a quantity.
    """
    made = ask_horizons(
        events, {"base rate": load_past_agents(events, answers)["base_rate"]}, ["Mid"]
    )
    base = score_table(made, answers, events).query("type == 'binary'")
    options = events.set_index("event_id")["options"].map(parse_json, na_action="ignore")
    chance = options.map(lambda one: 1 / len(one), na_action="ignore").fillna(0.0).astype(float)
    middle = predictions[predictions["horizon"] == "Mid"].drop_duplicates("event_id")
    told = tell_markets(middle, events, answers)
    priced = price_forecasts(told[told["question_id"].isin(base["event_id"])], prices).dropna(
        subset="price"
    )
    named = {"event_id": priced["question_id"].to_numpy()}
    errors = {"price": (priced["price"] - priced["outcome"]) ** 2, "one half": 0.25}
    rows = [pd.DataFrame(named).assign(agent=name, brier=values) for name, values in errors.items()]
    drawn = pd.DataFrame(
        {"agent": "chance", "event_id": chance.index, "accuracy": chance.to_numpy()}
    )
    base = base.rename(columns={"agent_id": "agent"})[["agent", "event_id", "brier"]]
    return pd.concat([base, drawn, *rows], ignore_index=True)


def list_pairs(metric, present):
    """Return the pairs (a, [b]) of agents that are compared by a metric, of those there are.

    An agent is (model, name). Conditions that differ in one thing; by accuracy each with chance, by
    Brier scores those asked at the midpoint with the price of that moment.
    """
    chance = ("", "chance")
    price = ("", "price")
    pairs = [((model, a), (model, b)) for model in MODELS.values() for a, b in PAIRS]
    pairs += [((model, name), chance) for model in MODELS.values() for name in NAMES] * (
        metric == "accuracy"
    )
    early = [(model, name) for model in MODELS.values() for name in NAMES[:4]] + [
        ("", "base rate"),
        ("", "one half"),
    ]
    pairs += [(price, other) for other in early] * (metric == "brier")
    return [(a, [b]) for a, b in pairs if {a, b} <= present]


def compare_agents(scores):
    """Return what one has over another on the questions of both, a row a pair of `list_pairs`, Holm
    within a metric.

    Columns metric, agent_a, agent_b ("name model"), n, n_clusters, difference (a - b), low, high,
    p_holm, mde, verdict (of Brier scores less is better; "not tested" below ten clusters), skill
    (of b against the price: 1 minus the quotient of their Brier scores).
    """
    parts = []
    clusters = scores.drop_duplicates("event_id").set_index("event_id")["cluster"]
    for metric in ("accuracy", "brier", "recall"):
        wide = scores.astype({metric: float}).pivot_table(
            metric, "event_id", ["model", "agent"], aggfunc="mean"
        )
        pairs = list_pairs(metric, set(wide))
        names = {key: " ".join(filter(None, key[::-1])) for key in wide}
        wide.columns = [names[key] for key in wide]
        if not pairs:
            continue
        table = compare_pairs(wide, clusters, [(names[a], [names[b]]) for a, [b] in pairs]).assign(
            metric=metric
        )
        lead = table.assign(difference=table["difference"] * (-1 if metric == "brier" else 1))
        table["verdict"] = [judge_pair(row, "p_holm") for row in lead.to_dict("records")]
        if metric == "brier":
            table["skill"] = (table["difference"] / wide["price"].mean()).where(
                table["agent_a"] == "price"
            )
        parts.append(table)
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
    clusters = find_clusters(events)[0]
    rows = []
    for name, part in scores.groupby("agent_id"):
        wide = part.astype({"accuracy": float}).pivot_table("accuracy", "event_id", "horizon")
        first = next(moment for moment in HORIZONS if moment in wide)
        if "Near" in wide and first != "Near":
            row = (
                compare_pairs(wide, clusters, [("Near", [first])])
                .iloc[0]
                .rename({"difference": "mean"})
            )
            rows.append(row.to_dict() | {"agent_id": name, "horizon": f"Near less {first}"})
    table = pd.concat([means, pd.DataFrame(rows)], ignore_index=True)
    table["model"] = table["agent_id"].map(
        predictions.groupby("agent_id")["model"].first().map(MODELS)
    )
    return table.reindex(columns="agent_id model horizon mean low high n n_clusters mde".split())


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
    told = [parse_json(cell) for cell in events["metadata"]]
    places = []
    for name, as_of in events[["event_id", "as_of"]].itertuples(index=False):
        days = pd.to_datetime([card["date"] or None for card in list_weighty(questions[name])])
        middle = number_days(pd.Series([as_of]))[0]
        days = number_days(pd.Series(days.strftime("%Y-%m-%d")))
        places += [
            "undated" if day != day else "before" if day < middle else "after" for day in days
        ]
    counted = {
        name: pd.Series([one[name] for one in told]) for name in ("question_type", "opening")
    }
    counted["weighty events"] = pd.Series(places)
    rows = [
        (part, name, n)
        for part, own in counted.items()
        for name, n in own.value_counts().sort_index().items()
    ]
    rows += [
        ("questions", "all", len(events)),
        ("questions", "yes/no with prices", prices["question_id"].nunique()),
    ]
    return pd.DataFrame(rows, columns=["part", "name", "n"])
