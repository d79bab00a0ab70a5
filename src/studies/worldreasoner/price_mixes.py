"""Forecasts mixed with the price of their moment: what an agent adds to it (WorldReasoner 5.3)."""

import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from helpers.means import MIN_CLUSTERS, divide
from helpers.paired import compare_pairs, judge_pair
from studies.worldreasoner.prices import price_forecasts

CLIP = 1e-3
"""Probabilities are held this far from 0 and 1 where log-odds are taken: a single 0 would outweigh
all other trials."""


def mix_forecasts(forecasts, prices, clusters, recalibrated=()):
    """Return (hit, said): what came true, and who gave Yes which probability: a row a question, a
    column a forecast.

    `forecasts` are of one moment of each question (`tell_markets`). Beside a column an agent there
    is "price", and for each agent "price and <agent>", the mean of both in log-odds (`pool_odds`).
    That mean halves the distance of the price's log-odds from 0 where the agent stands at one half,
    so what an agent adds is told by comparison with the mix of an agent that says one half. Of
    those named in `recalibrated` "<agent>, recalibrated" is the probability after `recalibrate`,
    each cluster held out by itself. Questions without a price are left out.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    said = table.pivot(index="question_id", columns="agent_id", values="p").rename_axis(
        columns=None
    )
    own = table.groupby("question_id")[["price", "outcome"]].first()
    said.insert(0, "price", own["price"])
    for name in said.columns[1:]:
        mixed = pool_odds(said[["price", name]])
        said[f"price and {name}"] = np.where(said[name].notna(), mixed, np.nan)
    for name in recalibrated:
        known = said[name].dropna()
        groups = clusters.reindex(known.index)
        held = recalibrate(known, own["outcome"].reindex(known.index), groups, groups.nunique())
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
    """Return the log-odds of probabilities, held CLIP from 0 and 1."""
    return logit(probabilities.clip(CLIP, 1 - CLIP))


def pool_odds(probabilities):
    """Return the probability at the mean log-odds of several trials (along the last axis; NaN left
    out)."""
    odds = take_odds(np.asarray(probabilities, dtype=float))
    there = np.isfinite(odds)
    return expit(divide(np.where(there, odds, 0.0).sum(axis=-1), there.sum(axis=-1)))


def recalibrate(said, hit, clusters, n_folds=5):
    """Return probabilities recalibrated by a logistic curve over their log-odds, fitted on the
    clusters of other folds.

    No event helps to recalibrate its own probability, nor does one of its cluster; a ridge of 1
    holds the curve towards flat. Where the folds to fit on show one outcome only, what was said
    stays. Raises ValueError with fewer clusters than folds.
    """
    said, hit, clusters = (np.asarray(values) for values in (said, hit, clusters))
    if len(set(clusters.tolist())) < n_folds:
        raise ValueError(
            f"{n_folds} folds need as many clusters; use fewer folds, or leave probabilities as they are"
        )
    odds = take_odds(said.astype(float))[:, None]
    recalibrated = said.astype(float).copy()
    for known, new in GroupKFold(n_folds).split(odds, hit, clusters):
        if len(set(hit[known].tolist())) > 1:
            recalibrated[new] = (
                LogisticRegression().fit(odds[known], hit[known]).predict_proba(odds[new])[:, 1]
            )
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
    codes = pd.factorize(clusters.reindex(said.index))[0]
    design = sm.add_constant(take_odds(said.astype(float)))
    model = sm.GLM(hit.reindex(said.index).astype(float), design, family=sm.families.Binomial())
    about = {
        "n": len(said),
        "n_hits": int(hit.reindex(said.index).sum()),
        "n_clusters": int(codes.max() + 1),
    }
    table = pd.DataFrame(
        {"forecast": said.columns, "weight": np.nan, "low": np.nan, "high": np.nan, "p": np.nan}
    )
    table["p_plain"] = np.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PerfectSeparationWarning)
            fit = model.fit(cov_type="cluster", cov_kwds={"groups": codes}, use_t=True)
    except PerfectSeparationWarning:
        return table.assign(**about)
    table["weight"] = fit.params[said.columns].to_numpy()
    table["p_plain"] = model.fit().pvalues[said.columns].to_numpy()
    if about["n_clusters"] >= MIN_CLUSTERS:
        table[["low", "high"]] = fit.conf_int().loc[said.columns].to_numpy()
        table["p"] = fit.pvalues[said.columns].to_numpy()
    return table.assign(**about)
