"""False matches: cards that face each other, as the matcher itself has it, and pairs counted by
hand."""

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.hindsight.false_matches import (
    OTHER,
    OWN,
    compare_words,
    count_meanings,
    count_pairs,
    face_cards,
    judge_matchers,
)
from studies.worldreasoner.hindsight.matching import Rules, match_events

CARDS = pd.DataFrame(
    [
        ("p", "ferry strike Bergen", 1.0),
        ("p", "ferry strike ends", 3.0),
        ("q", "comet near Orion", 2.0),
        ("q", "ferry comet", 40.0),
        ("r", "wheat prices fall", np.nan),
    ],
    columns=["question_id", "text", "day"],
)
CARDS = CARDS.assign(node_id=[f"c{at}" for at in range(5)], is_outcome=False)


@pytest.mark.parametrize("given", [{}, {"scale": "self"}, {"days": None}])
def test_a_card_matches_what_match_events_matches_with_it_alone(given):
    rules = Rules(**given)
    matched = face_cards(CARDS, rules) & (compare_words(CARDS, rules) >= rules.threshold)
    for at, card in CARDS.iterrows():
        for name, part in CARDS.drop(at).groupby("question_id"):
            said = pd.DataFrame([card.to_dict() | {"run_id": "one", "question_id": name}])
            found = match_events(part, said, rules)["hindsight_id"]
            assert set(CARDS["node_id"][matched[at]]) & set(part["node_id"]) == set(found)


def test_pairs_are_counted_each_within_a_question_and_with_others():
    near = count_pairs(CARDS, face_cards(CARDS, Rules()))
    assert near[OWN].tolist() == [1, 1, 0, 0, 0] and near[OTHER].tolist() == [1, 1, 2, 0, 0]
    vectors = np.array([[1.0, 0], [0.8, 0.6], [1, 0], [1, 0], [0, 1]])
    kept = count_meanings(CARDS, vectors)
    assert kept.set_index(["node_id", "against"])["7 days"].to_dict() == {
        ("c0", OWN): 1, ("c0", OTHER): 1, ("c1", OWN): 1, ("c1", OTHER): 1, ("c2", OTHER): 2,
        ("c2", OWN): 0, ("c3", OWN): 0, ("c3", OTHER): 0, ("c4", OTHER): 0,
    }  # fmt: skip
    false, _ = judge_matchers(CARDS, kept)
    false = false.set_index(["against", "gate", "matcher"])
    row = false.loc[OTHER, "7 days", "semantic"]
    assert row[["event_share", "n_event_matches", "n_event_pairs"]].tolist() == [1, 4, 4]
    assert np.isnan(row["event_low"]), "three questions give no interval"
    words = false.loc[OWN, "no gate", "BM25 over the largest"]
    assert words[["n_event_matches", "n_event_pairs"]].tolist() == [4, 4]
    assert false.loc[OTHER, "no gate", "BM25 over the largest"]["n_event_matches"] == 4
