"""Scores of FutureX's past questions: above guessing by form, the order of options; made-up
tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.files import ROOT
from studies.futurex import past_scores


def make_events(*forms):
    """Questions of some forms, each a cluster of its own; the first option is right, guessing earns
    0.25."""
    table = pd.DataFrame({"form": forms, "guess": 0.25, "is_first": 1, "first_chance": 0.25})
    table["event_id"] = table["cluster_id"] = [f"e{at}" for at in table.index]
    return table


def make_scores(matrix):
    """Rows of a matrix of scores, question x agent; blanks left out."""
    long = (
        matrix.rename_axis("event_id")
        .reset_index()
        .melt("event_id", var_name="agent_id", value_name="score")
    )
    return long.dropna(subset="score")


def test_scores_stand_above_what_guessing_earns_at_the_same_questions():
    events = make_events(*["one of several"] * 40, *["several right"] * 20)
    events.loc[40:, "guess"] = 0.5
    matrix = pd.DataFrame({"oracle": 1.0, "wrong": 0.0, "few": np.nan}, events["event_id"])
    matrix.loc[events["event_id"][:12], "few"] = 1.0
    table = past_scores.tabulate_forms(make_scores(matrix), events).set_index(["form", "agent_id"])
    assert table.loc[("one of several", "oracle"), ["mean", "above"]].tolist() == [1, 0.75]
    assert table.loc[("several right", "wrong"), "above"] == -0.5
    whole = table.loc[("all", "oracle")]
    assert whole["chance"] == pytest.approx((40 * 0.25 + 20 * 0.5) / 60) and whole["n"] == 60
    assert whole["low"] > 0 > table.loc[("all", "wrong"), "high"]
    assert (
        table.loc[("one of several", "few"), "n"] == 12
        and ("several right", "few") not in table.index
    )


def test_what_is_earned_without_a_forecast_again_in_plain_pandas():
    folder = ROOT / "data/public"
    events = pd.read_csv(folder / "futurex_past_events.csv").set_index("event_id")
    several = events[events["form"] == "one of several"]
    assert (several["is_first"].sum(), len(several)) == (87, 180)
    assert several["first_chance"].sum() == pytest.approx(38.36, abs=0.005)
    scores = (
        pd.read_csv(folder / "futurex_past_scores.csv")
        .query("agent_id == 'base_rate'")
        .set_index("event_id")
    )
    asked = events[events["is_settled"] == 0]
    above = (scores["score"] - asked["guess"]).dropna()
    assert len(above) == 317
    assert above.mean() == pytest.approx(0.0997, abs=0.0005)
    drawn = pd.read_csv(ROOT / "figures/points_without_forecasting.csv").set_index("trick")["above"]
    assert drawn["FutureX-Past: base rate, all forms"] == pytest.approx(above.mean(), abs=1e-6)
    assert drawn["LiveAgentBench: copy out all that was read"] == pytest.approx(35 / 104, abs=1e-6)
