"""How far judges' scores can be trusted: against planted quality, against themselves, against each other.

Scores are tables target x criterion, made from the judgements table; intervals draw targets (or, where several share a
question, questions) anew.
"""

import numpy as np
import pandas as pd

from helpers.estimates.intervals import divide, draw_counts, summarize_means, take_interval


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
    table = summarize_means(scores, rng, n_boot).rename_axis("rubric").reset_index()
    return table.rename(columns={"mean": "score"})[["rubric", "n", "score", "low", "high"]]


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
        weights = draw_counts(len(questions), rng, n_boot)
        row = {"rubric": rubric, "n_plans": len(part), "n_questions": len(questions), "n_pairs": n}
        row["ties"] = float(np.trace(ties) / np.trace(pairs))
        inner = np.trace(wins), np.trace(pairs), weights @ np.diag(wins), weights @ np.diag(pairs)
        outer = [(w @ m * w).sum(axis=-1) for w in (np.ones(len(questions)), weights) for m in (wins, pairs)]
        for name, (won, of, wons, ofs) in (("accuracy", inner), ("auc", outer)):
            row[name], (row[f"{name}_low"], row[f"{name}_high"]) = won / of, take_interval(divide(wons, ofs))
        row["verdict"] = "fit" if min(row["accuracy_low"], row["auc_low"]) > 0.5 else "UNFIT"
        rows.append(row)
    return pd.DataFrame(rows)
