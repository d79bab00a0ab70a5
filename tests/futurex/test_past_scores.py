"""What notebook 53 computes: guessing, the order of options, forms above chance, touched questions, told answers."""

import re

import matplotlib.pyplot as plt
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


def test_a_probe_of_the_order_is_right_where_the_file_has_the_right_one_first(tables):
    events, answers = tables
    scores = score_predictions(fill_predictions(past_scores.take_given(events)), answers, events)
    assert len(scores) == 40 and set(scores["score"]) == {1.0}
    table = past_scores.tabulate_forms(scores, events, answers)
    assert table["form"].tolist() == ["one of several"], "one form alone has no mean over all forms"


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


def test_another_cut_of_clusters_is_another_count_and_a_share_of_verdicts():
    rows = [
        make_past_row(n, event=f"Harbour {name_regatta(n // 2)} open?", options=NAMES, answer="A") for n in range(40)
    ]
    kept = screen_rows(pd.DataFrame(rows))[0]
    events, answers = build_events(kept)
    right = answers.set_index("event_id")["value"].map(parse_json)
    scores = score_predictions(predict(events, "oracle", lambda event: right[event["event_id"]]), answers, events)
    table = past_scores.vary_clusters(scores, events, answers, kept, (0.01, 0.9))
    assert table["n_clusters"].tolist() == [1, 20] and table["agree"].tolist() == [0, 1]


def test_forms_are_counted(tables):
    forms = past_scores.describe_forms(*tables).set_index("form")
    assert forms["n"].to_dict() == {"one of several": 40, "several right": 20}
    assert forms["share_right"].round(3).tolist() == [0.25, 0.333] and forms["levels"].tolist() == ["2", "2"]
    yes = build(*[make_past_row(n, event=name_regatta(n), answer="AB"[n % 4 > 0]) for n in range(8)])
    assert past_scores.describe_forms(*yes)["share_yes"].tolist() == [0.25]


def test_rewordings_are_counted_once_a_row():
    rows = pd.DataFrame([make_past_row(n) for n in range(4)])
    later = pd.concat(
        [rows, rows[:2].assign(event="Did it open?"), rows[:1].assign(event="Had it opened?", answer="B")]
    )
    changed = past_scores.count_rewordings(rows, later).set_index("column")["rows changed"]
    assert (changed["event"], changed["answer"], changed["options"], changed["rows in all"]) == (2, 1, 0, 4)


def test_what_is_kept_of_the_events_holds_no_word_of_them(tables):
    events, answers = tables
    touch = pd.Series("no name", index=events["event_id"])
    facts = past_scores.list_facts(events, answers, touch, list(events["event_id"][:2]))
    words = set(re.findall(r"\w{3,}", " ".join(events["prompt"])))
    assert len(words) > 40 and not words & set(re.findall(r"\w{3,}", facts.to_csv()))
    assert len(facts) == 60 and facts["is_settled"].sum() == 2 and facts["order"].str.startswith("[").all()


# --- the figure ------------------------------------------------------------------------------------------------------


def test_points_stand_at_their_values_and_parts_apart():
    bins = pd.DataFrame({"agent_id": ["a", "b", "c"], "said": [0.4, 0.4, 1.0], "share": [0.5, 0.5, 0.0], "n": 20})
    bins = bins.assign(low=bins["share"] - [0.1, 0.1, 0.0], high=bins["share"] + 0.1)
    forms = pd.DataFrame({"form": "yes or no", "agent_id": ["a", "b"], "above": [0.1, 0.2], "p": 0.5, "n": 20})
    forms = forms.assign(above_low=forms["above"] - 0.1, above_high=forms["above"] + 0.1)
    order = pd.DataFrame({"form": ["one of several"], "gain": [0.3], "low": [0.2], "high": [0.4], "n": [30]})
    news = pd.DataFrame({"comparison": "search - none", "events": ["all", "no name"], "difference": [0.1, 0.2]})
    news = news.assign(low=0.0, high=0.3, n=20, p=0.5, p_holm=1.0, n_clusters=20)
    effects = past_scores.list_effects(order.assign(p=0.01, n_clusters=30), news)
    fig, axes = plt.subplot_mosaic([["forms", "order"], ["news", "yes"]])
    past_scores.draw_past(forms, effects, bins, axes)
    drawn = {name: {float(x) for line in ax.lines for x in line.get_xdata()} for name, ax in axes.items()}
    assert drawn["yes"] == {0.0, 0.4, 1.0} and axes["yes"].get_xlim()[1] > 1
    assert 0.3 in drawn["order"] and {0.1, 0.2} <= drawn["news"]
    assert [label.get_text() for label in axes["forms"].get_yticklabels()] == ["yes or no\n(n = 20)"]
    past_scores.draw_past(forms, effects[effects["part"] == "order"], bins, plt.subplot_mosaic([list(axes)])[1])
    plt.close("all")
