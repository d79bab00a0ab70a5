"""Agents against the experts' consensus: win rate and capped percentage error, item by item (FutureX 5.1, Figure 15).

A table of forecasts has a row an agent, item and metric, with the columns of `COLUMNS`. `load_forecasts` reads one from
a user's csv (analysts' estimates, say):

    item       what is forecast: a ticker, a state. Text, not blank.
    metric     which of its figures: eps, revenue. Text, not blank.
    consensus  the experts' figure, known before the outcome. A number, not 0 (ties are judged relative to it).
    actual     the outcome. A number; 0 is allowed (an error is then the cap, unless the forecast is exactly right).
    agent      who forecast. Text, not blank.
    forecast   the agent's figure. A number, or blank: missing, left out and counted in the coverage.

Numbers are plain: a point for decimals, no thousands separators, no % or currency signs. Consensus and actual are
repeated on each agent's row and must agree. Lines that start with # are comments.
"""

import math

import numpy as np
import pandas as pd
from scipy import stats

from helpers.faults import check_sheet, describe_problem, open_sheet, raise_all
from helpers.formats.folder import read_number
from helpers.stats.agreement import compare_scores
from helpers.stats.bootstrap import flatten_summary, summarize_means
from helpers.stats.paired import correct_holm, judge_interval

COLUMNS = ("item", "metric", "consensus", "actual", "agent", "forecast")
NUMBERS = ("consensus", "actual", "forecast")


def load_forecasts(path):
    """Return the forecasts of a csv (see the module's text for its columns), sorted by metric, item and agent.

    Raises Problems (a ValueError) with file, row, column and reason for up to ten problems.
    """
    table = open_sheet(path, COLUMNS, comments=True)
    problems = list(check_sheet(path.name, table, COLUMNS, filled=COLUMNS[:-1], key=["item", "metric", "agent"]))
    if set(COLUMNS) <= set(table):
        problems += read_numbers(path.name, table)
    raise_all(problems)
    raise_all(check_figures(path.name, table))
    return table[list(COLUMNS)].sort_values(["metric", "item", "agent"], ignore_index=True)


def read_numbers(file, table):
    """Turn the texts of a table's number columns into numbers, in place; return a sentence on each that is none."""
    problems = []
    for name in NUMBERS:
        numbers = dict.fromkeys(table.index, math.nan)
        for row, text in table[name].items():
            try:
                numbers[row] = read_number(text)
            except ValueError as error:
                problems.append(describe_problem(file, row, name, str(error)))
        table[name] = pd.Series(numbers, dtype=float)
    return problems


def check_figures(file, table):
    """Yield what is wrong between figures: a consensus of 0, a consensus or actual that differs within an item."""
    for row in table.index[table["consensus"] == 0]:
        yield describe_problem(file, row, "consensus", "0, and ties are judged relative to it")
    first = table.groupby(["item", "metric"]).transform("first")
    rows = table.index.to_series().groupby([table["item"], table["metric"]]).transform("first")
    for name in ("consensus", "actual"):
        for row in table.index[table[name] != first[name]]:
            known = f"{table[name][row]:g} here, {first[name][row]:g} in row {rows[row] + 2}"
            yield describe_problem(file, row, name, known)


def cap_errors(forecast, actual, cap):
    """Return absolute errors as shares of the actual, at most `cap`; for an actual of 0 the cap, unless exactly right.

    >>> cap_errors(np.array([11.0, 20.0, 0.0, 1.0]), np.array([10.0, 10.0, 0.0, 0.0]), 0.3).tolist()
    [0.1, 0.3, 0.0, 0.3]
    """
    return np.minimum(divide_errors(np.abs(forecast - actual), actual), cap)


def divide_errors(differences, base):
    """Return differences relative to the size of a base; relative to 0 they are infinite, a difference of 0 is 0."""
    shares = np.full(len(base), math.inf)
    np.divide(differences, np.abs(base), out=shares, where=np.asarray(base) != 0)
    return np.where(np.isnan(differences), math.nan, np.where(np.asarray(differences) == 0, 0.0, shares))


def judge_forecasts(table, ties, cap, by="consensus"):
    """Return the table with result (win, tie, loss, missing), share_error and share_error_consensus (capped).

    `ties` maps each metric to the relative difference up to which a forecast ties: of forecast and consensus, relative
    to the consensus (`by="consensus"`), or of their absolute errors, relative to the actual (`by="errors"`). A win is
    an error smaller than the consensus's, and no tie; equal errors are a loss. Raises ValueError for a metric without
    a tie rule, or another `by`.
    """
    if absent := sorted(set(table["metric"]) - set(ties)):
        raise ValueError(f"no tie rule for metric {absent[0]!r}; there are rules for {', '.join(sorted(ties))}")
    forecast, consensus, actual = (table[name].to_numpy(dtype=float) for name in ("forecast", "consensus", "actual"))
    error, error_consensus = np.abs(forecast - actual), np.abs(consensus - actual)
    if by == "consensus":
        difference = divide_errors(np.abs(forecast - consensus), consensus)
    elif by == "errors":
        difference = divide_errors(np.abs(error - error_consensus), actual)
    else:
        raise ValueError(f"ties by {by!r}: they are judged by 'consensus' or by 'errors'")
    is_tie = difference <= table["metric"].map(ties).to_numpy(dtype=float) * (1 + 1e-9)
    choices = ["missing", "tie", "win"]
    return table.assign(
        result=np.select([np.isnan(forecast), is_tie, error < error_consensus], choices, "loss"),
        share_error=np.where(np.isnan(forecast), math.nan, cap_errors(forecast, actual, cap)),
        share_error_consensus=cap_errors(consensus, actual, cap),
    )


def summarize_agents(judged, rng, n_boot=2000):
    """Return, by metric and agent, both win rates, MAPE beside the consensus's, and their difference, with intervals.

    Columns: metric, agent, n (forecasts), n_asked, coverage, n_ties, win_rate (ties count in the denominator),
    win_rate_untied (ties excluded; blank when all tie), mape, mape_consensus (of the same items), mape_gap (paired,
    agent minus consensus), with *_low and *_high from drawing items anew, and verdict ("holds" when the agent's MAPE
    lies below the consensus's). p is the exact binomial test of the win rate being one half, p_holm corrects it for all
    rows. Items count as independent of each other throughout: where one event moves them all (an election its states),
    all of it is about that event. An agent without any forecast on a metric raises ValueError.
    """
    rows = []
    for (metric, agent), part in judged.groupby(["metric", "agent"], sort=False):
        kept = part[part["result"] != "missing"]
        if kept.empty:
            raise ValueError(f"{agent} has no forecast of {metric}; leave it out")
        won = (kept["result"] == "win").astype(float)
        tied = kept["result"] == "tie"
        values = pd.DataFrame({"win_rate": won, "win_rate_untied": won.mask(tied), "mape": kept["share_error"]})
        values["mape_gap"] = kept["share_error"] - kept["share_error_consensus"]
        row = {"metric": metric, "agent": agent, "n": len(kept), "n_asked": len(part)}
        row |= {"coverage": len(kept) / len(part), "n_ties": int(tied.sum())}
        row["p"] = stats.binomtest(int(won.sum()), len(won)).pvalue
        summary = summarize_means(values, rng, n_boot)
        row |= flatten_summary(summary.assign(low=math.nan, high=math.nan) if len(kept) < 2 else summary)
        verdict = judge_interval(-row["mape_gap_high"], -row["mape_gap_low"])
        rows.append(row | {"mape_consensus": kept["share_error_consensus"].mean(), "verdict": verdict})
    table = pd.DataFrame(rows)
    return table.assign(p_holm=correct_holm(table["p"]))


def measure_recall(forecasts, rng, metric="lead", n_boot=2000):
    """Return, by agent, n, abs_error (mean, in the metric's unit), r_actual and r_miss with r_miss_low and r_miss_high.

    r_actual correlates forecasts with actuals; r_miss correlates what the agent adds to the consensus with what the
    consensus missed, which a model that remembers the outcome would get right. Intervals from drawing items anew.
    """
    rows = []
    for agent, part in forecasts[forecasts["metric"] == metric].dropna(subset="forecast").groupby("agent", sort=False):
        added, missed = part["forecast"] - part["consensus"], part["actual"] - part["consensus"]
        found = compare_scores(added.to_frame("r_miss"), missed, rng, ("correlation",), n_boot).iloc[0]
        row = {"agent": agent, "n": len(part), "abs_error": (part["forecast"] - part["actual"]).abs().mean()}
        row |= {"r_actual": part["forecast"].corr(part["actual"]), "r_miss": found["correlation"]}
        rows.append(row | {f"r_miss_{end}": found[f"correlation_{end}"] for end in ("low", "high")})
    return pd.DataFrame(rows)
