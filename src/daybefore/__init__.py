"""Daybefore from Python, in six names, and the command `daybefore` (daybefore.commands.main).

from daybefore import compare, draw, events, predictions, run, score

run("my_agent", limit=20)                  # or run(my_function): asks it and the baselines; nothing is asked twice
rows = predictions("my_agent")             # a row an event
score(rows)                                # the scores of these rows, or of any with event_id and value
compare("my_agent", "arima")["pairs"]      # paired differences with intervals by source
draw("my_agent")                           # the papers' figures with it: the path of a page
"""

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    Agent = str | Callable

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


def events(question_set: str = "october-2016") -> "pd.DataFrame":
    """Return the questions of a set (its name, its folder, or a file of your questions) as a
    DataFrame."""
    from daybefore.commands.question_file import open_set
    from daybefore.questions.open_sets import read_window

    return read_window("events", open_set(question_set).window)


def run(
    agent: "Agent | list[Agent]",
    question_set: str = "october-2016",
    limit: int | None = None,
    **settings: Any,
) -> dict[str, dict]:
    """Put an agent (or a list of them) to a set's questions beside the baselines; returns {agent:
    its results.json}.

    An agent is a name, or a function of your own, `async` or not (docs/own-agent.md). `settings`
    are those of `daybefore run`: ceiling_usd, n_samples, horizon, retry ... Raises ValueError as it
    does; an agent that was stopped part-way is told.
    """
    from daybefore.commands.question_file import open_set
    from daybefore.commands.run_service import run_set

    names = list(agent) if isinstance(agent, (list, tuple)) else [agent]
    done = run_set(names, open_set(question_set).window, limit, **settings)
    print("\n".join([done.text, *done.stops]))
    return done.found


def predictions(agents: str | list[str] = "", question_set: str = "october-2016") -> "pd.DataFrame":
    """Return the predictions of the baselines, the recorded models and the agents named, a row an
    event and agent."""
    from daybefore.commands.question_file import open_set
    from daybefore.scoring.run_scores import list_names, load_scores

    made = load_scores(open_set(question_set).name, agents).predictions
    names = list_names(agents)
    return made[made["agent_id"].isin(names)].reset_index(drop=True) if names else made


def score(predictions: "pd.DataFrame", question_set: str = "october-2016") -> "pd.DataFrame":
    """Return the scores of predictions: columns event_id and value (JSON text), agent_id and
    distribution if any.

    FutureX 3.4.3; a missing prediction (a blank value) is not dropped: its `score_imputed` is 0.
    """
    from daybefore.commands.question_file import open_set
    from daybefore.questions.open_sets import read_window
    from helpers.scores import score_predictions

    window = open_set(question_set).window
    given = {"agent_id": "mine", "sample": 0, "status": "ok"}
    rows = predictions.assign(
        **{name: value for name, value in given.items() if name not in predictions}
    )
    rows = rows if "run_id" in rows else rows.assign(run_id=rows["agent_id"])
    return score_predictions(rows, read_window("answers", window), read_window("events", window))


def compare(*agents: str, question_set: str = "october-2016") -> dict[str, "pd.DataFrame"]:
    """Return {"pairs", "leaderboard"}, DataFrames of `daybefore compare`, which writes them and a
    page, too."""
    import pandas as pd

    from daybefore.commands.compare import main as compare_runs
    from daybefore.commands.question_file import open_set

    found = compare_runs(agents, open_set(question_set).window)
    return {name: pd.DataFrame(found[name]) for name in ("pairs", "leaderboard")}


def draw(agents: str | list[str], question_set: str | None = None) -> dict[str, "Path"]:
    """Draw the papers' figures with these agents; returns {question set: the path of its index
    page}."""
    from pathlib import Path

    from daybefore.commands.own_figures import main as draw_figures

    names = agents if isinstance(agents, str) else " ".join(agents)
    sets = draw_figures(names, question_set)["sets"]
    return {name: Path(made["folder"]) / "index.html" for name, made in sets.items()}


def main() -> object:
    """Run the command; says so when another project's package `helpers` stands before ours."""
    try:
        from daybefore.commands.main import main as run_command
    except ImportError:
        spec = find_spec("helpers")
        place = spec and (spec.origin or next(iter(spec.submodule_search_locations or ())))
        sys.exit(
            f"daybefore: its package `helpers` is wanted, and what Python finds under that name is {place}; install "
            "Daybefore into an environment of its own, and look at PYTHONPATH"
        )
    try:
        return run_command()
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            leave()
        raise


def leave() -> NoReturn:
    """End an interrupted process at once: a plain exit takes seconds, in which a model's replies
    come and are lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
