"""ForecastBench's people beside the best model: the baseline board's history, both boards now
(FutureX finding 5)."""

import pandas as pd

from helpers.public_files import locate_public
from studies.futurex.public_leaderboard_findings import (
    PEOPLE,
    compare_people,
    convert_history,
    tidy_board,
    trace_people,
)

HISTORY = "forecastbench/leaderboard_baseline_history.csv"
BOARDS = {name: f"forecastbench/leaderboard_{name}.csv" for name in ("baseline", "tournament")}
SOURCES = {"forecastbench_people": [HISTORY], "forecastbench_gaps": list(BOARDS.values())}


def build():
    """Return forecastbench_people (a row a snapshot) and forecastbench_gaps (a row a board and line
    of people)."""
    history = convert_history(pd.read_csv(locate_public(HISTORY)))
    rows = []
    for name, file in BOARDS.items():
        board = tidy_board(pd.read_csv(locate_public(file)))
        for people in PEOPLE:
            row = {"board": name} | compare_people(board, people)
            rows.append(row | {"n_rows": len(board)})
    return {
        "forecastbench_people": trace_people(history),
        "forecastbench_gaps": pd.DataFrame(rows),
    }
