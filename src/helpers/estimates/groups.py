"""Scores by group: an agent's means by level, kind or domain, with interval, n and coverage."""

import pandas as pd

from helpers.estimates.intervals import summarize_means
from helpers.outcomes.scores import build_matrix, select_headline


def summarize_groups(scores, events, rng, by="level", n_boot=2000, groups=None):
    """Return mean score by agent and level (or kind), with n, coverage, zero-imputed mean and interval (FutureX 4.2).

    `mean` is over predicted events, `coverage` the share of asked events that were predicted, `mean_imputed` counts
    the others as 0; `n_events` is the set's scored events of the group. An agent without a prediction in a group has
    a blank mean. Raises ValueError when a group asked for holds no scored event.
    """
    rows = select_headline(scores, events)
    agents = sorted(rows["agent_id"].unique())
    parts = []
    for group in sorted(rows[by].unique()) if groups is None else groups:
        part = rows[rows[by] == group]
        if part.empty:
            raise ValueError(f"no scored event of {by} {group}; there are {', '.join(map(str, rows[by].unique()))}")
        matrix = build_matrix(part, agents)
        imputed = build_matrix(part, agents, "score_imputed")
        table = summarize_means(matrix, rng, n_boot).reset_index()
        table.insert(1, by, group)
        table["n_events"] = len(matrix)
        table["coverage"] = table["n"] / imputed.notna().sum().to_numpy()
        table["mean_imputed"] = imputed.mean().to_numpy()
        parts.append(table)
    return pd.concat(parts, ignore_index=True).sort_values(["agent_id", by], ignore_index=True)
