"""Window P: FutureX's past questions from the public file, built anew wherever they are needed and kept nowhere."""

from functools import lru_cache

from helpers.agents.past import load_past_agents
from helpers.boards.files import locate_public
from helpers.calendar import PUBLIC_WINDOWS
from helpers.formats.futurex import build_events, read_past, screen_rows
from helpers.store import read_table

FILE = "futurex_past/forecast_eval_set.db"
"""The set that window P is made of."""

NEWS = "news/current_events.tar.gz"
"""What agents may search in window P."""


@lru_cache(maxsize=8)
def build_past(name=FILE, **settings):
    """Return (events, answers, dropped rows) of window P. `settings`: `days_before`; raises what `locate_public` does.

    The tables are shared by all callers: take copies.
    """
    rows, dropped = screen_rows(read_past(locate_public(name)))
    return *build_events(rows, **settings), dropped


def read_window(name, window):
    """Return the table `events` or `answers` of any window: those of a public one are built from its file.

    Raises FileNotFoundError that says what to do when the file is not there.
    """
    if window not in PUBLIC_WINDOWS:
        return read_table(name, window)
    events, answers, _ = build_past()
    return {"events": events, "answers": answers}[name].copy()


def list_articles(window):
    """Return the paths of what a window's world publishes beside the replay: for a public window dated news.

    Raises FileNotFoundError that says what to do when the file is not there.
    """
    return [locate_public(NEWS)] if window in PUBLIC_WINDOWS else []


def name_arm(arm_id):
    """Return how the agent of a public window's arm is called beside others.

    >>> name_arm("qwen_search_prompt-P"), name_arm("qwen_search_prompt-P-another")
    ('qwen_search_prompt', 'qwen_search_prompt, another')
    """
    agent, *more = arm_id.split("-P")
    return ", ".join([agent, *(part.strip("-") for part in more if part)])


def choose_baselines(window, entries, agents, names):
    """Return (entries, agents) of the registry with the baselines that a window's events allow.

    Public questions have no series: what reads one is left out, and `agents.past` stands in its place. Raises
    ValueError when one of `names` is left out.
    """
    if window not in PUBLIC_WINDOWS:
        return entries, agents
    events, answers, _ = build_past()
    own = load_past_agents(events, answers)
    unfit = {name for name, agent in agents.items() if agent["category"] == "baseline"} - set(own)
    for name in sorted(unfit & set(names)):
        raise ValueError(
            f"{name} reads a source's series, and the questions of window {window} have none; its baselines are "
            f"{', '.join(own)}"
        )
    kept = {name: entry for name, entry in entries.items() if name not in unfit}
    made = {name: {"category": "baseline", "method": name} for name in own}
    return kept | made, {name: agent for name, agent in agents.items() if name not in unfit} | own
