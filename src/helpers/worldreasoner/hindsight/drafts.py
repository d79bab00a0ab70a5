"""Hindsight graphs drafted by a language model under a schema, with the published thresholds.

The model is asked for a few events, then for edges, then for impacts, each reply held to a schema. What a reply says is
checked by plain code: what fails is left out, with the reason. After each round the graph is held against the published
thresholds; what it lacks is said in the next round, until it passes or the rounds are used up.

Functions that ask take `consult` (`models.judges.open_judge` yields one). Articles are dictionaries of id, day, text.
"""

import math
from typing import NamedTuple

import networkx as nx
import pandas as pd

from helpers.calendar import ZONE
from helpers.models.grammars import make_schema
from helpers.papers import get_constant
from helpers.prompts import read_prompt
from helpers.worldreasoner.hindsight.graphs import (
    DIRECTIONS,
    MIN_ARTICLES,
    MIN_CONFIDENCE,
    MIN_DEPTH,
    MIN_NODES,
    MIN_STRENGTH,
    RELATIONS,
    TYPES,
    check_graph,
    date_nodes,
    join_edges,
)
from helpers.worldreasoner.hindsight.matching import split_words

ROUNDS = get_constant("worldreasoner", "max_graph_rounds")
NEUTRAL = get_constant("worldreasoner", "neutral_max_magnitude")
N_ARTICLES = 12
"""Articles shown in one request: those that no event rests on yet come first."""
N_EVENTS, N_EDGES, N_IMPACTS = 3, 4, 5
"""Things asked for in one request: a judge's reply has few tokens."""
OUTCOME = "outcome"

LACKS = {
    "depth": f"No chain of {MIN_DEPTH} steps leads to the answer yet: find what led to the earliest events.",
    "nodes": f"There are fewer than {MIN_NODES} events.",
    "articles": f"The events rest on fewer than {MIN_ARTICLES} articles: use more of them.",
    "edges": "No pair is joined yet.",
}
"""What a graph lacks (`graphs.check_graph`) -> what the model is told."""


class Draft(NamedTuple):
    """A drafted graph, whether it passes, and what was left out: rows of round, part, what, reason."""

    graph: dict
    check: dict
    left_out: pd.DataFrame
    n_rounds: int
    n_requests: int


def draft_graph(question, articles, consult, n_rounds=ROUNDS):
    """Return the Draft of a question (question_id, question, answer, day) from the articles of its hindsight.

    A reply that is not recorded, or failed, ends the work: the draft is what there is by then, and says so. Raises
    ValueError for a question or an article without a day.
    """
    day = read_day(question["day"], f"question {question['question_id']}")
    for article in articles:
        read_day(article["day"], f"article {article['id']}")
    end = {"node_id": OUTCOME, "title": f"{question['question']} {question['answer']}", "type": "Outcome"}
    end |= {"occurred_at": str(day.date()), "source_ids": [], "description": ""}
    graph = {"question_id": question["question_id"], "outcome_id": OUTCOME, "nodes": [end], "edges": [], "impacts": []}
    left, n_asked, number = [], 0, 0
    check = check_graph(graph)
    for number in range(1, n_rounds + 1):
        for part, ask, take in STEPS:
            prompt, schema = ask(question, graph, articles, check)
            verdict = consult(prompt, schema, repeat=0)
            n_asked += 1
            if verdict.status != "ok":
                left.append((number, part, "the reply", f"{verdict.status}: {verdict.reason}"))
                break
            for item in verdict.value[part]:
                problem = take(graph, item, articles, day)
                if problem:
                    left.append((number, part, describe(item), problem))
        check = check_graph(graph)
        if check["is_valid"] or verdict.status != "ok":
            break
    table = pd.DataFrame(left, columns=["round", "part", "what", "reason"])
    return Draft(graph, check, table, number, n_asked)


def read_day(given, whose):
    """Return a day or moment as a Timestamp without a zone: of a moment with its offset that in the kit's zone.

    >>> str(read_day("2026-02-28T22:00:00Z", "question q"))
    '2026-03-01 06:00:00'
    """
    try:
        day = pd.Timestamp(given)
    except (ValueError, TypeError):
        day = pd.NaT
    if day is pd.NaT:
        raise ValueError(f"{whose}: {given!r} is no day; give it one such as 2016-10-10")
    return day if day.tzinfo is None else day.tz_convert(ZONE).tz_localize(None)


def describe(item):
    """Return in a few words what an item of a reply is.

    >>> describe({"cause": 1, "effect": 0}), describe({"title": "Rates cut"})
    ('1 to 0', 'Rates cut')
    """
    if "cause" in item:
        return f"{item['cause']} to {item['effect']}"
    return str(item.get("title", item.get("event")))


def tell(question, graph, check, prompt, **more):
    """Return a prompt filled with what all three have: question, answer, day, the events by number, what is lacking."""
    rows = [f"{at}. {node['occurred_at']}: {node['title']}" for at, node in enumerate(graph["nodes"])]
    lacking = " ".join(LACKS[reason] for reason in check["reasons"].split() if reason in LACKS)
    about = {name: question[name] for name in ("question", "answer", "day")}
    return read_prompt(prompt).format(known="\n".join(rows), lacking=lacking, **about, **more)


def listing(name, least, most, **fields):
    """Return the schema of a reply: one list of so many objects."""
    items = {"type": "array", "items": make_schema(**fields), "minItems": least, "maxItems": most}
    return make_schema(**{name: items})


SHARE = {"type": "number", "minimum": 0, "maximum": 1}


# --- events ----------------------------------------------------------------------------------------------------------


def ask_events(question, graph, articles, check):
    """Return the prompt and schema that ask for further events."""
    used = {source for node in graph["nodes"] for source in node["source_ids"]}
    order = sorted(range(len(articles)), key=lambda at: (articles[at]["id"] in used, at))
    shown = sorted(order[:N_ARTICLES])
    lines = "\n".join(f"{at}. {articles[at]['day']}: {articles[at]['text']}" for at in shown)
    text = {"type": "string", "minLength": 3, "maxLength": 90}
    fields = {"title": text, "description": text | {"maxLength": 120}, "type": {"enum": list(TYPES[:1] + TYPES[2:])}}
    fields["day"] = {"enum": sorted({articles[at]["day"] for at in shown})}
    fields["articles"] = {"type": "array", "items": {"enum": shown}, "minItems": 1, "maxItems": 4}
    return tell(question, graph, check, "graph_events", articles=lines), listing("events", 1, N_EVENTS, **fields)


def take_event(graph, item, articles, day):
    """Add an event to a graph, or return why not: after the end, no article of its day, or there already."""
    if read_day(item["day"], item["title"]) >= day:
        return "it is not before the answer"
    named = [articles[int(at)] for at in item["articles"] if at < len(articles)]
    chosen, days = sorted({article["id"] for article in named}), {article["day"] for article in named}
    if item["day"] not in days:
        return "none of its articles is of its day"
    for node in graph["nodes"]:
        if node["occurred_at"] == item["day"] and read_alike(item["title"], node["title"]):
            return f"it is there already: {node['node_id']}"
    about = {"title": item["title"], "description": item["description"], "type": item["type"], "source_ids": chosen}
    graph["nodes"].append(
        about | {"node_id": f"e{len(graph['nodes'])}", "occurred_at": item["day"], "review": "Pending"}
    )
    return ""


def read_alike(one, other):
    """Say whether two titles have the same words, in any order; where neither has one that counts, the same letters.

    >>> read_alike("Rates cut", "cut: rates"), read_alike("洪水", "雨"), read_alike("洪水", "洪水")
    (True, False, True)
    """
    words = [set(split_words(title)) for title in (one, other)]
    return words[0] == words[1] if any(words) else one == other


# --- edges -----------------------------------------------------------------------------------------------------------


def ask_edges(question, graph, articles, check):
    """Return the prompt and schema that ask for further edges."""
    place = {node["node_id"]: at for at, node in enumerate(graph["nodes"])}
    joined = "\n".join(f"{place[edge['cause']]} to {place[edge['effect']]}" for edge in graph["edges"]) or "none"
    number, fields = {"type": "integer", "minimum": 0, "maximum": len(place) - 1}, {}
    fields |= {
        "cause": number | {"minimum": min(1, len(place) - 1)},
        "effect": number,
        "relation": {"enum": list(RELATIONS)},
    }
    fields |= {"strength": {"type": "number", "minimum": -1, "maximum": 1}, "confidence": SHARE}
    return tell(question, graph, check, "graph_edges", edges=joined), listing("edges", 0, N_EDGES, **fields)


def take_edge(graph, item, articles, day):
    """Add an edge to a graph, or return why not: unknown ends, order, circle, there already, too weak or unsure."""
    ids = [node["node_id"] for node in graph["nodes"]]
    if not {item["cause"], item["effect"]} <= set(range(len(ids))) or item["cause"] == item["effect"]:
        return "it does not join two events"
    cause, effect = ids[int(item["cause"])], ids[int(item["effect"])]  # 1.0 is a whole number in JSON's schemas
    days = date_nodes(graph)
    if cause == OUTCOME or days[cause] > days[effect]:
        return "the cause is after its effect"
    if any((edge["cause"], edge["effect"]) == (cause, effect) for edge in graph["edges"]):
        return "it is there already"
    if not abs(item["strength"]) >= MIN_STRENGTH:
        return f"its strength is below {MIN_STRENGTH}"
    if not item["confidence"] >= MIN_CONFIDENCE:
        return f"its confidence is below {MIN_CONFIDENCE}"
    if nx.has_path(join_edges(graph), effect, cause):
        return "it would close a circle"
    graph["edges"].append(
        {"cause": cause, "effect": effect} | {n: item[n] for n in ("relation", "strength", "confidence")}
    )
    return ""


# --- impacts ---------------------------------------------------------------------------------------------------------


def ask_impacts(question, graph, articles, check):
    """Return the prompt and schema that ask for the impacts of events that have none."""
    known = {impact["node_id"] for impact in graph["impacts"]}
    open_ones = [at for at, node in enumerate(graph["nodes"]) if at and node["node_id"] not in known]
    fields = {"event": {"enum": open_ones or [0]}, "direction": {"enum": list(DIRECTIONS)}}
    numbers = ", ".join(map(str, open_ones)) or "none"
    schema = listing("impacts", 0, N_IMPACTS, **fields, magnitude=SHARE, confidence=SHARE)
    return tell(question, graph, check, "graph_impacts", numbers=numbers), schema


def take_impact(graph, item, articles, day):
    """Add an impact to a graph, or return why not: of the answer itself, there already, too large for Neutral."""
    nodes = graph["nodes"]
    if not 0 < item["event"] < len(nodes):
        return "it is of no event"
    node = nodes[int(item["event"])]["node_id"]
    if any(impact["node_id"] == node for impact in graph["impacts"]):
        return "the event has one already"
    if math.isnan(item["magnitude"] + item["confidence"]):
        return "its magnitude or its confidence is no number"
    if item["direction"] == "Neutral" and item["magnitude"] > NEUTRAL:
        return f"it is Neutral and above {NEUTRAL}"
    about = {name: item[name] for name in ("direction", "magnitude", "confidence")}
    graph["impacts"].append({"node_id": node} | about)
    return ""


STEPS = (
    ("events", ask_events, take_event),
    ("edges", ask_edges, take_edge),
    ("impacts", ask_impacts, take_impact),
)
"""What is asked in a round, in this order: the list's name, who asks, who takes an item in or says why not."""
