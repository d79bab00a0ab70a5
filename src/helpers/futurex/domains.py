"""Scores by domain, the spread between agents, and FutureX's four observations on domains (4.3, Figures 9 and 10).

Levels 1-2 and levels 3-4 stand apart, as in the paper. Events are the clusters: they are drawn anew within each domain
(and pair of levels), the same draw for all agents. A domain's mean is the plain mean over its events.
"""

import math

import numpy as np
import pandas as pd

from helpers import papers
from helpers.columns import SEARCH_CATEGORIES
from helpers.estimates.intervals import (
    AGREES,
    compare_paired,
    judge_interval,
    resample_means,
    summarize_means,
    take_interval,
)
from helpers.estimates.spread import MIN_EVENTS, measure_interaction, take_off_noise, take_spread
from helpers.outcomes.scores import build_matrix, select_headline
from helpers.plots import COLOURS, draw_points, name_rows

LEVEL_PAIRS = {"-".join(map(str, pair)): pair for pair in papers.get_constant("futurex", "level_pairs")}
"""Figure 9 shows levels 1 and 2, Figure 10 levels 3 and 4."""
RING_TOP = papers.get_constant("futurex", "domain_ring_top")
"""The outermost ring of Figure 10: no agent's mean on levels 3-4 exceeds it in any domain."""
INFORMED = ("Culture & Media", "Technology")
NAMED = {
    "GPT models": (("gpt",), ("Crypto", "Technology")),
    "DouBao-Seed1.6": (("doubao", "seed1.6"), ("Finance & Economy", "Business & Companies")),
    "DeepSeek-V3": (("deepseek-v3",), ("Politics",)),
}
"""Who excels where (4.3, first observation): parts of an agent's name, and the domains of Figure 9."""

TITLES = {"baseline": "Baselines", "base_model": "Base LLM", "think_search": "LLM (Think&Search)"}
TITLES |= {"open_deep_research": "Open deep research", "closed_deep_research": "Deep Research"}
"""Categories in the order and under the names of Figures 9 and 10; others stand as they are, behind these."""


def group_domains(domains, folder=papers.FOLDER):
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`.

    Raises ValueError naming a domain that data/papers/futurex_domain_groups.csv does not have.

    >>> group_domains(pd.Series(["Culture", "Space", "Transport"])).tolist()
    ['Culture & Media', 'Miscellaneous', 'Miscellaneous']
    """
    groups = papers.load_published("futurex", "domain_groups", folder).set_index("domain")["group"]
    unknown = sorted(set(domains) - set(groups.index))
    if unknown:
        raise ValueError(f"domain {unknown[0]!r} has no group; add a line to data/papers/futurex_domain_groups.csv")
    return domains.map(groups)


def select_domains(scores, events):
    """Return the headline rows with `domain`, `group` (the paper's eight; blank for a domain it cannot place) and
    `levels` ("1-2" or "3-4"). Raises ValueError when an event has no domain."""
    known = events.set_index("event_id")["domain"]
    rows = select_headline(scores, events)
    rows = rows.assign(domain=rows["event_id"].map(known))
    if rows["domain"].isna().any():
        raise ValueError(f"event {rows.loc[rows['domain'].isna(), 'event_id'].iloc[0]} has no domain; fill it in")
    names = {level: name for name, pair in LEVEL_PAIRS.items() for level in pair}
    return rows.assign(levels=rows["level"].map(names).fillna("all"))


def summarize_domains(rows, rng, by="domain", n_boot=2000):
    """Return mean score by levels, domain and agent: levels, `by`, agent_id, mean, low, high, n, n_events, is_thin.

    `n` counts the agent's predicted events, `n_events` all scored ones; `is_thin` marks fewer than `MIN_EVENTS`.
    """
    parts = []
    for (levels, domain), part in rows.groupby(["levels", by], sort=True):
        matrix = build_matrix(part, sorted(part["agent_id"].unique()))
        table = summarize_means(matrix, rng, n_boot).reset_index()
        parts.append(table.assign(**{"levels": levels, by: domain, "n_events": len(matrix)}))
    columns = ["levels", by, "agent_id", "mean", "low", "high", "n", "n_events"]
    table = pd.concat(parts, ignore_index=True)[columns]
    return table.assign(is_thin=table["n_events"] < MIN_EVENTS)


def draw_means(table, ax, by, n="n_events", colours=COLOURS):
    """Draw mean scores by domain as points with intervals, a point an agent; returns the Axes.

    `table` is (a part of) `summarize_domains`'s; `n` names the column whose largest value stands with each domain. The
    paper draws radars, on which the lines of seven agents cover each other and no interval can stand.
    """
    sizes = table.groupby(by)[n].transform("max")
    named = table.assign(label=name_rows(table[by], sizes, "{}\nn = {}"), agent=table["agent_id"].str.replace("_", " "))
    look = {"series": "agent", "is_thin": "is_thin", "colours": colours}
    draw_points(named, ax, label="label", value="mean", low="low", high="high", **look)
    ax.set(xlabel="mean score, 0 to 1")
    return ax


def find_top(table, levels):
    """Return the highest mean on a pair of levels among domains that are not thin.

    >>> table = pd.DataFrame({"levels": "1-2", "is_thin": [True, False], "mean": [0.9, 0.4]})
    >>> find_top(table, "1-2")
    0.4
    """
    return float(table.loc[(table["levels"] == levels) & ~table["is_thin"], "mean"].max())


def map_categories(runs, agents):
    """Return each agent's category. Raises ValueError for an agent without a run.

    >>> map_categories(pd.DataFrame({"agent_id": ["a"], "category": ["baseline"]}), ["a"]).to_dict()
    {'a': 'baseline'}
    """
    category = runs.drop_duplicates("agent_id").set_index("agent_id")["category"].reindex(sorted(agents))
    if category.isna().any():
        raise ValueError(f"agent {category.index[category.isna()][0]} has no category in the table runs")
    return category


def measure_spread(rows, category, rng, by="domain", n_boot=2000):
    """Return the spread between agents by category, levels and domain ("all": their mean over all events).

    Columns: category, levels, `by`, n_agents, n_events, range, sd_seen, sd, low, high, is_thin. `range` is best minus
    worst mean, as a radar shows it; `sd` is corrected for noise. Categories with one agent have no spread and are left
    out, events that not all of a category's agents predicted too.
    """
    table = []
    for name, agents in category.groupby(category):
        part = rows[rows["agent_id"].isin(agents.index)]
        for levels, level_rows in part.groupby("levels"):
            for domain, domain_rows in [("all", level_rows), *level_rows.groupby(by)]:
                matrix = build_matrix(domain_rows, sorted(domain_rows["agent_id"].unique())).dropna()
                if matrix.shape[1] < 2 or len(matrix) < 2:
                    continue
                means = matrix.mean().to_numpy()
                spread = take_spread(means, resample_means(matrix, rng, n_boot))
                table.append((name, levels, domain, matrix.shape[1], len(matrix), np.ptp(means), *spread))
    columns = ["category", "levels", by, "n_agents", "n_events", "range", "sd_seen", "sd", "low", "high"]
    table = pd.DataFrame(table, columns=columns)
    return table.assign(is_thin=table["n_events"] < MIN_EVENTS)


def compare_sides(rows, left, right, rng, n_boot=2000):
    """Return (difference, low, high, n): left agents' mean minus right agents' mean, over events with both.

    Paired by event; blank when a side has no agent or there are no common events.

    >>> rows = pd.DataFrame({"event_id": ["e", "e"], "agent_id": ["a", "b"], "score": [1.0, 0.25]})
    >>> compare_sides(rows, ["a"], ["b"], np.random.default_rng(0))
    (0.75, 0.75, 0.75, 1)
    """
    matrix = build_matrix(rows, sorted({*left, *right}))
    pair = compare_paired(*(matrix[list(side)].mean(axis=1) for side in (right, left)), rng, n_boot)
    return float(pair["difference"]), pair["low"], pair["high"], pair["n"]


def judge_observations(rows, category, rng, n_boot=2000):
    """Return the paper's four observations on domains as statements: estimate, interval, n, agents, verdict.

    Needs `rows` with `group` (the paper's eight domains). Verdicts: agrees, disagrees, cannot tell; where agents of a
    category that an observation speaks of are absent it is `cannot tell`, and `agents` says how many there are.
    """
    models = category[~category.isin(["baseline", "human", "scripted"])].index
    base = category[category == "base_model"].index
    search = category[category.isin(SEARCH_CATEGORIES)].index
    parts = [
        *_judge_strengths(rows, models, category[category == "baseline"].index, rng, n_boot),
        *_judge_search(rows, base, search, rng, n_boot),
        _judge_widening(rows, base, search, rng, n_boot),
        *_judge_limits(rows, search, rng, n_boot),
    ]
    columns = ["observation", "statement", "estimate", "low", "high", "n", "agents", "bound"]
    table = pd.DataFrame(parts, columns=columns)
    verdicts = [judge_interval(*row) for row in table[["low", "high", "bound"]].itertuples(index=False)]
    return table.assign(verdict=[AGREES[verdict] for verdict in verdicts]).drop(columns="bound")


def _judge_strengths(rows, models, baselines, rng, n_boot):
    """Different models have different strengths: agents by domain do not add up; the strengths named in the text."""
    for who, agents in (("models", models), ("our baselines", baselines)):
        sd, low, high, n, _ = measure_interaction(rows[rows["agent_id"].isin(agents)], rng, "group", n_boot)
        text = f"{who} differ in where they are strong (SD of agent by domain)"
        yield 1, text, sd, low, high, n, f"{len(agents)} {who}", 0.0
    for who, (parts, domains) in NAMED.items():
        named = [agent for agent in models if any(part in agent.casefold() for part in parts)]
        others = [agent for agent in models if agent not in named]
        for domain in domains:
            gap = compare_sides(rows[rows["group"] == domain], named, others, rng, n_boot)
            yield 1, f"{who} minus the other models in {domain}", *gap, f"{len(named)} and {len(others)} models", 0.0


def _judge_search(rows, base, search, rng, n_boot):
    """Search improves information-driven domains."""
    agents = f"{len(search)} search, {len(base)} base"
    for domain in INFORMED:
        gap = compare_sides(rows[rows["group"] == domain], search, base, rng, n_boot)
        yield 2, f"search minus base models in {domain}", *gap, agents, 0.0


def _judge_widening(rows, base, search, rng, n_boot):
    """Tools widen the differences on levels 1-2: SD between search agents minus SD between base models, by domain."""
    text, agents = (
        "levels 1-2: spread of search agents minus spread of base models",
        f"{len(search)} search, {len(base)} base",
    )
    part = rows[rows["levels"] == "1-2"]
    matrices = [build_matrix(cell, [*search, *base]).dropna() for _, cell in part.groupby("group")]
    matrices = [matrix for matrix in matrices if len(matrix) >= MIN_EVENTS]
    if len(base) < 2 or len(search) < 2 or not matrices:
        return 3, text, math.nan, math.nan, math.nan, 0, agents, 0.0
    gaps, draws = [], []
    for matrix in matrices:
        means, drawn = matrix.mean().to_numpy(), resample_means(matrix, rng, n_boot)
        with_tools = take_off_noise(means[: len(search)], drawn[:, : len(search)])
        without = take_off_noise(means[len(search) :], drawn[:, len(search) :])
        gaps.append(with_tools[0] - without[0])
        draws.append(with_tools[1] - without[1])
    return 3, text, float(np.mean(gaps)), *take_interval(np.mean(draws, axis=0)), sum(map(len, matrices)), agents, 0.0


def _judge_limits(rows, search, rng, n_boot):
    """Searching alone does not suffice on levels 3-4: the search agents' mean falls, and stays below the top ring."""
    agents, part = f"{len(search)} search", rows[rows["agent_id"].isin(search)]
    means, draws, n = {}, {}, 0
    for levels in LEVEL_PAIRS:
        matrix = build_matrix(part[part["levels"] == levels], list(search))
        if len(search) and len(matrix):
            means[levels], n = matrix.mean().mean(), n + len(matrix)
            draws[levels] = np.nanmean(resample_means(matrix, rng, n_boot), axis=1)
    blank = (math.nan, math.nan, math.nan, 0)
    drop = below = blank
    if len(means) == len(LEVEL_PAIRS):
        drop = (means["1-2"] - means["3-4"], *take_interval(draws["1-2"] - draws["3-4"]), n)
    if "3-4" in means:
        low, high = take_interval(RING_TOP - draws["3-4"])
        below = (RING_TOP - means["3-4"], low, high, int(part.loc[part["levels"] == "3-4", "event_id"].nunique()))
    yield 4, "search agents: levels 1-2 minus levels 3-4", *drop, agents, 0.0
    yield 4, f"search agents on levels 3-4: {RING_TOP} (top ring of Figure 10) minus their mean", *below, agents, 0.0
