"""What a better agent gains: leads over a baseline, what search, memory and a later moment add, a minute's worth.

Language models on a shared sample of events (FutureX 4.2, 4.5). Differences are paired by event, and intervals come
from drawing the events anew; a window's events answer for it.
"""

import numpy as np
import pandas as pd

from helpers.estimates.intervals import (
    bound_mean,
    compare_paired,
    judge_interval,
    resample_means,
    summarize_means,
    take_interval,
)
from helpers.outcomes.scores import build_matrix, select_headline


def score_shared(scores, events, agents):
    """Return the headline scores of the events that every one of some agents was asked: event x agent, missing NaN.

    Raises ValueError when they share no event.
    """
    rows = select_headline(scores[scores["agent_id"].isin(agents)], events)
    asked = rows.groupby("event_id")["agent_id"].nunique()
    shared = rows[rows["event_id"].isin(asked.index[asked == len(set(agents))])]
    if shared.empty:
        raise ValueError(f"no event was put to all of {', '.join(agents)}")
    return build_matrix(shared, list(agents))


def compare_leads(scores, events, baseline, agents, rng, n_boot=2000):
    """Return each agent's lead over a baseline on its own events, at levels 1-2 and at levels 3-4, paired by event.

    A missing prediction counts as 0. Columns agent_id, levels, mean, n, difference, low, high, verdict.
    """
    marks = build_matrix(select_headline(scores, events), [baseline, *agents], "score_imputed")
    level, rows = events.set_index("event_id")["level"].reindex(marks.index), []
    for agent in agents:
        for name, part in (("1-2", marks[level <= 2]), ("3-4", marks[level >= 3])):
            pair = compare_paired(part[baseline], part[agent], rng, n_boot)
            rows.append({"agent_id": agent, "levels": name, "mean": part[agent].mean()} | pair)
    return pd.DataFrame(rows)


def measure_gain(scores, events, base, search, rng, n_boot=2000):
    """Return what search adds to a base model by level (FutureX 4.2, finding 3): paired differences on shared events.

    Rows: each level and "all"; columns level, mean_base, mean_search, n, difference, low, high, verdict ("holds" when
    the interval lies above 0).
    """
    matrix = score_shared(scores, events, [base, search])
    level = events.set_index("event_id")["level"].reindex(matrix.index)
    rows = []
    for name, part in [*matrix.groupby(level), ("all", matrix)]:
        pair = compare_paired(part[base], part[search], rng, n_boot)
        rows.append({"level": name, "mean_base": part[base].mean(), "mean_search": part[search].mean()} | pair)
    return pd.DataFrame(rows)


def compare_memory(scores, events, model, baseline, kinds, rng, n_boot=2000):
    """Return a model's lead over a baseline by window and contamination group, and how it differs between windows.

    `scores` and `events` hold both windows (events' column `window`); only events of `kinds` count. Rows: window,
    group, means, n, difference (model minus baseline, paired), low, high; last, for each group and all, the difference
    between the first window's lead and the second's, by drawing both windows' events anew.
    """
    matrix = score_shared(scores, events[events["kind"].isin(kinds)], [model, baseline])
    facts = events.set_index("event_id").reindex(matrix.index)
    lead, rows, draws = matrix[model] - matrix[baseline], [], {}
    windows = sorted(facts["window"].unique())
    for group in ("widely_known", "obscure", "all"):
        for window in windows:
            part = matrix[(facts["window"] == window) & ((facts["contamination_group"] == group) | (group == "all"))]
            if part.empty:
                continue
            pair = compare_paired(part[baseline], part[model], rng, n_boot)
            means = {"mean_model": part[model].mean(), "mean_baseline": part[baseline].mean()}
            rows.append({"group": group, "window": window} | means | pair)
            draws[group, window] = resample_means(lead[part.index].to_frame(), rng, n_boot)[:, 0]
        if len(windows) == 2 and all((group, window) in draws for window in windows):
            gap = draws[group, windows[0]] - draws[group, windows[1]]
            low, high = take_interval(gap)
            shrinks = rows[-2]["difference"] - rows[-1]["difference"]
            row = {"group": group, "window": f"{windows[0]} minus {windows[1]}", "n": rows[-2]["n"] + rows[-1]["n"]}
            rows.append(row | {"difference": shrinks, "low": low, "high": high, "verdict": judge_interval(low, high)})
    return pd.DataFrame(rows)


def rate_effort(scores, events, effort, rng, n_boot=2000):
    """Return each agent's mean score, per minute of model time and per query, with intervals (FutureX 4.5.3).

    `effort` is `measure_effort`'s table; ratios are of means over the agent's own events, intervals of the score's.
    """
    rows = select_headline(scores, events)
    table = []
    for agent_id, part in rows.groupby("agent_id"):
        if agent_id not in effort.index:
            continue
        values = part.set_index("event_id")["score_imputed"]
        low, high = bound_mean(values, rng, n_boot)
        minutes, queries = effort.loc[agent_id, "seconds"] / 60, effort.loc[agent_id, "queries"]
        row = {"agent_id": agent_id, "n": len(values), "score": values.mean(), "low": low, "high": high}
        row |= {"queries": queries, "seconds": 60 * minutes}
        for name, unit in (("per_minute", minutes), ("per_query", queries)):
            row |= {
                name + end: value / unit if unit else np.nan
                for end, value in (("", values.mean()), ("_low", low), ("_high", high))
            }
        table.append(row)
    return pd.DataFrame(table)


def compare_moments(first, second, events, rng, n_boot=2000):
    """Return, by agent, what asking at a second moment changes (FutureX 4.5.1, Figure 12).

    `first` and `second` are scores tables of the same events. Columns agent_id, n, difference (second minus first,
    paired; a missing prediction counts as 0), low, high, verdict, and each moment's mean with its interval.
    """
    rows = []
    for agent_id in sorted(set(first["agent_id"]) & set(second["agent_id"])):
        columns = [
            select_headline(table[table["agent_id"] == agent_id], events).set_index("event_id")["score_imputed"]
            for table in (first, second)
        ]
        both = pd.concat(columns, axis=1, keys=["first", "second"]).dropna()
        row = {"agent_id": agent_id} | compare_paired(both["first"], both["second"], rng, n_boot)
        found = summarize_means(both, rng, n_boot)
        rows.append(row | {f"{end}_{name}": found.loc[name, end] for name in both for end in ("mean", "low", "high")})
    return pd.DataFrame(rows)
