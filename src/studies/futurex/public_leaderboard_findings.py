"""Findings 1 to 5 of FutureX (4.2) put to the public leaderboards, as statements with interval and
verdict.

Findings 1 and 3 take weeks as the unit (t interval; below ten weeks the exact sign-flip test
decides). Findings 2 and 4 take the pooled board and the binomial bound. Finding 5 needs people,
whom ForecastBench's boards list, in its Brier index: 100 (1 - sqrt(Brier)), where 100 is perfect
and 50 is what always answering 0.5 gets. Values are in points.
"""

import math

import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers import papers
from helpers.means import MIN_CLUSTERS, summarize_clustered
from helpers.paired import judge_family, sign_flip_test
from helpers.tables import SEARCH_CATEGORIES
from studies.futurex.public_leaderboard import COUNTS, LEVELS, SCORES, average_levels, name_agent

DOUBAO, GROK = name_agent("Doubao-Seed1.6-Thinking", "LLM"), name_agent("Grok-4", "Search")
"""The two agents that Finding 4 names."""
EASY, HARD = (1, 2), (3, 4)
"""The levels that the paper speaks of together."""


PEOPLE = {"superforecasters": "Superforecaster median forecast", "public": "Public median forecast"}
HOUSE = "ForecastBench"
"""As a model's organization: people, crowds and fixed rules, no single model."""


def state_finding(name, finding, statement, value, low, high, n, p=None):
    """Return a row of findings: that a value is above 0. Without `p`, it is the one that the
    interval implies."""
    if p is None:
        p = 2 * norm.sf(abs(value) / ((high - low) / 2 / 1.96))
    row = {"id": f"fx_public_{name}", "finding": finding, "statement": statement}
    return row | {"value": value, "low": low, "high": high, "n": n, "p": p}


def state_weekly(name, finding, statement, weekly):
    """Return a row of findings on the mean of one value a week: t interval, with few weeks the
    exact sign-flip test."""
    found = summarize_clustered(weekly.to_frame()).iloc[0]
    p = sign_flip_test(weekly) if len(weekly) < MIN_CLUSTERS else None
    return state_finding(
        name, finding, statement, found["mean"], found["low"], found["high"], len(weekly), p
    )


def judge_decline(table):
    """Return Finding 1's rows: the score falls from each level to the next, on average over agents
    with all levels."""
    rows = table[table["week"] != "overall"].dropna(subset=SCORES)
    weekly = rows.groupby("week")[SCORES].mean()
    for level in LEVELS[:-1]:
        statement = f"level {level} minus level {level + 1}, mean over agents"
        fall = weekly[f"level{level}"] - weekly[f"level{level + 1}"]
        yield state_weekly(f"fall_{level}_{level + 1}", 1, statement, fall)


def judge_base(table):
    """Return Finding 2's rows: base models' mean on levels 1-2 beside 60; the one named beats both
    deep researchers.

    The paper prints no mean and the board may count missing predictions as zero: the first has no
    p. Base models answer the same events, so its interval takes the mean of their deviations.
    """
    bar = 100 * papers.get_constant("futurex", "levels12_base_score")
    board = table[(table["week"] == "overall") & (table["category"] == "base_model")]
    means, deviations = average_levels(board, weigh(EASY))
    half = 1.96 * deviations.mean()
    n = count_events(board, EASY).max()
    statement = f"base models score about {bar:g} or more on levels 1-2"
    yield state_finding(
        "base_easy",
        2,
        statement,
        means.mean(),
        means.mean() - half,
        means.mean() + half,
        n,
        math.nan,
    )
    statement = "Doubao-Seed1.6-Thinking minus the better deep research agent, levels 1-2"
    yield state_lead("doubao_deep", 2, statement, table, DOUBAO, ["closed_deep_research"], EASY)


def judge_search(table):
    """Return Finding 3's rows: tools help on levels 3-4, and more so than on levels 1-2 (in points,
    as a ratio)."""
    weekly = table[table["week"] != "overall"]
    scores = {}
    for levels in (EASY, HARD):
        scores[levels] = weekly[[SCORES[level - 1] for level in levels]].mean(axis=1, skipna=False)
    kind = weekly["category"].where(~weekly["category"].isin(SEARCH_CATEGORIES), "tools")
    means = {
        levels: score.groupby([weekly["week"], kind]).mean().unstack()
        for levels, score in scores.items()
    }
    gaps = {levels: (mean["tools"] - mean["base_model"]).dropna() for levels, mean in means.items()}
    ratios = {
        levels: np.log(mean["tools"] / mean["base_model"]).dropna()
        for levels, mean in means.items()
    }
    yield state_weekly(
        "tools_hard", 3, "agents with tools minus base models, levels 3-4", gaps[HARD]
    )
    model = weekly["agent_id"].str.split(" | ", regex=False).str[0]
    pairs = scores[HARD].groupby([weekly["week"], model, weekly["category"]]).mean().unstack()
    same = (pairs["think_search"] - pairs["base_model"]).dropna().groupby("week").mean()
    yield state_weekly(
        "search_same", 3, "the same model with search minus without, levels 3-4", same
    )
    statement = "the gap in points is larger on levels 3-4 than on levels 1-2"
    yield state_weekly("tools_growth_points", 3, statement, (gaps[HARD] - gaps[EASY]).dropna())
    statement = "the ratio is larger on levels 3-4 than on levels 1-2 (difference of logarithms)"
    yield state_weekly("tools_growth_ratio", 3, statement, (ratios[HARD] - ratios[EASY]).dropna())


def judge_best(table):
    """Return Finding 4's rows: the base model named leads base models on levels 1-2, Grok-4 leads
    everyone on 3-4."""
    statement = "Doubao-Seed1.6-Thinking minus the next base model, levels 1-2"
    yield state_lead("doubao_base", 4, statement, table, DOUBAO, ["base_model"], EASY)
    statement = "Grok-4 minus the next agent, levels 3-4"
    yield state_lead(
        "grok_all", 4, statement, table, GROK, ["base_model", *SEARCH_CATEGORIES], HARD
    )


def weigh(levels):
    """Return the weight of each level in the mean of some."""
    return np.isin(LEVELS, levels) / len(levels)


def count_events(board, levels):
    """Return each row's number of events of some levels."""
    return board[[COUNTS[level - 1] for level in levels]].sum(axis=1).astype(int)


def state_lead(name, finding, statement, table, agent, categories, levels):
    """Return a row of findings on an agent's lead over the best other of some categories on the
    pooled board.

    The binomial bound is each score's deviation, the two agents count as independent: wider than
    the truth. Raises LookupError when the agent is not on the board.
    """
    board = table[table["week"] == "overall"].set_index("agent_id")
    if agent not in board.index:
        raise LookupError(f"{agent} is not on the pooled leaderboard")
    mean, deviation = average_levels(board, weigh(levels))
    other = mean[board["category"].isin(categories) & (board.index != agent)].idxmax()
    lead = mean[agent] - mean[other]
    half = 1.96 * math.hypot(deviation[agent], deviation[other])
    n = count_events(board, levels)[agent]
    return state_finding(name, finding, statement, lead, lead - half, lead + half, n)


def tidy_board(board):
    """Return a leaderboard file as model, organization, overall (index), n, low, high (the printed
    95% interval).

    Raises KeyError when a column is absent: it is another version then.
    """
    names = {"Model": "model", "Model Organization": "organization", "Overall": "overall", "N": "n"}
    ends = board["Overall 95% CI"].str.strip("[]").str.split(",", expand=True).astype(float)
    return board[list(names)].rename(columns=names).assign(low=ends[0], high=ends[1])


def convert_history(history):
    """Return the board's snapshots with `overall` as Brier indices throughout: the first ones hold
    Brier scores."""
    history = history.sort_values(["snapshot_date", "rank"], kind="stable", ignore_index=True)
    is_brier = history.groupby("snapshot_date")["overall"].transform("max") <= 1
    overall = history["overall"].astype(float)
    return history.assign(overall=overall.where(~is_brier, 100 * (1 - np.sqrt(overall))))


def find_people(board, people):
    """Return a board's row of the superforecasters or the public. Raises LookupError unless there
    is one."""
    found = board[board["model"] == PEOPLE[people]]
    if len(found) != 1:
        raise LookupError(f"the board has {len(found)} rows for {people}; one is wanted")
    return found.iloc[0]


def trace_people(history):
    """Return a row a snapshot: the people's lines beside the best model's (crowds and fixed rules
    left out).

    Columns: snapshot_date, superforecasters, public (overall indices), model, best_model (its
    overall index), gap (superforecasters minus best model).
    """
    rows = []
    for date, board in history.groupby("snapshot_date"):
        row = {"snapshot_date": date} | {
            name: find_people(board, name)["overall"] for name in PEOPLE
        }
        models = board[board["model_organization"] != HOUSE]
        best = models.loc[models["overall"].idxmax()]
        row |= {"model": best["model"], "best_model": best["overall"]}
        rows.append(row | {"gap": row["superforecasters"] - row["best_model"]})
    return pd.DataFrame(rows)


def compare_people(board, people="superforecasters"):
    """Return how far the best model is behind the people on one board: gap, low, high in index
    points, and its names.

    The interval takes the two printed 95% intervals as independent: each end's distance from its
    estimate, squared and added. The questions are not the same (the people answered fewer), so it
    is a rough one.
    """
    models = board[board["organization"] != HOUSE]
    best = models.loc[models["overall"].idxmax()]
    line = find_people(board, people)
    gap = line["overall"] - best["overall"]
    low = gap - math.hypot(line["overall"] - line["low"], best["high"] - best["overall"])
    high = gap + math.hypot(line["high"] - line["overall"], best["overall"] - best["low"])
    row = {
        "people": people,
        "people_index": line["overall"],
        "n_people": line["n"],
        "best_model": best["model"],
    }
    return row | {
        "best_index": best["overall"],
        "n_best": best["n"],
        "gap": gap,
        "low": low,
        "high": high,
    }


def judge_people(boards):
    """Return Finding 5's rows from ForecastBench's boards (name -> table): superforecasters minus
    the best model."""
    statement = "people minus the best agent on FutureX's board"
    yield state_finding("people", 5, statement, math.nan, math.nan, math.nan, 0)
    for name, board in boards.items():
        found = compare_people(board)
        statement = (
            f"superforecasters minus the best model, ForecastBench {name} board (Brier index)"
        )
        ends = [found[column] for column in ("gap", "low", "high", "n_people")]
        yield state_finding(f"people_{name}", 5, statement, *ends)


def judge_boards(table, boards):
    """Return the five findings on the public boards, one family: p_holm and the verdict by it."""
    rows = [
        *judge_decline(table),
        *judge_base(table),
        *judge_search(table),
        *judge_best(table),
        *judge_people(boards),
    ]
    judged = judge_family(pd.DataFrame(rows), "value", "agrees", "disagrees")
    return judged.assign(
        verdict=judged["verdict"].mask(judged["id"] == "fx_public_base_easy", "not comparable")
    )
