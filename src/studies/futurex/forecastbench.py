"""ForecastBench's public leaderboards: the Brier index, the people's line, and the board's history.

A Brier index is 100 (1 - sqrt(Brier)): 100 is perfect, 50 is what always answering 0.5 gets.
"""

import math

import numpy as np
import pandas as pd

PEOPLE = {"superforecasters": "Superforecaster median forecast", "public": "Public median forecast"}
HOUSE = "ForecastBench"
"""As a model's organization: people, crowds and fixed rules, no single model."""


def tidy_board(board):
    """Return a leaderboard file as model, organization, overall (index), n, low, high (the printed
    95% interval).

    Raises KeyError when a column is absent: it is another version then.
    """
    names = {"Model": "model", "Model Organization": "organization", "Overall": "overall", "N": "n"}
    ends = board["Overall 95% CI"].str.strip("[]").str.split(",", expand=True).astype(float)
    return board[list(names)].rename(columns=names).assign(low=ends[0], high=ends[1])


def convert_history(history):
    """Return the board's snapshots with `overall` as Brier indices throughout: the first ones hold
    Brier scores."""
    history = history.sort_values(["snapshot_date", "rank"], kind="stable", ignore_index=True)
    is_brier = history.groupby("snapshot_date")["overall"].transform("max") <= 1
    overall = history["overall"].astype(float)
    return history.assign(overall=overall.where(~is_brier, 100 * (1 - np.sqrt(overall))))


def find_people(board, people):
    """Return a board's row of the superforecasters or the public. Raises LookupError unless there
    is one."""
    found = board[board["model"] == PEOPLE[people]]
    if len(found) != 1:
        raise LookupError(f"the board has {len(found)} rows for {people}; one is wanted")
    return found.iloc[0]


def trace_people(history):
    """Return a row a snapshot: the people's lines beside the best model's (crowds and fixed rules
    left out).

    Columns: snapshot_date, superforecasters, public (overall indices), model, best_model (its
    overall index), gap (superforecasters minus best model).
    """
    rows = []
    for date, board in history.groupby("snapshot_date"):
        row = {"snapshot_date": date} | {
            name: find_people(board, name)["overall"] for name in PEOPLE
        }
        models = board[board["model_organization"] != HOUSE]
        best = models.loc[models["overall"].idxmax()]
        row |= {"model": best["model"], "best_model": best["overall"]}
        rows.append(row | {"gap": row["superforecasters"] - row["best_model"]})
    return pd.DataFrame(rows)


def compare_people(board, people="superforecasters"):
    """Return how far the best model is behind the people on one board: gap, low, high in index
    points, and its names.

    The interval takes the two printed 95% intervals as independent: each end's distance from its
    estimate, squared and added. The questions are not the same (the people answered fewer), so it
    is a rough one.
    """
    models = board[board["organization"] != HOUSE]
    best = models.loc[models["overall"].idxmax()]
    line = find_people(board, people)
    gap = line["overall"] - best["overall"]
    low = gap - math.hypot(line["overall"] - line["low"], best["high"] - best["overall"])
    high = gap + math.hypot(line["high"] - line["overall"], best["overall"] - best["low"])
    row = {
        "people": people,
        "people_index": line["overall"],
        "n_people": line["n"],
        "best_model": best["model"],
    }
    return row | {
        "best_index": best["overall"],
        "n_best": best["n"],
        "gap": gap,
        "low": low,
        "high": high,
    }
