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
from scipy.linalg import block_diag, null_space

from helpers import papers
from helpers.means import MIN_CLUSTERS, find_clusters
from helpers.scores import select_headline

FACTORS = ("agent_id", "domain", "level")
STARRED_BELOW = papers.get_constant("futurex", "significance_level")
"""A p-value below it has three stars (FutureX 4.4)."""


class Fit(NamedTuple):
    """A fitted regression: `effects` turns its coefficients into one effect for every category, a
    row each (indexed by factor and category)."""

    effects: pd.DataFrame
    plain: Any
    clustered: Any
    r2: float


def group_domains(domains: pd.Series) -> pd.Series:
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`; another's
    stays as it is.

    Which of ours stands for which is in data/papers/futurex_domain_groups.csv.

    >>> group_domains(pd.Series(["Weather & Climate"])).tolist()
    ['Weather & Climate']
    """
    groups = papers.load_published("futurex", "domain_groups").set_index("domain")["group"]
    return domains.map(groups).fillna(domains)


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
    """Return a factor's values as 0 or 1 in a column a category, sorted.

    Raises ValueError for a blank and for a single category.
    """
    n_blank = int(values.isna().sum())
    if n_blank:
        raise ValueError(f"{n_blank} rows have no {factor}; fill it in or leave them out")
    if values.nunique() < 2:
        raise ValueError(
            f"all rows have the same {factor}, {values.iloc[0]}; leave this factor out"
        )
    return pd.get_dummies(values, dtype=float)


def fit_factors(rows, factors=FACTORS, coding="base", bases=None, cluster="event_id"):
    """Regress the score on dummies of factors (FutureX 4.4); return a `Fit`.

    `coding`: with base the effect of a factor's base category is 0 (`bases` names it; default: the
    first), with sum effects add up to 0. Raises ValueError when a score is blank, categories are
    collinear, or there are fewer than two clusters.
    """
    n_blank = int(rows["score"].isna().sum())
    if n_blank:
        raise ValueError(f"{n_blank} rows have no score; leave missing predictions out")
    codes = pd.concat({name: encode_factor(rows[name], name) for name in factors}, axis=1)
    is_coded = codes.columns.get_level_values(0).duplicated()  # all but the first of a factor
    design = sm.add_constant(codes.loc[:, is_coded].to_numpy())
    n, n_coefs = design.shape
    if n <= n_coefs:
        raise ValueError(
            f"{n} rows cannot carry {n_coefs} coefficients; merge categories or add events"
        )
    if (free := np.abs(null_space(design.T @ design, rcond=1e-10)[1:])).size:
        mixed = codes.columns[is_coded][(free > 0.1 * free.max()).any(axis=1)]
        names = ", ".join(f"{factor} {category}" for factor, category in mixed[:8])
        raise ValueError(
            f"the rows cannot tell these apart: {names}; merge categories or leave a factor out"
        )
    groups = pd.factorize(rows[cluster])[0]
    if groups.max() < 1:
        raise ValueError(
            "clustered errors need two events or more; a single event says nothing about others"
        )
    blocks = []
    for name in factors:
        categories = list(codes[name])
        own = np.eye(len(categories))[:, 1:]
        base = own[categories.index((bases or {}).get(name, categories[0]))]
        blocks.append(own - (own.mean(axis=0) if coding == "sum" else base))
    effects = pd.DataFrame(block_diag([0.0], *blocks)[1:], codes.columns)
    effects.index.names = ["factor", "category"]
    fit = sm.OLS(rows["score"].to_numpy(float), design).fit(method="qr")
    clustered = fit.get_robustcov_results("cluster", groups=groups)
    return Fit(effects, fit, clustered, float(fit.rsquared))


def measure_r2(rows, factor):
    """Return the share of the score's variance that the means of one factor's categories
    explain."""
    return rows.groupby(factor)["score"].transform("mean").var() / rows["score"].var()


def tabulate_effects(fit):
    """Return a fit's effects as a table: factor, category, effect; for each kind of error se, p,
    95% interval, stars.

    Two-sided t-tests: plain errors with N - K degrees of freedom, clustered ones with G - 1.
    `stars` is *** at p < `STARRED_BELOW` (FutureX 4.4). A base category has effect 0 and blanks.
    """
    table = fit.effects.index.to_frame(index=False)
    for name, found in (("plain", fit.plain), ("clustered", fit.clustered)):
        test = found.t_test(fit.effects.to_numpy())
        part = pd.DataFrame({"se": test.sd, "p": test.pvalue})
        part[["low", "high"]] = test.conf_int()
        part = part[test.sd > 0]
        part["stars"] = np.where(part["p"] < STARRED_BELOW, "***", "")
        table = table.assign(effect=test.effect).join(part.add_prefix(f"{name}_"))
    return table.fillna({"plain_stars": "", "clustered_stars": ""})


def judge_factors(fit):
    """Return for each factor an F-test, with clustered covariance, that all its categories are
    equal.

    Columns: factor, range (largest minus smallest effect), f, df, p. Any coding gives the same.
    """
    rows = []
    for factor, part in fit.effects.groupby(level="factor", sort=False):
        own = part.to_numpy()
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
    factors = table["factor"].unique()
    counts = [rows.groupby(factor)["cluster"].nunique() for factor in factors]
    table["n_sources"] = np.concatenate(counts)
    is_few = table["n_sources"] < MIN_CLUSTERS
    table.loc[is_few, [f"clustered_{what}" for what in ("se", "p", "low", "high")]] = np.nan
    table.loc[is_few, "clustered_stars"] = ""
    return table


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
    member = encode_factor(by_source.first(), factor).to_numpy()
    others = pd.get_dummies(rows[["agent_id", "level"]].astype(str), drop_first=True, dtype=float)
    base = sm.add_constant(others.to_numpy())
    source = pd.get_dummies(rows["cluster"], dtype=float).to_numpy()
    wanted = np.column_stack([source, rows["score"]])
    left = source.T @ (wanted - base @ np.linalg.lstsq(base, wanted, rcond=None)[0])

    def explain(member):
        gram = member.T @ left[:, :-1] @ member
        moment = member.T @ left[:, -1]
        return moment @ np.linalg.pinv(gram, rcond=1e-9, hermitian=True) @ moment

    least = explain(member) * (1 - 1e-9)
    n_above = sum(explain(rng.permutation(member)) >= least for _ in range(n_draws))
    return (1 + n_above) / (1 + n_draws)
