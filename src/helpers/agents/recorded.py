"""What recorded replies tell before a run: how many of its questions they answer, and what the rest takes by method."""

import json
from contextlib import suppress

from helpers.agents.registry import connect_agent, is_prompted, load_entries, read_prices
from helpers.agents.workers import to_cell
from helpers.models.llm import Door, is_final
from helpers.store import ROOT

ONE_REQUEST = ("zero_shot", "search_prompt", "graph", "search_graph")
"""Methods of one request a question."""

LIKE = {"tool_search": "react"}
"""A method of which no run is recorded -> the one whose tokens stand for it."""


def count_replies(recordings):
    """Return how many replies are among a run's recordings, under whatever settings."""
    return sum(is_final(row) for row in recordings.rows.values())


def find_recorded(entry, recordings, events):
    """Return, for each event (a row with its `sample`), whether its first request has a recorded reply.

    None where the agent looks things up before its first request, which is then not known. Nothing is asked.
    """
    found = []

    class Probe:
        def find(self, key):
            row = recordings.find(key)
            found[-1] = row is not None and is_final(row)
            raise LookupError(key)  # ends the question

    forecast = connect_agent(entry, Door(Probe()))["forecast"]
    for event in events.to_dict("records"):
        found.append(None)
        with suppress(Exception):  # the probe's, or of the world that is not there; libraries wrap it
            forecast({column: to_cell(value) for column, value in event.items()}, None)
    return found


def describe_recorded(entry, left, recordings):
    """Return a sentence on how far recorded replies answer the questions left; None when there are none."""
    n_recorded, n_left = count_replies(recordings), len(left)
    if not n_recorded:
        return None
    known, options = find_recorded(entry, recordings, left), entry.get("options", {})
    if n := known.count(True):
        return f"{n} of {n_left} questions have a recorded reply to begin with; what is recorded is not asked again"
    if any(options.items() <= row["request"].get("options", {}).items() for row in recordings.rows.values()):
        same = "where model, options, prompts and pages are as they were"
        return f"{n_recorded} replies are recorded already; {same}, what they answer is not asked, or paid, again"
    changed = "the agent's options (or its prompt, model or condition) have changed since"
    return f"{changed}: 0 of {n_recorded} recorded replies apply, all {n_left} questions are asked, and paid, anew"


def measure_methods(folder=ROOT / "data/runs"):
    """Return what a question took in the recorded runs, a mean a method: {method: (input tokens, output tokens, runs)}.

    >>> tokens = {method: n_in + n_out for method, (n_in, n_out, _) in measure_methods().items()}
    >>> tokens["zero_shot"] < tokens["search_prompt"] < tokens["react"] < tokens["research"]
    True
    """
    entries, sums = load_entries(), {}
    for path in sorted(folder.glob("*/run.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        entry = entries.get(facts.get("agent"))
        if entry is None or not is_prompted(entry):
            continue
        n_asked = facts["n_recordings"] if entry["method"] in ONE_REQUEST else facts["n_events"]
        row = sums.setdefault(entry["method"], [0, 0, 0, 0])
        for at, n in enumerate((facts["n_input_tokens"], facts["n_output_tokens"], n_asked, 1)):
            row[at] += n
    return {method: (n_in / n, n_out / n, n_runs) for method, (n_in, n_out, n, n_runs) in sums.items() if n}


def estimate_run(entry, n_questions, prices=None):
    """Return what asking an entry's agent takes, by the recorded runs of its method, None where there are none.

    n_input_tokens, n_output_tokens, cost_usd (None without `prices`, US dollars a token, or the entry's own), n_runs
    and `left_out`, what the estimate does not see, in words.
    """
    found = measure_methods().get(LIKE.get(entry["method"], entry["method"]))
    if found is None:
        return None
    n_input, n_output = (round(n_questions * mean) for mean in found[:2])
    prices = read_prices(entry) or prices
    cost = None if prices is None else n_input * prices[0] + n_output * prices[1]
    left_out = "a small local model's short replies: what a model thinks, longer replies and pages come on top"
    return {
        "n_input_tokens": n_input,
        "n_output_tokens": n_output,
        "cost_usd": cost,
        "n_runs": found[2],
        "left_out": left_out,
    }
