"""FutureX's public leaderboard as tables: what its numbers are made of, how sure they are, what moves them (4.1-4.4).

Scores are in points, 0 to 100, as the site prints them. The unit of analysis is a row: an agent (model and framework
under one name) in one week, or pooled over weeks ("overall"); `melt_levels` makes a row of each level.
"""

import math
import tomllib

import numpy as np
import pandas as pd
from scipy.stats import t

from helpers import papers
from helpers.public_files import REGISTRY
from helpers.tables import LEVELS, SEARCH_CATEGORIES

SCORES = [f"level{level}" for level in LEVELS]
COUNTS = [f"n_level{level}" for level in LEVELS]
CATEGORIES = ("base_model", *SEARCH_CATEGORIES, "unclassified")
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
"""Points by which a rebuilt overall score, a pooled level score, may differ from the printed one."""


def flatten_board(board, frameworks):
    """Return the site's leaderboard (its JSON) as a table, a row an agent in a week; pooled rows have the week
    "overall".

    `frameworks`: the category of a framework's name; others are "unclassified". Columns: week, agent_id, model,
    framework, category, organization, overall, level1-4, n_events, n_level1-4 and test_type (blank where the site
    gives none). Raises ValueError when a field is absent.
    """
    rows = [{"week": "overall", **row} for row in board["overall"]]
    rows += [{"week": week, **row} for week in sorted(board["weekly"]) for row in board["weekly"][week]]
    table = pd.DataFrame(rows).rename(columns=FIELDS)
    optional = [*COUNTS, "test_type"]
    absent = [name for name in FIELDS.values() if name not in table and name not in optional]
    if absent or table["overall"].isna().any():
        raise ValueError(f"the leaderboard lacks {absent[0] if absent else 'an overall score'}; is it another version?")
    numbers = ["overall", *SCORES, "n_events", *COUNTS, "test_type"]
    table = table.reindex(columns=["week", *FIELDS.values()])
    table[numbers] = table[numbers].astype(float)
    table["n_events"] = table["n_events"].astype(int)
    table["category"] = table["framework"].map(frameworks).fillna("unclassified")
    table["agent_id"] = [name_agent(*names) for names in zip(table["model"], table["framework"], strict=True)]
    return table[["week", "agent_id", "model", "framework", "category", "organization", *numbers]]


def load_frameworks():
    """Return the FutureX board's names of frameworks as a dictionary: name -> kind of agent (FutureX 4)."""
    table = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["futurex_frameworks"]
    return {name: kind for kind, names in table.items() if kind != "section" for name in names}


def name_agent(model, framework):
    """Return one name for the spellings of a model and framework: lower case, without spaces, hyphens, underscores."""
    return " | ".join("".join(c for c in part.casefold() if c not in " -_") for part in (model, framework))


def rebuild_overall(table):
    """Return the rows with `rebuilt` (levels weighted 0.1, 0.2, 0.3, 0.4), `difference` and `status` (FutureX 4.1).

    A level without a score gives its weight to the others. Status: "direct" (all levels, within TOLERANCE points),
    "renormalised" (a level absent, within), "disagrees".
    """
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    scores = table[SCORES].to_numpy(float)
    there = np.isfinite(scores)
    if not there.any(axis=1).all():
        raise ValueError(f"row {int((~there.any(axis=1)).argmax()) + 1} of the leaderboard has no score in any level")
    rebuilt = (np.where(there, scores, 0.0) @ weights) / (there @ weights)
    difference = table["overall"] - rebuilt
    status = np.where(there.all(axis=1), "direct", "renormalised")
    status = np.where(difference.abs() <= TOLERANCE, status, "disagrees")
    return table.assign(rebuilt=rebuilt, difference=difference, status=status)


def pool_weeks(table, weeks):
    """Compare each overall row with the weekly rows of the same names, pooled by their numbers of events.

    Columns: agent, n_weeks, is_counted (level counts add up), largest_difference of a level score that can be pooled,
    and the range of scores that weeks without one must have had (hidden_low, hidden_high). is_pooled: all weeks found,
    counts equal, within POOL_TOLERANCE points, hidden scores between 0 and 100.
    """
    rows = []
    for _, whole in table[table["week"] == "overall"].iterrows():
        same = (table["model"] == whole["model"]) & (table["framework"] == whole["framework"])
        parts = table[same & table["week"].isin(weeks)]
        differences = []
        hidden = []
        for score, count in zip(SCORES, COUNTS, strict=True):
            shown = parts[score].notna()
            total = float((parts.loc[shown, score] * parts.loc[shown, count]).sum())
            n_hidden = float(parts.loc[~shown, count].sum())
            if n_hidden:
                hidden.append((whole[score] * whole[count] - total) / n_hidden)
            elif len(parts):
                differences.append(abs(total / parts[count].sum() - whole[score]))
        counted = bool((parts[COUNTS].sum() == whole[COUNTS].astype(float)).all())
        worst = max(differences, default=0.0)
        low = min(hidden, default=math.nan)
        high = max(hidden, default=math.nan)
        fits = len(parts) == len(weeks) and counted and worst <= POOL_TOLERANCE
        is_pooled = fits and all(-POOL_TOLERANCE <= score <= 100 + POOL_TOLERANCE for score in hidden)
        rows.append((whole["model"], whole["framework"], len(parts), counted, worst, low, high, is_pooled))
    columns = "model framework n_weeks is_counted largest_difference hidden_low hidden_high is_pooled".split()
    return pd.DataFrame(rows, columns=columns)


def melt_levels(table):
    """Return a row for each printed level score: what names the row, level, score, n (blank if not given)."""
    names = ["week", "agent_id", "model", "framework", "category"]
    parts = [
        table[names].assign(level=level, score=table[score], n=table[count])
        for level, score, count in zip(LEVELS, SCORES, COUNTS, strict=True)
    ]
    return pd.concat(parts, ignore_index=True).dropna(subset="score").reset_index(drop=True)


def average_weeks(values):
    """Return mean, low, high (95%) and n of one value a week, by Student's t. Raises ValueError for fewer than three
    weeks.
    """
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if len(values) < 3:
        raise ValueError(f"{len(values)} weeks give no interval; take at least 3")
    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half), len(values)


def bound_deviation(score, n):
    """Return the largest standard deviation, in points, that a mean of n scores in [0, 100] can have: sqrt(s(1-s)/n).

    >>> round(float(bound_deviation(50.0, 100)), 6)
    5.0
    """
    share = np.asarray(score, dtype=float) / 100
    return 100 * np.sqrt(share * (1 - share) / np.asarray(n, dtype=float))


def draw_scores(table, rng, n_draws):
    """Return draws (n_draws x agents x 4 levels) of the level scores, normal with the binomial bound as deviation.

    Raises ValueError when a row lacks a level's score or count.
    """
    if table[[*SCORES, *COUNTS]].isna().any(axis=None):
        raise ValueError("a row lacks the score or the number of events of a level; take rows that have both")
    means = table[SCORES].to_numpy(float)
    deviations = bound_deviation(means, table[COUNTS])
    return means + deviations * rng.standard_normal((n_draws, *means.shape))


def simulate_ranks(table, rng, n_draws):
    """Return rank by overall score with the interval that the numbers of events imply (an upper bound, 4.1).

    Each agent's levels are drawn around the printed scores, on their own. Columns: model, framework, category, overall,
    deviation, rank, rank_low, rank_high (2.5th and 97.5th percentile), top_share. Sorted by rank.
    """
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    draws = draw_scores(table, rng, n_draws) @ weights
    ranks = (-draws).argsort(axis=1).argsort(axis=1) + 1
    low, high = np.percentile(ranks, [2.5, 97.5], axis=0, method="closest_observation")
    out = table[["model", "framework", "category", "overall"]].assign(
        deviation=draws.std(axis=0),
        rank=table["overall"].rank(ascending=False, method="min").astype(int),
        rank_low=low.astype(int),
        rank_high=high.astype(int),
        top_share=(ranks == 1).mean(axis=0),
    )
    return out.sort_values(["rank", "model"], ignore_index=True)


POOLED_WEEKS = ["2025-07-W4", "2025-08-W1", "2025-08-W2"]
RENAMED = {"Seed-DouBao DR": "Seed-DouBao", "DouBao-Seed1.6-thinking": "Doubao-Seed1.6-Thinking"}
"""How the weeks name two models of the pooled board."""


def rank_two_weeks(board, rng, n_draws):
    """Return the pooled agents' scores and ranks in the paper's own two weeks (4.1: July 20 to August 3).

    A level with fewer than 25 events is hidden in its week; the pooled row tells what it must have been. Where two
    weeks hide a level, both get one value. Columns: those of `simulate_ranks`, with n_events, n_hidden (levels
    rebuilt) and the agent's rank in the three pooled weeks (`rank_pooled`).
    """
    weekly = mend_names(board)
    whole = board[board["week"] == "overall"].reset_index(drop=True)
    rows = []
    for _, pooled in whole.iterrows():
        same = (weekly["model"] == pooled["model"]) & (weekly["framework"] == pooled["framework"])
        parts = weekly[same & weekly["week"].isin(POOLED_WEEKS)].set_index("week")
        row = {name: pooled[name] for name in ("model", "framework", "category")} | {"n_hidden": 0}
        for score, count in zip(SCORES, COUNTS, strict=True):
            hidden = parts[score].isna()
            rest = pooled[score] * pooled[count] - (parts[score] * parts[count])[~hidden].sum()
            scores = parts[score].fillna(rest / max(parts.loc[hidden, count].sum(), 1))
            two = parts.index.isin(POOLED_WEEKS[:2])
            row[count] = parts.loc[two, count].sum()
            row[score] = (scores * parts[count])[two].sum() / row[count]
            row["n_hidden"] += int(hidden[two].sum())
        rows.append(row)
    table = pd.DataFrame(rows)
    table["overall"] = table[SCORES] @ np.array(papers.get_constant("futurex", "level_weights"))
    table["n_events"] = table[COUNTS].sum(axis=1).astype(int)
    table["rank_pooled"] = whole["overall"].rank(ascending=False, method="min").astype(int)
    ranks = simulate_ranks(table, rng, n_draws).drop(columns=["category", "overall"])
    kept = ["model", "framework", "category", "overall", "n_events", "n_hidden", "rank_pooled"]
    return table[kept].merge(ranks, on=["model", "framework"]).sort_values("rank", ignore_index=True)


def list_gaps(board):
    """Return how many events each agent answered in each pooled week, beside the most that any agent answered.

    Columns: week, model, framework, category, overall, answered, asked (the most that any agent answered), missing
    (share), overall_zero (the score if what is missing counted 0: each level's by its share of the level's most).
    """
    weekly = mend_names(board)
    weekly = weekly[weekly["week"].isin(POOLED_WEEKS)].reset_index(drop=True)
    most = weekly.groupby("week")[COUNTS].transform("max")
    answered = weekly[COUNTS].sum(axis=1).astype(int)
    asked = answered.groupby(weekly["week"]).transform("max")
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    scores = weekly[SCORES].to_numpy(float)
    there = np.isfinite(scores) @ weights
    zeros = np.nan_to_num(scores) * (weekly[COUNTS].to_numpy(float) / most.to_numpy(float)) @ weights / there
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
    """Return the largest variance that each overall score can have, in points squared (`bound_deviation`)."""
    weights = np.array(papers.get_constant("futurex", "level_weights"))
    deviations = bound_deviation(table[SCORES].to_numpy(float), table[COUNTS])
    return (weights**2 * np.asarray(deviations) ** 2).sum(axis=1)


def list_checks(board):
    """Yield what the board's numbers are made of: (check, number of rows or weeks, number of them that hold)."""
    weekly = board[board["week"] != "overall"]
    rebuilt = rebuild_overall(board)["status"]
    yield "overall is the weighted mean of the levels", len(board), (rebuilt != "disagrees").sum()
    least = papers.get_constant("futurex", "min_events_per_level")
    cells = melt_levels(board.fillna(dict.fromkeys(SCORES, -1))).dropna(subset="n")
    is_hidden = cells["score"] == -1
    yield (
        f"a level is hidden where it has fewer than {least} events",
        len(cells),
        (is_hidden == (cells["n"] < least)).sum(),
    )
    pooled = pool_weeks(board, POOLED_WEEKS)["is_pooled"]
    yield "a pooled row is three weeks weighted by events", len(pooled), pooled.sum()
    renamed = pd.concat([board[board["week"] == "overall"], mend_names(board)])
    pooled = pool_weeks(renamed, POOLED_WEEKS)["is_pooled"]
    yield "the same, with three names mended", len(pooled), pooled.sum()
    falls = (board.loc[board["week"] == "overall", SCORES].diff(axis=1).iloc[:, 1:] < 0).all(axis=1)
    yield "a pooled row falls at each step from level 1 to 4", len(falls), falls.sum()
    yield "weeks with base models", weekly["week"].nunique(), weekly.query("category == 'base_model'")["week"].nunique()
    for week in POOLED_WEEKS:
        yield (
            f"most events of an agent in {week}",
            weekly["n_events"].max(),
            weekly.query("week == @week")["n_events"].max(),
        )
