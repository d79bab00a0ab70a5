"""The conditions: what an agent may use and as of when; agents asked Early, Mid, Late and Near, scored and compared.

WorldReasoner 5.1, 5.3. A horizon is a point of a question's life. Intervals and tests are by what questions share their
luck with (their series).
"""

import pandas as pd

from helpers.agents.arms import choose_horizon, list_recorded, load_arms, replay_arms
from helpers.events.series_pages import open_series
from helpers.papers import get_constant, load_published
from helpers.stats.means import find_clusters
from helpers.stats.paired import compare_pairs, correct_holm, sign_flip_test
from helpers.store import STORE, dump_json, locate_output, parse_json, read_runs
from helpers.tables import HORIZONS, list_columns
from helpers.worldreasoner.scores import (
    METRICS,
    mix_correct,
    score_table,
    summarize_outcomes,
    take_clusters,
)

NAMES = get_constant("worldreasoner", "conditions")
STEPS = get_constant("worldreasoner", "condition_steps")
RETRIEVAL = ("no", "no", "gateway", "gateway", "gateway", "open")
GRAPH = (False, True, False, True, True, True)


def list_conditions():
    """Return the six conditions: condition, retrieval (no, gateway, open), has_graph, has_sources, as_of, n_steps.

    Sources are scored where retrieval goes through the gateway; `as_of` is midpoint, near resolution or none (5.1).
    What is open (Real-Time) sees what came after the resolution too, and is no forecast.

    >>> list_conditions().set_index("condition").loc["Search-Enabled Graph", ["retrieval", "as_of"]].tolist()
    ['gateway', 'midpoint']
    """
    table = pd.DataFrame({"condition": NAMES, "retrieval": RETRIEVAL, "has_graph": GRAPH, "n_steps": STEPS})
    as_of = table["condition"].map({"Near-Resolution": "near resolution", "Real-Time": "none"}).fillna("midpoint")
    return table.assign(has_sources=table["retrieval"] == "gateway", as_of=as_of)


PRINTED_METRICS = {"Acc": "accuracy", "KER": "recall", "SrcP": "srcp_cited"}


def list_printed():
    """Return the paper's means by condition over all its pairs (5.2, Table 4): condition, metric, printed (a share).

    A mean that the text leaves out is mixed from that of right and of wrong forecasts, by the condition's accuracy.

    >>> list_printed().set_index(["condition", "metric"])["printed"].round(3)["Causal Simulation"].to_dict()
    {'accuracy': 0.566, 'recall': 0.049}
    """
    table = load_published("worldreasoner", "intext_results")
    table = table[table["condition_or_row"].isin(NAMES) & table["metric"].isin(PRINTED_METRICS)]
    table = table.assign(value=table["value"].astype(float) / 100, metric=table["metric"].map(PRINTED_METRICS))
    wide = table.pivot(index=["condition_or_row", "metric"], columns="subset", values="value")
    share = wide.index.get_level_values(0).map(wide["all (weighted)"].xs("accuracy", level="metric"))
    printed = wide["all (weighted)"].fillna(mix_correct(share, wide["correct"], wide["incorrect"])).dropna()
    return printed.rename_axis(["condition", "metric"]).rename("printed").reset_index()


# --- agents over a question's life ------------------------------------------------------------------------------------


def ask_horizons(events, agents, horizons=HORIZONS):
    """Return the predictions of agents that need no world, asked at each horizon: a row a run, question.

    Columns run_id ("agent at horizon"), agent_id, horizon, event_id, sample, as_of and those of a prediction, values
    and distributions as JSON. `agents` are as `runs.run_agents` takes them.
    """
    rows = []
    for horizon in horizons:
        asked = choose_horizon(events, horizon).to_dict("records")
        for name, agent in agents.items():
            about = {"run_id": f"{name} at {horizon}", "agent_id": name, "horizon": horizon, "sample": 0}
            for event in asked:
                said = agent["forecast"](event, None)["prediction"]
                cells = {key: dump_json(said.get(key)) for key in ("value", "distribution")}
                rows.append(about | {"event_id": event["event_id"], "as_of": event["as_of"]} | said | cells)
    return pd.DataFrame(rows)


ARM_COLUMNS = ["run_id", "agent_id", "horizon"]
OPEN = "Real-Time"
"""The horizon of an arm that is asked after the resolution, with what was published by then: no forecast (5.1)."""


def name_arm(arm):
    """Return how an arm of data/arms.toml stands in tables: (agent, horizon).

    >>> name_arm({"agent": "a", "horizon": "Near", "query_of": "another"}), name_arm({"agent": "a", "days_after": 1})
    (('a, another', 'Near'), ('a', 'Real-Time'))
    """
    agent = arm["agent"] + ", another" * ("query_of" in arm)
    return agent, OPEN if "days_after" in arm else arm.get("horizon", "Mid")


def list_arms(window="L"):
    """Return the arms of a window that ask each question once: {arm_id: arm}."""
    return {name: arm for name, arm in load_arms().items() if arm["window"] == window and arm.get("trials", 1) == 1}


def list_absent():
    """Return the arms of window L of which nothing is recorded, as "agent at horizon"."""
    return [" at ".join(name_arm(arm)) for name, arm in list_arms().items() if not list_recorded(name)]


def replay_horizons(events, *tables, window="L", opener=open_series, about_world=None):
    """Return what a window's recorded arms of one trial said, replayed: tables of the ledger, by default predictions.

    Each has agent_id and horizon beside its own columns (`name_arm`). `events` are all of the window, `opener` gives
    its world, of which `about_world` says more (`arms.replay_arms`). Without a recorded arm the tables are empty.
    """
    arms = {name: arm for name, arm in list_arms(window).items() if list_recorded(name)}
    ledger = locate_output(STORE)
    runs = replay_arms(list(arms), opener, ledger, events={window: events}, about_world=about_world) if arms else {}
    names = pd.DataFrame([(run, *name_arm(arms[arm])) for arm, run in runs.items()], columns=ARM_COLUMNS)
    found = []
    for table in tables or ("predictions",):
        rows = read_runs(ledger, table, list(runs.values())) if runs else pd.DataFrame(columns=list_columns(table))
        found.append(rows.drop(columns=ARM_COLUMNS[1:], errors="ignore").merge(names, on="run_id"))
    return found


def score_horizons(predictions, answers, events):
    """Return the scores (`scores.score_table`) of predictions at a horizon, with it, and each question's cluster.

    Columns run_id, event_id, agent_id, horizon, type, the metrics, cluster.
    """
    horizons = predictions.drop_duplicates("run_id").set_index("run_id")["horizon"]
    table = score_table(predictions, answers, events)
    clusters = find_clusters(events)[0]
    return table.assign(horizon=table["run_id"].map(horizons), cluster=table["event_id"].map(clusters))


def summarize_horizons(scores, metrics=METRICS, by=("agent_id", "horizon")):
    """Return means by agent, horizon and metric (`scores.summarize_outcomes`); horizons stand in their order."""
    table = summarize_outcomes(scores, by, metrics)
    order = pd.Categorical(table["horizon"], HORIZONS).codes if "horizon" in by else 0
    return table.assign(order=order).sort_values(["metric", by[0], "order"], ignore_index=True).drop(columns="order")


def summarize_kept(scores, pairs):
    """Return accuracy by agent and horizon on the questions that a cutoff keeps: a row a cutoff, agent and horizon.

    `pairs` are of `scores.filter_pairs`, with a candidate cutoff in place of a model. Columns cutoff, agent_id,
    horizon, n_asked (before the filter), mean, low, high, n, n_clusters (`summarize_horizons`). An agent of whose
    questions none is kept has n = 0; a cutoff that keeps nothing at all has no rows.
    """
    keys, parts = ["agent_id", "horizon"], []
    asked = scores.groupby(keys)["event_id"].nunique().rename("n_asked").reset_index()
    for cutoff, part in pairs[pairs["is_kept"]].groupby("model", sort=False):
        found = summarize_horizons(scores[scores["event_id"].isin(part["question_id"])], ["accuracy"])
        parts.append(asked.merge(found.drop(columns="metric"), "left", keys).assign(cutoff=cutoff))
    columns = ["cutoff", *keys, "n_asked", "mean", "low", "high", "n", "n_clusters"]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return table[columns].fillna({"n": 0, "n_clusters": 0}).astype({"n": int, "n_clusters": int})


def compare_horizons(scores):
    """Return by agent what accuracy at Near has over that at Early, on the questions asked at both (`compare_runs`).

    Columns agent_id, n, n_clusters, difference, low, high, p, p_flip, p_holm (of p, over the agents), seen (the
    smallest difference that could have been seen). An agent whose forecasts are the same at both has difference 0.
    """
    asked = scores.groupby("agent_id", sort=False)["horizon"].agg(set)
    pairs = [((name, "Near"), (name, "Early")) for name, own in asked.items() if {"Early", "Near"} <= own]
    table = compare_runs(scores, pairs)
    table.insert(0, "agent_id", table["run_a"].str.removesuffix(" at Near"))
    return table.assign(p_holm=correct_holm(table["p"])).drop(columns=["run_a", "run_b"])


def compare_runs(scores, pairs, metric="accuracy"):
    """Return what one run has over another on the questions asked of both, a row a pair of (agent, horizon) pairs.

    Columns run_a, run_b, n, n_clusters, difference (a - b), low, high, p (of a t test by cluster), p_flip (exact,
    over clusters: `paired.sign_flip_test`), p_holm, seen. Clusters are few and of unequal sizes, so that
    the larger of the two p counts, corrected over all `pairs`: those of which a run was not asked are left out of the
    table, and count. An empty table when none is left.
    """
    wide = scores.astype({metric: float}).pivot_table(metric, "event_id", ["agent_id", "horizon"], aggfunc="mean")
    asked = [(first, second) for first, second in pairs if first in wide and second in wide]
    columns = "run_a run_b n n_clusters difference low high p p_flip p_holm seen".split()
    if not asked:
        return pd.DataFrame(columns=columns)
    wide.columns = [f"{agent} at {horizon}" for agent, horizon in wide.columns]
    named = [(f"{first[0]} at {first[1]}", [f"{second[0]} at {second[1]}"]) for first, second in asked]
    clusters = take_clusters(scores)
    table = compare_pairs(wide, clusters, named).rename(columns={"agent_a": "run_a", "agent_b": "run_b"})
    table["p_flip"] = [
        sign_flip_test(wide[a] - wide[b], clusters) for a, b in zip(table["run_a"], table["run_b"], strict=True)
    ]
    table["p_holm"] = correct_holm(table[["p", "p_flip"]].max(axis=1), len(pairs))
    return table[columns]


def measure_lead(scores, reference, metric="brier"):
    """Return by agent and horizon how far its mean lies below the reference's on the same questions: its skill.

    For scores of which less is better. Columns agent_id, horizon, reference (its mean), difference (above 0: better
    than it), skill (the difference over the reference's mean), low, high, p, p_holm (over all rows), seen, n,
    n_clusters. Raises LookupError when the reference was not asked.
    """
    if reference not in set(scores["agent_id"]):
        raise LookupError(f"no scores of {reference!r}; there are {', '.join(sorted(scores['agent_id'].unique()))}")
    known, parts = scores[scores[metric].notna()].astype({metric: float}), []
    for horizon, part in known.groupby("horizon"):
        wide = part.pivot_table(metric, "event_id", "agent_id", aggfunc="mean")
        others = [name for name in wide if name != reference]
        if reference in wide and others:
            found = compare_pairs(wide, take_clusters(scores), [(reference, others)])
            shared = [wide.loc[wide[name].notna(), reference].mean() for name in found["agent_b"]]
            parts.append(found.assign(horizon=horizon, reference=shared))
    table = pd.concat(parts, ignore_index=True).rename(columns={"agent_b": "agent_id"})
    table["skill"] = table["difference"] / table["reference"]
    table["p_holm"] = correct_holm(table["p"])
    table["order"] = pd.Categorical(table["horizon"], HORIZONS).codes
    columns = "agent_id horizon reference difference skill low high p p_holm seen n n_clusters"
    return table.sort_values(["agent_id", "order"], ignore_index=True)[columns.split()]


def span_horizons(events):
    """Return the days from a question's opening to its resolution, and to each horizon's moment: a row a question."""
    first = pd.to_datetime(events["opens_at"], utc=True)
    table = pd.DataFrame({"event_id": events["event_id"]})
    table["days"] = (pd.to_datetime(events["resolves_at"], utc=True) - first) / pd.Timedelta(days=1)
    for name in HORIZONS:
        moments = [(parse_json(cell) or {}).get("moments", {}).get(name) for cell in events["metadata"]]
        table[name] = (pd.to_datetime(pd.Series(moments, events.index), utc=True) - first) / pd.Timedelta(days=1)
    return table


def load_ranges():
    """Return the printed ranges of three models' accuracy (low, high) by horizon (5.3)."""
    printed = load_published("worldreasoner", "intext_results")
    printed = printed[printed["subset"] == "3 models approx"].set_index("condition_or_row")["value"]
    ranges = printed.str.split("-", expand=True).astype(float) / 100
    return ranges.set_axis(["low", "high"], axis=1).rename(index=lambda name: name.replace("Near-res", "Near"))
