"""Scores by level and kind, the overall score, and FutureX's four findings on difficulty as statements (4.1, 4.2).

Intervals are 95% percentile intervals of a bootstrap over events: events are drawn anew within each level, the same
draw for every agent, so that differences between agents keep what they share.
"""

import math

import numpy as np
import pandas as pd

from helpers import papers
from helpers.columns import LEVELS, SEARCH_CATEGORIES
from helpers.estimates.intervals import judge_interval, resample_means, summarize_clustered, take_interval
from helpers.outcomes.scores import build_matrix, select_headline


def weigh_levels(n_by_level, weights, min_events):
    """Return the weights of the levels with `min_events` events or more, adding up to 1, and a note on what changed.

    >>> weigh_levels({1: 30, 2: 30, 3: 30, 4: 30}, [0.1, 0.2, 0.3, 0.4], 25)
    ({1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}, '')
    >>> weigh_levels({1: 10, 3: 30, 4: 30}, [0.1, 0.2, 0.3, 0.4], 25)[1]
    'level 1 (10 events) and level 2 (0 events) left out, weights 3: 0.43, 4: 0.57'
    """
    full = dict(zip(LEVELS, weights, strict=True))
    kept = {level: weight for level, weight in full.items() if n_by_level.get(level, 0) >= min_events}
    if not kept:
        return {}, f"no level has {min_events} events: see the means by level and kind"
    if len(kept) == len(full):
        return kept, ""
    kept = {level: weight / sum(kept.values()) for level, weight in kept.items()}
    gone = " and ".join(f"level {level} ({n_by_level.get(level, 0)} events)" for level in full if level not in kept)
    return kept, f"{gone} left out, weights " + ", ".join(f"{level}: {weight:.2f}" for level, weight in kept.items())


def combine_overall(scores, events, rng, n_boot=2000):
    """Return each agent's overall score: level means weighted 0.1, 0.2, 0.3, 0.4 (FutureX 4.1), with interval.

    Levels with fewer scored events than the paper's least give their weight to the others, and `overall_note` says so;
    without any such level there is no overall. An agent without a prediction in a level that counts has no overall.
    Also n, coverage and the zero-imputed overall. Sorted by overall, best first.
    """
    weights = papers.get_constant("futurex", "level_weights")
    least = papers.get_constant("futurex", "min_events_per_level")
    rows = select_headline(scores, events)
    used, note = weigh_levels(rows.groupby("level")["event_id"].nunique().to_dict(), weights, least)
    agents = sorted(rows["agent_id"].unique())
    cells = rows.groupby(["agent_id", "event_id"])[["score", "score_imputed"]].mean().groupby("agent_id").count()
    table = cells.rename(columns={"score": "n", "score_imputed": "n_asked"}).reset_index()
    table["coverage"] = table["n"] / table["n_asked"]
    table["overall"] = table["low"] = table["high"] = table["overall_imputed"] = math.nan
    table["overall_note"] = note
    if used:
        counted = rows[rows["level"].isin(used)]
        means, draws, _ = draw_levels(counted, agents, rng, n_boot)
        parts = counted.groupby("level")
        imputed = {level: build_matrix(part, agents, "score_imputed").mean().to_numpy() for level, part in parts}
        overall, drawn, imputed = (sum(used[level] * of[level] for level in used) for of in (means, draws, imputed))
        table["overall"], table["overall_imputed"] = overall, imputed
        table[["low", "high"]] = [take_interval(draw) for draw in drawn.T]
        for at in range(len(agents)):
            lacks = [level for level in used if np.isnan(means[level][at])]
            lack = f"no overall: nothing predicted in level {lacks[0]}" if lacks else ""
            table.loc[at, "overall_note"] = "; ".join(filter(None, (note, lack)))
    columns = "agent_id overall low high n n_asked coverage overall_imputed overall_note".split()
    return table[columns].sort_values(["overall", "agent_id"], ascending=[False, True], ignore_index=True)


def bound_overall(scores, events, clusters):
    """Return each agent's overall score as `combine_overall` does, its interval by cluster and beside it by event.

    A row an agent, in the columns of `groups.tabulate_groups` (group "overall"), and `note`. Without any level that
    counts, or without a prediction in one that does, the mean is blank. No draw: an agent's row is the same in any
    company.
    """
    rows = select_headline(scores, events)
    weights = papers.get_constant("futurex", "level_weights")
    least = papers.get_constant("futurex", "min_events_per_level")
    used, note = weigh_levels(rows.groupby("level")["event_id"].nunique().to_dict(), weights, least)
    rows = rows[rows["level"].isin(used)] if used else rows
    agents = sorted(rows["agent_id"].unique())
    matrix, imputed = (build_matrix(rows, agents, column) for column in ("score", "score_imputed"))
    level = rows.drop_duplicates("event_id").set_index("event_id")["level"]
    strata = [(weight, level.index[level == at]) for at, weight in used.items()] or [(math.nan, matrix.index)]
    table, plain = (summarize_clustered(matrix, by, strata).rename_axis("agent_id") for by in (clusters, None))
    table = table.assign(group="overall", name="", n_asked=imputed.notna().sum())
    table["coverage"] = table["n"] / table["n_asked"]
    table["mean_imputed"] = sum(weight * imputed.reindex(labels).mean() for weight, labels in strata)
    table[["low_by_event", "high_by_event"]] = plain[["low", "high"]]
    ends = ["low", "high", "low_by_event", "high_by_event"]
    table[ends] = table[ends].clip(0, 1)
    lacking = matrix.groupby(level).count().eq(0) if used else pd.DataFrame(columns=agents)
    lacks = [[f"no overall: nothing predicted in level {at}" for at in lacking.index[lacking[name]]] for name in agents]
    table["note"] = ["; ".join(filter(None, [note, *lack[:1]])) for lack in lacks]
    return table.reset_index()


def draw_levels(rows, agents, rng, n_boot=2000):
    """Return each level's means by agent (level -> array), their bootstrap draws (level -> n_boot x agents), and its
    number of scored events."""
    matrices = {level: build_matrix(part, agents) for level, part in rows.groupby("level")}
    means = {level: matrix.mean().to_numpy() for level, matrix in matrices.items()}
    draws = {level: resample_means(matrix, rng, n_boot) for level, matrix in matrices.items()}
    return means, draws, {level: len(matrix) for level, matrix in matrices.items()}


def judge_findings(scores, events, runs, rng, n_boot=2000):
    """Return FutureX's four findings on difficulty (4.2) as statements with estimate, interval, n events and verdict.

    Finding 1: scores fall from levels 1-2 to levels 3-4, for each agent and on average. 2: base models do well (about
    0.6) on levels 1-2. 3: search helps, and more so on levels 3-4. 4: the best agent on levels 1-2 is not the best on
    levels 3-4. The mean of two levels is the mean of their means; findings 2 and 3 take agents that predicted in every
    level. Where the agents or levels a finding speaks of are absent, the verdict is 'cannot tell'.
    """
    rows = select_headline(scores, events)
    agents = sorted(rows["agent_id"].unique())
    means, draws, n_events = draw_levels(rows, agents, rng, n_boot)
    category = runs.drop_duplicates("agent_id").set_index("agent_id")["category"].reindex(agents)
    whole = np.isfinite(sum(means.values()))
    base, search = category.eq("base_model"), category.isin(SEARCH_CATEGORIES)
    sets = {"base": np.flatnonzero(base & whole), "search": np.flatnonzero(search & whole)}
    rows = [
        *_test_decline(agents, means, draws),
        _test_base(sets, means, draws),
        *_test_search(sets, means, draws),
        _test_best(agents, means, draws),
    ]
    table = pd.DataFrame(rows, columns=["finding", "statement", "estimate", "low", "high", "levels", "verdict"])
    table["n"] = [sum(n_events.get(level, 0) for level in levels) for levels in table.pop("levels")]
    table["n_agents"] = len(agents)
    return table[["finding", "statement", "estimate", "low", "high", "n", "n_agents", "verdict"]]


def _average(values, levels):
    """Return the mean over levels, or None when one is absent."""
    return sum(values[level] for level in levels) / len(levels) if all(level in values for level in levels) else None


def _state(finding, statement, estimate, draws, levels, bound=0.0):
    if estimate is None or not np.isfinite(estimate):
        return finding, statement, math.nan, math.nan, math.nan, levels, "cannot tell"
    low, high = take_interval(draws)
    return finding, statement, float(estimate), low, high, levels, judge_interval(low, high, bound)


def _test_decline(agents, means, draws):
    easy, hard = _average(means, (1, 2)), _average(means, (3, 4))
    if easy is None or hard is None:
        yield _state(1, "scores fall from levels 1-2 to levels 3-4", None, None, LEVELS)
        return
    drop = easy - hard
    drop_draws = _average(draws, (1, 2)) - _average(draws, (3, 4))
    for at, agent in enumerate(agents):
        steps = np.array([means[level][at] for level in LEVELS])
        shape = "falls at each level" if (np.diff(steps) < 0).all() else "does not fall at each level"
        shape = shape if np.isfinite(steps).all() else "lacks a level"
        yield _state(1, f"{agent}: levels 1-2 minus levels 3-4 ({shape})", drop[at], drop_draws[:, at], LEVELS)
    whole = np.isfinite(drop)
    if not whole.any():
        yield _state(1, "mean over agents: levels 1-2 minus levels 3-4", None, None, LEVELS)
        return
    mean_draws = drop_draws[:, whole].mean(axis=1)
    yield _state(1, "mean over agents: levels 1-2 minus levels 3-4", drop[whole].mean(), mean_draws, LEVELS)


def _test_base(sets, means, draws):
    bar = papers.get_constant("futurex", "levels12_base_score")
    statement = f"base models score about {bar} or more on levels 1-2 (mean of {len(sets['base'])} base models)"
    easy = _average(means, (1, 2))
    if easy is None or not len(sets["base"]):
        return _state(2, statement, None, None, (1, 2))
    base_draws = _average(draws, (1, 2))[:, sets["base"]].mean(axis=1)
    return _state(2, statement, easy[sets["base"]].mean(), base_draws, (1, 2), bar)


def _test_search(sets, means, draws):
    count = f"{len(sets['search'])} search agents, {len(sets['base'])} base models"
    present = len(sets["base"]) and len(sets["search"])

    def gap(values):
        return values[..., sets["search"]].mean(axis=-1) - values[..., sets["base"]].mean(axis=-1)

    gaps = {level: gap(means[level]) for level in means} if present else {}
    gap_draws = {level: gap(draws[level]) for level in draws} if present else {}
    for level in LEVELS:
        statement = f"level {level}: search minus base ({count})"
        yield _state(3, statement, gaps.get(level), gap_draws.get(level), (level,))
    growth = growth_draws = None
    if present and len(gaps) == len(LEVELS):
        growth = _average(gaps, (3, 4)) - _average(gaps, (1, 2))
        growth_draws = _average(gap_draws, (3, 4)) - _average(gap_draws, (1, 2))
    yield _state(
        3, f"search minus base is larger on levels 3-4 than on levels 1-2 ({count})", growth, growth_draws, LEVELS
    )


def _test_best(agents, means, draws):
    easy, hard = _average(means, (1, 2)), _average(means, (3, 4))
    general = "the best agent on levels 1-2 is beaten on levels 3-4"
    if easy is None or hard is None or np.isfinite(easy + hard).sum() < 2:
        return _state(4, f"{general} (needs two agents with all four levels)", None, None, LEVELS)
    whole = np.isfinite(easy + hard)
    first, second = (int(np.argmax(np.where(whole, side, -np.inf))) for side in (easy, hard))
    if first == second:
        return 4, f"{general}: {agents[first]} is best on both", 0.0, math.nan, math.nan, LEVELS, "fails"
    lead = _average(draws, (3, 4))
    statement = f"{general}: {agents[second]} minus {agents[first]} on levels 3-4"
    return _state(4, statement, hard[second] - hard[first], lead[:, second] - lead[:, first], LEVELS)
