"""Plans against outcomes on the paper's own systems: printed plan scores and the same systems' public scores.

The paper scores six plans, one for each model that runs its open agent, and finds a strong relation between planning
and performance (FutureX 4.5.2, Table 5). Its board has these six agents' scores, and those of the same six models
without an agent: what such a model scores cannot come from its plan, so it is the negative control. Who has the paper's
text can also ask how a judge scores the six plans that it prints (Appendix B).
"""

import re

import numpy as np
import pandas as pd

from helpers import papers
from helpers.futurex.boards import SCORES, bound_deviation, name_agent
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
    """Return the six models with their plan scores (CRITERIA) and their scores on the pooled board.

    `board` is `futurex.boards.flatten_board`'s table. Columns: model, CRITERIA, and for each system of FRAMEWORKS its
    OUTCOMES, as (system, outcome). Raises LookupError for a system that is not on the board.
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
    """Return by system, outcome and criterion: rho, exact p, p_holm over the system's family, least rho to be seen, n.

    A family is what one system (agent, model alone, gain) shows: four criteria by overall and four levels.
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

    The difference of the two correlations, and what would come of it if a system's rank and its model's could stand for
    each other: the 95% range of the differences over all swaps (2 to the number of models), and the two-sided p.
    """
    plan = pairs["plan", "mean"].to_numpy()
    sides = [pairs[system, "overall"].rank().to_numpy() for system in FRAMEWORKS]
    swaps = (np.arange(2 ** len(pairs))[:, None] >> np.arange(len(pairs))) & 1
    first, second = np.where(swaps, sides[1], sides[0]), np.where(swaps, sides[0], sides[1])
    plans = np.broadcast_to(plan, first.shape)
    differences = np.round(correlate_ranks(plans, first) - correlate_ranks(plans, second), 9)
    low, high = take_interval(differences)
    return float(differences[0]), float(low), float(high), float((np.abs(differences) >= abs(differences[0])).mean())


def draw_boards(pairs, rng, n_draws):
    """Return the 95% range of the correlation when every level of every agent is drawn anew within its event counts.

    The deviation is the largest that event counts allow (`futurex.bound_deviation`), so the range is an upper bound.
    """
    agent = pairs["agent"]
    weights, names = np.array(papers.get_constant("futurex", "level_weights")), list(SCORES)
    scores = agent[names].to_numpy(float)
    deviation = bound_deviation(agent[names], agent[[f"n_{name}" for name in names]].set_axis(names, axis=1))
    drawn = rng.normal(scores, np.asarray(deviation, dtype=float), (n_draws, *scores.shape)) @ weights
    plan = np.broadcast_to(pairs["plan", "mean"].to_numpy(float), drawn.shape)
    return tuple(map(float, take_interval(correlate_ranks(plan, drawn))))


# --- the plans that the paper prints ---------------------------------------------------------------------------------


def read_plans(text):
    """Return the six plans of Appendix B in a copy of the paper: model, question, plan (steps numbered), n_words.

    Page numbers and line breaks within a sentence are taken out. Raises ValueError where the appendix is not found, or
    a model of Table 5 has no plan in it.
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


def correlate_judge(scores, words):
    """Return how a judge's scores of the printed plans agree with the published: criterion, by, rho, p, least_rho, n.

    `scores` has a row a model and a column a criterion; `words` are the plans' lengths by model, set against the same
    published scores: what length alone would reach.
    """
    published = papers.load_published("futurex", "table5_planning_scores").set_index("model").drop(columns="section")
    published, scores = (table.assign(mean=table.mean(axis=1)) for table in (published, scores))
    scores, words = scores.loc[published.index], words.loc[published.index]
    rows = [
        (criterion, by, *permute_ranks(published[criterion], other), len(published))
        for criterion in CRITERIA
        for by, other in (("judge", scores[criterion]), ("length", words))
    ]
    return pd.DataFrame(rows, columns=["criterion", "by", "rho", "p", "least_rho", "n"])


# --- the figure ------------------------------------------------------------------------------------------------------

LOOKS = {
    "agent": ("#cc3311", "o"),
    "model alone": ("#0173b2", "s"),
    "gain": ("0.55", "^"),
    "judge": ("#de8f05", "D"),
    "length": ("0.35", "X"),
}
"""Colour and mark of each series."""


def draw_planning(pairs, found, axes):
    """Draw plan scores against outcomes, and their correlations by criterion; returns the numbers of both panels.

    Columns panel, label, series, plan, score, rho, p; blank where a panel has none.
    """
    rows = []
    for system in FRAMEWORKS:
        colour, marker = LOOKS[system]
        x, y = pairs["plan", "mean"], pairs[system, "overall"]
        axes[0].scatter(x, y, color=colour, marker=marker, label=system, zorder=3)
        part = pd.DataFrame({"panel": "scores", "label": pairs.index, "series": system})
        rows += part.assign(plan=x.to_numpy(), score=y.to_numpy()).to_dict("records")
    for model in pairs.index:
        top = pairs.loc[model, [(system, "overall") for system in FRAMEWORKS]].max()
        place = (pairs.loc[model, ("plan", "mean")], top)
        axes[0].annotate(model, place, (4, 4), textcoords="offset points", fontsize=7)
    axes[0].set(xlabel="plan score, mean of three (0 to 10)", ylabel="overall score on the board (points)")
    axes[0].set(title=f"Six systems, plan and outcome (n = {len(pairs)})", xlim=(3, 11.6))
    axes[0].legend(loc="upper left", fontsize=8)
    shown = found[found["outcome"] == "overall"]
    draw_correlations(shown, axes[1], "system")
    axes[1].set_title("Plan score and overall score, by criterion")
    rows += [
        {"panel": "correlations", "label": row.criterion, "series": row.system, "rho": row.rho, "p": row.p}
        for row in shown.itertuples()
    ]
    return pd.DataFrame(rows)


def draw_correlations(table, ax, series):
    """Draw correlations by criterion, a mark a `series`, with their p; what the number of pairs can show is grey."""
    names = list(table[series].unique())
    for at, name in enumerate(names):
        colour, marker = LOOKS[name]
        part = table[table[series] == name].set_index("criterion").loc[list(CRITERIA)]
        places = np.arange(len(part))[::-1] + 0.22 * ((len(names) - 1) / 2 - at)
        ax.scatter(part["rho"], places, color=colour, marker=marker, label=name, zorder=3)
        for p, y in zip(part["p"], places, strict=True):
            ax.annotate(f"p {p:.3f}", (1.06, y), va="center", fontsize=7, color=colour)
    ax.axvspan(table["least_rho"].min(), 1, color="0.92", zorder=0)
    ax.axvline(0, color="0.4", linewidth=0.8)
    ax.set_yticks(range(len(CRITERIA)), [name.replace("_", "\n") for name in CRITERIA[::-1]], fontsize=8)
    ax.set(xlim=(-1, 1.4), xlabel=f"Spearman's rho; grey: what n = {table['n'].iloc[0]} can show")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="lower left", fontsize=8)
