"""Findings 1 to 5 of FutureX (4.2) put to the public leaderboards, as statements with interval and verdict.

Findings 1 and 3 take weeks as the unit (t interval; below ten weeks the exact sign-flip test decides). Findings 2 and 4
take the pooled board and the binomial bound. Finding 5 needs people, whom ForecastBench's boards list. Values are in
points.
"""

import math

import numpy as np
import pandas as pd
from scipy.stats import norm

from helpers import papers
from helpers.means import MIN_CLUSTERS, percentile_interval
from helpers.paired import AGREES, correct_holm, judge_interval, judge_test, sign_flip_test
from helpers.tables import SEARCH_CATEGORIES
from studies.futurex.boards import LEVELS, SCORES, average_weeks, bound_deviation, name_agent
from studies.futurex.forecastbench import compare_people

COLUMNS = "id finding statement value low high n p verdict note".split()
DOUBAO, GROK = name_agent("Doubao-Seed1.6-Thinking", "LLM"), name_agent("Grok-4", "Search")
"""The two agents that Finding 4 names."""
BLOCKS = (1, 2, 4, 8)
"""Weeks that are drawn together: a week's templates and agents come again in the next ones."""


def state_finding(name, finding, statement, estimate, note, bound=0.0, p=None):
    """Return a row of findings; `estimate` is (value, low, high, n), the finding says that the value is above `bound`.

    The interval decides; where `p` is given, that of a two-sided test, the test does.

    >>> state_finding("a", 1, "it falls", (2.0, 1.0, 3.0, 7), "7 weeks")["verdict"]
    'agrees'
    """
    value, low, high, n = estimate
    verdict = AGREES[judge_interval(low, high, bound) if p is None else judge_test(value - bound, p)]
    if p is None:
        with np.errstate(divide="ignore"):
            p = float(2 * norm.sf(np.divide(abs(value - bound), (high - low) / 2 / 1.96)))
    row = (f"fx_public_{name}", finding, statement, value, low, high, n, p, verdict, f"public board: {verdict}; {note}")
    return dict(zip(COLUMNS, row, strict=True))


def score_weeks(table, levels):
    """Return the weekly rows of agents that have all of `levels`, with the mean of these as `score`."""
    scores = [SCORES[level - 1] for level in levels]
    rows = table[table["week"] != "overall"].dropna(subset=scores)
    return rows.assign(score=rows[scores].mean(axis=1))


def average_by_week(table, categories, levels):
    """Return by week the mean over categories' agents of the mean of `levels`, of agents that have all of these."""
    rows = score_weeks(table, levels)
    return rows[rows["category"].isin(categories)].groupby("week")["score"].mean()


def pair_models(table, levels):
    """Return by week the mean over models of score with search minus score without, and the number of such models."""
    rows = score_weeks(table, levels)
    rows = rows.assign(base=rows["agent_id"].str.split(" | ", regex=False).str[0])
    wide = rows.pivot_table(index=["week", "base"], columns="category", values="score", aggfunc="mean")
    pairs = (wide["think_search"] - wide["base_model"]).dropna()
    return pairs.groupby("week").mean(), pairs.index.get_level_values("base").nunique()


def state_weekly(name, finding, statement, weekly, note=""):
    """Return a row of findings on the mean of one value a week: t interval, with few weeks the exact sign-flip test."""
    n = len(weekly)
    mean = float(weekly.mean())
    if n >= MIN_CLUSTERS:
        return state_finding(name, finding, statement, average_weeks(weekly), f"{note}{n} weeks")
    p = sign_flip_test(weekly.reset_index(drop=True))
    note = f"{note}{n} weeks, too few for an interval, exact p = {p:.3f}"
    return state_finding(name, finding, statement, (mean, math.nan, math.nan, n), note, p=p)


def judge_decline(table):
    """Return Finding 1's rows: the score falls from each level to the next, on average over agents with all levels."""
    for level in LEVELS[:-1]:
        statement = f"level {level} minus level {level + 1}, mean over agents"
        yield state_weekly(f"fall_{level}_{level + 1}", 1, statement, average_fall(table, level))


def average_fall(table, level):
    """Return by week, in order, how far a level's score lies above the next one's, mean over agents with all levels."""
    rows = table[table["week"] != "overall"].dropna(subset=SCORES)
    return (rows[f"level{level}"] - rows[f"level{level + 1}"]).groupby(rows["week"]).mean()


def bound_falls(table, rng, lengths=BLOCKS):
    """Return Finding 1's intervals when weeks that follow each other are drawn together: a row a fall and length.

    id (as in `judge_decline`), length (weeks in a block), low, high, next (correlation of a week with the next one).
    """
    rows = []
    for level in LEVELS[:-1]:
        weekly = average_fall(table, level)
        head = {"id": f"fx_public_fall_{level}_{level + 1}", "next": weekly.autocorr()}
        for length in lengths:
            low, high = bound_blocks(weekly, length, rng)
            rows.append(head | {"length": length, "low": low, "high": high})
    return pd.DataFrame(rows)


def bound_blocks(values, length, rng, n_boot=2000):
    """Return the ends of the 95% bootstrap interval of the mean of values in order of time, drawn in blocks.

    A block is `length` values that follow each other (after the last one comes the first), so that what neighbours
    share stays together; 1 draws each value by itself.
    """
    values, n = np.asarray(values, dtype=float), len(values)
    starts = rng.integers(n, size=(n_boot, -(-n // length)))
    drawn = values[(starts[..., None] + np.arange(length)) % n].reshape(n_boot, -1)[:, :n]
    return percentile_interval(drawn.mean(axis=1))


def judge_base(table):
    """Return Finding 2's rows: base models' mean on levels 1-2 beside 60; the one named beats both deep researchers.

    The paper prints no mean and the board may count missing predictions as zero: the first has no p and no verdict.
    """
    bar = 100 * papers.get_constant("futurex", "levels12_base_score")
    *estimate, n_models = measure_kind(table, "base_model", (1, 2))
    statement = f"base models score about {bar:g} or more on levels 1-2"
    row = state_finding("base_easy", 2, statement, estimate, f"mean of {n_models} models", bar)
    note = f"public board: not comparable; mean of {n_models} models"
    yield row | {"p": math.nan, "verdict": "not comparable", "note": note}
    statement = "Doubao-Seed1.6-Thinking minus the better deep research agent, levels 1-2"
    yield _state_lead("doubao_deep", 2, statement, table, DOUBAO, ["closed_deep_research"], (1, 2))


def judge_search(table):
    """Return Finding 3's rows: tools help on levels 3-4, and more so than on levels 1-2 (in points, as a ratio)."""
    tools, base = (
        {levels: average_by_week(table, categories, levels) for levels in ((1, 2), (3, 4))}
        for categories in (SEARCH_CATEGORIES, ["base_model"])
    )
    gaps = {levels: (tools[levels] - base[levels]).dropna() for levels in tools}
    ratios = {levels: np.log(tools[levels] / base[levels]).dropna() for levels in tools}
    yield state_weekly("tools_hard", 3, "agents with tools minus base models, levels 3-4", gaps[3, 4])
    weekly, n_models = pair_models(table, (3, 4))
    statement = "the same model with search minus without, levels 3-4"
    yield state_weekly("search_same", 3, statement, weekly, f"{n_models} models, ")
    statement = "the gap in points is larger on levels 3-4 than on levels 1-2"
    yield state_weekly("tools_growth_points", 3, statement, (gaps[3, 4] - gaps[1, 2]).dropna())
    statement = "the ratio is larger on levels 3-4 than on levels 1-2 (difference of logarithms)"
    yield state_weekly("tools_growth_ratio", 3, statement, (ratios[3, 4] - ratios[1, 2]).dropna())


def judge_best(table):
    """Return Finding 4's rows: the base model named leads base models on levels 1-2, Grok-4 leads everyone on 3-4."""
    statement = "Doubao-Seed1.6-Thinking minus the next base model, levels 1-2"
    yield _state_lead("doubao_base", 4, statement, table, DOUBAO, ["base_model"], (1, 2))
    statement = "Grok-4 minus the next agent, levels 3-4"
    yield _state_lead("grok_all", 4, statement, table, GROK, ["base_model", *SEARCH_CATEGORIES], (3, 4))


def measure_kind(table, category, levels):
    """Return a kind of agents' mean on the pooled board: mean, low, high, n (events of the levels), how many agents.

    They answer the same events, so the interval takes the mean of their deviations by the binomial bound.
    """
    board = table[(table["week"] == "overall") & (table["category"] == category)]
    scores = [f"level{level}" for level in levels]
    counts = [f"n_level{level}" for level in levels]
    deviation = np.sqrt((bound_deviation(board[scores], board[counts]) ** 2).sum(axis=1)) / len(levels)
    mean = float(board[scores].to_numpy().mean())
    half = 1.96 * float(np.mean(deviation))
    return mean, mean - half, mean + half, int(board[counts].sum(axis=1).max()), len(board)


def measure_lead(table, agent, categories, levels):
    """Return an agent's lead over the best other of some categories on the pooled board: lead, low, high, n, the other.

    The binomial bound is each score's deviation, the two agents count as independent: wider than the truth. Raises
    LookupError when the agent is not on the board.
    """
    board = table[table["week"] == "overall"].set_index("agent_id")
    if agent not in board.index:
        raise LookupError(f"{agent} is not on the pooled leaderboard")
    scores = [f"level{level}" for level in levels]
    counts = [f"n_level{level}" for level in levels]
    mean = board[scores].mean(axis=1)
    variance = (bound_deviation(board[scores], board[counts]) ** 2).sum(axis=1) / len(levels) ** 2
    variance = pd.Series(variance, index=board.index)
    other = mean[board["category"].isin(categories) & (board.index != agent)].idxmax()
    lead = float(mean[agent] - mean[other])
    half = 1.96 * math.sqrt(variance[agent] + variance[other])
    return lead, lead - half, lead + half, int(board.loc[agent, counts].sum()), other


def _state_lead(name, finding, statement, table, agent, categories, levels):
    *estimate, other = measure_lead(table, agent, categories, levels)
    names = table.loc[(table["week"] == "overall") & (table["agent_id"] == other), ["model", "framework"]].iloc[0]
    return state_finding(name, finding, statement, estimate, f"against {names['model']} ({names['framework']})")


def judge_people(boards):
    """Return Finding 5's rows from ForecastBench's boards (name -> table): superforecasters minus the best model."""
    estimate = (math.nan, math.nan, math.nan, 0)
    yield state_finding("people", 5, "people minus the best agent on FutureX's board", estimate, "it lists no people")
    for name, board in boards.items():
        found = compare_people(board)
        estimate = (found["gap"], found["low"], found["high"], found["n_people"])
        statement = f"superforecasters minus the best model, ForecastBench {name} board (Brier index)"
        note = f"against {found['best_model']}, other questions than FutureX's"
        yield state_finding(f"people_{name}", 5, statement, estimate, note)


def judge_boards(table, boards):
    """Return the five findings on the public boards, one family: verdicts are by p_holm (`audit.fill_ours` takes
    them).
    """
    rows = [*judge_decline(table), *judge_base(table), *judge_search(table), *judge_best(table), *judge_people(boards)]
    return correct_family(pd.DataFrame(rows, columns=COLUMNS))


def correct_family(findings):
    """Return findings with p_holm over all with a p; what it does not leave cannot be told, and the note says so."""
    p_holm = correct_holm(findings["p"])
    is_lost = findings["verdict"].isin(["agrees", "disagrees"]) & ~p_holm.lt(0.05)
    told = [
        note.replace(f"public board: {alone};", f"public board: inconclusive after Holm, {alone} alone;")
        for note, alone in zip(findings["note"], findings["verdict"], strict=True)
    ]
    judged = findings.assign(verdict=findings["verdict"].mask(is_lost, "inconclusive"))
    judged["note"] = judged["note"].mask(is_lost, pd.Series(told, findings.index))
    judged.insert(judged.columns.get_loc("verdict"), "p_holm", p_holm)
    return judged
