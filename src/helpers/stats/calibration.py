"""Whether probabilities hold: how often what was said came true; forecasts pooled, recalibrated and weighted."""

import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from helpers.stats.means import MIN_CLUSTERS, divide, summarize_clustered
from helpers.store import parse_json

N_BINS = 10
"""Bins of a reliability diagram."""

CLIP = 1e-3
"""Probabilities are held this far from 0 and 1 where log-odds are taken: a single 0 would outweigh all other trials."""


def list_chances(events, answers, predictions):
    """Return every probability that was given to an option, a row each: agent_id, event_id, said, hit (0 or 1).

    Of two options that exclude each other one counts, the first: the other says the same again.
    """
    truth = answers.set_index("event_id")["value"].rename("truth")
    known = events.set_index("event_id")[["kind", "options"]].join(truth)
    rows = []
    for row in predictions.join(known, on="event_id").to_dict("records"):
        told = parse_json(row["distribution"])
        if row["kind"] not in ("single", "multi") or not told or pd.isna(row["truth"]):
            continue
        right = parse_json(row["truth"])
        options = sorted(parse_json(row["options"]) or told)
        counted = options[:1] if row["kind"] == "single" and len(options) == 2 else options
        hits = set(right if isinstance(right, list) else [right])
        about = {"agent_id": row["agent_id"], "event_id": row["event_id"]}
        rows += [about | {"said": told.get(name, 0.0), "hit": float(name in hits)} for name in counted]
    return pd.DataFrame(rows, columns=["agent_id", "event_id", "said", "hit"])


def bin_chances(chances, clusters, n_bins=N_BINS):
    """Return how often what was given a probability came true, by agent and bin: a row each.

    Columns: agent_id, bin (its lower end), said (the mean probability in it), share, low, high (95% by cluster; blank
    below ten clusters), n, n_clusters. `chances` as of `list_chances`.
    """
    tables, bins = [], (np.asarray(chances["said"]) * n_bins + 1e-9).astype(int).clip(0, n_bins - 1)  # an edge is above
    for at, part in chances.groupby(bins):
        part = part.assign(row=part.groupby(["agent_id", "event_id"]).cumcount())
        wide = part.pivot(index=["event_id", "row"], columns="agent_id", values="hit")
        own = pd.Series(clusters.reindex(wide.index.get_level_values(0)).to_numpy(), wide.index)
        table = summarize_clustered(wide, own).rename(columns={"mean": "share"}).rename_axis("agent_id").reset_index()
        said = part.groupby("agent_id")["said"].mean()
        tables.append(table.assign(bin=at / n_bins, said=table["agent_id"].map(said)))
    table = pd.concat(tables, ignore_index=True).sort_values(["agent_id", "bin"], ignore_index=True)
    table[["low", "high"]] = table[["low", "high"]].clip(0, 1)
    return table[["agent_id", "bin", "said", "share", "low", "high", "n", "n_clusters"]]


def pool_odds(probabilities, clip=CLIP):
    """Return the probability at the mean log-odds of several trials (along the last axis; NaN left out)."""
    odds = logit(np.clip(np.asarray(probabilities, dtype=float), clip, 1 - clip))
    there = np.isfinite(odds)
    return expit(divide(np.where(there, odds, 0.0).sum(axis=-1), there.sum(axis=-1)))


def recalibrate(said, hit, clusters, n_folds=5, clip=CLIP):
    """Return probabilities recalibrated by a logistic curve over their log-odds, fitted on the clusters of other folds.

    No event helps to recalibrate its own probability, nor does one of its cluster; a ridge of 1 holds the curve towards
    flat. Where the folds to fit on show one outcome only, what was said stays. Raises ValueError with fewer clusters
    than folds.
    """
    said, hit, clusters = (np.asarray(values) for values in (said, hit, clusters))
    if len(set(clusters.tolist())) < n_folds:
        raise ValueError(f"{n_folds} folds need as many clusters; use fewer folds, or leave probabilities as they are")
    odds, mended = logit(np.clip(said.astype(float), clip, 1 - clip))[:, None], said.astype(float).copy()
    for known, new in GroupKFold(n_folds).split(odds, hit, clusters):
        if len(set(hit[known].tolist())) > 1:
            mended[new] = LogisticRegression().fit(odds[known], hit[known]).predict_proba(odds[new])[:, 1]
    return mended


def weigh_odds(hit, said, clusters, clip=CLIP):
    """Return the weight of each of several forecasts in a logistic regression of outcomes on the log-odds of all.

    `hit` is 0 or 1, `said` has a row a question (all given), `clusters` maps rows to clusters: errors are clustered (t
    with G - 1 degrees of freedom); p_plain is by question. A forecast of weight 0 tells nothing that the others do not.
    Columns forecast, weight, low, high, p, p_plain, n, n_hits, n_clusters; weights are blank where the forecasts part
    the outcomes wholly, low, high and p below ten clusters too.
    """
    codes = pd.factorize(clusters.reindex(said.index))[0]
    design = sm.add_constant(logit(said.astype(float).clip(clip, 1 - clip)))
    model = sm.GLM(hit.reindex(said.index).astype(float), design, family=sm.families.Binomial())
    about = {"n": len(said), "n_hits": int(hit.reindex(said.index).sum()), "n_clusters": int(codes.max() + 1)}
    table = pd.DataFrame({"forecast": said.columns, "weight": np.nan, "low": np.nan, "high": np.nan, "p": np.nan})
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
