"""Scores by level and kind, the overall score, and FutureX's four findings on difficulty as statements (4.1, 4.2).

Intervals and tests are clustered by source (`means.summarize_clustered`).
"""

import itertools
import math

import pandas as pd

from helpers import papers
from helpers.means import ENDS, describe_agents, find_clusters, summarize_clustered
from helpers.paired import compute_mde, judge_family
from helpers.scores import add_up, build_matrix, select_headline
from helpers.tables import LEVELS, SEARCH_CATEGORIES


def weigh_levels(n_by_level, weights, min_events):
    """Return the weights of the levels with `min_events` events or more, adding up to 1, and a note on what changed.

    >>> weigh_levels({1: 10, 3: 30, 4: 30}, [0.1, 0.2, 0.3, 0.4], 25)[1]
    'level 1 (10 events) and level 2 (0 events) left out, weights 3: 0.43, 4: 0.57'
    """
    full = dict(zip(LEVELS, weights, strict=True))
    kept = {level: weight for level, weight in full.items() if n_by_level.get(level, 0) >= min_events}
    if not kept:
        return {}, f"no level has {min_events} events: see the means by level and kind"
    if len(kept) == len(full):
        return kept, ""
    whole = add_up(kept.values())
    kept = {level: weight / whole for level, weight in kept.items()}
    gone = " and ".join(f"level {level} ({n_by_level.get(level, 0)} events)" for level in full if level not in kept)
    return kept, f"{gone} left out, weights " + ", ".join(f"{level}: {weight:.2f}" for level, weight in kept.items())


def combine_overall(scores, events):
    """Return each agent's overall score, level means weighted 0.1, 0.2, 0.3, 0.4 (FutureX 4.1), best first.

    `bound_overall` under the paper's names: agent_id, overall, low, high, n, n_clusters, n_asked, coverage,
    overall_imputed (missing predictions count 0), overall_note.
    """
    names = {"mean": "overall", "mean_imputed": "overall_imputed", "note": "overall_note"}
    table = bound_overall(scores, events, find_clusters(events)[0]).rename(columns=names)
    ends = "overall low high n n_clusters n_asked coverage overall_imputed overall_note"
    table = table[["agent_id", *ends.split()]]
    return table.sort_values(["overall", "agent_id"], ascending=[False, True], ignore_index=True)


def bound_overall(scores, events, clusters):
    """Return each agent's overall score (FutureX 4.1), its interval by cluster and beside it by event.

    A row an agent, in the columns of `means.tabulate_groups` (group "overall"), and `note`. Levels with fewer scored
    events than the paper's least give their weight to the others. An agent that was asked fewer than that in a level
    that counts, or predicted none, has no overall, and `note` says so.
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
    table = describe_agents(matrix, imputed, clusters, strata).assign(group="overall", name="", note=note)
    n_predicted, n_asked = (part.groupby(level).count() for part in (matrix, imputed))
    for agent, at in itertools.product(agents, reversed(used)):  # the first level counts
        if not n_predicted[agent][at]:
            lack = f"nothing predicted in level {at}"
        elif (n := n_asked[agent][at]) < least:
            lack = f"{n} events in level {at}, fewer than {least}"
        else:
            continue
        table.loc[agent, ["mean", "mean_imputed", *ENDS]] = math.nan
        table.loc[agent, "note"] = "; ".join(filter(None, [note, f"no overall: {lack}"]))
    return table.reset_index()


LEVEL_PAIRS = {"-".join(map(str, pair)): tuple(pair) for pair in papers.get_constant("futurex", "level_pairs")}
"""The paper speaks of levels 1 and 2 (Figure 9) and of levels 3 and 4 (Figure 10) together."""

CHANCE = "random"
"""The agent that guesses. Levels differ in what guessing earns, so a fall counts in score minus this agent's."""

EASY, HARD = ({level: 1 / len(pair) for level in pair} for pair in LEVEL_PAIRS.values())
FALL = EASY | {level: -weight for level, weight in HARD.items()}
STEPS = {(high, low): {high: 1.0, low: -1.0} for high, low in itertools.pairwise(LEVELS)}
"""What is added up: level -> weight of its mean."""


def test_level_drops(scores, events, averaged):
    """Return finding 1 (4.2) as statements: scores fall from levels 1-2 to 3-4, above what `CHANCE` earns there.

    First the mean over the agents in `averaged`, whole and by step; then each agent that was asked the paper's least
    number of events in every level; last `CHANCE` itself. Columns finding, statement, estimate, low,
    high, p, p_holm, mde, n, n_clusters, verdict. Intervals and tests are clustered by source.
    """
    matrix, level, clusters = score_matrix(scores, events)
    least = papers.get_constant("futurex", "min_events_per_level")
    enough = matrix.groupby(level).count().ge(least).all()
    return judge_statements(list_falls(matrix.loc[:, enough], averaged), level, clusters)


def judge_models(scores, events, runs):
    """Return findings 2 to 4 (4.2) as statements, in the columns of `test_level_drops`.

    2: base models reach about 0.6 on levels 1-2. 3: search helps, and more so on levels 3-4. 4: the best agent on
    levels 1-2 is not the best on levels 3-4 (`test_best_agent_changes`), among the agents that predicted every event.
    """
    matrix, level, clusters = score_matrix(scores, events)
    category = runs.drop_duplicates("agent_id").set_index("agent_id")["category"].reindex(matrix.columns)
    has_all = matrix.groupby(level).count().gt(0).all()
    base = matrix.loc[:, category.eq("base_model") & has_all]
    search = matrix.loc[:, category.isin(SEARCH_CATEGORIES) & has_all]
    bar = papers.get_constant("futurex", "levels12_base_score")
    about = f"base models score about {bar} or more on levels 1-2 (mean of {base.shape[1]} base models)"
    parts = [(2, about, base.mean(axis=1), EASY, bar), *list_gains(base, search)]
    best = test_best_agent_changes(matrix.loc[:, matrix.notna().all()], level, clusters)
    return judge_statements(parts, level, clusters, [best])


def score_matrix(scores, events):
    """Return (matrix of headline scores, event x agent; level and cluster of each event)."""
    rows = select_headline(scores, events)
    level = rows.drop_duplicates("event_id").set_index("event_id")["level"]
    return build_matrix(rows, sorted(rows["agent_id"].unique())), level, find_clusters(events)[0]


def judge_statements(parts, level, clusters, more=()):
    """Return statements (`state_contrast`'s first five arguments each, and `more` rows) as one family (Holm)."""
    table = judge_family(pd.DataFrame([*(state_contrast(*part, level, clusters) for part in parts), *more]), "sign")
    return table["finding statement estimate low high p p_holm mde n n_clusters verdict".split()]


def state_contrast(finding, statement, values, weights, bound, level, clusters):
    """One statement: the weighted sum of the levels' means of some values by event, against a bound."""
    strata = [(weight, level.index[level == at]) for at, weight in weights.items()]
    known = values.reindex(level.index[level.isin(weights)]).to_frame("value")
    row = {"finding": finding, "statement": statement, "n": int(known["value"].notna().sum()), "n_clusters": 0}
    row |= dict.fromkeys("estimate low high p sign mde".split(), math.nan)
    if not all(known["value"].reindex(labels).notna().any() for _, labels in strata):
        return row | {"n": len(known)}
    found = summarize_clustered(known - bound, clusters, strata).iloc[0]
    row |= {"n_clusters": int(found["n_clusters"]), "p": found["p"], "sign": found["mean"]}
    row["mde"] = float(compute_mde(found["se"], row["n_clusters"]))
    return row | {name: found[end] + bound for name, end in (("estimate", "mean"), ("low", "low"), ("high", "high"))}


def list_falls(matrix, averaged):
    """Finding 1: (finding, statement, values by event, weights, bound), above chance where somebody guesses."""
    is_known = CHANCE in matrix
    above = matrix.sub(matrix[CHANCE], axis=0).drop(columns=CHANCE) if is_known else matrix
    which = "above chance" if is_known else "no guessing agent to compare with"
    mean = above.loc[:, above.columns.isin(averaged)].mean(axis=1, skipna=False)
    yield 1, f"mean over agents: levels 1-2 minus levels 3-4, {which}", mean, FALL, 0.0
    for (first, second), weights in STEPS.items():
        yield 1, f"mean over agents: level {first} minus level {second}, {which}", mean, weights, 0.0
    for agent in above:
        yield 1, f"{agent}: levels 1-2 minus levels 3-4, {which}", above[agent], FALL, 0.0
    if is_known:
        yield 1, f"{CHANCE} itself: levels 1-2 minus levels 3-4", matrix[CHANCE], FALL, 0.0


def list_gains(base, search):
    """Finding 3: on each event that both sides predicted, the search agents' mean minus the base models'."""
    count = f"{search.shape[1]} search agents, {base.shape[1]} base models"
    gap = search.mean(axis=1) - base.mean(axis=1)
    for at in LEVELS:
        yield 3, f"level {at}: search minus base ({count})", gap, {at: 1.0}, 0.0
    growth = {at: -weight for at, weight in FALL.items()}
    yield 3, f"search minus base is larger on levels 3-4 than on levels 1-2 ({count})", gap, growth, 0.0


def test_best_agent_changes(matrix, level, clusters):
    """Finding 4: it holds when each agent is beaten by some other on levels 1-2 or 3-4, fails when one beats all on
    both.

    The p of an agent's being beaten is Bonferroni's over all others and both sides. The estimate is what the best on
    levels 3-4 has there over the best on levels 1-2; so chosen, it has no interval.
    """
    has_all = matrix.groupby(level).count().gt(0).all()
    names = has_all.index[has_all].tolist() if set(LEVELS) <= set(level) else []
    general = "the best agent on levels 1-2 is beaten on levels 3-4"
    counts = {"n": len(matrix), "n_clusters": 0}
    blank = dict.fromkeys("estimate low high p sign".split(), math.nan)
    if len(names) < 2:
        statement = f"{general} (needs two agents with all four levels)"
        return {"finding": 4, "statement": statement, **blank, **counts}
    sides = [[(weight, level.index[level == at]) for at, weight in side.items()] for side in (EASY, HARD)]
    means = [sum(weight * matrix.loc[labels, names].mean() for weight, labels in side) for side in sides]
    first, second = (side.idxmax() for side in means)
    beaten = []
    beats = []
    for agent in names:
        gaps = matrix[names].drop(columns=agent).rsub(matrix[agent], axis=0)
        found = pd.concat([summarize_clustered(gaps, clusters, side) for side in sides])
        p = found["p"].fillna(1)
        is_ahead = found["mean"] > 0
        beaten.append(min(1.0, len(found) * p.where(~is_ahead, 1).min()))
        beats.append(p.where(is_ahead, 1).max())
    holds = max(beaten)
    fails = min(beats)
    who = f"{first} is first on both" if first == second else f"{second} minus {first} on levels 3-4"
    row = {"finding": 4, "statement": f"{general}: {who}", "n_clusters": int(found["n_clusters"].min())}
    row |= {"estimate": means[1][second] - means[1][first], "p": min(holds, fails), "sign": fails - holds}
    return counts | blank | row
