"""Scores by the paper's eight domains, each agent above the random baseline (FutureX 4.3, Figures 9 and 10)."""

import pandas as pd

from helpers import papers
from helpers.futurex.gains import describe_differences
from helpers.futurex.levels import LEVEL_PAIRS
from helpers.scoring.scores import build_matrix, select_headline
from helpers.stats.means import find_clusters
from helpers.stats.paired import judge_family


def group_domains(domains):
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`.

    Raises ValueError naming a domain that data/papers/futurex_domain_groups.csv does not have.
    """
    groups = papers.load_published("futurex", "domain_groups").set_index("domain")["group"]
    unknown = sorted(set(domains) - set(groups.index))
    if unknown:
        raise ValueError(f"domain {unknown[0]!r} has no group; add a line to data/papers/futurex_domain_groups.csv")
    return domains.map(groups)


def compare_domains(scores, events, baseline):
    """Return each agent's mean score minus a baseline's by levels (1-2, 3-4) and domain, on the events both predicted.

    Columns: levels, domain, label (with its events and sources), agent_id, `gains.describe_differences` (clustered by
    source; without interval below ten), n_events, p_holm and verdict over a pair of levels. Agents come best first.
    """
    rows = select_headline(scores, events)
    marks = build_matrix(rows, sorted(rows["agent_id"].unique()))
    clusters, known = find_clusters(events)[0], events.set_index("event_id").loc[marks.index]
    order = [agent for agent in marks.mean().sort_values(ascending=False).index if agent != baseline]
    tables = []
    for name, pair in LEVEL_PAIRS.items():
        at = known[known["level"].astype(int).isin(pair)]
        parts = []
        for domain, part in at.groupby("domain"):
            n, n_sources = len(part), clusters.reindex(part.index).nunique()
            about = {"levels": name, "domain": domain, "n_events": n}
            about["label"] = f"{domain}\n{n} events, {n_sources} source" + "s" * (n_sources > 1)
            gaps = marks.loc[part.index].sub(marks.loc[part.index, baseline], axis=0)
            parts += [about | {"agent_id": agent} | describe_differences(gaps[agent], clusters) for agent in order]
        tables += [judge_family(pd.DataFrame(parts))] if parts else []
    return pd.concat(tables, ignore_index=True)
