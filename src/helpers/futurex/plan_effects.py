"""What plans and the work after them explain of the score: a regression (FutureX 4.5.2, Figure 13)."""

import numpy as np
import pandas as pd
import statsmodels.api as sm

from helpers import papers
from helpers.futurex.plans import RUBRICS
from helpers.stats.means import MIN_CLUSTERS
from helpers.stats.paired import compute_mde

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
COLUMNS = "factor effect se p low high mde stars".split()


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


def fit_plans(rows, factors=FACTORS):
    """Regress scores on z-scored factors (FutureX 4.5.2, Figure 13); errors are clustered by `cluster`.

    Returns a table (factor, effect, se (CR1), p, low, high (t, G - 1 degrees of freedom; blank below `MIN_CLUSTERS`),
    mde, stars) and the fit's facts: n, n_events, n_clusters, r2, r2_chance (expected when nothing matters). A factor
    that does not vary is blank; all are where the rows cannot tell the factors apart.
    """
    rows = rows.dropna(subset=[*factors, "score"]).reset_index(drop=True)
    table = pd.DataFrame({"factor": factors}).reindex(columns=COLUMNS)
    facts = {"n": len(rows), "n_events": rows["event_id"].nunique(), "n_clusters": rows["cluster"].nunique()}
    x = rows[list(factors)]
    x = x.loc[:, x.nunique() > 1]
    x = ((x - x.mean()) / x.std()).assign(const=1.0)
    n, n_coefs = x.shape
    if n <= n_coefs or facts["n_clusters"] < 2 or np.linalg.matrix_rank(x) < n_coefs:
        return table, facts | {"r2": np.nan, "r2_chance": np.nan}
    groups = pd.factorize(rows["cluster"])[0]
    fit = sm.OLS(rows["score"], x).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    part = pd.DataFrame({"effect": fit.params, "se": fit.bse, "p": fit.pvalues})
    part[["low", "high"]] = fit.conf_int()
    part["mde"] = compute_mde(part["se"], facts["n_clusters"])
    if facts["n_clusters"] < MIN_CLUSTERS:
        part[["se", "p", "low", "high", "mde"]] = np.nan
    part["stars"] = ["*" * sum(p < level for level in STAR_LEVELS) for p in part["p"]]
    facts |= {"r2": fit.rsquared, "r2_chance": (n_coefs - 1) / (n - 1)}
    return table[["factor"]].join(part, on="factor"), facts
