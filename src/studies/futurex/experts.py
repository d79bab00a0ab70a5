"""Agents against experts: forecasts of figures against a consensus, with pollsters for analysts
(FutureX 5.1).

A table of forecasts has a row an agent, item and metric (`COLUMNS`), from a user's csv or the
election of 2016: the consensus is the 14-day poll mean of the replay web, the metrics are both
candidates' shares and the lead. The results stand in data/experts, which the replay web does not
serve.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.web.render import format_period
from daybefore.web.sources import compute_published_at
from helpers.faults import describe_problem, raise_all, read_sheet
from helpers.files import parse_json
from helpers.means import summarize_clustered
from helpers.paired import correct_holm
from helpers.papers import get_constant

COLUMNS = ("item", "metric", "consensus", "actual", "agent", "forecast")
NUMBERS = ("consensus", "actual", "forecast")


def load_forecasts(path):
    """Return the forecasts of a csv, sorted by metric, item and agent.

    Columns: item, metric, agent (text), consensus (known before the outcome, not 0), actual (0
    allowed), forecast (blank: missing). Consensus and actual are repeated on each agent's row and
    must agree; lines that start with # are comments. Raises Problems with file, row, column and
    reason.
    """
    path = Path(path)
    items = ["item", "metric"]
    table = read_sheet(path, COLUMNS, comments=True, filled=COLUMNS[:-1], key=[*items, "agent"])
    numbers = table[list(NUMBERS)].apply(pd.to_numeric, errors="coerce")
    is_wrong = (~np.isfinite(numbers) & table[list(NUMBERS)].ne("")).stack()
    cells = [
        (row, name, f"{table[name][row]!r} is no number") for row, name in is_wrong.index[is_wrong]
    ]
    cells += [
        (row, "consensus", "0, and ties are judged relative to it")
        for row in table.index[numbers["consensus"] == 0]
    ]
    table = table.assign(**numbers)
    first = table.groupby(items).transform("first")
    for name in ("consensus", "actual"):
        differs = table.index[table[name].notna() & (table[name] != first[name])]
        cells += [
            (row, name, f"{table[name][row]:g} here, {first[name][row]:g} before")
            for row in differs
        ]
    raise_all(describe_problem(path.name, *cell) for cell in cells)
    return table[list(COLUMNS)].sort_values(["metric", "item", "agent"], ignore_index=True)


def cap_errors(forecast, actual, cap):
    """Return absolute errors as shares of the actual, at most `cap`, which an actual of 0 has
    unless exactly right."""
    errors = np.abs(forecast - actual)
    size = np.abs(actual)
    shares = np.divide(errors, size, out=np.where(errors > 0, cap, errors), where=size > 0)
    return np.minimum(shares, cap)


def judge_forecasts(table, ties, cap):
    """Return the table with result (win, tie, loss, missing), share_error and share_error_consensus
    (capped).

    `ties` maps each metric to the difference of forecast and consensus, relative to the consensus,
    up to which they tie. A win is an error smaller than the consensus's, and no tie. Raises
    ValueError for a metric without a tie rule.
    """
    if absent := sorted(set(table["metric"]) - set(ties)):
        raise ValueError(
            f"no tie rule for metric {absent[0]!r}; there are rules for {', '.join(sorted(ties))}"
        )
    forecast, consensus, actual = (
        table[name].to_numpy(dtype=float) for name in ("forecast", "consensus", "actual")
    )
    reach = table["metric"].map(ties).to_numpy(dtype=float) * np.abs(consensus)
    is_tie = np.abs(forecast - consensus) <= reach * (1 + 1e-9)
    is_win = np.abs(forecast - actual) < np.abs(consensus - actual)
    return table.assign(
        result=np.select([np.isnan(forecast), is_tie, is_win], ["missing", "tie", "win"], "loss"),
        share_error=cap_errors(forecast, actual, cap),
        share_error_consensus=cap_errors(consensus, actual, cap),
    )


def summarize_agents(judged):
    """Return, by metric and agent, both win rates, MAPE beside the consensus's, and their
    difference, with intervals.

    Columns: metric, agent, n, n_asked, n_ties, win_rate (ties in the denominator), win_rate_untied,
    mape, mape_consensus, mape_gap (paired), with *_low and *_high (95%, blank below ten items), p
    (exact binomial, win rate of one half), p_holm. Items count as independent: where one event
    moves them all, it is one case. An agent without any forecast on a metric raises ValueError.
    """
    rows = []
    for (metric, agent), part in judged.groupby(["metric", "agent"], sort=False):
        kept = part[part["result"] != "missing"]
        if kept.empty:
            raise ValueError(f"{agent} has no forecast of {metric}; leave it out")
        won = (kept["result"] == "win").astype(float)
        tied = kept["result"] == "tie"
        values = pd.DataFrame(
            {"win_rate": won, "win_rate_untied": won.mask(tied), "mape": kept["share_error"]}
        )
        gap = (kept["share_error"] - kept["share_error_consensus"]).rename("mape_gap")
        found = pd.concat([summarize_clustered(values, ends=(0, 1)), summarize_clustered(gap)])
        row = {
            "metric": metric,
            "agent": agent,
            "n": len(kept),
            "n_asked": len(part),
            "n_ties": int(tied.sum()),
        }
        row |= {"p": stats.binomtest(int(won.sum()), len(won)).pvalue}
        for name, measured in found.iterrows():
            row |= {
                name: measured["mean"],
                f"{name}_low": measured["low"],
                f"{name}_high": measured["high"],
            }
        rows.append(row | {"mape_consensus": kept["share_error_consensus"].mean()})
    table = pd.DataFrame(rows)
    return table.assign(p_holm=correct_holm(table["p"]))


TIES = {
    "eps": get_constant("futurex", "tie_eps_share"),
    "revenue": get_constant("futurex", "tie_revenue_share"),
}


def compare_consensus(consensus, predictions):
    """Return what agents' forecasts of companies' figures are beside the consensus
    (`summarize_agents`), by metric.

    `consensus` is of `formats.earnings.build_events`; questions without consensus or actual are
    left out, as are agents without any forecast of a metric. An empty table where nothing is left.
    """
    given = predictions[["agent_id", "event_id"]].rename(columns={"agent_id": "agent"})
    values = [parse_json(cell) if isinstance(cell, str) else None for cell in predictions["value"]]
    rows = consensus.dropna(subset=["consensus", "actual"]).merge(
        given.assign(forecast=values), on="event_id"
    )
    rows = rows[rows["consensus"] != 0].astype({"forecast": float})
    rows = rows[rows.groupby(["metric", "agent"])["forecast"].transform("count") > 0]
    if rows.empty:
        return pd.DataFrame()
    return summarize_agents(judge_forecasts(rows, TIES, get_constant("futurex", "mape_cap")))


METRICS = ["clinton", "trump", "lead"]
"""Both candidates' shares, and Clinton's lead."""
N_SHOWN = 6
"""Polls of a state that the model is shown, the newest."""
SHARES = make_schema(
    **dict.fromkeys(("clinton", "trump"), {"type": "number", "minimum": 0, "maximum": 100})
)
"""What the model replies with."""


def list_known(polls, publication, as_of):
    """Return the polls that were published before a moment by the page's rule
    (`Source.publication`), newest last."""
    published = compute_published_at(publication, polls["end_date"])
    return polls[published < pd.Timestamp(as_of)].sort_values(
        ["state", "end_date"], kind="stable", ignore_index=True
    )


def read_means(crawler, as_of):
    """Return the states' newest poll means on the replay web's page as of a moment: by state
    clinton, trump, lead."""
    observations, _ = crawler.observe("us_polls", as_of)
    table = observations.pivot(index=["occurred_at", "entity"], columns="variable", values="value")
    return table.loc[max(table.index)[0], METRICS]


def allocate_undecided(polls, consensus):
    """Return the consensus with the undecided shared out in proportion to it.

    Those for others are the mean of the state's last 7 polls that asked for them.
    """
    shares = consensus[["clinton", "trump"]]
    return shares * (100 - polls["others"].dropna().tail(7).mean()) / shares.sum()


def apply_rules(known, means):
    """Return the forecasts of three fixed rules by state: item, agent, clinton, trump (per cent of
    all votes).

    `known` are `list_known`'s polls, `means` is of `read_means`.
    """
    rows = []
    for state, polls in known.groupby("state"):
        both = polls[["clinton", "trump"]]
        replies = {
            "last poll": both[polls["end_date"] == polls["end_date"].iloc[-1]].mean(),
            "mean of 7 polls": both.tail(7).mean(),
            "undecided shared out": allocate_undecided(polls, means.loc[state]),
        }
        rows += [
            {"item": state, "agent": agent} | reply.to_dict() for agent, reply in replies.items()
        ]
    return pd.DataFrame(rows)


def ask_states(consult, states, agent, as_of, known):
    """Return a judge's forecasts for states: item, agent, clinton, trump (missing where it gave
    none), status.

    It is shown each state's newest polls of the `known` ones and the day of `as_of`.
    """
    day = pd.Timestamp(as_of).tz_convert("America/New_York").date()
    rows = []
    for state in states:
        newest = known[known["state"] == state].iloc[: -N_SHOWN - 1 : -1]
        lines = [
            f"{poll.end_date}, {poll.clinton:.1f}, {poll.trump:.1f}" for poll in newest.itertuples()
        ]
        blanks = {"today": format_period(str(day)), "state": state, "polls": "\n".join(lines)}
        verdict = consult(read_prompt("expert_polls").format(**blanks), SHARES)
        rows.append(
            {"item": state, "agent": agent, "status": verdict.status} | (verdict.value or {})
        )
    return pd.DataFrame(rows, columns=["item", "agent", "clinton", "trump", "status"])


def build_forecasts(consensus, results, shares):
    """Return the table of forecasts (`COLUMNS`): a row a state, metric and agent, leads made of the
    two shares.

    `consensus` has index state and the columns of `METRICS`; `shares` has item, agent, clinton,
    trump.
    """
    made = shares.assign(lead=shares["clinton"] - shares["trump"])
    ended = results.assign(lead=results["clinton"] - results["trump"]).rename(
        columns={"state": "item"}
    )
    rows = made.melt(["item", "agent"], METRICS, "metric", "forecast")
    rows = rows.merge(ended.melt("item", METRICS, "metric", "actual"), on=["item", "metric"])
    means = consensus.rename_axis("item").reset_index().melt("item", METRICS, "metric", "consensus")
    return rows.merge(means, on=["item", "metric"])[list(COLUMNS)]


def describe_questions(answers: pd.DataFrame, beside: pd.DataFrame) -> pd.DataFrame:
    """Return what the questions ask, and how near the consensus lies to the outcome.

    `score` is FutureX's for numbers, max(0, 1 - (error / Std) squared); `error` the share of the
    outcome, capped as in the paper's Figure 15.
    """
    table = beside.merge(answers[["event_id", "spread"]], on="event_id")
    error = (table["consensus"] - table["actual"]).abs()
    cap = get_constant("futurex", "mape_cap")
    measured = pd.DataFrame(
        {
            "score of the consensus": np.maximum(0, 1 - (error / table["spread"]) ** 2),
            "capped error of the consensus": cap_errors(table["consensus"], table["actual"], cap),
            "actual above the consensus": (table["actual"] > table["consensus"]).astype(float),
        }
    )
    means = summarize_clustered(measured, table["item"], ends=(0, 1)).rename(
        columns={"mean": "value"}
    )
    facts = means.rename_axis("fact").reset_index()[["fact", "value", "low", "high", "n"]]
    asked = pd.DataFrame(
        {"fact": ["asks for revenue"], "value": [(beside["metric"] == "revenue").mean()]}
    )
    return pd.concat([asked.assign(n=len(beside)), facts], ignore_index=True)
