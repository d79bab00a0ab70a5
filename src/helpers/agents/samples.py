"""Several answers to one question: the majority or median of them as an agent of its own."""

import statistics
from collections import Counter
from contextlib import closing
from functools import partial

from helpers.store import ACCIDENTS, dump_json, list_done, open_store, parse_json

NUMBERS = ("number", "percent")
"""Kinds whose answers are averaged; of all others the most frequent answer counts."""


def combine_values(values, kind):
    """Return one value for several answers to a question: of numbers the median, else the first most frequent one.

    An interval's ends have a median each; a middle two whose mean is beyond a float give the lower one.

    >>> combine_values([3, 1, 8], "number"), combine_values(["B", "A", "A"], "single")
    (3, 'A')
    >>> combine_values([["a", "b"], ["b", "a"]], "ranking"), combine_values([[1, 5], [2, 9]], "interval")
    (['a', 'b'], [1.5, 7.0])
    """
    if kind == "interval":
        return [combine_values(ends, "number") for ends in zip(*values, strict=True)]
    if kind not in NUMBERS:
        return parse_json(Counter(map(dump_json, values)).most_common(1)[0][0])
    try:
        return statistics.median(values)
    except OverflowError:
        return statistics.median_low(values)


def read_values(path, run_id, event_id, n_samples):
    """Return the values that a run's first `n_samples` samples of a question predict, missing ones left out."""
    sql = "SELECT value FROM predictions WHERE run_id = ? AND event_id = ? AND sample < ? ORDER BY sample"
    with closing(open_store(path)) as store:
        cells = [row[0] for row in store.execute(sql, [run_id, event_id, n_samples])]
    return [value for value in map(parse_json, cells) if value is not None]


def vote(path, run_id, n_samples, event, world):
    """Return the outcome of a question whose samples stand in a store: their majority or median, see `run_agents`.

    The probabilities of a single choice are the shares of its votes. The trace holds the values.
    """
    values = read_values(path, run_id, event["event_id"], n_samples)
    trace = [{"actor": "samples", "step_type": "answer", "content": dump_json({"values": values})}]
    if not values:
        reason = f"none of {n_samples} samples holds an answer"
        return {"prediction": {"value": None, "status": "unparsable", "reason": reason}, "trace": trace}
    made = {"value": combine_values(values, event["kind"])}
    if event["kind"] == "single":
        shares = {value: n / len(values) for value, n in sorted(Counter(values).items())}
        made |= {"distribution": shares, "probability": shares[made["value"]]}
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
    with closing(open_store(path)) as store:
        done = Counter(event_id for event_id, n in list_done(store, run_id, ACCIDENTS) if n < n_samples)
    return events[events["event_id"].map(done) == n_samples]
