"""What a page may tell: a date that is not surely earlier, hindsight, an answer; synthetic
pages."""

from datetime import date

import pandas as pd
import pytest
from builders import read_cases

from studies.futurex.leaks import date_page, find_hindsight, list_siblings, states_answer

AS_OF = "2016-10-10T00:00:00+08:00"
CASES = read_cases(__file__, "leaks")


def take(test):
    return pytest.mark.parametrize("case", [case for case in CASES if case["test"] == test])


@take("dated")
def test_a_page_that_cannot_be_dated_before_the_moment_is_flagged(case):
    assert date_page(case["published"], pd.Timestamp(AS_OF)) == (case["flag"] or "earlier")


@take("hindsight")
def test_hindsight_is_words_that_look_back_and_days_to_come_without_a_plan(case):
    assert find_hindsight(case["text"], date(2016, 10, 9)) == case["hints"]


def test_siblings_are_the_other_questions_of_a_cluster_that_were_open():
    rows = [
        ("own", "c", 12),
        ("open", "c", 11),
        ("over", "c", 8),
        ("other", "d", 12),
        ("none", None, 12),
    ]
    events = pd.DataFrame(rows, columns=["event_id", "cluster_id", "day"]).assign(
        prompt="Which team leads?"
    )
    events["resolves_at"] = events["day"].map("2016-10-{:02}T00:00:00+08:00".format)
    answers = {name: [f"Team {name}"] for name in events["event_id"]}
    own = events.iloc[0].to_dict() | {"as_of": AS_OF}
    assert list_siblings(own, events, answers) == [("Which team leads?", "Team open")]


@take("states")
def test_an_answer_is_stated_by_a_line_that_speaks_of_the_question(case):
    assert states_answer(case["text"], case["prompt"], case["answer"]) is case["is_stated"]
