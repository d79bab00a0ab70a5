"""Ratings that know earlier games only, and Brier scores worked by hand."""

import numpy as np
import pandas as pd
import pytest

from studies.futurex.games import compare_games, rate_games, tidy_games


def make_games(*rows):
    """Rows of (date, season, team1, team2, prob1, outcome of team1)."""
    return pd.DataFrame(
        rows, columns=["date", "season", "team1", "team2", "prob1", "prob1_outcome"]
    )


def make_season(n_days=200, strength=0.9):
    """Two teams that meet daily on neutral terms: A wins with a fixed share, as host and as
    guest."""
    rng = np.random.default_rng(0)
    wins = (rng.random(n_days) < strength).astype(float)
    days = pd.date_range("2016-01-01", periods=n_days).strftime("%Y-%m-%d")
    rows = [
        ("A", "B", 0.9, won) if at % 2 else ("B", "A", 0.1, 1 - won) for at, won in enumerate(wins)
    ]
    return tidy_games(
        make_games(*[(date, 2016, *row) for date, row in zip(days, rows, strict=True)])
    )


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


def test_the_paired_difference_of_brier_scores_and_who_is_nearer():
    rated = rate_games(make_season(400))
    row = compare_games(rated).set_index("forecaster").loc["home_rate"]
    assert row["n"] == 400 and row["n_months"] == 14
    errors = {name: (rated[name] - rated["outcome"]).abs() for name in ("expert", "home_rate")}
    assert row["minus_expert"] == pytest.approx(
        (errors["home_rate"] ** 2).mean() - (errors["expert"] ** 2).mean()
    )
    assert 0 < row["gap_low"] < row["minus_expert"] < row["gap_high"]
    assert row["nearer"] == pytest.approx((errors["home_rate"] < errors["expert"]).mean())
