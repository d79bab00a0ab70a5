"""What plans and the work after them explain of the score: a regression (FutureX 4.5.2, Figure 13)."""

import numpy as np
import pandas as pd
import statsmodels.api as sm

from helpers import papers
from helpers.futurex.plans import RUBRICS
from helpers.stats.means import MIN_CLUSTERS
from helpers.stats.paired import compute_mde
from helpers.store import parse_object

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


def read_research(traces):
    """Return what research agents planned and did by themselves, as trials (`plan_trials.run_trials`) of these columns:
    event_id, arm (the agent), plan, and of `WORK` the tokens of all turns and the look-ups.
    """
    rows = traces.rename(columns={"agent_id": "arm"}).set_index(["event_id", "arm"])
    turns = rows[rows["step_type"] == "model"].set_index("actor", append=True)["n_output_tokens"]
    tokens = turns.groupby(level=[0, 1, 2]).sum().unstack("actor", fill_value=0)
    tokens = tokens.reindex(columns=["manager", "search"], fill_value=0)
    tokens = tokens.rename(columns={"manager": "n_plan_tokens", "search": "n_query_tokens"})
    calls = rows["tool"].isin(["search", "open"]).groupby(level=[0, 1]).sum().rename("n_calls")
    surveys = rows.loc[rows["step_type"] == "plan", "content"].map(spell_survey).rename("plan")
    return tokens.join([calls, surveys]).reset_index()


def spell_survey(content):
    """Return a survey of facts with its plan (JSON) as a text of numbered steps; what is none as it is.

    >>> spell_survey('{"facts_given": "a date", "plan": ["Search.", "Answer."]}')
    'facts_given: a date\\n1. Search.\\n2. Answer.'
    """
    survey = parse_object(content)
    facts = [f"{name}: {text}" for name, text in survey.items() if name != "plan"]
    return "\n".join([*facts, *(f"{at}. {step}" for at, step in enumerate(survey.get("plan", []), 1))]) or content


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
