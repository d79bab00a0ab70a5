"""Tokens and money (7, D): how they grow with the message limit, and which configurations no other one betters.

The frontier is drawn in the paper, never defined: here it is the Pareto set, those that no other configuration matches
in accuracy for as few tokens. Tokens of zero-shot replies are not printed, so neither is the overhead over them
(`compare_alone` measures that of our own).
"""

import numpy as np
import pandas as pd
from scipy import stats

from helpers import papers
from helpers.proof_of_time.baselines import list_chances, score_majority
from helpers.proof_of_time.published import count_tasks, list_limits, load_table
from helpers.stats.means import measure_share, summarize_clustered
from helpers.stats.paired import judge_family
from helpers.store import locate_input


def list_tokens():
    """Return Table 9 in rows: provider, model, limit, n_tokens (of a run: one log of a task), per_question.

    `per_question` divides by Table 6's mean questions a task, as the paper does not say which logs are averaged.
    """
    table = load_table("table9_tokens")
    limits = {f"tokens_at_{limit}": limit for limit in papers.get_constant("proof_of_time", "message_limits")}
    long = table.melt(["provider", "model"], list(limits), "limit", "n_tokens")
    n_tasks = len(papers.load_published("proof_of_time", "table6_task_counts"))
    return long.assign(
        limit=long["limit"].map(limits), per_question=long["n_tokens"] * n_tasks / count_tasks(with_pre=True)
    )


def list_own_tokens(trials):
    """Return the tokens of our own trials like Table 9's: provider ("ours"), model, limit (none of the question alone),
    n_tokens (in and out, of all), per_question, n, minutes (of the model)."""
    table = trials.assign(n_tokens=trials["n_input_tokens"] + trials["n_output_tokens"])
    parts = table.groupby(["method", "limit"], dropna=False, sort=False)
    rows = parts.agg(n_tokens=("n_tokens", "sum"), n=("id", "size"), minutes=("seconds", lambda s: s.sum() / 60))
    rows = rows.reset_index().rename(columns={"method": "model"})
    return rows.assign(provider="ours", per_question=rows["n_tokens"] / rows["n"])


def measure_growth(tokens):
    """Return how each model's tokens grow between neighbouring limits: step, growth, least (that of the limit itself),
    is_faster."""
    wide = tokens.pivot(index=["provider", "model"], columns="limit", values="n_tokens")
    steps = list(zip(wide.columns[:-1], wide.columns[1:], strict=True))
    rows = [(*who, f"{a} to {b}", row[b] / row[a], b / a) for a, b in steps for who, row in wide.iterrows()]
    table = pd.DataFrame(rows, columns=["provider", "model", "step", "growth", "least"])
    return table.assign(is_faster=table["growth"] > table["least"])


def find_frontier(cost, gain):
    """Return which rows are on the frontier: no other has as high a gain for as low a cost, and one of them better.

    >>> find_frontier(pd.Series([1, 2, 2, 3]), pd.Series([5, 5, 7, 6])).tolist()
    [True, False, True, False]
    """
    costs, gains = cost.to_numpy()[:, None], gain.to_numpy()[:, None]
    as_good = (costs.T <= costs) & (gains.T >= gains)
    better = (costs.T < costs) | (gains.T > gains)
    return pd.Series(~(as_good & better).any(axis=1), cost.index)


def find_unbeaten(table):
    """Return which rows no other betters for sure: none costs as little with an interval wholly above theirs."""
    costs, lows, highs = (table[name].to_numpy()[:, None] for name in ("per_question", "low", "high"))
    return pd.Series(~((costs.T <= costs) & (lows.T > highs)).any(axis=1), table.index)


def list_configurations():
    """Return models by limit with accuracy (its interval), tokens a question, is_frontier, and may_be: no other
    configuration betters them for sure."""
    table = list_limits().merge(list_tokens(), on=["provider", "model", "limit"], validate="one_to_one")
    frontier = find_frontier(table["per_question"], table["share"])
    return table.assign(is_frontier=frontier, may_be=find_unbeaten(table))


def correlate_spend(limit):
    """Return Spearman's correlation over models of dollars spent (Table 8) and accuracy at a limit: (rho, p, n)."""
    spent = load_table("table8_api_spend").set_index("model")["total_usd"]
    share = list_limits().query("limit == @limit").set_index("model")["share"]
    rho, p = stats.spearmanr(spent, share.loc[spent.index])
    return float(rho), float(p), len(spent)


def list_spend():
    """Return Table 8 by model, dearest first: provider, model, input_usd, output_usd, whole_usd (where not parted)."""
    table = load_table("table8_api_spend")
    whole = np.where(table["input_usd"].isna(), table["total_usd"], 0.0)
    parts = table[["input_usd", "output_usd"]].fillna(0.0)
    rows = table[["provider", "model", "total_usd"]].assign(**parts, whole_usd=whole)
    return rows.sort_values("total_usd", ascending=False, ignore_index=True)


# --- our own trials -----


def read_trials():
    """Return the trials that notebook 41 scored: COLUMNS, family, task, source, is_right."""
    return pd.read_csv(locate_input("data/tables/proof_of_time/trials.csv"))


def compare_alone(trials, by=()):
    """Return what agents gain over the question alone, on the same instances (Figures 2B, 6, 11 and 12).

    Columns solver, method, limit, those of `by`, alone and share (accuracies), gain, low, high, p (by source, blank
    below ten), n, n_clusters, overhead (tokens, in and out, over those of the question alone), the middle half of the
    instances' own overheads (overhead_low, overhead_high), p_holm (over the rows) and the verdict on a gain. No row
    where no agent is recorded.
    """
    tokens = trials["n_input_tokens"] + trials["n_output_tokens"]
    table = trials.assign(n_tokens=tokens, is_right=trials["is_right"].astype(float))
    is_alone = table["method"] == "zero_shot"
    pairs = table[~is_alone].merge(
        table.loc[is_alone, ["id", "is_right", "n_tokens"]], on="id", suffixes=("", "_alone")
    )
    keys, rows = ["solver", "method", "limit", *by], []
    for names, part in pairs.groupby(keys, sort=False):
        part = part.reset_index(drop=True)
        gain = summarize_clustered((part["is_right"] - part["is_right_alone"]).to_frame("gain"), part["source"])
        ends = (part["n_tokens"] / part["n_tokens_alone"]).quantile([0.25, 0.75])
        overhead = part["n_tokens"].sum() / part["n_tokens_alone"].sum()
        accuracies = (part["is_right_alone"].mean(), part["is_right"].mean())
        rows.append(
            (*names, *accuracies, *gain.loc["gain", ["mean", "low", "high", "p", "n", "n_clusters"]], overhead, *ends)
        )
    columns = [*keys, "alone", "share", "gain", "low", "high", "p", "n", "n_clusters"]
    table = pd.DataFrame(rows, columns=[*columns, "overhead", "overhead_low", "overhead_high"])
    return judge_family(table, "gain").astype({"n": int, "n_clusters": int})


def compare_floors(trials, by=()):
    """Return what majority and chance have above the question alone, on the instances that were put to agents.

    Columns solver, those of `by`, gain, low, high (by source, blank below ten), n, n_clusters. Majority is that of all
    instances that were asked. No row where no agent is recorded.
    """
    alone = trials[trials["method"] == "zero_shot"]
    majority = score_majority(trials).set_index("id")["is_right"].astype(float).reindex(alone["id"]).to_numpy()
    right = {"majority": majority, "chance": list_chances(alone)}
    rows = []
    for solver, share in right.items():
        above = alone.assign(gain=share - alone["is_right"].astype(float))
        above = above[above["id"].isin(trials.loc[trials["limit"].notna(), "id"])].assign(solver=solver)
        for names, part in above.groupby(["solver", *by], sort=False):
            part = part.reset_index(drop=True)
            gain = summarize_clustered(part[["gain"]], part["source"]).loc["gain"]
            rows.append((*names, *gain[["mean", "low", "high", "n", "n_clusters"]]))
    table = pd.DataFrame(rows, columns=["solver", *by, "gain", "low", "high", "n", "n_clusters"])
    return table.astype({"n": int, "n_clusters": int})


def join_limits(gains, by=()):
    """Return rows of `compare_alone`, those that a limit makes no difference to as one; `label` names its limits.

    >>> alike = {"method": "agentic", "overhead": 7.0, "gain": 0.2}
    >>> join_limits(pd.DataFrame([alike | {"limit": 50.0}, alike | {"limit": 30.0}]))["label"].tolist()
    ['agentic, 50/30']
    """
    parts = gains.groupby(["method", *by, "overhead", "gain"], sort=False)
    limits = parts["limit"].transform(lambda limits: "/".join(f"{limit:.0f}" for limit in limits))
    return gains.assign(label=gains["method"] + ", " + limits)[~parts.cumcount().astype(bool)]


LIMITS = {"message_limit": "messages", "context_limit": "context"}
"""How a run ends before it answers -> what ran out: messages, or room in the model for the conversation."""


def count_limit_hits(trials):
    """Return how many runs of each agent ended at a limit (Figure 5): solver, limit_of (messages; context, where any
    run ended so), hits, n, share, low, high (Wilson)."""
    agents = trials[trials["method"] != "zero_shot"]
    rows = []
    for status, limit_of in LIMITS.items():
        if limit_of == "messages" or (agents["status"] == status).any():
            for solver, part in agents.groupby("solver", sort=False):
                hit = part["status"] == status
                rows.append({"solver": solver, "limit_of": limit_of, "hits": int(hit.sum()), **measure_share(hit)})
    return pd.DataFrame(rows, columns=["solver", "limit_of", "hits", "n", "share", "low", "high"])
