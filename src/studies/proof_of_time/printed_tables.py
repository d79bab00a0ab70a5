"""The paper's printed tables with the counts behind them, intervals, and tests of what it
concludes.

It prints shares without intervals. Two limits, or two prompts, answer the same questions, and how
often both are right is not printed: intervals of their difference are the widest that the two
shares allow.
"""

import itertools
import math
import re

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from helpers import papers
from helpers.paired import judge_family, sign_flip_test
from helpers.papers import get_constant

KEY = "proof_of_time"


def name_model(text):
    """Return a model's name as its provider's list has it, from any table's spelling.

    >>> name_model("GP-5 mini"), name_model("Gemini 3 Pro Preview"), name_model("gpt-5.1-2025-11-13")
    ('gpt_5_mini', 'gemini_3_pro', 'gpt_5_1')
    """
    plain = re.sub(r"[-. ]", "_", text.lower().replace("gp-5", "gpt-5"))
    return re.sub(r"(_preview|_\d{4}_\d\d_\d\d)$", "", plain)


def load_table(name):
    """Return a printed table with provider, model as Table 2 spells it without "Preview", and key
    (`name_model`)."""
    known = papers.load_published(KEY, "table2_models")[["provider", "model"]]
    known = known.assign(
        key=known["model"].map(name_model), model=known["model"].str.removesuffix(" Preview")
    )
    table = papers.load_published(KEY, name)
    printed = next(column for column in ("model", "model_as_printed") if column in table)
    table = table.assign(key=table[printed].map(name_model)).drop(
        columns={"model", "provider"} & set(table)
    )
    return known.merge(table, on="key")


def load_tasks():
    """Return Table 6 with `guess`, the share a blind guess gets right: blank for two tasks whose
    options are not counted.

    >>> load_tasks().set_index("task")["guess"].round(3)[["Citation Rank", "SOTA Bucket"]].tolist()
    [0.042, 0.2]
    """
    n_candidates = get_constant(KEY, "n_candidates")
    n_tiers = len(get_constant(KEY, "award_tiers"))
    n_options = {
        "Citation MCQ": n_candidates,
        "Citation Rank": math.factorial(n_candidates),
        "Citation Bucket": len(get_constant(KEY, "citation_buckets")),
        "Award (Pre-cutoff)": n_tiers,
        "Award (Post-cutoff)": n_tiers,
        "Prof. Article": n_candidates + 1,
        "SOTA Bucket": len(get_constant(KEY, "sota_buckets")) - 1,
    }
    tasks = papers.load_published(KEY, "table6_task_counts")
    return tasks.assign(guess=1 / tasks["task"].map(n_options))


def count_tasks(*, with_pre=False):
    """Return how many instances the tasks of Table 6 have in all, by default without the pre-cutoff
    awards.

    >>> count_tasks(), count_tasks(with_pre=True)
    (925, 1122)
    """
    tasks = load_tasks()
    return int(tasks.loc[with_pre | (tasks["temporal_status"] == "Post-cutoff"), "n_samples"].sum())


def guess_all():
    """Return the least share a blind guess gets right over the headline's tasks, by sample.

    >>> round(guess_all(), 3)
    0.176
    """
    tasks = load_tasks().query("temporal_status == 'Post-cutoff'")
    return float((tasks["guess"] * tasks["n_samples"]).sum() / tasks["n_samples"].sum())


def cell_sample_sizes(table, tasks):
    """Return the instances that a model (`key`) was asked of a task: Table 6's, of the awards after
    the cutoff fewer for the models that the authors' public report leaves fewer."""
    fewer = table["key"].map(get_constant(KEY, "award_post_sizes"))
    sizes = load_tasks().set_index("task")["n_samples"]
    return fewer.where(tasks == "Award (Post-cutoff)").fillna(tasks.map(sizes)).astype(int)


def bound_shares(rows):
    """Return rows of share and n with the share's 95% interval (Wilson): low, high."""
    low, high = proportion_confint(rows["share"] * rows["n"], rows["n"], method="wilson")
    return rows.assign(low=low, high=high)


def melt_limits(name, prefix, value):
    """Return a printed table in rows: provider, model, limit (of messages), and what stands in its
    column of each."""
    limits = {prefix.format(limit): limit for limit in get_constant(KEY, "message_limits")}
    long = load_table(name).melt(["provider", "model"], list(limits), "limit", value)
    return long.assign(limit=long["limit"].map(limits))


def list_limits():
    """Return Table 7 in rows: provider, model, limit, n, share, low, high (95% Wilson).

    Which questions Table 7 counts is not said; n is the fewer, 925, without the awards before the
    cutoff.
    """
    table = melt_limits("table7_test_time_scaling", "acc_at_{}_pct", "share")
    return bound_shares(table.assign(share=table["share"] / 100, n=count_tasks()))


def bound_change(before, after, n):
    """Return the standard error of a change between two shares of the same n questions, at its
    largest.

    >>> bound_change(pd.Series([0.4, 0.0]), pd.Series([0.4, 0.2]), 100).round(4).tolist()
    [0.0894, 0.04]
    """
    apart = np.minimum(before + after, 2 - before - after)  # at most so many answers differ
    return np.sqrt((apart - (after - before) ** 2) / n)


def measure_changes(rows, before, after, n):
    """Return rows with the change of one share to another: change, low, high, p, p by Holm over the
    rows, verdict."""
    change = rows[after] - rows[before]
    error = bound_change(rows[before], rows[after], n)
    ends = {"low": change - 1.96 * error, "high": change + 1.96 * error}
    return judge_family(
        rows.assign(change=change, **ends, p=2 * stats.norm.sf(change.abs() / error)), "change"
    )


def measure_gains():
    """Return each model's change of accuracy between two limits (Table 7, Figure 3), a family of
    tests a pair."""
    wide = (
        list_limits()
        .pivot(index=["provider", "model"], columns="limit", values="share")
        .reset_index()
    )
    limits = get_constant(KEY, "message_limits")
    n = count_tasks()
    pairs = [limits[:2], limits[1:], limits[::2]]
    parts = [
        measure_changes(wide, a, b, n).assign(step=f"{a} to {b}").drop(columns=list(limits))
        for a, b in pairs
    ]
    return pd.concat(parts, ignore_index=True)


def measure_prompts():
    """Return each model's change of accuracy by the structured prompt at the primary limit (Figure
    2C, public code)."""
    table = load_table("code_prompt_effect")
    shares = {name: table[f"{name}_at_50_pct"] / 100 for name in ("structured", "plain")}
    return measure_changes(
        table[["provider", "model"]].assign(**shares), "plain", "structured", count_tasks()
    )


def measure_periods():
    """Return Table 3 with intervals: provider, model; by period n, hits, share, low, high; the
    change, its low and high (Newcombe), p (Fisher), p_holm over the models, and the verdict on a
    rise. n is of `cell_sample_sizes`."""
    table = load_table("table3_awards_pre_post")
    rows = table[["provider", "model"]].copy()
    for period in ("pre", "post"):
        n = cell_sample_sizes(
            table, pd.Series(f"Award ({period.capitalize()}-cutoff)", table.index)
        )
        hits = (table[f"{period}_cutoff_acc_pct"] / 100 * n).round().astype(int)
        cells = bound_shares(pd.DataFrame({"n": n, "hits": hits, "share": hits / n}))
        rows = rows.join(cells.add_prefix(f"{period}_"))
    cells = rows[["post_hits", "post_n", "pre_hits", "pre_n"]].to_numpy()
    low, high = np.transpose([confint_proportions_2indep(*row, method="newcomb") for row in cells])
    p = [stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue for a, n, b, m in cells]
    return judge_family(
        rows.assign(change=rows["post_share"] - rows["pre_share"], low=low, high=high, p=p),
        "change",
    )


def compare_provider(rows, value, provider):
    """Return how a provider's models differ from the others in a value, with the exact p of all
    splits of the models.

    >>> rows = pd.DataFrame({"provider": ["a"] * 3 + ["b"] * 4, "gain": [9.0, 8.0, 7.0, 1.0, 2.0, 3.0, 0.0]})
    >>> difference, p = compare_provider(rows, "gain", "a")
    >>> difference, round(p, 3)  # the most extreme of 35 splits, and none as far the other way
    (6.5, 0.057)
    """
    own, others = (part[value].to_numpy() for _, part in rows.groupby(rows["provider"] != provider))
    test = stats.permutation_test(
        (own, others),
        lambda a, b, axis: a.mean(axis) - b.mean(axis),
        n_resamples=np.inf,
        vectorized=True,
    )
    return float(test.statistic), float(test.pvalue)


def judge_statements(gains, prompts, periods):
    """Return what the paper says of models and providers, each with its test over models, Holm over
    all, a verdict.

    Columns section, statement, estimate (percentage points), p, p_holm, verdict. One set of models
    is tested by flipping signs, a provider against the others by all splits of the models.
    """
    first, last, whole = (
        gains[gains["step"] == name] for name in ("15 to 30", "30 to 50", "15 to 50")
    )
    start = list_limits().query("limit == limit.min()")
    falls = [part.assign(change=-part["change"]) for part in (whole, last)]

    def flip(rows):
        return float(rows["change"].mean()), sign_flip_test(rows["change"].reset_index(drop=True))

    tests = [
        ("5.1", "more messages help, 15 to 50", flip(whole)),
        ("5.1", "they help up to 30", flip(first)),
        ("5.1", "they still help from 30 to 50", flip(last)),
        (
            "5.1",
            "Claude models gain most, 15 to 50",
            compare_provider(whole, "change", "Anthropic"),
        ),
        ("5.1", "Gemini models start higher, at 15", compare_provider(start, "share", "Google")),
        (
            "5.1",
            "Gemini models gain less, 15 to 50",
            compare_provider(falls[0], "change", "Google"),
        ),
        (
            "5.1",
            "GPT models gain less from 30 to 50",
            compare_provider(falls[1], "change", "OpenAI"),
        ),
        (
            "5.3",
            "the prompt helps Claude models",
            flip(prompts[prompts["provider"] == "Anthropic"]),
        ),
        ("5.3", "the prompt helps, over all models", flip(prompts)),
        (
            "5.3",
            "the prompt helps Claude models more",
            compare_provider(prompts, "change", "Anthropic"),
        ),
        ("5.4", "awards are told better after the cutoff", flip(periods)),
    ]
    rows = [(*about, 100 * estimate, p) for *about, (estimate, p) in tests]
    return judge_family(
        pd.DataFrame(rows, columns=["section", "statement", "estimate", "p"]), "estimate"
    )


def measure_tasks():
    """Return accuracy by task, mean of 11 models at 50 messages, the hardest first: task, n, share,
    low, high, guess.

    The share is the report's, where it names one, else the mean of Figure 7's cells. The interval
    is Wilson's over a task's questions: too wide rather than too narrow for a mean over models.
    `guess` is blank where the options are not counted.
    """
    told = papers.load_published(KEY, "code_task_means").set_index("task")["mean_at_50_pct"] / 100
    cells = list_cells().groupby("task")["share"].mean()
    rows = load_tasks().rename(columns={"n_samples": "n"})
    rows = bound_shares(rows.assign(share=rows["task"].map(told).fillna(rows["task"].map(cells))))
    return rows[["task", "n", "share", "low", "high", "guess"]].sort_values(
        "share", ignore_index=True
    )


def list_cells():
    """Return Figure 7 as the authors published it (50 messages, structured prompt): provider,
    model, task, share, n (of `cell_sample_sizes`)."""
    table = load_table("code_task_cells")
    cells = table[["provider", "model", "task"]].assign(share=table["accuracy_at_50"])
    return cells.assign(n=cell_sample_sizes(table, table["task"]))


TAXONOMIES = (
    "table4_complete_wrong_taxonomy",
    "table5_incomplete_categories",
    "table10_bottlenecks",
)
"""Printed tables of categories, of wrong runs, of incomplete ones, and of both."""


def list_categories():
    """Return sections 6 and E in rows: table, category, count, n (labelled runs), share, low, high
    (Wilson).

    Table 11's flags, of right runs, may hold together. Runs of a model and a task are alike, and
    counts by model are not printed: these intervals are too narrow.
    """
    strata = papers.load_published(KEY, "intext_trace_strata").query("stratum != 'total'")
    parts = [strata.rename(columns={"stratum": "category"}).assign(table="strata")]
    parts += [
        papers.load_published(KEY, name).assign(table=name.split("_")[0]) for name in TAXONOMIES
    ]
    flags = papers.load_published(KEY, "table11_correct_run_flags").rename(
        columns={"judge_flag": "category"}
    )
    n_right = int(strata.set_index("stratum")["count"]["complete-correct"])
    counts = (flags["fraction_pct"] / 100 * n_right).round().astype(int)
    rows = pd.concat(parts)[["table", "category", "count"]]
    rows["n"] = rows.groupby("table")["count"].transform("sum")
    rows = pd.concat(
        [rows, flags[["category"]].assign(table="table11", count=counts, n=n_right)],
        ignore_index=True,
    )
    return bound_shares(rows.assign(share=rows["count"] / rows["n"]))


# --- tokens (7, D) ----------------------------------------------------------------------------------


def list_tokens():
    """Return Table 9 in rows: provider, model, limit, n_tokens (of a run: one log of a task),
    per_question.

    `per_question` divides by Table 6's mean questions a task, as the paper does not say which logs
    are averaged.
    """
    table = melt_limits("table9_tokens", "tokens_at_{}", "n_tokens")
    return table.assign(
        per_question=table["n_tokens"] * len(load_tasks()) / count_tasks(with_pre=True)
    )


def measure_growth(tokens):
    """Return how each model's tokens grow between neighbouring limits: step, growth, is_faster
    (than the limit)."""
    wide = tokens.pivot(index=["provider", "model"], columns="limit", values="n_tokens")
    parts = []
    for first, last in itertools.pairwise(wide.columns):
        growth = wide[last] / wide[first]
        about = {"step": f"{first} to {last}", "growth": growth, "is_faster": growth > last / first}
        parts.append(pd.DataFrame(about).reset_index())
    return pd.concat(parts, ignore_index=True)


def list_configurations():
    """Return models by limit with accuracy (its interval), tokens a question, is_frontier (none
    that costs as little is better in one of the two) and may_be: none that costs as little has an
    interval wholly above theirs."""
    table = list_limits().merge(
        list_tokens(), on=["provider", "model", "limit"], validate="one_to_one"
    )
    names = ("per_question", "share", "low", "high")
    costs, shares, lows, highs = (table[name].to_numpy()[:, None] for name in names)
    is_as_cheap = costs.T <= costs
    is_cheaper = costs.T < costs
    is_better = (shares.T > shares) | (shares.T >= shares) & is_cheaper
    beaten, surely = ((is_as_cheap & than).any(axis=1) for than in (is_better, lows.T > highs))
    return table.assign(is_frontier=~beaten, may_be=~surely)
