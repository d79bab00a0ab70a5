"""FiveThirtyEight's probabilities of games against simple rules that know earlier games only (after
FutureX 5.1).

The `expert` is a published statistical model, no person.
"""

import pandas as pd

from helpers.public_files import locate_public
from studies.futurex.games import compare_games, rate_games, tidy_games

FILES = {"NBA": "fivethirtyeight/nba_games.csv", "NFL": "fivethirtyeight/nfl_games.csv"}
SOURCES = {"games": list(FILES.values())}
FIRST = "2016-10"
"""First month that counts: ratings have a season before it."""


def build():
    """Return {"games": a row a league and forecaster, of `compare_games`}."""
    parts = []
    for league, name in FILES.items():
        rated = rate_games(tidy_games(pd.read_csv(locate_public(name))), carry=0.667)
        parts.append(compare_games(rated[rated["date"] >= FIRST]).assign(league=league))
    return {"games": pd.concat(parts, ignore_index=True)}
