"""What an agent may use and as of when: the six conditions, the points of a question's window, the cutoff filter.

WorldReasoner 5.1, 5.3 and Appendix E.
"""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers.calendar import stamp_moment
from helpers.papers import get_constant
from helpers.store import dump_json, parse_json

NAMES = get_constant("worldreasoner", "conditions")
STEPS = get_constant("worldreasoner", "condition_steps")
MIDPOINT = get_constant("worldreasoner", "default_forecast_fraction")
NEAR_DAYS = get_constant("worldreasoner", "near_resolution_days")
MIN_DAYS = get_constant("worldreasoner", "min_window_days")
WINDOWS = {
    "Early": get_constant("worldreasoner", "early_window"),
    "Mid": get_constant("worldreasoner", "mid_window"),
    "Late": get_constant("worldreasoner", "late_window"),
}
"""Horizon -> first and last fraction of a question's window, as printed (5.3)."""
POINTS = dict(zip(WINDOWS, get_constant("worldreasoner", "window_points"), strict=True))
"""Horizon -> the fraction at which its forecast is made."""
CUTOFF_DAY = get_constant("worldreasoner", "cutoff_day")
N_ROLLING = get_constant("worldreasoner", "rolling_questions")

NEAR = {"near resolution": "Near"}

RETRIEVAL = ("no", "no", "gateway", "gateway", "gateway", "open")
GRAPH = (False, True, False, True, True, True)


def list_conditions():
    """Return the six conditions: condition, retrieval (no, gateway, open), has_graph, has_sources, as_of, n_steps.

    Sources are scored where retrieval goes through the gateway; `as_of` is midpoint, near resolution or none (5.1).
    What is open (Real-Time) sees what came after the resolution too, and is no forecast.

    >>> list_conditions().set_index("condition").loc["Search-Enabled Graph", ["retrieval", "as_of"]].tolist()
    ['gateway', 'midpoint']
    """
    table = pd.DataFrame({"condition": NAMES, "retrieval": RETRIEVAL, "has_graph": GRAPH, "n_steps": STEPS})
    as_of = table["condition"].map({"Near-Resolution": "near resolution", "Real-Time": "none"}).fillna("midpoint")
    return table.assign(has_sources=table["retrieval"] == "gateway", as_of=as_of)


def place_forecast(opens_at, resolves_at, horizon="midpoint"):
    """Return the day (00:00) on which a question is forecast: midpoint, near resolution, or Early, Mid, Late (5.3).

    None where there is no such day: of a window shorter than seven days Early, Mid and Late are not asked, and one that
    opens on the day before its end has nothing near resolution. Raises LookupError for an unknown horizon.

    >>> str(place_forecast("2026-01-01", "2026-01-11")), str(place_forecast("2026-01-01", "2026-01-11", "Late"))
    ('2026-01-06 00:00:00', '2026-01-09 00:00:00')
    >>> place_forecast("2026-01-01", "2026-01-06", "Early") is None
    True
    """
    first, last = pd.Timestamp(opens_at), pd.Timestamp(resolves_at)
    if horizon == "near resolution":
        day = (last - pd.Timedelta(days=NEAR_DAYS)).normalize()
        return day if day > first else None
    if horizon != "midpoint" and horizon not in POINTS:
        raise LookupError(f"no horizon {horizon!r}; there are midpoint, near resolution, {', '.join(POINTS)}")
    if horizon in POINTS and last - first < pd.Timedelta(days=MIN_DAYS):
        return None
    return (first + POINTS.get(horizon, MIDPOINT) * (last - first)).normalize()


def place_moments(questions):
    """Return questions with the moment of each horizon (`metadata.moments`), and the default one as `as_of`.

    Mid is the midpoint; a horizon that a question does not have is left out of its moments. A question without a
    midpoint of its own (one that resolves within a day) is dropped.
    """
    rows = []
    for row in questions.to_dict("records"):
        ends = [pd.Timestamp(row[name]) for name in ("opens_at", "resolves_at")]
        days = {name: place_forecast(*ends, name) for name in ("Early", "Mid", "Late", "near resolution")}
        moments = {NEAR.get(name, name): stamp_moment(day) for name, day in days.items() if day is not None}
        if "Mid" in moments:
            metadata = parse_json(row["metadata"]) | {"moments": moments}
            rows.append(row | {"as_of": moments["Mid"], "metadata": dump_json(metadata)})
    return pd.DataFrame(rows, columns=questions.columns)


def name_stage(opens_at, resolves_at, days):
    """Return the horizon in whose window days lie: Early, Mid, Late, or "Near" for what comes after Late's.

    >>> name_stage("2026-01-01", "2026-01-11", ["2026-01-02", "2026-01-05", "2026-01-10", "2026-01-11"])
    ['Early', 'Mid', 'Late', 'Near']
    """
    first, last = pd.Timestamp(opens_at), pd.Timestamp(resolves_at)
    shares = (pd.to_datetime(pd.Index(days)) - first) / (last - first)
    ends = [end for _, end in WINDOWS.values()]
    return [[*WINDOWS, "Near"][at] for at in np.searchsorted(ends, shares)]


def date_cutoffs(months, day=CUTOFF_DAY):
    """Return the days of knowledge cutoffs: a month's first or last day; what has a day already keeps it.

    >>> [str(day)[:10] for day in date_cutoffs(["2025-01", "2025-08-31", None], "last")]
    ['2025-01-31', '2025-08-31', 'NaT']
    """
    if day not in ("first", "last"):
        raise ValueError(f"a cutoff is on the first or the last day of its month, not on the {day!r}")
    given = pd.Series(months, dtype="string")
    days = pd.to_datetime(given, format="ISO8601")
    is_month = given.str.len().eq(len("2025-01")).fillna(False).astype(bool)
    return days.where(~is_month | (day == "first"), days + pd.offsets.MonthEnd(0))


def filter_pairs(questions, models, day=CUTOFF_DAY):
    """Return every pair of model and question, and whether it is kept: the question opens on or after the cutoff.

    `questions` has question_id and opens_at, `models` model and cutoff (a day or a month). Columns model, question_id,
    is_kept, is_filtered: a model without a cutoff is not filtered and keeps all, and says so (Appendix E). Raises
    ValueError for a question that has no start.

    >>> questions = pd.DataFrame({"question_id": ["a", "b"], "opens_at": ["2025-01-01", "2024-12-31"]})
    >>> filter_pairs(questions, pd.DataFrame({"model": ["m", "n"], "cutoff": ["2025-01", None]}))["is_kept"].tolist()
    [True, False, True, True]
    """
    if questions["opens_at"].isna().any():
        name = questions.loc[questions["opens_at"].isna(), "question_id"].iloc[0]
        raise ValueError(f"question {name} has no start, so it cannot be held against a cutoff; leave it out")
    known = models.assign(cutoff=date_cutoffs(models["cutoff"], day).to_numpy())
    pairs = known.merge(questions[["question_id", "opens_at"]], how="cross")
    opens = pd.to_datetime(pairs["opens_at"], utc=True, format="ISO8601").dt.tz_localize(None)
    has_cutoff = pairs["cutoff"].notna()
    return pairs[["model", "question_id"]].assign(is_kept=~(opens < pairs["cutoff"]), is_filtered=has_cutoff)


def count_kept(pairs):
    """Return how many pairs each model keeps: model, n, n_kept, n_excluded, is_filtered.

    >>> table = pd.DataFrame({"model": "m", "question_id": ["a", "b"], "is_kept": [True, False], "is_filtered": True})
    >>> count_kept(table).values.tolist()
    [['m', 2, 1, 1, True]]
    """
    table = pairs.groupby("model", sort=False).agg(
        n=("is_kept", "size"), n_kept=("is_kept", "sum"), is_filtered=("is_filtered", "all")
    )
    table.insert(2, "n_excluded", table["n"] - table["n_kept"])
    return table.reset_index()


def roll_accuracy(answers, n=N_ROLLING):
    """Return each model's share right over `n` questions in a row, by when they opened (Figure 4).

    `answers` has model, opens_at (a moment) and is_right. Columns model, opens_at (of the middle question), share, low,
    high (Wilson), n. Neighbouring points share all but one question. A model with fewer than `n` answers has no row.

    >>> answers = pd.DataFrame({"model": "m", "opens_at": pd.to_datetime(["2026-01-03", "2026-01-01", "2026-01-02"])})
    >>> roll_accuracy(answers.assign(is_right=[1, 0, 1]), 3)[["opens_at", "share", "n"]].astype(str).values.tolist()
    [['2026-01-02', '0.6666666666666666', '3']]
    """
    parts = []
    for model, part in answers.sort_values("opens_at", kind="stable").groupby("model", sort=False):
        hits = part["is_right"].astype(float).rolling(n).sum().to_numpy()[n - 1 :].round().astype(int)
        low, high = proportion_confint(hits, n, method="wilson")
        table = {"opens_at": part["opens_at"].to_numpy()[n // 2 : n // 2 + len(hits)], "share": hits / n}
        parts.append(pd.DataFrame(table).assign(low=low, high=high, n=n))
        parts[-1].insert(0, "model", model)
    return pd.concat(parts, ignore_index=True)


def measure_gap(drop, n, n_excluded):
    """Return how far accuracy on left-out pairs lies above that on kept ones, from the fall by filtering (Table 7).

    All are in the unit of `drop`, the accuracy on all `n` questions minus that on those kept.

    >>> round(measure_gap(16.4, 120, 65), 1)
    30.3
    """
    return drop * n / n_excluded
