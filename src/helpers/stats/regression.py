"""Which factors move a score: agent, domain and level in one linear regression (FutureX 4.4, Figure 11).

The fit is statsmodels'; what is added is an effect and errors for every category, the left-out one included. Scores of
one event, or of one source, are not independent of each other, so every coefficient has a second error, clustered (CR1:
with the usual factor G/(G-1) * (N-1)/(N-K) for G clusters, N rows, K coefficients; t with G-1 degrees of freedom).
"""

import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats
from scipy.linalg import solve
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit
from statsmodels.miscmodels.ordinal_model import OrderedModel

from helpers.papers import get_constant
from helpers.scoring.scores import select_headline
from helpers.stats.means import MIN_CLUSTERS, find_clusters

FACTORS = ("agent_id", "domain", "level")
CODINGS = ("base", "sum")
STARRED_BELOW = get_constant("futurex", "significance_level")
"""A p-value below it has three stars (FutureX 4.4)."""


class Fit(NamedTuple):
    """A fitted regression: one effect for the intercept and every category, with covariances and what they rest on."""

    terms: pd.DataFrame
    effects: np.ndarray
    plain: np.ndarray
    clustered: np.ndarray
    r2: float
    n: int
    n_clusters: int
    n_free: int


def select_rows(scores, events):
    """Return a row for each event an agent predicted: event_id, agent_id, score, domain, level, kind, cluster.

    Several samples or runs of an agent count as one, by their mean. Missing predictions are left out.
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
        raise ValueError(f"{int((codes < 0).sum())} rows have no {factor}; fill it in or leave them out")
    found = found.tolist()
    if len(found) < 2:
        raise ValueError(f"all rows have the same {factor}, {found[0]}; leave this factor out")
    return codes, found


def code_categories(sizes, bases, coding):
    """Return the matrix from coefficients to effects: the intercept, then the categories of each factor.

    `base`: the effect of a factor's base category (its position in `bases`) is 0. `sum`: effects add up to 0.
    """
    if coding not in CODINGS:
        raise ValueError(f"no coding {coding!r}; there are {', '.join(CODINGS)}")
    matrix = np.zeros((1 + sum(sizes), 1 + sum(sizes) - len(sizes)))
    matrix[0, 0] = row = column = 1
    for size, base in zip(sizes, bases, strict=True):
        if coding == "base":
            block = np.delete(np.eye(size), base, axis=1)
        else:
            block = np.vstack([np.eye(size - 1), -np.ones(size - 1)])
        matrix[row : row + size, column : column + size - 1] = block
        row, column = row + size, column + size - 1
    return matrix


def fit_factors(rows, factors=FACTORS, coding="base", bases=None, outcome="score", cluster="event_id"):
    """Regress an outcome on dummies of factors (FutureX 4.4); return a `Fit`.

    `bases` names a factor's base category (default: the first). Raises ValueError when an outcome is blank, a base is
    absent, categories cannot be told apart, or there are fewer than two clusters.
    """
    if rows[outcome].isna().any():
        raise ValueError(f"{int(rows[outcome].isna().sum())} rows have no {outcome}; leave missing predictions out")
    encoded = [encode_factor(rows[factor], factor) for factor in factors]
    chosen = {factor: names[0] for factor, (_, names) in zip(factors, encoded, strict=True)} | (bases or {})
    for factor, (_, names) in zip(factors, encoded, strict=True):
        if chosen[factor] not in names:
            raise ValueError(
                f"the base {chosen[factor]!r} of {factor} is in no row; there are {', '.join(map(str, names))}"
            )
    positions = [names.index(chosen[factor]) for factor, (_, names) in zip(factors, encoded, strict=True)]
    coding_matrix = code_categories([len(names) for _, names in encoded], positions, coding)
    groups = pd.factorize(rows[cluster])[0]
    terms = [("intercept", "")] + [(f, c) for f, (_, names) in zip(factors, encoded, strict=True) for c in names]
    terms = pd.DataFrame(terms, columns=["factor", "category"])
    return solve_factors(terms, [codes for codes, _ in encoded], rows[outcome].to_numpy(float), groups, coding_matrix)


def solve_factors(terms, codes, outcome, groups, coding_matrix):
    """Return the `Fit` for encoded factors: `codes` is an array for each factor, `groups` the cluster of each row."""
    n, n_coefs = len(outcome), coding_matrix.shape[1]
    if n <= n_coefs:
        raise ValueError(f"{n} rows cannot carry {n_coefs} coefficients; merge categories or add events")
    starts = np.cumsum(terms.groupby("factor", sort=False).size())[:-1]
    design = coding_matrix[0] + sum(coding_matrix[start + code] for start, code in zip(starts, codes, strict=True))
    _check_rank(design.T @ design, coding_matrix, terms)
    fit, n_groups = sm.OLS(outcome, design).fit(method="qr"), len(np.unique(groups))
    if n_groups < 2:
        raise ValueError("clustered errors need two events or more; a single event says nothing about others")
    clustered = fit.get_robustcov_results("cluster", groups=groups).cov_params()
    plain, clustered = (coding_matrix @ covariance @ coding_matrix.T for covariance in (fit.cov_params(), clustered))
    r2 = float(fit.rsquared) if np.ptp(outcome) > 0 else np.nan
    return Fit(terms, coding_matrix @ fit.params, plain, clustered, r2, n, n_groups, n - n_coefs)


def measure_r2(rows, factors=FACTORS, outcome="score"):
    """Return (R2, rows less coefficients) of the regression of `fit_factors`, by normal equations of sparse dummies.

    Raises LinAlgError when categories cannot be told apart, ValueError as `encode_factor`.
    """
    codes = [encode_factor(rows[factor], factor)[0] for factor in factors]
    full = [csr_matrix((np.ones(len(rows)), (np.arange(len(rows)), code))) for code in codes]
    dummies = hstack([full[0], *(each[:, 1:] for each in full[1:])])  # the first factor's hold the intercept
    centred = rows[outcome].to_numpy(float) - rows[outcome].mean()
    effects = solve((dummies.T @ dummies).toarray(), dummies.T @ centred, assume_a="pos")
    residual = centred - dummies @ effects
    return float(1 - residual @ residual / (centred @ centred)), len(rows) - dummies.shape[1]


def _check_rank(gram, coding_matrix, terms):
    scale = np.sqrt(np.diag(gram))
    values, vectors = np.linalg.eigh(gram / np.outer(scale, scale))
    if values[0] < 1e-10:
        free = vectors[:, values < 1e-10] / scale[:, None]
        weights = np.linalg.norm(coding_matrix @ free, axis=1)
        mixed = terms[(weights > 0.1 * weights.max()) & (terms["factor"] != "intercept")]
        names = ", ".join(f"{factor} {category}" for factor, category in mixed.head(8).itertuples(index=False))
        raise ValueError(f"the rows cannot tell these apart: {names}; merge categories or leave a factor out")


def tabulate_effects(fit, alpha=STARRED_BELOW):
    """Return a fit's effects as a table: factor, category, effect; for each kind of error se, p, 95% interval, stars.

    Two-sided t-tests: plain errors with N - K degrees of freedom, clustered ones with G - 1. `stars` is *** at
    p < `alpha` (FutureX 4.4). A base category has effect 0 and blanks.
    """
    table = fit.terms.assign(effect=fit.effects)
    for name, covariance, free in (("plain", fit.plain, fit.n_free), ("clustered", fit.clustered, fit.n_clusters - 1)):
        table = table.join(_test_effects(fit.effects, covariance, free, alpha).add_prefix(f"{name}_"))
    return table


def _test_effects(effects, covariance, free, alpha):
    """Standard error, p, 95% interval and stars of each effect, by t-tests; blanks where there is no error."""
    error = np.sqrt(np.maximum(np.diag(covariance), 0))
    error[error == 0] = np.nan
    p, half = 2 * stats.t.sf(np.abs(effects) / error, free), stats.t.ppf(0.975, free) * error
    stars = np.where(p < alpha, "***", "")
    return pd.DataFrame({"se": error, "p": p, "low": effects - half, "high": effects + half, "stars": stars})


def judge_factors(fit):
    """Return for each factor an F-test, with clustered covariance, that all its categories are equal.

    Columns: factor, range (largest minus smallest effect), f, df, df_rest, p. Any coding gives the same.
    """
    rows = []
    for factor in fit.terms["factor"].unique()[1:]:
        at = np.flatnonzero(fit.terms["factor"] == factor)
        centre = np.eye(len(at)) - 1 / len(at)
        covariance = centre @ fit.clustered[np.ix_(at, at)] @ centre
        test = _test_jointly(centre @ fit.effects[at], covariance, len(at) - 1, fit.n_clusters - 1)
        rows.append({"factor": factor, "range": float(np.ptp(fit.effects[at])), **test})
    return pd.DataFrame(rows)


def _test_jointly(effects, covariance, df, df_rest):
    """F-test that effects, of which `df` are independent, are all zero."""
    f = float(effects @ np.linalg.pinv(covariance, rcond=1e-10, hermitian=True) @ effects / df)
    return {"f": f, "df": df, "df_rest": df_rest, "p": float(stats.f.sf(f, df, df_rest))}


def tabulate_sources(rows, factors=FACTORS, coding="base", bases=None, alpha=STARRED_BELOW):
    """Return `tabulate_effects` with three kinds of error: plain_, event_ (by event) and source_ (by cluster).

    Blank where a category has fewer than `MIN_CLUSTERS` events, or sources (`source_n`): the clustered error of a
    category of a few is far too small. Needs the columns event_id and cluster in `rows`.
    """
    table = tabulate_effects(fit_factors(rows, factors, coding, bases), alpha).filter(regex="^(?!clustered_)")
    for kind, cluster in (("event", "event_id"), ("source", "cluster")):
        found = tabulate_effects(fit_factors(rows, factors, coding, bases, cluster=cluster), alpha)
        found = found.filter(like="clustered_").rename(columns=lambda name, kind=kind: f"{kind}_{name[10:]}")
        counts = {(f, name): part[cluster].nunique() for f in factors for name, part in rows.groupby(f)}
        terms = zip(table["factor"], table["category"], strict=True)
        n = np.array([counts.get(term, rows[cluster].nunique()) for term in terms])
        found.loc[n < MIN_CLUSTERS, [f"{kind}_{what}" for what in ("se", "p", "low", "high")]] = np.nan
        found.loc[n < MIN_CLUSTERS, f"{kind}_stars"] = ""
        table = table.join(found)
    return table.assign(source_n=n)


def permute_factor(rows, factor, rng, others=("agent_id", "level"), n_draws=5000):
    """Test whether a factor of the sources, such as the domain, matters: permute its categories over the sources.

    The statistic is what the factor takes off the residual sum of squares beside `others`. Returns factor, r2_added,
    n_clusters, n_draws and p. Raises ValueError when a source (column cluster) has several categories.
    """
    by_source = rows.groupby("cluster")[factor]
    if (by_source.nunique() > 1).any():
        raise ValueError(f"a source has more than one {factor}; the {factor} cannot be permuted over sources")
    codes, names = encode_factor(by_source.first(), factor)
    base = np.column_stack([np.ones(len(rows)), build_dummies(rows, others)])
    source, score = pd.factorize(rows["cluster"], sort=True)[0], rows["score"].to_numpy(float)
    residual = score - base @ np.linalg.lstsq(base, score, rcond=None)[0]
    sizes, sums = np.bincount(source), np.bincount(source, residual)
    mixed = np.stack([np.bincount(source, column) for column in base.T], axis=1)
    shared = mixed @ np.linalg.pinv(base.T @ base) @ mixed.T

    def explain(codes):
        member = np.eye(len(names))[codes]
        gram = member.T @ (sizes[:, None] * member) - member.T @ shared @ member
        return (moment := member.T @ sums) @ np.linalg.pinv(gram, rcond=1e-9, hermitian=True) @ moment

    seen = explain(codes)
    n_above = sum(explain(rng.permutation(codes)) >= seen * (1 - 1e-9) for _ in range(n_draws))
    p, r2 = (1 + n_above) / (1 + n_draws), seen / ((score - score.mean()) ** 2).sum()
    return {"factor": factor, "r2_added": float(r2), "n_clusters": len(codes), "n_draws": n_draws, "p": float(p)}


def measure_interactions(rows, alpha=STARRED_BELOW, cluster="event_id"):
    """Return how far each agent on each level lies off what the two add up to, and a joint test of all pairs.

    Effects of all pairs are fitted beside the domain's, less the row and column means. The table has agent_id, level,
    n, interaction, clustered se, p, low, high, stars; the test is an F-test. Agents that lack a level are the third
    value.
    """
    counts = pd.crosstab(rows["agent_id"], rows["level"])
    whole = counts.index[(counts > 0).all(axis=1)]
    if len(whole) < 2:
        raise ValueError("fewer than two of agent_id have every level; interactions need two")
    pairs = list(itertools.product(whole.tolist(), counts.columns.tolist()))
    part = rows[rows["agent_id"].isin(whole)].reset_index(drop=True)
    position = {pair: at for at, pair in enumerate(pairs)}
    part["_pair"] = [position[pair] for pair in zip(part["agent_id"], part["level"], strict=True)]
    fit = fit_factors(part, ("_pair", "domain"), cluster=cluster)
    size, free = counts.loc[whole].shape, fit.n_clusters - 1
    centre = np.kron(*(np.eye(k) - 1 / k for k in size))
    effects = centre @ fit.effects[1 : 1 + len(pairs)]
    covariance = centre @ fit.clustered[1 : 1 + len(pairs), 1 : 1 + len(pairs)] @ centre.T
    table = pd.DataFrame(pairs, columns=["agent_id", "level"]).assign(n=counts.loc[whole].to_numpy().ravel())
    table = table.assign(interaction=effects).join(_test_effects(effects, covariance, free, alpha))
    test = _test_jointly(effects, covariance, (size[0] - 1) * (size[1] - 1), free)
    return table, test, sorted(set(counts.index) - set(whole))


def regress(outcome, predictors, clusters):
    """Regress values by event on some predictors: least squares, errors by cluster (CR1).

    Rows with a blank are left out. `clusters` maps the rows' labels to clusters. A row a predictor: effect, low, high,
    p (by cluster), p_by_event (HC1), n, n_clusters; blank low, high and p with fewer than `MIN_CLUSTERS`.
    """
    rows = predictors.assign(_outcome=outcome).astype(float).dropna()
    groups = pd.factorize(clusters.reindex(rows.index))[0]
    model, n = sm.OLS(rows["_outcome"], sm.add_constant(rows[predictors.columns])), groups.max() + 1
    fit, plain = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True), model.fit(cov_type="HC1")
    table = pd.DataFrame({"effect": fit.params, "low": fit.conf_int()[0], "high": fit.conf_int()[1], "p": fit.pvalues})
    if n < MIN_CLUSTERS:
        table[["low", "high", "p"]] = np.nan
    table = table.assign(p_by_event=plain.pvalues, n=len(rows), n_clusters=n).loc[list(predictors.columns)]
    return table.rename_axis("predictor").reset_index()


def build_dummies(rows, factors=FACTORS, bases=None):
    """Return the 0/1 columns of each factor's categories but its base, named "factor category"."""
    parts = []
    for factor in factors:
        _, names = encode_factor(rows[factor], factor)
        base = (bases or {}).get(factor, names[0])
        parts += [(rows[factor] == c).astype(float).rename(f"{factor} {c}") for c in names if c != base]
    return pd.concat(parts, axis=1)


def check_linear(rows, factors=FACTORS, bases=None, cuts=(0.0, 0.5), cluster="event_id"):
    """Return each category's effect against its base by four models: linear, fractional logit, ordered logit, ranks.

    The fractional logit is a binomial GLM of the score; `logit_effect` is its mean effect on the score. The ordered
    logit speaks of the score's bins, cut at `cuts`, `rank` of a score's rank (a share of all rows). Columns: factor,
    category, linear, linear_p, logit, logit_p, logit_effect, ordered, rank.
    """
    table = _take_effects(rows, factors, bases, "score", cluster)
    dummies = build_dummies(rows, factors, bases)
    logit = sm.GLM(rows["score"], sm.add_constant(dummies), family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(rows[cluster])[0]}
    )
    names = table["factor"] + " " + table["category"].astype(str)
    table["logit"], table["logit_p"] = logit.params[names].to_numpy(), logit.pvalues[names].to_numpy()
    table["logit_effect"] = _average_effects(logit, dummies, table["factor"], names)
    ordered = _fit_ordered(rows["score"], dummies, logit.params[dummies.columns], cuts)[names]
    table["ordered"] = ordered.round(4).to_numpy()  # an iterative fit: further digits differ between processors
    ranks = _take_effects(rows.assign(rank=rows["score"].rank(pct=True)), factors, bases, "rank", cluster)
    return table.assign(rank=ranks["linear"])


def _take_effects(rows, factors, bases, outcome, cluster):
    table = tabulate_effects(fit_factors(rows, factors, bases=bases, outcome=outcome, cluster=cluster))
    table = table[(table["factor"] != "intercept") & table["clustered_p"].notna()]
    table = table[["factor", "category", "effect", "clustered_p"]].reset_index(drop=True)
    return table.rename(columns={"effect": "linear", "clustered_p": "linear_p"})


def _fit_ordered(score, dummies, start, cuts):
    """Coefficients of an ordered logit; started at the logit's, and without errors, which take most of the time."""
    model = OrderedModel(np.searchsorted(cuts, score, side="left"), dummies, distr="logit")
    start = np.concatenate([start, model.start_params[len(start) :]])
    fit = model.fit(method="lbfgs", start_params=start, maxiter=500, disp=False, skip_hessian=True)
    if not fit.mle_retvals["converged"]:
        raise RuntimeError("the ordered logit did not converge; merge categories with few events")
    return pd.Series(fit.params, index=[*dummies.columns, *fit.model.exog_names[len(dummies.columns) :]])


def _average_effects(logit, dummies, factors, names):
    """Mean change of the fitted score when every row moves from the base of a factor to a category of it."""
    index = logit.params["const"] + dummies @ logit.params[dummies.columns]
    effects = []
    for factor, name in zip(factors, names, strict=True):
        own = [column for column, f in zip(names, factors, strict=True) if f == factor]
        base = index - dummies[own] @ logit.params[own]
        effects.append(float(np.mean(expit(base + logit.params[name]) - expit(base))))
    return effects
