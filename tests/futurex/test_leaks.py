"""The auditor of seen pages finds what is later, undated, revised, hindsight or a sibling's answer; synthetic pages."""

from datetime import date

import pandas as pd
import pytest

from studies.futurex.leaks import FLAGS, audit_pages, find_answers, find_hindsight, list_siblings, states_answer

AS_OF = "2016-10-10T00:00:00+08:00"
BEFORE = "2016-10-09T23:59:59+08:00"


def audit(*pages, siblings=(), as_of=AS_OF):
    """Return {(page_id, flag)} of some pages, each a dict of columns; they are numbered from 0."""
    rows = [{"page_id": str(n), "published_at": BEFORE} | page for n, page in enumerate(pages)]
    found = audit_pages(as_of, pd.DataFrame(rows), siblings)
    assert set(found["flag"]) <= set(FLAGS)
    return set(zip(found["page_id"], found["flag"], strict=True))


DATED = {
    None: [BEFORE, "2016-10-09T15:59:59+00:00", "2016-10-08", "2016-10-09 03:00"],
    "later": [AS_OF, "2016-10-09T16:00:00Z", "2016-10-11"],
    "unsure": ["2016-10-09", "2016-10-10", "2016-10-09T23:00:00"],
    "undated": ["undated", "", None, float("nan"), "last Tuesday", "2016-02-30", 20161008],
}


@pytest.mark.parametrize(("published", "flag"), [(day, flag) for flag, days in DATED.items() for day in days])
def test_a_page_that_cannot_be_dated_before_the_moment_is_flagged(published, flag):
    assert audit({"published_at": published}) == ({("0", flag)} if flag else set())


def test_a_page_whose_content_changed_under_one_date_is_flagged_and_a_newer_issue_is_not():
    page = {"url": "http://a.replay/", "content_sha256": "1"}
    assert audit(page, page | {"content_sha256": "2"}) == {("0", "revised"), ("1", "revised")}
    newer = page | {"content_sha256": "2", "published_at": "2016-10-08T12:00:00+08:00"}
    assert audit(page, newer, page | {"url": "http://b.replay/", "content_sha256": "3"}) == set()


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("The suspect was later found dead.", ["later"]),
        ("The bill eventually fails. The court subsequently agrees.", ["eventually", "subsequently"]),
        ("It will meet later this week. The later stage begins.", []),
        ("The law is passed on October 22.", ["2016-10-22"]),
        ("The vote is scheduled for October 22. It opens on 22 October 2016 until noon.", []),
        ("The law was passed on October 2, and on 2 October 2015.", []),
        ("Passed on 31 June 2016 and in October 2016.", []),
    ],
)
def test_hindsight_is_words_that_look_back_and_days_to_come_without_a_plan(text, hints):
    assert find_hindsight(text, date(2016, 10, 9)) == hints
    assert audit({"text": text}) == ({("0", "hindsight")} if hints else set())


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


OIL, CUP = "What will the price of oil be on 2016-10-12?", "Who wins the cup final?\nA. Brazil\nB. Oceania United"


@pytest.mark.parametrize(
    ("text", "prompt", "answer", "is_stated"),
    [
        ("The price of oil closes at 1,250.5 dollars.", OIL, "1250.5", True),
        ("The price of oil closes at 11,250.5 dollars.", OIL, "1250.5", False),
        ("Oil was 50.", "What will the price of crude oil in Oslo be?", "50", False),
        ("Brazil beats Chile in the cup final.", CUP, "Brazil", True),
        ("Anything", "Brazil?", "Brazil", False),
        ("Anything", "Who wins the final?", "", False),
    ],
)
def test_an_answer_is_stated_by_a_line_that_speaks_of_the_question(text, prompt, answer, is_stated):
    assert states_answer(text, prompt, answer) is is_stated
