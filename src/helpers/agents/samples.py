"""Several answers to one question: how far they spread, and the majority or median of them as an agent of its own."""

import math
import statistics
from collections import Counter
from contextlib import closing
from functools import partial

import pandas as pd

from helpers.store import ACCIDENTS, dump_json, list_done, open_store, parse_json

NUMBERS = ("number", "percent")
"""Kinds whose answers are averaged; of all others the most frequent answer counts."""


def combine_values(values, kind):
    """Return one value for several answers to a question of some kind: their median, else the most frequent one.

    Of equally frequent ones it is the first. An interval's ends have a median each. Raises ValueError without values.

    >>> combine_values([3, 1, 8], "number"), combine_values(["B", "A", "A"], "single")
    (3, 'A')
    >>> combine_values([["a", "b"], ["b", "a"]], "ranking"), combine_values([[1, 5], [2, 9]], "interval")
    (['a', 'b'], [1.5, 7.0])
    """
    if not values:
        raise ValueError("no answer to combine")
    if kind in NUMBERS:
        return take_median(values)
    if kind == "interval":
        return [take_median(ends) for ends in zip(*values, strict=True)]
    return parse_json(count_votes(values).most_common(1)[0][0])


def take_median(numbers):
    """Return the median of some numbers; where the mean of the middle two is beyond what a float holds, the lower one.

    >>> take_median([1, 2]), take_median([1, 10**400])
    (1.5, 1)
    """
    try:
        return statistics.median(numbers)
    except OverflowError:
        return statistics.median_low(numbers)


def count_votes(values):
    """Return how often each value, as JSON, stands among several."""
    return Counter(map(dump_json, values))


def measure_spread(values, kind):
    """Return how far several answers to a question lie apart: the standard deviation of numbers, in their unit.

    Of other kinds the share that differ from the most frequent answer. NaN for fewer than two answers, and for
    intervals.

    >>> measure_spread([1, 3], "number"), measure_spread(["A", "B", "A", "A"], "single")
    (1.4142135623730951, 0.25)
    """
    if len(values) < 2 or kind == "interval":
        return math.nan
    if kind in NUMBERS:
        try:
            return statistics.stdev(values)
        except OverflowError:
            return math.inf
    return 1 - count_votes(values).most_common(1)[0][1] / len(values)


def read_values(path, run_id, event_id, n_samples):
    """Return the values that a run's first `n_samples` samples of a question predict, missing ones left out."""
    sql = "SELECT value FROM predictions WHERE run_id = ? AND event_id = ? AND sample < ? ORDER BY sample"
    with closing(open_store(path)) as ledger:
        cells = [row[0] for row in ledger.execute(sql, [run_id, event_id, n_samples])]
    return [value for value in map(parse_json, cells) if value is not None]


def vote(path, run_id, n_samples, event, world):
    """Return the outcome of a question whose samples stand in a ledger: their majority or median, see `run_agents`.

    The probabilities of a single choice are the shares of its votes. The trace holds the values and their spread.
    """
    values = read_values(path, run_id, event["event_id"], n_samples)
    spread = measure_spread(values, event["kind"])
    content = {"values": values, "spread": spread if math.isfinite(spread) else None}
    trace = [{"actor": "samples", "step_type": "answer", "content": dump_json(content)}]
    if not values:
        reason = f"none of {n_samples} samples holds an answer"
        return {"prediction": {"value": None, "status": "unparsable", "reason": reason}, "trace": trace}
    made = {"value": combine_values(values, event["kind"])}
    if event["kind"] == "single":
        shares = {parse_json(value): n / len(values) for value, n in count_votes(values).items()}
        made |= {"distribution": dict(sorted(shares.items())), "probability": shares[made["value"]]}
    return {"prediction": made, "trace": trace}


def make_majority(path, run_id, agent, n_samples):
    """Return the agent that answers as the majority or median of a run's samples does."""
    return {
        "forecast": partial(vote, str(path), run_id, n_samples),
        "category": agent["category"],
        "framework": f"majority of {n_samples}",
        "model": agent.get("model"),
        "params": {"method": "majority", "of": run_id, "n_samples": n_samples},
    }


def select_whole(path, run_id, events, n_samples):
    """Return the events that have all their samples."""
    with closing(open_store(path)) as ledger:
        done = Counter(event_id for event_id, n in list_done(ledger, run_id, ACCIDENTS) if n < n_samples)
    return events[events["event_id"].map(done) == n_samples]


def summarize_spread(path, run_id, events, n_samples):
    """Return a sentence on how far a run's samples of some events lie apart."""
    rows = []
    for event in events.to_dict("records"):
        values = read_values(path, run_id, event["event_id"], n_samples)
        rows.append((event["kind"] in NUMBERS, measure_spread(values, event["kind"]), values))
    table = pd.DataFrame(rows, columns=["is_number", "spread", "values"]).dropna(subset="spread")
    words, chosen, numbers = [], table[~table["is_number"]], table[table["is_number"]]
    if len(chosen):
        words.append(f"of {len(chosen)} choices {chosen['spread'].mean():.0%} of the samples differ from the majority")
    if len(numbers):
        equal = (numbers["spread"] == 0).sum()
        ratio = (numbers["spread"] / numbers["values"].map(lambda values: abs(statistics.median(values)))).median()
        words.append(
            f"of {len(numbers)} numbers {equal} have equal samples, and half of them a standard deviation below "
            f"{ratio:.2%} of their median"
        )
    return f"{n_samples} samples a question: " + ("; ".join(words) or "too few answers to tell their spread")
