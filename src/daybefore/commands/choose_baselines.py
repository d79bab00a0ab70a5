"""Which baselines stand beside an agent on a question set."""

from collections.abc import Iterable

from daybefore.agents.baselines_of_answers import load_consensus_agent, load_past_agents
from daybefore.agents.baselines_of_series import load_path_agents
from daybefore.formats.public_sets import build_earnings
from daybefore.questions.open_sets import has_runs, read_window
from helpers.set_names import PUBLIC_WINDOWS, find_set


def name_default(window: str) -> str:
    """Return the baseline that stands beside an agent when none is named.

    >>> [name_default(window) for window in "ALPE"]
    ['last_value', 'walk', 'base_rate', 'consensus']
    """
    named = {"E": "consensus", "L": "walk"}
    return named.get(window) or ("base_rate" if lacks_series(window) else "last_value")


def lacks_series(window: str) -> bool:
    """Tell whether a window's questions have no series, as those of public files and of one's
    own."""
    return window in PUBLIC_WINDOWS or has_runs(find_set(window))


def choose_baselines(
    window: str, entries: dict, agents: dict, names: Iterable[str]
) -> tuple[dict, dict]:
    """Return (entries, agents) of the registry with the baselines that a window's events allow.

    Public questions have no series: `agents.baselines_of_answers` stands in the place of what reads one; window L
    has `agents.baselines_of_series`. Raises ValueError when one of `names` is left out.
    """
    if window == "L":
        own = load_path_agents()
    elif window == "E":
        own = load_consensus_agent(build_earnings()[2])
    elif lacks_series(window):
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
