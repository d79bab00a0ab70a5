"""Intervals of means, shares and paired differences: one bootstrap over cases, one rule for a verdict.

Intervals are 95% percentile intervals; a draw is the same for every column, so that differences keep what the columns
share. Shares have Wilson's. Where events share their luck with others of their source, means and differences have the
interval of a jackknife over sources (`summarize_clustered`), which needs no draw.
"""

import math

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint


def divide(top, bottom):
    """Return the quotient of two arrays, NaN where the divisor is 0.

    >>> divide(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, nan]
    """
    return np.where(bottom > 0, top, np.nan) / np.where(bottom > 0, bottom, 1)


AGREES = {"holds": "agrees", "fails": "disagrees", "cannot tell": "cannot tell"}
"""What a verdict of `judge_interval` says of a paper's statement."""


def draw_counts(n, rng, n_boot=2000):
    """Return how often each of `n` cases is drawn in each of `n_boot` resamples with replacement (n_boot x n).

    >>> draw_counts(1, np.random.default_rng(0), n_boot=2).tolist()
    [[1], [1]]
    """
    return rng.multinomial(n, np.full(n, 1 / n), size=n_boot)


def resample_means(matrix, rng, n_boot=2000, clusters=None):
    """Return the column means of `n_boot` resamples of a matrix's rows (n_boot x columns); NaN cells are left out.

    A column drawn without a single value has NaN in that resample. `clusters` maps a row's label to its cluster: then
    whole clusters are drawn.

    >>> resample_means(np.array([[1.0], [1.0]]), np.random.default_rng(0), n_boot=3).tolist()
    [[1.0], [1.0], [1.0]]
    """
    values = np.asarray(matrix, dtype=float)
    if not len(values):
        raise ValueError("no events to draw from; leave out the empty group")
    codes = np.arange(len(values)) if clusters is None else pd.factorize(clusters.reindex(matrix.index))[0]
    draws, there = draw_counts(codes.max() + 1, rng, n_boot)[:, codes], np.isfinite(values)
    return divide(draws @ np.where(there, values, 0.0), draws @ there)


def take_interval(draws):
    """Return the 2.5th and 97.5th percentile of bootstrap draws; NaN for none.

    >>> take_interval(np.arange(101.0))
    (2.5, 97.5)
    """
    draws = draws[np.isfinite(draws)]
    return tuple(float(x) for x in np.percentile(draws, [2.5, 97.5])) if len(draws) else (math.nan, math.nan)


def summarize_means(matrix, rng, n_boot=2000):
    """Return the mean of each column of a matrix over its rows, with its 95% bootstrap interval and n.

    A frame with the columns' names as index: mean, low, high, n. NaN cells are left out; a draw of rows is the same for
    all columns. Raises ValueError without rows.

    >>> summarize_means(pd.DataFrame({"a": [0.5, 0.5, None]}), np.random.default_rng(0)).loc["a"].tolist()
    [0.5, 0.5, 0.5, 2.0]
    """
    table = pd.DataFrame(matrix)
    ends = [take_interval(draws) for draws in resample_means(table, rng, n_boot).T]
    summary = pd.DataFrame(ends, index=table.columns, columns=["low", "high"])
    summary.insert(0, "mean", table.mean())
    return summary.assign(n=table.notna().sum())


def flatten_summary(summary):
    """Return a summary (`summarize_means`) as one row: each name's mean, and its interval as name_low, name_high.

    >>> flatten_summary(pd.DataFrame({"mean": [0.5], "low": [0.25], "high": [1.0]}, ["gap"]))
    {'gap': 0.5, 'gap_low': 0.25, 'gap_high': 1.0}
    """
    ends = {"mean": "", "low": "_low", "high": "_high"}
    return {f"{name}{ends[end]}": float(row[end]) for name, row in summary.iterrows() for end in ends}


MIN_CLUSTERS = 10
"""With fewer sources (or fewer events, where each is its own) there is no interval: an error from so few is a guess."""

CLUSTER_COLUMNS = {"cluster_id": "cluster", "source_id": "source"}
"""Columns of the events that say what an event shares its luck with, the first choice first, and what they are called.
"""


def find_clusters(events):
    """Return what each event shares its luck with, by event_id, and what that is called: cluster, source or event.

    The first of `CLUSTER_COLUMNS` that is there counts; where its cell is blank, an event is its own. A `cluster_id`
    that is the `source_id` throughout is called a source.

    >>> events = pd.DataFrame({"event_id": ["a", "b"], "source_id": ["s", None]})
    >>> find_clusters(events)[0].to_dict(), find_clusters(events)[1]
    ({'a': 's', 'b': 'b'}, 'source')
    """
    ids = events.set_index("event_id", drop=False)
    for column, name in CLUSTER_COLUMNS.items():
        if column in ids and ids[column].notna().any():
            is_source = "source_id" in ids and (ids[column] == ids["source_id"]).mean() > 0.5
            return ids[column].fillna(ids["event_id"]), "source" if is_source else name
    return ids["event_id"], "event"


def summarize_clustered(matrix, clusters=None, strata=None):
    """Return each column's mean with its 95% interval by cluster: mean, low, high, se, p, n, n_clusters.

    A jackknife that leaves out one cluster of rows at a time (CR3), with Student's t of G - 1 degrees of freedom for G
    clusters; p is that of the mean being 0 (where all rows are the same, of the exact sign-flip test). `clusters` maps
    a row's label to its cluster; by default each row is its own, and the interval is the plain t one. `strata` lists
    (weight, labels of rows): the mean is then the weighted sum of the strata's means. NaN cells are left out. Below
    `MIN_CLUSTERS` (in any stratum) low, high and p are blank; low and high also where nothing varies.

    >>> table = pd.DataFrame({"a": [0.0, 1.0] * 6})
    >>> row = summarize_clustered(table).loc["a"]
    >>> float(row["mean"]), round(float(row["high"]), 4), int(row["n_clusters"])  # 0.5 + 2.201 * 0.5222 / sqrt(12)
    (0.5, 0.8318, 12)
    """
    table = pd.DataFrame(matrix).astype(float)
    codes = pd.factorize(table.index if clusters is None else clusters.reindex(table.index))[0]
    if (codes < 0).any():
        raise ValueError(f"row {table.index[codes < 0][0]!r} has no cluster; fill it in, or leave the row out")
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    mean = without = there = 0
    fewest = np.inf
    for weight, labels in [(1, table.index)] if strata is None else strata:
        values = np.where(table.index.isin(labels)[:, None], table, np.nan)[order]
        known = np.isfinite(values)
        sums, counts = (np.add.reduceat(part, starts) for part in (np.where(known, values, 0.0), known.astype(float)))
        mean = mean + weight * divide(sums.sum(axis=0), counts.sum(axis=0))
        without = without + weight * divide(sums.sum(axis=0) - sums, counts.sum(axis=0) - counts)
        there, fewest = there + counts, np.minimum(fewest, (counts > 0).sum(axis=0))
    n_clusters = (there > 0).sum(axis=0)
    tested = _test_means(mean, without, n_clusters, fewest >= MIN_CLUSTERS)
    return pd.DataFrame(
        {"mean": mean, **tested, "n": there.sum(axis=0).astype(int), "n_clusters": n_clusters}, table.columns
    )


def keep_on_scale(summary, lowest, highest):
    """Return the rows of `summarize_clustered` with low and high that stay on the scale of what is averaged.

    The interval is that of the logit of the mean's place between `lowest` and `highest`, with the same error (delta
    method): in the middle nearly the same, near an end shorter towards it. Blank where the mean is an end.

    >>> row = pd.DataFrame({"mean": [9.0], "low": [7.0], "high": [11.0]})
    >>> keep_on_scale(row, 0, 10)[["low", "high"]].round(2).values.tolist()  # 9 to 1, times or by exp(2 / 0.9)
    [[4.94, 9.88]]
    """
    place = (summary["mean"] - lowest) / (highest - lowest)
    inside = place.where((place > 0) & (place < 1))
    middle = np.log(inside / (1 - inside))
    half = (summary["high"] - summary["mean"]) / (highest - lowest) / (inside * (1 - inside))
    ends = {
        name: lowest + (highest - lowest) / (1 + np.exp(-(middle + sign * half)))
        for name, sign in (("low", -1), ("high", 1))
    }
    return summary.assign(**ends)


def _test_means(mean, without, n_clusters, is_enough):
    """Interval, error and p of means from what they are without each cluster (clusters x means)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((n_clusters - 1) / n_clusters * ((without - mean) ** 2).sum(axis=0))
        half = stats.t.ppf(0.975, n_clusters - 1) * error
        p = 2 * stats.t.sf(np.abs(mean) / error, n_clusters - 1)
    varies = error > 1e-12
    same = np.where(np.abs(mean) > 1e-12, 0.5 ** (n_clusters - 1.0), 1.0)  # the exact sign-flip test
    half = np.where(is_enough & varies, half, np.nan)
    p = np.where(is_enough, np.where(varies, p, same), np.nan)
    return {"low": mean - half, "high": mean + half, "se": error, "p": p}


def flip_signs(differences, clusters=None):
    """Return the exact two-sided p of paired differences whose sign is chance (a Series; blanks are left out).

    All ways to flip whole clusters count (each row is its own by default), with the share of them whose mean lies as
    far from 0 as the one seen, or farther. Blank without differences, or with more than 16 clusters: use a t test.

    >>> flip_signs(pd.Series([1.0, 1.0, 1.0])), flip_signs(pd.Series([1.0, 1.0]), pd.Series(["s", "s"]))
    (0.25, 1.0)
    """
    known = differences.dropna()
    sums = known.groupby(known.index if clusters is None else clusters.reindex(known.index)).sum().to_numpy()
    if not 0 < len(sums) <= 16:
        return math.nan
    signs = 1 - 2 * (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1)
    return float((np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean())


ALPHA = 0.05
"""A difference counts as seen when its p is below it."""


def judge_test(estimate, p):
    """Say what a two-sided test says of a statement that holds above 0: holds, fails or cannot tell.

    >>> judge_test(0.2, 0.01), judge_test(-0.2, 0.01), judge_test(0.2, 0.3), judge_test(0.2, math.nan)
    ('holds', 'fails', 'cannot tell', 'cannot tell')
    """
    return "cannot tell" if not p < ALPHA else "holds" if estimate > 0 else "fails"


def judge_family(table, value="difference", above="holds", below="fails"):
    """Return a table of tests (p, of `value` being 0) with p_holm over all rows, and the verdict by it in these words.

    >>> table = pd.DataFrame({"gain": [0.1, -0.1, 0.1], "p": [0.01, 0.01, 0.2]})
    >>> judge_family(table, "gain", "more", "less")["verdict"].tolist()
    ['more', 'less', 'cannot tell']
    """
    table, words = table.assign(p_holm=correct_holm(table["p"])), {"holds": above, "fails": below}
    said = [judge_test(*row) for row in zip(table[value], table["p_holm"], strict=True)]
    return table.assign(verdict=[words.get(verdict, verdict) for verdict in said])


def correct_holm(p, n_planned=0):
    """Return p-values corrected for their number by Holm's rule (a Series; blanks stay, and are not counted).

    As statsmodels' `multipletests` does, which collects the memory's garbage at each call: a tenth of a second. Where
    more tests were planned than could be made, `n_planned` of them count, those not made as if theirs were the largest.

    >>> correct_holm(pd.Series([0.01, None, 0.04])).tolist(), correct_holm(pd.Series([0.01, 0.04]), 8).tolist()
    ([0.02, nan, 0.04], [0.08, 0.28])
    """
    tested = p.astype(float).dropna().sort_values()
    raw = tested.to_numpy() * (max(len(tested), n_planned) - np.arange(len(tested)))
    return pd.Series(np.minimum(np.maximum.accumulate(raw), 1.0), tested.index).reindex(p.index)


def measure_share(flags):
    """Return a share with its 95% Wilson interval and n, blank without cases.

    >>> {key: round(value, 3) for key, value in measure_share([True, False]).items()}
    {'n': 2, 'share': 0.5, 'low': 0.095, 'high': 0.905}
    """
    n, hits = len(flags), int(sum(flags))
    if not n:
        return {"n": 0, "share": math.nan, "low": math.nan, "high": math.nan}
    low, high = proportion_confint(hits, n, method="wilson")
    return {"n": n, "share": hits / n, "low": max(0.0, float(low)), "high": min(1.0, float(high))}


def bound_mean(values, rng, n_boot=2000):
    """Return the ends of the 95% bootstrap interval of the mean of some values (a Series, one an event).

    >>> import pandas as pd
    >>> bound_mean(pd.Series([0.5, 0.5]), np.random.default_rng(0))
    (0.5, 0.5)
    """
    return take_interval(resample_means(values.to_frame(), rng, n_boot)[:, 0])


def bound_blocks(values, length, rng, n_boot=2000):
    """Return the ends of the 95% bootstrap interval of the mean of values in order of time, drawn in blocks.

    A block is `length` values that follow each other (after the last one comes the first), so that what neighbours
    share stays together; 1 draws each value by itself.

    >>> low, high = bound_blocks([0.0, 1.0] * 8, 2, np.random.default_rng(0))  # each pair has the same mean
    >>> low, high
    (0.5, 0.5)
    """
    values, n = np.asarray(values, dtype=float), len(values)
    starts = rng.integers(n, size=(n_boot, -(-n // length)))
    drawn = values[(starts[..., None] + np.arange(length)) % n].reshape(n_boot, -1)[:, :n]
    return take_interval(drawn.mean(axis=1))


def judge_interval(low, high, bound=0.0):
    """Say whether an interval lies above a bound (holds), below it (fails), or neither (cannot tell).

    >>> judge_interval(0.1, 0.2), judge_interval(-0.2, -0.1), judge_interval(-0.1, 0.1), judge_interval(math.nan, 1)
    ('holds', 'fails', 'cannot tell', 'cannot tell')
    """
    return "holds" if low > bound else "fails" if high < bound else "cannot tell"


def compare_paired(first, second, rng, n_boot=2000):
    """Return the mean of second minus first over the events that both have, with its 95% interval, n and a verdict.

    >>> import pandas as pd
    >>> pair = compare_paired(pd.Series([0.0, 0.5]), pd.Series([1.0, 1.5]), np.random.default_rng(0))
    >>> float(pair["difference"]), pair["n"], pair["verdict"]
    (1.0, 2, 'holds')
    """
    difference = (second - first).dropna()
    if difference.empty:
        return {"n": 0, "difference": np.nan, "low": np.nan, "high": np.nan, "verdict": "cannot tell"}
    low, high = bound_mean(difference, rng, n_boot)
    verdict = judge_interval(low, high) if len(difference) > 1 else "cannot tell"
    return {"n": len(difference), "difference": difference.mean(), "low": low, "high": high, "verdict": verdict}
