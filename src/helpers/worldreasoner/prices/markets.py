"""Prices of a prediction market: in order of their days, and where their level changes (WorldReasoner G.3.1).

Prices are a table of question_id, day (a number of days, with its fraction) and price (of Yes). `skill` has forecasts
beside prices.
"""

import numpy as np

from helpers.papers import get_constant

N_SEGMENT = get_constant("worldreasoner", "turning_point_points")
GAP_HOURS = get_constant("worldreasoner", "turning_point_hours")

SAME = 1e-9
"""Prices this near are the same."""
MAD_OF_ONE = 0.6745
"""Median distance from the median of a normal variable of standard deviation 1."""


def order_prices(prices):
    """Return prices by day, without blank ones. Raises ValueError as `check_days`."""
    known = prices[["question_id", "day", "price"]].dropna(subset="price")
    return check_days(known, "a price").sort_values("day", kind="stable")


def check_days(table, what):
    """Return a table whose days are numbers. Raises ValueError that says of which question one is blank."""
    if table["day"].isna().any():
        name = table.loc[table["day"].isna(), "question_id"].iloc[0]
        raise ValueError(f"{what} of question {name} has no day; give it one, or leave it out")
    return table.astype({"day": float})


def find_turning_points(days, prices, n_least=N_SEGMENT, gap_hours=GAP_HOURS):
    """Return the days at which the level of a price changes: change points by PELT, oldest first (G.3.1).

    Segments have a mean each and `n_least` prices or more; a further one must earn log(n) times the noise's variance
    (BIC), the noise being that of the price's steps (median distance). Of two within `gap_hours` the earlier stays.
    Blank prices are left out.
    Empty with too few prices, or where none moves. Needs the package ruptures.

    >>> find_turning_points(np.arange(12.0), [0.2, 0.21] * 3 + [0.8, 0.81] * 3)
    [6.0]
    """
    import ruptures  # here: there is no release for every Python that the kit runs on

    days, values = _drop_blanks(days, prices)
    if len(values) < 2 * n_least or np.ptp(values) <= SAME:
        return []
    steps = np.diff(values)
    noise = np.median(np.abs(steps - np.median(steps))) / MAD_OF_ONE or steps.std()
    cost = max(np.log(len(values)) * noise**2, SAME)
    ends = ruptures.Pelt(model="l2", min_size=n_least, jump=1).fit(values[:, None]).predict(pen=cost)
    found = []
    for at in ends[:-1]:
        if not found or days[at] - found[-1] >= gap_hours / 24:
            found.append(float(days[at]))
    return found


def _drop_blanks(days, prices):
    days, prices = (np.asarray(part, dtype=float) for part in (days, prices))
    return days[~np.isnan(prices)], prices[~np.isnan(prices)]
