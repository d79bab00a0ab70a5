"""Plans as judges and readers get them, who scores them, and what they explain of the score
(FutureX 4.5.2).

The judges are a model and counts by rule; the reader did not see the plans' writers
(`helpers.agreement`). A regression holds plans and the work after them against the score (Figure
13).
"""

import itertools
import re

import numpy as np
import pandas as pd
import statsmodels.api as sm

from daybefore.models.grammars import make_schema
from daybefore.models.judges import anonymise
from daybefore.prompts import read_prompt
from helpers import papers
from helpers.agreement import READINGS, compare_scores, judge_fit
from helpers.calendar import MONTHS
from helpers.faults import read_sheet
from helpers.files import hash_text, locate_input, parse_object
from helpers.means import MIN_CLUSTERS
from helpers.paired import compute_mde
from studies.futurex.usage import is_opening, is_search

RUBRICS = {
    "comprehensiveness": "it names the particular facts, dates and risks that decide the outcome; general words: "
    "near 0",
    "source_reliability": "it names sources that are real and trustworthy; none named, or social media: near 0",
    "plan_actionability": "its steps are specific and can be done as written; a plan that states its answer: 0",
}
"""What a plan is scored on, and how judges and readers are told."""

MAX_REASON = 120
"""Longest reason of a judge, in characters."""
PLAN_SCORES = (
    papers.get_constant("futurex", "plan_score_low"),
    papers.get_constant("futurex", "plan_score_high"),
)
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
    plans = trials.dropna(subset="plan").merge(
        events[["event_id", "prompt"]], on="event_id", validate="many_to_one"
    )
    groups = [FAMILIES, *([name, name.split("/")[-1]] for name in names)]
    plans["plan"] = [anonymise(text.strip(), groups) for text in plans["plan"]]
    plans["question"] = [anonymise(prompt.split("\n")[0], groups) for prompt in plans["prompt"]]
    plans["plan_id"] = [hash_text(f"{row.event_id} {row.arm}", 8) for row in plans.itertuples()]
    plans["order"] = plans["event_id"].map(
        {event: at for at, event in enumerate(events["event_id"])}
    )
    plans = plans.sort_values(["order", "plan_id"], ignore_index=True).rename(
        columns={"arm": "planner"}
    )
    return plans[["plan_id", "planner", "event_id", "question", "plan"]]


def build_request(question, plan, criterion, shown):
    """Return a judge's prompt for one criterion, all of them `shown` in this order, and the schema
    of its reply."""
    criteria = "\n".join(f"- {name}: {RUBRICS[name]}" for name in shown)
    low, high = PLAN_SCORES
    reason = {"type": "string", "maxLength": MAX_REASON}
    score = {"type": "integer", "minimum": low, "maximum": high}
    blanks = {"question": question, "plan": plan, "criteria": criteria, "criterion": criterion}
    prompt = read_prompt("judge_criterion").format(**blanks, low=low, high=high)
    return prompt, make_schema(reason=reason, score=score)


def judge_plans(plans, consult, judge, readings=READINGS[:N_JUDGEMENTS]):
    """Return a judge's judgements of plans (`list_plans`), a row a plan, reading and criterion, one
    call each.

    Columns plan_id, judge, reading, rubric, score (blank: missing). Readings are
    `agreement.READINGS`: criteria as drawn by the plan's name, reversed, and once more by
    temperature. A plan's calls follow each other, so that a local model reads its text once.
    """
    rows = []
    for plan in plans.to_dict("records"):
        order = sorted(
            RUBRICS, key=lambda criterion: hash_text(f"{plan['plan_id']} {criterion}", 8)
        )
        for at, (reading, name) in enumerate(itertools.product(readings, order)):
            shown = order[::-1] if reading == READINGS[1] else order
            request = build_request(plan["question"], plan["plan"], name, shown)
            verdict = consult(*request, int(reading == READINGS[2]), is_continued=at > 0)
            rows.append((plan["plan_id"], judge, reading, name, (verdict.value or {}).get("score")))
    return pd.DataFrame(rows, columns=["plan_id", "judge", "reading", "rubric", "score"]).astype(
        {"score": float}
    )


MONTH = f"(?:{'|'.join(map(str.title, MONTHS))})"
DATE = re.compile(rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}} {MONTH}(?: \d{{4}})?|{MONTH} \d{{4}})\b")
"""The forms that the rule judge counts, fewer than `calendar.find_dates` reads: other forms would
be another judge."""
NAME = re.compile(r"(?<=[\w,;()'] )(?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)*|\w+://[^\s)]+")
UNVETTED = re.compile(
    r"\b(?:twitter|reddit|facebook|social media|forums?|blogs?|tiktok)\b", re.IGNORECASE
)
RISK = re.compile(
    r"\b(?:risks?|unless|revis\w+|delay\w*|holidays?|storms?|injur\w+|surpris\w+|uncertain\w*|could|misse?s?)\b",
    re.I,
)
EARLY = re.compile(
    r"\b(?:the answer is|answer:|final answer|i predict|hence the|therefore|so (?:it|the) .{0,40}will)",
    re.I,
)


def judge_by_rules(question, plan):
    """Return the rule judge's scores of a plan by criterion, clipped to 0..10: only counts.

    comprehensiveness: steps of which half the words are new, risks and dates; source_reliability:
    three a source (a capitalised name, not at the start of a sentence, no month, not in the
    question, or an address), less three a kind of social media; plan_actionability: two a step with
    a number, a date or such a name, and one; 0 for a plan that gives its answer.
    """
    steps = re.findall(r"^\d+\. (.+)$", plan, re.MULTILINE)
    names = {name for name in NAME.findall(DATE.sub("0", plan)) if name not in question}
    names = {name for name in names if not (UNVETTED.search(name) or re.fullmatch(MONTH, name))}
    seen = set()
    n_new = 0
    for step in steps:
        words = set(re.findall(r"[a-z]{4,}", step.lower()))
        n_new += len(words - seen) * 2 >= len(words)
        seen |= words
    n_concrete = sum(
        bool(re.search(r"\d", step)) or any(name in step for name in names) for step in steps
    )
    n_risks, n_unvetted = (
        len({word.lower() for word in found.findall(plan)}) for found in (RISK, UNVETTED)
    )
    scores = {
        "comprehensiveness": n_new + n_risks + len(set(DATE.findall(plan))),
        "source_reliability": 3 * (len(names) - n_unvetted),
        "plan_actionability": 0 if EARLY.search(plan) else 2 * n_concrete + 1,
    }
    low, high = PLAN_SCORES
    return {rubric: max(low, min(high, score)) for rubric, score in scores.items()}


def apply_rules(plans):
    """Return the rule judge's judgements of plans, in the form of `judge_plans`; the judge is named
    "rules"."""
    scores = pd.DataFrame(list(map(judge_by_rules, plans["question"], plans["plan"])), plans.index)
    table = scores.assign(plan_id=plans["plan_id"], judge="rules", reading=READINGS[0])
    return table.melt(["plan_id", "judge", "reading"], list(RUBRICS), "rubric", "score")


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
    read, (low, high) = pd.read_csv(locate_input(SHEET), keep_default_na=False), PLAN_SCORES
    words = {
        "criterion": tuple(RUBRICS),
        "score": tuple(map(str, range(low, high + 1))),
        "label_by": READERS,
    }
    table = read_sheet(
        locate_input(LABELS), NEEDS, filled=NEEDS, key=["plan_id", "criterion"], words=words
    )
    table = table[
        table["plan_id"].isin(read.merge(plans, on=["plan_id", "plan"])["plan_id"])
    ].astype({"score": float})
    return table.pivot(index="plan_id", columns="criterion", values="score").reindex(
        columns=list(RUBRICS)
    )


def spread_scores(judgements, judge, reading=READINGS[0]):
    """Return a judge's scores as a table plan x criterion (blank: not judged), with their mean
    where all are there."""
    part = judgements[(judgements["judge"] == judge) & (judgements["reading"] == reading)]
    wide = part.pivot(index="plan_id", columns="rubric", values="score").reindex(
        columns=list(RUBRICS)
    )
    return wide.assign(mean=wide.mean(axis=1, skipna=False)).rename_axis(columns=None)


def rate_judges(judgements, labels, rng, n_boot=2000, *, clusters=None, is_fresh=False):
    """Return how each judge's readings agree with a reader's labels, a row a judge, reading and
    criterion.

    n, n_rarer (plans without the commonest label), kappa (quadratic weights) and spearman with 95%
    intervals from drawing plans (or whole events, `clusters`), and the verdict on judge and
    criterion (`agreement.judge_fit`).
    """
    rows = []
    for judge in judgements["judge"].unique():
        parts = []
        for reading in READINGS[:1] if judge == "rules" else READINGS:
            read = spread_scores(judgements, judge, reading)[list(RUBRICS)]
            parts.append(
                compare_scores(read, labels, rng, n_boot, clusters).assign(
                    judge=judge, reading=reading
                )
            )
        for _, part in pd.concat(parts).groupby("rubric", sort=False):
            verdict = judge_fit(
                part.to_dict("records"), is_fresh=is_fresh, is_rule=judge == "rules"
            )
            rows.append(part.assign(verdict=verdict))
    columns = "judge rubric reading n n_rarer kappa kappa_low kappa_high spearman spearman_low spearman_high verdict"
    return pd.concat(rows, ignore_index=True)[columns.split()]


WORK = {
    "n_calls": "n_tool_calls",
    "n_query_tokens": "search_think_length",
    "n_plan_tokens": "manager_think_length",
}
"""Columns of trials, and the factors that they are: what the searcher and the planner wrote, in
tokens."""

FACTORS = ("n_tool_calls", "source_reliability", "comprehensiveness")
FACTORS += ("search_think_length", "plan_actionability", "manager_think_length")
"""What the paper regresses the score on, in the order of Figure 13."""

STAR_LEVELS = papers.get_constant("futurex", "planning_stars")
COLUMNS = "factor effect se p low high mde stars".split()


def read_research(traces):
    """Return what research agents planned and did: event_id, arm (the agent), plan, and its
    `WORK`."""
    rows = traces.rename(columns={"agent_id": "arm"}).set_index(["event_id", "arm"])
    turns = rows[rows["step_type"] == "model"].set_index("actor", append=True)["n_output_tokens"]
    tokens = turns.groupby(level=[0, 1, 2]).sum().unstack("actor", fill_value=0)
    tokens = tokens.reindex(columns=["manager", "search"], fill_value=0)
    tokens = tokens.rename(columns={"manager": "n_plan_tokens", "search": "n_query_tokens"})
    calls = (
        (is_search(rows["tool"]) | is_opening(rows["tool"]))
        .groupby(level=[0, 1])
        .sum()
        .rename("n_calls")
    )
    surveys = rows.loc[rows["step_type"] == "plan", "content"].map(format_plan).rename("plan")
    return tokens.join([calls, surveys]).reset_index()


def format_plan(content):
    """Return a survey of facts with its plan (JSON) as a text of numbered steps; what is none as it
    is.

    >>> format_plan('{"facts_given": "a date", "plan": ["Search.", "Answer."]}')
    'facts_given: a date\\n1. Search.\\n2. Answer.'
    """
    survey = parse_object(content)
    facts = [f"{name}: {text}" for name, text in survey.items() if name != "plan"]
    return (
        "\n".join([*facts, *(f"{at}. {step}" for at, step in enumerate(survey.get("plan", []), 1))])
        or content
    )


def build_rows(trials, plans, judged, matrix, clusters):
    """Return a row a plan for the regression: `FACTORS`, planner, event_id, cluster, score (a
    missing forecast as 0).

    `judged`: a table plan x criterion; `matrix`: scores, event x planner; `clusters` maps events to
    theirs.
    """
    work = trials.rename(columns={"arm": "planner"} | WORK)[["event_id", "planner", *WORK.values()]]
    rows = plans[["plan_id", "planner", "event_id"]].merge(
        work, on=["event_id", "planner"], validate="one_to_one"
    )
    rows = rows.join(judged[list(RUBRICS)], on="plan_id")
    score = matrix.stack().rename("score").rename_axis(["event_id", "planner"])
    rows = rows.join(score, on=["event_id", "planner"])
    rows["cluster"] = rows["event_id"].map(clusters)
    return rows.astype(dict.fromkeys([*FACTORS, "score"], float))


def fit_plans(rows):
    """Regress scores on z-scored factors (FutureX 4.5.2, Figure 13); errors are clustered by
    `cluster`.

    Returns a table (factor, effect, se (CR1), p, low, high (t, G - 1 degrees of freedom; blank
    below `MIN_CLUSTERS`), mde, stars) and the fit's facts: n, n_events, n_clusters, r2, r2_chance
    (expected when nothing matters). A factor that does not vary is blank; all are where the rows
    cannot tell the factors apart.
    """
    rows = rows.dropna(subset=[*FACTORS, "score"]).reset_index(drop=True)
    table = pd.DataFrame({"factor": FACTORS}).reindex(columns=COLUMNS)
    facts = {
        "n": len(rows),
        "n_events": rows["event_id"].nunique(),
        "n_clusters": rows["cluster"].nunique(),
    }
    x = rows[list(FACTORS)]
    x = x.loc[:, x.nunique() > 1]
    x = ((x - x.mean()) / x.std()).assign(const=1.0)
    n, n_coefs = x.shape
    if n <= n_coefs or facts["n_clusters"] < 2 or np.linalg.matrix_rank(x) < n_coefs:
        return table, facts | {"r2": np.nan, "r2_chance": np.nan}
    groups = pd.factorize(rows["cluster"])[0]
    fit = sm.OLS(rows["score"], x).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    part = pd.DataFrame({"effect": fit.params, "se": fit.bse, "p": fit.pvalues})
    part[["low", "high"]] = fit.conf_int()
    part["mde"] = compute_mde(part["se"], facts["n_clusters"])
    if facts["n_clusters"] < MIN_CLUSTERS:
        part[["se", "p", "low", "high", "mde"]] = np.nan
    part["stars"] = ["*" * sum(p < level for level in STAR_LEVELS) for p in part["p"]]
    facts |= {"r2": fit.rsquared, "r2_chance": (n_coefs - 1) / (n - 1)}
    return table[["factor"]].join(part, on="factor"), facts
