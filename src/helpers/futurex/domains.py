"""Scores by domain, the spread between agents, and FutureX's four observations on domains (4.3, Figures 9 and 10).

Levels 1-2 and 3-4 stand apart; intervals and tests are by source, and a domain of few sources has none.
"""

import math

import numpy as np
import pandas as pd

from helpers import papers
from helpers.futurex.gains import describe_differences
from helpers.futurex.levels import CHANCE, LEVEL_PAIRS
from helpers.scoring.scores import build_matrix, select_headline
from helpers.stats.bootstrap import resample_means, take_interval
from helpers.stats.means import MIN_CLUSTERS, find_clusters, summarize_clustered
from helpers.stats.paired import AGREES, judge_family, judge_test
from helpers.stats.spread import MIN_EVENTS, measure_interaction, take_off_noise, take_spread
from helpers.tables import SEARCH_CATEGORIES

RING_TOP = papers.get_constant("futurex", "domain_ring_top")
"""The outermost ring of Figure 10: no agent's mean on levels 3-4 exceeds it in any domain."""
SAME_SDS = (0.025, 0.05, 0.1)
"""Bounds of our own: agents whose interaction with the domain is surely smaller are equally strong everywhere. None is
the right one, so a verdict must be the same by each."""
INFORMED = ("Culture & Media", "Technology")
NAMED = {
    "GPT models": (("gpt",), ("Crypto", "Technology")),
    "DouBao-Seed1.6": (("doubao", "seed1.6"), ("Finance & Economy", "Business & Companies")),
    "DeepSeek-V3": (("deepseek-v3",), ("Politics",)),
}
"""Who excels where (4.3, first observation): parts of an agent's name, and the domains of Figure 9."""


def group_domains(domains, folder=papers.FOLDER):
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`.

    Raises ValueError naming a domain that data/papers/futurex_domain_groups.csv does not have.
    """
    groups = papers.load_published("futurex", "domain_groups", folder).set_index("domain")["group"]
    unknown = sorted(set(domains) - set(groups.index))
    if unknown:
        raise ValueError(f"domain {unknown[0]!r} has no group; add a line to data/papers/futurex_domain_groups.csv")
    return domains.map(groups)


def select_domains(scores, events):
    """Return the headline rows with `domain`, `cluster` and `levels` ("1-2" or "3-4"). Raises ValueError without a
    domain.
    """
    known = events.set_index("event_id")["domain"]
    rows = select_headline(scores, events)
    rows = rows.assign(domain=rows["event_id"].map(known), cluster=rows["event_id"].map(find_clusters(events)[0]))
    if rows["domain"].isna().any():
        raise ValueError(f"event {rows.loc[rows['domain'].isna(), 'event_id'].iloc[0]} has no domain; fill it in")
    names = {level: name for name, pair in LEVEL_PAIRS.items() for level in pair}
    return rows.assign(levels=rows["level"].map(names).fillna("all"))


def summarize_domains(rows, by="domain"):
    """Return mean score by levels, domain and agent: levels, `by`, agent_id, mean, low, high (by source; blank below
    ten), low_by_event, high_by_event, n (predicted), n_events (scored), n_clusters, is_thin (fewer than `MIN_EVENTS`).
    """
    parts, clusters = [], map_clusters(rows)
    for (levels, domain), part in rows.groupby(["levels", by], sort=True):
        matrix = build_matrix(part, sorted(part["agent_id"].unique()))
        table, plain = (summarize_clustered(matrix, each) for each in (clusters, None))
        ends = {"low_by_event": plain["low"], "high_by_event": plain["high"], "levels": levels, by: domain}
        parts.append(table.assign(**ends, n_events=len(matrix)).rename_axis("agent_id").reset_index())
    columns = f"levels {by} agent_id mean low high low_by_event high_by_event n n_events n_clusters"
    table = pd.concat(parts, ignore_index=True)[columns.split()]
    ends = ["low", "high", "low_by_event", "high_by_event"]
    return table.assign(**{end: table[end].clip(0, 1) for end in ends}, is_thin=table["n_events"] < MIN_EVENTS)


def map_clusters(rows):
    """Return what each event of some rows shares its luck with, by event_id."""
    return rows.drop_duplicates("event_id").set_index("event_id")["cluster"]


def measure_spread(rows, category, rng, by="domain", n_boot=2000):
    """Return the spread between agents by category, levels and domain ("all": their mean over all events).

    Columns: category, levels, `by`, n_agents, n_events, n_clusters, range (best minus worst mean), sd_seen, sd (less
    noise), low, high, is_thin. Categories with one agent are left out, events that not all predicted too. Sources are
    drawn; below ten of them sd and interval are blank.
    """
    table, clusters = [], map_clusters(rows)
    for name, agents in category.groupby(category):
        part = rows[rows["agent_id"].isin(agents.index)]
        for levels, level_rows in part.groupby("levels"):
            for domain, domain_rows in [("all", level_rows), *level_rows.groupby(by)]:
                matrix = build_matrix(domain_rows, sorted(domain_rows["agent_id"].unique())).dropna()
                if matrix.shape[1] < 2 or len(matrix) < 2:
                    continue
                means = matrix.mean().to_numpy()
                spread = take_spread(means, resample_means(matrix, rng, n_boot, clusters))
                n = len(matrix), clusters.reindex(matrix.index).nunique()
                table.append((name, levels, domain, matrix.shape[1], *n, np.ptp(means), *spread))
    columns = ["category", "levels", by, "n_agents", "n_events", "n_clusters", "range", "sd_seen", "sd", "low", "high"]
    table = pd.DataFrame(table, columns=columns)
    table.loc[table["n_clusters"] < MIN_CLUSTERS, ["sd", "low", "high"]] = np.nan
    return table.assign(is_thin=table["n_events"] < MIN_EVENTS)


def compare_sides(rows, left, right):
    """Return (difference, low, high, p, n, n_clusters): left agents' mean minus right agents' mean, by source, paired.

    >>> rows = pd.DataFrame({"event_id": ["e", "e"], "agent_id": ["a", "b"], "score": [1.0, 0.25], "cluster": "s"})
    >>> compare_sides(rows, ["a"], ["b"])
    (0.75, nan, nan, 1.0, 1, 1)
    """
    matrix = build_matrix(rows, sorted({*left, *right}))
    found = describe_differences(matrix[list(left)].mean(axis=1) - matrix[list(right)].mean(axis=1), map_clusters(rows))
    return *(float(found[name]) for name in ("difference", "low", "high", "p")), found["n"], found["n_clusters"]


def judge_observations(rows, category, rng, n_boot=2000):
    """Return the paper's four observations on domains as statements: estimate, interval, p, n, agents, verdict.

    Needs `rows` with `group` (the paper's eight domains). By source, p_holm over the table. Verdicts: agrees,
    disagrees, cannot tell; "equally strong everywhere" (disagrees) is said where the interval of the interaction lies
    below a bound, and where the verdict changes with the bound (`judge_evenness`) it is `cannot tell`.
    """
    models = category[~category.isin(["baseline", "human", "scripted"])].index
    base = category[category == "base_model"].index
    search = category[category.isin(SEARCH_CATEGORIES)].index
    n = f"{len(search)} search, {len(base)} base"
    parts = [
        *_judge_strengths(rows, models, category[category == "baseline"].index, rng, n_boot),
        *(
            (2, f"search minus base models in {domain}", *compare_sides(rows[rows["group"] == domain], search, base), n)
            for domain in INFORMED
        ),
        _judge_widening(rows, base, search, rng, n_boot),
        *_judge_limits(rows, search),
    ]
    columns = ["observation", "statement", "estimate", "low", "high", "p", "n", "n_clusters", "agents"]
    table = judge_family(pd.DataFrame(parts, columns=columns), "estimate", "agrees", "disagrees")
    by_bound = judge_evenness(table).drop(columns="statement")
    is_same = by_bound.nunique(axis=1) == 1
    table.loc[by_bound.index, "verdict"] = by_bound.iloc[:, 0].where(is_same, "cannot tell")
    return table


def judge_evenness(judged, bounds=SAME_SDS):
    """Return what each bound alone says of the interactions in `judge_observations`'s table: a column a bound."""
    rows = judged[judged["statement"].str.startswith("interaction")]
    tested = [AGREES[judge_test(*row)] for row in rows[["estimate", "p_holm"]].itertuples(index=False)]
    said = {f"below {bound}": np.where(rows["high"] < bound, "disagrees", tested) for bound in bounds}
    return rows[["statement"]].assign(**said)


def _judge_strengths(rows, models, baselines, rng, n_boot):
    """Different models have different strengths: agents by domain do not add up; the strengths named in the text."""
    for who, agents in (("models", models), ("our baselines", baselines)):
        found = measure_interaction(rows[rows["agent_id"].isin(agents)], rng, "group", n_boot)
        text = f"interaction: {who} differ in where they are strong (SD of agent by domain)"
        yield 1, text, *found.values(), f"{len(agents)} {who}"
    for who, (parts, domains) in NAMED.items():
        named = [agent for agent in models if any(part in agent.casefold() for part in parts)]
        others = [agent for agent in models if agent not in named]
        for domain in domains:
            gap = compare_sides(rows[rows["group"] == domain], named, others)
            yield 1, f"{who} minus the other models in {domain}", *gap, f"{len(named)} and {len(others)} models"


def _judge_widening(rows, base, search, rng, n_boot):
    """Tools widen the differences on levels 1-2: SD between search agents minus SD between base models, same events."""
    text, clusters = "levels 1-2: spread of search agents minus spread of base models", map_clusters(rows)
    matrix = build_matrix(rows[rows["levels"] == "1-2"], [*search, *base]).dropna()
    counts = len(matrix), clusters.reindex(matrix.index).nunique(), f"{len(search)} search, {len(base)} base"
    if len(base) < 2 or len(search) < 2 or counts[1] < MIN_CLUSTERS:
        return 3, text, math.nan, math.nan, math.nan, math.nan, *counts
    means, drawn = matrix.mean().to_numpy(), resample_means(matrix, rng, n_boot, clusters)
    with_tools = take_off_noise(means[: len(search)], drawn[:, : len(search)])
    without = take_off_noise(means[len(search) :], drawn[:, len(search) :])
    draws = with_tools[1] - without[1]
    p = min(1.0, 2 * (1 + int(min((draws <= 0).sum(), (draws >= 0).sum()))) / (1 + len(draws)))
    return 3, text, float(with_tools[0] - without[0]), *take_interval(draws), p, *counts


def _judge_limits(rows, search):
    """Searching alone does not suffice on levels 3-4: the search agents' mean falls (above chance, where an agent
    guesses), and stays below the top ring."""
    marks, levels = build_matrix(rows, sorted(rows["agent_id"].unique())), rows.drop_duplicates("event_id")
    levels = levels.set_index("event_id")["levels"]
    easy, hard = (levels.index[levels == name] for name in LEVEL_PAIRS)
    own, is_known = marks[list(search)].mean(axis=1), CHANCE in marks
    which = "above chance" if is_known else "no guessing agent to compare with"
    fall = f"search agents: levels 1-2 minus levels 3-4, {which}"
    ring = f"search agents on levels 3-4: {RING_TOP} (top ring of Figure 10) minus their mean"
    above = own - marks[CHANCE] if is_known else own
    for text, values, strata in ((fall, above, [(1, easy), (-1, hard)]), (ring, RING_TOP - own, [(1, hard)])):
        row = [math.nan] * 4 + [0, 0]
        if all(values.reindex(part).notna().any() for _, part in strata):
            known = values[np.concatenate([part for _, part in strata])].to_frame("x")
            row = summarize_clustered(known, map_clusters(rows), strata).iloc[0]
            row = [*row[["mean", "low", "high", "p"]].astype(float), *row[["n", "n_clusters"]].astype(int)]
        yield 4, text, *row, f"{len(search)} search"
