"""Plans of research agents, and judges that score them on three criteria: a model, and counts by rule (FutureX 4.5.2).

A judge is trusted only as far as it orders a calibration set of made-up plans of known quality (`estimates.trust`).
"""

import re

import pandas as pd

from helpers import papers
from helpers.agents.research import read_plan
from helpers.calendar import MONTHS
from helpers.models.grammars import make_schema
from helpers.models.judges import anonymise
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

PLAN_SCORES = (papers.get_constant("futurex", "plan_score_low"), papers.get_constant("futurex", "plan_score_high"))
"""Lowest and highest score of a criterion (FutureX 4.5.2)."""

N_JUDGEMENTS = papers.get_constant("futurex", "plan_judgements")


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


def build_request(question, plan, rubrics=tuple(RUBRICS)):
    """Return a judge's prompt and the schema of its reply: for each criterion, in this order, a reason and a score."""
    criteria = "\n".join(f"- {name}: {RUBRICS[name]}" for name in rubrics)
    low, high = PLAN_SCORES
    verdict = make_schema(
        reason={"type": "string", "maxLength": MAX_REASON}, score={"type": "integer", "minimum": low, "maximum": high}
    )
    schema = make_schema(**dict.fromkeys(rubrics, verdict))
    return read_prompt("judge_plan").format(question=question, plan=plan, criteria=criteria), schema


def judge_plans(plans, consult, judge, *, rubrics=tuple(RUBRICS), repeats=range(N_JUDGEMENTS)):
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


MONTH = f"(?:{'|'.join(map(str.title, MONTHS))})"
DATE = re.compile(rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}} {MONTH}(?: \d{{4}})?|{MONTH} \d{{4}})\b")
"""The forms that the rule judge counts, fewer than `calendar.find_dates` reads: other forms would be another judge."""
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
    low, high = PLAN_SCORES
    return {rubric: max(low, min(high, score)) for rubric, score in scores.items()}


def apply_rules(plans):
    """Return the rule judge's judgements of plans, in the form of `judge_plans`; the judge is named "rules"."""
    pairs = zip(plans["question"], plans["plan"], strict=True)
    scores = pd.DataFrame([judge_by_rules(*pair) for pair in pairs], plans.index)
    target = {"target_type": plans["target_type"], "target_id": plans["plan_id"]}
    target = pd.DataFrame(target).assign(judge="rules", repeat=0, status="ok", reason=None)
    return target.join(scores).melt(list(target), var_name="rubric", value_name="score")
