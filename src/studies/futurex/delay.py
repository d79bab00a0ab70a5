"""The evaluation delay: how long to wait for outcomes before a day's predictions are judged
(FutureX 3.4.1).

A delay of D days is a question set of its own on the same start days: each template's value is
asked for at most D days ahead, and a day's questions can be judged when D days are over.
"""

import numpy as np
import pandas as pd

from daybefore.agents.registry import predict_events
from daybefore.questions.collect import collect_events
from daybefore.questions.pose import HORIZON_DAYS
from daybefore.scoring.answers import acquire_answers
from helpers.means import find_clusters, summarize_clustered
from helpers.paired import judge_family, sign_flip_test
from helpers.scores import score_predictions
from studies.futurex.gains import describe_differences
from studies.futurex.levels import score_matrix

DELAYS = (1, 3, HORIZON_DAYS, 14)
"""Days; the third is the paper's choice."""
QUICK_AGENTS = ("last_value", "same_day_last_week", "mean_of_7", "base_rate", "random")
"""Baselines that need no fit; the two fitted ones take most of the time."""

SET = ("events", "answers", "scores")
"""The tables of one delay's question set."""


def run_delay(crawler, window, days, delay, *, seed, keep_binary):
    """Return (events, answers, scores) of one delay's own question set on some start days."""
    options = {"seed": seed, "keep_binary": keep_binary, "horizon_days": delay, "days": days}
    events, _ = collect_events(crawler.sources, crawler, window, **options)
    answers, _ = acquire_answers(events, crawler)
    return (
        events,
        answers,
        score_predictions(predict_events(events, crawler, QUICK_AGENTS), answers, events),
    )


def match_leads(runs):
    """Return what last_value scores above random on the questions that all sets ask and all agents
    answered.

    `runs` maps a delay to (events, answers, scores); the same template on the same day is the same
    question. A table event x delay. Raises ValueError when there is no common question.
    """
    leads = {}
    for delay, (events, _, scores) in runs.items():
        matrix = score_matrix(scores, events)[0].dropna()
        leads[delay] = matrix["last_value"] - matrix["random"]
    table = pd.concat(leads, axis=1, join="inner", names=["delay"]).sort_index()
    if table.empty:
        raise ValueError("the delays' sets have no question in common; take more start days")
    return table


def measure_leads(runs):
    """Return the means of `match_leads` by delay, clustered by source: delay, mean, low, high, n,
    n_clusters."""
    found = summarize_clustered(match_leads(runs), find_clusters(runs[max(runs)][0])[0])
    return found[["mean", "low", "high", "n", "n_clusters"]].rename_axis("delay").reset_index()


def describe_days(runs):
    """Return each start day's set by delay: day, delay, n_events, n_sources, wait (mean days from
    start to answer), error (of the mean score, root mean square over the agents).

    `runs` maps a delay to (events, answers, scores).
    """
    tables = []
    for delay, (events, answers, scores) in runs.items():
        asked = events.merge(
            answers.loc[answers["status"] == "ok", ["event_id", "acquired_at"]], "left", "event_id"
        )
        passed = pd.to_datetime(asked["acquired_at"], utc=True) - pd.to_datetime(
            asked["as_of"], utc=True
        )
        asked = asked.assign(day=asked["as_of"].str[:10], wait=passed.dt.total_seconds() / 86400)
        facts = {
            "n_events": ("event_id", "size"),
            "n_sources": ("source_id", "nunique"),
            "wait": ("wait", "mean"),
        }
        table = asked.groupby("day").agg(**facts)
        marks = score_matrix(scores, events)[0]
        marks = marks.groupby(asked.set_index("event_id")["day"].reindex(marks.index))
        table["error"] = np.sqrt((marks.var() / marks.count()).mean(axis=1))
        tables.append(table.reset_index().assign(delay=delay))
    return pd.concat(tables, ignore_index=True)


STATEMENTS = {
    "n_events": ("a longer delay has more events", 1, "events a day"),
    "n_sources": ("a short delay has less diversity", 1, "sources a day"),
    "error": ("a short delay makes a day more random", -1, "standard error of a day's mean"),
}
"""What is compared by start day, what FutureX 3.4.1 says of it, the sign of that (long minus
short), and its name."""


def judge_delays(runs, chosen=HORIZON_DAYS):
    """Return FutureX's statements on the delay (3.4.1), the shortest against the chosen one, each
    with a test.

    Columns: statement, measure, short, long, difference (positive is what the paper says), p, n,
    verdict (after Holm). Events, sources and noise: exact sign-flip test over start days;
    difficulty: last_value's score less random's on matched questions, by source.
    """
    short = min(runs)
    ends = {delay: runs[delay] for delay in (short, chosen)}
    wide = describe_days(ends).pivot(index="day", columns="delay")
    columns = "statement measure short long difference p n".split()
    rows = []
    for measure, (statement, sign, name) in STATEMENTS.items():
        means = wide[measure].mean()
        gap = sign * (wide[measure][chosen] - wide[measure][short])
        rows.append(
            (
                statement,
                name,
                means[short],
                means[chosen],
                gap.mean(),
                sign_flip_test(gap),
                len(gap),
            )
        )
    above = match_leads(ends)
    found = describe_differences(above[short] - above[chosen], find_clusters(runs[chosen][0])[0])
    said = (
        "a week is harder than the next day (for the last value)",
        "last_value above guessing, same questions",
    )
    means = above.mean()
    rows.append((*said, means[short], means[chosen], found["difference"], found["p"], found["n"]))
    return judge_family(pd.DataFrame(rows, columns=columns), "difference", "agrees", "disagrees")
