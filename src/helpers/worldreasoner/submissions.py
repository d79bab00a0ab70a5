"""What agents submit under the conditions: graphs read with reasons for what is left out, and scores by condition.

WorldReasoner 5.1: correctness (F.1), source precision (F.2) and key-event recall (F.3) of window L's recorded arms, and
the conditions against each other on the questions that both were asked, by source.
"""

import pandas as pd

from helpers.agents.evidence import list_evidence
from helpers.agents.registry import GRAPH_METHODS, load_entries
from helpers.agents.submissions import read_submission
from helpers.events.horizons import load_series
from helpers.events.moments import number_days
from helpers.events.series_pages import open_series
from helpers.stats.means import find_clusters
from helpers.store import dump_json, parse_object
from helpers.worldreasoner.conditions import compare_metrics, list_conditions, replay_horizons
from helpers.worldreasoner.hindsight.builder import build_hindsight, word_answer
from helpers.worldreasoner.hindsight.drafts import OUTCOME, take_edge, take_impact
from helpers.worldreasoner.hindsight.graphs import check_form, check_graph, tabulate_nodes
from helpers.worldreasoner.hindsight.matching import MATCHERS, PRINTED, match_events, pick_key_events, score_recall
from helpers.worldreasoner.scores import (
    bound_gap,
    score_sources,
    score_table,
    split_correct,
    summarize_outcomes,
    take_clusters,
)

FIRST_YEAR = 1678
"""First year of an event that may stand in a graph: nanoseconds reach back to it, and no forecast rests on earlier."""
METRICS = ("accuracy", "brier", "recall", "bound", "srcp_cited", "srcp_accessed")
"""Correctness (F.1), key-event recall one to one and by any match (F.3), source precision (F.2)."""
READINGS = (*METRICS[:3], "recall_graphs", *METRICS[3:])
"""The same with recall as the authors' code reads it: of the replies that hold a graph, not 0 where there is none."""

CONDITIONS = {
    ("zero_shot", "Mid"): "Vanilla",
    ("graph", "Mid"): "Causal Simulation",
    ("search_prompt", "Mid"): "Search-Enabled",
    ("search_graph", "Mid"): "Search-Enabled Graph",
    ("search_graph", "Near"): "Near-Resolution",
    ("search_graph", "Real-Time"): "Real-Time",
}
"""Method of an agent and moment of asking -> the paper's condition (5.1)."""

PAIRS = (
    ("Causal Simulation", "Vanilla"),
    ("Search-Enabled", "Vanilla"),
    ("Search-Enabled Graph", "Causal Simulation"),
    ("Search-Enabled Graph", "Search-Enabled"),
    ("Near-Resolution", "Search-Enabled Graph"),
    ("Real-Time", "Near-Resolution"),
)
"""Conditions that differ in one thing: a graph, a search, or the moment."""


# --- graphs ----------------------------------------------------------------------------------------------------------


def read_graph(reply, event):
    """Return (graph, left out) of a submission: a graph (`graphs.SCHEMA`) or None, and rows of part, what, reason.

    The outcome is a node. Events must have a day, not after the resolution, and none stands twice; edges and impacts
    are held to what hindsight's are (`drafts`). An edge of an event that was left out is left out too.
    """
    said, problem = read_submission(dump_json(parse_object(reply) | {"sources": []}))  # stored as page_ids
    if said is None:
        return None, [("submission", "", problem)]
    day, left, places = pd.Timestamp(event["resolves_at"][:10]), [], {0: 0}
    end = {"node_id": OUTCOME, "title": event["prompt"].splitlines()[0], "occurred_at": str(day.date())}
    graph = {"question_id": event["event_id"], "outcome_id": OUTCOME, "nodes": [end | {"source_ids": []}]}
    graph |= {"edges": [], "impacts": []}
    for number, item in enumerate(said["events"], 1):
        reason = check_event(item, graph, day)
        if reason:
            left.append(("events", item["title"], reason))
            continue
        places[number] = len(graph["nodes"])
        node = {"node_id": f"e{number}", "title": item["title"], "occurred_at": item["date"], "source_ids": []}
        graph["nodes"].append(node)
        if reason := take_impact(graph, item | {"event": places[number]}, [], day):
            left.append(("impacts", item["title"], reason))
    for item in said["edges"]:
        ends = {name: places.get(item[name], len(graph["nodes"])) for name in ("cause", "effect")}
        if reason := take_edge(graph, item | ends, [], day):
            left.append(("edges", f"{item['cause']} to {item['effect']}", reason))
    return (check_form(graph) if len(graph["nodes"]) > 1 else None), left


def check_event(item, graph, day):
    """Return why an event may not stand in a graph, "" when it may."""
    date = pd.to_datetime(item["date"], format="%Y-%m-%d", errors="coerce")
    if pd.isna(date):
        return "its date is no day"
    if date.year < FIRST_YEAR:
        return "its date is too early"
    if date > day:
        return "it is after the outcome"
    is_there = any((node["title"], node["occurred_at"]) == (item["title"], item["date"]) for node in graph["nodes"])
    return "it is there already" if is_there else ""


def read_submitted(replies, events):
    """Return (graphs, left out) of the replies of agents that submit one: {(run_id, event_id): graph}, and a table.

    Columns of the table: run_id, event_id, part, what, reason.
    """
    known, graphs, left = {row["event_id"]: row for row in events.to_dict("records")}, {}, []
    for row in replies.to_dict("records"):
        key = row["run_id"], row["event_id"]
        reply = row["reply"] if isinstance(row["reply"], str) else None  # an accident left none: no graph
        graphs[key], problems = read_graph(reply, known[row["event_id"]])
        left += [(*key, *problem) for problem in problems]
    return graphs, pd.DataFrame(left, columns=["run_id", "event_id", "part", "what", "reason"])


def match_graphs(graphs, references, rules=PRINTED):
    """Return (keys, pairs, submissions) of submissions: hindsight's key events, what matches them, who submitted.

    `keys` are of `matching.pick_key_events`, `pairs` of `match_events`; `submissions` has run_id, question_id and
    has_graph, as `score_recall` takes them. `references` are hindsight graphs of some of the questions.
    """
    rows = pd.DataFrame(list(graphs), columns=["run_id", "question_id"])
    rows["has_graph"] = [graph is not None for graph in graphs.values()]
    hindsight = tabulate_nodes(references)
    said = tabulate_nodes([graph for graph in graphs.values() if graph])
    said["run_id"] = [run for (run, _), graph in graphs.items() if graph for _ in graph["nodes"]]
    pairs = match_events(hindsight, said[~said["is_outcome"].astype(bool)], rules)
    return pick_key_events(hindsight), pairs, rows


def recall_events(graphs, references, rules=PRINTED):
    """Return key-event recall of submissions (`matching.score_recall`): a row a run and question with a key event.

    Columns run_id, event_id, n_key, recall and bound (0 where no graph was submitted), recall_graphs (blank there).
    `references` are hindsight graphs of some of the questions.
    """
    if not references or not graphs:
        return pd.DataFrame(columns=["run_id", "event_id", "n_key", "recall", "bound", "recall_graphs"])
    table = score_recall(*match_graphs(graphs, references, rules)).rename(columns={"question_id": "event_id"})
    table["recall_graphs"] = table["recall"]
    return table.fillna({"recall": 0.0, "bound": 0.0}).drop(columns="has_graph")


# --- conditions ------------------------------------------------------------------------------------------------------


def score_conditions(events, answers, model):
    """Return (scores, left out, hindsight) of a model's recorded arms of window L under the conditions.

    `scores`: a row a condition and question, with type, READINGS (blank where a condition has none), n_events, n_edges,
    cluster. `hindsight` are the reference graphs of the questions to which a graph was submitted.
    """
    tables = replay_conditions(events, model)[1]
    columns = ["run_id", "event_id", "condition", "cluster", "type", "n_events", "n_edges", *READINGS]
    if tables[0].empty:
        return pd.DataFrame(columns=columns), read_submitted(tables[1], events)[1], []
    scores, left, references = score_submissions(events, answers, *tables)
    return scores.reindex(columns=columns), left, references


def score_submissions(events, answers, predictions, replies, traces):
    """Return (scores, left out, hindsight) of what window L's questions were answered with, a row a run and question.

    The tables are the ledger's, each with condition, has_graph (is a graph asked for?) and has_sources (is there a
    gateway to search through?) beside its columns, equal within a run; each question is asked once in a run. `scores`
    has the columns of `scores.score_table`, condition, cluster, n_events, n_edges and READINGS, blank where a run has
    none, and recall_valid: recall on the questions whose hindsight graph passes the published thresholds (B.3).
    """
    scores = score_table(predictions, answers, events)
    asked = predictions.drop_duplicates("run_id").set_index("run_id")[["condition", "has_graph", "has_sources"]]
    scores = scores.join(asked, on="run_id")
    scores["cluster"] = scores["event_id"].map(find_clusters(events)[0])
    graphs, left = read_submitted(replies[replies["has_graph"].astype(bool)], events)
    references = list_hindsight(events[events["event_id"].isin({key[1] for key in graphs})], answers)
    counts = [(*key, len(g["nodes"]) - 1, len(g["edges"])) for key, g in graphs.items() if g]
    parts = [pd.DataFrame(counts, columns=["run_id", "event_id", "n_events", "n_edges"])]
    parts += [recall_events(graphs, references), precise_sources(events, predictions, replies, traces)]
    for part in parts:
        scores = scores.merge(part, how="left", on=["run_id", "event_id"])
    valid = {graph["question_id"] for graph in references if check_graph(graph)["is_valid"]}
    scores["recall_valid"] = scores["recall"].where(scores["event_id"].isin(valid))
    for name in ("srcp_cited", "srcp_accessed"):  # nothing found and nothing cited is 0 where there is a gateway
        scores[name] = scores[name].astype(float).fillna(0.0).where(scores["has_sources"].astype(bool))
    # without a graph nobody is asked for sources: accessed counts
    scores["srcp_cited"] = scores["srcp_cited"].where(scores["has_graph"].astype(bool))
    return scores, left, references


def replay_conditions(events, model):
    """Return (methods, tables): the method of each of a model's agents, and its predictions, replies, traces.

    The tables have condition, has_graph and has_sources (`score_submissions`) beside their columns; what is asked under
    no condition is left out.
    """
    sources = list_conditions().set_index("condition")["has_sources"]
    methods = {name: e["method"] for name, e in load_entries().items() if e.get("model") == model}
    tables = replay_horizons(events, "predictions", "replies", "traces")
    for at, rows in enumerate(tables):
        names = [CONDITIONS.get((methods.get(a), h)) for a, h in zip(rows["agent_id"], rows["horizon"], strict=True)]
        has_graph = rows["agent_id"].map(methods).isin(GRAPH_METHODS)
        rows = rows.assign(condition=names, has_graph=has_graph).dropna(subset="condition")
        tables[at] = rows.assign(has_sources=rows["condition"].map(sources).astype(bool))
    return methods, tables


def recall_conditions(events, model, hindsight):
    """Return key-event recall by matcher and condition with a graph: means as of `scores.summarize_outcomes`.

    Columns matcher, condition, metric (recall, bound), mean, low, high, n, n_clusters; by `MATCHERS`.
    """
    replies = replay_conditions(events, model)[1][1]
    graphs = read_submitted(replies[replies["has_graph"]], events)[0]
    about = replies[["run_id", "event_id", "condition"]].drop_duplicates()
    about["cluster"] = about["event_id"].map(find_clusters(events)[0]) if len(about) else []
    parts = [
        recall_events(graphs, hindsight, rules).merge(about, on=["run_id", "event_id"]).assign(matcher=name)
        for name, rules in MATCHERS.items()
    ]
    return summarize_outcomes(pd.concat(parts), ["matcher", "condition"], ["recall", "bound"])


def split_recall(events, model, hindsight, matchers=MATCHERS):
    """Return recall of the key events before an agent's moment of asking, and of those after it: what could be known.

    A row a matcher, condition with a graph and part ("before", "after"; what lies on the day itself is after): columns
    matcher, condition, part, n_questions (that have such a key event), n_key, n_matched (one to one), n_with
    (questions with a match), recall (mean over the questions), n_clusters.
    """
    predictions, replies, _ = replay_conditions(events, model)[1]
    graphs = read_submitted(replies[replies["has_graph"]], events)[0]
    asked = predictions.drop_duplicates(["run_id", "event_id"])[["run_id", "event_id", "condition", "as_of"]]
    asked = asked.rename(columns={"event_id": "question_id"})
    asked["moment"] = number_days(asked["as_of"].str[:10])
    clusters, parts = find_clusters(events)[0], []
    for name, rules in matchers.items() if graphs and hindsight else ():
        keys, pairs, rows = match_graphs(graphs, hindsight, rules)
        for (condition, is_before), part in split_keys(keys, rows.merge(asked)):
            own = part.drop_duplicates(["question_id", "node_id"])
            found = score_recall(own, pairs, rows.merge(part[["run_id", "question_id"]].drop_duplicates()))
            found = found.assign(n_matched=(found["recall"] * found["n_key"]).fillna(0).round().astype(int))
            about = {"matcher": name, "condition": condition, "part": "before" if is_before else "after"}
            counts = {"n_questions": len(found), "n_key": found["n_key"].sum(), "n_matched": found["n_matched"].sum()}
            about |= counts | {"n_with": (found["n_matched"] > 0).sum(), "recall": found["recall"].fillna(0).mean()}
            parts.append(about | {"n_clusters": clusters[found["question_id"]].nunique()})
    columns = "matcher condition part n_questions n_key n_matched n_with recall n_clusters"
    return pd.DataFrame(parts, columns=columns.split())


def split_keys(keys, asked):
    """Yield ((condition, lies before the moment of asking), key events) for runs that were asked at a moment."""
    own = keys.merge(asked[["run_id", "question_id", "condition", "moment"]], on="question_id")
    own = own.assign(is_before=own["day"] < own["moment"]).drop_duplicates(["run_id", "question_id", "node_id"])
    yield from own.groupby(["condition", "is_before"], sort=False)


def split_conditions(scores):
    """Return what right and wrong forecasts of each condition rest on (`scores.split_correct`): Tables 4, 10.

    A row a condition and metric that it has: condition, metric, right, wrong, gap, low, high, seen (`scores.bound_gap`:
    blank where right or wrong ones have fewer than ten clusters), all, off, n, n_clusters, share (right).
    """
    parts = []
    for name, rows in scores.groupby("condition", sort=False):
        known = [metric for metric in ("recall", "srcp_cited", "srcp_accessed") if rows[metric].notna().any()]
        rows = rows.astype(dict.fromkeys(known, float))
        table = split_correct(rows, known)
        bounds = [bound_gap(rows, metric).to_dict() for metric in table["metric"]]
        parts.append(table.join(pd.DataFrame(bounds, table.index)).assign(condition=name))
    columns = "condition metric right wrong gap low high seen all off n n_clusters share".split()
    parts = [part for part in parts if len(part)]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    return table[columns].astype({"n_clusters": int})


def name_pairs(parts, compared):
    """Return the row labels of pairs (a, b) of conditions, with the n of `compared` (a, b, n) where there is one.

    >>> pairs = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    >>> name_pairs(pairs, pairs.assign(n=[60, 0])).tolist()
    ['x\\nagainst y (n = 60)', 'y\\nagainst z']
    """
    counts = parts[["a", "b"]].merge(compared[["a", "b", "n"]], "left", ["a", "b"])["n"].set_axis(parts.index)
    return parts["a"] + "\nagainst " + parts["b"] + counts.map(lambda n: f" (n = {n:.0f})" if n > 0 else "")


def list_hindsight(events, answers):
    """Return the hindsight graphs, built by rule, of those questions that have one."""
    values, found = answers.set_index("event_id")["value"], []
    for event in events.to_dict("records"):
        built = build_hindsight(event, word_answer(event, values[event["event_id"]]))
        found += [built.graph] if built else []
    return found


def precise_sources(events, predictions, replies, traces):
    """Return source precision (`scores.score_sources`) of what was searched for: run_id, event_id, srcp_*, n_*.

    The reference is the page of the source that settles the question, as it stood when it was asked.
    """
    source = events.set_index("event_id")["source_id"]
    references = {event_id: set() for event_id in source.index}
    for event_id, as_of in predictions[["event_id", "as_of"]].drop_duplicates().itertuples(index=False):
        references[event_id].add(open_series().fetch(load_series()[source[event_id]].address, as_of).page_id)
    evidence = list_evidence(traces, replies)
    if evidence.empty:
        return pd.DataFrame(columns=["run_id", "event_id", "srcp_cited", "srcp_accessed", "n_cited", "n_accessed"])
    keys = evidence["owner_id"].str.split("|", expand=True)
    return score_sources(evidence.assign(run_id=keys[0], event_id=keys[1]), references)


def summarize_conditions(scores):
    """Return means by condition and metric, 95% intervals by source: condition, metric, mean, low, high, n, n_clusters.

    Every condition and metric has a row, with n = 0 where nothing is recorded.
    """
    rows = pd.MultiIndex.from_product([CONDITIONS.values(), READINGS], names=["condition", "metric"])
    found = summarize_outcomes(scores, "condition", READINGS).set_index(rows.names).reindex(rows).reset_index()
    return found.fillna({"n": 0, "n_clusters": 0}).astype({"n": int, "n_clusters": int})


def compare_conditions(scores):
    """Return what a condition has over another on the questions asked under both, a row a pair and metric.

    Columns as of `conditions.compare_metrics`, intervals and p by source.
    """
    known = scores.astype(dict.fromkeys(METRICS, float))  # repeats are averaged, blanks left out
    tables = {metric: known.pivot_table(metric, "event_id", "condition", aggfunc="mean") for metric in METRICS}
    return compare_metrics(tables, dict.fromkeys(METRICS, PAIRS), take_clusters(scores))
