"""Graphs drafted by a model: what is taken, what is left out and why, self-correction."""

from types import SimpleNamespace

import pandas as pd

from daybefore.models.judges import Verdict
from studies.worldreasoner.hindsight.graphs import check_form
from studies.worldreasoner.hindsight.graphs_by_model import draft_event, draft_graph

QUESTION = {"question_id": "q", "question": "Will it flood?", "answer": "Yes", "day": "2026-03-01"}
DAYS = pd.date_range("2026-01-01", periods=30).strftime("%Y-%m-%d")
ARTICLES = [{"id": f"a{at}", "day": day, "text": f"step {at}"} for at, day in enumerate(DAYS)]
IMPACT = {"event": 1, "direction": "Positive", "magnitude": 0.9, "confidence": 0.8}


def make_event(at, **more):
    about = {"title": f"step {at} of water{at}", "description": "it rose", "type": "Indicator"}
    return about | {"day": DAYS[at], "articles": [at, at + 1]} | more


def make_edge(cause, effect, strength=0.5, confidence=0.9):
    about = {"cause": cause, "effect": effect, "relation": "Causes"}
    return about | {"strength": strength, "confidence": confidence}


def script(**said):
    """(judge, what it was asked): it says, in each round, the next of what is given for a part, and
    nothing when that is used up."""
    asked, turns = [], {part: iter(replies) for part, replies in said.items()}

    def consult(prompt, schema, repeat=0):
        [part] = schema["properties"]
        asked.append(prompt)
        return Verdict("ok", {part: next(turns.get(part, iter(())), [])})

    return consult, asked


def test_a_graph_that_passes_ends_the_rounds():
    events = [make_event(at, articles=[at, at + 12]) for at in range(12)]
    events = [events[first : first + 3] for first in (0, 3, 6, 9)]
    edges = [[make_edge(1, 2), make_edge(2, 3), make_edge(3, 0)]]
    consult, asked = script(events=events, edges=edges, impacts=[[IMPACT]])
    draft = draft_graph(QUESTION, ARTICLES, consult)
    assert draft.check["is_valid"] and check_form(draft.graph) and draft.left_out.empty
    assert (len(asked), draft.check["depth"]) == (4 * 3, 3)
    assert "fewer than 10 events" in asked[3] and "fewer than 20 articles" in asked[3]
    assert "No pair is joined" not in asked[3], "what is mended is not asked for again"


def test_what_is_left_out_has_a_reason():
    last = {"id": "z", "day": QUESTION["day"], "text": "x"}
    events = [
        make_event(0),
        make_event(1, day=DAYS[5]),
        make_event(0, title="Water0 of step 0"),
        make_event(2, day=QUESTION["day"], articles=[30]),
    ]
    edges = [make_edge(1, 1), make_edge(0, 1), make_edge(1, 0, 0.2), make_edge(1, 0, 0.9, 0.5)]
    impacts = [IMPACT | {"direction": "Neutral", "magnitude": 0.5}]
    consult, _ = script(events=[events], edges=[edges], impacts=[impacts])
    draft = draft_graph(QUESTION, [*ARTICLES, last], consult, n_rounds=1)
    assert draft.left_out["reason"].tolist() == [
        "none of its articles is of its day",
        "it is there already: e1",
        "it is not before the answer",
        "it does not join two events",
        "the cause is after its effect",
        "its strength is below 0.3",
        "its confidence is below 0.6",
        "it is Neutral and above 0.3",
    ]
    assert draft.left_out["what"].tolist()[3:6] == ["1 to 1", "0 to 1", "1 to 0"]
    assert len(draft.graph["nodes"]) == 2 and not draft.graph["edges"] + draft.graph["impacts"]


def test_an_event_is_drafted_from_what_a_search_finds_until_its_resolution():
    hit = {"url": "https://x.test", "published_at": "2026-01-01T05:00:00Z", "title": "Rain"}
    looked = []

    def search(*given):
        looked.append(given)
        return [SimpleNamespace(text="it rose", **hit)]

    end = "2026-01-03T00:00+00:00"
    event = {"event_id": "q", "prompt": "Will it flood?\nA. Yes", "options": '{"A": "Yes"}'}
    consult, asked = script(events=[[make_event(0, articles=[0])]])
    given = event | {"resolves_at": end}, '"A"', SimpleNamespace(search=search), consult, 1
    draft = draft_event(*given)
    assert looked == [("Will it flood?", end, 40)]
    assert draft.nodes[0]["title"].endswith("A. Yes Yes")
    assert draft.nodes[1]["source_ids"] == ["https://x.test"]
    assert "0. 2026-01-01: Rain: it rose" in asked[0]
