"""False matches: cards that face each other, by hand, and a kept file that gives the same back."""

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.false_matches import (
    count_matches,
    match_others,
    stack_events,
    stack_faced,
)
from studies.worldreasoner.hindsight.matching import Rules, match_events


def make_cards(*rows):
    """(question, text, day) of cards c0, c1, ..."""
    table = pd.DataFrame(rows, columns=["question_id", "text", "day"])
    return table.assign(node_id=[f"c{at}" for at in range(len(rows))], is_outcome=False)


@pytest.fixture
def cards():
    rows = [
        ("p", "ferry strike Bergen", 1.0),
        ("p", "ferry strike ends", 3.0),
        ("q", "comet near Orion", 2.0),
    ]
    return make_cards(*rows, ("q", "ferry comet", 40.0), ("r", "wheat prices fall", 2.0))


def test_a_card_faces_each_other_question_alone_as_match_events_has_it(cards):
    others = match_others(cards, Rules(days=None))
    assert others.index.tolist() == list(range(5)) and list(others) == ["p", "q", "r"]
    assert np.isnan(others.to_numpy()[[0, 2, 4], [0, 1, 2]]).all(), "not its own question"
    for row, card in cards.iterrows():
        for name, part in cards[cards["question_id"] != card["question_id"]].groupby("question_id"):
            said = pd.DataFrame([card.to_dict() | {"run_id": "one", "question_id": name}])
            found = match_events(part, said, Rules(days=None))["similarity"].max()
            assert others.loc[row, name] == pytest.approx(found, nan_ok=True)


def test_shares_count_pairs_that_face_each_other():
    names, owners = list("pqr"), pd.Series(list("pqr"))
    faced = pd.DataFrame(
        [[False, True, True], [True, False, True], [True, False, False]], columns=names
    )
    found = pd.DataFrame(np.nan, range(3), names)
    found.loc[0, "q"], found.loc[1, "p"], found.loc[2, "q"] = (
        0.9,
        0.5,
        0.9,
    )  # the last one does not face it
    flags = stack_faced(found, faced)
    assert flags.sort_index().tolist() == [1, 0, 1, 0, 0]
    counted = count_matches(flags, owners)
    assert (counted["share"], counted["n"], counted["n_cards"], counted["n_questions"]) == (
        0.4,
        5,
        3,
        3,
    )
    assert np.isnan(counted["low_by_question"]), "three questions give no interval"


def test_pairs_of_events_are_counted_each_and_not_only_whether_any_matches(cards):
    """An event faces every event of another question; that one of them matches says nothing of the
    others."""
    rules = Rules(days=None)
    n_faced = match_others(cards, Rules(days=None, threshold=-1.0), take="count")
    n_matched = match_others(cards, rules, take="count")
    flags = stack_events(n_matched, n_faced)
    found = {}
    for name, part in cards.groupby("question_id"):
        others = cards[cards["question_id"] != name]
        said = others.assign(run_id=others["node_id"], question_id=name)
        found[name] = len(match_events(part, said, rules))
    assert len(flags) == 2 * (2 * 2 + 2 * 1 + 2 * 1), (
        "each pair of two questions' events, both ways"
    )
    assert flags.sum() == sum(found.values()) > 0
    assert flags.groupby(level=1).sum().to_dict() == found
    any_matches = stack_faced(match_others(cards, rules), n_faced.notna())
    assert flags.mean() < any_matches.mean()
