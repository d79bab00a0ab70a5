"""Windows that the replay web does not pose: FutureX's past (P), markets (M), WorldReasoner's own (W), long series (L),
companies' earnings (E).

Those of P, M, W and E are built anew from the public files wherever they are needed, and kept nowhere.
"""

import contextlib
import json
import os
from functools import lru_cache, partial
from pathlib import Path

from daybefore.agents.past import load_consensus_agent, load_past_agents
from daybefore.agents.simulate import load_path_agents
from daybefore.formats import earnings, worldreasoner
from daybefore.formats.forecastbench import build_markets, read_questions, word_events
from daybefore.formats.futurex import build_events, read_past, screen_rows
from daybefore.questions.series_pages import open_series
from daybefore.scoring.runs import has_runs
from daybefore.web.replay import Replay, open_world
from daybefore.web.session import Web
from helpers.files import read_table
from helpers.public_files import locate_public
from helpers.question_sets import PUBLIC_WINDOWS, find_set, is_day
from helpers.sets import load_set
from helpers.tables import check_table

FILE = "futurex_past/forecast_eval_set.db"
"""The set that window P is made of."""

MARKETS = "forecastbench/market_price_history.csv"
"""The prices of window M's questions."""

QUESTION_SETS = tuple(f"forecastbench/{day}-llm.json" for day in ("2025-10-26", "2025-11-23", "2026-01-18"))
"""The sets that hold their wording."""

CARDS, CARD_PRICES = "worldreasoner/questions_with_event_cards.json", "worldreasoner/market_prices.csv"
"""Window W's questions with event cards, and the prices of those that are markets."""

NEWS = "news/current_events.tar.gz"
"""What agents may search in public windows."""


@lru_cache(maxsize=1)
def build_past():
    """Return (events, answers, dropped rows) of window P, shared by all callers; raises what `locate_public` does."""
    rows, dropped = screen_rows(read_past(locate_public(FILE)))
    return *build_events(rows), dropped


@lru_cache(maxsize=1)
def build_priced():
    """Return (events, answers, prices) of window M, shared by all callers; raises what `locate_public` does."""
    questions = {}
    for name in QUESTION_SETS:
        questions |= read_questions(locate_public(name))
    events, answers, prices = build_markets(locate_public(MARKETS))
    events = word_events(events, questions)
    answers = check_table("answers", answers[answers["event_id"].isin(events["event_id"])])
    return events, answers, prices[prices["question_id"].isin(events["event_id"])].reset_index(drop=True)


@lru_cache(maxsize=1)
def build_cards():
    """Return (events, answers, prices, questions) of window W, shared by all callers; raises what `locate_public` does.

    `questions` are the file's own, with their event cards, by event_id.
    """
    given = worldreasoner.select_questions(json.loads(locate_public(CARDS).read_text(encoding="utf-8")))
    events, answers = worldreasoner.build_events(given)
    prices = worldreasoner.read_prices(locate_public(CARD_PRICES), events)
    return events, answers, prices, {f"{worldreasoner.SOURCE_ID}-{row['id']}": row for row in given}


EARNINGS, OWN_EARNINGS = "agents/futurex_lanian/25sp500.json", "DAYBEFORE_EARNINGS"
"""Window E's questions, and the environment variable that names a reader's own file in their place."""


def build_earnings():
    """Return (events, answers, consensus) of window E (`formats.earnings`), of a reader's own file where one is named.

    Raises what `locate_public` does, and Problems of one's own file.
    """
    own = os.environ.get(OWN_EARNINGS)
    return _build_earnings(Path(own).resolve() if own else locate_public(EARNINGS))


@lru_cache(maxsize=2)
def _build_earnings(path):
    return earnings.build_events(earnings.read_earnings(path))


PRICED = {"M": build_priced, "W": build_cards}
"""Windows whose third table is the market's prices."""
BUILDERS = PRICED | {"P": build_past, "E": build_earnings}
"""Public window -> what returns its events, answers and more, shared by all callers."""


def read_window(name, window):
    """Return the table `events` or `answers` of any window: those of a public one are built from its file."""
    if window not in BUILDERS:
        one = find_set(window)
        return check_table(name, getattr(load_set(one.folder), name)) if has_runs(one) else read_table(name, window)
    return BUILDERS[window]()[("events", "answers").index(name)].copy()


def list_articles(window):
    """Return the paths of what a window's world publishes beside the replay: for a public window dated news.

    They begin after the questions of window E, which has none.
    """
    return [locate_public(NEWS)] if window in PUBLIC_WINDOWS and window != "E" else []


@contextlib.contextmanager
def open_window(window, articles=(), **options):
    """Start the world of a window; yields a function that returns a world to search (`replay.open_world`).

    Window L's has its series' pages, and articles where there are some (`questions.series_pages`); the world of a set
    of questions of one's own has articles alone.
    """
    if is_own(window):
        with open_articles(articles) as opener:
            yield opener
    elif window == "L":
        articles = tuple(str(Path(path).resolve()) for path in articles)
        open_series(articles)  # here, so that what is wrong with them is told before anything is asked
        yield partial(open_series, articles)
    else:
        with open_world(day=window if is_day(window) else None, articles=articles, **options) as opener:
            yield opener


def open_articles(articles=()):
    """Return a context whose value returns a world of dated articles alone; without any nothing is in it."""
    pages = Replay({}, articles=[str(Path(path).resolve()) for path in articles])
    return contextlib.nullcontext(partial(Web, pages, {}, pages.feeds, keeps_pages=True))


def is_own(window):
    """Tell whether a set has its tables in its folder, as questions of one's own and of other projects have."""
    return not is_day(window) and has_runs(find_set(window))


def name_default(window):
    """Return the baseline that stands beside an agent when none is named.

    >>> [name_default(window) for window in "ALPE"]
    ['last_value', 'walk', 'base_rate', 'consensus']
    """
    if window == "E":
        return "consensus"
    if window == "L":
        return "walk"
    return "base_rate" if window in PUBLIC_WINDOWS or is_own(window) else "last_value"


def name_arm(arm_id):
    """Return how the agent of a public window's arm is called beside others.

    >>> name_arm("qwen_search_prompt-P"), name_arm("qwen_search_prompt-P-another")
    ('qwen_search_prompt', 'qwen_search_prompt, another')
    """
    agent, *more = arm_id.split("-P")
    return ", ".join([agent, *(part.strip("-") for part in more if part)])


def choose_baselines(window, entries, agents, names):
    """Return (entries, agents) of the registry with the baselines that a window's events allow.

    Public questions have no series: `agents.past` stands in the place of what reads one; window L has
    `agents.simulate`. Raises ValueError when one of `names` is left out.
    """
    if window == "L":
        own = load_path_agents()
    elif window == "E":
        own = load_consensus_agent(build_earnings()[2])
    elif window in PUBLIC_WINDOWS or is_own(window):
        own = load_past_agents(*(read_window(name, window) for name in ("events", "answers")))
    else:
        return entries, agents
    unfit = {name for name, agent in agents.items() if agent["category"] == "baseline"} - set(own)
    for name in sorted(unfit & set(names)):
        raise ValueError(
            f"{name} reads a source's page, and the questions of {find_set(window).name} have none; its baselines are "
            f"{', '.join(own)}"
        )
    kept = {name: entry for name, entry in entries.items() if name not in unfit}
    made = {name: {"category": "baseline", "method": name} for name in own}
    return kept | made, {name: agent for name, agent in agents.items() if name not in unfit} | own
