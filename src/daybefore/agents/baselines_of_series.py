"""Baselines of window L: futures drawn from what a series did before, answered by the rule that
settles the question.

As of a moment the series' past stretches of the same length are what may come: as they were
(`past_levels`), or as changes since the last value (`walk`; `season` takes stretches that began at
the same time of year). `opening` is a walk that never looks again after the question's opening:
what a later look adds is measured against it. `uniform` knows the answer's form alone.
"""

from functools import lru_cache

import numpy as np
import pandas as pd

from daybefore.agents.baselines import QUANTILES, list_baselines, seed_draws, state_number
from daybefore.questions.fill_templates import step_dates
from daybefore.questions.long_questions import cut_series, load_series
from daybefore.questions.question_types import resolve_draws
from helpers.files import dump_json, hash_text, parse_json

N_PATHS = 104
"""Most past stretches that are drawn on, the latest: two years of weeks."""
SEASON_DAYS, MIN_SEASON, YEAR = 28, 3, 365.25
"""A stretch is of the same time of year when it began within so many days of it; with fewer of them
all are taken."""

METHODS = ("uniform", "past_levels", "opening", "walk", "season")


def load_path_agents():
    """Return the baselines of window L by name, as `run_loop.run_agents` takes them."""
    digest = hash_text(dump_json([N_PATHS, SEASON_DAYS, MIN_SEASON, sorted(load_series())]), 12)
    return list_baselines(forecast_from_paths, METHODS, paths=digest)


def forecast_from_paths(method, event, world=None):
    """Answer one question by a method: returns the outcome that `run_loop.run_agents` stores; the
    world is not looked at.

    Raises ValueError where what is asked was public by then.
    """
    variables = parse_json(event["variables"])
    options = parse_json(event["options"])
    names = (
        tuple(sorted(variables["reference"]))
        if variables["ask"] == "leader"
        else (variables["entity"],)
    )
    as_of = event["opens_at"] if method == "opening" else event["as_of"]
    known, values = cut_values(event["source_id"], variables["variable"], names, as_of)
    source = load_series()[event["source_id"]]
    ahead = step_dates(source.update_frequency, known[-1], variables["date"])
    if not ahead:
        raise ValueError(f"{event['event_id']}: its answer was public by {as_of}")
    drawn = draw_paths(method, values, np.array(known, dtype="datetime64[D]"), len(ahead))
    paths = np.maximum(drawn, source.variables[variables["variable"]].get("least", -np.inf))
    rng = seed_draws(method, event)
    if event["kind"] == "number":
        ends = paths[:, -1, 0]
        quantiles = np.quantile(ends, QUANTILES).round(6).tolist()
        prediction = state_number(
            rng.choice(ends) if method == "uniform" else np.median(ends), quantiles
        )
    else:
        ends = (f"{variables[end][:7]}-01" for end in ("from_date", "date"))
        answers = options or [str(day.date()) for day in pd.date_range(*ends, freq="MS")]
        shares = dict.fromkeys(
            answers, 0.5
        )  # half a draw each: nothing is held for impossible (Jeffreys)
        if method != "uniform":
            given = resolve_paths(variables, names, known, values, ahead, paths)
            shares = {answer: given.count(answer) + 0.5 for answer in answers}
        distribution = {
            name: round(share / sum(shares.values()), 6) for name, share in shares.items()
        }
        value = max(shares, key=lambda name: (shares[name], rng.random()))  # drawn among equals
        prediction = {
            "value": value,
            "probability": distribution[value],
            "distribution": distribution,
        }
    note = f"{method}: {len(paths)} futures from {len(known)} past values, the last of {known[-1]}"
    return {
        "prediction": prediction | {"source_ids": []},
        "trace": [{"step_type": "answer", "content": note}],
    }


@lru_cache(maxsize=4096)
def cut_values(source_id, variable, names, as_of):
    """Return (dates, values) of some entities of a series that were public before a moment, where
    all have one."""
    table = cut_series(source_id, variable, as_of)[list(names)].dropna()
    return tuple(table.index), table.to_numpy(dtype=float)


def draw_paths(method, values, days, n_steps):
    """Return futures of so many steps (futures x steps x entities) from past stretches, the latest
    `N_PATHS`.

    Stretches as they were, or the last value and what came on top of earlier ones; for `season`
    those that began at the same time of year, unless there are too few.

    >>> values, days = np.array([[1.0], [2.0], [4.0], [7.0]]), np.arange(4).astype("datetime64[D]")
    >>> [draw_paths(method, values, days, 2)[:, :, 0].tolist() for method in ("past_levels", "walk")]
    [[[2.0, 4.0], [4.0, 7.0]], [[8.0, 10.0], [9.0, 12.0]]]
    """
    n = len(values) - n_steps
    stretches = values[np.arange(n)[:, None] + np.arange(1, n_steps + 1)]
    if method in ("uniform", "past_levels"):
        return stretches[-N_PATHS:]
    if method == "season":
        back = (days[-1] - days[:n]).astype(int)
        apart = np.minimum(back % YEAR, YEAR - back % YEAR)
        chosen = (apart <= SEASON_DAYS) & (back > YEAR / 2)
        if chosen.sum() >= MIN_SEASON:
            return values[-1] + (stretches - values[:n, None, :])[chosen]
    return (values[-1] + stretches - values[:n, None, :])[-N_PATHS:]


def resolve_paths(variables, names, known, values, ahead, paths):
    """Return the answer that each drawn future gives, by the rule that settles the question, for
    all of them at once.

    The same as `long_questions.resolve_question` of each future after what is known, at a
    thousandth of the time.
    """
    if variables["ask"] == "peak":
        dates = [*known, *ahead]
        first = sum(date < variables["from_date"] for date in dates)
        past = np.broadcast_to(values[:, 0], (len(paths), len(values)))
        places = first + np.argmax(np.hstack([past, paths[:, :, 0]])[:, first:], axis=1)
        return [f"{dates[place][:7]}-01" for place in places]
    ends = paths[:, -1]
    if variables.get("by") == "gain":
        ends = ends / np.array([variables["reference"][name] for name in names])
    return resolve_draws(variables, names, ends)
