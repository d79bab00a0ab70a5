"""The evaluation delay: how long to wait for outcomes before a day's predictions are judged (FutureX 3.4.1).

A delay of D days is a question set of its own on the same start days: each template's value is asked for at most D days
ahead, and a day's questions can be judged when D days are over.
"""

import numpy as np
import pandas as pd

from helpers.agents.registry import predict_events
from helpers.events.collect import collect_events
from helpers.events.pose import HORIZON_DAYS
from helpers.scoring.answers import acquire_answers
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
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


def match_leads(runs):
    """Return what last_value scores above random on the questions that all sets ask: event x delay.

    `runs` maps a delay to (events, answers, scores).
    """
    matched = match_questions({d: run[2] for d, run in runs.items()}, {d: run[0] for d, run in runs.items()})
    wide = matched.pivot_table(index=["event_id", "delay"], columns="agent_id", values="score")
    return (wide["last_value"] - wide["random"]).unstack("delay")


def measure_leads(runs):
    """Return the means of `match_leads` by delay, clustered by source: delay, mean, low, high, n, n_clusters."""
    found = summarize_clustered(match_leads(runs), find_clusters(runs[max(runs)][0])[0])
    return found[["mean", "low", "high", "n", "n_clusters"]].rename_axis("delay").reset_index()


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
    above, clusters = match_leads({delay: runs[delay] for delay in (short, chosen)}), find_clusters(runs[chosen][0])[0]
    found = summarize_clustered((above[short] - above[chosen]).to_frame("d"), clusters).iloc[0]
    ends = above[short].mean(), above[chosen].mean(), found["mean"], found["p"], int(found["n"])
    return "a week is harder than the next day", "last_value above guessing, same questions", *ends
