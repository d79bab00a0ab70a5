"""All that is known of one question in one dictionary of JSON, for the explorer (Figure 8): metadata, graph, prices,
pressure, turning points, and every forecast with the events that its graph names.

Days are numbers of days since 1970, with their fraction. `origin` says what the question is: synthetic (made up),
replay (this kit's), public (a public set's), market (a user's file), authors' (read from their public files).
"""

import math

import networkx as nx
import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers.events.moments import number_days
from helpers.formats.lines import clean_json
from helpers.store import parse_json
from helpers.worldreasoner.hindsight.graphs import (
    check_graph,
    correct_edges,
    date_nodes,
    join_edges,
    read_cards,
    tabulate_nodes,
)
from helpers.worldreasoner.hindsight.matching import match_events, pick_key_events
from helpers.worldreasoner.hindsight.planted import CHAIN, draw_question, forecast_events
from helpers.worldreasoner.prices.markets import find_lead_changes, find_turning_points, measure_moves, measure_pressure

ORIGINS = {
    "synthetic": "Made up: series with planted causes, agents by rule, a price drawn from the series itself.",
    "replay": "A question of the replay; its graph is built by rule, of its series and others of the domain.",
    "public": "A question of a public set, its words and prices read from public files; hindsight is not known of it.",
    "market": "A question of a prediction market, from a file of the user's; hindsight is not known of it.",
    "authors": "WorldReasoner's own question with its event cards and its market's price, read from public files.",
}
"""Where a question comes from, and what that means."""
NO_EDGES = "The authors' file has no edges, and one source a card."


def tell_question(about, graph, prices=None, turns=None, forecasts=(), pairs=None):
    """Return the dossier of one question.

    `about` has question_id, title, origin, answer, and in `facts` what else is known (name: text); `prices` are rows of
    day and price; `turns` the days of its turning points (found here by PELT where they are None and the package
    ruptures is there); `forecasts` are dictionaries with agent; `pairs` as of `matching.match_events`, of this
    question: their `said` events are marked as matched.
    """
    nodes, days = tabulate_nodes([graph]), date_nodes(graph)
    key_ids = set(pick_key_events(nodes)["node_id"])
    impacts = {row["node_id"]: row for row in graph["impacts"]}
    kept, left = correct_edges(graph)
    told = [
        {**node, "day": days[node["node_id"]], "impact": impacts.get(node["node_id"])}
        | {"is_key": node["node_id"] in key_ids, "is_outcome": node["node_id"] == graph["outcome_id"]}
        for node in graph["nodes"]
    ]
    told.sort(key=lambda node: (math.isnan(node["day"]), node["day"], node["node_id"]))
    price = [] if prices is None else prices.sort_values("day")[["day", "price"]].to_numpy().tolist()
    pushes = measure_pressure(nodes)
    moves = measure_moves(nodes, prices).query("is_usable") if price and len(pushes) else pd.DataFrame()
    edges = [edge | {"is_kept": side} for side, part in ((True, kept["edges"]), (False, left)) for edge in part]
    dossier = about | {"check": check_graph(graph), "nodes": told, "edges": edges}
    dossier |= {"pressure": pushes[["day", "push", "pressure", "node_id"]].to_dict("records"), "prices": price}
    dossier["moves"] = moves.reindex(columns=["node_id", "move", "agrees"]).to_dict("records")
    dossier["turns"] = list(turns) if turns is not None else find_turns(price)
    dossier["leads"] = find_lead_changes(*np.array(price).T) if price else []
    dossier |= {"layout": place_nodes(kept), "forecasts": [mark_matches(one, pairs) for one in forecasts]}
    return clean_json(dossier, 6)


def find_turns(price):
    """Return the turning points of a list of (day, price); none where the package ruptures is not installed."""
    try:
        return find_turning_points(*np.array(price).T) if price else []
    except ImportError:
        return []


def place_nodes(graph, gap=6.0):
    """Return where the nodes of kept edges stand: {node_id: [day, lane]}, no two nearer than `gap` days in a lane.

    >>> nodes = [{"node_id": name, "occurred_at": f"2026-01-0{at}"} for at, name in enumerate("abc", 1)]
    >>> edges = [{"cause": "a", "effect": "b"}]
    >>> [lane for _, lane in place_nodes({"nodes": nodes, "edges": edges}).values()]
    [0, 1]
    """
    joined, days, ends, places = join_edges(graph), date_nodes(graph), [], {}
    named = [name for name in nx.subgraph_view(joined) if joined.degree(name) and not math.isnan(days[name])]
    for name in sorted(named, key=lambda name: (days[name], name)):
        lane = next((at for at, end in enumerate(ends) if days[name] - end >= gap), len(ends))
        ends[lane:] = [days[name], *ends[lane + 1 :]]
        places[name] = [float(days[name]), lane]
    return places


def mark_matches(forecast, pairs):
    """Return a forecast whose `said` events tell which hindsight event they match, one to one."""
    if pairs is None or "said" not in forecast:
        return forecast
    own = pairs[(pairs["run_id"] == forecast["agent"]) & pairs["is_kept"].astype(bool)]
    found = own.set_index("forecast_id")["hindsight_id"].to_dict()
    return forecast | {"said": [one | {"matches": found.get(one["node_id"])} for one in forecast["said"]]}


# --- where questions come from ---------------------------------------------------------------------------------------


def draw_prices(question, rng):
    """Return made-up prices of Yes, one a day: the chance that the series, as a random walk, ends above its start."""
    values = question["values"]
    own = values.loc[values.index >= question["opens_at"], CHAIN[-1]]
    left = np.arange(len(own))[::-1]
    chance = norm.cdf((own - own.iloc[0]) / (values[CHAIN[-1]].diff().std() * np.sqrt(np.maximum(left, 0.25))))
    price = np.clip(chance + rng.normal(0, 0.01, len(own)), 0.01, 0.99)
    return pd.DataFrame({"question_id": question["question_id"], "day": number_days(own.index) + 0.5, "price": price})


def tell_planted(seed=20, n_questions=2):
    """Return the dossiers of made-up questions, with an honest agent and one that copies, at three horizons."""
    rng, dossiers = np.random.default_rng(seed), []
    for at in range(n_questions):
        question = draw_question(f"made-up-{at + 1}", rng)
        nodes = tabulate_nodes([question["graph"]])
        said = pd.concat(
            forecast_events(question, nodes, horizon, agent, rng)
            for agent in ("honest", "copies")
            for horizon in ("Early", "Mid", "Late")
        )
        forecasts = [
            {"agent": name, "as_of": part["as_of"].iloc[0], "said": part[["node_id", "text", "day"]].to_dict("records")}
            for name, part in said.groupby("run_id", sort=False)
        ]
        node = next(one for one in question["graph"]["nodes"] if one["node_id"] == question["graph"]["outcome_id"])
        about = {"question_id": question["question_id"], "origin": "synthetic", "answer": question["answer"]}
        about |= {"title": f"Will {node['title'].rsplit(':', 1)[0]}?", "explanation": None}
        about |= {"opens_at": str(question["opens_at"].date()), "resolves_at": str(question["resolves_at"].date())}
        about["facts"] = {"series": ", ".join(question["values"]), "planted causes": " -> ".join(CHAIN)}
        prices = draw_prices(question, rng)
        dossiers.append(tell_question(about, question["graph"], prices, None, forecasts, match_events(nodes, said)))
    return dossiers


def tell_authors(questions, prices, turns):
    """Return the dossiers of the authors' questions: cards, prices (question_id, time_utc, price), turning points."""
    known = [table.assign(day=number_days(table["time_utc"])) for table in (prices, turns)]
    dossiers = []
    for row, graph in zip(questions, read_cards(questions), strict=True):
        own, marked = (table[table["question_id"] == row["id"]] for table in known)
        facts = {name: row.get(name) for name in ("question_type", "resolution_criteria", "polymarket_url")}
        facts["options"] = ", ".join(row.get("options") or [])
        facts["of the paper's 120"] = "yes" if row["in_benchmark_120"] else "no"
        facts |= {"opening": "estimated" if row.get("market_open_estimated") else None, "graph": NO_EDGES}
        if len(own) and row.get("outcome") not in ("Yes", "No"):
            facts["price"] = "of one option, often a losing one"
        about = {"question_id": row["id"], "title": row.get("title") or row["id"], "origin": "authors"}
        names = {"answer": "outcome", "opens_at": "market_open", "resolves_at": "market_close"}
        about |= {name: row.get(theirs) for name, theirs in names.items()}
        about |= {"facts": facts, "explanation": row.get("explanation")}
        dossiers.append(tell_question(about, graph, own if len(own) else None, marked["day"].tolist()))
    return dossiers


def tell_markets(events, answers, prices):
    """Return the dossiers of a market's questions (`formats.markets.read_markets`), without a graph."""
    values, dossiers = dict(zip(answers.get("event_id", ()), answers.get("value", ()), strict=True)), []
    for event in events.to_dict("records"):
        name, options = event["event_id"], parse_json(event["options"])
        about = {"question_id": name, "title": event["prompt"].splitlines()[0], "origin": "market", "explanation": None}
        about |= {"answer": options.get(parse_json(values.get(name)))}
        about |= {key: event[key] for key in ("opens_at", "resolves_at")}
        about["facts"] = {"options": ", ".join(options.values()), "resolution_criteria": event["resolution_criteria"]}
        graph = {"question_id": name, "outcome_id": None, "nodes": [], "edges": [], "impacts": []}
        own = prices[prices["question_id"] == name]
        dossiers.append(tell_question(about, graph, own if len(own) else None))
    return dossiers
