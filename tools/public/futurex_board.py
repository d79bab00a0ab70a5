"""FutureX's public leaderboard: pooled scores with ranks, their identities, factors and Findings 1 to 5 (4.1-4.4)."""

import json

import numpy as np
import pandas as pd

from helpers import papers
from helpers.public_files import locate_public
from public import boards, findings
from public.forecastbench import tidy_board

BOARD = "futurex/leaderboard.json"
FORECASTBENCH = {name: f"forecastbench/leaderboard_{name}.csv" for name in ("baseline", "tournament")}
SOURCES = {
    "futurex_board": [BOARD],
    "futurex_board_checks": [BOARD],
    "futurex_findings": [BOARD, *FORECASTBENCH.values()],
    "futurex_two_weeks": [BOARD],
    "futurex_backbones": [BOARD],
    "futurex_gaps": [BOARD],
}
SEED = 20250720
N_DRAWS = 20_000
"""Boards drawn for the rank intervals."""
POOLED_WEEKS = ["2025-07-W4", "2025-08-W1", "2025-08-W2"]
RENAMED = {"Seed-DouBao DR": "Seed-DouBao", "DouBao-Seed1.6-thinking": "Doubao-Seed1.6-Thinking"}
"""How the weeks name two models of the pooled board."""
TEST_ROWS = 1
"""The `testType` of rows that the site marks; what the mark means it does not say."""


def load_board():
    """Return the whole board as a table, a row an agent in a week or pooled (`boards.flatten_board`)."""
    return boards.flatten_board(json.loads(locate_public(BOARD).read_text(encoding="utf-8")), boards.load_frameworks())


def build():
    """Return the tables of `SOURCES`: pooled scores, checks, effects, R2, findings, two weeks, backbones in pairs."""
    board, rng = load_board(), np.random.default_rng(SEED)
    whole = board[board["week"] == "overall"].drop(columns=["week", "organization", "test_type"])
    ranks = boards.simulate_ranks(whole, rng, N_DRAWS).drop(columns=["category", "overall"])
    people = {name: tidy_board(pd.read_csv(locate_public(file))) for name, file in FORECASTBENCH.items()}
    found = findings.judge_boards(board, people)
    unmarked = list(findings.judge_decline(board[board["test_type"] != TEST_ROWS]))
    unmarked = pd.DataFrame(unmarked)[["id", "value", "low", "high", "n"]]
    found = found.merge(unmarked, on="id", how="left", suffixes=("", "_unmarked"))
    falls = findings.bound_falls(board, rng).query("length == 4").drop(columns="length")
    falls = falls.rename(columns={"low": "low_by_block", "high": "high_by_block"})
    return {
        "futurex_board": whole.merge(ranks, on=["model", "framework"], validate="1:1"),
        "futurex_board_checks": pd.DataFrame(list_checks(board), columns=["check", "n", "holds"]),
        "futurex_findings": found.merge(falls, on="id", how="left"),
        "futurex_two_weeks": rank_two_weeks(board, np.random.default_rng(SEED)),
        "futurex_backbones": pair_backbones(whole),
        "futurex_gaps": list_gaps(board),
    }


def rank_two_weeks(board, rng):
    """Return the pooled agents' scores and ranks in the paper's own two weeks (4.1: July 20 to August 3).

    A level with fewer than 25 events is hidden in its week; the pooled row tells what it must have been. Where two
    weeks hide a level, both get one value. Columns: those of `boards.simulate_ranks`, with n_events, n_hidden (levels
    rebuilt) and the agent's rank in the three pooled weeks (`rank_pooled`).
    """
    weekly, whole = mend_names(board), board[board["week"] == "overall"].reset_index(drop=True)
    rows = []
    for _, pooled in whole.iterrows():
        same = (weekly["model"] == pooled["model"]) & (weekly["framework"] == pooled["framework"])
        parts = weekly[same & weekly["week"].isin(POOLED_WEEKS)].set_index("week")
        row = {name: pooled[name] for name in ("model", "framework", "category")} | {"n_hidden": 0}
        for score, count in zip(boards.SCORES, boards.COUNTS, strict=True):
            hidden = parts[score].isna()
            rest = pooled[score] * pooled[count] - (parts[score] * parts[count])[~hidden].sum()
            scores = parts[score].fillna(rest / max(parts.loc[hidden, count].sum(), 1))
            two = parts.index.isin(POOLED_WEEKS[:2])
            row[count] = parts.loc[two, count].sum()
            row[score] = (scores * parts[count])[two].sum() / row[count]
            row["n_hidden"] += int(hidden[two].sum())
        rows.append(row)
    table = pd.DataFrame(rows)
    table["overall"] = table[boards.SCORES] @ np.array(papers.get_constant("futurex", "level_weights"))
    table["n_events"] = table[boards.COUNTS].sum(axis=1).astype(int)
    table["rank_pooled"] = whole["overall"].rank(ascending=False, method="min").astype(int)
    ranks = boards.simulate_ranks(table, rng, N_DRAWS).drop(columns=["category", "overall"])
    kept = ["model", "framework", "category", "overall", "n_events", "n_hidden", "rank_pooled"]
    return table[kept].merge(ranks, on=["model", "framework"]).sort_values("rank", ignore_index=True)


def list_gaps(board):
    """Return how many events each agent answered in each pooled week, beside the most that any agent answered.

    Columns: week, model, framework, category, overall, answered, asked (the most that any agent answered), missing
    (share), overall_zero (the score if what is missing counted 0: each level's by its share of the level's most).
    """
    weekly = mend_names(board)
    weekly = weekly[weekly["week"].isin(POOLED_WEEKS)].reset_index(drop=True)
    most = weekly.groupby("week")[boards.COUNTS].transform("max")
    answered = weekly[boards.COUNTS].sum(axis=1).astype(int)
    asked = answered.groupby(weekly["week"]).transform("max")
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    scores = weekly[boards.SCORES].to_numpy(float)
    there = np.isfinite(scores) @ weights
    zeros = np.nan_to_num(scores) * (weekly[boards.COUNTS].to_numpy(float) / most.to_numpy(float)) @ weights / there
    made = weekly[["week", "model", "framework", "category", "overall"]]
    counts = {"answered": answered, "asked": asked, "missing": 1 - answered / asked, "overall_zero": zeros}
    return made.assign(**counts).sort_values(["week", "missing"], ascending=[True, False], ignore_index=True)


def mend_names(board):
    """Return the board's weeks under the pooled board's names of three agents."""
    weekly = board[board["week"] != "overall"].copy()
    is_flash = (weekly["framework"] == "Deep-Research") & (weekly["model"] == "Gemini-2.5-Pro")
    weekly.loc[is_flash & (weekly["week"] == POOLED_WEEKS[-1]), "model"] = "Gemini-2.5-flash"
    return weekly.assign(model=weekly["model"].replace(RENAMED))


def pair_backbones(whole):
    """Return the pooled board's pairs of one model in two frameworks: the overall score of each, and the gain.

    Columns: model, framework (against the plain LLM), plain, score, gain, low, high: 95% by the binomial bound of both
    scores, taken as independent. The last row is the mean gain of SmolAgent.
    """
    whole = whole.assign(variance=bound_overall(whole))
    plain = whole[whole["framework"] == "LLM"].set_index("model")
    pairs = whole[(whole["framework"] != "LLM") & whole["model"].isin(plain.index)]
    pairs = pairs.sort_values(["framework", "overall"], ascending=[True, False], ignore_index=True)
    pairs["plain"] = pairs["model"].map(plain["overall"])
    pairs["gain"] = pairs["overall"] - pairs["plain"]
    pairs["half"] = 1.96 * np.sqrt(pairs["variance"] + pairs["model"].map(plain["variance"]))
    pairs = pairs.rename(columns={"overall": "score"})[["model", "framework", "plain", "score", "gain", "half"]]
    smol = pairs[pairs["framework"].str.endswith("Smolagents")]
    mean = smol[["plain", "score", "gain"]].mean().to_dict()
    mean |= {"half": np.sqrt((smol["half"] ** 2).sum()) / len(smol)}
    mean |= {"model": f"mean of {len(smol)}", "framework": smol["framework"].iloc[0]}
    pairs = pd.concat([pairs, pd.DataFrame([mean])], ignore_index=True)
    pairs = pairs.assign(low=pairs["gain"] - pairs["half"], high=pairs["gain"] + pairs["half"])
    return pairs.drop(columns="half")


def bound_overall(table):
    """Return the largest variance that each overall score can have, in points squared (`boards.bound_deviation`)."""
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    deviations = boards.bound_deviation(table[boards.SCORES].to_numpy(float), table[boards.COUNTS])
    return (weights**2 * np.asarray(deviations) ** 2).sum(axis=1)


def list_checks(board):
    """Yield what the board's numbers are made of: (check, number of rows or weeks, number of them that hold)."""
    weekly, rebuilt = board[board["week"] != "overall"], boards.rebuild_overall(board)["status"]
    yield "overall is the weighted mean of the levels", len(board), (rebuilt != "disagrees").sum()
    least = papers.get_constant("futurex", "min_events_per_level")
    cells = boards.melt_levels(board.fillna(dict.fromkeys(boards.SCORES, -1))).dropna(subset="n")
    is_hidden = cells["score"] == -1
    yield (
        f"a level is hidden where it has fewer than {least} events",
        len(cells),
        (is_hidden == (cells["n"] < least)).sum(),
    )
    pooled = boards.pool_weeks(board, POOLED_WEEKS)["is_pooled"]
    yield "a pooled row is three weeks weighted by events", len(pooled), pooled.sum()
    renamed = pd.concat([board[board["week"] == "overall"], mend_names(board)])
    pooled = boards.pool_weeks(renamed, POOLED_WEEKS)["is_pooled"]
    yield "the same, with three names mended", len(pooled), pooled.sum()
    falls = (board.loc[board["week"] == "overall", boards.SCORES].diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    yield "a pooled row falls at each step from level 1 to 4", len(falls), falls.sum()
    yield "weeks with base models", weekly["week"].nunique(), weekly.query("category == 'base_model'")["week"].nunique()
    for week in POOLED_WEEKS:
        yield (
            f"most events of an agent in {week}",
            weekly["n_events"].max(),
            weekly.query("week == @week")["n_events"].max(),
        )
