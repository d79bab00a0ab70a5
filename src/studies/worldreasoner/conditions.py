"""The conditions (what an agent may use, as of when), the runs of a question set under them, and
horizons compared.

WorldReasoner 5.1, 5.3. A horizon is a point of a question's life. Intervals and tests are clustered
by source.
"""

from typing import NamedTuple

import pandas as pd

from daybefore.agents.asked import REAL_TIME, fill_asked
from daybefore.agents.recorded_runs import load_recorded_runs, move_moments, replay_recorded
from daybefore.agents.registry import GRAPH_METHODS, SEARCHING
from daybefore.questions.series_pages import open_series
from daybefore.scoring.runs import find_run, list_local, list_names, read_rows
from helpers.files import STORE, dump_json, locate_output, parse_json
from helpers.means import find_clusters
from helpers.paired import compare_pairs, correct_holm, sign_flip_test
from helpers.papers import get_constant, load_published
from helpers.tables import HORIZONS
from studies.worldreasoner.scores import mix_correct, score_table, take_clusters

NAMES = get_constant("worldreasoner", "conditions")
STEPS = get_constant("worldreasoner", "condition_steps")
OPEN = REAL_TIME
"""Condition, and horizon, of what is asked after the resolution with what was published by then: no
forecast (5.1)."""

CONDITIONS = {
    ("zero_shot", "Mid"): "Vanilla",
    ("graph", "Mid"): "Causal Simulation",
    ("search_prompt", "Mid"): "Search-Enabled",
    ("search_graph", "Mid"): "Search-Enabled Graph",
    ("search_graph", "Near"): "Near-Resolution",
    ("search_graph", OPEN): OPEN,
}
"""Method of an agent and moment of asking -> the paper's condition (5.1); a method turn by turn, as
in the paper, has that of its like of one request a question."""

OWN_SEARCH = ("react", "tool_search", "research", "orchestra")
"""Methods that search in a way of their own: an agent of these keeps its method where a search is
asked for."""

PRINTED_METRICS = {"Acc": "accuracy", "KER": "recall", "SrcP": "srcp_cited"}


def list_printed():
    """Return the paper's means by condition over all its pairs (5.2, Table 4): condition, metric,
    printed (a share).

    A mean that the text leaves out is mixed from that of right and of wrong forecasts, by the
    condition's accuracy.

    >>> list_printed().set_index(["condition", "metric"])["printed"].round(3)["Causal Simulation"].to_dict()
    {'accuracy': 0.566, 'recall': 0.049}
    """
    table = load_published("worldreasoner", "intext_results")
    table = table[table["condition_or_row"].isin(NAMES) & table["metric"].isin(PRINTED_METRICS)]
    table = table.assign(
        value=table["value"].astype(float) / 100, metric=table["metric"].map(PRINTED_METRICS)
    )
    wide = table.pivot(index=["condition_or_row", "metric"], columns="subset", values="value")
    share = wide.index.get_level_values(0).map(
        wide["all (weighted)"].xs("accuracy", level="metric")
    )
    printed = (
        wide["all (weighted)"]
        .fillna(mix_correct(share, wide["correct"], wide["incorrect"]))
        .dropna()
    )
    return printed.rename_axis(["condition", "metric"]).rename("printed").reset_index()


def load_ranges():
    """Return the printed ranges of three models' accuracy (low, high) by horizon (5.3)."""
    printed = load_published("worldreasoner", "intext_results")
    printed = printed[printed["subset"] == "3 models approx"].set_index("condition_or_row")["value"]
    ranges = printed.str.split("-", expand=True).astype(float) / 100
    return ranges.set_axis(["low", "high"], axis=1).rename(
        index=lambda name: name.replace("Near-res", "Near")
    )


class Asked(NamedTuple):
    """The runs of a question set and their tables, each row with the columns of `describe_runs`."""

    runs: pd.DataFrame
    predictions: pd.DataFrame
    replies: pd.DataFrame
    traces: pd.DataFrame


def load_asked(events, agents="", window="L", opener=open_series, about_world=None):
    """Return the `Asked` of a set's recorded runs, replayed, and of the local runs of the agents
    named.

    `events` are all of the set, `opener` gives its web, of which `about_world` says more
    (`recorded_runs.replay_recorded`). A named agent's newest local run under a condition stands for
    a recorded one; `runs` has `is_own`, True of a local run. Raises ValueError for a name without a
    local run.
    """
    arms = [name for name, arm in load_recorded_runs().items() if arm["window"] == window]
    path = locate_output(STORE)
    replayed = set(
        replay_recorded(
            arms, opener, path, events={window: events}, about_world=about_world
        ).values()
    )
    local, names = list_local(), ("runs", "predictions", "replies", "traces")  # the newest first
    own = [run for name in list_names(agents) for run in reversed(find_run(local, name, window))]
    chosen = [run for run in list_local(path) if run.run_id in replayed] + own
    chosen = sorted(
        {(run.agent_id, run.condition): run for run in chosen}.values(), key=lambda run: run.run_id
    )
    runs, *tables = (
        pd.concat([read_rows(name, run) for run in chosen], ignore_index=True) for name in names
    )
    about = describe_runs(runs, tables[-1])
    runs = runs.drop(columns=["agent_id", "condition", "model", "horizon"]).join(about, on="run_id")
    parts = [
        table.drop(columns="agent_id", errors="ignore").join(about, on="run_id") for table in tables
    ]
    return Asked(runs.assign(is_own=~runs["run_id"].isin(replayed)), *parts)


def describe_runs(runs, traces):
    """Return how each run was asked, by run_id: agent_id, model, horizon, condition, has_graph,
    has_sources.

    `condition` is the paper's, None outside the six; `horizon` is Real-Time after the resolution. A
    function of the reader's own has sources where it was shown a page; a baseline has no condition,
    and after the resolution nothing goes through a gateway. An agent that searched with another's
    question has that in its name.
    """
    searched = set(traces.loc[traces["page_ids"].notna(), "run_id"])
    rows = {}
    for run in runs.to_dict("records"):
        text = run["condition"] if isinstance(run["condition"], str) else ""
        method = (parse_json(run["params"]) or {}).get("method")
        is_own = run["category"] != "baseline"
        asked = fill_asked(run)
        named = text.split(",")[0]
        horizon = asked.horizon
        is_another = asked.query_of is not None
        like = "search_prompt" if method in OWN_SEARCH else (method or "").removesuffix("_turns")
        condition = named if named in NAMES else CONDITIONS.get((like, horizon))
        rows[run["run_id"]] = {
            "agent_id": run["agent_id"] + ", another" * is_another,
            "model": run["model"],
            "horizon": horizon,
            "condition": condition if is_own and not is_another else None,
            "has_graph": method in GRAPH_METHODS,
            "has_sources": is_own
            and horizon != OPEN
            and (method in SEARCHING or run["run_id"] in searched),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run_id")


def ask_horizons(events, agents, horizons=HORIZONS):
    """Return the predictions of agents that need no world, asked at each horizon: a row a run,
    question.

    Columns run_id ("agent at horizon"), agent_id, horizon, event_id, sample, as_of and those of a
    prediction, values and distributions as JSON. `agents` are as `runs.run_agents` takes them.
    """
    rows = []
    for horizon in horizons:
        asked = move_moments(events, horizon).to_dict("records")
        for name, agent in agents.items():
            about = {
                "run_id": f"{name} at {horizon}",
                "agent_id": name,
                "horizon": horizon,
                "sample": 0,
            }
            for event in asked:
                said = agent["forecast"](event, None)["prediction"]
                cells = {key: dump_json(said.get(key)) for key in ("value", "distribution")}
                rows.append(
                    about | {"event_id": event["event_id"], "as_of": event["as_of"]} | said | cells
                )
    return pd.DataFrame(rows)


def score_horizons(predictions, answers, events):
    """Return the scores (`scores.score_table`) of predictions at a horizon, with it, and each
    question's cluster.

    Columns run_id, event_id, agent_id, horizon, type, the metrics, cluster.
    """
    table = score_table(predictions, answers, events)
    clusters = find_clusters(events)[0]
    horizons = predictions.drop_duplicates("run_id").set_index("run_id")["horizon"]
    return table.assign(
        horizon=table["run_id"].map(horizons), cluster=table["event_id"].map(clusters)
    )


def compare_runs(scores, pairs):
    """Return how much more often one run is right than another on the questions of both, a row a
    pair.

    A run is (agent, horizon). Columns run_a, run_b, n, n_clusters, difference (a - b), low, high, p
    (of a t test by cluster), p_flip (exact, over clusters: `paired.sign_flip_test`), p_holm, mde.
    Clusters are few and of unequal sizes, so that the larger of the two p counts, corrected over
    all `pairs`: those without a common question are left out of the table, and count.
    """
    known = scores.astype({"accuracy": float})
    wide = known.pivot_table("accuracy", "event_id", ["agent_id", "horizon"], aggfunc="mean")
    wide.columns = wide.columns.map(" at ".join)
    clusters = take_clusters(scores)
    named = [[" at ".join(run) for run in pair] for pair in pairs]
    wide = wide.reindex(columns=sorted({run for pair in named for run in pair}))
    table = compare_pairs(wide, clusters, [(first, [second]) for first, second in named]).query(
        "n > 0"
    )
    table = table.rename(columns={"agent_a": "run_a", "agent_b": "run_b"}).reset_index(drop=True)
    runs = zip(table["run_a"], table["run_b"], strict=True)
    table["p_flip"] = [sign_flip_test(wide[a] - wide[b], clusters) for a, b in runs]
    table["p_holm"] = correct_holm(table[["p", "p_flip"]].max(axis=1), len(pairs))
    return table["run_a run_b n n_clusters difference low high p p_flip p_holm mde".split()]


def measure_lead(scores, reference):
    """Return by agent and horizon how far its mean Brier score lies below the reference's on the
    same questions.

    Columns agent_id, horizon, reference (its mean), difference (above 0: better than it), skill
    (the difference over the reference's mean), low, high, p, p_holm (over all rows), mde, n,
    n_clusters. Raises LookupError when the reference was not asked.
    """
    if reference not in set(scores["agent_id"]):
        raise LookupError(
            f"no scores of {reference!r}; there are {', '.join(sorted(scores['agent_id'].unique()))}"
        )
    known = scores[scores["brier"].notna()].astype({"brier": float})
    parts = []
    for horizon, part in known.groupby("horizon"):
        wide = part.pivot_table("brier", "event_id", "agent_id", aggfunc="mean")
        others = [name for name in wide if name != reference]
        if reference in wide and others:
            found = compare_pairs(wide, take_clusters(scores), [(reference, others)])
            shared = [wide.loc[wide[name].notna(), reference].mean() for name in found["agent_b"]]
            parts.append(found.assign(horizon=horizon, reference=shared))
    table = pd.concat(parts, ignore_index=True).rename(columns={"agent_b": "agent_id"})
    table = table.assign(
        skill=table["difference"] / table["reference"], p_holm=correct_holm(table["p"])
    )
    table = table.sort_values("horizon", key=lambda names: names.map(HORIZONS.index), kind="stable")
    columns = "agent_id horizon reference difference skill low high p p_holm mde n n_clusters"
    return table.sort_values("agent_id", kind="stable", ignore_index=True)[columns.split()]
