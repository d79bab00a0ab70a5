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
        differences, hidden = [], []
        for score, count in zip(SCORES, COUNTS, strict=True):
            shown = parts[score].notna()
            total = float((parts.loc[shown, score] * parts.loc[shown, count]).sum())
            n_hidden = float(parts.loc[~shown, count].sum())
            if n_hidden:
                hidden.append((whole[score] * whole[count] - total) / n_hidden)
            elif len(parts):
                differences.append(abs(total / parts[count].sum() - whole[score]))
        counted = bool((parts[COUNTS].sum() == whole[COUNTS].astype(float)).all())
        worst, low, high = max(differences, default=0.0), min(hidden, default=math.nan), max(hidden, default=math.nan)
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


def draw_scores(table, rng, n_draws=10_000):
    """Return draws (n_draws x agents x 4 levels) of the level scores, normal with the binomial bound as deviation.

    Raises ValueError when a row lacks a level's score or count.
    """
    if table[[*SCORES, *COUNTS]].isna().any(axis=None):
        raise ValueError("a row lacks the score or the number of events of a level; take rows that have both")
    means = table[SCORES].to_numpy(float)
    deviations = bound_deviation(means, table[COUNTS])
    return means + deviations * rng.standard_normal((n_draws, *means.shape))


def simulate_ranks(table, rng, n_draws=10_000):
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
