"""What a run came to: scores beside the best baseline, what is missing and why, and what it cost, as text."""

import numpy as np
import pandas as pd

from helpers.agents.ledger import read_runs
from helpers.estimates.groups import summarize_groups
from helpers.estimates.intervals import compare_paired
from helpers.futurex.levels import combine_overall
from helpers.outcomes.scores import build_matrix, score_predictions, select_headline
from helpers.store import read_table

N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a ledger's table for these events only: a run may already hold more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def summarize_agents(scores, events, baselines, rng):
    """Return a row an agent, best first, as text: FutureX's overall score, the lead over a baseline, Brier, levels.

    overall: level means weighted, where enough levels have enough events (`levels.combine_overall`). best baseline:
    the best of `baselines` on the events that the agent predicted, itself left out; lead: the paired difference to it
    on the events that both predicted. coverage: the share predicted of the events that can be scored. Intervals: 95%.
    """
    rows = select_headline(scores, events)
    overall = combine_overall(scores, events, rng).set_index("agent_id")
    matrix = build_matrix(rows, list(overall.index))
    brier = scores[(scores["metric"] == "brier") & scores["is_scored"].astype(bool)].groupby("agent_id")["score"]
    table = pd.DataFrame(index=overall.index.rename("agent"))
    table["overall"] = [write_interval(*row) for row in overall[["overall", "low", "high"]].to_numpy()]
    table[["best baseline", "lead over it"]] = [compare_baseline(matrix, agent, baselines, rng) for agent in matrix]
    table["coverage"] = [f"{row.coverage:.0%} ({row.n} of {row.n_asked})" for row in overall.itertuples()]
    means, counts = brier.mean(), brier.count()
    table["Brier"] = [f"{means[a]:.3f} ({counts[a]})" if a in means and counts[a] else "-" for a in table.index]
    for level, part in summarize_groups(scores, events, rng).groupby("level"):
        part = part.set_index("agent_id")
        table[f"level {level}"] = [write_mean(*part.loc[agent, ["mean", "n", "n_events"]]) for agent in table.index]
    return table


def compare_baseline(matrix, agent, baselines, rng):
    """Return the best baseline's name on the events an agent predicted, and the agent's lead over it as text."""
    others = [name for name in baselines if name in matrix and name != agent]
    shared = matrix.loc[matrix[agent].notna(), others].dropna(axis=1, how="all")
    if shared.empty or not len(shared.columns):
        return "-", "-"
    best = shared.mean().idxmax()
    pair = compare_paired(matrix[best], matrix[agent], rng)
    return best, f"{pair['difference']:+.2f} ({pair['low']:+.2f} to {pair['high']:+.2f}, n = {pair['n']})"


def write_interval(value, low, high):
    """Return a value with its interval as text, "-" for none.

    >>> write_interval(0.314, 0.25, 0.38), write_interval(float("nan"), 0, 0)
    ('0.31 (0.25 to 0.38)', '-')
    """
    return f"{value:.2f} ({low:.2f} to {high:.2f})" if np.isfinite(value) else "-"


def write_mean(mean, n, n_events):
    """Return a level's mean as text with how many of its events it is over.

    >>> write_mean(0.5, 3, 5), write_mean(float("nan"), 0, 5)
    ('0.50 (3 of 5)', '- (0 of 5)')
    """
    return f"{mean:.2f} ({n:.0f} of {n_events:.0f})" if n else f"- (0 of {n_events:.0f})"


def measure_costs(replies, predictions):
    """Return, by agent, US dollars spent (blank: no price is known), mean seconds a question, and what is missing.

    Missing counts predictions by how they ended: a reply that came but cannot be read is "unparsable".
    """
    agents = predictions.set_index(["run_id", "event_id", "sample"])["agent_id"]
    replies = replies.join(agents, on=agents.index.names)
    groups = replies.groupby("agent_id")
    table = pd.DataFrame({"USD": groups["cost_usd"].agg(lambda cost: pd.to_numeric(cost).sum(min_count=1))})
    table["s a question"] = groups["duration_s"].mean()
    counts = predictions[predictions["status"] != "ok"].groupby("agent_id")["status"].value_counts()
    table["missing"] = [
        ", ".join(f"{n} {status}" for status, n in counts.get(agent, pd.Series(dtype=int)).items()) or "none"
        for agent in table.index
    ]
    return table


def list_missing(predictions, replies, n=N_REASONS):
    """Return each agent's most frequent reasons for missing predictions, a line each, with one reply as example."""
    texts = replies.set_index(["run_id", "event_id", "sample"])["reply"]
    missing = predictions[predictions["status"] != "ok"].join(texts, on=texts.index.names)
    lines = []
    for agent, part in missing.groupby("agent_id"):
        groups = sorted(
            part.groupby(["status", "reason"], dropna=False), key=lambda group: (-len(group[1]), str(group))
        )
        for (status, reason), rows in groups[:n]:
            first = rows.iloc[0]
            said = " ".join(str(first["reply"]).split())[-90:] if isinstance(first["reply"], str) else ""
            example = f"; {first['event_id']}: ...{said!r}" if said else f"; {first['event_id']}"
            lines.append(f"{agent}, {len(rows)} {status}: {reason or 'no reason given'}{example}")
    return "".join(f"\n{line}" for line in lines)


def show_results(path, run_ids, events, window, baselines, rng):
    """Return the text shown after a run: the scores where there are answers, the costs, what is missing and why."""
    replies = read_sampled(path, "replies", run_ids, events, timings=True)
    predictions = read_sampled(path, "predictions", run_ids, events)
    costs = measure_costs(replies, predictions)
    try:
        scores = score_predictions(predictions, read_table("answers", window), events)
        table = summarize_agents(scores, events, baselines, rng).join(costs)
        notes = [note for note in combine_overall(scores, events, rng)["overall_note"].unique() if note]
        note = "; ".join(["mean (answered of asked) by level", *(f"overall: {note}" for note in notes)])
    except (FileNotFoundError, ValueError) as problem:
        table, note = costs.rename_axis("agent"), f"no scores: {problem}"
    table = table.loc[sorted(table.index, key=lambda agent: agent in baselines)]  # the agents asked for come first
    formats = {"USD": "{:.4f}".format, "s a question": "{:.3f}".format}
    text = table.reset_index().to_string(index=False, formatters=formats, na_rep="-")
    return f"\n{text}\n\n{len(events)} events of window {window}; {note}{list_missing(predictions, replies)}"
