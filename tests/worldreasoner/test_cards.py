"""Event cards as references: questions of the file's form, graphs held against the cards and the
market, source precision, and what was counted in the public file by hand."""

import numpy as np
import pandas as pd
import pytest

from daybefore.agents.graph_agents import hash_words
from daybefore.formats import public_sets
from daybefore.formats.worldreasoner_questions import build_event, select_questions
from helpers.files import dump_json, parse_json
from studies.worldreasoner import own_runs
from studies.worldreasoner.card_set import count_set
from studies.worldreasoner.hindsight.graphs import build_references
from studies.worldreasoner.submissions import recall_events, score_submissions

TITLES = ("Harbour workers end a strike", "The ferry budget passes", "Storm closes the port")
TOLD = {"direction": "Positive", "magnitude": 0.5, "confidence": 0.8}
SAID = {"run_id": "r", "agent_id": "me", "sample": 0, "step": 0, "as_of": "2026-01-16"}
SAID |= {"probability": 0.9, "distribution": None, "tool": None, "page_ids": None}


def make_question(n, **changes):
    """A question of our own in the file's form, with three weighty cards on days of January."""
    impact = TOLD | {"direction": "positive", "affects": "Yes - Will it?"}
    cards = [
        {"id": f"e{n}{at}", "title": f"{title} {n}", "date": f"2026-01-{10 + 5 * at}"}
        | {"description": "", "impact": impact, "status": "pending"}
        for at, title in enumerate(TITLES)
    ]
    row = {"id": f"q{n}", "title": f"Will ferry {n} sail?", "question_type": "binary"}
    row |= {"outcome": "Yes", "options": [], "events": cards, "resolution_criteria": "The log."}
    row |= {"market_open": "2026-01-01T00:00:00+00:00", "market_open_estimated": False}
    return row | {"market_close": "2026-02-01T00:00:00+00:00"} | changes


def make_set(n):
    """(events, answers, cards) of so many questions, each its own cluster."""
    rows = [make_question(at) for at in range(n)]
    built = [build_event(row) for row in rows]
    events = pd.DataFrame([event for event, _ in built])
    cards = build_references(dict(zip(events["event_id"], rows, strict=True)))
    return (
        events.assign(cluster_id=events["event_id"]),
        pd.DataFrame([one for _, one in built]),
        cards,
    )


def test_a_question_without_an_end_or_with_few_weighty_cards_is_left_out():
    few = make_question(3)
    few["events"][0]["impact"] = few["events"][0]["impact"] | {"magnitude": 0.19}
    rows = [make_question(2, outcome=None), few, make_question(4, market_open=None)]
    assert [row["id"] for row in select_questions([make_question(1), *rows])] == ["q1"]


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"question_type": "mcq", "options": ["Cod", "Eel", "Ray"], "outcome": "Eel"}, "Eel"),
        ({"outcome": "False"}, "No"),
        ({"question_type": "quantity", "outcome": "8"}, 8.0),
    ],
)
def test_an_outcome_is_told_by_its_option_or_as_a_number(changes, value):
    event, answer = build_event(make_question(5, **changes))
    told = parse_json(answer["value"])
    assert (parse_json(event["options"]) or {}).get(told, told) == value


def make_run(events, cards, write=str):
    """A run whose graphs copy the cards of every second question; of the others it is wrong and
    has no graph."""
    said = []
    for at, event in enumerate(events["event_id"]):
        nodes = [node for node in cards[event]["nodes"] if at % 2 == 0]
        nodes = [{"title": write(one["title"]), "date": one["occurred_at"]} | TOLD for one in nodes]
        reply = {"events": nodes, "edges": [], "rationale": "", "sources": []}
        reply |= {"answer": "A", "probability": 0.9}
        told = {"event_id": event, "reply": dump_json(reply), "value": dump_json("AB"[at % 2])}
        said.append(SAID | told)
    runs = {"run_id": "r", "agent_id": "me", "model": "m", "condition": "Causal Simulation"}
    runs |= {"category": "model", "params": '{"method": "graph"}'}
    tables = dict.fromkeys(("predictions", "replies", "traces"), pd.DataFrame(said))
    return tables | {"runs": pd.DataFrame([runs])}


def test_a_runs_graphs_are_split_by_correctness_and_held_against_the_market_and_meanings():
    events, answers, cards = make_set(12)
    days = pd.DataFrame({"day": np.arange(20454.5, 20485), "price": np.linspace(0.05, 0.95, 31)})
    prices = pd.concat([days.assign(question_id=name) for name in cards])
    references = {"cards": cards}

    def embed(texts):
        return np.array(
            [[float(one in text) for one in ("strike", "ferry", "port")] for text in texts]
        )

    plain, hidden = (make_run(events, cards, write) for write in (str, hash_words))
    found = own_runs.judge_graphs(events, answers, plain, references, prices, embed)
    split = found["split"].set_index("metric").loc["recall"]
    assert (split["right"], split["wrong"], split["n"]) == (1.0, 0.0, 12)
    assert found["recall"].set_index("matcher")["mean"].to_dict() == {"words": 0.5, "meaning": 0.5}
    market = found["market"].set_index(["events", "measure"])
    assert market.loc[("all aligned", "recall"), "mean"] == 0.5
    assert market["n_aligned"].iloc[0] == 36
    by_words = own_runs.judge_graphs(events, answers, hidden, references)["recall"]
    pd.testing.assert_frame_equal(by_words, found["recall"][:1])
    with pytest.raises(ValueError, match="only digests"):
        own_runs.judge_graphs(events, answers, hidden, references, embed=embed)


URL, OTHER = (f"http://current-events.replay/2025-01-1{n}/wars" for n in "01")
SHOWN = {"n1": URL, "n2": OTHER, URL: URL, OTHER: OTHER}
MOVED = {"n1": "https://a.test/1", URL: "https://a.test/1", "n2": OTHER, OTHER: OTHER}


@pytest.mark.parametrize(
    ("sources", "pages", "addresses", "precision"),
    [
        ([URL], ["n1", "n2"], SHOWN, 0.5),  # by the replay web's address,
        (["n1"], ["n1", "n2"], SHOWN, 0.5),  # by a page_id,
        ([URL], ["n1", "n2"], MOVED, 0.5),  # by where an article stood first,
        (["https://a.test/1"], ["n1"], MOVED, 1.0),
        ([URL], ["n2"], SHOWN, 0.0),
        ([URL], [], {}, 0.0),  # nothing was looked for where something was to be found
        ([], ["n1"], SHOWN, None),  # no reference
        (["https://a.test/1"], ["n1"], {"n1": URL}, None),  # no page shown could be one
        (["https://a.test/1"], [], {}, None),
    ],
)
def test_source_precision_counts_a_page_under_each_of_its_names(
    sources, pages, addresses, precision
):
    events, answers, cards = make_set(1)
    for node in cards[events["event_id"][0]]["nodes"]:
        node["source_ids"] = sources
    about = {"condition": "Search-Enabled", "has_graph": False, "has_sources": True}
    about |= {"event_id": events["event_id"][0], "reply": "A", "value": '"A"', "tool": "search"}
    said = pd.DataFrame([SAID | about | {"page_ids": dump_json(pages)}])
    given = {"cards": cards, "addresses": addresses}
    found = score_submissions(events, answers, said, said, said, **given)[0]["srcp_accessed"]
    assert found.tolist() == pytest.approx(
        [np.nan if precision is None else precision], nan_ok=True
    )


def test_the_public_set_has_the_counts_that_were_counted_by_hand():
    try:
        events, answers, prices, questions = public_sets.build_cards()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    counted = count_set(events, prices, questions).set_index("name")["n"]
    assert counted.to_dict() == {
        "yes_no": 22, "mcq": 14, "quantity": 4, "estimated": 24, "stated": 16, "before": 150,
        "after": 172, "undated": 2, "all": len(answers), "yes/no with prices": 15,
    }  # fmt: skip
    cards = build_references(questions)
    own = recall_events({("own", name): one for name, one in cards.items()}, list(cards.values()))
    assert own["recall"].eq(1.0).sum() == 39, "one key event of 40 questions is undated"
