"""Ratings that know earlier games only, and Brier scores worked by hand."""

import numpy as np
import pandas as pd
import pytest

from studies.futurex.games import compare_games, rate_games, tidy_games


def make_games(*rows):
    """Rows of (date, season, team1, team2, prob1, outcome of team1)."""
    table = pd.DataFrame(rows, columns=["date", "season", "team1", "team2", "prob1", "prob1_outcome"])
    return table.assign(prob2=1 - table["prob1"], prob2_outcome=1 - table["prob1_outcome"])


def make_season(n_days=200, strength=0.9):
    """Two teams that meet daily on neutral terms: A wins with a fixed share, as host and as guest."""
    rng = np.random.default_rng(0)
    wins = (rng.random(n_days) < strength).astype(float)
    days = pd.date_range("2016-01-01", periods=n_days).strftime("%Y-%m-%d")
    rows = [("A", "B", 0.9, won) if at % 2 else ("B", "A", 0.1, 1 - won) for at, won in enumerate(wins)]
    return tidy_games(make_games(*[(date, 2016, *row) for date, row in zip(days, rows, strict=True)]))


def test_ratings_worked_by_hand():
    games = make_games(("2016-01-01", 1, "A", "B", 0.5, 1), ("2016-01-02", 1, "A", "B", 0.5, 1))
    rated = rate_games(tidy_games(games), k=40, n_prior=20)
    assert rated["elo"].iloc[0] == pytest.approx(0.5)
    # A has 1520, B 1480; the home rate is 11 of 21, whose odds are 1.1
    assert rated["elo"].iloc[1] == pytest.approx(1 / (1 + 10 ** (-40 / 400) / 1.1))
    assert rated["home_rate"].tolist() == pytest.approx([0.5, 11 / 21])


def test_ratings_learn_a_planted_strength_and_nothing_from_the_future():
    games = make_season()
    rated = rate_games(games)
    late = rated.tail(60).groupby("home")["elo"].mean()
    assert late["A"] > 0.8 and late["B"] < 0.2
    assert rate_games(games.head(50))["elo"].tolist() == rated["elo"].head(50).tolist()


def test_brier_scores_the_paired_difference_and_who_is_nearer():
    rated = rate_games(make_season(400))
    table = compare_games(rated).set_index("forecaster")
    assert table.loc["half", "brier"] == 0.25 and table["n"].eq(400).all() and table["n_months"].eq(14).all()
    expert = ((rated["expert"] - rated["outcome"]) ** 2).mean()
    assert table.loc["expert", ["brier", "minus_expert", "nearer"]].tolist() == pytest.approx([expert, 0, 0])
    half = table.loc["half"]
    assert half["minus_expert"] == pytest.approx(0.25 - expert)
    assert 0 < half["gap_low"] < half["minus_expert"] < half["gap_high"]
    assert half["nearer"] == pytest.approx(((rated["expert"] > 0.5) != rated["outcome"]).mean())
