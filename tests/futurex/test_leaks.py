"""The auditor of seen pages finds what is later, undated, revised, hindsight or a sibling's answer; synthetic pages."""

from datetime import date

import pandas as pd
import pytest
from builders import read_cases

from studies.futurex.leaks import FLAGS, audit_pages, find_answers, find_hindsight, list_siblings, states_answer

AS_OF = "2016-10-10T00:00:00+08:00"
BEFORE = "2016-10-09T23:59:59+08:00"


def audit(*pages, siblings=(), as_of=AS_OF):
    """Return {(page_id, flag)} of some pages, each a dict of columns; they are numbered from 0."""
    rows = [{"page_id": str(n), "published_at": BEFORE} | page for n, page in enumerate(pages)]
    found = audit_pages(as_of, pd.DataFrame(rows), siblings)
    assert set(found["flag"]) <= set(FLAGS)
    return set(zip(found["page_id"], found["flag"], strict=True))


CASES = read_cases(__file__, "leaks")


def take(test):
    return pytest.mark.parametrize("case", [case for case in CASES if case["test"] == test])


@take("dated")
def test_a_page_that_cannot_be_dated_before_the_moment_is_flagged(case):
    flags = {("0", case["flag"])} if case["flag"] else set()
    assert audit({"published_at": case["published"]}) == flags


def test_a_page_whose_content_changed_under_one_date_is_flagged_and_a_newer_issue_is_not():
    page = {"url": "http://a.replay/", "content_sha256": "1"}
    assert audit(page, page | {"content_sha256": "2"}) == {("0", "revised"), ("1", "revised")}
    newer = page | {"content_sha256": "2", "published_at": "2016-10-08T12:00:00+08:00"}
    assert audit(page, newer, page | {"url": "http://b.replay/", "content_sha256": "3"}) == set()


@take("hindsight")
def test_hindsight_is_words_that_look_back_and_days_to_come_without_a_plan(case):
    assert find_hindsight(case["text"], date(2016, 10, 9)) == case["hints"]
    assert audit({"text": case["text"]}) == ({("0", "hindsight")} if case["hints"] else set())


EVENTS = pd.DataFrame(
    [
        ("own", "t", "x", 12),
        ("open", "t", "x", 11),
        ("over", "t", "x", 8),
        ("other", "t", "y", 12),
        ("none", None, "x", 12),
    ],
    columns=["event_id", "template_id", "entity_id", "day"],
).assign(prompt="Which team leads the harbour league table?", as_of=AS_OF)
EVENTS["resolves_at"] = EVENTS["day"].map("2016-10-{:02}T00:00:00+08:00".format)
ANSWERS = {name: [f"Team {name}"] for name in EVENTS["event_id"]}


def test_a_siblings_answer_in_a_text_is_flagged_and_the_auditor_does_not_see_the_events_own():
    siblings = list_siblings(EVENTS.iloc[0], EVENTS, ANSWERS)
    told = {"text": "The harbour league table: team Open leads."}
    own = {"text": "The harbour league table: team Own leads."}
    elsewhere = {"text": "Team Open moved.\nThe harbour league table is out."}
    assert audit(told, own, elsewhere, siblings=siblings) == {("0", "sibling")}
    pages = pd.DataFrame([told, own, elsewhere]).assign(page_id=list("012"))
    assert find_answers(pages, EVENTS["prompt"][0], ANSWERS["own"]).values.tolist() == [["1", 0]]


@take("states")
def test_an_answer_is_stated_by_a_line_that_speaks_of_the_question(case):
    assert states_answer(case["text"], case["prompt"], case["answer"]) is case["is_stated"]
