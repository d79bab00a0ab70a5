"""What other projects' forecasts of markets say: TimeSeek beside the price by moment, KalshiBench
with its confidence repaired, prompts and repeats of Metaculus' AI benchmark."""

import numpy as np
import pandas as pd

from helpers.means import summarize_clustered
from helpers.paired import compare_pairs, correct_holm

MOMENTS = ("open_plus_1", "pct_25", "pct_50", "pct_75", "close_minus_1")
"""Moments of a market's life, first to last: a day after its opening, quarters of it, a day before
its close."""
MOST_MISSING = 0.5
"""A repeat counts that has more than this share of its questions."""
BASE = "direct"
"""The prompt that others are compared with."""
N_BOOT = 2000
SEED = 20261128


def measure_moments(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what forecasts add to the price at each moment of a market's life: a row a model and
    moment.

    `rows` have p_yes, outcome, price, horizon, source_id (the series). Columns: model, moment (or
    "all"), brier, brier_price, gain (price's Brier minus the model's: above 0 the model is better),
    low, high, p (by series), coverage, n, n_clusters.
    """
    made = []
    for model, part in rows.groupby("model"):
        for moment in (*MOMENTS, "all"):
            own = part if moment == "all" else part[part["horizon"] == moment]
            there = own[own["is_forecast"]]
            gain = there["brier_price"] - there["brier"]
            found = summarize_clustered(gain.to_frame(), there["source_id"]).iloc[0]
            row = {"model": model, "moment": moment, "coverage": len(there) / len(own)}
            made.append(row | there[["brier", "brier_price"]].mean().to_dict() | found.to_dict())
    table = pd.DataFrame(made).rename(columns={"mean": "gain"})
    columns = "model moment brier brier_price gain low high p n n_clusters coverage"
    return table[columns.split()].astype({"n": int, "n_clusters": int})


def compare_tools(summaries: pd.DataFrame, brier_price: pd.Series) -> pd.DataFrame:
    """Return the Brier scores of runs with and without tools by moment, and what tools change over
    models.

    `summaries` has a row a run and checkpoint (model, has_tools, run, checkpoint, brier), as the
    source states them; `brier_price` the price's by moment. Columns: model ("all": the mean over
    models), moment, brier_none, brier_tools, brier_price, difference (tools minus none: below 0
    tools help), low, high, p (over models), n_models. Two runs of one model count as their mean.
    """
    known = summaries.dropna(subset="checkpoint").rename(columns={"checkpoint": "moment"})
    table = known.groupby(["model", "moment", "has_tools"])["brier"].mean().unstack()
    table.columns = ["brier_tools" if has else "brier_none" for has in table.columns]
    table["difference"] = table["brier_tools"] - table["brier_none"]
    wide = table["difference"].unstack("moment")[list(MOMENTS)]
    wide["all"] = wide.mean(axis=1)
    means = table.groupby("moment").mean().loc[list(MOMENTS)]
    means.loc["all"] = means.mean()
    found = summarize_clustered(wide).rename(columns={"n": "n_models"})
    whole = means.drop(columns="difference").join(found.rename(columns={"mean": "difference"}))
    whole = whole.rename_axis("moment").reset_index().assign(model="all")
    done = pd.concat([whole, table.reset_index()], ignore_index=True).fillna({"n_models": 1})
    prices = brier_price.reindex(MOMENTS)
    done["brier_price"] = done["moment"].map({**prices, "all": prices.mean()})
    columns = "model moment brier_none brier_tools difference low high p n_models brier_price"
    return done[columns.split()].astype({"n_models": int})


def rank_repaired(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each run's Brier score and rank as stored and repaired: a row a run, best repaired
    first.

    `rows` are those of questions that all runs forecast once; p_repaired turns round an answer no
    whose p_yes is above a half. Columns: agent_id, model, brier, low, high, n, n_clusters,
    brier_stored, rank, rank_stored, rank_low, rank_high, share_flawed_of_no (of answers no those
    turned round). Rank 1 is the best; rank_low and rank_high hold 95% of ranks over questions drawn
    anew.
    """
    stored, repaired = (
        rows.assign(score=(rows[name] - rows["outcome"]) ** 2).pivot(
            index="event_id", columns="agent_id", values="score"
        )
        for name in ("p_yes", "p_repaired")
    )
    table = summarize_clustered(repaired, ends=(0, 1)).rename(columns={"mean": "brier"})
    table = table.drop(columns=["se", "p"]).assign(brier_stored=stored.mean())
    for ending in ("", "_stored"):
        table[f"rank{ending}"] = table[f"brier{ending}"].rank(method="min").astype(int)
    drawn = np.random.default_rng(SEED).integers(0, len(repaired), (N_BOOT, len(repaired)))
    ranks = repaired.to_numpy()[drawn].mean(axis=1).argsort(axis=1).argsort(axis=1) + 1
    table["rank_low"], table["rank_high"] = np.percentile(
        ranks, (2.5, 97.5), axis=0, method="nearest"
    )
    says_no = rows[rows["stated"] == "no"]
    table["share_flawed_of_no"] = (says_no["p_yes"] > 0.5).groupby(says_no["agent_id"]).mean()
    models = rows.groupby("agent_id")["model"].first()
    return table.join(models).sort_values("brier").reset_index()


def compare_prompts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what other prompts change of the Brier score of the median of repeats: a row a model
    and prompt.

    `rows` have model, variant (the prompt), sample, p_yes, outcome. In pairs on the questions that
    both prompts have. Columns: model, variant, brier, brier_base, difference (prompt minus `BASE`:
    below 0 it helps), low, high, p, p_holm (over the table), mde, n.
    """
    made = []
    for model, part in rows.groupby("model"):
        matrix = take_medians(part).unstack("variant")
        for variant in matrix.columns.drop(BASE, errors="ignore") if BASE in matrix else ():
            both = matrix[[variant, BASE]].dropna()
            row = {"model": model, "variant": variant}
            row |= {"brier": both[variant].mean(), "brier_base": both[BASE].mean()}
            made.append(row | compare_pairs(both).iloc[0].to_dict())
    table = pd.DataFrame(made).astype({"n": int})
    table["p_holm"] = correct_holm(table["p"])
    columns = "model variant brier brier_base difference low high p p_holm mde n"
    return table[columns.split()]


def take_medians(rows: pd.DataFrame) -> pd.Series:
    """Return the Brier score of the median of repeats, by event_id and variant."""
    known = rows[rows["is_forecast"]]
    said = known.groupby(["event_id", "variant"]).agg({"p_yes": "median", "outcome": "first"})
    return (said["p_yes"] - said["outcome"]) ** 2


def measure_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how repeats of a question spread and what their mean and median earn: a row a run
    (model and prompt).

    On questions with all repeats of the run; a repeat that most questions lack is left out.
    Columns: agent_id, model, variant, n_repeats, spread (mean standard deviation over repeats),
    brier_one (mean of single forecasts), brier_mean, brier_median, gain (one minus mean: above 0
    averaging helps), low, high, n (questions).
    """
    made = []
    for _, part in rows.groupby("run_id"):
        wide = part.pivot(index="event_id", columns="sample", values="p_yes")
        wide = wide.loc[:, wide.notna().mean() > MOST_MISSING].dropna()
        outcome = part.groupby("event_id")["outcome"].first().reindex(wide.index)
        scores = pd.DataFrame(
            {
                "brier_one": wide.rsub(outcome, axis=0).pow(2).mean(axis=1),
                "brier_mean": (wide.mean(axis=1) - outcome) ** 2,
                "brier_median": (wide.median(axis=1) - outcome) ** 2,
            }
        )
        gain = scores["brier_one"] - scores["brier_mean"]
        found = summarize_clustered(gain.to_frame()).rename(columns={"mean": "gain"}).iloc[0]
        row = part.iloc[0][["agent_id", "model", "variant"]].to_dict()
        row |= {"n_repeats": wide.shape[1], "spread": wide.std(axis=1).mean()}
        row |= scores.mean().to_dict() | found[["gain", "low", "high"]].to_dict()
        made.append(row | {"n": len(wide)})
    return pd.DataFrame(made)
