"""What the paper's models may have read of the venues they are asked about: knowledge cutoffs against first days (A).

The paper takes one cutoff for all its models but GPT-5.2. The models' makers state when their knowledge ends; where a
venue begins before that, its papers are no future to the model.
"""

import pandas as pd

from helpers.papers import get_constant


def find_last_day(text):
    """Return the last day that a stated cutoff, a day or a month, may mean.

    >>> find_last_day("2024-09-30"), find_last_day("2025-02")
    ('2024-09-30', '2025-02-28')
    """
    return text if len(text) == 10 else f"{pd.Period(text, 'M').end_time:%Y-%m-%d}"


def tabulate_knowledge():
    """Return the paper's models: model, knows_until, is_past_cutoff, and for each venue of 2025 whether it comes after.

    `is_past_cutoff`: what is known goes beyond the last day that the common cutoff's month allows.
    """
    month_end = get_constant("proof_of_time", "cutoff_month_end")
    venues = get_constant("proof_of_time", "venue_first_days")
    rows = []
    for model, text in get_constant("proof_of_time", "known_before").items():
        until = find_last_day(text)
        row = {"model": model, "knows_until": until, "is_past_cutoff": until > month_end}
        rows.append(row | {venue: day > until for venue, day in venues.items()})
    return pd.DataFrame(rows)
