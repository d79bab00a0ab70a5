"""What plans and the work after them explain of the score: regressions (FutureX 4.5.2, Figure 13).

Errors are clustered by event; whatever the rows cannot tell apart is left out and said to be unidentified. Rows with
known effects are made up to see which sizes of effect so many events can show.
"""

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import linalg

from helpers import papers
from helpers.agents.research import summarize_research
from helpers.estimates.regression import build_dummies
from helpers.futurex.planning.plans import RUBRICS
from helpers.outcomes.scores import select_headline
from helpers.plots import draw_intervals

EFFORT = ["n_tool_calls", "search_think_length", "manager_think_length"]
FACTORS = (
    "n_tool_calls",
    "source_reliability",
    "comprehensiveness",
    "search_think_length",
    "plan_actionability",
    "manager_think_length",
)
"""What the paper regresses the score on, in the order of Figure 13."""

LEVELS = papers.get_constant("futurex", "planning_levels")
STAR_LEVELS = papers.get_constant("futurex", "planning_stars")
COLUMNS = "factor is_identified effect se p low high stars".split()


def build_rows(plans, scores, traces, outcomes, events):
    """Return a row a plan for the regression: `FACTORS`, agent_id, event_id, score (levels 1 and 2, missing as 0).

    `plans`: plan_id, run_id, event_id, agent_id; `scores`: a judge's table plan x criterion; `outcomes`: the scores
    table. Raises ValueError for a plan whose trace is no research.
    """
    steps = dict(tuple(traces.groupby(["run_id", "event_id"])))
    effort = [summarize_research(steps[pair]) for pair in zip(plans["run_id"], plans["event_id"], strict=True)]
    rows = pd.concat([plans.reset_index(drop=True), pd.DataFrame(effort, columns=EFFORT)], axis=1)
    rows = rows.merge(scores[list(RUBRICS)], left_on="plan_id", right_index=True, how="left")
    headline = select_headline(outcomes, events[events["level"].isin(LEVELS)])
    score = headline[["run_id", "event_id", "score_imputed"]].rename(columns={"score_imputed": "score"})
    return rows.merge(score, on=["run_id", "event_id"], how="inner")


def fit_plans(rows, dummies=(), factors=FACTORS):
    """Regress scores on z-scored factors, with dummies of agent_id and event_id on request (FutureX 4.5.2, Figure 13).

    Returns the factors' table and the fit's facts. Table: factor, is_identified, effect (score a standard deviation),
    se clustered by event (CR1), p, low, high (t, G - 1 degrees of freedom), stars. Blank where a factor is not
    identified: it is constant, others or the dummies add up to it, or no degree of freedom is left. Event dummies are
    taken out by the events' means; nested in the clusters, they do not count in the errors' factor, and an event with
    one row says nothing beside them. Facts: n, n_events, n_coefs (dummies included), r2, r2_chance (expected when
    nothing matters: (coefficients - 1) / (n - 1)), r2_adjusted. Rows with a blank are left out.
    """
    rows = rows.dropna(subset=[*factors, "score"])
    within = "event_id" in dummies
    if within:
        rows = rows[rows.groupby("event_id")["event_id"].transform("size") > 1]
    rows = rows.reset_index(drop=True)
    x, y, event = rows[list(factors)], rows["score"], rows["event_id"]
    x = ((x - x.mean()) / x.std().replace(0, np.nan)).fillna(0.0)
    if "agent_id" in dummies and rows["agent_id"].nunique() > 1:
        x = x.join(build_dummies(rows, ("agent_id",)))
    if within:
        x, y = (part - part.groupby(event).transform("mean") for part in (x, y))
    else:
        x = x.assign(const=1.0)
    x, identified = keep_identified(x)
    n, n_events = len(rows), event.nunique()
    n_coefs = x.shape[1] + within * n_events
    facts = {"n": n, "n_events": n_events, "n_coefs": n_coefs, "r2": np.nan, "r2_chance": np.nan, "r2_adjusted": np.nan}
    table = pd.DataFrame({"factor": factors, "is_identified": [name in identified for name in factors]})
    if n <= n_coefs or n_events < 2 or rows["score"].nunique() < 2:
        return table.assign(is_identified=False).reindex(columns=COLUMNS), facts
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(event)[0]}, use_t=True)
    part = pd.DataFrame({"effect": fit.params, "se": fit.bse, "p": fit.pvalues})
    part[["low", "high"]] = fit.conf_int()
    part["stars"] = part["p"].map(mark_stars)
    r2, chance = 1 - fit.ssr / ((rows["score"] - rows["score"].mean()) ** 2).sum(), (n_coefs - 1) / (n - 1)
    facts |= {"r2": r2, "r2_chance": chance, "r2_adjusted": 1 - (1 - r2) / (1 - chance)}
    return table.join(part[part.index.isin(identified)], on="factor")[COLUMNS], facts


def keep_identified(x):
    """Return the columns of `x` that span it, and the names of those that no other columns add up to.

    >>> kept, identified = keep_identified(pd.DataFrame({"a": [1, 2, 4], "b": [2, 4, 8], "c": [1, 0, 0], "d": 0}))
    >>> list(kept), sorted(identified)
    (['c', 'a'], ['c'])
    """
    if x.empty:
        return x.iloc[:, :0], set()
    mixed = np.abs(linalg.null_space(x)).max(axis=1, initial=0) > 1e-8
    kept = list(x.columns[~mixed])
    for name in x.columns[mixed]:
        if np.linalg.matrix_rank(x[[*kept, name]]) > len(kept):
            kept.append(name)
    return x[kept], set(x.columns[~mixed])


def mark_stars(p):
    """Return the stars of a p-value; none for a blank.

    >>> mark_stars(0.03), mark_stars(0.001), mark_stars(0.2)
    ('*', '***', '')
    """
    return "*" * sum(p < level for level in STAR_LEVELS)


def simulate_plans(rng, n_events, effects, sd, *, n_agents=1, agent_sd=0.0, event_sd=0.0):
    """Return made-up rows for `fit_plans` whose scores follow known effects: every agent on every event.

    `effects`: by factor, a score a standard deviation; `sd`: of the noise beside the agents' and the events' own.
    """
    event, agent = (part.ravel() for part in np.indices((n_events, n_agents)))
    x = rng.normal(size=(len(event), len(FACTORS)))
    own = agent_sd * rng.normal(size=n_agents)[agent] + event_sd * rng.normal(size=n_events)[event]
    score = 0.5 + x @ [effects.get(name, 0.0) for name in FACTORS] + own + sd * rng.normal(size=len(x))
    rows = pd.DataFrame(x, columns=list(FACTORS))
    return rows.assign(event_id=[f"e{i}" for i in event], agent_id=[f"a{i}" for i in agent], score=score)


def measure_power(sizes, effects, sd, rng, n_sims=500, dummies=(), **world):
    """Return how often made-up effects are seen, by number of events and size of effect; `world` as `simulate_plans`.

    `power`: share of coefficients with p < 0.05 (at effect 0: false alarms); `coverage`: share of 95% intervals that
    hold the truth; `r2`: mean R2 of the fits. Columns n, effect, power, coverage, r2.
    """
    parts = []
    for n in sizes:
        for _ in range(n_sims):
            table, facts = fit_plans(simulate_plans(rng, n, effects, sd, **world), dummies)
            truth = table["factor"].map(effects).fillna(0.0)
            held = (table["low"] <= truth) & (truth <= table["high"])
            seen = table["p"] < 0.05
            parts.append(pd.DataFrame({"n": n, "effect": truth, "power": seen, "coverage": held, "r2": facts["r2"]}))
    return pd.concat(parts).groupby(["n", "effect"], as_index=False).mean()


def draw_plan_effects(effects, ax, colour):
    """Draw a judge's effects as bars with intervals, over the grey band in which the paper's coefficients lie.

    `effects` is `fit_plans`'s table with a column label; what is not identified is named under the axis.
    """
    lost, held = effects[~effects["is_identified"]], effects[effects["is_identified"]]
    if len(held):
        draw_intervals(held, ax, label="label", value="effect", low="low", high="high", colour=colour, digits=3)
    ax.axvspan(-0.1, 0.1, color="0.9", zorder=0)
    ax.margins(x=0.2)
    absent = ",\n".join(lost["label"].str.strip()) or "none"
    ax.set_xlabel(f"score for one standard deviation\nnot identified: {absent}")
    return ax


def draw_power(power, ax, sizes):
    """Draw how often effects are seen against the number of events (`measure_power`); dashed: 5% false alarms."""
    for effect, part in power.groupby("effect"):
        ax.plot(part["n"], part["power"], marker="o", label=f"effect {effect:g}")
    ax.axhline(0.05, color="0.3", lw=1, ls="--")
    ax.set(xscale="log", ylim=(0, 1), xlabel="events", title="Power to see an effect (simulated)")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.legend(loc="upper left")
    return ax
