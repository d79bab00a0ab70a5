"""One prediction and one answer in, a number out; and the scores table made of them.

Options, rankings and numbers are scored as in FutureX 3.4.3; percentages, intervals and dates as WorldReasoner's
quantities and timeframes (F.1); texts and lists by LiveAgentBench's string matching (4.2).

Scores lie in [0, 1], higher is better. Errors keep their own names (`brier`, `abs_error`), lower is better. A missing
prediction (None or NaN) scores 0.0 in the functions; in the table its score is blank and `score_imputed` is 0.
"""

import math
from contextlib import suppress
from functools import partial

import pandas as pd

from helpers import papers, store, tables
from helpers.replies.boxes import Unreadable
from helpers.replies.dates import read_date
from helpers.scoring.matching import match_answer, split_tokens

HEADLINE = {"single": "accuracy", "multi": papers.get_constant("futurex", "multi_headline")}
HEADLINE |= {"ranking": "ranking", "number": "number"}
HEADLINE |= {"percent": "quantity", "interval": "inside", "date": "exact", "text": "match", "list": "match"}
"""Kind of event -> the metric that counts (FutureX 3.4.3, F1 rather than the strict rule of 3.3; see the module)."""

MOST = 1e300
"""No miss is counted as larger: beyond it arithmetic ends."""

ERRORS = ("brier", "abs_error")
"""Metrics where lower is better; they have no imputed score, since 0 would be perfect."""

SCORER_VERSION = "1"

OVERLAP_WEIGHT = papers.get_constant("futurex", "ranking_overlap_weight")
OMISSION_SCORE = papers.get_constant("futurex", "strict_omission_score")
TOLERANCE = papers.get_constant("worldreasoner", "quantity_tolerance")


def is_missing(value):
    """Say whether a prediction is missing (None or NaN); an empty list is a prediction."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def score_single(prediction, answer):
    """Score a single-choice prediction: 1 if it is the answer, else 0 (FutureX 3.4.3)."""
    return 0.0 if is_missing(prediction) else float(prediction == answer)


def score_multi(prediction, answer):
    """Score a set of options by its F1 against the right ones, 0 when they share none (FutureX 3.4.3).

    Raises ValueError when no option is right, since recall is then undefined.
    """
    named, right = _compare_options(prediction, answer)
    hits = len(named & right)
    return 2 * hits / (len(named) + len(right))


def score_multi_strict(prediction, answer):
    """Score a set of options by level 2's rule: 1 exact, half if only some are named, 0 with a wrong one (FutureX 3.3).

    The half is taken once an item, however many options are left out. Raises ValueError when no option is right.
    """
    named, right = _compare_options(prediction, answer)
    if named == right:
        return 1.0
    return OMISSION_SCORE if named and named < right else 0.0


def _compare_options(prediction, answer):
    right = set(_as_list(answer))
    if not right:
        raise ValueError("the answer names no right option, so the event cannot be scored")
    return set() if is_missing(prediction) else set(_as_list(prediction)), right


def _as_list(value):
    return [value] if isinstance(value, str) else list(value)


def normalise_name(name):
    """Return a name without case and surplus white space."""
    return None if is_missing(name) else " ".join(str(name).casefold().split())


def score_ranking(prediction, answer):
    """Score an ordered list: 1 if every place is right, else 0.8 times the share of names shared (FutureX 3.4.3).

    k is the answer's length. A longer prediction is cut to k, a shorter one padded with nulls, a repeated name counts
    once. Raises ValueError for an answer that is empty or has a blank rank.
    """
    truth = [normalise_name(name) for name in _as_list(answer)]
    k = len(truth)
    if k == 0 or None in truth:
        raise ValueError("the answer leaves a rank blank, so the event cannot be scored")
    if is_missing(prediction):
        return 0.0
    guess = [normalise_name(name) for name in _as_list(prediction)[:k]]
    guess += [None] * (k - len(guess))
    if guess == truth:
        return 1.0
    return OVERLAP_WEIGHT * len(set(guess) & set(truth)) / k


def score_number(prediction, answer, spread):
    """Score a number: 1 at the answer, falling quadratically to 0 one `spread` away (FutureX 3.4.3).

    `spread` is the outcome's recent standard deviation, in the answer's unit. Where it is zero the score is 1 for the
    answer itself, else 0. Raises ValueError without a spread: the event is unscored.

    >>> score_number(prediction=101, answer=100, spread=2)  # 1 - (1/2)**2
    0.75
    >>> score_number(None, 100, 2), score_number(103, 100, 2), score_number(100, 100, 0), score_number(1e200, 100, 2)
    (0.0, 0.0, 1.0, 0.0)
    """
    if is_missing(spread):
        raise ValueError("fewer than 3 earlier values give no spread, so the event cannot be scored")
    if is_missing(prediction):
        return 0.0
    if spread <= 1e-12 * abs(answer):  # what is left of a constant series after rounding
        return float(math.isclose(prediction, answer, rel_tol=1e-9))
    miss = measure_miss(prediction, answer) / spread
    return 1.0 - miss**2 if miss < 1 else 0.0


def measure_miss(prediction, answer):
    """Return the distance of a number from the answer, in its unit, at most MOST."""
    return min(abs(max(-MOST, min(MOST, prediction)) - answer), MOST)


def score_quantity(prediction, answer):
    """Score a quantity: 1 within a tenth of the answer, else 0 (WorldReasoner F.1); an answer of 0 wants exactly 0."""
    if is_missing(prediction):
        return 0.0
    gap, width = abs(prediction - answer), TOLERANCE * abs(answer)
    return float(gap <= width or math.isclose(gap, width, rel_tol=1e-9))


def score_interval(prediction, answer):
    """Score an interval [low, high]: 1 if the answer lies inside, its ends included, else 0 (WorldReasoner F.1)."""
    return 0.0 if is_missing(prediction) else float(prediction[0] <= answer <= prediction[1])


def score_date(prediction, answer):
    """Score a date: 1 if it is the answer once both are written as YYYY-MM-DD, else 0 (WorldReasoner F.1).

    A prediction that is no full date is wrong. Raises ValueError for an answer that is none.
    """
    if is_missing(prediction):
        return 0.0
    try:
        right = read_date(answer)
    except Unreadable as problem:
        raise ValueError(f"the answer is no date ({problem}), so the event cannot be scored") from None
    with suppress(Unreadable):
        return float(read_date(prediction) == right)
    return 0.0


def score_text(prediction, answer, is_strict=False):
    """Score a short text: 1 if it equals the answer once both are normalised, or holds it as a whole run of tokens.

    LiveAgentBench 4.2 (see `scoring.matching`); with `is_strict` only what is written the same counts.
    """
    fits = match_answer(None if is_missing(prediction) else str(prediction), str(answer))
    return float(fits["is_strict" if is_strict else "is_match"])


def score_list(prediction, answer, is_strict=False):
    """Score a list: 1 if each item equals one of the answer's once normalised, none left over, else 0.

    LiveAgentBench 4.2, in any order; with `is_strict` items and order as they are written. Raises ValueError for an
    answer without items.
    """
    right = _as_list(answer)
    if not right:
        raise ValueError("the answer lists nothing, so the event cannot be scored")
    if is_missing(prediction):
        return 0.0
    named = _as_list(prediction)
    if is_strict:
        return float(named == right)
    return float(sorted(map(split_tokens, named)) == sorted(map(split_tokens, right)))


def score_brier(distribution, answer, options):
    """Return the multi-class Brier error: the sum over options of (probability - outcome) squared; lower is better.

    For a single-choice event it lies in [0, 2]; for several right answers each option has its own probability. An
    option without a probability has 0. Raises ValueError for a probability of no option or outside [0, 1].
    """
    stray = sorted(set(distribution) - set(options))
    if stray:
        raise ValueError(f"option {stray[0]} has a probability but is not among {', '.join(options)}")
    if any(not 0 <= p <= 1 for p in distribution.values()):
        raise ValueError("a probability lies outside 0 to 1")
    right = set(_as_list(answer))
    return sum((distribution.get(option, 0.0) - float(option in right)) ** 2 for option in options)


METRICS = {
    "single": {"accuracy": score_single},
    "multi": {"f1": score_multi, "f1_strict": score_multi_strict},
    "ranking": {"ranking": score_ranking},
    "number": {"number": score_number, "abs_error": measure_miss},
    "percent": {"quantity": score_quantity, "abs_error": measure_miss},
    "interval": {"inside": score_interval},
    "date": {"exact": score_date},
    "text": {"match": score_text, "strict": partial(score_text, is_strict=True)},
    "list": {"match": score_list, "strict": partial(score_list, is_strict=True)},
}
"""Kind of event -> metric -> what scores a prediction against an answer (`score_number` with the answer's spread)."""


def score_row(row):
    """Return the score rows of one prediction joined with its event and answer, as dictionaries.

    A missing prediction has a blank score and 0 imputed; an event without an answer or without a spread is not scored
    and says why, whether or not it was predicted.
    """
    prediction, answer, distribution = (  # a column of bare numbers has already been opened by the csv reader
        store.parse_json(cell) if isinstance(cell, str) or is_missing(cell) else cell
        for cell in (row["value"], row["answer"], row["distribution"])
    )
    metrics = {metric: partial(score, prediction, answer) for metric, score in METRICS[row["kind"]].items()}
    if row["kind"] == "number":
        metrics["number"] = partial(score_number, prediction, answer, row["spread"])
    if row["kind"] in ("single", "multi") and distribution is not None:
        options = sorted(store.parse_json(row["options"]))
        metrics["brier"] = partial(score_brier, distribution, answer, options)
    elif row["kind"] == "single" and not is_missing(row.get("probability")):
        # of one probability, that of the answer's being right: the error of the two outcomes right and wrong
        metrics["brier"] = lambda: 2 * (row["probability"] - float(prediction == answer)) ** 2
    base = {name: row[name] for name in ("run_id", "event_id", "sample", "agent_id")}
    return [base | _fill_row(row, metric, score, prediction, answer) for metric, score in metrics.items()]


def _fill_row(row, metric, score, prediction, answer):
    filled = {"metric": metric, "is_missing": is_missing(prediction), "is_scored": True, "reason": None}
    filled |= {"score": math.nan, "score_imputed": math.nan, "scorer_version": SCORER_VERSION}
    if is_missing(answer):
        return filled | {"is_scored": False, "reason": f"no answer: {row['answer_status']}"}
    try:
        value = math.nan if filled["is_missing"] and metric in ERRORS else score()
    except ValueError as problem:
        return filled | {"is_scored": False, "reason": str(problem)}
    if filled["is_missing"]:
        filled["reason"] = row["reason"] if isinstance(row["reason"], str) else row["status"]
    else:
        filled["score"] = value
    if metric not in ERRORS:
        filled["score_imputed"] = 0.0 if filled["is_missing"] else value
    return filled


def score_predictions(predictions, answers, events):
    """Return the scores table: a row a prediction and metric, in the order of `predictions`.

    Every event has its headline metric (`HEADLINE`); events with several right answers also `f1_strict`, numbers and
    percentages also `abs_error` (in the answer's unit), texts and lists also `strict`, and predictions with
    probabilities by option, or of a single choice that of its being right, also `brier`. Raises ValueError when a
    prediction's event is not in `events`.
    """
    stray = ~predictions["event_id"].isin(events["event_id"])
    if stray.any():
        name = predictions.loc[stray, "event_id"].iloc[0]
        raise ValueError(f"{int(stray.sum())} predictions are for no known event, the first is {name}; pass its events")
    answers = tables.check_table("answers", answers)[["event_id", "value", "status", "spread"]]
    answers = answers.rename(columns={"value": "answer", "status": "answer_status"}).fillna({"answer_status": "none"})
    table = (
        tables.check_table("predictions", predictions)
        .merge(tables.check_table("events", events)[["event_id", "kind", "options"]], on="event_id", how="left")
        .merge(answers, on="event_id", how="left")
    )
    table["answer_status"] = table["answer_status"].fillna("never asked")
    rows = [row for record in table.to_dict("records") for row in score_row(record)]
    return tables.check_table("scores", pd.DataFrame(rows, columns=tables.list_columns("scores")))


def select_headline(scores, events):
    """Return the scored rows of each event's headline metric, with its level and kind.

    Raises ValueError when nothing is left, or an event has no level.
    """
    known = events[["event_id", "kind", "level"]]
    rows = scores[scores["is_scored"].astype(bool)].merge(known, on="event_id", how="inner")
    rows = rows[rows["metric"] == rows["kind"].map(HEADLINE)]
    if rows.empty:
        raise ValueError("no scored event is left; check that scores and events are of the same window")
    if rows["level"].isna().any():
        raise ValueError(
            f"event {rows.loc[rows['level'].isna(), 'event_id'].iloc[0]} has no level; assign levels first"
        )
    return rows.assign(level=rows["level"].astype(int))


def build_matrix(rows, agents, value="score"):
    """Return the mean `value` by event (rows) and agent (columns, in the order of `agents`); NaN where none."""
    matrix = rows.pivot_table(index="event_id", columns="agent_id", values=value, aggfunc="mean", dropna=False)
    return matrix.reindex(columns=agents).sort_index()
