"""Baselines of window L: futures drawn from what a series did before, answered by the rule that settles the question.

As of a moment the series' past stretches of the same length are what may come: as they were (`past_levels`), or as
changes since the last value (`walk`; `season` takes stretches that began at the same time of year). `opening` is a walk
that never looks again after the question's opening: what a later look adds is measured against it. `uniform` knows the
answer's form alone.
"""

import zlib
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from helpers.agents.forecasters import QUANTILES, state_number
from helpers.events.horizons import load_series, name_month, read_series, step_dates
from helpers.store import dump_json, hash_text, parse_json

N_PATHS = 104
"""Most past stretches that are drawn on, the latest: two years of weeks."""
SEASON_DAYS, MIN_SEASON, YEAR = 28, 3, 365.25
"""A stretch is of the same time of year when it began within so many days of it; with fewer of them all are taken."""


def load_path_agents():
    """Return the baselines of window L by name, as `runs.run_agents` takes them."""
    about = {"category": "baseline", "framework": "statistics"}
    digest = hash_text(dump_json([N_PATHS, SEASON_DAYS, MIN_SEASON, sorted(load_series())]), 12)
    return {
        name: about | {"forecast": partial(forecast_from_paths, name), "params": {"method": name, "paths": digest}}
        for name in METHODS
    }


def forecast_from_paths(method, event, world=None):
    """Answer one question by a method: returns the outcome that `runs.run_agents` stores; the world is not looked at.

    Raises ValueError where what is asked was public by then.
    """
    variables, options = parse_json(event["variables"]), parse_json(event["options"])
    names = tuple(sorted(variables["reference"])) if variables["ask"] == "leader" else (variables["entity"],)
    as_of = event["opens_at"] if method == "opening" else event["as_of"]
    known, values = cut_values(event["source_id"], variables["variable"], names, as_of)
    source = load_series()[event["source_id"]]
    ahead = step_dates(source.update_frequency, known[-1], variables["date"])
    if not ahead:
        raise ValueError(f"{event['event_id']}: its answer was public by {as_of}")
    drawn = METHODS[method](values, np.array(known, dtype="datetime64[D]"), len(ahead))
    paths = np.maximum(drawn, source.variables[variables["variable"]].get("least", -np.inf))
    rng = np.random.default_rng(zlib.crc32(f"{method}:{event['event_id']}".encode()))
    if event["kind"] == "number":
        prediction = state_value(paths[:, -1, 0], rng if method == "uniform" else None)
    else:
        answers = list(options) if options else list_months(variables)
        shares = dict.fromkeys(answers, 0.5)  # half a draw each: nothing is held for impossible (Jeffreys)
        if method != "uniform":
            given = resolve_paths(variables, names, known, values, ahead, paths)
            shares = {answer: given.count(answer) + 0.5 for answer in answers}
        prediction = name_likeliest(shares, rng)
    note = f"{method}: {len(paths)} futures from {len(known)} past values, the last of {known[-1]}"
    return {"prediction": prediction | {"source_ids": []}, "trace": [{"step_type": "answer", "content": note}]}


@lru_cache(maxsize=512)
def read_values(source_id, variable, names):
    """Return (dates, values by date and name, moments of publication in seconds) where all the named have one."""
    table, moments = read_series(source_id, variable)
    is_whole = table[list(names)].notna().all(axis=1).to_numpy()
    seconds = moments.as_unit("s").asi8[is_whole]
    return tuple(table.index[is_whole]), table.loc[is_whole, list(names)].to_numpy(dtype=float), seconds


def cut_values(source_id, variable, names, as_of):
    """Return (dates, values) that were public before a moment, strictly: `horizons.cut_series` without its cost."""
    dates, values, seconds = read_values(source_id, variable, names)
    n = int(np.searchsorted(seconds, read_seconds(as_of)))
    return dates[:n], values[:n]


@lru_cache(maxsize=4096)
def read_seconds(moment):
    """Return a moment as epoch seconds."""
    return pd.Timestamp(moment).timestamp()


def cut_stretches(values, n_steps):
    """Return a series' past stretches (windows x steps x entities) and the value before each (windows x 1 x entities).

    >>> stretches, before = cut_stretches(np.array([[1.0], [2.0], [4.0], [7.0]]), 2)
    >>> stretches[:, :, 0].tolist(), before[:, 0, 0].tolist()
    ([[2.0, 4.0], [4.0, 7.0]], [1.0, 2.0])
    """
    n = len(values) - n_steps
    return values[np.arange(n)[:, None] + np.arange(1, n_steps + 1)], values[:n, None, :]


def draw_levels(values, days, n_steps):
    """Return past stretches as they were, the latest `N_PATHS`."""
    return cut_stretches(values, n_steps)[0][-N_PATHS:]


def draw_walks(values, days, n_steps):
    """Return the last value and what came on top of earlier ones in past stretches, the latest `N_PATHS`."""
    stretches, before = cut_stretches(values, n_steps)
    return (values[-1] + stretches - before)[-N_PATHS:]


def draw_seasons(values, days, n_steps):
    """Return walks whose past stretches began at the same time of year; all walks where there are too few."""
    stretches, before = cut_stretches(values, n_steps)
    back = (days[-1] - days[: len(stretches)]).astype(int)
    apart = back % YEAR
    chosen = (np.minimum(apart, YEAR - apart) <= SEASON_DAYS) & (back > YEAR / 2)
    if chosen.sum() < MIN_SEASON:
        return draw_walks(values, days, n_steps)
    return values[-1] + (stretches - before)[chosen]


METHODS = {
    "uniform": draw_levels,
    "past_levels": draw_levels,
    "opening": draw_walks,
    "walk": draw_walks,
    "season": draw_seasons,
}


def resolve_paths(variables, names, known, values, ahead, paths):
    """Return the answer that each drawn future gives, by the rule that settles the question, for all of them at once.

    The same as `horizons.resolve_question` of each future after what is known, at a thousandth of the time.
    """
    ask, ends = variables["ask"], paths[:, -1]
    if ask == "peak":
        dates = [*known, *ahead]
        first = sum(date < variables["from_date"] for date in dates)
        past = np.broadcast_to(values[:, 0], (len(paths), len(values)))
        places = first + np.argmax(np.hstack([past, paths[:, :, 0]])[:, first:], axis=1)
        return [name_month(dates[place]) for place in places]
    letters = variables["letters"]
    if ask == "leader":
        bars = np.array([variables["reference"][name] for name in names])
        places = np.argmax(ends / bars if variables.get("by") == "gain" else ends, axis=1)
        return [letters[names[place]] for place in places]
    if ask == "band":
        return [letters[str(place)] for place in np.searchsorted(variables["cuts"], ends[:, 0], side="right")]
    is_yes = ends[:, 0] > variables["reference"] if ask == "change" else ends[:, 0] >= variables["threshold"]
    return [letters["Yes" if flag else "No"] for flag in is_yes]


def state_value(ends, rng=None):
    """Return a number's prediction from drawn values: their median, or with `rng` one of them."""
    quantiles = dict(zip(map(str, QUANTILES), np.quantile(ends, QUANTILES).round(6).tolist(), strict=True))
    return state_number(np.median(ends) if rng is None else rng.choice(ends), quantiles)


def name_likeliest(shares, rng):
    """Return a prediction by the weight of each answer: the likeliest, drawn among equals.

    >>> name_likeliest({"A": 3, "B": 1}, np.random.default_rng(0))["probability"]
    0.75
    """
    total = sum(shares.values())
    distribution = {name: round(share / total, 6) for name, share in shares.items()}
    value = max(shares, key=lambda name: (shares[name], rng.random()))
    return {"value": value, "probability": distribution[value], "distribution": distribution}


def list_months(variables):
    """Return the months, by their first days, in which a timeframe question's value may be highest.

    >>> list_months({"from_date": "2024-01-28", "date": "2024-03-03"})
    ['2024-01-01', '2024-02-01', '2024-03-01']
    """
    first, last = name_month(variables["from_date"]), name_month(variables["date"])
    return [str(day.date()) for day in pd.date_range(first, last, freq="MS")]
