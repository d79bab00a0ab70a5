"""Graphs of hindsight and of forecasts: their form, when one is valid, one in the making, and the
authors' event cards as graphs (B.1, B.3, F.2, F.3).

A graph is a dictionary of JSON: question_id, outcome_id, nodes, edges, impacts, in the paper's
fields.
"""

import math
from collections import Counter
from functools import lru_cache
from typing import Annotated

import networkx as nx
import pandas as pd
from pydantic import Field

from daybefore.agents.graph_agents import DIRECTIONS, RELATIONS
from helpers.clock import open_moment
from helpers.input_faults import check_object
from helpers.papers import get_constant
from helpers.tables import Setting, Share, allow, one_of
from studies.worldreasoner.hindsight.matching import split_words

MIN_DEPTH = get_constant("worldreasoner", "graph_min_depth")
MIN_NODES = get_constant("worldreasoner", "graph_min_nodes")
MIN_ARTICLES = get_constant("worldreasoner", "graph_min_articles")
MIN_CONFIDENCE = get_constant("worldreasoner", "edge_min_confidence")
MIN_STRENGTH = get_constant("worldreasoner", "edge_min_strength")
NEUTRAL = get_constant("worldreasoner", "neutral_max_magnitude")
OUTCOME = "outcome"

EPOCH = pd.Timestamp(0, unit="s", tz="UTC")
TYPES = ("Decision", "Outcome", "Indicator", "Milestone", "External Shock")
SIGNS = {"Positive": 1, "Negative": -1, "Neutral": 0, "Mixed": 0}
"""Direction of an impact -> its sign in the causal pressure; Mixed has none (Appendix D)."""
Words = allow(str, "a text")
Texts = allow(list[str], "a list of texts")
Strength = allow(Annotated[float, Field(ge=-1, le=1)], "a number from -1 to 1")


class Node(Setting):
    """An event of a graph, or its outcome."""

    node_id: Words
    title: Words
    occurred_at: allow(str | None, "a date or null")
    source_ids: Texts
    description: Words = ""
    type: one_of(*TYPES) = None
    review: one_of("Pending", "Approved", "Rejected", "Revised") = None


class Edge(Setting):
    """What one event does to another."""

    cause: Words
    effect: Words
    relation: one_of(*RELATIONS)
    strength: Strength
    confidence: Share
    reasoning: Words = ""
    source_ids: Texts = []


class Impact(Setting):
    """What an event does to the outcome."""

    node_id: Words
    direction: one_of(*DIRECTIONS)
    magnitude: Share
    confidence: Share
    reasoning: Words = ""


class Graph(Setting):
    """The form of a graph (B.1)."""

    question_id: Words
    outcome_id: allow(str | None, "a node or null")
    nodes: list[Node]
    edges: list[Edge]
    impacts: list[Impact]


def check_form(graph):
    """Return a graph unchanged. Raises ValueError, naming the place, for one that is not of the
    form, names a node twice, or one that is not there, or dates one by what is no date.
    """
    check_object("a graph is not of the form", graph, Graph)
    ids = Counter(node["node_id"] for node in graph["nodes"])
    name = f"graph of {graph['question_id']}"
    if twice := [one for one, n in ids.items() if n > 1]:
        raise ValueError(f"{name}: node {twice[0]!r} is there twice")
    named = [("the outcome", graph["outcome_id"])] if graph["outcome_id"] is not None else []
    named += [
        (f"an edge's {end}", edge[end]) for edge in graph["edges"] for end in ("cause", "effect")
    ]
    named += [("an impact's node", impact["node_id"]) for impact in graph["impacts"]]
    if strange := [(what, node) for what, node in named if node not in ids]:
        what, node = strange[0]
        raise ValueError(f"{name}: {what} {node!r} is none of its nodes")
    date_nodes(graph)
    return graph


def correct_edges(graph):
    """Return a graph without the edges that are too weak or too unsure to count (B.3: |s| and
    c)."""
    kept = [
        e
        for e in graph["edges"]
        if abs(e["strength"]) >= MIN_STRENGTH and e["confidence"] >= MIN_CONFIDENCE
    ]
    return graph | {"edges": kept}


def check_graph(graph):
    """Return whether a graph may serve as a reference, and why not (B.3): a row of counts, reasons
    and is_valid.

    Edges that fail the edge test are taken out before anything is counted (`correct_edges`).
    `depth` is the number of edges of the longest path that ends in the outcome. Reasons: circle
    (edges run back to where they start), order (a cause is dated after its effect, or either is
    undated), depth, nodes, articles, edges (too few).
    """
    graph = correct_edges(check_form(graph))
    days = date_nodes(graph)
    outcome = graph["outcome_id"]
    joined = nx.DiGraph([(edge["cause"], edge["effect"]) for edge in graph["edges"]])
    has_circle = not nx.is_directed_acyclic_graph(joined)
    leads = (
        nx.ancestors(joined, outcome) | {outcome} if outcome in joined and not has_circle else ()
    )
    row = {
        "question_id": graph["question_id"],
        "n_nodes": len(graph["nodes"]),
        "n_articles": len({source for node in graph["nodes"] for source in node["source_ids"]}),
        "n_edges": len(graph["edges"]),
        "depth": nx.dag_longest_path_length(joined.subgraph(leads)),
    }
    fails = {
        "circle": has_circle,
        "order": any(not days[edge["cause"]] <= days[edge["effect"]] for edge in graph["edges"]),
        "depth": row["depth"] < MIN_DEPTH,
        "nodes": row["n_nodes"] < MIN_NODES,
        "articles": row["n_articles"] < MIN_ARTICLES,
        "edges": row["n_edges"] < 1,
    }
    reasons = [name for name, is_so in fails.items() if is_so]
    return row | {"reasons": " ".join(reasons), "is_valid": not reasons}


def date_nodes(graph):
    """Return the moment of each node as a number of days since 1970, NaN where undated.

    Raises ValueError that names the node for what is no date.
    """
    days = {}
    for node in graph["nodes"]:
        try:
            days[node["node_id"]] = count_days(node["occurred_at"])
        except ValueError:
            raise ValueError(
                f"graph of {graph['question_id']}: node {node['node_id']!r} is dated {node['occurred_at']!r}, which is "
                "no date; write 2016-10-10, or null where it is not known"
            ) from None
    return pd.Series(days, dtype=float)


@lru_cache(maxsize=10_000)
def count_days(text):
    """Return a date or moment (UTC without an offset) as days since 1970, of any year; NaN of None
    and "".

    >>> count_days("1970-01-02T12:00:00Z"), count_days("1648-10-24"), count_days(None)
    (1.5, -117311.0, nan)
    """
    at = open_moment(text) if text else pd.NaT
    at = at.tz_localize("UTC") if at.tzinfo is None else at
    return (at - EPOCH) / pd.Timedelta(days=1) if at is not pd.NaT else math.nan


def tabulate_nodes(graphs):
    """Return the nodes of graphs as a table, for matching and pressure: a row a node.

    Columns question_id, node_id, text (title and description), day, is_outcome, sign, magnitude,
    confidence, impact (magnitude times confidence; of several records the largest), blank without a
    record.
    """
    rows = []
    for graph in graphs:
        days = date_nodes(graph)
        weighed = sorted(graph["impacts"], key=lambda one: one["magnitude"] * one["confidence"])
        impacts = {
            one["node_id"]: (SIGNS[one["direction"]], one["magnitude"], one["confidence"])
            for one in weighed
        }
        for node in graph["nodes"]:
            name = node["node_id"]
            text = f"{node['title']}. {node.get('description', '')}"
            about = graph["question_id"], name, text, days[name], name == graph["outcome_id"]
            rows.append((*about, *impacts.get(name, (None,) * 3)))
    columns = "question_id node_id text day is_outcome sign magnitude confidence".split()
    table = pd.DataFrame(rows, columns=columns).astype(
        {"sign": float, "magnitude": float, "confidence": float}
    )
    return table.assign(impact=table["magnitude"] * table["confidence"])


# --- a graph in the making ---------------------------------------------------------------------------


class Draft:
    """A graph in the making (`graph`, of `graphs.check_form`): what may stand is added, or the
    reason is said.

    `nodes`[0] is the outcome. `draft_graph` adds check (`check_graph`) and left_out (rows of part,
    what, reason).
    """

    def __init__(self, question_id, title, day, **about):
        self.graph = {"question_id": question_id, "outcome_id": OUTCOME}
        self.graph |= {"nodes": [], "edges": [], "impacts": []}
        self.nodes = self.graph["nodes"]
        self.joined = nx.DiGraph()
        self.pushed = set()
        node = {"node_id": OUTCOME, "title": title, "occurred_at": day, "source_ids": []}
        self.add_node(node | about)

    def add_node(self, node):
        """Add a node as it is."""
        self.nodes.append(node)
        self.joined.add_node(node["node_id"])

    def take_event(self, item, articles):
        """Add an event, or return why not: not before the outcome, no article of its day, or there
        already."""
        if item["day"] >= self.nodes[0]["occurred_at"]:
            return "it is not before the answer"
        named = [articles[int(at)] for at in item["articles"] if at < len(articles)]
        if item["day"] not in {article["day"] for article in named}:
            return "none of its articles is of its day"
        words = set(split_words(item["title"])) or item["title"]
        for node in self.nodes:
            others = set(split_words(node["title"])) or node["title"]
            if node["occurred_at"] == item["day"] and words == others:
                return f"it is there already: {node['node_id']}"
        about = {name: item[name] for name in ("title", "description", "type")}
        about |= {"source_ids": sorted({article["id"] for article in named}), "review": "Pending"}
        self.add_node(about | {"node_id": f"e{len(self.nodes)}", "occurred_at": item["day"]})
        return ""

    def take_edge(self, item):
        """Add an edge, or return why not: unknown ends, order, circle, there already, too weak or
        unsure."""
        ends = item["cause"], item["effect"]
        if any(end not in range(len(self.nodes)) for end in ends) or ends[0] == ends[1]:
            return "it does not join two events"
        cause, effect = (self.nodes[int(end)]["node_id"] for end in ends)
        first, last = (count_days(self.nodes[int(end)]["occurred_at"]) for end in ends)
        if cause == OUTCOME or first > last:
            return "the cause is after its effect"
        if self.joined.has_edge(cause, effect):
            return "it is there already"
        if not abs(item["strength"]) >= MIN_STRENGTH:
            return f"its strength is below {MIN_STRENGTH}"
        if not item["confidence"] >= MIN_CONFIDENCE:
            return f"its confidence is below {MIN_CONFIDENCE}"
        # no edge leads back to an earlier day
        if not first < last and nx.has_path(self.joined, effect, cause):
            return "it would close a circle"
        about = {name: item[name] for name in ("relation", "strength", "confidence")}
        self.graph["edges"].append({"cause": cause, "effect": effect} | about)
        self.joined.add_edge(cause, effect)
        return ""

    def take_impact(self, item):
        """Add an impact, or return why not: of the answer itself, there already, too large for
        Neutral."""
        if not 0 < item["event"] < len(self.nodes):
            return "it is of no event"
        node = self.nodes[int(item["event"])]["node_id"]
        if node in self.pushed:
            return "the event has one already"
        if math.isnan(item["magnitude"] + item["confidence"]):
            return "its magnitude or its confidence is no number"
        if item["direction"] == "Neutral" and item["magnitude"] > NEUTRAL:
            return f"it is Neutral and above {NEUTRAL}"
        about = {name: item[name] for name in ("direction", "magnitude", "confidence")}
        self.graph["impacts"].append({"node_id": node} | about)
        self.pushed.add(node)
        return ""


# --- the authors' event cards -----------------------------------------------------------------------


def read_question(question):
    """Return a question with event cards as a graph without edges and without an outcome node: the
    reference of the set `worldreasoner` (B.1, B.4).

    So it is never valid by B.3; it serves as key events and as sources. An impact on the answer No
    is turned, so that all signs are towards Yes; on an option of several it stays, and is towards
    that option.

    >>> impact = {"direction": "positive", "magnitude": 0.5, "confidence": 0.5, "affects": "No - Will it rain?"}
    >>> card = {"id": "e", "date": "", "title": "A dry front", "source_url": "u", "status": "pending", "impact": impact}
    >>> read_question({"id": "q", "events": [card]})["impacts"][0]["direction"]
    'Negative'
    """
    turned = {"Positive": "Negative", "Negative": "Positive"}
    nodes = []
    impacts = []
    for card in question["events"]:
        node = {
            "node_id": card["id"],
            "title": card["title"],
            "occurred_at": card["date"] or None,
            "source_ids": [card["source_url"]] if card.get("source_url") else [],
            "description": card.get("description") or "",
            "review": card["status"].capitalize(),
        }
        nodes.append(node)
        if record := card["impact"]:
            direction = record["direction"].capitalize()
            if record["affects"].startswith("No - "):
                direction = turned.get(direction, direction)
            impact = {name: record[name] for name in ("magnitude", "confidence")}
            impacts.append(impact | {"node_id": card["id"], "direction": direction})
    parts = {"nodes": nodes, "edges": [], "impacts": impacts}
    return check_form({"question_id": question["id"], "outcome_id": None} | parts)


def build_references(questions):
    """Return {event_id: graph} of window W's questions; `questions` maps event_id to the file's
    row."""
    return {name: read_question(row) | {"question_id": name} for name, row in questions.items()}
