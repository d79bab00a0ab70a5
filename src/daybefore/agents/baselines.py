"""Baseline agents: what plain statistics forecast from the pages as of an event's start day.

A baseline expects a value for each entity on the event's date, with draws around it, and answers by
the same rule that resolves the event (`questions.question_types`), so every kind is covered and
every prediction comes with probabilities or quantiles.
"""

import zlib
from collections import Counter
from functools import lru_cache, partial
from math import fsum, sqrt
from statistics import median

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from daybefore.questions.fill_templates import pool_matches
from daybefore.questions.question_types import (
    NONE_LABEL,
    build_history,
    resolve_draws,
    resolve_event,
)
from helpers.files import dump_json, parse_json

METHODS = ("last_value", "seasonal", "mean", "smoothing", "arima", "base_rate", "random")
N_DRAWS = 400
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
N_MEAN = 7
MIN_FIT = 8
"""A model is fitted from so many values on; below, the mean of the last seven is used."""


def seed_draws(method, event):
    """Return the generator of a method's draws for an event."""
    return np.random.default_rng(zlib.crc32(f"{method}:{event['event_id']}".encode()))


def list_baselines(forecast, methods, **settings):
    """Return baselines by name, as `run_loop.run_agents` takes them; `settings` are what their
    answers depend on, too."""
    about = {"category": "baseline", "framework": "statistics"}
    return {
        name: about | {"forecast": partial(forecast, name), "params": {"method": name} | settings}
        for name in methods
    }


def lack(reason):
    """Return the outcome of a question that a baseline cannot answer."""
    return {"prediction": {"value": None, "status": "missing", "reason": reason}, "trace": []}


def forecast_event(method, event, crawler):
    """Answer one event by a method: returns the outcome that `run_loop.run_agents` stores, with
    what was read as trace."""
    variables = parse_json(event["variables"])
    if not variables:
        return lack(f"{method} reads a source's series, and this question has none")
    source_id = variables.get("about", event["source_id"])
    history, page_id = read_history(crawler, source_id, event["as_of"], variables)
    rng = seed_draws(method, event)
    if method == "random":
        prediction = guess_event(event, variables, history, rng)
        note = "guessed at random"
    else:
        point, draws = expect_values(method, history, variables["date"], rng)
        prediction = answer_event(event, variables, point, draws, by_draws=method == "base_rate")
        first, expected = next(iter(point.items()))
        note = f"expected {expected:.6g} for {first}"
        note += f" and {len(point) - 1} more" * (len(point) > 1)
    steps = [
        {
            "step_type": "tool",
            "tool": "observe",
            "arguments": {"source_id": source_id},
            "page_ids": [page_id],
        },
        {"step_type": "answer", "content": f"{method}: {note} from {len(history)} past dates"},
    ]
    return {"prediction": prediction | {"source_ids": [page_id]}, "trace": steps}


def read_history(crawler, source_id, as_of, variables):
    """Return (past snapshots that an event's answer depends on: dates x entities, page_id), read as
    of the start day.

    They are in the event's measure. A match to be played has no past of its own: all matches'
    margins, in order, stand for it.
    """
    series, page_id = crawler.select(source_id, as_of, variables["variable"], variables["hour"])

    def shape():
        if crawler.sources[source_id].page.get("fixtures_days"):
            dates = np.repeat(series.index, series.notna().sum(axis=1))
            return pd.DataFrame({variables["entity"]: pool_matches(series)}, index=dates)
        history = build_history(series, variables)
        if "entity" in variables:
            return history[[variables["entity"]]].dropna()
        has_options = variables["ask"] in ("leader", "risers", "above")
        if names := variables["reference"] if has_options else variables.get("among"):
            history = history[[entity for entity in names if entity in history]]
        return history if has_options else history.loc[:, history[-N_MEAN:].notna().any()]

    return crawler.keep(("history", page_id, dump_json(variables)), shape), page_id


def expect_values(method, history, date, rng):
    """Return (point, draws): the value expected for each entity on a date, and 400 draws (rows) of
    them."""
    days = history.index.to_numpy().astype("datetime64[D]")
    date = np.datetime64(date)
    values = history.to_numpy()
    n_steps = count_steps(days, date)
    expected = []
    for column, known in zip(values.T, ~np.isnan(values.T), strict=True):
        back = count_back(days[known], date) if method == "seasonal" else None
        expected.append(expect_value(method, tuple(column[known].tolist()), back, n_steps))
    point, spread = np.array(expected, dtype=float).T
    if method == "base_rate":
        rows = values[rng.integers(len(history), size=N_DRAWS)]
        draws = np.where(np.isnan(rows), point, rows)
    else:
        draws = point + rng.standard_normal((N_DRAWS, len(point))) * spread
    return dict(zip(history.columns, point.tolist(), strict=True)), draws


def count_steps(days, date):
    """Return how many values of a series come from its last date to a later one: by weekdays, or
    its usual spacing.

    >>> days = np.array(["2016-10-05", "2016-10-06", "2016-10-07", "2016-10-10"], dtype="datetime64[D]")
    >>> count_steps(days, np.datetime64("2016-10-17"))
    4
    """
    n_days = len(set(days.tolist()))
    if n_days > 7 and np.is_busday(days).all() and (days[-1] - days[-2]).astype(int) % 7:
        return max(1, int(np.busday_count(days[-1], date)))
    ahead = int((date - days[-1]).astype(int))
    span = int((days[-1] - days[0]).astype(int))
    return max(1, round(ahead * (n_days - 1) / max(span, 1))) if len(days) > 1 else 1


def count_back(days, date):
    """Return the place, counted from the end, of the value that is nearest to a whole number of
    weeks before a date.

    >>> days = np.array(["2016-10-03", "2016-10-04", "2016-10-06", "2016-10-07", "2016-10-10"], dtype="datetime64[D]")
    >>> count_back(days, np.datetime64("2016-10-11"))
    4
    """
    ahead = max(int((date - days[-1]).astype(int)), 1)
    distance = np.abs((days - (date - 7 * -(-ahead // 7))).astype(int))
    return int(np.argmin(distance[::-1])) + 1


def answer_event(event, variables, point, draws, *, by_draws):
    """Return a prediction from expected values: an answer and its probability, options'
    probabilities, or quantiles.

    The answer is that of the expected values; with `by_draws` the most frequent answer of the
    draws. Of a ranking the distribution is each entity's share of draws among the k.
    """
    if event["kind"] == "number":
        values = draws[:, list(point).index(variables["entity"])]
        quantiles = [round(float(value), 6) for value in np.quantile(values, QUANTILES)]
        return state_number(point[variables["entity"]], quantiles)
    measured = variables | {"by": "value"}
    if event["kind"] == "ranking":
        order = -1 if variables.get("order", "desc") == "desc" else 1
        first = variables.get("rank", 1) - 1
        top = np.argsort(order * draws, axis=1, kind="stable")[:, first : first + variables["k"]]
        counts = zip(
            point, np.bincount(top.ravel(), minlength=draws.shape[1]).tolist(), strict=True
        )
        shares = {name: round(n / len(draws), 6) for name, n in sorted(counts) if n}
        return {"value": resolve_event(measured, point), "distribution": shares}
    letters = list(parse_json(event["options"]))
    found = Counter(map(frozenset, resolve_draws(measured, list(point), draws)))
    counts = {
        letter: sum(n for chosen, n in found.items() if letter in chosen) for letter in letters
    }
    shares = {letter: round(n / len(draws), 6) for letter, n in counts.items()}
    likeliest = max(shares, key=shares.get)
    value = None if by_draws else resolve_event(measured, point)
    if event["kind"] == "multi":
        if by_draws:
            value = [letter for letter in letters if shares[letter] > 0.5]
        value = value or [likeliest]
        probability = round(found[frozenset(value)] / len(draws), 6)
    else:
        value = likeliest if by_draws else value
        probability = shares[value]
    return {"value": value, "probability": probability, "distribution": shares}


def state_number(value, quantiles):
    """Return a number's prediction: the value, its QUANTILES, and the interval of nine in ten that
    they give."""
    distribution = dict(zip(map(str, QUANTILES), quantiles, strict=True))
    ends = {"interval_low": quantiles[0], "interval_high": quantiles[-1]}
    return {"value": round(float(value), 6), "distribution": distribution} | ends


def guess_event(event, variables, history, rng):
    """Return a uniform guess: an option, a set of options, an order of entities, or a value in the
    range seen."""
    if event["kind"] == "number":
        values = history[variables["entity"]]
        low = float(values.min())
        high = float(values.max())
        quantiles = [round(low + share * (high - low), 6) for share in QUANTILES]
        return state_number(rng.uniform(low, high), quantiles)
    if event["kind"] == "ranking":
        names = [str(name) for name in rng.permutation(sorted(history.columns))]
        share = round(variables["k"] / len(names), 6)
        return {
            "value": names[: variables["k"]],
            "distribution": dict.fromkeys(sorted(names), share),
        }
    options = parse_json(event["options"])
    letters = list(options)
    if event["kind"] == "multi":
        sole = [letter for letter in letters if options[letter] == NONE_LABEL]
        value = (
            sorted(letter for letter in letters if letter not in sole and rng.random() < 0.5)
            or sole
            or letters[:1]
        )
        return {"value": value, "distribution": dict.fromkeys(letters, 0.5)}
    share = round(1 / len(letters), 6)
    value = letters[int(rng.integers(len(letters)))]
    return {"value": value, "probability": share, "distribution": dict.fromkeys(letters, share)}


def expect_value(method, values, back, n_steps):
    """Return (value expected `n_steps` after a series' last one, its standard error), by a method.

    `last_value`, `seasonal` (a week or whole weeks, `back` values, before the date) and `mean` (of
    the last seven) have the root mean square of the rule's past errors; `base_rate` is the median
    of all, and its draws the past snapshots. `smoothing` (simple exponential) and `arima`
    (ARIMA(1,0,0)) are `mean` where a series is too short, or flat.

    >>> values = (5.0, 6.1, 5.2, 5.9, 5.1, 6.2, 5.3, 5.8, 5.0, 6.0)
    >>> near, far = expect_value("arima", values, None, 1), expect_value("arima", values, None, 30)
    >>> round(float(far[0]), 1), far[1] > near[1]
    (5.6, True)
    """
    if method == "base_rate":
        return median(values), 0.0
    if method == "smoothing" and len(values) >= MIN_FIT and np.ptp(values) > 0:
        level, weight, spread = fit_smoothing(values)
        return level, spread * float(np.sqrt(1 + (n_steps - 1) * weight**2))
    if (
        method == "arima" and len(values) >= MIN_FIT and np.ptp(values[:-1]) > 0
    ):  # else no slope can be told
        constant, weight, spread = fit_arima(values)
        powers = weight ** np.arange(n_steps)
        point = constant * powers.sum() + weight**n_steps * values[-1]
        return point, spread * float(np.sqrt(np.square(powers).sum()))
    n, said = len(values), values  # what the rule says from the values up to each place
    if method == "seasonal":
        said = values[:1] * (back - 1) + values
    elif method != "last_value":  # a mean, added from the oldest on
        padded = np.concatenate([np.zeros(N_MEAN - 1), values])
        said = sum(padded[start : start + n] for start in range(N_MEAN)) / np.minimum(
            np.arange(1, n + 1), N_MEAN
        )
    if n - n_steps - 2 < 3:
        return said[n - 1], float(np.std(values))
    errors = np.subtract(values[2 + n_steps :], said[2 : n - n_steps])
    return said[n - 1], float(np.sqrt(np.mean(np.square(errors))))


@lru_cache(maxsize=8192)
def fit_smoothing(values):
    """Return (level, weight, standard deviation of residuals) of simple exponential smoothing,
    fitted once.

    The weight is that of least squared one-step errors, the start the first value (statsmodels,
    which estimates the start too, agrees closely and takes twenty times as long;
    tests/agents/test_forecasters.py).
    """

    def smooth(weight):
        level = values[0]
        squares = 0.0
        for value in values[1:]:
            error = value - level
            squares += error * error
            level += weight * error
        return level, squares

    weight = minimize_scalar(lambda weight: smooth(weight)[1], bounds=(0, 1), method="bounded").x
    level, squares = smooth(weight)
    return level, float(weight), float(np.sqrt(squares / (len(values) - 2)))


def fit_line(x: tuple, y: tuple) -> tuple[float, float]:
    """Return (slope, intercept) of least squares; of an x that does not vary ZeroDivisionError.

    Each product is rounded, and their sum is exact (math.fsum), so that every version of Python
    gives the same bytes: 3.12 added the products up in another way in the standard library's
    function.

    >>> fit_line((1.0, 2.0, 4.0), (3.0, 5.0, 9.0))
    (2.0, 1.0)
    """
    x_mean = fsum(x) / len(x)
    y_mean = fsum(y) / len(y)
    both = fsum((one - x_mean) * (other - y_mean) for one, other in zip(x, y, strict=True))
    own = fsum((one - x_mean) * (one - x_mean) for one in x)
    slope = both / own
    return slope, y_mean - slope * x_mean


@lru_cache(maxsize=8192)
def fit_arima(values):
    """Return (constant, autoregressive weight, standard deviation of shocks) of ARIMA(1,0,0),
    fitted once.

    By conditional least squares, which is what maximum likelihood gives but for the first value, at
    a fortieth of the time. The sums are exact: a processor's own order of adding would decide which
    of two like entities leads.
    """
    before = values[:-1]
    after = values[1:]
    weight, constant = fit_line(before, after)
    errors = (y - constant - weight * x for x, y in zip(before, after, strict=True))
    return constant, weight, sqrt(fsum(error * error for error in errors) / len(before))
