"""Hindsight graphs drafted by a language model under a schema, with the published thresholds
(WorldReasoner B.2, B.3).

The model is asked for a few events, then for edges, then for impacts, each reply held to a schema.
What a reply says is checked by plain code: what fails is left out, with the reason. After each
round the graph is held against the published thresholds; what it lacks is said in the next round,
until it passes or the rounds are used up.
"""

import pandas as pd

from daybefore.agents.graph_agents import DIRECTIONS, RELATIONS
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from helpers.papers import get_constant
from studies.worldreasoner.hindsight.graphs import (
    MIN_ARTICLES,
    MIN_DEPTH,
    MIN_NODES,
    TYPES,
    Draft,
    check_graph,
)
from studies.worldreasoner.hindsight.graphs_by_rule import word_answer

ROUNDS = get_constant("worldreasoner", "max_graph_rounds")
N_ARTICLES = 12
"""Articles shown in one request: those that no event rests on yet come first."""
N_EVENTS, N_EDGES, N_IMPACTS = 3, 4, 5
"""Things asked for in one request: a judge's reply has few tokens."""
N_EVIDENCE = 40
"""Articles gathered for a graph, at most: twice those that it must rest on."""
SHARE = {"type": "number", "minimum": 0, "maximum": 1}

LACKS = {
    "depth": f"No chain of {MIN_DEPTH} steps leads to the answer yet: find what led to the earliest events.",
    "nodes": f"There are fewer than {MIN_NODES} events.",
    "articles": f"The events rest on fewer than {MIN_ARTICLES} articles: use more of them.",
    "edges": "No pair is joined yet.",
}
"""What a graph lacks (`graphs.check_graph`) -> what the model is told."""


def draft_graph(question, articles, consult, n_rounds=ROUNDS):
    """Return the Draft of a question (question_id, question, answer, day) from articles (id, day,
    text) of hindsight.

    Days are written 2016-10-10. `consult` asks the model (of `registry.open_consult`). A reply that
    is not recorded, or failed, ends the work: the draft is what there is by then, and says so.
    """
    title = f"{question['question']} {question['answer']}"
    draft = Draft(question["question_id"], title, question["day"], type="Outcome", description="")
    steps = {
        "events": (ask_events, lambda item: draft.take_event(item, articles)),
        "edges": (ask_edges, draft.take_edge),
        "impacts": (ask_impacts, draft.take_impact),
    }
    left = []
    draft.check = check_graph(draft.graph)
    for _ in range(n_rounds):
        for part, (ask, take) in steps.items():
            verdict = consult(*ask(question, draft.graph, articles, draft.check), repeat=0)
            if verdict.status != "ok":
                left.append((part, "the reply", f"{verdict.status}: {verdict.reason}"))
                break
            for item in verdict.value[part]:
                if problem := take(item):
                    what = item.get("title") or item.get("event")
                    if part == "edges":
                        what = f"{item['cause']} to {item['effect']}"
                    left.append((part, str(what), problem))
        draft.check = check_graph(draft.graph)
        if draft.check["is_valid"] or verdict.status != "ok":
            break
    draft.left_out = pd.DataFrame(left, columns=["part", "what", "reason"])
    return draft


def draft_event(event, value, world, consult, n_rounds=ROUNDS):
    """Return the Draft of an event (a row of the events table) with its answer, from what a search
    finds (B.2).

    `world` is searched for the event until its resolution.
    """
    hits = world.search(event["prompt"].splitlines()[0], event["resolves_at"], N_EVIDENCE)
    articles = [
        {"id": hit.url, "day": hit.published_at[:10], "text": f"{hit.title}: {hit.text}"}
        for hit in hits
    ]
    about = {
        "question_id": event["event_id"],
        "question": event["prompt"],
        "day": event["resolves_at"][:10],
    }
    return draft_graph(about | {"answer": word_answer(event, value)}, articles, consult, n_rounds)


# --- what is asked: a prompt and a schema -----------------------------------------------------------


def fill(question, graph, check, prompt, **more):
    """Return a prompt filled with what all three have: question, answer, day, the events by number,
    what is lacking."""
    rows = [
        f"{at}. {node['occurred_at']}: {node['title']}" for at, node in enumerate(graph["nodes"])
    ]
    lacking = " ".join(LACKS[reason] for reason in check["reasons"].split() if reason in LACKS)
    about = {name: question[name] for name in ("question", "answer", "day")}
    return read_prompt(prompt).format(known="\n".join(rows), lacking=lacking, **about, **more)


def list_of(name, least, most, **fields):
    """Return the schema of a reply: one list of so many objects."""
    items = {"type": "array", "items": make_schema(**fields), "minItems": least, "maxItems": most}
    return make_schema(**{name: items})


def ask_events(question, graph, articles, check):
    """Return the prompt and schema that ask for further events."""
    used = {source for node in graph["nodes"] for source in node["source_ids"]}
    order = sorted(range(len(articles)), key=lambda at: (articles[at]["id"] in used, at))
    shown = sorted(order[:N_ARTICLES])
    lines = "\n".join(f"{at}. {articles[at]['day']}: {articles[at]['text']}" for at in shown)
    text = {"type": "string", "minLength": 3, "maxLength": 90}
    fields = {
        "title": text,
        "description": text | {"maxLength": 120},
        "type": {"enum": list(TYPES[:1] + TYPES[2:])},
    }
    fields["day"] = {"enum": sorted({articles[at]["day"] for at in shown})}
    fields["articles"] = {"type": "array", "items": {"enum": shown}, "minItems": 1, "maxItems": 4}
    return fill(question, graph, check, "graph_events", articles=lines), list_of(
        "events", 1, N_EVENTS, **fields
    )


def ask_edges(question, graph, articles, check):
    """Return the prompt and schema that ask for further edges."""
    place = {node["node_id"]: at for at, node in enumerate(graph["nodes"])}
    joined = (
        "\n".join(f"{place[edge['cause']]} to {place[edge['effect']]}" for edge in graph["edges"])
        or "none"
    )
    number = {"type": "integer", "minimum": 0, "maximum": len(place) - 1}
    fields = {"cause": number | {"minimum": min(1, len(place) - 1)}, "effect": number}
    fields |= {
        "relation": {"enum": list(RELATIONS)},
        "strength": {"type": "number", "minimum": -1, "maximum": 1},
    }
    schema = list_of("edges", 0, N_EDGES, **fields, confidence=SHARE)
    return fill(question, graph, check, "graph_edges", edges=joined), schema


def ask_impacts(question, graph, articles, check):
    """Return the prompt and schema that ask for the impacts of events that have none."""
    known = {impact["node_id"] for impact in graph["impacts"]}
    open_ones = [
        at for at, node in enumerate(graph["nodes"]) if at and node["node_id"] not in known
    ]
    fields = {"event": {"enum": open_ones or [0]}, "direction": {"enum": list(DIRECTIONS)}}
    schema = list_of("impacts", 0, N_IMPACTS, **fields, magnitude=SHARE, confidence=SHARE)
    numbers = ", ".join(map(str, open_ones)) or "none"
    return fill(question, graph, check, "graph_impacts", numbers=numbers), schema
