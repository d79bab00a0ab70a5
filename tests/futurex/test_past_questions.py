"""Scores of FutureX's past questions: above guessing by form, the order of options; made-up
tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.files import ROOT
from helpers.scores import score_multi
from studies.futurex.past_questions import expect_guess, tabulate_forms


def test_scores_stand_above_what_guessing_earns_at_the_same_questions():
    forms = ["one of several"] * 40 + ["several right"] * 20
    events = pd.DataFrame({"form": forms, "guess": [0.25] * 40 + [0.5] * 20})
    events["event_id"] = events["cluster_id"] = events.index.map("e{}".format)
    matrix = pd.DataFrame({"oracle": 1.0, "wrong": 0.0, "few": np.nan}, events["event_id"])
    matrix.loc[events["event_id"][:12], "few"] = 1.0
    scores = matrix.stack().rename_axis(["event_id", "agent_id"]).rename("score").reset_index()
    table = tabulate_forms(scores, events).set_index(["form", "agent_id"])
    assert table.loc[("one of several", "oracle"), ["mean", "above"]].tolist() == [1, 0.75]
    assert table.loc[("several right", "wrong"), "above"] == -0.5
    whole = table.loc[("all", "oracle")]
    assert whole["chance"] == pytest.approx((40 * 0.25 + 20 * 0.5) / 60) and whole["n"] == 60
    assert whole["low"] > 0 > table.loc[("all", "wrong"), "high"]
    few = table.xs("few", level="agent_id")["n"]
    assert few.to_dict() == {"one of several": 12}, "one form is no mean over all"


@pytest.mark.parametrize(("n_options", "n_right"), [(2, 1), (5, 2), (6, 6), (9, 1)])
def test_the_exact_mean_of_guessing_is_that_of_many_guesses(n_options, n_right):
    rng = np.random.default_rng(3)
    letters = list("abcdefghi")[:n_options]
    drawn = rng.random((6000, n_options)) < 0.5
    guesses = [
        [letter for letter, is_said in zip(letters, row, strict=True) if is_said]
        or [rng.choice(letters)]
        for row in drawn
    ]
    mean = np.mean([score_multi(named, letters[:n_right]) for named in guesses])
    assert expect_guess("multi", n_options, n_right) == pytest.approx(mean, abs=0.015)


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
