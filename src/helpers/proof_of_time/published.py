"""The paper's printed tables with the counts behind them, intervals, and tests of what it concludes.

It prints shares without intervals. Two limits, or two prompts, answer the same questions, and how often both are right
is not printed: intervals of their difference are the widest that the two shares allow.
"""

import math
import re

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from helpers import papers
from helpers.papers import get_constant
from helpers.stats.paired import judge_family, sign_flip_test

KEY = "proof_of_time"


def name_model(text):
    """Return a model's name as its provider's list has it, from any table's spelling.

    >>> name_model("GP-5 mini"), name_model("Gemini 3 Pro Preview"), name_model("gpt-5.1-2025-11-13")
    ('gpt_5_mini', 'gemini_3_pro', 'gpt_5_1')
    """
    plain = re.sub(r"[-. ]", "_", text.lower().replace("gp-5", "gpt-5"))
    return re.sub(r"(_preview|_\d{4}_\d\d_\d\d)$", "", plain)


def load_table(name, validate="one_to_one"):
    """Return a printed table with two columns more: provider, and model as Table 2 spells it without "Preview".

    Raises ValueError where it has a model that Table 2 has not, or (`validate`) one twice.
    """
    known = papers.load_published(KEY, "table2_models")
    known["key"] = known["model"].map(name_model)
    known["model"] = known["model"].str.removesuffix(" Preview")
    table = papers.load_published(KEY, name)
    printed = next(column for column in ("model", "model_as_printed") if column in table)
    merged = table.assign(key=table[printed].map(name_model)).drop(columns={"model", "provider"} & set(table))
    merged = known[["provider", "model", "key"]].merge(merged, on="key", validate=validate)
    if len(merged) != len(table):
        raise ValueError(f"{name} has models that Table 2 has not")
    return merged


def count_tasks(*, with_pre=False):
    """Return how many instances the tasks of Table 6 have in all, by default without the pre-cutoff awards.

    >>> count_tasks(), count_tasks(with_pre=True)
    (925, 1122)
    """
    tasks = papers.load_published(KEY, "table6_task_counts")
    return int(tasks.loc[with_pre | (tasks["temporal_status"] == "Post-cutoff"), "n_samples"].sum())


def guess_tasks():
    """Return Table 6 with the share a blind guess gets right; 0 for the two tasks whose options are not counted.

    >>> guess_tasks().set_index("task")["guess"].round(3)[["Citation Rank", "SOTA Bucket"]].tolist()
    [0.042, 0.2]
    """
    four = get_constant(KEY, "n_candidates")
    tiers = len(get_constant(KEY, "award_tiers"))
    chances = {
        "Citation MCQ": 1 / four,
        "Citation Rank": 1 / math.factorial(four),
        "Citation Bucket": 1 / len(get_constant(KEY, "citation_buckets")),
        "Award (Pre-cutoff)": 1 / tiers,
        "Award (Post-cutoff)": 1 / tiers,
        "Prof. Field": 0.0,
        "Prof. Article": 1 / (four + 1),
        "Field Focus": 0.0,
        "SOTA Bucket": 1 / (len(get_constant(KEY, "sota_buckets")) - 1),
    }
    tasks = papers.load_published(KEY, "table6_task_counts")
    return tasks.assign(guess=tasks["task"].map(chances))


def guess_all():
    """Return the least share a blind guess gets right over the headline's tasks, by sample.

    >>> round(guess_all(), 3)
    0.176
    """
    tasks = guess_tasks()
    tasks = tasks[tasks["temporal_status"] == "Post-cutoff"]
    return float((tasks["guess"] * tasks["n_samples"]).sum() / tasks["n_samples"].sum())


def list_limits():
    """Return Table 7 in rows: provider, model, limit, n, share, low, high (95% Wilson).

    Which questions Table 7 counts is not said; n is the fewer, 925, without the awards before the cutoff.
    """
    table, n = load_table("table7_test_time_scaling"), count_tasks()
    limits = {f"acc_at_{limit}_pct": limit for limit in get_constant(KEY, "message_limits")}
    long = table.melt(["provider", "model"], list(limits), "limit", "share")
    long["limit"], long["share"] = long["limit"].map(limits), long["share"] / 100
    low, high = proportion_confint(long["share"] * n, n, method="wilson")
    return long.assign(n=n, low=low, high=high)


def bound_change(before, after, n):
    """Return the standard error of a change between two shares of the same n questions, at its largest.

    >>> bound_change(pd.Series([0.4, 0.0]), pd.Series([0.4, 0.2]), 100).round(4).tolist()
    [0.0894, 0.04]
    """
    apart = np.minimum(before + after, 2 - before - after)  # at most so many answers differ
    return np.sqrt((apart - (after - before) ** 2) / n)


def measure_changes(rows, before, after, n):
    """Return rows with the change of one share to another: change, low, high, p, p by Holm over the rows, verdict."""
    change = rows[after] - rows[before]
    error = bound_change(rows[before], rows[after], n)
    ends = {"low": change - 1.96 * error, "high": change + 1.96 * error}
    return judge_family(rows.assign(change=change, **ends, p=2 * stats.norm.sf(change.abs() / error)), "change")


def measure_gains():
    """Return each model's change of accuracy between two limits (Table 7, Figure 3), a family of tests a pair."""
    wide = list_limits().pivot(index=["provider", "model"], columns="limit", values="share").reset_index()
    limits = get_constant(KEY, "message_limits")
    pairs = [limits[:2], limits[1:], limits[::2]]
    parts = [measure_changes(wide, *pair, count_tasks()).assign(step=f"{pair[0]} to {pair[1]}") for pair in pairs]
    return pd.concat([part.drop(columns=list(limits)) for part in parts], ignore_index=True)


def measure_prompts():
    """Return each model's change of accuracy by the structured prompt at the primary limit (Figure 2C, public code)."""
    table = load_table("code_prompt_effect")
    shares = table[["structured_at_50_pct", "plain_at_50_pct"]] / 100
    rows = table[["provider", "model"]].assign(structured=shares.iloc[:, 0], plain=shares.iloc[:, 1])
    return measure_changes(rows, "plain", "structured", count_tasks())


def measure_periods():
    """Return Table 3 with intervals: provider, model; by period n, hits, share, low, high; the change, its low and high
    (Newcombe), p (Fisher), p_holm over the models, and the verdict on a rise.

    n is Table 6's, after the cutoff fewer for the models that the authors' public report leaves fewer.
    """
    table = load_table("table3_awards_pre_post")
    rows = table[["provider", "model"]].copy()
    sizes = papers.load_published(KEY, "table6_task_counts").set_index("task")["n_samples"]
    after = table["key"].map(get_constant(KEY, "award_post_sizes")).fillna(sizes["Award (Post-cutoff)"]).astype(int)
    for period, n in (("pre", sizes["Award (Pre-cutoff)"]), ("post", after)):
        hits = (table[f"{period}_cutoff_acc_pct"] / 100 * n).round()
        low, high = proportion_confint(hits, n, method="wilson")
        rows = rows.assign(**{f"{period}_n": n, f"{period}_hits": hits.astype(int), f"{period}_share": hits / n})
        rows = rows.assign(**{f"{period}_low": low, f"{period}_high": high})
    cells = rows[["post_hits", "post_n", "pre_hits", "pre_n"]].to_numpy()
    ends = [confint_proportions_2indep(*row, method="newcomb") for row in cells]
    p = [stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue for a, n, b, m in cells]
    low, high = np.array(ends).T
    return judge_family(rows.assign(change=rows["post_share"] - rows["pre_share"], low=low, high=high, p=p), "change")


def compare_provider(rows, value, provider):
    """Return how a provider's models differ from the others in a value, with the exact p of all splits of the models.

    >>> rows = pd.DataFrame({"provider": ["a"] * 3 + ["b"] * 4, "gain": [9.0, 8.0, 7.0, 1.0, 2.0, 3.0, 0.0]})
    >>> difference, p = compare_provider(rows, "gain", "a")
    >>> difference, round(p, 3)  # the most extreme of 35 splits, and none as far the other way
    (6.5, 0.057)
    """
    own, others = (part[value].to_numpy() for _, part in rows.groupby(rows["provider"] != provider))
    test = stats.permutation_test(
        (own, others), lambda a, b, axis: a.mean(axis) - b.mean(axis), n_resamples=np.inf, vectorized=True
    )
    return float(test.statistic), float(test.pvalue)


def judge_statements(gains, prompts, periods):
    """Return what the paper says of models and providers, each with its test over models, Holm over all, a verdict.

    Columns section, statement, estimate (percentage points), p, p_holm, verdict. One set of models is tested by
    flipping signs, a provider against the others by all splits of the models.
    """
    step = {name: part.reset_index(drop=True) for name, part in gains.groupby("step")}
    first, last, whole = (step[name] for name in ("15 to 30", "30 to 50", "15 to 50"))
    start = list_limits().query("limit == limit.min()")
    flat = last.assign(change=-last["change"])
    lower = whole.assign(change=-whole["change"])
    tests = [
        ("5.1", "more messages help, 15 to 50", flip_models(whole)),
        ("5.1", "they help up to 30", flip_models(first)),
        ("5.1", "they still help from 30 to 50", flip_models(last)),
        ("5.1", "Claude models gain most, 15 to 50", compare_provider(whole, "change", "Anthropic")),
        ("5.1", "Gemini models start higher, at 15", compare_provider(start, "share", "Google")),
        ("5.1", "Gemini models gain less, 15 to 50", compare_provider(lower, "change", "Google")),
        ("5.1", "GPT models gain less from 30 to 50", compare_provider(flat, "change", "OpenAI")),
        ("5.3", "the prompt helps Claude models", flip_models(prompts[prompts["provider"] == "Anthropic"])),
        ("5.3", "the prompt helps, over all models", flip_models(prompts)),
        ("5.3", "the prompt helps Claude models more", compare_provider(prompts, "change", "Anthropic")),
        ("5.4", "awards are told better after the cutoff", flip_models(periods)),
    ]
    table = pd.DataFrame([(*about, 100 * estimate, p) for *about, (estimate, p) in tests])
    table.columns = ["section", "statement", "estimate", "p"]
    return judge_family(table, "estimate")


def flip_models(rows):
    """Return the models' mean change and the exact p of its sign being chance."""
    return float(rows["change"].mean()), sign_flip_test(rows["change"].reset_index(drop=True))


def measure_tasks():
    """Return accuracy by task, mean of 11 models at 50 messages, the hardest first: task, n, share, low, high, guess.

    The share is the report's, where it names one, else the mean of Figure 7's cells. The interval is Wilson's over a
    task's questions: too wide rather than too narrow for a mean over models. `guess` is blank where the options are not
    counted.
    """
    told = papers.load_published(KEY, "code_task_means").set_index("task")["mean_at_50_pct"] / 100
    cells = list_cells().groupby("task")["share"].mean()
    rows = guess_tasks().rename(columns={"n_samples": "n"})
    rows["share"] = rows["task"].map(told).fillna(rows["task"].map(cells))
    rows["low"], rows["high"] = proportion_confint(rows["share"] * rows["n"], rows["n"], method="wilson")
    rows["guess"] = rows["guess"].where(rows["guess"] > 0)
    return rows[["task", "n", "share", "low", "high", "guess"]].sort_values("share", ignore_index=True)


def list_cells():
    """Return Figure 7 as the authors published it (50 messages, structured prompt): provider, model, task, share, n.

    n is the task's questions, fewer for three models' awards after the cutoff.
    """
    table = load_table("code_task_cells", validate="one_to_many")
    sizes = papers.load_published(KEY, "table6_task_counts").set_index("task")["n_samples"]
    cells = table[["provider", "model", "task"]].assign(share=table["accuracy_at_50"], n=table["task"].map(sizes))
    fewer = table["key"].map(get_constant(KEY, "award_post_sizes"))
    return cells.assign(n=fewer.where(cells["task"] == "Award (Post-cutoff)").fillna(cells["n"]).astype(int))


TAXONOMIES = {
    "table4_complete_wrong_taxonomy": "complete-wrong",
    "table5_incomplete_categories": "incomplete",
    "table10_bottlenecks": None,
}
"""Printed tables of categories -> the stratum they part; bottlenecks part two."""


def list_categories():
    """Return sections 6 and E in rows: table, category, count, n (labelled runs), share, low, high (Wilson).

    Table 11's flags, of right runs, may hold together. Runs of a model and a task are alike, and counts by model are
    not printed: these intervals are too narrow.
    """
    strata = papers.load_published(KEY, "intext_trace_strata").query("stratum != 'total'")
    parts = [strata.rename(columns={"stratum": "category"}).assign(table="strata")]
    parts += [papers.load_published(KEY, name).assign(table=name.split("_")[0]) for name in TAXONOMIES]
    flags = papers.load_published(KEY, "table11_correct_run_flags").rename(columns={"judge_flag": "category"})
    n_right = int(strata.set_index("stratum")["count"]["complete-correct"])
    counts = (flags["fraction_pct"] / 100 * n_right).round().astype(int)
    rows = pd.concat(parts)[["table", "category", "count"]]
    rows["n"] = rows.groupby("table")["count"].transform("sum")
    rows = pd.concat([rows, flags[["category"]].assign(table="table11", count=counts, n=n_right)], ignore_index=True)
    low, high = proportion_confint(rows["count"], rows["n"], method="wilson")
    return rows.assign(share=rows["count"] / rows["n"], low=low, high=high)


# --- tokens (7, D) ---------------------------------------------------------------------------------------------------


def list_tokens():
    """Return Table 9 in rows: provider, model, limit, n_tokens (of a run: one log of a task), per_question.

    `per_question` divides by Table 6's mean questions a task, as the paper does not say which logs are averaged.
    """
    table = load_table("table9_tokens")
    limits = {f"tokens_at_{limit}": limit for limit in get_constant(KEY, "message_limits")}
    long = table.melt(["provider", "model"], list(limits), "limit", "n_tokens")
    n_tasks = len(papers.load_published(KEY, "table6_task_counts"))
    return long.assign(
        limit=long["limit"].map(limits), per_question=long["n_tokens"] * n_tasks / count_tasks(with_pre=True)
    )


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
    """Return which rows no other dominates: none costs as little with an interval wholly above theirs."""
    costs, lows, highs = (table[name].to_numpy()[:, None] for name in ("per_question", "low", "high"))
    return pd.Series(~((costs.T <= costs) & (lows.T > highs)).any(axis=1), table.index)


def list_configurations():
    """Return models by limit with accuracy (its interval), tokens a question, is_frontier, and may_be: no other
    configuration dominates them by its interval."""
    table = list_limits().merge(list_tokens(), on=["provider", "model", "limit"], validate="one_to_one")
    frontier = find_frontier(table["per_question"], table["share"])
    return table.assign(is_frontier=frontier, may_be=find_unbeaten(table))
