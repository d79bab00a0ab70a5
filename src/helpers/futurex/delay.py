"""The evaluation delay: how long to wait for outcomes before a day's predictions are judged (FutureX 3.4.1).

A delay of D days is a question set of its own on the same start days: each template's value is asked for at most D days
ahead, and a day's questions can be judged when D days are over.
"""

import itertools

import numpy as np
import pandas as pd

from helpers.agents.registry import predict_events
from helpers.events.collect import collect_events
from helpers.events.pose import HORIZON_DAYS
from helpers.scoring.answers import acquire_answers
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
from helpers.stats.agreement import compare_orders
from helpers.stats.bootstrap import take_interval
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.stats.paired import judge_family, sign_flip_test

DELAYS = (1, 3, HORIZON_DAYS, 14)
"""Days; the third is the paper's choice."""
QUICK_AGENTS = ("last_value", "same_day_last_week", "mean_of_7", "base_rate", "random")
"""Baselines that need no fit; the two fitted ones take most of the time."""

SET = ("events", "answers", "scores")
"""The tables of one delay's question set."""


def run_delay(crawler, window, days, delay, *, seed, keep_binary, names=QUICK_AGENTS):
    """Return (events, answers, scores) of one delay's own question set on some start days."""
    options = {"seed": seed, "keep_binary": keep_binary, "horizon_days": delay, "days": days}
    events, _ = collect_events(crawler.sources, crawler, window, **options)
    answers, _ = acquire_answers(events, crawler)
    return events, answers, score_predictions(predict_events(events, crawler, names), answers, events)


def measure_waits(found):
    """Return days from `as_of` to `acquired_at`."""
    gap = pd.to_datetime(found["acquired_at"], utc=True) - pd.to_datetime(found["as_of"], utc=True)
    return gap.dt.total_seconds() / 86400


def split_days(scores, events):
    """Return the headline scores of each start day, in the order of the days: {day: a matrix events x agents}."""
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    return dict(list(matrix.groupby(matrix.index.map(events.set_index("event_id")["as_of"].str[:10]))))


def measure_agents(scores, events):
    """Return by agent: mean over all events with intervals by source and by event, its daily scatter, and the noise.

    `sd_days` is the standard deviation (ddof=1) of the daily means; `se_day` what chance alone gives: the standard
    error of one day's mean (root mean square over days), from its events' scatter.
    """
    matrices = list(split_days(scores, events).values())
    pooled, means = pd.concat(matrices), np.stack([matrix.mean().to_numpy() for matrix in matrices])
    found, plain = (summarize_clustered(pooled, by) for by in (find_clusters(events)[0], None))
    table = found[["mean", "low", "high", "n"]].rename_axis("agent_id").reset_index()
    table[["low_by_event", "high_by_event", "se"]] = plain[["low", "high", "se"]].to_numpy()
    table["sd_days"] = np.nanstd(means, axis=0, ddof=1) if len(means) > 1 else np.nan
    squares = [(m.var(ddof=1) / m.notna().sum()).to_numpy() for m in matrices]
    return table.assign(se_day=np.sqrt(np.nanmean(squares, axis=0)))


def measure_stability(scores, events, rng, n_splits=1000):
    """Return how stable the agents' order is, as two mean Kendall taus; blank with fewer than two days or agents.

    tau_days: between every two start days, without an interval, as each day is in many pairs. tau_halves: between
    random halves of all events (each day split in two); `tau_halves_low` and `_high` hold 95% of the splits.
    """
    matrices = list(split_days(scores, events).values())
    means = np.stack([matrix.mean().to_numpy() for matrix in matrices])
    pairs = np.array(list(itertools.combinations(range(len(means)), 2)), dtype=int).reshape(-1, 2)
    seen = compare_orders(means[pairs[:, 0]], means[pairs[:, 1]])
    halves = compare_orders(*split_means([matrix.to_numpy(dtype=float) for matrix in matrices], rng, n_splits))
    table = {"tau_days": np.nanmean(seen) if len(pairs) and means.shape[1] > 1 else np.nan}
    table["tau_halves"] = np.nanmean(halves)
    table["tau_halves_low"], table["tau_halves_high"] = take_interval(halves)
    return {name: float(value) for name, value in table.items()}


def split_means(days, rng, n_splits):
    """Return the agents' means over two random halves of each day's events, 2 x splits x agents, of days' arrays."""
    whole, means = np.concatenate(days), np.empty((2, n_splits, days[0].shape[1]))
    known, filled = ~np.isnan(whole), np.nan_to_num(whole)
    places = np.split(np.arange(len(whole)), np.cumsum([len(day) for day in days])[:-1])
    for split in range(n_splits):
        drawn = [rng.permutation(day) for day in places]
        for start in (0, 1):
            half = np.concatenate([day[start::2] for day in drawn])
            means[start, split] = filled[half].sum(axis=0) / known[half].sum(axis=0)
    return means


def match_questions(scores_by_delay, events_by_delay):
    """Return the scores on questions that every delay's set asks and every agent answered: the same template and day.

    Columns: event_id, agent_id, delay, score. Raises ValueError when there is no common question.
    """
    tables = {}
    for delay, scores in scores_by_delay.items():
        rows = select_headline(scores, events_by_delay[delay])
        tables[delay] = build_matrix(rows, sorted(rows["agent_id"].unique())).dropna()
    common = sorted(set.intersection(*(set(table.index) for table in tables.values())))
    if not common:
        raise ValueError("the delays' sets have no question in common; take more start days")
    parts = [table.loc[common].stack().rename("score").reset_index().assign(delay=d) for d, table in tables.items()]
    return pd.concat(parts, ignore_index=True)[["event_id", "agent_id", "delay", "score"]]


def compare_matched(matched, clusters=None, base=HORIZON_DAYS):
    """Return by delay and agent the mean on matched questions, and its difference to the delay `base`, paired.

    Columns: delay, agent_id ("mean": over agents), mean, difference, low, high, n, n_clusters (by `clusters`),
    low_by_event, high_by_event.
    """
    mean = matched.groupby(["event_id", "delay"], as_index=False)["score"].mean().assign(agent_id="mean")
    rows = []
    for agent, part in pd.concat([matched, mean]).groupby("agent_id"):
        table = part.pivot(index="event_id", columns="delay", values="score")
        gaps, plain = (summarize_clustered(table.sub(table[base], axis=0), by) for by in (clusters, None))
        gaps = gaps.rename(columns={"mean": "difference"}).assign(agent_id=agent, mean=table.mean())
        rows.append(
            gaps.assign(low_by_event=plain["low"], high_by_event=plain["high"]).rename_axis("delay").reset_index()
        )
    columns = "delay agent_id mean difference low high n n_clusters low_by_event high_by_event"
    return pd.concat(rows)[columns.split()].sort_values(["agent_id", "delay"], ignore_index=True)


def describe_days(runs):
    """Return each start day's set by delay: day, delay, n_events, n_sources, wait (mean days), error (of the mean
    score).

    `runs` maps a delay to (events, answers, scores); `error` is the root mean square over the agents.
    """
    tables = []
    for delay, (events, answers, scores) in runs.items():
        day = events.set_index("event_id")["as_of"].str[:10]
        found = answers[answers["status"] == "ok"].merge(events[["event_id", "as_of"]], on="event_id")
        table = pd.DataFrame(
            {"n_events": day.value_counts(), "n_sources": events.groupby(day.to_numpy())["source_id"].nunique()}
        )
        table["wait"] = measure_waits(found).groupby(found["event_id"].map(day)).mean()
        parts = split_days(scores, events).items()
        table["error"] = pd.Series({at: np.sqrt((part.var() / part.count()).mean()) for at, part in parts})
        tables.append(table.rename_axis("day").reset_index().assign(delay=delay))
    return pd.concat(tables, ignore_index=True)


STATEMENTS = {
    "n_events": ("a longer delay has more events", 1, "events a day"),
    "n_sources": ("a short delay has less diversity", 1, "sources a day"),
    "error": ("a short delay makes a day more random", -1, "standard error of a day's mean"),
}
"""What is compared by start day, what FutureX 3.4.1 says of it, the sign of that (long minus short), and its name."""


def judge_delays(runs, chosen=HORIZON_DAYS):
    """Return FutureX's statements on the delay (3.4.1), the shortest against the chosen one, each with a test.

    Columns: statement, measure, short, long, difference (positive is what the paper says), p, n, verdict (after Holm).
    Events, sources and noise: exact sign-flip test over start days; difficulty: matched questions, by source.
    """
    short, days = min(runs), describe_days({delay: runs[delay] for delay in (min(runs), chosen)})
    wide, rows = days.pivot(index="day", columns="delay"), []
    for measure, (statement, sign, name) in STATEMENTS.items():
        ends = wide[measure][short], wide[measure][chosen]
        gap = sign * (ends[1] - ends[0])
        rows.append((statement, name, ends[0].mean(), ends[1].mean(), gap.mean(), sign_flip_test(gap), len(gap)))
    rows.append(_compare_ends(runs, short, chosen))
    table = pd.DataFrame(rows, columns="statement measure short long difference p n".split())
    return judge_family(table, "difference", "agrees", "disagrees")


def _compare_ends(runs, short, chosen):
    """Matched questions: last_value's score less random's at the short delay minus at the chosen one, by source."""
    pair = {delay: runs[delay] for delay in (short, chosen)}
    matched = match_questions({d: run[2] for d, run in pair.items()}, {d: run[0] for d, run in pair.items()})
    wide = matched.pivot_table(index=["event_id", "delay"], columns="agent_id", values="score")
    above = (wide["last_value"] - wide["random"]).unstack("delay")
    clusters = find_clusters(runs[chosen][0])[0]
    found = summarize_clustered((above[short] - above[chosen]).to_frame("d"), clusters).iloc[0]
    ends = above[short].mean(), above[chosen].mean(), found["mean"], found["p"], int(found["n"])
    return "a week is harder than the next day", "last_value above guessing, same questions", *ends
