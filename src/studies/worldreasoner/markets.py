"""Forecasts beside a market's price by moment, confidence stored as a probability, prompts and
repeats."""

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
    low, high, p (by series), skill (1 - brier / brier_price), coverage, n, n_clusters.
    """
    made = []
    for model, part in rows.groupby("model", sort=True):
        for moment in (*MOMENTS, "all"):
            own = part if moment == "all" else part[part["horizon"] == moment]
            there = own[own["is_forecast"]]
            gain = (there["brier_price"] - there["brier"]).to_frame("gain")
            found = summarize_clustered(gain, there["source_id"]).iloc[0]
            means = {"brier": there["brier"].mean(), "brier_price": there["brier_price"].mean()}
            row = (
                {"model": model, "moment": moment}
                | means
                | found.rename({"mean": "gain"}).drop("se").to_dict()
            )
            row |= {
                "skill": 1 - means["brier"] / means["brier_price"],
                "coverage": len(there) / len(own),
            }
            made.append(row)
    return pd.DataFrame(made).astype({"n": int, "n_clusters": int})


def compare_tools(summaries: pd.DataFrame, brier_price: pd.Series) -> pd.DataFrame:
    """Return the Brier scores of runs with and without tools by moment, and what tools change over
    models.

    `summaries` has a row a run and checkpoint (model, has_tools, run, checkpoint, brier), as the
    source states them; `brier_price` the price's by moment. Columns: model ("all": the mean over
    models), moment, brier_none, brier_tools, brier_price, difference (tools minus none: below 0
    tools help), low, high, p (over models), n_models. Two runs of one model count as their mean.
    """
    known = summaries.dropna(subset="checkpoint")
    table = known.groupby(["model", "checkpoint", "has_tools"])["brier"].mean().unstack()
    table.columns = ["brier_tools" if has else "brier_none" for has in table.columns]
    table["difference"] = table["brier_tools"] - table["brier_none"]
    wide = table["difference"].unstack("checkpoint")[list(MOMENTS)]
    wide["all"] = wide.mean(axis=1)
    found = summarize_clustered(wide)
    levels = table[["brier_none", "brier_tools"]].groupby("checkpoint").mean()
    levels.loc["all"] = levels.loc[list(MOMENTS)].mean()
    made = [
        {
            "model": "all",
            "moment": moment,
            **levels.loc[moment],
            **row.rename({"mean": "difference"}).drop("se"),
        }
        for moment, row in found.iterrows()
    ]
    own = table.reset_index().rename(columns={"checkpoint": "moment"})
    made += own[["model", "moment", "brier_none", "brier_tools", "difference"]].to_dict("records")
    prices = brier_price.reindex(MOMENTS)
    prices.loc["all"] = prices.mean()
    done = pd.DataFrame(made).drop(columns="n_clusters").rename(columns={"n": "n_models"})
    done["brier_price"] = done["moment"].map(prices)
    return done.assign(n_models=done["n_models"].fillna(1).astype(int))


def rank_repaired(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each run's Brier score and rank as stored and repaired: a row a run, best repaired
    first.

    `rows` are those of questions that all runs forecast once; p_repaired turns round an answer no
    whose p_yes is above a half. Columns: agent_id, model, effort, brier_stored, low_stored,
    high_stored, rank_stored, brier, low, high, rank, share_flawed (of forecasts turned round),
    share_flawed_of_no (of answers no), accuracy (of the answers yes and no), constant (Brier of the
    share of yes as everybody's forecast), n, n_clusters. Rank 1 is the best; rank_low and rank_high
    hold 95% of ranks over questions drawn anew.
    """
    stored, repaired = (
        rows.assign(score=(rows[name] - rows["outcome"]) ** 2).pivot(
            index="event_id", columns="agent_id", values="score"
        )
        for name in ("p_yes", "p_repaired")
    )
    before, after = (summarize_clustered(matrix, ends=(0, 1)) for matrix in (stored, repaired))
    table = after.rename(columns={"mean": "brier"})[["brier", "low", "high", "n", "n_clusters"]]
    for name, column in (("brier_stored", "mean"), ("low_stored", "low"), ("high_stored", "high")):
        table[name] = before[column]
    table["rank"] = table["brier"].rank(method="min").astype(int)
    table["rank_stored"] = table["brier_stored"].rank(method="min").astype(int)
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, len(stored), (N_BOOT, len(stored)))
    for matrix, ending in ((repaired, ""), (stored, "_stored")):
        ranks = matrix.to_numpy()[drawn].mean(axis=1).argsort(axis=1).argsort(axis=1) + 1
        table[f"rank_low{ending}"], table[f"rank_high{ending}"] = np.percentile(
            ranks, (2.5, 97.5), axis=0, method="nearest"
        )
    says_no = rows["stated"] == "no"
    flawed = says_no & (rows["p_yes"] > 0.5)
    by = rows["agent_id"]
    table["share_flawed"] = flawed.groupby(by).mean()
    table["share_flawed_of_no"] = flawed[says_no].groupby(by[says_no]).mean()
    table["accuracy"] = ((rows["stated"] == "yes") == (rows["outcome"] == 1)).groupby(by).mean()
    share = rows.drop_duplicates("event_id")["outcome"].mean()
    table["constant"] = share * (1 - share)
    about = rows.drop_duplicates("agent_id").set_index("agent_id")[["model", "effort"]]
    return about.join(table).sort_values("brier").reset_index()


def compare_prompts(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what other prompts change of the Brier score of the median of repeats: a row a model
    and prompt.

    `rows` have model, variant (the prompt), sample, p_yes, outcome. In pairs on the questions that
    both prompts have. Columns: model, variant, brier, brier_base, difference (prompt minus `BASE`:
    below 0 it helps), low, high, p, p_holm (over the table), mde, coverage (of the questions
    asked), n.
    """
    made = []
    for model, part in rows.groupby("model", sort=True):
        asked = part.groupby("variant")["event_id"].nunique()
        matrix = take_medians(part).unstack("variant")
        for variant in sorted(set(matrix) - {BASE}):
            if BASE not in matrix:
                continue
            pair = compare_pairs(matrix[[variant, BASE]]).iloc[0]
            both = matrix[[variant, BASE]].dropna().mean()
            row = {
                "model": model,
                "variant": variant,
                "brier": both[variant],
                "brier_base": both[BASE],
            }
            row |= {"coverage": matrix[variant].notna().sum() / asked[variant]}
            made.append(row | pair[["difference", "low", "high", "p", "mde", "n"]].to_dict())
    table = pd.DataFrame(made).astype({"n": int})
    table.insert(table.columns.get_loc("p") + 1, "p_holm", correct_holm(table["p"]))
    return table


def take_medians(rows: pd.DataFrame) -> pd.Series:
    """Return the Brier score of the median of repeats, by event_id and variant."""
    known = rows[rows["is_forecast"]]
    said = known.groupby(["event_id", "variant"]).agg(
        p=("p_yes", "median"), outcome=("outcome", "first")
    )
    return (said["p"] - said["outcome"]) ** 2


def measure_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how repeats of a question spread and what their mean and median earn: a row a run
    (model and prompt).

    On questions with all repeats of the run; a repeat that most questions lack is left out.
    Columns: agent_id, model, variant, round, n_repeats, spread (mean standard deviation over
    repeats), brier_one (mean of single forecasts), brier_mean, brier_median, gain (one minus mean:
    above 0 averaging helps), low, high, p, n (questions).
    """
    made = []
    for _, part in rows.groupby("run_id", sort=True):
        wide = part.pivot(index="event_id", columns="sample", values="p_yes")
        wide = wide.loc[:, wide.notna().mean() > MOST_MISSING].dropna()
        outcome = (
            part.drop_duplicates("event_id").set_index("event_id")["outcome"].reindex(wide.index)
        )
        one = wide.rsub(outcome, axis=0).pow(2).mean(axis=1)
        mean = (wide.mean(axis=1) - outcome) ** 2
        median = (wide.median(axis=1) - outcome) ** 2
        found = summarize_clustered((one - mean).to_frame("gain")).iloc[0]
        first = part.iloc[0]
        row = {name: first[name] for name in ("agent_id", "model", "variant", "round")}
        row |= {"n_repeats": wide.shape[1], "spread": wide.std(axis=1).mean()}
        row |= {"brier_one": one.mean(), "brier_mean": mean.mean(), "brier_median": median.mean()}
        row |= {"gain": found["mean"], "low": found["low"], "high": found["high"], "p": found["p"]}
        made.append(row | {"n": len(wide)})
    return pd.DataFrame(made)
