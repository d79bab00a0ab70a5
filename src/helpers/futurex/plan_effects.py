"""What plans and the work after them explain of the score: regressions (FutureX 4.5.2, Figure 13).

Errors are clustered by what events share their luck with; what the rows cannot tell apart is not identified.
The power of so many events is simulated from the predictors as observed, whose criteria go together.
"""

import itertools

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import linalg, stats

from helpers import papers
from helpers.futurex.plans import RUBRICS
from helpers.stats.means import MIN_CLUSTERS
from helpers.stats.paired import compute_mde
from helpers.stats.regression import build_dummies

WORK = {"n_calls": "n_tool_calls", "n_query_tokens": "search_think_length", "n_plan_tokens": "manager_think_length"}
"""Columns of trials, and the factors that they are: what the searcher and the planner wrote, in tokens."""

FACTORS = (
    "n_tool_calls",
    "source_reliability",
    "comprehensiveness",
    "search_think_length",
    "plan_actionability",
    "manager_think_length",
)
"""What the paper regresses the score on, in the order of Figure 13."""

STAR_LEVELS = papers.get_constant("futurex", "planning_stars")
COLUMNS = "factor is_identified effect se p low high stars".split()


def build_rows(trials, plans, judged, matrix, clusters):
    """Return a row a plan for the regression: `FACTORS`, planner, event_id, cluster, score (a missing forecast as 0).

    `judged`: a table plan x criterion; `matrix`: scores, event x planner; `clusters` maps events to theirs.
    """
    work = trials.rename(columns={"arm": "planner"} | WORK)[["event_id", "planner", *WORK.values()]]
    rows = plans[["plan_id", "planner", "event_id"]].merge(work, on=["event_id", "planner"], validate="one_to_one")
    rows = rows.join(judged[list(RUBRICS)], on="plan_id")
    score = matrix.stack().rename("score").rename_axis(["event_id", "planner"])
    rows = rows.join(score, on=["event_id", "planner"])
    rows["cluster"] = rows["event_id"].map(clusters)
    return rows.astype(dict.fromkeys([*FACTORS, "score"], float))


def fit_plans(rows, dummies=(), factors=FACTORS):
    """Regress scores on z-scored factors, with dummies of planner and event_id on request (FutureX 4.5.2, Figure 13).

    Returns a table (factor, is_identified, effect, se clustered by `cluster` (CR1), p, low, high (t, G - 1 degrees of
    freedom; blank below `MIN_CLUSTERS`), stars) and the fit's facts: n, n_events, n_clusters, n_coefs, r2, r2_chance
    (expected when nothing matters), r2_adjusted. A factor is not identified where others or the dummies add up to it,
    or no degree of freedom is left. Event dummies are taken out by the events' means and, nested in clusters, do not
    count in the errors' factor.
    """
    rows = rows.dropna(subset=[*factors, "score"])
    within = "event_id" in dummies
    if within:
        rows = rows[rows.groupby("event_id")["event_id"].transform("size") > 1]
    rows = rows.reset_index(drop=True)
    x, y, event = rows[list(factors)], rows["score"], rows["event_id"]
    x = pd.DataFrame(scale(x), x.index, x.columns)
    if "planner" in dummies and rows["planner"].nunique() > 1:
        x = x.join(build_dummies(rows, ("planner",)))
    if within:
        x, y = (part - part.groupby(event).transform("mean") for part in (x, y))
    else:
        x = x.assign(const=1.0)
    kept, certain = find_identified(x.to_numpy(float))
    x, identified = x.iloc[:, kept], set(x.columns[certain])
    n, n_events, n_clusters = len(rows), event.nunique(), rows["cluster"].nunique()
    n_coefs = x.shape[1] + within * n_events
    facts = {"n": n, "n_events": n_events, "n_clusters": n_clusters, "n_coefs": n_coefs}
    facts |= {"r2": np.nan, "r2_chance": np.nan, "r2_adjusted": np.nan}
    table = pd.DataFrame({"factor": factors, "is_identified": [name in identified for name in factors]})
    if n <= n_coefs or n_clusters < 2 or rows["score"].nunique() < 2:
        return table.assign(is_identified=False).reindex(columns=COLUMNS), facts
    groups = pd.factorize(rows["cluster"])[0]
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    part = pd.DataFrame({"effect": fit.params, "se": fit.bse, "p": fit.pvalues})
    part[["low", "high"]] = fit.conf_int()
    if n_clusters < MIN_CLUSTERS:
        part[["se", "p", "low", "high"]] = np.nan
    part["stars"] = ["*" * sum(p < level for level in STAR_LEVELS) for p in part["p"]]
    r2, chance = 1 - fit.ssr / ((rows["score"] - rows["score"].mean()) ** 2).sum(), (n_coefs - 1) / (n - 1)
    facts |= {"r2": r2, "r2_chance": chance, "r2_adjusted": 1 - (1 - r2) / (1 - chance)}
    return table.join(part[part.index.isin(identified)], on="factor")[COLUMNS], facts


def scale(table):
    """Return a table's columns as z-scores (an array), 0 where one does not vary."""
    values = np.asfortranarray(table, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        centred = values - values.sum(axis=0) / len(values)
        deviation = np.sqrt((centred**2).sum(axis=0) / (len(values) - 1))
        return np.nan_to_num(centred / np.where(deviation == 0, np.nan, deviation), nan=0.0)


def find_identified(x):
    """Return the places of the columns of an array that span it, and of those that no other columns add up to."""
    if not x.size:
        return [], []
    triangle = np.linalg.qr(x, mode="r")  # the same null space
    mixed = np.abs(linalg.null_space(triangle, rcond=np.finfo(float).eps * max(x.shape))).max(axis=1, initial=0) > 1e-8
    identified = np.flatnonzero(~mixed).tolist()
    kept = identified.copy()
    for place in np.flatnonzero(mixed).tolist():
        if np.linalg.matrix_rank(x[:, [*kept, place]]) > len(kept):
            kept.append(place)
    return kept, identified


def measure_inflation(rows, factors=FACTORS):
    """Return each factor's mean, sd and variance inflation: 1 / (1 - R2) of it on the others (blank: not identified).

    >>> rows = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, 3, 2, 4], "c": 1.0})
    >>> measure_inflation(rows, ["a", "b", "c"])["vif"].round(3).tolist()  # their correlation is 0.8
    [2.778, 2.778, nan]
    """
    x = rows[list(factors)].dropna()
    identified = find_identified(np.column_stack([scale(x), np.ones(len(x))]))[1]
    known = [name for at, name in enumerate(factors) if at in identified]
    vif = np.diag(np.linalg.inv(np.atleast_2d(np.corrcoef(x[known].T)))) if known else []
    table = pd.DataFrame({"mean": x.mean(), "sd": x.std()}).rename_axis("factor")
    return table.assign(vif=pd.Series(vif, known, dtype=float)).reset_index()


def simulate_plans(rng, rows, base, sd, factors=FACTORS):
    """Yield, for ever, studies in which no factor matters, with predictors as observed: (predictors, places, scores).

    Every event of `base` (event_id, cluster, score of an earlier run) gets the predictors of an event drawn from
    `rows`, and as scores its earlier one plus noise of standard deviation `sd` a plan. `places` says a row's event in
    `base`.
    """
    known = rows.dropna(subset=list(factors)).sort_values("event_id", kind="stable")
    values, sizes = known[list(factors)].to_numpy(float), known.groupby("event_id").size().to_numpy()
    blocks, own = np.split(np.arange(len(known)), np.cumsum(sizes)[:-1]), base["score"].to_numpy()
    while True:
        drawn = rng.integers(len(blocks), size=len(base))
        at = np.repeat(np.arange(len(base)), sizes[drawn])
        yield values[np.concatenate([blocks[n] for n in drawn])], at, own[at] + sd * rng.normal(size=len(at))


def estimate_errors(values, score, groups):
    """Return each factor's effect and clustered error in a simulated study (factors x 2), by `fit_plans`'s rules but
    quicker.

    `values` has a column a factor, `groups` are the rows' clusters by number from 0; blank where there is none.
    """
    x = np.ones((values.shape[1] + 1, len(score))).T
    x[:, :-1] = scale(values)
    kept, identified = find_identified(x)
    x, n_clusters, found = np.asfortranarray(x[:, kept]), groups.max() + 1, np.full((x.shape[1], 2), np.nan)
    if len(x) <= x.shape[1] or n_clusters < 2 or np.ptp(score) == 0:
        return found[:-1]
    inverse = np.linalg.pinv(x)
    effects = inverse @ score
    sums = np.zeros((n_clusters, x.shape[1]))
    np.add.at(sums, groups, x * (score - x @ effects)[:, None])
    halves = sums @ inverse @ inverse.T
    factor = n_clusters / (n_clusters - 1) * (len(x) - 1) / (len(x) - x.shape[1])
    found[kept, 0] = effects
    found[kept, 1] = np.sqrt(factor * (halves**2).sum(axis=0)) if n_clusters >= MIN_CLUSTERS else np.nan
    found[np.setdiff1d(kept, identified)] = np.nan
    return found[:-1]


def measure_power(rows, base, sizes, effect, sd, rng, n_sims=300, factors=FACTORS):
    """Return, by number of events and factor, how often its `effect` (score a standard deviation) would be seen.

    Studies of the first n events of `base` are simulated; an added effect moves its own coefficient by as much and no
    error, so one fit serves all factors. Columns n, n_clusters, factor, power, alarms (p < 0.05 without an effect),
    seen (the smallest effect found four times in five); blank where not identified or with too few clusters.
    """
    parts = []
    for n in sizes:
        studies, codes = simulate_plans(rng, rows, base.head(n), sd, factors), pd.factorize(base.head(n)["cluster"])[0]
        drawn = itertools.islice(studies, n_sims)
        found = np.concatenate([estimate_errors(values, score, codes[at]) for values, at, score in drawn])
        found = pd.DataFrame(found, columns=["effect", "se"]).assign(factor=[*factors] * n_sims)
        n_clusters = codes.max() + 1
        critical = stats.t.ppf(0.975, max(n_clusters - 1, 1))
        z = {"alarms": found["effect"].abs() / found["se"], "power": (found["effect"] + effect).abs() / found["se"]}
        found = found.assign(**{name: (size > critical).where(size.notna()) for name, size in z.items()})
        part = found.astype({"power": float, "alarms": float}).groupby("factor", sort=False)[["power", "alarms", "se"]]
        part = part.mean().reset_index()
        parts.append(part.assign(n=n, n_clusters=n_clusters, seen=compute_mde(part["se"], n_clusters)))
    return pd.concat(parts, ignore_index=True)["n n_clusters factor power alarms seen".split()]
