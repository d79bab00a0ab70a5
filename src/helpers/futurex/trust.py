"""How far judges' scores can be trusted: against planted quality, against themselves, against each other.

Scores are tables target x criterion, made from the judgements table; intervals draw targets (or, where several share a
question, questions) anew.
"""

import numpy as np
import pandas as pd
from scipy import stats

from helpers.futurex.levels import resample_means, take_interval


def spread_scores(judgements, judge, target_type=None, repeat=0):
    """Return a judge's scores as a table target x criterion, in the order in which criteria occur, with their `mean`.

    A target without a score of every criterion has a blank mean. Raises ValueError when there is no such judgement.
    """
    chosen = (judgements["judge"] == judge) & (judgements["repeat"] == repeat)
    part = judgements[chosen & ((judgements["target_type"] == target_type) | (target_type is None))]
    if part.empty:
        raise ValueError(
            f"no judgement of {judge}, repeat {repeat}; there are {', '.join(judgements['judge'].unique())}"
        )
    wide = part.pivot(index="target_id", columns="rubric", values="score").reindex(columns=part["rubric"].unique())
    return wide.assign(mean=wide.mean(axis=1, skipna=False)).rename_axis(columns=None)


def average_scores(scores, rng, n_boot=2000):
    """Return the mean of each criterion over the targets, with n and a 95% interval: rubric, n, score, low, high.

    >>> average_scores(pd.DataFrame({"depth": [1.0, 1.0]}), np.random.default_rng(0)).to_numpy().tolist()
    [['depth', 2, 1.0, 1.0, 1.0]]
    """
    table = pd.DataFrame({"rubric": scores.columns, "n": scores.notna().sum(), "score": scores.mean()})
    ends = [take_interval(draws) for draws in resample_means(scores, rng, n_boot).T]
    return table.assign(low=[low for low, _ in ends], high=[high for _, high in ends]).reset_index(drop=True)


def balance_lengths(calibration):
    """Return the weights of a calibration set's plans (question, quality, plan) that make their length worthless.

    Plans that are longer than their question's good one together weigh as much as those that are shorter, so that the
    number of words orders pairs no better than chance; good plans weigh 1. Raises ValueError when all others are on
    one side.
    """
    words = calibration["plan"].str.split().str.len()
    is_good = calibration["quality"] == "good"
    bar = calibration["question"].map(words[is_good].groupby(calibration["question"]).mean())
    side = (words > bar).where(~is_good)
    counts = side.value_counts()
    if len(counts) < 2:
        raise ValueError("no other plan is longer, or none shorter, than the good one of its question; add some")
    return (counts.sum() / (2 * side.map(counts))).where(~is_good, 1.0).rename("weight")


def rate_judge(scores, calibration, rng, n_boot=2000):
    """Return how well a judge puts good plans above the others of a calibration set, by criterion.

    `scores`: table plan x criterion (`spread_scores`); `calibration`: plan_id, question, quality ("good" and others),
    weight of the others (`balance_lengths`). `accuracy` is over pairs of one question (a tie counts half, `ties` is
    their share), `auc` over all pairs; 95% intervals by drawing questions anew. `verdict` is "fit" when both intervals
    lie above 0.5, else "UNFIT". Raises ValueError when no question has a judged good plan and another.
    """
    known = calibration.set_index("plan_id")[["question", "quality", "weight"]].join(scores, how="inner")
    rows = []
    for rubric in scores.columns:
        part = known.dropna(subset=rubric)
        good, other = (part[part["quality"].eq("good") == is_good] for is_good in (True, False))
        sign = np.sign(np.subtract.outer(good[rubric].to_numpy(), other[rubric].to_numpy()))
        questions = sorted(part["question"].unique())
        left, right = (np.equal.outer(np.array(questions), p["question"].to_numpy(str)) * 1.0 for p in (good, other))
        n = int(np.trace(left @ np.ones_like(sign) @ right.T))
        if not n:
            raise ValueError(f"no question has a good plan and another with a score of {rubric}")
        right = right * other["weight"].to_numpy()
        wins, pairs, ties = (left @ part @ right.T for part in ((sign + 1) / 2, np.ones_like(sign), sign == 0))
        weights = rng.multinomial(len(questions), np.full(len(questions), 1 / len(questions)), size=n_boot)
        row = {"rubric": rubric, "n_plans": len(part), "n_questions": len(questions), "n_pairs": n}
        row["ties"] = float(np.trace(ties) / np.trace(pairs))
        inner = np.trace(wins), np.trace(pairs), weights @ np.diag(wins), weights @ np.diag(pairs)
        outer = [(w @ m * w).sum(axis=-1) for w in (np.ones(len(questions)), weights) for m in (wins, pairs)]
        for name, (won, of, wons, ofs) in (("accuracy", inner), ("auc", outer)):
            draws = np.divide(wons, ofs, out=np.full(n_boot, np.nan), where=ofs > 0)
            row[name], (row[f"{name}_low"], row[f"{name}_high"]) = won / of, take_interval(draws)
        row["verdict"] = "fit" if min(row["accuracy_low"], row["auc_low"]) > 0.5 else "UNFIT"
        rows.append(row)
    return pd.DataFrame(rows)


def weigh_agreement(first, second):
    """Return the quadratic weighted kappa of arrays of scores (along the last axis), NaN where both are one constant.

    1 minus the mean squared difference over that of all pairs drawn apart (Cohen 1968).

    >>> weigh_agreement(np.array([0, 5, 10]), np.array([0, 5, 10])), weigh_agreement(np.array([0, 9]), np.array([9, 0]))
    (np.float64(1.0), np.float64(-1.0))
    """
    apart = first.var(axis=-1) + second.var(axis=-1) + (first.mean(axis=-1) - second.mean(axis=-1)) ** 2
    return 1 - divide(((first - second) ** 2).mean(axis=-1), apart)


def correlate_ranks(first, second):
    """Return Spearman's rank correlation (along the last axis), NaN where one side is constant.

    >>> correlate_ranks(np.array([1, 2, 3]), np.array([2, 4, 9])), correlate_ranks(np.array([1, 1]), np.array([1, 2]))
    (np.float64(1.0), np.float64(nan))
    """
    return correlate(*(stats.rankdata(scores, axis=-1) for scores in (first, second)))


def correlate(first, second):
    """Return the correlation of two arrays along the last axis, NaN where one of them does not vary.

    >>> correlate(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 6.0]])).round(6).tolist()
    [1.0]
    """
    first, second = (array - array.mean(axis=-1, keepdims=True) for array in (first, second))
    size = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    return divide((first * second).sum(axis=-1), np.where(size > 1e-12, size, 0))


def divide(top, bottom):
    """Return a quotient, NaN where the divisor is 0."""
    return np.where(bottom > 0, top, np.nan) / np.where(bottom > 0, bottom, 1)


MEASURES = {
    "kappa": weigh_agreement,
    "spearman": correlate_ranks,
    "difference": lambda first, second: (second - first).mean(axis=-1),
}


def compare_scores(first, second, rng, measures=tuple(MEASURES), n_boot=2000):
    """Return, by criterion, how two tables plan x criterion agree on the plans of both, with 95% bootstrap intervals.

    kappa: quadratic weighted; spearman: of ranks; difference: mean of second minus first. Columns rubric, n, and each
    measure with _low and _high. `second` may be a Series (words of a plan): it is then set against every criterion.
    """
    rows = []
    for rubric in first.columns:
        other = second if isinstance(second, pd.Series) else second[rubric]
        both = pd.concat([first[rubric], other], axis=1, keys=["a", "b"], join="inner").dropna().to_numpy(float)
        row = {"rubric": rubric, "n": len(both)}
        left, right = both.T
        draws = rng.integers(len(both), size=(n_boot, len(both))) if len(both) else None
        for name in measures:
            row[name] = float(MEASURES[name](left, right)) if len(both) else np.nan
            drawn = MEASURES[name](left[draws], right[draws]) if len(both) else np.array([])
            row[f"{name}_low"], row[f"{name}_high"] = take_interval(drawn)
        rows.append(row)
    return pd.DataFrame(rows)
