"""Forecasts mixed with the price of their moment: what an agent adds to it (WorldReasoner 5.3)."""

import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneGroupOut
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from helpers.means import MIN_CLUSTERS
from helpers.paired import compare_pairs, judge_pair
from studies.worldreasoner.prices import price_forecasts

CLIP = 1e-3
"""Probabilities are held this far from 0 and 1 where log-odds are taken: a single 0 would outweigh
all other trials."""


def mix_forecasts(forecasts, prices, clusters, recalibrated=()):
    """Return (hit, said): what came true, and who gave Yes which probability: a row a question, a
    column a forecast.

    `forecasts` are of one moment of each question (`tell_markets`). Beside a column an agent there
    is "price", and for each agent "price and <agent>", the mean of both in log-odds.
    That mean halves the distance of the price's log-odds from 0 where the agent stands at one half,
    so what an agent adds is told by comparison with the mix of an agent that says one half. Of
    those named in `recalibrated` "<agent>, recalibrated" is the probability after `recalibrate`,
    each cluster held out by itself. Questions without a price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    own = table.groupby("question_id")[["price", "outcome"]].first()
    wide = table.pivot(index="question_id", columns="agent_id", values="p")
    said = own[["price"]].join(wide)
    for name in wide:
        odds = take_odds(said[["price", name]]).mean(axis=1, skipna=False)
        said[f"price and {name}"] = expit(odds)
    for name in recalibrated:
        known = said[name].dropna()
        held = recalibrate(known, own["outcome"][known.index], clusters[known.index])
        said[f"{name}, recalibrated"] = pd.Series(held, known.index)
    return own["outcome"], said


def plan_mixes(names):
    """Return the pairs that `compare_mixes` tests: models by `names` with the price, with rules and
    with each other."""
    mixed = [f"price and {name}" for name in names]
    plan = [("price", ["base_rate", *names, "price and half", *mixed])]
    plan += [("price and half", mixed), ("half", names), ("base_rate", names)] if names else []
    plan += [(f"{name}, recalibrated", ["base_rate"]) for name in names]
    for at, name in enumerate(names[:-1]):
        plan += [(other, [name]) for other in names[at + 1 :]]
        plan += [(f"{other}, recalibrated", [f"{name}, recalibrated"]) for other in names[at + 1 :]]
    return plan


def compare_mixes(hit, said, clusters, plan):
    """Return pairs of forecasts by their Brier scores, of which less is better (`compare_pairs`),
    with a verdict.

    `said` has a column a forecast, `hit` what came true, by question (`mix_forecasts`). The verdict
    is by p_holm.
    """
    pairs = compare_pairs(said.sub(hit, axis=0) ** 2, clusters, plan)
    less = pairs.assign(difference=-pairs["difference"])
    return pairs.assign(verdict=[judge_pair(row, "p_holm") for row in less.to_dict("records")])


def take_odds(probabilities):
    """Return the log-odds of probabilities, held CLIP from 0 and 1.

    >>> expit(take_odds(np.array([0.0, 0.5, 1.0]))).round(3).tolist()
    [0.001, 0.5, 0.999]
    """
    return logit(probabilities.clip(CLIP, 1 - CLIP))


def recalibrate(said, hit, clusters):
    """Return probabilities recalibrated by a logistic curve over their log-odds, fitted on the
    other clusters.

    No event helps to recalibrate its own probability, nor does one of its cluster; a ridge of 1
    holds the curve towards flat. Where the others show one outcome only, what was said stays.
    """
    said = np.asarray(said, dtype=float)
    hit = np.asarray(hit)
    odds = take_odds(said)[:, None]
    recalibrated = said.copy()
    for known, new in LeaveOneGroupOut().split(odds, hit, np.asarray(clusters)):
        if len(set(hit[known].tolist())) > 1:
            fit = LogisticRegression().fit(odds[known], hit[known])
            recalibrated[new] = fit.predict_proba(odds[new])[:, 1]
    return recalibrated


def weigh_odds(hit, said, clusters):
    """Return the weight of each of several forecasts in a logistic regression of outcomes on the
    log-odds of all.

    `hit` is 0 or 1, `said` has a row a question (all given), `clusters` maps rows to clusters:
    errors are clustered (t with G - 1 degrees of freedom); p_plain is by question. A forecast of
    weight 0 tells nothing that the others do not. Columns forecast, weight, low, high, p, p_plain,
    n, n_hits, n_clusters; weights are blank where the forecasts part the outcomes wholly, low, high
    and p below ten clusters too.
    """
    groups = pd.factorize(clusters.reindex(said.index))[0]
    hit = hit.reindex(said.index).astype(float)
    design = sm.add_constant(take_odds(said.astype(float)))
    model = sm.GLM(hit, design, family=sm.families.Binomial())
    columns = ["weight", "low", "high", "p", "p_plain"]
    table = pd.DataFrame(np.nan, said.columns.rename("forecast"), columns)
    n_clusters = int(groups.max() + 1)
    with suppress(PerfectSeparationWarning), warnings.catch_warnings():
        warnings.simplefilter("error", PerfectSeparationWarning)
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        table["weight"] = fit.params
        table["p_plain"] = model.fit().pvalues
        if n_clusters >= MIN_CLUSTERS:
            table[["low", "high"]] = fit.conf_int().loc[table.index].to_numpy()
            table["p"] = fit.pvalues
    counts = {"n": len(said), "n_hits": int(hit.sum()), "n_clusters": n_clusters}
    return table.reset_index().assign(**counts)
