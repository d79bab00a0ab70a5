"""FutureX's public leaderboard: the pooled rows, agent by agent (section 4.1)."""

import json

from helpers.futurex.boards import flatten_board, load_frameworks
from helpers.public_files import locate_public

BOARD = "futurex/leaderboard.json"
SOURCES = {"futurex_board": [BOARD]}


def build():
    """Return futurex_board: a row an agent of the pooled board, with its scores (points) and numbers of events."""
    board = flatten_board(json.loads(locate_public(BOARD).read_text(encoding="utf-8")), load_frameworks())
    return {"futurex_board": board[board["week"] == "overall"].drop(columns=["week", "organization"])}
