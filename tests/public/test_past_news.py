"""FutureX's past questions as facts without words, and what a search finds and gives away; made-up questions."""

import os

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row
from public import past_news, past_set

from helpers.formats.futurex import build_events, screen_rows
from helpers.public_files import MIRROR
from helpers.scoring.scores import score_multi

NAMES = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]


def build(*rows):
    return build_events(screen_rows(pd.DataFrame(rows))[0])


# --- facts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_options", "n_right"), [(2, 1), (5, 2), (6, 6), (9, 1)])
def test_the_exact_mean_of_guessing_is_that_of_many_guesses(n_options, n_right):
    rng, letters, right = np.random.default_rng(3), list("abcdefghi")[:n_options], list("abcdefghi")[:n_right]
    drawn = [[letter for letter in letters if rng.random() < 0.5] or [rng.choice(letters)] for _ in range(6000)]
    mean = np.mean([score_multi(named, right) for named in drawn])
    assert past_set.expect_guess("multi", n_options, n_right) == pytest.approx(mean, abs=0.015)


def test_facts_say_whether_the_right_options_stand_first_in_the_file():
    several = {"options": list("uvwxyz"), "choice_type": "multi"}
    rows = [make_past_row(0, options=NAMES, answer="A"), make_past_row(1, options=NAMES, answer="C")]
    rows += [make_past_row(2, answer="B, A", **several), make_past_row(3, answer="A, C", **several)]
    events, answers = build(*rows, make_past_row(4, answer="A"), make_past_row(5, answer="B"))
    facts = past_set.list_facts(events, answers)
    assert facts["form"].tolist() == ["one of several"] * 2 + ["several right"] * 2 + ["yes or no"] * 2
    assert facts["is_first"].tolist()[:4] == [1, 0, 1, 0] and facts["is_first"][4:].isna().all()
    assert facts["first_chance"].tolist()[:4] == [0.25, 0.25, 1 / 15, 1 / 15]
    assert facts["is_yes"].tolist()[4:] == [1, 0] and facts["n_right"].tolist() == [1, 1, 2, 2, 1, 1]
    probes = past_set.list_probes(events).merge(answers, on="event_id", suffixes=("", "_right"))
    first = probes[probes["agent_id"] == past_set.FIRST]
    assert (first["value"] == first["value_right"]).tolist() == [True, False]
    assert probes["agent_id"].eq(past_set.ALL_OPTIONS).sum() == 2


# --- what the passages give away -------------------------------------------------------------------------------------


def make_passages(event, *texts):
    rows = [
        {"event_id": event["event_id"], "place": place, "page_id": f"n{place}", "url": f"http://news.replay/{place}"}
        | {"published_at": "2026-01-02T20:00:00+08:00", "text": text}
        for place, text in enumerate(texts, 1)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def searched():
    """Two questions, and two passages found for each."""
    asked = "Who wins the Quillonia regatta of Bessamy?"
    rows = [make_past_row(0, event=asked, options=NAMES, answer="B"), make_past_row(1, event="Will Bessamy vote?")]
    events, answers = build(*rows)
    first, second = events.to_dict("records")
    texts = ["It rained.", "The regatta of Quillonia is won by Bessamy Torv."], ["It rained.", "Bessamy voted: yes."]
    passages = pd.concat([make_passages(first, *texts[0]), make_passages(second, *texts[1])], ignore_index=True)
    return events, answers, passages


def test_touched_questions_are_found(searched):
    events, answers, passages = searched
    rain = passages[passages["text"] == "It rained."]
    assert past_news.label_touch(events, passages).tolist() == ["most names", "most names"]
    assert past_news.label_touch(events, rain).tolist() == ["no name"] * 2
    about = past_news.list_about(events, answers, passages)
    assert about.values.tolist() == [[events["event_id"][1], 1]], "only of the one whose answer no text tells"
    assert past_news.list_about(events, answers, rain).empty


def test_answers_and_flags_in_passages_are_listed_by_ids_alone(searched):
    events, answers, passages = searched
    table, found = past_news.audit_window(events, answers, passages)
    table = table.set_index("event_id").loc[events["event_id"]]
    assert table["n_answers"].tolist() == [1, 0] and table["is_told"].tolist() == [True, False]
    assert table["n_passages"].tolist() == [2, 2] and table["n_news"].tolist() == [2, 2]
    assert found[["event_id", "page_id", "place"]].values.tolist() == [[events["event_id"][0], "n2", 2]]
    assert found["days_before"].tolist() == [(pd.Timestamp(events["as_of"][0][:10]) - pd.Timestamp("2026-01-02")).days]
    assert "Torv" not in table.to_csv() + found.to_csv()
    late = passages.assign(published_at="2026-01-19T20:00:00+08:00")
    assert past_news.audit_window(events, answers, late)[0]["later"].tolist() == [2, 2], "it sees a later page"


def test_the_answer_of_a_sibling_that_is_open_is_seen(searched):
    events, answers, passages = searched
    twin = events.iloc[[0]].assign(event_id="twin", cluster_id=events["cluster_id"][0])
    more = pd.concat([answers, answers.iloc[[0]].assign(event_id="twin")])
    table = past_news.audit_window(pd.concat([events, twin]), more, passages)[0].set_index("event_id")
    assert table.loc[events["event_id"][0], "sibling"] == 1 and table.loc["twin", "sibling"] == 0


def test_planted_answers_are_found_where_the_passage_speaks_of_the_question(searched):
    events, answers, passages = searched
    planted = past_news.plant_answers(events, answers, passages)
    assert planted.index.tolist() == [events["event_id"][0]], "yes and no cannot be planted"
    assert planted.iloc[0].tolist() == [1, 1, 1], "that passage states it already"
    rowing = build(make_past_row(0, event="Who rows for Quillonia in Zorvania?", options=NAMES, answer="B"))
    rain = past_news.plant_answers(*rowing, make_passages(rowing[0].iloc[0], "It rained."))
    assert rain.iloc[0].tolist() == [0, 1, 0], "beside rain no answer is found, beside the names the whole one is"


@pytest.mark.skipif(
    not os.environ.get(MIRROR), reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them"
)
def test_the_readings_are_of_window_p():
    from helpers.futurex.past import build_past

    assert set(pd.read_csv(past_news.READINGS)["event_id"]) <= set(build_past()[0]["event_id"])
