"""Outcome and evidence scores: cases worked by hand for every type, missing forecasts,
contradictions, empty lists."""

import math

import numpy as np
import pandas as pd
import pytest

from studies.worldreasoner.outcome_scores import (
    mix_correct,
    score_forecast,
    score_table,
    split_correct,
    summarize_outcomes,
)
from studies.worldreasoner.source_precision import score_sources

YES_NO, THREE = {"A": "Yes", "B": "No"}, {"A": "x", "B": "y", "C": "z"}


def score(value, answer, options=YES_NO, **told):
    return score_forecast("single", value, answer, options=options, **told)


@pytest.mark.parametrize(
    ("value", "answer", "probability", "right", "brier"),
    [
        ("A", "A", 0.8, 1, 0.04),  # P(Yes) 0.8, Yes
        ("B", "A", 0.8, 0, 0.64),  # P(Yes) 0.2, Yes
        ("B", "B", 0.7, 1, 0.09),
        ("A", "B", 0.3, 1, 0.09),  # Yes with 0.3 is a No
        ("B", "A", 0.3, 1, 0.09),  # No with 0.3 is a Yes
        ("A", "A", 0.5, 1, 0.25),  # one half is Yes
        ("B", "A", 0.5, 1, 0.25),  # also for who says No
        ("B", "B", 0.5, 0, 0.25),
    ],
)
def test_a_yes_no_forecast_follows_p_yes(value, answer, probability, right, brier):
    row = score(value, answer, probability=probability)
    assert (row["accuracy"], round(row["brier"], 9)) == (right, brier)
    assert row["log"] == pytest.approx(math.log(1 - math.sqrt(brier)))
    turned = {"A": "B", "B": "A"}
    other = score(turned[value], turned[answer], {"A": "No", "B": "Yes"}, probability=probability)
    assert other == pytest.approx(row, nan_ok=True), "which letter stands for Yes changes nothing"


def test_with_a_distribution_the_largest_is_the_choice_and_the_whole_brier_stands_beside():
    row = score("C", "A", THREE, distribution={"A": 0.5, "B": 0.3, "C": 0.2})
    found = [row["accuracy"], row["brier"], row["brier_full"]]
    assert found == pytest.approx([1.0, 0.25, 0.25 + 0.09 + 0.04])
    tied = score("B", "B", THREE, distribution={"B": 0.4, "A": 0.4, "C": 0.2})
    assert tied["accuracy"] == 0.0, "of equal ones the first"
    with pytest.raises(ValueError, match="a distribution adds up to 2; it must be 1 or less"):
        score("A", "A", THREE, distribution={"A": 1.0, "B": 1.0})


@pytest.mark.parametrize("kind", ["single", "number", "interval", "date"])
def test_a_missing_forecast_is_wrong_and_has_no_probability_score(kind):
    row = score_forecast(kind, None, "A", probability=0.9, options=YES_NO)
    assert row["is_missing"] and row["accuracy"] == 0.0
    assert math.isnan(row["brier"]) and math.isnan(row["log"])


def test_tables_of_the_kit_are_scored_and_averaged_with_their_n():
    events = pd.DataFrame({"event_id": ["e1", "e2", "e3", "e4"]})
    events["kind"] = ["single", "single", "percent", "ranking"]
    events["options"] = ['{"A": "Yes", "B": "No"}'] * 2 + [None] * 2
    answers = events[["event_id"]].assign(value=['"A"', '"B"', "10.0", '["x"]'])
    said = pd.DataFrame({"event_id": ["e1", "e1", "e2", "e3"], "sample": [0, 1, 0, 0]})
    said = said.assign(value=['"A"', '"A"', None, "10.5"], probability=[0.9, 0.7, None, None])
    said = said.assign(run_id="r", agent_id="a", distribution=None)
    table = score_table(said, answers, events)
    assert table["accuracy"].tolist() == [1.0, 1.0, 0.0, 1.0] and table["is_missing"].sum() == 1
    found = summarize_outcomes(table).set_index("metric")[["mean", "n"]]
    assert found.loc["accuracy"].tolist() == pytest.approx([2 / 3, 3])
    assert found.loc["brier"].tolist() == pytest.approx([0.05, 1]), "samples are averaged"
    assert "brier_full" not in found.index


def test_source_precision_of_what_was_cited_and_of_what_was_opened():
    rows = [("r|e|0", "p1", True, True), ("r|e|0", "p2", True, False), ("r|e|0", "p3", False, True)]
    rows += [("r|f|0", "p1", True, False), ("r|g|0", "p1", True, True)]
    evidence = pd.DataFrame(rows, columns=["owner_id", "page_id", "is_accessed", "is_cited"])
    table = score_sources(evidence, {"e": {"p1"}, "f": {"p1"}}).set_index("event_id")
    found = table[["srcp_cited", "srcp_accessed"]].T.to_dict("list")
    assert found == {"e": [0.5, 0.5], "f": [0.0, 1.0]}


def test_right_and_wrong_make_the_whole_whatever_is_blank():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"accuracy": rng.integers(0, 2, 50) * 1.0, "recall": rng.random(50)})
    table["cluster"] = range(50)
    table.loc[::7, "recall"] = np.nan
    found = split_correct(table, ["recall"]).iloc[0]
    whole = mix_correct(found["share"], found["right"], found["wrong"])
    assert found["all"] == pytest.approx(whole) and found["n"] == table["recall"].notna().sum()
    assert found["gap"] == pytest.approx(found["right"] - found["wrong"])
    one = split_correct(table[table["accuracy"] == 1], ["recall"]).iloc[0]
    assert np.isnan(one["wrong"]) and one["all"] == one["right"]
