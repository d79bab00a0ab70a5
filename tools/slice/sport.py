"""Recipes of the contests: football (results and daily tables of five leagues, 2016-17) and a
televised baking show."""

import json
from functools import partial

import pandas as pd

from slice.recipe import LAST_A, cut_windows, read_pickle

# Source id -> the division's name in the file.
LEAGUES = {
    "football_epl": "English Premier League",
    "football_laliga": "Primera Division",
    "football_seriea": "Serie A",
    "football_bundesliga": "Deutsche Bundesliga",
    "football_austria": "Österreichische Bundesliga",
}
SEASON = ("2016-07-01", "2017-06-30")


def read_season(raw: bytes, division: str) -> pd.DataFrame:
    """Return the matches of one division in the season 2016-17: date, home, away, home_goals,
    away_goals.

    Raises ValueError when the file has no such division.
    """
    matches = pd.DataFrame(json.loads(raw)).rename(
        columns={
            "home_team": "home",
            "away_team": "away",
            "home_score": "home_goals",
            "away_score": "away_goals",
        }
    )
    matches = matches[(matches["division"] == division) & matches["date"].between(*SEASON)]
    if matches.empty:
        raise ValueError(
            f"football.json: no match of {division!r} in 2016-17; see its column 'division' for the names"
        )
    goals = ["home_goals", "away_goals"]
    return (
        matches[["date", "home", "away", *goals]]
        .astype(dict.fromkeys(goals, int))
        .reset_index(drop=True)
    )


def build_matches(raw: bytes, division: str) -> pd.DataFrame:
    """Return one row a match: entity 'Home v Away', the goals of each side and the margin (home
    minus away).

    >>> match = {"date": "2016-10-15", "division": "X", "home_team": "Ayr", "away_team": "Bo"}
    >>> raw = json.dumps([match | {"home_score": 1, "away_score": 3}]).encode()
    >>> build_matches(raw, "X").to_csv(index=False).split()[1:]
    ['2016-10-15,Ayr', 'v', 'Bo,1,3,-2']
    """
    matches = read_season(raw, division)
    rows = pd.DataFrame(
        {"occurred_at": matches["date"], "entity": matches["home"] + " v " + matches["away"]}
    )
    rows["home_goals"], rows["away_goals"] = matches["home_goals"], matches["away_goals"]
    rows["margin"] = matches["home_goals"] - matches["away_goals"]
    return cut_windows(rows, first=SEASON[0])


def build_standings(raw: bytes, division: str) -> pd.DataFrame:
    """Return the league table after each day: points, wins, goal_difference, goals_for, played and
    rank_score.

    Three points a win, one a draw. `rank_score` = points x 10,000 + goal difference x 100 + goals
    scored orders the table; head-to-head records and play-offs are not applied. Teams yet to play
    stand with zeros.
    """
    matches = read_season(raw, division)
    sides = pd.concat([list_side(matches, "home", "away"), list_side(matches, "away", "home")])
    sums = sides.groupby(["date", "entity"]).sum().unstack("entity", fill_value=0)
    days = pd.date_range(matches["date"].min(), LAST_A).strftime("%Y-%m-%d").rename("occurred_at")
    rows = (
        sums.reindex(days, fill_value=0).cumsum().stack("entity", future_stack=True).reset_index()
    )
    rows["goal_difference"] = rows["goals_for"] - rows.pop("goals_against")
    rows["rank_score"] = rows["points"] * 10_000 + rows["goal_difference"] * 100 + rows["goals_for"]
    columns = [
        "occurred_at",
        "entity",
        "points",
        "wins",
        "goal_difference",
        "goals_for",
        "played",
        "rank_score",
    ]
    return cut_windows(rows[columns])


def list_side(matches: pd.DataFrame, side: str, other: str) -> pd.DataFrame:
    """Return what the home or the away side took from each match: goals for and against, points,
    wins, played."""
    scored, conceded = matches[f"{side}_goals"], matches[f"{other}_goals"]
    return pd.DataFrame(
        {
            "date": matches["date"],
            "entity": matches[side],
            "goals_for": scored,
            "goals_against": conceded,
            "points": 3 * (scored > conceded) + (scored == conceded),
            "wins": (scored > conceded).astype(int),
            "played": 1,
        }
    )


def build_bakers(raw: bytes) -> pd.DataFrame:
    """Return each baker's result by episode of series 7: star_baker and eliminated (0 or 1), place
    in the technical.

    The final has no star baker and sends nobody home: its winner counts as star_baker, and
    eliminated is blank. Episodes went out weekly from 24 August 2016.
    """
    results = read_pickle(raw).query("series == 7").dropna(subset="result")
    aired = pd.Timestamp("2016-08-24") + pd.to_timedelta(7 * (results["episode"] - 1), unit="D")
    rows = pd.DataFrame({"occurred_at": aired.dt.strftime("%Y-%m-%d"), "entity": results["baker"]})
    rows["star_baker"] = results["result"].isin(["STAR BAKER", "WINNER"]).astype(int)
    rows["eliminated"] = (results["result"] == "OUT").astype("Int64").mask(results["episode"] == 10)
    rows["technical"] = results["technical"].astype(int)
    return cut_windows(rows, warmup="weekly")


def build_viewers(raw: bytes) -> pd.DataFrame:
    """Return viewers of each episode of series 7 within seven days (millions)."""
    ratings = (
        read_pickle(raw)
        .query("series == 7")
        .rename(columns={"uk_airdate": "occurred_at", "viewers_7day": "viewers"})
    )
    rows = ratings.assign(entity="Bake Off")[["occurred_at", "entity", "viewers"]]
    return cut_windows(rows, warmup="weekly")


BUILDS = {"gbbo": build_bakers, "gbbo_viewers": build_viewers}
"""Source id -> what makes its rows of the bytes of its files."""
for _name, _division in LEAGUES.items():
    BUILDS[_name] = partial(build_standings, division=_division)
    BUILDS[f"{_name}_matches"] = partial(build_matches, division=_division)
