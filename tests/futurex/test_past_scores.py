"""What notebook 53 computes: guessing, the order of options, forms above chance, touched questions, told answers."""

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row

from helpers.formats.futurex import build_events, screen_rows
from helpers.futurex import past_scores
from helpers.scoring.scores import score_multi, score_predictions
from helpers.stats.paired import fill_predictions
from helpers.store import dump_json, parse_json

NAMES = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]


def build(*rows):
    return build_events(screen_rows(pd.DataFrame(rows))[0])


def name_regatta(n):
    """A question that shares no word with another, so that each is a cluster of its own."""
    return f"{'abcdefghijklmnopqrstuvwxyz'[n % 26] * 3}{'klmnopq'[n // 26] * 4}"


@pytest.fixture(scope="module")
def tables():
    """Forty questions with four options, the first always right; twenty with several right, the first two."""
    rows = [make_past_row(n, event=name_regatta(n), options=NAMES, answer="A") for n in range(40)]
    several = {"options": list("uvwxyz"), "choice_type": "multi", "answer": "A, B"}
    return build(*rows, *(make_past_row(100 + n, event=name_regatta(50 + n), **several) for n in range(20)))


def predict(events, agent, choose):
    """Return an agent's predictions: `choose(event)` gives the value."""
    rows = [
        {"event_id": e["event_id"], "agent_id": agent, "value": dump_json(choose(e))} for e in events.to_dict("records")
    ]
    return fill_predictions(pd.DataFrame(rows))


# --- chance, order, forms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_options", "n_right"), [(2, 1), (5, 2), (6, 6), (9, 1)])
def test_the_exact_mean_of_guessing_is_that_of_many_guesses(n_options, n_right):
    rng, letters, right = np.random.default_rng(3), list("abcdefghi")[:n_options], list("abcdefghi")[:n_right]
    drawn = [[letter for letter in letters if rng.random() < 0.5] or [rng.choice(letters)] for _ in range(6000)]
    mean = np.mean([score_multi(named, right) for named in drawn])
    assert past_scores.expect_guess("multi", n_options, n_right) == pytest.approx(mean, abs=0.015)


def test_right_options_that_stand_first_are_seen_and_a_drawn_order_is_not(tables):
    events, answers = tables
    order = past_scores.measure_order(events, answers).set_index("form")
    assert order["seen"].tolist() == [40, 20] and np.isclose(order["expected"], [10, 20 / 15]).all()
    assert np.isclose(order["gain"], [0.75, 1 - 1 / 15]).all()
    rng = np.random.default_rng(4)
    rows = [make_past_row(n, event=name_regatta(n), options=NAMES, answer=rng.choice(list("ABCD"))) for n in range(160)]
    drawn = past_scores.measure_order(*build(*rows)).iloc[0]
    assert drawn["low"] < 0 < drawn["high"]


def test_scores_stand_above_what_guessing_earns_at_the_same_events(tables):
    events, answers = tables
    right = answers.set_index("event_id")["value"].map(parse_json)
    predictions = [predict(events, "oracle", lambda event: right[event["event_id"]])]
    predictions.append(predict(events, "wrong", lambda event: "Z" if event["kind"] == "single" else ["Z"]))
    predictions.append(predict(events[:12], "few", lambda event: right[event["event_id"]]))
    scores = score_predictions(pd.concat(predictions, ignore_index=True), answers, events)
    table = past_scores.tabulate_forms(scores, events, answers).set_index(["form", "agent_id"])
    guess = past_scores.expect_guess("multi", 6, 2)
    assert table.loc[("one of several", "oracle"), "above"] == pytest.approx(0.75)
    assert table.loc[("several right", "wrong"), "above"] == pytest.approx(-guess)
    whole = table.loc[("all", "oracle")]
    assert whole["chance"] == pytest.approx((40 * 0.25 + 20 * guess) / 60) and whole["n"] == 60
    assert (whole["verdict"], table.loc[("all", "wrong"), "verdict"]) == ("above", "below")
    assert table.loc[("one of several", "few"), "n"] == 12 and ("several right", "few") not in table.index


def test_forms_are_counted(tables):
    forms = past_scores.describe_forms(*tables).set_index("form")
    assert forms["n"].to_dict() == {"one of several": 40, "several right": 20}
    assert forms["share_right"].round(3).tolist() == [0.25, 0.333] and forms["levels"].tolist() == ["2", "2"]
    yes = build(*[make_past_row(n, event=name_regatta(n), answer="AB"[n % 4 > 0]) for n in range(8)])
    assert past_scores.describe_forms(*yes)["share_yes"].tolist() == [0.25]


# --- the figure ------------------------------------------------------------------------------------------------------
