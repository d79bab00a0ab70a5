"""The short agent under chosen plans: what a given plan says, and what is counted of trials."""

import pandas as pd
import pytest

from helpers.futurex.planning.trials import (
    ARMS,
    choose_answer,
    choose_events,
    keep_complete,
    measure_work,
    write_plan_for,
)
from helpers.store import parse_json, read_table
from helpers.world.sources import load_sources


@pytest.fixture(scope="module")
def plans():
    events, sources = choose_events(read_table("events", "A"), 40), load_sources()
    return [
        {arm: write_plan_for(arm, event, sources[event["source_id"]]) for arm in ARMS} | {"event": event}
        for event in events.to_dict("records")
    ]


def test_given_plans_are_about_as_long_as_each_other(plans):
    words = pd.DataFrame([{arm: len(row[arm].split()) for arm in ("good", "vague", "answer")} for row in plans])
    assert words.mean().max() / words.mean().min() < 1.2, words.mean()


def test_only_the_good_plan_names_the_page_and_only_the_answering_one_a_letter(plans):
    for row in plans:
        letter, options = choose_answer(row["event"]), parse_json(row["event"]["options"])
        assert row["none"] is None and row["own"] is None
        assert ".replay/" in row["good"] and ".replay/" not in row["vague"] + row["answer"]
        stated = f"{letter} ({options[letter]})"
        assert row["answer"].count(stated) == 5 and stated not in row["good"] + row["vague"]


def test_the_stated_letter_is_drawn_without_the_outcome(plans):
    answers = read_table("answers", "A").set_index("event_id")["value"].map(parse_json)
    events = [row["event"] for row in plans if row["event"]["event_id"] in answers.index]
    right = [choose_answer(event) == answers[event["event_id"]] for event in events if event["kind"] == "single"]
    chance = [1 / len(parse_json(event["options"])) for event in events if event["kind"] == "single"]
    assert abs(sum(right) - sum(chance)) < 3 * sum(p * (1 - p) for p in chance) ** 0.5


def make_trials(rows):
    columns = ["event_id", "arm", "stated", "status", "value", "n_words", "is_cut", "is_shown"]
    return pd.DataFrame(rows, columns=columns)


def test_events_with_a_reply_that_is_not_recorded_are_left_out():
    rows = [("e1", "none", "A", "ok", "B", 0, False, True), ("e1", "good", "A", "missing", None, 0, False, False)]
    rows += [("e2", arm, "A", "ok", "B", 0, False, True) for arm in ("none", "good")]
    assert set(keep_complete(make_trials(rows))["event_id"]) == {"e2"}
    with pytest.raises(LookupError, match="make study NOTEBOOK=09b_plan_effect"):
        keep_complete(make_trials(rows[:2]))


def test_work_counts_followed_answers_and_pages():
    rows = [("e1", "none", "A", "ok", "B", 0, False, True), ("e2", "none", "B", "ok", ["A"], 0, False, False)]
    rows += [("e1", "answer", "A", "ok", "A", 9, False, True), ("e2", "answer", "B", "ok", ["B"], 11, True, True)]
    work = measure_work(make_trials(rows))
    assert work.loc["none", ["as stated", "deciding page", "differs"]].tolist() == [0, 0.5, 0]
    assert work.loc["answer", ["as stated", "cut", "words", "differs"]].tolist() == [1, 0.5, 10, 1]
