"""What a page may tell: a date that is not surely earlier, hindsight, an answer; synthetic pages and
made-up questions."""

from datetime import date

import pandas as pd
import pytest
from builders import make_past_row, read_cases

from daybefore.formats.futurex_questions import build_events, screen_rows
from daybefore.web.news_articles import Feed, write_article
from studies.futurex import news_leaks

AS_OF = "2016-10-10T00:00:00+08:00"
CASES = read_cases(__file__, "leaks")
NAMES = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]
ASKED = {"event": "Who rows for Quillonia in Zorvania?", "options": NAMES, "answer": "B"}


def take(test):
    return pytest.mark.parametrize("case", [case for case in CASES if case["test"] == test])


@take("dated")
def test_a_page_that_cannot_be_dated_before_the_moment_is_flagged(case):
    found = news_leaks.date_page(case["published"], pd.Timestamp(AS_OF))
    assert found == (case["flag"] or "earlier")


@take("hindsight")
def test_hindsight_is_words_that_look_back_and_days_to_come_without_a_plan(case):
    assert news_leaks.find_hindsight(case["text"], date(2016, 10, 9)) == case["hints"]


@take("states")
def test_an_answer_is_stated_by_a_line_that_speaks_of_the_question(case):
    found = news_leaks.states_answer(case["text"], case["prompt"], case["answer"])
    assert found is case["is_stated"]


def test_labels_are_of_lines_in_which_the_rule_finds_hindsight():
    days = {"2016-10-06": ["A vote is held.", "He later dies."], "2017-01-01": ["C wins."]}
    articles = tuple(write_article(day, "Uncategorized", lines) for day, lines in days.items())
    lines = news_leaks.list_lines(Feed("http://press.replay/", "Press", articles, ()))
    label = {"page": "2016-10-06/uncategorized", "line": 1, "hint": "later", "label": "open"}
    weighed = news_leaks.weigh_labels(lines, pd.DataFrame([label])).set_index("reading")["share"]
    assert weighed.to_dict() == {"surely later": 0, "perhaps later": 1}
    with pytest.raises(ValueError, match="1 labels are of lines in which the rule finds nothing"):
        news_leaks.weigh_labels(lines, pd.DataFrame([label, label | {"line": 0}]))


def search(events, *texts):
    """What was found for each event: its passages, each on a page of its own."""
    rows = [
        {"event_id": name, "page_id": f"{name}-{n}", "text": text}
        for name, found in zip(events["event_id"], texts, strict=True)
        for n, text in enumerate(found)
    ]
    return pd.DataFrame(rows).assign(published_at="2026-01-02T20:00:00+08:00")


def test_answers_are_counted_and_planted_ones_found_where_a_passage_speaks_of_the_question():
    rows = [make_past_row(0, **ASKED), make_past_row(1, event="Will Bessamy vote?")]
    events, answers = build_events(screen_rows(pd.DataFrame(rows))[0])
    told = ["It rained. He later dies.", "Quillonia is in Zorvania: Bessamy Torv rows."]
    found = search(events, told, ["Bessamy voted: yes."])
    table = news_leaks.audit_window(events, answers, found).set_index("event_id")
    table = table.loc[events["event_id"]]
    assert table["n_answers"].tolist() == [1, 0] and table["is_told"].tolist() == [True, False]
    assert table["hindsight"].tolist() == [1, 0] and "Torv" not in table.to_csv(), "ids alone"
    planted = news_leaks.plant_answers(events, answers, found)
    assert planted.index.tolist() == [events["event_id"][0]], "yes and no cannot be planted"
    assert planted.iloc[0].tolist() == [1, 1, 1], "that passage states it already"
    rain = news_leaks.plant_answers(events, answers, search(events, ["It rained."], []))
    assert rain.iloc[0].tolist() == [0, 1, 0], (
        "beside rain no answer is found, beside the names the whole one is"
    )
