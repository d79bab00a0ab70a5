"""Baselines of public questions: they learn from what had ended, and from nothing later."""

import numpy as np
import pandas as pd
import pytest
from builders import make_past_row

from helpers.agents.past import METHODS, load_past_agents, name_likely
from helpers.formats.futurex import build_events, screen_rows
from helpers.scoring.scores import score_multi
from helpers.store import parse_json

DAYS = pd.date_range("2026-01-10", periods=40, freq="D").strftime("%Y-%m-%d")


@pytest.fixture(scope="module")
def tables():
    """Forty yes/no questions that end in no, forty of four names of which "Other" is right, ten of several."""
    rows = [make_past_row(n, answer="B", end_time=day) for n, day in enumerate(DAYS)]
    names = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield", "Other"]
    rows += [make_past_row(100 + n, options=names, answer="D", end_time=day) for n, day in enumerate(DAYS)]
    several = {"options": list("uvwxyz"), "choice_type": "multi", "answer": "A, B"}
    rows += [make_past_row(200 + n, end_time=day, **several) for n, day in enumerate(DAYS)]
    return build_events(screen_rows(pd.DataFrame(rows))[0])


def predict(events, answers, name, event):
    return load_past_agents(events, answers)[name]["forecast"](event, None)["prediction"]


def test_what_ends_later_changes_nothing(tables):
    events, answers = tables
    middle = events.iloc[20].to_dict()
    ended = pd.to_datetime(events["resolves_at"]) + pd.Timedelta(days=1) <= pd.Timestamp(middle["as_of"])
    assert 0 < ended.sum() < len(events) / 2
    other = answers["value"].where(
        ended, events["kind"].map({"single": '"A"', "multi": '["A", "B", "C", "D", "E", "F"]'})
    )
    turned = answers["value"].where(~ended, '"A"')
    for name in METHODS:
        before = predict(events, answers, name, middle)
        assert predict(events, answers.assign(value=other), name, middle) == before, name
    assert predict(events, answers.assign(value=turned), "base_rate", middle) != predict(
        events, answers, "base_rate", middle
    )


def test_rates_and_words_are_learnt(tables):
    events, answers = tables
    yes_no, named, several = (events.iloc[n].to_dict() for n in (39, 79, 119))
    rate = predict(events, answers, "base_rate", yes_no)
    assert rate["value"] == "B" and rate["probability"] > 0.9
    assert set(predict(events, answers, "base_rate", named)["distribution"].values()) == {0.25}
    assert predict(events, answers, "base_rate", several)["distribution"]["A"] == pytest.approx(1 / 3, abs=1e-6)
    words = predict(events, answers, "option_words", named)
    assert parse_json(named["options"])[words["value"]] == "Other"
    first = predict(events, answers, "option_words", events.iloc[40].to_dict())
    assert set(first["distribution"].values()) == {0.25}, "nothing had ended by its start"


def test_the_set_with_the_best_expected_f1_is_named():
    rng, shares = np.random.default_rng(1), {"A": 0.9, "B": 0.6, "C": 0.2, "D": 0.05}
    named = name_likely(shares, "multi", rng)["value"]
    draws = [[letter for letter in shares if rng.random() < shares[letter]] for _ in range(4000)]
    draws = [draw for draw in draws if draw]
    tried = {n: np.mean([score_multi(list(shares)[:n], draw) for draw in draws]) for n in range(1, 5)}
    assert named == list(shares)[: max(tried, key=tried.get)] == ["A", "B"]
