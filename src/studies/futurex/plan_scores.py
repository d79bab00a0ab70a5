"""Plans as judges and readers get them, who scores them, and what they explain of the score
(FutureX 4.5.2).

The judge is a model; the reader did not see the plans' writers (`helpers.agreement`). A regression
holds plans and the work after them against the score (Figure 13).
"""

import itertools

import numpy as np
import pandas as pd
import statsmodels.api as sm

from daybefore.models.grammars import make_schema
from daybefore.models.judges import anonymise
from daybefore.prompts import read_prompt
from helpers import papers
from helpers.agreement import READINGS, compare_scores, judge_fit
from helpers.files import hash_text, locate_input, parse_object
from helpers.input_faults import read_sheet
from helpers.means import MIN_CLUSTERS
from helpers.paired import compute_mde
from studies.futurex.effort import is_opening, is_search

RUBRICS = {
    "comprehensiveness": "it names the particular facts, dates and risks that decide the outcome; general words: "
    "near 0",
    "source_reliability": "it names sources that are real and trustworthy; none named, or social media: near 0",
    "plan_actionability": "its steps are specific and can be done as written; a plan that states its answer: 0",
}
"""What a plan is scored on, and how judges and readers are told."""

MAX_REASON = 120
"""Longest reason of a judge, in characters."""
COLUMNS = ["effect", "p", "low", "high", "mde"]
PLAN_SCORES = [
    papers.get_constant("futurex", "plan_score_low"),
    papers.get_constant("futurex", "plan_score_high"),
]
"""Lowest and highest score of a criterion (FutureX 4.5.2)."""
N_JUDGEMENTS = papers.get_constant("futurex", "plan_judgements")

FAMILIES = ["qwen", "qwen2.5", "qwen2.5-coder", "smollm", "smollm2", "smollm2-135m"]
"""Names by which the kit's own planners may call themselves."""


def list_plans(trials, events, names=()):
    """Return the plans of trials for judges, event by event: plan_id, planner (the arm), event_id,
    question, plan.

    A `plan_id` tells nothing of its writer, and the plans of one event stand in its order. Where
    `names` of planners or `FAMILIES` stand in a text it says model-i (FutureX 4.5.2).
    """
    plans = events[["event_id", "prompt"]].merge(trials.dropna(subset="plan"), on="event_id")
    groups = [FAMILIES, *([name, name.split("/")[-1]] for name in names)]
    made = pd.DataFrame(
        {
            "plan_id": [hash_text(f"{row.event_id} {row.arm}", 8) for row in plans.itertuples()],
            "planner": plans["arm"],
            "event_id": plans["event_id"],
            "question": [anonymise(text.split("\n")[0], groups) for text in plans["prompt"]],
            "plan": [anonymise(text.strip(), groups) for text in plans["plan"]],
        }
    )
    places = pd.factorize(made["event_id"])[0]
    order = np.lexsort([made["plan_id"].to_numpy(str), places])
    return made.iloc[order].reset_index(drop=True)


def build_request(question, plan, criterion, shown):
    """Return a judge's prompt for one criterion, all of them `shown` in this order, and the schema
    of its reply."""
    low, high = PLAN_SCORES
    prompt = read_prompt("judge_criterion").format(
        question=question,
        plan=plan,
        criteria="\n".join(f"- {name}: {RUBRICS[name]}" for name in shown),
        criterion=criterion,
        low=low,
        high=high,
    )
    reason = {"type": "string", "maxLength": MAX_REASON}
    score = {"type": "integer", "minimum": low, "maximum": high}
    return prompt, make_schema(reason=reason, score=score)


def judge_plans(plans, consult, judge, readings=READINGS[:N_JUDGEMENTS]):
    """Return a judge's judgements of plans (`list_plans`), a row a plan, reading and criterion, one
    call each.

    Columns plan_id, judge, reading, rubric, score (blank: missing). Readings are
    `agreement.READINGS`: criteria as drawn by the plan's name, reversed, and once more by
    temperature. A plan's calls follow each other, so that a local model reads its text once.
    """
    rows = []
    for plan in plans.itertuples():
        order = sorted(RUBRICS, key=lambda name: hash_text(f"{plan.plan_id} {name}", 8))
        for at, (reading, name) in enumerate(itertools.product(readings, order)):
            shown = order[::-1] if reading == READINGS[1] else order
            request = build_request(plan.question, plan.plan, name, shown)
            verdict = consult(*request, int(reading == READINGS[2]), is_continued=at > 0)
            rows.append((plan.plan_id, judge, reading, name, (verdict.value or {}).get("score")))
    made = pd.DataFrame(rows, columns=["plan_id", "judge", "reading", "rubric", "score"])
    return made.astype({"score": float})


SHEET = "data/planning/plans.csv"
LABELS = "data/planning/labels.csv"
NEEDS = ("plan_id", "criterion", "score", "label_by")
READERS = ("person", "program", "language model")


def read_labels(plans):
    """Return a reader's labels of these very plans, a table plan x criterion; empty where there are
    none.

    A label counts where the plan stands in the sheet that was read as it stands in `plans`. Raises
    Problems, naming row and column, for what is no score, criterion or reader, and for a pair that
    stands twice.
    """
    low, high = PLAN_SCORES
    words = {
        "criterion": tuple(RUBRICS),
        "score": tuple(map(str, range(low, high + 1))),
        "label_by": READERS,
    }
    keys = {"filled": NEEDS, "key": ["plan_id", "criterion"], "words": words}
    table = read_sheet(locate_input(LABELS), NEEDS, **keys).astype({"score": float})
    read = pd.read_csv(locate_input(SHEET), keep_default_na=False)
    table = table.merge(read.merge(plans, on=["plan_id", "plan"])[["plan_id"]], on="plan_id")
    return table.pivot(index="plan_id", columns="criterion", values="score").reindex(
        columns=list(RUBRICS)
    )


def spread_scores(judgements, judge, reading=READINGS[0]):
    """Return a judge's scores as a table plan x criterion (blank: not judged)."""
    part = judgements[(judgements["judge"] == judge) & (judgements["reading"] == reading)]
    wide = part.pivot(index="plan_id", columns="rubric", values="score")
    return wide.reindex(columns=list(RUBRICS)).rename_axis(columns=None)


def rate_judges(judgements, labels, rng, n_boot=2000, *, clusters=None, is_fresh=False):
    """Return how each judge's readings agree with a reader's labels, a row a judge, reading and
    criterion.

    n, n_rarer (plans without the commonest label), kappa (quadratic weights) and spearman with 95%
    intervals from drawing plans (or whole events, `clusters`), and the verdict on judge and
    criterion (`agreement.judge_fit`).
    """
    parts = []
    for judge in judgements["judge"].unique():
        for reading in READINGS:
            read = spread_scores(judgements, judge, reading)
            found = compare_scores(read, labels, rng, n_boot, clusters)
            parts.append(found.assign(judge=judge, reading=reading))
    rated = []
    for _, part in pd.concat(parts).groupby(["judge", "rubric"], sort=False):
        rated.append(part.assign(verdict=judge_fit(part.to_dict("records"), is_fresh=is_fresh)))
    return pd.concat(rated, ignore_index=True)


WORK = ("n_tool_calls", "search_think_length", "manager_think_length")
"""Of a trial or run: calls of tools, and tokens that the searcher and the planner wrote."""

FACTORS = ("n_tool_calls", "source_reliability", "comprehensiveness")
FACTORS += ("search_think_length", "plan_actionability", "manager_think_length")
"""What the paper regresses the score on, in the order of Figure 13."""


def read_research(traces):
    """Return what research agents planned and did: event_id, arm (the agent), plan, and its
    `WORK`."""
    rows = traces.rename(columns={"agent_id": "arm"})
    turns = rows[rows["step_type"] == "model"]
    tokens = turns.pivot_table("n_output_tokens", ["event_id", "arm"], "actor", "sum", fill_value=0)
    made = tokens.reindex(columns=["manager", "search"], fill_value=0)
    made.columns = ["manager_think_length", "search_think_length"]
    is_call = is_search(rows["tool"]) | is_opening(rows["tool"])
    made["n_tool_calls"] = is_call.groupby([rows["event_id"], rows["arm"]]).sum()
    surveys = rows[rows["step_type"] == "plan"].set_index(["event_id", "arm"])["content"]
    return made.join(surveys.map(format_plan).rename("plan")).reset_index()


def format_plan(content):
    """Return a survey of facts with its plan (JSON) as a text of numbered steps; what is none as it
    is.

    >>> format_plan('{"facts_given": "a date", "plan": ["Search.", "Answer."]}')
    'facts_given: a date\\n1. Search.\\n2. Answer.'
    """
    survey = parse_object(content)
    steps = survey.pop("plan", [])
    lines = [f"{name}: {text}" for name, text in survey.items()]
    lines += [f"{at}. {step}" for at, step in enumerate(steps, 1)]
    return "\n".join(lines) or content


def build_rows(trials, plans, judged, matrix, clusters):
    """Return a row a plan for the regression: `FACTORS`, planner, event_id, cluster, score (a
    missing forecast as 0).

    `judged`: a table plan x criterion; `matrix`: scores, event x planner; `clusters` maps events to
    theirs.
    """
    key = ["event_id", "planner"]
    work = trials.rename(columns={"arm": "planner"})[[*key, *WORK]]
    rows = plans[["plan_id", *key]].merge(work, on=key, validate="one_to_one")
    rows = rows.join(judged, on="plan_id").join(matrix.stack().rename("score"), on=key)
    rows["cluster"] = rows["event_id"].map(clusters)
    return rows.astype(dict.fromkeys([*FACTORS, "score"], float))


def fit_plans(rows):
    """Regress scores on z-scored factors (FutureX 4.5.2, Figure 13); errors are clustered by
    `cluster`.

    Returns a table (factor, effect, p, low, high (CR1, t with G - 1 degrees of freedom; blank below
    `MIN_CLUSTERS`), mde) and the fit's facts: n, n_events, n_clusters, r2, r2_chance (expected when
    nothing matters). A factor that does not vary is blank; all are where the rows cannot tell the
    factors apart.
    """
    rows = rows.dropna(subset=[*FACTORS, "score"])
    n_clusters = rows["cluster"].nunique()
    facts = {"n": len(rows), "n_events": rows["event_id"].nunique(), "n_clusters": n_clusters}
    x = rows[list(FACTORS)]
    x = x.loc[:, x.nunique() > 1]
    x = ((x - x.mean()) / x.std()).assign(const=1.0)
    n, n_coefs = x.shape
    table = pd.DataFrame(index=pd.Index(FACTORS, name="factor"), columns=COLUMNS, dtype=float)
    facts |= {"r2": np.nan, "r2_chance": np.nan}
    if n > n_coefs and n_clusters > 1 and np.linalg.matrix_rank(x) == n_coefs:
        groups = pd.factorize(rows["cluster"])[0]
        by_cluster = {"cov_type": "cluster", "cov_kwds": {"groups": groups}, "use_t": True}
        fit = sm.OLS(rows["score"], x).fit(**by_cluster)
        table["effect"] = fit.params
        if n_clusters >= MIN_CLUSTERS:
            ends = fit.conf_int().set_axis(["low", "high"], axis=1)
            tested = ends.assign(p=fit.pvalues, mde=compute_mde(fit.bse, n_clusters))
            table.update(tested)
        facts |= {"r2": fit.rsquared, "r2_chance": (n_coefs - 1) / (n - 1)}
    return table.reset_index(), facts
