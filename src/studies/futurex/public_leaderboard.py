"""FutureX's public leaderboard as tables: what its numbers are made of, how sure they are, what
moves them (4.1-4.4).

Scores are in points, 0 to 100, as the site prints them. The unit of analysis is a row: an agent
(model and framework under one name) in one week, or pooled over weeks ("overall").
"""

import re
import tomllib

import numpy as np
import pandas as pd

from helpers import papers
from helpers.public_files import REGISTRY
from helpers.tables import LEVELS

SCORES = [f"level{level}" for level in LEVELS]
COUNTS = [f"n_level{level}" for level in LEVELS]
WEIGHTS = np.array(papers.get_constant("futurex", "level_weights"))
FIELDS = {
    "modelName": "model",
    "agentFramework": "framework",
    "organization": "organization",
    "overallScore": "overall",
    "numberOfEvents": "n_events",
    "testType": "test_type",
    **{f"level{level}Score": f"level{level}" for level in LEVELS},
    **{f"level_{level}_num_events": f"n_level{level}" for level in LEVELS},
}
TOLERANCE, POOL_TOLERANCE = 0.02, 0.01
"""Points by which a rebuilt overall score, a pooled level score, may differ from the printed
one."""
POOLED_WEEKS = ["2025-07-W4", "2025-08-W1", "2025-08-W2"]
RENAMED = {"Seed-DouBao DR": "Seed-DouBao", "DouBao-Seed1.6-thinking": "Doubao-Seed1.6-Thinking"}
"""How the weeks name two models of the pooled board."""


def flatten_board(board, frameworks):
    """Return the site's leaderboard (its JSON) as a table, a row an agent in a week; pooled rows
    have the week "overall".

    `frameworks`: the category of a framework's name; others are "unclassified". Columns: week,
    agent_id, model, framework, category, organization, overall, level1-4, n_events, n_level1-4 and
    test_type (blank where the site gives none).
    """
    weeks = {"overall": board["overall"], **dict(sorted(board["weekly"].items()))}
    rows = [{"week": week, **row} for week, part in weeks.items() for row in part]
    table = pd.DataFrame(rows).rename(columns=FIELDS).reindex(columns=["week", *FIELDS.values()])
    numbers = ["overall", *SCORES, "n_events", *COUNTS, "test_type"]
    table = table.astype(dict.fromkeys(numbers, float)).astype({"n_events": int})
    table["category"] = table["framework"].map(frameworks).fillna("unclassified")
    table["agent_id"] = list(map(name_agent, table["model"], table["framework"]))
    return table[["week", "agent_id", "model", "framework", "category", "organization", *numbers]]


def load_frameworks():
    """Return the FutureX board's names of frameworks as a dictionary: name -> kind of agent
    (FutureX 4)."""
    table = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["futurex_frameworks"]
    return {name: kind for kind, names in table.items() if kind != "section" for name in names}


def name_agent(model, framework):
    """Return one name for the spellings of a model and framework: lower case, without spaces,
    hyphens, underscores."""
    return re.sub("[ _-]", "", f"{model}|{framework}".casefold()).replace("|", " | ")


def rebuild_overall(table):
    """Return each row's mean of the levels, weighted 0.1, 0.2, 0.3, 0.4 (FutureX 4.1).

    A level without a score gives its weight to the others.
    """
    scores = table[SCORES]
    return scores.fillna(0) @ WEIGHTS / (scores.notna() @ WEIGHTS)


def select_weeks(board, pooled, weeks):
    """Return the rows, by week, of a pooled row's names; what they hide of a level is what the
    pooled row implies.

    Where several weeks hide a level, all get one value.
    """
    same = (board["model"] == pooled["model"]) & (board["framework"] == pooled["framework"])
    parts = board[same & board["week"].isin(weeks)].set_index("week")
    for score, count in zip(SCORES, COUNTS, strict=True):
        rest = pooled[score] * pooled[count] - (parts[score] * parts[count]).sum()
        n_hidden = parts.loc[parts[score].isna(), count].sum()
        parts[score] = parts[score].fillna(rest / max(n_hidden, 1))
    return parts


def is_pooled(board, pooled, weeks):
    """Say whether a pooled row is the weekly rows of its names, pooled by their numbers of events.

    All weeks are there, the counts add up, the scores are within POOL_TOLERANCE points, and those
    that a week hides must have been between 0 and 100.
    """
    parts = select_weeks(board, pooled, weeks)
    counts = parts[COUNTS].to_numpy()
    scores = parts[SCORES].to_numpy()
    whole = pooled[COUNTS].to_numpy(float)
    if len(parts) < len(weeks) or not np.array_equal(counts.sum(axis=0), whole):
        return False
    off = (scores * counts).sum(axis=0) / whole - pooled[SCORES].to_numpy(float)
    outside = max(-scores.min(), scores.max() - 100)
    return max(np.abs(off).max(), outside) <= POOL_TOLERANCE


def bound_deviation(score, n):
    """Return the largest standard deviation, in points, that a mean of n scores in [0, 100] can
    have: sqrt(s(1-s)/n).

    >>> round(float(bound_deviation(50.0, 100)), 6)
    5.0
    """
    share = score / 100
    return 100 * np.sqrt(share * (1 - share) / n)


def average_levels(table, weights=WEIGHTS):
    """Return each row's weighted mean of the levels, and the largest deviation it can have
    (`bound_deviation`)."""
    scores = table[SCORES]
    variances = bound_deviation(scores, table[COUNTS].to_numpy()) ** 2
    return scores @ weights, np.sqrt(variances @ np.square(weights))


def simulate_ranks(table, rng, n_draws):
    """Return the rows with deviation, rank by overall score, rank_low, rank_high (2.5th and 97.5th
    percentile of the ranks that the numbers of events imply) and top_share: an upper bound (4.1).

    Each agent's levels are drawn around the printed scores, on their own: normal with the binomial
    bound as deviation.
    """
    means = table[SCORES].to_numpy(float)
    bound = bound_deviation(means, table[COUNTS].to_numpy())
    draws = (means + bound * rng.standard_normal((n_draws, *means.shape))) @ WEIGHTS
    ranks = (-draws).argsort(axis=1).argsort(axis=1) + 1
    low, high = np.percentile(ranks, [2.5, 97.5], axis=0, method="closest_observation")
    return table.assign(
        deviation=draws.std(axis=0),
        rank=rank_overall(table),
        rank_low=low.astype(int),
        rank_high=high.astype(int),
        top_share=(ranks == 1).mean(axis=0),
    )


def rank_overall(table):
    """Return the ranks of rows by overall score, 1 the best."""
    return table["overall"].rank(ascending=False, method="min").astype(int)


def rank_two_weeks(board, rng, n_draws):
    """Return the pooled agents' scores and ranks in the paper's own two weeks (4.1: July 20 to
    August 3).

    A level with fewer than 25 events is hidden in its week; the pooled row tells what it must have
    been. Columns: those of `simulate_ranks`, with n_events and the agent's rank in the three pooled
    weeks (`rank_pooled`).
    """
    weekly = mend_names(board)
    whole = board[board["week"] == "overall"].reset_index(drop=True)
    table = whole[["model", "framework"]].copy()
    for at, pooled in whole.iterrows():
        two = select_weeks(weekly, pooled, POOLED_WEEKS).loc[POOLED_WEEKS[:2]]
        counts = two[COUNTS].to_numpy()
        table.loc[at, SCORES] = (two[SCORES] * counts).sum() / counts.sum(axis=0)
        table.loc[at, COUNTS] = counts.sum(axis=0)
    table["overall"] = table[SCORES] @ WEIGHTS
    table["n_events"] = table[COUNTS].sum(axis=1).astype(int)
    table["rank_pooled"] = rank_overall(whole)
    ranks = simulate_ranks(table, rng, n_draws).drop(columns=[*SCORES, *COUNTS, "top_share"])
    return ranks.sort_values("rank", ignore_index=True)


def list_gaps(board):
    """Return how many events each agent answered in each pooled week, beside the most that any
    agent answered.

    Columns: week, model, framework, category, overall, answered, asked (the most that any agent
    answered), missing (share), overall_zero (the score if what is missing counted 0: each level's
    by its share of the level's most).
    """
    weekly = mend_names(board)
    weekly = weekly[weekly["week"].isin(POOLED_WEEKS)]
    answered = weekly[COUNTS].sum(axis=1).astype(int)
    asked = answered.groupby(weekly["week"]).transform("max")
    shares = weekly[COUNTS] / weekly.groupby("week")[COUNTS].transform("max")
    zeros = weekly[SCORES].mul(shares.to_numpy())
    made = weekly[["week", "model", "framework", "category", "overall"]].assign(
        answered=answered,
        asked=asked,
        missing=1 - answered / asked,
        overall_zero=zeros.fillna(0) @ WEIGHTS / (zeros.notna() @ WEIGHTS),
    )
    return made.sort_values(["week", "missing"], ascending=[True, False], ignore_index=True)


def mend_names(board):
    """Return the board's weeks under the pooled board's names of three agents."""
    weekly = board[board["week"] != "overall"].copy()
    is_flash = (weekly["framework"] == "Deep-Research") & (weekly["model"] == "Gemini-2.5-Pro")
    weekly.loc[is_flash & (weekly["week"] == POOLED_WEEKS[-1]), "model"] = "Gemini-2.5-flash"
    return weekly.assign(model=weekly["model"].replace(RENAMED))


def pair_backbones(whole):
    """Return the pooled board's pairs of one model in two frameworks: the overall score of each,
    and the gain.

    Columns: model, framework (against the plain LLM), plain, score, gain, low, high: 95% by the
    binomial bound of both scores, taken as independent. The last row is the mean gain of SmolAgent.
    """
    whole = whole.assign(deviation=average_levels(whole)[1]).rename(columns={"overall": "score"})
    is_plain = whole["framework"] == "LLM"
    plain = whole.loc[is_plain, ["model", "score", "deviation"]]
    pairs = whole[~is_plain].merge(plain, on="model", suffixes=("", "_plain"))
    pairs = pairs.rename(columns={"score_plain": "plain"})
    pairs = pairs.sort_values(["framework", "score"], ascending=[True, False])
    pairs["gain"] = pairs["score"] - pairs["plain"]
    pairs["half"] = 1.96 * np.hypot(pairs["deviation"], pairs["deviation_plain"])
    smol = pairs[pairs["framework"].str.endswith("Smolagents")]
    mean = smol[["plain", "score", "gain"]].mean()
    mean["half"] = np.linalg.norm(smol["half"]) / len(smol)
    names = {"model": f"mean of {len(smol)}", "framework": smol["framework"].iloc[0]}
    pairs = pd.concat([pairs, pd.DataFrame([mean]).assign(**names)], ignore_index=True)
    pairs = pairs.assign(low=pairs["gain"] - pairs["half"], high=pairs["gain"] + pairs["half"])
    return pairs[["model", "framework", "plain", "score", "gain", "low", "high"]]


def list_checks(board):
    """Yield what the board's numbers are made of: (check, number of rows or weeks, number of them
    that hold)."""
    whole, weekly = (part for _, part in board.groupby(board["week"] != "overall"))
    is_rebuilt = (board["overall"] - rebuild_overall(board)).abs() <= TOLERANCE
    yield "overall is the weighted mean of the levels", len(board), is_rebuilt.sum()
    least = papers.get_constant("futurex", "min_events_per_level")
    counts = board[COUNTS].to_numpy()
    as_told = (board[SCORES].isna().to_numpy() == (counts < least))[np.isfinite(counts)]
    yield f"a level is hidden where it has fewer than {least} events", len(as_told), as_told.sum()
    for check, weeks in {
        "a pooled row is three weeks weighted by events": weekly,
        "the same, with three names mended": mend_names(board),
    }.items():
        n = sum(is_pooled(weeks, row, POOLED_WEEKS) for _, row in whole.iterrows())
        yield check, len(whole), n
    falls = (whole[SCORES].diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    yield "a pooled row falls at each step from level 1 to 4", len(falls), falls.sum()
    n_weeks = weekly.query("category == 'base_model'")["week"].nunique()
    yield "weeks with base models", weekly["week"].nunique(), n_weeks
    most = weekly.groupby("week")["n_events"].max()
    for week in POOLED_WEEKS:
        yield f"most events of an agent in {week}", most.max(), most[week]
