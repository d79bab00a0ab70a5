"""Question sets that are built anew from public files wherever they are needed, and kept nowhere.

FutureX's past questions (P), markets with their prices (M), WorldReasoner's own (W), companies'
earnings (E). A set's set.toml names what builds it (`helpers.sets`).
"""

import json
import os
from functools import lru_cache
from pathlib import Path

from daybefore.formats import earnings_questions, worldreasoner_questions
from daybefore.formats.forecastbench_questions import build_markets, read_questions, word_events
from daybefore.formats.futurex_questions import build_events, read_past, screen_rows
from helpers.public_files import locate_public
from helpers.tables import check_table

FILE = "futurex_past/forecast_eval_set.db"
"""The set that window P is made of."""

MARKETS = "forecastbench/market_price_history.csv"
"""The prices of window M's questions."""

QUESTION_SETS = tuple(
    f"forecastbench/{day}-llm.json" for day in ("2025-10-26", "2025-11-23", "2026-01-18")
)
"""The sets that hold their wording."""

CARDS, CARD_PRICES = (
    "worldreasoner/questions_with_event_cards.json",
    "worldreasoner/market_prices.csv",
)
"""Window W's questions with event cards, and the prices of those that are markets."""

EARNINGS, OWN_EARNINGS = "agents/futurex_lanian/25sp500.json", "DAYBEFORE_EARNINGS"
"""Window E's questions, and the environment variable that names a reader's own file in their
place."""


@lru_cache(maxsize=1)
def build_past():
    """Return (events, answers, dropped rows) of window P, shared by all callers; raises what
    `locate_public` does."""
    rows, dropped = screen_rows(read_past(locate_public(FILE)))
    return *build_events(rows), dropped


@lru_cache(maxsize=1)
def build_priced():
    """Return (events, answers, prices) of window M, shared by all callers; raises what
    `locate_public` does."""
    questions = {}
    for name in QUESTION_SETS:
        questions |= read_questions(locate_public(name))
    events, answers, prices = build_markets(locate_public(MARKETS))
    events = word_events(events, questions)
    answers = check_table("answers", answers[answers["event_id"].isin(events["event_id"])])
    return (
        events,
        answers,
        prices[prices["question_id"].isin(events["event_id"])].reset_index(drop=True),
    )


@lru_cache(maxsize=1)
def build_cards():
    """Return (events, answers, prices, questions) of window W, shared by all callers; raises what
    `locate_public` does.

    `questions` are the file's own, with their event cards, by event_id.
    """
    given = worldreasoner_questions.select_questions(
        json.loads(locate_public(CARDS).read_text(encoding="utf-8"))
    )
    events, answers = worldreasoner_questions.build_events(given)
    prices = worldreasoner_questions.read_prices(locate_public(CARD_PRICES), events)
    return (
        events,
        answers,
        prices,
        {f"{worldreasoner_questions.SOURCE_ID}-{row['id']}": row for row in given},
    )


def build_earnings():
    """Return (events, answers, consensus) of window E (`formats.earnings_questions`), of a reader's own file
    where one is named.

    Raises what `locate_public` does, and Problems of one's own file.
    """
    own = os.environ.get(OWN_EARNINGS)
    return _build_earnings(Path(own).resolve() if own else locate_public(EARNINGS))


@lru_cache(maxsize=2)
def _build_earnings(path):
    return earnings_questions.build_events(earnings_questions.read_earnings(path))


PRICED = {"M": build_priced, "W": build_cards}
"""Windows whose third table is the market's prices."""
