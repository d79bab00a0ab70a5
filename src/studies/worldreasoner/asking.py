"""An agent of data/agents.toml under one of the paper's six conditions, in a run of one's own
(WorldReasoner 5.1).

A condition is a method of asking a model and a moment of a question's life. Agents that search in a
way of their own keep it where a search is all that is asked for; those that look things up turn by
turn have the condition's steps.
"""

from typing import NamedTuple

from daybefore.agents.asked import describe_condition
from daybefore.agents.registry import FUNCTION, GRAPH_METHODS, PROMPTED
from daybefore.agents.runs import sees_today
from helpers.faults import list_nearest
from studies.worldreasoner.conditions import CONDITIONS, NAMES, OPEN, OWN_SEARCH, STEPS

BY_TURNS = ("react", "tool_search")
"""Methods that are turn by turn: under a condition with a graph their agents add events so, too, as
in the paper."""
SHORT = {"causal": NAMES[1], "search": NAMES[2], "search graph": NAMES[3], "near": NAMES[4]}
"""Other words for a condition."""


class Plan(NamedTuple):
    """How a run asks: the paper's condition and its method (None without one), and the moment as an
    arm says it."""

    condition: str | None
    method: str | None
    arm: dict

    @property
    def moment(self):
        """The point of a question's life, or Real-Time for what is asked after it."""
        return OPEN if "days_after" in self.arm else self.arm.get("horizon") or "Mid"

    @property
    def label(self):
        """The condition of the run as the table runs has it, None for the usual one."""
        if self.moment == OPEN:
            if self.condition is None:
                return describe_condition(self.arm)
            return f"{OPEN}, no forecast: asked a day after the resolution"
        arm = {name: value for name, value in self.arm.items() if value not in (None, "Mid")}
        is_own = CONDITIONS.get((self.method, self.moment)) == self.condition
        return ", ".join(
            filter(
                None,
                [self.condition, None if self.condition and is_own else describe_condition(arm)],
            )
        )


def find_condition(text):
    """Return the paper's name of a condition, written in any case or short. Raises ValueError with
    the nearest one.

    >>> [find_condition(text) for text in ("vanilla", "SEARCH-GRAPH", "search", "real-time", "near")]
    ['Vanilla', 'Search-Enabled Graph', 'Search-Enabled', 'Real-Time', 'Near-Resolution']
    """
    known = {name.lower().replace("-", " "): name for name in NAMES} | SHORT
    if name := known.get(text.lower().replace("-", " ")):
        return name
    raise ValueError(f"no condition is called {text!r}{list_nearest(text, NAMES, '')}")


def plan_run(condition, horizon, window, references=None, days_after=None):
    """Return the Plan of a run from what its command line says; all but the window may be None.

    `days_after`: asked so many days after the resolution (FutureX 4.5.1), which excludes a
    condition and a horizon. Raises ValueError for a condition that is none, of a window without
    reference events, or whose moment is another. Windows L and W have such events, others where a
    file of graphs is given.
    """
    if days_after is not None:
        if condition or horizon:
            other = "--condition" if condition else "--horizon"
            raise ValueError(f"--days-after is a moment of its own; leave {other} out")
        return Plan(None, None, {"days_after": days_after})
    if condition is None:
        return Plan(None, None, {} if horizon is None else {"horizon": horizon})
    name = find_condition(condition)
    if window not in ("L", "W") and not references:
        told = "reference events, which long and worldreasoner alone have"
        raise ValueError(
            f"--condition {name} needs {told}; for another set --references names a file of graphs"
        )
    method, moment = next(key for key, value in CONDITIONS.items() if value == name)
    if horizon and moment != "Mid" and horizon != moment:
        when = "a day after the resolution" if moment == OPEN else f"at {moment}"
        raise ValueError(f"{name} is asked {when}; leave --horizon {horizon} out")
    if moment == OPEN:
        return Plan(name, method, {"days_after": 1})  # as the recorded arm
    moment = horizon or moment
    named = CONDITIONS.get(
        (method, moment), name
    )  # Search-Enabled Graph at Near is Near-Resolution
    return Plan(named, method, {} if moment == "Mid" else {"horizon": moment})


def take_condition(agent_id, entry, plan):
    """Return an agent's entry as its model is asked under a plan: the condition's method in place
    of its own.

    Raises ValueError, one sentence, for an agent that cannot be asked so.
    """
    name = plan.condition
    method = entry["method"]
    if name is None:
        return entry
    if entry["category"] == "baseline" or method not in (FUNCTION, *PROMPTED):
        raise ValueError(
            f"{agent_id} asks no model, so it has no condition; it stands beside any run"
        )
    if sees_today(entry | {"params": entry}):
        raise ValueError(
            f"{agent_id} searches the web as it is today, so no condition as of a moment holds for it"
        )
    wanted = plan.method
    keeps = method in (FUNCTION, *OWN_SEARCH)
    if method in BY_TURNS and wanted != "zero_shot":
        entry = {"max_steps": STEPS[NAMES.index(name)]} | entry
        if wanted in GRAPH_METHODS:
            wanted = f"{wanted}_turns"
            keeps = False
    if wanted == "search_prompt" and keeps:
        return entry
    own = (
        "is a Python function"
        if method == FUNCTION
        else f"searches by a method of its own ({method})"
    )
    if keeps and wanted in GRAPH_METHODS:
        raise ValueError(
            f"{agent_id} {own} and submits no graph, which {name} asks for; Search-Enabled is its condition"
        )
    if method == FUNCTION:
        raise ValueError(
            f"{agent_id} {own}, which may search, and {name} allows none; Search-Enabled is its condition"
        )
    if method == wanted:
        return entry
    return entry | {"category": PROMPTED[wanted].category, "framework": wanted, "method": wanted}
