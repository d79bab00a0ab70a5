"""Probabilities of games beside simple rules that know earlier games only (after FutureX 5.1).

The `expert` is a published statistical model, no person.
"""

import math

import pandas as pd

from helpers.means import summarize_clustered

START = 1500.0
"""Rating of a team that has not played yet."""


def tidy_games(games):
    """Return a file of games in order of time: date, season, home, away, expert, outcome.

    `expert` is the probability that the home team (`team1`) wins, `outcome` 1, 0, or 0.5 for a
    draw.
    """
    names = {"team1": "home", "team2": "away", "prob1": "expert", "prob1_outcome": "outcome"}
    table = games.rename(columns=names)[["date", "season", *names.values()]].dropna(
        subset="outcome"
    )
    return table.sort_values(["date", "home", "away"], ignore_index=True)


def rate_games(games, k=20.0, carry=2 / 3, n_prior=20):
    """Return the games with `elo` and `home_rate`: chances of a home win from games of earlier
    dates only.

    elo: ratings move by `k` a game and start each season with `carry` of their distance from 1500;
    home's advantage is the rating difference that the home rate stands for. home_rate: of earlier
    games, `n_prior` of one half added.
    """
    ratings = {}
    seasons = {}
    parts = []
    won = n_prior / 2
    played = n_prior
    for _, day in games.groupby("date", sort=True):
        rate = won / played
        advantage = 400 * math.log10(rate / (1 - rate))
        for game in day.itertuples():
            for team in (game.home, game.away):
                if seasons.get(team) not in (None, game.season):
                    ratings[team] = START + carry * (ratings[team] - START)
                seasons[team] = game.season
                ratings.setdefault(team, START)
        gaps = day["home"].map(ratings) - day["away"].map(ratings) + advantage
        rated = day.assign(elo=1 / (1 + 10 ** (-gaps / 400)), home_rate=rate)
        for game in rated.itertuples():
            move = k * (game.outcome - game.elo)
            ratings[game.home] += move
            ratings[game.away] -= move
        won = won + day["outcome"].sum()
        played = played + len(day)
        parts.append(rated)
    return pd.concat(parts, ignore_index=True)


def compare_games(rated):
    """Return how two rules forecast beside the expert, a row a forecaster (elo, home_rate).

    Columns: forecaster, n, n_months, minus_expert (difference of the Brier scores) with gap_low and
    gap_high (95% by month), nearer (share of games in which it is nearer to the outcome than the
    expert).
    """
    errors = rated[["elo", "home_rate"]].sub(rated["outcome"], axis=0).abs()
    expert = (rated["expert"] - rated["outcome"]).abs()
    found = summarize_clustered((errors**2).sub(expert**2, axis=0), rated["date"].str[:7])
    names = {"mean": "minus_expert", "low": "gap_low", "high": "gap_high", "n_clusters": "n_months"}
    table = found.rename(columns=names).assign(nearer=errors.lt(expert, axis=0).mean())
    return table.rename_axis("forecaster").reset_index().drop(columns=["se", "p"])
