"""Whether probabilities hold: how often what was said came true, how far off that is, and what several trials say.

Lower is better for the calibration error; sharpness is how far the probabilities lie from their own mean (Murphy 1973).
"""

import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

from helpers.stats.bootstrap import draw_counts, take_interval
from helpers.stats.means import MIN_CLUSTERS, divide, summarize_clustered
from helpers.store import parse_json

N_BINS, N_HELD = 10, 200
"""Bins of a reliability diagram, and how often outcomes are drawn as said."""

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
        if row["kind"] not in ("single", "multi") or not told or row["truth"] is None:
            continue
        right = parse_json(row["truth"])
        options = sorted(parse_json(row["options"]) or told)
        counted = options[:1] if row["kind"] == "single" and len(options) == 2 else options
        hits = set(right if isinstance(right, list) else [right])
        about = {"agent_id": row["agent_id"], "event_id": row["event_id"]}
        rows += [about | {"said": told.get(name, 0.0), "hit": float(name in hits)} for name in counted]
    return pd.DataFrame(rows, columns=["agent_id", "event_id", "said", "hit"])


def spread_rest(value, probability, options):
    """Return the probability of each option where that of the answer alone was stated: the others share the rest.

    Raises LookupError when the answer is none of the options.

    >>> spread_rest("B", 0.5, ["A", "B", "C"]), spread_rest("A", 1.0, ["A", "B"])
    ({'A': 0.25, 'B': 0.5, 'C': 0.25}, {'A': 1.0, 'B': 0.0})
    """
    if value not in options:
        raise LookupError(f"the answer {value!r} is none of the options {', '.join(options)}")
    rest = (1 - probability) / max(len(options) - 1, 1)
    return {name: probability if name == value else rest for name in options}


def place_bins(said, n_bins):
    """Return the bin of each probability, from 0; what lies on an edge belongs above it, 1 to the last bin."""
    return (np.asarray(said) * n_bins + 1e-9).astype(int).clip(0, n_bins - 1)


def bin_chances(chances, clusters, n_bins=N_BINS):
    """Return how often what was given a probability came true, by agent and bin: a row each.

    Columns: agent_id, bin (its lower end), said (the mean probability in it), share, low, high (95% by cluster; blank
    below ten clusters), n, n_clusters. `chances` as of `list_chances`.
    """
    tables = []
    for at, part in chances.groupby(place_bins(chances["said"], n_bins)):
        part = part.assign(row=part.groupby(["agent_id", "event_id"]).cumcount())
        wide = part.pivot(index=["event_id", "row"], columns="agent_id", values="hit")
        own = pd.Series(clusters.reindex(wide.index.get_level_values(0)).to_numpy(), wide.index)
        table = summarize_clustered(wide, own).rename(columns={"mean": "share"}).rename_axis("agent_id").reset_index()
        said = part.groupby("agent_id")["said"].mean()
        tables.append(table.assign(bin=at / n_bins, said=table["agent_id"].map(said)))
    table = pd.concat(tables, ignore_index=True).sort_values(["agent_id", "bin"], ignore_index=True)
    table[["low", "high"]] = table[["low", "high"]].clip(0, 1)
    return table[["agent_id", "bin", "said", "share", "low", "high", "n", "n_clusters"]]


def measure_calibration(chances, clusters, rng, n_bins=N_BINS, n_boot=2000):
    """Return each agent's expected calibration error with its 95% interval, and the sharpness: a row an agent.

    The error is the mean distance, over all probabilities given, between what was said in a bin and how often it came
    true. Few events leave an error where probabilities hold: `expected` is the mean error were each said what is true.
    The interval draws clusters anew (blank below ten), which adds noise once more. Columns: agent_id, ece, low, high,
    expected, sharpness, said, hit, n, n_clusters. `chances` as of `list_chances`.

    >>> table = pd.DataFrame({"agent_id": "a", "event_id": list("wxyz"), "said": [0.5] * 4, "hit": [1.0, 0, 1, 1]})
    >>> row = measure_calibration(table, pd.Series(list("wxyz"), list("wxyz")), np.random.default_rng(0)).loc[0]
    >>> float(row["ece"]), float(row["sharpness"]), int(row["n"])  # three of four where half was said
    (0.25, 0.0, 4)
    """
    rows = []
    for agent, part in chances.groupby("agent_id", sort=True):
        codes, names = pd.factorize(clusters.reindex(part["event_id"]))
        bins = place_bins(part["said"], n_bins)
        gaps = np.zeros((len(names), n_bins))
        np.add.at(gaps, (codes, bins), (part["hit"] - part["said"]).to_numpy())
        sizes = np.bincount(codes, minlength=len(names)).astype(float)
        draws = draw_counts(len(names), rng, n_boot) if len(names) >= MIN_CLUSTERS else np.zeros((0, len(names)))
        low, high = take_interval(divide(np.abs(draws @ gaps).sum(axis=1), draws @ sizes))
        held = (rng.random((N_HELD, len(part))) < part["said"].to_numpy()) - part["said"].to_numpy()
        expected = np.abs(held @ np.eye(n_bins)[bins]).sum(axis=1).mean() / len(part)
        ece = np.abs(gaps.sum(axis=0)).sum() / len(part)
        about = {"sharpness": part["said"].var(ddof=0), "said": part["said"].mean(), "hit": part["hit"].mean()}
        rows.append({"agent_id": agent, "ece": ece, "low": low, "high": high, "expected": expected} | about)
        rows[-1] |= {"n": len(part), "n_clusters": len(names)}
    columns = "agent_id ece low high expected sharpness said hit n n_clusters"
    return pd.DataFrame(rows, columns=columns.split())


def pool_odds(probabilities, clip=CLIP):
    """Return the probability at the mean log-odds of several trials (along the last axis; NaN left out).

    >>> float(pool_odds([0.2, 0.8])), round(float(pool_odds([0.9, 0.9, np.nan])), 3), round(float(pool_odds([0, 1])), 3)
    (0.5, 0.9, 0.5)
    """
    odds = logit(np.clip(np.asarray(probabilities, dtype=float), clip, 1 - clip))
    there = np.isfinite(odds)
    return expit(divide(np.where(there, odds, 0.0).sum(axis=-1), there.sum(axis=-1)))


def pool_chances(chances, clusters):
    """Return (hit, said): what came true, and the probabilities by agent of what all agents gave, with their pool.

    Both are by event and option. Beside a column an agent `said` has "pool" (`pool_odds`) and "mended", the pool after
    `recalibrate` with each cluster held out by itself; of a single cluster it stays. `chances` as of `list_chances`.
    """
    rows = chances.assign(option=chances.groupby(["agent_id", "event_id"]).cumcount())
    said = rows.pivot(index=["event_id", "option"], columns="agent_id", values="said").dropna()
    hit = rows.groupby(["event_id", "option"])["hit"].first().reindex(said.index)
    own = clusters.reindex(said.index.get_level_values(0))
    said["pool"] = pool_odds(said)
    n_folds = own.nunique()
    return hit, said.assign(mended=recalibrate(said["pool"], hit, own, n_folds) if n_folds > 1 else said["pool"])


def recalibrate(said, hit, clusters, n_folds=5, clip=CLIP):
    """Return probabilities mended by a logistic curve over their log-odds, fitted on the clusters of other folds.

    No event helps to mend its own probability, nor does one of its cluster. The curve is held towards flat by a
    ridge of 1. Arrays of one length; where the folds to fit on show one outcome only, what was said stays. Raises
    ValueError with fewer clusters than folds.

    >>> said, hit = np.tile([0.9, 0.1], 50), np.tile([0, 1], 50)  # always the wrong way round
    >>> mended = recalibrate(said, hit, np.repeat(np.arange(10), 10))
    >>> bool(mended[0] < 0.2), bool(mended[1] > 0.8)
    (True, True)
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
    """Return what each of several forecasts tells beside the others: its weight in a logistic regression of outcomes.

    The outcome `hit` (0 or 1) is regressed on the log-odds of all columns of `said` (a row a question, all given), with
    a constant; errors are clustered (t with G - 1 degrees of freedom for G clusters, as a map from row to cluster). A
    forecast whose weight is 0 tells nothing that the others do not; a price that holds by itself has 1. Where few
    outcomes are of one kind clustered errors come out too small: p_plain is of the errors by question. Columns
    forecast, weight, low, high, p, p_plain, n, n_hits, n_clusters. Weights are blank where the forecasts part the
    outcomes wholly, low, high and p below ten clusters too.

    >>> odds = np.tile([-2.0, -1.0, 1.0, 2.0], 50)
    >>> hit = pd.Series(np.arange(200) % 4 // 2 ^ (np.arange(200) % 7 == 0))
    >>> said = pd.DataFrame({"price": expit(odds), "other": expit(np.tile([1.0, -1.0, -1.0, 1.0], 50))})
    >>> weigh_odds(hit, said, hit.index.to_series())[["forecast", "n", "n_clusters"]].values.tolist()
    [['price', 200, 200], ['other', 200, 200]]
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


def measure_trials(trials, clusters=None):
    """Return how far repeated trials agree: for each agent the share of pairs of trials on an event that say the same.

    `trials` has agent_id, event_id and value (missing ones are left out) and, where there is one, probability: its
    standard deviation over an event's trials is averaged as `spread`. Columns agent_id, agreement, low, high, n (events
    with two trials or more), n_clusters, spread, spread_low, spread_high.

    >>> table = pd.DataFrame({"agent_id": "a", "event_id": "e", "value": ["Yes", "Yes", "No"]})
    >>> measure_trials(table)["agreement"].round(4).tolist()  # one pair of three
    [0.3333]
    """
    known = trials[trials["value"].notna()]
    counts = known.groupby(["agent_id", "event_id", "value"]).size()
    totals = counts.groupby(level=[0, 1]).sum()
    pairs = (counts * (counts - 1)).groupby(level=[0, 1]).sum()[totals > 1] / (totals * (totals - 1))[totals > 1]
    found = summarize_clustered(pairs.unstack(0), clusters).rename(columns={"mean": "agreement"})
    table = found[["agreement", "low", "high", "n", "n_clusters"]].rename_axis("agent_id").reset_index()
    if "probability" not in known:
        return table.assign(spread=np.nan, spread_low=np.nan, spread_high=np.nan)
    spread = known.groupby(["agent_id", "event_id"])["probability"].std(ddof=0)[totals > 1].unstack(0)
    parts = summarize_clustered(spread, clusters).rename(columns={"mean": "", "low": "_low", "high": "_high"})
    return table.assign(**{f"spread{end}": table["agent_id"].map(parts[end]) for end in ("", "_low", "_high")})
