"""Does the plan make the agent? Printed plan scores and the same systems' public scores (FutureX 4.5.2, Table 5).

The paper scores six plans, one a model that runs its open agent. The board has these six agents' scores, and those of
the same models without an agent, the negative control. Who has the paper's text can ask how a judge scores the six
plans that it prints (Appendix B).
"""

import re

import numpy as np
import pandas as pd

from helpers import papers
from helpers.futurex.boards import SCORES, name_agent
from helpers.stats.agreement import correlate_ranks, permute_ranks
from helpers.stats.bootstrap import take_interval
from helpers.stats.paired import correct_holm

CRITERIA = ("comprehensiveness", "source_reliability", "plan_actionability", "mean")
"""What a plan is scored on, and the mean of the three."""
FRAMEWORKS = {"agent": "Open-Deep-Research-Smolagents", "model alone": "LLM"}
"""System -> the framework's name on the board: the paper's open agent, and its model without one."""
OUTCOMES = ("overall", *SCORES)
PAGE, HEADING, ITEM = re.compile(r"\d+"), re.compile(r"\d(?:\.\d)?\.? [A-Z][a-z ]+"), re.compile(r"[•–-] ?|\d+\. ")
FIRST, LAST = "Examples of SmolAgent’s planning", "\nC Prompts"
"""The headings between which the paper's plans stand."""


def pair_plans(board):
    """Return the six models with their plan scores (CRITERIA) and, by system of FRAMEWORKS, their pooled scores
    (OUTCOMES).

    `board` is `boards.flatten_board`'s table; columns are (system, outcome). Raises LookupError for an absent system.
    """
    plans = papers.load_published("futurex", "table5_planning_scores").drop(columns="section").set_index("model")
    plans["mean"] = plans.mean(axis=1)
    pooled = board[board["week"] == "overall"].set_index("agent_id")
    parts = {("plan", name): plans[name] for name in CRITERIA}
    for system, framework in FRAMEWORKS.items():
        agents = [name_agent(model, framework) for model in plans.index]
        absent = [agent for agent in agents if agent not in pooled.index]
        if absent:
            raise LookupError(f"{absent[0]} is not on the pooled leaderboard")
        rows = pooled.loc[agents]
        parts |= {(system, name): pd.Series(rows[name].to_numpy(), plans.index) for name in OUTCOMES}
        parts |= {(system, f"n_{name}"): pd.Series(rows[f"n_{name}"].to_numpy(), plans.index) for name in SCORES}
    table = pd.DataFrame(parts)
    for name in OUTCOMES:
        table["gain", name] = table["agent", name] - table["model alone", name]
    return table


def correlate_plans(pairs):
    """Return by system, outcome and criterion: rho, exact p, least rho to be seen, n, p_holm over the system's
    family.
    """
    rows = []
    for system in (*FRAMEWORKS, "gain"):
        family = [
            (system, outcome, criterion, *permute_ranks(pairs["plan", criterion], pairs[system, outcome]), len(pairs))
            for outcome in OUTCOMES
            for criterion in CRITERIA
        ]
        columns = ["system", "outcome", "criterion", "rho", "p", "least_rho", "n"]
        table = pd.DataFrame(family, columns=columns)
        rows.append(table.assign(p_holm=correct_holm(table["p"])))
    return pd.concat(rows, ignore_index=True)


def compare_systems(pairs):
    """Return whether plan scores order the agents better than the models alone: (difference, low, high, p).

    The difference of the two correlations, with the 95% range of the differences over all swaps of a system's rank and
    its model's, and the two-sided p.
    """
    plan = pairs["plan", "mean"].to_numpy()
    sides = [pairs[system, "overall"].rank().to_numpy() for system in FRAMEWORKS]
    swaps = (np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    first, second = np.where(swaps, sides[1], sides[0]), np.where(swaps, sides[0], sides[1])
    plans = np.broadcast_to(plan, first.shape)
    differences = np.round(correlate_ranks(plans, first) - correlate_ranks(plans, second), 9)
    low, high = take_interval(differences)
    return float(differences[0]), float(low), float(high), float((np.abs(differences) >= abs(differences[0])).mean())


# --- the plans that the paper prints ---------------------------------------------------------------------------------


def read_plans(text):
    """Return the six plans of Appendix B in a copy of the paper: model, question, plan (steps numbered), n_words.

    Raises ValueError where the appendix is not found, or a model of Table 5 has no plan in it.
    """
    start, end = text.rfind(FIRST), text.rfind(LAST)
    if not 0 <= start < end:
        raise ValueError("this text has no appendix of plans; give the text of the paper with its appendices")
    models = papers.load_published("futurex", "table5_planning_scores")["model"]
    known = {model.casefold(): model for model in models}
    lines = [line.strip() for line in text[start:end].splitlines()]
    heads = [at for at, line in enumerate(lines) if line.casefold() in known]
    if sorted(known[lines[at].casefold()] for at in heads) != sorted(models):
        raise ValueError(f"the appendix has {len(heads)} plans; Table 5 scores those of {', '.join(models)}")
    question = next(line for line in lines if line.endswith("?"))
    rows = []
    for at, after in zip(heads, [*heads[1:], len(lines)], strict=True):
        plan = _put_in_form(lines[at + 1 : after])
        rows.append((known[lines[at].casefold()], question, plan, len(plan.split())))
    return pd.DataFrame(rows, columns=["model", "question", "plan", "n_words"])


def _put_in_form(lines):
    """A plan's lines as facts and numbered steps, one a line, as the kit's own plans are written."""
    kept = []
    for line in lines:
        if not line or PAGE.fullmatch(line):
            continue
        if HEADING.fullmatch(line) and ("acts" in line or line.endswith("Plan")):
            kept.append("Steps:" if line.endswith("Plan") else f"{line.split(' ', 1)[1]}:")
        elif ITEM.match(line) or not kept:
            kept.append(line)
        else:
            kept[-1] = f"{kept[-1]} {line}"
    return "\n".join(kept)
