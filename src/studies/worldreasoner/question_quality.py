"""Which questions pass: a gate by seven dimensions, and how long questions run (Table 5).

WorldReasoner 4. The paper's gate is a language model's judgement; here every score is a share of
checks that a reader can repeat, so that a refusal has a reason.
"""

import re

import numpy as np
import pandas as pd

from daybefore.agents.baselines_of_series import forecast_from_paths
from daybefore.questions.life_moments import place_moments
from daybefore.questions.long_questions import SEED, answer_questions, load_series, pose_questions
from helpers.clock import find_dates
from helpers.files import parse_json
from helpers.papers import get_constant
from studies.worldreasoner.outcome_scores import name_type

DIMENSIONS = tuple(get_constant("worldreasoner", "quality_dimensions"))
LIMITS = get_constant("worldreasoner", "quality_limits")
"""Dimension (or composite, the mean of all) -> the least that a question may have."""
SPAN = (
    get_constant("worldreasoner", "long_horizon_min_days"),
    get_constant("worldreasoner", "long_horizon_max_days"),
)
CLOSED = ("answerability", "temporal_validity", "novelty")
"""Dimensions in which a question that has nothing at all is left out, whatever the rest."""
VAGUE = re.compile(
    r"\b(soon|significant(?:ly)?|likely|major|substantial(?:ly)?|notable|around|approximately)\b",
    re.I,
)
MAX_WORDS = get_constant("worldreasoner", "quality_max_words")
TOLERANCE = get_constant("worldreasoner", "quantity_tolerance")


def build_window(seed=SEED):
    """Return window L: (events, answers) that pass the gate, each at its midpoint, (rated, dropped)
    all that was posed.

    `rated` is of what has an answer; `dropped` has event_id and reason of what could not be posed
    or has none.
    """
    posed, dropped = pose_questions(seed=seed)
    answers = answer_questions(posed)
    events = place_moments(posed)
    silent = answers.loc[answers["value"].isna(), ["event_id"]]
    events = events[~events["event_id"].isin(silent["event_id"])]
    said = {}
    least = {}
    for row in events.to_dict("records"):
        about = load_series()[row["source_id"]].variables[parse_json(row["variables"])["variable"]]
        said[row["event_id"]] = forecast_from_paths("opening", row)["prediction"]
        least[row["event_id"]] = about.get("least", -np.inf)
    rated = rate_questions(events, said, least)
    kept = rated.loc[rated["reasons"] == "", "event_id"]
    events, answers = (
        table[table["event_id"].isin(kept)].reset_index(drop=True) for table in (events, answers)
    )
    silent = silent.assign(reason="the series has a gap where it asks")
    return events, answers, rated, pd.concat([dropped, silent], ignore_index=True)


def rate_questions(questions, said, least):
    """Return the seven scores of questions, their mean and why a question is left out: a row a
    question.

    Columns event_id, the dimensions, composite, reasons ("" for what is kept). `said` maps event_id
    to a prediction made at the opening from the past alone (distribution, and value for a
    quantity): how open the outcome looked is `interest`. `least` maps event_id to the smallest
    value that its series can have.
    """
    rows = []
    asked = {}
    for event in questions.sort_values(["opens_at", "event_id"]).to_dict("records"):
        name = event["event_id"]
        checks = rate_question(event, said[name], least[name], asked)
        scores = {part: float(np.mean(list(checks[part].values()))) for part in DIMENSIONS}
        scores["composite"] = float(np.mean(list(scores.values())))
        reasons = []
        for part in (*LIMITS, *CLOSED):
            if not scores[part] >= LIMITS.get(part, 1e-9):
                failed = [what for what, share in checks.get(part, {}).items() if share < 1]
                told = f"{part.replace('_', ' ')}: {', '.join(failed)}" if failed else part
                reasons.append(told)
        rows.append({"event_id": name} | scores | {"reasons": "; ".join(reasons)})
    return pd.DataFrame(rows, columns=["event_id", *DIMENSIONS, "composite", "reasons"])


def rate_question(event, said, least, asked):
    """Return each dimension's checks of one question, {dimension: {what is wrong where it fails:
    share passed}}.

    `asked` remembers what was asked before, and is added to.
    """
    variables = parse_json(event["variables"]) or {}
    options = parse_json(event["options"]) or {}
    first, last = (pd.Timestamp(event[name]) for name in ("opens_at", "resolves_at"))
    days = (last - first) / pd.Timedelta(days=1)
    question = event["prompt"].split("\n")[0]
    criteria, origin = (
        event[name] if isinstance(event[name], str) else ""
        for name in ("resolution_criteria", "provenance")
    )
    bars = [variables["threshold"]] if "threshold" in variables else variables.get("cuts", [])
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
        "answerability": {"its form alone settles it": all(bar > least for bar in bars)},
        "temporal_validity": {
            "it does not run as long as it should": SPAN[0] <= days <= SPAN[1],
            "what it asks about had happened at its opening": variables.get(
                "date", last.isoformat()
            )
            >= event["opens_at"][:10],
        },
        "verifiability": {
            "it does not say what settles it": bool(criteria.strip()),
            "what settles it names no date": bool(find_dates(criteria)),
            "it does not say where it comes from": bool(origin.strip()),
        },
        "interest": {"its outcome looked nearly certain": measure_openness(event["kind"], said)},
        "novelty": {
            "it was asked before, over mostly the same days": is_new(
                event, variables, first, last, asked
            )
        },
    }


def measure_openness(kind, said):
    """Return how open an outcome looked from the past: the entropy of its answers over that of
    equal ones.

    Of a quantity twice the share of the drawn quantiles that lie beyond what counts as right around
    the middle one.

    >>> round(measure_openness("single", {"distribution": {"A": 0.9, "B": 0.1}}), 2)
    0.47
    >>> measure_openness("number", {"value": 10.0, "distribution": {"0.05": 9.5, "0.5": 10.0, "0.95": 12.0}})
    0.6666666666666666
    """
    told = np.array(list(said["distribution"].values()), dtype=float)
    if kind != "number":
        told = told[told > 0] / told.sum()
        return float(-(told * np.log(told)).sum() / np.log(max(len(said["distribution"]), 2)))
    return min(
        1.0, 2 * float(np.mean(np.abs(told - said["value"]) > TOLERANCE * abs(said["value"])))
    )


def is_new(event, variables, first, last, asked):
    """Say whether no earlier question asked the same over mostly the same days; remembers this
    one."""
    key = [event["source_id"], event["options"], str(variables.get("entity"))]
    key += [variables.get("ask"), variables.get("variable")]
    if not variables:  # of a market only its words say what is asked
        key.append(event["prompt"].split("\n")[0])
    before = asked.setdefault(tuple(key), [])
    shared = [min(last, end) - max(first, start) for start, end in before]
    before.append((first, last))
    return all(days / (last - first) <= 0.5 for days in shared)


BANDS = get_constant("worldreasoner", "horizon_bands")
"""Last days of the first two spans of Table 5."""
SPANS = (f"up to {BANDS[0]} days", f"{BANDS[0] + 1} to {BANDS[1]} days", f"over {BANDS[1]} days")


def measure_spans(questions):
    """Return the days between opening and resolution, blank where either is not known.

    >>> table = pd.DataFrame({"opens_at": ["2026-01-01", None], "resolves_at": ["2026-01-31T12:00:00Z", "2026-02-01"]})
    >>> measure_spans(table).tolist()
    [30.5, nan]
    """
    ends = [
        pd.to_datetime(questions[name], utc=True, format="mixed")
        for name in ("opens_at", "resolves_at")
    ]
    return (ends[1] - ends[0]) / pd.Timedelta(days=1)


def band_days(days):
    """Return the span of Table 5 in which numbers of days lie; what is over 30 by an hour is in the
    second."""
    return pd.cut(pd.Series(days, dtype=float), [-np.inf, *BANDS, np.inf], labels=SPANS).astype(
        object
    )
