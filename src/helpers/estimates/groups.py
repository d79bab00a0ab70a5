"""Scores by group: an agent's means by level, kind or domain, with interval, n and coverage."""

import pandas as pd

from helpers.estimates.intervals import resample_means, summarize_means, take_interval
from helpers.outcomes.scores import build_matrix, convert_brier, select_headline
from helpers.store import parse_json


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


def measure_index(scores, events, rng, n_boot=2000):
    """Return agents' Brier index 100 (1 - sqrt(Brier)) on yes/no events, best first: agent_id, index, low, high, n.

    The Brier score of two options is half of the kit's `brier`, which sums over both. Agents without a probability are
    left out; intervals (95%) draw the events anew. Raises ValueError when no agent has one.
    """
    options = events["options"].map(parse_json)
    yes_no = events.loc[[bool(given) and set(given.values()) == {"Yes", "No"} for given in options], "event_id"]
    rows = scores[(scores["metric"] == "brier") & scores["event_id"].isin(yes_no) & scores["score"].notna()]
    if rows.empty:
        raise ValueError("no agent gave a probability on a yes/no event")
    table = []
    for agent_id, part in rows.groupby("agent_id"):
        brier = part.groupby("event_id")["score"].mean() / 2
        draws = convert_brier(resample_means(brier.to_frame(), rng, n_boot)[:, 0])
        low, high = take_interval(draws)
        row = {"agent_id": agent_id, "index": float(convert_brier(brier.mean())), "low": low, "high": high}
        table.append(row | {"n": len(brier)})
    return pd.DataFrame(table).sort_values("index", ascending=False, ignore_index=True)
