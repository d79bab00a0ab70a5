"""How hard the replay's numbers are: simple rules on every series, at one horizon and one lag.

A check of the event set's baselines that needs no event, agent or web: the rows themselves, a rule, a date.
"""

import numpy as np
import pandas as pd

from helpers.outcomes.scores import score_number
from helpers.questions.tiers import MIN_VALUES
from helpers.world.sources import list_days, read_rows

RULES = {
    "last_value": lambda known, date: known.iloc[-1],
    "same_day_last_week": lambda known, date: known[known.index.day_of_week == date.day_of_week].iloc[-1],
    "mean_of_7": lambda known, date: known.iloc[-7:].mean(),
}
"""What each rule expects for a date from the values known."""


def list_series(sources, window, n_entities=1):
    """Return {(source, variable, entity): values by date} of the daily sources of a window.

    At most `n_entities` entities of a source, the first by name, so that a page of fifty states does not outvote the
    others; series that never move are left out.
    """
    first, last = (pd.Timestamp(day) for day in (list_days(window)[0], list_days(window)[-1]))
    found = {}
    for source in sources.values():
        if source.update_frequency not in ("daily", "weekdays") or source.form == "market":
            continue
        rows = read_rows(source)
        rows = rows.assign(date=pd.to_datetime(rows["occurred_at"]))
        rows = rows[rows["date"].between(first - pd.Timedelta(days=28), last + pd.Timedelta(days=7))]
        for variable in source.variables:
            frame = rows.pivot(index="date", columns="entity", values=variable)
            for entity in sorted(source.entities.get("only", frame.columns))[:n_entities]:
                values = frame[entity].dropna() if entity in frame else pd.Series(dtype=float)
                if values.nunique() > 1:
                    found[source.id, variable, entity] = values
    return found


def score_series(values, days, horizon_days=7, lag_days=1):
    """Return a row a rule and start day: how well it met the value `horizon_days` later.

    It knows the values up to `lag_days` before the start day. The spread is the standard deviation
    (ddof=1) of the seven days before the date (FutureX 3.4.3); days without a value or with fewer than three before
    it are left out.
    """
    rows = []
    for day in pd.to_datetime(days):
        date = day + pd.Timedelta(days=horizon_days)
        known = values[values.index <= day - pd.Timedelta(days=lag_days)]
        recent = values[(values.index < date) & (values.index >= date - pd.Timedelta(days=7))]
        if date not in values.index or len(recent) < MIN_VALUES or len(known) < 7:
            continue
        spread = float(np.std(recent, ddof=1))
        for rule, expect in RULES.items():
            rows.append({"rule": rule, "day": day, "score": score_number(expect(known, date), values[date], spread)})
    return pd.DataFrame(rows, columns=["rule", "day", "score"])


def summarize_series(sources, window, rng, *, horizon_days=7, lag_days=1, n_boot=2000):
    """Return, by rule, the mean over series of their mean score, its 95% interval (series resampled), and n series."""
    days = list_days(window)
    means = {
        key: score_series(values, days, horizon_days, lag_days).groupby("rule")["score"].mean()
        for key, values in list_series(sources, window).items()
    }
    table = pd.DataFrame(means).T.dropna()[list(RULES)]
    draws = table.to_numpy()[rng.integers(len(table), size=(n_boot, len(table)))].mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    return pd.DataFrame({"mean": table.mean(), "low": low, "high": high, "n_series": len(table)}).rename_axis("rule")
