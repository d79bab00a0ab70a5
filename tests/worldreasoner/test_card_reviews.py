"""Review of event cards: what is stored and refused, the first failing check, the form."""

import json

import pytest

from studies.worldreasoner.hindsight.card_reviews import (
    APPROVED,
    decide_cards,
    keep_review,
    list_cards,
    open_review,
    read_reviewed,
    read_reviews,
)


def make_graph(question_id="q", n=3):
    days = [f"2026-01-0{n - at}" for at in range(n)]
    nodes = [
        {"node_id": f"e{at}", "title": f"event {at} <b>", "occurred_at": day, "source_ids": ["s"]}
        for at, day in enumerate(days)
    ]
    nodes.append(nodes[0] | {"node_id": "o", "title": "Did it rain?", "occurred_at": "2026-02-01"})
    graph = {"question_id": question_id, "outcome_id": "o", "nodes": nodes}
    return graph | {"edges": [], "impacts": []}


def test_a_second_thought_counts_and_every_reviewer_must_approve(tmp_path):
    path = tmp_path / "reviews.sqlite"
    keep_review(path, "7", "q|x", "e1", "Noise", "no effect")
    keep_review(path, "7", "q|x", "e1", APPROVED)
    keep_review(path, "8", "q|x", "e1", "Duplicate", "as e2")
    keep_review(path, "9", "q|x", "e1", "WrongDate", "a day late")
    kept = read_reviews(path)[["reviewer", "question_id", "node_id", "label"]].values.tolist()
    assert kept[:2] == [["7", "q|x", "e1", APPROVED], ["8", "q|x", "e1", "Duplicate"]]
    assert decide_cards(read_reviews(path))["label"].tolist() == ["WrongDate"], "the first check"
    with pytest.raises(ValueError, match="few words why"):
        keep_review(path, "7", "q|x", "e1", "Noise", " ")
    assert len(read_reviews(path)) == 3 and read_reviews(tmp_path / "none.sqlite").empty


def test_the_form_stores_each_verdict_and_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "r.sqlite"
    choice, shown, verdict, reason, save, said = open_review([make_graph()], "7", path).children
    assert "event 2 &lt;b&gt;" in shown.value, "the earliest first, its words escaped"
    assert "Did it rain?" in shown.value
    verdict.value = "WrongDate"
    save.click()
    assert "few words why" in said.value and read_reviews(path).empty
    reason.value = "a day late"
    save.click()
    assert said.value == "1 of 3 cards reviewed" and choice.value == ("q", "e1")
    assert (verdict.value, reason.value) == (APPROVED, "")
    save.click()
    again = open_review([make_graph()], "7", path).children
    assert again[0].value == ("q", "e0")
    again[0].value = ("q", "e2")
    assert (again[2].value, again[3].value) == ("WrongDate", "a day late")


@pytest.mark.parametrize("text", ["{", "[]", "[1]"])
def test_a_file_of_graphs_that_cannot_be_reviewed_is_named(tmp_path, text):
    path = tmp_path / "g.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="g.json"):
        read_reviewed(path)


def test_without_an_outcome_the_question_is_called_by_its_id(tmp_path):
    path = tmp_path / "g.json"
    path.write_text(json.dumps([make_graph() | {"outcome_id": None}, make_graph("r")]))
    asked = [card["question"] for card in list_cards(read_reviewed(path))]
    assert asked == ["q"] * 4 + ["Did it rain?"] * 3
