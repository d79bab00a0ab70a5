"""What the viewer draws of a question in hindsight (Figure 8): its graph by rule, and its market's
price.

Days are numbers of days since 1970, with their fraction; places are those of a drawing 900 wide.
"""

from studies.worldreasoner.hindsight.graphs import (
    check_graph,
    correct_edges,
    date_nodes,
    tabulate_nodes,
)
from studies.worldreasoner.hindsight.graphs_by_rule import build_hindsight, word_answer
from studies.worldreasoner.hindsight.matching import pick_key_events
from studies.worldreasoner.submissions import match_hashed, read_graph

SIDES = {"Positive": "up", "Negative": "down"}
LANE_DAYS = 6.0
NOTHING = {"nodes": [], "drawn": [], "prices": []}


def tell_hindsight(event, cell, questions, prices=None):
    """Return what is drawn of an event: its graph where it is one of the long questions, and its
    prices.

    `event` is a row of the events table, `cell` its answer's value as it is stored, `questions` as
    of `commands.view.tell_events`, `prices` a table of question_id, day, price.
    """
    shown = dict(NOTHING)
    if (
        event["window"] == "L"
        and isinstance(cell, str)
        and (found := build_hindsight(event, word_answer(event, cell)))
    ):
        shown |= draw_graph(found.graph, match_forecasts(found.graph, event, questions))
    if prices is None or (own := prices[prices["question_id"] == event["event_id"]]).empty:
        return shown
    line = own.sort_values("day")[["day", "price"]].to_numpy(dtype=float)
    first = float(line[0, 0])
    last = float(max(line[-1, 0], line[0, 0] + 1))
    points = [
        f"{20 + 860 * (day - first) / (last - first):.1f} {240 - 230 * price:.1f}"
        for day, price in line
    ]
    return shown | {
        "prices": line.tolist(),
        "first": first,
        "last": last,
        "path": f"M {' L '.join(points)}",
    }


def match_forecasts(graph, event, questions):
    """Return {node_id of a hindsight event: names of the agents whose submitted graphs named
    it}."""
    key = event["event_id"]
    graphs = {
        (one["agent_id"], key): read_graph(one["reply"].get("reply"), event)[0] for one in questions
    }
    if not any(graphs.values()):
        return {}
    pairs = match_hashed(graphs, tabulate_nodes([graph]))[1]
    names = pairs[pairs["is_kept"]].groupby("hindsight_id")["run_id"].unique()
    return names.map(sorted).to_dict()


def draw_graph(graph, matched):
    """Return the nodes of a graph by rule, all dated, with day, place and look, the edges that are
    kept with their ends, and its check."""
    days = date_nodes(graph)
    edges = correct_edges(graph)["edges"]
    impacts = {row["node_id"]: row for row in graph["impacts"]}
    key_ids = set(pick_key_events(tabulate_nodes([graph]))["node_id"])
    joined = {edge[end] for edge in edges for end in ("cause", "effect")}
    lanes = place_nodes(days[days.index.isin(joined)])
    dated = [day for day, _ in lanes.values()] or [0, 1]
    first = min(dated)
    last = max(dated)
    scale = 860 / max(last - first, 1)
    places = {
        name: (round(20 + scale * (day - first), 1), 16 + 34 * lane)
        for name, (day, lane) in lanes.items()
    }
    nodes = []
    for node in graph["nodes"]:
        name = node["node_id"]
        impact = impacts.get(name)
        x, y = places.get(name, (None, None))
        about = {"title": node["title"], "day": days[name], "impact": impact, "x": x, "y": y}
        about |= {"is_key": name in key_ids, "is_outcome": name == graph["outcome_id"]}
        about["side"] = SIDES.get(impact["direction"], "even") if impact else "even"
        nodes.append(about | {"matched": matched.get(name, [])})
    nodes.sort(key=lambda node: (node["day"], node["title"]))
    titles = {node["node_id"]: node["title"] for node in graph["nodes"]}
    drawn = []
    for edge in edges:
        title = f"{titles[edge['cause']]} {edge['relation']} {titles[edge['effect']]}"
        ends = [places[edge["cause"]], places[edge["effect"]]]
        drawn.append({"ends": ends, "strength": edge["strength"], "title": title})
    n_lanes = 1 + max((lane for _, lane in lanes.values()), default=0)
    about = {"n_lanes": n_lanes, "first": first, "last": last, "check": check_graph(graph)}
    return {"nodes": nodes, "drawn": drawn} | about


def place_nodes(days):
    """Return where dated nodes stand: {node_id: (day, lane)}, no two nearer than LANE_DAYS in a
    lane.

    >>> import pandas as pd
    >>> place_nodes(pd.Series({"a": 1.0, "b": 2.0, "c": 8.0}))
    {'a': (1.0, 0), 'b': (2.0, 1), 'c': (8.0, 0)}
    """
    ends = []
    places = {}
    for name, day in sorted(days.items(), key=lambda item: item[::-1]):
        lane = next((at for at, end in enumerate(ends) if day - end >= LANE_DAYS), len(ends))
        ends[lane : lane + 1] = [day]
        places[name] = (day, lane)
    return places
