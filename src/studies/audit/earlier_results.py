"""What the authors' results at an earlier state tell of the printed ones (605 pairs of model and
question against 525).

Between the states the two DeepSeek models' cutoff moved, so that fewer of their pairs are kept. If
the other models' answers stayed, theirs to the pairs left out since follow from the counts of both
states.
"""

import numpy as np
import pandas as pd
from scipy import stats

from helpers.paired import correct_holm, judge_family
from studies.audit.grim import find_counts, measure_least

CONDITIONS = {"Vanilla LLM": "Vanilla", "Causal Sim.": "Causal Simulation"}
MODELS = {
    "Gemini Flash": "Gemini 3 Flash",
    "Gemini Pro": "Gemini 3 Pro",
    "DeepSeek Flash": "DeepSeek V4 Flash",
    "DeepSeek Pro": "DeepSeek V4 Pro",
}
"""The file's names -> the paper's, where they differ."""
DIGIT = 0.1
"""Accuracies are in percent, of one decimal."""


def count_right(percents, sizes):
    """Return the whole counts behind a Series of printed percentages of some sizes. Raises
    ValueError without one.

    >>> count_right(pd.Series([65.7, 52.7]), [108, 55]).tolist()
    [71, 29]
    >>> count_right(pd.Series([67.0]), [108])
    Traceback (most recent call last):
    ValueError: no whole count of 108 is 67.0%
    """
    counts, given = find_counts(percents, np.asarray(sizes), DIGIT)
    if not given.all():
        percent, size = next(zip(percents[~given], np.asarray(sizes)[~given], strict=True))
        raise ValueError(f"no whole count of {size} is {percent}%")
    return pd.Series(counts, percents.index)


def count_results(results):
    """Return how many answers of the earlier state are right: condition, model, n, right, in the
    paper's names.

    `results` is results_by_condition_model.csv.

    >>> table = {"condition": "Vanilla LLM", "model": ["ALL", "Gemini Pro"], "n": 3, "accuracy": 66.7}
    >>> count_results(pd.DataFrame(table)).values.tolist()
    [['Vanilla', 'Gemini 3 Pro', 3, 2]]
    """
    table = results.assign(right=count_right(results["accuracy"], results["n"]))
    table = table[table["model"] != "ALL"].replace({"condition": CONDITIONS, "model": MODELS})
    return table[["condition", "model", "n", "right"]].reset_index(drop=True)


def split_changed(counts, accuracy, kept):
    """Return, by condition, the right answers of the models whose cutoff moved: to the pairs left
    out since, and kept.

    `counts` as of `count_results`, `accuracy` printed percents by condition, `kept` printed pairs
    by model. The other models are taken to have answered as before. Columns condition, n_left_out,
    right_left_out, n_kept, right_kept.

    >>> counts = pd.DataFrame({"condition": "c", "model": ["a", "b"], "n": [4, 5], "right": [2, 4]})
    >>> split_changed(counts, pd.Series({"c": 57.1}), pd.Series({"a": 4, "b": 3})).values.tolist()  # 4 of 7, 2 by a
    [['c', 2, 2, 3, 2]]
    """
    is_changed = counts["n"] != counts["model"].map(kept)
    whole = count_right(accuracy, [kept.sum()] * len(accuracy))
    same = counts[~is_changed].groupby("condition")["right"].sum()
    changed = counts[is_changed].groupby("condition")[["n", "right"]].sum()
    n_kept = kept[counts.loc[is_changed, "model"].unique()].sum()
    table = pd.DataFrame({"right_kept": whole - same}).loc[accuracy.index]
    table["n_kept"] = n_kept
    table["right_left_out"] = changed["right"] - table["right_kept"]
    table["n_left_out"] = changed["n"] - n_kept
    columns = ["condition", "n_left_out", "right_left_out", "n_kept", "right_kept"]
    return table.rename_axis("condition").reset_index()[columns]


def judge_sides(table, n_models):
    """Return the rows of `split_changed` with gaps (left out minus kept, points), how sure they
    are, and verdicts.

    `least_by_pair` and `least` are the smallest gaps that are seen (`grim.measure_least`), with
    pairs as independent and with the models' answers to a question as one; p and the verdicts, Holm
    over the rows, are of the latter. p_by_pair is Fisher's exact test of the pairs, p_holm_by_pair
    after Holm.
    """
    found = table.assign(
        left_out=100 * table["right_left_out"] / table["n_left_out"],
        kept=100 * table["right_kept"] / table["n_kept"],
    )
    percents = [found["left_out"], found["kept"]]
    sizes = [table["n_left_out"], table["n_kept"]]
    found["gap"] = found["left_out"] - found["kept"]
    found["least_by_pair"] = measure_least(percents, sizes)
    found["least"] = measure_least(percents, [size / n_models for size in sizes])
    found["p"] = 2 * stats.norm.sf(abs(found["gap"]) / found["least"] * stats.norm.ppf(0.975))
    rows = table[["right_left_out", "n_left_out", "right_kept", "n_kept"]].itertuples(index=False)
    found["p_by_pair"] = [stats.fisher_exact([[a, n - a], [b, m - b]])[1] for a, n, b, m in rows]
    found["p_holm_by_pair"] = correct_holm(found["p_by_pair"])
    return judge_family(found, "gap", "left out higher", "kept higher")
