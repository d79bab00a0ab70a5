"""FutureX's public leaderboard: pooled scores with ranks, their identities, factors and Findings 1
to 5 (4.1-4.4)."""

import json

import numpy as np
import pandas as pd

from helpers.public_files import locate_public
from studies.futurex import public_leaderboard
from studies.futurex.public_leaderboard_findings import judge_boards, judge_decline, tidy_board

BOARD = "futurex/leaderboard.json"
FORECASTBENCH = {
    name: f"forecastbench/leaderboard_{name}.csv" for name in ("baseline", "tournament")
}
SOURCES = {
    "futurex_board": [BOARD],
    "futurex_board_checks": [BOARD],
    "futurex_findings": [BOARD, *FORECASTBENCH.values()],
    "futurex_two_weeks": [BOARD],
    "futurex_backbones": [BOARD],
    "futurex_gaps": [BOARD],
}
SEED = 20250720
N_DRAWS = 20_000
"""Boards drawn for the rank intervals."""
TEST_ROWS = 1
"""The `testType` of rows that the site marks; what the mark means it does not say."""


def load_board():
    """Return the whole board as a table, a row an agent in a week or pooled
    (`public_leaderboard.flatten_board`)."""
    return public_leaderboard.flatten_board(
        json.loads(locate_public(BOARD).read_text(encoding="utf-8")),
        public_leaderboard.load_frameworks(),
    )


def build():
    """Return the tables of `SOURCES`: pooled scores, checks, findings, two weeks, backbones in
    pairs, gaps."""
    board, rng = load_board(), np.random.default_rng(SEED)
    whole = board[board["week"] == "overall"].drop(columns=["week", "organization", "test_type"])
    people = {
        name: tidy_board(pd.read_csv(locate_public(file))) for name, file in FORECASTBENCH.items()
    }
    unmarked = pd.DataFrame(judge_decline(board[board["test_type"] != TEST_ROWS]))
    unmarked = unmarked[["id", "value", "low", "high", "n"]]
    found = judge_boards(board, people)
    return {
        "futurex_board": public_leaderboard.simulate_ranks(whole, rng, N_DRAWS),
        "futurex_board_checks": pd.DataFrame(
            public_leaderboard.list_checks(board), columns=["check", "n", "holds"]
        ),
        "futurex_findings": found.merge(unmarked, on="id", how="left", suffixes=("", "_unmarked")),
        "futurex_two_weeks": public_leaderboard.rank_two_weeks(
            board, np.random.default_rng(SEED), N_DRAWS
        ),
        "futurex_backbones": public_leaderboard.pair_backbones(whole),
        "futurex_gaps": public_leaderboard.list_gaps(board),
    }
