"""Difficulty: the overall score over levels, and FutureX's finding that scores fall with the level,
as statements (4.1, 4.2).

Differences are paired by event; intervals and tests are clustered by source
(`means.summarize_clustered`).
"""

import itertools
import math

import pandas as pd

from helpers import papers
from helpers.means import (
    ENDS,
    MIN_CLUSTERS,
    describe_agents,
    find_clusters,
    summarize_clustered,
)
from helpers.paired import compute_mde, judge_family, sign_flip_test
from helpers.scores import add_up, build_matrix, select_headline
from helpers.tables import LEVELS


def weigh_levels(n_by_level, weights, min_events):
    """Return the weights of the levels with `min_events` events or more, adding up to 1, and a note
    on what changed.

    >>> weigh_levels({1: 10, 3: 30, 4: 30}, [0.1, 0.2, 0.3, 0.4], 25)[1]
    'level 1 (10 events) and level 2 (0 events) left out, weights 3: 0.43, 4: 0.57'
    """
    n = {level: n_by_level.get(level, 0) for level in LEVELS}
    full = dict(zip(LEVELS, weights, strict=True))
    kept = {level: weight for level, weight in full.items() if n[level] >= min_events}
    if not kept:
        return {}, f"no level has {min_events} events: see the means by level and kind"
    if kept == full:
        return kept, ""
    whole = add_up(kept.values())
    kept = {level: weight / whole for level, weight in kept.items()}
    gone = " and ".join(f"level {at} ({n[at]} events)" for at in LEVELS if at not in kept)
    left = ", ".join(f"{level}: {weight:.2f}" for level, weight in kept.items())
    return kept, f"{gone} left out, weights {left}"


def combine_overall(scores, events):
    """Return each agent's overall score, level means weighted 0.1, 0.2, 0.3, 0.4 (FutureX 4.1),
    best first.

    `bound_overall` under the paper's names: agent_id, overall, low, high, n, n_clusters, n_asked,
    coverage, overall_imputed (missing predictions count 0), overall_note.
    """
    names = {"mean": "overall", "mean_imputed": "overall_imputed", "note": "overall_note"}
    table = bound_overall(scores, events, find_clusters(events)[0]).rename(columns=names)
    ends = "overall low high n n_clusters n_asked coverage overall_imputed overall_note"
    table = table[["agent_id", *ends.split()]]
    return table.sort_values(["overall", "agent_id"], ascending=[False, True], ignore_index=True)


def bound_overall(scores, events, clusters):
    """Return each agent's overall score (FutureX 4.1), its interval by cluster and beside it by
    event.

    A row an agent, in the columns of `means.tabulate_groups` (group "overall"), and `note`. Levels
    with fewer scored events than the paper's least give their weight to the others. An agent that
    was asked fewer than that in a level that counts, or predicted none, has no overall, and `note`
    says so.
    """
    rows = select_headline(scores, events)
    weights = papers.get_constant("futurex", "level_weights")
    least = papers.get_constant("futurex", "min_events_per_level")
    used, note = weigh_levels(rows.groupby("level")["event_id"].nunique().to_dict(), weights, least)
    rows = rows[rows["level"].isin(used)] if used else rows
    agents = sorted(rows["agent_id"].unique())
    matrix, imputed = (build_matrix(rows, agents, column) for column in ("score", "score_imputed"))
    level = rows.drop_duplicates("event_id").set_index("event_id")["level"]
    strata = [(weight, level.index[level == at]) for at, weight in used.items()] or [
        (math.nan, matrix.index)
    ]
    table = describe_agents(matrix, imputed, clusters, strata).assign(
        group="overall", name="", note=note
    )
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


EASY, HARD = papers.get_constant("futurex", "level_pairs")
"""The paper speaks of levels 1 and 2 (Figure 9) and of levels 3 and 4 (Figure 10) together."""
FALL = dict.fromkeys(EASY, 0.5) | dict.fromkeys(HARD, -0.5)
"""What is added up: level -> weight of its mean."""
CHANCE = "random"
"""The agent that guesses. Levels differ in what guessing earns, so a fall counts in score minus
this agent's."""


def score_matrix(scores, events):
    """Return (matrix of headline scores, event x agent; level and cluster of each event)."""
    rows = select_headline(scores, events)
    level = rows.drop_duplicates("event_id").set_index("event_id")["level"]
    return build_matrix(rows, sorted(rows["agent_id"].unique())), level, find_clusters(events)[0]


def describe_differences(differences, clusters, strata=None):
    """Return n, n_clusters, difference, low, high, p, mde of differences by event.

    Below ten clusters p is the exact sign-flip test's and there is no interval; `mde` is the
    minimum detectable effect, blank where nothing varies. What is in several of `strata`
    (`summarize_clustered`) is left out of all.

    >>> found = describe_differences(pd.Series([0.5, 0.5, 0.5]), None)
    >>> found["n"], found["p"], bool(math.isnan(found["low"]))
    (3, 0.25, True)
    """
    known = differences.dropna()
    if known.empty:
        blank = dict.fromkeys("difference low high p mde".split(), math.nan)
        return {"n": 0, "n_clusters": 0} | blank
    found = summarize_clustered(known.to_frame(), clusters, strata).iloc[0]
    n_clusters = int(found["n_clusters"])
    row = {"n": len(known), "n_clusters": n_clusters, "difference": found["mean"]}
    row |= found[["low", "high", "p"]].to_dict()
    row["mde"] = compute_mde(found["se"], n_clusters) if row["p"] >= 0 else math.nan
    if strata is None and n_clusters < MIN_CLUSTERS:
        row["p"] = sign_flip_test(known, clusters)
    return row


def test_level_drops(scores, events, averaged):
    """Return finding 1 (4.2) as statements: scores fall from levels 1-2 to 3-4, above what `CHANCE`
    earns there.

    First the mean over the agents in `averaged`, whole and by step; then each agent that was asked
    the paper's least number of events in every level; last `CHANCE` itself. Columns finding,
    statement, estimate, low, high, p, p_holm, mde, n, n_clusters, verdict. Intervals and tests are
    clustered by source.
    """
    matrix, level, clusters = score_matrix(scores, events)
    least = papers.get_constant("futurex", "min_events_per_level")
    matrix = matrix.loc[:, matrix.groupby(level).count().ge(least).all()]
    above = matrix.drop(columns=CHANCE).sub(matrix[CHANCE], axis=0)
    mean = above.loc[:, above.columns.isin(averaged)].mean(axis=1, skipna=False)
    whole = "levels 1-2 minus levels 3-4"
    parts = [(f"mean over agents: {whole}, above chance", mean, FALL)]
    for first, second in itertools.pairwise(LEVELS):
        statement = f"mean over agents: level {first} minus level {second}, above chance"
        parts.append((statement, mean, {first: 1.0, second: -1.0}))
    parts += [(f"{agent}: {whole}, above chance", above[agent], FALL) for agent in above]
    parts.append((f"{CHANCE} itself: {whole}", matrix[CHANCE], FALL))
    rows = []
    for statement, values, weights in parts:
        strata = [(weight, level.index[level == at]) for at, weight in weights.items()]
        known = values[level.reindex(values.index).isin(weights)]
        rows.append(
            {"finding": 1, "statement": statement} | describe_differences(known, clusters, strata)
        )
    table = judge_family(pd.DataFrame(rows)).rename(columns={"difference": "estimate"})
    return table["finding statement estimate low high p p_holm mde n n_clusters verdict".split()]
