"""What the viewer draws of a question in hindsight (Figure 8): its graph by rule, and its market's price.

Days are numbers of days since 1970, with their fraction; places are those of a drawing 900 wide.
"""

import math

import networkx as nx
import pandas as pd

from helpers.worldreasoner.hindsight.builder import build_hindsight, explain_graph, word_answer
from helpers.worldreasoner.hindsight.graphs import check_graph, correct_edges, date_nodes, join_edges, tabulate_nodes
from helpers.worldreasoner.hindsight.matching import pick_key_events
from helpers.worldreasoner.prices import find_turning_points
from helpers.worldreasoner.submissions import match_hashed, read_graph

SIDES = {"Positive": "up", "Negative": "down"}
LANE_DAYS = 6.0
NOTHING = {"nodes": [], "drawn": [], "prices": [], "turns": []}
EMPTY = pd.DataFrame(columns=["question_id", "day", "price"])


def tell_hindsight(event, cell, questions, prices=None):
    """Return what is drawn of an event: its graph where it is one of the long questions, and its prices.

    `event` is a row of the events table, `cell` its answer's value as it is stored, `questions` as of
    `cli.view.tell_events`, `prices` a table of question_id, day, price.
    """
    own = (EMPTY if prices is None else prices).query("question_id == @event['event_id']").sort_values("day")
    graph = None
    if event["window"] == "L" and isinstance(cell, str):
        graph = build_hindsight(event, word_answer(event, cell))
    shown = dict(NOTHING) if graph is None else draw_graph(graph, match_forecasts(graph.graph, event, questions))
    if own.empty:
        return shown
    line = own[["day", "price"]].to_numpy(dtype=float)
    first, last = float(line[0, 0]), float(max(line[-1, 0], line[0, 0] + 1))
    points = [f"{20 + 860 * (day - first) / (last - first):.1f} {240 - 230 * price:.1f}" for day, price in line]
    try:
        turns = find_turning_points(*line.T)
    except ImportError:  # the package ruptures is not installed
        turns = []
    return shown | {
        "prices": line.tolist(),
        "first": first,
        "last": last,
        "path": f"M {' L '.join(points)}",
        "turns": [round(20 + 860 * (day - first) / (last - first), 1) for day in turns],
    }


def match_forecasts(graph, event, questions):
    """Return {node_id of a hindsight event: names of the agents whose submitted graphs named it}."""
    key = event["event_id"]
    graphs = {(one["agent_id"], key): read_graph(one["reply"].get("reply"), event)[0] for one in questions}
    if not any(graphs.values()):
        return {}
    _, pairs = match_hashed(graphs, tabulate_nodes([graph]))
    return (
        pairs[pairs["is_kept"].astype(bool)].groupby("hindsight_id")["run_id"].agg(lambda r: sorted(set(r))).to_dict()
    )


def draw_graph(hindsight, matched):
    """Return the nodes of a graph with day, place and look, the edges that are kept with their ends, and its check."""
    graph = hindsight.graph
    days, kept = date_nodes(graph), correct_edges(graph)
    impacts = {row["node_id"]: row for row in graph["impacts"]}
    key_ids = set(pick_key_events(tabulate_nodes([graph]))["node_id"])
    lanes = place_nodes(kept)
    first, last = min((day for day, _ in lanes.values()), default=0), max((day for day, _ in lanes.values()), default=1)
    scale = 860 / max(last - first, 1)
    places = {name: (round(20 + scale * (day - first), 1), 16 + 34 * lane) for name, (day, lane) in lanes.items()}
    nodes = []
    for node in graph["nodes"]:
        name, impact = node["node_id"], impacts.get(node["node_id"])
        x, y = places.get(name, (None, None))
        about = {"title": node["title"], "day": days[name], "impact": impact, "x": x, "y": y}
        about |= {"is_key": name in key_ids, "is_outcome": name == graph["outcome_id"]}
        about["side"] = SIDES.get((impact or {}).get("direction"), "even")
        nodes.append(about | {"matched": matched.get(name, [])})
    nodes.sort(key=lambda node: (math.isnan(node["day"]), node["day"], node["title"]))
    titles = {node["node_id"]: node["title"] for node in graph["nodes"]}
    drawn = []
    for cause, effect, edge in ((edge["cause"], edge["effect"], edge) for edge in kept["edges"]):
        if cause in places and effect in places:
            ends = dict(zip(("x1", "y1", "x2", "y2"), (*places[cause], *places[effect]), strict=True))
            title = f"{titles[cause]} {edge['relation']} {titles[effect]}"
            drawn.append(ends | {"strength": edge["strength"], "title": title})
    n_lanes = 1 + max((lane for _, lane in lanes.values()), default=0)
    tests = hindsight.tests[hindsight.tests["effect"] == hindsight.series]
    about = {"n_lanes": n_lanes, "first": first, "last": last, "explanation": explain_graph(graph, tests)}
    return NOTHING | {"nodes": nodes, "drawn": drawn, "check": check_graph(graph)} | about


def place_nodes(graph):
    """Return where the nodes of kept edges stand: {node_id: (day, lane)}, no two nearer than LANE_DAYS in a lane.

    >>> nodes = [{"node_id": name, "occurred_at": f"2026-01-0{at}"} for at, name in enumerate("abc", 1)]
    >>> [lane for _, lane in place_nodes({"nodes": nodes, "edges": [{"cause": "a", "effect": "b"}]}).values()]
    [0, 1]
    """
    joined, days, ends, places = join_edges(graph), date_nodes(graph), [], {}
    named = [name for name in nx.subgraph_view(joined) if joined.degree(name) and not math.isnan(days[name])]
    for name in sorted(named, key=lambda name: (days[name], name)):
        lane = next((at for at, end in enumerate(ends) if days[name] - end >= LANE_DAYS), len(ends))
        ends[lane:] = [days[name], *ends[lane + 1 :]]
        places[name] = (float(days[name]), lane)
    return places
