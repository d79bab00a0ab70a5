"""From Python, in two calls: score predictions of your own, and compare two agents on the events that both predicted.

>>> events = pd.DataFrame({"event_id": ["e1", "e2"], "kind": ["single", "number"]})
>>> answers = pd.DataFrame({"event_id": ["e1", "e2"], "value": ['"Yes"', 10.0], "spread": [None, 2.0]})
>>> rows = [("e1", "ann", '"Yes"'), ("e1", "bob", '"No"'), ("e2", "ann", 11.0), ("e2", "bob", 10.0)]
>>> scores = score(events, answers, pd.DataFrame(rows, columns=["event_id", "agent_id", "value"]))
>>> compare(scores, "ann", "bob").iloc[0][["mean_a", "mean_b", "difference"]].astype(float).tolist()
[0.875, 0.5, 0.375]
"""

import math

import numpy as np
import pandas as pd

from helpers.estimates.regression import compare_agents
from helpers.outcomes.scores import HEADLINE, build_matrix, score_predictions

COLUMNS = ["group", "a", "b", "mean_a", "mean_b", "difference", "low", "high", "n", "n_only_a", "n_only_b", "verdict"]
TOLD = ("level", "domain")
"""Columns of the events that `score` writes beside the scores (event_level, event_domain), for `compare`."""


def score(events, answers, predictions, aliases=None):
    """Return the scores table (FutureX 3.4.3) of predictions, with the events' level and domain beside them.

    Needs event_id and kind in events (options too, for probabilities), event_id and value (spread, for numbers) in
    answers, and event_id, agent_id and value in predictions; cells are JSON as in the tables of the kit. A run is an
    agent's name where no run_id is given. Raises ValueError when a needed column is absent, or an event is unknown.
    """
    needs = {
        "events": (events, ("event_id", "kind")),
        "answers": (answers, ("event_id", "value")),
        "predictions": (predictions, ("event_id", "agent_id", "value")),
    }
    for name, (table, columns) in needs.items():
        for column in columns:
            if column not in table.columns:
                raise ValueError(f"{name} has no column {column!r}; it needs {', '.join(columns)}")
    answers = fill_blanks(answers, status=np.where(answers["value"].isna(), "none", "ok"))
    scores = score_predictions(fill_predictions(predictions), answers, events, aliases)
    told = events.reindex(columns=["event_id", *TOLD]).rename(columns={name: f"event_{name}" for name in TOLD})
    return scores.merge(told, on="event_id", how="left", validate="many_to_one")


def fill_blanks(table, **defaults):
    """Return a table whose absent columns and blank cells hold these values, one for all rows or one a row.

    >>> fill_blanks(pd.DataFrame({"a": [1.0, None]}), a=0, b=["x", "y"]).values.tolist()
    [[1.0, 'x'], [0, 'y']]
    """
    for name, values in defaults.items():
        given = table.get(name, pd.Series(None, table.index)).astype(object)
        table = table.assign(**{name: given.where(given.notna(), values)})
    return table


def fill_predictions(predictions):
    """Return predictions with the defaults of what may be left out: run_id the agent's name, sample 0, status by value.

    >>> table = pd.DataFrame({"event_id": ["e1", "e2"], "agent_id": ["ann", "ann"], "value": ["1", None]})
    >>> fill_predictions(table)[["run_id", "sample", "status"]].values.tolist()
    [['ann', 0, 'ok'], ['ann', 0, 'missing']]
    """
    known = np.where(predictions["value"].isna(), "missing", "ok")
    table = fill_blanks(predictions, run_id=predictions["agent_id"], sample=0, status=known)
    return table.assign(sample=pd.to_numeric(table["sample"]).astype(int))


def compare(scores, a, b, by="level"):
    """Return the paired difference between two agents, a minus b: a row for all events, and one for each level.

    Each event counts once: a's mean score on it (over samples and runs) minus b's, so whatever makes an event hard for
    both cancels, and the 95% interval (Student's t over events) is clustered by event. `n` counts events that both
    predicted; `n_only_a` and `n_only_b` those left out because the other's prediction is missing. With fewer than two
    events, or differences that are all the same, there is no interval. `by` is level
    or domain; where the scores do not have it, only all events are compared. Raises LookupError for an unknown agent.

    The verdict is "a is better", "b is better" or "cannot tell".
    """
    names = sorted(scores["agent_id"].dropna().unique())
    for name in (a, b):
        if name not in names:
            raise LookupError(f"no scores of an agent {name!r}; there are {', '.join(names)}")
    if a == b:
        raise ValueError(f"both agents are {a!r}; name two")
    rows = scores[scores["metric"].isin(HEADLINE.values()) & scores["is_scored"].astype(bool)]
    groups = [("all", rows)]
    if f"event_{by}" in rows.columns:
        groups += [(f"{by} {label_group(key)}", part) for key, part in rows.groupby(f"event_{by}", sort=True)]
    table = [{"group": name, "a": a, "b": b} | pair_agents(part, a, b) for name, part in groups]
    return pd.DataFrame(table, columns=COLUMNS)


def label_group(key):
    """Return a group's name; whole numbers without a decimal point.

    >>> label_group(3.0), label_group("Crypto")
    ('3', 'Crypto')
    """
    return str(int(key)) if isinstance(key, float) and key.is_integer() else str(key)


def pair_agents(rows, a, b):
    """Return means, difference, interval, counts and verdict of two agents on one group of scored rows."""
    part = rows[rows["agent_id"].isin([a, b])]
    matrix = build_matrix(part, [a, b])
    there = matrix.notna()
    counts = {"n": int(there.all(axis=1).sum())}
    counts |= {
        f"n_only_{side}": int((there[name] & ~there[other]).sum()) for side, name, other in (("a", a, b), ("b", b, a))
    }
    if counts["n"] == 0:
        return dict.fromkeys(("mean_a", "mean_b", "difference", "low", "high")) | counts | {"verdict": "cannot tell"}
    both = matrix.dropna()
    pair = compare_agents(part).iloc[0]
    low, high = (pair["low"], pair["high"]) if pair["agent_a"] == a else (-pair["high"], -pair["low"])
    low, high = (low, high) if high > low else (math.nan, math.nan)
    means = {"mean_a": both[a].mean(), "mean_b": both[b].mean(), "difference": (both[a] - both[b]).mean()}
    verdict = "a is better" if low > 0 else "b is better" if high < 0 else "cannot tell"
    return means | {"low": low, "high": high} | counts | {"verdict": verdict}
