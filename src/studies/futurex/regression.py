"""Which factors move a score: agent, domain and level in one linear regression (FutureX 4.4, Figure
11).

The fit is statsmodels'; what is added is an effect and errors for every category, the left-out one
included. Scores of one event, or of one source, are not independent of each other, so every
coefficient has a second error, clustered (CR1: with the usual factor G/(G-1) * (N-1)/(N-K) for G
clusters, N rows, K coefficients; t with G-1 degrees of freedom).
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.linalg import block_diag

from helpers.means import MIN_CLUSTERS, find_clusters
from helpers.papers import get_constant
from helpers.scores import select_headline

FACTORS = ("agent_id", "domain", "level")
STARRED_BELOW = get_constant("futurex", "significance_level")
"""A p-value below it has three stars (FutureX 4.4)."""


class Fit(NamedTuple):
    """A fitted regression: `coded` turns its coefficients into one effect for the intercept and
    every category."""

    terms: pd.DataFrame
    coded: np.ndarray
    plain: Any
    clustered: Any
    r2: float


def select_rows(scores, events):
    """Return a row for each event an agent predicted: event_id, agent_id, score, domain, level,
    kind, cluster.

    Several samples or runs of an agent count as one, by their mean. Missing predictions are left
    out.
    """
    rows = select_headline(scores, events).dropna(subset="score")
    mean = rows.groupby(["event_id", "agent_id"], as_index=False)["score"].mean()
    known = events[["event_id", "domain", "level", "kind"]].astype({"level": int})
    known["cluster"] = find_clusters(events)[0].to_numpy()
    return mean.merge(known, on="event_id", validate="many_to_one")


def encode_factor(values, factor):
    """Return the codes of a factor's values and its categories, sorted.

    Raises ValueError for a blank and for a single category.
    """
    codes, found = pd.factorize(np.asarray(values), sort=True)
    if (codes < 0).any():
        raise ValueError(
            f"{int((codes < 0).sum())} rows have no {factor}; fill it in or leave them out"
        )
    if len(found) < 2:
        raise ValueError(f"all rows have the same {factor}, {found[0]}; leave this factor out")
    return codes, found.tolist()


def fit_factors(rows, factors=FACTORS, coding="base", bases=None, cluster="event_id"):
    """Regress the score on dummies of factors (FutureX 4.4); return a `Fit`.

    `coding`: with base the effect of a factor's base category is 0 (`bases` names it; default: the
    first), with sum effects add up to 0. Raises ValueError when a score is blank, categories are
    collinear, or there are fewer than two clusters.
    """
    if rows["score"].isna().any():
        raise ValueError(
            f"{int(rows['score'].isna().sum())} rows have no score; leave missing predictions out"
        )
    codes, names = zip(*(encode_factor(rows[factor], factor) for factor in factors), strict=True)
    blocks = [
        1.0
    ]  # from coefficients to effects: the intercept, then the categories of each factor
    for factor, own in zip(factors, names, strict=True):
        one = np.eye(len(own))
        if coding == "base":
            blocks.append(np.delete(one, own.index((bases or {}).get(factor, own[0])), axis=1))
        else:
            blocks.append(np.vstack([one[:-1, :-1], -np.ones(len(own) - 1)]))
    coded = block_diag(*blocks)
    terms = [
        ("intercept", ""),
        *((factor, name) for factor, own in zip(factors, names, strict=True) for name in own),
    ]
    terms = pd.DataFrame(terms, columns=["factor", "category"])
    n = len(rows)
    n_coefs = coded.shape[1]
    values = rows["score"].to_numpy(float)
    if n <= n_coefs:
        raise ValueError(
            f"{n} rows cannot carry {n_coefs} coefficients; merge categories or add events"
        )
    starts = np.cumsum([1, *map(len, names)])[:-1]
    design = coded[0] + sum(coded[start + code] for start, code in zip(starts, codes, strict=True))
    _check_rank(design.T @ design, coded, terms)
    groups = pd.factorize(rows[cluster])[0]
    if groups.max() < 1:
        raise ValueError(
            "clustered errors need two events or more; a single event says nothing about others"
        )
    fit = sm.OLS(values, design).fit(method="qr")
    clustered = fit.get_robustcov_results("cluster", groups=groups)
    return Fit(terms, coded, fit, clustered, float(fit.rsquared))


def measure_r2(rows, factor):
    """Return the share of the score's variance that the means of one factor's categories
    explain."""
    return rows.groupby(factor)["score"].transform("mean").var() / rows["score"].var()


def _check_rank(gram, coding_matrix, terms):
    scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    if values[0] < 1e-10:
        free = vectors[:, values < 1e-10] / scale[:, None]
        weights = np.linalg.norm(coding_matrix @ free, axis=1)
        mixed = terms[(weights > 0.1 * weights.max()) & (terms["factor"] != "intercept")]
        names = ", ".join(
            f"{factor} {category}" for factor, category in mixed.head(8).itertuples(index=False)
        )
        raise ValueError(
            f"the rows cannot tell these apart: {names}; merge categories or leave a factor out"
        )


def tabulate_effects(fit):
    """Return a fit's effects as a table: factor, category, effect; for each kind of error se, p,
    95% interval, stars.

    Two-sided t-tests: plain errors with N - K degrees of freedom, clustered ones with G - 1.
    `stars` is *** at p < `STARRED_BELOW` (FutureX 4.4). A base category has effect 0 and blanks.
    """
    table = fit.terms.copy()
    for name, found in (("plain", fit.plain), ("clustered", fit.clustered)):
        test = found.t_test(fit.coded)
        ends = test.conf_int()
        stars = np.where(test.pvalue < STARRED_BELOW, "***", "")
        part = pd.DataFrame(
            {"se": test.sd, "p": test.pvalue, "low": ends[:, 0], "high": ends[:, 1], "stars": stars}
        )
        part.loc[test.sd == 0, ["se", "p", "low", "high"]] = np.nan
        table = table.assign(effect=test.effect).join(part.add_prefix(f"{name}_"))
    return table


def judge_factors(fit):
    """Return for each factor an F-test, with clustered covariance, that all its categories are
    equal.

    Columns: factor, range (largest minus smallest effect), f, df, p. Any coding gives the same.
    """
    rows = []
    for factor in fit.terms["factor"].unique()[1:]:
        own = fit.coded[fit.terms["factor"] == factor]
        test = fit.clustered.f_test(own[1:] - own[0])
        spread = np.ptp(own @ fit.plain.params)
        rows.append((factor, spread, float(test.fvalue), len(own) - 1, float(test.pvalue)))
    return pd.DataFrame(rows, columns=["factor", "range", "f", "df", "p"])


def tabulate_sources(fit, rows):
    """Return `tabulate_effects` of a fit of some rows by `cluster`, and `n_sources` of each
    category.

    Blank where a category has fewer than `MIN_CLUSTERS` clusters: the error of a category of a few
    is far too small.
    """
    table = tabulate_effects(fit)
    factors = table["factor"].unique()[1:]
    counts = {
        (f, name): part["cluster"].nunique() for f in factors for name, part in rows.groupby(f)
    }
    terms = zip(table["factor"], table["category"], strict=True)
    n = np.array([counts.get(term, rows["cluster"].nunique()) for term in terms])
    table.loc[n < MIN_CLUSTERS, [f"clustered_{what}" for what in ("se", "p", "low", "high")]] = (
        np.nan
    )
    table.loc[n < MIN_CLUSTERS, "clustered_stars"] = ""
    return table.assign(n_sources=n)


def permute_factor(rows, factor, rng, n_draws=5000):
    """Return the p of a test whether a factor of the sources, such as the domain, matters.

    Its categories are permuted over the sources; the statistic is what the factor takes off the
    residual sum of squares beside agent and level. Raises ValueError when a source (column cluster)
    has several categories.
    """
    by_source = rows.groupby("cluster")[factor]
    if (by_source.nunique() > 1).any():
        raise ValueError(
            f"a source has more than one {factor}; the {factor} cannot be permuted over sources"
        )
    codes, names = encode_factor(by_source.first(), factor)
    others = ["agent_id", "level"]
    dummies = pd.get_dummies(rows[others], columns=others, drop_first=True, dtype=float)
    base = np.column_stack([np.ones(len(rows)), dummies])
    source = pd.factorize(rows["cluster"], sort=True)[0]
    score = rows["score"].to_numpy(float)
    residual = score - base @ np.linalg.lstsq(base, score, rcond=None)[0]
    sizes = np.bincount(source)
    sums = np.bincount(source, residual)
    mixed = np.stack([np.bincount(source, column) for column in base.T], axis=1)
    shared = mixed @ np.linalg.pinv(base.T @ base) @ mixed.T

    def explain(codes):
        member = np.eye(len(names))[codes]
        gram = member.T @ (sizes[:, None] * member) - member.T @ shared @ member
        moment = member.T @ sums
        return moment @ np.linalg.pinv(gram, rcond=1e-9, hermitian=True) @ moment

    seen = explain(codes)
    n_above = sum(explain(rng.permutation(codes)) >= seen * (1 - 1e-9) for _ in range(n_draws))
    return (1 + n_above) / (1 + n_draws)
