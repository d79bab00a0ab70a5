"""A published model's probabilities for games against fixed rules that know earlier games only (after FutureX 5.1).

The paper's question, put to public files that hold a dated probability and its outcome a game. `expert` is
FiveThirtyEight's model, so no person; the rules are a plain Elo rating and the share of games that home teams have won.
"""

import math

import numpy as np
import pandas as pd

from helpers.stats.bootstrap import compare_paired, summarize_means

AGENTS = {"expert": "FiveThirtyEight's model", "elo": "own Elo", "home": "home rate", "half": "always one half"}
START = 1500.0
"""Rating of a team that has not played yet."""


def tidy_games(games):
    """Return a file of games with the kit's names, in order of time: date, season, home, away, expert, outcome.

    `expert` is the probability that the home team (`team1`) wins, `outcome` 1, 0, or 0.5 for a draw. Games without an
    outcome are left out. Raises ValueError when a probability is none or the two of a game do not add up to 1.
    """
    names = {"team1": "home", "team2": "away", "prob1": "expert", "prob1_outcome": "outcome"}
    wrong = ~games["prob1"].between(0, 1) | ((games["prob1"] + games["prob2"] - 1).abs() > 1e-6)
    if wrong.any():
        game = games[wrong].iloc[0]
        raise ValueError(f"{game['date']} {game['team1']} v {game['team2']}: probabilities that do not add up to 1")
    table = games.rename(columns=names)[["date", "season", *names.values()]].dropna(subset="outcome")
    return table.sort_values(["date", "home", "away"], ignore_index=True)


def rate_games(games, k=20.0, carry=2 / 3, n_prior=20):
    """Return the games with `elo`, `home_rate` and `half`: chances of a home win from games of earlier dates only.

    elo: ratings move by `k` a game and start each season with `carry` of their distance from 1500; the advantage of
    home is the rating difference that the home rate stands for. home_rate: the share of earlier games won at home, with
    `n_prior` games of one half added.
    """
    ratings, seasons, parts, won, played = {}, {}, [], n_prior / 2, n_prior
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
        rated = day.assign(elo=1 / (1 + 10 ** (-gaps / 400)), home_rate=rate, half=0.5)
        for game in rated.itertuples():
            move = k * (game.outcome - game.elo)
            ratings[game.home] += move
            ratings[game.away] -= move
        won, played = won + day["outcome"].sum(), played + len(day)
        parts.append(rated)
    return pd.concat(parts, ignore_index=True)


def compare_games(rated, rng, n_boot=2000):
    """Return, by agent, n, brier with its interval, and minus_expert, the paired difference, with gap_low and gap_high.

    A Brier score is the squared distance of probability and outcome; smaller is better. No games raise ValueError.
    """
    columns = {"expert": "expert", "elo": "elo", "home": "home_rate", "half": "half"}
    briers = pd.DataFrame({name: (rated[column] - rated["outcome"]) ** 2 for name, column in columns.items()})
    rows = []
    for name, found in summarize_means(briers, rng, n_boot).iterrows():
        row = {"agent": AGENTS[name], "n": len(briers), "brier": found["mean"]} | found[["low", "high"]].to_dict()
        if name != "expert":
            pair = compare_paired(briers["expert"], briers[name], rng, n_boot)
            row |= {"minus_expert": pair["difference"], "gap_low": pair["low"], "gap_high": pair["high"]}
        rows.append(row)
    return pd.DataFrame(rows)


def count_wins(rated, agent="elo"):
    """Return how often an agent's probability is nearer to the outcome than the expert's, over games where they differ.

    >>> rows = {"expert": [0.6, 0.6, 0.5], "elo": [0.7, 0.7, 0.5], "outcome": [1, 0, 1]}
    >>> count_wins(pd.DataFrame(rows))
    {'n': 2, 'win_rate': 0.5}
    """
    differs = ~np.isclose(rated[agent], rated["expert"])
    nearer = (rated[agent] - rated["outcome"]).abs() < (rated["expert"] - rated["outcome"]).abs()
    return {"n": int(differs.sum()), "win_rate": float(nearer[differs].mean())}
