"""One prediction and one answer in, a number out; and the scores table made of them.

Options, rankings and numbers are scored as in FutureX 3.4.3; percentages, intervals and dates as
WorldReasoner's quantities and timeframes (F.1); texts and lists by LiveAgentBench's string matching
(4.2).

FutureX's public scorer (github Futurex-ai/Futurex-Eval) does otherwise than its paper in five
places. Both are here by name (`SCORERS`): `futurex_paper`, the formulas of 3.4.3, and
`futurex_code`. No mean holds scores of both.

Scores lie in [0, 1], higher is better. Errors keep their own names (`brier`, `abs_error`), lower is
better. A missing prediction (None) scores 0.0 in the functions; in the table its score is blank and
`score_imputed` is 0. An answer that nothing can be held against raises ValueError, whether or not
there is a prediction; in the table it is not scored.
"""

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd

from helpers import files, papers, tables
from helpers.boxed_answers import Unreadable
from helpers.match_answers import match_answer, split_tokens
from helpers.read_dates import read_date

HEADLINE = {"single": "accuracy", "multi": papers.get_constant("futurex", "multi_headline")}
HEADLINE |= {"ranking": "ranking", "number": "number"}
HEADLINE |= {
    "percent": "quantity",
    "interval": "inside",
    "date": "exact",
    "text": "match",
    "list": "match",
}
"""Kind of event -> the metric that counts (FutureX 3.4.3, F1 rather than the strict rule of 3.3;
see the module)."""
MOST = 1e300
"""No miss is counted as larger: beyond it arithmetic ends."""
ERRORS = ("brier", "abs_error")
"""Metrics where lower is better; they have no imputed score, since 0 would be perfect."""
SCORER_VERSION = "1"
PAPER_SCORER = "futurex_paper"
CODE_SCORER = "futurex_code"
CODE_SHARE = 0.05
"""Of a number's true value that the public scorer takes for its spread, whatever the outcome did
before."""
CODE_SPREAD_OF_ZERO = 0.01
"""The public scorer's spread where the true value is 0."""
OVERLAP_WEIGHT = papers.get_constant("futurex", "ranking_overlap_weight")
OMISSION_SCORE = papers.get_constant("futurex", "strict_omission_score")
TOLERANCE = papers.get_constant("worldreasoner", "quantity_tolerance")


Options = str | list | None
"""What is named of several: one, a list, or nothing."""


def open_cell(cell: Any) -> Any:
    """Return a JSON cell opened, None of a blank one; a bare number, as a csv reader opens it, as
    it is."""
    return (
        files.parse_json(cell)
        if isinstance(cell, str)
        else None
        if cell is None or cell != cell
        else cell
    )


def score_multi(prediction: Options, answer: Options) -> float:
    """Score a set of options by its F1 against the right ones, 0 when they share none (FutureX
    3.4.3)."""
    named = set(_list_items(prediction))
    right = set(_list_right(answer))
    return 2 * len(named & right) / (len(named) + len(right))


def score_multi_strict(prediction: Options, answer: Options) -> float:
    """Score a set of options by level 2's rule: 1 exact, half if only some are named, 0 with a
    wrong one (FutureX 3.3).

    The half is taken once an item, however many options are left out.
    """
    named = set(_list_items(prediction))
    right = set(_list_right(answer))
    return 1.0 if named == right else OMISSION_SCORE if named and named < right else 0.0


def _list_items(value: Options) -> list:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _list_right(answer: Options) -> list:
    """The items of an answer; ValueError for one that has none, or a blank."""
    if not (right := _list_items(answer)) or None in right:
        raise ValueError(
            "the answer names nothing right, or leaves a rank blank, so the event cannot be scored"
        )
    return right


def score_ranking(prediction: Options, answer: Options) -> float:
    """Score an ordered list: 1 if every place is right, else 0.8 times the share of names shared
    (FutureX 3.4.3).

    k is the answer's length. A longer prediction is cut to k, in a shorter one places are empty, a
    repeated name counts once; case and surplus white space are nothing.
    """
    truth, guess = (
        [" ".join(str(name).casefold().split()) for name in names]
        for names in (_list_right(answer), _list_items(prediction))
    )
    k = len(truth)
    return 1.0 if guess[:k] == truth else OVERLAP_WEIGHT * len(set(guess[:k]) & set(truth)) / k


def score_number(prediction: float | None, answer: float, spread: float) -> float:
    """Score a number: 1 at the answer, falling quadratically to 0 one `spread` away (FutureX
    3.4.3).

    `spread` is the outcome's recent standard deviation, in the answer's unit. Where it is zero the
    score is 1 for the answer itself, else 0. Raises ValueError without a spread: the event is
    unscored.

    >>> score_number(prediction=101, answer=100, spread=2)  # 1 - (1/2)**2
    0.75
    """
    if pd.isna(spread):
        raise ValueError(
            "fewer than 3 earlier values give no spread, so the event cannot be scored"
        )
    if prediction is None:
        return 0.0
    if spread <= 1e-12 * abs(answer):  # what is left of a constant series after rounding
        return float(math.isclose(prediction, answer, rel_tol=1e-9))
    miss = measure_miss(prediction, answer) / spread
    return 1.0 - miss**2 if miss < 1 else 0.0


def measure_miss(prediction: float, answer: float) -> float:
    """Return the distance of a number from the answer, in its unit, at most MOST."""
    return min(abs(max(-MOST, min(MOST, prediction)) - answer), MOST)


def score_quantity(prediction: float | None, answer: float) -> float:
    """Score a quantity: 1 within a tenth of the answer, else 0 (WorldReasoner F.1); an answer of 0
    wants exactly 0."""
    if prediction is None:
        return 0.0
    gap = abs(prediction - answer)
    width = TOLERANCE * abs(answer)
    return float(gap <= width or math.isclose(gap, width, rel_tol=1e-9))


def score_interval(prediction: list[float] | None, answer: float) -> float:
    """Score an interval [low, high]: 1 if the answer lies inside, its ends included, else 0
    (WorldReasoner F.1)."""
    return 0.0 if prediction is None else float(prediction[0] <= answer <= prediction[1])


def score_date(prediction: str | None, answer: str) -> float:
    """Score a date: 1 if it is the answer once both are written as YYYY-MM-DD, else 0
    (WorldReasoner F.1).

    A prediction that is no full date is wrong.
    """
    try:
        right = read_date(answer)
    except Unreadable as problem:
        raise ValueError(
            f"the answer is no date ({problem}), so the event cannot be scored"
        ) from None
    with suppress(Unreadable):
        return float(prediction is not None and read_date(prediction) == right)
    return 0.0


def score_text(prediction: object, answer: object, way: str = "is_match") -> float:
    """Score a short text: 1 if it equals the answer once both are normalised, or holds it as a
    whole run of tokens.

    LiveAgentBench 4.2 (`helpers.match_answers`, whose other ways of fitting are is_equal and is_strict,
    as written).
    """
    return float(match_answer(None if prediction is None else str(prediction), str(answer))[way])


def score_list(prediction: Options, answer: Options) -> float:
    """Score a list: 1 if each item equals one of the answer's once normalised, none left over, in
    any order, else 0.

    LiveAgentBench 4.2.
    """
    return float(
        sorted(map(split_tokens, _list_items(prediction)))
        == sorted(map(split_tokens, _list_right(answer)))
    )


def add_up(values: Iterable[float]) -> float:
    """Return the sum of floats, added one after the other and rounded each time.

    The built-in sum has kept the lost digits since Python 3.12, and would give other last digits
    there than before.

    >>> add_up([0.1] * 10)
    0.9999999999999999
    """
    total = 0.0
    for value in values:
        total += value
    return total


def score_brier(distribution: dict[str, float], answer: Options, options: list[str]) -> float:
    """Return the multi-class Brier error: the sum over options of (probability - outcome) squared;
    lower is better.

    For a single-choice event it lies in [0, 2]; for several right answers each option has its own
    probability. An option without a probability has 0. Raises ValueError for a probability of no
    option or outside [0, 1].
    """
    if stray := sorted(set(distribution) - set(options)):
        raise ValueError(
            f"option {stray[0]} has a probability but is not among {', '.join(options)}"
        )
    if any(not 0 <= p <= 1 for p in distribution.values()):
        raise ValueError("a probability lies outside 0 to 1")
    right = _list_items(answer)
    return add_up(
        (distribution.get(option, 0.0) - float(option in right)) ** 2 for option in options
    )


METRICS: dict[str, dict[str, Callable]] = {
    "single": {"accuracy": lambda prediction, answer: float(prediction == answer)},
    "multi": {"f1": score_multi, "f1_strict": score_multi_strict},
    "ranking": {"ranking": score_ranking},
    "number": {"number": score_number, "abs_error": measure_miss},
    "percent": {"quantity": score_quantity, "abs_error": measure_miss},
    "interval": {"inside": score_interval},
    "date": {"exact": score_date},
    "text": {"match": score_text, "strict": partial(score_text, way="is_strict")},
    "list": {
        "match": score_list,
        "strict": lambda said, answer: float(_list_items(said) == _list_right(answer)),
    },
}
"""Kind of event -> metric -> what scores a prediction against an answer (`score_number` with the
answer's spread)."""


def find_code_spread(answer: float) -> float:
    """Return the spread that the public scorer gives a number: 5% of the true value, 0.01 where
    that is 0.

    >>> find_code_spread(-200), find_code_spread(0)
    (10.0, 0.01)
    """
    return CODE_SHARE * abs(answer) if answer != 0 else CODE_SPREAD_OF_ZERO


def score_options_by_code(prediction: str | list | None, answer: str | list, level: int) -> float:
    """Score named options as the public scorer does, a share from 0 to 1.

    Levels 1 and 2: one right option wants that one alone, so a second one named earns 0; several
    right ones earn F1. Levels 3 and 4: the same options in any order, else 0 (a judge that is asked
    then wants every place right).

    >>> score_options_by_code(["A", "B"], ["A"], level=2), score_multi(["A", "B"], ["A"])
    (0.0, 0.6666666666666666)
    """
    right = _list_right(answer)
    named = _list_items(prediction)
    if level in (1, 2) and len(right) > 1:
        return score_multi(named, right)
    return float(sorted(named) == sorted(right))


def score_ranking_by_code(prediction: list | None, answer: list) -> float:
    """Score an ordered list as the public scorer does: 1 for as many names, each in its place, else
    0.

    Its code for the paper's 0.8 is reached only where the judge's reply holds neither "yes" nor
    "no". Case and surplus white space are nothing; that two names are of one thing only a judge can
    say.
    """
    truth = [" ".join(str(name).casefold().split()) for name in _list_right(answer)]
    guess = [" ".join(str(name).casefold().split()) for name in _list_items(prediction)]
    return float(guess == truth)


CODE_METRICS = METRICS | {
    "ranking": {"ranking": score_ranking_by_code},
    "text": {"match": partial(score_text, way="is_equal")},
    "list": {"match": score_list},
}
SCORERS: dict[str, dict[str, dict[str, Callable]]] = {
    PAPER_SCORER: METRICS,
    CODE_SCORER: CODE_METRICS,
}
"""Name of a scorer -> kind of event -> metric -> what scores it. Options and numbers:
`list_metrics`."""


def list_metrics(row: dict, prediction: Any, answer: Any, scorer: str = PAPER_SCORER) -> dict:
    """Return {metric: a function of nothing that scores} of a row's kind, by a scorer's rules
    (`SCORERS`)."""
    kind = row["kind"]
    metrics = {
        metric: partial(score, prediction, answer)
        for metric, score in SCORERS[scorer][kind].items()
    }
    if scorer == CODE_SCORER and kind in ("single", "multi"):
        metrics = {HEADLINE[kind]: partial(score_options_by_code, prediction, answer, row["level"])}
    if kind == "number":
        by_code = scorer == CODE_SCORER and answer is not None
        spread = find_code_spread(answer) if by_code else row["spread"]
        metrics["number"] = partial(score_number, prediction, answer, spread)
    return metrics


def score_row(row: dict, scorer: str = PAPER_SCORER) -> list[dict]:
    """Return the score rows of one prediction joined with its event and answer, as dictionaries."""
    prediction, answer, told = (
        open_cell(row[name]) for name in ("value", "answer", "distribution")
    )
    metrics = list_metrics(row, prediction, answer, scorer)
    if row["kind"] in ("single", "multi") and told is not None:
        metrics["brier"] = partial(
            score_brier, told, answer, sorted(files.parse_json(row["options"]))
        )
    elif row["kind"] == "single" and not pd.isna(row["probability"]):
        # of one probability, that of the answer's being right: the error of the two outcomes right
        # and wrong
        metrics["brier"] = lambda: 2 * (row["probability"] - float(prediction == answer)) ** 2
    base = {name: row[name] for name in ("run_id", "event_id", "sample", "agent_id")}
    if scorer != PAPER_SCORER:
        base["scorer_version"] = scorer
    return [
        {"scorer_version": SCORER_VERSION}
        | base
        | {"metric": metric}
        | _fill_row(row, metric, score, prediction, answer)
        for metric, score in metrics.items()
    ]


def _fill_row(row: dict, metric: str, score: Callable, prediction: Any, answer: Any) -> dict:
    """What a metric's row says: score, score_imputed, whether there was a prediction and could be a
    score, and why."""
    is_missing = prediction is None
    is_error = metric in ERRORS
    filled: dict[str, Any] = {"is_missing": is_missing, "is_scored": True, "reason": None}
    filled |= {"score": math.nan, "score_imputed": math.nan}
    if answer is None:
        return filled | {"is_scored": False, "reason": f"no answer: {row['answer_status']}"}
    try:
        value = math.nan if is_missing and is_error else score()
    except ValueError as problem:
        return filled | {"is_scored": False, "reason": str(problem)}
    if not is_missing:
        return filled | {"score": value, "score_imputed": math.nan if is_error else value}
    reason = row["reason"] if isinstance(row["reason"], str) else row["status"]
    return filled | {"reason": reason, "score_imputed": math.nan if is_error else 0.0}


def score_predictions(
    predictions: pd.DataFrame,
    answers: pd.DataFrame,
    events: pd.DataFrame,
    scorer: str = PAPER_SCORER,
) -> pd.DataFrame:
    """Return the scores table: a row a prediction and metric, in the order of `predictions`.

    `scorer` names FutureX's rules: the paper's (`futurex_paper`) or its public scorer's
    (`futurex_code`: a number needs no spread; text and names are compared by equality, a judge is
    the caller's). Column `scorer_version` says which.

    Every event has its headline metric (`HEADLINE`); events with several right answers also
    `f1_strict`, numbers and percentages also `abs_error` (in the answer's unit), texts and lists
    also `strict`, and predictions with probabilities by option, or of a single choice that of its
    being right, also `brier`. Raises ValueError when a prediction's event is not in `events`, a
    value or an answer is of another type than its kind has (a list for a number), or the scorer is
    none of `SCORERS`.
    """
    if scorer not in SCORERS:
        raise ValueError(f"no scorer {scorer!r}; there are {' and '.join(SCORERS)}")
    stray = predictions.loc[~predictions["event_id"].isin(events["event_id"]), "event_id"]
    if len(stray):
        raise ValueError(
            f"{len(stray)} predictions are for no known event, the first is {stray.iloc[0]}; pass its events"
        )
    answers = tables.check_table("answers", answers)[["event_id", "value", "status", "spread"]]
    answers = answers.rename(columns={"value": "answer", "status": "answer_status"}).fillna(
        {"answer_status": "none"}
    )
    known = tables.check_table("events", events)[["event_id", "kind", "options", "level"]]
    table = tables.check_table("predictions", predictions).merge(known, on="event_id")
    table = table.merge(answers, "left", "event_id")
    table["answer_status"] = table["answer_status"].fillna("never asked")
    rows = []
    for record in table.to_dict("records"):
        try:
            rows += score_row(record, scorer)
        except (TypeError, AttributeError):
            said = f"{record['value']} against the answer {record['answer']} cannot be scored as {record['kind']}"
            raise ValueError(
                f"{record['event_id']}, {record['agent_id']}: {said}; one is of another type"
            ) from None
    return tables.check_table("scores", pd.DataFrame(rows, columns=tables.list_columns("scores")))


def select_headline(scores: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Return the scored rows of each event's headline metric, with its level and kind.

    Raises ValueError when nothing is left, an event has no level, or scores of two scorers are
    mixed.
    """
    versions = (
        sorted(scores["scorer_version"].dropna().unique()) if "scorer_version" in scores else []
    )
    if len(versions) > 1:
        raise ValueError(f"scores of {' and '.join(versions)} are mixed; take one scorer's rows")
    rows = scores[scores["is_scored"].astype(bool)].merge(
        events[["event_id", "kind", "level"]], on="event_id"
    )
    rows = rows[rows["metric"] == rows["kind"].map(HEADLINE)]
    if rows.empty:
        raise ValueError(
            "no scored event is left: no answer is known yet, or scores and events are of two question sets"
        )
    if rows["level"].isna().all():
        rows["level"] = 0
    if (unlevelled := rows["level"].isna()).any():
        raise ValueError(
            f"event {rows.loc[unlevelled, 'event_id'].iloc[0]} has no level; assign levels first"
        )
    return rows.assign(level=rows["level"].astype(int))


def build_matrix(rows: pd.DataFrame, agents: list[str], value: str = "score") -> pd.DataFrame:
    """Return the mean `value` by event (rows) and agent (columns, in the order of `agents`); NaN
    where none."""
    matrix = rows.groupby(["event_id", "agent_id"])[value].mean().unstack()
    return matrix.reindex(columns=agents).sort_index()
