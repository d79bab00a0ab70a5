"""FutureX's public leaderboard: pooled scores with ranks, their identities, factors and Findings 1 to 5 (4.1-4.4)."""

import json

import numpy as np
import pandas as pd

from helpers import papers
from helpers.public_files import locate_public
from public import boards, findings
from public.forecastbench import tidy_board

BOARD = "futurex/leaderboard.json"
FORECASTBENCH = {name: f"forecastbench/leaderboard_{name}.csv" for name in ("baseline", "tournament")}
SOURCES = {
    "futurex_board": [BOARD],
    "futurex_board_checks": [BOARD],
    "futurex_board_effects": [BOARD],
    "futurex_board_fit": [BOARD],
    "futurex_findings": [BOARD, *FORECASTBENCH.values()],
}
SEED = 20250720
N_DRAWS = 20_000
"""Boards drawn for the rank intervals."""
MIN_WEEKS = 4
"""A model seen in fewer weeks is "other" in the regression."""
POOLED_WEEKS = ["2025-07-W4", "2025-08-W1", "2025-08-W2"]
RENAMED = {"Seed-DouBao DR": "Seed-DouBao", "DouBao-Seed1.6-thinking": "Doubao-Seed1.6-Thinking"}
"""How the weeks name two models of the pooled board."""


def load_board():
    """Return the whole board as a table, a row an agent in a week or pooled (`boards.flatten_board`)."""
    return boards.flatten_board(json.loads(locate_public(BOARD).read_text(encoding="utf-8")), boards.load_frameworks())


def build():
    """Return the five tables of `SOURCES`: pooled scores, checks, effects, R2, findings."""
    board, rng = load_board(), np.random.default_rng(SEED)
    whole = board[board["week"] == "overall"].drop(columns=["week", "organization"])
    ranks = boards.simulate_ranks(whole, rng, N_DRAWS).drop(columns=["category", "overall"])
    effects, fit = explain_weeks(board)
    people = {name: tidy_board(pd.read_csv(locate_public(file))) for name, file in FORECASTBENCH.items()}
    found = findings.judge_boards(board, people)
    falls = findings.bound_falls(board, rng).query("length == 4").drop(columns="length")
    falls = falls.rename(columns={"low": "low_by_block", "high": "high_by_block"})
    return {
        "futurex_board": whole.merge(ranks, on=["model", "framework"], validate="1:1"),
        "futurex_board_checks": pd.DataFrame(list_checks(board), columns=["check", "n", "holds"]),
        "futurex_board_effects": effects,
        "futurex_board_fit": fit,
        "futurex_findings": found.merge(falls, on="id", how="left"),
    }


def list_checks(board):
    """Yield what the board's numbers are made of: (check, number of rows or weeks, number of them that hold)."""
    weekly, rebuilt = board[board["week"] != "overall"], boards.rebuild_overall(board)["status"]
    yield "overall is the weighted mean of the levels", len(board), (rebuilt != "disagrees").sum()
    least, renamed = papers.get_constant("futurex", "min_events_per_level"), board.copy()
    cells = boards.melt_levels(board.fillna(dict.fromkeys(boards.SCORES, -1))).dropna(subset="n")
    is_hidden = cells["score"] == -1
    yield (
        f"a level is hidden where it has fewer than {least} events",
        len(cells),
        (is_hidden == (cells["n"] < least)).sum(),
    )
    pooled = boards.pool_weeks(board, POOLED_WEEKS)["is_pooled"]
    yield "a pooled row is three weeks weighted by events", len(pooled), pooled.sum()
    is_flash = (board["framework"] == "Deep-Research") & (board["model"] == "Gemini-2.5-Pro")
    renamed.loc[is_flash & (board["week"] == POOLED_WEEKS[-1]), "model"] = "Gemini-2.5-flash"
    pooled = boards.pool_weeks(renamed.assign(model=renamed["model"].replace(RENAMED)), POOLED_WEEKS)["is_pooled"]
    yield "the same, with three names mended", len(pooled), pooled.sum()
    falls = (board.loc[board["week"] == "overall", boards.SCORES].diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    yield "a pooled row falls at each step from level 1 to 4", len(falls), falls.sum()
    yield "weeks with base models", weekly["week"].nunique(), weekly.query("category == 'base_model'")["week"].nunique()
    for week in POOLED_WEEKS:
        yield (
            f"most events of an agent in {week}",
            weekly["n_events"].max(),
            weekly.query("week == @week")["n_events"].max(),
        )


def explain_weeks(board):
    """Return (effects, R2) of weekly level scores on model, kind of agent, level and week (`boards.explain_scores`)."""
    cells = boards.melt_levels(board[board["week"] != "overall"])
    cells["model"] = cells["agent_id"].str.split(" | ", regex=False).str[0]
    n_weeks = cells["week"].groupby(cells["model"]).transform("nunique")
    cells["model"] = cells["model"].where(n_weeks >= MIN_WEEKS, "other")
    effects, fit = boards.explain_scores(cells, ["model", "category", "level", "week"])
    return effects, fit.assign(n=len(cells))
