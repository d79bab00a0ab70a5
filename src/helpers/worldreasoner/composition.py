"""What questions are made of: type of answer, origin, domain, horizon, month of resolution (Tables 2, 5, Figure 6).

A question is a row of question_id, type, origin, domain, opens_at, resolves_at; what is not known is blank.
"""

import numpy as np
import pandas as pd

from helpers.papers import get_constant
from helpers.store import parse_json
from helpers.worldreasoner.scores import name_type

BANDS = get_constant("worldreasoner", "horizon_bands")
"""Last days of the first two horizons of Table 5."""
HORIZONS = (f"up to {BANDS[0]} days", f"{BANDS[0] + 1} to {BANDS[1]} days", f"over {BANDS[1]} days")
PARTS = ("type", "origin", "domain", "horizon")
OTHER = "none of the four"
"""Of an answer that WorldReasoner does not have: a ranking, several options."""


def describe_events(events):
    """Return events of the kit as questions; the origin is "market" where the event's source is one, else "series".

    >>> row = {"event_id": "e", "kind": "ranking", "options": None, "source_id": "brent", "domain": "Finance"}
    >>> row |= {"opens_at": "2026-01-01", "resolves_at": "2026-01-03"}
    >>> describe_events(pd.DataFrame([row]))[["type", "origin"]].values.tolist()
    [['none of the four', 'series']]
    """
    types = [name_type(row.kind, parse_json(row.options)) or OTHER for row in events.itertuples()]
    is_market = events["source_id"].str.contains("market")
    table = events[["event_id", "domain", "opens_at", "resolves_at"]].rename(columns={"event_id": "question_id"})
    return table.assign(type=types, origin=np.where(is_market, "market", "series"))


def measure_horizons(questions):
    """Return the days between opening and resolution, blank where either is not known.

    >>> table = pd.DataFrame({"opens_at": ["2026-01-01", None], "resolves_at": ["2026-01-31T12:00:00Z", "2026-02-01"]})
    >>> measure_horizons(table).tolist()
    [30.5, nan]
    """
    ends = [pd.to_datetime(questions[name], utc=True, format="mixed") for name in ("opens_at", "resolves_at")]
    return (ends[1] - ends[0]) / pd.Timedelta(days=1)


def band_horizons(days):
    """Return the horizon of Table 5 in which numbers of days lie; what is over 30 by an hour is in the second.

    >>> band_horizons([30.0, 30.1, 90.0, 90.1]).tolist()
    ['up to 30 days', '31 to 90 days', '31 to 90 days', 'over 90 days']
    """
    edges = [-np.inf, *BANDS, np.inf]
    return pd.Series(pd.cut(pd.Series(days, dtype=float), edges, labels=HORIZONS)).astype(object)


def count_parts(questions):
    """Return how many questions each part of a set has: part (type, origin, domain, horizon), name, hits, n, share.

    Blanks of a part are left out of its `n`. A set is counted whole, so there is no interval. Raises ValueError when
    there is no question.
    """
    if questions.empty:
        raise ValueError("there is no question to count")
    table = questions.assign(horizon=band_horizons(measure_horizons(questions).to_numpy()).to_numpy())
    rows = []
    for part in PARTS:
        known = table[part].dropna()
        names = HORIZONS if part == "horizon" else sorted(set(known), key=lambda name: (-(known == name).sum(), name))
        for name in names if len(known) else ():
            rows.append((part, name, int((known == name).sum()), len(known)))
    table = pd.DataFrame(rows, columns=["part", "name", "hits", "n"])
    return table.assign(share=table["hits"] / table["n"])


def bound_mean(counts, mean, ends=BANDS, least=1):
    """Return the smallest and largest mean that the last of three bands can have, from the mean of all (days).

    `counts` are the bands' numbers of questions; `ends` the last days of the first two, `least` the first day of the
    first. What lies in the first two can take from the sum only what their ends allow.

    >>> [round(days) for days in bound_mean((142, 32, 171), 174)]
    [309, 344]
    """
    total = sum(counts) * mean
    starts = (least, ends[0] + 1)
    sums = [sum(n * day for n, day in zip(counts, days, strict=False)) for days in (ends, starts)]
    return tuple((total - taken) / counts[2] for taken in sums)
