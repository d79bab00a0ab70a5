"""The quality gate of questions: seven dimensions by rule, each between 0 and 1, and why a question is left out.

WorldReasoner 4. The paper's module is a language model's judgement; here every score is a share of checks that a
reader can repeat, so that a refusal has a reason.
"""

import re

import numpy as np
import pandas as pd

from helpers.agents.paths import forecast_from_paths
from helpers.calendar import find_dates
from helpers.papers import get_constant
from helpers.questions.horizons import SEED, answer_questions, load_series, pose_questions
from helpers.store import parse_json
from helpers.worldreasoner.conditions import place_moments
from helpers.worldreasoner.scores import name_type

DIMENSIONS = tuple(get_constant("worldreasoner", "quality_dimensions"))
LIMITS = get_constant("worldreasoner", "quality_limits")
"""Dimension (or composite, the mean of all) -> the least that a question may have."""
SPAN = (get_constant("worldreasoner", "long_horizon_min_days"), get_constant("worldreasoner", "long_horizon_max_days"))
CLOSED = ("answerability", "temporal_validity", "novelty")
"""Dimensions in which a question that has nothing at all is left out, whatever the rest."""
VAGUE = re.compile(r"\b(soon|significant(?:ly)?|likely|major|substantial(?:ly)?|notable|around|approximately)\b", re.I)
MAX_WORDS = get_constant("worldreasoner", "quality_max_words")
TOLERANCE = get_constant("worldreasoner", "quantity_tolerance")


def build_window(seed=SEED, sources=None):
    """Return window L: (events, answers) that pass the gate, each at its midpoint, (rated, dropped) all that was posed.

    `sources` are other series than the repository's own (`horizons.load_series`).
    `rated` is of what has an answer; `dropped` has event_id and reason of what could not be posed or has none.
    """
    posed, dropped = pose_questions(sources, seed=seed)
    answers, events = answer_questions(posed), place_moments(posed)
    silent = answers.loc[answers["value"].isna(), ["event_id"]].assign(reason="the series has a gap where it asks")
    events = events[~events["event_id"].isin(silent["event_id"])]
    rows = events.to_dict("records")
    said = {row["event_id"]: forecast_from_paths("opening", row)["prediction"] for row in rows}
    rated = rate_questions(events, said, {row["event_id"]: find_least(row) for row in rows})
    kept = rated.loc[rated["reasons"] == "", "event_id"]
    events, answers = (table[table["event_id"].isin(kept)].reset_index(drop=True) for table in (events, answers))
    return events, answers, rated, pd.concat([dropped, silent], ignore_index=True)


def find_least(event):
    """Return the smallest value that the series of a question can have, minus infinity where there is none."""
    variable = parse_json(event["variables"])["variable"]
    return load_series()[event["source_id"]].variables[variable].get("least", -np.inf)


def rate_questions(questions, said, least=None, span=SPAN):
    """Return the seven scores of questions, their mean and why a question is left out: a row a question.

    Columns event_id, the dimensions, composite, reasons ("" for what is kept). `said` maps event_id to a prediction
    made at the opening from the past alone (distribution, and value for a quantity): how open the outcome looked is
    `interest`. `least` maps event_id to the smallest value that its series can have. `span` is the shortest and longest
    horizon in days.
    """
    rows, asked, least = [], {}, least or {}
    for event in questions.sort_values(["opens_at", "event_id"]).to_dict("records"):
        checks = rate_question(event, said[event["event_id"]], least.get(event["event_id"], -np.inf), asked, span)
        scores = {name: float(np.mean(list(checks[name].values()))) for name in DIMENSIONS}
        scores["composite"] = float(np.mean(list(scores.values())))
        rows.append({"event_id": event["event_id"]} | scores | {"reasons": "; ".join(list_reasons(scores, checks))})
    return pd.DataFrame(rows)


def rate_question(event, said, least, asked, span=SPAN):
    """Return each dimension's checks of one question, {dimension: {what is wrong where it fails: share passed}}.

    `asked` remembers what was asked before, and is added to.
    """
    variables, options = parse_json(event["variables"]) or {}, parse_json(event["options"]) or {}
    first, last = pd.Timestamp(event["opens_at"]), pd.Timestamp(event["resolves_at"])
    days = (last - first) / pd.Timedelta(days=1)
    question = event["prompt"].split("\n")[0]
    return {
        "clarity": {
            "it names no date": bool(find_dates(question)),
            "it uses a vague word": not VAGUE.search(question),
            f"it has more than {MAX_WORDS} words": len(question.split()) <= MAX_WORDS,
        },
        "measurability": {
            "its kind has no score": name_type(event["kind"], options) is not None,
            "two of its options read the same": len(set(options.values())) == len(options),
            "it leaves a blank": "{" not in event["prompt"],
        },
        "answerability": {"its form alone settles it": not is_settled(variables, least)},
        "temporal_validity": {
            "it does not run as long as it should": span[0] <= days <= span[1],
            "what it asks about had happened at its opening": variables.get("date", last.isoformat())
            >= event["opens_at"][:10],
        },
        "verifiability": {
            "it does not say what settles it": is_text(event["resolution_criteria"]),
            "what settles it names no date": bool(find_dates(event["resolution_criteria"] or "")),
            "it does not say where it comes from": is_text(event["provenance"]),
        },
        "interest": {"its outcome looked nearly certain": measure_openness(event["kind"], said)},
        "novelty": {"it was asked before, over mostly the same days": is_new(event, variables, first, last, asked)},
    }


def is_text(cell):
    """Say whether a cell holds some text."""
    return isinstance(cell, str) and bool(cell.strip())


def is_settled(variables, least):
    """Say whether a question's form alone settles it: what it asks about can only lie on one side of a bar.

    >>> is_settled({"threshold": 0}, 0), is_settled({"threshold": 1}, 0), is_settled({"cuts": [0.0, 2.0]}, 0)
    (True, False, True)
    """
    bars = [variables["threshold"]] if "threshold" in variables else variables.get("cuts", [])
    return any(bar <= least for bar in bars)


def measure_openness(kind, said):
    """Return how open an outcome looked from the past: the entropy of its answers over that of equal ones.

    Of a quantity twice the share of the drawn quantiles that lie beyond what counts as right around the middle one.

    >>> round(measure_openness("single", {"distribution": {"A": 0.9, "B": 0.1}}), 2)
    0.47
    >>> measure_openness("number", {"value": 10.0, "distribution": {"0.05": 9.5, "0.5": 10.0, "0.95": 12.0}})
    0.6666666666666666
    """
    told = np.array(list(said["distribution"].values()), dtype=float)
    if kind != "number":
        told = told[told > 0] / told.sum()
        return float(-(told * np.log(told)).sum() / np.log(max(len(said["distribution"]), 2)))
    return min(1.0, 2 * float(np.mean(np.abs(told - said["value"]) > TOLERANCE * abs(said["value"]))))


def is_new(event, variables, first, last, asked):
    """Say whether no earlier question asked the same over mostly the same days; remembers this one."""
    key = (event["source_id"], variables.get("ask"), variables.get("variable"), str(variables.get("entity")))
    overlaps = [
        (min(last, end) - max(first, start)) / (last - first)
        for start, end, options in asked.get(key, [])
        if options == event["options"]
    ]
    asked.setdefault(key, []).append((first, last, event["options"]))
    return not overlaps or max(overlaps) <= 0.5


def list_reasons(scores, checks):
    """Return why a question is left out, [] for one that is kept: each limit it misses, with the checks that failed."""
    missed = [name for name in (*LIMITS, *CLOSED) if scores[name] < LIMITS.get(name, 1e-9)]
    told = []
    for name in missed:
        failed = [what for what, share in checks.get(name, {}).items() if share < 1]
        told.append(f"{name.replace('_', ' ')}: {', '.join(failed)}" if failed else name)
    return told


def count_refusals(rated):
    """Return how many questions each reason leaves out, most first, and how many are kept: reason, n.

    >>> count_refusals(pd.DataFrame({"reasons": ["", "clarity: it names no date", ""]})).values.tolist()
    [['kept', 2], ['clarity: it names no date', 1]]
    """
    counts = rated["reasons"].str.split("; ").explode().replace("", "kept").value_counts()
    table = counts.rename_axis("reason").rename("n").reset_index()
    return table.sort_values("reason", key=lambda names: names != "kept", kind="stable", ignore_index=True)
