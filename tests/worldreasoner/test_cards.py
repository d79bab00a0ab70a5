"""The set worldreasoner: counts of the public file, and what a copied card and another question's
card score."""

import json

import numpy as np
import pandas as pd
import pytest

from daybefore.agents.submissions import hash_words
from daybefore.formats import public_sets
from daybefore.formats.worldreasoner import build_event, select_questions
from daybefore.questions.moments import number_days
from helpers.files import dump_json, hash_text, parse_json
from helpers.public_files import locate_public
from helpers.question_sets import find_set
from studies.worldreasoner import own_runs
from studies.worldreasoner.card_set import count_set
from studies.worldreasoner.hindsight.graphs import build_references, tabulate_nodes
from studies.worldreasoner.hindsight.matching import pick_key_events
from studies.worldreasoner.source_precision import name_source
from studies.worldreasoner.submissions import recall_events, score_submissions

TITLES = (
    "Harbour workers end their strike",
    "Parliament passes the ferry budget",
    "Storm closes the northern port",
)


def make_question(n, **changes):
    """A question of our own in the file's form, with three weighty cards on days of January."""
    impact = {
        "direction": "positive",
        "magnitude": 0.5,
        "confidence": 0.8,
        "affects": "Yes - Will it?",
    }
    card = {"description": "", "impact": impact, "status": "pending"}
    cards = [card | {"id": f"e{n}{at}", "title": f"{title} {n}"} for at, title in enumerate(TITLES)]
    for at, one in enumerate(cards):
        one |= {
            "date": f"2026-01-{10 + 5 * at}",
            "source_url": f"https://www.paper{n}.test/a/{at}?utm=1",
        }
    row = {
        "id": f"q{n}",
        "title": f"Will ferry {n} sail?",
        "outcome": "Yes",
        "question_type": "binary",
    }
    row |= {
        "market_open": "2026-01-01T00:00:00+00:00",
        "market_close": "2026-02-01T00:00:00+00:00",
        "events": cards,
    }
    return row | {
        "options": [],
        "market_open_estimated": False,
        "resolution_criteria": "The log.",
        **changes,
    }


@pytest.fixture(scope="module")
def built():
    """The set as it is built of the public files."""
    try:
        return public_sets.build_cards()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_the_set_has_the_counts_that_were_counted_by_hand(built):
    events, answers, prices, questions = built
    kinds = [parse_json(cell)["question_type"] for cell in events["metadata"]]
    assert pd.Series(kinds).value_counts().to_dict() == {"yes_no": 22, "mcq": 14, "quantity": 4}
    assert len(answers) == 40 and sum("estimated" in cell for cell in events["metadata"]) == 24
    assert len(json.loads(locate_public(public_sets.CARDS).read_text(encoding="utf-8"))) == 82
    assert (events["as_of"].str[:10].min(), events["as_of"].str[:10].max()) == find_set(
        "worldreasoner"
    )[2:4]
    counted = count_set(events, prices, questions).set_index("name")["n"]
    assert counted[["before", "after", "undated"]].tolist() == [150, 172, 2]
    assert prices["question_id"].nunique() == 15 and set(prices["question_id"]) <= set(
        events["event_id"]
    )


def test_a_question_without_an_end_or_with_few_weighty_cards_is_left_out():
    few = make_question(3)
    few["events"][0]["impact"] = few["events"][0]["impact"] | {"magnitude": 0.19}
    rows = [
        make_question(1),
        make_question(2, outcome=None),
        few,
        make_question(4, market_open=None),
    ]
    assert [row["id"] for row in select_questions(rows)] == ["q1"]
    options = ["Cod", "Eel", "Ray"]
    event, answer = build_event(
        make_question(5, question_type="mcq", options=options, outcome="Eel")
    )
    assert parse_json(event["options"])[parse_json(answer["value"])] == "Eel"
    assert parse_json(build_event(make_question(6, outcome="False"))[1]["value"]) == "B"
    assert (
        parse_json(build_event(make_question(7, question_type="quantity", outcome="8"))[1]["value"])
        == 8.0
    )


def test_a_copied_card_recalls_and_cites_whole_and_a_strangers_nothing():
    rows = [make_question(1), make_question(2)]
    for card in rows[1]["events"]:
        card["title"] = "Orchard prices double overnight " + card["id"]
    events = pd.DataFrame(
        [build_event(row)[0] | {"cluster_id": row["id"], "as_of": "2026-01-16"} for row in rows]
    )
    answers = pd.DataFrame([build_event(row)[1] for row in rows])
    cards = build_references(dict(zip(events["event_id"], rows, strict=True)))
    about = {
        "condition": "Search-Enabled Graph",
        "has_graph": True,
        "has_sources": True,
        "sample": 0,
    }
    said, shown = [], {}
    for run, shift in (("own", 0), ("stranger", 1)):
        for at, event in enumerate(events["event_id"]):
            source = rows[(at + shift) % 2]["events"]
            told = {"direction": "Positive", "magnitude": 0.5, "confidence": 0.8}
            nodes = [{"title": card["title"], "date": card["date"]} | told for card in source]
            pages = [hash_text(f"{run} {event} {n}", 16) for n in range(len(source))]
            shown |= dict(
                zip(
                    pages, [card["source_url"].replace("utm=1", "") for card in source], strict=True
                )
            )
            reply = {
                "events": nodes,
                "edges": [],
                "answer": "A",
                "probability": 0.9,
                "rationale": "",
                "sources": pages,
            }
            row = {
                "run_id": run,
                "agent_id": run,
                "event_id": event,
                "reply": dump_json(reply),
                "value": '"A"',
            } | about
            row |= {
                "step": 0,
                "tool": "search",
                "page_ids": dump_json(pages),
                "probability": 0.9,
                "distribution": None,
            }
            said.append(row | {"as_of": "2026-01-16"})
    table = pd.DataFrame(said)
    scores = score_submissions(events, answers, table, table, table, cards=cards, addresses=shown)[
        0
    ]
    found = scores.groupby("run_id")[["recall", "srcp_cited", "srcp_accessed"]].mean()
    assert found.loc["own"].tolist() == [1.0, 1.0, 1.0]
    assert found.loc["stranger"].tolist() == [0.0, 0.0, 0.0]
    assert name_source("http://paper1.test/a/0/") == name_source(
        "https://www.paper1.test/a/0?utm=1#x"
    )


def score_searches(sources, shown, addresses=None):
    """Score a search that was shown some pages (page_ids by question), against cards of some
    sources by question."""
    rows = [make_question(n) for n in range(1, 1 + len(sources))]
    events = pd.DataFrame(
        [build_event(row)[0] | {"cluster_id": row["id"], "as_of": "2026-01-16"} for row in rows]
    )
    answers = pd.DataFrame([build_event(row)[1] for row in rows])
    cards = build_references(dict(zip(events["event_id"], rows, strict=True)))
    for graph, named in zip(cards.values(), sources, strict=True):
        for node in graph["nodes"]:
            node["source_ids"] = named
    said = pd.DataFrame(
        {"event_id": events["event_id"], "page_ids": [dump_json(pages) for pages in shown]}
    )
    about = {
        "run_id": "r",
        "agent_id": "r",
        "sample": 0,
        "step": 0,
        "tool": "search",
        "as_of": "2026-01-16",
    }
    about |= {"condition": "Search-Enabled", "has_graph": False, "has_sources": True}
    about |= {"reply": "A", "value": '"A"', "probability": None, "distribution": None}
    said = said.assign(**about)
    return score_submissions(events, answers, said, said, said, cards=cards, addresses=addresses)[
        0
    ]["srcp_accessed"]


def make_run(n=24, digests=False):
    """A run on n questions, a graph each that copies its cards; every second answer is wrong, and
    has no graph."""
    rows = [make_question(at) for at in range(1, n + 1)]
    events = pd.DataFrame([build_event(row)[0] | {"cluster_id": row["id"]} for row in rows])
    answers = pd.DataFrame([build_event(row)[1] for row in rows])
    cards, said = build_references(dict(zip(events["event_id"], rows, strict=True))), []
    for at, (event, row) in enumerate(zip(events["event_id"], rows, strict=True)):
        told = {"direction": "Positive", "magnitude": 0.5, "confidence": 0.8}
        write = hash_words if digests else str
        nodes = [
            {"title": write(card["title"]), "date": card["date"]} | told for card in row["events"]
        ]
        reply = {
            "events": nodes if at % 2 == 0 else [],
            "edges": [],
            "rationale": "",
            "sources": [],
        }
        reply |= {"answer": "A", "probability": 0.9}
        about = {
            "run_id": "r",
            "agent_id": "me",
            "event_id": event,
            "sample": 0,
            "as_of": "2026-01-16",
            "step": 0,
        }
        about |= {
            "value": '"A"' if at % 2 == 0 else '"B"',
            "probability": 0.9,
            "distribution": None,
        }
        said.append(
            about
            | {"reply": dump_json(reply), "tool": None, "page_ids": None, "step_type": "model"}
        )
    table = pd.DataFrame(said)
    runs = pd.DataFrame(
        {"run_id": ["r"], "agent_id": ["me"], "model": ["m"], "condition": ["Causal Simulation"]}
    )
    runs["params"] = dump_json({"method": "graph"})
    days = pd.date_range("2026-01-01T12:00", "2026-01-31T12:00", freq="2D")
    prices = pd.DataFrame({"day": number_days(pd.Series(days.strftime("%Y-%m-%dT%H:%M:%SZ")))})
    prices["price"] = np.linspace(0.05, 0.95, len(days))
    prices = pd.concat([prices.assign(question_id=name) for name in events["event_id"]])
    return (
        events,
        answers,
        dict.fromkeys(("predictions", "replies", "traces"), table) | {"runs": runs},
        cards,
        prices,
    )


def test_a_runs_graphs_are_split_by_correctness_and_held_against_the_market_and_meanings(
    monkeypatch,
):
    monkeypatch.setattr(own_runs, "describe_runs", lambda runs, traces: describe(runs))
    events, answers, tables, cards, prices = make_run()

    def embed(texts):
        return np.array(
            [[float(word in text) for word in ("strike", "ferry budget", "port")] for text in texts]
        )

    found = own_runs.judge_graphs(events, answers, tables, {"cards": cards}, prices, embed)
    split = found["split"].set_index("metric").loc["recall"]
    assert (split["right"], split["wrong"], split["n"]) == (1.0, 0.0, 24)
    assert found["recall"].set_index("matcher")["mean"].to_dict() == {"words": 0.5, "meaning": 0.5}
    market = found["market"].set_index(["events", "measure"])
    assert (
        market.loc[("all aligned", "recall"), "mean"] == 0.5 and market["n_aligned"].iloc[0] == 72
    )
    with pytest.raises(ValueError, match="only digests"):
        events, answers, tables, cards, prices = make_run(digests=True)
        own_runs.judge_graphs(events, answers, tables, {"cards": cards}, prices, embed)


def describe(runs):
    """What `conditions.describe_runs` says of the run above."""
    about = {"horizon": "Mid", "has_graph": True, "has_sources": False}
    return runs.set_index("run_id")[["agent_id", "model", "condition"]].assign(**about)


def test_a_graph_of_the_kit_and_a_run_name_the_same_page_the_same_way():
    """Graphs of the kit name the replay web's address, a run its page_id: source precision was
    always 0."""
    url, other = (
        "http://current-events.replay/2025-01-10/wars",
        "http://current-events.replay/2025-01-11/sport",
    )
    pages = {"n1": url, "n2": other, url: url, other: other}
    assert score_searches([[url]], [["n1", "n2"]], pages).tolist() == [0.5]
    assert score_searches([["n1"]], [["n1", "n2"]], pages).tolist() == [0.5], "by its id too"
    own = {"n1": "https://paper.test/a", url: "https://paper.test/a", "n2": other, other: other}
    assert score_searches([[url]], [["n1", "n2"]], own).tolist() == [0.5], (
        "an article that stood elsewhere first"
    )
    assert score_searches([[url]], [["n2"]], pages).tolist() == [0.0]


def test_source_precision_is_blank_without_a_reference_and_where_no_page_could_be_one():
    found = score_searches([["https://a.test/1"], []], [["n1"], ["n1"]], {"n1": "https://a.test/1"})
    assert found[0] == 1.0 and pd.isna(found[1]), "the second has no reference"
    replay = "http://current-events.replay/2025-01-10/wars"
    assert score_searches([["https://a.test/1"]], [["n1"]], {"n1": replay}).isna().all()
    assert score_searches([["https://a.test/1"]], [[]]).isna().all()
    assert score_searches([[replay]], [[]]).tolist() == [0.0], (
        "nothing was looked for where something was to be found"
    )


def test_cards_of_the_file_recall_their_own_question_whole_and_another_seldom(built):
    cards, names = build_references(built[3]), list(built[3])
    own = recall_events(
        {("own", name): graph for name, graph in cards.items()}, list(cards.values())
    )
    dated = (
        pick_key_events(tabulate_nodes(list(cards.values())))
        .groupby("question_id")["day"]
        .agg(["count", "size"])
    )
    assert own.set_index("event_id")["recall"].to_dict() == pytest.approx(
        (dated["count"] / dated["size"]).to_dict()
    )
    assert (
        len(own) == 40 and own["recall"].eq(1.0).sum() == 39
    )  # one key event is undated, and matches nothing
    strangers = {
        ("other", a): cards[b] | {"question_id": a}
        for a, b in zip(names, names[1:] + names[:1], strict=True)
    }
    other = recall_events(strangers, list(cards.values()))
    assert (
        0 <= other["recall"].mean() < 0.146
    )  # below the share of single strangers that are taken for the same


def test_titles_kept_as_digests_recall_what_their_words_do(built):
    cards, tables = build_references(built[3]), []
    for write in (hash_words, str):
        told = {name: [node | {"title": write(node["title"]), "description": ""} for node in one["nodes"]]
                for name, one in cards.items()}  # fmt: skip
        graphs = {("r", name): one | {"nodes": told[name]} for name, one in cards.items()}
        tables.append(recall_events(graphs, list(cards.values())))
    pd.testing.assert_frame_equal(*tables)
    assert 0 < tables[0]["recall"].mean() and "harbour" not in hash_words("Harbour strike")
