"""The embedded case of experts: pollsters for analysts, states for companies (FutureX 5.1, on the election of 2016).

The consensus is the 14-day poll mean that the replay web's page of polls shows, the metrics are Clinton's and Trump's
share and her lead. The results stand in data/experts, which the replay web does not serve. Agents are fixed rules and
a language model that is shown polls, or none.
"""

import numpy as np
import pandas as pd

from helpers.futurex.experts.consensus import COLUMNS
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import ROOT
from helpers.web.render import format_period
from helpers.web.sources import compute_published_at

ELECTION_DATE = "2016-11-08"
METRICS = {"clinton": "Clinton's share", "trump": "Trump's share", "lead": "Clinton's lead"}
N_SHOWN = 6
"""Polls of a state that the model is shown, the newest."""
SHARES = make_schema(**dict.fromkeys(("clinton", "trump"), {"type": "number", "minimum": 0, "maximum": 100}))
"""What the model replies with."""


def load_election(folder=ROOT / "data/experts"):
    """Return (polls, results) of 2016 by state; the files' first lines say where they come from.

    Polls: state, end_date, pollster, clinton, trump, others (per cent; others blank where not asked). Results: state,
    electoral_votes, clinton, trump, others (per cent of all votes).
    """
    files = ("us_state_polls_2016", "us_election_2016")
    return tuple(pd.read_csv(folder / f"{name}.csv", comment="#") for name in files)


def list_known(polls, publication, as_of):
    """Return the polls that were published before a moment by the page's rule (`Source.publication`), newest last."""
    published = compute_published_at(publication, polls["end_date"])
    return polls[published < pd.Timestamp(as_of)].sort_values(["state", "end_date"], kind="stable", ignore_index=True)


def read_means(crawler, source_id, as_of):
    """Return (newest, oldest) poll means on a page of the replay web as of a moment.

    Each is a frame: index entity, columns clinton, trump, lead; attrs["date"] is the day they are for.
    """
    observations, _ = crawler.observe(source_id, as_of)
    table = observations.pivot(index=["occurred_at", "entity"], columns="variable", values="value")
    ends = [table.loc[date, list(METRICS)] for date in (max(table.index)[0], min(table.index)[0])]
    for frame, date in zip(ends, (max(table.index)[0], min(table.index)[0]), strict=True):
        frame.attrs["date"] = date
    return tuple(ends)


def take_last(polls):
    """Return the mean of the polls of the last day of polling."""
    return polls.loc[polls["end_date"] == polls["end_date"].iloc[-1], ["clinton", "trump"]].mean()


def average_last(polls, n=7):
    """Return the mean of the last `n` polls."""
    return polls[["clinton", "trump"]].tail(n).mean()


def extend_trend(polls, days=28):
    """Return the straight line through the polls of the last `days`, at the day of the election.

    >>> line = pd.DataFrame({"end_date": ["2016-10-19", "2016-10-29"], "clinton": [40.0, 41.0], "trump": [45.0, 45.0]})
    >>> extend_trend(line).round(6).tolist()
    [42.0, 45.0]
    """
    ages = (pd.to_datetime(polls["end_date"]) - pd.Timestamp(ELECTION_DATE)).dt.days
    recent = polls[ages >= ages.iloc[-1] - days + 1]
    lines = np.polyfit(ages[recent.index], recent[["clinton", "trump"]], deg=min(1, ages[recent.index].nunique() - 1))
    return pd.Series(lines[-1], ["clinton", "trump"])


def share_undecided(polls, consensus):
    """Return the consensus with the undecided shared out in proportion to it.

    Those for others are the mean of the state's last 7 polls that asked for them.

    >>> polls = pd.DataFrame({"others": [10.0, None]})
    >>> share_undecided(polls, pd.Series({"clinton": 40.0, "trump": 20.0, "lead": 20.0})).tolist()
    [60.0, 30.0]
    """
    shares = consensus[["clinton", "trump"]]
    return shares * (100 - polls["others"].dropna().tail(7).mean()) / shares.sum()


def apply_rules(known, state_means, national_means):
    """Return the forecasts of five fixed rules: item, agent, clinton, trump (per cent of all votes).

    `state_means` and `national_means` are (newest, oldest) as `read_means` gives them, `known` what `list_known` does.
    """
    newest, oldest = state_means
    swing = national_means[0].loc["All pollsters"] - national_means[1].loc["All pollsters"]
    rows = []
    for state, polls in known.groupby("state"):
        replies = {
            "last poll": take_last(polls),
            "mean of 7 polls": average_last(polls),
            "trend of 28 days": extend_trend(polls),
            "national swing": oldest.loc[state] + swing,
            "undecided shared out": share_undecided(polls, newest.loc[state]),
        }
        rows += [
            {"item": state, "agent": agent} | reply[["clinton", "trump"]].to_dict() for agent, reply in replies.items()
        ]
    return pd.DataFrame(rows)


def ask_states(consult, states, agent, as_of=None, known=None):
    """Return a judge's forecasts for states: item, agent, clinton, trump (missing where it gave none), status.

    With `known` polls it is shown each state's newest ones and the day of `as_of` in New York; without, it says from
    memory what the result was (closed book).
    """
    rows = []
    for state in states:
        prompt = (
            write_prompt(state, as_of, known) if known is not None else read_prompt("expert_memory").format(state=state)
        )
        verdict = consult(prompt, SHARES)
        rows.append({"item": state, "agent": agent, "status": verdict.status} | (verdict.value or {}))
    return pd.DataFrame(rows, columns=["item", "agent", "clinton", "trump", "status"])


def write_prompt(state, as_of, known):
    """Return the prompt with a state's newest polls, a line each."""
    day = pd.Timestamp(as_of).tz_convert("America/New_York")
    newest = known[known["state"] == state].iloc[: -N_SHOWN - 1 : -1]
    lines = [f"{poll.end_date}, {poll.clinton:.1f}, {poll.trump:.1f}" for poll in newest.itertuples()]
    today = format_period(str(day.date()))
    return read_prompt("expert_polls").format(today=today, state=state, polls="\n".join(lines))


def build_forecasts(consensus, results, shares):
    """Return the table of forecasts (`COLUMNS`): a row a state, metric and agent, leads made of the two shares.

    `consensus` has index state and the columns of `METRICS`; `shares` has item, agent, clinton, trump.
    """
    tables = {"forecast": shares, "actual": results.rename(columns={"state": "item"})}
    for name, table in tables.items():
        keys = [key for key in ("item", "agent") if key in table]
        tables[name] = table.assign(lead=table["clinton"] - table["trump"]).melt(keys, list(METRICS), "metric", name)
    means = consensus.rename_axis("item").reset_index().melt("item", list(METRICS), "metric", "consensus")
    return (
        tables["forecast"]
        .merge(tables["actual"], on=["item", "metric"])
        .merge(means, on=["item", "metric"])[list(COLUMNS)]
    )
