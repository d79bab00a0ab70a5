"""What agents submit under the conditions: graphs read with reasons for what is left out, and
scores by condition.

WorldReasoner 5.1: correctness (F.1), source precision (F.2) and key-event recall (F.3) of runs on
the long questions, and the conditions against each other on the questions that both were asked,
clustered by source.
"""

import re

import pandas as pd

from daybefore.agents.committed_runs import list_evidence
from daybefore.agents.graph_agents import hash_words, read_submission
from helpers.clock import MONTHS
from helpers.files import dump_json, parse_object
from helpers.means import find_clusters
from helpers.paired import BETTER, compare_pairs, judge_family
from studies.worldreasoner.hindsight.graphs import Draft, check_form, check_graph, tabulate_nodes
from studies.worldreasoner.hindsight.graphs_by_rule import build_references
from studies.worldreasoner.hindsight.matching import (
    SEMANTIC_THRESHOLD,
    Rules,
    match_events,
    pick_key_events,
    score_recall,
)
from studies.worldreasoner.outcome_scores import score_table, split_correct, take_clusters
from studies.worldreasoner.source_precision import (
    find_measured,
    list_settling,
    list_sources,
    name_pages,
    score_sources,
)

FIRST_YEAR = 1678
"""First year of an event that may stand in a graph: nanoseconds reach back to it, and no forecast
rests on earlier."""
DIGEST = r"\bzq[0-9a-f]{8}\b"
"""What stands for a word that is not kept (`hash_words`)."""
METRICS = ("accuracy", "brier", "recall", "bound", "srcp_cited", "srcp_accessed")
"""Correctness (F.1), key-event recall one to one and by any match (F.3), source precision (F.2)."""
READINGS = (*METRICS[:3], "recall_graphs", *METRICS[3:])
"""The same with recall as the authors' code reads it: of the replies that hold a graph, not 0 where
there is none."""

PAIRS = (
    ("Causal Simulation", "Vanilla"),
    ("Search-Enabled", "Vanilla"),
    ("Search-Enabled Graph", "Causal Simulation"),
    ("Search-Enabled Graph", "Search-Enabled"),
    ("Near-Resolution", "Search-Enabled Graph"),
    ("Real-Time", "Near-Resolution"),
)
"""Conditions that differ in one thing: a graph, a search, or the moment."""


def read_graph(reply, event):
    """Return (graph, left out) of a submission: a graph (`graphs.check_form`) or None, and rows of
    part, what, reason.

    The outcome is a node. Events must have a title that names a change and a day, not after the
    resolution, and none stands twice; edges and impacts are held to what hindsight's are
    (`drafts`). An edge of an event that was left out is left out too.
    """
    # sources are stored as page_ids
    said, problem = read_submission(dump_json(parse_object(reply) | {"sources": []}))
    if said is None:
        return None, [("submission", "", problem)]
    end = event["resolves_at"][:10]
    left = []
    places = {0: 0}  # of its own numbers -> of the graph's nodes
    draft = Draft(event["event_id"], event["prompt"].splitlines()[0], end)
    known = set()
    for number, item in enumerate(said["events"], 1):
        key = (item["title"], item["date"])
        if reason := check_event(*key, end) or "it is there already" * (key in known):
            left.append(("events", item["title"], reason))
            continue
        known.add(key)
        places[number] = len(draft.nodes)
        node = {"node_id": f"e{number}", "title": item["title"], "occurred_at": item["date"]}
        draft.add_node(node | {"source_ids": []})
        if reason := draft.take_impact(item | {"event": places[number]}):
            left.append(("impacts", item["title"], reason))
    for item in said["edges"]:
        ends = {name: places.get(item[name], len(draft.nodes)) for name in ("cause", "effect")}
        if reason := draft.take_edge(item | ends):
            left.append(("edges", f"{item['cause']} to {item['effect']}", reason))
    return (check_form(draft.graph) if len(draft.nodes) > 1 else None), left


def check_event(title, date, end):
    """Return why an event may not stand in a graph that ends on a day, "" when it may.

    Its title must name more than a date, a value, yes or no, and its date be a day from FIRST_YEAR
    on.

    >>> [check_event(title, "2024-02-01", "2024-03-01") for title in ("rates cut", ">> 18 June 2023", "No, no")]
    ['', 'its title names no change', 'its title names no change']
    """
    words = re.findall(r"[^\W\d_]{2,}", title.lower())
    day = pd.to_datetime(date, format="%Y-%m-%d", errors="coerce")
    if not set(words) - {*MONTHS, "yes", "no"} or title.lstrip()[:1] in "<>":
        return "its title names no change"
    if pd.isna(day):
        return "its date is no day"
    if day.year < FIRST_YEAR:
        return "its date is too early"
    return "it is after the outcome" if day > pd.Timestamp(end) else ""


def read_submitted(replies, events):
    """Return (graphs, left out) of the replies of agents that submit one: {(run_id, event_id):
    graph}, and a table.

    Columns of the table: run_id, event_id, part, what, reason.
    """
    known = {row["event_id"]: row for row in events.to_dict("records")}
    graphs = {}
    left = []
    for run, event, reply in replies[["run_id", "event_id", "reply"]].itertuples(index=False):
        text = reply if isinstance(reply, str) else None  # an accident left no reply: no graph
        graphs[run, event], problems = read_graph(text, known[event])
        left += [(run, event, *problem) for problem in problems]
    return graphs, pd.DataFrame(left, columns=["run_id", "event_id", "part", "what", "reason"])


def recall_events(graphs, references, embed=None):
    """Return key-event recall of submissions (`matching.score_recall`): a row a run and question
    with a key event.

    Columns run_id, event_id, n_key, recall and bound (0 where no graph was submitted),
    recall_graphs (blank there). `references` are hindsight graphs of some of the questions; with
    `embed` events match by meaning (`match_meanings`).
    """
    columns = ["run_id", "event_id", "n_key", "recall", "bound", "recall_graphs"]
    if not references or not graphs:
        return pd.DataFrame(columns=columns)
    rows = pd.DataFrame(list(graphs), columns=["run_id", "question_id"])
    rows["has_graph"] = [graph is not None for graph in graphs.values()]
    hindsight = tabulate_nodes(references)
    if embed is None:
        pairs = match_hashed(graphs, hindsight)[1]
    else:
        pairs = match_meanings(graphs, hindsight, embed)
    table = score_recall(pick_key_events(hindsight), pairs, rows)
    table = table.rename(columns={"question_id": "event_id"})
    table["recall_graphs"] = table["recall"]
    return table.fillna({"recall": 0.0, "bound": 0.0})[columns]


def list_said(graphs: dict) -> pd.DataFrame:
    """Return the events of submitted graphs, without outcomes, as nodes with their run_id."""
    said = tabulate_nodes([graph for graph in graphs.values() if graph])
    said["run_id"] = [run for (run, _), graph in graphs.items() if graph for _ in graph["nodes"]]
    return said[~said["is_outcome"].astype(bool)]


def match_meanings(graphs: dict, hindsight: pd.DataFrame, embed) -> pd.DataFrame:
    """Return the pairs of submitted and hindsight events by meaning (Table 12): cosine of `embed`'s
    vectors, 7 days.

    Raises ValueError where the words of events are kept as digests.
    """
    said = list_said(graphs)
    if said["text"].str.contains(DIGEST).any():
        raise ValueError(
            "of public questions only digests of an event's words are kept, and these have no meaning"
        )
    vectors = embed(list(hindsight["text"])), embed(list(said["text"]))
    return match_events(hindsight, said, Rules(threshold=SEMANTIC_THRESHOLD), vectors)


def match_hashed(graphs, hindsight):
    """Return (events of submitted graphs, their pairs with hindsight's as of
    `matching.match_events`).

    Words are compared as `hash_words` has them: of public questions nothing else is recorded.
    """
    said = list_said(graphs)
    hidden = (nodes.assign(text=nodes["text"].map(hash_words)) for nodes in (hindsight, said))
    return said, match_events(*hidden)


def score_submissions(events, answers, predictions, replies, traces, cards=None, addresses=None):
    """Return (scores, left out, hindsight) of what the long questions were answered with, a row a
    run and question.

    The tables are the store's, each with condition, has_graph (is a graph asked for?) and
    has_sources (is there a gateway to search through?) beside its columns
    (`conditions.describe_runs`); each question is asked once in a run. `scores` has the columns of
    `outcome_scores.score_table`, condition, cluster and READINGS, blank where a run has none, and
    recall_valid: recall on the questions whose hindsight graph passes the published thresholds
    (B.3). `hindsight` are the reference graphs of the questions to which a graph is asked for. With
    `cards` ({event_id: graph}, `cards.build_references`) these are the reference in place of graphs
    by rule, and sources count by address: `addresses` are as in `cards.list_sources`. Source
    precision is blank where a question has no reference source, or none of a kind that was shown
    (`cards.find_measured`).
    """
    about = predictions.groupby("run_id")[["condition", "has_graph", "has_sources"]].first()
    about = about.astype({"has_graph": bool, "has_sources": bool})
    scores = score_table(predictions, answers, events).join(about, on="run_id")
    scores["cluster"] = scores["event_id"].map(find_clusters(events)[0])
    graphs, left = read_submitted(replies[replies["has_graph"].astype(bool)], events)
    evidence = list_evidence(traces, replies)
    asked = {event_id for _, event_id in graphs}
    if cards is None:
        needed = asked | set(scores.loc[scores["has_sources"], "event_id"])
        built = build_references(events[events["event_id"].isin(needed)], answers)
        cards = {name: one.graph for name, one in built.items()}
        sources = list_settling(events, built, predictions)
    else:
        evidence = name_pages(evidence, addresses or {})
        sources = list_sources(cards, addresses)
    references = [graph for name, graph in cards.items() if name in asked]
    for part in (recall_events(graphs, references), score_sources(evidence, sources)):
        scores = scores.merge(part, how="left", on=["run_id", "event_id"])
    valid = {name for name, graph in cards.items() if check_graph(graph)["is_valid"]}
    scores["recall_valid"] = scores["recall"].where(scores["event_id"].isin(valid))
    can_choose = scores["has_sources"] & scores["event_id"].isin(find_measured(sources, evidence))
    for name in ("srcp_cited", "srcp_accessed"):
        # nothing found and nothing cited is 0 where something could be right
        scores[name] = scores[name].astype(float).fillna(0.0).where(can_choose)
    # without a graph nobody is asked for sources: accessed counts
    scores["srcp_cited"] = scores["srcp_cited"].where(scores["has_graph"])
    return scores, left, references


def compare_conditions(scores):
    """Return what a condition has over another on the questions asked under both, a row a pair of
    `PAIRS` and metric.

    Columns metric, a, b, n (0 without a common question), n_clusters, difference (a - b), low,
    high, p (of a t test by cluster), p_holm (over all rows), mde (minimum detectable effect),
    verdict (by p_holm; of Brier scores less is better).
    """
    known = scores.astype(dict.fromkeys(METRICS, float))
    names = sorted({name for pair in PAIRS for name in pair})
    parts = []
    for metric in METRICS:
        wide = known.pivot_table(metric, "event_id", "condition").reindex(columns=names)
        table = compare_pairs(wide, take_clusters(scores), [(a, [b]) for a, b in PAIRS])
        parts.append(table.assign(metric=metric))
    table = pd.concat(parts, ignore_index=True).rename(columns={"agent_a": "a", "agent_b": "b"})
    lead = table["difference"].mask(table["metric"] == "brier", -table["difference"])
    table = judge_family(table.assign(lead=lead), "lead", *BETTER)
    return table["metric a b n n_clusters difference low high p p_holm mde verdict".split()]


def split_conditions(scores):
    """Return what right and wrong forecasts of each condition rest on
    (`outcome_scores.split_correct`): Tables 4, 10.

    A row a condition and metric that it has: condition, metric, right, wrong, gap, all, n,
    n_clusters, share.
    """
    columns = "condition metric right wrong gap low high all n n_clusters share".split()
    parts = [pd.DataFrame(columns=columns)]
    for name, rows in scores.groupby("condition", sort=False):
        known = rows[["recall", "srcp_cited", "srcp_accessed"]].dropna(axis=1, how="all")
        told = rows[["accuracy", "cluster"]].join(known.astype(float))
        parts.append(split_correct(told, known).assign(condition=name))
    return pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)[columns]
