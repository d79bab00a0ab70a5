"""The evaluation delay: how long to wait for outcomes before a day's predictions are judged
(FutureX 3.4.1).

A delay of D days is a question set of its own on the same start days: each template's value is
asked for at most D days ahead, and a day's questions can be judged when D days are over.
"""

import pandas as pd

from daybefore.agents.registry import predict_events
from daybefore.questions.collect_events import collect_events
from daybefore.questions.fill_templates import HORIZON_DAYS
from daybefore.scoring.acquire_answers import acquire_answers
from helpers.means import find_clusters, summarize_clustered
from helpers.scores import score_predictions
from studies.futurex.difficulty import score_matrix

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


def measure_leads(runs):
    """Return by delay what last_value scores above random on the questions that all sets ask and
    all agents answered: delay, mean, low, high, n, n_clusters, clustered by source.

    `runs` maps a delay to (events, answers, scores); the same template on the same day is the same
    question. Raises ValueError when there is no common question.
    """
    leads = {}
    for delay, (events, _, scores) in runs.items():
        matrix = score_matrix(scores, events)[0].dropna()
        leads[delay] = matrix["last_value"] - matrix["random"]
    table = pd.concat(leads, axis=1, join="inner", names=["delay"])
    if table.empty:
        raise ValueError("the delays' sets have no question in common; take more start days")
    found = summarize_clustered(table, find_clusters(runs[max(runs)][0])[0])
    return found[["mean", "low", "high", "n", "n_clusters"]].reset_index()


def describe_days(runs):
    """Return each start day's set by delay: day, delay, n_events, wait (mean days from start to
    answer).

    `runs` maps a delay to (events, answers, scores).
    """
    tables = []
    for delay, (events, answers, _) in runs.items():
        known = answers.loc[answers["status"] == "ok", ["event_id", "acquired_at"]]
        asked = events.merge(known, "left", "event_id")
        ends = [pd.to_datetime(asked[name], utc=True) for name in ("as_of", "acquired_at")]
        asked = asked.assign(day=asked["as_of"].str[:10], wait=ends[1] - ends[0])
        table = asked.groupby("day").agg(n_events=("event_id", "size"), wait=("wait", "mean"))
        table["wait"] = table["wait"].dt.total_seconds() / 86400
        tables.append(table.reset_index().assign(delay=delay))
    return pd.concat(tables, ignore_index=True)
