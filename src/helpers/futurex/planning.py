"""Plans of research agents: judged on three criteria, and what they and the work explain of the score (FutureX 4.5.2).

A judge is trusted only as far as it orders a calibration set of made-up plans of known quality. Errors of regressions
are clustered by event; whatever the rows cannot tell apart is left out and said to be unidentified.
"""

import re

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import linalg

from helpers import papers
from helpers.agents.research import read_plan, summarize_research
from helpers.estimates.regression import build_dummies
from helpers.models.judges import make_schema
from helpers.outcomes.scores import select_headline
from helpers.prompts import read_prompt

RUBRICS = {
    "comprehensiveness": "it names the particular facts, dates and risks that decide the outcome; general words: "
    "near 0",
    "source_reliability": "it names sources that are real and trustworthy; none named, or social media: near 0",
    "plan_actionability": "its steps are specific and can be done as written; a plan that states its answer: 0",
}
"""What a judge scores a plan on, and how it is told."""

MAX_REASON = 60
"""Longest reason of a judge, in characters."""

EFFORT = ["n_tool_calls", "search_think_length", "manager_think_length"]
FACTORS = (
    "n_tool_calls",
    "source_reliability",
    "comprehensiveness",
    "search_think_length",
    "plan_actionability",
    "manager_think_length",
)
"""What the paper regresses the score on, in the order of Figure 13."""

STAR_LEVELS = papers.get_constant("futurex", "planning_stars")
COLUMNS = "factor is_identified effect se p low high stars".split()


def write_plan(content):
    """Return a survey of facts with its plan as the text that judges read, None when `content` is none.

    >>> print(write_plan('{"facts_given": "a", "facts_to_look_up": "b", "facts_to_derive": "c", "plan": ["d", "e"]}'))
    Facts given: a
    Facts to look up: b
    Facts to derive: c
    Steps:
    1. d
    2. e
    """
    survey = read_plan(content)
    if survey is None:
        return None
    *facts, steps = survey.items()
    lines = [f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in facts]
    return "\n".join([*lines, "Steps:", *(f"{at}. {step}" for at, step in enumerate(steps[1], 1))])


def list_plans(traces, runs, events):
    """Return the plans in recorded traces, in the order of `events`.

    Columns: target_type, plan_id, run_id, agent_id, planner (model-i, in the texts too), event_id, question (the
    event's first line), plan (`write_plan`'s text, None for a reply that was no plan).
    """
    steps = traces.loc[traces["step_type"] == "plan", ["run_id", "event_id", "content"]]
    plans = steps.merge(runs[["run_id", "agent_id"]], on="run_id").merge(events[["event_id", "prompt"]], on="event_id")
    plans["order"] = plans["event_id"].map({event: at for at, event in enumerate(events["event_id"])})
    plans = plans.sort_values(["order", "agent_id"], ignore_index=True)
    planners = runs[runs["agent_id"].isin(plans["agent_id"])].drop_duplicates("agent_id").sort_values("agent_id")
    planners["short"] = planners["model"].str.split("/").str[-1]
    names = planners[["agent_id", "model", "short", "model_family"]].to_numpy(object)
    names = [[name for name in row if isinstance(name, str)] for row in names]
    label = {agent: f"model-{at}" for at, agent in enumerate(planners["agent_id"], 1)}
    plans["plan"] = [text and anonymise(text, names) for text in map(write_plan, plans["content"])]
    plans["question"] = [anonymise(prompt.split("\n")[0], names) for prompt in plans["prompt"]]
    plans = plans.assign(plan_id=plans["agent_id"] + " " + plans["event_id"], planner=plans["agent_id"].map(label))
    return plans.assign(target_type="plan")[
        ["target_type", "plan_id", "run_id", "agent_id", "planner", "event_id", "question", "plan"]
    ]


def anonymise(text, names):
    """Return a text with planners' names replaced by model-i, `i` the position in `names` (a list of lists of names).

    Longer names go first, whatever their case; a name inside a longer word stays (FutureX 4.5.2).

    >>> anonymise("Qwen2.5 asks GPT-4.1, not gpt-4.1-mini", [["GPT-4.1-mini"], ["gpt-4.1"], ["Qwen2.5", "qwen"]])
    'model-3 asks model-2, not model-1'
    """
    label = {name.lower(): f"model-{at}" for at, group in enumerate(names, 1) for name in group if name}
    if not label:
        return text
    longest = sorted(label, key=lambda name: (-len(name), name))
    pattern = r"(?<![\w-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w-])"
    return re.sub(pattern, lambda found: label[found.group().lower()], text, flags=re.IGNORECASE)


def build_request(question, plan, rubrics=tuple(RUBRICS)):
    """Return a judge's prompt and the schema of its reply: for each criterion, in this order, a reason and a score."""
    criteria = "\n".join(f"- {name}: {RUBRICS[name]}" for name in rubrics)
    verdict = make_schema(
        reason={"type": "string", "maxLength": MAX_REASON}, score={"type": "integer", "minimum": 0, "maximum": 10}
    )
    schema = make_schema(**dict.fromkeys(rubrics, verdict))
    return read_prompt("judge_plan").format(question=question, plan=plan, criteria=criteria), schema


def judge_plans(plans, consult, judge, *, rubrics=tuple(RUBRICS), repeats=(0,)):
    """Return a judge's judgements of plans (target_type, plan_id, question, plan), a row a criterion and repeat.

    `consult(prompt, schema, repeat)` is of `models.judges`. A verdict that is missing has a blank score, and its state
    as `status`.
    """
    rows = []
    for repeat in repeats:
        for plan in plans.to_dict("records"):
            verdict = consult(*build_request(plan["question"], plan["plan"], rubrics), repeat)
            target = {"target_type": plan["target_type"], "target_id": plan["plan_id"], "judge": judge}
            for rubric in rubrics:
                value = (verdict.value or {}).get(rubric, {})
                rows.append(target | {"rubric": rubric, "repeat": repeat, "status": verdict.status} | value)
    return pd.DataFrame(rows).reindex(columns=[*target, "rubric", "repeat", "status", "score", "reason"])


MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = re.compile(rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}} {MONTH}(?: \d{{4}})?|{MONTH} \d{{4}})\b")
NAME = re.compile(r"(?<=[\w,;()'] )(?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)*|\w+://[^\s)]+")
UNVETTED = re.compile(r"\b(?:twitter|reddit|facebook|social media|forums?|blogs?|tiktok)\b", re.IGNORECASE)
RISK = re.compile(
    r"\b(?:risks?|unless|revis\w+|delay\w*|holidays?|storms?|injur\w+|surpris\w+|uncertain\w*|could|misse?s?)\b", re.I
)
EARLY = re.compile(
    r"\b(?:the answer is|answer:|final answer|i predict|hence the|therefore|so (?:it|the) .{0,40}will)", re.I
)


def count_features(question, plan):
    """Return what the rule judge counts in a plan's text, as a dict.

    n_sources: distinct capitalised names (not at the start of a sentence, no month, not in the question) and addresses;
    n_unvetted: kinds of social media; n_steps: steps with at least half their words new; n_concrete: steps with a
    number, a date or such a name; n_risks, n_dates: distinct ones; n_early: phrases that give an answer.

    >>> text = "Facts given: x\\n1. Read the Kaub gauge at ELWIS for 3 March 2016.\\n2. Ask Twitter.\\n3. Decide."
    >>> count_features("How high is the Rhine at Kaub?", text)
    {'n_sources': 1, 'n_unvetted': 1, 'n_steps': 3, 'n_concrete': 1, 'n_risks': 0, 'n_dates': 1, 'n_early': 0}
    """
    steps = re.findall(r"^\d+\. (.+)$", plan, re.MULTILINE)
    body = DATE.sub("0", plan)
    names = {name for name in NAME.findall(body) if name not in question and not UNVETTED.search(name)}
    names = {name for name in names if not re.fullmatch(MONTH, name)}
    seen, n_new = set(), 0
    for step in steps:
        words = set(re.findall(r"[a-z]{4,}", step.lower()))
        n_new += len(words - seen) * 2 >= len(words)
        seen |= words
    return {
        "n_sources": len(names),
        "n_unvetted": len({found.lower() for found in UNVETTED.findall(plan)}),
        "n_steps": n_new,
        "n_concrete": sum(bool(re.search(r"\d", step)) or any(name in step for name in names) for step in steps),
        "n_risks": len({found.lower() for found in RISK.findall(plan)}),
        "n_dates": len(set(DATE.findall(plan))),
        "n_early": len(EARLY.findall(plan)),
    }


def judge_by_rules(question, plan):
    """Return the rule judge's scores of a plan, 0 to 10, by criterion; no model, only counts (`count_features`).

    comprehensiveness = steps + risks + dates; source_reliability = 3 (sources - unvetted ones);
    plan_actionability = 2 * concrete steps + 1, 0 for a plan that gives its answer; each clipped to 0..10.
    """
    n = count_features(question, plan)
    scores = {
        "comprehensiveness": n["n_steps"] + n["n_risks"] + n["n_dates"],
        "source_reliability": 3 * (n["n_sources"] - n["n_unvetted"]),
        "plan_actionability": 0 if n["n_early"] else 2 * n["n_concrete"] + 1,
    }
    return {rubric: max(0, min(10, score)) for rubric, score in scores.items()}


def apply_rules(plans):
    """Return the rule judge's judgements of plans, in the form of `judge_plans`; the judge is named "rules"."""
    pairs = zip(plans["question"], plans["plan"], strict=True)
    scores = pd.DataFrame([judge_by_rules(*pair) for pair in pairs], plans.index)
    target = {"target_type": plans["target_type"], "target_id": plans["plan_id"]}
    target = pd.DataFrame(target).assign(judge="rules", repeat=0, status="ok", reason=None)
    return target.join(scores).melt(list(target), var_name="rubric", value_name="score")


def build_rows(plans, scores, traces, outcomes, events):
    """Return a row a plan for the regression: `FACTORS`, agent_id, event_id, score (levels 1 and 2, missing as 0).

    `plans`: plan_id, run_id, event_id, agent_id; `scores`: a judge's table plan x criterion; `outcomes`: the scores
    table. Raises ValueError for a plan whose trace is no research.
    """
    steps = dict(tuple(traces.groupby(["run_id", "event_id"])))
    effort = [summarize_research(steps[pair]) for pair in zip(plans["run_id"], plans["event_id"], strict=True)]
    rows = pd.concat([plans.reset_index(drop=True), pd.DataFrame(effort, columns=EFFORT)], axis=1)
    rows = rows.merge(scores[list(RUBRICS)], left_on="plan_id", right_index=True, how="left")
    headline = select_headline(outcomes, events[events["level"].isin([1, 2])])
    score = headline[["run_id", "event_id", "score_imputed"]].rename(columns={"score_imputed": "score"})
    return rows.merge(score, on=["run_id", "event_id"], how="inner")


def fit_plans(rows, dummies=(), factors=FACTORS):
    """Regress scores on z-scored factors, with dummies of agent_id and event_id on request (FutureX 4.5.2, Figure 13).

    Returns the factors' table and the fit's facts. Table: factor, is_identified, effect (score a standard deviation),
    se clustered by event (CR1), p, low, high (t, G - 1 degrees of freedom), stars. Blank where a factor is not
    identified: it is constant, others or the dummies add up to it, or no degree of freedom is left. Event dummies are
    taken out by the events' means; nested in the clusters, they do not count in the errors' factor, and an event with
    one row says nothing beside them. Facts: n, n_events, n_coefs (dummies included), r2, r2_chance (expected when
    nothing matters: (coefficients - 1) / (n - 1)), r2_adjusted. Rows with a blank are left out.
    """
    rows = rows.dropna(subset=[*factors, "score"])
    within = "event_id" in dummies
    if within:
        rows = rows[rows.groupby("event_id")["event_id"].transform("size") > 1]
    rows = rows.reset_index(drop=True)
    x, y, event = rows[list(factors)], rows["score"], rows["event_id"]
    x = ((x - x.mean()) / x.std().replace(0, np.nan)).fillna(0.0)
    if "agent_id" in dummies and rows["agent_id"].nunique() > 1:
        x = x.join(build_dummies(rows, ("agent_id",)))
    if within:
        x, y = (part - part.groupby(event).transform("mean") for part in (x, y))
    else:
        x = x.assign(const=1.0)
    x, identified = keep_identified(x)
    n, n_events = len(rows), event.nunique()
    n_coefs = x.shape[1] + within * n_events
    facts = {"n": n, "n_events": n_events, "n_coefs": n_coefs, "r2": np.nan, "r2_chance": np.nan, "r2_adjusted": np.nan}
    table = pd.DataFrame({"factor": factors, "is_identified": [name in identified for name in factors]})
    if n <= n_coefs or n_events < 2 or rows["score"].nunique() < 2:
        return table.assign(is_identified=False).reindex(columns=COLUMNS), facts
    fit = sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": pd.factorize(event)[0]}, use_t=True)
    part = pd.DataFrame({"effect": fit.params, "se": fit.bse, "p": fit.pvalues})
    part[["low", "high"]] = fit.conf_int()
    part["stars"] = part["p"].map(mark_stars)
    r2, chance = 1 - fit.ssr / ((rows["score"] - rows["score"].mean()) ** 2).sum(), (n_coefs - 1) / (n - 1)
    facts |= {"r2": r2, "r2_chance": chance, "r2_adjusted": 1 - (1 - r2) / (1 - chance)}
    return table.join(part[part.index.isin(identified)], on="factor")[COLUMNS], facts


def keep_identified(x):
    """Return the columns of `x` that span it, and the names of those that no other columns add up to.

    >>> kept, identified = keep_identified(pd.DataFrame({"a": [1, 2, 4], "b": [2, 4, 8], "c": [1, 0, 0], "d": 0}))
    >>> list(kept), sorted(identified)
    (['c', 'a'], ['c'])
    """
    if x.empty:
        return x.iloc[:, :0], set()
    mixed = np.abs(linalg.null_space(x)).max(axis=1, initial=0) > 1e-8
    kept = list(x.columns[~mixed])
    for name in x.columns[mixed]:
        if np.linalg.matrix_rank(x[[*kept, name]]) > len(kept):
            kept.append(name)
    return x[kept], set(x.columns[~mixed])


def mark_stars(p):
    """Return the stars of a p-value; none for a blank.

    >>> mark_stars(0.03), mark_stars(0.001), mark_stars(0.2)
    ('*', '***', '')
    """
    return "*" * sum(p < level for level in STAR_LEVELS)


def simulate_plans(rng, n_events, effects, sd, *, n_agents=1, agent_sd=0.0, event_sd=0.0):
    """Return made-up rows for `fit_plans` whose scores follow known effects: every agent on every event.

    `effects`: by factor, a score a standard deviation; `sd`: of the noise beside the agents' and the events' own.
    """
    event, agent = (part.ravel() for part in np.indices((n_events, n_agents)))
    x = rng.normal(size=(len(event), len(FACTORS)))
    own = agent_sd * rng.normal(size=n_agents)[agent] + event_sd * rng.normal(size=n_events)[event]
    score = 0.5 + x @ [effects.get(name, 0.0) for name in FACTORS] + own + sd * rng.normal(size=len(x))
    rows = pd.DataFrame(x, columns=list(FACTORS))
    return rows.assign(event_id=[f"e{i}" for i in event], agent_id=[f"a{i}" for i in agent], score=score)


def measure_power(sizes, effects, sd, rng, n_sims=500, dummies=(), **world):
    """Return how often made-up effects are seen, by number of events and size of effect; `world` as `simulate_plans`.

    `power`: share of coefficients with p < 0.05 (at effect 0: false alarms); `coverage`: share of 95% intervals that
    hold the truth; `r2`: mean R2 of the fits. Columns n, effect, power, coverage, r2.
    """
    parts = []
    for n in sizes:
        for _ in range(n_sims):
            table, facts = fit_plans(simulate_plans(rng, n, effects, sd, **world), dummies)
            truth = table["factor"].map(effects).fillna(0.0)
            held = (table["low"] <= truth) & (truth <= table["high"])
            seen = table["p"] < 0.05
            parts.append(pd.DataFrame({"n": n, "effect": truth, "power": seen, "coverage": held, "r2": facts["r2"]}))
    return pd.concat(parts).groupby(["n", "effect"], as_index=False).mean()
