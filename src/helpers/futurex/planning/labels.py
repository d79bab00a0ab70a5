"""Labels of plans by a reader, and how far judges agree with them (definitions of fit: `stats.agreement`).

The reader gets plans without their writers, with the criteria as judges have them, and scores each by each: who read
stands in `label_by` (person, program or language model).
"""

import pandas as pd

from helpers.faults import read_sheet
from helpers.futurex.planning.plans import PLAN_SCORES, RUBRICS
from helpers.stats.agreement import READINGS, compare_scores, judge_fit
from helpers.stats.means import keep_on_scale, summarize_clustered
from helpers.stats.paired import compare_pairs, correct_holm
from helpers.store import locate_input

SHEET, LABELS = "data/planning/plans.csv", "data/planning/labels.csv"
NEEDS = ("plan_id", "criterion", "score", "label_by")
READERS = ("person", "program", "language model")
N_LABELLED = 30
"""Plans that a reader gets, as many as a verdict on a judge needs (`agreement.MIN_CASES`)."""


def choose_sheet(plans, n=N_LABELLED):
    """Return what a reader gets of the first `n` plans: plan_id, question, plan, in an order drawn by their names."""
    return plans.head(n).sort_values("plan_id")[["plan_id", "question", "plan"]].reset_index(drop=True)


def read_labels(plans):
    """Return a reader's labels of these very plans, a table plan x criterion, and who read; empty where there are none.

    A label counts where the plan stands in the sheet that was read as it stands in `plans`: another planner's, under
    the same name, was not read. Raises Problems, naming row and column, for a score that is no whole number from 0 to
    10, a criterion or a reader that is not known, and a pair of plan and criterion that stands twice.
    """
    none = pd.DataFrame(columns=list(RUBRICS), index=pd.Index([], name="plan_id"), dtype=float)
    try:
        path, read = locate_input(LABELS), pd.read_csv(locate_input(SHEET), keep_default_na=False)
    except FileNotFoundError:
        return none, "nobody"
    low, high = PLAN_SCORES
    words = {"criterion": tuple(RUBRICS), "score": tuple(map(str, range(low, high + 1))), "label_by": READERS}
    table = read_sheet(path, NEEDS, filled=NEEDS, key=["plan_id", "criterion"], words=words)
    same = read.merge(plans, on=["plan_id", "plan"])["plan_id"]
    table = table[table["plan_id"].isin(same)]
    if table.empty:
        return none, "nobody"
    wide = table.astype({"score": float}).pivot(index="plan_id", columns="criterion", values="score")
    return wide.reindex(columns=list(RUBRICS)), ", ".join(sorted(table["label_by"].unique()))


def spread_scores(judgements, judge, reading=READINGS[0]):
    """Return a judge's scores as a table plan x criterion (blank: not judged), with their mean where all are there."""
    part = judgements[(judgements["judge"] == judge) & (judgements["reading"] == reading)]
    wide = part.pivot(index="target_id", columns="rubric", values="score").reindex(columns=list(RUBRICS))
    return wide.assign(mean=wide.mean(axis=1, skipna=False)).rename_axis(index="plan_id", columns=None)


def average_plans(plans, scores, clusters, planners):
    """Return the means of planners' plans by criterion, and of the criteria's mean: planner, rubric, score, low, high,
    n, n_clusters (`summarize_clustered`; intervals stay between the lowest and the highest score).

    `plans`: plan_id, planner, event_id; `scores`: a judge's table (`spread_scores`); planners in the order given.
    """
    scored = plans.join(scores, on="plan_id").set_index("event_id")
    parts = {}
    for name in planners:
        means = summarize_clustered(scored.loc[scored["planner"] == name, scores.columns], clusters)
        parts[name] = keep_on_scale(means, *PLAN_SCORES)
    table = pd.concat(parts, names=["planner", "rubric"]).reset_index().rename(columns={"mean": "score"})
    return table["planner rubric score low high n n_clusters".split()]


def rate_judges(judgements, labels, rng, n_boot=2000, *, clusters=None, rules=("rules",), is_fresh=False):
    """Return how each judge's readings agree with a reader's labels, a row a judge, reading and criterion.

    n, n_rarer (plans without the commonest label), kappa (quadratic weights) and spearman with 95% intervals from
    drawing plans anew (or, whole, the events to which `clusters` maps them), and the verdict on judge and criterion,
    one for its readings (`agreement.judge_fit`).
    """
    rows = []
    for judge in judgements["judge"].unique():
        readings = READINGS[:1] if judge in rules else READINGS
        read = {name: spread_scores(judgements, judge, name)[list(RUBRICS)] for name in readings}
        found = {
            name: compare_scores(table, labels, rng, ("kappa", "spearman"), n_boot, clusters)
            for name, table in read.items()
        }
        table = pd.concat(found, names=["reading"]).reset_index("reading").assign(judge=judge)
        shared = {name: labels.loc[labels.index.isin(part.dropna(how="all").index)] for name, part in read.items()}
        table["n_rarer"] = [count_rarer(shared[row.reading][row.rubric]) for row in table.itertuples()]
        for _, part in table.groupby("rubric", sort=False):
            verdict = judge_fit(part.to_dict("records"), is_fresh=is_fresh, is_rule=judge in rules)
            rows.append(part.assign(verdict=verdict))
    columns = "judge rubric reading n n_rarer kappa kappa_low kappa_high spearman spearman_low spearman_high verdict"
    return pd.concat(rows, ignore_index=True)[columns.split()]


def compare_planted(judgements, plans, clusters, better="sourced", other="own", criterion="source_reliability"):
    """Return, by judge, by how much plans that were told to be better in a criterion are scored above the others.

    Paired by event, intervals by `clusters`, p by Holm over the judges (`compare_pairs`); empty without any pair.
    """
    rows = []
    for judge in judgements["judge"].unique():
        scores = plans.join(spread_scores(judgements, judge)[criterion], on="plan_id")
        wide = scores.pivot(index="event_id", columns="planner", values=criterion).reindex(columns=[better, other])
        if len(wide.dropna()) > 1:
            rows.append(compare_pairs(wide.dropna(), clusters).assign(judge=judge))
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["judge", "p"])
    return table.assign(p_holm=correct_holm(table["p"]))


def count_rarer(labels):
    """Return how many labels are not the commonest one.

    >>> count_rarer(pd.Series([5.0, 5.0, 7.0])), count_rarer(pd.Series([], dtype=float))
    (1, 0)
    """
    counts = labels.value_counts()
    return int(counts.sum() - counts.max()) if len(counts) else 0
