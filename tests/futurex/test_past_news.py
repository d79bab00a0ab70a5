"""FutureX's past questions as facts without words, and what a search finds and gives away; made-up
questions."""

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row

from daybefore.formats.futurex import build_events, screen_rows
from helpers.scores import score_multi
from studies.futurex import past_news, past_set

NAMES = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]


def build(*rows):
    return build_events(screen_rows(pd.DataFrame(rows))[0])


@pytest.mark.parametrize(("n_options", "n_right"), [(2, 1), (5, 2), (6, 6), (9, 1)])
def test_the_exact_mean_of_guessing_is_that_of_many_guesses(n_options, n_right):
    rng, letters, right = (
        np.random.default_rng(3),
        list("abcdefghi")[:n_options],
        list("abcdefghi")[:n_right],
    )
    drawn = [
        [letter for letter in letters if rng.random() < 0.5] or [rng.choice(letters)]
        for _ in range(6000)
    ]
    mean = np.mean([score_multi(named, right) for named in drawn])
    assert past_set.expect_guess("multi", n_options, n_right) == pytest.approx(mean, abs=0.015)


def make_passages(event, *texts):
    about = {"event_id": event["event_id"], "published_at": "2026-01-02T20:00:00+08:00"}
    rows = [
        {"place": n, "page_id": f"n{n}", "url": f"http://news.replay/{n}"}
        for n in range(1, len(texts) + 1)
    ]
    return pd.DataFrame(rows).assign(text=texts, **about)


@pytest.fixture
def searched():
    """Two questions, and two passages found for each."""
    asked = "Who wins the Quillonia regatta of Bessamy?"
    rows = [
        make_past_row(0, event=asked, options=NAMES, answer="B"),
        make_past_row(1, event="Will Bessamy vote?"),
    ]
    events, answers = build(*rows)
    first, second = events.to_dict("records")
    texts = (
        ["It rained.", "The regatta of Quillonia is won by Bessamy Torv."],
        ["It rained.", "Bessamy voted: yes."],
    )
    passages = pd.concat(
        [make_passages(first, *texts[0]), make_passages(second, *texts[1])], ignore_index=True
    )
    return events, answers, passages


def test_answers_and_flags_in_passages_are_listed_by_ids_alone(searched):
    events, answers, passages = searched
    table = (
        past_news.audit_window(events, answers, passages)
        .set_index("event_id")
        .loc[events["event_id"]]
    )
    assert table["n_answers"].tolist() == [1, 0] and table["is_told"].tolist() == [True, False]
    assert table[["hindsight", "sibling"]].to_numpy().sum() == 0 and "Torv" not in table.to_csv()
    one_cluster = past_news.audit_window(events.assign(cluster_id="c"), answers, passages)
    assert one_cluster["sibling"].tolist() == [0, 0], (
        "no passage of the other question speaks of the first"
    )
    mixed = passages.assign(
        event_id=passages["event_id"].to_numpy()[::-1], text=passages["text"] + " He later dies."
    )
    told = past_news.audit_window(events.assign(cluster_id="c"), answers, mixed).set_index(
        "event_id"
    )
    assert told.loc[events["event_id"], "sibling"].tolist() == [0, 1] and told[
        "hindsight"
    ].tolist() == [2, 2]


def test_planted_answers_are_found_where_the_passage_speaks_of_the_question(searched):
    events, answers, passages = searched
    planted = past_news.plant_answers(events, answers, passages)
    assert planted.index.tolist() == [events["event_id"][0]], "yes and no cannot be planted"
    assert planted.iloc[0].tolist() == [1, 1, 1], "that passage states it already"
    rowing = build(
        make_past_row(0, event="Who rows for Quillonia in Zorvania?", options=NAMES, answer="B")
    )
    rain = past_news.plant_answers(*rowing, make_passages(rowing[0].iloc[0], "It rained."))
    assert rain.iloc[0].tolist() == [0, 1, 0], (
        "beside rain no answer is found, beside the names the whole one is"
    )
