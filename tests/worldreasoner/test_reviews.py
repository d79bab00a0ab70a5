"""Review of event cards: what is stored and refused, the first failing check, the summary by question, the form."""

import json
import multiprocessing
import sqlite3

import numpy as np
import pandas as pd
import pytest

from helpers.worldreasoner.hindsight.reviews import (
    APPROVED,
    CHECKS,
    COLUMNS,
    LABELS,
    compare_reviewers,
    decide_cards,
    draw_reviews,
    keep_review,
    name_questions,
    open_review,
    read_reviewed,
    read_reviews,
    repeat_reviews,
    summarize_reviews,
    write_card,
)


def make_graph(question_id="q", n=3):
    nodes = [
        {"node_id": f"e{at}", "title": f"event {at} <b>", "occurred_at": f"2026-01-0{n - at}", "source_ids": ["s"]}
        for at in range(n)
    ]
    outcome = {"node_id": "o", "title": "end", "occurred_at": "2026-02-01", "source_ids": []}
    return {"question_id": question_id, "outcome_id": "o", "nodes": [*nodes, outcome], "edges": [], "impacts": []}


def make_reviews(*rows):
    return pd.DataFrame([(who, "q", node, label, "r") for who, node, label in rows], columns=list(COLUMNS))


def test_a_second_thought_counts_and_the_first_is_kept(tmp_path):
    path = tmp_path / "reviews.sqlite"
    keep_review(path, "7", "q|x", "e1", "Noise", "no effect")
    keep_review(path, "7", "q|x", "e1", APPROVED)
    keep_review(path, "8", "q|x", "e1", "Duplicate", "as e2")
    kept = read_reviews(path)
    assert kept[["reviewer", "question_id", "node_id", "label"]].values.tolist() == [
        ["7", "q|x", "e1", APPROVED],
        ["8", "q|x", "e1", "Duplicate"],
    ]
    assert sqlite3.connect(path).execute("SELECT count(*) FROM judgements").fetchone() == (3,)
    assert read_reviews(tmp_path / "none.sqlite").empty


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (("7", "Bad", "r"), "gets a label"),
        (("7", "Noise", " "), "few words why"),
        ((" ", APPROVED, ""), "who reviews"),
        ((None, APPROVED, ""), "who reviews"),
    ],
)
def test_what_is_no_review_is_refused(tmp_path, given, match):
    reviewer, label, reason = given
    with pytest.raises(ValueError, match=match):
        keep_review(tmp_path / "r.sqlite", reviewer, "q", "e1", label, reason)
    assert read_reviews(tmp_path / "r.sqlite").empty


def test_a_card_whose_id_would_be_read_as_part_of_its_question_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'e\|1' cannot be kept"):
        keep_review(tmp_path / "r.sqlite", "7", "q", "e|1", APPROVED)


def store_many(path, reviewer):
    for at in range(20):
        keep_review(path, reviewer, "q", f"e{at % 10}", APPROVED)


def test_two_reviewers_may_store_at_once(tmp_path):
    path = tmp_path / "r.sqlite"
    workers = [multiprocessing.get_context("spawn").Process(target=store_many, args=(path, who)) for who in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert read_reviews(path).groupby("reviewer").size().to_dict() == {"a": 10, "b": 10}


def test_the_first_failing_check_gives_the_label():
    reviews = make_reviews(("a", "e0", "Noise"), ("b", "e0", "WrongDate"), ("a", "e1", APPROVED), ("b", "e1", "Noise"))
    reviews = pd.concat([reviews, make_reviews(("a", "e2", APPROVED))])
    found = decide_cards(reviews).set_index("node_id")
    assert found["label"].to_dict() == {"e0": "WrongDate", "e1": "Noise", "e2": APPROVED}
    assert found["n_reviews"].tolist() == [2, 2, 1] and len(LABELS) == 8 and len(CHECKS) == 5


def test_the_summary_adds_up_and_stands_on_questions():
    graphs = [make_graph(f"q{at}", 6) for at in range(12)]
    reviews, wrong = draw_reviews(graphs, "a", np.random.default_rng(0), caught=1.0, refused=0.0)
    table = summarize_reviews(reviews).set_index("what")
    assert table.loc["approved", "hits"] == 72 - len(wrong) > 0 < len(wrong) and (table["n"] == 72).all()
    of_check = {check: sum(table.loc[f"label: {label}", "hits"] for label in CHECKS[check]) for check in CHECKS}
    assert {check: 72 - table.loc[f"passes: {check}", "hits"] for check in CHECKS} == of_check
    ends = table[["low", "high"]].stack().dropna()
    assert ends.between(0, 1).all() and ends.isin([0, 1]).any(), "held to what a share can be"
    assert table.loc["approved", "n_clusters"] == 12 and table.loc["approved", "low"] < table.loc["approved", "share"]


def test_agreement_is_of_the_cards_that_both_saw():
    rows = [("a", f"e{at}", "Noise" if at < 5 else APPROVED) for at in range(10)]
    rows += [("b", f"e{at}", "Duplicate" if at < 5 else APPROVED) for at in range(9)]
    found = compare_reviewers(make_reviews(*rows), np.random.default_rng(0)).iloc[0]
    assert (found["n"], found["same"], found["kappa"]) == (9, 1.0, 1.0)
    assert np.isnan(found["low"]), "a single question"
    lax = make_reviews(*rows[:10], *[("c", f"e{at}", APPROVED) for at in range(10)])
    found = compare_reviewers(lax.assign(question_id=lax["node_id"]), np.random.default_rng(0)).iloc[0]
    assert found["kappa"] == 0 and np.isnan(found["low"]), "who approves all has a kappa of 0 whatever is drawn"


def test_agreement_draws_whole_questions():
    reviews = make_reviews(
        *[("a", f"e{at}", "Noise" if at % 4 == 0 else APPROVED) for at in range(120)],
        *[("b", f"e{at}", "Noise" if at % 4 == 0 and at < 60 else APPROVED) for at in range(120)],
    )
    known = reviews["node_id"].str[1:].astype(int)
    widths = []
    for at in (known // 10, known):  # questions that agree or differ as a whole; then each card is one
        found = compare_reviewers(reviews.assign(question_id=at.astype(str)), np.random.default_rng(0)).iloc[0]
        widths.append(found["high"] - found["low"])
    assert widths[0] > 1.2 * widths[1]


def test_kappas_of_many_reviews_lie_closer_the_more_cards_are_seen():
    graphs = [make_graph(f"q{at}", 30) for at in range(12)]
    table = repeat_reviews(graphs, (40, 300), np.random.default_rng(0), n_draws=100)
    few, many = (row for _, row in table.iterrows())
    assert many["low"] > few["low"] and many["high"] - many["low"] < few["high"] - few["low"]
    assert few["n_draws"] <= many["n_draws"] == 100 and table["n"].tolist() == [40, 300]
    assert many["low"] < many["kappa"] < many["high"]


def test_the_form_stores_each_verdict_and_goes_on_where_it_stopped(tmp_path):
    path, questions = tmp_path / "r.sqlite", {"q": "Did it rain?"}
    form = open_review([make_graph()], questions, "7", path)
    choice, shown, verdict, reason, save, said = form.children
    assert "event 2 &lt;b&gt;" in shown.value and "Did it rain?" in shown.value, "the earliest first, its words escaped"
    verdict.value = "WrongDate"
    save.click()
    assert "few words why" in said.value and read_reviews(path).empty
    reason.value = "a day late"
    save.click()
    assert (
        said.value == "1 of 3 cards reviewed" and choice.value == 1 and (verdict.value, reason.value) == (APPROVED, "")
    )
    save.click()
    again = open_review([make_graph()], questions, "7", path)
    assert again.children[0].value == 2
    again.children[0].value = 0
    assert (again.children[2].value, again.children[3].value) == ("WrongDate", "a day late")
    assert "<b>" not in write_card(make_graph()["nodes"][0]).replace("<b>event</b>", "").replace(
        "<b>day</b>", ""
    ).replace("<b>sources</b>", "")


def test_a_file_of_graphs_that_cannot_be_reviewed_is_named(tmp_path):
    path = tmp_path / "g.json"
    for text, told in ((None, "No such file"), ("{", "Expecting property"), ("[]", "holds no card"), ("[1]", "form")):
        if text is not None:
            path.write_text(text)
        with pytest.raises(ValueError, match=f"g.json.*{told}"):
            read_reviewed(path)
    path.write_text(json.dumps([make_graph() | {"outcome_id": None}, make_graph("r")]))
    assert name_questions(read_reviewed(path)) == {"q": "q", "r": "end"}
